"""The metadata file ``.rda``: what the columns of records or of a table are, where they stand, and which other files describe their codes.

    records, fixed width    Name start width [missing [missing]]
    records, separated      <SEPARATOR> ","   then   Name width [missing [missing]]
    a table                 <SEPARATOR> ";"   then   Name [missing [missing]], and letters <SAFE> <UNSAFE> <PROTECT>

Under each name stand its tags. The three kinds look alike, so a reader may say which one it expects; otherwise the tags tell.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cellward.errors import InputError, brief
from cellward.files.whole import write_whole
from cellward.tauargus.files.lines import Line, LineWord, read_lines

KINDS = ("fixed", "free", "table")
MOST_VARIABLES = 10_000
MOST_WIDTH, MOST_CODE = 32_000, 100
"""The original reads records of so many characters, and codes of so many."""

ROLES = {
    "NUMERIC": "number",
    "SHADOW": "shadow",
    "COST": "cost",
    "COSTVAR": "cost",
    "LOWERPL": "lpl",
    "UPPERPL": "upl",
    "FREQUENCY": "frequency",
    "MAXSCORE": "largest",
    "STATUS": "status",
    "WEIGHT": "weight",
    "HOLDING": "holding",
    "REQUEST": "request",
    "RECORDKEY": "record key",
}
"""What each tag makes of its variable."""
_TAGS = {role: tag for tag, role in ROLES.items() if tag != "COSTVAR"}
_OF_TABLES = {"shadow", "cost", "lpl", "upl", "frequency", "largest", "status"}
_CELL_KEY = {
    "PFILE", "PFILE_FREQ", "PFILE_CONT", "PFILE_SEP", "CKM", "INCLUDEZEROS", "PARITY", "SEPARATION", "SCALING",
}  # fmt: skip
"""Tags of the cell key method, which is not ours; they change nothing else."""


@dataclass(frozen=True, kw_only=True)
class Variable:
    """One column: its place (fixed width only), its width, the codes that mean a missing one, and what its tags say."""

    name: str
    start: int = 0
    width: int = 0
    missing: tuple[str, ...] = ()
    role: str = ""
    recodable: bool = False
    total: str = "Total"
    decimals: int = 0
    code_list: str | None = None
    hierarchy_file: str | None = None
    lead: str = "@"
    levels: tuple[int, ...] = ()
    distance: tuple[int, ...] = ()
    request_codes: tuple[str, ...] = ()
    truncable: bool = False
    line: int = field(default=0, compare=False)

    @property
    def hierarchical(self) -> bool:
        """Whether its codes add up in more than one step."""
        return self.hierarchy_file is not None or len(self.levels) > 1


@dataclass(frozen=True, kw_only=True)
class Metadata:
    """A metadata file: the variables in the order of the columns, and how the data are written."""

    path: Path = field(compare=False)
    kind: str
    variables: tuple[Variable, ...]
    separator: str = ";"
    letters: tuple[str, str, str] = ("S", "U", "P")
    """Of a table: safe, unsafe, protected."""

    def find(self, name: str) -> Variable | None:
        """The variable of this name, ignoring case."""
        return next((v for v in self.variables if v.name.casefold() == name.strip().casefold()), None)

    def variable(self, name: str, where: str) -> Variable:
        """The variable of this name; refused where there is none."""
        if (found := self.find(name)) is None:
            known = ", ".join(v.name for v in self.variables[:12])
            raise InputError(f"{where}: there is no variable {brief(name)} in {self.path.name}; it has {known}")
        return found

    def of_role(self, role: str) -> tuple[Variable, ...]:
        """The variables that play this role."""
        return tuple(v for v in self.variables if v.role == role)


def read_rda(path: str | os.PathLike[str], kind: str | None = None) -> Metadata:
    """Read a metadata file; ``kind`` is ``fixed``, ``free``, ``records`` (either of these), ``table``, or told by the tags."""
    path = Path(path)
    lines = read_lines(path)
    parsed = [(line, line.words()) for line in lines]
    separated = any(words and words[0].tag == "SEPARATOR" for _, words in parsed)
    if any(words and words[0].tag == "SPSS" for _, words in parsed):
        raise InputError(
            f"{path}: describes an SPSS file, which is not read; export the records to text, with a .rda of its own"
        )
    if kind is None or kind == "records":
        told = _is_table(parsed) if kind is None else False
        kind = "table" if told else "free" if separated else "fixed"
    if kind not in KINDS:
        raise InputError(f"kind={kind!r}: give 'fixed', 'free', 'records' or 'table'")
    reader = _RdaReader(path, kind)
    for line, words in parsed:
        reader.take(line, words)
    return reader.metadata()


def _is_table(parsed: Sequence[tuple[Line, list[LineWord]]]) -> bool:
    """Whether tags that only tables have occur, or separated columns have no width."""
    tags = {word.tag for _, words in parsed for word in words}
    if tags & {"SAFE", "UNSAFE", "PROTECT", *(tag for tag, role in ROLES.items() if role in _OF_TABLES)}:
        return True
    names = [words for _, words in parsed if words and not words[0].tag]
    separated = "SEPARATOR" in tags
    return separated and any(len(words) < 2 or words[1].quoted or not words[1].text.isdigit() for words in names)


class _RdaReader:
    """Takes line after line; a name begins a variable, tags describe it."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        self.separator = ";"
        self.letters = {"SAFE": "S", "UNSAFE": "U", "PROTECT": "P"}
        self.variables: list[Variable] = []
        self.names: set[str] = set()

    def take(self, line: Line, words: list[LineWord]) -> None:
        if not words:
            return
        if not words[0].tag:
            self._name(line, words)
            return
        starts = [k for k, word in enumerate(words) if word.tag]
        for start, stop in zip(starts, [*starts[1:], len(words)], strict=True):
            self._tag(line, words[start].tag, [word.text for word in words[start + 1 : stop]])

    def _name(self, line: Line, words: list[LineWord]) -> None:
        name, rest = words[0].text, [word.text for word in words[1:]]
        if not name.strip():
            raise line.error("a variable has no name; give it one")
        if name.casefold() in self.names:
            raise line.error(f"the variable {brief(name)} is there already; rename one")
        if len(self.variables) == MOST_VARIABLES:
            raise line.error(f"more than {MOST_VARIABLES:,} variables; check that it is the right file")
        start = width = 0
        needed = {"fixed": 2, "free": 1, "table": 0}[self.kind]
        if len(rest) < needed:
            form = {"fixed": "Name start width", "free": "Name width"}[self.kind]
            raise line.error(f"the variable {brief(name)} has no place; write {form}, and codes for missing after it")
        if self.kind == "fixed":
            start = line.whole(rest[0], f"the start of {brief(name)}", 1, MOST_WIDTH)
        if needed:
            width = line.whole(rest[needed - 1], f"the width of {brief(name)}", 1, MOST_WIDTH)
        missing = tuple(code for code in rest[needed:] if code.strip())
        if len(missing) > 2:
            raise line.error(f"the variable {brief(name)} has {len(missing)} codes for missing; give at most two")
        self.names.add(name.casefold())
        self.variables.append(Variable(name=name, start=start, width=width, missing=missing, line=line.number))

    def _tag(self, line: Line, tag: str, given: list[str]) -> None:
        if tag == "SEPARATOR" and not self.variables:
            self.separator = _one(line, tag, given)
            if len(self.separator) != 1 or self.separator in '"\r\n' or self.separator.isalnum():
                raise line.error(f"the separator is {brief(self.separator)}; give one character such as ; or ,")
        elif tag in self.letters and not self.variables:
            self.letters[tag] = _one(line, tag, given).strip().upper()
        elif not self.variables:
            raise line.error(f"<{tag}> stands before any variable; name the variable first")
        else:
            self.variables[-1] = self._described(self.variables[-1], line, tag, given)

    def _described(self, v: Variable, line: Line, tag: str, given: list[str]) -> Variable:
        if tag in ("RECODEABLE", "RECODABLE"):
            if v.width > MOST_CODE:
                raise line.error(
                    f"the codes of {brief(v.name)} are {v.width} wide; codes have at most {MOST_CODE} characters"
                )
            return replace(v, recodable=True)
        if tag in ROLES:
            role = ROLES[tag]
            if role == "request":
                return replace(v, role=role, request_codes=tuple(code for code in given[:2] if code.strip()))
            return v if role == "number" and v.role else replace(v, role=role)
        if tag == "TOTCODE":
            return replace(v, total=_one(line, tag, given))
        if tag == "DECIMALS":
            return replace(v, decimals=line.whole(_one(line, tag, given), "<DECIMALS>", 0, 15))
        if tag == "CODELIST":
            return replace(v, code_list=_one(line, tag, given))
        if tag == "HIERCODELIST":
            return replace(v, hierarchy_file=_one(line, tag, given))
        if tag == "HIERLEADSTRING":
            return replace(v, lead=_one(line, tag, given))
        if tag == "HIERLEVELS":
            digits = [line.whole(text, "<HIERLEVELS>", 0, MOST_WIDTH) for text in given]
            if not any(digits):
                raise line.error("<HIERLEVELS> names no level; give the digits of each, such as 3 1 1")
            return replace(v, levels=tuple(d for d in digits if d))
        if tag == "DISTANCE":
            return replace(v, distance=tuple(line.whole(text, "<DISTANCE>", 0, 10**8) for text in given))
        if tag == "TRUNCABLE":
            return replace(v, truncable=True)
        if tag == "HIERARCHICAL" or tag in _CELL_KEY:
            return v
        raise line.error(f"the tag <{tag[:40]}> is not known; correct it, or take the line out")

    def metadata(self) -> Metadata:
        if not self.variables:
            raise InputError(f"{self.path}: describes no variable; write a name a line, with its tags below")
        letters = (self.letters["SAFE"], self.letters["UNSAFE"], self.letters["PROTECT"])
        if len(set(letters)) < 3:
            raise InputError(
                f"{self.path}: <SAFE>, <UNSAFE> and <PROTECT> are {', '.join(letters)}; give three different letters"
            )
        return Metadata(
            path=self.path, kind=self.kind, variables=tuple(self.variables), separator=self.separator, letters=letters
        )


def _one(line: Line, tag: str, given: list[str]) -> str:
    if not given or not given[0]:
        raise line.error(f"<{tag}> is followed by nothing; give its text, in quotes where it holds blanks")
    return given[0]


def write_rda(metadata: Metadata, path: str | os.PathLike[str]) -> Path:
    """Write a metadata file, whole or not at all."""
    lines = []
    if metadata.kind != "fixed":
        lines.append(f'<SEPARATOR> "{metadata.separator}"')
    if metadata.kind == "table":
        lines += [
            f'<{tag}> "{letter}"' for tag, letter in zip(("SAFE", "UNSAFE", "PROTECT"), metadata.letters, strict=True)
        ]
    for v in metadata.variables:
        lines += _lines_of(v, metadata.kind)
    text = "\n".join(lines) + "\n"
    return write_whole(Path(path), text.encode())


def _lines_of(v: Variable, kind: str) -> list[str]:
    """The lines of one variable."""
    quoted = [v.name, v.total, *v.missing, v.code_list or "", v.hierarchy_file or "", v.lead, *v.request_codes]
    if wrong := [text for text in quoted if '"' in text or not text.isprintable()]:
        raise InputError(
            f"{v.name}: {brief(wrong[0])} cannot stand in a .rda file, which has no way to write quotes; rename it"
        )
    plain = v.name and not any(c.isspace() for c in v.name) and v.name[0] != "<" and v.name[:2] != "//"
    place = {"fixed": [str(v.start), str(v.width)], "free": [str(v.width)], "table": []}[kind]
    lines = [" ".join([v.name if plain else f'"{v.name}"', *place, *(f'"{code}"' for code in v.missing)])]
    if v.recodable:
        lines += ["  <RECODEABLE>", f'  <TOTCODE> "{v.total}"']
    if v.code_list is not None:
        lines.append(f'  <CODELIST> "{v.code_list}"')
    if v.hierarchical:
        lines.append("  <HIERARCHICAL>")
    if v.hierarchy_file is not None:
        lines += [f'  <HIERCODELIST> "{v.hierarchy_file}"', f'  <HIERLEADSTRING> "{v.lead}"']
    if v.levels:
        lines.append(f"  <HIERLEVELS> {' '.join(map(str, v.levels))}")
    if v.distance:
        lines.append(f"  <DISTANCE> {' '.join(map(str, v.distance))}")
    if v.role:
        tag = _TAGS[v.role]
        numeric = v.role in ("shadow", "cost", "lpl", "upl")
        codes = "".join(f' "{code}"' for code in v.request_codes)
        lines.append(f"  {'<NUMERIC> ' if numeric else ''}<{tag}>{codes}")
    if v.decimals:
        lines.append(f"  <DECIMALS> {v.decimals}")
    if v.truncable:
        lines.append("  <TRUNCABLE>")
    return lines
