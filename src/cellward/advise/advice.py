"""Advice: what a table asks for, what was tried and what it costs, and which method to use. Confidential: it names cells and their levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from typing import Any

from cellward.advise.trial import Cost
from cellward.protect.method import Method
from cellward.protect.option import options_of

COLUMNS = ("setting", "answer", "changes", "of sums", "of leaves", "s")
NAMES = 2
"""Columns of names; the others hold numbers."""


@dataclass(frozen=True)
class AdviceRow:
    """One setting of a method: ``answer`` protects, none exists (proven), undecided or refused; ``blocked``: cells whose own levels rule it out.

    ``blocking``: the first of them, or where what is in the way was found. ``tried`` is False where no solver was needed to see it.
    """

    method: Method
    answer: str
    seconds: float = 0.0
    cost: Cost | None = None
    steps: int = 1
    blocked: int = 0
    blocking: tuple[str, ...] = ()
    reason: str = ""
    tried: bool = True

    @property
    def setting(self) -> str:
        """The method with what is chosen of its options."""
        return setting_of(self.method)

    def texts(self) -> tuple[str, ...]:
        """The row as a table shows it, under :data:`COLUMNS`."""
        numbers = ("",) * 3
        if self.cost is not None:
            c = self.cost
            numbers = (f"{c.sum_abs:,.10g}", percent(c.totals), percent(c.leaves))
        return (self.setting, self.answer, *numbers, f"{self.seconds:.1f}" if self.tried else "")

    @property
    def in_the_way(self) -> str:
        """Why it does not protect, in a line; empty where it does."""
        if self.answer == "protects":
            return ""
        if self.reason:
            return f"{self.setting}: {self.reason}"
        more = f" and {self.blocked - len(self.blocking):,} more" if self.blocked > len(self.blocking) else ""
        return f"{self.setting}: the levels of {', '.join(self.blocking)}{more} rule it out"

    def to_dict(self) -> dict[str, Any]:
        """By name, for ``--json``."""
        return {
            "method": self.method.word,
            "options": options_said(self.method),
            "answer": self.answer,
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "loss": None if self.cost is None else asdict(self.cost),
            "blocked": self.blocked,
            "blocking": list(self.blocking),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class LevelRow:
    """What the cells of one level of sums ask for, in the table's units; ``cell``: the one that asks for most."""

    level: int
    cells: int
    asking: int
    least_base: int | float | None
    least_distance: int | float | None
    cell: str = ""

    def texts(self) -> tuple[str, ...]:
        """The row as a table shows it."""
        what = "no sums" if not self.level else f"sums, level {self.level}"
        needs = ["" if need is None else number(need) for need in (self.least_base, self.least_distance)]
        return (what, self.cell, f"{self.cells:,}", f"{self.asking:,}", *needs)


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What :func:`cellward.advise` says of a table.

    ``method`` is ready: ``advice.method.protect(table)``; None where nothing was found to protect. ``base``: the smallest at which a protecting
    rounding was found, or where none was the first that is not ruled out; ``base_found`` and ``base_proven`` say whether there is one, and whether
    every smaller candidate is proven not to do. ``least_base``: no rounding to a smaller base exists, round or not (proven). ``distance``,
    ``least_distance``: the same for a perturbation. ``table``: what was looked at, a row each; ``levels``: what each level of sums asks for.
    ``paragraph``: all of it in words.
    """

    method: Method | None
    why: str
    base: int | float | None
    base_found: bool
    base_proven: bool
    least_base: int | float | None
    distance: int | float | None
    least_distance: int | float | None
    table: tuple[AdviceRow, ...]
    levels: tuple[LevelRow, ...]
    paragraph: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """By name, for ``--json``."""
        return {
            "method": None if self.method is None else self.method.word,
            "options": None if self.method is None else options_said(self.method),
            **{
                one.name: getattr(self, one.name)
                for one in fields(self)
                if one.name not in ("method", "table", "levels")
            },
            "table": [row.to_dict() for row in self.table],
            "levels": [asdict(row) for row in self.levels],
        }

    def __str__(self) -> str:
        why = [row.in_the_way for row in self.table if row.in_the_way]
        return "\n".join(
            (self.paragraph, "", *_lines((COLUMNS, *(row.texts() for row in self.table))), *(["", *why] if why else []))
        )

    def __repr__(self) -> str:
        use = "none found" if self.method is None else said(self.method)
        return f"Advice({use}, {len(self.table)} settings, {self.seconds:.1f} s)"


def options_said(method: Method) -> dict[str, Any]:
    """The options that are not the method's own choice, in what JSON can hold."""
    given = {name: getattr(method, name) for name in options_of(type(method))}
    defaults = {one.name: one.default for one in fields(method)}  # type: ignore[arg-type]
    return {name: _plain(one) for name, one in given.items() if name == "base" or one != defaults[name]}


def setting_of(method: Method) -> str:
    """A method with what is chosen of its options, for a sentence."""
    given = options_said(method).items()
    words = [f"{name.replace('_', ' ')} {_words(one)}" for name, one in given if one is not None]
    return ", ".join((method.word, *words))


def said(method: Method) -> str:
    """A method as the command line says it, without its input."""
    words = [method.word]
    for name, one in options_said(method).items():
        if one is None:
            continue
        text = ",".join(f"{level}={each}" for level, each in one.items()) if isinstance(one, dict) else str(one)
        words.append(f"--{name.replace('_', '-')} {text}")
    return " ".join(words)


def in_a_job(method: Method) -> list[str]:
    """A method as the lines of a job file."""
    return [
        "[method]",
        f'name = "{method.word}"',
        *(f"{name} = {_toml(one)}" for name, one in options_said(method).items() if one is not None),
    ]


def number(x: float) -> str:
    """A number of the table's units in a sentence."""
    return f"{x:,}"


def _plain(one: Any) -> Any:
    if isinstance(one, dict):
        return {str(level): _plain(each) for level, each in one.items()}
    return str(one) if isinstance(one, Decimal) else one


def _words(one: Any) -> str:
    if isinstance(one, dict):
        return " ".join(f"{level}={_words(each)}" for level, each in one.items())
    return number(one) if isinstance(one, int | float) else str(one)


def _toml(one: Any) -> str:
    if isinstance(one, dict):
        return "{ " + ", ".join(f"{level} = {_toml(each)}" for level, each in one.items()) + " }"
    return str(one).lower() if isinstance(one, bool) else f'"{one}"' if isinstance(one, str) else str(one)


def percent(share: float) -> str:
    """A share in a sentence."""
    if 0 < share < 0.0001:
        return "< 0.01 %"
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _lines(rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    """Columns beside each other: names to the left, numbers to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        cells = [
            text.rjust(width) if k >= NAMES else text.ljust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
