"""Insiders: attackers that stand behind the cells of a table, found from the contributions; rules.md derives their levels.

Legend: X total of a cell, s what the attacker contributes to it (0: nothing), x_t the largest contribution of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from cellward.errors import InputError, printable
from cellward.exact import LARGEST, NO_BOUND, Bools, Ints
from cellward.risk.attacker import Attacker
from cellward.risk.concentration import Concentration
from cellward.risk.dominance import Dominance
from cellward.risk.findings import Findings
from cellward.risk.rule import Rule, contributions_of
from cellward.table.cell_sums import CellSum
from cellward.table.contributions import Contributions, LinkedParts, Parts
from cellward.table.levels import Levels
from cellward.table.relations import Relations, among, distinct, ranges
from cellward.table.table import Table

Units = tuple[int, ...]
Asked = tuple[int, int, int]
NO_LEVELS = Levels(*(np.zeros(0, np.int64) for _ in range(4)))
MARKED_AT_ONCE = 1 << 25
"""Cells or equations, each by each unit looked at together, that are marked at once."""
IN_COALITION = 3
"""Coalitions are formed of two among so many of the largest."""


def insiders(table: Table, respondents: int, *, coalitions: bool, whole: bool) -> list[Attacker]:
    """The units that may attack the unsafe cells, and pairs of them, in the order of their numbers.

    These are the largest units of every cell that a rule calls unsafe, whatever became of it, and the largest unit of every cell in one equation
    with an unsafe one: it knows a cell that helps. Each is asked about all unsafe cells that share an equation with a cell it contributes to. One
    that nothing has to be kept from is left out.
    """
    c, findings = contributions_of(table), table.findings
    if findings is not None and c.parts is None:
        raise InputError(
            "attackers: of this table it is known how many stand behind each cell, not who, so nobody can be followed from cell to cell; name "
            "attackers with Attacker.knowing, or build the table from its records"
        )
    if findings is None or c.parts is None:
        raise InputError(
            "attackers: the cells at risk of this table were not found by rules; use table.find(PPercent(10)) first"
        )
    _check(c, findings.rules, respondents, coalitions=coalitions)
    near = _Near(table.relations, findings.unsafe)
    called = np.unique(np.concatenate([findings.unsafe, *findings.hits]))
    units: set[Units] = {(u,) for u in np.unique(c.unit[:respondents, called]).tolist() if u >= 0}
    if respondents:
        units |= {(u,) for u in np.unique(c.unit[0, near.cells]).tolist() if u >= 0}
    if coalitions:
        for i in called.tolist():
            present = sorted(u for u in c.unit[:IN_COALITION, i].tolist() if u >= 0)
            units.update(combinations(present, 2))
    asked = _Asked(table, findings)
    single = _single(table, c.parts, sorted(one[0] for one in units if len(one) == 1), near, asked, whole=whole)
    several = [one for one in units if len(one) > 1]
    found = {one: _attacker(table, c.parts, one, near, asked, whole=whole) for one in several} | single
    return _distinct([attacker for _, attacker in sorted(found.items()) if attacker is not None])


def _single(
    table: Table, parts: Parts | LinkedParts, units: list[int], near: _Near, asked: _Asked, *, whole: bool
) -> dict[Units, Attacker | None]:
    """Single units, many at a time: behind a census they stand by the ten thousand."""
    c, n = contributions_of(table), table.cells
    found: dict[Units, Attacker | None] = {}
    sums = _Sums(table, near, asked)
    at_once = max(MARKED_AT_ONCE // max(n, table.relations.equations, 1), 1)
    for some in (units[at : at + at_once] for at in range(0, len(units), at_once)):
        who, cell, own = parts.of_each(np.array(some, np.int64))
        alone = c.units[cell] == 1
        contributed = who * n + cell
        target = near.unsafe_beside(who, cell, len(some))
        target = target[~among(contributed[alone], target)]
        mine = np.zeros(len(target), np.int64)
        here = among(contributed, target)
        mine[here] = own[np.searchsorted(contributed, target[here])]
        whose, target = np.divmod(target, n)
        wanted = asked.of_each(target, np.array(some, np.int64)[whose], mine, here)
        levels = _levels(whose, target, wanted, _room(table, target, mine, negative=c.negative))
        value = table.scaled[cell]
        lower = np.where(alone, value, np.full(len(cell), -NO_BOUND, np.int64) if c.negative else own)
        upper = np.where(alone, value, NO_BOUND)
        bound = np.zeros(len(cell), np.int64) if c.negative else own
        begin, end = (np.searchsorted(who, np.arange(len(some)), side).tolist() for side in ("left", "right"))
        for k, unit in enumerate(some):
            part = slice(begin[k], end[k])
            of_sums = sums.of((unit,), cell[part], own[part], cell[part][alone[part]])
            if k in levels or len(of_sums):
                found[(unit,)] = Attacker(
                    name=_name(c, (unit,)),
                    whole=whole,
                    cell=cell[part],
                    lower=lower[part],
                    upper=upper[part],
                    own=bound[part],
                    levels=levels.get(k, NO_LEVELS),
                    sums=of_sums,
                )
    return found


def _name(c: Contributions, units: Units) -> str:
    return f"{'respondent' if len(units) == 1 else 'coalition'} {' and '.join(printable(c.name(u)) for u in units)}"


def _check(c: Contributions, rules: Sequence[Rule], respondents: object, *, coalitions: bool) -> None:
    if not isinstance(respondents, int) or isinstance(respondents, bool) or not 0 <= respondents <= c.kept:
        raise InputError(
            f"respondents={respondents!r}: give a whole number from 0 to {c.kept}, the largest contributions kept; tabulate with largest= for more"
        )
    if coalitions and c.kept < IN_COALITION:
        raise InputError(
            f"coalitions: they are formed among the {IN_COALITION} largest, but {c.kept} were kept; tabulate with largest=3"
        )
    members = 2 if coalitions else 1
    seen = max((rule.others_needed for rule in rules if isinstance(rule, Concentration)), default=0)
    if seen + members > c.kept and bool((c.units > c.kept).any()):
        raise InputError(
            f"attackers: a rule looks at {seen} contributions beside those of {members} attackers, but {c.kept} were kept; tabulate with "
            f"largest={seen + members}"
        )


class _Near:
    """Which unsafe cells share an equation with given cells."""

    def __init__(self, relations: Relations, unsafe: Ints) -> None:
        self._relations = relations
        self._unsafe = np.zeros(relations.cells, bool)
        self._unsafe[unsafe] = True
        order = np.argsort(relations.indices, kind="stable")
        self._equation = relations.row[order]
        self._start = np.searchsorted(relations.indices[order], np.arange(relations.cells + 1))
        self._seen: dict[bytes, Ints] = {}
        self.cells = self.members(unsafe)
        """All cells in one equation with an unsafe one."""

    def members(self, cells: Ints) -> Ints:
        """All cells in one equation with one of these, themselves included."""
        r, key = self._relations, cells.tobytes()
        if key in self._seen:  # many units stand in the same cells
            return self._seen[key]
        equation = distinct(self._equation[ranges(self._start[cells], self._start[cells + 1])], r.equations)
        beside = r.indices[ranges(r.indptr[equation], r.indptr[equation + 1])]
        found = distinct(np.concatenate((cells, beside)), r.cells)
        self._seen[key] = found
        return found

    def unsafe(self, cells: Ints) -> Ints:
        """The unsafe cells among these."""
        return cells[self._unsafe[cells]]

    def unsafe_beside(self, who: Ints, cells: Ints, many: int) -> Ints:
        """The unsafe cells that share an equation with cells of each of so many (or are these), as who · cells + cell in increasing order."""
        r, n = self._relations, self._relations.cells
        first, last = self._start[cells], self._start[cells + 1]
        equation = self._equation[ranges(first, last)]
        seen = distinct(np.repeat(who, last - first) * r.equations + equation, many * r.equations)
        whose, equation = np.divmod(seen, r.equations)
        start, unsafe = self._unsafe_members
        beside = unsafe[ranges(start[equation], start[equation + 1])]
        own = self._unsafe[cells]
        key = np.repeat(whose, start[equation + 1] - start[equation]) * n + beside
        return distinct(np.concatenate((key, who[own] * n + cells[own])), many * n)

    @cached_property
    def _unsafe_members(self) -> tuple[Ints, Ints]:
        """Where those of each equation begin, and the unsafe cells of all equations one after the other."""
        r = self._relations
        at = np.flatnonzero(self._unsafe[r.indices])
        return np.searchsorted(at, r.indptr), r.indices[at]


class _Asked:
    """How far an attacker must be kept from a cell: the strictest of the rules that call the cell unsafe, or what the user gave."""

    def __init__(self, table: Table, findings: Findings) -> None:
        self._table = table
        self._c = contributions_of(table)
        self._consenting = set(findings.consenting.tolist())
        self._given = set(findings.given.tolist())
        self._measured: list[tuple[Concentration, frozenset[int]]] = []
        self._plain = np.zeros((3, table.cells), np.int64)
        """Below, above and in width, by the rules that rank nobody."""
        for rule, hit in zip(findings.rules, findings.hits, strict=True):
            if isinstance(rule, Concentration):
                self._measured.append((rule, frozenset(hit.tolist())))
            else:
                j = rule.judge(findings.table)
                j = j.take(np.isin(j.cell, hit))  # of linked tables, a rule may have judged some only
                self._plain[:, j.cell] = np.maximum(self._plain[:, j.cell], np.stack((j.lpl, j.upl, j.spl)))
        s = table.sensitivity
        self._plain[:, findings.given] = np.stack((s.lpl, s.upl, s.spl))[:, findings.given]
        self._outside, self._seen = np.zeros_like(self._plain), np.zeros(table.cells, bool)
        """What is asked of those who do not contribute, and of which cells it was looked at."""

    def of_each(self, cells: Ints, unit: Ints, contributed: Ints, here: Bools) -> Ints:
        """Below, above and in width of these cells, one row each; to be kept from a unit each, which contributes so much ``here``."""
        if not self._measured:
            return self._plain[:, cells]
        out = self._of_outsiders(cells, ~here)
        for k in np.flatnonzero(here).tolist():
            out[:, k] = self._level(int(cells[k]), (int(unit[k]),), int(contributed[k]))
        return out

    def _of_outsiders(self, cells: Ints, outside: Bools) -> Ints:
        """The same to be kept from whoever does not contribute; of the others as well, but that is looked at nowhere."""
        for i in np.unique(cells[outside & ~self._seen[cells]]).tolist():
            self._outside[:, i], self._seen[i] = self._level(i, (), 0), True
        return np.asarray(self._outside[:, cells])

    def of_all(self, cells: Ints, units: Units, contributed: Ints, members: Ints) -> Ints:
        """The same to be kept from several units together that contribute so much, and of which so many do."""
        out = self._of_outsiders(cells, members == 0)
        for k in np.flatnonzero(members).tolist():
            out[:, k] = self._level(int(cells[k]), units, int(contributed[k]))
        return out

    def _level(self, cell: int, units: Units, own: int) -> Asked:
        lpl, upl, spl = self._plain[:, cell].tolist()
        if cell in self._given:
            return lpl, upl, spl
        c = self._c
        weighted = c.top if c.weighted is None else c.weighted
        ranked = zip(c.unit[:, cell].tolist(), c.top[:, cell].tolist(), weighted[:, cell].tolist(), strict=True)
        others = [(u, x, w) for u, x, w in ranked if u >= 0 and u not in units]
        rules = [rule for rule, hit in self._measured if cell in hit]
        hidden = int(c.units[cell]) > int((c.unit[:, cell] >= 0).sum())
        above = self.measured(rules, int(c.size[cell]), own, others, hidden=hidden)
        return max(above, lpl), max(above, upl), spl

    def measured(
        self,
        rules: Sequence[Concentration],
        total: int,
        own: int,
        others: Sequence[tuple[int, int, int]],
        *,
        hidden: bool,
    ) -> int:
        """The strictest level of concentration rules; ``others`` are (unit, contribution, weighted contribution), largest first.

        Protected is the largest that has not consented; what its weight adds to it is not anybody else's. Where all these have consented and
        contributions are ``hidden`` behind them, one of those is protected, which is at most as large as the smallest here.
        """
        protected = [(x, w) for u, x, w in others if u not in self._consenting]
        if not protected and hidden and others:
            protected = [others[-1][1:]]
        if not protected:
            return 0
        x, w = protected[0]
        found = 0
        for rule in rules:
            single = rule.others_needed == 1 and not isinstance(rule, Dominance)
            level = (
                rule.against(total - (w - x), own, [x])
                if single
                else rule.against(total, own, [x for _, x, _ in others])
            )
            found = max(found, -(-level.numerator // level.denominator))
        return min(found, LARGEST)

    def of_sum(self, one: CellSum, units: Units, own: int) -> int:
        """The level of a sum of cells."""
        others = [(u, x, x) for u, x in one.largest if u not in units]
        rules, total = [rule for rule, _ in self._measured], int(self._c.size[one.cell].sum())
        return self.measured(rules, total, own, others, hidden=len(one.largest) > self._c.kept + 1)


def _attacker(
    table: Table, parts: Parts | LinkedParts, units: Units, near: _Near, asked: _Asked, *, whole: bool
) -> Attacker | None:
    c = contributions_of(table)
    cell, own, members = _contributed(parts, units)
    alone = c.units[cell] == members
    target = np.setdiff1d(near.unsafe(near.members(cell)), cell[alone], assume_unique=True)
    # Only what is looked at is made, and no array of all cells: there may be an attacker for every other cell.
    place = np.minimum(np.searchsorted(cell, target), len(cell) - 1)
    in_it = cell[place] == target
    contributed, contributing = np.where(in_it, own[place], 0), np.where(in_it, members[place], 0)
    wanted = asked.of_all(target, units, contributed, contributing)
    room = _room(table, target, contributed, negative=c.negative)
    levels = _levels(np.zeros_like(target), target, wanted, room).get(0, NO_LEVELS)
    of_sums = _Sums(table, near, asked).of(units, cell, own, cell[alone])
    if not len(levels) and not len(of_sums):
        return None
    value = table.scaled[cell]
    attacker = Attacker(
        name=_name(c, units),
        whole=whole,
        cell=cell,
        lower=np.where(alone, value, np.full(len(cell), -NO_BOUND, np.int64) if c.negative else own),
        upper=np.where(alone, value, NO_BOUND),
        own=np.zeros(len(cell), np.int64) if c.negative else own,
        levels=levels,
        sums=of_sums,
    )
    attacker.check(table.scaled, table.labels, table.decimals)
    return attacker


def _room(table: Table, cells: Ints, contributed: Ints, *, negative: bool) -> Ints:
    """How far below their values these cells may be for whoever contributes so much to them."""
    floor = table.lower[cells] if negative else np.maximum(table.lower[cells], contributed)
    return np.asarray(table.scaled[cells] - np.maximum(floor, -LARGEST))


class _Sums:
    """The sums of cells at risk, and who comes near to each: who contributes to a cell in one equation with one of its cells."""

    def __init__(self, table: Table, near: _Near, asked: _Asked) -> None:
        self._table, self._asked = table, asked
        self._close = np.zeros((len(table.sensitivity.sums), table.cells), bool)
        for close, one in zip(self._close, table.sensitivity.sums, strict=True):
            close[near.members(one.cell)] = True
        self._any: Bools = np.asarray(self._close.any(axis=0))

    def of(self, units: Units, cell: Ints, own: Ints, alone: Ints) -> Levels:
        """The levels of the sums that these units come near to, of which they do not know every cell."""
        table, sums = self._table, self._table.sensitivity.sums
        if not sums or not self._any[cell].any():
            return NO_LEVELS
        negative = contributions_of(table).negative
        number, room, level = [], [], []
        for k, (one, close) in enumerate(zip(sums, self._close, strict=True)):
            if not close[cell].any() or among(alone, one.cell).all():
                continue
            at = np.minimum(np.searchsorted(cell, one.cell), len(cell) - 1)
            contributed = np.where(cell[at] == one.cell, own[at], 0)
            number.append(k)
            room.append(int(_room(table, one.cell, contributed, negative=negative).sum()))
            level.append(self._asked.of_sum(one, units, int(contributed.sum())))
        which = np.array(number, np.int64)
        wanted = np.array((level, level, [0] * len(level)), np.int64)
        return _levels(np.zeros_like(which), which, wanted, np.array(room, np.int64)).get(0, NO_LEVELS)


def _levels(who: Ints, cell: Ints, asked: Ints, room: Ints) -> dict[int, Levels]:
    """By whom they are to be kept from: the positive levels (below, above and in width, one row each), below no further than there is room."""
    kept = np.any(asked > 0, axis=0)
    who, cell, (lpl, upl, spl) = who[kept], cell[kept], asked[:, kept]
    lpl = np.minimum(lpl, room[kept])
    first = np.flatnonzero(np.diff(who, prepend=-1)).tolist()
    ends = pairwise([*first, len(who)])
    return {int(who[i]): Levels(cell[i:j], lpl[i:j], upl[i:j], spl[i:j]) for i, j in ends}


def _contributed(parts: Parts | LinkedParts, units: Units) -> tuple[Ints, Ints, Ints]:
    """The cells that these units contribute to, what they contribute together, and how many of them do."""
    if len(units) == 1:
        cell, own = parts.of(units[0])
        return cell, own, np.ones(len(cell), np.int64)
    each = [parts.of(u) for u in units]
    cell, where = np.unique(np.concatenate([cells for cells, _ in each]), return_inverse=True)
    own, members = np.zeros(len(cell), np.int64), np.zeros(len(cell), np.int64)
    np.add.at(own, where, np.concatenate([amount for _, amount in each]))
    np.add.at(members, where, 1)
    return cell, own, members


def _distinct(attackers: list[Attacker]) -> list[Attacker]:
    """The attackers with names of their own: a second one of the same name is numbered."""
    seen: Counter[str] = Counter()
    out = []
    taken = {attacker.name for attacker in attackers}
    for attacker in attackers:
        seen[attacker.name] += 1
        name = attacker.name
        while seen[attacker.name] > 1 and name in taken:
            name = f"{attacker.name} ({seen[attacker.name]})"
            seen[attacker.name] += name in taken
        taken.add(name)
        out.append(attacker if name == attacker.name else replace(attacker, name=name))
    return out
