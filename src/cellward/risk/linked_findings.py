"""Linked findings: why cells of linked tables are at risk, put together from what was found in each; of two views of a cell the stricter counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from cellward.exact import Ints
from cellward.risk.findings import Findings
from cellward.risk.manual import Manual
from cellward.risk.rule import Rule
from cellward.table.linked_contributions import LinkedContributions
from cellward.table.table import Table


def link_findings(
    linked: Table, tables: Sequence[Table], places: Sequence[Ints], behind: LinkedContributions | None
) -> Findings | None:
    """The findings of the tables in the cells of the linked one; None where no table has any.

    A cell that is unsafe in one table is unsafe. One that is so by a status that a table was given keeps the levels that came with it.
    """
    if behind is None or all(table.findings is None for table in tables):
        return None
    hits: dict[int, Ints] = {}
    rules: list[Rule] = []
    found = [(table.findings, place) for table, place in zip(tables, places, strict=True) if table.findings is not None]
    for findings, place in found:
        for rule, hit in zip(findings.rules, findings.hits, strict=True):
            own = _placed(rule, findings.table, place)
            if own not in rules:
                rules.append(own)
            at = rules.index(own)
            hits[at] = _together([hits.get(at, np.zeros(0, np.int64)), place[hit]])
    unsafe = linked.sensitivity.unsafe
    by_rules = _together(place[findings.unsafe] for findings, place in found)
    given = [np.setdiff1d(unsafe, by_rules), *(place[findings.given] for findings, place in found)]
    return Findings(
        table=replace(linked, contributions=behind.every, findings=None),
        rules=tuple(rules),
        hits=tuple(hits[k] for k in range(len(rules))),
        unsafe=unsafe,
        waived=np.setdiff1d(_together(place[findings.waived] for findings, place in found), unsafe),
        published=np.setdiff1d(_together(place[findings.published] for findings, place in found), unsafe),
        declared_safe=_declared([(findings.declared_safe, place) for findings, place in found], unsafe),
        declared_fixed=_declared([(findings.declared_fixed, place) for findings, place in found], unsafe),
        given=np.intersect1d(_together(given), unsafe),
        consenting=_consenting(tables, behind),
        without_effect=_without_effect([findings for findings, _ in found], behind),
        policies=tuple(dict.fromkeys(policy for findings, _ in found for policy in findings.policies)),
    )


def _placed(rule: Rule, table: Table, place: Ints) -> Rule:
    """The rule as it reads in the linked table: cells that a person named are named by their numbers there."""
    if not isinstance(rule, Manual):
        return rule
    return replace(rule, cells={int(place[i]): reason for i, reason in rule.located(table).items()})


def _together(cells: Iterable[Ints]) -> Ints:
    return np.unique(np.concatenate([np.zeros(0, np.int64), *cells]))


def _declared(declared: Sequence[tuple[object, Ints]], unsafe: Ints) -> dict[int, str]:
    """Cells declared by hand with their reasons, without those that another table holds unsafe."""
    out: dict[int, str] = {}
    for reasons, place in declared:
        assert isinstance(reasons, dict)
        for i, reason in reasons.items():
            out.setdefault(int(place[i]), reason)
    return {i: out[i] for i in sorted(out.keys() - set(unsafe.tolist()))}


def _consenting(tables: Sequence[Table], behind: LinkedContributions) -> Ints:
    """The units that consent in one table, and stand behind no cell called unsafe in another where they do not."""
    yes, no = [], []
    for table, numbered in zip(tables, behind.units, strict=True):
        c, findings = table.contributions, table.findings
        if findings is None or c is None or numbered is None:
            continue
        units = c.unit[:, _together(findings.hits)]
        yes.append(numbered(findings.consenting))
        no.append(np.setdiff1d(numbered(units.ravel()), yes[-1]))
    return np.setdiff1d(_together(yes), _together(no))


def _without_effect(found: Sequence[Findings], behind: LinkedContributions) -> tuple[str, ...]:
    """Consents that no table has a use for."""
    lost = list(dict.fromkeys(name for findings in found for name in findings.without_effect))
    if not lost:
        return ()
    c = behind.every
    known = {c.known_as(c.name(unit)) for unit in np.unique(c.unit).tolist() if unit >= 0}
    return tuple(name for name in lost if c.known_as(name) not in known)
