"""Sums of cells that one unit dominates, by their definition in rules.md: every equation, every unit, every part, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from cellward.risk.concentration import Concentration
from cellward.table.table import Table

Found = tuple[tuple[int, ...], int, int, str, tuple[tuple[int, int], ...]]
"""Cells, lpl, upl, unit and the largest contributors of a sum."""


def sums_of(table: Table) -> list[Found]:
    """The sums at risk of a table whose cells at risk were found by rules, in the order in which they are looked at."""
    c, findings = table.contributions, table.findings
    assert c is not None and c.parts is not None and findings is not None
    rules = [rule for rule in findings.rules if isinstance(rule, Concentration)]
    called = [set(hit.tolist()) for rule, hit in zip(findings.rules, findings.hits, strict=True) if rule in rules]
    at_risk = set(findings.unsafe.tolist()) & set().union(*called)
    share: dict[int, dict[int, int]] = {}
    for cell, unit, amount in zip(*(column.tolist() for column in c.parts.shares), strict=True):
        share.setdefault(cell, {})[unit] = amount
    units = set(c.parts.in_several.tolist()) - set(findings.consenting.tolist())
    needs = max((rule.needs for rule in rules), default=0)

    def behind(cell: int) -> dict[int, int]:
        ranked = zip(c.unit[:, cell].tolist(), c.top[:, cell].tolist(), strict=True)
        return share.get(cell, {}) | {unit: amount for unit, amount in ranked if unit >= 0}

    def together(rule: Concentration, cell: int, unit: int, partner: int | None) -> Fraction:
        amounts = behind(cell)
        pair = [amounts.get(unit, 0), *([] if partner is None else [amounts.get(partner, 0)])]
        others = sorted((x for u, x in amounts.items() if u not in (unit, partner)), reverse=True)
        return rule.level(int(c.size[cell]), [*pair, *others[: max(rule.needs - 2, 0)]])

    found: dict[tuple[int, ...], Found | None] = {}
    r = table.relations
    for j in range(r.equations):
        total = int(r.total[j])
        children = [i for i in r.equation(j)[1] if i != total]
        risky = [i for i in children if i in at_risk]
        if total < 0 or not risky:
            continue
        for unit in sorted({u for i in risky for u in c.unit[:needs, i].tolist()} & units):
            own = [i for i in risky if share.get(i, {}).get(unit, 0) > 0]
            partners = sorted({u for i in own for u in c.unit[:, i].tolist() if u >= 0 and u != unit})
            candidates = [
                tuple(i for i in children if share.get(i, {}).get(unit, 0) > 0),
                *combinations(own, 2),
                *(
                    tuple(i for i in own if together(rule, i, unit, partner) > 0)
                    for partner in [None, *partners]
                    for rule in rules
                ),
            ]
            for cells in candidates:
                if 2 <= len(cells) < len(children) and cells not in found:
                    found[cells] = _judged(table, rules, cells, unit, [behind(i) for i in cells])
    return [one for one in found.values() if one is not None]


def _judged(
    table: Table, rules: Sequence[Concentration], cells: tuple[int, ...], unit: int, behind: Sequence[dict[int, int]]
) -> Found | None:
    c = table.contributions
    assert c is not None
    sums: Counter[int] = Counter()
    for one in behind:
        sums.update(one)
    largest = tuple(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[: c.kept + 2])
    index = np.array(cells)
    level = max(rule.level(int(c.size[index].sum()), [x for _, x in largest[: rule.needs]]) for rule in rules)
    asked = -(-level.numerator // level.denominator)
    if asked <= 0:
        return None
    room = int(table.scaled[index].sum() - table.lower[index].sum())
    return cells, min(asked, room), asked, c.name(unit), largest
