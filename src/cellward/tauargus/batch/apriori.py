"""A-priori changes carried out on a table: single cells called safe, unsafe, published or withheld, with costs and levels of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from cellward import exact
from cellward.errors import InputError, brief
from cellward.risk.attacker import Cell
from cellward.risk.manual import Manual
from cellward.table.levels import level_of
from cellward.table.sensitivity import CellStatus
from cellward.table.table import Table
from cellward.tauargus.batch.batch_table import BatchTable
from cellward.tauargus.files.codes import Codes
from cellward.tauargus.files.hst import Change
from cellward.tauargus.files.trees import hierarchies_of


@dataclass
class Said:
    """What the a-priori files of a table say so far; the last word on a cell counts."""

    status: dict[int, tuple[str, str]] = field(default_factory=dict)
    """By cell S, U, P or M, and where that is said."""
    levels: dict[int, tuple[str, str]] = field(default_factory=dict)
    costs: dict[int, str] = field(default_factory=dict)


def take(said: Said, made: BatchTable, changes: Sequence[Change], *, ignore: bool, expand: bool) -> list[str]:
    """Add the changes of a file to what is said; lines that name no cell are refused, or with ``ignore`` counted in a note."""
    table = made.table
    codes = [
        Codes(dict.fromkeys((*own, *made.more_codes.get(dim, ()))), total or "Total")
        for dim, own, total in zip(table.labels.dims, table.labels.codes, table.labels.totals, strict=True)
    ]
    chains = _chains(table) if expand else [{} for _ in codes]
    passed = 0
    for change in changes:
        found = [own.find(text) for own, text in zip(codes, change.codes, strict=True)]
        if None in found:
            k = found.index(None)
            if not ignore:
                raise InputError(
                    f"{change.where}: {table.labels.dims[k]} has no code {brief(change.codes[k])}; correct it, or let such lines be ignored"
                )
            passed += 1
            continue
        ranges = [chain.get(str(code), [str(code)]) for chain, code in zip(chains, found, strict=True)]
        for named in product(*ranges):
            cell = _cell(table, named)
            if cell is not None:
                _note(said, table, cell, change)
    lines = "1 line names" if passed == 1 else f"{passed} lines name"
    return [f"{changes[0].where.rpartition(' line ')[0]}: {lines} no cell of the table, passed over"] if passed else []


def _cell(table: Table, codes: tuple[str, ...]) -> int | None:
    """The cell; None where it is empty: of nothing, nothing can be said."""
    try:
        return table.labels.find(codes)
    except InputError:
        return None


def _note(said: Said, table: Table, cell: int, change: Change) -> None:
    c = table.contributions
    if (
        table.sensitivity.status[cell] == CellStatus.FIXED
        and table.scaled[cell] == 0
        and (c is None or not c.rows[cell])
    ):
        return
    if change.command in ("C", "W"):
        said.costs[cell] = change.numbers[0]
    elif change.command == "PL":
        said.levels[cell] = (change.numbers[0], change.numbers[1])
    else:
        said.status[cell] = (change.command[0], change.where)


def apply(said: Said, made: BatchTable) -> Table:
    """The table as the a-priori files leave it."""
    table = made.table
    table = _with_costs(table, said)
    return _found_again(table, said, made) if made.rules.rules else _changed(table, said, made.rules.manual_percent)


def _found_again(table: Table, said: Said, made: BatchTable) -> Table:
    """With rules: the decisions by hand stand beside them, and are reported with them; of what the table said by hand before, the rest stays."""
    kinds: dict[str, dict[Cell, str]] = {"unsafe": {}, "safe": {}, "fixed": {}}
    for rule in table.findings.rules if table.findings else ():
        if isinstance(rule, Manual):
            for i, why in rule.located(table).items():
                if i not in said.status:
                    kinds[rule.status][i] = why
    for i, (own, where) in said.status.items():
        if own in _WORDS:
            kinds[_WORDS[own]][i] = where
    percent = made.rules.manual_percent if float(made.rules.manual_percent) else None
    more = [
        Manual(cells, status=status, percent=percent if status == "unsafe" else None)
        for status, cells in kinds.items()
        if cells
    ]
    found = made.find(table, *more)
    levels = {i: (*own, 0) for i, own in said.levels.items() if found.sensitivity.status[i] == CellStatus.UNSAFE}
    if levels:
        found = made.find(table, *more, levels=levels)
    status_of = found.sensitivity.status.copy()
    hidden = [i for i, (own, _) in said.status.items() if own == "M" and status_of[i] == CellStatus.SAFE]
    status_of[hidden] = CellStatus.SECONDARY
    return found.with_sensitivity(replace(found.sensitivity, status=status_of))


_WORDS = {"U": "unsafe", "S": "safe", "P": "fixed"}


def _changed(table: Table, said: Said, percent: str) -> Table:
    """Without rules: the statuses and levels themselves."""
    s = table.sensitivity
    status, lpl, upl = s.status.copy(), s.lpl.copy(), s.upl.copy()
    share, places = exact.parse(percent, "MAN")
    codes = {"S": CellStatus.SAFE, "U": CellStatus.UNSAFE, "P": CellStatus.FIXED, "M": CellStatus.SECONDARY}
    for i, (letter, _) in said.status.items():
        unsafe = letter == "U"
        level = exact.rescale(abs(int(table.scaled[i])) * share, places + 2, 0, "up") if unsafe else 0
        status[i], lpl[i], upl[i] = codes[letter], level, level
        if unsafe and table.lower[i] >= 0:
            lpl[i] = min(level, int(table.scaled[i]))
    for i, (below, above) in said.levels.items():
        if status[i] == CellStatus.UNSAFE:
            lpl[i], upl[i] = (level_of(own, table.decimals, "PL", table.labels.name(i)) for own in (below, above))
    return table.with_sensitivity(replace(s, status=status, lpl=lpl, upl=upl))


def _with_costs(table: Table, said: Said) -> Table:
    if not said.costs:
        return table
    weight = np.abs(table.scaled) if table.weight is None else table.weight
    places = table.decimals if table.weight is None else table.weight_decimals
    finest = max([places, *(exact.parse(text, "cost")[1] for text in said.costs.values())])
    scaled = [exact.rescale(own, places, finest) for own in weight.tolist()]
    for i, text in said.costs.items():
        scaled[i] = exact.scale_one(text, finest, "cost") or 10**finest  # τ-ARGUS takes 0 for 1
    if max(scaled, default=0) > exact.LARGEST:
        raise InputError("the costs are beyond 2^53 in their last decimal; give rounder ones")
    return replace(table, weight=np.array(scaled, np.int64), weight_decimals=finest)


def _chains(table: Table) -> list[dict[str, list[str]]]:
    """For each dimension and code the codes that are the same cell under other names: totals of one part only, and their part."""
    out = []
    for tree in hierarchies_of(table).values():
        chain: dict[str, list[str]] = {code: [code] for code in tree.codes}
        for parent, children in tree.sums:
            if len(children) == 1:
                joined = [*chain[parent], *chain[children[0]]]
                chain.update(dict.fromkeys(joined, joined))
        out.append(chain)
    return out
