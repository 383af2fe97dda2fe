"""Measured: one measure of a dataset: its shadow, what is published of it, and how a table is answered and judged with all before it.

The *shadow* is one value for every atom, none below zero, of which every published value is a sum. So all answers add up with each other for ever,
and the shadow is a file that agrees with all of them. Before a table is published, the shadow is moved to where it may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellward.exact import Bools, Ints
from cellward.server.vault.said import RefusedError
from cellward.server.vault.twin.build import JITTER, LEAST, NEAR, SPREAD
from cellward.server.vault.twostage.adjust import moves
from cellward.server.vault.twostage.beginning import begun, rests_of
from cellward.server.vault.twostage.cells import Cells
from cellward.server.vault.twostage.first_stage import FirstStage
from cellward.server.vault.twostage.layout import Layout
from cellward.server.vault.twostage.published import Published
from cellward.server.vault.twostage.question import Away, Question
from cellward.server.vault.twostage.sets import Sets, distinct_sets, joined_sets, pairs_of, rows_over

MOST_MOVED = ((1_500, 2.0), (5_000, 3.0))
"""Atoms that one table may move, and seconds: so many at first, and so many where that is not enough."""
NEARER_S = 0.5
"""Seconds for a table that may be published as the shadow stands: its safe cells are brought nearer to their true values, if it is done so soon."""


@dataclass(frozen=True, eq=False)
class Answered:
    """The values of a table's cells, by how much which atoms were moved for it, and what keeps it or takes it back."""

    value: Ints
    moved: Ints
    by: Ints
    keep: Callable[[], None]
    back: Callable[[], None]


class Measured:
    """One measure; ``shadow`` is its value by atom, ``lattice`` every set at risk that is watched whatever is asked."""

    def __init__(self, stage: FirstStage, lattice: Sets, value: Ints, true: Ints) -> None:
        """From the cells of the lattice, the values of a twin and the true ones."""
        self._stage, self._atoms = stage, stage.atoms
        watched = lattice.at_risk()
        rests = stage.thin(*rests_of(stage.records, stage.atoms)).at_risk()
        self.shadow = begun(value, true, watched, rests, int.from_bytes(stage.key[:4], "big") >> 1)
        met = np.flatnonzero(~rests.near(rests.off(self.shadow)))
        self.lattice = joined_sets(watched, rests.take(met)).at_risk()
        self.published = Published(stage.atoms.boxes)
        self.seen: set[int] = set()

    def taken(self, layout: Layout, moved: Ints, by: Ints) -> None:
        """Note a table that was published before this process began, and by how much the shadow was moved for it."""
        cells = Cells.of(layout, self._atoms, self.seen)
        self.shadow[moved] += by
        self.published.take(self._leaves(layout))
        self._keep(cells, *self._stage.facts(cells))

    def answer(self, cells: Cells, known: Mapping[int, int]) -> Answered:
        """A table of which these cells were published with these values, or a refusal; all is as before until the answer is kept."""
        boxes, units = self._stage.facts(cells)
        sets, published = self._sets(cells, boxes, units), self.published
        settled = published.known(sets.sums)
        if (settled & sets.near(sets.off(self.shadow))).any():
            raise refused()
        fixed, signature = published.fixed, published.signature
        back = published.take(self._leaves(cells.layout))
        try:
            by = self._moves(cells.layout, sets, settled, fixed, signature)
            shadow = self.shadow + by
            value = np.zeros(cells.layout.cells, np.int64)
            np.add.at(value, cells.cell, shadow[cells.atom])
            if any(known.get(one, own) != own for one, own in zip(cells.identity, value.tolist(), strict=True)):
                raise refused()
        except BaseException:
            back()
            raise
        moved = np.flatnonzero(by)

        def keep() -> None:
            self.shadow = shadow
            self._keep(cells, boxes, units)

        return Answered(value, moved, by[moved], keep, back)

    def _sets(self, cells: Cells, boxes: Any, units: Ints) -> Sets:
        """The cells never published, and differences of few respondents between published ones, as the rules judge them."""
        found = self.published.differences(boxes, units, self._stage.fewest)
        if found is None:
            raise refused()
        names = self._atoms.identities(*pairs_of(found))
        every = dict(zip(names, found, strict=True))
        thin = [own for name, own in every.items() if name and name not in self.seen and name not in cells.names]
        return joined_sets(self._stage.judged(*cells.new_pairs()), self._stage.thin(*pairs_of(thin)))

    def _moves(self, layout: Layout, sets: Sets, settled: Bools, fixed: Any, signature: Any) -> Ints:
        """Moves of all atoms with which the table may be published: few atoms are moved, then more; none, where the shadow allows it as it stands."""
        none = np.zeros(self._atoms.many, np.int64)
        stands = self._allowed(none, sets, fixed)
        for most, seconds in () if settled.all() else MOST_MOVED[: 1 if stands else None]:
            movable = self._movable(layout, signature, sets, most)
            question = self._question(sets.take(np.flatnonzero(~settled)), movable, fixed)
            found = moves(question, NEARER_S if stands else seconds)
            if found is not None:
                by = none.copy()
                by[movable] = found
                if self._allowed(by, sets, fixed):
                    return by
        if not stands:
            raise refused()
        return none

    def _allowed(self, by: Ints, sets: Sets, fixed: Any) -> bool:
        """Whether published values stay, nothing falls below zero, and every set at risk, of the table and of the lattice, is off by its level.

        So every set of them that published cells determine, by whatever linear combination, is off by its level, and what they leave of any other
        reaches as far: the shadow is a file with which all of them agree.
        """
        shadow = self.shadow + by
        if (fixed @ by).any() or (shadow < np.minimum(self.shadow, 0)).any():
            return False
        return not any(own.near(own.off(shadow)).any() for own in (sets, self.lattice))

    def _movable(self, layout: Layout, signature: Any, sets: Sets, most: int) -> Ints:
        """So many atoms: those of sets that are too near first, then one of every class that neither what is published nor the table tells apart,
        that with most to spare, then the others."""
        leaf = np.full(self._atoms.many, -1, np.int64)
        leaf[layout.atom] = layout.leaf
        order = np.lexsort((-self.shadow, leaf, signature))
        again = np.zeros(len(order), bool)
        again[1:] = (np.diff(leaf[order]) == 0) & (np.diff(signature[order]) == 0)
        rank = np.zeros(len(order), np.int64)
        rank[order] = 2 * again + (leaf[order] < 0)
        rank[sets.sums[np.flatnonzero(sets.near(sets.off(self.shadow)))].indices] = -1
        return np.sort(np.lexsort((-self.shadow, rank))[:most])

    def _question(self, sets: Sets, movable: Ints, fixed: Any) -> Question:
        """The second stage for these sets, where these atoms may move."""
        side, part = self._stage.drawn(sets.sums)
        cells = _away(sets, self.shadow, movable, side)
        up, down = (np.ceil(own * (1 + JITTER * part)).astype(np.int64) for own in (sets.up, sets.down))
        cells = replace(cells, up_far=up, down_far=np.minimum(down, np.maximum(sets.value, sets.down)))
        touched = np.flatnonzero(np.diff(self.lattice.sums[:, movable].indptr))
        lattice = self.lattice.take(touched)
        much = NEAR * np.abs(sets.value) * np.maximum(sets.rows, 1.0) ** -SPREAD
        return Question(
            self.shadow[movable], cells, np.maximum(much, LEAST), _away(lattice, self.shadow, movable, np.ones(len(touched), np.int64)),
            distinct_sets(fixed[:, movable]),
        )  # fmt: skip

    def _leaves(self, layout: Layout) -> list[Ints]:
        """The leaves of a table that are no combination of published cells, the smallest first."""
        if not len(layout.leaf):
            return []
        order = np.argsort(layout.leaf, kind="stable")
        every = np.split(layout.atom[order], np.flatnonzero(np.diff(layout.leaf[order])) + 1)
        known = self.published.known(rows_over(*pairs_of(every), self._atoms.many))
        return sorted((own for own, told in zip(every, known, strict=True) if not told), key=len)

    def _keep(self, cells: Cells, boxes: Any, units: Ints) -> None:
        self.published.keep(boxes, units)
        self.seen |= {cells.identity[k] for k in cells.fresh.tolist()}


def refused() -> RefusedError:
    """The one refusal of this engine, whatever the reason: it tells nothing of the values."""
    return RefusedError(
        "protected",
        "the table cannot be published beside those that were, since together they could give respondents away",
        "take broader levels, fewer dimensions or other conditions",
    )


def _away(sets: Sets, shadow: Ints, movable: Ints, side: Ints) -> Away:
    """Sets that are far enough away stay on their side, others go to this one."""
    off, up, down = sets.off(shadow), sets.up, sets.down
    kept = np.where((up > 0) & (off >= up), 1, np.where((up > 0) & (off <= -down), -1, side))
    return Away(sets.sums[:, movable], off, kept, up, down, up, down)
