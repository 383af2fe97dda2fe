"""Rivals of controlled rounding: its zero-restricted model as a general solver gets it, rounding every cell by itself, and τ-ARGUS.

Legend (paper 000, section 3): a true values, M·a = b, v published values, β the base, ⌊a⌋ the multiple of β at or below a; v = ⌊a⌋ + β·x, x ∈ {0, 1}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import seeded_tables
from measure import size, timed, wait
from numpy.typing import NDArray
from peer_tauargus import round_with_tauargus
from results import Report
from results import table as markdown
from scipy.sparse import csr_matrix

import cellward as cw
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Program:
    """Zero-restricted rounding as an integer program over the cells that are no multiples: cost·x + ``constant`` is Σ|v − a|."""

    linear: LinearModel
    free: Ints
    floor: Ints
    base: int
    constant: int

    def values(self, x: NDArray[np.float64]) -> Ints:
        """v = ⌊a⌋ + β·x."""
        v = self.floor.copy()
        v[self.free] += self.base * np.rint(x).astype(np.int64)
        return v

    def least(self, bound: float) -> int:
        """A bound on cost·x as one on Σ|v − a|, which is whole."""
        return self.constant + math.ceil(bound - 1e-6 * max(1.0, abs(bound)))


def program(table: cw.Table, base: int, *, implied: bool = False) -> Program:
    """The integer program of a table with unit weights and no levels, without ``implied`` equations unless asked; nothing of the package's."""
    a, relations = table.scaled, table.relations
    floor = a - a % base
    free = np.flatnonzero(a % base)
    kept = np.setdiff1d(np.arange(relations.equations), [] if implied else relations.redundant)
    shape = (relations.equations, relations.cells)
    matrix = csr_matrix((relations.coefs, relations.indices, relations.indptr), shape=shape)[kept][:, free]
    right = -relations.residual(floor)[kept] / base
    cost = (base - 2 * (a - floor)[free]).astype(float)
    linear = LinearModel(
        cost=cost,
        lower=np.zeros(len(free)),
        upper=np.ones(len(free)),
        indptr=matrix.indptr.astype(np.int64),
        indices=matrix.indices.astype(np.int64),
        coefs=matrix.data.astype(float),
        row_lower=right,
        row_upper=right,
        integer=np.ones(len(free), bool),
    )
    return Program(linear, free, floor, base, int((a - floor).sum()))


def another_rounding(table: cw.Table, base: int, seed: int) -> Ints | None:
    """A zero-restricted rounding far from the least one: that of random costs, as good as optimal; None where there is none."""
    made = program(table, base)
    cost = made.linear.cost + np.random.default_rng(seed).uniform(-base, base, len(made.free))
    outcome = solve_mip(
        replace(made.linear, cost=cost), absolute_gap=0.1 * base * len(made.free), budget=Budget(seed=seed)
    )
    return None if outcome.x is None else made.values(outcome.x)


def random_rounding(a: Ints, base: int, seed: int) -> Ints:
    """φ(a) of paper 000, section 6: every cell by itself, up with probability (a − ⌊a⌋) / β; unbiased, and not additive."""
    up = np.random.default_rng(seed).random(len(a)) * base < a % base
    return np.asarray(a - a % base + base * up)


def beside_tauargus(report: Report, cases: list[tuple[tuple[int, ...], int]], limit: float) -> str:
    """Poisson tables rounded to base 5 by us and by the τ-ARGUS rounder, which must agree: one row each."""
    rows: list[list[object]] = []
    for shape, seed in cases:
        made = seeded_tables.poisson(shape, seed)
        p, took = timed(lambda made=made: cw.ControlledRounding(5).protect(made))
        equations = [made.relations.equation(j) for j in range(made.relations.equations)]
        peer = round_with_tauargus(made.values.tolist(), equations, 5, limit)
        theirs = peer.distance(made.values.tolist())
        report.require(
            p.status == "optimal" and theirs == p.objective,
            f"{size(shape)} seed {seed}: {p.objective} ({p.status}) against τ-ARGUS' {theirs} ({peer.status})",
        )
        ratio = f"{peer.seconds / took:.1f} ×" if theirs is not None else "none"
        rows.append([size(shape), seed, p.objective, theirs, wait(took), wait(peer.seconds), ratio, p.engine])
    head = ["table", "seed", "ours Σ\\|v−a\\|", "peer's", "ours, s", "peer, s", "peer / ours", "our engine"]
    return markdown(head, rows)
