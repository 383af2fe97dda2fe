"""PriorPosterior: who knows the others to within q percent beforehand may not learn one to within p percent from the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from cellward.errors import InputError
from cellward.risk import parameter
from cellward.risk.concentration import WORDS, Concentration
from cellward.risk.measure import LinearMeasure
from cellward.risk.rule import amount, contributions_of
from cellward.table.table import Table


@dataclass(frozen=True)
class PriorPosterior(Concentration):
    """Unsafe where q·(X − x_1 − … − x_{n+1}) < p·x_1; the level is (p/q)·x_1 − (X − x_1 − … − x_{n+1}).

    ``n`` is the size of the coalition of attackers. With q = 100 it is the p % rule.

    >>> PriorPosterior(10, 40).level(110, [80, 20])
    Fraction(10, 1)
    """

    kind: ClassVar[str] = "prior_posterior"
    p: parameter.Number
    q: parameter.Number
    n: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        q = parameter.decimal(self.q, "PriorPosterior: q", most=100)
        p = parameter.decimal(self.p, "PriorPosterior: p", most=100)
        if p >= q:
            raise InputError(
                f"PriorPosterior: p={p} is not below q={q}; attackers know less after than before: give p below q"
            )
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "q", q)
        object.__setattr__(self, "n", parameter.count(self.n, "PriorPosterior: n"))

    @property
    def _share(self) -> Fraction:
        return Fraction(self.p) / Fraction(self.q)

    @cached_property
    def measure(self) -> LinearMeasure:
        """(1 + p/q)·x_1 + x_2 + … + x_{n+1} − X."""
        return LinearMeasure.of([1 + self._share] + [Fraction(1)] * self.n)

    @property
    def others_needed(self) -> int:
        """The one whose contribution is estimated."""
        return 1

    def against(self, total: int, own: int, others: Sequence[int]) -> Fraction:
        """(p/q)·x_t − (X − s − x_t)."""
        (x,) = self._others(others)
        return self._share * x - (total - own - x)

    @property
    def sentence(self) -> str:
        """The rule as a reviewer reads it."""
        many = WORDS.get(self.n + 1, str(self.n + 1))
        coalition = "" if self.n == 1 else f", coalitions of {self.n}"
        return (
            f"A cell is unsafe when {self.q} % of its total without the {many} largest contributions is less than {self.p} % of the largest "
            f"((p, q) rule, p = {self.p}, q = {self.q}{coalition}{self._unless_weighted()})."
        )

    def reason(self, table: Table, cell: int) -> str:
        """The largest contribution and what the others leave."""
        total, first = (int(x) for x in (contributions_of(table).size[cell], contributions_of(table).top[0, cell]))
        rest = total - self._head(table, cell)
        return (
            f"{self._largest(table, cell)} of {amount(table, total)}; the {self.n + 1} largest leave {amount(table, rest)}, "
            f"of which {self.q} % ({amount(table, Fraction(self.q) / 100 * rest)}) is less than {self.p} % of the largest "
            f"({amount(table, Fraction(self.p) / 100 * first)})."
        )
