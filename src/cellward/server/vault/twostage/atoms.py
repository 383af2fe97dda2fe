"""Atoms: the combinations of bottom codes with records, in the order of their identities, so that other names and other rows change nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.exact import Floats, Ints
from cellward.server.vault.numbers import MODULUS
from cellward.server.vault.records import Records
from cellward.server.vault.twin.build import atoms_of
from cellward.table.relations import ranges

_LIMBS, _LIMB_BITS = 4, 32
"""Numbers of 128 bits as doubles, 32 bits each."""
MOST_RECORDS = 1 << 21
"""Sums of so many limbs are exact in doubles."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """Bottom codes (a row a dimension) and numbers of the atoms, and the records of each."""

    code: Ints
    limbs: Floats
    record: Ints
    first: Ints

    @staticmethod
    def of(records: Records) -> Atoms:
        """The atoms of a dataset."""
        if records.many > MOST_RECORDS:
            raise InputError(
                f"{records.config.name}: two-stage serves up to {MOST_RECORDS:,} records; serve more with the engine twin"
            )
        code, atom = atoms_of(records)
        shifts = [np.uint64(_LIMB_BITS * k) for k in range(2)]
        halves = [
            (own >> shift) & np.uint64((1 << _LIMB_BITS) - 1) for own in (records.low, records.high) for shift in shifts
        ]
        limbs: Floats = np.stack([np.bincount(atom, own.astype(np.float64)) for own in halves]).astype(np.float64)
        order = np.array(sorted(range(code.shape[1]), key=_identities(limbs).__getitem__), np.int64)
        place = np.argsort(order)
        record = np.argsort(place[atom], kind="stable")
        first = np.concatenate(([0], np.cumsum(np.bincount(place[atom]))))
        return Atoms(code[:, order], limbs[:, order], record, first)

    @property
    def many(self) -> int:
        """How many there are."""
        return int(self.code.shape[1])

    @property
    def digest(self) -> str:
        """The same for the same atoms."""
        return sha256(
            "\n".join(map(str, self.identities(np.arange(self.many), np.arange(self.many), self.many))).encode()
        ).hexdigest()

    def identities(self, cell: Ints, atom: Ints, many: int) -> list[int]:
        """The identities of so many sets of atoms; 0 for one without records."""
        return _identities(np.stack([np.bincount(cell, own[atom], minlength=many) for own in self.limbs]))

    def records_of(self, cell: Ints, atom: Ints) -> tuple[Ints, Ints]:
        """Every set with every record in it."""
        own = ranges(self.first[atom], self.first[atom + 1])
        return np.repeat(cell, self.first[atom + 1] - self.first[atom]), self.record[own]

    def added(self, of_record: Ints) -> Ints:
        """Amounts of records added up by atom."""
        out = np.zeros(self.many, np.int64)
        np.add.at(out, self.atom_of_record, of_record)
        return out

    @cached_property
    def atom_of_record(self) -> Ints:
        """The atom of every record."""
        out = np.zeros(len(self.record), np.int64)
        out[self.record] = np.repeat(np.arange(self.many), np.diff(self.first))
        return out

    @cached_property
    def boxes(self) -> Any:
        """The bottom code of each atom in every dimension as bits (a row an atom)."""
        sizes = self.code.max(axis=1) + 1
        start = np.concatenate(([0], np.cumsum(sizes)))
        out = np.zeros((self.many, -(-int(start[-1]) // 64)), np.uint64)
        for own, at in zip(self.code, start[:-1], strict=True):
            bit = own + at
            out[np.arange(self.many), bit // 64] |= np.uint64(1) << (bit % 64).astype(np.uint64)
        return out


def _identities(limbs: Floats) -> list[int]:
    columns = [own.astype(np.int64).tolist() for own in limbs]
    return [
        sum(part << (_LIMB_BITS * k) for k, part in enumerate(parts)) % MODULUS for parts in zip(*columns, strict=True)
    ]
