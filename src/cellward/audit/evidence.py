"""Evidence: witness tables that show every level met against every attacker, as few of them as a greedy choice finds."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cellward import exact
from cellward.audit.crowd import Crowd
from cellward.audit.ends import HIGH, LOW, Ends, Witness
from cellward.audit.gate import kept_unknown, told_of
from cellward.audit.mended import mended
from cellward.audit.region import Region
from cellward.audit.settle import Question, settle
from cellward.errors import VerificationError
from cellward.exact import Bools, Ints
from cellward.instance import Instance
from cellward.publication.publication import Publication
from cellward.risk.alike import Alike
from cellward.risk.attacker import FEW
from cellward.solve.budget import Budget
from cellward.table.levels import Levels
from cellward.table.relations import ranges

LARGE, GATE_SHARE = 4000, 0.4
"""Cells from which a level that is proven not to be met is enough: the others are not looked at; and the part of the time left for the gate there."""

MOST_SAID = 100
"""Levels of a crowd that are not settled and said one by one; of hundreds of thousands nobody reads more."""
NOT_SETTLED = "a level of this cell is not settled in time"


@dataclass(frozen=True, eq=False, repr=False)
class CoveringWitness:
    """A witness and what it shows: for some attackers (by number) the cells whose levels it helps to meet."""

    witness: Witness
    covers: tuple[tuple[int, Ints], ...]

    def __repr__(self) -> str:
        return (
            f"CoveringWitness({sum(len(cells) for _, cells in self.covers):,} levels of {len(self.covers):,} attackers)"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """What is shown of the levels: witnesses, and a sentence for each requirement that is not met (or was not settled in time)."""

    requirements: int
    shown: tuple[CoveringWitness, ...] = ()
    missing: tuple[str, ...] = ()
    unsettled: int = 0
    """How many of those missing are not settled: neither shown to be met nor proven to fail."""
    cells: tuple[int, ...] = ()
    """The cells of those missing."""
    tables: tuple[Witness, ...] = ()
    """Tables found besides: those that keep cells at risk unknown, where that asks more than the levels do, and all where a level is missing."""

    def permuted(self, order: Ints, attackers: Ints) -> Evidence:
        """The same when cell order[k] becomes cell k, and attacker k is called attackers[k]."""
        cell = np.argsort(order)
        shown = []
        for one in self.shown:
            covers = sorted(((int(attackers[k]), np.sort(cell[cells])) for k, cells in one.covers), key=lambda x: x[0])
            shown.append(CoveringWitness(Witness(one.witness.shift[order], one.witness.denominator), tuple(covers)))
        tables = tuple(Witness(one.shift[order], one.denominator) for one in self.tables)
        return replace(self, shown=tuple(shown), cells=tuple(int(cell[i]) for i in self.cells), tables=tables)

    @property
    def protected(self) -> bool:
        """Whether every level is shown to be met."""
        return not self.missing

    def __repr__(self) -> str:
        if not self.requirements:
            return "Evidence(nothing asked)"
        lost = f", {len(self.missing):,} not met" if self.missing else ", all met"
        open_ = f", {self.unsettled:,} of them not settled" if self.unsettled else ""
        return f"Evidence({self.requirements:,} levels{lost}{open_}, {len(self.shown):,} witnesses)"


def show_levels(
    instance: Instance, publication: Publication, budget: Budget | None = None, known: Sequence[Witness] = ()
) -> Evidence:
    """Witnesses for every level of every attacker, or the requirements that fail; ``known``: tables to be tried first, found for this publication or
    for another."""
    asked = [attacker.asked(instance.sensitivity.levels) for attacker in instance.attackers]
    requirements = sum(map(len, asked))
    if not requirements:
        return Evidence(0)
    knowledge, v = publication.knowledge, publication.v
    if not knowledge.intervals:
        assert v is not None
        return Evidence(requirements, missing=tuple(_inside(instance, v, asked)))
    inside = [instance.a, *(() if v is None else (v,))]
    budget = budget or Budget()
    unknown: list[Witness] = []
    if knowledge.open_ends and instance.cells >= LARGE:
        # The gate asks more than most levels do, of the public alone: what fails it need not be judged against everybody.
        part = budget.part(None if budget.left is None else GATE_SHARE * budget.left)
        given, unknown = kept_unknown(instance, publication, (), part, known)
        if len(given):
            told = told_of(instance, publication, given)
            found = Evidence(requirements, missing=told, unsettled=len(told), cells=tuple(given.tolist()))
            return replace(found, tables=(*unknown, *known))
        inside += [instance.a + one.shift for one in unknown if one.denominator == 1]
    lo, hi = np.maximum(instance.lower, knowledge.lo), np.minimum(instance.upper, knowledge.hi)
    inside += [
        instance.a + shift for shift in mended(known, instance.relations.leaf_form, lo - instance.a, hi - instance.a)
    ]
    if len(instance.attackers) > FEW:
        found = _of_a_crowd(instance, Crowd(instance, knowledge, budget), asked, inside, known)
        return replace(found, tables=(*unknown, *found.tables))
    regions = Region.of_each(
        instance.relations, instance.lower, instance.upper, knowledge, instance.attackers, instance.a
    )
    questions = [Question(region, levels=levels) for region, levels in zip(regions, asked, strict=True)]
    large = instance.cells >= LARGE
    ends = settle(questions, instance.labels, inside, budget, known=known, until_missed=large)
    missing = [each for k, one in enumerate(ends) for each in _unmet(instance, k, one)]
    if large and any(settled for _, settled, _ in missing):
        missing = [each for each in missing if each[1]]
    if missing:
        sentences, settled, cells = zip(*missing, strict=True)
        return Evidence(requirements, missing=sentences, unsettled=settled.count(False), cells=cells)
    pool = _pool(ends)
    return Evidence(
        requirements, tuple(_choose(asked, pool, np.stack(list(_usable(ends, pool)), axis=1))), tables=tuple(unknown)
    )


def _of_a_crowd(
    instance: Instance, crowd: Crowd, asked: Sequence[Levels], inside: Sequence[Ints], known: Sequence[Witness]
) -> Evidence:
    """The same for many attackers, of whom those who know the same are one."""
    requirements = sum(map(len, asked))
    large = instance.cells >= LARGE
    crowd.judge(inside, known, until_missed=large)
    if not crowd.met.all():
        proven = {
            (g, each[2]): each
            for g, ends in crowd.alone.items()
            for each in _unmet(instance, crowd.groups[g].members[0], ends, proven=True)
        }
        missing = [*proven.values()]
        if not (large and proven):
            missing += _not_settled(instance, crowd, proven)
        sentences, settled, where = zip(*missing, strict=True)
        lost = settled.count(False)
        return Evidence(requirements, missing=sentences, unsettled=lost, cells=where, tables=tuple(crowd.pool))
    chosen = _choose([group.levels for group in crowd.groups], crowd.pool, np.stack(crowd.usable))
    return Evidence(requirements, tuple(_of_each(chosen, crowd.groups, asked, instance.cells)))


def _of_each(
    chosen: Sequence[CoveringWitness], groups: Sequence[Alike], asked: Sequence[Levels], cells: int
) -> Iterator[CoveringWitness]:
    """Witnesses that cover levels of attackers alike, as covering those of each of them."""
    covers = [(w, g, at) for w, one in enumerate(chosen) for g, at in one.covers]
    witness = np.repeat([w for w, _, _ in covers], [len(at) for _, _, at in covers])
    key = np.concatenate([g * cells + at for _, g, at in covers])
    order = np.lexsort((witness, key))
    key, witness = key[order], witness[order]
    members = [(g, k) for g, one in enumerate(groups) for k in one.members]
    many = [len(asked[k]) for _, k in members]
    who = np.repeat([k for _, k in members], many)
    wanted = np.concatenate([g * cells + asked[k].cell for g, k in members])
    first, last = np.searchsorted(key, wanted, "left"), np.searchsorted(key, wanted, "right")
    by, who, at = witness[ranges(first, last)], np.repeat(who, last - first), np.repeat(wanted % cells, last - first)
    order = np.lexsort((at, who, by))
    by, who, at = by[order], who[order], at[order]
    for w, one in enumerate(chosen):
        mine = slice(*np.searchsorted(by, [w, w + 1]).tolist())
        begin = np.flatnonzero(np.diff(who[mine], prepend=-1))
        parts = np.split(at[mine], begin[1:])
        yield CoveringWitness(one.witness, tuple(zip(who[mine][begin].tolist(), parts, strict=True)))


def _not_settled(
    instance: Instance, crowd: Crowd, proven: Container[tuple[int, int]]
) -> Iterator[tuple[str, bool, int]]:
    """Levels of a crowd that no table found shows, of those looked at by all means if there are such, but for those that are proven to fail."""
    short, said = crowd.short, 0
    for at in np.flatnonzero(short if short.any() else ~crowd.met).tolist():
        i, group = int(crowd.cell[at]), int(crowd.of[at])
        if (group, i) in proven:
            continue
        said += 1
        if said > MOST_SAID:
            yield NOT_SETTLED, False, i
            continue
        who = crowd.groups[group].members[0]
        lpl, upl, spl = (exact.short(int(x[at]), instance.decimals) for x in (crowd.lpl, crowd.upl, crowd.spl))
        down, up = (exact.short(int(x[at]), instance.decimals) for x in (-crowd.down, crowd.up))
        yield (
            f"{instance.labels.name(i)}: attacker {instance.attackers[who].name} is shown tables {down} below its value and {up} above, where "
            f"{lpl} below, {upl} above and a width of {spl} are asked (not settled in time)",
            False,
            i,
        )


def _inside(instance: Instance, v: Ints, asked: Sequence[Levels]) -> list[str]:
    """Cells whose published value lies strictly within its levels (an adjustment without a published deviation)."""
    out = []
    for attacker, levels in zip(instance.attackers, asked, strict=True):
        move = v[levels.cell] - instance.a[levels.cell]
        for k in np.flatnonzero(~far_enough(move, levels)).tolist():
            name = instance.labels.name(int(levels.cell[k]))
            out.append(f"{name} is published within its levels (attacker {attacker.name})")
    return out


def far_enough(move: Ints, levels: Levels) -> Bools:
    """Which values are moved far enough where no intervals can be worked out: by the width asked, and by a level to a side that asks for one."""
    either = (levels.upl == 0) & (levels.lpl == 0)
    side = ((move >= levels.upl) & (levels.upl > 0)) | ((-move >= levels.lpl) & (levels.lpl > 0))
    return np.asarray((side | either) & (np.abs(move) >= levels.spl))


def _unmet(instance: Instance, k: int, ends: Ends, *, proven: bool = False) -> list[tuple[str, bool, int]]:
    """The requirements of one attacker that no table found meets, in words, whether that is settled, and the cell; ``proven``: those settled only."""
    out = []
    assert ends.levels is not None
    cell, (open_low, open_high) = ends.levels.cell, ends.open
    beyond = (ends.outer[LOW][cell] > ends.level[LOW]) | (ends.outer[HIGH][cell] < ends.level[HIGH])
    known = beyond | ~(open_low[cell] | open_high[cell])
    for j in np.flatnonzero(~_met(ends) & (known | (not proven))).tolist():
        i, settled = int(cell[j]), bool(known[j])
        a, low, high = int(instance.a[i]), ends.end(i, LOW), ends.end(i, HIGH)
        room = (None if low is None else a - low, None if high is None else high - a)
        shown = [
            "…"
            if left is None
            else exact.short(int(left), instance.decimals)
            if left == int(left)
            else f"{float(left) / 10**instance.decimals:g}"
            for left in room
        ]
        levels = [
            exact.short(int(x[j]), instance.decimals) for x in (ends.levels.lpl, ends.levels.upl, ends.levels.spl)
        ]
        sentence = (
            f"{instance.labels.name(i)}: attacker {instance.attackers[k].name} comes as near as {shown[0]} below its value and {shown[1]} "
            f"above, where {levels[0]} below, {levels[1]} above and a width of {levels[2]} are asked"
        )
        out.append((sentence if settled else f"{sentence} (not settled in time)", settled, i))
    return out


def _met(ends: Ends) -> Bools:
    """Levels that the witnesses meet, widths between fractions included."""
    assert ends.levels is not None
    met = ends.met.copy()
    if all(witness.denominator == 1 for witness in ends.witnesses):
        return met
    for j in np.flatnonzero(~met).tolist():
        low, high, _, _ = _extremes(ends.witnesses, int(ends.levels.cell[j]))
        lpl, upl, spl = (int(x[j]) for x in (ends.levels.lpl, ends.levels.upl, ends.levels.spl))
        met[j] = low <= -lpl and high >= upl and high - low >= spl
    return met


def _extremes(witnesses: Sequence[Witness], i: int) -> tuple[Fraction, Fraction, int, int]:
    """Least and largest shift of one cell over the witnesses, and which have them (−1: the true table)."""
    low, high, at_low, at_high = Fraction(0), Fraction(0), -1, -1
    for w, witness in enumerate(witnesses):
        shift = Fraction(int(witness.shift[i]), witness.denominator)
        if shift < low:
            low, at_low = shift, w
        if shift > high:
            high, at_high = shift, w
    return low, high, at_low, at_high


def _pool(ends: Sequence[Ends]) -> list[Witness]:
    """The tables found, each once."""
    pool: list[Witness] = []
    seen: set[bytes] = set()
    for one in ends:
        for witness in one.witnesses:
            if witness.mark not in seen:
                seen.add(witness.mark)
                pool.append(witness)
    return pool


def _choose(asked: Sequence[Levels], pool: list[Witness], usable: Bools) -> list[CoveringWitness]:
    """Few witnesses that together show everything: the one that shows most of what is left, again and again; ``usable``: (witness, attacker)."""
    shows = _Shows(asked, pool, usable)
    chosen: list[CoveringWitness] = []
    while shows.left:
        best, shown = shows.best()
        if best < 0:
            raise VerificationError("levels called met are not shown by the tables found; nothing is released")
        chosen.append(CoveringWitness(pool[best], tuple(shows.take(shown))))
    return chosen


def _usable(ends: Sequence[Ends], pool: Sequence[Witness]) -> Iterator[Bools]:
    """For each attacker, which witnesses lie in its region.

    All regions have the same equations and center. A witness is tested against the equations and the widest bounds once, and for each attacker then
    only in the cells where it knows more.
    """
    regions = [one.region for one in ends]
    lo, hi = (np.minimum.reduce([r.lo for r in regions]), np.maximum.reduce([r.hi for r in regions]))
    widest = Region(regions[0].relations, lo, hi, False, regions[0].center)
    inside = np.array([widest.contains_shift(w.shift, w.denominator) for w in pool], bool)
    whole = np.array([w.denominator == 1 for w in pool], bool)
    for region in regions:
        more = np.flatnonzero((region.lo != lo) | (region.hi != hi))
        usable = inside & whole
        if len(more) and usable.any():
            y = region.center[more] + np.stack([pool[w].shift[more] for w in np.flatnonzero(usable).tolist()])
            usable[usable] = np.all((y >= region.lo[more]) & (y <= region.hi[more]), axis=1)
        for w in np.flatnonzero(inside & ~whole).tolist():
            usable[w] = region.contains_shift(pool[w].shift, pool[w].denominator)
        yield usable


class _Shows:
    """Which witness shows which requirement: the low end of a level of each attacker, then the high ends, as long as none shows them.

    Thousands of attackers with a million ends are usual, and a hundred witnesses. How many of what is left a witness shows can only fall: at first it
    is taken for what it could show to everybody, and counted only when it comes first.
    """

    def __init__(self, asked: Sequence[Levels], pool: Sequence[Witness], usable: Bools) -> None:
        many = [len(levels) for levels in asked]
        whose = np.repeat(np.arange(len(many)), many)
        levels = _Row(*(np.concatenate([getattr(one, name) for one in asked]) for name in _Row._fields))
        wide = levels.spl > levels.lpl + levels.upl
        farthest = _farthest(levels.take(wide), pool, usable[:, whose[wide]])
        # Where no table goes beyond the true one to a side, that one does.
        todo, only = np.stack((levels.lpl > 0, levels.upl > 0)), np.full((2, len(whose)), -1, np.int64)
        todo[:, wide], only[:, wide] = farthest >= 0, farthest
        need = np.where(wide, 0, np.stack((levels.lpl, levels.upl)))
        side, level = np.nonzero(todo)
        self._pool, self._usable = pool, usable
        self._ends = _Ends(
            level, whose[level], levels.cell[level], np.where(side == LOW, -1, 1), need[side, level], only[side, level]
        )
        gain = self._at_most()
        self._first = [(-most, w) for w, most in enumerate(gain)]
        heapify(self._first)

    @property
    def left(self) -> bool:
        """Whether a requirement is still without a witness."""
        return bool(len(self._ends.level))

    def best(self) -> tuple[int, Bools]:
        """The witness that shows most of what is left, and what that is; −1 where none shows anything."""
        while self._first:
            _, w = heappop(self._first)
            shown = self._shown(w)
            now = (-int(shown.sum()), w)
            if not now[0]:
                continue
            if not self._first or now <= self._first[0]:
                return w, shown
            heappush(self._first, now)
        return -1, np.zeros(0, bool)

    def take(self, shown: Bools) -> list[tuple[int, Ints]]:
        """Use a witness: by attacker, the cells whose levels it helps to meet and no earlier one did."""
        level, at = np.unique(self._ends.level[shown], return_index=True)
        whose, cell = self._ends.whose[shown][at], self._ends.cell[shown][at]
        self._ends = self._ends.take(~shown)
        first = np.flatnonzero(np.diff(whose, prepend=-1)).tolist()
        return [(int(whose[i]), cell[i:j]) for i, j in pairwise([*first, len(level)])]

    def _shown(self, w: int) -> Bools:
        """Of the ends that are left, those that a witness shows."""
        ends, one = self._ends, self._pool[w]
        reaches = ends.sign * one.shift[ends.cell] >= ends.need * one.denominator
        return np.asarray(reaches & self._usable[w, ends.whose] & ((ends.only < 0) | (ends.only == w)))

    def _at_most(self) -> list[int]:
        """For each witness, how many ends it could show if it fitted everybody."""
        ends = self._ends
        cells, place = np.unique(2 * ends.cell + (ends.sign > 0), return_inverse=True)
        many, least = np.bincount(place, minlength=len(cells)), np.full(len(cells), np.iinfo(np.int64).max)
        np.minimum.at(least, place, ends.need)
        cell, sign = cells // 2, np.where(cells % 2, 1, -1)
        return [int(many[sign * one.shift[cell] >= least * one.denominator].sum()) for one in self._pool]


class _Ends(NamedTuple):
    """Ends of levels in a row: of which level, of which attacker, of which cell, to which side, how far; and which witness alone shows it, or −1."""

    level: Ints
    whose: Ints
    cell: Ints
    sign: Ints
    need: Ints
    only: Ints

    def take(self, some: Bools) -> _Ends:
        """Some of them."""
        return _Ends(*(part[some] for part in self))


class _Row(NamedTuple):
    """Levels of several attackers in a row."""

    cell: Ints
    lpl: Ints
    upl: Ints
    spl: Ints

    def take(self, some: Bools) -> _Row:
        """Some of them."""
        return _Row(*(part[some] for part in self))


def _farthest(levels: _Row, pool: Sequence[Witness], usable: Bools) -> Ints:
    """(side, level): of the witnesses usable for each level the one that goes farthest, exactly; −1 where none goes beyond the true value."""
    kind: Any = np.int64 if all(one.denominator == 1 for one in pool) else object
    who = np.full((2, len(levels.cell)), -1, np.int64)
    best, over = np.zeros((2, len(levels.cell)), kind), np.ones((2, len(levels.cell)), kind)
    for w, one in enumerate(pool if len(levels.cell) else ()):
        shift = one.shift[levels.cell].astype(kind)
        for side, sign in ((LOW, -1), (HIGH, 1)):
            further = usable[w] & (sign * shift * over[side] > sign * best[side] * one.denominator).astype(bool)
            who[side][further], best[side][further], over[side][further] = w, shift[further], one.denominator
    return who
