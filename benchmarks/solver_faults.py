"""Solver faults: solvers that time out, lie, crash or answer garbage, and the exact check that nothing unsafe comes of it.

Each run takes a small table with levels and several attackers, forces one engine, and makes one adapter misbehave at its first, second or every call:
protect → certificate → release → audit. What comes out must be an error with a name, no values at all, or values that an exact oracle finds safe; a
claim may be wrong, a proof never. The outer places are the adapters themselves, replaced where they are used; the inner ones are HiGHS behind them.

python benchmarks/solver_faults.py            200 runs a fault, under ten minutes; exits 1 when one of them ends badly
python benchmarks/solver_faults.py --quick    20 runs a fault
python benchmarks/solver_faults.py --one "truncated answer" "HiGHS LP" 3    one run, with its traceback
"""

from __future__ import annotations

import argparse
import math
import os
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import random_releases
import random_tables
from random_releases import Released, true_intervals
from results import table

import cellward as cw
from cellward.audit import audit as audit_module
from cellward.audit import bound, linear, relaxation, settle
from cellward.audit.ends import Ends
from cellward.protect.lattice.branch_and_bound import BranchAndBound
from cellward.protect.lattice.flow_in_worker import FlowInWorker
from cellward.protect.lattice.problem import LatticeEngine
from cellward.protect.lattice.staged_flow import StagedFlow
from cellward.protect.lattice.vertex import VertexThenBlocks
from cellward.solve import highs, worker
from cellward.solve.flow import solve_flow
from cellward.solve.highs import solve_lp, solve_mip
from cellward.solve.outcome import Outcome
from cellward.solve.session import Session
from cellward.solve.warm import WarmLp
from cellward.table.sensitivity import CellStatus, Sensitivity

Floats = np.ndarray[Any, np.dtype[np.float64]]
EVERY = 0
DRAWS = 60
"""Seeds tried for each run wanted: some tables never ask the solver in question, or not twice."""


# ---- faults ----------------------------------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Call:
    """One call of a solver: what it answers (also under another cost), and what lies can be made of."""

    solve: Callable[[Floats | None], Outcome]
    cost: Floats
    lower: Floats
    upper: Floats

    @cached_property
    def honest(self) -> Outcome:
        return self.solve(None)

    def at(self, x: Floats, outcome: Outcome | None = None, **facts: Any) -> Outcome:
        """The claim that x is optimal."""
        value = float(self.cost @ x)
        facts = {"status": "optimal", "objective": value, "bound": value, "residual": 0.0} | facts
        return replace(self.honest if outcome is None else outcome, x=x, **facts)

    def another(self, rng: np.random.Generator) -> Outcome | None:
        """A point that is feasible and not optimal."""
        if not _has_point(self.honest) or self.honest.status != "optimal":
            return None
        found = self.solve(rng.integers(1, 100, len(self.cost)) * rng.choice((-1, 1), len(self.cost)))
        if found.x is None or abs(float(self.cost @ (found.x - self.honest.x))) < 1e-3:
            return None
        return found


Lie = Outcome | Exception | Callable[[], Outcome] | None
"""What the solver says instead: an answer, an error to raise, something to do; None: this fault cannot be had here."""


def _has_point(outcome: Outcome) -> bool:
    return outcome.x is not None and len(outcome.x) > 0


def _has_duals(outcome: Outcome) -> bool:
    return outcome.row_duals is not None and len(outcome.row_duals) > 0


def _some(rng: np.random.Generator, size: int) -> Any:
    """Some places out of so many: one, or each with a chance of a third."""
    out = rng.random(size) < (0.33 if rng.random() < 0.5 else 0.0)
    out[rng.integers(size)] = True
    return out


def _time_out(call: Call, rng: np.random.Generator) -> Lie:  # noqa: ARG001 (all faults have this shape)
    return Outcome(status="unknown", solver="fake", limit_reached=True)


def _nan_values(call: Call, rng: np.random.Generator) -> Lie:
    if not _has_point(call.honest):
        return None
    return replace(call.honest, x=np.where(_some(rng, len(call.honest.x)), math.nan, call.honest.x))


def _nan_duals(call: Call, rng: np.random.Generator) -> Lie:
    if not _has_duals(call.honest):
        return None
    duals = call.honest.row_duals
    return replace(call.honest, row_duals=np.where(_some(rng, len(duals)), rng.choice([math.nan, math.inf]), duals))


def _called_infeasible(call: Call, rng: np.random.Generator) -> Lie:
    if not _has_point(call.honest):
        return None
    duals = call.honest.row_duals
    return Outcome(status="infeasible", solver="fake", row_duals=duals if rng.random() < 0.5 else None)


def _not_the_optimum(call: Call, rng: np.random.Generator) -> Lie:
    found = call.another(rng)
    return None if found is None else call.at(found.x, found)


def _no_solution(call: Call, rng: np.random.Generator) -> Lie:
    """A point that breaks rows or bounds, also where there is no point at all."""
    size = len(call.cost)
    if not size:
        return None
    low, high = (np.clip(np.nan_to_num(x), -1e6, 1e6) for x in (call.lower, call.upper))
    x = call.honest.x if _has_point(call.honest) else np.rint(rng.uniform(low, high))
    moved = [low + high - x, x + rng.integers(1, 4, size), np.rint(rng.uniform(low, high))][rng.integers(3)]
    return call.at(np.where(_some(rng, size), moved, x))


def _off_by(most: float) -> Callable[[Call, np.random.Generator], Lie]:
    def off(call: Call, rng: np.random.Generator) -> Lie:
        if not _has_point(call.honest):
            return None
        return replace(call.honest, x=call.honest.x + most * rng.choice((-1, 1), len(call.honest.x)))

    return off


def _garbage_duals(call: Call, rng: np.random.Generator) -> Lie:
    if not _has_duals(call.honest):
        return None
    duals = call.honest.row_duals
    made = [1000 * duals, -duals, rng.normal(0, 1e3, len(duals)), np.full(len(duals), 1e18), duals + 1e300]
    return replace(call.honest, row_duals=made[rng.integers(len(made))])


def _high_bound(call: Call, rng: np.random.Generator) -> Lie:
    if not _has_point(call.honest):
        return None
    found = call.another(rng) or call.honest
    value = float(call.cost @ found.x)
    claimed = value + float(rng.choice([0.0, 1.0, 25.0, 1e9, math.inf]))
    status = rng.choice(["optimal", "feasible"])
    limit = status == "feasible"
    return call.at(found.x, found, status=status, objective=max(value, claimed), bound=claimed, limit_reached=limit)


def _solver_error(call: Call, rng: np.random.Generator) -> Lie:  # noqa: ARG001
    return cw.SolverError("the fake solver gives up.")


def _unexpected(call: Call, rng: np.random.Generator) -> Lie:  # noqa: ARG001
    return [RuntimeError, OSError, MemoryError, ArithmeticError][rng.integers(4)]("the fake solver broke down")


def _truncated(call: Call, rng: np.random.Generator) -> Lie:
    points, duals = _has_point(call.honest), _has_duals(call.honest)
    if duals and (not points or rng.random() < 0.3):
        return replace(call.honest, row_duals=call.honest.row_duals[:-1])
    if not points:
        return None
    return replace(call.honest, x=call.honest.x[: 0 if rng.random() < 0.3 else -1])


def _killed(call: Call, rng: np.random.Generator) -> Lie:
    """The worker process ended by a signal in the middle of a solve: it is held first, so that it cannot be faster."""
    how = [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT][rng.integers(3)]

    def solve() -> Outcome:
        worker.warm_up()
        mine = worker._worker.process.pid  # type: ignore[union-attr]
        os.kill(mine, signal.SIGSTOP)

        def end() -> None:
            with suppress(ProcessLookupError):
                os.kill(mine, how)
                os.kill(mine, signal.SIGCONT)

        timer = threading.Timer(0.01, end)
        timer.start()
        try:
            return call.solve(None)
        finally:
            timer.join()

    return solve


KINDS: dict[str, Callable[[Call, np.random.Generator], Lie]] = {
    "time-out": _time_out,
    "NaN in values": _nan_values,
    "NaN in duals": _nan_duals,
    "optimal called infeasible": _called_infeasible,
    "feasible called optimal": _not_the_optimum,
    "infeasible called optimal": _no_solution,
    "values off by 1e-6": _off_by(1e-6),
    "values off by 1e-2": _off_by(1e-2),
    "garbage duals": _garbage_duals,
    "bound too high": _high_bound,
    "SolverError raised": _solver_error,
    "other exception raised": _unexpected,
    "process killed": _killed,
    "truncated answer": _truncated,
}


class Trap:
    """Lets a solver lie at its first, second or every call (of those at which the fault can be had)."""

    def __init__(self, kind: str, when: int, seed: int) -> None:
        self.kind, self.when, self.rng = KINDS[kind], when, np.random.default_rng(seed)
        self.calls = self.fired = 0

    def __call__(self, call: Call) -> Outcome:
        lie = self.kind(call, self.rng)
        self.calls += lie is not None
        if lie is None or self.when not in (EVERY, self.calls):
            return call.honest
        self.fired += 1
        if isinstance(lie, Exception):
            raise lie
        return lie if isinstance(lie, Outcome) else lie()


# ---- places ----------------------------------------------------------------------------------------------------------------------------------------


def _lied(true: Callable[..., Outcome], trap: Trap) -> Callable[..., Outcome]:
    """solve_lp or solve_mip with the trap around it."""

    def fake(model: Any, **options: Any) -> Outcome:
        def solve(cost: Floats | None) -> Outcome:
            return true(model if cost is None else replace(model, cost=cost.astype(float)), **options)

        return trap(Call(solve, model.cost, model.lower, model.upper))

    return fake


def _function(module: Any, name: str, trap: Trap) -> Any:
    """solve_lp or solve_mip as one module uses it."""
    return patch.object(module, name, _lied(getattr(module, name), trap))


def _engines(*engines: LatticeEngine) -> Any:
    """Roundings by these engines."""
    return patch.object(cw.ControlledRounding, "engines", engines)


def _lp(trap: Trap) -> Any:
    return _engines(StagedFlow(), FlowInWorker(), VertexThenBlocks(solver=_lied(solve_lp, trap)))


def _mip(trap: Trap) -> Any:
    blocks = (BranchAndBound(solver=_lied(solve_mip, trap)),)
    return _engines(StagedFlow(), FlowInWorker(), VertexThenBlocks(whole=-1.0, blocks=blocks))


def _flow(trap: Trap) -> Any:
    def fake(model: Any, **options: Any) -> Outcome:
        def solve(cost: Floats | None) -> Outcome:
            other = model if cost is None else replace(model, cost=np.abs(cost).astype(np.int64))
            return solve_flow(other, **options)

        return trap(Call(solve, model.cost, np.zeros(model.arcs), model.capacity))

    return _engines(FlowInWorker(fewest=0, solver=fake), VertexThenBlocks())


def _maximise(trap: Trap) -> Any:
    true = Session.maximise

    def fake(self: Session, cost: Floats, **options: Any) -> Outcome:
        def solve(other: Floats | None) -> Outcome:
            return true(self, cost if other is None else other.astype(float), **options)

        return trap(Call(solve, cost, self.model.lower, self.model.upper))

    return patch.object(Session, "maximise", fake)


def _warm(trap: Trap) -> Any:
    true = WarmLp.solve

    def fake(self: WarmLp, **options: Any) -> Outcome:
        def solve(cost: Floats | None) -> Outcome:
            return true(self, **options) if cost is None else _cold(self, cost)

        return trap(Call(solve, self._model.cost, self._lower, self._upper))

    return patch.object(WarmLp, "solve", fake)


def _cold(lp: WarmLp, cost: Floats) -> Outcome:
    return highs.solve_lp(replace(lp._model, cost=cost.astype(float), lower=lp._lower, upper=lp._upper))


def _answer(trap: Trap) -> Any:
    """HiGHS behind solve_lp and solve_mip."""
    true = highs._run
    statuses = {"optimal": "optimal", "infeasible": "infeasible", "limit": "unknown", "unsettled": "unknown"}
    verdicts = {"optimal": "optimal", "feasible": "limit", "infeasible": "infeasible", "unknown": "limit"}

    def fake(highspy: Any, model: Any, options: Any, start: Any, gap: float) -> Any:
        def answer(cost: Floats | None) -> Any:
            return true(
                highspy, model if cost is None else replace(model, cost=cost.astype(float)), options, start, gap
            )

        def solve(cost: Floats | None) -> Outcome:
            said = honest if cost is None else answer(cost)
            status: Any = statuses[said.verdict]
            return Outcome(
                status=status, x=said.x, objective=said.objective, bound=said.mip_bound, row_duals=said.row_duals
            )

        honest = answer(None)
        call = Call(solve, model.cost, model.lower, model.upper)
        lie = trap(call)
        if lie is call.honest:
            return honest
        return replace(
            honest, verdict=verdicts[lie.status], x=lie.x, row_duals=lie.row_duals, objective=lie.bound, mip_bound=lie.bound
        )  # fmt: skip

    return patch.object(highs, "_run", fake)


class FakeHighs:
    """A HiGHS object whose answers go through a trap; everything else is the true object's."""

    def __init__(self, true: Any, trap: Trap, solve_cold: Callable[[Floats], Outcome], model: Any) -> None:
        self._true, self._trap, self._cold, self._model = true, trap, solve_cold, model
        self._lie: Outcome | None = None
        self._cost = model.cost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._true, name)

    def changeColsCost(self, count: int, columns: Any, cost: Floats) -> Any:  # noqa: N802 (HiGHS' own name)
        self._cost = cost
        return self._true.changeColsCost(count, columns, cost)

    def run(self) -> None:
        self._lie = None
        self._true.run()

        def solve(cost: Floats | None) -> Outcome:
            if cost is not None:
                return self._cold(cost)
            found, status = self._true.getSolution(), self._true.getModelStatus().name
            if status != "kOptimal":
                return Outcome(status="infeasible" if status == "kInfeasible" else "unknown")
            return Outcome(status="optimal", x=np.array(found.col_value), row_duals=np.array(found.row_dual))

        call = Call(solve, self._cost, self._model.lower, self._model.upper)
        said = self._trap(call)
        self._lie = None if said is call.honest else said

    def getModelStatus(self) -> Any:  # noqa: N802
        words = {"optimal": "kOptimal", "feasible": "kTimeLimit", "infeasible": "kInfeasible", "unknown": "kTimeLimit"}
        return self._true.getModelStatus() if self._lie is None else SimpleNamespace(name=words[self._lie.status])

    def getSolution(self) -> Any:  # noqa: N802
        if self._lie is None:
            return self._true.getSolution()
        x, duals = self._lie.x, self._lie.row_duals
        return SimpleNamespace(value_valid=x is not None, dual_valid=duals is not None, col_value=x, row_dual=duals)

    def getDualRay(self) -> Any:  # noqa: N802
        if self._lie is None:
            return self._true.getDualRay()
        return None, self._lie.row_duals is not None, self._lie.row_duals


def _in_session(trap: Trap) -> Any:
    true = Session._load

    def fake(self: Session) -> FakeHighs:
        def cold(cost: Floats) -> Outcome:
            return highs.solve_lp(replace(self.model, cost=cost.astype(float)))

        return FakeHighs(true(self), trap, cold, self.model)

    return patch.object(Session, "_load", fake)


def _in_warm(trap: Trap) -> Any:
    true = WarmLp.__init__

    def fake(self: WarmLp, model: Any, **options: Any) -> None:
        true(self, model, **options)
        self._h = FakeHighs(self._h, trap, lambda cost: _cold(self, cost), model)

    return patch.object(WarmLp, "__init__", fake)


def _without_duals() -> Any:
    """The first engine's relaxation without its hint at a proof, so that the bound must be worked for."""

    def bare(model: Any, **options: Any) -> Outcome:
        return replace(solve_lp(model, **options), row_duals=None)

    return _engines(StagedFlow(), FlowInWorker(), VertexThenBlocks(solver=bare))


def _useless_sessions() -> Any:
    """An attacker's linear programs without a usable point or dual: all is left to the integer ones."""
    true = Session.maximise

    def fake(self: Session, cost: Floats, **options: Any) -> Outcome:
        honest = true(self, cost, **options)
        return honest if honest.x is None else replace(honest, x=honest.x + 0.37, row_duals=None)

    return patch.object(Session, "maximise", fake)


ALL_TO_MIP = (_engines, StagedFlow(), FlowInWorker(), VertexThenBlocks(whole=-1.0))
NO_SWAPS = (patch.object, settle, "_structured", lambda questions: False)  # noqa: ARG005
NO_POTENTIALS = (patch.object, bound, "potentials", lambda *_: None)


@dataclass(frozen=True)
class Place:
    """Where the solver is replaced, what forces the work that way, and the faults that cannot be had there."""

    faults: tuple[Callable[[Trap], Any], ...]
    force: tuple[tuple[Any, ...], ...] = ()
    without: tuple[str, ...] = ("process killed",)
    audits: float = 0.0
    """The share of runs that audit a release by any rule instead of making one."""


_INNER = ("process killed", "SolverError raised")
_NO_DUALS = ("process killed", "NaN in duals", "garbage duals")
PLACES: dict[str, Place] = {
    "HiGHS LP": Place((_lp,)),
    "HiGHS MIP": Place((_mip,), (), _NO_DUALS),
    "flow": Place((_flow,), (), _NO_DUALS[1:]),
    "audit LP": Place((_maximise,), (NO_SWAPS,), audits=0.3),
    "audit LP, no bounds": Place((_maximise,), (NO_SWAPS,), audits=1),
    "audit MIP": Place(
        (lambda trap: _function(linear, "solve_mip", trap),), (NO_SWAPS, (_useless_sessions,)), _NO_DUALS, audits=0.3
    ),
    "bound LP": Place(
        (_warm, lambda trap: _function(relaxation, "solve_lp", trap)), (NO_POTENTIALS, (_without_duals,))
    ),
    "inside HiGHS": Place((_answer,), (), _INNER),
    "inside HiGHS, MIP": Place((_answer,), (ALL_TO_MIP,), _INNER),
    "inside audit LP": Place((_in_session,), (NO_SWAPS,), _INNER, audits=0.3),
    "inside bound LP": Place((_in_warm,), (NO_POTENTIALS, (_without_duals,)), _INNER),
}


@contextmanager
def broken(place: str, trap: Trap) -> Iterator[None]:
    """The place's solver replaced, and the work forced its way; whatever a crash leaves behind goes into a folder that is deleted."""
    with ExitStack() as stack:
        stack.enter_context(chdir(stack.enter_context(tempfile.TemporaryDirectory())))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        for make, *arguments in PLACES[place].force:
            stack.enter_context(make(*arguments))
        for fault in PLACES[place].faults:
            stack.enter_context(fault(trap))
        yield


# ---- tables ----------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """A table to be rounded, its attackers, and the truth about its least rounding."""

    case: random_tables.Case
    attackers: list[cw.Attacker]
    answer: random_tables.Answer
    knowledge: str

    @property
    def bases(self) -> list[int]:
        """The step of every cell; fixed cells have none."""
        fixed = self.case.table.sensitivity.fixed.tolist()
        return [0 if still else base for base, still in zip(random_tables._bases(self.case), fixed, strict=True)]

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
    if random_tables.refused(case):
        return None
    rng, t = Random(seed), case.table
    s, bases = t.sensitivity, random_tables._bases(case)
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
    return Problem(case, attackers, random_tables.brute_force(case), rng.choice(("strict", "strict", "paper")))


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
    release = cw.Release(
        labels=t.labels,
        scaled=t.scaled,
        decimals=0,
        method={"name": "suppression"},
        relations=t.relations,
        lower=t.lower,
        upper=t.upper,
        knowledge=cw.Knowledge.suppressed(t.scaled, np.array(withheld, np.int64)),
        digest="",
    )
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
            "protect",
            lambda: method.protect(one.case.table, weights=one.case.weights, attackers=one.attackers, key=bytes(32)),
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
    for i, own in enumerate(random_tables.neighbours(one.case)):
        if v[i] not in own:
            return f"cell {i} is {v[i]}, not one of {own}"
    return ""


def _judge_release(out: Run, one: Problem, p: cw.Protection, release: cw.Release, truth: Sequence[Any]) -> None:
    """The protected values and no others, and every level met."""
    t = one.case.table
    if release.scaled.tolist() != p.scaled.tolist():
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
        for i in set(s.asked.tolist()) - set(attacker.known.tolist()):
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
        random_releases._verdict(source, attacker, i, *truth[k][i])
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
