"""A-priori files ``.hst``: what is known of single cells before they are protected.

code1;…;codeN;CMD[;v1[;v2]]     the separator is the caller's; an empty code, or the total's, means the total

S safe      U unsafe      P published as it is      M, ML withheld by hand      C or W cost v1      PL levels v1 below and v2 above
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from cellward.errors import InputError, brief
from cellward.exact import is_number
from cellward.tauargus.files.asc import with_point
from cellward.tauargus.files.lines import read_lines

MOST_BYTES = 1 << 26  # 64 MiB: a line a cell
COMMANDS = {"S": 0, "U": 0, "P": 0, "M": 0, "ML": 0, "C": 1, "W": 1, "PL": 2}
"""The numbers that follow each."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """What one line says of one cell."""

    codes: tuple[str, ...]
    command: str
    numbers: tuple[str, ...]
    where: str


def read_hst(path: str | os.PathLike[str], dims: int, separator: str = ";") -> list[Change]:
    """The changes of an a-priori file for a table of so many dimensions."""
    path = Path(path)
    if len(separator) != 1:
        raise InputError(f"{path}: the separator {separator!r} is not one character; name it in the command")
    changes = []
    for line in read_lines(path, most_bytes=MOST_BYTES):
        fields = [field.strip() for field in line.text.split(separator)]
        fields = [field[1:-1].strip() if len(field) > 1 and field[0] == field[-1] == '"' else field for field in fields]
        while len(fields) > dims + 1 and not fields[-1]:
            fields.pop()
        if len(fields) <= dims:
            raise line.error(
                f"{len(fields)} fields where {dims} codes and a command belong; separate them with {separator!r}, or name another separator"
            )
        command, numbers = fields[dims].upper(), tuple(with_point(field) for field in fields[dims + 1 :])
        if command == "AB":
            raise line.error(
                "AB, bounds known beforehand, is not carried out (nor is it by τ-ARGUS); take the line out"
            )
        if command not in COMMANDS:
            raise line.error(f"{brief(fields[dims])} after {dims} codes is no command; use {', '.join(COMMANDS)}")
        if len(numbers) < COMMANDS[command] or any(
            not is_number(number) or number.startswith("-") for number in numbers
        ):
            wanted = ("no number", "one number from 0", "two numbers from 0")[COMMANDS[command]]
            raise line.error(f"{command} is followed by {brief(separator.join(numbers))}; give {wanted}")
        changes.append(
            Change(
                codes=tuple(fields[:dims]),
                command=command,
                numbers=numbers[: COMMANDS[command]],
                where=f"{path} line {line.number}",
            )
        )
    if not changes:
        raise InputError(f"{path}: no line in it; write one a cell, code;code;U")
    return changes
