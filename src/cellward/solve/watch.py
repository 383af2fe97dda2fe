"""Watch: how far a job is (phase, best objective, bound, gap, seconds), told to whoever listens, and to the logger ``cellward``."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

LOGGER = logging.getLogger("cellward")
"""Phases at the level INFO, better tables and bounds at DEBUG; nothing is shown unless whoever runs us asks for it. Confidential: objectives tell of
the table."""
LOGGER.addHandler(logging.NullHandler())


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far a job is: the phase it is in, the objective of the best table so far, the bound on it, their gap, and the seconds since it began.

    ``incumbent`` and ``bound`` are None until there are any. They are the search's own, not certified; a table on the way need not protect.

    >>> Standing(phase="solving", incumbent=8.0, bound=6.0, seconds=1.5).gap
    0.25
    """

    phase: str
    incumbent: float | None = None
    bound: float | None = None
    seconds: float = 0.0

    def __str__(self) -> str:
        """In words, but for the time.

        >>> print(Standing(phase="solving", incumbent=1250.0, bound=1000.0))
        solving: best 1,250, bound 1,000, gap 20 %
        """
        parts = []
        if self.incumbent is not None:
            parts.append(f"best {_number(self.incumbent)}")
        if self.bound is not None:
            parts.append(f"bound {_number(self.bound)}")
        if self.gap is not None:
            parts.append(f"gap {100 * self.gap:.3g} %")
        return f"{self.phase}: {', '.join(parts)}" if parts else self.phase

    @property
    def gap(self) -> float | None:
        """(incumbent − bound) / incumbent; None until both are known."""
        if self.incumbent is None or self.bound is None:
            return None
        apart = max(self.incumbent - self.bound, 0.0)
        return 0.0 if not apart else apart / abs(self.incumbent) if self.incumbent else math.inf


Listener = Callable[[Standing], None]
"""Told at every phase and at every better table or bound, from whichever thread finds it."""


@dataclass(eq=False)
class Watch:
    """One job's standing, and who is told of it."""

    listener: Listener | None = None
    phase: str = ""
    incumbent: float | None = None
    bound: float | None = None
    began: float = field(default_factory=perf_counter)
    history: list[Standing] = field(default_factory=list)
    """Every better table and every better bound of the question at hand."""

    def enter(self, phase: str) -> None:
        """Another phase begins."""
        if phase != self.phase:
            self.phase = phase
            LOGGER.info("%s", phase)
            self.tell()

    def found(self, incumbent: float | None, bound: float | None) -> None:
        """What is worse than what is known is not told."""
        before = (self.incumbent, self.bound)
        if (
            incumbent is not None
            and math.isfinite(incumbent)
            and (self.incumbent is None or incumbent < self.incumbent)
        ):
            self.incumbent = incumbent
        if bound is not None and math.isfinite(bound) and (self.bound is None or bound > self.bound):
            self.bound = bound
        if (self.incumbent, self.bound) != before:
            self.history.append(self.standing)
            LOGGER.debug("%s", self.standing)
            self.tell()

    def anew(self) -> None:
        """Another question begins, such as with more steps: what was found of the last one is forgotten."""
        self.incumbent = self.bound = None
        self.history.clear()

    @property
    def standing(self) -> Standing:
        """How far it is now."""
        seconds = perf_counter() - self.began
        return Standing(phase=self.phase, incumbent=self.incumbent, bound=self.bound, seconds=seconds)

    def tell(self) -> None:
        """Say how far it is."""
        if self.listener is not None:
            self.listener(self.standing)


def _number(x: float) -> str:
    return f"{round(x):,}" if abs(x) >= 100 or x == round(x) else f"{x:.4g}"
