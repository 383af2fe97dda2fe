"""Rule: what makes a cell unsafe and how far an attacker must be kept from it; rules.md beside this file derives every rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.errors import InputError
from cellward.exact import LARGEST, Bools, Ints, freeze
from cellward.table.contributions import Contributions
from cellward.table.table import Table

_NO_FLOOR = -(2**62)  # far below every value, and value − _NO_FLOOR stays within int64


@dataclass(frozen=True, eq=False, repr=False)
class Judgement:
    """The cells that a rule calls unsafe, in increasing order, and for each the levels it asks for; scaled integers."""

    cell: Ints
    lpl: Ints
    upl: Ints
    spl: Ints

    def __post_init__(self) -> None:
        freeze(self.cell, self.lpl, self.upl, self.spl)

    @staticmethod
    def at(table: Table, cell: Ints, level: NDArray[Any], sliding: NDArray[Any] | None = None) -> Judgement:
        """The same level on both sides, below no further than the public lower bound: beyond it nothing can be asked."""
        for column in (level, sliding):
            if column is not None and len(column) and int(column.max()) > LARGEST:
                i = int(column.argmax())
                raise InputError(
                    f"{table.labels.name(int(cell[i]))}: its level is beyond 2^53, where doubles "
                    "stop being exact; choose a larger unit or a milder rule"
                )
        upl = level.astype(np.int64)
        room = table.scaled[cell] - np.maximum(table.lower[cell], _NO_FLOOR)
        spl = np.zeros(len(cell), np.int64) if sliding is None else sliding.astype(np.int64)
        return Judgement(cell, np.minimum(upl, room), upl, spl)

    def take(self, keep: Bools) -> Judgement:
        """Only these of the cells."""
        return Judgement(self.cell[keep], self.lpl[keep], self.upl[keep], self.spl[keep])

    def __repr__(self) -> str:
        return f"Judgement({len(self.cell):,} unsafe)"


@dataclass(frozen=True)
class Rule(ABC):
    """A rule is a frozen dataclass of its parameters; ``kind`` is what policies and reports call it."""

    kind: ClassVar[str]

    @abstractmethod
    def judge(self, table: Table) -> Judgement:
        """The unsafe cells of a table and their levels."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The rule as a reviewer reads it."""

    @abstractmethod
    def reason(self, table: Table, cell: int) -> str:
        """Why this unsafe cell is unsafe, with its numbers: confidential."""

    def after_waivers(self, table: Table, judgement: Judgement, waived: Bools) -> Judgement:
        """What is left to protect when units have consented; ``waived`` (kept, unsafe cells) says whose contributions that are.

        In general only a cell behind which every unit is known and has consented is let go.
        """
        return judgement.take(~everyone(contributions_of(table), judgement.cell, waived))

    @property
    def options(self) -> dict[str, Any]:
        """The parameters that are set, defaults included."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}

    @property
    def stated(self) -> dict[str, Any]:
        """The parameters that say what the rule is: the leading ones, and those that differ from their default."""
        held = {name: getattr(self, name) for name in self._leading()}
        return held | {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default}

    @property
    def short(self) -> str:
        """The rule as it is written: ``PPercent(10, n=2)``."""
        leading = self._leading()
        written = {name: repr(value) if isinstance(value, str) else str(value) for name, value in self.stated.items()}
        shown = [text if name in leading else f"{name}={text}" for name, text in written.items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    @classmethod
    def _leading(cls) -> list[str]:
        plain = [f for f in fields(cls) if not f.kw_only]
        return [f.name for k, f in enumerate(plain) if k == 0 or f.default is MISSING]


def contributions_of(table: Table) -> Contributions:
    """Who stands behind the cells, or the sentence that nobody knows."""
    if table.contributions is None:
        raise InputError(
            "the table holds no contributions, so no rule can judge its cells; build it with Table.from_microdata, or name its columns of "
            "contributors and largest contributions (frequency=, largest=)"
        )
    return table.contributions


def everyone(contributions: Contributions, cell: Ints, waived: Bools) -> Bools:
    """Of these cells, those whose units are all among the largest kept, each of them having consented."""
    unit = contributions.unit[:, cell]
    known = (unit >= 0).sum(axis=0) == contributions.units[cell]
    return np.asarray(known & (waived | (unit < 0)).all(axis=0))


def amount(table: Table, scaled: int | Fraction) -> str:
    """A number in the table's units, for a sentence."""
    fine = Fraction(scaled) * 10**6
    text = exact.short(round(fine), table.decimals + 6)
    return text if fine.denominator == 1 else f"about {text}"
