"""Statuses as a file: what each cell of a suppressed table is, and by which rule, in our words and in those of others. Confidential."""

from __future__ import annotations

import csv
import io

from cellward.protection import Protection
from cellward.publication.withheld import Withheld
from cellward.table.table import Table
from cellward.tauargus.files.statuses import (
    WORDS,
    conf_status,
    letter,
    number,
    obs_status,
    rtauargus,
    states_of,
    with_pattern,
)

_COLUMNS = ("status", "rule", "tauargus", "tauargus letter", "rtauargus", "CONF_STATUS", "OBS_STATUS")


def statuses_csv(table: Table, result: Protection) -> bytes | None:
    """One row for each cell; None where nothing is withheld by a suppression."""
    if not isinstance(result.publication, Withheld):
        return None
    labels = {**table.labels.columns(), **table.labels.word_columns()}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*labels, *_COLUMNS])
    states = states_of(with_pattern(table, result.publication.withheld))
    for codes, state in zip(zip(*labels.values(), strict=True), states, strict=True):
        rule = "" if state.rule is None else state.rule.short
        others = (number(state), letter(state), rtauargus(state), conf_status(state), obs_status(state))
        writer.writerow([*codes, WORDS[state.state], rule, *others])
    return out.getvalue().encode()
