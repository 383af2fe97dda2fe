"""Dominance: the n largest contributors may not make up more than k percent of a cell."""

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
class Dominance(Concentration):
    """Unsafe where x_1 + … + x_n > k/100·X; the level is (100/k)·(x_1 + … + x_n) − X.

    >>> Dominance(2, 80).level(110, [80, 20])
    Fraction(15, 1)
    """

    kind: ClassVar[str] = "dominance"
    n: int
    k: parameter.Number

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n", parameter.count(self.n, "Dominance: n"))
        object.__setattr__(self, "k", parameter.decimal(self.k, "Dominance: k", below=100))

    @property
    def _factor(self) -> Fraction:
        return 100 / Fraction(self.k)

    @cached_property
    def measure(self) -> LinearMeasure:
        """(100/k)·(x_1 + … + x_n) − X."""
        return LinearMeasure.of([self._factor] * self.n)

    @property
    def others_needed(self) -> int:
        """Those that make up the n largest together with the attacker; the one that is estimated when n = 1."""
        return max(1, self.n - 1)

    def against(self, total: int, own: int, others: Sequence[int]) -> Fraction:
        """(100/k)·(s + the n − 1 largest others) − X; for n = 1, (100/k)·x_t − (X − s)."""
        x = sum(self._others(others))
        return self._factor * x - (total - own) if self.n == 1 else self._factor * (own + x) - total

    @property
    def sentence(self) -> str:
        """The rule as a reviewer reads it."""
        many = (
            "its largest contribution is"
            if self.n == 1
            else f"its {WORDS.get(self.n, str(self.n))} largest contributions are together"
        )
        return f"A cell is unsafe when {many} more than {self.k} % of its total ((n, k) rule, n = {self.n}, k = {self.k}{self._unless_weighted()})."

    def reason(self, table: Table, cell: int) -> str:
        """The largest contributions and their share."""
        total, head = int(contributions_of(table).size[cell]), self._head(table, cell)
        largest = "this is" if self.n == 1 else f"the {self.n} largest come to {amount(table, head)},"
        return (
            f"{self._largest(table, cell)} of {amount(table, total)}; {largest} more than {self.k} % of the total "
            f"({amount(table, Fraction(self.k) / 100 * total)})."
        )
