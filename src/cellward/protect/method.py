"""Method: the shape every protection method has, and the one road from a table to a checked Protection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from cellward.errors import InputError
from cellward.instance import Instance, Weights
from cellward.protection import Protection, checked_key
from cellward.risk.attacker import Attacker
from cellward.solve.budget import Budget
from cellward.table.table import Table


class Method(ABC):
    """A protection method: a frozen dataclass of options with these three verbs."""

    default_weights: ClassVar[Weights] = None
    """The weights where a user gives none."""

    @abstractmethod
    def accepts(self, instance: Instance) -> str | None:
        """None when the method can guarantee what the instance asks; otherwise the reason why not, with the remedy."""

    @abstractmethod
    def solve(self, instance: Instance, budget: Budget, key: bytes) -> Protection:
        """Solve one instance; whatever must stay secret is drawn from the key. The Protection checks itself exactly when it is made."""

    def protect(
        self,
        table: Table,
        *,
        weights: Weights = None,
        attackers: Iterable[Attacker] | None = None,
        time_limit_s: float | None = None,
        seed: int = 0,
        threads: int | None = None,
        key: bytes | None = None,
    ) -> Protection:
        """Protect a table: build the instance, solve it, check the answer exactly.

        ``attackers``: against whom the table's levels must hold; default the external one. ``key``: 32 secret bytes, random unless given.
        """
        if not isinstance(table, Table):
            raise InputError(
                f"a {type(table).__name__} cannot be protected; make a Table of it first, such as with Table.from_frame"
            )
        weights = self.default_weights if weights is None else weights
        instance = Instance.of(table, weights=weights, attackers=attackers)
        if reason := self.accepts(instance):
            raise InputError(reason)
        budget = Budget(time_limit_s=time_limit_s, threads=1 if threads is None else threads, seed=seed)
        return self.solve(instance, budget, checked_key(key))
