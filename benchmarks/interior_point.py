"""Interior point: our solver of adjustments beside HiGHS on the same compact form, and our sparse factor beside dense and PyPI's.

python benchmarks/interior_point.py                  all figures; writes RESULTS.md part by part; exits 1 when one falls short
python benchmarks/interior_point.py --part factors   one part: forms or factors
python benchmarks/interior_point.py --quick          the same checks on two small tables; times are not judged; writes nothing

Rivals that are not installed are named as absent: pip install "cellward[benchmark]" brings those that have wheels.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from fixed_keys import key_of
from measure import wait
from results import SHARED, Report, run_parts, table

import cellward as cw
from cellward.exact import Floats
from cellward.protect.adjustment import leaf
from cellward.solve.blas import blas_threads
from cellward.solve.cholesky import Cholesky
from cellward.solve.interior import Interior, interior_point
from cellward.solve.newton import Newton, _Pairs, _Sparse

CSPLIB = SHARED / "instances" / "csplib"
SIX = ("HIER13", "HIER16", "NINE12", "NINE5D", "NINENEW", "TWO5IN6")
SAME = 1e-6
"""No solver is below our optimum by more than this share, and one that says optimal is as near to it."""
LIMIT_S = 120.0
"""Seconds elapsed that HiGHS gets."""
LP, QP = ("simplex", "ipx", "hipo"), ("qpasm", "hipo")
"""HiGHS' engines: dual simplex and two interior points; an active set method and an interior point for squares."""
REPEATS = 3
LEAST = {"l1": 2.0, "l2": 4.0}
"""How many times as fast as the fastest of HiGHS, geometric mean."""


# ---- the same form -----------------------------------------------------------------------------------------------------------------------------


@dataclass
class Posed:
    """What our interior point was given, number by number, what it made of it, and the diagonals of its Newton systems."""

    given: tuple[Any, ...]
    costs: dict[str, Any]
    found: Interior
    seconds: float
    diagonals: list[Floats]


class _Seen(BaseException):
    """Ends an adjustment when its problem is known."""


def posed(name: str, norm: str, repeats: int) -> Posed:
    """One adjustment of a table, all senses upwards, as the leaf form poses it to the interior point; the shortest of some runs."""
    given: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def seen(*problem: Any, **costs: Any) -> Interior:
        given.append((problem, costs))
        raise _Seen

    with patched(leaf, "interior_point", seen), suppress(_Seen):
        method = cw.ControlledAdjustment(norm=norm, senses="up", jitter=0, grid=None, form="leaf")
        method.protect(cw.read(CSPLIB / f"{name}.jj"), key=key_of(0))
    problem, costs = given[0]
    diagonals: list[Floats] = []
    factorise = Newton.factorise

    def kept(self: Newton, d: Floats, border: Floats, corner: Floats) -> bool:
        diagonals.append(d)
        return factorise(self, d, border, corner)

    with blas_threads(1):
        runs = [timed(interior_point, *problem, **costs) for _ in range(repeats)]
        with patched(Newton, "factorise", kept):
            interior_point(*problem, **costs)
    found, seconds = min(runs, key=lambda run: run[1])
    return Posed(problem, costs, found, seconds, diagonals)


@contextmanager
def patched(owner: Any, name: str, other: Any) -> Iterator[None]:
    """Within this block the owner's function is another one."""
    own = getattr(owner, name)
    setattr(owner, name, other)
    try:
        yield
    finally:
        setattr(owner, name, own)


def timed(work: Callable[..., Any], *given: Any, **options: Any) -> tuple[Any, float]:
    """What comes of it, and the processor's seconds: all run on one thread, and the machine is shared."""
    began = time.process_time()
    out = work(*given, **options)
    return out, time.process_time() - began


def highs(what: Posed, norm: str, engine: str) -> tuple[float, str, float]:
    """(seconds of the solve alone, HiGHS' word, objective): columns u and, where a class of cells costs anything, what it moves by."""
    import highspy
    from scipy.sparse import bmat, csr_matrix, eye

    matrix, condition, rhs, constant, rows = what.given
    classes, many = matrix.shape
    low, high = np.full(classes, -np.inf), np.full(classes, np.inf)
    up = rows.sign > 0
    low[rows.cell[up]], high[rows.cell[~up]] = rows.least[up], -rows.least[~up]
    free = np.full(many, np.inf)
    held = condition.shape[0]
    if norm == "l2":  # N·u − z = −k
        square = what.costs["square"]
        a = bmat([[matrix, -eye(classes)], [condition, csr_matrix((held, classes))]])
        cost = np.zeros(many + classes)
        lower, upper = np.concatenate((-free, low)), np.concatenate((free, high))
        row_lower = row_upper = np.concatenate((-constant, rhs))
        hessian: Floats | None = np.concatenate((np.zeros(many), 2 * square))
        fixed = 0.0
    else:  # N·u between bounds; where |z| may bend, N·u − z⁺ + z⁻ = −k
        absolute = what.costs["absolute"]
        bent = np.flatnonzero((low < 0) & (high > 0) & (absolute > 0))
        part = csr_matrix((np.ones(len(bent)), (bent, np.arange(len(bent)))), shape=(classes, len(bent)))
        none = csr_matrix((held, len(bent)))
        a = bmat([[matrix, -part, part], [condition, none, none]])
        straight = np.where(low >= 0, absolute, np.where(high <= 0, -absolute, 0.0))
        cost = np.concatenate((matrix.T @ straight, absolute[bent], absolute[bent]))
        lower = np.concatenate((-free, np.zeros(2 * len(bent))))
        upper = np.concatenate((free, high[bent], -low[bent]))
        least, most = low - constant, high - constant
        least[bent] = most[bent] = -constant[bent]
        row_lower, row_upper = np.concatenate((least, rhs)), np.concatenate((most, rhs))
        hessian, fixed = None, float(straight @ constant)
    columns = a.tocsc()
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = columns.shape
    model.col_cost_, model.col_lower_, model.col_upper_ = cost, lower, upper
    model.row_lower_, model.row_upper_ = row_lower, row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = columns.indptr, columns.indices
    model.a_matrix_.value_ = columns.data
    highspy.Highs.resetGlobalScheduler(True)
    h = highspy.Highs()
    for key, value in {"output_flag": False, "solver": engine, "time_limit": LIMIT_S, "threads": 1}.items():
        h.setOptionValue(key, value)
    if engine in ("ipx", "hipo"):
        h.setOptionValue("run_crossover", "off")
    h.passModel(model)
    if hessian is not None:
        quadratic = highspy.HighsHessian()
        quadratic.dim_, quadratic.format_ = len(hessian), highspy.HessianFormat.kTriangular
        start = np.concatenate((np.zeros(many, np.int64), np.arange(classes + 1)))
        quadratic.start_, quadratic.index_, quadratic.value_ = start, many + np.arange(classes), hessian[many:]
        h.passHessian(quadratic)
    began = time.process_time()
    h.run()
    seconds = time.process_time() - began
    highspy.Highs.resetGlobalScheduler(True)
    said = h.modelStatusToString(h.getModelStatus())
    return seconds, said, float(h.getInfo().objective_function_value) + fixed


def forms(report: Report, *, quick: bool) -> None:
    """L1 and L2 on the same compact form."""
    rows: list[list[object]] = []
    ratios: dict[str, list[float]] = {"l1": [], "l2": []}
    for name in SIX[:1] if quick else SIX:
        for norm, engines in (("l1", LP), ("l2", QP)):
            ours = posed(name, norm, 1 if quick else REPEATS)
            classes, many = ours.given[0].shape
            cells: list[object] = [name, norm.upper(), f"{many:,} / {classes:,} / {ours.given[1].shape[0]:,}"]
            cells += [f"{wait(ours.seconds)} ({ours.found.steps})"]
            best, nearest, farthest = math.inf, math.inf, 0.0
            for engine in dict.fromkeys((*LP, *QP)):
                if engine not in engines:
                    cells.append("")
                    continue
                seconds, said, objective = highs(ours, norm, engine)
                if seconds < 5 and not quick:
                    seconds = min(seconds, *(highs(ours, norm, engine)[0] for _ in range(REPEATS - 1)))
                print(name, norm, engine, f"{seconds:.3f}", said, objective, ours.found.objective, flush=True)
                if said != "Optimal":
                    cells.append(f"{wait(seconds)}: {said.lower()}")
                    continue
                above = (objective - ours.found.objective) / abs(ours.found.objective)
                best, nearest, farthest = min(best, seconds), min(nearest, abs(above)), max(farthest, abs(above))
                report.require(above >= -SAME, f"{name}, {norm}: {engine}'s optimum is {-above:.1e} below ours")
                cells.append(wait(seconds))
            report.require(ours.found.status == "optimal", f"{name}, {norm}: ours ended as {ours.found.status}")
            if math.isfinite(best):
                ratios[norm].append(best / ours.seconds)
                report.require(nearest <= SAME, f"{name}, {norm}: HiGHS' optima are all {nearest:.1e} away from ours")
                rows.append([*cells, f"{best / ours.seconds:.2f}", f"{nearest:.0e} to {farthest:.0e}"])
            else:
                rows.append([*cells, "none ended", ""])
    words = []
    for norm, found in ratios.items():
        mean = float(np.exp(np.mean(np.log(found)))) if found else math.inf
        words.append(f"{norm.upper()} {mean:.1f} times (from {min(found):.2f} to {max(found):.2f})")
        if not quick:
            report.require(mean >= LEAST[norm], f"{norm}: {mean:.2f} times as fast as HiGHS' best, {LEAST[norm]} asked")
    report.add(
        "Controlled tabular adjustment, everything upwards, weights 1/a: our interior point beside HiGHS on the very same numbers: z = N·u + k, "
        "R·u = r and bounds of the classes of cells, scaled alike; u / classes / conditions; processor seconds of the solves alone (in brackets our "
        "steps), one thread each, the shortest of three (HiGHS' runs above 5 s: one). HiGHS' interior points without crossover; limit "
        f"{LIMIT_S:.0f} s elapsed. **Faster than the fastest of HiGHS, geometric mean: {', '.join(words)}.**\n\n"
        + table(
            [
                "table",
                "",
                "size",
                "ours",
                *(f"HiGHS {e}" for e in dict.fromkeys((*LP, *QP))),
                "fastest / ours",
                "apart",
            ],
            rows,
        )
    )


# ---- factors -----------------------------------------------------------------------------------------------------------------------------------


class Factor:
    """A factorisation of H = NᵀDN for many D: analysed once; ``lower`` holds the pattern (CSC, sorted), values come as its data."""

    def __init__(self, lower: Any) -> None:
        raise NotImplementedError

    def solve(self, values: Floats, right: Floats) -> Floats:
        """Factorise the H with these values, and solve once."""
        raise NotImplementedError


class Fronts(Factor):
    """Ours: fronts."""

    def __init__(self, lower: Any) -> None:
        from scipy.sparse import csr_matrix

        size = lower.shape[0]
        column = np.repeat(np.arange(size), np.diff(lower.indptr))
        planned = Cholesky.plan(column * size + lower.indices, csr_matrix((0, size)), math.inf)
        assert planned is not None
        self.cholesky = planned

    def solve(self, values: Floats, right: Floats) -> Floats:
        assert self.cholesky.factorise(values)
        return self.cholesky.solve(right, np.zeros(0))


class Dense(Factor):
    """LAPACK on the whole matrix."""

    def __init__(self, lower: Any) -> None:
        self.at = np.repeat(np.arange(lower.shape[0]), np.diff(lower.indptr)) * lower.shape[0] + lower.indices
        self.h = np.zeros(lower.shape, order="F")

    def solve(self, values: Floats, right: Floats) -> Floats:
        from scipy.linalg.lapack import dpotrf, dpotrs

        self.h[:] = 0
        self.h.reshape(-1, order="F")[self.at] = values
        self.h, trouble = dpotrf(self.h, lower=1, overwrite_a=1, clean=0)
        assert not trouble
        return np.asarray(dpotrs(self.h, right, lower=1)[0])


class _Both(Factor):
    """The full matrix from its lower triangle, for those that want it."""

    def __init__(self, lower: Any) -> None:
        from scipy.sparse import csc_matrix

        size = lower.shape[0]
        column = np.repeat(np.arange(size), np.diff(lower.indptr))
        off = np.flatnonzero(column != lower.indices)
        row, col = np.concatenate((lower.indices, column[off])), np.concatenate((column, lower.indices[off]))
        source = np.concatenate((np.arange(len(column)), off))
        order = np.lexsort((row, col))
        self.source = source[order]
        ptr = np.concatenate(([0], np.cumsum(np.bincount(col, minlength=size))))
        self.full = csc_matrix((np.ones(len(order)), row[order], ptr), shape=lower.shape)


class SuperLU(_Both):
    """scipy's SuperLU, symmetric mode: it has no analysis to keep."""

    def solve(self, values: Floats, right: Floats) -> Floats:
        from scipy.sparse.linalg import splu

        self.full.data[:] = values[self.source]
        options = {"SymmetricMode": True}
        found = splu(self.full, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        return np.asarray(found.solve(right))


class Cholmod(Factor):
    """CHOLMOD, as CVXOPT brings it: supernodal, approximate minimum degree."""

    def __init__(self, lower: Any) -> None:
        from cvxopt import cholmod, matrix, spmatrix

        cholmod.options["supernodal"] = 2
        self.cholmod, self.matrix = cholmod, matrix
        column = np.repeat(np.arange(lower.shape[0]), np.diff(lower.indptr))
        self.h = spmatrix(1.0, lower.indices.tolist(), column.tolist(), lower.shape)
        self.factor = cholmod.symbolic(self.h, uplo="L")

    def solve(self, values: Floats, right: Floats) -> Floats:
        self.h.V = self.matrix(values)
        self.cholmod.numeric(self.h, self.factor)
        x = self.matrix(right)
        self.cholmod.solve(self.factor, x)
        return np.array(x).ravel()


class Qdldl(Factor):
    """QDLDL, the factor of OSQP: one number at a time."""

    def __init__(self, lower: Any) -> None:
        import qdldl

        upper = lower.T.tocsc()
        upper.sort_indices()
        marked = lower.copy()
        marked.data = np.arange(1.0, lower.nnz + 1)
        turned = marked.T.tocsc()
        turned.sort_indices()
        self.source = np.rint(turned.data).astype(np.int64) - 1
        self.upper = upper
        self.solver: Any = None
        self.made = qdldl.Solver

    def solve(self, values: Floats, right: Floats) -> Floats:
        self.upper.data[:] = values[self.source]
        if self.solver is None:
            self.solver = self.made(self.upper, upper=True)
        else:
            self.solver.update(self.upper, upper=True)
        return np.asarray(self.solver.solve(right))


class Pardiso(Factor):
    """MKL's PARDISO, symmetric positive definite."""

    def __init__(self, lower: Any) -> None:
        import pypardiso
        from scipy.sparse import csr_matrix

        self.solver = pypardiso.PyPardisoSolver(mtype=2)
        # The lower triangle by columns is the upper one by rows.
        self.upper = csr_matrix((lower.data, lower.indices, lower.indptr), shape=lower.shape)
        none = np.zeros((lower.shape[0], 1))
        self.solver.set_phase(11)
        self.solver._call_pardiso(self.upper, none)

    def solve(self, values: Floats, right: Floats) -> Floats:
        self.upper.data[:] = values
        self.solver.set_phase(22)
        self.solver._call_pardiso(self.upper, np.zeros((len(right), 1)))
        self.solver.set_phase(33)
        return np.asarray(self.solver._call_pardiso(self.upper, right.reshape(-1, 1))).ravel()


FACTORS: dict[str, tuple[str, type[Factor]]] = {
    "ours": ("cellward.solve.cholesky", Fronts),
    "dense": ("scipy", Dense),
    "SuperLU": ("scipy.sparse.linalg", SuperLU),
    "CHOLMOD": ("cvxopt.cholmod", Cholmod),
    "QDLDL": ("qdldl", Qdldl),
    "PARDISO": ("pypardiso", Pardiso),
}
PACKAGES = {"CHOLMOD": "cvxopt", "QDLDL": "qdldl", "PARDISO": "pypardiso"}


def present() -> Iterator[tuple[str, type[Factor]]]:
    """The factorisations that can be imported here."""
    from importlib import import_module

    for name, (module, made) in FACTORS.items():
        try:
            import_module(module)
        except (ImportError, OSError):
            continue
        yield name, made


def systems(what: Posed) -> tuple[Any, list[Floats]]:
    """The lower triangle of NᵀDN (CSC) and its values for five of the diagonals that the interior point met, from the first to the last."""
    from scipy.sparse import csc_matrix

    matrix = what.given[0].sorted_indices()
    size = matrix.shape[1]
    pairs = _Pairs(matrix, np.ones(matrix.shape[0], bool))
    column = pairs.at // size
    ptr = np.concatenate(([0], np.cumsum(np.bincount(column, minlength=size))))
    some = np.unique(np.linspace(0, len(what.diagonals) - 1, 5).astype(int))
    values = [pairs.product @ what.diagonals[k] for k in some]
    diagonal = np.flatnonzero(column == pairs.at % size)
    for each in values:
        each[diagonal] *= 1 + 1e-14
    return csc_matrix((values[0].copy(), pairs.at % size, ptr), shape=(size, size)), values


def factors(report: Report, *, quick: bool) -> None:
    """Newton systems of the interior point, factorised and solved once."""
    rows: list[list[object]] = []
    names = [name for name, _ in present()]
    faster: dict[str, list[float]] = {name: [] for name in names}
    for name in ("HIER13", "HIER16") if quick else SIX:
        what = posed(name, "l1", 1)
        lower, values = systems(what)
        size = lower.shape[0]
        full = lower + lower.T
        full.setdiag(lower.diagonal())
        right = full @ np.random.default_rng(7).standard_normal(size)
        chosen = "fronts" if isinstance(Newton(what.given[0], what.given[1]).system, _Sparse) else "dense"
        cells: list[object] = [name, f"{size:,}", f"{100 * full.nnz / size**2:.0f} %", chosen]
        took: dict[str, float] = {}
        for rival, made in present():
            with blas_threads(1):
                factor, analysis = timed(made, lower)
                factor.solve(values[0], right)
                each, worst = [], 0.0
                for value in values:
                    best = math.inf
                    for _ in range(1 if quick else REPEATS):
                        x, seconds = timed(factor.solve, value, right)
                        best = min(best, seconds)
                    each.append(best)
                    worst = max(worst, residual(lower, value, x, right))
            took[rival] = float(np.mean(each))
            print(
                name,
                size,
                rival,
                f"{1e3 * took[rival]:.1f} ms, analysis {1e3 * analysis:.0f} ms, {worst:.0e}",
                flush=True,
            )
            report.require(worst < 1e-9, f"{name}: {rival} leaves {worst:.0e} of the right-hand side")
            cells.append(f"{1e3 * took[rival]:.3g} ({1e3 * analysis:.0f})")
        for rival, seconds in took.items():
            faster[rival].append(seconds / took["ours"])
        best = min((seconds, rival) for rival, seconds in took.items() if rival != "ours")
        rows.append([*cells, f"{best[0] / took['ours']:.2f} ({best[1]})"])
    means = {name: float(np.exp(np.mean(np.log(ratio)))) for name, ratio in faster.items() if name != "ours"}
    if not quick:
        for rival in ("dense", "SuperLU"):
            report.require(means[rival] >= 1, f"{rival} takes {means[rival]:.2f} of our time, geometric mean")
    absent = [f"{name} (`{PACKAGES[name]}`)" for name in FACTORS if name not in names]
    report.add(
        "H = NᵀDN of the L1 adjustments above for five of the diagonals that the interior point "
        "met, from the first step to the last: processor milliseconds "
        "of one factorisation and one solve with the analysis kept (in brackets the analysis), one thread, the shortest of three, mean of the five; "
        "`dense` is LAPACK's dpotrf, SuperLU scipy's `splu`, CHOLMOD comes with `cvxopt`, PARDISO with `pypardiso` (MKL). "
        "No wheels for this Python: scikit-sparse, scikit-umfpack, pymumps; the one of python-mumps is for NumPy 1, that of sksparse-minimal "
        "cannot be imported. "
        + (f"Not installed in this run: {', '.join(absent)}. " if absent else "")
        + "**Time of the others over ours, geometric mean: "
        + ", ".join(f"{name} {mean:.2f}" for name, mean in means.items())
        + ".**\n\n"
        + table(["table", "u", "filled", "we take", *names, "fastest other / ours"], rows)
    )


def residual(lower: Any, values: Floats, x: Floats, right: Floats) -> float:
    """‖H·x − right‖ over ‖H‖·‖x‖ + ‖right‖."""
    from scipy.sparse import csc_matrix

    h = csc_matrix((values, lower.indices, lower.indptr), shape=lower.shape)
    image = h @ x + h.T @ x - h.diagonal() * x
    return float(np.abs(image - right).max() / (np.abs(values).max() * np.abs(x).max() + np.abs(right).max()))


PARTS = {"forms": "beside HiGHS on the same compact form", "factors": "Newton systems by several factorisations"}


def figures(report: Report, part: str, *, quick: bool) -> None:
    {"forms": forms, "factors": factors}[part](report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts("interior_point.py", "Interior point", PARTS, figures, __doc__))
