"""Unbiased rounding: the one nearest to a table ξ(a) drawn at random, such that cells are rounded up as often as they should (paper 000, section 6).

Legend: a cell with residue ρ above the multiple below it, of base β, is rounded up without bias when that happens with probability ρ/β. Rounding to
the nearest possible table does so far too seldom for small ρ and too often for large ones. So the target of each cell is drawn: ξ = ⌊a⌋ + σ with
probability T[ρ, σ], 0 ≤ σ ≤ β, and with u[σ], the share of cells with target σ that are rounded up, Σ_σ T[ρ, σ]·u[σ] should be ρ/β. The shares
depend on the targets in turn: they are measured, T is drawn up anew, and so on; the linear relaxation is enough for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cellward.exact import Floats, Ints
from cellward.protect.draws import Draws
from cellward.protect.lattice.engines import ENGINES, solve
from cellward.protect.lattice.model import LatticeModel
from cellward.protect.lattice.problem import LatticeEngine, LatticeProblem
from cellward.protect.lattice.vertex import lp_solver, relax
from cellward.solve.budget import Budget

ROUNDS = 8
"""Calibrations at most."""
SHARES_FROM = 2
"""Calibrations that measure shares; later ones correct the aim."""
CLOSE = 0.005
"""Calibration ends when no residue is rounded up this much too often or too seldom."""
FEWEST = 200
"""Residues with fewer cells than this are calibrated together with others of the same share of the base."""
GRID = 60
"""Residues of larger bases are pooled to so many shares of the base."""


def unbiased_target(
    model: LatticeModel, draws: Draws, budget: Budget, engines: Sequence[LatticeEngine] = ENGINES
) -> Ints:
    """ξ(a): a table, additive or not, whose nearest rounding is nearly without bias; its lots are drawn from the key."""
    cell = model.columns.cell
    a, lo, base = (x[cell] for x in (model.instance.a, model.allowed.lo, model.r))
    points = np.minimum(base, GRID)
    wanted = (a - lo) / base
    draw = draws.fractions("target", cell)
    spread = np.linspace(0.0, 1.0, GRID + 1)
    share_up = spread.copy()  # u as a function of σ/β, to begin with as if rounding were without bias already
    aim = np.clip(wanted, 0, 1)
    best, least = model.instance.a.copy(), np.inf
    group = np.rint(wanted * GRID).astype(np.int64)
    many = np.bincount(group, minlength=GRID + 1)
    want = np.bincount(group, wanted, minlength=GRID + 1) / np.maximum(many, 1)
    sigma = np.rint(wanted * points) / points
    for turn in range(ROUNDS):
        target = model.instance.a.copy()
        target[cell] = lo + np.rint(sigma * base).astype(np.int64)
        x = _vertex(LatticeProblem(replace(model, target=target)), budget, engines)
        if x is None:
            break
        up = x > 0.5
        got = np.bincount(group, up, minlength=GRID + 1) / np.maximum(many, 1)
        off = float(np.abs(got - want)[many >= min(FEWEST, many.max())].max(initial=0.0))
        if off < least:
            best, least = target, off
        if off < CLOSE or budget.over:
            break
        if turn < SHARES_FROM:
            share_up = _shares(sigma, up, share_up)
        else:  # the shares are known; what is still missing is aimed at
            aim = np.clip(aim + (want - got)[group], 0, 1)
        sigma = _drawn(aim, points, share_up, draw)
    return best


def _vertex(problem: LatticeProblem, budget: Budget, engines: Sequence[LatticeEngine]) -> Floats | None:
    """x of the nearest table, where need be with fractions."""
    if problem.network is None:
        return relax(problem, budget, solver=lp_solver(engines)).x
    found = solve(problem, budget, engines)
    return None if found.x is None else found.x.astype(float)


def _shares(sigma: Floats, up: NDArray[np.bool_], before: Floats) -> Floats:
    """u on the grid: the shares measured, rising, and as they were where too few cells say anything."""
    at = np.rint(sigma * GRID).astype(np.int64)
    many = np.bincount(at, minlength=GRID + 1)
    got = np.bincount(at, up, minlength=GRID + 1)
    known = np.flatnonzero(many >= min(FEWEST, int(many.max(initial=0))))
    ends = np.concatenate(([-1], known, [GRID + 1]))
    shares = np.concatenate(([0.0], got[known] / many[known], [1.0]))
    rising = np.maximum.accumulate(shares)
    return np.asarray(np.interp(np.arange(GRID + 1), ends, rising)) if len(known) else before


def _drawn(aim: Floats, points: Ints, share_up: Floats, draw: Floats) -> Floats:
    """σ/β of each cell: one of the two neighbouring targets between whose shares the aim lies, by lot."""
    out = np.zeros(len(aim))
    for many in np.unique(points).tolist():
        mine = points == many
        ladder = np.arange(many + 1) / many
        shares = np.interp(ladder * GRID, np.arange(GRID + 1), share_up)
        shares = np.maximum.accumulate(shares + 1e-9 * np.arange(many + 1))
        above = np.clip(np.searchsorted(shares, aim[mine], side="left"), 1, many)
        low, high = shares[above - 1], shares[above]
        part = np.clip((aim[mine] - low) / np.maximum(high - low, 1e-12), 0, 1)
        out[mine] = ladder[np.where(draw[mine] < part, above, above - 1)]
    return out
