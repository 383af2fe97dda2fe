"""Ties: cells that every table moves alike, and those that none can move, as the equations say where some cells are printed for certain.

Legend: z = y − a; a step joins cells B to cells A, since a combination of equations says z_A = z_B once all earlier steps are taken for granted.
Cells that are printed for certain do not move: they are the ground, and cells tied to it do not move either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from cellward.exact import Bools, Ints
from cellward.table.relations import Relations

GROUND = -1
"""The class of cells that do not move."""
ROUNDS = 20
"""Times that equations are looked at again, with all ties so far."""
Entries = tuple[Ints, Ints, Ints]
"""Row, class and coefficient of what is left of the equations."""


@dataclass(frozen=True, eq=False)
class Step:
    """The cells on either side (None: the ground), and the combination of equations that is 1 in all on the first, −1 on the second, 0 elsewhere."""

    kept: tuple[int, ...] | None
    joined: tuple[int, ...]
    combination: tuple[tuple[int, int], ...]


class Ties:
    """The classes of cells that move alike: ``label`` is one of its cells, GROUND where it does not move."""

    def __init__(self, relations: Relations, live: Bools) -> None:
        self.relations, self.live = relations, live
        self.label: Ints = np.where(live, np.arange(relations.cells), GROUND)
        self.steps: list[Step] = []
        self._members: dict[int, tuple[int, ...]] = {}
        self._steps_of: dict[int, list[int]] = {}
        self._rows: dict[int, tuple[list[int], list[int]]] = {}
        for _ in range(ROUNDS):
            found = sum(self._join(*one) for one in self._found())
            if not found:
                break

    # ---- finding ---------------------------------------------------------------------------------------------------------------------------

    def entries(self) -> Entries:
        """What is left of the equations between classes that move."""
        r, label = self.relations, self.label[self.relations.indices]
        moves = label >= 0
        left = Relations.from_entries(r.cells, r.equations, r.row[moves], label[moves], r.coefs[moves])
        return left.row, left.indices, left.coefs

    def _found(self) -> Iterator[tuple[int, int, tuple[tuple[int, int], ...]]]:
        """Two classes (or one and the ground), and the combination that ties them."""
        row, label, coef = self.entries()
        many = np.bincount(row, minlength=self.relations.equations)
        end = np.cumsum(many)
        for j in np.flatnonzero(many == 1).tolist():
            at = int(end[j]) - 1
            if abs(int(coef[at])) == 1:
                yield GROUND, int(label[at]), ((j, -int(coef[at])),)
        for j in np.flatnonzero(many == 2).tolist():
            at = int(end[j]) - 2
            if abs(int(coef[at])) == 1 and coef[at] == -coef[at + 1]:
                yield int(label[at]), int(label[at + 1]), ((j, int(coef[at])),)
        yield from _but_for_one(row, label, coef, self.relations)

    def _join(self, a: int, b: int, combination: tuple[tuple[int, int], ...]) -> bool:
        """Take a tie in, unless earlier ones say it already."""
        a, b = (GROUND if x == GROUND else int(self.label[x]) for x in (a, b))
        if a == b:
            return False
        if b == GROUND:
            a, b, combination = b, a, tuple((j, -x) for j, x in combination)
        kept = None if a == GROUND else self._members.pop(a, (a,))
        joined, number = self._members.pop(b, (b,)), len(self.steps)
        self.steps.append(Step(kept, joined, combination))
        self.label[list(joined)] = a
        for i in (*(kept or ()), *joined):
            self._steps_of.setdefault(i, []).append(number)
        if kept is not None:
            self._members[a] = (*kept, *joined)
        return True

    # ---- gathering -------------------------------------------------------------------------------------------------------------------------

    def gathered(self, slope: dict[int, int], target: Callable[[int], int]) -> dict[int, int]:
        """Multipliers of equations which, added to this slope, leave what each class is in all to one of its cells, the target of its label, and
        nothing of what does not move; the slope is changed accordingly."""
        out: dict[int, int] = {}
        left: list[int] = []
        queued: set[int] = set()

        def queue(i: int, before: int) -> None:
            for t in self._steps_of.get(i, ()):
                if t < before and t not in queued:
                    queued.add(t)
                    heappush(left, -t)

        for i in tuple(slope):
            queue(i, len(self.steps))
        while left:
            t = -heappop(left)
            step = self.steps[t]
            if step.kept is None or target(int(self.label[step.joined[0]])) not in step.joined:
                excess = sum(slope.get(i, 0) for i in step.joined)
            else:
                excess = -sum(slope.get(i, 0) for i in step.kept)
            if excess:
                for j, x in step.combination:
                    out[j] = out.get(j, 0) + excess * x
                    for i, coef in zip(*self._row(j), strict=True):
                        slope[i] = slope.get(i, 0) + excess * x * coef
                        queue(i, t)
        for i in [i for i, x in slope.items() if not x]:
            del slope[i]
        return {j: x for j, x in out.items() if x}

    def slope(self, multipliers: tuple[tuple[int, int], ...]) -> dict[int, int]:
        """What the equations make of the cells that are not printed for certain."""
        out: dict[int, int] = {}
        for j, x in multipliers:
            for i, coef in zip(*self._row(j), strict=True):
                out[i] = out.get(i, 0) + x * coef
        return out

    def _row(self, j: int) -> tuple[list[int], list[int]]:
        if j not in self._rows:
            r = self.relations
            part = slice(int(r.indptr[j]), int(r.indptr[j + 1]))
            mine = self.live[r.indices[part]]
            self._rows[j] = r.indices[part][mine].tolist(), r.coefs[part][mine].tolist()
        return self._rows[j]


def _but_for_one(
    row: Ints, label: Ints, coef: Ints, relations: Relations
) -> Iterator[tuple[int, int, tuple[tuple[int, int], ...]]]:
    """Classes by which two equations differ and by nothing else."""
    random = np.random.default_rng(0).integers(0, 2**63, relations.cells, np.uint64)
    mark = random[label] * coef.astype(np.uint64)
    whole = np.zeros(relations.equations, np.uint64)
    np.add.at(whole, row, mark)
    one = np.flatnonzero(np.abs(coef) == 1)
    sign = coef[one].astype(np.uint64)
    rest = whole[row[one]] * sign - random[label[one]]
    order = np.lexsort((one, rest))
    same = np.flatnonzero(rest[order][1:] == rest[order][:-1])
    end = np.searchsorted(row, np.arange(relations.equations + 1))

    def others(k: int) -> list[tuple[int, int]]:
        mine = np.setdiff1d(np.arange(end[row[k]], end[row[k] + 1]), k)
        return list(zip(label[mine].tolist(), (coef[mine] * coef[k]).tolist(), strict=True))

    for k in same.tolist():
        first, second = int(one[order[k]]), int(one[order[k + 1]])
        if label[first] != label[second] and row[first] != row[second] and others(first) == others(second):
            combination = ((int(row[first]), int(coef[first])), (int(row[second]), -int(coef[second])))
            yield int(label[first]), int(label[second]), combination
