"""Further: where nothing between neighbouring multiples protects, a rounding with more steps, told as a perturbation within so many bases.

Dense tables of five dimensions seem to have no rounding to neighbours, and a perturbation between neighbouring multiples gives some of their cells
away. A rounding whose sums go further (see rounding/ladder.py) keeps every value within steps·base of the true one, so that it is a perturbation
within these distances. Its levels are shown of what a *rounding* tells, less than steps·base either way: who sees that all values are multiples
learns no more than that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward import exact
from cellward.exact import Ints
from cellward.instance import Instance
from cellward.protect.amounts import amounts
from cellward.protect.rounding.ladder import UNLIKELY, steps_in_words, within
from cellward.protect.rounding.method import ControlledRounding
from cellward.protect.rounding.rounded_leaves import QUICK, rounded_leaves
from cellward.protection import Protection

if TYPE_CHECKING:
    from cellward.protect.perturbation.attempt import PerturbationAttempt
    from cellward.protect.perturbation.method import CellPerturbation


@dataclass(frozen=True)
class FurtherDetails:
    """That values went further than asked for, in words."""

    words: str

    def to_dict(self) -> dict[str, Any]:
        """As protection.json holds it."""
        return {"further": self.words}

    def renumbered(self, cells: Ints) -> FurtherDetails:  # noqa: ARG002
        """The same: no cell is named."""
        return self


def likely_needed(attempt: PerturbationAttempt) -> bool:
    """Whether rounded leaves, quickly, leave so many cells a base or more off that neighbouring multiples are not worth trying first."""
    base = attempt.intervals.amount
    seen = rounded_leaves(attempt.instance, np.maximum(base, 1), attempt.budget, passes=QUICK)
    return seen is not None and float(np.mean(np.abs(seen - attempt.instance.a) >= base)) > UNLIKELY


def further(attempt: PerturbationAttempt) -> Protection | None:
    """A rounding with as few steps as are found, as a perturbation within so many bases; failed where nothing was decided, None where none does."""
    method, instance = attempt.method, attempt.instance
    if method.grid is not None and np.any(attempt.intervals.amount % _grid(method, instance)):
        return None
    rounding = ControlledRounding(
        method.amount, max_steps=method.max_steps, knowledge=method.knowledge, ignore_levels=method.ignore_levels
    )
    attempt.budget.watch.anew()
    found = rounding.solve(instance, attempt.budget, attempt.key)
    if found.status == "failed":
        return found
    if found.publication is None or found.publication.v is None or (attempt.levels and found.protected is False):
        return None
    steps = np.broadcast_to(np.asarray(found.method["steps"], np.int64), instance.cells)
    distance = steps * amounts(instance, method.amount, "base")
    told = [exact.short(each, instance.decimals) for each in distance.tolist()]
    wider = replace(method, base=None, within=told[0] if len(set(told)) == 1 else told, objective=None, max_steps=1)
    words = f"between neighbouring multiples nothing was found that protects: {steps_in_words(found) or 'they are rounded'}, and the release says so"
    return wider.attempt(instance, attempt.budget, attempt.key).taken(found, FurtherDetails(words))


def agrees_further(method: CellPerturbation, said: Mapping[str, Any], instance: Instance) -> bool:
    """Whether what a release states can be what these options lead to, values having gone further than between neighbouring multiples."""
    if "within" not in said or method.form != "base" or method.max_steps == 1:
        return False
    table_like = replace(method, base=None, within=said["within"], objective=None, max_steps=1)
    base = amounts(instance, method.amount, "base")
    given = amounts(instance, said["within"], "within")
    steps = given // base
    return (
        not np.any(given % base)
        and within(steps.tolist(), method.max_steps, instance.relations)
        and table_like.agrees(said, instance)
    )


def _grid(method: CellPerturbation, instance: Instance) -> int:
    return int(exact.scale_one(method.grid, instance.decimals, "grid", strict=True))
