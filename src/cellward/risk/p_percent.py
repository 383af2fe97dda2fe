"""PPercent: no contributor, or coalition of n, may estimate another's contribution to within p percent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from cellward.risk import parameter
from cellward.risk.concentration import WORDS, Concentration
from cellward.risk.measure import LinearMeasure
from cellward.risk.rule import amount, contributions_of
from cellward.table.table import Table


@dataclass(frozen=True)
class PPercent(Concentration):
    """Unsafe where X − x_1 − (x_2 + … + x_{n+1}) < p/100·x_1; the level is p/100·x_1 − (X − x_1 − … − x_{n+1}).

    ``n`` is the size of the coalition of attackers.

    >>> rule = PPercent(10)
    >>> rule.level(110, [100, 8]), rule.against(110, 8, [100])
    (Fraction(8, 1), Fraction(8, 1))
    >>> print(rule.sentence)
    A cell is unsafe when its total without the two largest contributions is less than 10 % of the largest (p % rule, p = 10).
    """

    kind: ClassVar[str] = "p_percent"
    p: parameter.Number
    n: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p", parameter.decimal(self.p, "PPercent: p", most=1000))
        object.__setattr__(self, "n", parameter.count(self.n, "PPercent: n"))

    @cached_property
    def measure(self) -> LinearMeasure:
        """(1 + p/100)·x_1 + x_2 + … + x_{n+1} − X."""
        return LinearMeasure.of([1 + Fraction(self.p) / 100] + [Fraction(1)] * self.n)

    @cached_property
    def _share(self) -> Fraction:
        return Fraction(self.p) / 100

    @property
    def others_needed(self) -> int:
        """The one whose contribution is estimated."""
        return 1

    def against(self, total: int, own: int, others: Sequence[int]) -> Fraction:
        """p/100·x_t − (X − s − x_t)."""
        (x,) = self._others(others)
        return self._share * x - (total - own - x)

    @property
    def sentence(self) -> str:
        """The rule as a reviewer reads it."""
        many = WORDS.get(self.n + 1, str(self.n + 1))
        coalition = "" if self.n == 1 else f", coalitions of {self.n}"
        return (
            f"A cell is unsafe when its total without the {many} largest contributions is less than {self.p} % of the largest "
            f"(p % rule, p = {self.p}{coalition}{self._unless_weighted()})."
        )

    def reason(self, table: Table, cell: int) -> str:
        """The largest contribution and what the others leave."""
        total, first = (int(x) for x in (contributions_of(table).size[cell], contributions_of(table).top[0, cell]))
        head = self._head(table, cell)
        return (
            f"{self._largest(table, cell)} of {amount(table, total)}; the {self.n + 1} largest come to {amount(table, head)} and leave "
            f"{amount(table, total - head)}, less than {self.p} % of the largest ({amount(table, self._share * first)})."
        )
