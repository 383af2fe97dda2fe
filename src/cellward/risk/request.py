"""Request: who asked for confidentiality is protected where it makes up more than a share of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from cellward.errors import InputError
from cellward.exact import Ints
from cellward.risk import parameter
from cellward.risk.measure import LinearMeasure
from cellward.risk.rule import Judgement, amount, contributions_of
from cellward.risk.user_levels import UserLevels
from cellward.table.table import Table


@dataclass(frozen=True)
class Request(UserLevels):
    """Unsafe where a unit that asked with ``code`` contributes more than ``percent_of_total`` percent of the total."""

    kind: ClassVar[str] = "request"
    percent_of_total: parameter.Number
    code: str = "1"

    def __post_init__(self) -> None:
        super().__post_init__()
        share = parameter.decimal(self.percent_of_total, "Request: percent_of_total", below=100)
        object.__setattr__(self, "percent_of_total", share)
        if not isinstance(self.code, str) or not self.code:
            raise InputError(f"Request: code={self.code!r}; give the code of the request column as text, such as '1'")

    @cached_property
    def _measure(self) -> LinearMeasure:
        return LinearMeasure.of([Fraction(1)], Fraction(self.percent_of_total) / 100)

    def _largest(self, table: Table) -> Ints:
        """The largest contribution of a unit that asked, by cell."""
        requested = contributions_of(table).requested
        if self.code not in requested:
            held = f"the codes {', '.join(sorted(requested))}" if requested else "no requests"
            raise InputError(
                f"Request: nobody in this table asked with code {self.code!r}, it holds {held}; correct the code, name the request column "
                "when tabulating, or leave the rule out"
            )
        return requested[self.code]

    def judge(self, table: Table) -> Judgement:
        """The cells in which such a unit is too large."""
        cell, _ = self._measure.unsafe(self._largest(table)[None, :], contributions_of(table).size)
        return self.levels(table, cell)

    @property
    def sentence(self) -> str:
        """The rule as a reviewer reads it."""
        return (
            f"A cell is unsafe when a unit that asked for confidentiality (code {self.code}) contributes more than {self.percent_of_total} % of its "
            f"total (request rule). {self.levels_sentence}"
        )

    def reason(self, table: Table, cell: int) -> str:
        """What the unit contributes and its share."""
        total = int(contributions_of(table).size[cell])
        return (
            f"A unit that asked for confidentiality (code {self.code}) contributes {amount(table, int(self._largest(table)[cell]))} of "
            f"{amount(table, total)}, more than {self.percent_of_total} % ({amount(table, Fraction(self.percent_of_total) / 100 * total)})."
        )
