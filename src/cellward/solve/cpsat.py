"""OR-tools CP-SAT: integer models in whole numbers, solved in the worker process (see worker.py); gives back the best it has at any moment."""

from __future__ import annotations

import functools
import importlib
import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, Final

import numpy as np

from cellward.errors import SolverError
from cellward.exact import Floats, Ints
from cellward.solve import worker
from cellward.solve.budget import Budget
from cellward.solve.highs import check_shape
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome, Status

STATUSES: Final[dict[str, Status]] = {
    "OPTIMAL": "optimal",
    "FEASIBLE": "feasible",
    "INFEASIBLE": "infeasible",
    "UNKNOWN": "unknown",
}
"""The words of CP-SAT that are answers; MODEL_INVALID is none."""

LARGEST_EXACT: Final = 2**53
"""Every whole number up to here is a float64."""
LARGEST_SUM: Final = 2.0**61
"""A row or the cost that could leave this range might leave CP-SAT's 64 bits on the way."""
NOTES_S: Final = 0.2
"""The least time between two notes of a kind to the worker's parent."""
BLIND: Final = ["graph_arc_lns", "graph_cst_lns", "graph_dec_lns", "graph_var_lns", "rnd_cst_lns", "rnd_var_lns"]
"""Neighbourhoods of CP-SAT's that do not look at the relaxation."""
NO_LOWER: Final = -(2**63)
NO_UPPER: Final = 2**63 - 1


def solve_cpsat(
    model: LinearModel,
    *,
    budget: Budget | None = None,
    start: Floats | None = None,
    first: bool = False,
    work: float | None = None,
    by_lp: bool = False,
    crash_dir: Path | None = None,
) -> Outcome:
    """Solve a model whose variables, costs, coefficients and row sides are all whole numbers; ``seconds`` is the whole round trip.

    At the time limit, and at Ctrl-C, the best point found so far comes back with its bound (``feasible``, ``limit_reached``;
    Ctrl-C also marks it ``interrupted``). ``start`` is a hint, brought to the nearest whole numbers within the bounds; when it
    is a solution, the answer is never worse. ``first`` stops at the first solution. The budget is told of better points and bounds as they are found.

    ``by_lp``: one searcher follows the linear relaxation from the start and little is done before, for questions whose relaxation is near the truth:
    its first tables come later and are far better.

    ``work`` ends the search after so much of CP-SAT's own measure of work, which is the same on any machine.

    Without a time limit the same question has the same answer. With several threads that costs seconds even on small models
    (CP-SAT's interleaved search lets its threads meet after rounds of fixed work).

    >>> import numpy as np
    >>> model = LinearModel(
    ...     cost=np.array([1.0, 2.0]), lower=np.zeros(2), upper=np.full(2, 9.0),
    ...     indptr=np.array([0, 2]), indices=np.array([0, 1]), coefs=np.array([2.0, 3.0]),
    ...     row_lower=np.array([7.0]), row_upper=np.array([7.0]), integer=np.ones(2, bool))
    >>> outcome = solve_cpsat(model)
    >>> outcome.status, outcome.x.tolist(), outcome.objective
    ('optimal', [2.0, 1.0], 4.0)
    """
    began, budget = perf_counter(), budget or Budget()
    limit = None if budget.left is None or math.isinf(budget.left) else budget.left
    task = functools.partial(
        _solve_question,
        time_limit_s=limit,
        asked_at=monotonic(),
        threads=budget.threads,
        seed=budget.seed,
        first=bool(first),
        work=work,
        by_lp=by_lp,
        notes=budget.tells and budget.watch.listener is not None,
    )
    question = _Question(**{field.name: getattr(model, field.name) for field in fields(LinearModel)}, start=start)
    # CP-SAT ends by itself; the worker is only killed when it does not.
    kill_s = None if limit is None else limit + _grace(limit)
    outcome = worker.call(task, question, time_limit_s=kill_s, crash_dir=crash_dir, stoppable=True, budget=budget)
    return replace(outcome, seconds=perf_counter() - began)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Question(LinearModel):
    """The model and its start together, as they travel to the worker and are saved after a crash."""

    start: Floats | None = None


def _solve_question(
    question: _Question, *, time_limit_s: float | None, asked_at: float, threads: int, seed: int, **options: Any
) -> Outcome:
    if time_limit_s is not None:
        # The clock is the machine's, the same in both processes; a replayed question is an old one and has all its time.
        waited = monotonic() - asked_at
        if 0 <= waited <= time_limit_s + _grace(time_limit_s):
            time_limit_s -= waited
    budget = Budget(threads=threads, seed=seed).part(time_limit_s)
    return solve_cpsat_here(question, start=question.start, budget=budget, **options)


def _grace(limit: float) -> float:
    return max(0.8, 0.05 * limit)


def solve_cpsat_here(
    model: LinearModel,
    *,
    budget: Budget | None = None,
    start: Floats | None = None,
    first: bool = False,
    work: float | None = None,
    by_lp: bool = False,
    gap: float | None = None,
    notes: bool = False,
) -> Outcome:
    """``solve_cpsat`` in this process, which must not have loaded highspy; ``notes``: the worker's parent is told of better points and bounds.

    ``gap``: a point as near as this to the bound, as a share of its cost, is good enough.
    """
    began, budget = perf_counter(), budget or Budget()
    whole = _Whole.of(model)
    if np.any(whole.lower > whole.upper) or np.any(model.row_lower > model.row_upper):
        return Outcome(status="infeasible", seconds=perf_counter() - began, solver="bounds")
    hint = None if start is None else whole.nearest(start)
    known = hint if hint is not None and whole.residual(hint) == 0 else None

    cp_sat, solver = _load()
    proto = whole.proto(cp_sat, hint)
    parameters = cp_sat.SatParameters()
    parameters.num_workers = budget.threads
    parameters.random_seed = budget.seed
    parameters.stop_after_first_solution = first
    if gap is not None:
        parameters.relative_gap_limit = gap
    if work is not None:
        parameters.max_deterministic_time = work
    if by_lp:
        parameters.linearization_level = 2
        parameters.subsolvers.append("max_lp")
        parameters.ignore_subsolvers.extend(BLIND)
        parameters.max_presolve_iterations = 1
        parameters.cp_model_probing_level = parameters.symmetry_level = 0
    parameters.catch_sigint_signal = False
    if (left := budget.left) is None:
        parameters.interleave_search = budget.threads > 1
    else:
        parameters.max_time_in_seconds = left - min(0.5, 0.05 * left)  # room for the way back
    search = cp_sat.SolveWrapper()
    search.set_parameters(parameters)
    notebook = _take_notes(cp_sat, search) if notes and np.any(whole.cost) else None
    asked_to_stop = False

    def stop() -> None:
        nonlocal asked_to_stop
        asked_to_stop = True
        search.stop_search()

    with worker.stopping(stop):
        response = search.solve(proto)
    del notebook
    word = response.status.name
    if word not in STATUSES:
        raise SolverError(f"{solver} refused a model of {whole.size}: {word}, {response.solution_info}")
    status = STATUSES[word]
    if status == "infeasible" and known is not None:
        raise SolverError(f"{solver} says infeasible on {whole.size}, but the start is a solution.")
    if status == "infeasible":
        return Outcome(status="infeasible", seconds=perf_counter() - began, solver=solver, interrupted=asked_to_stop)

    x = None if status == "unknown" else np.fromiter(response.solution, np.int64)
    # The bound in the model's own integers; the one in floats went through presolve's scaling and may lie a hair above.
    # When CP-SAT is stopped before its search begins, it leaves both at 0.
    lowest = int(response.inner_objective_lower_bound)
    bound = -math.inf if (x is None and lowest == 0) or lowest <= -LARGEST_SUM else float(lowest)
    if x is not None:
        _believe(whole, x, round(response.objective_value), solver)
    limit_reached = status == "unknown" or (status == "feasible" and not first)
    if known is not None and status != "optimal" and (x is None or whole.cost_of(known) < whole.cost_of(x)):
        x = known
    if x is None:
        return Outcome(
            status="unknown",
            bound=bound,
            seconds=perf_counter() - began,
            solver=solver,
            limit_reached=True,
            interrupted=asked_to_stop,
        )
    objective = float(whole.cost_of(x))
    if bound > objective:
        raise SolverError(f"{solver} contradicts itself: bound {bound:.12g} exceeds the objective {objective:.12g}.")
    proven = status == "optimal" and objective <= bound
    return Outcome(
        status="optimal" if proven else "feasible",
        x=x.astype(np.float64),
        objective=objective,
        bound=bound,
        residual=0.0,
        seconds=perf_counter() - began,
        solver=solver,
        limit_reached=limit_reached,
        interrupted=asked_to_stop,
    )


def _load() -> tuple[Any, str]:
    """CP-SAT without its Python expressions, which load pandas; and its name."""
    try:
        cp_sat = importlib.import_module("ortools.sat.python.cp_model_helper")
    except ImportError as error:
        raise SolverError(
            f"CP-SAT cannot be loaded ({error}): install ortools, and do not import highspy into the same process."
        ) from error
    return cp_sat, f"OR-tools {importlib.import_module('ortools').__version__} CP-SAT"


def _take_notes(cp_sat: Any, search: Any) -> Any:
    """Have CP-SAT tell the worker's parent, now and then, what it has found; to be kept as long as it searches, which keeps no hold of it."""
    told = {"point": -math.inf, "bound": -math.inf}

    def due(what: str) -> bool:
        late = monotonic() - told[what] >= NOTES_S
        told[what] = monotonic() if late else told[what]
        return late

    class Better(cp_sat.SolutionCallback):  # type: ignore[misc]
        def OnSolutionCallback(self) -> None:  # noqa: N802 (the name that CP-SAT calls)
            if due("point"):
                worker.note(self.ObjectiveValue(), self.BestObjectiveBound())

    better = Better()
    search.add_solution_callback(better)
    search.add_best_bound_callback(lambda bound: worker.note(None, bound) if due("bound") else None)
    return better


def _believe(whole: _Whole, x: Ints, claimed: int, solver: str) -> None:
    violation = whole.residual(x) if len(x) == len(whole.cost) else -1
    if violation != 0 or (abs(claimed) < LARGEST_EXACT and whole.cost_of(x) != claimed):
        raise SolverError(
            f"{solver} gave a point of {len(x)} values for {whole.size} that violates the model by {violation} or does not "
            f"cost {claimed} as it claims; solve the model as a MIP instead."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Whole:
    """A linear model in 64-bit integers, small enough that no sum leaves them; rows without sides are left out."""

    cost: Ints
    lower: Ints
    upper: Ints
    indptr: Ints
    row: Ints
    indices: Ints
    coefs: Ints
    row_lower: Ints
    row_upper: Ints

    @classmethod
    def of(cls, model: LinearModel) -> _Whole:
        """The model, or a sentence that says why it has no such form."""
        check_shape(model)
        if model.columns and (model.integer is None or not np.all(model.integer)):
            raise SolverError("CP-SAT solves models of integer variables only; mark them all, or solve it as a MIP.")
        for name in ("lower", "upper"):
            if not np.all(np.abs(getattr(model, name)) <= LARGEST_EXACT):
                raise SolverError(f"CP-SAT needs finite bounds up to 2^53; the linear model's {name} has others.")
        for name in ("cost", "coefs", "row_lower", "row_upper"):
            array = getattr(model, name)
            finite = array[np.isfinite(array)]
            if not np.all((np.abs(finite) <= LARGEST_EXACT) & (finite == np.rint(finite))):
                raise SolverError(
                    f"CP-SAT needs whole numbers up to 2^53; the linear model's {name} has others: multiply them, or solve it as a MIP."
                )
        lower, upper = np.ceil(model.lower).astype(np.int64), np.floor(model.upper).astype(np.int64)
        row = np.repeat(np.arange(model.rows, dtype=np.int64), np.diff(model.indptr))
        size = np.maximum(np.abs(model.lower), np.abs(model.upper))
        sums = np.bincount(row, weights=np.abs(model.coefs) * size[model.indices], minlength=model.rows)
        if max(float(np.max(sums, initial=0.0)), float(np.abs(model.cost) @ size)) >= LARGEST_SUM:
            raise SolverError(
                "A row or the cost of the linear model could exceed CP-SAT's 64 bits; tighten the bounds."
            )
        return cls(
            cost=model.cost.astype(np.int64),
            lower=lower,
            upper=upper,
            indptr=model.indptr,
            row=row,
            indices=model.indices,
            coefs=model.coefs.astype(np.int64),
            row_lower=_side(model.row_lower, NO_LOWER),
            row_upper=_side(model.row_upper, NO_UPPER),
        )

    @property
    def size(self) -> str:
        """The model in words."""
        return f"{len(self.row_lower)} rows and {len(self.cost)} columns"

    def residual(self, x: Ints) -> int:
        """Largest violation of rows and bounds at x (0 when there is none), exact when x is within twice the bounds."""
        activity = np.zeros(len(self.row_lower), np.int64)
        np.add.at(activity, self.row, self.coefs * x[self.indices])
        # An absent side is as far away as 64 bits reach, so it is compared with and never subtracted from.
        below = np.where(activity < self.row_lower, self.row_lower, activity) - activity
        above = activity - np.where(activity > self.row_upper, self.row_upper, activity)
        gaps = (below, above, self.lower - x, x - self.upper)
        return max(int(np.max(gap, initial=0)) for gap in gaps)

    def cost_of(self, x: Ints) -> int:
        """Cost of x, an exact integer."""
        return int(self.cost @ x)

    def nearest(self, start: Floats) -> Ints:
        """The start in whole numbers within the bounds."""
        if np.shape(start) != np.shape(self.cost):
            raise SolverError(
                f"The start has shape {np.shape(start)}; give a value for each of {len(self.cost)} variables."
            )
        inside = np.clip(np.nan_to_num(np.asarray(start, np.float64)), self.lower, self.upper)
        return np.clip(np.rint(inside).astype(np.int64), self.lower, self.upper)

    def proto(self, cp_sat: Any, hint: Ints | None) -> Any:
        """CP-SAT's own form of the model, filled in lists: 0.2 s for 70,000 columns and 300,000 coefficients."""
        proto = cp_sat.CpModelProto()
        bounds = list(zip(self.lower.tolist(), self.upper.tolist(), strict=True))
        variable = {}  # most variables share their bounds with many
        for pair in set(bounds):
            variable[pair] = cp_sat.IntegerVariableProto()
            variable[pair].domain.extend(list(pair))
        proto.variables.extend([variable[pair] for pair in bounds])
        ends, variables, coefs = self.indptr.tolist(), self.indices.tolist(), self.coefs.tolist()
        add_row = proto.constraints.add
        for j, (low, high) in enumerate(zip(self.row_lower.tolist(), self.row_upper.tolist(), strict=True)):
            if low != NO_LOWER or high != NO_UPPER:
                linear = add_row().linear
                linear.vars.extend(variables[ends[j] : ends[j + 1]])
                linear.coeffs.extend(coefs[ends[j] : ends[j + 1]])
                linear.domain.extend([low, high])
        priced = np.flatnonzero(self.cost)
        if len(priced):
            proto.objective.vars.extend(priced.tolist())
            proto.objective.coeffs.extend(self.cost[priced].tolist())
        if hint is not None:
            proto.solution_hint.vars.extend(list(range(len(hint))))
            proto.solution_hint.values.extend(hint.tolist())
        return proto


def _side(side: Floats, absent: int) -> Ints:
    finite = np.isfinite(side)
    return np.where(finite, np.where(finite, side, 0).astype(np.int64), absent)
