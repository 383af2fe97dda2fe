"""Attacker: what one intruder knows of a table beyond the public, cell by cell; stored for the cells it knows more of only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import NO_BOUND, Ints, freeze
from cellward.table.labels import Labels
from cellward.table.levels import Levels, level_of
from cellward.table.table import Table

Cell = int | tuple[str, ...] | str
Amounts = Mapping[Cell, Any]
"""Cells (by number, or by their codes) and amounts in the table's units."""

_NONE = np.zeros(0, np.int64)

FEW = 40
"""Attackers up to which each is looked at by itself."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Attacker:
    """A name, bounds on some cells (scaled integers; ±NO_BOUND where nothing more is known), and whether it knows that values are whole.

    Made by :meth:`external`, :meth:`knowing`, :meth:`respondent` or :meth:`coalition`, which check it against the table. ``levels`` are what must
    be kept from this attacker; None: the table's own. ``own`` are its contributions to ``cell``, which add up in a coalition. ``sums`` are its
    levels on the table's sums at risk, by their numbers; used where it has ``levels`` of its own. ``method``: it knows how the release was made, see
    :meth:`knowing_method`; ``levels_told``: and the levels of all cells, as amounts.
    """

    name: str
    whole: bool = False
    cell: Ints = field(default_factory=lambda: _NONE)
    lower: Ints = field(default_factory=lambda: _NONE)
    upper: Ints = field(default_factory=lambda: _NONE)
    own: Ints = field(default_factory=lambda: _NONE)
    levels: Levels | None = None
    sums: Levels | None = None
    method: bool = False
    levels_told: bool = False

    # ---- making ----------------------------------------------------------------------------------------------------------------------------

    @staticmethod
    def external(*, whole: bool = False) -> Attacker:
        """The public: knows the equations, the public bounds and the release; ``whole``: and that true values lie on the table's grid."""
        return Attacker(name="external", whole=whole)

    @staticmethod
    def knowing(
        table: Table,
        name: str,
        *,
        lower: Amounts | None = None,
        upper: Amounts | None = None,
        exactly: Iterable[Cell] = (),
        whole: bool = False,
        levels: Mapping[Cell, tuple[Any, Any, Any]] | None = None,
    ) -> Attacker:
        """An attacker with bounds on cells of its own, in the table's units; ``exactly``: cells whose value it knows.

        ``levels`` maps cells to (lpl, upl, spl); None asks for the table's own levels.

        >>> table = Table.from_array([[20, 50], [8, 19]], dims=["activity", "region"])
        >>> Attacker.knowing(table, "Smith Ltd", lower={("0", "1"): 12}, exactly=[("1", "0")])
        Attacker(Smith Ltd, knows more of 2 cells)
        """
        _check_given(table, name, lower, upper, levels)
        known: dict[int, list[int]] = {}
        for side, amounts in enumerate((lower or {}, upper or {})):
            for cell, amount in amounts.items():
                i = _find(table.labels, cell, name)
                where = f"attacker {name}: {('lower', 'upper')[side]} bound of {table.labels.name(i)}"
                bound = exact.scale_one(amount, table.decimals, where, "down" if side else "up")
                known.setdefault(i, [-NO_BOUND, NO_BOUND])[side] = max(-NO_BOUND, min(NO_BOUND, bound))
        for cell in exactly:
            i = _find(table.labels, cell, name)
            known[i] = [int(table.scaled[i])] * 2
        own_levels = None if levels is None else _levels(table, name, levels)
        cells = sorted(known)
        return _checked(
            Attacker(
                name=name,
                whole=whole,
                cell=np.array(cells, np.int64),
                lower=np.array([known[i][0] for i in cells], np.int64),
                upper=np.array([known[i][1] for i in cells], np.int64),
                own=np.zeros(len(cells), np.int64),
                levels=own_levels,
            ),
            table,
        )

    @staticmethod
    def knowing_method(of: Attacker | None = None, *, levels_told: bool = False) -> Attacker:
        """An attacker (the external one unless ``of`` is given) who also runs the method on every table that the release leaves possible.

        He knows all that the method was given but the true values and the key: equations, bounds, bases, weights, that values are whole, and that
        the release is a least rounding (any of them: how ties are broken tells nothing). A table is possible for him when the release is a least
        rounding of it, among all roundings or among those that keep the levels. ``levels_told``: he knows the levels as amounts and that they are
        kept, so the latter only. Only audits of roundings can answer him, block by block, where all tables of a block can be tried; no method
        promises anything against him.

        >>> Attacker.knowing_method()
        Attacker(external, who knows the method)
        """
        known = Attacker.external(whole=True) if of is None else of
        words = "who knows the method and the levels" if levels_told else "who knows the method"
        return replace(known, name=f"{known.name}, {words}", whole=True, method=True, levels_told=levels_told)

    @staticmethod
    def respondent(
        table: Table,
        name: str,
        contributions: Amounts,
        *,
        alone: Iterable[Cell] = (),
        whole: bool = False,
        levels: Mapping[Cell, tuple[Any, Any, Any]] | None = None,
    ) -> Attacker:
        """A respondent knows that a cell holds at least its own contribution, and all of the cells where it is ``alone``."""
        attacker = Attacker.knowing(table, name, lower=contributions, exactly=alone, whole=whole, levels=levels)
        negative = np.flatnonzero(table.lower[attacker.cell] < 0)
        if len(negative):
            cell = table.labels.name(int(attacker.cell[negative[0]]))
            raise InputError(
                f"attacker {name}: {cell} may be negative, so a contribution says nothing of it; give bounds with Attacker.knowing"
            )
        own = np.where(attacker.lower > -NO_BOUND, attacker.lower, 0)
        return Attacker(
            name=name,
            whole=whole,
            cell=attacker.cell,
            lower=attacker.lower,
            upper=attacker.upper,
            own=own,
            levels=attacker.levels,
        )

    @staticmethod
    def coalition(table: Table, name: str, *members: Attacker) -> Attacker:
        """Several attackers that put together what they know: the narrower bound each, and the sum of their contributions.

        Its levels are the table's own, without the cells that it then knows exactly.
        """
        if len(members) < 2 or not all(isinstance(member, Attacker) for member in members):
            raise InputError(f"attacker {name}: a coalition has at least two members, each an Attacker")
        cell = np.unique(np.concatenate([m.cell for m in members]))
        lower, upper = np.full(len(cell), -NO_BOUND, np.int64), np.full(len(cell), NO_BOUND, np.int64)
        own = np.zeros(len(cell), np.int64)
        for member in members:
            at = np.searchsorted(cell, member.cell)
            np.maximum.at(lower, at, member.lower)
            np.minimum.at(upper, at, member.upper)
            own[at] += member.own
        lower = np.where(own > 0, np.maximum(lower, own), lower)
        whole = any(m.whole for m in members)
        return _checked(Attacker(name=name, whole=whole, cell=cell, lower=lower, upper=upper, own=own), table)

    @staticmethod
    def from_data(
        table: Table, *, respondents: int = 2, coalitions: bool = False, whole: bool = False
    ) -> list[Attacker]:
        """The external attacker, and those that stand behind the cells at risk of a table made from microdata.

        ``respondents``: so many of the largest units of every unsafe cell, and the largest of every cell in one equation with it; each knows its own
        contribution everywhere, and the cells where it is alone. ``coalitions``: also every two of the three largest of an unsafe cell together. Each
        has levels of its own, from the rules that found the cells.
        """
        from cellward.risk.insiders import insiders

        return [Attacker.external(whole=whole), *insiders(table, respondents, coalitions=coalitions, whole=whole)]

    def __post_init__(self) -> None:
        freeze(self.cell, self.lower, self.upper, self.own)
        if not isinstance(self.name, str) or not self.name or not self.name.isprintable():
            raise InputError(f"attacker {self.name!r}: give it a name of printable characters")

    # ---- using -----------------------------------------------------------------------------------------------------------------------------

    @property
    def known(self) -> Ints:
        """The cells whose value this attacker knows by itself: nothing can be kept from it there."""
        return np.asarray(self.cell[self.lower == self.upper])

    def narrow(self, lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
        """These bounds on all cells, narrowed by what the attacker knows."""
        if not len(self.cell):
            return lo, hi
        lo, hi = lo.copy(), hi.copy()
        lo[self.cell] = np.maximum(lo[self.cell], self.lower)
        hi[self.cell] = np.minimum(hi[self.cell], self.upper)
        return lo, hi

    def asked(self, levels: Levels) -> Levels:
        """What must be kept from this attacker: its own levels or these, without the cells it knows by itself."""
        mine, known = self.wanted(levels), self.known
        return mine.take(~np.isin(mine.cell, known)) if len(known) else mine

    def wanted(self, levels: Levels) -> Levels:
        """The positive levels against this attacker: its own or these."""
        mine = levels if self.levels is None else self.levels
        positive = (mine.lpl > 0) | (mine.upl > 0) | (mine.spl > 0)
        return mine if positive.all() else mine.take(positive)

    def check(self, scaled: Ints | None, labels: Labels, decimals: int) -> None:
        """Refuse an attacker whose knowledge the table contradicts: it would be of another table."""
        mine = [self.cell] if self.levels is None else [self.cell, self.levels.cell]
        for cells in mine:
            if len(cells) and not 0 <= int(cells.min()) <= int(cells.max()) < labels.cells:
                raise InputError(
                    f"attacker {self.name}: it knows of cell {int(cells.max())}, the table has cells 0 to {labels.cells - 1}; make it for this table"
                )
        if scaled is None:
            return
        wrong = np.flatnonzero((scaled[self.cell] < self.lower) | (scaled[self.cell] > self.upper))
        if len(wrong):
            k = int(wrong[0])
            i = int(self.cell[k])
            shown = [
                "none" if abs(int(bound)) == NO_BOUND else exact.short(int(bound), decimals)
                for bound in (self.lower[k], self.upper[k])
            ]
            raise InputError(
                f"attacker {self.name}: it takes {labels.name(i)} to lie between {shown[0]} and {shown[1]}, but its value does "
                "not; correct the bounds"
            )

    def permuted(self, place: Ints) -> Attacker:
        """The same attacker when cell i becomes cell place[i]."""
        by = np.argsort(place[self.cell])
        return replace(
            self,
            cell=place[self.cell][by],
            lower=self.lower[by],
            upper=self.upper[by],
            own=self.own[by],
            levels=None if self.levels is None else self.levels.permuted(place),
        )

    def times(self, factor: int) -> Attacker:
        """The same attacker where amounts are counted in a unit ``factor`` times finer."""
        if factor == 1:
            return self
        return replace(
            self,
            lower=exact.finer(self.lower, factor),
            upper=exact.finer(self.upper, factor),
            own=self.own * factor,
            levels=None if self.levels is None else self.levels.times(factor),
            sums=None if self.sums is None else self.sums.times(factor),
        )

    def __repr__(self) -> str:
        parts = [self.name]
        if len(self.cell):
            parts.append(f"knows more of {len(self.cell):,} cells")
        if self.whole and not self.method:
            parts.append("whole values")
        return f"Attacker({', '.join(parts)})"


def check_attackers(
    attackers: Iterable[Attacker], scaled: Ints | None, labels: Labels, decimals: int
) -> tuple[Attacker, ...]:
    """The attackers of one table: at least one, names distinct, each consistent with the table (its cells only, where the values are not at hand)."""
    found = tuple(attackers) if isinstance(attackers, Iterable) else ()
    if not found or not all(isinstance(k, Attacker) for k in found):
        raise InputError("attackers: give a list of at least one Attacker, such as [Attacker.external()]")
    names = [attacker.name for attacker in found]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"attackers: two are called {twice}; give each a name of its own")
    if len(found) <= FEW or not _fit(found, scaled, labels.cells):
        for attacker in found:
            attacker.check(scaled, labels, decimals)
    return found


def _fit(attackers: Sequence[Attacker], scaled: Ints | None, cells: int) -> bool:
    """Whether none of many attackers contradicts a table, all looked at together."""
    cell = np.concatenate([one.cell for one in attackers])
    asked = np.concatenate([cell, *(one.levels.cell for one in attackers if one.levels is not None)])
    if len(asked) and not 0 <= int(asked.min()) <= int(asked.max()) < cells:
        return False
    if scaled is None:
        return True
    lower, upper = (np.concatenate([getattr(one, side) for one in attackers]) for side in ("lower", "upper"))
    return bool(np.all((scaled[cell] >= lower) & (scaled[cell] <= upper)))


def _check_given(table: object, name: str, *mappings: object) -> None:
    """Refuse what is no table, or no mapping of cells, before it is read."""
    if not isinstance(table, Table):
        raise InputError(f"attacker {name}: a {type(table).__name__} is no Table; give the table it attacks")
    for given in mappings:
        if given is not None and not isinstance(given, Mapping):
            raise InputError(f"attacker {name}: {given!r} is no mapping of cells; write {{cell: amount}}")


def _checked(attacker: Attacker, table: Table) -> Attacker:
    attacker.check(table.scaled, table.labels, table.decimals)
    return attacker


def _find(labels: Labels, cell: Cell, name: str) -> int:
    try:
        return labels.find(cell)
    except InputError as error:
        raise InputError(f"attacker {name}: {error}") from None


def _levels(table: Table, name: str, levels: Mapping[Cell, tuple[Any, Any, Any]]) -> Levels:
    """Levels in the table's units to scaled ones."""
    found: dict[int, list[int]] = {}
    for cell, own in levels.items():
        i = _find(table.labels, cell, name)
        where = f"attacker {name}: level of {table.labels.name(i)}"
        if not isinstance(own, tuple | list) or len(own) != 3:
            raise InputError(f"{where}: give (lpl, upl, spl)")
        called = zip(("lpl", "upl", "spl"), own, strict=True)
        found[i] = [
            level_of(level, table.decimals, f"attacker {name}, {side}", table.labels.name(i)) for side, level in called
        ]
    cells = sorted(found)
    columns = np.array([found[i] for i in cells], np.int64).reshape(-1, 3)
    return Levels(np.array(cells, np.int64), *(np.ascontiguousarray(column) for column in columns.T))
