"""Attacks on the table server as code, beside the same server whose values are drawn anew for each answer, and beside a minimum alone.

python benchmarks/server_attacks.py           1,500 records, 200 draws, 2,000 queries; writes RESULTS.md; exits 1 when the server gives anybody away
python benchmarks/server_attacks.py --records N --draws N --queries N   so many instead
python benchmarks/server_attacks.py --engine two-stage   of the other engine, 600 records, 12 draws, 600 queries; a section of its own
python benchmarks/server_attacks.py --quick   400 records, 12 draws, 400 queries; writes nothing

A cell at risk counts as recovered where what the attacker works out is nearer to its true value than half the level that the rules ask. *Guessing*:
the published value moved at random by up to twice the level, which needs no attack. *Drawn anew*: every answer is a sum over a twin of its own, as a
server that keeps no values would give. *A minimum alone*: true values of whatever three units or more stand behind, nothing of others. The two-stage
engine is asked for any sets of atoms, which is more than requests can name; what it refuses the attacker does without.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from fixed_keys import key_of
from results import Report, table, write_section
from scipy import sparse
from scipy.optimize import linprog
from server_population import population, write

from cellward.server.vault.records import Records
from cellward.server.vault.said import RefusedError
from cellward.server.vault.twin.build import atoms_of, build_twin
from cellward.server.vault.twin.lattice import needs_of
from cellward.server.vault.twostage.cells import Cells
from cellward.server.vault.twostage.layout import Layout
from cellward.server.vault.vault import Vault

Values = Callable[[Any], np.ndarray[Any, Any]]
"""The answers to queries, each a set of atoms (queries × atoms)."""


@dataclass(frozen=True, eq=False)
class Target:
    """The atoms of a small file, which are what a request can tell apart; the cells at risk; and as many twins as there are draws."""

    sums: Any
    true: np.ndarray[Any, Any]
    level: np.ndarray[Any, Any]
    twins: np.ndarray[Any, Any]
    alone: np.ndarray[Any, Any]
    rng: np.random.Generator
    codes: np.ndarray[Any, Any]
    many: int

    def kept(self, queries: Any) -> np.ndarray[Any, Any]:
        """The server as it is shipped."""
        return np.asarray(queries @ self.twins[0])

    def anew(self, queries: Any) -> np.ndarray[Any, Any]:
        """A draw of its own for every answer."""
        every = np.asarray(queries @ self.twins.T)
        return every[np.arange(len(every)), self.rng.integers(0, len(self.twins), len(every))]

    def rules(self, queries: Any) -> np.ndarray[Any, Any]:
        """True values of sets of atoms with three units or more; nothing (NaN) of others."""
        many = np.asarray((queries @ self.alone.T > 0).sum(axis=1))
        return np.where(many >= 3, queries @ self.true, np.nan)

    def recovered(self, cells: np.ndarray[Any, Any], guess: np.ndarray[Any, Any]) -> str:
        """The share of these cells at risk that are worked out."""
        near = np.abs(guess - (self.sums @ self.true)[cells]) < self.level[cells] / 2
        return f"{100 * np.mean(near):.1f} %"


def target(many: int, draws: int) -> Target:
    with tempfile.TemporaryDirectory() as held:
        config = write(Path(held), population(many, 11, regions=(3, 4), sectors=(3, 3)), more="depth = 2").datasets[0]
        records = Records.read(config, key_of(0))
        atoms, atom = atoms_of(records)
        needs = needs_of(records, records.database(), 0, atoms, atom, config.rules, np.ones(records.many, bool))
        units = np.zeros((int(records.unit.max()) + 1, atoms.shape[1]), np.int8)
        units[records.unit, atom] = 1
        twins = []
        for k in range(draws):
            twin = build_twin(replace(records), key_of(f"draw {k}"))
            value = np.zeros(atoms.shape[1], np.int64)
            value[atom] = twin.value[0][twin.part]
            twins.append(value)
    true = np.zeros(atoms.shape[1], np.int64)
    np.add.at(true, atom, records.heavy[0])
    level = np.minimum(needs.up, needs.down)
    return Target(
        needs.sums, true, level, np.stack(twins), sparse.csr_array(units), np.random.default_rng(0), atoms, many
    )


class Live:
    """The two-stage engine as it is shipped, asked one set of atoms after the other; NaN where it refuses."""

    def __init__(self, t: Target) -> None:
        self.asked = self.refused = 0
        self.held = tempfile.TemporaryDirectory()
        more = 'engine = "two-stage"\ndepth = 2'
        config = write(Path(self.held.name), population(t.many, 11, regions=(3, 4), sectors=(3, 3)), more=more)
        self.vault = Vault(config)
        engine: Any = self.vault._datasets["firms"].engine
        self.measured, self.atoms = engine.measured[0], engine._atoms
        number = {tuple(code): k for k, code in enumerate(self.atoms.code.T.tolist())}
        self.place = np.array([number[tuple(code)] for code in t.codes.T.tolist()])
        self.known: dict[int, int] = {}
        self.sets: list[np.ndarray[Any, Any]] = []

    def __call__(self, queries: Any) -> np.ndarray[Any, Any]:
        """The answers to these sets."""
        return np.array([self.one(np.flatnonzero(row)) for row in queries.toarray()])

    def one(self, chosen: np.ndarray[Any, Any]) -> float:
        atom = np.sort(self.place[chosen])
        cells = Cells.of(Layout(atom, np.zeros(len(atom), np.int64), ()), self.atoms, self.measured.seen)
        if cells.identity[0] in self.known or not len(atom):
            return self.known.get(cells.identity[0], 0)
        self.asked += 1
        try:
            found = self.measured.answer(cells, self.known)
        except RefusedError:
            self.refused += 1
            return np.nan
        found.keep()
        self.sets.append(np.isin(np.arange(len(self.place)), chosen).astype(float))
        self.known[cells.identity[0]] = int(found.value[0])
        return self.known[cells.identity[0]]


def averaging(t: Target, cells: np.ndarray[Any, Any], answers: Values, splits: int) -> np.ndarray[Any, Any]:
    """Each cell from so many tables that split it in two, at random: the mean of the sums of the halves."""
    guesses = np.zeros(len(cells))
    for k, cell in enumerate(cells.tolist()):
        whole = t.sums[[cell]].toarray()[0]
        halves = (t.rng.random((splits, len(whole))) < 0.5) * whole
        sums = answers(sparse.csr_array(halves)) + answers(sparse.csr_array(whole - halves))
        guesses[k] = np.nanmean(sums) if np.isfinite(sums).any() else np.nan
    return guesses


def repeated(t: Target, cells: np.ndarray[Any, Any], answers: Values, times: int) -> np.ndarray[Any, Any]:
    """Each cell asked for again and again, under equivalent and dummy conditions: the same respondents each time."""
    said = [answers(t.sums[cells]) for _ in range(times)]
    return np.asarray(np.mean(said, axis=0))


def slices(t: Target, cells: np.ndarray[Any, Any], answers: Values, times: int) -> np.ndarray[Any, Any]:
    """Each cell as the difference of a large set of respondents with it and without it, for so many large sets."""
    guesses = np.zeros(len(cells))
    for k, cell in enumerate(cells.tolist()):
        thin = t.sums[[cell]].toarray()[0]
        others = (t.rng.random((times, len(thin))) < 0.3) * (1 - thin)
        differences = answers(sparse.csr_array(others + thin)) - answers(sparse.csr_array(others))
        guesses[k] = np.nanmedian(differences) if np.isfinite(differences).any() else np.nan
    return guesses


def reconstruction(t: Target, answers: Values, queries: int) -> np.ndarray[Any, Any]:
    """All atoms at once: the non-negative values for which the answers to so many random queries are off by the least in sum."""
    sets = sparse.csr_array((t.rng.random((queries, len(t.true))) < 0.5).astype(np.int64))
    said = answers(sets)
    sets, said = sets[np.isfinite(said)], said[np.isfinite(said)]
    n, m = len(t.true), len(said)
    one = sparse.eye_array(m)
    matrix = sparse.hstack([sets, one, -one]).tocsc()
    cost = np.concatenate((np.zeros(n), np.ones(2 * m)))
    found = linprog(cost, A_eq=matrix, b_eq=said, bounds=(0, None), method="highs-ipm")
    return np.asarray(found.x[:n])


def figures(report: Report, many: int, draws: int, queries: int, most: int, engine: str) -> None:
    t = target(many, draws if engine == "twin" else 1)
    at_risk = np.flatnonzero(t.level > 0)
    cells = t.rng.permutation(at_risk)[:most]
    single = np.flatnonzero(np.diff(t.sums.indptr) == 1)
    atoms = np.array([cell for cell in single if t.level[cell] > 0])
    guess = (t.sums @ t.twins[0])[cells] + t.rng.uniform(-2, 2, len(cells)) * t.level[cells]
    live = None if engine == "twin" else Live(t)
    shipped: list[tuple[str, Values]] = (
        [("as shipped", t.kept), ("drawn anew", t.anew)] if live is None else [("as shipped", live)]
    )
    servers = [*shipped, ("a minimum of 3 alone", t.rules)]
    share = float(t.recovered(cells, guess).removesuffix(" %"))
    rows = []
    for name, attack in (
        (f"averaging over {draws} two-way splits", lambda a: (cells, averaging(t, cells, a, draws))),
        (f"equivalent and dummy conditions, {draws} times", lambda a: (cells, repeated(t, cells, a, draws))),
        (f"thin slices, {draws} differences each", lambda a: (cells, slices(t, cells, a, draws))),
        (
            f"linear programming over {queries:,} random queries",
            lambda a: _rebuilt(t, atoms, reconstruction(t, a, queries)),
        ),
    ):
        shares = [t.recovered(*attack(own)) for _, own in servers]
        rows.append([name, *shares])
        least = 0.0 if live is None else share  # not every set is published: what is left of others may be guessed
        report.require(
            float(shares[0].removesuffix(" %")) <= least, f"{name}: {shares[0]} recovered from the server as shipped"
        )
    rows.append(["guessing", f"{share} %", *[""] * (len(servers) - 1)])
    report.add(
        f"{many:,} records, {len(t.true):,} combinations of codes, {len(at_risk):,} cells at risk, {len(cells):,} of them attacked. Recovered:"
    )
    report.add(table(["attack", *(name for name, _ in servers)], rows))
    if live is not None:
        far = near_of(t, live)
        report.add(
            f"{live.asked:,} different sets of atoms asked for, {live.refused:,} refused. Of the cells at risk, {far[0]:,} are linear "
            f"combinations of what was answered, and {far[1]:,} of these are nearer to their true value than their level."
        )
        report.require(not far[1], f"{far[1]:,} cells at risk are worked out from what is published")
    report.add(
        "The attackers do not look for the two bands, one on each side of the published value, in which a true value lies for those who know the "
        "rules: which of them is secret, as in every adjustment (docs/decisions/0083)."
    )


def near_of(t: Target, live: Live) -> tuple[int, int]:
    """How many cells at risk are combinations of what was answered, by a decomposition of this script's own, and how many of these are too near."""
    values, basis = np.linalg.svd(np.array(live.sets), full_matrices=False)[1:]
    basis = basis[values > 1e-9 * values[0]].T
    cells = t.sums[np.flatnonzero(t.level > 0)].toarray().astype(float)
    told = np.linalg.norm(cells - cells @ basis @ basis.T, axis=1) < 1e-6 * np.linalg.norm(cells, axis=1)
    shadow = live.measured.shadow[live.place]
    off = np.abs(cells @ (shadow - t.true))
    return int(told.sum()), int((told & (off < t.level[t.level > 0])).sum())


def _rebuilt(
    t: Target, cells: np.ndarray[Any, Any], atoms: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return cells, np.asarray(t.sums @ atoms)[cells]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--engine", choices=("twin", "two-stage"), default="twin")
    parser.add_argument("--records", type=int)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--queries", type=int)
    options = parser.parse_args()
    quick, twin = options.quick, options.engine == "twin"
    usual = (1_500, 200, 2_000, 300) if twin else (600, 12, 600, 40)
    given = (options.records or usual[0], options.draws or usual[1], options.queries or usual[2], usual[3])
    report = Report()
    figures(report, *(((400, 12, 400, 60) if twin else (300, 3, 60, 10)) if quick else given), options.engine)
    print(report.verdict)
    if not quick:
        more = ("", "") if twin else (" --engine two-stage", " (two-stage)")
        write_section(
            f"server_attacks.py{more[0]}",
            f"Table server: attacks{more[1]}",
            "\n\n".join([report.verdict, *report.sections]),
        )
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
