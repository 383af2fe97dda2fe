"""Clarabel: controlled tabular adjustment in second-order cones; every answer is measured before it is believed.

The cones are those of paper 004, section 5.3: |z| is the least t with (t, z) in the second-order cone (5.18), and
√(z² + δ²) the least t with (t, z, δ) in it (5.17). A cell whose bounds leave z one sign needs no cone: there |z| is ±z.
Of the pseudo-Huber function the solver sees u = t − δ, since t and δ share their leading digits where z is small:
z² ≤ u·(u + 2δ) is the same cone, and with k·u and (u + 2δ)/k for its factors both are of the size of z.

z  deviations         M·z = r  equations          y  multipliers of the equations
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cellward.errors import SolverError
from cellward.exact import Floats
from cellward.solve.budget import Budget
from cellward.solve.dual_bound import SURE, contradiction, lower_bound
from cellward.solve.outcome import Outcome
from cellward.solve.separable import Separable

TOLERANCES: Final = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
"""Asked of Clarabel on the scaled model; what it reaches of them is measured afterwards."""

TRUSTED_GAP: Final = 1e-7
"""Optimal: the objective is within this share of a lower bound computed by ourselves."""

TRUSTED_RESIDUAL: Final = 1e-9
"""An equation may miss its right-hand side by this share of the largest number in the model."""

ASKED_GAP: Final = 1e-8
REGULARISATIONS: Final = (1e-8, 1e-10)
"""When the first leaves a gap above the one asked for, the second is tried and the better answer kept.

Large tables need the second, tables with many redundant equations (three dimensions and more) the first.
"""

ROUNDING: Final = 1e-12
"""A miss by this share of the numbers in an equation comes from adding them."""

NEGLIGIBLE: Final = 1e-9
"""A gap of so little is none, in the unit of the objective: a middling cell's move by the largest that is forced."""

POLISHES: Final = 2
LONGEST_POLISH: Final = 200
SPARE_ROOM: Final = 1e3
"""Passes that move the point onto the equations, conjugate-gradient steps in each, and the most room a cell needs."""


def solve_cones(
    matrix: Any,
    rhs: Floats,
    lo: Floats,
    hi: Floats,
    *,
    absolute: Floats | None = None,
    square: Floats | None = None,
    huber: Floats | None = None,
    delta: float = 0.0,
    budget: Budget | None = None,
) -> Outcome:
    """Minimise Σ absolute·|z| + square·z² + huber·(√(z² + δ²) − δ) over M·z = rhs, lo ≤ z ≤ hi; M is a scipy CSR matrix.

    The point keeps its bounds, and its ``residual`` is the largest miss of an equation. ``bound`` is computed from ``row_duals`` by ourselves, and so
    is what they contradict of an infeasible model.

    >>> import numpy as np, scipy.sparse
    >>> sum_of_three = scipy.sparse.csr_array(np.ones((1, 3)))
    >>> lo, hi = np.array([3.0, -5.0, -5.0]), np.full(3, np.inf)
    >>> answer = solve_cones(sum_of_three, np.zeros(1), lo, hi, absolute=np.array([1.0, 1.0, 2.0]))
    >>> answer.status, answer.x[:2].round(6).tolist(), round(answer.objective, 6)
    ('optimal', [3.0, -3.0], 6.0)
    """
    began, budget = perf_counter(), budget or Budget()
    distance = Separable.of(matrix.shape[1], absolute=absolute, square=square, huber=huber, delta=delta)
    rhs, lo, hi = (np.asarray(v, np.float64) for v in (rhs, lo, hi))
    _check(matrix, rhs, lo, hi)
    if np.any(lo > hi):
        return Outcome(status="infeasible", seconds=perf_counter() - began, solver="bounds")

    free = lo < hi
    fixed = np.where(free, 0.0, lo)
    part = matrix[:, np.flatnonzero(free)]
    live = np.diff(part.indptr) > 0
    rest, missed = rhs - matrix @ fixed, _missed(matrix, rhs, fixed, TRUSTED_RESIDUAL) & ~live
    if np.any(missed):
        y, seconds = np.where(missed, np.sign(rest), 0.0), perf_counter() - began
        return Outcome(status="infeasible", row_duals=y, seconds=seconds, solver="fixed cells")
    nearest = np.clip(0.0, lo, hi)
    if not np.any(live) or not np.any(_missed(matrix, rhs, nearest, ROUNDING)):
        return replace(_without_prices(matrix, rhs, distance, nearest), seconds=perf_counter() - began)

    model = _Conic.of(part[np.flatnonzero(live)], rest[live], lo[free], hi[free], distance.of_cells(free))
    best, asked = Outcome(status="unknown"), 0
    for regularisation in REGULARISATIONS:
        if asked and budget.over:
            break
        left = np.inf if (left := budget.left) is None else left
        found, asked = model.solve(left, budget.threads, regularisation), asked + 1
        z, y = fixed.copy(), np.zeros(len(rhs))
        z[free], y[live] = found.z, found.y
        answer = _judge(matrix, rhs, lo, hi, distance, z, y, found)
        if best.status == "unknown" or (answer.status != "unknown" and answer.gap < best.gap):
            best = replace(answer, solver=found.words, limit_reached=found.out_of_time)
        if answer.status == "infeasible" or (answer.status == "optimal" and answer.gap <= ASKED_GAP):
            break
    return replace(best, seconds=perf_counter() - began)


def _missed(matrix: Any, rhs: Floats, z: Floats, share: float) -> NDArray[np.bool_]:
    """Which equations z misses by more than this share of the numbers in them."""
    missed: NDArray[np.bool_] = np.abs(matrix @ z - rhs) > share * (abs(matrix) @ np.abs(z) + np.abs(rhs))
    return missed


def _without_prices(matrix: Any, rhs: Floats, distance: Separable, nearest: Floats) -> Outcome:
    """The answer when the deviations next to 0 satisfy the equations as they are: nothing costs less."""
    return Outcome(
        status="optimal",
        x=nearest,
        row_duals=np.zeros(len(rhs)),
        objective=distance.value(nearest),
        bound=distance.value(nearest),
        residual=float(np.max(np.abs(matrix @ nearest - rhs), initial=0.0)),
        solver="bounds",
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """Clarabel's own words, copied out of its object, in the units of the table."""

    words: str
    z: Floats
    y: Floats
    claims_infeasible: bool
    out_of_time: bool
    cost_unit: float


@dataclass(frozen=True, eq=False)
class _Conic:
    """min ½·x·P·x + q·x over A·x + s = b, s in the cones: first no slack (equations), then slack ≥ 0 (bounds), then cones.

    x is the scaled z, then a tip t for each cone. z = cell·x, an equation is divided by ``row``, costs by ``cost_unit``.
    """

    P: Any
    q: Floats
    A: Any
    b: Floats
    bounds: int
    pairs: int
    triples: int
    cell: Floats
    row: Floats
    cost_unit: float

    @classmethod
    def of(cls, matrix: Any, rhs: Floats, lo: Floats, hi: Floats, distance: Separable) -> _Conic:
        from scipy import sparse

        m, n = matrix.shape
        cell, row, cost_unit = _units(matrix, rhs, lo, hi, distance)
        corner, rounded = distance.corner_and_round()
        one_sign = np.where(lo >= 0, 1.0, np.where(hi <= 0, -1.0, 0.0))
        pairs, triples = np.flatnonzero((corner > 0) & (one_sign == 0)), np.flatnonzero(rounded > 0)
        coned = np.concatenate([pairs, triples])
        columns = n + len(coned)

        k = _stretch(cell[triples], distance.delta)
        unit = np.concatenate([cell, cell[pairs], cell[triples] / k])
        slope = np.concatenate([one_sign * corner, corner[pairs], rounded[triples]])
        curve = np.concatenate([2.0 * distance.square, np.zeros(len(coned))])

        # s = b − A·x: a pair is (t, z); a triple is half the sum of the two factors, z, half their difference.
        cone_rows = 2 * len(pairs) + 3 * len(triples)
        pair, triple = 2 * np.arange(len(pairs)), 2 * len(pairs) + 3 * np.arange(len(triples))
        tip_of_pair, tip_of_triple = np.split(n + np.arange(len(coned)), [len(pairs)])
        where = (
            np.concatenate([pair, pair + 1, triple, triple + 1, triple + 2]),
            np.concatenate([tip_of_pair, pairs, tip_of_triple, triples, tip_of_triple]),
        )
        entries = [np.full(2 * len(pairs), 1.0), (1 + 1 / k**2) / 2, np.ones(len(triples)), (1 / k**2 - 1) / 2]
        cone_side = np.zeros(cone_rows)
        cone_side[triple] = cone_side[triple + 2] = distance.delta / (k * cell[triples])

        above, below = np.flatnonzero(np.isfinite(hi)), np.flatnonzero(np.isfinite(lo))
        identity = sparse.eye_array(n, columns, format="csr")
        equations = sparse.diags_array(1.0 / row) @ matrix @ sparse.diags_array(cell)
        blocks = [
            sparse.hstack([equations, sparse.csr_array((m, len(coned)))], format="csr"),
            identity[above],
            -identity[below],
            sparse.csr_array((-np.concatenate(entries), where), shape=(cone_rows, columns)),
        ]
        blocks[-1].eliminate_zeros()
        return cls(
            P=sparse.csc_matrix(sparse.diags_array(curve * unit * unit / cost_unit)),
            q=slope * unit / cost_unit,
            A=sparse.csc_matrix(sparse.vstack(blocks)),
            b=np.concatenate([rhs / row, (hi / cell)[above], -(lo / cell)[below], cone_side]),
            bounds=len(above) + len(below),
            pairs=len(pairs),
            triples=len(triples),
            cell=cell,
            row=row,
            cost_unit=cost_unit,
        )

    def solve(self, time_limit_s: float, threads: int, regularisation: float) -> _Found:
        """Run Clarabel; Ctrl-C stops it between two iterations."""
        import clarabel

        m, n = len(self.row), len(self.cell)
        cones = [clarabel.ZeroConeT(m), clarabel.NonnegativeConeT(self.bounds)]
        cones += [clarabel.SecondOrderConeT(2)] * self.pairs + [clarabel.SecondOrderConeT(3)] * self.triples
        settings = clarabel.DefaultSettings()
        options = {
            "verbose": False,
            "max_threads": int(threads),
            "time_limit": time_limit_s,
            "static_regularization_constant": regularisation,
        }
        for name, value in (options | TOLERANCES).items():
            setattr(settings, name, value)
        try:
            problem = clarabel.DefaultSolver(self.P, self.q, self.A, self.b, cones, settings)
            with _ctrl_c() as pressed:
                problem.set_termination_callback(lambda _: pressed.is_set())
                solution = problem.solve()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of Rust is no Exception
            raise SolverError(
                f"Clarabel failed on {m} equations of {n} cells: {type(error).__name__}: {error}; try another method."
            ) from error
        word = str(solution.status)
        return _Found(
            words=f"Clarabel {clarabel.__version__}: {word}",
            z=np.array(solution.x, np.float64)[:n] * self.cell,
            y=-np.array(solution.z, np.float64)[:m] / self.row * self.cost_unit,
            claims_infeasible=word in ("PrimalInfeasible", "AlmostPrimalInfeasible"),
            out_of_time=word == "MaxTime",
            cost_unit=self.cost_unit,
        )


def _units(matrix: Any, rhs: Floats, lo: Floats, hi: Floats, distance: Separable) -> tuple[Floats, Floats, float]:
    """Units of the cells, of the equations and of the objective, in which an interior point loses the fewest digits.

    With weights w = 1/a a cell counted in units of 1/√w = √a stands half way between its deviation counted in ones
    (costs differ by the spread of a) and in parts of a (equations do). Measured on tables with a from 1 to 10⁸: the gap
    stays below 1e-9, where either end leaves 1e-4 or residuals as large. The largest deviation that bounds or right-hand
    sides force becomes 1, the middle cost of a unit too.
    """
    weight = distance.absolute + distance.square + distance.huber
    some = weight > 0
    sides = np.stack([np.abs(lo), np.abs(hi)])
    size = np.max(np.where(np.isfinite(sides), sides, 0.0), axis=0)
    size = np.sqrt(np.where(size > 0, size, np.median(size[size > 0]) if np.any(size > 0) else 1.0))
    cell = 1.0 / np.sqrt(np.where(some, weight, 1.0))
    cell[~some] = size[~some] * (np.median((cell / size)[some]) if np.any(some) else 1.0)

    row = _largest_entries(matrix, cell)
    forced = max(np.max(np.maximum(lo, -hi) / cell, initial=0.0), np.max(np.abs(rhs) / row, initial=0.0))
    cell, row = cell * (forced or 1.0), row * (forced or 1.0)
    corner, rounded = distance.corner_and_round()
    cost = corner * cell + distance.square * cell * cell + rounded * cell / _stretch(cell, distance.delta)
    return cell, row, float(np.median(cost[some])) if np.any(some) else 1.0


def _stretch(cell: Floats, delta: float) -> Floats:
    """The k that makes k·u and (u + 2δ)/k of one size at z = cell: 2δ/cell for a large δ, 1 for a small one."""
    k: Floats = np.maximum(1.0, 2.0 * delta / cell)
    return k


def _largest_entries(matrix: Any, cell: Floats) -> Floats:
    """The largest entry of each row, columns scaled (no row is empty)."""
    entries = np.abs(matrix.data) * cell[matrix.indices]
    return np.maximum.reduceat(entries, matrix.indptr[:-1]) if len(entries) else np.ones(matrix.shape[0])


def _judge(
    matrix: Any, rhs: Floats, lo: Floats, hi: Floats, distance: Separable, z: Floats, y: Floats, found: _Found
) -> Outcome:
    """What the point and the multipliers show, whatever Clarabel says of them."""
    if not (np.all(np.isfinite(z)) and np.all(np.isfinite(y))):
        return Outcome(status="unknown")
    if found.claims_infeasible and contradiction(matrix, rhs, lo, hi, y) > SURE:
        return Outcome(status="infeasible", row_duals=y)

    z = _polish(matrix, rhs, lo, hi, distance, np.clip(z, lo, hi))
    residual = float(np.max(np.abs(matrix @ z - rhs), initial=0.0))
    feasible = residual <= TRUSTED_RESIDUAL * max(np.max(np.abs(z)), np.max(np.abs(rhs)))
    objective = distance.value(z)
    bound = lower_bound(distance, matrix, rhs, lo, hi, y, (1.001 if feasible else 10.0) * objective)
    slack = TRUSTED_GAP * objective + NEGLIGIBLE * found.cost_unit
    proven = feasible and abs(objective - bound) <= slack
    return Outcome(
        status="optimal" if proven else "feasible" if feasible else "unknown",
        x=z,
        row_duals=y,
        objective=objective,
        bound=min(bound, objective) if proven else bound,
        residual=residual,
    )


def _polish(matrix: Any, rhs: Floats, lo: Floats, hi: Floats, distance: Separable, z: Floats) -> Floats:
    """The point moved onto the equations by least squares in units of each cell's room, so that bounds stay out of the way.

    Cells with room to spare count by weight alone, the heavy ones moving least.
    """
    weight = distance.absolute + distance.square + distance.huber
    lightest = np.min(weight[weight > 0], initial=np.inf)
    ease = np.sqrt(lightest / np.maximum(weight, lightest)) if np.isfinite(lightest) else np.ones(len(z))
    best, smallest = z, np.max(np.abs(rhs - matrix @ z), initial=0.0)
    for _ in range(POLISHES):
        room = np.minimum(np.minimum(z - lo, hi - z), SPARE_ROOM * smallest * ease)
        z = np.clip(z + _least_squares(matrix, rhs - matrix @ z, room), lo, hi)
        residual = np.max(np.abs(rhs - matrix @ z), initial=0.0)
        if not residual < smallest:
            break
        best, smallest = z, residual
    return best


def _least_squares(matrix: Any, miss: Floats, room: Floats) -> Floats:
    """A step d with M·d ≈ miss and the least Σ (d/room)², by conjugate gradients on the normal equations (CGLS)."""
    transposed = matrix.T.tocsr()
    x = np.zeros(len(room))
    s = room * (transposed @ miss)
    p, size, first = s, float((s * s).sum()), float((s * s).sum())  # not @: BLAS would wake threads that spin on
    for _ in range(LONGEST_POLISH):
        if not size > 1e-24 * first:
            break
        q = matrix @ (room * p)
        length = float((q * q).sum())
        if not length > 0:
            break
        x = x + (size / length) * p
        miss = miss - (size / length) * q
        s = room * (transposed @ miss)
        before, size = size, float((s * s).sum())
        p = s + (size / before) * p
    return room * x


@contextmanager
def _ctrl_c() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets instead of raising; it is raised at the end. Clarabel swallows what a callback raises.

    Only the main thread hears of Ctrl-C; in another one nothing changes.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    before = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed.is_set():
            signal.raise_signal(signal.SIGINT)


def _check(matrix: Any, rhs: Floats, lo: Floats, hi: Floats) -> None:
    """Refuse what would make the solver misread the model or a NaN pass for a number."""
    m, n = matrix.shape
    if matrix.format != "csr":
        raise SolverError(f"The equations come as a {matrix.format} matrix; give scipy's csr.")
    for name, array, wanted in (("rhs", rhs, m), ("lo", lo, n), ("hi", hi, n)):
        if array.shape != (wanted,):
            raise SolverError(f"The {name} of the equations has shape {array.shape}; give {wanted} numbers.")
    if not (np.all(np.isfinite(matrix.data)) and np.all(np.isfinite(rhs))):
        raise SolverError("The coefficients and right-hand sides of the equations must be finite numbers.")
    if np.any(np.isnan(lo)) or np.any(np.isnan(hi)) or np.any(lo == np.inf) or np.any(hi == -np.inf):
        raise SolverError("The bounds of the deviations may be numbers, −inf below and inf above, nothing else.")
