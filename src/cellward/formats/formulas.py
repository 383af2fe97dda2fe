"""Formulas: texts that a spreadsheet would run when it opens a CSV file, which cannot mark them as text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cellward.errors import InputError, brief

_FORMULA = re.compile(r"\s*[=@]|[\t\r]|\s*[+-].*[(|!]", re.DOTALL)
"""What a spreadsheet takes for a formula; after a sign only what calls something, since codes such as -1, +5 or -9 to 0 are ordinary."""


def refuse_formulas(where: str, texts: Iterable[str]) -> None:
    """Refuse texts that a spreadsheet would run: a file that marked them as text would not hold them as they are."""
    for text in texts:
        if _FORMULA.match(text):
            raise InputError(
                f"{brief(where)}: a spreadsheet would run the label {brief(text)} as a formula; give it another name, without = + - @ at its "
                "beginning"
            )
