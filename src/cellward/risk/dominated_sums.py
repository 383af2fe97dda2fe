"""Sums of cells that one unit dominates: where a unit stands behind several cells of an equation, levels cell by cell do not protect their sum.

Section 3.1 of paper 004: an attacker's interval for the sum of some cells may be narrow though that of every cell is wide; two cells that are changed
against each other keep their sum. rules.md says which sums are looked at, and why a sum at risk always holds a cell at risk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from cellward.exact import LARGEST, Ints
from cellward.risk.concentration import Concentration
from cellward.risk.rule import Rule
from cellward.table.cell_sums import CellSum
from cellward.table.contributions import Contributions, LinkedParts, Parts
from cellward.table.table import Table


def dominated_sums(
    table: Table, rules: Sequence[Rule], unsafe: Ints, hits: Sequence[Ints], consenting: Ints
) -> tuple[CellSum, ...]:
    """The sums of cells within one equation that the concentration rules call unsafe, because a unit dominates them together."""
    c = table.contributions
    judging = [(rule, hit) for rule, hit in zip(rules, hits, strict=True) if isinstance(rule, Concentration)]
    if c is None or c.parts is None or c.negative or c.weighted is not None or not judging:
        return ()
    at_risk = np.zeros(table.cells, bool)
    at_risk[np.intersect1d(unsafe, np.concatenate([hit for _, hit in judging]))] = True
    spread = _SpreadUnits(c.parts, c)
    measures = [rule for rule, _ in judging]
    seen = max(rule.needs for rule in measures)
    protected = spread.units - set(consenting.tolist())
    found: dict[tuple[int, ...], CellSum | None] = {}
    for children in _groups(table, at_risk):
        risky = [i for i in children if at_risk[i]]
        for unit in sorted({u for i in risky for u in c.unit[:seen, i].tolist()} & protected):
            for cells in _candidates(unit, children, risky, c, spread, measures):
                if 2 <= len(cells) < len(children) and cells not in found:
                    found[cells] = _at_risk(table, c, spread, measures, cells, unit)
    return tuple(one for one in found.values() if one is not None)


def _candidates(
    unit: int,
    children: Sequence[int],
    risky: Sequence[int],
    c: Contributions,
    spread: _SpreadUnits,
    rules: Sequence[Concentration],
) -> Iterable[tuple[int, ...]]:
    """Sums of parts of one equation that may give a unit away: all it contributes to, every two of these at risk, and for every partner the cells
    in which the two together are too much, which is the worst sum for them."""
    yield tuple(i for i in children if spread.amount(i, unit) > 0)
    own = [i for i in risky if spread.amount(i, unit) > 0]
    yield from combinations(own, 2)
    ranked = {i: _ranked(i, c, spread) for i in own}
    partners: list[int | None] = sorted({u for i in own for u in c.unit[:, i].tolist() if u >= 0 and u != unit})
    for partner in [None, *partners]:
        for rule in rules:
            yield tuple(i for i in own if _together(rule, int(c.size[i]), ranked[i], unit, partner) > 0)


def _ranked(cell: int, c: Contributions, spread: _SpreadUnits) -> dict[int, int]:
    """Those known to contribute to a cell, and how much."""
    ranked = zip(c.unit[:, cell].tolist(), c.top[:, cell].tolist(), strict=True)
    return spread.of(cell) | {unit: amount for unit, amount in ranked if unit >= 0}


def _together(rule: Concentration, total: int, amounts: dict[int, int], unit: int, partner: int | None) -> Fraction:
    """The measure of a cell with the unit first, its partner next, and then the largest others."""
    pair = [amounts.get(unit, 0), *([] if partner is None else [amounts.get(partner, 0)])]
    others = sorted((amount for u, amount in amounts.items() if u not in (unit, partner)), reverse=True)
    return rule.level(total, [*pair, *others[: max(rule.needs - 2, 0)]])


def _at_risk(
    table: Table,
    c: Contributions,
    spread: _SpreadUnits,
    rules: Sequence[Concentration],
    cells: tuple[int, ...],
    unit: int,
) -> CellSum | None:
    """The sum with its level, if a rule calls it unsafe; its largest contributors are among those of the cells and the spread units."""
    together: Counter[int] = Counter()
    for i in cells:
        together.update(_ranked(i, c, spread))
    index = np.array(cells, np.int64)
    largest = tuple(sorted(together.items(), key=lambda pair: (-pair[1], pair[0]))[: c.kept + 2])
    found = max(rule.level(int(c.size[index].sum()), [x for _, x in largest[: rule.needs]]) for rule in rules)
    level = -(-found.numerator // found.denominator)
    if level <= 0:
        return None
    room = int(table.scaled[index].sum()) - sum(max(low, -LARGEST) for low in table.lower[index].tolist())
    return CellSum(index, min(level, room), level, c.name(unit), largest)


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

    def __init__(self, parts: Parts | LinkedParts, c: Contributions) -> None:
        self.units = set(parts.in_several.tolist())
        cell, self._unit, self._amount = parts.shares
        self._start = np.searchsorted(cell, np.arange(c.cells + 1))

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
