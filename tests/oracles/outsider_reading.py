"""How an outsider reads what was published: release.csv and release.json, τ-ARGUS' public outputs; and the claims of a certificate.

From docs/certificate.md and docs/guide.md alone, with the standard library; nothing of the package is used.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

Codes = tuple[str, ...]
_PLAIN = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?")

_RUN = re.compile(r"[=+@\t\r]|-.")


class UnreadableError(Exception):
    """The files are not what the documentation says they are."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """The values printed, in the order of the rows, None where one is withheld, and the public statement beside them."""

    values: Mapping[Codes, Fraction | None]
    method: Mapping[str, Any]
    decimals: int


@dataclass(frozen=True, kw_only=True)
class ClaimedAttacker:
    """Against whom levels are claimed: what it knows of rows beyond the public, whether it knows values to be whole, and its levels."""

    name: str
    whole: bool
    known: Mapping[int, tuple[Fraction | None, Fraction | None]]
    levels: Mapping[int, tuple[Fraction, Fraction, Fraction]]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a certificate says of the release: ``shown`` is whether levels are claimed to be met, ``kind`` how attackers are taken to read it.

    Levels are by row: below, above and sliding, in units of the table.
    """

    shown: bool
    kind: str
    method: Mapping[str, Any]
    decimals: int
    levels: Mapping[int, tuple[Fraction, Fraction, Fraction]]
    attackers: Sequence[ClaimedAttacker]


def read_release(folder: Path, dims: Sequence[str]) -> Published:
    """release.csv and release.json of a folder; anything that the documentation does not name is refused."""
    said = _statement(folder / "release.json")
    withheld = said.pop("printed") == "withheld"
    return Published(values=read_rows(folder / "release.csv", dims, withheld=withheld), **said)


def read_rows(path: Path, dims: Sequence[str], *, withheld: bool = False) -> dict[Codes, Fraction | None]:
    """The dimension columns, then the value (where some are withheld, and the status), and nothing else; one row a cell."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    names = []
    for name in ("value", "status") if withheld else ("value",):
        while name in dims:
            name = f"published {name}"
        names.append(name)
    if head != [*dims, *names]:
        raise UnreadableError(f"the columns are {head}, not {[*dims, *names]}")
    if withheld:
        if wrong := [row for row in rows if row[-1] != ("published" if row[-2] else "withheld")]:
            raise UnreadableError(f"the status of {wrong[0]} is not that of its value")
        rows = [row[:-1] for row in rows]
        gone = {tuple(map(_as_code, row[:-1])) for row in rows if not row[-1]}
        order = [tuple(map(_as_code, row[:-1])) for row in rows]
        found = _by_codes([(tuple(map(_as_code, row[:-1])), row[-1]) for row in rows if row[-1]])
        return {codes: None if codes in gone else found[codes] for codes in order}
    return _by_codes(
        [(tuple(map(_as_code, row[:-1])), row[-1]) for row in rows if len(row) == len(head) or _short(row)]
    )


def runnable(path: Path) -> list[str]:
    """Fields of a CSV that a spreadsheet would run instead of showing them."""
    with path.open(encoding="utf-8", newline="") as file:
        fields = {text for row in csv.reader(file) for text in row}
    return sorted(text for text in fields if _RUN.match(text) and not _PLAIN.fullmatch(text))


def _as_code(text: str) -> str:
    """A code that is written as text, behind an apostrophe, because a spreadsheet would run it."""
    return text[1:] if text.startswith("'") and _RUN.match(text[1:]) else text


def _short(row: list[str]) -> bool:
    raise UnreadableError(f"the row {row} is longer or shorter than the heading")


def _by_codes(rows: Sequence[tuple[Codes, str]], crosses: str | None = None) -> dict[Codes, Any]:
    out: dict[Codes, Any] = {}
    for codes, text in rows:
        if codes in out:
            raise UnreadableError(f"{codes} has two rows")
        if not _PLAIN.fullmatch(text) and text != crosses:
            raise UnreadableError(f"{codes}: {text!r} is no plain number")
        out[codes] = None if text == crosses else Fraction(text)
    return out


def _statement(path: Path) -> dict[str, Any]:
    said = json.loads(path.read_text(encoding="utf-8"))
    if set(said) != {"method", "decimals", "printed", "certificate"} or said["printed"] not in ("values", "withheld"):
        raise UnreadableError(f"the statement has {sorted(said)} and prints {said.get('printed')}")
    return {"method": said["method"], "decimals": said["decimals"], "printed": said["printed"]}


def read_code_value(path: Path, dims: int, crosses: str | None = None) -> dict[Codes, Any]:
    """τ-ARGUS' output types 2 and 3 with quotes: codes and a value a line, ``-`` where nothing stands; a line of names is left out."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if any(len(row) != dims + 1 for row in rows):
        raise UnreadableError(f"{path.name}: a line has more than {dims} codes and a value")
    data = rows[1:] if not (_PLAIN.fullmatch(rows[0][-1]) or rows[0][-1] in ("-", crosses)) else rows
    return _by_codes([(tuple(row[:-1]), row[-1]) for row in data if row[-1] != "-"], crosses)


def read_grid(path: Path, dims: int, crosses: str | None = None) -> dict[Codes, Any]:
    """τ-ARGUS' output type 1: a block for each combination of the leading codes, the last two dimensions as rows and columns."""
    out: list[tuple[Codes, str]] = []
    leading: Codes = ()
    columns: list[str] = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(line.replace(", Var", ",Var") for line in file):
            if not row:
                columns = []
            elif row[0].startswith("Var "):
                leading = tuple(row[1::2])
            elif not columns:
                columns = row[1:]
            else:
                first = (row[0],) if dims > 1 else ()
                out += [((*leading, *first, code), text) for code, text in zip(columns, row[1:], strict=True)]
    return _by_codes([(codes, text) for codes, text in out if text != "-"], crosses)


def read_claim(path: Path) -> Claim:
    """What a certificate claims, read as docs/certificate.md defines it."""
    said = json.loads(gzip.decompress(path.read_bytes()).decode())
    unit = 10 ** said["decimals"]
    n = len(said["nominal"])
    own = _levels(said["levels"], unit)
    attackers = []
    for one in said["attackers"]:
        cells = one["cell"]
        low, high = _column(one["lower"], len(cells)), _column(one["upper"], len(cells))
        known = {i: (_units(p, unit), _units(q, unit)) for i, p, q in zip(cells, low, high, strict=True)}
        levels = own if one["levels"] is None else _levels(one["levels"], unit)
        attackers.append(ClaimedAttacker(name=one["name"], whole=one["whole"], known=known, levels=levels))
    if any(i >= n for i in own):
        raise UnreadableError("levels of cells that are not there")
    return Claim(
        shown=said["protection"] == "shown",
        kind=said["knowledge"].get("kind", ""),
        method=said["method"],
        decimals=said["decimals"],
        levels=own,
        attackers=attackers,
    )


def _levels(said: Mapping[str, Any], unit: int) -> dict[int, tuple[Fraction, Fraction, Fraction]]:
    n = len(said["cell"])
    sides = [[Fraction(x, unit) for x in _column(said[name], n)] for name in ("lpl", "upl", "spl")]
    return {i: (p, q, s) for i, p, q, s in zip(said["cell"], *sides, strict=True)}


def _column(given: Any, n: int) -> list[Any]:
    return given if isinstance(given, list) else [given] * n


def _units(given: int | None, unit: int) -> Fraction | None:
    return None if given is None else Fraction(given, unit)
