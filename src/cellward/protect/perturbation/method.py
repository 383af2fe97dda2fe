"""CellPerturbation: the options of the method; model.md beside this file holds model, guarantee and proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.instance import Instance, by_level
from cellward.protect.amounts import amounts, beyond_every_value, stated, stated_amounts
from cellward.protect.attempt import SHOWN
from cellward.protect.lattice.capacity import guards
from cellward.protect.lattice.told_box import Requirement
from cellward.protect.method import Method
from cellward.protect.option import MOST_STEPS, Amount, Flag, Grid, Steps, Word, option
from cellward.protect.perturbation.intervals import Form, PerturbationIntervals
from cellward.protect.unmoved import unmoved
from cellward.protection import Protection
from cellward.publication.knowledge import KINDS, Knowledge
from cellward.publication.values import Values
from cellward.solve.budget import Budget
from cellward.table.table import Table

if TYPE_CHECKING:
    from cellward.protect.perturbation.attempt import PerturbationAttempt

OBJECTIVES: dict[Form, tuple[str, ...]] = {"base": ("between", "nearest"), "distance": ("distance",)}


@dataclass(frozen=True)
class CellPerturbation(Method):
    """Move every cell inside a small interval: all sums hold, every protection level is met, and the loss is least. No rounding need exist.

    The interval is between the multiples of ``base`` around the value (a multiple stays), or ``within`` so much of it; either is one number, one a
    cell, or one a level of sums ({0: 5, 1: 10}), in the table's units. ``objective``: with a base, ``between`` (default) is w·|v − a| at both
    multiples and linear between them, as in a rounding; ``nearest`` is the distance to the nearer multiple. Within a distance it is Σ w·|v − a|, and
    each cell at risk is held to a value drawn from the key among all that its own levels leave it; ``within`` is 3/2 of its two levels at least.
    ``knowledge``: what attackers are taken to read out of a value, ``strict`` (the safe one) or ``paper``, see publication/knowledge.py. ``grid``:
    publish multiples of it, such as 1 for counts; None: the continuous optimum, with as many decimals as that takes. ``max_steps``: where nothing
    between neighbouring multiples protects, a rounding up to so many bases away (one number, one a level of sums, or ``"auto"``, what the command
    line and jobs take) is given, told as a perturbation within so many bases. ``ignore_levels`` perturbs without a look at the levels.

    >>> from cellward import Table
    >>> p = CellPerturbation(base=5).protect(Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]))
    >>> p.status, p.objective
    ('optimal', 16)
    """

    word: ClassVar[str] = "perturb"
    title: ClassVar[str] = "cell perturbation"
    summary: ClassVar[str] = (
        "Move cells inside small intervals: all sums hold, every protection level is met, the loss is least; no rounding need exist."
    )

    base: Any = option(
        None,
        Amount("base"),
        "Between the multiples of this base, 5 unless given; or one a level of sums, 0=5,1=10 (0: cells that are no sum).",
        first=True,
    )
    within: Any = option(
        None,
        Amount("distance"),
        "Within this distance of their value, not between multiples of a base; or one a level of sums.",
    )
    knowledge: str = option(
        "strict", Word(KINDS), "What attackers read out of a value: strict (the safe one) or paper."
    )
    objective: str | None = option(
        None,
        Word(("between", "nearest", "distance")),
        "between: costs as in a rounding; nearest: the distance to the nearer multiple; within a distance: distance.",
    )
    grid: Any = option(None, Grid(), "Publish multiples of this, such as 1; none: the optimum with its decimals.")
    max_steps: Any = option(
        1,
        Steps(MOST_STEPS),
        "Where nothing between neighbouring multiples protects, give a rounding up to so many bases away, within which values then are; one number, "
        "one a level of sums (0=1,1=2), or auto: as few as are found.",
        unsaid="auto",
    )
    ignore_levels: bool = option(False, Flag(), "Perturb without a look at the table's protection levels.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base is not None and self.within is not None:
            raise InputError(
                "base and within: intervals are between multiples of a base, or within a distance; give one of the two"
            )
        if self.within is not None and self.max_steps not in (1, "auto"):
            raise InputError(f"max_steps={self.max_steps!r}: a distance has no steps; leave it out, or give a base")
        if self.objective not in (None, *OBJECTIVES[self.form]):
            known = " or ".join(map(repr, OBJECTIVES[self.form]))
            raise InputError(
                f"objective={self.objective!r} does not go with {'a base' if self.form == 'base' else 'a distance'}; use {known}"
            )

    @property
    def ignores_levels(self) -> bool:
        """Where told so."""
        return self.ignore_levels

    @property
    def form(self) -> Form:
        """Whether intervals lie between multiples or around the value."""
        return "base" if self.within is None else "distance"

    @property
    def amount(self) -> Any:
        """The base or the distance, as given."""
        given = self.within if self.form == "distance" else self.base
        return 5 if given is None else given

    def accepts(self, instance: Instance) -> str | None:
        """Any table; attackers that know values to be whole need a grid."""
        if self.grid is None and not self.ignore_levels and any(attacker.whole for attacker in instance.attackers):
            name = next(attacker.name for attacker in instance.attackers if attacker.whole)
            return f"attacker {name} knows that values are whole, which fractions would not be kept from; give a grid, such as grid=1"
        if self.form == "base" or self.ignore_levels or self.unreachable(instance):
            return None  # what no distance could meet is told as such
        return self._too_near(instance)

    def _too_near(self, instance: Instance) -> str | None:
        """The cell whose levels leave less than twice their span to draw its value from: whoever knows their rule would come too near (model.md)."""
        amount = np.where(instance.sensitivity.fixed, 0, amounts(instance, self.amount, "within"))
        worst, asks = (
            None,
            0,
        )  # of all such cells the one that asks for most: a distance that does for it does for the others
        for attacker in instance.attackers:
            asked = attacker.asked(instance.sensitivity.levels)
            t = amount[asked.cell]
            told = t if self.knowledge == "strict" else 2 * t
            below, above = np.minimum(t, told - asked.upl), np.minimum(t, told - asked.lpl)
            room, span = below + above, asked.lpl + asked.upl
            near = np.flatnonzero((room >= 0) & (room < 2 * span))
            if len(near) and int(span[near].max()) > asks:
                i = int(near[span[near].argmax()])
                worst, asks = [int(x[i]) for x in (asked.cell, asked.lpl, asked.upl, t)], int(span[i])
        if worst is None:
            return None
        lpl, upl, given, least = (exact.short(x, instance.decimals) for x in (*worst[1:], asks + (asks + 1) // 2))
        return (
            f"within={given} is too near to the levels of {instance.labels.name(worst[0])}, {lpl} below and {upl} above: its value would be drawn "
            f"from less than twice their span, and whoever knows them comes near the truth; give at least {least}, one and a half times both levels"
        )

    def solve(self, instance: Instance, budget: Budget, key: bytes) -> Protection:
        """The least perturbation that keeps every sum and meets every level; or that there is none."""
        return self.attempt(instance, budget, key).solve()

    def attempt(self, instance: Instance, budget: Budget, key: bytes) -> PerturbationAttempt:
        """These options on the intervals of one instance."""
        from cellward.protect.perturbation.attempt import PerturbationAttempt  # loads scipy

        return PerturbationAttempt(self, instance, budget, key, self._intervals(instance))

    def _intervals(self, instance: Instance) -> PerturbationIntervals:
        amount = amounts(instance, self.amount, "within" if self.form == "distance" else "base")
        return PerturbationIntervals.of(instance, self.form, amount)

    def unreachable(self, instance: Instance) -> list[tuple[Requirement, str]]:
        """Levels that no value of the cell alone would meet, each with a sentence: found without a solver; the first few."""
        if self.ignore_levels or not (instance.asks or instance.sensitivity.sums):
            return []
        intervals = self._intervals(instance)
        known = intervals.knowledge(instance.a, self.knowledge)
        watched = guards(instance, known, intervals.told_box(self.knowledge))
        return list(islice(chain.from_iterable(guard.impossible(intervals.allowed) for guard in watched), SHOWN + 1))

    def says(self, instance: Instance) -> dict[str, Any]:
        """The options."""
        return {**self.stated(instance), "knowledge": self.knowledge}

    def agrees(self, said: Mapping[str, Any], instance: Instance) -> bool:
        """As asked for, or further where that was allowed."""
        from cellward.protect.perturbation.further import agrees_further  # loads scipy

        return super().agrees(said, instance) or agrees_further(self, said, instance)

    def stated(self, instance: Instance) -> dict[str, Any]:
        """The options as the public may read them."""
        given = self.amount
        given = by_level(instance.relations, given, "base") if isinstance(given, Mapping) else given
        out: dict[str, Any] = {"within" if self.form == "distance" else "base": stated(given)}
        out["objective"] = self.objective or OBJECTIVES[self.form][0]
        if self.grid is not None:
            out["grid"] = str(self.grid)
        return out

    @classmethod
    def publication(cls, stated: Mapping[str, Any], printed: Mapping[str, Any], table: Table) -> Values:
        """Between the multiples of the stated base, or within the stated distance."""
        form: Form = "distance" if "within" in stated else "base"
        amount = stated_amounts(
            table, stated["within" if form == "distance" else "base"], "within" if form == "distance" else "base"
        )
        kind = stated.get("knowledge", "strict")
        return Values(Knowledge.perturbed(printed["value"], amount, form=form, kind=kind, a=table.scaled))

    @classmethod
    def notes(cls, result: Protection) -> list[str]:
        """Cells may stay where they are, the base or the distance may be too large, and values may have gone further than between multiples."""
        what = "base" if "base" in result.method else "within"
        out = unmoved(result, "are multiples of their base and " if what == "base" else "")
        out += beyond_every_value(result.instance, result.method[what], what)
        return out + ([words] if isinstance(words := getattr(result.details, "words", None), str) else [])
