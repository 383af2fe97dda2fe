"""Attacks on the table server as code, beside the same server whose values are drawn anew for each answer, and beside a minimum alone.

python benchmarks/server_attacks.py           1,500 records, 200 draws, 2,000 queries; writes RESULTS.md; exits 1 when the server gives anybody away
python benchmarks/server_attacks.py --records N --draws N --queries N   so many instead
python benchmarks/server_attacks.py --quick   400 records, 12 draws, 400 queries; writes nothing

A cell at risk counts as recovered where what the attacker works out is nearer to its true value than half the level that the rules ask. *Guessing*:
the published value moved at random by up to twice the level, which needs no attack. *Drawn anew*: every answer is a sum over a twin of its own, as a
server that keeps no values would give. *A minimum alone*: true values of whatever three units or more stand behind, nothing of others.
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
from cellward.server.vault.twin.build import atoms_of, build_twin
from cellward.server.vault.twin.lattice import needs_of

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
    return Target(needs.sums, true, level, np.stack(twins), sparse.csr_array(units), np.random.default_rng(0))


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


def figures(report: Report, many: int, draws: int, queries: int, most: int) -> None:
    t = target(many, draws)
    at_risk = np.flatnonzero(t.level > 0)
    cells = t.rng.permutation(at_risk)[:most]
    single = np.flatnonzero(np.diff(t.sums.indptr) == 1)
    atoms = np.array([cell for cell in single if t.level[cell] > 0])
    guess = (t.sums @ t.twins[0])[cells] + t.rng.uniform(-2, 2, len(cells)) * t.level[cells]
    servers = (("as shipped", t.kept), ("drawn anew", t.anew), ("a minimum of 3 alone", t.rules))
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
        report.require(shares[0] == "0.0 %", f"{name}: {shares[0]} recovered from the server as shipped")
    rows.append(["guessing", t.recovered(cells, guess), "", ""])
    report.add(
        f"{many:,} records, {len(t.true):,} combinations of codes, {len(at_risk):,} cells at risk, {len(cells):,} of them attacked. Recovered:"
    )
    report.add(table(["attack", *(name for name, _ in servers)], rows))
    report.add(
        "The attackers do not look for the two bands, one on each side of the published value, in which a true value lies for those who know the "
        "rules: which of them is secret, as in every adjustment (docs/decisions/0083)."
    )


def _rebuilt(
    t: Target, cells: np.ndarray[Any, Any], atoms: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return cells, np.asarray(t.sums @ atoms)[cells]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--records", type=int, default=1_500)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--queries", type=int, default=2_000)
    options = parser.parse_args()
    quick = options.quick
    report = Report()
    figures(report, *((400, 12, 400, 60) if quick else (options.records, options.draws, options.queries, 300)))
    print(report.verdict)
    if not quick:
        write_section("server_attacks.py", "Table server: attacks", "\n\n".join([report.verdict, *report.sections]))
    return 1 if report.short else 0


if __name__ == "__main__":
    sys.exit(main())
