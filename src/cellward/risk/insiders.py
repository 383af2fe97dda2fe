"""Insiders: attackers that stand behind the cells they attack, found from the contributions; rules.md derives their levels.

Legend: X total of a cell, s what the attacker contributes to it, x_t the largest contribution of the others.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import LARGEST, NO_BOUND
from cellward.risk.attacker import Attacker
from cellward.risk.concentration import Concentration
from cellward.risk.findings import Findings
from cellward.risk.levels import Levels
from cellward.risk.rule import contributions_of
from cellward.table.contributions import Parts
from cellward.table.table import Table

Ints = NDArray[np.int64]
Units = tuple[int, ...]
IN_COALITION = 3
"""Coalitions are formed of two among so many of the largest."""


def insiders(table: Table, respondents: int, *, coalitions: bool, whole: bool) -> list[Attacker]:
    """An attacker for each of the largest units (and pairs of them) of the unsafe cells, in the order of their numbers.

    One that nothing has to be kept from is left out.
    """
    c, findings = contributions_of(table), table.findings
    if findings is None or c.parts is None:
        raise InputError(
            "attackers: the cells at risk of this table were not found by rules; use table.find(PPercent(10)) first"
        )
    whole_number = isinstance(respondents, int) and not isinstance(respondents, bool)
    if not whole_number or not 0 <= respondents <= c.kept:
        raise InputError(
            f"respondents={respondents!r}: give a whole number from 0 to {c.kept}, the largest contributions kept; tabulate with largest= for more"
        )
    if coalitions and c.kept < IN_COALITION:
        raise InputError(
            f"coalitions: they are formed among the {IN_COALITION} largest, but {c.kept} were kept; tabulate with largest=3"
        )
    targets: dict[Units, list[int]] = {}
    for i in findings.unsafe.tolist():
        present = [u for u in c.unit[:, i].tolist() if u >= 0]
        for u in present[:respondents]:
            targets.setdefault((u,), []).append(i)
        for pair in combinations(sorted(present[:IN_COALITION]), 2) if coalitions else ():
            targets.setdefault(pair, []).append(i)
    asked = _Asked(table, findings)
    found = (_attacker(table, c.parts, units, cells, asked, whole=whole) for units, cells in sorted(targets.items()))
    return [attacker for attacker in found if attacker is not None]


class _Asked:
    """How far an attacker must be kept from a cell: the strictest of the rules that call the cell unsafe, or what the user gave."""

    def __init__(self, table: Table, findings: Findings) -> None:
        self._table = table
        self._c = contributions_of(table)
        self._consenting = set(findings.consenting.tolist())
        self._given = set(findings.given.tolist())
        self._by_rule = [
            (rule, dict(zip(hit.tolist(), rule.judge(table).upl.tolist(), strict=True)))
            for rule, hit in zip(findings.rules, findings.hits, strict=True)
        ]

    def level(self, cell: int, units: Units, own: int) -> int:
        """The level in scaled units; 0: nothing."""
        if cell in self._given:
            return int(self._table.sensitivity.upl[cell])
        others = [
            (u, x)
            for u, x in zip(self._c.unit[:, cell].tolist(), self._c.top[:, cell].tolist(), strict=True)
            if u >= 0 and u not in units
        ]
        amounts = [x for _, x in others]
        protected = [x for u, x in others if u not in self._consenting]
        found = 0
        for rule, hit in self._by_rule:
            if cell not in hit:
                continue
            if isinstance(rule, Concentration):
                if not protected:
                    continue
                seen = amounts if rule.others_needed > 1 else protected
                level = rule.against(int(self._c.size[cell]), own, seen)
                found = max(found, -(-level.numerator // level.denominator))
            else:
                found = max(found, hit[cell])
        return min(found, LARGEST)


def _attacker(
    table: Table, parts: Parts, units: Units, targets: list[int], asked: _Asked, *, whole: bool
) -> Attacker | None:
    c = contributions_of(table)
    cell, own, members = _contributed(parts, units)
    alone = c.units[cell] == members
    at = np.searchsorted(cell, targets)
    wanted = [
        (i, asked.level(i, units, int(own[k]))) for i, k in zip(targets, at.tolist(), strict=True) if not alone[k]
    ]
    wanted = [(i, level) for i, level in wanted if level > 0]
    if not wanted:
        return None
    target = np.array([i for i, _ in wanted], np.int64)
    upl = np.array([level for _, level in wanted], np.int64)
    mine = np.full(len(cell), -NO_BOUND, np.int64) if c.negative else own
    floor = np.maximum(table.lower[target], mine[np.searchsorted(cell, target)])
    room = table.scaled[target] - np.maximum(floor, -LARGEST)
    value = table.scaled[cell]
    attacker = Attacker(
        name=_name(c.name(units[0]) if len(units) == 1 else f"{c.name(units[0])} and {c.name(units[1])}", len(units)),
        whole=whole,
        cell=cell,
        lower=np.where(alone, value, mine),
        upper=np.where(alone, value, NO_BOUND),
        own=np.zeros(len(cell), np.int64) if c.negative else own,
        levels=Levels(target, np.minimum(upl, room), upl, np.zeros(len(target), np.int64)),
    )
    attacker.check(table.scaled, table.labels, table.decimals)
    return attacker


def _contributed(parts: Parts, units: Units) -> tuple[Ints, Ints, Ints]:
    """The cells that these units contribute to, what they contribute together, and how many of them do."""
    each = [parts.of(u) for u in units]
    cell, where = np.unique(np.concatenate([cells for cells, _ in each]), return_inverse=True)
    own, members = np.zeros(len(cell), np.int64), np.zeros(len(cell), np.int64)
    np.add.at(own, where, np.concatenate([amount for _, amount in each]))
    np.add.at(members, where, 1)
    return cell, own, members


def _name(text: str, members: int) -> str:
    shown = text if text.isprintable() else ascii(text)
    return f"{'respondent' if members == 1 else 'coalition'} {shown}"
