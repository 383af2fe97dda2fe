"""Deviations: how far published values are from the true ones, of all cells, of those at risk and of the others, as in Table 3 of Castro 2004.

For the data holder's eyes: what cells at risk deviate by is confidential.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cellward.errors import VerificationError
from cellward.exact import Bools, Floats
from cellward.protection import Protection
from cellward.report.section import Figures, Section

COLUMNS = ("mean", "std", "max")
NOTE = (
    "Mean, standard deviation (how much the changes differ among themselves) and largest of the changes, in the table's units and in per cent of the "
    "true value, cells of 0 left out. The 2-norm is the root of the sum of squared changes; it weighs large changes more."
)


@dataclass(frozen=True)
class Spread:
    """Mean, standard deviation (over n − 1) and maximum of some numbers; all 0 where there are none."""

    mean: float
    std: float
    max: float

    @staticmethod
    def of(numbers: Floats) -> Spread:
        """Of these numbers, none below 0."""
        if not len(numbers):
            return Spread(0.0, 0.0, 0.0)
        std = float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0
        return Spread(float(numbers.mean()), std, float(numbers.max()))


@dataclass(frozen=True)
class DeviationGroup:
    """The deviations of some cells: |v − a| in the user's units, 100·|v − a|/|a| over the cells with a ≠ 0, and the 2-norm of v − a."""

    cells: int
    absolute: Spread
    percent: Spread
    norm2: float

    @staticmethod
    def of(deviation: Floats, a: Floats) -> DeviationGroup:
        """Of deviations |v − a| from true values a."""
        held = a != 0
        percent = 100.0 * deviation[held] / np.abs(a[held])
        return DeviationGroup(len(a), Spread.of(deviation), Spread.of(percent), float(np.linalg.norm(deviation)))


@dataclass(frozen=True)
class Deviations:
    """Deviations of all cells, of the cells at risk (unsafe, or with a level asked), and of the others.

    >>> from cellward import ControlledAdjustment, Table
    >>> table = Table.from_equations([10, 20, 30], [[1, 1, -1]], sensitive=[0], lpl=[2], upl=[2])
    >>> found = Deviations.of(ControlledAdjustment(senses="up", jitter=0).protect(table))
    >>> found.all.absolute.max, found.at_risk.percent.mean, found.others.cells
    (2.0, 20.0, 2)
    """

    all: DeviationGroup
    at_risk: DeviationGroup
    others: DeviationGroup

    @staticmethod
    def of(protection: Protection) -> Deviations:
        """Of the result of any method."""
        p, i = protection, protection.instance
        if p.publication is None:
            raise VerificationError(f"a result called {p.status} has no values to measure; {p.reason}")
        unit = 10.0**i.decimals
        deviation, a = p.publication.deviations(i.a) / unit, i.a / unit
        risky = _asked(protection)
        return Deviations(
            *(DeviationGroup.of(deviation[cells], a[cells]) for cells in (np.ones_like(risky), risky, ~risky))
        )

    @property
    def groups(self) -> Iterator[tuple[str, DeviationGroup]]:
        """The three groups with their names."""
        yield from (("all", self.all), ("at risk", self.at_risk), ("others", self.others))

    def to_dict(self) -> dict[str, Any]:
        """The figures by name."""
        return asdict(self)

    def __str__(self) -> str:
        """The figures as plain text."""
        out = [f"{'deviations':<12}{'cells':>10}" + "".join(f"{head:>12}" for head in _heads())]
        out += [
            f"{name:<12}{group.cells:>10,}" + "".join(f"{x:>12}" for x in _texts(group)) for name, group in self.groups
        ]
        return "\n".join(out)

    def section(self) -> Section:
        """The same as a table of figures."""
        rows = tuple((name, f"{group.cells:,}", *_texts(group)) for name, group in self.groups)
        figures = Figures("Deviations (confidential)", ("", "cells", *_heads()), rows, note=NOTE)
        return Section("deviations", (figures,))


def _asked(protection: Protection) -> Bools:
    """The unsafe cells, and those of which any attacker's levels ask something."""
    i = protection.instance
    out = np.zeros(i.cells, bool)
    out[i.sensitivity.unsafe] = True
    for attacker in i.attackers:
        out[attacker.wanted(i.sensitivity.levels).cell] = True
    return out


def _heads() -> tuple[str, ...]:
    return (*COLUMNS, *(f"{name} %" for name in COLUMNS), "2-norm")


def _texts(group: DeviationGroup) -> list[str]:
    absolute, percent = (tuple(asdict(spread).values()) for spread in (group.absolute, group.percent))
    return [*(f"{x:,.1f}" for x in absolute), *(f"{x:,.2f}" for x in percent), f"{group.norm2:,.1f}"]
