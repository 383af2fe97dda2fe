"""Linked contributions: who stands behind the cells of several tables, put together; the same unit is known by its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellward.errors import InputError
from cellward.exact import Bools, Ints
from cellward.table.cell_sums import CellSum
from cellward.table.contributions import Contributions, Held, LinkedParts, Parts
from cellward.table.labels import Labels
from cellward.table.ranks import Ranks
from cellward.table.table import Table


@dataclass(frozen=True, eq=False)
class LinkedContributions:
    """What the tables know, in the cells and units of the whole.

    ``every``: of each cell all that one of the tables knows, nothing (0) where none does. ``common``: what is known of every cell alike, which rules
    may judge by; None where a table knows nothing. ``units``: for each table how its units are numbered now, None where they cannot be told apart.
    """

    every: Contributions
    common: Contributions | None
    units: tuple[Units | None, ...]


@dataclass(frozen=True, eq=False)
class Units:
    """The number of each unit of a table in the whole: ``old`` (sorted) becomes ``new``."""

    old: Ints
    new: Ints

    def __call__(self, unit: Ints) -> Ints:
        """These units in the whole, −1 where there is none."""
        at = np.minimum(np.searchsorted(self.old, unit), max(len(self.old) - 1, 0))
        return np.where(unit < 0, -1, self.new[at]) if len(self.old) else np.full(unit.shape, -1, np.int64)

    def of_sum(self, one: CellSum) -> CellSum:
        """The sum with its largest contributors in the whole."""
        unit = self(np.array([unit for unit, _ in one.largest], np.int64)).tolist()
        return replace(one, largest=tuple(zip(unit, (amount for _, amount in one.largest), strict=True)))


def link_contributions(
    tables: Sequence[Table], places: Sequence[Ints], labels: Labels, factors: Sequence[int]
) -> LinkedContributions | None:
    """The contributions of tables whose cells stand at these places; None where no table has any.

    ``factors``: how many of the whole's units make one of each table. A shared cell must have the same contributors and contributions everywhere.
    """
    known = [table.contributions for table in tables]
    if all(c is None for c in known):
        return None
    told_apart = all(c is None or c.parts is not None for c in known)
    names, units = _named(known) if told_apart else ((), [None] * len(known))
    kept = max(c.kept for c in known if c is not None)
    weighted = any(c is not None and c.weighted is not None for c in known)
    n = labels.cells
    rows, number, size = (np.zeros(n, np.int64) for _ in range(3))
    top, heavy, unit = np.zeros((kept, n), np.int64), np.zeros((kept, n), np.int64), np.full((kept, n), -1, np.int64)
    requested = {code: np.zeros(n, np.int64) for c in known if c is not None for code in c.requested}
    depth = np.full(n, -1, np.int64)
    whose = np.full(n, -1, np.int64)
    for k, (c, place, factor, numbered) in enumerate(zip(known, places, factors, units, strict=True)):
        if c is None:
            continue
        own_top = c.top * factor
        own_heavy = own_top if c.weighted is None else c.weighted * factor
        own_unit = c.unit if numbered is None else numbered(c.unit)
        both = np.flatnonzero(depth[place] >= 0)
        cell = place[both]
        short = min(kept, c.kept)
        last = np.minimum(depth[cell], c.kept)
        shown = np.arange(short)[:, None] < last  # ranks that the cell has from both
        coarse = max(factors)
        wrong = (number[cell] != c.units[both]) | (np.abs(size[cell] - c.size[both] * factor) >= coarse)
        for mine, own in ((top, own_top), *([(heavy, own_heavy)] if weighted else [])):
            wrong |= (shown & (np.abs(mine[:short, cell] - own[:short, both]) >= coarse)).any(axis=0)
        if numbered is not None:
            wrong |= (
                shown
                & _untied(own_top[:short, both], c.units[both], last)
                & (unit[:short, cell] != own_unit[:short, both])
            ).any(axis=0)
        if wrong.any():
            _refuse(labels, cell[wrong], int(whose[cell[wrong][0]]), k)
        size[place] = np.maximum(size[place], c.size * factor)
        for code, largest in c.requested.items():
            requested[code][place] = np.maximum(requested[code][place], largest * factor)
        fresh = depth[place] < c.kept
        at = place[fresh]
        rows[at], number[at] = c.rows[fresh], c.units[fresh]
        top[: c.kept, at], heavy[: c.kept, at] = own_top[:, fresh], own_heavy[:, fresh]
        unit[: c.kept, at] = own_unit[:, fresh]
        depth[at], whose[at] = c.kept, k
    if not told_apart:
        names, unit = Ranks(labels), np.where(unit >= 0, np.arange(kept * n, dtype=np.int64).reshape(kept, n), -1)
    have = [c for c in known if c is not None]
    every = Contributions(
        records=max(c.records for c in have),
        dropped=max(c.dropped for c in have),
        rows=rows,
        units=number,
        size=size,
        top=top,
        unit=unit,
        names=names,
        weighted=heavy if weighted else None,
        negative=any(c.negative for c in have),
        requested=requested,
        parts=_parts(known, places, factors, units) if told_apart else None,
        folded=all(c.folded for c in have),
        alike=tuple(dict.fromkeys(one for c in have for one in c.alike)),
    )
    return LinkedContributions(every, _common(every, known), tuple(units))


def _untied(top: Ints, units: Ints, last: Ints) -> Bools:
    """Which ranks can be held by one unit only: no neighbour is as large, and behind the ``last`` known rank nobody is hidden."""
    out = top > 0
    out[1:] &= top[1:] != top[:-1]
    out[:-1] &= top[:-1] != top[1:]
    return out & ((np.arange(len(top))[:, None] + 1 < last) | (units <= last))


def _refuse(labels: Labels, cells: Ints, first: int, second: int) -> None:
    more = "" if len(cells) == 1 else f" (and {len(cells) - 1:,} more cells)"
    raise InputError(
        f"link: behind {labels.name(int(cells[0]))} stand others in table {first + 1} than in table {second + 1}, or with other contributions{more}; "
        "tabulate the same records with the same roles, name their contributors, or make the tables in one pass (dims='a*b + c')"
    )


def _named(known: Sequence[Contributions | None]) -> tuple[Sequence[str], list[Units | None]]:
    """The names of all units that occur, and how each table's units are numbered among them; of one name in a table twice, the first is the first."""
    number: dict[tuple[str, int], int] = {}
    names: list[str] = []
    units: list[Units | None] = []
    for c in known:
        if c is None:
            units.append(None)
            continue
        parts = () if c.parts is None else c.parts.members
        held = [np.concatenate((part.alone.unit.ravel(), part.spread.unit)) for part in parts]
        used = np.unique(np.concatenate((c.unit.ravel(), *held)))
        used = used[used >= 0]
        seen: Counter[str] = Counter()
        new = []
        for name in map(c.name, used.tolist()):
            same = c.known_as(name)
            at = number.setdefault((same, seen[same]), len(number))
            seen[same] += 1
            new.append(at)
            if at == len(names):
                names.append(name)
        units.append(Units(used, np.array(new, np.int64)))
    return names, units


def _parts(
    known: Sequence[Contributions | None], places: Sequence[Ints], factors: Sequence[int], units: Sequence[Units | None]
) -> LinkedParts:
    """What units contribute in each table, in the units and cells of the whole."""
    out = []
    for c, place, factor, numbered in zip(known, places, factors, units, strict=True):
        if c is None or c.parts is None or numbered is None:
            continue
        for part in c.parts.members:
            alone, spread = (
                Held(numbered(held.unit), held.leaf, held.amount * factor) for held in (part.alone, part.spread)
            )
            out.append(Parts(alone=alone, spread=spread, lattice=part.lattice, key=part.key, cell=place[part.cell]))
    return LinkedParts(tuple(out))


def _common(every: Contributions, known: Sequence[Contributions | None]) -> Contributions | None:
    """As many of the largest as are known of every cell, and the request codes that were asked for in every table."""
    have = [c for c in known if c is not None]
    if len(have) < len(known):
        return None
    least = min(c.kept for c in have)
    codes = set.intersection(*(set(c.requested) for c in have))
    return replace(
        every,
        top=every.top[:least],
        unit=every.unit[:least],
        weighted=None if every.weighted is None else every.weighted[:least],
        requested={code: largest for code, largest in every.requested.items() if code in codes},
    )
