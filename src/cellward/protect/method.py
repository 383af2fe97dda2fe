"""Method: the shape every protection method has, and the one road from a table to a checked Protection.

A method is a folder: a frozen dataclass whose fields are its options, each declared once (:mod:`cellward.protect.option`). Class attributes say what
it is called; the command line, jobs and batches are read off them. One line in :mod:`cellward.protect.methods` makes it known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from cellward.errors import InputError, TimeLimitError
from cellward.exact import Ints
from cellward.instance import Instance, Weights
from cellward.key import checked_key
from cellward.objective import Objective
from cellward.protect.canonical import solve_in_canonical_order
from cellward.protect.option import check_options, options_of
from cellward.protect.reserve import reserves
from cellward.protect.stopped import Stopped
from cellward.protection import Failure, Protection, Run
from cellward.publication.publication import Publication
from cellward.risk.attacker import Attacker
from cellward.solve.alarm import alarm, silence
from cellward.solve.budget import Budget
from cellward.solve.checkpoint import search_folder
from cellward.solve.interrupt import heeding_interrupt
from cellward.solve.watch import Listener, Watch
from cellward.table.table import Table
from cellward.version import __version__


@dataclass(frozen=True)
class Parameter:
    """One parameter of a τ-ARGUS command: a whole number, empty where it has a default."""

    what: str
    default: int | None
    least: int
    most: int


@dataclass(frozen=True)
class TauArgus:
    """The τ-ARGUS command of a method, its parameters after the table, and what a response is called afterwards."""

    command: str
    suffix: str
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BatchRun:
    """A method with what a batch says of it besides: costs of 1 for all cells (or the table's own), seconds, and what is done otherwise.

    ``exact_costs``: the table's own costs, or the sizes of its values, as they are; otherwise scaled to whole numbers as τ-ARGUS does.
    """

    method: Method
    unit_costs: bool = True
    exact_costs: bool = False
    time_limit_s: float | None = None
    note: str = ""


def refuse_endless(instance: Instance, why: str) -> None:
    """Refuse levels without an end where they mean nothing."""
    if len(endless := instance.sensitivity.endless):
        name = instance.labels.name(int(endless[0]))
        raise InputError(
            f"{name}: a level without an end forbids an adjustment to move the cell to that side, and {why}; give a number"
        )


class Method(ABC):
    """A protection method: a frozen dataclass of options with these verbs."""

    word: ClassVar[str]
    """What the command line and job files call it."""
    title: ClassVar[str]
    """What releases and certificates call it."""
    summary: ClassVar[str]
    """One line of help."""
    default_weights: ClassVar[Weights] = None
    """The weights where a user gives none."""
    tauargus: ClassVar[tuple[TauArgus, ...]] = ()
    """Its commands in τ-ARGUS batches."""
    resumes: ClassVar[bool] = False
    """Whether its searches keep what they find in a folder, and go on from there."""
    one_sided: ClassVar[bool] = False
    """Whether levels without an end, which forbid a side, mean something to it."""

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def ignores_levels(self) -> bool:
        """Whether the table's protection levels are not looked at."""
        return False

    @property
    def publishes_ranges(self) -> bool:
        """Whether folders also hold what anybody can work out of each cell."""
        return False

    @abstractmethod
    def accepts(self, instance: Instance) -> str | None:
        """None when the method can guarantee what the instance asks; otherwise the reason why not, with the remedy."""

    def faced(self, instance: Instance) -> Instance:
        """The instance with the attackers as the method looks at them: those who know the same are one, where they are many."""
        return instance.distinct()

    def covered(self, instance: Instance) -> Instance:
        """The instance with the attackers against whom something is claimed."""
        return instance

    @abstractmethod
    def solve(self, instance: Instance, budget: Budget, key: bytes) -> Protection:
        """Solve one instance; whatever must stay secret is drawn from the key. The Protection checks itself exactly when it is made."""

    @classmethod
    @abstractmethod
    def publication(cls, stated: Mapping[str, Any], printed: Mapping[str, Any], table: Table) -> Publication:
        """How a public statement becomes knowledge: what was printed of a table (columns as scaled integers) under a stated method."""

    def says(self, instance: Instance) -> dict[str, Any]:  # noqa: ARG002
        """What a release of this instance states of these options, but for what solving decides."""
        return {name: getattr(self, name) for name in options_of(type(self))}

    def agrees(self, said: Mapping[str, Any], instance: Instance) -> bool:
        """Whether a release that says this of its method can be one of these options."""
        stated = {name: entry for name, entry in said.items() if name not in ("version", "tells")}
        return stated == {"name": self.title, **self.says(instance)}

    @classmethod
    def notes(cls, result: Protection) -> list[str]:  # noqa: ARG003
        """What a reader of this result should know, a sentence each."""
        return []

    @classmethod
    def from_batch(cls, command: str, *parameters: int) -> BatchRun:
        """What a τ-ARGUS command with these parameters asks for."""
        raise NotImplementedError(cls.title, command, parameters)

    def permuted(self, instance: Instance, order: Ints) -> Self:  # noqa: ARG002
        """The same method for the instance when its cell order[k] becomes cell k."""
        kinds = {name: option.kind for name, option in options_of(type(self)).items()}
        given = {name: getattr(self, name) for name in kinds}
        moved = {name: kinds[name].permuted(one, order) for name, one in given.items() if one is not None}
        return replace(self, **moved)  # type: ignore[type-var]

    def protect(
        self,
        table: Table,
        *,
        weights: Weights = None,
        attackers: Iterable[Attacker] | None = None,
        time_limit_s: float | None = None,
        seed: int = 0,
        threads: int | None = None,
        key: bytes | None = None,
        progress: Listener | None = None,
        resume: str | Path | None = None,
    ) -> Protection:
        """Protect a table: build the instance, solve it, check the answer exactly.

        ``attackers``: against whom the table's levels must hold; default the external one. ``key``: 32 secret bytes, random unless given.
        ``progress``: called with a :class:`Standing` at every phase and every better table. Ctrl-C raises :class:`Stopped`, a KeyboardInterrupt whose
        ``best`` is the result so far; a second one raises at once. ``resume``: a folder in which a long search keeps what it finds, every few
        seconds, and from which the same question goes on; it is confidential.
        """
        watch, folder = Watch(progress), self.resumed_from(resume)
        threads = 1 if threads is None else threads
        budget = Budget(time_limit_s=time_limit_s, threads=threads, seed=seed, watch=watch, resume=folder)
        return self.protect_within(budget, table, weights=weights, attackers=attackers, key=key)

    @classmethod
    def resumed_from(cls, folder: str | Path | None) -> Path | None:
        """The folder of a search that goes on, made where it is not there; refused for methods whose searches keep nothing."""
        if folder is None:
            return None
        if not cls.resumes:
            raise InputError(f"resume: a search for {cls.title} keeps nothing on its way; leave it out")
        return search_folder(Path(folder))

    def protect_within(
        self,
        budget: Budget,
        table: Table,
        *,
        weights: Weights = None,
        attackers: Iterable[Attacker] | None = None,
        key: bytes | None = None,
    ) -> Protection:
        """The same with what is left of a job's budget, a part of which is kept for showing, certifying and writing."""
        if not isinstance(table, Table):
            raise InputError(
                f"a {type(table).__name__} cannot be protected; make a Table of it first, such as with Table.from_frame"
            )
        weights = self.default_weights if weights is None else weights
        instance = self.faced(Instance.of(table, weights=weights, attackers=attackers))
        if not self.one_sided:
            refuse_endless(instance, f"no {self.title} meets it")
        if reason := self.accepts(instance):
            raise InputError(reason)
        key, search = checked_key(key), budget.search(*reserves(instance, budget))
        budget.enter("solving")
        try:
            with alarm(budget), heeding_interrupt(search):
                found = solve_in_canonical_order(self, instance, search, key)
        except TimeLimitError as late:
            silence()
            found = self._out_of_time(instance, str(late), budget, key)
        if budget.watch.history:
            found = replace(found, run=replace(found.run, history=tuple(budget.watch.history)))
        if search.stopped:
            raise Stopped(replace(found, run=replace(found.run, stopped=True, limit_reached=True)))
        return found

    def _out_of_time(self, instance: Instance, reason: str, budget: Budget, key: bytes) -> Protection:
        """Nothing came of it in time, and whatever worked last did not look at the clock."""
        return Protection(
            instance=instance,
            method={"name": self.title, **self.says(instance), "version": __version__},
            status="failed",
            sought=Objective(),
            failure=Failure(reason=reason),
            run=Run(seconds=budget.spent, limit_reached=True),
            ignore_levels=self.ignores_levels,
            key=key,
        )
