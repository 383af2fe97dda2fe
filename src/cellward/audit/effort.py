"""Effort: what settling the ends may use, and whom it tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from cellward.errors import InputError

Progress = Callable[[int, int], None]
"""Told the number of ends settled and of all ends."""


@dataclass(kw_only=True)
class Effort:
    """Seconds (None: no limit), threads, the seed of what is drawn at random, and whom to tell."""

    time_limit_s: float | None = None
    threads: int = 1
    seed: int = 0
    progress: Progress | None = None
    began: float = field(default_factory=perf_counter)

    def __post_init__(self) -> None:
        number = isinstance(self.time_limit_s, int | float) and not isinstance(self.time_limit_s, bool)
        if self.time_limit_s is not None and not (number and self.time_limit_s > 0):
            raise InputError(f"time_limit_s={self.time_limit_s}: give a positive number of seconds, or None")
        if not isinstance(self.threads, int) or self.threads < 1:
            raise InputError(f"threads={self.threads}: give at least 1")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"seed={self.seed}: give a whole number of at least 0")
        if self.progress is not None and not callable(self.progress):
            raise InputError("progress: give a function of (settled, all), or None")

    @property
    def left(self) -> float | None:
        """Seconds left, at least a thousandth, or None without a limit."""
        return None if self.time_limit_s is None else max(self.time_limit_s - (perf_counter() - self.began), 0.001)

    def over(self) -> bool:
        """Whether the time is up."""
        return self.time_limit_s is not None and perf_counter() - self.began >= self.time_limit_s
