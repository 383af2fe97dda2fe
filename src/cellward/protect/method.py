"""Method: the shape every protection method has, and the one road from a table to a checked Protection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import ClassVar

from cellward.errors import InputError
from cellward.instance import Instance, Weights
from cellward.protection import Protection, check_key
from cellward.risk.attacker import Attacker
from cellward.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a solve may use: seconds (None: no limit), threads, the seed of any tie it breaks at random, and the key (32 secret bytes, random unless
    given) of any draw that must stay secret."""

    time_limit_s: float | None = None
    threads: int = 1
    seed: int = 0
    key: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        number = isinstance(self.time_limit_s, int | float) and not isinstance(self.time_limit_s, bool)
        if self.time_limit_s is not None and not (number and self.time_limit_s > 0):
            raise InputError(f"time_limit_s={self.time_limit_s}: give a positive number of seconds, or None")
        if not isinstance(self.threads, int) or isinstance(self.threads, bool) or self.threads < 1:
            raise InputError(f"threads={self.threads}: give at least 1")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**31:
            raise InputError(f"seed={self.seed}: give a whole number from 0 to {2**31 - 1}")
        if self.key is not None:
            check_key(self.key)


class Clock:
    """Counts a solve's time against its limit."""

    def __init__(self, limits: Limits) -> None:
        self._start = perf_counter()
        self._limit = limits.time_limit_s

    def stop(self) -> None:
        """The user wants what there is (Ctrl-C): no time is left from now on."""
        self._limit = 0.0

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._start

    @property
    def left(self) -> float | None:
        """Seconds left, at least a thousandth, or None without a limit."""
        return None if self._limit is None else max(self._limit - self.spent, 0.001)

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._limit is not None

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self._limit is not None and self.spent >= self._limit


class Method(ABC):
    """A protection method: a frozen dataclass of options with these three verbs."""

    default_weights: ClassVar[Weights] = None
    """The weights where a user gives none."""

    @abstractmethod
    def accepts(self, instance: Instance) -> str | None:
        """None when the method can guarantee what the instance asks; otherwise the reason why not, with the remedy."""

    @abstractmethod
    def solve(self, instance: Instance, limits: Limits) -> Protection:
        """Solve one instance; the Protection checks itself exactly when it is made."""

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
        limits = Limits(time_limit_s=time_limit_s, threads=1 if threads is None else threads, seed=seed, key=key)
        found = self.solve(instance, limits)
        return found if key is None else found.with_key(key)
