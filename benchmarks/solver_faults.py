"""Solver faults: solvers that time out, lie, crash or answer garbage, and the exact check that nothing unsafe comes of it.

Each run takes a small table with levels and several attackers, forces one engine, and makes one adapter misbehave at its first, second or every call:
protect → certificate → release → audit. What comes out must be an error with a name, no values at all, or values that an exact oracle finds safe; a
claim may be wrong, a proof never.

python benchmarks/solver_faults.py            200 runs a fault, under ten minutes; exits 1 when one of them ends badly
python benchmarks/solver_faults.py --quick    20 runs a fault
python benchmarks/solver_faults.py --one "truncated answer" "HiGHS LP" 3    one run, with its traceback
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

import measure  # noqa: F401  # isort: skip (finds the oracles)
import random_releases
import random_tables
import release_check
import zero_restricted
from faulty_solvers import EVERY, KINDS, PLACES, Trap, broken
from fixed_keys import key_of
from random_releases import Released
from releases import by_hand
from results import table
from true_intervals import true_intervals

import cellward as cw
from cellward.audit import audit as audit_module
from cellward.audit.ends import Ends
from cellward.table.sensitivity import CellStatus, Sensitivity

DRAWS = 60
"""Seeds tried for each run wanted: some tables never ask the solver in question, or not twice."""

# ---- tables ----------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """A table to be rounded, its attackers, and the truth about its least rounding."""

    case: zero_restricted.Case
    attackers: list[cw.Attacker]
    answer: zero_restricted.Answer
    knowledge: str

    @property
    def bases(self) -> list[int]:
        """The step of every cell; fixed cells have none."""
        fixed = self.case.table.sensitivity.fixed.tolist()
        return [0 if still else base for base, still in zip(zero_restricted.bases(self.case), fixed, strict=True)]

    def released(self, source: Any, v: list[int]) -> Released:
        """What values v tell their reader, written down from the definition."""
        strict, t = self.knowledge == "strict", self.case.table
        box = []
        for a, x, base in zip(t.scaled.tolist(), v, self.bases, strict=True):
            width = 0 if base == 0 else base - 1 if strict else base * (a % base != 0)
            box.append((x - width, x + width))
        return Released(f"rounded {self.knowledge}", t, source, self.attackers, box, strict)


@lru_cache(maxsize=4000)
def problem(seed: int) -> Problem | None:
    """The problem of this seed: a random table with levels on some cells and up to two insiders; None when it is no valid input."""
    case = random_tables.random_case(seed)
    if zero_restricted.refused(case):
        return None
    rng, t = Random(seed), case.table
    s, bases = t.sensitivity, zero_restricted.bases(case)
    open_cells = np.flatnonzero(~s.fixed).tolist()
    status, lpl, upl, spl = s.status.copy(), s.lpl.copy(), s.upl.copy(), s.spl.copy()
    for i in rng.sample(open_cells, min(len(open_cells), rng.choice((0, 1, 2, 3)))):
        status[i] = CellStatus.UNSAFE
        lpl[i], upl[i] = (bases[i] * rng.choice((0, 1, 2)) // 5 for _ in range(2))
        spl[i] = rng.choice((0, 0, int(lpl[i] + upl[i]) + 1))
    t = t.with_sensitivity(replace(s, status=status, lpl=lpl, upl=upl, spl=spl))
    attackers = [cw.Attacker.external(whole=rng.random() < 0.3)]
    for k in range(rng.randint(0, 2)):
        known = rng.sample(range(t.cells), min(t.cells, rng.randint(1, 2)))
        attackers.append(cw.Attacker.knowing(t, f"insider {k}", exactly=known, whole=rng.random() < 0.3))
    case = replace(case, table=t)
    return Problem(case, attackers, zero_restricted.brute_force(case), rng.choice(("strict", "strict", "paper")))


def loose_release(seed: int) -> Released:
    """A release that withholds cells without any bound of their own; what bounds they have, several equations imply together."""
    rng = Random(seed)
    n = rng.randint(2, 5)
    rows = []
    for _ in range(rng.randint(n - 1, n + 1)):
        members = rng.sample(range(n), rng.randint(2, min(n, 3)))
        rows.append([rng.choice((1, -1)) if i in members else 0 for i in range(n)])
    a = [rng.randint(0, 9) for _ in range(n)]
    near = [rng.random() < 0.3 for _ in a]
    t = cw.Table.from_equations(
        a,
        rows,
        [sum(c * x for c, x in zip(row, a, strict=True)) for row in rows],
        lower=[x - 2 if own else None for x, own in zip(a, near, strict=True)],
        upper=[x + 2 if own else None for x, own in zip(a, near, strict=True)],
    )
    t = t.with_sensitivity(Sensitivity.of(n, [rng.randrange(n)], *(np.array([1]) for _ in range(3))))
    withheld = [i for i in range(n) if rng.random() < 0.9]
    told = cw.Knowledge.suppressed(t.scaled, np.array(withheld, np.int64))
    release = by_hand(t, t.scaled, told, "suppression")
    box = [(None, None) if i in withheld else (x, x) for i, x in enumerate(a)]
    return Released("suppressed without bounds", t, release, [cw.Attacker.external()], box, False)


# ---- one run ---------------------------------------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """What came of one run: an outcome in a few words, what is wrong with it, and how its audit fared."""

    outcome: str = ""
    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    fired: bool = False
    table: str = ""

    def attempt(self, stage: str, what: Callable[[], Any]) -> Any:
        """The stage's result; an error with a name is an outcome, any other is wrong."""
        try:
            return what()
        except cw.CellwardError as error:
            self.outcome = f"{type(error).__name__}" if stage != "audit" else self.outcome
            self.counts[f"{stage} refused"] += 1
            if not str(error).strip() or not str(error).isprintable() or type(error) is cw.CellwardError:
                self.wrong.append(f"{stage}: {type(error).__name__} without a sentence: {str(error)!r}")
        except Exception as error:  # noqa: BLE001 (it is what we look for)
            last = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in last if "/cellward/" in frame.filename]
            at = f"{ours[-1].filename.rpartition('/cellward/')[2]}:{ours[-1].name}" if ours else "outside the package"
            self.wrong.append(f"{stage}: unnamed {type(error).__name__} from {at}: {error}")
        return None


def run_one(kind: str, place: str, seed: int) -> Run:
    """One run: everything that depends on a solver happens inside ``broken``, the judging outside of it."""
    rng = Random(f"{kind}/{place}/{seed}")
    trap = Trap(kind, rng.choice((1, 2, EVERY)), seed)
    if rng.random() < PLACES[place].audits:
        return _run_audit(trap, place, seed)
    one, out = problem(seed), Run()
    if one is None:
        return out
    out.table = one.case.kind
    knowledge = "strict" if place == "audit MIP" else one.knowledge
    one = replace(one, knowledge=knowledge)
    method = cw.ControlledRounding(one.case.base, knowledge=knowledge)
    release = verdict = found = None
    ends: list[Ends] = []
    with broken(place, trap), _recorded(ends):
        p = out.attempt(
            "round",
            lambda: method.protect(one.case.table, weights=one.case.weights, attackers=one.attackers, key=key_of(0)),
        )
        if p is not None and p.status != "failed":
            verdict = out.attempt("certificate", lambda: p.certificate().check())
        if p is not None:
            release = _release(out, p)
        if p is not None and p.scaled is not None and (trap.fired or PLACES[place].audits):
            found = out.attempt("audit", p.audit)
    out.fired = trap.fired > 0
    if p is None or not out.fired:
        return out
    if verdict is not None:
        _judge_certificate(out, one, p, verdict)
    if p.scaled is None:
        if release is not None:
            out.wrong.append(f"a release of a result called {p.status}")
        return out
    if unfit := _unfit(one, p.scaled.tolist()):
        out.wrong.append(f"{'UNSAFE RELEASE' if release is not None else 'protected values'}: {unfit}")
        return out
    truth = [true_intervals(one.released(p, p.scaled.tolist()), attacker) for attacker in one.attackers]
    if p.protected and (missed := _missed(one.case.table, one.attackers, truth)):
        out.wrong.append(f"protected is {p.protected}, but {missed}")
    if release is not None:
        _judge_release(out, one, p, release, truth)
    if found is not None:
        _judge_audit(out, one.released(p, p.scaled.tolist()), found, ends, truth)
    return out


def _run_audit(trap: Trap, place: str, seed: int) -> Run:
    """The audit alone, of a release by any rule."""
    source = (loose_release if PLACES[place].audits == 1 else random_releases.random_release)(seed)
    out, ends = Run(outcome="audit alone"), []
    with broken(place, trap), _recorded(ends):
        found = out.attempt("audit", lambda: cw.audit(source.release, table=source.table, attackers=source.attackers))
    out.fired, out.table = (
        trap.fired > 0,
        f"released ({source.rule})" if PLACES[place].audits == 1 else "released by any rule",
    )
    if out.fired and found is not None:
        truth = [true_intervals(source, attacker) for attacker in source.attackers]
        _judge_audit(out, source, found, ends, truth)
    return out


def _release(out: Run, p: cw.Protection) -> cw.Release | None:
    """The release; where there are no values, VerificationError is the only right answer."""
    if p.scaled is not None:
        return out.attempt("release", p.release)
    out.outcome = {"failed": "failed", "infeasible": "infeasible"}[p.status]
    try:
        return p.release()
    except cw.VerificationError:
        return None


@contextmanager
def _recorded(ends: list[Ends]) -> Iterator[None]:
    """Keeps what an audit knows of its ends: which of them rest on a solver's word."""
    true = audit_module.settle

    def fake(*arguments: Any) -> list[Ends]:
        ends[:] = true(*arguments)
        return ends

    with patch.object(audit_module, "settle", fake):
        yield


# ---- judging ---------------------------------------------------------------------------------------------------------------------------------------


def _judge_certificate(out: Run, one: Problem, p: cw.Protection, verdict: Any) -> None:
    """A certificate may leave a false claim a claim; it must not prove it."""
    if not verdict:
        if p.scaled is None:
            out.wrong.append(f"the certificate of a result called {p.status} does not hold: {verdict.reason}")
        return
    truth, places = one.answer, p.instance.decimals + p.instance.weight_decimals
    least = None if truth.objective is None else truth.objective * 10**places
    if p.status == "infeasible":
        lied = truth.status != "infeasible"
        out.outcome = f"infeasible, {'falsely ' * lied}{'proven' if verdict.proven else 'claimed'}"
    if verdict.bound == "infeasible" and least is not None:
        out.wrong.append(f"infeasible is proven, but a table of cost {least} exists")
    if isinstance(verdict.bound, Fraction) and (least is None or verdict.bound > least):
        out.wrong.append(f"the bound {verdict.bound} is proven, but the least cost is {least}")
    if verdict.proven and p.scaled is not None and p.objective_scaled != least:
        out.wrong.append(f"{p.objective_scaled} is proven optimal, but the least cost is {least}")


def _unfit(one: Problem, v: list[int]) -> str:
    """What keeps values from being a rounding, in exact arithmetic and from the table's own words; nothing when all is well."""
    t = one.case.table
    for j in range(t.relations.equations):
        rhs, members, coefs = t.relations.equation(j)
        if sum(c * v[i] for i, c in zip(members, coefs, strict=True)) != rhs:
            return f"equation {j} is missed"
    for i, own in enumerate(zero_restricted.neighbours(one.case)):
        if v[i] not in own:
            return f"cell {i} is {v[i]}, not one of {own}"
    return ""


def _judge_release(out: Run, one: Problem, p: cw.Protection, release: cw.Release, truth: Sequence[Any]) -> None:
    """The protected values and no others, and every level met."""
    t = one.case.table
    if release.publication.v.tolist() != p.scaled.tolist():
        out.wrong.append("UNSAFE RELEASE: its values are not the protected ones")
    if missed := _missed(t, one.attackers, truth):
        out.wrong.append(f"UNSAFE RELEASE: {missed}")
    least = one.answer.objective * 10 ** (t.decimals + p.instance.weight_decimals)
    best, proven = p.objective_scaled == least, p.proof.value == p.objective_scaled
    said = "feasible" if p.status == "feasible" else "optimal, proven" if proven else "optimal, claimed"
    out.outcome = f"safe release, {said}{'' if best or p.status == 'feasible' else ' falsely'}"


def _missed(t: cw.Table, attackers: Sequence[cw.Attacker], truth: Sequence[Any]) -> str:
    """The first level that the true intervals do not meet, in words."""
    s, unit = t.sensitivity, 10**t.decimals
    for attacker, intervals in zip(attackers, truth, strict=True):
        for i in set(s.levels.cell.tolist()) - set(attacker.known.tolist()):
            low, high = intervals[i]
            a, lpl, upl, spl = (Fraction(int(x[i]), unit) for x in (t.scaled, s.lpl, s.upl, s.spl))
            short = (low is not None and low > a - lpl) or (high is not None and high < a + upl)
            if short or (low is not None and high is not None and high - low < spl):
                return f"{attacker!r} narrows cell {i} down to {low} to {high}"
    return ""


def _judge_audit(out: Run, source: Released, found: cw.Audit, ends: Sequence[Ends], truth: Sequence[Any]) -> None:
    """Ends called exact are true unless they rest on a solver's word, ends left open lie inside, and protected is never falsely True."""
    n = source.table.cells
    claimed = {(k, i, side) for k, one in enumerate(ends) for i, side in one.claimed}
    out.counts["ends"] += 2 * n * len(source.attackers)
    out.counts["ends claimed"] += found.claimed
    out.counts["intervals open"] += found.open
    if found.claimed != len(claimed):
        out.wrong.append(f"audit: {found.claimed} ends are said to be claimed, {len(claimed)} are")
    for k, attacker in enumerate(source.attackers):
        for i in range(n):
            row = k * n + i
            for side in (0, 1):
                end, true = found.ends[row][side], truth[k][i][side]
                inside = end is None or true is None or (end >= true if side == 0 else end <= true)
                if end == true or (not found.intervals["exact"][row] and inside):
                    continue
                if (k, i, side) in claimed and inside and end is not None:
                    out.counts["ends claimed falsely"] += 1
                else:
                    out.wrong.append(
                        f"audit: {source.rule}, {attacker!r}, cell {i}: {end} called exact, {true} is true"
                    )
    verdicts = {
        release_check.verdict_of(source, attacker, i, *truth[k][i])
        for k, attacker in enumerate(source.attackers)
        for i in range(n)
    }
    if found.protected and verdicts & {"under-protected", "exactly disclosed"}:
        out.wrong.append("UNSAFE AUDIT: protected is True, but the true intervals do not protect")


# ---- all runs --------------------------------------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    """Counts of outcomes by fault, and every run that ended badly."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    places: Counter[tuple[str, str]] = field(default_factory=Counter)
    tables: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, kind: str, place: str, seed: int, run: Run) -> None:
        """Count one run."""
        self.outcomes[kind, "FAILURE" if run.wrong else run.outcome] += 1
        self.places[kind, place] += 1
        self.tables[run.table] += 1
        self.counts += run.counts
        worst = sorted(run.wrong, key=lambda wrong: not wrong.startswith("UNSAFE"))[:1]
        self.failures += [f"{kind}, {place}, seed {seed}: {wrong}" for wrong in worst]

    def text(self) -> str:
        """The tables as Markdown."""
        columns = sorted({outcome for _, outcome in self.outcomes}, key=lambda x: (x == "FAILURE", x))
        kinds = list(dict.fromkeys(kind for kind, _ in self.outcomes))
        rows = [[kind, self._of(kind), *(self.outcomes[kind, outcome] for outcome in columns)] for kind in kinds]
        rows.append(["all", sum(self.outcomes.values()), *(self._having(outcome) for outcome in columns)])
        by_place = [[place, *(self.places[kind, place] for kind in kinds)] for place in PLACES]
        audit = ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))
        shown = ", ".join(f"{count} {what}" for what, count in sorted(self.tables.items()))
        verdict = "Nothing unsafe." if not self.failures else f"**{len(self.failures)} runs ended badly.**"
        return "\n\n".join(
            [
                f"{sum(self.outcomes.values()):,} runs in {self.seconds:.0f} s. {verdict} Tables: {shown}. Audits: {audit}.",
                table(["fault", "runs", *columns], rows),
                table(["place", *kinds], by_place),
                *self._failures(),
            ]
        )

    def _failures(self) -> list[str]:
        """The failures that differ in more than their numbers, each with how often it was met and its first seed."""
        first: dict[tuple[str, str], str] = {}
        often: Counter[tuple[str, str]] = Counter()
        for failure in self.failures:
            where, _, rest = failure.partition(", seed ")
            key = where, re.sub(r"\d+", "#", rest.partition(": ")[2])[:90]
            first.setdefault(key, rest)
            often[key] += 1
        rows = [[count, key[0], *first[key].split(": ", 1)] for key, count in often.items()]
        return [table(["runs", "fault, place", "first seed", "what is wrong"], rows)] if rows else []

    def _of(self, kind: str) -> int:
        return sum(count for (own, _), count in self.outcomes.items() if own == kind)

    def _having(self, outcome: str) -> int:
        return sum(count for (_, own), count in self.outcomes.items() if own == outcome)


def run(cases_per_kind: int, seed: int = 0) -> Result:
    """So many runs of every fault, in turn at all places where it can be had; seeds go on from ``seed``."""
    result, began = Result(), time.perf_counter()
    for first, kind in enumerate(KINDS, seed):
        places = [name for name, place in PLACES.items() if kind not in place.without]
        for k, place in enumerate(places):
            wanted = len(range(k, cases_per_kind, len(places)))
            for draw in range(first + 10 * k, first + 10 * k + DRAWS * wanted):
                if not wanted:
                    break
                one = run_one(kind, place, draw)
                if one.fired:
                    result.add(kind, place, draw, one)
                    wanted -= 1
            if wanted:
                result.failures.append(
                    f"{kind}, {place}, seed {first}: {wanted} runs are missing, the fault was not met"
                )
    result.seconds = time.perf_counter() - began
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 runs a fault")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--one", nargs=3, metavar=("FAULT", "PLACE", "SEED"), help="one run alone")
    options = parser.parse_args()
    if options.one:
        one = run_one(options.one[0], options.one[1], int(options.one[2]))
        print(one)
        return 1 if one.wrong else 0
    result = run(20 if options.quick else 200, options.seed)
    print(result.text())
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main())
