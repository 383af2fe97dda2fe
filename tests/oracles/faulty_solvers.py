"""Solvers that time out, lie, crash or answer garbage: faults, and the places where an adapter can be made to misbehave.

The outer places are the adapters themselves, replaced where they are used; the inner ones are HiGHS behind them.
"""

from __future__ import annotations

import math
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

import cellward as cw
from cellward.audit import bound, linear, relaxation, settle
from cellward.protect.lattice.branch_and_bound import BranchAndBound
from cellward.protect.lattice.flow_in_worker import FlowInWorker
from cellward.protect.lattice.problem import LatticeEngine
from cellward.protect.lattice.staged_flow import StagedFlow
from cellward.protect.lattice.vertex import VertexThenBlocks
from cellward.solve import highs, worker
from cellward.solve.flow import solve_flow
from cellward.solve.highs import solve_lp, solve_mip
from cellward.solve.outcome import Outcome
from cellward.solve.warm_lp import WarmLp

Floats = np.ndarray[Any, np.dtype[np.float64]]
EVERY = 0

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


def _time_out(call: Call, rng: np.random.Generator) -> Lie:
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


def _solver_error(call: Call, rng: np.random.Generator) -> Lie:
    return cw.SolverError("the fake solver gives up.")


def _unexpected(call: Call, rng: np.random.Generator) -> Lie:
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
        mine = worker._lanes[0].worker.process.pid  # type: ignore[union-attr]
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
    true = WarmLp.maximise

    def fake(self: WarmLp, cost: Floats, **options: Any) -> Outcome:
        def solve(other: Floats | None) -> Outcome:
            return true(self, cost if other is None else other.astype(float), **options)

        return trap(Call(solve, cost, self.model.lower, self.model.upper))

    return patch.object(WarmLp, "maximise", fake)


def _warm(trap: Trap) -> Any:
    true = WarmLp.solve

    def fake(self: WarmLp, **options: Any) -> Outcome:
        def solve(cost: Floats | None) -> Outcome:
            return true(self, **options) if cost is None else _cold(self, cost)

        return trap(Call(solve, self.model.cost, self.model.lower, self.model.upper))

    return patch.object(WarmLp, "solve", fake)


def _cold(lp: WarmLp, cost: Floats) -> Outcome:
    return highs.solve_lp(replace(lp.model, cost=cost.astype(float)))


def _answer(trap: Trap) -> Any:
    """HiGHS behind solve_lp and solve_mip."""
    true = highs._run
    statuses = {"optimal": "optimal", "infeasible": "infeasible", "limit": "unknown", "unsettled": "unknown"}
    verdicts = {"optimal": "optimal", "feasible": "limit", "infeasible": "infeasible", "unknown": "limit"}

    def fake(highspy: Any, model: Any, options: Any, start: Any, gap: float, budget: Any) -> Any:
        def answer(cost: Floats | None) -> Any:
            asked = model if cost is None else replace(model, cost=cost.astype(float))
            return true(highspy, asked, options, start, gap, budget)

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

    def changeColsCost(self, count: int, columns: Any, cost: Floats) -> Any:  # noqa: N802 (HiGHS' name)
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

    def getModelStatus(self) -> Any:  # noqa: N802 (HiGHS' name)
        words = {"optimal": "kOptimal", "feasible": "kTimeLimit", "infeasible": "kInfeasible", "unknown": "kTimeLimit"}
        return self._true.getModelStatus() if self._lie is None else SimpleNamespace(name=words[self._lie.status])

    def getSolution(self) -> Any:  # noqa: N802 (HiGHS' name)
        if self._lie is None:
            return self._true.getSolution()
        x, duals = self._lie.x, self._lie.row_duals
        return SimpleNamespace(value_valid=x is not None, dual_valid=duals is not None, col_value=x, row_dual=duals)

    def getDualRay(self) -> Any:  # noqa: N802 (HiGHS' name)
        if self._lie is None:
            return self._true.getDualRay()
        return None, self._lie.row_duals is not None, self._lie.row_duals


def _in_warm(trap: Trap) -> Any:
    """HiGHS behind WarmLp."""
    true = WarmLp._load

    def fake(self: WarmLp) -> FakeHighs:
        return FakeHighs(true(self), trap, lambda cost: _cold(self, cost), self.model)

    return patch.object(WarmLp, "_load", fake)


def _without_duals() -> Any:
    """The first engine's relaxation without its hint at a proof, so that the bound must be worked for."""

    def bare(model: Any, **options: Any) -> Outcome:
        return replace(solve_lp(model, **options), row_duals=None)

    return _engines(StagedFlow(), FlowInWorker(), VertexThenBlocks(solver=bare))


def _useless_maxima() -> Any:
    """An attacker's linear programs without a usable point or dual: all is left to the integer ones."""
    true = WarmLp.maximise

    def fake(self: WarmLp, cost: Floats, **options: Any) -> Outcome:
        honest = true(self, cost, **options)
        return honest if honest.x is None else replace(honest, x=honest.x + 0.37, row_duals=None)

    return patch.object(WarmLp, "maximise", fake)


ALL_TO_MIP = (_engines, StagedFlow(), FlowInWorker(), VertexThenBlocks(whole=-1.0))
NO_SWAPS = (patch.object, settle, "_structured", lambda questions: False)
NO_LEAF_MOVES = (patch.object, settle, "_leaf_moves", lambda questions: None)
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
    "audit LP": Place((_maximise,), (NO_SWAPS, NO_LEAF_MOVES), audits=0.3),
    "audit LP, no bounds": Place((_maximise,), (NO_SWAPS, NO_LEAF_MOVES), audits=1),
    "audit MIP": Place(
        (lambda trap: _function(linear, "solve_mip", trap),),
        (NO_SWAPS, NO_LEAF_MOVES, (_useless_maxima,)),
        _NO_DUALS,
        audits=0.3,
    ),
    "bound LP": Place(
        (_warm, lambda trap: _function(relaxation, "solve_lp", trap)), (NO_POTENTIALS, (_without_duals,))
    ),
    "inside HiGHS": Place((_answer,), (), _INNER),
    "inside HiGHS, MIP": Place((_answer,), (ALL_TO_MIP,), _INNER),
    "inside audit LP": Place((_in_warm,), (NO_SWAPS, NO_LEAF_MOVES), _INNER, audits=0.3),
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
