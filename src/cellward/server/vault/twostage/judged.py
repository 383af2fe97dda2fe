"""Judged: what the rules say of any sets of records, each by itself: a set is at risk or not by its records alone, wherever it appears."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.exact import Ints
from cellward.risk.rule import Rule, contributions_of
from cellward.risk.threshold import Threshold
from cellward.server.vault.records import Records
from cellward.server.vault.twin.lattice import table_of_sets, sides

FEWEST = 3
"""Units that a difference of two published cells needs where the rules name no minimum."""


@dataclass(frozen=True, eq=False)
class Judged:
    """True values of sets, their records and units, and how far up or down each must go (0: it need not)."""

    value: Ints
    rows: Ints
    units: Ints
    up: Ints
    down: Ints


def judged(records: Records, database: Any, measure: int | None, rules: tuple[Rule, ...], cell: Ints, record: Ints, many: int) -> Judged:
    """So many sets, given as pairs of set and record; none is empty."""
    none = np.zeros(0, np.int64)
    if not many:
        return Judged(none, none, none, none, none)
    table, place = table_of_sets(records, database, measure, rules, record, cell)
    up, down = sides(table)
    own = contributions_of(table)
    columns = (table.scaled, own.rows, own.units, up, down)
    return Judged(*(np.asarray(column)[place] for column in columns))


def fewest_units(rules: tuple[Rule, ...]) -> int:
    """How many units a set of records needs at least."""
    return max((rule.n for rule in rules if isinstance(rule, Threshold) and rule.by == "units"), default=FEWEST)
