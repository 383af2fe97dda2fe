"""Audit: what every attacker can work out of a release, cell by cell, and whether that is far enough from the truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cellward.audit.by_method import Explained, explained
from cellward.audit.ends import HIGH, LOW, Ends
from cellward.audit.interval_columns import interval_columns
from cellward.audit.region import Region
from cellward.audit.settle import Question, settle
from cellward.audit.sums_as_cells import (
    attackers_of_sums,
    labels_of_sums,
    publication_of_sums,
    sensitivity_of_sums,
    unbounded,
)
from cellward.errors import InputError
from cellward.exact import NO_BOUND, Ints
from cellward.files.made_frames import frame_of
from cellward.instance import Instance
from cellward.notebook import MOST_ROWS, card
from cellward.publication.knowledge import Knowledge
from cellward.publication.publication import Publication
from cellward.publication.release import Release
from cellward.risk.attacker import Attacker, Cell, check_attackers
from cellward.solve.budget import Budget, Progress
from cellward.table.cell_sums import CellSum, add_up, with_sums
from cellward.table.labels import Labels
from cellward.table.levels import Levels
from cellward.table.relations import Relations
from cellward.table.table import Table

Number = int | Fraction

PROTECTED, UNDER, DISCLOSED = "protected", "under-protected", "exactly disclosed"
MET, NOT_MET, OPEN, KNOWN, NONE = "level met", "level not met", "open", "known to the attacker", ""
NOT_TRIED, NOT_COVERED = "too large to try", "not covered"
BAD = (UNDER, DISCLOSED, NOT_MET)
UNDECIDED = (OPEN, NOT_TRIED, NOT_COVERED)


class Intervals(Mapping[str, NDArray[Any]]):
    """Columns of equal length: cell, attacker, lower, upper (user's units), verdict, shortfall, exact."""

    def __init__(self, columns: dict[str, NDArray[Any]]) -> None:
        self._columns = columns

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def to_pandas(self) -> Any:
        """A pandas frame."""
        return frame_of("pandas", self._columns)

    def to_polars(self) -> Any:
        """A polars frame."""
        return frame_of("polars", self._columns)

    def __repr__(self) -> str:
        return f"Intervals({len(self['cell']):,} rows: {', '.join(self)})"


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Intervals of every attacker; ``protected``: True, False, or None where nothing was asked (or time ran out before it was settled).

    ``open`` counts the intervals that time left unsettled: their ends are what tables found so far reach, so they may be wider in truth.
    ``claimed`` counts those that rest on an integer solver's word; all others are proven in exact arithmetic.
    """

    labels: Labels
    intervals: Intervals
    ends: Sequence[tuple[Number | None, Number | None]]
    """The exact ends, row by row; None: no bound to that side."""
    protected: bool | None
    open: int
    claimed: int
    tells: bool = True
    """Whether the release tells intervals at all; otherwise these are what attackers know anyway, and verdicts speak of distances."""
    sums: Audit | None = None
    """The same of the sums of cells that are at risk; ``protected`` takes them into account."""
    notes: tuple[str, ...] = ()
    """How much is kept from each attacker who knows the method, and where he could not be answered, a sentence each."""

    def columns(self) -> dict[str, Any]:
        """One row an interval: the cell's codes (or its number) and labels, attacker, ends, verdict, shortfall, and whether the ends are exact."""
        return interval_columns(self.labels, self.intervals)

    def to_pandas(self) -> Any:
        """The intervals with the cells' codes as a pandas frame (confidential).

        >>> from cellward import ControlledRounding, Table
        >>> found = ControlledRounding(5).protect(Table.from_array([3, 4], dims=["sex"], codes=[["F", "M"]])).audit()
        >>> found.to_pandas()[["sex", "attacker", "lower", "upper"]].values.tolist()
        [['F', 'external', 0, 4], ['M', 'external', 1, 9], ['Total', 'external', 1, 9]]
        """
        return frame_of("pandas", self.columns())

    def to_polars(self) -> Any:
        """The same as a polars frame."""
        return frame_of("polars", self.columns())

    def _repr_html_(self) -> str:
        lines = [*self.worst(MOST_ROWS), *self.notes]
        shown = {name: list(column[:MOST_ROWS]) for name, column in self.columns().items()}
        return card(repr(self), confidential=True, lines=lines, columns=shown, cells=len(self.intervals["cell"]))

    def kept(self, attacker: str) -> tuple[int, int]:
        """How many of the cells on which this attacker is judged keep what is asked, and how many there are with a verdict."""
        verdict = self.intervals["verdict"][self.intervals["attacker"] == attacker]
        kept = int(np.isin(verdict, (PROTECTED, MET)).sum())
        return kept, kept + int(np.isin(verdict, BAD).sum())

    def worst(self, most: int = 10) -> list[str]:
        """Sentences on the cells that fail, the largest shortfall first."""
        verdict, short = self.intervals["verdict"], self.intervals["shortfall"]
        rows = sorted(np.flatnonzero(np.isin(verdict, BAD)).tolist(), key=lambda k: -float(short[k]))
        of_sums = [] if self.sums is None else self.sums.worst(most)
        return [*(self.sentence(k) for k in rows), *of_sums][:most]

    def sentence(self, row: int) -> str:
        """One row in words."""
        c = self.intervals
        name, who = self.labels.name(int(c["cell"][row])), c["attacker"][row]
        if c["verdict"][row] == NOT_MET:
            return f"{name}: its published value lies within the protection levels"
        if c["verdict"][row] == DISCLOSED:
            return f"{name}: attacker {who} works out its value {c['lower'][row]:g} exactly"
        return (
            f"{name}: attacker {who} narrows it down to {c['lower'][row]:g} to {c['upper'][row]:g}, "
            f"{c['verdict'][row] or 'nothing asked'}"
            + (f" by {c['shortfall'][row]:g}" if c["shortfall"][row] > 0 else "")
        )

    def __repr__(self) -> str:
        verdict = self.intervals["verdict"]
        counts = [
            f"{int((verdict == word).sum()):,} {word}"
            for word in (PROTECTED, MET, UNDER, DISCLOSED, NOT_MET, *UNDECIDED)
        ]
        shown = [text for text in counts if not text.startswith("0 ")] or ["no verdicts"]
        return f"Audit({len(verdict):,} intervals: {', '.join(shown)})"


@dataclass(frozen=True, eq=False)
class _Case:
    """What is audited: the public facts, and the truth where it is at hand."""

    relations: Relations
    labels: Labels
    decimals: int
    lower: Ints
    upper: Ints
    v: Ints
    knowledge: Knowledge
    a: Ints | None
    levels: Levels | None
    unsafe: Ints
    attackers: tuple[Attacker, ...]
    sums: tuple[CellSum, ...] = ()
    by_method: Mapping[str, Explained] = field(default_factory=dict)
    """What those who know the method are left with, by name."""


def audit(
    source: Protected | Release,
    *,
    attackers: Iterable[Attacker] | None = None,
    cells: str | Iterable[Cell] = "all",
    table: Table | None = None,
    only_levels: bool = False,
    time_limit_s: float | None = None,
    threads: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Audit:
    """What each attacker can work out from a release: for every cell the interval of values that it must still think possible.

    ``source``: a Protection, or a Release with or without the ``table`` it was made of (without it there are intervals but no verdicts). ``cells``:
    ``"all"``, ``"sensitive"``, or a list. ``only_levels`` follows each interval only as far as the levels ask, which is faster.
    ``attackers``: default those of the protection, or the external one; those who know the method (:meth:`Attacker.knowing_method`) need a
    Protection.
    """
    case = _case(source, attackers, table)
    picked = _cells(case, cells)
    case = _with_method(case, source, picked)
    if only_levels and case.a is None:
        raise InputError("only_levels: a release alone has no levels; give the table it was made of (table=)")
    budget = Budget(time_limit_s=time_limit_s, threads=threads, seed=seed, progress=progress)
    found = _found(case, picked, budget, only_levels=only_levels)
    sums = _case_of_sums(case)
    if sums is None:
        return found
    of_sums = _found(sums, sums.unsafe, budget, only_levels=only_levels)
    protected = (
        False
        if False in (found.protected, of_sums.protected)
        else None
        if of_sums.protected is None
        else found.protected
    )
    return replace(
        found,
        sums=of_sums,
        protected=protected,
        open=found.open + of_sums.open,
        claimed=found.claimed + of_sums.claimed,
    )


def _with_method(case: _Case, source: Protected | Release, picked: Ints) -> _Case:
    """The case with what those who know the method are left with."""
    those = [attacker for attacker in case.attackers if attacker.method]
    if not those:
        return case
    if isinstance(source, Release):
        raise InputError(
            f"attacker {those[0].name}: a release does not say what its method was given (weights, levels); audit the Protection"
        )
    left = {
        attacker.name: explained(source.instance, case.knowledge, source.method, source.status, attacker, picked)
        for attacker in those
    }
    return replace(case, by_method=left)


def _found(case: _Case, picked: Ints, budget: Budget, *, only_levels: bool) -> Audit:
    center = case.v if case.a is None else case.a
    regions = Region.of_each(
        case.relations, case.lower, case.upper, case.knowledge, case.attackers, _center(case.relations, center)
    )
    questions = []
    for region, attacker in zip(regions, case.attackers, strict=True):
        levels = None
        if only_levels:
            levels = _asked(case, attacker)
            levels = levels.take(np.isin(levels.cell, picked))
        questions.append(Question(region, picked, levels))
    found = (
        settle(questions, case.labels, [center, case.v], budget)
        if case.knowledge.intervals
        else [Ends(region, picked) for region in regions]
    )
    return _audit(case, picked, questions, found)


def _case_of_sums(case: _Case) -> _Case | None:
    """The same release with the sums of cells at risk as further cells; None where there are none, or nothing is to be said of them."""
    attackers = attackers_of_sums(case.attackers, case.knowledge, len(case.v))
    if case.a is None or not case.sums or not attackers:
        return None
    asked, many = sensitivity_of_sums(len(case.v), case.sums), len(case.sums)
    return _Case(
        with_sums(case.relations, case.sums),
        labels_of_sums(case.labels, case.sums),
        case.decimals,
        unbounded(case.lower, -NO_BOUND, many),
        unbounded(case.upper, NO_BOUND, many),
        add_up(case.v, case.sums),
        publication_of_sums(case.knowledge, case.sums).knowledge,
        add_up(case.a, case.sums),
        asked.levels,
        asked.unsafe,
        attackers,
    )


class Protected(Protocol):
    """A result that holds the instance it was made of."""

    @property
    def instance(self) -> Instance:
        """What was protected."""

    @property
    def publication(self) -> Publication | None:
        """What is printed."""

    @property
    def method(self) -> Mapping[str, Any]:
        """What the public may know of the method."""

    @property
    def status(self) -> str:
        """In one word."""

    @property
    def reason(self) -> str:
        """Why there is nothing."""


def _case(source: Protected | Release, attackers: Iterable[Attacker] | None, table: Table | None) -> _Case:
    if not isinstance(source, Release):
        if not hasattr(source, "instance") or not hasattr(source, "publication"):
            raise InputError(f"a {type(source).__name__} cannot be audited; give a Protection or a Release")
        if table is not None:
            raise InputError("table: a Protection holds the table it was made of; leave it out")
        instance, publication = source.instance, source.publication
        if publication is None:
            raise InputError(f"a result called {source.status} has no values to audit; {source.reason}")
        mine = instance.attackers
        if attackers is not None:  # made for the table, which may have fewer decimals
            given = check_attackers(attackers, None, instance.labels, instance.decimals)
            finer = (attacker.times(10**instance.beyond) for attacker in given)
            mine = check_attackers(finer, instance.a, instance.labels, instance.decimals)
        levels = instance.sensitivity.levels
        return _Case(
            instance.relations, instance.labels, instance.decimals, instance.lower, instance.upper, publication.start,
            publication.knowledge, instance.a, levels, levels.cell, mine, instance.sensitivity.sums,
        )  # fmt: skip
    mine = check_attackers(
        (Attacker.external(),) if attackers is None else attackers, None, source.labels, source.decimals
    )
    facts = (
        source.relations,
        source.labels,
        source.decimals,
        source.lower,
        source.upper,
        source.publication.start,
        source.knowledge,
    )
    if table is None:
        return _Case(*facts, None, None, np.zeros(0, np.int64), mine)
    if not isinstance(table, Table):
        raise InputError(f"table: a {type(table).__name__} is no Table; give the table that was protected")
    if table.cells != source.publication.cells or table.decimals != source.decimals:
        raise InputError(
            f"table: it has {table.cells} cells and {table.decimals} decimals, the release {source.publication.cells} and {source.decimals}; "
            "give the table that was protected"
        )
    if table.relations.equations != source.relations.equations or source.relations.residual(table.scaled).any():
        raise InputError("table: it has other equations than the release; give the table that was protected")
    outside = np.flatnonzero((table.scaled < source.knowledge.lo) | (table.scaled > source.knowledge.hi))
    if len(outside):
        name = table.labels.name(int(outside[0]))
        raise InputError(f"table: the value of {name} contradicts the release; give the table that was protected")
    check_attackers(mine, table.scaled, table.labels, table.decimals)
    levels = table.sensitivity.levels
    own = table.sensitivity
    return _Case(*facts, table.scaled, levels, levels.cell, mine, own.sums)


def _cells(case: _Case, cells: str | Iterable[Cell]) -> Ints:
    if isinstance(cells, str):
        if cells == "all":
            return np.arange(len(case.v))
        if cells == "sensitive":
            return case.unsafe
        raise InputError(f"cells={cells!r} is not known; use 'all', 'sensitive' or a list of cells")
    if not isinstance(cells, Iterable):
        raise InputError(f"cells={cells!r} is not known; use 'all', 'sensitive' or a list of cells")
    return np.unique(np.array([case.labels.find(cell) for cell in cells], np.int64))


def _center(relations: Relations, y: Ints) -> Ints:
    """A whole table that obeys the equations: this one, or, where it is no table (withheld values), zeros, or one made of the leaf form."""
    if not relations.residual(y).any():
        return y
    if not relations.rhs.any():
        return np.zeros_like(y)
    form = relations.leaf_form
    if form.condition.shape[0]:
        raise InputError(
            "the release does not add up and leaves no whole table to start from; give the table it was made of"
        )
    return np.asarray(form.matrix @ y[form.leaves] + form.constant)


def _audit(case: _Case, picked: Ints, questions: list[Question], found: list[Ends]) -> Audit:
    """Put the ends and verdicts of all attackers into columns."""
    parts = [_rows(case, *each, picked) for each in zip(case.attackers, questions, found, strict=True)]
    verdict, exactly = (np.concatenate([part[k] for part in parts]) for k in ("verdict", "exact"))
    judged = set(verdict.tolist()) - {NONE, KNOWN}
    protected = None if not judged or judged <= {MET, *UNDECIDED} else not judged & {*BAD, *UNDECIDED}
    if judged & set(UNDECIDED) and not judged & set(BAD):
        protected = None  # not settled
    unit = Fraction(1, 10**case.decimals)
    ends = [(_times(low, unit), _times(high, unit)) for part in parts for low, high in part["ends"]]
    columns: dict[str, NDArray[Any]] = {
        "cell": np.concatenate([part["cell"] for part in parts]),
        "attacker": np.concatenate([part["attacker"] for part in parts]),
        "lower": _numbers([low for low, _ in ends], -np.inf),
        "upper": _numbers([high for _, high in ends], np.inf),
        "verdict": verdict,
        "shortfall": _numbers([_times(short, unit) for part in parts for short in part["shortfall"]], 0.0),
        "exact": exactly,
    }
    claimed = sum(len(one.claimed) for one in found)
    open_ = int((~exactly & (verdict != NOT_TRIED)).sum())
    made = Audit(case.labels, Intervals(columns), ends, protected, open_, claimed, case.knowledge.intervals)
    return made if not case.by_method else replace(made, notes=tuple(_notes(case, made)))


def _notes(case: _Case, made: Audit) -> Iterator[str]:
    """What is said of attackers who know the method."""
    for name, left in case.by_method.items():
        kept, judged = made.kept(name)
        if judged:
            yield f"attacker {name}: {kept:,} of {judged:,} levels are kept"
        if left.reason:
            yield f"attacker {name}: not tried everywhere, {left.reason}; where not, intervals are those without the method"


def _rows(case: _Case, attacker: Attacker, question: Question, ends: Ends, picked: Ints) -> dict[str, Any]:
    """One attacker's rows."""
    cells = picked if question.levels is None else question.levels.cell
    levels, known = _asked(case, attacker), set(attacker.known.tolist())
    columns = (column.tolist() for column in (levels.lpl, levels.upl, levels.spl))
    asked = dict(zip(levels.cell.tolist(), zip(*columns, strict=True), strict=True))
    low_open, high_open = ends.open
    exactly = ~(low_open | high_open)[cells] if case.knowledge.intervals else np.ones(len(cells), bool)
    pairs = [(ends.end(i, LOW), ends.end(i, HIGH)) for i in cells.tolist()]
    if not case.knowledge.intervals:
        pairs = [(_none(low), _none(high)) for low, high in ends.outer[:, cells].T.tolist()]
    verdict = np.full(len(cells), NONE, dtype=object)
    left = case.by_method.get(attacker.name)
    if left is not None:
        tried = left.tried[cells].tolist()
        narrow = zip(left.low[cells].tolist(), left.high[cells].tolist(), strict=True)
        pairs = [new if yes else old for yes, new, old in zip(tried, narrow, pairs, strict=True)]
        exactly = left.tried[cells]
    shortfall: list[int | Fraction] = [0] * len(cells)
    for k, i in enumerate(cells.tolist()):
        if i in asked and left is not None and not left.tried[i]:
            verdict[k] = NOT_TRIED
        elif i in asked and len(attacker.cell) and not case.knowledge.intervals:
            verdict[k] = NOT_COVERED  # how far a value is off says nothing of what an insider makes of it
        elif i in asked:
            verdict[k], shortfall[k] = _verdict(case, asked[i], i, *pairs[k], ended=bool(exactly[k]))
        elif i in known and case.a is not None:
            verdict[k] = KNOWN
    who = np.full(len(cells), attacker.name, dtype=object)
    return {"cell": cells, "attacker": who, "ends": pairs, "verdict": verdict, "shortfall": shortfall, "exact": exactly}


def _asked(case: _Case, attacker: Attacker) -> Levels:
    """What must be kept from this attacker: its own levels, or the table's."""
    none = np.zeros(0, np.int64)
    return Levels(none, none, none, none) if case.a is None or case.levels is None else attacker.asked(case.levels)


def _verdict(
    case: _Case, levels: tuple[int, int, int], i: int, low: Number | None, high: Number | None, *, ended: bool
) -> tuple[str, Number]:
    """The verdict on one cell and one attacker, and by how much the levels are missed; None: no end to that side (or none found yet)."""
    assert case.a is not None
    a, (lpl, upl, spl) = int(case.a[i]), levels
    if not case.knowledge.intervals:
        v = int(case.v[i])
        # A side that asks nothing does not count; a width asks for as much to either side.
        sides = [missing for level, missing in ((upl, a + upl - v), (lpl, v - a + lpl)) if level]
        missing = max(min(sides, default=0), spl - abs(v - a), 0)
        return (NOT_MET, missing) if missing else (MET, 0)
    if not ended and (low is None or high is None):
        return OPEN, 0
    if low is not None and low == high and ended:
        return DISCLOSED, max(lpl, upl, spl)
    below = 0 if low is None else lpl - (a - low)
    above = 0 if high is None else upl - (high - a)
    width = 0 if low is None or high is None else spl - (high - low)
    short = max(below, above, width, 0)
    if short == 0 and (low is None or low != high):
        return PROTECTED, 0
    return (UNDER, short) if ended else (OPEN, 0)


def _none(bound: int) -> int | None:
    return None if abs(bound) == NO_BOUND else bound


def _times(end: Number | None, unit: Fraction) -> Number | None:
    return end if end is None or unit == 1 else end * unit


def _numbers(ends: list[Any], missing: float) -> NDArray[Any]:
    """Whole numbers where all are, doubles otherwise."""
    if all(type(end) is int for end in ends):
        return np.array(ends, np.int64)
    return np.array([missing if end is None else float(end) for end in ends], np.float64)
