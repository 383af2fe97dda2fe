"""One attempt at a rounding with a given number of steps: allowed values, levels, engine, and what is said when there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.errors import SolverError, VerificationError
from cellward.exact import Bools, Ints
from cellward.instance import Instance
from cellward.protect.lattice.capacity import Capacity, guards
from cellward.protect.lattice.engines import ANY_TABLE, solve
from cellward.protect.lattice.model import LatticeModel as RoundingModel
from cellward.protect.lattice.model import allowed_multiples, followers, small_ones
from cellward.protect.lattice.problem import Found, LatticeProblem
from cellward.protect.lattice.protected import ProtectedSearch
from cellward.protect.lattice.told_box import AroundValue
from cellward.protect.lattice.vertex import lower_bound
from cellward.protect.rounding.conflict import Conflict, asking, of_equations, of_levels
from cellward.protect.rounding.unbiased import unbiased_target
from cellward.protection import Protection
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge
from cellward.solve.budget import Budget
from cellward.table.table import equation_text
from cellward.version import __version__

if TYPE_CHECKING:
    from cellward.protect.rounding.method import ControlledRounding

SHOWN = 3
"""Levels named in a sentence."""


@dataclass(frozen=True)
class Attempt:
    """One number of steps, with the options of a :class:`ControlledRounding`."""

    options: ControlledRounding
    instance: Instance
    base: Ints
    rounded: Bools
    steps: int
    budget: Budget
    key: bytes

    def solve(self) -> Protection:
        """What comes of it."""
        model = RoundingModel(self.instance, self._allowed())
        if reason := hopeless(model):
            return self._nothing(model, "infeasible", f"{reason}{self._remedy}", "divisibility and bounds")
        levels = self.instance.asks or bool(self.instance.sensitivity.sums)
        if levels and not self.options.ignore_levels:
            return self._with_levels(model)
        if self.options.goal == "any":
            return self._answer(model, model, solve(LatticeProblem(model), self.budget, ANY_TABLE))
        found = solve(LatticeProblem(self._aimed(model)), self.budget, self.options.engines)
        return self._answer(model, model, found)

    def _allowed(self) -> AllowedSet:
        """What each cell may be published as."""
        allowed = allowed_multiples(self.instance, self.base, self.steps)
        if self.options.small_counts != "free":
            allowed = small_ones(self.instance, self.base, allowed, self.options.small_counts)
        if not self.rounded.all():
            allowed = followers(self.instance, self.base, allowed, self.rounded, self.steps)
        return allowed

    def _aimed(self, model: RoundingModel) -> RoundingModel:
        """The model with the table to come near to: the true one, or for want of bias another."""
        if not self.options.unbiased:
            return model
        return replace(model, target=unbiased_target(model, self.budget, self.options.engines))

    def _with_levels(self, model: RoundingModel) -> Protection:
        """The least rounding that meets every level."""
        watched = self._guards(self.instance)
        for guard in watched:
            if impossible := list(islice(guard.impossible(model.allowed), SHOWN + 1)):
                cells = tuple(sorted({need.cell for need, _ in impossible if need.cell < self.instance.cells}))
                reason = self._unreachable([sentence for _, sentence in impossible])
                return self._nothing(model, "infeasible", reason, "levels of single cells", conflicting_cells=cells)
        narrowed = self._aimed(model).narrowed(*_tightest([guard.room() for guard in watched]))
        if why := hopeless(narrowed):
            reason = f"the levels of single cells leave no rounding: {why}{self._remedy}"
            return self._nothing(model, "infeasible", reason, "levels of single cells")
        search = ProtectedSearch(narrowed, watched, partial(self._made, model), self.budget, self.options.engines)
        found = search.solve()
        if found.status == "infeasible":
            return self._levels_conflict(model, found)
        if found.x is None and search.missing:
            reason = f"no rounding was shown to protect ({found.engine}); of the last one tried: {search.missing}"
            return self._nothing(model, "failed", reason, found.engine, limit_reached=self.budget.over)
        answer = self._answer(model, narrowed, found)
        return answer if answer.scaled is None or search.last is None else answer.knowing(search.last)

    def _levels_conflict(self, model: RoundingModel, found: Found) -> Protection:
        """Whether sums or levels are what cannot hold, and which."""
        plain = solve(LatticeProblem(model), self.budget, self.options.engines)
        if plain.status == "infeasible":
            return self._answer(model, model, plain)
        asked = [attacker.asked(self.instance.sensitivity.levels) for attacker in self.instance.attackers]
        conflict = of_levels(self.instance, asked, self._unmeetable, self.budget)
        if self.instance.sensitivity.sums and not self._unmeetable(asking(self.instance, conflict.requirements)):
            conflict = Conflict()
        words = conflict.sentence(self.instance) if conflict.requirements else "levels on sums of cells cannot be met"
        why = f"roundings exist, but none that meets every level ({found.engine}): {words}"
        reason = f"{why}; choose a larger base, allow more steps (max_steps={self.steps + 1}) or ask for lower levels"
        return self._nothing(model, "infeasible", reason, found.engine, conflicting_cells=conflict.cells)

    def _unmeetable(self, instance: Instance) -> bool:
        """Whether no rounding meets the levels of this instance, sums at risk left aside."""
        sensitivity = replace(instance.sensitivity, sums=())
        attempt = replace(self, instance=replace(instance, sensitivity=sensitivity))
        model = RoundingModel(attempt.instance, self._allowed())
        watched = self._guards(attempt.instance)
        if any(any(True for _ in guard.impossible(model.allowed)) for guard in watched):
            return True
        narrowed = model.narrowed(*_tightest([guard.room() for guard in watched]))
        if hopeless(narrowed):
            return True
        search = ProtectedSearch(narrowed, watched, partial(attempt._made, model), self.budget, self.options.engines)
        return search.solve().status == "infeasible"

    def _answer(self, model: RoundingModel, solved: RoundingModel, found: Found) -> Protection:
        """The engine's answer as a Protection."""
        if found.status == "infeasible":
            conflict = of_equations(model, self.budget, self.options.engines)
            why = f"no table of {_multiples(self.steps)} keeps every sum ({found.engine}): {conflict.sentence(self.instance)}"
            return self._nothing(
                model,
                "infeasible",
                f"{why}{self._remedy}",
                found.engine,
                conflicting_cells=conflict.cells,
                conflicting_equations=conflict.equations,
            )
        if found.x is None or found.bound is None:
            within = "" if self.budget.time_limit_s is None else f" within {self.budget.time_limit_s} s"
            reason = f"nothing was found{within} ({found.engine}); give more time"
            return self._nothing(model, "failed", reason, found.engine, limit_reached=True)
        v, bound = solved.values(found.x), solved.start + found.bound
        status = "optimal" if found.status == "optimal" else "feasible"
        if self.options.unbiased:  # the least for the table drawn; what the true one could have is bounded from below
            bound = model.start + lower_bound(LatticeProblem(model), self.budget, self.options.engines)
            status = "optimal" if bound == model.objective(v) else "feasible"
        return self._made(
            model,
            v,
            status,
            bound_scaled=Fraction(bound),
            engine=found.engine,
            multipliers=found.multipliers,
            limit_reached=found.status == "feasible" and self.budget.limited,
        )

    @property
    def _remedy(self) -> str:
        more = f", allow more steps (max_steps={self.steps + 1})" if self.steps >= self.options.max_steps else ""
        if self.options.small_counts != "free":  # which more steps do not go with
            more = ", leave small counts free"
        return f"; choose another base{more}, widen the cells' bounds or free fixed cells"

    def _unreachable(self, sentences: Sequence[str]) -> str:
        more = "" if len(sentences) <= SHOWN else " (and more)"
        return f"{'; '.join(sentences[:SHOWN])}{more}, whatever is published; choose a larger base, allow more steps or ask for lower levels"

    def _made(self, model: RoundingModel, v: Ints, status: Any = "feasible", **facts: Any) -> Protection:
        """A table as a result; one that does not hold is the engine's fault."""
        try:
            return self._protection(model, status, scaled=v, **facts)
        except VerificationError as error:
            raise SolverError(
                f"{facts.get('engine', 'the engine')} gave an answer that does not hold: {error}"
            ) from error

    def _nothing(self, model: RoundingModel, status: Any, reason: str, engine: str, **facts: Any) -> Protection:
        return self._protection(model, status, reason=reason, engine=engine, **facts)

    def _knowledge(self, v: Ints, small: Any) -> Knowledge:
        """What the public reads out of v."""
        own, told = self.instance, np.where(self.instance.sensitivity.fixed, 0, self.base)
        kind: Any = self.options.knowledge
        return Knowledge.rounded(
            v, told, kind=kind, steps=self.steps, a=own.a, small=small, lower=own.lower, upper=own.upper
        )

    def _guards(self, instance: Instance) -> list[Capacity]:
        """The levels as constraints on v; what small counts tell besides depends on v itself and is left to the audit."""
        knowledge = self._knowledge(instance.a, "free")
        return guards(instance, knowledge, AroundValue(knowledge.hi - instance.a))

    def _small(self, facts: dict[str, Any]) -> str:
        """What is told of small counts; nothing where nothing is published."""
        return self.options.small_counts if "scaled" in facts else "free"

    def _protection(self, model: RoundingModel, status: Any, **facts: Any) -> Protection:
        return Protection(
            instance=self.instance,
            method={
                "name": "controlled rounding",
                **self.options.stated(self.instance, self.rounded),
                "steps": self.steps,
                "knowledge": self.options.knowledge,
                "version": __version__,
            },
            status=status,
            allowed=model.allowed,
            knowledge=self._knowledge(facts.get("scaled", self.instance.a), self._small(facts)),
            ignore_levels=self.options.ignore_levels,
            key=self.key,
            seconds=self.budget.spent,
            **facts,
        )


def _multiples(steps: int) -> str:
    return "neighbouring multiples" if steps == 1 else f"multiples less than {steps} bases away"


def _tightest(rooms: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """The narrowest of several bounds."""
    least, most = zip(*rooms, strict=True)
    return np.maximum.reduce(least), np.minimum.reduce(most)


def hopeless(model: RoundingModel) -> str:
    """Why no rounding can exist, when bounds or divisibility already say so."""
    empty = model.allowed.empty
    names, decimals = model.instance.labels, model.instance.decimals
    if len(empty):
        i = int(empty[0])
        return f"{names.name(i)} has no multiple of its base next to it inside its bounds"
    if len(impossible := model.impossible):
        j = int(impossible[0])
        words = equation_text(model.instance.relations, names, j, decimals)
        return f"equation {j}, {words}, cannot be met by neighbouring multiples of its cells' bases"
    return ""
