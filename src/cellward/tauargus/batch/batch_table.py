"""BatchTable: a table of a batch with what its outputs need, and the small changes that records and cells have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.hierarchy import Hierarchy
from cellward.risk.attacker import Cell
from cellward.risk.concentration import Concentration
from cellward.risk.manual import Manual
from cellward.risk.rule import Rule
from cellward.table.contributions import Contributions
from cellward.table.table import Table
from cellward.tauargus.batch.rules import Rules
from cellward.tauargus.files.codes import missing_codes
from cellward.tauargus.files.rda import Variable


@dataclass(frozen=True, kw_only=True)
class BatchTable:
    """A table with what else its outputs need: the rules, the hierarchies of its dimensions, and the codes that have no cell."""

    table: Table
    rules: Rules
    response: str
    counts: bool
    trees: Mapping[str, Hierarchy]
    more_codes: Mapping[str, list[str]]
    by_distance: bool = False
    """Whether cells cost the more the further they are from those at risk."""
    scaled_levels: bool = False
    notes: tuple[str, ...] = ()

    def largest(self, *, holdings: bool) -> int | None:
        """How many of the largest contributions an intermediate table has: those that the rules look at, of records or of holdings; None: all."""
        if not self.rules.rules:
            return None
        return self.rules.largest if self.rules.holdings == holdings else 0

    def find(self, table: Table, *more: Rule, levels: Any = None) -> Table:
        """The cells at risk of the table by its rules, and by these."""
        rules = [*self.rules.rules, *more]
        if not rules and not levels:
            return table
        found = table.find(*rules, levels=levels)
        return of_response(found) if self.scaled_levels else found


def with_cost(table: Table, cost: str) -> Table:
    """Costs that no variable gives: −1 the number of records, −2 one each; otherwise the value, or the distance (−3), which need no column."""
    if cost == "-2":
        return replace(table, weight=np.ones(table.cells, np.int64), weight_decimals=0)
    if cost == "-1":
        if table.contributions is None:
            raise InputError("costs by frequency (-1): the table holds no frequencies; leave the cost out")
        return replace(table, weight=np.array(table.contributions.rows), weight_decimals=0)
    return table


def of_shadow(c: Contributions) -> Contributions:
    """Contributions of a shadow variable: they say who is large, and not what anyone knows of the response."""
    return replace(c, parts=None)


def of_response(table: Table) -> Table:
    """Levels that rules computed on a shadow variable, on the scale of the response: times value over shadow, as in τ-ARGUS, rounded up."""
    c, findings, s = table.contributions, table.findings, table.sensitivity
    if c is None or findings is None:
        return table
    mine = [hits for rule, hits in zip(findings.rules, findings.hits, strict=True) if isinstance(rule, Concentration)]
    others = [
        hits for rule, hits in zip(findings.rules, findings.hits, strict=True) if not isinstance(rule, Concentration)
    ]
    cells = set(np.concatenate([*mine, np.zeros(0, np.int64)]).tolist()) - set(
        np.concatenate([*others, findings.given]).tolist()
    )
    lpl, upl = s.lpl.copy(), s.upl.copy()
    for i in cells:
        size, value = int(c.size[i]), abs(int(table.scaled[i]))
        if size and size != value:
            for level in (lpl, upl):
                level[i] = max(1, -(-int(level[i]) * value // size))
            lpl[i] = min(int(lpl[i]), int(table.scaled[i]) - max(int(table.lower[i]), -(2**53)))
    return table.with_sensitivity(replace(s, lpl=lpl, upl=upl))


def missing_cells(table: Table, variables: list[Variable]) -> tuple[Rule, ...]:
    """The rule that calls cells with a missing code safe."""
    labels, missing = table.labels, np.zeros(table.cells, np.bool_)
    for v, codes, index in zip(variables, labels.codes, labels.index, strict=True):
        named = set(missing_codes(v, codes)) | {"missing"}
        missing |= np.array([code in named for code in codes], np.bool_)[index]
    cells: dict[Cell, str] = {int(i): "the code is missing (MIS)" for i in np.flatnonzero(missing)}
    return (Manual(cells, status="safe"),) if cells else ()


def branches_note(v: Variable, tree: Hierarchy | None) -> str:
    """The note on branches of one name, which are called by their lines."""
    named = [code for code in (() if tree is None else tree.codes) if _BY_LINE.fullmatch(code)]
    return f"{v.name}: branches of one name are told apart by their lines, {', '.join(named[:5])}" if named else ""


_BY_LINE = re.compile(r".* \(line \d+\)")
