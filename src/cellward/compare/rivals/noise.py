"""Noise: a random amount is added to every cell by itself, or every cell that is no sum is multiplied by a random factor and the sums follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.compare.rivals.rival import Rival, of_leaves, refuse_no_leaves, told
from cellward.exact import Ints
from cellward.instance import Instance
from cellward.protect.amounts import amounts
from cellward.protect.option import Amount, Number, option
from cellward.publication.values import Values

CUT = 2
"""Normal noise is cut off at so many standard deviations."""


@dataclass(frozen=True)
class AdditiveNoise(Rival):
    """Normal noise of one published standard deviation in every cell, cut off at twice that, in whole units; never below the public lower bound."""

    word = "additive-noise"
    title = "additive noise"
    tells = "the true value is at most two standard deviations away"

    within: Any = option(5, Amount("distance"), "The most that is added: two standard deviations.", first=True)

    def accepts(self, instance: Instance) -> str | None:  # noqa: ARG002
        """Any table."""
        return None

    def print_of(self, instance: Instance, rng: np.random.Generator) -> Values:
        """a + noise."""
        from scipy.special import ndtr, ndtri

        most = amounts(instance, self.within, "within")
        drawn = ndtri(rng.uniform(ndtr(-CUT), ndtr(CUT), instance.cells)) * (most / CUT)
        v = np.maximum(instance.a + np.rint(drawn).astype(np.int64), instance.lower)
        return told(v, v - most, v + most)


@dataclass(frozen=True)
class MultiplicativeNoise(Rival):
    """Each cell that is no sum times a factor drawn evenly from 1 − share to 1 + share; sums are added up anew, so that the table adds up."""

    word = "multiplicative-noise"
    title = "multiplicative noise"
    tells = (
        "true values of cells that are no sum are the published ones divided by a factor from 1 − share to 1 + share"
    )

    share: float = option(
        0.1,
        Number(0, 0.99, "a share above 0, such as 0.1", above=True),
        "The most that changes, as a share.",
        first=True,
    )

    def accepts(self, instance: Instance) -> str | None:
        """Tables whose sums are of leaves."""
        return refuse_no_leaves(instance, self.title)

    def print_of(self, instance: Instance, rng: np.random.Generator) -> Values:
        """a·(1 + share·u); |v| ≤ (1 + share)·|y| + ½ and the like below, as v is in whole units."""
        leaf = instance.a[instance.relations.leaf_form.leaves]
        v = np.rint(leaf * (1 + self.share * rng.uniform(-1, 1, len(leaf)))).astype(np.int64)
        size = np.abs(v).astype(float)
        least = np.ceil(np.maximum(size - 0.5, 0) / (1 + self.share)).astype(np.int64)
        most = np.floor((size + 0.5) / (1 - self.share)).astype(np.int64)
        return of_leaves(instance, v, *_signed(v, least, most))


def _signed(v: Ints, least: Ints, most: Ints) -> tuple[Ints, Ints]:
    """Bounds on y from bounds on |y|: it has the sign of v, and either where v is 0."""
    low = np.where(v > 0, least, -most)
    high = np.where(v < 0, -least, most)
    return low, high
