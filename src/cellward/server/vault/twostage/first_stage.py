"""The first stage: what the rules say of sets of records, each by itself, and from which side a cell at risk is published.

A set is at risk or not by its records alone, whatever table it appears in; its side, and how much further than its level it goes, are drawn from the
key and its identity. So both are the same wherever it is met first, and once it is published its value is kept, and its side with it.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from cellward.exact import Floats, Ints
from cellward.risk.rule import Rule, contributions_of
from cellward.risk.threshold import Threshold
from cellward.server.vault.records import Records
from cellward.server.vault.twin.lattice import sides, table_of_sets
from cellward.server.vault.twostage.atoms import Atoms
from cellward.server.vault.twostage.cells import Cells
from cellward.server.vault.twostage.sets import Sets, rows_over

FEWEST = 3
"""Units that a difference of two published cells needs where the rules name no minimum."""


@dataclass(frozen=True, eq=False)
class FirstStage:
    """The rules of one measure (None: the count) over the records in a database."""

    records: Records
    database: Any
    atoms: Atoms
    measure: int | None
    rules: tuple[Rule, ...]
    key: bytes

    @cached_property
    def fewest(self) -> int:
        """How many units a set of records needs at least."""
        named = [rule.n for rule in self.rules if isinstance(rule, Threshold) and rule.by == "units"]
        return max(named, default=FEWEST)

    def judged(self, number: Ints, atom: Ints, many: int) -> Sets:
        """So many sets of atoms, none of them empty."""
        sums = rows_over(number, atom, many, self.atoms.many)
        none = np.zeros(0, np.int64)
        if not many:
            return Sets(sums, none, none, none, none)
        own, record = self.atoms.records_of(number, atom)
        table, place = table_of_sets(self.records, self.database, self.measure, self.rules, record, own)
        columns = (table.scaled, contributions_of(table).rows, *sides(table))
        return Sets(sums, *(np.asarray(column)[place] for column in columns))

    def thin(self, number: Ints, atom: Ints, many: int) -> Sets:
        """Those of so many sets that have fewer units than the rules want: at risk whatever their values, by a tenth where the rules ask for less."""
        few = np.flatnonzero(self.units(number, atom, many) < self.fewest)
        kept = np.isin(number, few)
        found = self.judged(np.searchsorted(few, number[kept]), atom[kept], len(few))
        up = np.maximum(found.up, np.maximum(np.abs(found.value) // 10, 1))
        down = np.maximum(np.minimum(up, found.value), np.maximum(found.down, 1))
        return Sets(found.sums, found.value, found.rows, up, down)

    def units(self, number: Ints, atom: Ints, many: int) -> Ints:
        """How many units each of so many sets of atoms has."""
        own, record = self.atoms.records_of(number, atom)
        units = self.records.unit
        every = int(units.max()) + 1
        return np.bincount(np.unique(own * every + units[record]) // every, minlength=many)

    def facts(self, cells: Cells) -> tuple[Any, Ints]:
        """The codes below each cell never published, as bits, and its units."""
        number, atom, many = cells.new_pairs()
        bits = self.atoms.boxes
        boxes = (
            np.bitwise_or.reduceat(bits[atom], np.searchsorted(number, np.arange(many)), axis=0) if many else bits[:0]
        )
        return boxes, self.units(number, atom, many)

    def drawn(self, sums: Any) -> tuple[Ints, Floats]:
        """The side of each set, and a fraction of its level, drawn from the key by its records alone."""
        number = np.repeat(np.arange(sums.shape[0]), np.diff(sums.indptr))
        own = hmac.digest(self.key, f"sides of measure {self.measure}".encode(), "sha256")
        names = self.atoms.identities(number, sums.indices, sums.shape[0])
        digests = b"".join(blake2b(str(one).encode(), key=own, digest_size=8).digest() for one in names)
        drawn = np.frombuffer(digests, "<u8")
        return np.where(drawn & np.uint64(1), 1, -1), (drawn >> np.uint64(1)) / 2.0**63
