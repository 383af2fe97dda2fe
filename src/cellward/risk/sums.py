"""Sums of cells that one unit dominates: where a unit stands behind several cells of an equation, levels cell by cell do not protect their sum.

Section 3.1 of paper 004: an attacker's interval for the sum of some cells may be narrow though that of every cell is wide; two cells that are changed
against each other keep their sum. rules.md says which sums are looked at, and why a sum at risk always holds a cell at risk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from cellward.exact import LARGEST
from cellward.risk.concentration import Concentration
from cellward.risk.rule import Rule
from cellward.table.contributions import Contributions, Parts
from cellward.table.sums import CellSum
from cellward.table.table import Table

Ints = NDArray[np.int64]


def dominated_sums(table: Table, rules: Sequence[Rule], unsafe: Ints, hits: Sequence[Ints]) -> tuple[CellSum, ...]:
    """The sums of cells within one equation that the concentration rules call unsafe, because a unit dominates them together."""
    c = table.contributions
    judging = [(rule, hit) for rule, hit in zip(rules, hits, strict=True) if isinstance(rule, Concentration)]
    if c is None or c.parts is None or c.negative or c.weighted is not None or not judging:
        return ()
    at_risk = np.zeros(table.cells, bool)
    at_risk[np.intersect1d(unsafe, np.concatenate([hit for _, hit in judging]))] = True
    spread = _SpreadUnits(c.parts, c)
    found: dict[tuple[int, ...], CellSum] = {}
    for children in _groups(table, at_risk):
        for unit in {int(c.unit[0, i]) for i in children if at_risk[i]} & spread.units:
            behind = [i for i in children if spread.amount(i, unit) > 0]
            ahead = [i for i in behind if at_risk[i] and c.unit[0, i] == unit]
            for cells in (behind, ahead):
                if 2 <= len(cells) < len(children) and tuple(cells) not in found:
                    level = max(_level(rule, c, spread, cells) for rule, _ in judging)
                    if level > 0:
                        found[tuple(cells)] = _at(table, cells, level, c.name(unit))
    return tuple(found.values())


def _groups(table: Table, at_risk: NDArray[np.bool_]) -> Iterable[list[int]]:
    """The parts of every equation that holds a part at risk."""
    r = table.relations
    risky = np.unique(r.row[at_risk[r.indices]])
    for j in risky.tolist():
        total = int(r.total[j])
        if total >= 0:
            yield [i for i in r.equation(j)[1] if i != total]


class _SpreadUnits:
    """What units with several leaves contribute to each cell."""

    def __init__(self, parts: Parts, c: Contributions) -> None:
        many = np.bincount(parts.unit, minlength=len(c.names))
        self.units = set(np.flatnonzero(many > 1).tolist())
        rows = many[parts.unit] > 1
        owner, cell = parts.cells_above(parts.leaf[:, rows])
        unit, amount = parts.unit[rows][owner], parts.amount[rows][owner]
        order = np.lexsort((unit, cell))
        cell, unit, amount = cell[order], unit[order], amount[order]
        first = np.flatnonzero(np.concatenate(([True], (cell[1:] != cell[:-1]) | (unit[1:] != unit[:-1])))[: len(cell)])
        self._unit, self._amount = unit[first], np.add.reduceat(amount, first) if len(first) else amount
        self._start = np.searchsorted(cell[first], np.arange(c.cells + 1))

    def of(self, cell: int) -> dict[int, int]:
        """Who of them contributes how much to a cell."""
        rows = slice(self._start[cell], self._start[cell + 1])
        return dict(zip(self._unit[rows].tolist(), self._amount[rows].tolist(), strict=True))

    def amount(self, cell: int, unit: int) -> int:
        """What one of them contributes to a cell."""
        rows = slice(self._start[cell], self._start[cell + 1])
        at = int(np.searchsorted(self._unit[rows], unit))
        here = at < len(self._unit[rows]) and int(self._unit[rows][at]) == unit
        return int(self._amount[rows][at]) if here else 0


def _level(rule: Concentration, c: Contributions, spread: _SpreadUnits, cells: Sequence[int]) -> int:
    """The rule's level of a sum of cells, rounded up; its largest contributors are among those of the cells and the spread units."""
    together: dict[int, int] = {}
    for i in cells:
        for unit, amount in spread.of(i).items():
            together[unit] = together.get(unit, 0) + amount
        ranked = zip(c.unit[:, i].tolist(), c.top[:, i].tolist(), strict=True)
        together |= {unit: amount for unit, amount in ranked if unit >= 0 and unit not in spread.units}
    level = rule.level(int(c.size[cells].sum()), sorted(together.values(), reverse=True)[: rule.needs])
    return -(-level.numerator // level.denominator)


def _at(table: Table, cells: Sequence[int], level: int, unit: str) -> CellSum:
    index = np.array(cells, np.int64)
    room = int(table.scaled[index].sum()) - sum(max(low, -LARGEST) for low in table.lower[index].tolist())
    return CellSum(index, min(level, room), level, unit)
