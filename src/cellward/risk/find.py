"""Finding the cells at risk: every rule judges the table, exceptions are applied, and the reasons are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.exact import Bools, Ints
from cellward.risk.attacker import Cell
from cellward.risk.dominated_sums import dominated_sums
from cellward.risk.findings import Findings
from cellward.risk.manual import STATUSES, Manual
from cellward.risk.policy import Policy
from cellward.risk.rule import Judgement, Rule, contributions_of
from cellward.table.levels import level_of
from cellward.table.sensitivity import CellStatus, Sensitivity
from cellward.table.table import Table

__all__ = ["Findings", "find"]


def find(
    table: Table,
    rules: Sequence[Rule | Policy],
    *,
    waivers: Iterable[str] = (),
    frozen: Iterable[Cell] = (),
    levels: Mapping[Cell, tuple[Any, Any, Any]] | None = None,
) -> tuple[Sensitivity, Findings]:
    """The cells that any rule calls unsafe, with the largest of the rules' levels, and why.

    ``waivers`` are units that consent to publication. ``frozen`` cells are published already: they become fixed, and are reported where a rule calls
    them unsafe; cells that the table itself holds fixed stay so. ``levels`` maps cells to (lpl, upl, spl) in the table's units; they replace the
    rules' levels, and make a cell unsafe that no rule calls so. What the table held at risk before does not count.
    """
    policies = tuple(one for one in rules if isinstance(one, Policy)) if isinstance(rules, Iterable) else ()
    rules = _checked(rules, levels)
    waivers = _names(waivers)
    judged = [rule.judge(table) for rule in rules]
    consenting = _consenting(table, judged, waivers)
    asked = judged if not len(consenting) else _after_waivers(table, rules, judged, consenting)

    unsafe = np.zeros(table.cells, np.bool_)
    lpl, upl, spl = (np.zeros(table.cells, np.int64) for _ in range(3))
    for j in asked:
        unsafe[j.cell] = True
        for whole, own in ((lpl, j.lpl), (upl, j.upl), (spl, j.spl)):
            whole[j.cell] = np.maximum(whole[j.cell], own)
    called = np.zeros(table.cells, np.bool_)
    for j in judged:
        called[j.cell] = True
    waived = called & ~unsafe

    by_hand = {status: _declared(table, rules, status) for status in STATUSES}
    for other in ("safe", "fixed"):
        if both := by_hand["unsafe"].keys() & by_hand[other].keys():
            name = table.labels.name(min(both))
            raise InputError(f"Manual: {name} is declared both unsafe and {other}; declare it once")
    fixed = table.sensitivity.fixed.copy()
    fixed[[*_cells(table, frozen, "frozen"), *by_hand["fixed"]]] = True
    off = fixed.copy()
    off[list(by_hand["safe"])] = True

    given = _given(table, levels or {}, off)
    for i, (below, above, width) in given.items():
        unsafe[i], lpl[i], upl[i], spl[i] = True, below, above, width
        waived[i] = False
    unsafe[off], lpl[off], upl[off], spl[off] = False, 0, 0, 0
    status = np.zeros(table.cells, np.uint8)
    status[unsafe] = CellStatus.UNSAFE
    status[fixed] = CellStatus.FIXED
    findings = Findings(
        table=table if table.findings is None else replace(table, findings=None),
        rules=rules,
        hits=tuple(j.cell for j in judged),
        unsafe=np.flatnonzero(unsafe),
        waived=np.flatnonzero(waived & ~off),
        published=np.flatnonzero(called & fixed),
        declared_safe=by_hand["safe"],
        declared_fixed=by_hand["fixed"],
        given=np.array(sorted(given), np.int64),
        consenting=consenting,
        without_effect=_unknown(table, waivers),
        policies=policies,
    )
    sums = dominated_sums(table, rules, findings.unsafe, findings.hits, consenting)
    return Sensitivity(status, lpl, upl, spl, sums), findings


def _checked(rules: object, levels: object) -> tuple[Rule, ...]:
    """The rules, each given once; at least one where no levels are given either. A policy stands for its rules; one that is also given by itself
    counts once."""
    given = tuple(rules) if isinstance(rules, Iterable) else (rules,)
    of_policies = [rule for policy in given if isinstance(policy, Policy) for rule in policy.rules]
    single = [rule for rule in given if not isinstance(rule, Policy)]
    for k, rule in enumerate(single):
        if not isinstance(rule, Rule):
            raise InputError(
                f"find: {rule!r} is no rule; give rules such as PPercent(10) and Threshold(3), or a Policy"
            )
        if rule in single[:k]:
            raise InputError(f"find: the rule {rule.short} is given twice; give it once")
    found: list[Rule] = []
    for rule in [*of_policies, *single]:
        if rule not in found:
            found.append(rule)
    if levels is not None and not isinstance(levels, Mapping):
        raise InputError(f"find: levels={levels!r} is no mapping of cells; write {{cell: (lpl, upl, spl)}}")
    if not found and not levels:
        raise InputError("find: there is no rule to judge the cells by; give one or more, such as PPercent(10)")
    return tuple(found)


def _names(waivers: Iterable[str]) -> list[str]:
    """The names of the units that consent."""
    names = [] if isinstance(waivers, str) else list(waivers)
    if isinstance(waivers, str) or not all(isinstance(name, str) for name in names):
        raise InputError(f"find: waivers={waivers!r}; give a list of the names of units")
    return names


def _consenting(table: Table, judged: list[Judgement], names: Sequence[str]) -> Ints:
    """The units behind the cells called unsafe that have one of these names."""
    if not names or not judged:
        return np.zeros(0, np.int64)
    c = contributions_of(table)
    known = set(map(c.known_as, names))
    units = np.unique(c.unit[:, np.concatenate([j.cell for j in judged])]).tolist()
    return np.array([u for u in units if u >= 0 and c.known_as(c.name(u)) in known], np.int64)


def _unknown(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """The names that no unit has which is among the largest of a cell: their consent changes nothing, and may be a slip of the pen."""
    c = table.contributions
    if not names or c is None:
        return ()
    known = {c.known_as(c.name(unit)) for unit in np.unique(c.unit).tolist() if unit >= 0}
    return tuple(name for name in dict.fromkeys(names) if c.known_as(name) not in known)


def _after_waivers(table: Table, rules: Sequence[Rule], judged: list[Judgement], consenting: Ints) -> list[Judgement]:
    """What the rules still ask when these units have consented."""
    unit = contributions_of(table).unit
    return [
        rule.after_waivers(table, j, np.isin(unit[:, j.cell], consenting))
        for rule, j in zip(rules, judged, strict=True)
    ]


def _declared(table: Table, rules: Sequence[Rule], status: str) -> dict[int, str]:
    """The cells that were given this status by hand, and why."""
    found: dict[int, str] = {}
    for rule in rules:
        if isinstance(rule, Manual) and rule.status == status:
            found |= rule.located(table)
    return found


def _cells(table: Table, cells: Iterable[Cell], what: str) -> list[int]:
    """The numbers of cells that are named by number or codes."""
    if isinstance(cells, str) or not isinstance(cells, Iterable):
        raise InputError(f"find: {what}={cells!r}; give a list of cells")
    return [_find(table, cell, what) for cell in cells]


def _find(table: Table, cell: Cell, what: str) -> int:
    try:
        return table.labels.find(cell)
    except InputError as error:
        raise InputError(f"find, {what}: {error}") from None


def _given(table: Table, levels: Mapping[Cell, tuple[Any, Any, Any]], off: Bools) -> dict[int, list[int]]:
    """The user's levels, scaled; refused for cells that are not to be protected."""
    found: dict[int, list[int]] = {}
    for cell, own in levels.items():
        i = _find(table, cell, "levels")
        where = f"find: level of {table.labels.name(i)}"
        if i in found:
            raise InputError(f"{where}: the cell is named twice; name it once")
        if off[i]:
            raise InputError(
                f"{where}: the cell is fixed or declared safe, so no level can be asked; leave one of the two out"
            )
        if not isinstance(own, tuple | list) or len(own) != 3:
            raise InputError(f"{where}: {own!r}; give (lpl, upl, spl)")
        called = zip(("lpl", "upl", "spl"), own, strict=True)
        found[i] = [level_of(level, table.decimals, f"find, {name}", table.labels.name(i)) for name, level in called]
    return found
