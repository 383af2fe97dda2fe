"""HiGHS: linear models by simplex, integer models by branch and cut; every answer is measured before it is believed."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from cellward.errors import CellwardError, SolverError, TimeLimitError, described
from cellward.exact import Floats
from cellward.solve.budget import Budget
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome

Verdict = Literal["optimal", "infeasible", "limit", "unsettled"]

VERDICTS: Final[dict[str, Verdict]] = {
    "kOptimal": "optimal",
    "kInfeasible": "infeasible",
    "kTimeLimit": "limit",
    "kIterationLimit": "limit",
    "kSolutionLimit": "limit",
    "kMemoryLimit": "limit",
    "kInterrupt": "limit",
    "kHighsInterrupt": "limit",
    # A relaxation without a finite optimum says nothing yet about the model: _settle asks again without costs.
    "kUnbounded": "unsettled",
    "kUnboundedOrInfeasible": "unsettled",
}
"""What HiGHS' status words mean to us; a word that is not here is an error, never an answer."""

TRUSTED_RESIDUAL: Final = 1e-5
"""A point that violates a row, a bound or integrality by more than this is not a solution, whatever the status says."""

LARGEST_INDEX: Final = 2**31 - 1
WATCHED_ENTRIES: Final = {"MIP": 200, "LP": 20_000}
"""With fewer coefficients a solve is over before anybody presses Ctrl-C; from here on HiGHS is watched, for 0.3 ms and a few per cent."""

NOTHING_YET: Final = 1e200
"""HiGHS' words for a bound that it does not have are larger."""

# Relative gap 0 leaves the absolute one in charge. The MIP tolerance also sets those of the relaxations (primal 1e-8,
# dual 1e-9), a tenth of HiGHS' own for an LP; below that, doubles run out of digits at table totals near 10⁸. The LP
# keeps its primal tolerance for the same reason; the dual one is tightened because small weights would fall below it.
LP_OPTIONS: Final[dict[str, object]] = {"solver": "simplex", "dual_feasibility_tolerance": 1e-9}
MIP_OPTIONS: Final[dict[str, object]] = {"mip_rel_gap": 0.0, "mip_feasibility_tolerance": 1e-8}


def solve_lp(model: LinearModel, *, budget: Budget | None = None, stoppable: bool = False) -> Outcome:
    """Solve the linear model by simplex, integer marks ignored: a vertex, hence whole when A is totally unimodular.

    ``row_duals`` is y with reduced costs d = cost − Aᵀ·y: y ≥ 0 on rows at their lower side, y ≤ 0 at their upper one,
    and the optimum is Σ y·(active side) + Σ d·(active bound). Ctrl-C stops HiGHS and raises; when ``stoppable``, the
    outcome comes back instead, marked ``interrupted``.

    >>> import numpy as np
    >>> model = LinearModel(
    ...     cost=np.array([1.0, 2.0]), lower=np.zeros(2), upper=np.ones(2),
    ...     indptr=np.array([0, 2]), indices=np.array([0, 1]), coefs=np.ones(2),
    ...     row_lower=np.array([1.5]), row_upper=np.array([np.inf]))
    >>> outcome = solve_lp(model)
    >>> outcome.status, outcome.x.tolist(), outcome.row_duals.tolist()
    ('optimal', [1.0, 0.5], [2.0])
    """
    return _solve(replace(model, integer=None), LP_OPTIONS, "simplex", budget or Budget(), stoppable=stoppable)


def solve_mip(
    model: LinearModel,
    *,
    budget: Budget | None = None,
    absolute_gap: float = 0.0,
    start: Floats | None = None,
    stoppable: bool = False,
) -> Outcome:
    """Solve the integer model; ``optimal`` means proven within ``absolute_gap``; an infeasible ``start`` does no harm.

    Integer variables come back as whole numbers unless that worsens the residual (others may lean on its last digits).
    Ctrl-C stops HiGHS and raises; when ``stoppable``, the best point found and its bound come back instead, as at a time
    limit, marked ``interrupted``.
    """
    if start is not None and np.shape(start) != (model.columns,):
        raise SolverError(f"The start has shape {np.shape(start)}; give a value for each of {model.columns} variables.")
    if model.integer is None or not np.any(model.integer):
        return solve_lp(model, budget=budget, stoppable=stoppable)
    given = budget or Budget()
    return _solve(model, MIP_OPTIONS, "MIP", given, start=start, absolute_gap=absolute_gap, stoppable=stoppable)


def residual(model: LinearModel, x: Floats) -> float:
    """Largest violation of rows, bounds and integrality at x (0.0 when there is none)."""
    activity = np.bincount(_row_of_entry(model), weights=model.coefs * x[model.indices], minlength=model.rows)
    gaps = [model.lower - x, x - model.upper, model.row_lower - activity, activity - model.row_upper]
    if model.integer is not None:
        gaps.append(np.abs(x - np.rint(x))[model.integer])
    return max(float(np.max(gap, initial=0.0)) for gap in gaps)


@dataclass(frozen=True, eq=False)
class _Answer:
    """HiGHS' own words, copied out of its object."""

    verdict: Verdict
    x: Floats | None
    row_duals: Floats | None
    objective: float
    mip_bound: float
    version: str
    interrupted: bool


def _solve(
    model: LinearModel,
    options: dict[str, object],
    method: Literal["simplex", "MIP"],
    budget: Budget,
    *,
    start: Floats | None = None,
    absolute_gap: float = 0.0,
    stoppable: bool = False,
) -> Outcome:
    began = perf_counter()
    check_shape(model)
    if np.any(model.lower > model.upper) or np.any(model.row_lower > model.row_upper):
        return Outcome(status="infeasible", seconds=perf_counter() - began, solver="bounds")
    if len(model.coefs) == 0:
        return _solve_box(model, began)

    answer = _ask(model, options, budget, start, absolute_gap, stoppable=stoppable)
    if answer.verdict == "unsettled":
        answer = _settle(model, options, budget, stoppable=stoppable)
    solver = f"HiGHS {answer.version} {method}"
    limit_reached = answer.verdict == "limit"
    bound = answer.mip_bound if method == "MIP" else -math.inf
    stopped = answer.interrupted
    if answer.verdict == "infeasible":
        return Outcome(status="infeasible", seconds=perf_counter() - began, solver=solver, interrupted=stopped)

    x, violation = _measure(model, answer.x)
    if limit_reached and not violation <= TRUSTED_RESIDUAL:
        seconds = perf_counter() - began
        return Outcome(
            status="unknown", bound=bound, seconds=seconds, solver=solver, limit_reached=True, interrupted=stopped
        )
    if x is None or not violation <= TRUSTED_RESIDUAL:
        raise SolverError(
            f"{solver} says optimal, but its point violates the model by {violation:.3g} where {TRUSTED_RESIDUAL:g} is "
            "trusted; scale the model so that costs and coefficients are nearer to 1, or try another method."
        )

    objective = float((model.cost * x).sum())  # not @: BLAS would wake threads that go on spinning after it
    slack = 1e-6 * (1.0 + abs(objective))
    if not limit_reached and method == "simplex":
        bound = answer.objective
    if bound > objective + slack:
        raise SolverError(
            f"{solver} contradicts itself: bound {bound:.12g} exceeds the objective {objective:.12g} of its own point; "
            "scale the model so that costs and coefficients are nearer to 1, or try another method."
        )
    proven = not limit_reached and objective - bound <= absolute_gap + slack
    return Outcome(
        status="optimal" if proven else "feasible",
        x=x,
        objective=objective,
        bound=min(bound, objective),
        residual=violation,
        seconds=perf_counter() - began,
        solver=solver,
        limit_reached=limit_reached,
        interrupted=stopped,
        row_duals=answer.row_duals if proven else None,
    )


def _ask(
    model: LinearModel,
    options: dict[str, object],
    budget: Budget,
    start: Floats | None = None,
    absolute_gap: float = 0.0,
    *,
    stoppable: bool,
) -> _Answer:
    highspy = import_highs()
    try:
        answer = _run(highspy, model, options | limits(budget), start, absolute_gap, budget)
    except CellwardError:
        raise
    except Exception as error:
        raise SolverError(f"HiGHS failed on a model of {_size(model)}: {described(error)}") from error
    if answer.interrupted and not stoppable and not budget.stopped:
        raise KeyboardInterrupt
    return answer


def import_highs() -> Any:
    """The highspy module, loaded when it is first needed."""
    try:
        import highspy
    except ImportError as error:
        raise SolverError(
            f"HiGHS cannot be loaded ({error}): install highspy, and do not import ortools into the same process."
        ) from error
    return highspy


def cost_scale(cost: Floats) -> float:
    """The power of two, which changes no digit on either way, that brings the largest cost to [512, 1024).

    Tolerances are absolute: with weights 1/a of totals near 10¹¹ HiGHS called a bounded model unbounded.
    """
    return float(2.0 ** (10 - math.frexp(float(np.max(np.abs(cost), initial=0.0)))[1]))


def pass_model(highspy: Any, h: Any, model: LinearModel, cost: Floats) -> None:
    """Hand a model to a HiGHS object, with this cost in place of its own."""
    integer = np.zeros(model.columns, np.int32) if model.integer is None else model.integer.astype(np.int32)
    passed = h.passModel(
        model.columns,
        model.rows,
        len(model.coefs),
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        cost,
        model.lower,
        model.upper,
        model.row_lower,
        model.row_upper,
        model.indptr.astype(np.int32),
        model.indices.astype(np.int32),
        model.coefs,
        integer,
    )
    if passed == highspy.HighsStatus.kError:
        raise SolverError(
            f"HiGHS refused a model of {_size(model)}; coefficients must be below 1e15 in size, "
            "and a row may name a column only once."
        )


def _run(
    highspy: Any,
    model: LinearModel,
    options: dict[str, object],
    start: Floats | None,
    absolute_gap: float,
    budget: Budget,
) -> _Answer:
    h = highspy.Highs()
    scale = cost_scale(model.cost)
    options = options | {"mip_abs_gap": absolute_gap * scale}
    h.setOptionValue("output_flag", False)
    for name, value in options.items():
        if h.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise SolverError(f"HiGHS {h.version()} refuses the option {name} = {value!r}.")
    pass_model(highspy, h, model, model.cost * scale)
    if start is not None and np.all(np.isfinite(start)):
        h.setSolution(model.columns, np.arange(model.columns, dtype=np.int32), np.asarray(start, np.float64))

    watched = len(model.coefs) >= WATCHED_ENTRIES["LP" if model.integer is None else "MIP"]
    wish = threading.Event()
    if watched:
        _watch(h, wish, budget, scale)
    if watched and threading.current_thread() is threading.main_thread():
        _run_watched(highspy, h, wish)
    else:
        _run_plainly(highspy, h)
    interrupted = wish.is_set()

    word = h.getModelStatus().name
    if word not in VERDICTS and not interrupted:
        raise SolverError(
            f"HiGHS stopped without an answer (status {word}) on a model of {_size(model)}; "
            "scale the model so that costs and coefficients are nearer to 1, or try another method."
        )
    solution, info = h.getSolution(), h.getInfo()
    return _Answer(
        verdict="limit" if interrupted and VERDICTS.get(word) not in ("optimal", "infeasible") else VERDICTS[word],
        x=np.array(solution.col_value, np.float64) if solution.value_valid else None,
        row_duals=np.array(solution.row_dual, np.float64) / scale if solution.dual_valid else None,
        objective=float(info.objective_function_value) / scale,
        mip_bound=float(info.mip_dual_bound) / scale,
        version=h.version(),
        interrupted=interrupted,
    )


def _run_plainly(highspy: Any, h: Any) -> None:
    # HiGHS keeps a pool of threads for each calling thread and refuses to run with another number of them;
    # a fresh pool costs 6 µs for one thread, 0.2 ms for two.
    highspy.Highs.resetGlobalScheduler(True)
    h.run()


def _watch(h: Any, wish: threading.Event, budget: Budget, scale: float) -> None:
    """Have HiGHS look, whenever it calls back, whether there is a wish to stop, and tell the budget what it has found."""

    def look(event: Any) -> None:
        if budget.stopped:
            wish.set()
        if wish.is_set():
            event.interrupt()

    def tell(event: Any) -> None:
        look(event)
        if budget.tells and not wish.is_set():
            found, bound = event.data_out.mip_primal_bound / scale, event.data_out.mip_dual_bound / scale
            budget.found(found if abs(found) < NOTHING_YET else None, bound if abs(bound) < NOTHING_YET else None)

    h.cbSimplexInterrupt += look
    h.cbMipInterrupt += tell


def _run_watched(highspy: Any, h: Any, wish: threading.Event) -> None:
    """Run HiGHS so that Ctrl-C is a wish to stop it.

    Python hears of Ctrl-C in the main thread, between two of its own steps, so HiGHS works in another one and looks for
    the wish to stop whenever it calls back. It cannot be left behind, so more of Ctrl-C waits for the same moment.
    """
    done, once = threading.Event(), threading.Lock()
    threads: list[threading.Thread] = []
    failures: list[BaseException] = []
    ends: list[BaseException] = []

    def work() -> None:
        if not once.acquire(blocking=False):
            return
        try:
            _run_plainly(highspy, h)
        except BaseException as error:  # noqa: BLE001 — raised again below, where it is heard
            failures.append(error)
        finally:
            done.set()

    while not done.is_set():
        try:
            if not once.locked():  # after Ctrl-C in the middle of a start nobody knows; a second thread does nothing
                threads.append(threading.Thread(target=work, daemon=True))
                threads[-1].start()
            # Some libraries (polars) have the system resume an interrupted wait, so that it hears nothing until it ends.
            while not done.wait(0.1):
                pass
        except KeyboardInterrupt:
            wish.set()
        except TimeLimitError as end:
            wish.set()
            ends.append(end)
    for thread in threads:
        if thread.ident is not None:
            thread.join()
    if failures or ends:
        raise (failures or ends)[0]


def _settle(model: LinearModel, options: dict[str, object], budget: Budget, *, stoppable: bool) -> _Answer:
    """Infeasible or unbounded? Without costs nothing is unbounded, so a point proves the latter."""
    answer = _ask(replace(model, cost=np.zeros(model.columns)), options, budget.part(), stoppable=stoppable)
    if answer.verdict == "optimal":
        raise _unbounded(model)
    return replace(answer, x=None, mip_bound=-math.inf)


def _solve_box(model: LinearModel, began: float) -> Outcome:
    """A model without coefficients: every variable goes to its cheaper bound, every row has activity 0."""
    lower, upper = model.lower, model.upper
    if model.integer is not None:
        lower, upper = np.where(model.integer, np.ceil(lower), lower), np.where(model.integer, np.floor(upper), upper)
    if np.any(lower > upper) or np.any(model.row_lower > 0) or np.any(model.row_upper < 0):
        return Outcome(status="infeasible", seconds=perf_counter() - began, solver="bounds")
    nearest_zero = np.clip(0.0, lower, upper)
    x = np.select([model.cost > 0, model.cost < 0], [lower, upper], nearest_zero)
    if not np.all(np.isfinite(x)):
        raise _unbounded(model)
    objective = float((model.cost * x).sum())  # not @: BLAS would wake threads that go on spinning after it
    return Outcome(
        status="optimal",
        x=x,
        objective=objective,
        bound=objective,
        residual=residual(model, x),
        seconds=perf_counter() - began,
        solver="bounds",
        row_duals=np.zeros(model.rows),
    )


def _measure(model: LinearModel, x: Floats | None) -> tuple[Floats | None, float]:
    """The point, its integers made whole where that does no harm, and its residual (nan without a usable point)."""
    if x is None or len(x) != model.columns or not np.all(np.isfinite(x)):
        return None, math.nan
    violation = residual(model, x)
    if model.integer is not None:
        whole = np.where(model.integer, np.rint(x), x)
        whole_violation = residual(model, whole)
        if whole_violation <= violation:
            return whole, whole_violation
    return x, violation


def check_shape(model: LinearModel) -> None:
    """Refuse what would make a solver misread memory or a NaN pass for a number."""
    n, m, entries = model.columns, model.rows, len(model.coefs)
    shapes = {
        "lower": (len(model.lower), n),
        "upper": (len(model.upper), n),
        "row_upper": (len(model.row_upper), m),
        "indptr": (len(model.indptr), m + 1),
        "indices": (len(model.indices), entries),
        "integer": (n if model.integer is None else len(model.integer), n),
    }
    for name, (found, wanted) in shapes.items():
        if found != wanted:
            raise SolverError(f"The linear model's {name} has {found} entries where {wanted} are needed.")
    if max(n, m, entries) > LARGEST_INDEX:
        raise SolverError(
            f"A model of {_size(model)} with {entries} coefficients exceeds the solvers' 32-bit indices; split it."
        )
    if model.indptr[0] != 0 or model.indptr[-1] != entries or np.any(np.diff(model.indptr) < 0):
        raise SolverError(f"The linear model's indptr must rise from 0 to {entries}, the number of coefficients.")
    if entries and (model.indices.min() < 0 or model.indices.max() >= n):
        raise SolverError(f"The linear model's indices must lie between 0 and {n - 1}, its last variable.")
    if not (np.all(np.isfinite(model.cost)) and np.all(np.isfinite(model.coefs))):
        raise SolverError("The linear model's costs and coefficients must be finite numbers.")
    sides = {"lower": model.lower, "row_lower": model.row_lower, "upper": model.upper, "row_upper": model.row_upper}
    for name, side in sides.items():
        never = np.inf if name.endswith("lower") else -np.inf
        if np.any(np.isnan(side)) or np.any(side == never):
            raise SolverError(f"The linear model's {name} may hold numbers and {-never}, but neither nan nor {never}.")


def limits(budget: Budget) -> dict[str, object]:
    """What a budget leaves, in HiGHS' words."""
    left = budget.left
    return {
        "time_limit": math.inf if left is None else left,
        "threads": budget.threads,
        "random_seed": budget.seed,
    }


def _row_of_entry(model: LinearModel) -> NDArray[np.int64]:
    return np.repeat(np.arange(model.rows, dtype=np.int64), np.diff(model.indptr))


def _unbounded(model: LinearModel) -> SolverError:
    return SolverError(f"The model of {_size(model)} is unbounded: its cost can fall for ever; give finite bounds.")


def _size(model: LinearModel) -> str:
    return f"{model.rows} rows and {model.columns} columns"
