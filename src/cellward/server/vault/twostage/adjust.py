"""The second stage: the atoms are moved as little as brings the cells of a table where they may be published, every published cell staying as it is.

Over moves z = p − q of some atoms, none of them below zero, the linear program is

    min Σ_safe |d_c| / scale_c + Σ_at risk (excess_c + near_c) / level_c + dear·Σ short_c / level_c + moving·Σ (p + q)

    d_c = off_c + Σ z        what the cells of the table are off by
    side_c·d_c = far_c + excess_c − near_c − short_c      near_c ≤ far_c − level_c, for those at risk
    side_k·(off_k + Σ z) ≥ level_k                         for the sets of the lattice that must stay as far away as they are asked to be
    Σ z = 0                                                for every published cell

far is the level and a part more drawn from the key. Bounds give way first: how far a safe cell may be off is a cost and no bound. Levels give way
last (short). Where they do, sides are chosen anew for the cells that are short and for the sets of the lattice that meet them, none of which is out:
an integer program with one choice for each. Programs propose: moves are made whole, and whoever asked checks them in exact arithmetic.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse

from cellward.errors import SolverError
from cellward.exact import Bools, Floats, Ints
from cellward.server.vault.twostage.question import Away, Question
from cellward.solve.budget import Budget
from cellward.solve.highs import solve_lp, solve_mip
from cellward.solve.model import LinearModel

DEAR, NEAR, EXCESS, MOVING = 1e4, 3.0, 0.3, 3.0
MOST_CHOICES = 400
"""Sets of the lattice whose sides may be chosen anew for one table; the smallest first."""
MOST_ROUNDS = 12
"""Programs for one table: sets of the lattice are taken in where a proposal takes them nearer than they may be."""
WHOLE = 1e-6
_ONE_AT_A_TIME = Lock()


def moves(question: Question, seconds: float) -> Ints | None:
    """Whole moves that are as good as is found; None where levels give way, or nothing is found in time."""
    budget = Budget(time_limit_s=seconds)
    with _ONE_AT_A_TIME:
        try:
            held = question.together & False
            for _ in range(MOST_ROUNDS):
                found = _relaxed(question, held, budget)
                if found is None:
                    return None
                z, short = found
                if (near := question.together & question.broken(z) & ~held).any():
                    held |= near
                elif not short.any():
                    return _whole(question, z, held, budget)
                elif (turned := _turned(question, short, held, budget)) is None:
                    return None
                else:
                    question = turned
        except SolverError:
            return None
    return None


def _model(blocks: list[list[Any]], low: list[Any], high: list[Any], **more: Any) -> LinearModel:
    rows = sparse.block_array(blocks, format="csr").astype(np.float64)
    return LinearModel(
        indptr=rows.indptr.astype(np.int64),
        indices=rows.indices.astype(np.int64),
        coefs=rows.data,
        row_lower=np.concatenate(low).astype(np.float64),
        row_upper=np.concatenate(high).astype(np.float64),
        **more,
    )


def _relaxed(question: Question, own: Bools, budget: Budget) -> tuple[Floats, Bools] | None:
    """Moves with which these sets of the lattice keep their levels, and which cells at risk lack something."""
    n, far, cells = len(question.value), question.risky, question.cells
    safe = np.flatnonzero(cells.level == 0)
    level, held = cells.level[far].astype(np.float64), question.lattice.sums[own]
    side = sparse.diags_array(cells.side[far].astype(np.float64))
    one_safe, one_far = sparse.eye_array(len(safe)), sparse.eye_array(len(far))
    of_safe, of_far, zero = cells.sums[safe], side @ cells.sums[far], np.zeros(question.fixed.shape[0])
    wanted = cells.far[far] - cells.side[far] * cells.off[far]
    model = _model(
        [
            [question.fixed, -question.fixed, None, None, None, None, None],
            [held, -held, None, None, None, None, None],
            [of_safe, -of_safe, -one_safe, one_safe, None, None, None],
            [of_far, -of_far, None, None, -one_far, one_far, one_far],
        ],
        [zero, question.lattice.least[own], -cells.off[safe], wanted],
        [zero, question.lattice.most[own], -cells.off[safe], wanted],
        cost=np.concatenate(
            (_moving(question), _moving(question), np.tile(1 / question.scale[safe], 2), EXCESS / level, NEAR / level, DEAR / level)
        ),
        lower=np.zeros(2 * (n + len(safe)) + 3 * len(far)),
        upper=np.concatenate(
            (
                question.most_up, question.most_down, np.full(2 * len(safe) + len(far), np.inf), cells.far[far] - level,
                np.full(len(far), np.inf),
            )
        ),
    )  # fmt: skip
    found = solve_lp(model, budget=budget.part())
    if found.x is None:
        return None
    short = np.zeros(len(cells.off), bool)
    short[far] = found.x[len(found.x) - len(far) :] > WHOLE
    return found.x[:n] - found.x[n : 2 * n], short


def _moving(question: Question) -> Floats:
    return np.asarray(MOVING / np.maximum(0.2 * question.value, 1.0))


def _turned(question: Question, short: Bools, held: Bools, budget: Budget) -> Question | None:
    """The question with other sides, with which all levels can be met; None where none are found."""
    cells, lattice, n = question.cells, question.lattice, len(question.value)
    turning = np.flatnonzero(short)
    touched = np.zeros(n, np.int64)
    touched[cells.sums[turning].indices] = 1
    size = np.diff(lattice.sums.indptr)
    met = np.flatnonzero(lattice.sums @ touched)
    met = met[np.argsort(size[met], kind="stable")][:MOST_CHOICES]
    kept, alone = held.copy(), ~question.together
    kept[met], alone[met] = False, False
    rest = np.setdiff1d(question.risky, turning)
    chosen = sparse.vstack([cells.sums[turning], lattice.sums[met]], format="csr")
    off, up, down = (
        np.concatenate((getattr(cells, name)[turning], getattr(lattice, name)[met])) for name in ("off", "up", "down")
    )
    most_up = question.bounded(question.room, lattice.most, alone)
    most_down = question.bounded(np.maximum(question.value, 0).astype(np.float64), -lattice.least, alone)
    below, above = chosen @ most_down + up - off, chosen @ most_up + down + off  # what frees a side that is not taken
    own, of_rest = lattice.sums[kept], cells.sums[rest]
    zero, many = np.zeros(question.fixed.shape[0]), len(off)
    model = _model(
        [
            [question.fixed, -question.fixed, None],
            [own, -own, None],
            [of_rest, -of_rest, None],
            [chosen, -chosen, -sparse.diags_array(below)],
            [chosen, -chosen, -sparse.diags_array(above)],
        ],
        [zero, lattice.least[kept], cells.least[rest], up - off - below, np.full(many, -np.inf)],
        [zero, lattice.most[kept], cells.most[rest], np.full(many, np.inf), -down - off],
        cost=np.concatenate((_moving(question), _moving(question), np.zeros(many))),
        lower=np.zeros(2 * n + many),
        upper=np.concatenate((most_up, most_down, np.ones(many))),
        integer=np.arange(2 * n + many) >= 2 * n,
    )
    found = solve_mip(model, budget=budget.part(), absolute_gap=1e9)
    if found.x is None:
        return None
    side = np.where(found.x[2 * n :] > 0.5, 1, -1)
    return replace(
        question, cells=_sided(cells, turning, side[: len(turning)]), lattice=_sided(lattice, met, side[len(turning) :])
    )


def _sided(sets: Away, which: Ints, side: Ints) -> Away:
    every = sets.side.copy()
    every[which] = side
    return replace(sets, side=every)


def _whole(question: Question, z: Floats, held: Bools, budget: Budget) -> Ints | None:
    """Whole moves next to these: those that are whole stay at first, then none does."""
    near = np.rint(z)
    if np.abs(z - near).max(initial=0.0) <= WHOLE:
        return near.astype(np.int64)
    for free in (np.abs(z - near) > WHOLE, np.ones(len(z), bool)):
        low, high = np.where(free, np.floor(z) - 1, near), np.where(free, np.ceil(z) + 1, near)
        found = _rounded(
            question, z, held, np.maximum(low, -question.most_down), np.minimum(high, question.most_up), budget
        )
        if found is not None:
            return found
    return None


def _rounded(question: Question, z: Floats, own: Bools, low: Floats, high: Floats, budget: Budget) -> Ints | None:
    """Whole moves between these that keep what is published, the lattice and the levels; None where none are found."""
    far, zero = question.risky, np.zeros(question.fixed.shape[0])
    up = np.where(z > np.rint(z), 1.0, -1.0)  # a step against the relaxed move costs more than one with it
    model = _model(
        [[question.fixed], [question.lattice.sums[own]], [question.cells.sums[far]]],
        [zero, question.lattice.least[own], question.cells.least[far]],
        [zero, question.lattice.most[own], question.cells.most[far]],
        cost=-up * np.where(high > low, 1.0, 0.0) / np.maximum(question.value, 1),
        lower=low,
        upper=np.maximum(high, low),
        integer=np.ones(len(z), bool),
    )
    found = solve_mip(model, budget=budget.part(), absolute_gap=1e9)
    return None if found.x is None else np.rint(found.x).astype(np.int64)
