"""Building a twin: atoms are adjusted once, so that every cell at risk of the lattice is at least its level away from its true value.

Records that join later make parts of their own: what was published before stays, and what they add is kept as far from their own true sums, so that
an old table and a new one together tell no more than one of them.
"""

from __future__ import annotations

import hmac
import json
import math
from dataclasses import dataclass
from hashlib import blake2b, sha256

import numpy as np
from scipy import sparse

from cellward.errors import InputError, SolverError
from cellward.exact import Bools, Floats, Ints
from cellward.server.config import COUNT
from cellward.server.vault.numbers import Halves
from cellward.server.vault.records import Records
from cellward.server.vault.twin.headline import keep_headlines
from cellward.server.vault.twin.lattice import Needs, needs_of
from cellward.solve.budget import Budget
from cellward.solve.sum_moves import SumMoves

JITTER = 1.0
"""Cells at risk go up to so much further than their level, drawn from the key."""
NEAR, SPREAD, LEAST = 0.2, 0.8, 0.3
"""What is much for a cell that is not at risk: NEAR·value / records^SPREAD, and so many units at least. Chance alone would give a half for SPREAD;
more keeps large cells nearer. Found on the file of benchmarks/server_mix.py."""
SWEEPS = 40
"""How often all parts are gone over."""
DEAR = 100.0
"""What a cell at risk costs that is not far enough, at first."""
REACH = 3.0
"""A part moves by its level at most so many times, and by no less than its value."""


@dataclass(frozen=True, eq=False)
class Twin:
    """The part of every record, the value (a row a measure, the count last) of every part, scaled."""

    low: Halves
    high: Halves
    part: Ints
    value: Ints
    decimals: tuple[int, ...]
    names: tuple[str, ...]
    rules: str
    """What it was built for: rules, depth, headline."""
    codes: str
    """The hierarchies it was built over."""

    @property
    def parts(self) -> int:
        """How many there are."""
        return int(self.value.shape[1])


def build_twin(records: Records, key: bytes, before: Twin | None = None) -> Twin:
    """The twin of these records; parts of an older one whose records are all there stay as they are."""
    names = (*(measure.name for measure in records.config.measures), COUNT)
    decimals = (*records.decimals, 0)
    atoms, atom = atoms_of(records)
    part, kept = _parts(records, atom, before)
    many = int(part.max()) + 1
    said = (rules_of(records), codes_of(records))
    if before is not None and before.codes == said[1] and kept == many == before.parts:
        older = np.stack([_older(before, j, decimals[j], part, records) for j in range(len(names))])
        return Twin(records.low, records.high, part, older, decimals, names, *said)
    of_part = np.zeros(many, np.int64)
    of_part[part] = atom
    value = np.zeros((len(names), many), np.int64)
    fresh = np.asarray(part >= kept)
    database = records.database()
    for j, name in enumerate(names):
        measure = j if j < len(records.decimals) else None
        rules = records.config.rules if measure is not None else records.config.count_rules
        if before is not None and kept:
            value[j, :kept] = _older(before, j, decimals[j], part, records)[:kept]
        true = np.bincount(part, minlength=many) if measure is None else _added(records.heavy[measure], part, many)
        whole = needs_of(records, database, measure, atoms, atom, rules, np.ones(records.many, bool))
        joined = needs_of(records, database, measure, atoms, atom, rules, fresh) if kept and fresh.any() else None
        made = _Making(records, key, name, whole, joined, atoms, of_part, np.arange(many) >= kept, part, true)
        value[j] = made.run(value[j], Budget(seed=made.seed))
    return Twin(records.low, records.high, part, value, decimals, names, *said)


def rules_of(records: Records) -> str:
    """What a twin is built for, in short: it cannot serve other rules, since what was published cannot be taken back."""
    config = records.config
    rules = [
        [[rule.kind, sorted((k, str(v)) for k, v in rule.options.items())] for rule in own]
        for own in (config.rules, config.count_rules)
    ]
    said = [
        rules,
        config.depth,
        config.headline,
        [own.name for own in records.dimensions],
        config.weight,
        config.contributor,
        config.holding,
    ]
    return sha256(json.dumps(said).encode()).hexdigest()


def codes_of(records: Records) -> str:
    """The codes of all dimensions and the sums between them, in short."""
    said = [[own.name, own.codes, own.parent.tolist()] for own in records.dimensions]
    return sha256(json.dumps(said).encode()).hexdigest()


def atoms_of(records: Records) -> tuple[Ints, Ints]:
    """The combinations of bottom codes that records have (a row a dimension), and the number of each record's."""
    sizes = [len(own.codes) for own in records.dimensions]
    if math.prod(sizes) >= 2**62:
        raise InputError(f"{records.config.name}: its dimensions have too many codes together; serve fewer of them")
    number, atom = np.unique(np.ravel_multi_index(tuple(records.code), sizes), return_inverse=True)
    return np.stack(np.unravel_index(number, sizes)).astype(np.int64), np.asarray(atom, np.int64)


def _parts(records: Records, atom: Ints, before: Twin | None) -> tuple[Ints, int]:
    """The part of every record, and how many of the parts are older ones, which come first: those of which all records are there, in one atom."""
    old = np.full(records.many, -1, np.int64)
    if before is not None and len(before.low):
        order = np.argsort(before.low, kind="stable")
        at = order[np.minimum(np.searchsorted(before.low[order], records.low), len(order) - 1)]
        same = (before.low[at] == records.low) & (before.high[at] == records.high)
        old[same] = before.part[at[same]]
        size, there = np.bincount(before.part, minlength=before.parts), np.bincount(old[same], minlength=before.parts)
        least, most = np.full(before.parts, np.iinfo(np.int64).max), np.full(before.parts, -1)
        np.minimum.at(least, old[same], atom[same])
        np.maximum.at(most, old[same], atom[same])
        intact = (size == there) & (least == most)
        old[same & ~intact[old]] = -1
    stays = old >= 0
    _, kept = np.unique(old[stays], return_inverse=True)
    part = np.zeros(records.many, np.int64)
    part[stays] = kept
    many = int(kept.max(initial=-1)) + 1
    part[~stays] = many + np.unique(atom[~stays], return_inverse=True)[1]
    return part, many


def _older(before: Twin, j: int, decimals: int, part: Ints, records: Records) -> Ints:
    """The values of older parts in their new numbers and in this many decimals."""
    at = np.argsort(before.low, kind="stable")
    own = at[np.minimum(np.searchsorted(before.low[at], records.low), len(at) - 1)]
    out = np.zeros(int(part.max()) + 1, np.int64)
    out[part] = before.value[j, before.part[own]] * 10 ** (decimals - before.decimals[j])
    return out


def _added(amount: Ints, part: Ints, many: int) -> Ints:
    out = np.zeros(many, np.int64)
    np.add.at(out, part, amount)
    return out


@dataclass(frozen=True, eq=False)
class _Making:
    """One measure's twin in the making."""

    records: Records
    key: bytes
    name: str
    whole: Needs
    joined: Needs | None
    atoms: Ints
    of_part: Ints
    free: Bools
    part: Ints
    true: Ints

    @property
    def seed(self) -> int:
        """What ties and random steps are drawn by: of the key, so that nobody can walk the same way."""
        return int.from_bytes(hmac.digest(self.key, f"twin of {self.name}".encode(), "sha256")[:4], "big") >> 1

    def run(self, value: Ints, budget: Budget) -> Ints:
        """Values of all parts; refused where a cell at risk stays too near to its true value."""
        free = np.flatnonzero(self.free)
        tables = [self.whole] + ([self.joined] if self.joined is not None else [])
        off = self.whole.sums @ self._by_atom(np.where(self.free, 0, value - self.true))
        if not len(free):
            self._check((self.whole.up > 0) & (off < self.whole.up) & (off > -self.whole.down))
            return value
        sums = sparse.vstack([own.sums[:, self.of_part[free]] for own in tables], format="csr")
        touched = np.diff(sums.indptr) > 0  # cells without new records are as they were
        up, down, cells, rows = (
            np.concatenate([getattr(own, name) for own in tables])[touched] for name in ("up", "down", "value", "rows")
        )
        base = np.concatenate([off, *(np.zeros(len(own.value), np.int64) for own in tables[1:])])[touched]
        code = np.concatenate([own.code for own in tables], axis=1)[:, touched]
        drawn = 1 + JITTER * self._draws(code, "levels")
        far_up, far_down = (
            np.ceil(up * drawn).astype(np.int64),
            np.minimum(np.ceil(down * drawn), np.maximum(cells, down)).astype(np.int64),
        )
        much = NEAR * np.abs(cells) * np.maximum(rows, 1.0) ** -SPREAD
        scale = np.maximum(np.maximum(much, np.where(up > 0, 2.0 * up, 0.0)), LEAST)
        true = self.true[free]
        level = np.zeros(len(free), np.int64)
        single = sums[touched]
        own = np.flatnonzero(np.diff(single.indptr) == 1)
        np.maximum.at(level, single.indices[single.indptr[own]], far_up[own])
        high = np.maximum(np.ceil(REACH * level).astype(np.int64), np.maximum(true, 3))
        moves = SumMoves(single, far_up, far_down, scale, -true, high)
        side = np.where(self._draws(self.atoms[:, self.of_part[free]], "sides") < 0.5, -1, 1)
        z, d = moves.run(side * level, base, DEAR, budget, sweeps=SWEEPS)
        exact = SumMoves(single, up, down, scale, -true, high)
        if exact.lacking(d).any():
            z, d = exact.run(z, base, DEAR * 1e3, budget, sweeps=0, rounds=400)
        d = keep_headlines(exact, z, d, self._headlines())
        self._check(exact.lacking(d))
        out = value.copy()
        out[free] = true + z
        return out

    def _headlines(self) -> Ints:
        """The cells that keep their true totals, none above another: the broadest codes of the headline, or the grand total; safe ones only."""
        if not self.free.all():  # what was published is fixed
            return np.zeros(0, np.int64)
        code, dims = self.whole.code, self.records.dimensions
        total = (code == 0).all(axis=0)
        for k, own in enumerate(dims):
            if own.name == self.records.config.headline:
                others = np.delete(code, k, axis=0)
                wanted = (others == 0).all(axis=0) & (own.depth[code[k]] == 1) & (code[k] > 0)
                if not (self.whole.up[wanted] > 0).any():  # one at risk among exact ones could be worked out
                    return np.flatnonzero(wanted)
        return np.flatnonzero(total & (self.whole.up == 0))

    def _by_atom(self, by_part: Ints) -> Ints:
        out = np.zeros(self.whole.sums.shape[1], np.int64)
        np.add.at(out, self.of_part, by_part)
        return out

    def _draws(self, code: Ints, what: str) -> Floats:
        """Fractions drawn from the key by the codes of cells or atoms, whatever records they have: where a record leaves, the others are not drawn
        anew, so that nobody can take the mean of many draws."""
        own = hmac.digest(self.key, f"{what} of the twin of {self.name}".encode(), "sha256")
        texts = [[*one.codes, ""] for one in self.records.dimensions]
        called = zip(*([text[at] for at in row] for text, row in zip(texts, code.tolist(), strict=True)), strict=True)
        drawn = (blake2b(json.dumps(one).encode(), key=own, digest_size=8).digest() for one in called)
        return np.frombuffer(b"".join(drawn), "<u8") / 2.0**64

    def _check(self, lacking: Bools) -> None:
        """Nothing is served of a twin in which a cell at risk is too near to its true value: its siblings would tell it."""
        if lacking.any():
            raise SolverError(
                f"the twin of {self.records.config.name}: {int(lacking.sum()):,} cells of {self.name} could not be kept far enough from their true "
                "values; lower its depth or merge codes, or restore the codes and records that were served before"
            )
