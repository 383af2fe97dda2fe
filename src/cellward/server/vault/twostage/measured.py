"""Measured: one measure of a dataset: its fictive values by atom, what is published of it, and how a table is answered and judged with all before it.

The *shadow* is one value for every atom, none below zero, of which every published value is a sum: so all answers add up with each other for ever, and
it is a file of records that nobody can tell from the true one. Publishing a table moves it, first, to where the table may be published.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from cellward.exact import Bools, Floats, Ints
from cellward.risk.rule import Rule
from cellward.server.vault.records import Records
from cellward.server.vault.said import RefusedError
from cellward.server.vault.twin.build import JITTER, LEAST, NEAR, SPREAD
from cellward.server.vault.twostage.adjust import moves
from cellward.server.vault.twostage.atoms import Atoms
from cellward.server.vault.twostage.beginning import begun, rests_of
from cellward.server.vault.twostage.judged import fewest_units, judged
from cellward.server.vault.twostage.layout import Layout
from cellward.server.vault.twostage.published import Published
from cellward.server.vault.twostage.question import Away, Question
from cellward.server.vault.twostage.sets import Sets, rows_over, same_sets

MOST_MOVED = (1_500, 15_000)
"""Atoms that one table may move: so many at first, and so many where that is not enough."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table: pairs of cell and atom, identities (0: no records), and which were never published, each set of records once."""

    layout: Layout
    cell: Ints
    atom: Ints
    leaves: Ints
    identity: list[int]
    fresh: Ints

    @staticmethod
    def of(layout: Layout, atoms: Atoms, seen: Mapping[int, int] | set[int]) -> Cells:
        """The cells of a layout, where those of these identities were published."""
        cell, atom, leaves = layout.pairs()
        identity = atoms.identities(cell, atom, layout.cells)
        first = {one: k for k, one in reversed(list(enumerate(identity))) if one and one not in seen}
        return Cells(layout, cell, atom, leaves, identity, np.array(sorted(first.values()), np.int64))

    def new_pairs(self) -> tuple[Ints, Ints]:
        """The cells never published, numbered, with every atom of each, cell by cell."""
        number = np.full(self.layout.cells, -1, np.int64)
        number[self.fresh] = np.arange(len(self.fresh))
        own = np.flatnonzero(number[self.cell] >= 0)
        own = own[np.argsort(number[self.cell[own]], kind="stable")]
        return number[self.cell[own]], self.atom[own]


@dataclass(frozen=True, eq=False)
class Answered:
    """The values of a table's cells, by which atoms were moved for it, and what keeps it or takes it back."""

    value: Ints
    moved: Ints
    by: Ints
    keep: Callable[[], None]
    back: Callable[[], None]


class Measured:
    """One measure; ``shadow`` is its value by atom."""

    def __init__(
        self, records: Records, database: Any, atoms: Atoms, key: bytes, measure: int | None, rules: tuple[Rule, ...], lattice: Sets
    ) -> None:
        self._records, self._database, self._atoms, self._measure, self._rules = records, database, atoms, measure, rules
        self._key = hmac.digest(key, f"sides of measure {measure}".encode(), "sha256")
        self._lattice = lattice.at_risk()
        self.shadow = np.zeros(atoms.many, np.int64)
        self.published = Published(atoms.boxes)
        self.seen: set[int] = set()

    def begin(self, value: Ints, true: Ints) -> None:
        """Begin with the values of a twin."""
        rests = self._thin(*rests_of(self._records, self._atoms)).at_risk()
        self.shadow = begun(value, true, self._lattice, rests, int.from_bytes(self._key[:4], "big") >> 1)
        self._lattice = _joined(self._lattice, rests.take(np.flatnonzero(~rests.near(rests.off(self.shadow))))).at_risk()

    def beforehand(self, layout: Layout) -> None:
        """Take the values of a table as they stand for published."""
        self.taken(layout, np.zeros(0, np.int64), np.zeros(0, np.int64))

    def taken(self, layout: Layout, moved: Ints, by: Ints) -> None:
        """What was published before this process began: its cells, and how the shadow was moved for it."""
        cells = Cells.of(layout, self._atoms, self.seen)
        self.shadow[moved] += by
        self.published.take(self._leaves(cells))
        self._keep(cells, *self._facts(cells))

    def answer(self, cells: Cells, known: Mapping[int, int]) -> Answered:
        """A table of which these cells were published with these values, or a refusal; the shadow is as before until the answer is kept."""
        boxes, units = self._facts(cells)
        sets = self._sets(cells, boxes, units)
        published = self.published
        settled = published.known(sets.sums)
        if (settled & sets.near(sets.off(self.shadow))).any():
            raise refused()
        fixed, signature = published.fixed, published.signature
        back = published.take(self._leaves(cells))
        try:
            by = self._moves(cells, sets, settled, fixed, signature)
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

    def _moves(self, cells: Cells, sets: Sets, settled: Bools, fixed: Any, signature: Any) -> Ints:
        """Moves of all atoms with which the table may be published: few atoms are moved, then more; none, where the shadow allows it as it stands."""
        none = np.zeros(self._atoms.many, np.int64)
        for most in () if settled.all() else MOST_MOVED:
            movable = self._movable(cells.layout, signature, sets, most)
            found = moves(self._question(sets, np.flatnonzero(~settled), movable, fixed))
            if found is not None:
                by = none.copy()
                by[movable] = found
                if self._allowed(by, sets, fixed):
                    return by
            if self._allowed(none, sets, fixed):
                return none
        if not self._allowed(none, sets, fixed):
            raise refused()
        return none

    def _allowed(self, by: Ints, sets: Sets, fixed: Any) -> bool:
        """Whether published values stay, nothing falls below zero, and every set at risk, of the table and of the lattice, is off by its level.

        So every set that published cells determine, by whatever linear combination, is off by its level, and what they leave of any other reaches to
        a value that is: the shadow is a file with which all of them agree.
        """
        shadow = self.shadow + by
        if (fixed @ by).any() or (shadow < np.minimum(self.shadow, 0)).any():
            return False
        return not any(own.near(own.off(shadow)).any() for own in (sets, self._lattice))

    def _movable(self, layout: Layout, signature: Any, sets: Sets, most: int) -> Ints:
        """Atoms of sets that are too near, then one of every class that neither what is published nor the table tells apart, that with most to spare,
        those below the table first, then others: so many."""
        leaf = np.full(self._atoms.many, -1, np.int64)
        leaf[layout.atom] = layout.leaf
        order = np.lexsort((-self.shadow, leaf, signature))
        again = np.zeros(len(order), bool)
        again[1:] = (np.diff(leaf[order]) == 0) & (np.diff(signature[order]) == 0)
        rank = np.zeros(len(order), np.int64)
        rank[order] = 2 * again + (leaf[order] < 0)
        rank[sets.sums[np.flatnonzero(sets.near(sets.off(self.shadow)))].indices] = -1
        return np.sort(np.lexsort((-self.shadow, rank))[:most])

    def _question(self, sets: Sets, free: Ints, movable: Ints, fixed: Any) -> Question:
        """The second stage for the sets that are not settled."""
        every, value = sets.sums[free], sets.value[free]
        side, part = self._drawn(every)
        cells = _away(every[:, movable], sets.off(self.shadow)[free], sets.up[free], sets.down[free], side)
        cells = replace(
            cells,
            up_far=np.ceil(cells.up * (1 + JITTER * part)).astype(np.int64),
            down_far=np.minimum(np.ceil(cells.down * (1 + JITTER * part)).astype(np.int64), np.maximum(value, cells.down)),
        )
        lattice = self._lattice
        held = lattice.sums[:, movable]
        touched = np.flatnonzero(np.diff(held.indptr))
        off, up, down = lattice.off(self.shadow)[touched], lattice.up[touched], lattice.down[touched]
        much = NEAR * np.abs(value) * np.maximum(sets.rows[free], 1.0) ** -SPREAD
        return Question(
            self.shadow[movable], cells, np.maximum(much, LEAST), _away(held[touched], off, up, down, np.ones(len(off), np.int64)),
            _distinct(fixed[:, movable]),
        )  # fmt: skip

    def _drawn(self, sums: Any) -> tuple[Ints, Floats]:
        """The side of each set, and a fraction, drawn from the key by its records alone."""
        number = np.repeat(np.arange(sums.shape[0]), np.diff(sums.indptr))
        names = self._atoms.identities(number, sums.indices, sums.shape[0])
        digests = b"".join(blake2b(str(one).encode(), key=self._key, digest_size=8).digest() for one in names)
        drawn = np.frombuffer(digests, "<u8")
        return np.where(drawn & np.uint64(1), 1, -1), (drawn >> np.uint64(1)) / 2.0**63

    def _sets(self, cells: Cells, boxes: Any, units: Ints) -> Sets:
        """The cells never published, and differences of few respondents between published ones."""
        number, atom = cells.new_pairs()
        many = len(cells.fresh)
        found = self._judged(number, atom, many)
        fewest = fewest_units(self._rules)
        thin = self.published.differences(boxes, units, fewest)
        if thin is None:
            raise refused()
        return _joined(
            Sets(rows_over(number, atom, many, self._atoms.many), found.value, found.rows, found.up, found.down),
            self._thin(*_pairs(self._unseen(thin, {*cells.identity}))),
        )

    def _thin(self, number: Ints, atom: Ints, many: int) -> Sets:
        """Those of these sets that have fewer units than the rules want: at risk whatever their values, by a tenth where the rules ask for nothing."""
        few = np.flatnonzero(self._units(number, atom, many) < fewest_units(self._rules))
        kept = np.isin(number, few)
        number, atom, many = np.searchsorted(few, number[kept]), atom[kept], len(few)
        found = self._judged(number, atom, many)
        up = np.maximum(found.up, np.maximum(np.abs(found.value) // 10, 1))
        down = np.maximum(np.minimum(up, found.value), np.maximum(found.down, 1))
        return Sets(rows_over(number, atom, many, self._atoms.many), found.value, found.rows, up, down)

    def _unseen(self, sets: list[Ints], named: set[int]) -> list[Ints]:
        """Each set of records once, without those that are cells of this or an earlier table."""
        names = self._atoms.identities(*_pairs(sets))
        every = {name: own for name, own in zip(names, sets, strict=True) if name and name not in named and name not in self.seen}
        return list(every.values())

    def _judged(self, number: Ints, atom: Ints, many: int) -> Any:
        return judged(self._records, self._database, self._measure, self._rules, *self._atoms.records_of(number, atom), many)

    def _facts(self, cells: Cells) -> tuple[Any, Ints]:
        """The codes below each cell never published, as bits, and its units."""
        number, atom = cells.new_pairs()
        many = len(cells.fresh)
        begin = np.searchsorted(number, np.arange(many))
        bits = self._atoms.boxes
        boxes = np.bitwise_or.reduceat(bits[atom], begin, axis=0) if many else bits[:0]
        return boxes, self._units(number, atom, many)

    def _units(self, number: Ints, atom: Ints, many: int) -> Ints:
        """How many units each set of atoms has."""
        own, record = self._atoms.records_of(number, atom)
        units = self._records.unit
        every = int(units.max()) + 1
        return np.bincount(np.unique(own * every + units[record]) // every, minlength=many)

    def _leaves(self, cells: Cells) -> list[Ints]:
        """The leaves never published that are no combination of published cells, the smallest first."""
        order = np.argsort(cells.layout.leaf, kind="stable")
        every = np.split(cells.layout.atom[order], np.flatnonzero(np.diff(cells.layout.leaf[order])) + 1)
        number = np.repeat(np.arange(len(every)), [len(one) for one in every])
        known = self.published.known(rows_over(number, np.concatenate(every), len(every), self._atoms.many)) if len(cells.layout.leaf) else []
        return sorted((own for own, told in zip(every, known, strict=True) if not told), key=len) if len(cells.layout.leaf) else []

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


def _away(sums: Any, off: Ints, up: Ints, down: Ints, side: Ints) -> Away:
    """Sets that are far enough away stay on their side, others go to this one."""
    kept = np.where((up > 0) & (off >= up), 1, np.where((up > 0) & (off <= -down), -1, side))
    return Away(sums, off, kept, up, down, up, down)


def _pairs(sets: list[Ints]) -> tuple[Ints, Ints, int]:
    """Sets of atoms as pairs of number and atom, and how many there are."""
    return np.repeat(np.arange(len(sets)), [len(one) for one in sets]), np.concatenate([np.zeros(0, np.int64), *sets]), len(sets)


def _joined(one: Sets, other: Sets) -> Sets:
    both = (np.concatenate((getattr(one, name), getattr(other, name))) for name in ("value", "rows", "up", "down"))
    return Sets(sparse.vstack([one.sums, other.sums], format="csr"), *both)


def _distinct(rows: Any) -> Any:
    """Each set of atoms once, none of them empty."""
    first = same_sets(rows)[0]
    return rows[first[np.diff(rows.indptr)[first] > 0]]
