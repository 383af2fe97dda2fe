"""Tables ``.tab`` with their ``.rda``: one row a cell, totals included, the columns as the metadata name them.

An empty cell (``-``, nothing, or the status E) is a cell of value 0 that stays as it is. Levels are read of unsafe cells only: τ-ARGUS writes
a unit in the last place beside every other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cellward import exact
from cellward.errors import InputError, brief
from cellward.exact import Ints, Numbers
from cellward.files.text import naming, read_text
from cellward.hierarchy import Hierarchy
from cellward.table.frame import LongSpec, build_from_frame
from cellward.table.ranks import ranked
from cellward.table.table import Table
from cellward.tauargus.files.asc import separated, with_point
from cellward.tauargus.files.cells import in_code_order, with_empty_totals, with_safe_totals
from cellward.tauargus.files.codes import Codes, as_one, hierarchy_of, missing_codes
from cellward.tauargus.files.grc import closed
from cellward.tauargus.files.rda import Metadata, Variable, read_rda
from cellward.tauargus.files.references import companion

MANUAL_PERCENT = "20"
"""The level of a cell that is called unsafe without one, in percent of its value."""
_EMPTY = ("", "-")


def metadata_beside(path: Path, kind: str | None = None) -> Metadata:
    """The metadata of a data file: the ``.rda`` of the same name beside it."""
    found = companion(f"{path.stem}.rda", path)
    if found is None:
        raise InputError(f"{path}: there is no {path.stem}.rda beside it that says what its columns are; put it there")
    return read_rda(found, kind)


@dataclass(frozen=True, kw_only=True)
class TabSpec:
    """Which variables make the table: None takes all recodable ones as dimensions, the first number as response, and the metadata's own
    shadow and cost; ``cost`` may be the response."""

    dims: Sequence[str] | None = None
    response: str | None = None
    shadow: str | None = None
    cost: str | None = None
    totals: str = "given"
    """``given``: as they are, and they must add up; ``compute``: all anew."""
    keep_status: bool = True
    """Whether totals computed anew keep the statuses of their rows."""
    manual_percent: str = MANUAL_PERCENT
    decimals: int | None = None
    additive: str | None = None
    keep_values: Any = ()
    additive_weights: str = "equal"
    closed: Mapping[str, Sequence[str]] | None = None
    """For each dimension codes whose parts are left out."""


def read_tab(path: str | os.PathLike[str], metadata: Metadata | None = None, spec: TabSpec | None = None) -> Table:
    """Read a table; without metadata, the ``.rda`` of the same name beside it says what the columns are."""
    path = Path(path)
    metadata = metadata_beside(path, "table") if metadata is None else metadata
    if metadata.kind != "table":
        raise InputError(f"{metadata.path}: describes records, not a table; give the .rda of {path.name}")
    return _Reading(path, metadata, spec or TabSpec()).table()[0]


def read_tab_and_trees(path: Path, metadata: Metadata, spec: TabSpec) -> tuple[Table, dict[str, Hierarchy]]:
    """Read a table, and the hierarchies that its metadata give its dimensions, codes without a row included."""
    return _Reading(path, metadata, spec).table()


class _Reading:
    """One file on its way to a table."""

    def __init__(self, path: Path, metadata: Metadata, spec: TabSpec) -> None:
        self.path, self.metadata, self.spec = path, metadata, spec
        recodable = [v for v in metadata.variables if v.recodable]
        where = str(metadata.path)
        self.dims = recodable if spec.dims is None else [metadata.variable(name, where) for name in spec.dims]
        if not self.dims:
            raise InputError(f"{where}: no variable is <RECODEABLE>; say which columns are the dimensions")
        if flat := [v for v in self.dims if not v.recodable]:
            raise InputError(f"{where}: {flat[0].name} is not <RECODEABLE>; name a dimension")
        self.others = [v for v in recodable if v not in self.dims]
        self.response = self._response()
        self.frequency = next(iter(metadata.of_role("frequency")), None)
        self.shadow = self._variable_of(spec.shadow, "shadow")
        self.cost = self._variable_of(spec.cost, "cost")
        self.status, self.lpl, self.upl = (
            next(iter(metadata.of_role(role)), None) for role in ("status", "lpl", "upl")
        )
        self.largest = metadata.of_role("largest")

    def _response(self) -> Variable:
        if self.spec.response is not None:
            found = self.metadata.variable(self.spec.response, str(self.metadata.path))
            if found.role not in ("number", "frequency", "shadow", "cost"):
                raise InputError(f"{self.metadata.path}: {found.name} is no number; name the column of values")
            return found
        given = (*self.metadata.of_role("number"), *self.metadata.of_role("frequency"))
        if not given:
            raise InputError(
                f"{self.metadata.path}: no variable is <NUMERIC> or <FREQUENCY>; say which column holds the values"
            )
        return given[0]

    def _variable_of(self, name: str | None, role: str) -> Variable | None:
        if name is not None:
            return self.metadata.variable(name, str(self.metadata.path))
        return next(iter(self.metadata.of_role(role)), None)

    # ---- rows ------------------------------------------------------------------------------------------------------------------------------

    def table(self) -> tuple[Table, dict[str, Hierarchy]]:
        """The table of the rows, and its hierarchies."""
        text = read_text(self.path)
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        rows = separated(self.path, self.metadata.separator, lines, len(self.metadata.variables))
        at = {v.name: k for k, v in enumerate(self.metadata.variables)}
        column = {v.name: [fields[at[v.name]] for _, fields in rows] for v in self.metadata.variables}
        keep = self._kept(column, len(rows))
        self.line = [rows[i][0] for i in keep]
        self.column = {name: [entries[i] for i in keep] for name, entries in column.items()}
        if not keep:
            raise InputError(
                f"{self.path}: no row is left of which a table could be made; check the codes of the total in the .rda"
            )
        trees = self._codes()
        return self._built(trees), trees

    def _kept(self, column: dict[str, list[str]], many: int) -> list[int]:
        """The rows of this table: dimensions that it lacks stand at their total."""
        keep = list(range(many))
        for v in self.others:
            keep = [i for i in keep if column[v.name][i].strip().casefold() in ("", v.total.strip().casefold())]
        return keep

    def _codes(self) -> dict[str, Hierarchy]:
        """Settles the codes of every dimension, in place, and gives the hierarchies."""
        trees: dict[str, Hierarchy] = {}
        for v in self.dims:
            texts = self.column[v.name]
            plain = as_one(texts, v.total)
            tree = hierarchy_of(v, self.metadata, plain.values())
            if tree is not None:
                known = Codes(tree.codes, v.total)
                plain = {text: known.find(text) or code for text, code in plain.items()}
                lost = missing_codes(v, [code for code in plain.values() if code not in known.known])
                tree = tree.adding(*lost)
            self.column[v.name] = [plain[text] for text in texts]
            if tree is not None:
                trees[v.name] = tree
        return self._without_closed(trees)

    def _without_closed(self, trees: dict[str, Hierarchy]) -> dict[str, Hierarchy]:
        """The hierarchies without what is below closed codes, and the rows gone that stand there."""
        for name, shut in (self.spec.closed or {}).items():
            v = self.metadata.variable(name, str(self.path))
            if v.name not in trees:
                raise InputError(f"{self.path}: {v.name} has no hierarchy to close codes in; leave the recoding out")
            trees[v.name], above = closed(trees[v.name], shut, f"{self.path}, {v.name}")
            keep = [i for i, code in enumerate(self.column[v.name]) if code not in above]
            self.line = [self.line[i] for i in keep]
            self.column = {key: [entries[i] for i in keep] for key, entries in self.column.items()}
        return trees

    # ---- cells -----------------------------------------------------------------------------------------------------------------------------

    def _place(self, row: int, name: str) -> str:
        return f"{self.path} line {self.line[row]}, column {name}"

    def _numbers(self, v: Variable, empty: Sequence[bool] | None = None) -> Numbers:
        """A column of numbers; no entry is 0, and so are those of empty cells."""
        entries = [with_point(text.strip()) for text in self.column[v.name]]
        filled = ["0" if text in _EMPTY or (empty is not None and empty[i]) else text for i, text in enumerate(entries)]
        return Numbers.read(filled, lambda i: self._place(i, v.name))

    def _letters(self) -> tuple[list[str], list[bool]]:
        """For every row our status letter, and whether its cell is empty."""
        values = [text.strip() for text in self.column[self.response.name]]
        safe, unsafe, protect = self.metadata.letters
        ours = {safe: "s", unsafe: "u", protect: "z", "M": "m", "": "s"}
        if self.status is None:
            empty = [text in _EMPTY for text in values]
            if self.frequency is not None and self.frequency is not self.response:
                count, value = self._numbers(self.frequency), self._numbers(self.response)
                empty = [e or (not m and not f) for e, m, f in zip(empty, value.mantissa, count.mantissa, strict=True)]
            return ["z" if e else "s" for e in empty], empty
        given = [text.strip().upper() for text in self.column[self.status.name]]
        empty, letters = [], []
        for i, (text, letter) in enumerate(zip(values, given, strict=True)):
            none = letter == "E" or text in _EMPTY
            if letter not in ours and letter != "E":
                raise InputError(
                    f"{self._place(i, self.status.name)}: the status {brief(letter)} is not known; use {safe}, {unsafe}, {protect}, M or E, or "
                    "name the letters at the top of the .rda"
                )
            if letter == "E" and text not in _EMPTY and any(digit in text for digit in "123456789"):
                raise InputError(
                    f"{self._place(i, self.status.name)}: the status is E, empty, and the value {brief(text)}; correct one of them"
                )
            empty.append(none)
            letters.append("z" if none else ours[letter])
        return letters, empty

    def _built(self, trees: dict[str, Hierarchy]) -> Table:
        letters, empty = self._letters()
        values = self._numbers(self.response)
        shadow = values if self.shadow is None else self._numbers(self.shadow, empty)
        tops = [self._numbers(v, empty) for v in self.largest]
        decimals = self.spec.decimals
        if decimals is None:
            decimals = max([self.response.decimals, values.decimals, shadow.decimals, *(top.decimals for top in tops)])
        levels = self._levels(letters, values, decimals)
        columns: dict[str, object] = {v.name: self.column[v.name] for v in self.dims}
        names = _names(len(self.dims))
        columns = dict(zip(names, columns.values(), strict=True))
        columns |= {"value": [exact.text(int(m), int(d)) for m, d in zip(values.mantissa, values.places, strict=True)]}
        columns |= {"status": letters, "lpl": levels[0], "upl": levels[1]}
        cost = None
        if self.cost is not None:
            cost = "cost"
            columns[cost] = self._costs(self.cost)
        called = dict(zip(names, (v.name for v in self.dims), strict=True)) | {
            "value": self.response.name,
            "status": "" if self.status is None else self.status.name,
            "cost": "" if self.cost is None else self.cost.name,
        }
        spec = LongSpec(
            dims=names,
            value="value",
            hierarchies={name: trees[v.name] for name, v in zip(names, self.dims, strict=True) if v.name in trees},
            total={name: v.total for name, v in zip(names, self.dims, strict=True)},
            totals="compute" if self.spec.totals == "compute" else "auto",
            status="status",
            lpl="lpl",
            upl="upl",
            cost=cost,
            decimals=decimals,
            lower=None if any(int(m) < 0 for m in values.mantissa) else 0,
            additive=self.spec.additive,
            keep_values=self.spec.keep_values,
            additive_weights=self.spec.additive_weights,
        )
        with naming(self.path):
            table = build_from_frame(columns, spec, lambda row, name: self._place(row, called.get(name, name)))
        table = in_code_order(replace(table, labels=replace(table.labels, dims=tuple(v.name for v in self.dims))))
        if not self.spec.keep_status and self.spec.totals == "compute":
            table = with_safe_totals(table)
        row = self._rows_of(table)
        return self._with_contributions(with_empty_totals(table, row), row, decimals, shadow, tops)

    def _rows_of(self, table: Table) -> Ints:
        """The row of every cell; −1 for a total without one, which is empty (τ-ARGUS leaves empty rows out), or to be computed."""
        by_codes = {codes: i for i, codes in enumerate(zip(*(self.column[v.name] for v in self.dims), strict=True))}
        row = np.array([by_codes.get(table.labels.tuple_of(i), -1) for i in range(table.cells)], np.int64)
        lost = np.flatnonzero((row < 0) & (table.scaled != 0))
        if len(lost) and self.spec.totals != "compute":
            more = "" if len(lost) == 1 else f" (nor for {len(lost) - 1} more)"
            raise InputError(
                f"{self.path}: there is no row for the total {table.labels.name(int(lost[0]))}{more}; add it, or have totals computed "
                "(--totals compute, <READTABLE> 1)"
            )
        return row

    def _levels(self, letters: list[str], values: Numbers, decimals: int) -> tuple[list[str], list[str]]:
        """Levels below and above of the unsafe rows: given, or in percent of the value."""
        percent, places = exact.parse(self.spec.manual_percent, "the margin of cells unsafe by hand")
        sides: list[list[str]] = []
        for v in (self.lpl, self.upl):
            given = [""] * len(letters) if v is None else [with_point(text.strip()) for text in self.column[v.name]]
            side = []
            for i, (letter, text) in enumerate(zip(letters, given, strict=True)):
                if letter != "u":
                    side.append("0")
                elif text not in _EMPTY:
                    exact.parse(text, self._place(i, "" if v is None else v.name))
                    side.append(text)
                else:
                    m, d = abs(int(values.mantissa[i])) * percent, int(values.places[i]) + places + 2
                    side.append(exact.text(exact.rescale(m, d, decimals, "up"), decimals))
            sides.append(side)
        return sides[0], sides[1]

    def _costs(self, v: Variable) -> list[str]:
        numbers = self._numbers(v)
        sizes = [abs(int(m)) if v is self.response else int(m) for m in numbers.mantissa]
        return [exact.text(m, int(d)) for m, d in zip(sizes, numbers.places, strict=True)]

    def _with_contributions(
        self, table: Table, row: Ints, decimals: int, shadow: Numbers, tops: list[Numbers]
    ) -> Table:
        """The table with its frequencies and largest contributions, where every cell that is not empty has a row that gives them."""
        counted = self.response if self.response.role == "frequency" else self.frequency
        if counted is None:
            return table
        if ((row < 0) & (table.scaled != 0)).any():
            return table
        order = row

        def of_cells(column: Ints) -> Ints:
            return np.where(order < 0, 0, column[order])

        rows = of_cells(self._numbers(counted).scaled(0))
        if (rows < 0).any():
            raise InputError(
                f"{self._place(int(order[rows.argmin()]), counted.name)}: a negative frequency; correct it"
            )
        size = np.abs(of_cells(shadow.scaled(decimals)))
        top = np.array([of_cells(own.scaled(decimals)) for own in tops], np.int64).reshape(len(tops), table.cells)
        if (wrong := (np.diff(top, axis=0) > 0) | (top[1:] < 0) if len(top) else np.zeros((0, 0), bool)).any():
            i = int(order[int(wrong.any(axis=0).argmax())])
            raise InputError(
                f"{self._place(i, self.largest[0].name)}: the largest contributions do not descend; sort them, the largest first"
            )
        return replace(table, contributions=ranked(table, rows, size, top, negative=bool((table.scaled < 0).any())))


def _names(many: int) -> list[str]:
    """Names of dimensions that no other column of ours has."""
    return [f"dimension {k + 1}" for k in range(many)]
