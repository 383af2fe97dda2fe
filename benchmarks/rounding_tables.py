"""Tables to round: the papers' kinds and ours, seeded; their zero-restricted model as a rival solver sees it; attackers and levels that bind.

Legend (paper 000, section 3): a true values, M·a = b, v published values, β the base, ⌊a⌋ the multiple of β at or below a; v = ⌊a⌋ + β·x, x ∈ {0, 1}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import census
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import cellward as cw
from cellward.instance import Instance
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Kind, Knowledge
from cellward.solve.highs import solve_mip
from cellward.solve.model import LinearModel
from cellward.table.levels import Levels
from cellward.table.sensitivity import Sensitivity

Ints = NDArray[np.int64]

SLACK = 0.3
"""How often an informed attacker is one unit off, on either side of a cell that it knows."""


# ---- values ------------------------------------------------------------------------------------------------------------------------------


def with_multiples(shape: tuple[int, ...], share: float, base: int, seed: int | Sequence[int]) -> Ints:
    """Inner cells uniform among 0 to 99: exactly this share of them multiples of the base, at random places, the others not."""
    rng = np.random.default_rng(seed)
    values = np.arange(100)
    multiples, others = values[values % base == 0], values[values % base != 0]
    size = math.prod(shape)
    chosen = np.zeros(size, bool)
    chosen[rng.permutation(size)[: round(share * size)]] = True
    return np.where(chosen, rng.choice(multiples, size), rng.choice(others, size)).reshape(shape)


def poisson(shape: tuple[int, ...], seed: int, mean: float = 4.0) -> cw.Table:
    """Poisson counts with all margins."""
    return cw.Table.from_array(np.random.default_rng(seed).poisson(mean, shape))


def causey_cox_ernst() -> cw.Table:
    """The 2×2×2 table that has no zero-restricted rounding to base 2 (Causey, Cox and Ernst 1985)."""
    inner = np.zeros((2, 2, 2), int)
    inner[0, 0, 0] = inner[0, 1, 1] = inner[1, 0, 1] = inner[1, 1, 0] = 1
    return cw.Table.from_array(inner)


def persons(
    *, geography: tuple[int, ...] = (1000, 50, 5, 1), ages: int = 20, sexes: int = 2, seed: int = 0
) -> cw.Table:
    """Persons by area, age and sex with all margins: areas of uneven size in levels, the young more frequent than the old.

    The default has 1,056 areas of all levels × 21 × 3 = 66,528 cells.
    """
    rng = np.random.default_rng(seed)
    geo = census._geography(geography, rng)
    profile = np.linspace(1.5, 0.5, ages)[:, None] * np.ones(sexes)
    inner = rng.poisson(5 * rng.gamma(4.0, 0.25, geography[0])[:, None, None] * profile)
    block = np.zeros((geography[0], ages + 1, sexes + 1), np.int64)
    block[:, :-1, :-1] = inner
    block[:, -1, :-1], block[:, :-1, -1], block[:, -1, -1] = inner.sum(1), inner.sum(2), inner.sum((1, 2))
    at = np.arange((ages + 1) * (sexes + 1)).reshape(ages + 1, sexes + 1)
    equations = [np.roll(at, 1, axis=1), np.roll(at, 1, axis=0).T]  # a total before its parts
    width = at.size
    kind = np.zeros(width, np.int64)
    made = census._assemble(geo, geo.roll_up(block.reshape(-1, width)), equations, width, kind, ("persons",))
    return of_census(made)


def of_census(made: census.Census) -> cw.Table:
    """The table of a census structure."""
    matrix = csr_matrix((made.coefs, made.indices, made.indptr), shape=(made.equations, made.cells))
    return cw.Table.from_equations(made.values, matrix, made.rhs)


# ---- the model as a rival sees it --------------------------------------------------------------------------------------------------------


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


def program(table: cw.Table, base: int) -> Program:
    """The integer program of a table with unit weights and no levels, implied equations left out; no part of the package builds it."""
    a, relations = table.scaled, table.relations
    floor = a - a % base
    free = np.flatnonzero(a % base)
    kept = np.setdiff1d(np.arange(relations.equations), relations.redundant)
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
    outcome = solve_mip(replace(made.linear, cost=cost), absolute_gap=0.1 * base * len(made.free), seed=seed)
    return None if outcome.x is None else made.values(outcome.x)


# ---- bias --------------------------------------------------------------------------------------------------------------------------------


def random_rounding(a: Ints, base: int, seed: int) -> Ints:
    """φ(a) of paper 000, section 6: every cell by itself, up with probability (a − ⌊a⌋) / β; unbiased, and not additive."""
    up = np.random.default_rng(seed).random(len(a)) * base < a % base
    return np.asarray(a - a % base + base * up)


def rounded_up(a: Ints, v: Ints, base: int) -> list[float]:
    """The proportion of cells rounded up, by residue 1 to β − 1 (nan where there is no such cell)."""
    return [
        float(np.mean(v[a % base == r] > a[a % base == r])) if np.any(a % base == r) else math.nan
        for r in range(1, base)
    ]


# ---- attackers and levels ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Protected:
    """A table whose levels bind: ``table`` asks, ``attackers`` attack, and ``witness`` is a rounding that protects it."""

    table: cw.Table
    attackers: tuple[cw.Attacker, ...]
    witness: Ints


def attackers(table: cw.Table, sensitive: Ints, seed: int, *, informed: float = 0.9) -> tuple[cw.Attacker, ...]:
    """The public; a respondent with contributions to a tenth of the other cells, alone in some; one who knows a share of them to within one unit."""
    rng = np.random.default_rng(seed)
    others = rng.permutation(np.setdiff1d(np.arange(table.cells), sensitive))
    a = table.scaled
    mine = rng.permutation(others[a[others] > 0])[: max(table.cells // 10, 2)].tolist()
    alone = mine[: max(table.cells // 30, 1)]
    own = {i: int(rng.integers(1, a[i] + 1)) for i in mine if i not in alone}
    known = others[: round(informed * len(others))].tolist()
    lower = {i: max(int(a[i]) - int(rng.random() < SLACK), 0) for i in known}
    upper = {i: int(a[i]) + int(rng.random() < SLACK) for i in known}
    return (
        cw.Attacker.external(),
        cw.Attacker.respondent(table, "respondent", own, alone=alone),
        cw.Attacker.knowing(table, "informed", lower=lower, upper=upper),
    )


def reaches(
    table: cw.Table, v: Ints, base: int, kind: Kind, against: Sequence[cw.Attacker], cells: Ints
) -> tuple[Ints, Ints, Ints]:
    """How far below a, above a and how wide (whole units) each attacker's interval of each cell is under the rounding v: attackers × cells."""
    instance = Instance.of(table.without_levels(), attackers=against)
    told = Knowledge.rounded(v, np.full(table.cells, base, np.int64), kind=kind, a=instance.a)
    held = cw.Protection(
        instance=instance,
        method={"name": "a rounding"},
        status="feasible",
        allowed=AllowedSet(v, v, np.zeros_like(v)),
        scaled=v,
        knowledge=told,
    )
    found = held.audit(cells=cells.tolist())
    shape = (len(against), len(cells))
    a = [int(x) for x in table.scaled[cells]] * len(against)
    below = [math.floor(x - low) for x, (low, _) in zip(a, found.ends, strict=True)]
    above = [math.floor(high - x) for x, (_, high) in zip(a, found.ends, strict=True)]
    wide = [math.floor(high - low) for low, high in found.ends]
    return tuple(np.array(side, np.int64).reshape(shape) for side in (below, above, wide))  # type: ignore[return-value]


def protected(
    table: cw.Table, least: Ints, base: int, kind: Kind, seed: int, *, share: float = 0.1, beyond: float = 0.6
) -> Protected | None:
    """Levels of all three kinds on a share of the cells, a part of them beyond what the rounding ``least`` gives; another rounding meets them all.

    The table's levels are kept from the public and the respondent, the informed attacker has its own. Half of the sensitive cells are rounded to
    different multiples by the two roundings. None where no other rounding is found.
    """
    rng = np.random.default_rng(seed)
    witness = another_rounding(table, base, seed)
    if witness is None:
        return None
    cells = _sensitive(table, base, witness != least, max(round(share * table.cells), 2), rng)
    against = attackers(table, cells, seed)
    given, wanted = (np.stack(reaches(table, v, base, kind, against, cells)) for v in (least, witness))
    shared = _levels(given[:, :2].min(axis=1), wanted[:, :2].min(axis=1), beyond, rng)
    own = _levels(given[:, 2], wanted[:, 2], beyond, rng)
    asking = shared.any(axis=0)
    sensitivity = Sensitivity.of(table.cells, cells[asking], *shared[:, asking])
    informed = replace(against[2], levels=Levels(cells, *own).take(own.any(axis=0)))
    return Protected(table.with_sensitivity(sensitivity), (*against[:2], informed), witness)


def _levels(given: Ints, wanted: Ints, beyond: float, rng: np.random.Generator) -> Ints:
    """lpl, upl and spl of every cell, none above ``wanted``: in a part of the cells with room for it one beyond ``given``, the others within both."""
    levels = np.zeros_like(given)
    able = rng.permutation(np.flatnonzero((wanted > given).any(axis=0)))
    for k in able[: max(round(beyond * len(able)), round(0.2 * given.shape[1]))].tolist():
        side = int(rng.choice(np.flatnonzero(wanted[:, k] > given[:, k])))
        levels[side, k] = rng.integers(given[side, k], wanted[side, k]) + 1
    for k in range(given.shape[1]):
        for side in rng.permutation(3)[: rng.integers(1, 4)].tolist():
            most = min(int(given[side, k]), int(wanted[side, k]))
            if not levels[side, k] and most > 0:
                levels[side, k] = rng.integers(1, most + 1)
    return levels


def _sensitive(table: cw.Table, base: int, differ: NDArray[np.bool_], many: int, rng: np.random.Generator) -> Ints:
    """So many cells that are no multiples, half of them where two roundings differ (fewer where there are not enough)."""
    first = rng.permutation(np.flatnonzero(differ))[: (many + 1) // 2]
    rest = np.setdiff1d(np.flatnonzero(table.scaled % base), first)
    return np.sort(np.concatenate([first, rng.permutation(rest)[: many - len(first)]]))
