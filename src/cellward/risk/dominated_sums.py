"""Sums of cells that one unit dominates: where a unit stands behind several cells of an equation, levels cell by cell do not protect their sum.

Section 3.1 of paper 004: an attacker's interval for the sum of some cells may be narrow though that of every cell is wide; two cells that are changed
against each other keep their sum. rules.md says which sums are looked at, and why a sum at risk always holds a cell at risk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, compress

import numpy as np

from cellward.exact import LARGEST, Bools, Ints
from cellward.risk.concentration import Concentration
from cellward.risk.rule import Rule
from cellward.table.cell_sums import CellSum
from cellward.table.contributions import Contributions, LinkedParts, Parts
from cellward.table.relations import Relations, ranges
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
    measures = [rule for rule, _ in judging]
    behind = _Behind(c, c.parts)
    found: dict[tuple[int, ...], CellSum | None] = {}
    shared = _shared(table.relations, c, c.parts, at_risk, consenting, max(rule.needs for rule in measures))
    for unit, children, mine in shared:
        for cells in _candidates(unit, mine, at_risk, behind, measures):
            if 2 <= len(cells) < children and cells not in found:
                found[cells] = _at_risk(table, c, behind, measures, cells, unit)
    return tuple(one for one in found.values() if one is not None)


def _shared(
    r: Relations, c: Contributions, parts: Parts | LinkedParts, at_risk: Bools, consenting: Ints, seen: int
) -> Iterable[tuple[int, int, list[int]]]:
    """Equation by equation the units that contribute to several of its parts and are among the ``seen`` largest of one at risk, in order: the unit,
    how many parts the equation has, and those that the unit contributes to.

    Found by joining what spread units contribute with the equations of each cell, so that nothing is looked at that a unit has no part in.
    """
    cell, unit, amount = parts.shares
    protected = np.isin(unit, np.setdiff1d(parts.in_several, consenting))
    cell, unit, amount = cell[protected], unit[protected], amount[protected]
    risky = np.zeros(r.equations, bool)
    risky[r.row[at_risk[r.indices]]] = True
    child = r.indices != r.total[r.row]
    entry = np.flatnonzero(child & (risky & (r.total >= 0))[r.row])
    entry = entry[np.argsort(r.indices[entry], kind="stable")]
    start, stop = (np.searchsorted(r.indices[entry], cell, side=side) for side in ("left", "right"))
    share, entry = np.repeat(np.arange(len(cell)), stop - start), entry[ranges(start, stop)]
    order = np.lexsort((entry, unit[share], r.row[entry]))
    share, entry = share[order], entry[order]
    if not len(entry):
        return
    row, whose, where = r.row[entry], unit[share], cell[share]
    first = np.flatnonzero(np.concatenate(([True], (row[1:] != row[:-1]) | (whose[1:] != whose[:-1]))))
    known = at_risk[where] & (c.unit[:seen, where] == whose).any(axis=0)
    contributes = amount[share] > 0
    several = np.add.reduceat(contributes.astype(np.int64), first) > 1
    several &= np.logical_or.reduceat(known, first)
    children = np.bincount(r.row[child], minlength=r.equations)
    ends = np.append(first[1:], len(entry))
    for begin, end in zip(first[several].tolist(), ends[several].tolist(), strict=True):
        yield int(whose[begin]), int(children[row[begin]]), where[begin:end][contributes[begin:end]].tolist()


def _candidates(
    unit: int, mine: list[int], at_risk: Bools, behind: _Behind, rules: Sequence[Concentration]
) -> Iterable[tuple[int, ...]]:
    """Sums of parts of one equation that may give a unit away: all it contributes to (``mine``), every two of these at risk, and for every partner
    the cells in which the two together are too much, which is the worst sum for them."""
    yield tuple(mine)
    own = [i for i in mine if at_risk[i]]
    yield from combinations(own, 2)
    if len(own) < 3:
        return
    partners = sorted({u for i in own for u in behind.largest(i)} - {unit})
    present: dict[int, list[int]] = {}
    for k, i in enumerate(own):
        for u in behind.of(i):
            present.setdefault(u, []).append(k)
    alone, without = (
        [[_together(rule, i, behind, unit, partner) for i in own] for rule in rules] for partner in (None, _NOBODY)
    )
    for mask in alone:
        yield tuple(compress(own, mask))
    for partner in partners:
        for rule, mask in zip(rules, without, strict=True):
            changed = mask.copy()
            for k in present.get(partner, ()):
                changed[k] = _together(rule, own[k], behind, unit, partner)
            yield tuple(compress(own, changed))


_NOBODY = -1
"""A partner that contributes nothing."""


def _together(rule: Concentration, cell: int, behind: _Behind, unit: int, partner: int | None) -> bool:
    """Whether a cell is unsafe with the unit first, its partner next, and then the largest others."""
    amounts = behind.of(cell)
    pair = [amounts.get(unit, 0), *([] if partner is None else [amounts.get(partner, 0)])]
    others = sorted((amount for u, amount in amounts.items() if u not in (unit, partner)), reverse=True)
    return rule.level(behind.size(cell), [*pair, *others[: max(rule.needs - 2, 0)]]) > 0


def _at_risk(
    table: Table,
    c: Contributions,
    behind: _Behind,
    rules: Sequence[Concentration],
    cells: tuple[int, ...],
    unit: int,
) -> CellSum | None:
    """The sum with its level, if a rule calls it unsafe; its largest contributors are among those of the cells and the spread units."""
    if all(sum(behind.level(rule, i) for i in cells) <= 0 for rule in rules):
        return None  # the level of a sum is at most the sum of the cells' levels, negative ones included (rules.md)
    together: Counter[int] = Counter()
    for i in cells:
        together.update(behind.of(i))
    index = np.array(cells, np.int64)
    largest = tuple(sorted(together.items(), key=lambda pair: (-pair[1], pair[0]))[: c.kept + 2])
    found = max(rule.level(int(c.size[index].sum()), [x for _, x in largest[: rule.needs]]) for rule in rules)
    level = -(-found.numerator // found.denominator)
    if level <= 0:
        return None
    room = int(table.scaled[index].sum()) - sum(max(low, -LARGEST) for low in table.lower[index].tolist())
    return CellSum(index, min(level, room), level, c.name(unit), largest)


class _Behind:
    """Who is known to contribute how much to a cell: the largest, and the units with several leaves; kept once asked for."""

    def __init__(self, c: Contributions, parts: Parts | LinkedParts) -> None:
        self._c = c
        cell, self._unit, self._amount = parts.shares
        self._start = np.searchsorted(cell, np.arange(c.cells + 1))
        self._known: dict[int, dict[int, int]] = {}

    def of(self, cell: int) -> dict[int, int]:
        """Contributions by unit."""
        known = self._known.get(cell)
        if known is None:
            rows = slice(self._start[cell], self._start[cell + 1])
            known = dict(zip(self._unit[rows].tolist(), self._amount[rows].tolist(), strict=True))
            ranked = zip(self._c.unit[:, cell].tolist(), self._c.top[:, cell].tolist(), strict=True)
            known |= {unit: amount for unit, amount in ranked if unit >= 0}
            self._known[cell] = known
        return known

    def level(self, rule: Concentration, cell: int) -> int:
        """The level of a cell, negative where it is safe, as a whole number with the denominator of the rule's measure."""
        c, measure = self._c, rule.measure
        largest = zip(measure.coefficients, c.top[:, cell].tolist(), strict=False)
        positive: int = sum(coefficient * x for coefficient, x in largest)
        return positive - measure.total * int(c.size[cell])

    def largest(self, cell: int) -> list[int]:
        """The units that are kept as the largest."""
        return [unit for unit in self._c.unit[:, cell].tolist() if unit >= 0]

    def size(self, cell: int) -> int:
        """The total X."""
        return int(self._c.size[cell])
