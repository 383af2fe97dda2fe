"""JJ: the field's exchange format; cells with values, weights, statuses, bounds and levels, then the equations.

0                                             first line: a version mark
n                                             number of cells
index value weight status lb ub lpl upl spl   n lines, index from 0; status s safe, u unsafe, m secondary, z fixed
m                                             number of equations
rhs k : cell (coef) cell (coef) …             m lines of k terms

A companion ``FILE.jj.frq`` may hold a line ``records holdings`` for every cell: how many stand behind it (holdings 0: not known).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.exact import LARGEST, NO_BOUND, Numbers
from cellward.files.text import naming, read_text
from cellward.files.whole import write_whole
from cellward.table.assemble import STATUS_LETTERS, assemble, read_status
from cellward.table.contributions import Contributions
from cellward.table.labels import Labels
from cellward.table.levels import INFINITE, marked
from cellward.table.made_additive import Additive
from cellward.table.relations import Relations
from cellward.table.sensitivity import CellStatus
from cellward.table.table import Table

_FIRST_LINES = {"0", "-1", "2", "3", "4", "-4"}
_COLUMNS = ("index", "value", "weight", "status", "lb", "ub", "lpl", "upl", "spl")
_LETTER = {status: letter for letter, status in STATUS_LETTERS.items()}


class _Lines:
    """The lines of a file with their numbers; running out of them says what is missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: Iterator[tuple[int, str]] = iter(
            (number, line) for number, line in enumerate(read_text(path).split("\n"), 1) if line.strip()
        )
        self.number = 0

    def next(self, wanted: str) -> str:
        try:
            self.number, line = next(self._lines)
        except StopIteration:
            raise InputError(
                f"{self.path}: the file ends after line {self.number} where {wanted} should follow; it is cut off"
            ) from None
        return line.strip()

    def error(self, message: str) -> InputError:
        return InputError(f"{self.path} line {self.number}: {message}")

    def count(self, wanted: str, most: int) -> int:
        text = self.next(wanted)
        if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most):
            raise self.error(f"{text[:40]!r} is not {wanted}; give a whole number up to {most:,}")
        return int(text)

    def end(self) -> None:
        extra = next(self._lines, None)
        if extra is not None:
            raise InputError(
                f"{self.path} line {extra[0]}: text after the last equation; check the number of equations"
            )


def read_jj(
    path: str | Path,
    *,
    decimals: int | None = None,
    additive: str | None = None,
    keep_values: Any = (),
    additive_weights: str = "equal",
) -> Table:
    """Read a JJ file; a cell marked z is fixed, one marked u is unsafe with its levels. ``additive`` and what follows: as for long tables."""
    path = Path(path)
    wish = Additive.of(additive, keep_values, additive_weights)
    lines = _Lines(path)
    first = lines.next("the first line")
    if first not in _FIRST_LINES:
        raise lines.error(
            f"a JJ file starts with a line 0 (or -1, 2, 3, 4, -4), not {first[:40]!r}; is this a JJ file?"
        )
    n = lines.count("the number of cells", 100_000_000)
    if n == 0:
        raise lines.error("the table has no cells; give at least one")
    rows, at = [], []
    for i in range(n):
        fields = lines.next(f"cell {i} of {n}").split()
        if len(fields) != len(_COLUMNS):
            raise lines.error(
                f"cell {i} has {len(fields)} entries, not the {len(_COLUMNS)} of a JJ file ({' '.join(_COLUMNS)})"
            )
        if fields[0] != str(i):
            raise lines.error(
                f"the cell index is {fields[0][:40]!r} where {i} should stand; number the cells from 0 in order"
            )
        rows.append(fields)
        at.append(lines.number)
    column = dict(zip(_COLUMNS, zip(*rows, strict=True), strict=True))

    def numbers(name: str) -> Numbers:
        entries = marked(column[name]) if name in ("lpl", "upl") else column[name]
        return Numbers.read(entries, lambda i: f"{path} line {at[i]}, column {name}")

    def levels(name: str) -> Numbers:
        """Beyond any value, a level forbids its side."""
        found = numbers(name)
        entries = zip(column[name], found.mantissa, found.places.tolist(), strict=True)
        beyond = ["inf" if int(m) >= LARGEST * 10 ** int(d) else text for text, m, d in entries]
        return Numbers.read(marked(beyond), found.where)

    status = read_status(list(column["status"]), lambda i: f"{path} line {at[i]}, column status")
    relations, rhs = _read_equations(lines, n)
    values, lb, ub = numbers("value"), numbers("lb"), numbers("ub")
    with naming(path):
        table = assemble(
            numbers=values,
            relations=relations,
            labels=Labels(n),
            rhs=rhs,
            decimals=decimals,
            lower=_open_ended(lb, -1),
            upper=_open_ended(ub, 1),
            status=status,
            levels={"lpl": levels("lpl"), "upl": levels("upl"), "spl": numbers("spl")},
            weight=numbers("weight"),
            additive=wish,
        )
    return _with_frequencies(table, _companion(path))


def _companion(path: Path) -> Path:
    return path.with_name(path.name + ".frq")


def _with_frequencies(table: Table, path: Path) -> Table:
    """The table with the counts of its companion file, if there is one."""
    if not path.is_file():
        return table
    lines = [(number, line.split()) for number, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    for number, words in lines:
        if len(words) != 2 or not all(word.isascii() and word.isdigit() and len(word) < 16 for word in words):
            raise InputError(
                f"{path} line {number}: is not two counts, of records and of holdings; correct it, or take the file away"
            )
    if len(lines) != table.cells:
        raise InputError(
            f"{path}: {len(lines)} lines for {table.cells} cells; it is of another table: take it away, or give one line a cell"
        )
    rows, holdings = (np.array([int(words[k]) for _, words in lines], np.int64) for k in (0, 1))
    nobody = np.zeros((0, table.cells), np.int64)
    contributions = Contributions(
        rows=rows,
        units=holdings if holdings.any() else rows,
        size=np.abs(table.scaled),
        top=nobody,
        unit=nobody.copy(),
        names=(),
        negative=bool((table.scaled < 0).any()),
    )
    return replace(table, contributions=contributions)


def _open_ended(bound: Numbers, sign: int) -> list[object]:
    """Bounds as texts, those at or beyond 2^53 whole units as no bound: no value reaches them."""
    texts: list[object] = []
    for m, d in zip(bound.mantissa, bound.places.tolist(), strict=True):
        beyond = sign * int(m) >= LARGEST * 10**d
        texts.append(None if beyond else exact.text(int(m), d))
    return texts


def _read_equations(lines: _Lines, n: int) -> tuple[Relations, Numbers]:
    m = lines.count("the number of equations", 100_000_000)
    row, cell, coef, rhs, at = [], [], [], [], []
    known: dict[str, int] = {"1": 1, "-1": -1}
    for j in range(m):
        left, colon, right = lines.next(f"equation {j} of {m}").partition(":")
        head, tokens = left.split(), right.replace("(", " ( ").replace(")", " ) ").split()
        if (
            not colon
            or len(head) != 2
            or tokens[1::4] != ["("] * (len(tokens) // 4)
            or tokens[3::4] != [")"] * (len(tokens) // 4)
        ):
            raise lines.error(f"equation {j} is not of the form 'rhs k : cell (coef) cell (coef) …'")
        if head[1] != str(len(tokens) // 4) or len(tokens) % 4:
            raise lines.error(
                f"equation {j} announces {head[1][:20]} terms and holds {len(tokens) / 4:g}; it is cut off or miscounted"
            )
        for name in tokens[0::4]:
            if not (name.isascii() and name.isdigit() and len(name) < 10 and int(name) < n):
                raise lines.error(
                    f"equation {j} names cell {name[:20]!r}, which does not exist; the cells are 0 to {n - 1}"
                )
            cell.append(int(name))
        for text in tokens[2::4]:
            if text not in known:
                mantissa, places = exact.parse(text, f"{lines.path} line {lines.number}, equation {j}")
                if mantissa % 10**places or abs(mantissa) >= 2**31 * 10**places:
                    raise lines.error(
                        f"equation {j} has the coefficient {text[:20]}; coefficients are whole numbers below 2^31"
                    )
                known[text] = mantissa // 10**places
            coef.append(known[text])
        row.extend([j] * (len(tokens) // 4))
        rhs.append(head[0])
        at.append(lines.number)
    lines.end()
    relations = Relations.from_entries(
        n, m, np.array(row, np.int64), np.array(cell, np.int64), np.array(coef, np.int64)
    )
    return relations, Numbers.read(rhs, lambda j: f"{lines.path} line {at[j]}, right-hand side of equation {j}")


def write_jj(table: Table, path: str | Path) -> Path:
    """Write a JJ file, whole or not at all; a missing bound is written as ±2^53, beyond any value, and so is a level that
    forbids its side.

    Where it is known how many stand behind the cells, a companion ``.frq`` says so; one of an earlier table is taken away.
    """
    d, s = table.decimals, table.sensitivity
    weight = ["1"] * table.cells if table.weight is None else exact.texts(table.weight, table.weight_decimals)
    numbers = [exact.texts(column, d) for column in (table.scaled, table.lower, table.upper, s.lpl, s.upl, s.spl)]
    for column, level in ((numbers[3], s.lpl), (numbers[4], s.upl)):
        for i in np.flatnonzero(level >= INFINITE).tolist():
            column[i] = str(LARGEST)
    for column, bound, open_end in ((numbers[1], table.lower, -LARGEST), (numbers[2], table.upper, LARGEST)):
        for i in np.flatnonzero(np.abs(bound) == NO_BOUND).tolist():
            column[i] = str(open_end)
    letters = [_LETTER[CellStatus(code)] for code in s.status.tolist()]
    out = io.StringIO()
    out.write(f"0\n{table.cells}\n")
    for i, (value, lo, up, lpl, upl, spl) in enumerate(zip(*numbers, strict=True)):
        out.write(f"{i} {value} {weight[i]} {letters[i]} {lo} {up} {lpl} {upl} {spl}\n")
    r = table.relations
    out.write(f"{r.equations}\n")
    for j in range(r.equations):
        rhs, members, coefs = r.equation(j)
        terms = " ".join(f"{i} ({c})" for i, c in zip(members, coefs, strict=True))
        out.write(f"{exact.short(rhs, d)} {len(members)} : {terms}\n")
    path, c = Path(path), table.contributions
    if c is not None:
        holdings = c.units if (c.units != c.rows).any() else np.zeros(table.cells, np.int64)
        counts = "".join(f"{n} {h}\n" for n, h in zip(c.rows.tolist(), holdings.tolist(), strict=True))
        write_whole(_companion(path), counts.encode(), confidential=True)
    elif _companion(path).is_file():
        _companion(path).unlink()
    return write_whole(path, out.getvalue().encode(), confidential=True)
