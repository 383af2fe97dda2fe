"""Contributions: who stands behind each cell; how many, how much, and the largest of them by name. Confidential, like the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cellward.errors import InputError
from cellward.exact import Ints, freeze
from cellward.table.lattice import Lattice
from cellward.table.relations import ranges
from cellward.table.spelling import Alike, fold


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """Contributions to leaves: ``unit`` (−1 for none) and ``amount``, one or several rows of them, over the leaves with the codes ``leaf``."""

    unit: Ints
    leaf: Ints
    amount: Ints


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Parts:
    """What units contribute and where: those that have one leaf only and are among its largest, and all that are ``spread`` over several leaves.

    Amounts are scaled, times their weight where there are weights, and sizes where a unit is ``alone`` in its leaf. ``key`` (sorted) and ``cell`` say
    which cells of the table the lattice's are.
    """

    alone: Held
    spread: Held
    lattice: Lattice
    key: Ints
    cell: Ints

    @cached_property
    def rows(self) -> Held:
        """One row a unit and leaf, sorted by unit."""
        single = self.alone.unit >= 0
        at = np.broadcast_to(np.arange(single.shape[1]), single.shape)[single]
        unit = np.concatenate((self.alone.unit[single], self.spread.unit))
        order = np.argsort(unit, kind="stable")
        leaf = np.concatenate((self.alone.leaf[:, at], self.spread.leaf), axis=1)
        amount = np.concatenate((self.alone.amount[single], self.spread.amount))
        return Held(unit[order], leaf[:, order], amount[order])

    @cached_property
    def in_several(self) -> Ints:
        """The units with several leaves, in order; records left out may leave a spread unit with one."""
        unit, many = np.unique(self.spread.unit, return_counts=True)
        return np.asarray(unit[many > 1])

    @cached_property
    def shares(self) -> tuple[Ints, Ints, Ints]:
        """(cell, unit, amount): what spread units contribute to each cell, sorted by cell, then unit."""
        owner, cell = self.cells_above(self.spread.leaf)
        unit, amount = self.spread.unit[owner], self.spread.amount[owner]
        order = np.lexsort((unit, cell))
        cell, unit, amount = cell[order], unit[order], amount[order]
        first = np.flatnonzero(np.concatenate(([True], (cell[1:] != cell[:-1]) | (unit[1:] != unit[:-1])))[: len(cell)])
        return cell[first], unit[first], np.add.reduceat(amount, first) if len(first) else amount

    @property
    def members(self) -> tuple[Parts, ...]:
        """The parts of each table: of this one."""
        return (self,)

    def of(self, unit: int) -> tuple[Ints, Ints]:
        """All cells one unit contributes to, in increasing order, and the size of its contribution to each."""
        return self.of_each(np.array([unit]))[1:]

    def of_each(self, units: Ints) -> tuple[Ints, Ints, Ints]:
        """(which unit, cell, amount): the same of several, one after the other."""
        held = self.rows
        first, last = (np.searchsorted(held.unit, units, side) for side in ("left", "right"))
        rows, who = ranges(first, last), np.repeat(np.arange(len(units)), last - first)
        owner, cell = self.cells_above(held.leaf[:, rows])
        key, amount = who[owner] * self._cells + cell, held.amount[rows][owner]
        order = np.argsort(key, kind="stable")
        key, amount = key[order], amount[order]
        begin = np.flatnonzero(np.diff(key, prepend=-1))
        who, cell = np.divmod(key[begin], self._cells)
        return who, cell, np.abs(np.add.reduceat(amount, begin) if len(begin) else amount)

    @cached_property
    def _cells(self) -> int:
        """Numbers of cells lie below this."""
        return int(self.cell.max(initial=-1)) + 1

    def cells_above(self, leaf: Ints) -> tuple[Ints, Ints]:
        """(which leaf, cell) for every cell of the table above these leaves, themselves included."""
        owner, key = self.lattice.spread(leaf)
        at = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        here = self.key[at] == key
        return owner[here], self.cell[at[here]]


@dataclass(frozen=True, eq=False, repr=False)
class LinkedParts:
    """The parts of several tables that were linked, in the units and cells of the whole; what two tables say of one cell is the same."""

    members: tuple[Parts, ...]

    @cached_property
    def in_several(self) -> Ints:
        """The units with several leaves in one of the tables, in order."""
        return np.unique(np.concatenate([part.in_several for part in self.members]))

    @cached_property
    def shares(self) -> tuple[Ints, Ints, Ints]:
        """(cell, unit, amount): what spread units contribute to each cell, sorted by cell, then unit."""
        cell, unit, amount = (np.concatenate(column) for column in zip(*(p.shares for p in self.members), strict=True))
        order = np.lexsort((unit, cell))
        cell, unit, amount = cell[order], unit[order], amount[order]
        once = np.concatenate(([True], (cell[1:] != cell[:-1]) | (unit[1:] != unit[:-1])))[: len(cell)]
        return cell[once], unit[once], amount[once]

    def of(self, unit: int) -> tuple[Ints, Ints]:
        """All cells one unit is known to contribute to, in increasing order, and the size of its contribution to each.

        A table knows the units with one leaf that are among its largest: of one that is so in another table only, it knows nothing.
        """
        return self.of_each(np.array([unit]))[1:]

    def of_each(self, units: Ints) -> tuple[Ints, Ints, Ints]:
        """(which unit, cell, amount): the same of several, one after the other."""
        parts = zip(*(part.of_each(units) for part in self.members), strict=True)
        who, cell, amount = (np.concatenate(column) for column in parts)
        order = np.lexsort((cell, who))
        who, cell, amount = who[order], cell[order], amount[order]
        first = np.concatenate(([True], (who[1:] != who[:-1]) | (cell[1:] != cell[:-1])))[: len(who)]
        return who[first], cell[first], amount[first]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Contributions:
    """Counts, sizes and the largest contributions of every cell; amounts are integers in the table's scaled unit.

    A *unit* is what the rules rank: a holding where holdings were named, else a contributor, else a record. Contributions of one unit to one cell
    are summed before they are ranked.
    """

    records: int = 0
    """Records that were added up."""
    dropped: int = 0
    """Records that were left out, because they have no value or no code."""
    rows: Ints
    """Records behind each cell."""
    units: Ints
    """Distinct units behind each cell."""
    size: Ints
    """Σ|contribution|, weighted where records have weights: what the rules call the total X. Equals the value where nothing is negative."""
    top: Ints
    """(k, cells): the largest contributions by size, largest first, 0 where there are fewer; sizes |x|, unweighted."""
    unit: Ints
    """(k, cells): whose contribution that is, a position in ``names``; −1 where there is none."""
    names: Sequence[str]
    """What the units are called: the holding's or contributor's code, or ``record 17``. Not all of them need to occur."""
    weighted: Ints | None = None
    """(k, cells): the same contributions times their sampling weights; None where there are no weights."""
    negative: bool = False
    """Whether some contribution is negative: sizes are then no values, and a unit's contribution is no lower bound of a cell."""
    requested: Mapping[str, Ints] = field(default_factory=dict)
    """For each request code the largest contribution (size) of a unit that gave this code, by cell."""
    parts: Parts | LinkedParts | None = None
    """Contributions of the largest units to every cell."""
    folded: bool = False
    """Whether names that differ only in case, blanks or Unicode form are one unit's."""
    alike: tuple[Alike, ...] = ()
    """Names of units that were taken for one, and codes that are nearly the same."""

    def __post_init__(self) -> None:
        freeze(self.rows, self.units, self.size, self.top, self.unit, self.weighted, *self.requested.values())

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.rows)

    @property
    def kept(self) -> int:
        """How many of the largest contributions are kept of each cell."""
        return len(self.top)

    def largest(self, many: int) -> Ints:
        """The largest contributions, as many as asked for."""
        if many > self.kept:
            raise InputError(
                f"the rule looks at the {many} largest contributions, but {self.kept} were kept; tabulate with largest={many} (--largest {many}), or "
                "name as many columns of a table (largest=[…])"
            )
        return self.top[:many]

    def name(self, unit: int) -> str:
        """What a unit is called."""
        return self.names[unit]

    def known_as(self, name: str) -> str:
        """What all spellings of a unit's name have in common, where they are one unit's."""
        return fold(name) if self.folded else name

    def __repr__(self) -> str:
        return f"Contributions({self.cells:,} cells, {self.records:,} records, {self.kept} largest kept)"
