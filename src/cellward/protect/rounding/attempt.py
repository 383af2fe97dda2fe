"""One attempt at a rounding with a given number of steps: allowed values, levels, engine, and what is said when there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cellward import exact
from cellward.exact import Bools, Ints
from cellward.instance import Instance
from cellward.objective import Objective
from cellward.protect.amounts import is_list
from cellward.protect.attempt import SHOWN, Attempt, few
from cellward.protect.lattice.capacity import Capacity, guards
from cellward.protect.lattice.engines import ANY_TABLE, solve
from cellward.protect.lattice.model import LatticeModel, allowed_multiples, followers, small_alone, small_ones
from cellward.protect.lattice.nested import find_nested
from cellward.protect.lattice.nested_blocks import NestedBlocks
from cellward.protect.lattice.portfolio import Portfolio
from cellward.protect.lattice.problem import Found, LatticeEngine, LatticeProblem
from cellward.protect.lattice.protected import ProtectedSearch
from cellward.protect.lattice.told_box import AroundValue
from cellward.protect.lattice.vertex import lower_bound
from cellward.protect.rounding.conflict import Conflict, asking, of_equations, of_level_rows, of_levels
from cellward.protect.rounding.keyed import keyed_target
from cellward.protect.rounding.least_base import SingleCells
from cellward.protect.rounding.unbiased import unbiased_target
from cellward.protection import Protection
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge, column_of
from cellward.publication.values import Values
from cellward.solve.budget import Budget
from cellward.table.table import equation_name, equation_text

if TYPE_CHECKING:
    from cellward.protect.rounding.method import ControlledRounding

MOST_NAMED = 10
"""More steps than these are no remedy: hardly anything would be left of the grid."""


@dataclass(frozen=True)
class RoundingAttempt(Attempt):
    """So many steps a cell, with the options of a :class:`ControlledRounding`."""

    method: ControlledRounding
    base: Ints
    rounded: Bools
    steps: Ints
    """The steps of every cell."""
    start: Ints | None = None
    """A table known to be allowed, to begin with."""
    explains: bool = True
    """Whether what cannot hold together is looked for where nothing exists."""
    first_share: float = 1.0
    """The part of the time in which large tables must have a first rounding, shown to protect where levels are asked."""

    def solve(self) -> Protection:
        """What comes of it."""
        model = LatticeModel(self.instance, self._allowed(), known=self.start)
        if reason := hopeless(model):
            return self.infeasible(f"{reason}{self._remedy}", "divisibility and bounds")
        if self.levels:
            return self._with_levels(model)
        if self.method.goal == "any":
            return self._answer(model, model, solve(LatticeProblem(model), self._telling(model), ANY_TABLE))
        aimed = self._aimed(model)
        found = solve(LatticeProblem(aimed), self._telling(aimed), self.engines)
        return self._answer(model, model, found)

    @property
    def engines(self) -> tuple[LatticeEngine, ...]:
        """The method's, as patient as they are to be."""
        share = self.first_share
        return tuple(
            replace(one, first_share=share) if isinstance(one, Portfolio | NestedBlocks) else one
            for one in self.method.engines
            if not (self.levels and isinstance(one, NestedBlocks))  # a table that protects is looked for first
        )

    @property
    def nested(self) -> bool:
        """Whether areas within areas are rounded one after the other, which finds neighbouring multiples in tables of any size."""
        large = any(isinstance(one, NestedBlocks) and one.fewest <= self.instance.cells for one in self.engines)
        return large and find_nested(self.instance.relations) is not None

    def _telling(self, model: LatticeModel) -> Budget:
        """The budget of a search whose finds are told in the table's units."""
        unit = 10.0 ** -(self.instance.decimals + self.instance.weight_decimals)
        return self.budget.counting(unit * model.start, unit)

    def taken(self, v: Ints) -> Protection:
        """A table at hand as the result, with what the cheapest choices cell by cell prove."""
        model = LatticeModel(self.instance, self._allowed(), known=v)
        return self._answer(model, model, Found("feasible", "rounded leaves", x=model.steps_of(v), bound=model.least()))

    def tell(self, v: Ints) -> None:
        """A table at hand, to whoever watches."""
        model = LatticeModel(self.instance, AllowedSet(v, v, np.zeros_like(v)))
        self._telling(model).found(0.0)

    def _allowed(self) -> AllowedSet:
        """What each cell may be published as."""
        alone = self.method.only == "small"
        allowed = small_alone(self.instance, self.base, self.steps) if alone else self._multiples()
        if self.start is not None:  # which may lie beyond public bounds
            lo, hi = np.minimum(allowed.lo, self.start), np.maximum(allowed.hi, self.start)
            allowed = AllowedSet(lo, hi, allowed.step)
        return allowed

    def _multiples(self) -> AllowedSet:
        allowed = allowed_multiples(self.instance, self.base, self.steps)
        if self.method.small_counts != "free":
            allowed = small_ones(self.instance, self.base, allowed, self.method.small_counts)
        if not self.rounded.all():
            allowed = followers(self.instance, self.base, allowed, self.rounded, self.steps)
        return allowed

    def _aimed(self, model: LatticeModel) -> LatticeModel:
        """The model with the table to come near to: the true one, or for want of bias or from the key another."""
        if self.method.keyed:
            return replace(model, target=keyed_target(model, self.draws))
        if not self.method.unbiased:
            return model
        return replace(model, target=unbiased_target(model, self.draws, self.budget, self.engines))

    def _with_levels(self, model: LatticeModel) -> Protection:
        """The least rounding that meets every level."""
        watched = self._guards(self.instance)
        for guard in watched:
            if impossible := list(islice(guard.impossible(model.allowed), SHOWN + 1)):
                cells = tuple(sorted({need.cell for need, _ in impossible if need.cell < self.instance.cells}))
                reason = self._unreachable([sentence for _, sentence in impossible])
                return self.infeasible(reason, "levels of single cells", cells)
        narrowed = self._aimed(model).narrowed(*_tightest([guard.room() for guard in watched]))
        if why := hopeless(narrowed):
            reason = f"the levels of single cells leave no rounding: {why}{self._remedy}"
            return self.infeasible(reason, "levels of single cells")
        told = self._telling(narrowed)
        tried = partial(self._tried, model)
        search = ProtectedSearch(narrowed, watched, tried, told, self.engines, self.first_share)
        if conflict := of_level_rows(narrowed, search.level_rows):
            return self._no_levels("what follows from one sum after the other", conflict)
        found = search.solve()
        if found.status == "infeasible":
            return self._levels_conflict(model, found) if self.explains else self._more_is_tried(found)
        if found.x is None and search.missing:
            reason = f"no rounding was shown to protect{self._time_taken} ({found.engine}); of the last one tried: {search.missing}"
            return self.failed(f"{reason}{self._more_steps}", found.engine, limit_reached=self.budget.over)
        answer = self._answer(model, narrowed, found)
        return answer if search.last is None else replace(answer, shown=answer.shown.knowing(search.last.shown))

    def restated(self, found: Protection) -> Protection:
        """What was found under more steps than it needs, as a result under these: fewer tables are allowed, so that its bound holds all the more."""
        assert found.publication is not None and found.publication.v is not None
        sought = replace(found.sought, allowed=self._allowed())
        told = Values(self._knowledge(found.publication.v, self._small))
        status: Literal["optimal", "feasible"] = "optimal" if found.status == "optimal" else "feasible"
        return self.result_of(told, sought, status=status, engine=found.engine, limit_reached=found.run.limit_reached)

    def _levels_conflict(self, model: LatticeModel, found: Found) -> Protection:
        """Whether sums or levels are what cannot hold, and which."""
        plain = solve(LatticeProblem(model), self.budget, self.engines)
        if plain.status == "infeasible":
            return self._answer(model, model, plain)
        asked = [attacker.asked(self.instance.sensitivity.levels) for attacker in self.instance.attackers]
        conflict = of_levels(self.instance, asked, self._unmeetable, self.budget)
        if self.instance.sensitivity.sums and not self._unmeetable(asking(self.instance, conflict.requirements)):
            conflict = Conflict()
        return self._no_levels(found.engine, conflict, "roundings exist, but none that" if plain.x is not None else "")

    def _no_levels(self, engine: str, conflict: Conflict, who: str = "") -> Protection:
        """No rounding meets the levels; ``who``: as far as more is known than that."""
        words = conflict.sentence(self.instance) if conflict.requirements else "levels on sums of cells cannot be met"
        why = f"{who or 'no rounding'} meets every level ({engine}): {words}"
        larger = "choose a larger base (cellward advise finds how large)"
        reason = f"{why}; {larger}, allow more steps (max_steps={self._most + 1}) or ask for lower levels"
        return self.infeasible(reason, engine, conflict.cells, conflict.equations)

    def _unmeetable(self, instance: Instance) -> bool:
        """Whether no rounding meets the levels of this instance, sums at risk left aside."""
        sensitivity = replace(instance.sensitivity, sums=())
        attempt = replace(self, instance=replace(instance, sensitivity=sensitivity))
        model = LatticeModel(attempt.instance, self._allowed())
        watched = self._guards(attempt.instance)
        if any(any(True for _ in guard.impossible(model.allowed)) for guard in watched):
            return True
        narrowed = model.narrowed(*_tightest([guard.room() for guard in watched]))
        if hopeless(narrowed):
            return True
        search = ProtectedSearch(narrowed, watched, partial(attempt._tried, model), self.budget, self.engines)
        return search.solve().status == "infeasible"

    def _answer(self, model: LatticeModel, solved: LatticeModel, found: Found) -> Protection:
        """The engine's answer as a Protection."""
        if found.status == "infeasible":
            if not self.explains:
                return self._more_is_tried(found)
            conflict = of_equations(model, self.budget, self.engines)
            why = f"no table of {_multiples(self._most)} keeps every sum ({found.engine}): {conflict.sentence(self.instance)}"
            return self.infeasible(f"{why}{self._remedy}", found.engine, conflict.cells, conflict.equations)
        if found.x is None or found.bound is None:
            reason = f"nothing was found{self.within} ({found.engine}; {self.took}); give more time"
            return self.failed(reason, found.engine)
        v, bound = solved.values(found.x), solved.start + found.bound
        status: Literal["optimal", "feasible"] = "optimal" if found.status == "optimal" else "feasible"
        if (
            self.method.unbiased or self.method.keyed
        ):  # the least for the table drawn; what the true one could have is bounded from below
            bound = model.start + lower_bound(LatticeProblem(model), self.budget, self.engines)
            status = "optimal" if bound == model.objective(v) else "feasible"
        sought = Objective(allowed=model.allowed, bound=Fraction(bound), multipliers=found.multipliers)
        late = found.status == "feasible" and self.budget.limited
        told = self._knowledge(v, self._small)
        return self.result_of(Values(told), sought, status=status, engine=found.engine, limit_reached=late)

    def _more_is_tried(self, found: Found) -> Protection:
        """That there is no such rounding, without a look at why, where more steps are tried next: the time is for those."""
        return self.infeasible(
            f"no table of {_multiples(self._most)} does ({found.engine}){self._remedy}", found.engine
        )

    @property
    def _most(self) -> int:
        return int(self.steps.max(initial=1))

    @property
    def _time_taken(self) -> str:
        return f" within {self.budget.spent:.1f} s" if self.budget.over else ""

    @property
    def _more_steps(self) -> str:
        return (
            ""
            if self.method.small_counts != "free"
            else f"; allow more steps (max_steps={self._most + 1}) or give more time"
        )

    @property
    def _remedy(self) -> str:
        allowed = self.method.max_steps
        more = f", allow more steps (max_steps={self._most + 1})" if allowed == self._most else ""
        if self.method.small_counts != "free":  # which more steps do not go with
            more = ", leave small counts free"
        return f"; choose another base (cellward advise finds which does){more}, widen the cells' bounds or free fixed cells"

    def _unreachable(self, sentences: Sequence[str]) -> str:
        return f"{few(sentences)}, whatever is published; {self._larger_base} or ask for lower levels"

    @property
    def _larger_base(self) -> str:
        """How large a base, or how many steps, the levels of single cells ask for; more than they do may be needed, which takes a solver to see."""
        single, base = SingleCells.of(self.instance), self.method.base
        least = single.least_round(self._most) if self.method.knowledge == "strict" else None
        if least is None or is_list(base) or isinstance(base, Mapping) or least <= int(self.base.max(initial=0)):
            return "choose a larger base (cellward advise finds how large), allow more steps"
        round_one = exact.short(least, self.instance.decimals)
        steps = single.least_steps(self.base, most=MOST_NAMED)
        more = "allow more steps" if steps is None else f"allow more steps (max_steps={steps} at least)"
        return f"choose a larger base, of round ones {round_one} at least (cellward advise finds which does), {more}"

    def _tried(self, model: LatticeModel, v: Ints, engine: str) -> Protection:
        """A table on the way, to see whether it protects."""
        told = self._knowledge(v, self._small)
        return self.result_of(Values(told), Objective(allowed=model.allowed), status="feasible", engine=engine)

    @property
    def _small(self) -> str:
        return "only" if self.method.only == "small" else self.method.small_counts

    def _knowledge(self, v: Ints, small: Any) -> Knowledge:
        """What the public reads out of v."""
        own, told = self.instance, np.where(self.instance.sensitivity.fixed, 0, self.base)
        kind: Any = self.method.knowledge
        return Knowledge.rounded(
            v, told, kind=kind, steps=said_steps(self.steps), a=own.a, small=small, lower=own.lower, upper=own.upper
        )

    def _guards(self, instance: Instance) -> list[Capacity]:
        """The levels as constraints on v; what small counts tell besides depends on v itself and is left to the audit."""
        knowledge = self._knowledge(instance.a, "free")
        return guards(instance, knowledge, AroundValue(knowledge.hi - instance.a))

    def stated(self) -> dict[str, Any]:
        """The options, and the steps taken."""
        own = self.method.stated(self.instance, self.rounded)
        return {**own, "steps": column_of(self.steps), "knowledge": self.method.knowledge}

    def untold(self) -> tuple[Objective, Knowledge]:
        """Over the multiples; nothing is told of small counts where nothing is published."""
        return Objective(allowed=self._allowed()), self._knowledge(self.instance.a, "free")


def said_steps(steps: Ints) -> int | Ints:
    """One number where all cells have the same."""
    said = column_of(steps)
    return said if isinstance(said, int) else steps


def _multiples(steps: int) -> str:
    return "neighbouring multiples" if steps == 1 else f"multiples less than {steps} bases away"


def _tightest(rooms: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """The narrowest of several bounds."""
    least, most = zip(*rooms, strict=True)
    return np.maximum.reduce(least), np.minimum.reduce(most)


def hopeless(model: LatticeModel) -> str:
    """Why no rounding can exist, when bounds or divisibility already say so."""
    empty = model.allowed.empty
    names, decimals = model.instance.labels, model.instance.decimals
    if len(empty):
        i = int(empty[0])
        return f"{names.name(i)} has no multiple of its base next to it inside its bounds"
    if len(impossible := model.impossible):
        j = int(impossible[0])
        words = equation_text(model.instance.relations, names, j, decimals)
        return f"{equation_name(names, j)}{words}, cannot be met by neighbouring multiples of its cells' bases"
    return ""
