"""The question of an adjustment: which cells must move and how far, what may, what is made small, and on which grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import LARGEST, Bools, Ints, Numbers
from cellward.instance import Instance
from cellward.objective import Objective
from cellward.protect.adjustment import engines
from cellward.protect.adjustment.choice.slack import Wish
from cellward.protect.adjustment.continuous import AdjustmentProblem, Form, PublishedGrid
from cellward.protect.adjustment.distance import Distance
from cellward.protect.adjustment.needs import DOWN, UP, Needs, Room, capped_room, drawn_levels, free_room, given_senses
from cellward.protect.adjustment.repaired import Lowered
from cellward.protect.adjustment.senses import Senses
from cellward.protect.adjustment.widened import padded, widened, with_needs_of_sums
from cellward.protect.attempt import Attempt
from cellward.protect.draws import Draws
from cellward.protect.named_cells import named_cells
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge
from cellward.risk.attacker import Attacker
from cellward.table.relations import Relations

if TYPE_CHECKING:
    from cellward.protect.adjustment.method import ControlledAdjustment


MOST_PLACES = 7
"""Decimals more than the table's that are published of an optimum that has no end of them."""
SHOWN = 3
LARGEST_WEIGHT = 10**18
"""Weights that would become larger lose their last digits."""


@dataclass(frozen=True)
class AdjustmentQuestion(Attempt):
    """What is asked of one adjustment of one instance."""

    method: ControlledAdjustment
    insiders: tuple[Attacker, ...] = ()
    """Attackers that know cells, against whom nothing is claimed."""
    bends: bool = False
    """Whether levels of the senses at hand are bent where they do not go together."""
    lowered: Lowered | None = None
    """Levels that gave way already."""

    @cached_property
    def places(self) -> int:
        """Decimals more than the table's that are published."""
        grid = self.method.grid
        if isinstance(grid, str) and grid == "table":
            return 0
        if grid is None:
            most = MOST_PLACES
            while most and 4 * self._size * 10**most > LARGEST:
                most -= 1
            return most
        for places in range(MOST_PLACES + 1):
            try:
                step = exact.scale_one(grid, self.instance.decimals + places, "grid", strict=True)
            except InputError:
                continue
            if not 0 < step <= LARGEST:
                break
            if places and 2 * self._size * 10**places > LARGEST:
                raise InputError(
                    f"grid={grid!r}: values as large as these have no room for so many decimals; give a coarser grid, or 'table'"
                )
            return places
        raise InputError(
            f"grid={grid!r}: give a positive number of at most {self.instance.decimals + MOST_PLACES} decimals, such as 1, 'table' or None"
        )

    @cached_property
    def _size(self) -> int:
        i = self.instance
        return max(int(np.abs(i.a).max(initial=1)), int(np.abs(i.relations.rhs).max(initial=1)))

    @cached_property
    def fine(self) -> Instance:
        """The instance in the unit of what is published."""
        return self.instance.finer(self.places)

    @cached_property
    def wide(self) -> Instance:
        """The same with its sums at risk as further cells: what is adjusted."""
        return widened(self.fine)

    @property
    def draws(self) -> Draws:
        """Secret draws for cells and sums."""
        return Draws(self.key, self.wide.labels)

    @property
    def factor(self) -> int:
        """How many of these make one of the table's."""
        return int(10**self.places)

    @cached_property
    def step(self) -> int:
        """The grid, in that unit."""
        if self.method.grid is None or (isinstance(self.method.grid, str) and self.method.grid == "table"):
            return 1
        return int(exact.scale_one(self.method.grid, self.fine.decimals, "grid", strict=True))

    @cached_property
    def origin(self) -> Ints:
        """What values on the grid are multiples of it away from: 0, or the true values where deviations are on it."""
        return self.wide.a if self.method.grid_of == "deviations" else np.zeros_like(self.wide.a)

    @property
    def needs(self) -> Needs:
        """Which cells and sums must move, and how far at least."""
        if self.lowered is None:
            return self.asked_first
        left = (self.lowered.up > 0) | (self.lowered.down > 0)
        return Needs(self.lowered.cell[left], self.lowered.up[left], self.lowered.down[left])

    @cached_property
    def asked_first(self) -> Needs:
        """The same before any level gave way."""
        i, attackers = self.fine, (*self.fine.attackers, *self.insiders_finer)
        needs = Needs.of(replace(i, attackers=attackers))
        return with_needs_of_sums(needs, attackers, i.sensitivity.sums, i.cells)

    @cached_property
    def insiders_finer(self) -> tuple[Attacker, ...]:
        """Those attackers in the unit of what is published."""
        return tuple(attacker.times(self.factor) for attacker in self.insiders)

    @cached_property
    def _kept(self) -> Bools:
        return self.method.fixed_cells(self.instance)

    @cached_property
    def still(self) -> Bools:
        """Cells that stay: fixed ones, and zeros that are not at risk."""
        fixed = self._kept if self.method.soft_margins is None else self.instance.sensitivity.fixed
        stays = self._over_sums(fixed)
        if self.method.zeros_stay:
            zero = self.wide.a == 0
            zero[self.asked_first.cell] = False
            stays = stays | zero
        return stays

    @cached_property
    def one_way(self) -> tuple[Bools, Bools]:
        """Cells that may only go up, and those that may only go down."""
        rises, falls = self.method.one_way(self.instance)
        return self._over_sums(rises), self._over_sums(falls)

    def _over_sums(self, cells: Bools) -> Bools:
        """A choice of cells among those and the sums."""
        return np.concatenate((cells, np.zeros(self.wide.cells - len(cells), bool)))

    @cached_property
    def free(self) -> tuple[Ints, Ints]:
        """What cells may move by but for their levels."""
        lo, hi = free_room(self.wide, self.still)
        rises, falls = self.one_way
        lo, hi = np.where(rises, np.maximum(lo, 0), lo), np.where(falls, np.minimum(hi, 0), hi)
        if self.method.max_change is None:
            return lo, hi
        return capped_room(self.wide.a, (lo, hi), self.method.decimal("max_change"), self.needs.cell, self.fine.cells)

    @cached_property
    def distance(self) -> Distance:
        """What is made small."""
        o, i = self.method, self.instance
        weight, second, places = i.weight, i.weight, i.weight_decimals
        if o.second_weights is not None:
            numbers = Numbers.read(
                np.asarray(o.second_weights).ravel(), lambda k: f"second weight of {i.labels.name(k)}"
            )
            more = numbers.decimals - places
            second = numbers.scaled() * 10 ** max(-more, 0)
            weight, places = weight * 10 ** max(more, 0), max(places, numbers.decimals)
            if len(second) != i.cells or int(second.min(initial=0)) < 0:
                raise InputError(f"second_weights: give one number of at least 0 for each of {i.cells} cells")
        if o.subset is not None:
            inside = np.zeros(i.cells, bool)
            inside[named_cells(i, o.subset, "subset")] = True
            second = np.where(inside, second, 0)
        if o.soft_margins is not None:
            dearer = np.where(self._kept & ~i.sensitivity.fixed, o.soft_margins, 1.0)
            most = float(max((w * dearer).max(initial=0.0) for w in (weight, second)))
            cut = max(0, int(np.ceil(np.log10(max(most, 1.0) / LARGEST_WEIGHT))))
            weight, second = (np.rint(w * dearer / 10.0**cut).astype(np.int64) for w in (weight, second))
            places -= cut
        sensitive = np.zeros(self.wide.cells, bool)
        sensitive[self.needs.cell] = True
        if len(weight) < self.wide.cells:
            weight, second = (padded(w, self.wide.cells) for w in (weight, second))
        shares = (o.decimal("first"), o.decimal("second")) if o.norm == "l1-2" else (Fraction(1), Fraction(0))
        delta = o.decimal("delta") if o.norm == "huber" else Fraction(0)
        return Distance(o.norm, weight, second, places, sensitive, shares, delta)  # type: ignore[arg-type]

    @cached_property
    def relations(self) -> Relations:
        """M·z = 0."""
        r = self.wide.relations
        return r if not r.rhs.any() else Relations(r.cells, r.indptr, r.indices, r.coefs, np.zeros_like(r.rhs))

    def problem(self, room: Room) -> AdjustmentProblem:
        """The continuous problem with this room."""
        grid = PublishedGrid(self.wide.a - self.origin, self.step, self.factor)
        return AdjustmentProblem.of(self.relations, room, self.distance, self.instance.decimals, grid)

    @property
    def forms(self) -> tuple[Form, ...]:
        """Forms of the continuous problem that are tried."""
        return engines.forms_of(self.method.form)

    @property
    def asked(self) -> tuple[Ints, Ints]:
        """How far cells at risk must move up or down at least so that values on the grid are as far off as is asked; 0: not that way."""
        n, a, step = self.needs, (self.wide.a - self.origin)[self.needs.cell], self.step
        up, down = -(-(a + n.up) // step) * step - a, a - (a - n.down) // step * step
        return np.where(n.up > 0, up, 0), np.where(n.down > 0, down, 0)

    def senses(self) -> Senses:
        """Senses and levels as given or drawn."""
        cell, (lo, hi) = self.needs.cell, self.free
        jitter = self.method.jitter
        up = drawn_levels(self.draws, cell, self.needs.up, hi[cell], jitter, self.step, "up")
        down = drawn_levels(self.draws, cell, self.needs.down, -lo[cell], jitter, self.step, "down")
        asked_up, asked_down = self.asked
        up = np.where(up > 0, np.maximum(up, asked_up), 0)
        down = np.where(down > 0, np.maximum(down, asked_down), 0)
        can_up, can_down = (up > 0) & (asked_up <= hi[cell]), (down > 0) & (asked_down <= -lo[cell])
        up, down = np.minimum(up, np.maximum(hi[cell], asked_up)), np.minimum(down, np.maximum(-lo[cell], asked_down))
        secret = self.method.secret or self.method.chosen
        if secret:
            drawn = self.draws.bits("sense", cell) if self.method.secret else self._begun_with(len(cell))
            sense = np.where(drawn, UP, DOWN)
            sense = np.where(can_up & ~can_down, UP, np.where(can_down & ~can_up, DOWN, sense))
        else:
            sense = given_senses(self.method.senses, self.wide, cell)
        return Senses(cell, sense, up, down, asked_up, asked_down, can_up, can_down, secret)

    def _wish(self, senses: Senses) -> Wish | None:
        """Senses as drawn, which are taken as far as that costs little; None where none are drawn."""
        if self.method.slack is None:
            return None
        order = np.argsort(self.draws.fractions("turn towards the draw", senses.cell), kind="stable")
        return Wish(senses.sense, order, float(self.method.decimal("slack")))

    def _begun_with(self, many: int) -> Bools:
        """Senses that the search for the best begins with: no matter of secrecy, so not of the key."""
        return np.random.default_rng(self.budget.seed).integers(2, size=many).astype(bool)

    def allowed(self, room: Room) -> AllowedSet:
        """What may be published with this room, on the grid."""
        a = self.wide.a
        lo, hi = a + room.lo, a + room.hi
        stays = room.lo == room.hi
        step = np.where(stays, 0, self.step)
        if self.step > 1:
            o, unit = self.origin, self.step
            lo = np.where(stays, lo, o - (o - lo) // unit * unit)
            hi = np.where(stays, hi, o + (hi - o) // unit * unit)
        return AllowedSet(lo, hi, np.where(lo == hi, 0, step))

    def stated(self) -> dict[str, Any]:
        """The options: nothing of senses or drawn levels."""
        return self.method.stated()

    def untold(self) -> tuple[Objective, Knowledge]:
        """Over the room of the cells."""
        a, n = self.fine.a, self.fine.cells
        lo, hi = (end[:n] for end in self.free)
        return self.sought_within(AllowedSet(a + lo, a + hi, (lo < hi).astype(np.int64))), Knowledge.adjusted(a)

    def sought_within(self, allowed: AllowedSet) -> Objective:
        """What is made small over these values."""
        linear = self.distance.norm == "l1" and self.method.soft_margins is None
        measure = None if linear else self.distance.permuted(np.arange(self.fine.cells))
        return Objective(allowed=allowed, measure=measure, search=False)

    def stands_for(self, cell: int) -> int:
        """The cell of the table, or the first of the sum, that a cell stands for."""
        n = self.fine.cells
        return cell if cell < n else int(self.fine.sensitivity.sums[cell - n].cell[0])

    def own_cells(self, cells: Ints) -> list[int]:
        """Those that are cells of the table, not sums."""
        return [int(i) for i in cells if i < self.fine.cells]

    def names(self, cells: Sequence[int] | Ints) -> str:
        """A few cells, or sums, by name."""
        n, sums = self.instance.cells, self.instance.sensitivity.sums
        if not sums or not len(cells) or int(np.max(np.asarray(cells)[:SHOWN])) < n:
            return super().names(cells)
        named = (
            self.instance.labels.name(i)
            if i < n
            else f"the sum of {super(AdjustmentQuestion, self).names(sums[i - n].cell)}"
            for i in map(int, cells[:SHOWN])
        )
        return f"{', '.join(named)}{'' if len(cells) <= SHOWN else f' and {len(cells) - SHOWN} more'}"

    @property
    def grid_words(self) -> str:
        """The grid, in words."""
        if self.method.grid is None:
            return f"{self.fine.decimals} decimals"
        return "the table's own grid" if self.method.grid == "table" else f"multiples of {self.method.grid}"

    @property
    def remedy(self) -> str:
        """What helps where there is no table."""
        cap = "" if self.method.max_change is None else "give a larger max_change, "
        allow = "" if self.method.repairs else ", or allow soft_levels or repair='bounds'"
        return f"{cap}ask for lower levels, free fixed cells or zeros, choose other senses{allow}"
