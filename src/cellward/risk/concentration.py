"""Concentration: the rules that compare the largest contributions of a cell with its total by a linear measure.

Legend: x_1 ≥ x_2 ≥ … contributions, X total, s what an attacker contributes itself, x_t the largest contribution of the others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction

import numpy as np

from cellward.errors import InputError
from cellward.exact import Bools
from cellward.risk.measure import LinearMeasure
from cellward.risk.rule import Judgement, Rule, amount, contributions_of, everyone
from cellward.risk.score import score
from cellward.table.contributions import Contributions
from cellward.table.table import Table

WORDS = {2: "two", 3: "three", 4: "four", 5: "five"}


@dataclass(frozen=True)
class Concentration(Rule):
    """A rule with a linear measure; ``weights``: in a table with sampling weights, count each contribution as often as its weight says."""

    _: KW_ONLY
    weights: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.weights, bool):
            raise InputError(f"{type(self).__name__}: weights={self.weights!r}; give True or False")

    @property
    @abstractmethod
    def measure(self) -> LinearMeasure:
        """The measure whose positive values are the levels of unsafe cells."""

    @property
    @abstractmethod
    def others_needed(self) -> int:
        """How many contributions of others :meth:`against` looks at."""

    @abstractmethod
    def against(self, total: int, own: int, others: Sequence[int]) -> Fraction:
        """How far an attacker that contributes ``own`` must be kept above ``total``; ``others`` are the largest other contributions, largest first.

        In scaled units; nothing is asked where it is not positive.
        """

    @property
    def needs(self) -> int:
        """How many of the largest contributions :meth:`judge` looks at."""
        return len(self.measure.coefficients)

    def level(self, total: int, largest: Sequence[int]) -> Fraction:
        """The level of a cell with this total and these largest contributions, largest first, unweighted; unsafe where it is positive."""
        return self.measure.level(total, largest)

    def judge(self, table: Table) -> Judgement:
        """The cells of positive level."""
        c = contributions_of(table)
        top = c.largest(self.needs)
        if self._weighted(c):
            assert c.weighted is not None
            return Judgement.at(table, *self.measure.unsafe_weighted(top, c.weighted[: self.needs], c.size))
        return Judgement.at(table, *self.measure.unsafe(top, c.size))

    def after_waivers(self, table: Table, judgement: Judgement, waived: Bools) -> Judgement:
        """Where the largest unit has consented, the largest that has not is protected instead, from the largest others (rules.md, Waivers)."""
        c = contributions_of(table)
        keep = ~everyone(c, judgement.cell, waived)
        if self._weighted(c):
            return judgement.take(keep)
        level = judgement.upl.copy()
        for k in np.flatnonzero(keep & waived[0] & ~waived.all(axis=0)).tolist():
            i = int(judgement.cell[k])
            t = int(waived[:, k].argmin())  # the largest that has not consented
            if c.unit[t, i] < 0:  # fewer units are known than contribute: it may be any
                continue
            x = c.top[:, i].tolist()
            target = x.pop(t)
            needed = self.against(int(c.size[i]), sum(x[: self.needs - 1]), [target])
            level[k] = max(0, -(-needed.numerator // needed.denominator))
        keep &= level > 0
        return Judgement.at(table, judgement.cell[keep], level[keep])

    def _weighted(self, c: Contributions) -> bool:
        return self.weights and c.weighted is not None

    def _others(self, others: Sequence[int]) -> list[int]:
        """As many of the others as the rule looks at, 0 for those that are missing."""
        known = list(others[: self.others_needed])
        return known + [0] * (self.others_needed - len(known))

    def _largest(self, table: Table, cell: int) -> str:
        """The largest contribution and whose it is."""
        c = contributions_of(table)
        return f"{c.name(int(c.unit[0, cell]))} contributes {amount(table, int(c.top[0, cell]))}"

    def _head(self, table: Table, cell: int) -> Fraction:
        """The sum of the contributions that the rule looks at, weighted where the rule does so."""
        c = contributions_of(table)
        x = c.top[: self.needs, cell].tolist()
        if self._weighted(c):
            assert c.weighted is not None
            return score(x, c.weighted[: self.needs, cell].tolist(), self.needs)
        return Fraction(sum(x))

    def _unless_weighted(self) -> str:
        return "" if self.weights else "; sampling weights count in the total only"
