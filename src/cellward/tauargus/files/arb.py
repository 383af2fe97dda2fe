"""Batch files ``.arb``: the commands one by one, as they are written; what they do is not decided here.

// a comment                                           <READMICRODATA>  or  <READTABLE> 0|1|1T|2
<OPENMICRODATA> "file"  or  <OPENTABLEDATA> "file"     <RECODE> table, variable, "file" or level
<OPENMETADATA> "file"                                  <APRIORI> "file", table, "separator", ignore, expand
<SPECIFYTABLE> "A""B"|"response"|"shadow"|"cost"|λ     <SUPPRESS> METHOD(table, …)
<SAFETYRULE> NK(2,75)|FREQ(3,20)                       <WRITETABLE> (table, type, options, "file")
<CLEAR>, <SOLVER>, <LOGBOOK>, <VERSIONINFO>, <GOINTERACTIVE>, …
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from cellward.errors import brief
from cellward.tauargus.files.lines import Line, read_lines

MOST_TABLES = 1000
_COMMAND = re.compile(r"\s*<([A-Za-z]+)>\s*(.*)", re.DOTALL)
_CALL = re.compile(r"\s*([A-Za-z]+)\s*\(([^()]*)\)\s*(.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command: its name in capitals, and the line it stands on."""

    name: str
    line: Line

    @property
    def where(self) -> str:
        """The place, for a sentence."""
        return f"{self.line.path} line {self.line.number}, <{self.name}>"


@dataclass(frozen=True, kw_only=True)
class Open(Command):
    """<OPENMICRODATA>, <OPENTABLEDATA> and <OPENMETADATA>; also the file of <LOGBOOK> and <VERSIONINFO>."""

    file: str


@dataclass(frozen=True, kw_only=True)
class SpecifyTable(Command):
    """The dimensions, the response, and where given the shadow variable, the cost variable (or −1, −2, −3) and the exponent of the cost."""

    dims: tuple[str, ...]
    response: str
    shadow: str = ""
    cost: str = ""
    exponent: str = "1"


@dataclass(frozen=True)
class Call:
    """A name and what stands in brackets behind it."""

    name: str
    given: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}({','.join(self.given)})"


@dataclass(frozen=True, kw_only=True)
class SafetyRule(Command):
    """The rules of the table specified last; none means the statuses of the file."""

    rules: tuple[Call, ...]


@dataclass(frozen=True, kw_only=True)
class ReadTable(Command):
    """<READMICRODATA> (mode empty) and <READTABLE>: 0 totals must add up, 1 they are computed, 2 they need not; ``keep_status`` of computed ones."""

    mode: str = ""
    keep_status: bool = False


@dataclass(frozen=True, kw_only=True)
class Recode(Command):
    """A recoding of a variable, by a file or down to a level of its hierarchy."""

    table: int
    variable: str
    by: str


@dataclass(frozen=True, kw_only=True)
class Apriori(Command):
    """An a-priori file for a table."""

    file: str
    table: int
    separator: str = ";"
    ignore: bool = True
    expand: bool = False


@dataclass(frozen=True, kw_only=True)
class Suppress(Command):
    """A method with its table (0: all, linked) and its parameters."""

    method: str
    table: int
    given: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class WriteTable(Command):
    """A table written as one of the output types."""

    table: int
    output: int
    options: str
    file: str


PLAIN = ("CLEAR", "GOINTERACTIVE", "SOLVER", "COVER", "ANCO", "SILENT", "JJ", "REPORTSTR", "LINKMOD")
"""Commands whose parameters, if any, are not taken apart."""


def read_arb(path: str | os.PathLike[str]) -> list[Command]:
    """The commands of a batch file in their order."""
    path = Path(path)
    lines = read_lines(path, comments=("//", "\\\\"))
    return [_command(line) for line in lines]


def _command(line: Line) -> Command:
    found = _COMMAND.fullmatch(line.text)
    if found is None:
        raise line.error(
            f"{brief(line.text.strip())} is no command; commands stand in angle brackets, comments behind //"
        )
    name, rest = found[1].upper(), _without_comment(found[2])
    if name in ("OPENMICRODATA", "OPENTABLEDATA", "OPENMETADATA", "LOGBOOK", "VERSIONINFO"):
        return Open(name=name, line=line, file=_text(line, rest, "file"))
    if name == "SPECIFYTABLE":
        return _specify(line, rest)
    if name == "SAFETYRULE":
        return SafetyRule(name=name, line=line, rules=tuple(_call(line, part)[0] for part in _split(rest, "|") if part))
    if name in ("READMICRODATA", "READTABLE"):
        return _read(line, name, rest)
    if name == "RECODE":
        return _recode(line, rest)
    if name in ("APRIORI", "APRIORY"):
        return _apriori(line, rest)
    if name == "SUPPRESS":
        call, _ = _call(line, rest)
        if not call.given[0]:
            raise line.error(f"{call.name} has no table; write {call.name}(1)")
        return Suppress(name=name, line=line, method=call.name, table=_table(line, call.given[0]), given=call.given[1:])
    if name == "WRITETABLE":
        return _write(line, rest)
    if name in PLAIN:
        return Command(name=name, line=line)
    raise line.error(f"the command <{name[:40]}> is not known; correct it, or take the line out")


def _without_comment(text: str) -> str:
    """The text before a comment that stands outside quotes."""
    parts = text.split('"')
    for k in range(0, len(parts), 2):
        if re.search(r"(^|\s)//", parts[k]):
            parts[k] = re.split(r"(?:^|\s)//", parts[k])[0]
            return '"'.join(parts[: k + 1]).strip()
    return text.strip()


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators outside quotes, quotes kept."""
    parts, quoted, start = [], False, 0
    for k, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character == separator and not quoted:
            parts.append(text[start:k].strip())
            start = k + 1
    return [*parts, text[start:].strip()]


def _plain(text: str) -> str:
    """Without the quotes around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _text(line: Line, rest: str, what: str) -> str:
    text = _plain(rest).strip()
    if not text or '"' in text:
        raise line.error(f"{brief(rest)} is no {what}; give its name, in quotes")
    return text


def _table(line: Line, text: str) -> int:
    return line.whole(_plain(text), "the number of a table", 0, MOST_TABLES)


def _call(line: Line, text: str) -> tuple[Call, str]:
    found = _CALL.fullmatch(text)
    if found is None:
        raise line.error(
            f"{brief(text)} is not readable; write a name with its parameters in brackets, such as NK(2,75)"
        )
    return Call(found[1].upper(), tuple(_plain(part) for part in _split(found[2], ","))), found[3]


def _specify(line: Line, rest: str) -> SpecifyTable:
    parts = _split(rest, "|")
    words = Line(line.path, line.number, parts[0]).words()
    dims = tuple(text for word in words for text in ([word.text] if word.quoted else word.text.split(",")) if text)
    named = [_plain(part).strip() for part in parts[1:]]
    if not dims or not named or not named[0] or len(named) > 4:
        raise line.error(f'{brief(rest)} is no table; write "A""B"|"response"|"shadow"|"cost"')
    if len({dim.casefold() for dim in dims}) < len(dims):
        raise line.error("a dimension is named twice; name each once")
    named += [""] * (4 - len(named))
    cost, comma, exponent = named[2].partition(",")
    return SpecifyTable(
        name="SPECIFYTABLE", line=line, dims=dims, response=named[0], shadow=named[1], cost=_plain(cost.strip()),
        exponent=(exponent.strip() if comma else named[3]) or "1",
    )  # fmt: skip


def _read(line: Line, name: str, rest: str) -> ReadTable:
    if name == "READMICRODATA":
        return ReadTable(name=name, line=line)
    mode = (_plain(rest).strip() or "0").upper()
    if mode not in ("0", "1", "2", "1T", "1F"):
        raise line.error(
            f"{brief(rest)} is not known; use 0 (totals are checked), 1 (computed), 1T (computed, statuses kept) or 2 (neither)"
        )
    return ReadTable(name=name, line=line, mode=mode[0], keep_status=mode.endswith("T"))


def _recode(line: Line, rest: str) -> Recode:
    parts = [_plain(part) for part in _split(rest, ",")]
    if len(parts) != 3 or not all(parts):
        raise line.error(f'{brief(rest)} is no recoding; write table, variable, "file", or a level instead of the file')
    return Recode(name="RECODE", line=line, table=_table(line, parts[0]), variable=parts[1], by=parts[2])


def _apriori(line: Line, rest: str) -> Apriori:
    parts = [_plain(part) for part in _split(rest, ",")]
    flags = parts[3:]
    if not 2 <= len(parts) <= 5 or not parts[0] or any(flag not in ("", "0", "1") for flag in flags):
        raise line.error(
            f'{brief(rest)} is no a-priori command; write "file", table, "separator", ignore, expand, the last two as 0 or 1'
        )
    flags += [""] * (2 - len(flags))
    return Apriori(
        name="APRIORI", line=line, file=parts[0], table=_table(line, parts[1]), separator=(parts[2] if len(parts) > 2 else "") or ";",
        ignore=flags[0] != "0", expand=flags[1] == "1",
    )  # fmt: skip


def _write(line: Line, rest: str) -> WriteTable:
    text = rest.strip()
    parts = [_plain(part) for part in _split(text[1:-1], ",")] if text[:1] == "(" and text[-1:] == ")" else []
    if len(parts) != 4 or not parts[3].strip():
        raise line.error(f'{brief(rest)} is no output; write (table, type, options, "file")')
    return WriteTable(
        name="WRITETABLE", line=line, table=_table(line, parts[0]), output=line.whole(parts[1], "the output type", 1, 7),
        options=parts[2], file=parts[3].strip(),
    )  # fmt: skip
