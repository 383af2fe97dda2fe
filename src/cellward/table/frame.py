"""Building a table from a long one: a row a cell, a column a dimension, totals among the rows or computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.exact import LARGEST, Ints, Numbers, check_decimals, is_number, text
from cellward.files.frames import frame_columns, with_index
from cellward.hierarchy import Hierarchy, check_hierarchies
from cellward.table.assemble import assemble, is_blank, read_status
from cellward.table.code_words import Given, Words, check_labels, label_columns, words_from_pairs, words_of
from cellward.table.coded import Axis, CodedCells, Place
from cellward.table.labels import Labels
from cellward.table.levels import marked
from cellward.table.made_additive import REMEDY, Additive
from cellward.table.ranks import MOST, with_ranks
from cellward.table.table import Table
from cellward.table.told_by_rows import least_of_sums
from cellward.table.wide import made_long

EMPTIES = ("absent", "zero")
"""What is made of a combination of codes that nothing stands for."""
FORMER = {
    "missing": "missing: what to do with cells that no row holds is called empty, as for records (--empty on the command line); write empty",
    "weight": "weight: the column of what cells cost is called cost, since a weight is a sampling weight (--cost on the command line); write cost",
}
"""Words of long tables that others took the place of."""


def refuse_former(given: Iterable[str]) -> None:
    """Refuse a word that has become another one, in a sentence that names it."""
    if found := [FORMER[name] for name in given if name in FORMER]:
        raise InputError(found[0])


@dataclass(frozen=True, kw_only=True)
class LongSpec:
    """Which columns of a long table mean what; see :meth:`Table.from_frame` for each."""

    dims: Sequence[str]
    value: str
    hierarchies: Mapping[str, Hierarchy | Sequence[Hierarchy]] | None = None
    total: str | Mapping[str, str] = "Total"
    totals: str = "auto"
    empty: str = "absent"
    status: str | None = None
    lpl: str | None = None
    upl: str | None = None
    spl: str | None = None
    cost: str | None = None
    decimals: int | None = None
    lower: Any = 0
    upper: Any = None
    frequency: str | None = None
    largest: Sequence[str] = ()
    additive: str | None = None
    keep_values: Any = ()
    additive_weights: str = "equal"
    labels: Given | None = None
    across: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.dims, str) or not self.dims:
            raise InputError(f"dims={self.dims!r}: give a list of at least one dimension column")
        for role, given in (("value", self.value), *(("dims", dim) for dim in self.dims)):
            if not isinstance(given, str):
                raise InputError(f"{role}: {given!r} is no name of a column; give text")
        if len(set(self.dims)) < len(self.dims):
            raise InputError("dims: a column is named twice; name each dimension once")
        check_decimals(self.decimals)
        if isinstance(self.largest, str) or len(self.largest) > MOST or len(set(self.largest)) < len(self.largest):
            raise InputError(
                f"largest={self.largest!r}: give a list of columns, each once and at most {MOST}, that of the largest contributions first"
            )
        if self.largest and self.frequency is None:
            raise InputError(
                "largest: they need the numbers of contributors beside them; name their column with frequency="
            )
        for column in (self.value, *self.attributes.values()):
            if column in self.dims:
                raise InputError(
                    f"the column {column!r} cannot be a dimension and a number at once; dimensions are published as they are"
                )
        if not isinstance(self.total, str | Mapping):
            raise InputError(f"total={self.total!r}: give the code of the total, such as 'Total', or one a dimension")
        if not isinstance(self.total, str) and (lost := set(self.total) - set(self.dims)):
            raise InputError(
                f"total: {', '.join(map(str, lost))} is not among the dims {', '.join(self.dims)}; name a dimension column"
            )
        for option, chosen, known in (
            ("totals", self.totals, ("auto", "given", "compute")),
            ("empty", self.empty, EMPTIES),
        ):
            if chosen not in known:
                raise InputError(f"{option}={chosen!r} is not known; use one of {', '.join(map(repr, known))}")
        check_hierarchies(self.hierarchies, self.dims)
        check_labels(self.labels, self.dims)
        self._check_across()
        self.wish  # noqa: B018 (its mistakes are told first)
        if self.additive is not None and self.totals == "compute":
            raise InputError("additive: totals='compute' makes every table add up; leave one of them out")

    def _check_across(self) -> None:
        if self.across is None:
            return
        if self.across not in self.dims:
            raise InputError(
                f"across={self.across!r} is not among the dims {', '.join(map(str, self.dims))}; name the dimension whose codes are columns"
            )
        if len(self.dims) == 1:
            raise InputError(
                f"across={self.across!r} is the only dimension; name the other ones too, or give a long table"
            )
        if told := self.attributes:
            raise InputError(
                f"across: a wide table has a column a code, and none for {', '.join(told)}; give a long table, one row a cell"
            )
        if self.across in label_columns(self.labels):
            raise InputError(f"labels: the codes of {self.across} are columns; give its labels as a mapping")

    @property
    def wish(self) -> Additive | None:
        """To be made additive, where it is not."""
        return Additive.of(self.additive, self.keep_values, self.additive_weights)

    @property
    def attributes(self) -> dict[str, str]:
        """The columns that describe a cell beside its value, by meaning."""
        named = {"status": self.status, "lpl": self.lpl, "upl": self.upl, "spl": self.spl, "cost": self.cost}
        bounds = {"lower": self.lower, "upper": self.upper}
        named |= {name: bound for name, bound in bounds.items() if isinstance(bound, str) and not is_number(bound)}
        named |= {"frequency": self.frequency} | {f"largest {k}": column for k, column in enumerate(self.largest)}
        return {name: column for name, column in named.items() if column is not None}

    @property
    def wanted(self) -> list[str]:
        """Every column named, each once; of a wide table those that are no codes."""
        named = [dim for dim in self.dims if dim != self.across]
        value = [self.value] if self.across is None else []
        return list(dict.fromkeys([*named, *value, *self.attributes.values(), *label_columns(self.labels).values()]))

    @property
    def texts(self) -> set[str]:
        """The columns that hold no numbers."""
        return {*self.dims, *label_columns(self.labels).values(), *filter(None, [self.status])}

    def picked(self, header: Sequence[str]) -> list[str]:
        """The columns of a file that are read: those named, and of a wide table all others too, which are codes."""
        return self.wanted if self.across is None else [*self.wanted, *(n for n in header if n not in self.wanted)]


def build_from_frame(frame: Any, spec: LongSpec, place: Place | None = None) -> Table:
    """See :meth:`Table.from_frame`; ``place`` says where a row's entry stands (file and line), for error messages."""
    place = place or (lambda row, column: f"row {row}, column {column}")
    names, column = frame_columns(with_index(frame, spec.wanted))
    _check_lengths(column, spec)
    if spec.across is not None:
        columns, place = made_long(names, column, spec.wanted, spec.across, spec.value, place)
        column = columns.__getitem__
    dims, value, totals = tuple(spec.dims), spec.value, spec.totals
    axes = [_axis(dim, column(dim), (spec.hierarchies or {}).get(dim), spec.total, place) for dim in dims]
    cells = CodedCells(axes, np.stack([axis.code for axis in axes]))
    cells.refuse_duplicates(place, dims[0])
    numbers = Numbers.read(column(value), lambda i: place(i, value))
    attributes = {name: _attribute(name, column(key), key, place) for name, key in spec.attributes.items()}

    if spec.wish is not None and spec.decimals is None:
        spec = replace(spec, decimals=spec.wish.decimals(numbers))
    d = numbers.decimals if spec.decimals is None else spec.decimals
    described = cells
    if totals != "given":
        for k, axis in enumerate(axes):
            told = (
                axis.name in (spec.hierarchies or {}) or axis.total is None or axis.codes.index(axis.total) in axis.code
            )
            if not told:
                _refuse_hidden_total(cells, numbers.scaled(d), k)
    if totals == "compute":
        cells, numbers = cells.without_totals(numbers)
    if spec.empty == "zero":
        cells, numbers = cells.with_zeros(numbers, [axis.bottom for axis in axes])
    stated = cells.count
    if totals == "given":
        cells.refuse_lost_relations()
    else:
        cells, numbers = cells.with_totals(numbers.scaled(d), d)

    labels = Labels(
        cells.count, dims, tuple(axis.codes for axis in axes), tuple(cells.code), tuple(axis.total for axis in axes)
    )
    relations, absent = cells.relations()
    spread = {name: _spread(attribute, described, cells) for name, attribute in attributes.items()}

    def remedy(j: int) -> str:
        fix = (
            "correct the values, give the hierarchy if some codes are sums of others, recompute totals with totals='compute' (--totals compute), "
            f"or {REMEDY}"
        )
        return f"{lost} not in the table: add the cell, or {fix}" if (lost := absent(j)) else fix

    table = assemble(
        numbers=numbers,
        relations=relations,
        labels=labels,
        decimals=spec.decimals,
        lower=_bounds(spread["lower"]) if "lower" in spread else spec.lower,
        upper=_bounds(spread["upper"]) if "upper" in spread else spec.upper,
        status=None if "status" not in spread else np.array([code or 0 for code in spread["status"]], np.uint8),
        levels={name: _numbers(spread.get(name), 0, name, labels) for name in ("lpl", "upl", "spl")},
        weight=_numbers(spread.get("cost"), 1, "cost", labels),
        remedy=remedy,
        additive=spec.wish,
        stated=np.arange(cells.count) < stated,
    )
    if "lower" not in spread and spec.empty == "absent" and _tells_by_rows(table, cells):
        table = replace(table, lower=least_of_sums(table.relations, np.maximum(table.lower, 1)))
    table = table.called(_words(spec, column, place))
    return table if spec.frequency is None else _ranked(table, spec, spread)


def _stands(place: Place, name: str, row: int) -> str:
    return place(row, name)


def _words(spec: LongSpec, column: Callable[[str], Any], place: Place) -> Words:
    """What the codes are called."""
    from_rows: Words = {}
    for dim, name in label_columns(spec.labels).items():
        pairs = zip(column(dim), column(name), strict=True)
        from_rows[dim] = words_from_pairs(dim, pairs, partial(_stands, place, name))
    return words_of(spec.hierarchies, spec.labels, from_rows)


def _tells_by_rows(table: Table, cells: CodedCells) -> bool:
    """Whether rows stand only where there is something: combinations are left out, and none that is there is 0; so every row tells that it is not."""
    bottom = [np.isin(code, axis.bottom) for code, axis in zip(cells.code, cells.axes, strict=True)]
    every = math.prod(len(axis.bottom) for axis in cells.axes)
    return int(np.all(bottom, axis=0).sum()) < every and bool(np.all(table.lower == 0) and np.all(table.scaled > 0))


def _ranked(table: Table, spec: LongSpec, spread: Mapping[str, list[Any]]) -> Table:
    """The table with the frequencies and the largest contributions that its rows give."""
    assert spec.frequency is not None
    columns = [_numbers(spread[f"largest {k}"], 0, column, table.labels) for k, column in enumerate(spec.largest)]
    top = [column.scaled(table.decimals, "up") for column in columns if column is not None]
    frequency = np.array([0 if pair is None else pair[0] for pair in spread["frequency"]], np.int64)
    known = np.array([pair is not None for pair in spread["frequency"]], np.bool_)
    largest = np.array(top, np.int64).reshape(len(top), table.cells)
    return with_ranks(table, frequency, largest, known, [spec.frequency, *spec.largest])


def _check_lengths(column: Callable[[str], Any], spec: LongSpec) -> None:
    lengths = set()
    for name in spec.wanted:
        try:
            entries = column(name)
            if isinstance(entries, str | bytes) or not hasattr(entries, "__len__"):
                raise InputError(f"the column {name!r} is {type(entries).__name__}, not a list; give one entry a row")
            lengths.add(len(entries))
        except KeyError:
            raise InputError(
                f"there is no column {name!r}; check the names given for dims, value, status and levels"
            ) from None
    if len(lengths) > 1:
        raise InputError("the columns differ in length; give one entry a row in each")
    if lengths == {0}:
        raise InputError("the table has no rows; give at least one cell")


def _axis(
    name: str, entries: Any, given: Hierarchy | Sequence[Hierarchy] | None, total: str | Mapping[str, str], place: Place
) -> Axis:
    texts = [_code(entry, i, name, place) for i, entry in enumerate(entries)]
    seen = dict.fromkeys(texts)
    own_total = total if isinstance(total, str) else total.get(name, "Total")
    if given is None:
        parts = [code for code in seen if code != own_total]
        if near := [code for code in parts if code.strip().casefold() == own_total.strip().casefold()]:
            raise InputError(
                f"{place(texts.index(near[0]), name)}: the code {near[0]!r} is not quite the total's {own_total!r}; "
                "write both alike, or name the total with total= (--total)"
            )
        hierarchy = Hierarchy.flat(parts, total=own_total) if parts else None
    else:
        several = [given] if isinstance(given, Hierarchy) else list(given)
        hierarchy = several[0].merge(*several[1:])
    if hierarchy is None:
        codes: tuple[str, ...] = tuple(seen)
        sums: tuple[tuple[int, tuple[int, ...]], ...] = ()
    else:
        if lost := hierarchy.unknown(seen):
            where = place(texts.index(lost[0]), name)
            more = "" if len(lost) == 1 else f" (and {len(lost) - 1} more codes)"
            raise InputError(
                f"{where}: the code {lost[0]!r} is not in the hierarchy of {name}{more}; add it there or correct the row"
            )
        codes = hierarchy.codes
        at = {code: k for k, code in enumerate(codes)}
        sums = tuple((at[parent], tuple(at[child] for child in children)) for parent, children in hierarchy.sums)
    at = {code: k for k, code in enumerate(codes)}
    roots = hierarchy.roots if hierarchy is not None else codes
    top = own_total if own_total in roots else roots[0] if len(roots) == 1 and hierarchy is not None else None
    return Axis(name, codes, sums, np.array([at[t] for t in texts], np.int64), top)


def _refuse_hidden_total(cells: CodedCells, scaled: Ints, k: int) -> None:
    """Refuse a code that is the sum of all the others everywhere: a total under a name we were not told."""
    axis = cells.axes[k]
    if len(axis.codes) < 4:
        return
    rest = cells.code.copy()
    rest[k] = 0
    where = np.unique(cells.key(rest), return_inverse=True)[1]
    sums = np.bincount(where, scaled.astype(float))
    half = 2.0 * scaled == sums[where]
    filled = np.bincount(cells.code[k], half & (sums[where] != 0), minlength=len(axis.codes))
    wrong = np.bincount(cells.code[k], ~half, minlength=len(axis.codes))
    hidden = np.flatnonzero((wrong == 0) & (filled == np.count_nonzero(sums)) & (filled > 0))
    if len(hidden):
        code = axis.codes[int(hidden[0])]
        raise InputError(
            f"the code {code!r} of {axis.name} is the sum of all the others everywhere; if it is the total, say so with total={code!r} "
            f"(--total {code}), if not, give the hierarchy of {axis.name}"
        )


def _code(entry: Any, row: int, name: str, place: Place) -> str:
    if is_blank(entry):
        raise InputError(f"{place(row, name)}: no code; fill in the code, or the total's code if the total is meant")
    if isinstance(entry, float | np.floating):
        raise InputError(
            f"{place(row, name)}: the code {entry} is a decimal number; make the column text, so that codes stay as written"
        )
    code = str(entry)
    if not code.isascii() and any("\ud800" <= c <= "\udfff" for c in code):
        raise InputError(f"{place(row, name)}: the code {code!r} is not valid text; correct the encoding of the file")
    return code


def _attribute(name: str, entries: Any, key: str, place: Place) -> list[Any]:
    """A status code a row, or a number as (mantissa, decimals); None where a row says nothing."""
    if name == "status":
        return list(read_status(list(entries), lambda i: place(i, key)))
    blank = [is_blank(entry) for entry in entries]
    filled = [0 if empty else entry for entry, empty in zip(entries, blank, strict=True)]
    numbers = Numbers.read(marked(filled) if name in ("lpl", "upl") else filled, lambda i: place(i, key))
    pairs = zip((int(m) for m in numbers.mantissa), numbers.places.tolist(), strict=True)
    if name == "frequency":
        counts = zip(blank, numbers.mantissa, numbers.places.tolist(), strict=True)
        if wrong := [i for i, (empty, m, d) in enumerate(counts) if empty or d or not 0 <= int(m) <= LARGEST]:
            i = wrong[0]
            what = "no frequency" if blank[i] else f"the frequency {entries[i]} is no count"
            raise InputError(f"{place(i, key)}: {what}; give the number of contributors, 0 for an empty cell")
    return [None if empty else pair for pair, empty in zip(pairs, blank, strict=True)]


def _spread(attribute: list[Any], given: CodedCells, cells: CodedCells) -> list[Any]:
    """An attribute of the rows as one of the cells: computed and zero-filled cells that no row describes have none."""
    known = dict(zip(given.key(given.code).tolist(), attribute, strict=True))
    return [known.get(key) for key in cells.key(cells.code).tolist()]


def _bounds(column: list[Any]) -> list[str | None]:
    """A bound a cell as text; no entry is no bound (a computed total is bounded through its parts anyway)."""
    return [None if pair is None else text(*pair) for pair in column]


def _numbers(column: list[Any] | None, otherwise: int, name: str, labels: Labels) -> Numbers | None:
    if column is None:
        return None
    pairs = [(otherwise, 0) if entry is None else entry for entry in column]
    return Numbers(
        [m for m, _ in pairs], np.array([d for _, d in pairs], np.int16), lambda i: f"{name} of {labels.name(i)}"
    )
