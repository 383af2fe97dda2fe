"""Needs of an adjustment: which way each cell at risk moves and how far at least, given or drawn from the key, and what room all cells have.

All numbers are whole, in units of the table or finer. A drawn level lies between the protection level and a jitter above it, so that nobody who knows
the rule behind the levels can read the true value off the published one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cellward.errors import InputError
from cellward.exact import LARGEST, NO_BOUND, Bools, Ints
from cellward.instance import Instance
from cellward.protect.draws import Draws
from cellward.table.levels import INFINITE

UP, DOWN = 1, -1
LEAST_STEPS = 2
"""Steps of the grid that a jitter is wide at least."""


@dataclass(frozen=True, eq=False)
class Needs:
    """Cells that must move, and how far up or down at least (0: not that way), the most that any attacker's levels ask.

    A width asks for as much to either side that may be taken: both where nothing else is asked. A level without an end closes its side.
    """

    cell: Ints
    up: Ints
    down: Ints

    @staticmethod
    def of(instance: Instance) -> Needs:
        """What the levels of all attackers ask together."""
        up, down = np.zeros((2, instance.cells), np.int64)
        no_up, no_down = np.zeros((2, instance.cells), bool)
        for attacker in instance.attackers:
            asked = attacker.asked(instance.sensitivity.levels)
            cell, either = asked.cell, (asked.upl == 0) & (asked.lpl == 0)
            rises, falls = (asked.upl > 0) | either, (asked.lpl > 0) | either
            up[cell] = np.maximum(up[cell], np.maximum(asked.upl, asked.spl))
            down[cell] = np.maximum(down[cell], np.maximum(asked.lpl, asked.spl))
            no_up[cell] |= ~rises
            no_down[cell] |= ~falls
        cell = np.flatnonzero((up > 0) | (down > 0))
        no_up, no_down = no_up | (up >= INFINITE), no_down | (down >= INFINITE)
        return Needs(cell, np.where(no_up, 0, up)[cell], np.where(no_down, 0, down)[cell])


@dataclass(frozen=True, eq=False)
class Room:
    """What each cell may move by: lo ≤ z ≤ hi."""

    lo: Ints
    hi: Ints

    @property
    def empty(self) -> Ints:
        """Cells without any value."""
        return np.flatnonzero(self.lo > self.hi)


def free_room(instance: Instance, stays: Bools) -> tuple[Ints, Ints]:
    """What cells may move by but for their levels: inside their bounds, and those that stay not at all."""
    lo = np.where(instance.lower > -NO_BOUND, instance.lower - instance.a, -NO_BOUND)
    hi = np.where(instance.upper < NO_BOUND, instance.upper - instance.a, NO_BOUND)
    lo, hi = np.maximum(lo, -LARGEST - instance.a), np.minimum(hi, LARGEST - instance.a)
    return np.where(stays, 0, lo), np.where(stays, 0, hi)


def capped_room(
    a: Ints, room: tuple[Ints, Ints], share: Fraction, at_risk: Ints, cells: int, least: int = 0
) -> tuple[Ints, Ints]:
    """The room in which cells that are not at risk change by at most a share of their value, or ``least``.

    What stands after the ``cells`` is no cell.
    """
    numerator, denominator = share.numerator, share.denominator
    most = np.array([abs(x) * numerator // denominator for x in a.tolist()], np.int64)
    open_ = np.arange(len(a)) >= cells
    open_[at_risk] = True
    most = np.where(open_, 2 * LARGEST, np.maximum(most, least))
    lo, hi = room
    return np.maximum(lo, -most), np.minimum(hi, most)


def drawn_levels(draws: Draws, cell: Ints, level: Ints, room: Ints, jitter: float, step: int, side: str) -> Ints:
    """For each level (0: none) one from there to ``jitter`` times itself above, at least LEAST_STEPS steps wide, inside the room; on the step.

    The same fraction of the way for the same cell and jitter: a level that grows takes what is drawn above it along. One fraction of two widths
    would give itself away, so that another jitter is another draw.
    """
    first = -(-level // step)
    if not jitter:
        return first * step
    wide = np.maximum(np.floor(level * jitter / step).astype(np.int64), LEAST_STEPS)
    last = np.minimum(first + wide, np.maximum(room // step, first))
    return np.where(
        level > 0, (first + draws.up_to(f"level {side}, jitter {float(jitter)}", cell, last - first)) * step, 0
    )


def given_senses(senses: object, instance: Instance, cell: Ints) -> Ints:
    """Senses from 'up', 'down', one a cell at risk or one a cell of the table: +1 or −1."""
    if isinstance(senses, str):
        return np.full(len(cell), UP if senses == "up" else DOWN, np.int64)
    if not isinstance(senses, Sequence | np.ndarray):
        raise InputError(f"senses={senses!r} is not known; use 'secret', 'up', 'down' or +1 and −1, one a cell at risk")
    out = np.asarray(senses)
    if out.shape == (instance.cells,) and instance.cells != len(cell):
        out = out[cell]
    if out.shape != (len(cell),) or not np.isin(out, (UP, DOWN)).all():
        raise InputError(
            f"senses: give +1 (up) or −1 (down) for each of the {len(cell)} cells at risk, or of all {instance.cells} cells"
        )
    return out.astype(np.int64)
