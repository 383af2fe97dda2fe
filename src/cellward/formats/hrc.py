"""The τ-ARGUS hierarchy file ``.hrc``: one code a line, as deep as it has lead strings in front; the total has no line.

    North        Total = North + South
    @N1          North = N1 + N2
    @N2
    South

Line ends may be LF, CR LF, CR CR LF (τ-ARGUS' own examples have it) or CR; a byte order mark and empty lines are
passed over. Blanks at the end of a line are padding and dropped. Blanks before a code belong to it, as they do in the
fixed-width data beside it: ``@ 1`` is the code `` 1``. The text is UTF-8, or Latin-1 when it is not valid UTF-8.

A code on two lines is refused, unless ``repeated="by line"`` is asked for. τ-ARGUS knows a code by its line: two branches of one name
stay two, and a record finds its branch by its bottom code. So they are read here: the second is called by its line, ``11 (line 204)``.
Bottom codes that repeat are refused always: τ-ARGUS would put every record under the first, and leave the second empty.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from cellward.errors import InputError
from cellward.files.text import decode_file
from cellward.files.whole import write_whole
from cellward.hierarchy import Hierarchy

_MAX_BYTES = 1 << 26  # 64 MiB, some millions of codes; beyond it the file is something else
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # all but the tab; line ends are gone when it is used
_PADDING = " \t"


def read_hrc(
    path: str | os.PathLike[str], *, lead: str = "@", total: str = "Total", repeated: str = "refuse"
) -> Hierarchy:
    r"""Read an ``.hrc`` file; ``total`` names the code above its outermost codes, ``repeated`` (``"refuse"``, ``"by line"``) says what becomes of
    two branches of one name.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "region.hrc")
    ...     _ = file.write_bytes(b"North\r\n@N1\r\n@N2\r\nSouth\r\n")
    ...     read_hrc(file).sums
    (('Total', ('North', 'South')), ('North', ('N1', 'N2')))
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the path of an .hrc file is given as {type(path).__name__}: give text or a Path")
    lines = decode_file(path, most_bytes=_MAX_BYTES).split("\n")
    return parse_hrc(lines, lead=lead, total=total, name=str(path), repeated=repeated)


def parse_hrc(
    lines: Iterable[str],
    *,
    lead: str = "@",
    total: str = "Total",
    name: str = "the hierarchy",
    repeated: str = "refuse",
) -> Hierarchy:
    """The hierarchy that the lines of an ``.hrc`` file describe; ``name`` is what errors call them.

    >>> parse_hrc(["North", "-N1", "--N11", "South"], lead="-").codes
    ('Total', 'North', 'N1', 'N11', 'South')
    >>> parse_hrc(["North", "@N1", "North"])
    Traceback (most recent call last):
      ...
    cellward.errors.InputError: the hierarchy, line 3: 'North' is on line 1 already; rename one or delete it
    >>> parse_hrc(["A", "@x", "@@1", "B", "@x", "@@2"], repeated="by line").leaves
    ('1', '2')
    """
    _check_names(lead, total)
    if repeated not in ("refuse", "by line"):
        raise InputError(f"repeated={repeated!r}: give 'refuse' or 'by line'")
    children: dict[str, list[str]] = {}
    line_of: dict[str, int] = {}
    again: dict[str, str] = {}  # branches called by their line → the name they share with an earlier one
    branch = [total]  # the codes from the total down to the last line
    for number, raw in enumerate(lines, start=1):
        where = f"{name}, line {number}"
        if not isinstance(raw, str):
            raise InputError(f"{where}: {type(raw).__name__} where text belongs; give the lines as strings")
        line = (raw.removeprefix("\ufeff") if number == 1 else raw).rstrip("\r\n" + _PADDING)
        if not line:
            continue
        if control := _CONTROL.search(line):
            raise InputError(
                f"{where}: holds the control character {ord(control.group()):#04x};"
                " save the hierarchy as plain UTF-8 text with one code a line"
            )
        depth, code = _depth_and_code(line, lead)
        if not code:
            raise InputError(f"{where}: only lead strings {lead!r} and no code; add the code or delete the line")
        if code == total:
            raise InputError(f"{where}: {_shown(code)} is the total's name; delete the line or rename the total")
        if code in line_of and repeated == "by line":
            again[by_line(code, number)] = code
            code = by_line(code, number)
        if code in line_of:
            raise _twice(name, code, number, line_of[code])
        if depth >= len(branch):
            above = f"the line above has {len(branch) - 2}" if line_of else "no line is above it"
            raise InputError(
                f"{where}: {_shown(code)} has {depth} lead strings {lead!r} and {above};"
                " insert its parent or remove a lead string"
            )
        line_of[code] = number
        del branch[depth + 1 :]
        children.setdefault(branch[-1], []).append(code)
        branch.append(code)
    if not line_of:
        raise InputError(f"{name}: no codes in it; write one a line, with {lead!r} in front for each level")
    for second, first in again.items():
        if second not in children or first not in children:
            raise _twice(name, first, line_of[second], line_of[first])
    return Hierarchy(tuple((parent, tuple(codes)) for parent, codes in children.items()))


def by_line(code: str, number: int) -> str:
    """What the second branch of a name is called."""
    return f"{code} (line {number})"


def _twice(name: str, code: str, number: int, first: int) -> InputError:
    return InputError(f"{name}, line {number}: {_shown(code)} is on line {first} already; rename one or delete it")


def write_hrc(hierarchy: Hierarchy, path: str | os.PathLike[str], *, lead: str = "@") -> None:
    """Write a hierarchy as an ``.hrc`` file, whole or not at all.

    The format holds trees only, and not the total's name.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "region.hrc")
    ...     write_hrc(Hierarchy.from_dict({"Total": {"North": ["N1", "N2"], "South": {}}}), file)
    ...     file.read_text().split()
    ['North', '@N1', '@N2', 'South']
    """
    _check_names(lead, hierarchy.total)
    level = _levels(hierarchy)
    codes = hierarchy.codes[1:]  # the first is the total
    if sum(len(lead) * level[code] + len(code) + 1 for code in codes) > _MAX_BYTES:
        raise InputError(f"{path}: would be larger than {_MAX_BYTES >> 20} MiB; write the branches one by one")
    lines = [lead * level[code] + code for code in codes]
    for code, line in zip(codes, lines, strict=True):
        if _CONTROL.search(code) or code[-1] in _PADDING or _depth_and_code(line, lead) != (level[code], code):
            raise InputError(
                f"{_shown(code)} cannot stand in an .hrc file, because it begins with the lead string {lead!r},"
                " ends in a blank or holds a control character: rename the code or choose another lead string"
            )
    if lines[0].startswith("\ufeff"):
        raise InputError(f"{_shown(lines[0])} begins with a byte order mark, which reading drops: rename the code")
    write_whole(Path(path), _encoded(path, "\n".join([*lines, ""])))


def _levels(hierarchy: Hierarchy) -> dict[str, int]:
    """The number of lead strings of each code; −1 for the total."""
    level = {hierarchy.total: -1}
    summed: set[str] = set()
    for parent, children in hierarchy.sums:  # in reading order: a parent's level is known before its children's
        if parent in summed:
            raise InputError(f"{_shown(parent)} has several sums, and an .hrc file holds one tree: write two files")
        summed.add(parent)
        for child in children:
            if child in level:
                raise InputError(f"{_shown(child)} is in several sums, which no .hrc file can hold: write two files")
            level[child] = level[parent] + 1
    return level


def _depth_and_code(line: str, lead: str) -> tuple[int, str]:
    depth = 0
    while line.startswith(lead, depth * len(lead)):
        depth += 1
    return depth, line[depth * len(lead) :]


def _check_names(lead: str, total: str) -> None:
    if not isinstance(lead, str) or not lead or _CONTROL.search(lead):
        raise InputError(f"the lead string {lead!r} cannot mark a depth: give one or more characters, such as '@'")
    if not isinstance(total, str) or not total:
        raise InputError(f"the total's name {total!r} is not a code: give some text, such as 'Total'")


def _encoded(path: str | os.PathLike[str], text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        broken = _shown(text[error.start : error.end])
        raise InputError(f"{path}: {broken} in a code is not a character that UTF-8 holds; rename the code") from None


def _shown(code: str) -> str:
    shown = repr(code)
    return shown if len(shown) <= 60 else f"{shown[:57]}…'"
