"""Smallest: the smallest of rising candidates that does, where whether one does need not rise with it; so that nothing smaller is left unproven.

Candidates that are ruled out beforehand are passed over. Of the others first one is found by climbing (where there are many, by 1, 2, 4, … each
time), then a smaller one by bisection; at last all that lie below and were not tried are, from the smallest on: the first of them that does is the
smallest. Each try may also end undecided. Whenever time is up, what was found is given, and ``proven`` says whether anything smaller is still open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from cellward.advise.trial import Answer

OPEN = ("undecided", "public only")
"""Answers that prove nothing."""


class Answered(Protocol):
    """What comes of a try."""

    @property
    def answer(self) -> Answer:
        """Whether it does."""


T = TypeVar("T", bound=Answered)


@dataclass
class Smallest(Generic[T]):
    """A search: ``candidates`` rising, ``ruled_out`` a proof that costs nothing, ``attempt`` one that may take long, ``over`` whether time is up."""

    candidates: Iterable[int]
    ruled_out: Callable[[int], bool]
    attempt: Callable[[int], T]
    over: Callable[[], bool]
    many: bool = False
    """Whether candidates are so many that most have to be passed over at first."""
    tried: dict[int, T] = field(default_factory=dict)
    """What came of each candidate that was tried."""
    passed: list[int] = field(default_factory=list)
    """The last few candidates that were ruled out beforehand."""
    open: list[int] = field(default_factory=list)
    """The candidates seen so far that were not."""
    _left: Iterator[int] | None = None

    @property
    def found(self) -> int | None:
        """The smallest that does, as far as is known."""
        return min((base for base, one in self.tried.items() if one.answer == "protects"), default=None)

    @property
    def undecided(self) -> list[int]:
        """Candidates below what was found of which nothing is proven."""
        best = self.found
        below = [base for base in self.open if best is None or base < best]
        return [base for base in below if base not in self.tried or self.tried[base].answer in OPEN]

    @property
    def proven(self) -> bool:
        """Whether nothing smaller than what was found does."""
        return self.found is not None and not self.undecided

    def run(self) -> None:
        """Climb, bisect, and go through what is left below."""
        low, high, step = -1, 0, 1
        while self._candidate(high) is not None and not self._does(high):
            low, high, step = high, high + step, (1 + self.many) * step
        if self.found is None:
            high = len(self.open)  # beyond the last one: those that were passed over are left
        else:
            while high - low > 1 and not self.over():
                middle = (low + high) // 2
                low, high = (low, middle) if self._does(middle) else (middle, high)
        for k in range(high):
            if self.over() or self._does(k):
                return

    def _does(self, k: int) -> bool:
        """Whether the k-th candidate that is open does; it is tried once."""
        base = self._candidate(k)
        if base is None:
            return False
        if base not in self.tried:
            if self.over():
                return False
            self.tried[base] = self.attempt(base)
        return self.tried[base].answer == "protects"

    def _candidate(self, k: int) -> int | None:
        """The k-th that is not ruled out beforehand; None where there are not so many, or time is up before it is seen."""
        if self._left is None:
            self._left = iter(self.candidates)
        while len(self.open) <= k:
            base = None if self.over() else next(self._left, None)
            if base is None:
                return None
            if self.ruled_out(base):
                self.passed = [*self.passed[-3:], base]
            else:
                self.open.append(base)
        return self.open[k]
