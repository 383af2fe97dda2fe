"""Publication: what is printed and what it tells, one object; values, withheld cells and ranges are the three kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from cellward import exact
from cellward.exact import Bools, Floats, Ints
from cellward.publication.loss import Loss

if TYPE_CHECKING:
    from cellward.instance import Instance
    from cellward.publication.allowed import AllowedSet
    from cellward.publication.knowledge import Knowledge

Kind = Literal["values", "withheld", "ranges"]


class Publication(ABC):
    """Frozen, and public: it holds what is printed and nothing else. All amounts are scaled integers in cell order."""

    kind: ClassVar[Kind]
    costs_amounts: ClassVar[bool] = True
    """Whether the cost is of amounts; otherwise of cells, so that it counts in the unit of the weights alone."""

    @property
    @abstractmethod
    def knowledge(self) -> Knowledge:
        """What the public reads out of it; derived from what is printed, never given beside it."""

    @property
    @abstractmethod
    def start(self) -> Ints:
        """A number for every cell that does not contradict what is printed of it, to look for tables from."""

    @property
    def v(self) -> Ints | None:
        """The additive vector that is printed; None where what is printed is none."""
        return None

    def values(self, decimals: int) -> Ints | Floats | None:
        """The values printed in the user's units, not a number where none is; None where the kind prints none."""
        return None if self.v is None else exact.units(self.v, decimals)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.start)

    @abstractmethod
    def columns(self, decimals: int) -> dict[str, list[str]]:
        """The printed columns by name, as texts; empty where nothing is printed of a cell."""

    @property
    def unsaid(self) -> Bools:
        """The cells of which no single value is printed."""
        return np.zeros(self.cells, bool)

    @abstractmethod
    def numbers(self, decimals: int) -> dict[str, Any]:
        """The same columns in the user's units, masked where nothing is printed of a cell."""

    @abstractmethod
    def printed(self) -> dict[str, Any]:
        """The same as a certificate states it, in whole numbers."""

    @abstractmethod
    def take(self, cells: Ints) -> Publication:
        """What is printed of these cells, in this order."""

    @abstractmethod
    def check(self, instance: Instance, allowed: AllowedSet | None) -> None:
        """Refuse (VerificationError) what does not fit the relations, the allowed sets and the truth."""

    @abstractmethod
    def cost(self, instance: Instance, allowed: AllowedSet | None = None) -> int | None:
        """What it costs with the weights of the instance, of what was left to choose; None where that has no end."""

    @abstractmethod
    def deviations(self, a: Ints) -> Ints:
        """How far each cell may seem from its true value."""

    def loss(self, a: Ints, decimals: int) -> Loss:
        """What is lost beside the true values."""
        return Loss.of(a, self.deviations(a), decimals)


def exact_sum(weight: Ints, amount: Ints) -> int:
    """Σ weight·amount, exact."""
    if int(np.abs(amount).max(initial=0)) * int(weight.max(initial=0)) * len(amount) < 2**62:
        return int(amount @ weight)
    return sum(x * w for x, w in zip(amount.tolist(), weight.tolist(), strict=True))
