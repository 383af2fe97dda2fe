"""PublishZeros: a method in one folder, to see that a folder and one line are all it takes; it publishes nothing but zeros."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    """Every cell becomes 0: additive where the right-hand sides are 0, and of little use."""

    word: ClassVar[str] = "zeros"
    title: ClassVar[str] = "zeros"
    summary: ClassVar[str] = "Publish zeros."

    mood: str = option("calm", Word(("calm", "bold")), "What the release says of itself.", first=True)

    def accepts(self, instance: Instance) -> str | None:
        """Tables without right-hand sides."""
        return "zeros do not add up to right-hand sides; use another method" if instance.relations.rhs.any() else None

    def solve(self, instance: Instance, budget: Budget, key: bytes) -> Protection:
        """Zeros."""
        zeros = np.zeros(instance.cells, np.int64)
        attempt = ZerosAttempt(self, instance, budget, key)
        sought = Objective(allowed=AllowedSet(zeros, zeros, zeros))
        return attempt.made(Values(Knowledge.adjusted(zeros)), sought, status="feasible", engine="no engine")

    @classmethod
    def publication(cls, stated: Mapping[str, Any], printed: Mapping[str, Any], table: Table) -> Values:
        """Nothing is told."""
        return Values(Knowledge.adjusted(printed["value"]))


class ZerosAttempt(Attempt):
    def stated(self) -> dict[str, Any]:
        return {"mood": self.method.mood}

    def untold(self) -> tuple[Objective, Knowledge]:
        return Objective(), Knowledge.adjusted(self.instance.a)
