"""Protection: what came of one method on one instance; the only thing a method returns.

Confidential: it holds the instance. The public side is made by :meth:`Protection.release`, which refuses unless the independent check passes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from cellward import exact
from cellward.audit.audit import KNOWN, Audit, audit
from cellward.audit.bound import BoundProof
from cellward.audit.certificate import Certificate, salt_of
from cellward.audit.evidence import Evidence
from cellward.audit.gate import not_unknown, told_of
from cellward.audit.interval_columns import closest
from cellward.audit.shown import Shown
from cellward.errors import InputError, VerificationError
from cellward.exact import Floats, Ints
from cellward.files.made_frames import frame_of
from cellward.instance import Instance
from cellward.key import checked_key
from cellward.notebook import MOST_ROWS, card
from cellward.objective import Objective
from cellward.publication.knowledge import Knowledge
from cellward.publication.loss import Loss
from cellward.publication.printed_columns import compared_columns, joined
from cellward.publication.publication import Publication
from cellward.publication.release import Release
from cellward.solve.budget import Budget
from cellward.solve.watch import Standing
from cellward.table.cell_columns import beside, cell_columns

Status = Literal["optimal", "feasible", "infeasible", "failed"]
OF_SUMS = {"name": "interval publication", "what": "sums of cells at risk"}
"""The method of the certificate of sums: nothing is printed of them, and of the cells what the release tells."""


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """One of several things that do not go together: ``what`` (a level, an end of a cell's room) of ``cell``, called ``name``."""

    cell: int
    name: str
    what: str

    def __str__(self) -> str:
        return f"the {self.what} of {self.name}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Failure:
    """Why nothing may be released.

    ``cells`` and ``equations``: where it comes from, as far as that was found. ``conflict``: levels and ends of cells that do not go together, proven
    in whole numbers, of which none can be left out. ``proposal``: another method, ready to run. ``knowledge``: what values
    would have told, which the certificate of an infeasible result states.
    """

    reason: str
    cells: tuple[int, ...] = ()
    equations: tuple[int, ...] = ()
    conflict: tuple[Obstacle, ...] = ()
    proposal: Any = None
    knowledge: Knowledge | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """How a result was found: the engine, its seconds, whether a limit, or Ctrl-C, cut it short, and what it found on the way."""

    engine: str = ""
    seconds: float = 0.0
    limit_reached: bool = False
    stopped: bool = False
    history: tuple[Standing, ...] = field(default=(), repr=False)
    """Every better table and every better bound on the way, with the seconds since the job began; not part of what is released."""


class Details(Protocol):
    """What else a method keeps of a result, confidential."""

    def to_dict(self) -> dict[str, Any]:
        """As protection.json holds it."""

    def renumbered(self, cells: Ints, /) -> Details:
        """The same when cell k is called cells[k]."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Protection:
    """What came of one method on one instance.

    ``status``: ``optimal``; ``feasible`` (a limit was reached, the gap says how far the optimum may be); ``infeasible`` (no such table exists;
    ``failure`` says why); ``failed`` (a limit was reached with nothing found). ``publication`` is what would be printed, or None; where there is a
    ``failure`` too, it is not released. ``method`` is what the public may know of the method: its name and parameters. ``sought``: what was made
    small, and over which tables. ``ignore_levels``: nothing is shown of the protection levels. ``key`` (32 bytes, secret) salts the certificate.
    ``shown``: what is shown of the publication; a copy of a result with other facts about it keeps what was shown already.
    """

    instance: Instance
    method: Mapping[str, Any]
    status: Status
    sought: Objective
    publication: Publication | None = None
    failure: Failure | None = None
    run: Run = Run()
    details: Details | None = None
    ignore_levels: bool = False
    key: bytes = field(default_factory=checked_key, repr=False)
    shown: Shown = field(default=None, repr=False)  # type: ignore[assignment] # made of the other fields unless given

    def __post_init__(self) -> None:
        checked_key(self.key)
        if (self.publication is None) != (self.status in ("infeasible", "failed")):
            nots = "" if self.publication is None else "not "
            raise VerificationError(
                f"a result called {self.status} must {nots}hold what is to be printed; nothing is released"
            )
        if self.publication is None and self.failure is None:
            raise VerificationError(f"a result called {self.status} must say why; nothing is released")
        if self.shown is not None and self.shown.of(self.instance, self.publication, self.sought):
            return
        budget = None if self.shown is None else self.shown.budget
        shown = Shown(self.instance, self.publication, self.sought, self.status).by(budget)
        object.__setattr__(self, "shown", shown)
        if self.publication is None:
            return
        self.publication.check(self.instance, self.sought.allowed)
        bound, value = self.sought.bound, self.objective_scaled
        if bound is None or value is None:
            return
        if self.status == "optimal" and abs(value - bound) > self.sought.tolerance:
            raise VerificationError("a result called optimal must meet its bound; nothing is released")
        if bound > value:
            raise VerificationError("the solver's bound exceeds the value of its own answer; nothing is released")

    # ---- what came out ---------------------------------------------------------------------------------------------------------------------

    @property
    def scaled(self) -> Ints | None:
        """The published values as exact integers; None where there are none."""
        return None if self.publication is None else self.publication.v

    @property
    def values(self) -> Ints | Floats | None:
        """The published values in the user's units, in cell order, not a number where none is printed; None where there are none."""
        return None if self.publication is None else self.publication.values(self.instance.decimals)

    @property
    def knowledge(self) -> Knowledge | None:
        """What is told to the public, or would have been."""
        if self.publication is not None:
            return self.publication.knowledge
        return None if self.failure is None else self.failure.knowledge

    @property
    def reason(self) -> str:
        """Why nothing may be released; empty where something may."""
        return "" if self.failure is None else self.failure.reason

    @property
    def engine(self) -> str:
        """Which engine found it."""
        return self.run.engine

    @property
    def seconds(self) -> float:
        """How long that took."""
        return self.run.seconds

    @cached_property
    def objective_scaled(self) -> int | Fraction | None:
        """The objective, exact, in units of 10^−(decimals + weight_decimals); None without a publication."""
        return None if self.publication is None else self.sought.value(self.instance, self.publication)

    def _in_units(self, scaled: int | Fraction | None) -> int | float | None:
        i, p = self.instance, self.publication
        amounts = i.decimals if p is None or p.costs_amounts else 0
        return None if scaled is None else exact.unit(scaled, amounts + i.weight_decimals)

    @property
    def objective(self) -> int | float | None:
        """What was made small, Σ w·|v − a| unless the method has another aim, in the user's units."""
        return self._in_units(self.objective_scaled)

    @property
    def bound(self) -> int | float | None:
        """The solver's word on the least objective possible, in the user's units."""
        return self._in_units(self.sought.bound)

    @property
    def gap(self) -> float | None:
        """(objective − bound) / objective: 0.0 when proven optimal, None without values or a bound."""
        value, bound = self.objective_scaled, self.sought.bound
        if value is None or bound is None:
            return None
        return 0.0 if value == bound or self.status == "optimal" else float((value - bound) / value)

    def loss(self) -> Loss:
        """Information loss of what is published."""
        if self.publication is None:
            raise VerificationError(f"a result called {self.status} has nothing to measure; {self.reason}")
        return self.publication.loss(self.instance.a, self.instance.decimals)

    # ---- to look at ------------------------------------------------------------------------------------------------------------------------

    def to_pandas(self, *, audit: Audit | None = None) -> Any:
        """One row a cell as a pandas frame (confidential): as of the table, and what is published of it and the deviation.

        ``audit``: of this result; then also what the attacker makes of each cell who comes closest.

        >>> from cellward import ControlledRounding, Table
        >>> p = ControlledRounding(5).protect(Table.from_array([3, 4], dims=["sex"], codes=[["F", "M"]]))
        >>> p.to_pandas()[["sex", "value", "published", "deviation"]].values.tolist()
        [['F', 3, 0, -3], ['M', 4, 5, 1], ['Total', 7, 5, -2]]
        """
        return frame_of("pandas", self._columns(audit))

    def to_polars(self, *, audit: Audit | None = None) -> Any:
        """The same as a polars frame."""
        return frame_of("polars", self._columns(audit))

    def join(self, frame: Any) -> Any:
        """The user's own rows (any frame with the dimension columns) with what is published of the cell that each is in, and its deviation.

        >>> from cellward import ControlledRounding, Table
        >>> p = ControlledRounding(5).protect(Table.from_array([3, 4], dims=["sex"], codes=[["F", "M"]]))
        >>> p.join({"sex": ["M", "M"], "name": ["Adam", "Ben"]})["published"].tolist()
        [5, 5]
        """
        i = self.instance
        return joined(frame, i.labels, compared_columns(self._printed, i.a, i.decimals))

    @property
    def _printed(self) -> Publication:
        if self.publication is None:
            raise VerificationError(f"a result called {self.status} has no values; {self.reason}")
        return self.publication

    def _columns(self, audit: Audit | None) -> dict[str, Any]:
        i = self.instance
        columns = cell_columns(i.labels, i.a, i.decimals, i.sensitivity, i.frequency)
        columns = beside(columns, compared_columns(self._printed, i.a, i.decimals), "method")
        if audit is None:
            return columns
        if audit.labels.cells != i.cells:
            raise InputError(
                f"audit: it is of {audit.labels.cells:,} cells, and the table has {i.cells:,}; give the result's own"
            )
        return beside(columns, closest(audit.intervals, i.cells, KNOWN), "attacker's")

    def _repr_html_(self) -> str:
        if self.publication is None:
            return card(repr(self), confidential=True)
        i, risky = self.instance, self.instance.sensitivity.unsafe
        cells = np.union1d(risky[:MOST_ROWS], np.arange(min(i.cells, max(MOST_ROWS - len(risky), 0))))
        names = {name: [column[k] for k in cells.tolist()] for name, column in i.labels.columns().items()}
        printed = self.publication.take(cells).columns(i.decimals)
        shown = beside({**names, "true value": exact.texts(i.a[cells], i.decimals)}, printed, "published")
        marked = set(np.flatnonzero(np.isin(cells, risky)).tolist())
        return card(repr(self), confidential=True, columns=shown, marked=marked, cells=i.cells)

    # ---- what is shown of it ---------------------------------------------------------------------------------------------------------------

    @property
    def evidence(self) -> Evidence:
        """Witness tables for the levels, or the requirements that fail."""
        if self.publication is None:
            raise VerificationError(f"a result called {self.status} has nothing to show; {self.reason}")
        return self.shown.evidence

    @property
    def sums(self) -> Shown | None:
        """What is shown of the sums of cells that are at risk; None where there are none."""
        return None if self.ignore_levels else self.shown.sums

    @cached_property
    def protected(self) -> bool | None:
        """Whether every level is shown to be met against every attacker; None where none is asked, or nothing is published."""
        if self.publication is None or (not self.instance.asks and not self.instance.sensitivity.sums):
            return None
        return not self.ignore_levels and not self.missing

    @property
    def releasable(self) -> bool:
        """Whether something is published with every level met as far as it was to be, and no cell at risk given away."""
        return (
            self.publication is not None
            and self.failure is None
            and (self.ignore_levels or self.protected is not False)
            and not self.given_away
        )

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """A sentence for each requirement that is not shown to be met."""
        levels = self.evidence.missing + (() if self.sums is None else self.sums.evidence.missing)
        return levels or self.given_away

    @cached_property
    def given_away(self) -> tuple[str, ...]:
        """A sentence for each cell at risk whose value is not shown to stay unknown, whether levels are looked at or not."""
        if self.publication is None:
            raise VerificationError(f"a result called {self.status} has nothing to show; {self.reason}")
        return told_of(self.instance, self.publication, self._not_unknown)

    @cached_property
    def _not_unknown(self) -> Ints:
        assert self.publication is not None
        if self.ignore_levels:
            known = [] if self.shown.levels is None else [*self.shown.levels.known]
        else:
            known = [*self.evidence.tables, *(one.witness for one in self.evidence.shown)]
        budget = None if self.shown.budget is None else self.shown.budget.to_end
        return not_unknown(self.instance, self.publication, known, budget)

    @property
    def unshown(self) -> Ints:
        """Cells of which a level is not shown to be met, or else those at risk that are not shown to stay unknown."""
        levels = np.unique(np.array(self.evidence.cells, np.int64))
        return levels if len(levels) else self._not_unknown

    @property
    def unsettled(self) -> bool:
        """Whether some requirement is neither shown to be met nor proven to fail."""
        return bool(self.evidence.unsettled or (self.sums is not None and self.sums.evidence.unsettled))

    @property
    def proof(self) -> BoundProof:
        """What is proven of the least objective possible, or that there is no table at all, in exact arithmetic."""
        return self.shown.bound

    @property
    def certified_bound(self) -> int | float | None:
        """The least objective possible as far as it is proven, in the user's units; None where nothing is."""
        value = self.proof.value
        return self._in_units(self.sought.of_cost(value)) if isinstance(value, Fraction) else None

    @cached_property
    def _certificates(self) -> tuple[Certificate, ...]:
        if self.status == "failed":
            raise VerificationError(f"a result called failed has nothing to certify; {self.reason}")
        if self.sums is not None and self.sums.evidence.missing:
            raise VerificationError(f"not protected: {self.sums.evidence.missing[0]}; nothing is certified")
        told = None if self.failure is None else self.failure.knowledge
        common: dict[str, Any] = {"told": told, "ignore_levels": self.ignore_levels, "salt": salt_of(self.key)}
        second = None
        if self.sums is not None:
            named = {**OF_SUMS, "of": self.method.get("name", "")}
            if self.publication is not None and not self.publication.knowledge.intervals:
                named = {**self.method, "what": OF_SUMS["what"]}
            second = Certificate.of(self.sums, method=named, engine="", **common)
        first = Certificate.of(self.shown, method=self.method, engine=self.engine, sums=second, **common)
        return (first,) if second is None else (first, second)

    def certificate(self) -> Certificate:
        """The certificate of this result (confidential)."""
        return self._certificates[0]

    def certificate_of_sums(self) -> Certificate | None:
        """That of the sums of cells at risk; None where there are none."""
        return None if self.sums is None else self._certificates[1]

    def audit(self, **options: Any) -> Audit:
        """What each attacker can work out from what is published; options as in :func:`cellward.audit`."""
        return audit(self, **options)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        edition: str = "internal",
        title: str | None = None,
        audit: Audit | None = None,
        pictures: bool = True,
    ) -> Path:
        """Write a report of this result that needs no program to be read, as a page (``.html``) or Markdown (``.md``).

        ``edition``: ``internal`` is confidential and holds original and protected values; ``public`` holds what follows from the release alone.
        ``audit``: whose intervals are shown in place of those of the witness tables. ``pictures``: drawn with matplotlib (extra ``report``), where it
        is installed.
        """
        from cellward.report.written import write_report

        return write_report(self, path, edition=edition, title=title, audit=audit, pictures=pictures)

    def plot(self, kind: str, **options: Any) -> Any:
        """One picture of this result as a matplotlib Figure (extra ``report``); confidential.

        ``kind``: ``deviations`` (changes against values), ``levels`` (loss and bias by level of sums), ``distribution`` (of changes), ``slice`` (two
        dimensions as a heat map with risk marked; ``rows=``, ``columns=``), ``intervals`` (what attackers are left with beside what was asked;
        ``audit=`` for exact ends), ``search`` (best table and bound over time), ``tree`` (codes with their risk; ``dim=``).
        """
        from cellward.report.pictures.drawn import plot

        return plot(self, kind, **options)

    def release(self) -> Release:
        """The public side; refuses unless every level asked is shown and the certificate passes the independent check."""
        if self.publication is None:
            raise VerificationError(f"nothing can be released: the result is {self.status}; {self.reason}")
        if self.protected is False and not self.ignore_levels:
            raise VerificationError(f"not protected: {self.missing[0]}; nothing is released")
        if self.failure is not None:
            raise VerificationError(f"not to be released: {self.reason}; nothing is released")
        if self.given_away:
            raise VerificationError(f"not protected: {self.given_away[0]}; nothing is released")
        for each in self._certificates:
            if not (verdict := each.check()):
                raise VerificationError(f"the certificate does not hold: {verdict.reason}; nothing is released")
        return Release(
            labels=self.instance.labels,
            publication=self.publication,
            decimals=self.instance.decimals,
            method=dict(self.method),
            relations=self.instance.relations,
            lower=self.instance.lower,
            upper=self.instance.upper,
            digest=self.certificate().digest,
        )

    def within(self, budget: Budget) -> Protection:
        """The same result; what is not shown of it within the budget is not shown."""
        self.shown.by(budget)
        return self

    def with_key(self, key: bytes) -> Protection:
        """The same result with another key; what was shown of it stays."""
        return replace(self, key=key)

    def __repr__(self) -> str:
        parts = [str(self.method.get("name", "")), self.status]
        if self.publication is not None:
            parts.append(f"objective {self.objective}")
            if self.ignore_levels:
                parts.append("levels ignored")
            if self.status == "feasible" and self.gap is not None:
                parts.append(f"gap {100 * self.gap:.3g} %")
        elif self.reason:
            parts.append(self.reason)
        return f"Protection({', '.join(parts)})"
