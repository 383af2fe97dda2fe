"""Budget: what a piece of work may use (seconds, threads, the seed of its ties), how much of it is left, and whom it tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter

from cellward.errors import InputError

Progress = Callable[[int, int], None]
"""Told how much is done, and of how much."""


NO_TIME = 1e-9
"""A limit that is over from the start: what is left of a budget whose time is up."""

AT_THE_END_S = 0.5
"""Seconds for what is done with the best found so far, once the time is up."""


@dataclass(kw_only=True)
class Budget:
    """Seconds from when it is made (None: no limit), threads, the seed of what is drawn at random, and whom to tell.

    Every adapter of a solver takes one (``budget=``; none: no limit, one thread). It stays in its process: what travels to a worker is read off it.
    """

    time_limit_s: float | None = None
    threads: int = 1
    seed: int = 0
    progress: Progress | None = None
    whole: Budget | None = field(default=None, repr=False)
    """What it is a part of."""
    began: float = field(default_factory=perf_counter, init=False)
    stopped: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        number = isinstance(self.time_limit_s, int | float) and not isinstance(self.time_limit_s, bool)
        if self.time_limit_s is not None and not (number and self.time_limit_s > 0):
            raise InputError(f"time_limit_s={self.time_limit_s}: give a positive number of seconds, or None")
        if not isinstance(self.threads, int) or isinstance(self.threads, bool) or self.threads < 1:
            raise InputError(f"threads={self.threads}: give at least 1")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**31:
            raise InputError(f"seed={self.seed}: give a whole number from 0 to {2**31 - 1}")
        if self.progress is not None and not callable(self.progress):
            raise InputError("progress: give a function of (settled, all), or None")

    def stop(self) -> None:
        """The user wants what there is (Ctrl-C): no time is left from now on, of this and of what it is a part of."""
        self.stopped = True
        if self.whole is not None:
            self.whole.stop()

    def again(self) -> Budget:
        """As much once more, from now on."""
        return replace(self)

    def part(self, seconds: float | None = None, *, threads: int | None = None) -> Budget:
        """So much of what is left, from now on, and so many threads; all of it where none is named."""
        given = [max(limit, NO_TIME) for limit in (seconds, self.left) if limit is not None]
        threads = self.threads if threads is None else threads
        return replace(self, time_limit_s=min(given, default=None), threads=threads, whole=self)

    @property
    def root(self) -> Budget:
        """What it is a part of in the end: itself, or the whole of its whole."""
        return self if self.whole is None else self.whole.root

    @property
    def to_end(self) -> Budget:
        """What is left for showing and proving what was found, which takes a moment even where the search took all the time."""
        if not self.limited:
            return self
        return self.part() if (self.left or 0.0) >= AT_THE_END_S else replace(self, time_limit_s=AT_THE_END_S)

    @property
    def spent(self) -> float:
        """Seconds since it was made."""
        return perf_counter() - self.began

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.stopped or self.time_limit_s is not None

    @property
    def left(self) -> float | None:
        """Seconds left, or None without a limit."""
        if self.stopped:
            return 0.0
        return None if self.time_limit_s is None else max(self.time_limit_s - self.spent, 0.0)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.stopped or (self.time_limit_s is not None and self.spent >= self.time_limit_s)
