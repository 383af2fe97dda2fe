"""Crowd: thousands of attackers who know a little more than the public each, judged together.

A table that lies within what *all* of some attackers know shows levels against every one of them. So the public is judged first; then all others at
once, as if they had put their heads together; then random quarters of those of whom something is still open, and so on, down to single ones.
Every table found is shown to everybody, whose own few cells it must fit. Attackers who know the same are one (alike.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from cellward.audit.ends import Ends, Witness
from cellward.audit.propagation import Propagation
from cellward.audit.region import Region
from cellward.audit.settle import Means, Question, settle
from cellward.exact import Bools, Ints
from cellward.instance import Instance
from cellward.publication.knowledge import Knowledge
from cellward.risk.alike import alike, union
from cellward.solve.budget import Budget
from cellward.table.levels import Levels

FIRST_SHARE, SHARE = 0.85, 0.2
"""The part of the time left for the public, and for each set of others."""
GAIN = 0.2
"""A set that shows less than this part of what is open is followed by smaller ones."""
PATIENCE = 3
"""Sets of one size that may bring little, one after the other."""


class Crowd:
    """Attackers alike, their own cells and their levels in a row, and how far the tables found move these."""

    def __init__(self, instance: Instance, knowledge: Knowledge, budget: Budget) -> None:
        self.instance, self.knowledge, self.budget = instance, knowledge, budget
        lo, hi = np.maximum(instance.lower, knowledge.lo), np.minimum(instance.upper, knowledge.hi)
        self.public = Propagation(instance.relations, lo, hi)
        self.groups = alike(instance.attackers, instance.sensitivity.levels, lo, hi, whole=knowledge.whole)
        self.groups = [one for one in self.groups if len(one.levels)]
        self.own = _row([one.cell for one in self.groups])
        # Own bounds as moves from the true table; those of other names are values.
        self.low = _row([one.lower for one in self.groups]) - instance.a[self.own]
        self.high = _row([one.upper for one in self.groups]) - instance.a[self.own]
        self.whose = _whose([len(one.cell) for one in self.groups])
        self.cell, self.lpl, self.upl, self.spl = (
            _row([getattr(one.levels, name) for one in self.groups]) for name in ("cell", "lpl", "upl", "spl")
        )
        self.of = _whose([len(one.levels) for one in self.groups])
        self.down, self.up = np.zeros_like(self.cell), np.zeros_like(self.cell)
        self.pool: list[Witness] = []
        self.usable: list[Bools] = []
        """Of each table found, which attackers it fits."""
        self.seen: set[bytes] = set()
        self.alone: dict[int, Ends] = {}
        self.rng = np.random.default_rng(budget.seed)

    def judge(self, inside: Sequence[Ints], known: Sequence[Witness] = (), *, until_missed: bool) -> None:
        """Show as much as can be shown; ``until_missed``: nothing more is looked for once a level of the public, or of one attacker, is not shown by
        all means, or proven not to be met; ``known``: tables to be tried first."""
        a = self.instance.a
        told = Region(self.instance.relations, self.public.lo, self.public.hi, self.knowledge.whole, a)
        for y in inside:
            if told.contains(y):
                self._see(Witness(y - a))
        for witness in known:
            if told.contains_shift(witness.shift, witness.denominator):
                self._see(witness)
        if told.contains(a):  # to begin with; the others have shown what they show
            inside = (a,)
        public = np.array([not len(one.cell) for one in self.groups], bool) & self._open
        if public.any():
            self._try(np.flatnonzero(public), FIRST_SHARE, inside, quick=False, until_missed=until_missed)
        size, little = len(self.groups), 0
        while (open_ := self._open).any() and not self.budget.over and not (until_missed and self.short.any()):
            left = np.flatnonzero(open_ & ~np.isin(np.arange(len(self.groups)), list(self.alone)))
            if not len(left):
                break
            size = min(size, len(left))
            before = int((~self.met).sum())
            chosen = self.rng.permutation(left)[:size]
            self._try(chosen, SHARE, inside, quick=size > 1, until_missed=until_missed and size == 1)
            few = before - int((~self.met).sum()) < GAIN * before
            little = little + 1 if few else 0
            if size > 1 and little >= (1 if size == len(left) else PATIENCE):
                size, little = max(size // 4, 1), 0

    @property
    def met(self) -> Bools:
        """Levels that the tables found meet."""
        return np.asarray((self.down <= -self.lpl) & (self.up >= self.upl) & (self.up - self.down >= self.spl))

    @property
    def _open(self) -> Bools:
        """Which attackers have levels that are not shown yet."""
        return np.bincount(self.of[~self.met], minlength=len(self.groups)) > 0

    @property
    def short(self) -> Bools:
        """Levels that no table found meets, of the public or of attackers who were looked at by all means alone."""
        return np.asarray(~self.met & np.isin(self.of, list(self.alone)))

    def _try(self, chosen: Ints, share: float, inside: Sequence[Ints], *, quick: bool, until_missed: bool) -> None:
        """Tables that lie within what all of these know, towards what is still open of them; by all means where it is one or the public.

        What several know together may rule out what none of them does: ``until_missed`` is for one alone.
        """
        mine = np.isin(self.whose, chosen)
        lo, hi = self.public.lo.copy(), self.public.hi.copy()
        own = self.own[mine]
        np.maximum.at(lo, own, self.instance.a[own] + self.low[mine])
        np.minimum.at(hi, own, self.instance.a[own] + self.high[mine])
        whole = any(self.groups[g].whole for g in chosen.tolist())
        region = Region(self.instance.relations, lo, hi, whole, self.instance.a, None, self.public)
        todo = np.isin(self.of, chosen) & ~self.met
        levels = union([Levels(self.cell[k], self.lpl[k], self.upl[k], self.spl[k]) for k in _runs(self.of, todo)])
        left = self.budget.left
        part = self.budget.part(None if left is None else share * left)
        (ends,) = settle(
            [Question(region, levels=levels)],
            self.instance.labels,
            inside,
            part,
            only_swaps=quick,
            until_missed=until_missed,
            means=self._quick if quick else self._means,
        )
        for witness in ends.witnesses:
            self._see(witness)
        if not quick and len(chosen) == 1:
            self.alone[int(chosen[0])] = ends

    @cached_property
    def _means(self) -> Means:
        """Of the public, before whom most can be moved."""
        none = Levels(*(np.zeros(0, np.int64) for _ in range(4)))
        told = Region(self.instance.relations, self.public.lo, self.public.hi, self.knowledge.whole, self.instance.a)
        return Means.of([Question(told, levels=none)], self.instance.labels)

    @cached_property
    def _quick(self) -> Means:
        """Moved leaves alone, where there are any: swaps take longer, and what they would add is left to smaller sets."""
        return self._means if self._means.leaves is None else replace(self._means, swaps=None)

    def _see(self, witness: Witness) -> None:
        """Show a table to everybody whose own cells it fits; one with fractions to those who do not know values to be whole."""
        if witness.mark in self.seen:
            return
        self.seen.add(witness.mark)
        self.pool.append(witness)
        y, d = witness.shift[self.own], witness.denominator
        fits = (y // d >= self.low) & (-(-y // d) <= self.high)
        usable = np.bincount(self.whose[~fits], minlength=len(self.groups)) == 0
        if d > 1:
            usable &= ~np.array([one.whole for one in self.groups], bool)
        self.usable.append(usable)
        move = np.where(usable[self.of], witness.shift[self.cell], 0)
        np.minimum(self.down, -(-move // d), out=self.down)  # rounded inwards
        np.maximum(self.up, move // d, out=self.up)


def _row(many: Sequence[Ints]) -> Ints:
    return np.concatenate(many) if many else np.zeros(0, np.int64)


def _whose(sizes: Sequence[int]) -> Ints:
    return np.repeat(np.arange(len(sizes)), sizes)


def _runs(of: Ints, chosen: Bools) -> list[Ints]:
    """The places that are chosen, those of one owner together."""
    at = np.flatnonzero(chosen)
    cuts = np.flatnonzero(np.diff(of[at])) + 1
    return np.split(at, cuts)
