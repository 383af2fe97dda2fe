"""Lattice: the codes of all dimensions with the sums between them; keys of cells, and the cells above a leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellward.errors import InputError
from cellward.exact import Ints
from cellward.table.coded import Axis
from cellward.table.relations import ranges

MOST_CELLS = 50_000_000


@dataclass(frozen=True, eq=False)
class Lattice:
    """Axes, and for each table which of them it crosses (the others stand at their total)."""

    axes: tuple[Axis, ...]
    terms: tuple[tuple[int, ...], ...]

    @cached_property
    def stride(self) -> tuple[int, ...]:
        """A cell's key is Σ stride·code; keys in increasing order are cells in reading order."""
        out, size = [], 1
        for axis in reversed(self.axes):
            out.append(size)
            size *= max(len(axis.codes), 1)
        if size > 2**62:
            raise InputError(
                "the dimensions have too many codes together (more than 2^62 combinations); drop a dimension"
            )
        return tuple(reversed(out))

    def key(self, code: Ints) -> Ints:
        """The keys of cells given by codes, one row a dimension."""
        key = np.zeros(code.shape[1], np.int64)
        for stride, own in zip(self.stride, code, strict=True):
            key += stride * own
        return key

    def codes(self, key: Ints) -> Ints:
        """The codes of cells given by keys."""
        return np.stack([key // stride % len(axis.codes) for stride, axis in zip(self.stride, self.axes, strict=True)])

    def total(self, dim: int) -> int:
        """The code of a dimension's total."""
        axis = self.axes[dim]
        if axis.total is None:
            raise InputError(
                f"the dimension {axis.name} has no total of all its codes, so a table without it has no place for it; give one root"
            )
        return axis.codes.index(axis.total)

    @cached_property
    def closure(self) -> tuple[tuple[Ints, Ints], ...]:
        """For each dimension (bottom code, code above or itself) pairs, sorted."""
        out = []
        for axis in self.axes:
            above: dict[int, list[int]] = {}
            for parent, children in axis.sums:
                for child in children:
                    above.setdefault(child, []).append(parent)
            ways: dict[int, set[int]] = {}
            for code in range(len(axis.codes)):  # codes stand parents first
                ways[code] = {code}.union(*(ways[parent] for parent in above.get(code, ())))
            pairs = sorted((c, a) for c in axis.bottom.tolist() for a in ways[c])
            out.append((np.array([c for c, _ in pairs], np.int64), np.array([a for _, a in pairs], np.int64)))
        return tuple(out)

    @cached_property
    def levels(self) -> tuple[Ints, ...] | None:
        """For each dimension the key parts of the codes above every code (a row each), where there is one table and all leaves are equally deep."""
        if len(self.terms) > 1 or len(self.terms[0]) < len(self.axes):
            return None
        out = []
        for axis, stride, (child, parent) in zip(self.axes, self.stride, self.closure, strict=True):
            many = np.bincount(child, minlength=len(axis.codes))
            depth = int(many.max())
            if np.any((many != 0) & (many != depth)):
                return None
            above = np.zeros((len(axis.codes), depth), np.int64)
            above[np.unique(child)] = (parent * stride).reshape(-1, depth)
            out.append(above)
        return tuple(out)

    def above(self, term: Sequence[int], dim: int) -> tuple[Ints, Ints]:
        """The closure of a dimension in one table: everything to the total where the table does not cross it."""
        if dim in term:
            return self.closure[dim]
        bottom = self.axes[dim].bottom
        return bottom, np.full(len(bottom), self.total(dim), np.int64)

    def spread(self, leaf: Ints) -> tuple[Ints, Ints]:
        """All cells above these leaves (codes, one row a dimension): (which leaf, key of the cell) pairs."""
        owners, keys = [], []
        for term in self.terms:
            owner, key = np.arange(leaf.shape[1]), np.zeros(leaf.shape[1], np.int64)
            for dim in range(len(self.axes)):
                child, parent = self.above(term, dim)
                start, stop = (np.searchsorted(child, leaf[dim][owner], side=side) for side in ("left", "right"))
                many, via = stop - start, ranges(start, stop)
                owner, key = np.repeat(owner, many), np.repeat(key, many) + self.stride[dim] * parent[via]
            owners.append(owner)
            keys.append(key)
        owner, key = np.concatenate(owners), np.concatenate(keys)
        if len(self.terms) > 1:  # cells that tables share count once
            order = np.lexsort((key, owner))
            owner, key = owner[order], key[order]
            once = np.concatenate(([True], (owner[1:] != owner[:-1]) | (key[1:] != key[:-1])))[: len(owner)]
            owner, key = owner[once], key[once]
        return owner, key
