"""Coded cells: the cells of a long table in the making, as numbers of codes.

A cell is keyed by one integer, the mixed-radix number of its codes, so that everything here is sorting and searching in
arrays: duplicates, computed totals, and the equation of every sum for every combination of the other dimensions' codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cellward.errors import InputError
from cellward.exact import Ints, Numbers, refuse_overflow
from cellward.table.relations import Relations, ranges

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

    def steps(self, occurring: Ints) -> list[tuple[Ints, Ints]]:
        """How to add totals up, from the bottom: for each height, (code, total it goes to) pairs sorted by code.

        A total with several sums takes the first of which a code occurs.
        """
        available = set(occurring.tolist())
        height: dict[int, int] = {}
        pairs: dict[int, list[tuple[int, int]]] = {}
        by_parent: dict[int, list[tuple[int, ...]]] = {}
        for parent, children in self.sums:
            by_parent.setdefault(parent, []).append(children)
        for parent in sorted(by_parent, reverse=True):  # codes stand parents first
            chosen = next((children for children in by_parent[parent] if available.intersection(children)), None)
            if chosen is None:
                continue
            available.add(parent)
            height[parent] = 1 + max(height.get(child, 0) for child in chosen)
            pairs.setdefault(height[parent], []).extend((child, parent) for child in chosen)
        sorted_pairs = (np.array(sorted(pairs[level]), np.int64).T for level in sorted(pairs))
        return [(child, parent) for child, parent in sorted_pairs]

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
            raise InputError(f"empty='zero' would make {size:,} cells; leave empty cells absent")
        every = np.stack([grid.ravel() for grid in np.meshgrid(*bottoms, indexing="ij")])
        fresh = every[:, ~np.isin(self.key(every), self.key(self.code))]
        extra = fresh.shape[1]
        places = np.concatenate((numbers.places, np.zeros(extra, np.int16)))
        mantissa = [*(int(m) for m in numbers.mantissa), *([0] * extra)]
        return CodedCells(self.axes, np.concatenate((self.code, fresh), axis=1)), Numbers(
            mantissa, places, numbers.where
        )

    def with_totals(self, scaled: Ints, decimals: int) -> tuple[CodedCells, Numbers]:
        """Add every total that is not there and of which a part is: cell by cell, since a table may hold a total here and lack it there.

        A total left out would cut the chain of sums that runs through it, and with it a relation that every reader knows. One pass a dimension is
        enough: a total added along a later dimension has its own totals along the earlier ones added by the same pass.
        """
        code, value = self.code, scaled
        refuse_overflow(value)
        given = code.shape[1]
        for k, axis in enumerate(self.axes):
            for child, parent in axis.steps(np.unique(code[k])):
                start, stop = (np.searchsorted(child, code[k], side=side) for side in ("left", "right"))
                part = np.repeat(np.arange(code.shape[1]), stop - start)
                fresh = code[:, part]
                fresh[k] = parent[ranges(start, stop)]
                key, first, where = np.unique(self.key(fresh), return_index=True, return_inverse=True)
                absent = ~np.isin(key, self.key(code))
                sums = np.zeros(len(key), np.int64)
                np.add.at(sums, where, value[part])
                code = np.concatenate((code, fresh[:, first[absent]]), axis=1)
                value = np.concatenate((value, sums[absent]))
                if code.shape[1] > _MOST_CELLS:
                    raise InputError(
                        f"the table would have more than {_MOST_CELLS:,} cells; drop a dimension or coarsen its codes"
                    )
        order = np.concatenate((np.arange(given), given + self._reading_order(code[:, given:])))
        value = value[order]
        cells = CodedCells(self.axes, code[:, order])
        return cells, Numbers(
            value.tolist(), np.full(len(value), decimals, np.int16), lambda i: f"value of {cells.name(i)}"
        )

    def _reading_order(self, code: Ints) -> Ints:
        """Computed cells in rows and columns: codes as the rows of the table bring them up, the other codes after them, the highest last."""
        ranks = []
        for own, axis, computed in zip(self.code, self.axes, code, strict=True):
            rank = 2 * len(axis.codes) - np.arange(len(axis.codes))  # codes stand parents first
            codes, first = np.unique(own, return_index=True)
            rank[codes] = np.argsort(np.argsort(first))
            ranks.append(rank[computed])
        return np.lexsort(ranks[::-1])

    def refuse_lost_relations(self) -> None:
        """Refuse a table without a total through which a relation between its cells runs.

        With the missing totals added, M = (G | C) on given and added cells; what the added ones carry beyond the given cells' own equations is
        rank(M) − rank(C) − rank of the equations among given cells alone.
        """
        whole, _ = self.with_totals(np.zeros(self.count, np.int64), 0)
        if whole.count == self.count:
            return
        full = whole.relations()[0]
        added = full.indices >= self.count
        columns = Relations.from_entries(
            full.cells, full.equations, full.row[added], full.indices[added], full.coefs[added]
        )
        if full.structure.rank == columns.structure.rank + self.relations()[0].structure.rank:
            return
        uses = np.bincount(full.indices, minlength=full.cells)
        i = int(np.flatnonzero((uses >= 2) & (np.arange(full.cells) >= self.count))[0])
        raise InputError(
            f"the total {whole.name(i)} is not in the table, and a sum that readers know runs through it; add it, or have it computed with "
            "totals='auto' (--totals auto)"
        )

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
