"""Coded cells: the cells of a long table in the making, as numbers of codes.

A cell is keyed by one integer, the mixed-radix number of its codes, so that everything here is sorting and searching in
arrays: duplicates, computed totals, and the equation of every sum for every combination of the other dimensions' codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import Numbers, refuse_overflow
from cellward.table.relations import Relations, ranges

Ints = NDArray[np.int64]
Place = Callable[[int, str], str]

_MOST_CELLS = 50_000_000


@dataclass(frozen=True, eq=False)
class Axis:
    """One dimension: its codes, the sums between them, and the code of every row."""

    name: str
    codes: tuple[str, ...]
    sums: tuple[tuple[int, tuple[int, ...]], ...]
    code: Ints
    total: str | None

    @property
    def bottom(self) -> Ints:
        """Codes that are not a sum of others."""
        parents = {parent for parent, _ in self.sums}
        return np.array([c for c in range(len(self.codes)) if c not in parents], np.int64)


@dataclass(frozen=True, eq=False)
class CodedCells:
    """The cells of the table in the making, as codes (one row a dimension)."""

    axes: list[Axis]
    code: Ints

    @property
    def count(self) -> int:
        """Number of cells."""
        return int(self.code.shape[1])

    def key(self, code: Ints) -> Ints:
        """The key of each column of codes."""
        out = np.zeros(code.shape[1], np.int64)
        size = 1
        for axis, own in zip(self.axes, code, strict=True):
            size *= len(axis.codes)
            if size > 2**62:
                raise InputError(
                    "the dimensions have too many codes together (more than 2^62 combinations); drop a dimension"
                )
            out = out * len(axis.codes) + own
        return out

    def name(self, k: int) -> str:
        """A cell as a sentence calls it."""
        return f"({', '.join(axis.codes[int(own[k])] for axis, own in zip(self.axes, self.code, strict=True))})"

    def refuse_duplicates(self, place: Place, dim: str) -> None:
        """Refuse a cell that two rows hold."""
        key = self.key(self.code)
        order = np.argsort(key, kind="stable")
        twice = np.flatnonzero(key[order][1:] == key[order][:-1])
        if len(twice):
            one, two = int(order[twice[0]]), int(order[twice[0] + 1])
            where = f"{place(one, dim).rsplit(', column', 1)[0]} and {place(two, dim).rsplit(', column', 1)[0]}"
            raise InputError(
                f"{where}: the cell {self.name(one)} occurs twice; keep one of the rows, or add them up first"
            )

    def without_totals(self, numbers: Numbers) -> tuple[CodedCells, Numbers]:
        """Only the cells that are not a sum of others."""
        keep = np.ones(self.count, bool)
        for axis, own in zip(self.axes, self.code, strict=True):
            keep &= np.isin(own, axis.bottom)
        pick = np.flatnonzero(keep)
        if not len(pick):
            raise InputError("totals='compute': every row holds a total; give the cells that the totals are sums of")
        mantissa = (
            numbers.mantissa[pick]
            if isinstance(numbers.mantissa, np.ndarray)
            else [numbers.mantissa[i] for i in pick.tolist()]
        )
        return CodedCells(self.axes, self.code[:, pick]), Numbers(
            mantissa, numbers.places[pick], lambda i: numbers.where(int(pick[i]))
        )

    def with_zeros(self, numbers: Numbers, bottoms: list[Ints]) -> tuple[CodedCells, Numbers]:
        """Every combination of bottom codes, those without a row with the value 0."""
        size = 1
        for bottom in bottoms:
            size *= len(bottom)
        if size > _MOST_CELLS:
            raise InputError(f"missing='zero' would make {size:,} cells; leave missing cells absent")
        every = np.stack([grid.ravel() for grid in np.meshgrid(*bottoms, indexing="ij")])
        fresh = every[:, ~np.isin(self.key(every), self.key(self.code))]
        extra = fresh.shape[1]
        places = np.concatenate((numbers.places, np.zeros(extra, np.int16)))
        mantissa = [*(int(m) for m in numbers.mantissa), *([0] * extra)]
        return CodedCells(self.axes, np.concatenate((self.code, fresh), axis=1)), Numbers(
            mantissa, places, numbers.where
        )

    def with_computed(
        self, scaled: Ints, decimals: int, targets: list[dict[int, dict[int, int]]]
    ) -> tuple[CodedCells, Numbers]:
        """Add the cells of the computed codes, one dimension after the other."""
        code, value = self.code, scaled
        refuse_overflow(value)
        given = code.shape[1]
        for k, target in enumerate(targets):
            pairs = [(source, parent, times) for parent, parts in target.items() for source, times in parts.items()]
            if not pairs:
                continue
            source, parent, times = (np.array(x, np.int64) for x in zip(*sorted(pairs), strict=True))
            start = np.searchsorted(source, np.arange(len(self.axes[k].codes)))
            stop = np.searchsorted(source, np.arange(len(self.axes[k].codes)), side="right")
            repeat = (stop - start)[code[k]]
            origin = np.repeat(np.arange(code.shape[1]), repeat)
            via = ranges(start[code[k]], stop[code[k]])
            fresh = code[:, origin]
            fresh[k] = parent[via]
            key, first, where = np.unique(self.key(fresh), return_index=True, return_inverse=True)
            sums = np.zeros(len(key), np.int64)
            np.add.at(sums, where, times[via] * value[origin])
            if code.shape[1] + len(key) > _MOST_CELLS:
                raise InputError(
                    f"the table would have more than {_MOST_CELLS:,} cells; drop a dimension or coarsen its codes"
                )
            code, value = np.concatenate((code, fresh[:, first]), axis=1), np.concatenate((value, sums))
        order = np.concatenate((np.arange(given), given + self._reading_order(code[:, given:], targets)))
        value = value[order]
        cells = CodedCells(self.axes, code[:, order])
        return cells, Numbers(
            value.tolist(), np.full(len(value), decimals, np.int16), lambda i: f"value of {cells.name(i)}"
        )

    def _reading_order(self, code: Ints, targets: list[dict[int, dict[int, int]]]) -> Ints:
        """Computed cells in rows and columns: codes as the rows of the table bring them up, computed codes after them, the highest last."""
        ranks = []
        for own, axis, target, computed in zip(self.code, self.axes, targets, code, strict=True):
            rank = np.full(len(axis.codes), len(axis.codes), np.int64)
            codes, first = np.unique(own, return_index=True)
            rank[codes] = np.argsort(np.argsort(first))
            for place, parent in enumerate(target):  # built from the bottom up
                rank[parent] = len(codes) + place
            ranks.append(rank[computed])
        return np.lexsort(ranks[::-1])

    def relations(self) -> tuple[Relations, Callable[[int], str]]:
        """Every sum of every dimension, for each combination of the other dimensions' codes; and who is absent from an equation."""
        row_parts: list[Ints] = []
        cell_parts: list[Ints] = []
        coef_parts: list[Ints] = []
        origin: list[tuple[int, int]] = []
        equations = 0
        for k, axis in enumerate(self.axes):
            found = self._sums_along(k, axis)
            if found is None:
                continue
            row, cell, coef, which = found
            row_parts.append(row + equations)
            cell_parts.append(cell)
            coef_parts.append(coef)
            origin.extend((k, int(s)) for s in which)
            equations += len(which)
        empty = np.zeros(0, np.int64)
        parts = [np.concatenate(x) if x else empty for x in (row_parts, cell_parts, coef_parts)]
        relations = Relations.from_entries(self.count, equations, *parts)

        def absent(j: int) -> str:
            k, s = origin[j]
            children = self.axes[k].sums[s][1]
            members = relations.equation(j)[1]
            here = {int(self.code[k][i]) for i in members}
            lost = [c for c in children if c not in here]
            if not lost:
                return ""
            rest = [axis.codes[int(own[members[0]])] for axis, own in zip(self.axes, self.code, strict=True)]
            rest[k] = self.axes[k].codes[lost[0]]
            more = "" if len(lost) == 1 else f" and {len(lost) - 1} more"
            return f"({', '.join(rest)}){more} {'is' if len(lost) == 1 else 'are'}"

        return relations, absent

    def _sums_along(self, k: int, axis: Axis) -> tuple[Ints, Ints, Ints, Ints] | None:
        uses = sorted(
            [(p, s, -1) for s, (p, _) in enumerate(axis.sums)]
            + [(c, s, 1) for s, (_, cs) in enumerate(axis.sums) for c in cs]
        )
        if not uses:
            return None
        user, which, sign = (np.array(x, np.int64) for x in zip(*uses, strict=True))
        start = np.searchsorted(user, np.arange(len(axis.codes)))
        stop = np.searchsorted(user, np.arange(len(axis.codes)), side="right")
        cell = np.repeat(np.arange(self.count), (stop - start)[self.code[k]])
        via = ranges(start[self.code[k]], stop[self.code[k]])
        rest = self.code.copy()
        rest[k] = 0
        rest_key = self.key(rest)
        distinct_rest, rest_id = np.unique(rest_key, return_inverse=True)
        key = which[via] * len(distinct_rest) + rest_id[cell]
        equation, row = np.unique(key, return_inverse=True)
        coef = sign[via]
        parents = np.bincount(row[coef < 0], minlength=len(equation))
        children = np.bincount(row[coef > 0], minlength=len(equation))
        whole = (parents > 0) & (children > 0)
        number = np.cumsum(whole) - 1
        keep = whole[row]
        return number[row[keep]], cell[keep], coef[keep], equation[whole] // len(distinct_rest)
