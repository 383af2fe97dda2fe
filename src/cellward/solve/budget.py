"""Budget: what a piece of work may use (seconds, threads, the seed of its ties), how much of it is left, and whom it tells how far it is.

A job has one clock. Its search is a part of it that leaves time to show, certify and write what is found (:meth:`Budget.search`); whoever shows
something takes :attr:`Budget.showing`, which a wish to stop the search leaves running.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

from cellward.errors import InputError
from cellward.solve.watch import Watch

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
    resume: Path | None = field(default=None, repr=False)
    """The folder in which a long search keeps what it finds, and from which it goes on."""
    whole: Budget | None = field(default=None, repr=False)
    """What it is a part of."""
    closing_s: float = field(default=0.0, repr=False)
    """What the job keeps to certify and write what was found and shown."""
    job: Budget | None = field(default=None, repr=False)
    """The clock of the job whose search it is a part of."""
    watch: Watch = field(default_factory=Watch, repr=False)
    """The phase of the job and its best table, and whom it tells of them."""
    counts: tuple[float, float] = field(default=(0.0, 1.0), repr=False)
    """Constant and unit in which the job counts what is found."""
    hidden: bool = field(default=False, repr=False)
    """Whether nothing that is found in here counts for the job."""
    began: float = field(default_factory=perf_counter, init=False)
    wish: bool = field(default=False, init=False, repr=False)
    """Whether it was asked to stop itself."""
    tells: bool = field(default=False, init=False)
    """Whether what is found is told; a part of a question finds nothing that the job could be told, unless it is said how it counts."""

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
        self.wish = True
        if self.whole is not None:
            self.whole.stop()

    def end(self) -> None:
        """Nobody waits for this part any more: no time is left of it, all of it of what it is a part of."""
        self.wish = True

    @property
    def stopped(self) -> bool:
        """Whether it was stopped, or what it is a part of."""
        return self.wish or (self.whole is not None and self.whole.stopped)

    def again(self) -> Budget:
        """As much once more, from now on."""
        return replace(self)

    def part(self, seconds: float | None = None, *, threads: int | None = None) -> Budget:
        """So much of what is left, from now on, and so many threads; all of it where none is named."""
        given = [max(limit, NO_TIME) for limit in (seconds, self.left) if limit is not None]
        threads = self.threads if threads is None else threads
        return replace(self, time_limit_s=min(given, default=None), threads=threads, whole=self)

    def search(self, showing_s: float, closing_s: float = 0.0) -> Budget:
        """A part for a search, which leaves so many seconds to show what it finds and to close; a wish to stop ends the search, and not those."""
        self.closing_s = closing_s
        limit = None if self.left is None else max(self.left - showing_s - closing_s, NO_TIME)
        return replace(self, time_limit_s=limit, whole=None, job=self)

    @property
    def showing(self) -> Budget:
        """What may be used to show what was found: all that is left of the job but for its close, whether its search was stopped or not."""
        job = self if self.job is None else self.job
        return job.part(None if job.left is None else job.left - job.closing_s)

    def enter(self, phase: str) -> None:
        """Another phase of the job begins."""
        self.watch.enter(phase)

    def counting(self, constant: float, unit: float) -> Budget:
        """As much, for a question of whose objective constant + unit · value is what this one counts: what it finds is told."""
        (first, each), part = self.counts, self.part()
        part.counts, part.tells = (first + each * constant, each * unit), not self.hidden
        return part

    def silent(self) -> Budget:
        """As much, for a question of which nothing is told, however its parts count."""
        part = self.part()
        part.hidden = True
        return part

    def found(self, incumbent: float | None = None, bound: float | None = None) -> None:
        """A better table or a better bound, in the units of the question at hand."""
        if self.tells:
            constant, unit = self.counts
            self.watch.found(*(None if x is None else constant + unit * x for x in (incumbent, bound)))

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
