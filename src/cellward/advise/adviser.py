"""advise: look at a table before it is protected: bounds that cost nothing, then trials of each method in the time there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cellward import exact
from cellward.advise.advice import Advice, AdviceRow, LevelRow
from cellward.advise.by_level import LevelNeeds, bases_by_level, distances_by_level, level_needs
from cellward.advise.candidates import candidate_bases, round_up
from cellward.advise.choice import choose
from cellward.advise.smallest import OPEN, Smallest
from cellward.advise.trial import Trial, Trials
from cellward.advise.words import paragraph
from cellward.errors import InputError
from cellward.instance import Instance
from cellward.key import checked_key
from cellward.protect.adjustment import ControlledAdjustment
from cellward.protect.method import refuse_endless
from cellward.protect.perturbation import CellPerturbation
from cellward.protect.rounding import ControlledRounding
from cellward.protect.rounding.least_base import SingleCells
from cellward.risk.attacker import Attacker
from cellward.solve.budget import Budget
from cellward.table.table import Table

TIME_LIMIT_S = 60.0
FOR_BASES, FOR_ONE_BASE = 0.5, 0.5
"""Share of what is left in which a base is looked for, and of what is left of that which one base may take."""
FOR_ADJUSTMENT, FOR_LEVELS, FOR_DISTANCE = 0.5, 0.3, 0.6
"""Shares of what is then left."""
LONGER = 1.2
"""A base that was not decided is tried again with so many times the seconds it had, or not at all."""
WIDENINGS = (1, 2, 4)
"""A distance that does not do is tried so many times as large."""
WITH_ROOM = 2
"""Where no distance was decided, so many times the least is proposed."""
MOST_STEPS = 10
"""With more steps than these hardly anything is left of the grid; they are not looked at."""
NAMED = 2
"""Cells in the way that are named in a row."""


def advise(
    table: Table,
    *,
    attackers: Iterable[Attacker] | None = None,
    bases: Any = "round",
    time_limit_s: float | None = TIME_LIMIT_S,
    seed: int = 0,
    threads: int | None = None,
    key: bytes | None = None,
) -> Advice:
    """What it takes to protect a table: the smallest base of a protecting rounding, the steps and the distance, what each costs, and which to use.

    ``bases``: ``"round"`` (3, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, …), ``"any"`` multiple of the table's unit, or a list. ``attackers``, ``seed``,
    ``threads`` and ``key`` as for ``protect``. At ``time_limit_s`` what was found by then is said, and what is not decided is called so. Nothing is
    released; the advice names cells and their levels, and is as confidential as the table.

    >>> table = Table.from_equations([10, 20, 30], [[1, 1, -1]], sensitive=[0], lpl=[9], upl=[9])
    >>> found = advise(table)
    >>> found.base, found.base_proven, found.least_base, found.method.protect(table).status
    (10, True, 10, 'optimal')
    """
    if not isinstance(table, Table):
        raise InputError(
            f"a {type(table).__name__} cannot be advised on; make a Table of it first, such as with Table.from_frame"
        )
    known = None if attackers is None else list(attackers)
    budget = Budget(time_limit_s=time_limit_s, threads=1 if threads is None else threads, seed=seed)
    instance = Instance.of(table, attackers=known)
    refuse_endless(instance, "nothing can be advised on it")
    trials = Trials(table, known, budget, checked_key(key))
    return _Adviser(instance, trials, bases).advice()


@dataclass(eq=False)
class _Adviser:
    """One table and the time there is for it."""

    instance: Instance
    trials: Trials
    bases: Any

    def advice(self) -> Advice:
        """All that is found in the time: against the public first, which takes least and proves as much of what does not exist."""
        seen = self._search(self.first, {})
        adjusted, near = [], []
        if self._asks:
            adjusted = [self.trials.of(ControlledAdjustment(), self._seconds(FOR_ADJUSTMENT))]
            near = self._perturbed()
        rounded = self._confirmed(seen) if self.first is not self.trials else seen
        others = [*self._by_level(), *self._with_steps(rounded), *self._near_confirmed(near), *adjusted]
        self._again(rounded)
        rows = [*self._of_bases(rounded), *(self._row(one) for one in others)]
        tried = [*rounded.tried.values(), *others]
        base = self._base(rounded)
        best, why = choose(tried, base, self.instance.decimals)
        asks = bool(self.single.asked.any.any())
        facts: dict[str, Any] = {
            "method": None if best is None else best.method,
            "why": why,
            "base": base,
            "base_found": rounded.found is not None,
            "base_proven": rounded.proven,
            "least_base": self._units(self._least) if asks else None,
            "distance": self._distance(others),
            "least_distance": self._units(self.single.asked.least_distance) if asks else None,
            "table": tuple(rows),
            "levels": tuple(self._level(need) for need in self.needs),
            "seconds": self.trials.budget.spent,
        }
        undecided = [self._units(base) for base in rounded.undecided]
        words = paragraph(self.instance, self.single, facts, undecided, any_base=self._any_base)
        return Advice(**facts, paragraph=words)

    @cached_property
    def first(self) -> Trials:
        """Trials against the public alone; the same as all trials where there is nobody else."""
        return self.trials.public(self.instance.attackers)

    @cached_property
    def single(self) -> SingleCells:
        """What single cells ask."""
        return SingleCells.of(self.instance)

    @cached_property
    def needs(self) -> list[LevelNeeds]:
        """The same by level of sums."""
        return level_needs(self.single)

    @property
    def _any_base(self) -> bool:
        return isinstance(self.bases, str) and self.bases == "any"

    @property
    def _asks(self) -> bool:
        return self.instance.asks or bool(self.instance.sensitivity.sums)

    def _seconds(self, share: float) -> float | None:
        left = self.trials.budget.left
        return None if left is None else share * left

    def _units(self, scaled: int) -> int | float:
        """In the table's units, whole where it is."""
        whole, rest = divmod(scaled, 10**self.instance.decimals)
        return exact.unit(scaled, self.instance.decimals) if rest else whole

    # ---- rounding ------------------------------------------------------------------------------------------------------------------------------

    def _search(self, trials: Trials, settled: Mapping[int, Trial]) -> Smallest[Trial]:
        """The smallest base at which a rounding to neighbouring multiples protects; ``settled``: what is known of some."""
        own, in_vain = self.trials.budget.part(self._seconds(FOR_BASES)), 0.0

        def attempt(base: int) -> Trial:
            nonlocal in_vain
            if base in settled:
                return settled[base]
            seconds = None if own.left is None else FOR_ONE_BASE * own.left
            tried = trials.of(ControlledRounding(self._units(base)), seconds)
            in_vain = max(in_vain, tried.seconds if tried.answer == "undecided" else 0.0)
            return tried

        def over() -> bool:
            """Whether the next base would have much less time than one that was not decided."""
            return own.over or (own.left is not None and LONGER * own.left < in_vain)

        search = Smallest(candidate_bases(self.single, self.bases), self._ruled_out, attempt, over, many=self._any_base)
        search.run()
        return search

    def _ruled_out(self, base: int) -> bool:
        return base < self._least or bool(len(self.single.blocked(base)))

    def _confirmed(self, seen: Smallest[Trial]) -> Smallest[Trial]:
        """The same against all attackers, of bases that may do against the public."""
        public = {base: one for base, one in seen.tried.items() if one.answer == "protects"}
        found = self._search(self.trials, {base: one for base, one in seen.tried.items() if base not in public})
        for base, one in public.items():
            untried = replace(one, answer="undecided", seconds=0.0, reason="there was no time left to try it")
            found.tried[base] = found.tried.get(base, untried).after(one)
        return found

    def _base(self, rounded: Smallest[Trial]) -> int | float | None:
        """The smallest found, else the first that protects against the public, else the first that is not ruled out."""
        public = sorted(base for base, one in rounded.tried.items() if one.answer == "public only")
        best = [rounded.found] if rounded.found is not None else [*public, *rounded.undecided]
        return self._units(best[0]) if best else None

    @cached_property
    def _least(self) -> int:
        return int(self.single.least().max(initial=1))

    def _of_bases(self, rounded: Smallest[Trial]) -> Iterator[AdviceRow]:
        """The last bases that single cells rule out, and those that were tried."""
        for base in rounded.passed:
            if rounded.found is None or base < rounded.found:
                blocked = self.single.blocked(base)
                worst = blocked[self.single.asked.width[blocked].argsort()[::-1][:NAMED]]
                names = tuple(self.instance.labels.name(int(i)) for i in worst)
                yield AdviceRow(
                    ControlledRounding(self._units(base)),
                    "none exists",
                    blocked=len(blocked),
                    blocking=names,
                    tried=False,
                )
        for base in sorted(rounded.tried):
            yield self._row(rounded.tried[base])

    def _again(self, rounded: Smallest[Trial]) -> None:
        """What is left of the time, where that is more than it had, for the smallest base that was not decided."""
        left = self.trials.budget.left
        if left is None:
            return
        for base in rounded.undecided[:1]:
            before = rounded.tried.get(base)
            if before is None or left > LONGER * before.seconds:
                again = self.trials.of(ControlledRounding(self._units(base)), left)
                if before is None or again.answer != "undecided":
                    rounded.tried[base] = again

    def _by_level(self) -> Iterator[Trial]:
        """A rounding with a base a level of sums, where that is less for some."""
        bases = bases_by_level(self.single) if self._asks else None
        if bases is not None:
            method = ControlledRounding({level: self._units(base) for level, base in _changes(bases).items()})
            yield self.trials.of(method, self._seconds(FOR_LEVELS))

    def _with_steps(self, rounded: Smallest[Trial]) -> Iterator[Trial]:
        """More steps at the largest base that does not do with one."""
        failed = [base for base, one in rounded.tried.items() if one.answer == "none exists"]
        below = [base for base in (*rounded.passed, *failed) if rounded.found is None or base < rounded.found]
        if below and (steps := self.single.least_steps(max(below), MOST_STEPS)) is not None:
            method = ControlledRounding(self._units(max(below)), max_steps=max(steps, 2))
            yield self.trials.of(method, self._seconds(FOR_LEVELS))

    # ---- the others ----------------------------------------------------------------------------------------------------------------------------

    def _perturbed(self) -> list[Trial]:
        """Within one round distance against the public, larger where that does not do."""
        out: list[Trial] = []
        least = max(self.single.asked.least_distance, 1)
        for times in WIDENINGS:
            out.append(self.first.of(self._within(self._units(round_up(times * least))), self._seconds(FOR_DISTANCE)))
            if out[-1].answer != "none exists":
                break
        return out

    def _distance(self, trials: Iterable[Trial]) -> Any:
        """The first distance for all cells that protects; else, where one was not decided, twice the least: with more room one is found sooner."""
        within = [(one.answer, one.method.within) for one in trials if isinstance(one.method, CellPerturbation)]
        whole = [(answer, given) for answer, given in within if not isinstance(given, dict)]
        found = next((given for answer, given in whole if answer == "protects"), None)
        if found is None and any(answer in OPEN for answer, _ in whole):
            return self._units(round_up(WITH_ROOM * max(self.single.asked.least_distance, 1)))
        return found

    def _near_confirmed(self, near: list[Trial]) -> Iterator[Trial]:
        """The same against all attackers; and within one distance a level of sums, where they differ."""
        yield from near[:-1]
        for one in near[-1:]:
            again = self.first is not self.trials and one.answer == "protects"
            last = self.trials.of(one.method, self._seconds(FOR_DISTANCE)).after(one) if again else one
            yield last
            distances = distances_by_level(self.needs) if last.answer == "protects" else None
            if distances is not None:
                given = {level: self._units(each) for level, each in _changes(distances).items()}
                yield self.trials.of(self._within(given), self._seconds(FOR_DISTANCE))

    def _within(self, distance: Any) -> CellPerturbation:
        """Whole numbers for counts, and where attackers know that values have no finer decimals."""
        whole = not self.instance.decimals or any(attacker.whole for attacker in self.instance.attackers)
        return CellPerturbation(within=distance, grid=exact.text(1, self.instance.decimals) if whole else None)

    # ---- rows ----------------------------------------------------------------------------------------------------------------------------------

    def _row(self, one: Trial) -> AdviceRow:
        names = tuple(self.instance.labels.name(i) for i in one.cells[:NAMED] if i < self.instance.cells)
        told = (one.method, one.answer, one.seconds, one.cost, one.steps)
        return AdviceRow(*told, blocking=names, reason=one.reason, tried=one.seconds > 0)

    def _level(self, need: LevelNeeds) -> LevelRow:
        if need.cell is None:
            return LevelRow(need.level, need.cells, 0, None, None)
        base, distance = self._units(need.base), self._units(need.distance)
        return LevelRow(need.level, need.cells, need.asking, base, distance, self.instance.labels.name(need.cell))


def _changes(by_level: dict[int, int]) -> dict[int, int]:
    """Only the levels at which the amount is another than below; the others follow."""
    return {level: amount for level, amount in by_level.items() if not level or amount != by_level[level - 1]}
