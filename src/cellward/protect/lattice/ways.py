"""Ways: kinds of neighbourhoods, how large the next one of each is, and which kind is worth the most lately."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.solve.outcome import Outcome

LEAST = 200.0
"""Columns of a neighbourhood, at least."""
GROW, SHRINK = 1.15, 0.8
FORGET = 0.9


@dataclass(eq=False)
class Way:
    """A kind of neighbourhood: how large the next one is, and what it gained lately, a second or (without a limit) a try."""

    kind: tuple[str, int]
    size: float
    gained: float = 1.0
    spent: float = 1e-3

    @property
    def rate(self) -> float:
        """Gained a second, or a try."""
        return self.gained / self.spent

    def learn(self, gain: float, outcome: Outcome, *, quick: bool, timed: bool, most: float) -> None:
        """Grow while all is solved quickly, shrink when it is not solved."""
        self.gained = FORGET * self.gained + max(gain, 0)
        self.spent = FORGET * self.spent + (max(outcome.seconds, 0.01) if timed else 1.0)
        if outcome.status != "optimal":
            self.size = max(self.size * SHRINK, LEAST)
        elif quick:
            self.size = min(self.size * GROW, most)


def choice(ways: list[Way], rng: np.random.Generator) -> Way:
    """One of them, drawn by what they gained lately."""
    rate = np.array([way.rate for way in ways])
    rate = rate + 0.1 * rate.mean() + 1e-9
    return ways[int(rng.choice(len(ways), p=rate / rate.sum()))]
