"""Spelling: names that differ only in case, blanks or Unicode form are taken for one unit's; codes that do so stand apart and are reported."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from cellward.errors import brief

EXAMPLES = 3
"""So many are quoted."""


def fold(name: str) -> str:
    """What spellings of one name have in common: no case, single blanks between words, composed characters.

    >>> fold("  ACME  Société ") == fold("acme Socie\\u0301te\\u0301")
    True
    """
    return unicodedata.normalize("NFC", " ".join(unicodedata.normalize("NFD", name).casefold().split()))


@dataclass(frozen=True)
class Alike:
    """``names`` that differ only in spelling and mean ``several`` things; ``examples`` are some of them, each with its spellings. Confidential."""

    what: str
    names: int
    several: int
    examples: tuple[tuple[str, ...], ...]
    merged: bool

    @property
    def sentence(self) -> str:
        """For reviewers; it quotes names."""
        quoted = "; ".join(" = ".join(map(brief, group)) for group in self.examples)
        if self.merged:
            return (
                f"{self.names:,} names of units were taken for those of {self.several:,}, since they differ only in case, blanks or Unicode form "
                f"({quoted}); spelling='as written' keeps them apart."
            )
        return (
            f"{self.names:,} codes of {self.what} differ only in case, blanks or Unicode form from another and stand apart ({quoted}); correct the "
            "records if they mean the same."
        )


def alike(what: str, names: Iterable[str], *, merged: bool) -> Alike | None:
    """The names that differ only in spelling; None where there are none."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(fold(name), []).append(name)
    several = [tuple(sorted(group, key=lambda name: (len(name), name))) for group in groups.values() if len(group) > 1]
    if not several:
        return None
    return Alike(what, sum(map(len, several)), len(several), tuple(sorted(several)[:EXAMPLES]), merged)
