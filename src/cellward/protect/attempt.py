"""Attempt: one method on one instance, and the ways in which it ends; the part that all methods share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cellward.audit.verify import RULES
from cellward.errors import SolverError, VerificationError
from cellward.exact import Ints
from cellward.instance import Instance
from cellward.objective import Objective
from cellward.protect.draws import Draws
from cellward.protection import Details, Failure, Obstacle, Protection, Run
from cellward.publication.knowledge import Knowledge
from cellward.publication.publication import Publication
from cellward.solve.budget import Budget
from cellward.version import __version__

if TYPE_CHECKING:
    from cellward.protect.method import Method

SHOWN = 3
"""Cells, or levels, named in a sentence."""


@dataclass(frozen=True)
class Attempt(ABC):
    """A method, the instance in the table's own units, what may be used, and the key of secret draws."""

    method: Method
    instance: Instance
    budget: Budget
    key: bytes

    @abstractmethod
    def stated(self) -> dict[str, Any]:
        """The options as the public may read them."""

    @abstractmethod
    def untold(self) -> tuple[Objective, Knowledge]:
        """What was sought, and what values would have told, where nothing is published."""

    @property
    def fine(self) -> Instance:
        """The instance in the unit of what is published."""
        return self.instance

    @property
    def draws(self) -> Draws:
        """Secret draws for the cells."""
        return Draws(self.key, self.instance.labels)

    @property
    def levels(self) -> bool:
        """Whether levels are to be met."""
        asked = self.instance.asks or bool(self.instance.sensitivity.sums)
        return asked and not self.method.ignores_levels

    # ---- how it ends ---------------------------------------------------------------------------------------------------------------------------

    def result_of(
        self,
        publication: Publication,
        sought: Objective,
        *,
        status: Literal["optimal", "feasible"],
        engine: str,
        fine: Instance | None = None,
        limit_reached: bool = False,
        details: Details | None = None,
    ) -> Protection:
        """What an engine found, as a result; what does not hold is the engine's fault. ``fine``: the instance in another unit."""
        try:
            return Protection(
                instance=self.fine if fine is None else fine,
                method=self._statement(publication.knowledge),
                status=status,
                sought=sought,
                publication=publication,
                run=Run(engine=engine, seconds=self.budget.root.spent, limit_reached=limit_reached),
                details=details,
                ignore_levels=self.method.ignores_levels,
                key=self.key,
            ).within(self.budget.showing)
        except VerificationError as error:
            raise SolverError(f"{engine or 'the engine'} gave an answer that does not hold: {error}") from error

    def infeasible(
        self,
        reason: str,
        engine: str,
        cells: Iterable[int] = (),
        equations: Iterable[int] = (),
        conflict: Iterable[Obstacle] = (),
    ) -> Protection:
        """No such table exists."""
        return self._nothing("infeasible", reason, engine, cells, equations, conflict, limit_reached=False)

    def failed(self, reason: str, engine: str, *, limit_reached: bool = True) -> Protection:
        """Nothing was found."""
        return self._nothing("failed", reason, engine, (), (), (), limit_reached=limit_reached)

    def first_protected(self, made: Iterator[Protection]) -> Protection | None:
        """The first of the results that is shown to protect, as far as it has to."""
        return next((one for one in made if not self.levels or one.protected is not False), None)

    def _nothing(
        self,
        status: Literal["infeasible", "failed"],
        reason: str,
        engine: str,
        cells: Iterable[int],
        equations: Iterable[int],
        conflict: Iterable[Obstacle],
        *,
        limit_reached: bool,
    ) -> Protection:
        sought, told = self.untold()
        return Protection(
            instance=self.fine,
            method=self._statement(told),
            status=status,
            sought=sought,
            failure=Failure(
                reason=reason, cells=tuple(cells), equations=tuple(equations), conflict=tuple(conflict), knowledge=told
            ),
            run=Run(engine=engine, seconds=self.budget.root.spent, limit_reached=limit_reached),
            ignore_levels=self.method.ignores_levels,
            key=self.key,
        ).within(self.budget.showing)

    def _statement(self, told: Knowledge) -> dict[str, Any]:
        """What the public is told; a method that the verifier does not know by name states the rule itself."""
        rule = {} if self.method.title in RULES else {"tells": dict(told.stated)}
        return {"name": self.method.title, **self.stated(), **rule, "version": __version__}

    # ---- words ---------------------------------------------------------------------------------------------------------------------------------

    @property
    def within(self) -> str:
        """The limit in words, to follow a sentence: the job's own, whatever part of it the search had."""
        if self.budget.stopped:
            return " before the search was stopped"
        limit = (self.budget if self.budget.job is None else self.budget.job).time_limit_s
        return "" if limit is None else f" within {limit:g} s"

    @property
    def took(self) -> str:
        """The phase and how long the search took, to stand beside its engine."""
        return f"{self.budget.watch.phase or 'solving'}, {self.budget.spent:.1f} s"

    def names(self, cells: Sequence[int] | Ints) -> str:
        """A few cells by name."""
        named = ", ".join(self.instance.labels.name(int(i)) for i in np.asarray(cells)[:SHOWN])
        return named if len(cells) <= SHOWN else f"{named} and {len(cells) - SHOWN} more"


def few(sentences: Sequence[str]) -> str:
    """The first of several sentences."""
    return f"{'; '.join(sentences[:SHOWN])}{'' if len(sentences) <= SHOWN else ' (and more)'}"
