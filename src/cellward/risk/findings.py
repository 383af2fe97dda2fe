"""Findings: why each cell is at risk, and which cells were let go and why. Confidential: reasons quote contributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cellward.errors import brief
from cellward.exact import Ints, freeze
from cellward.notebook import MOST_ROWS, card
from cellward.risk.attacker import Cell
from cellward.risk.manual import Manual
from cellward.risk.policy import Policy
from cellward.risk.rule import Rule
from cellward.table.table import Table


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Findings:
    """What the rules found in a table. Cells are numbers, in increasing order."""

    table: Table
    """The table that was judged."""
    rules: tuple[Rule, ...]
    hits: tuple[Ints, ...]
    """For each rule the cells that it calls unsafe, before any exception."""
    unsafe: Ints
    """The cells that are to be protected."""
    waived: Ints
    """Called unsafe, and let go because the units that the rules protect have consented."""
    published: Ints
    """Called unsafe, and published already or fixed: they cannot be protected."""
    declared_safe: Mapping[int, str]
    """Cells that a person declared safe, with the reason."""
    declared_fixed: Mapping[int, str]
    """Cells that a person declared fixed, with the reason."""
    given: Ints
    """Unsafe cells whose levels were given by the user."""
    consenting: Ints
    """Units, by number, that consent to publication."""
    without_effect: tuple[str, ...] = ()
    """Names of units that consent and are not among the largest of any cell; one of them may be misspelt."""
    policies: tuple[Policy, ...] = ()
    """The policies that rules came from."""

    def __post_init__(self) -> None:
        freeze(*self.hits, self.unsafe, self.waived, self.published, self.given, self.consenting)

    def rules_of(self, cell: Cell) -> tuple[Rule, ...]:
        """The rules that call a cell unsafe."""
        i = self.table.labels.find(cell)
        return tuple(rule for rule, hit in zip(self.rules, self.hits, strict=True) if _holds(hit, i))

    def reasons(self, cell: Cell) -> list[str]:
        """Why a cell is unsafe, rule by rule, and why it is let go if it is; empty for a cell that nothing calls unsafe."""
        i = self.table.labels.find(cell)
        said = [rule.reason(self.table, i) for rule in self.rules_of(i)]
        if i in self.declared_safe:
            said.append(f"Declared safe: {self.declared_safe[i]}")
        if i in self.declared_fixed:
            said.append(f"Declared fixed: {self.declared_fixed[i]}")
        if _holds(self.waived, i):
            said.append("Not protected: the units that would be protected have consented to publication.")
        if _holds(self.published, i):
            said.append("Published already, or fixed: not protected.")
        if _holds(self.given, i):
            said.append("Its levels were given by the user.")
        return said

    def counts(self) -> dict[str, int]:
        """How many of the cells to be protected each rule calls unsafe, by the rule's short name."""
        out: dict[str, int] = {}
        for rule, hit in zip(self.rules, self.hits, strict=True):
            if not isinstance(rule, Manual) or rule.status == "unsafe":
                many = len(np.intersect1d(hit, self.unsafe, assume_unique=True))
                out[rule.short] = out.get(rule.short, 0) + many
        return out

    def lines(self) -> list[str]:
        """The report of the search: each rule and how many cells it hit, then the total and the exceptions.

        Parameters of the rules stand in it: it is for reviewers, not for publication.
        """
        out = [
            f"{rule.sentence} {_cells(len(hit))}."
            if not isinstance(rule, Manual) or rule.status == "unsafe"
            else rule.sentence
            for rule, hit in zip(self.rules, self.hits, strict=True)
        ]
        out.append(f"To be protected: {_cells(len(self.unsafe))} of {self.table.cells:,}.")
        safe = [i for i in self.declared_safe if any(_holds(hit, i) for hit in self.hits)]
        for cells, said in (
            (self.waived, "called unsafe, and not protected because the units behind them have consented"),
            (safe, "called unsafe, and declared safe by hand"),
            (self.published, "called unsafe, and not protected because they are published already or fixed"),
            (self.given, "with levels given by the user"),
        ):
            if len(cells):
                out.append(f"{_cells(len(cells))} {said}.")
        if lost := self.without_effect:
            more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
            out.append(
                f"Consents without effect: {', '.join(map(brief, lost[:_NAMED]))}{more}; no unit of that name is among the largest of a cell: check "
                "the spelling, and that units are named (contributors, or holdings where there are)."
            )
        return out

    def _repr_html_(self) -> str:
        cells = self.unsafe[:MOST_ROWS].tolist()
        shown = {
            "cell": [self.table.labels.name(i) for i in cells],
            "why": [" ".join(self.reasons(i)) for i in cells],
        }
        return card(repr(self), confidential=True, lines=self.lines(), columns=shown, cells=len(self.unsafe))

    def __repr__(self) -> str:
        hit = ", ".join(f"{name}: {many:,}" for name, many in self.counts().items())
        return f"Findings({len(self.unsafe):,} unsafe{'; ' if hit else ''}{hit})"


_NAMED = 5
"""So many consents without effect are named."""


def _holds(cells: Ints, cell: int) -> bool:
    at = int(np.searchsorted(cells, cell))
    return at < len(cells) and int(cells[at]) == cell


def _cells(many: int) -> str:
    return f"{many:,} cell{'' if many == 1 else 's'}"
