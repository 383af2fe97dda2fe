"""PublishZeros: a method in one folder, to see that a folder and one line are all it takes; it publishes nothing but zeros."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from cellward.instance import Instance
from cellward.objective import Objective
from cellward.protect.attempt import Attempt
from cellward.protect.method import Method
from cellward.protect.option import Word, option
from cellward.protection import Protection
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge
from cellward.publication.values import Values
from cellward.solve.budget import Budget
from cellward.table.table import Table


@dataclass(frozen=True)
class PublishZeros(Method):
    """Every cell becomes 0: a table where the right-hand sides are 0, no cell is fixed and 0 is within bounds; and of little use."""

    word: ClassVar[str] = "zeros"
    title: ClassVar[str] = "zeros"
    summary: ClassVar[str] = "Publish zeros."

    mood: str = option("calm", Word(("calm", "bold")), "What the release says of itself.", first=True)

    def accepts(self, instance: Instance) -> str | None:
        """Any table: a zero is as far from the truth as the value is large."""
        return None

    def solve(self, instance: Instance, budget: Budget, key: bytes) -> Protection:
        """Zeros, the only table of them, where they are one."""
        attempt = ZerosAttempt(self, instance, budget, key)
        sought, told = attempt.untold()
        zeros = told.v
        if instance.relations.rhs.any():
            return attempt.infeasible("zeros do not add up to right-hand sides; use another method", "no engine")
        if np.any(
            (zeros < instance.lower) | (zeros > instance.upper) | (instance.sensitivity.fixed & (instance.a != 0))
        ):
            return attempt.infeasible("zeros are out of bounds, or cells are fixed; use another method", "no engine")
        cost = sum(w * abs(a) for w, a in zip(instance.weight.tolist(), instance.a.tolist(), strict=True))
        return attempt.result_of(
            Values(told), replace(sought, bound=Fraction(cost)), status="optimal", engine="no engine"
        )

    @classmethod
    def publication(cls, stated: Mapping[str, Any], printed: Mapping[str, Any], table: Table) -> Values:
        """Nothing is told."""
        return Values(Knowledge.adjusted(printed["value"]))


class ZerosAttempt(Attempt):
    def stated(self) -> dict[str, Any]:
        return {"mood": self.method.mood}

    def untold(self) -> tuple[Objective, Knowledge]:
        zeros = np.zeros(self.instance.cells, np.int64)
        return Objective(allowed=AllowedSet(zeros, zeros, zeros)), Knowledge.adjusted(zeros)
