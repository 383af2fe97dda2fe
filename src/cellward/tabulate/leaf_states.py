"""Leaf states: one pass over the records inside DuckDB gives, for every combination of bottom codes, counts, sums and the largest contributions.

A contribution and whose it is travel as one integer, size·2^b + (2^b − 1 − unit), so that the k largest of them are the k largest contributions with
ties broken by the smaller unit, whatever order the records are read in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import LARGEST, Ints
from cellward.files.database import sql_text
from cellward.table.spelling import EXAMPLES, Alike, fold
from cellward.tabulate.amounts import Amounts, amounts, fits, too_large
from cellward.tabulate.roles import Roles
from cellward.tabulate.source import Source
from cellward.tabulate.states import NOBODY, States

_NAME_ORDER = "name[1], length(name), name"
"""Names as texts: holdings and contributors apart, then by length, so that numbers stand as numbers do, then as written."""
_MOST_GAPS = 4
"""Units named by numbers keep these as long as there are at most so many numbers for each record."""
_BLANKS = r"\t-\r\x1c-\x1f \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
"""What Python takes for blanks, as DuckDB's expressions write it."""
_AT_ONCE = 1000
"""So many names are put right in one statement."""
_WHOLE_NAMES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")


@dataclass(frozen=True, eq=False)
class Members:
    """Units that contribute to several leaves: one row a unit and leaf."""

    unit: Ints
    leaf: Ints
    """Codes as in :class:`LeafStates`."""
    amount: Ints
    weighted: Ints
    requested: NDArray[np.bool_]
    """(requests, rows): whether the unit gave this request code."""


@dataclass(frozen=True, eq=False)
class LeafStates:
    """The leaf states of a file of records. ``codes``: the texts that occur, a list a dimension; ``leaf``: their positions, −1 where no code stands.

    ``states`` counts records and values of everybody, and units, sizes and largest contributions of those units that are in one leaf only; the
    others are ``members``.
    """

    codes: tuple[tuple[str, ...], ...]
    leaf: Ints
    states: States
    members: Members
    decimals: int
    requests: tuple[str, ...]
    negative: bool
    weighted: bool
    dropped: int
    names: Sequence[str] | Callable[[Ints], Sequence[str]]
    """What units are called: by unit number, or, where that would be long to list, of the unit numbers asked for."""
    alike: Alike | None = None
    """Names of units that were taken for one."""


class RecordNames(Sequence[str]):
    """``record 17`` for the number 17, made when asked for: there may be millions; with another ``word`` before it, or none."""

    def __init__(self, numbers: Ints | range, word: str = "record ") -> None:
        self._numbers, self._word = numbers, word

    def __getitem__(self, at: Any) -> Any:
        """One name, or those of a slice."""
        return (
            RecordNames(self._numbers[at], self._word) if isinstance(at, slice) else f"{self._word}{self._numbers[at]}"
        )

    def __len__(self) -> int:
        return len(self._numbers)


def read_leaves(source: Source, roles: Roles) -> LeafStates:
    """Add the records up by bottom codes, exactly."""
    numbers = numbers_of(source, roles)
    requests = _requests(source, roles)
    if roles.contributor is None and roles.holding is None:
        return _by_record(source, roles, numbers, requests)
    return _by_unit(source, roles, numbers, requests)


@dataclass(frozen=True)
class SqlNumbers:
    """SQL of a record's contribution (unweighted and weighted) in one common unit."""

    x: str
    wx: str
    decimals: int
    largest: int
    negative: bool
    weighted: bool
    records: int
    dropped: int
    condition: str


def _ones(source: Source, decimals: int) -> Amounts:
    """A table of counts: every record contributes 1."""
    records = source.one(f"SELECT count(*) FROM {source.relation}")[0]
    if not records:
        raise InputError(f"{source.name}: there are no records; give at least one")
    return Amounts(f"CAST({10**decimals} AS BIGINT)", decimals, fits(source, "counts", 1, decimals), 0, 0, records)


def numbers_of(source: Source, roles: Roles) -> SqlNumbers:
    """The contributions of the records, exact; refused where one is missing or negative and nobody said what that means."""
    measure = (
        _ones(source, roles.decimals or 0)
        if roles.measure is None
        else amounts(source, roles.measure, decimals=roles.decimals, mark=roles.decimal, role="measure")
    )
    if measure.blanks and roles.blank == "refuse":
        record = source.one(f"SELECT min(rn) FROM {source.relation} WHERE {measure.sql} IS NULL")[0]
        raise InputError(
            f"{source.place(record)}, column {roles.measure}: no value ({measure.blanks:,} records have none); fill it in, or say what it means with "
            "blank='drop' or blank='zero' (--blank)"
        )
    record = None
    if measure.negatives:
        record = source.one(f"SELECT min(rn) FROM {source.relation} WHERE {measure.sql} < 0")[0]
    if record is not None and roles.negative == "refuse":
        raise InputError(
            f"{source.place(record)}, column {roles.measure}: a negative contribution ({measure.negatives:,} records have one); correct it, or have "
            "the rules look at sizes with negative='absolute' (--negative absolute)"
        )
    x = f"coalesce({measure.sql}, 0)" if measure.blanks and roles.blank == "zero" else measure.sql
    condition = f"WHERE {measure.sql} IS NOT NULL" if measure.blanks and roles.blank == "drop" else ""
    dropped = measure.blanks if condition else 0
    negative = record is not None  # what is rounded to zero is not negative
    if roles.weight is None:
        return SqlNumbers(x, x, measure.places, measure.largest, negative, False, measure.records, dropped, condition)
    weight = amounts(source, roles.weight, decimals=None, mark=roles.decimal, role="weight")
    for wrong, what in ((weight.blanks, "IS NULL"), (weight.negatives, "< 0")):
        if wrong:
            record = source.one(f"SELECT min(rn) FROM {source.relation} WHERE {weight.sql} {what}")[0]
            text = "no weight" if what == "IS NULL" else "a negative weight"
            raise InputError(
                f"{source.place(record)}, column {roles.weight}: {text}; weights are numbers of at least 0"
            )
    finer = 10**weight.places
    if roles.decimals is None:
        decimals = measure.places + weight.places
        scaled, product = f"({x}) * {finer}", f"CAST({x} AS HUGEINT) * {weight.sql}"
    else:  # the weighted contribution of each record is rounded, halves away from zero
        decimals = measure.places
        scaled = x
        product = f"sign({x}) * ((2 * abs(CAST({x} AS HUGEINT)) * {weight.sql} + {finer}) // {2 * finer})"
        finer = 1
    most = max(measure.largest * finer, measure.largest * weight.largest * finer // 10**weight.places)
    if most > LARGEST:
        raise too_large(source, roles.measure or "counts", most, decimals)
    return SqlNumbers(
        scaled,
        f"CAST({product} AS BIGINT)",
        decimals,
        measure.largest * finer,
        negative,
        True,
        measure.records,
        dropped,
        condition,
    )


def _base(source: Source, roles: Roles, numbers: SqlNumbers, unit: str) -> str:
    """The records as codes, contributions, unit and request."""
    columns = []
    for k, dim in enumerate(roles.formula.dims):
        kind = source.type_of(dim)
        if kind in ("DOUBLE", "FLOAT"):
            raise InputError(
                f"{source.name}: the dimension {dim} holds decimal numbers; make the column text or whole numbers, so that codes stay as written"
            )
        columns.append(f"{code_text(source, roles, dim)} AS d{k}")
    request = "NULL" if roles.request is None else _request(source, roles.request)
    return (
        f"(SELECT {', '.join(columns)}, {numbers.x} AS x, {numbers.wx} AS wx, {unit} AS unit, {request} AS request "
        f"FROM {source.relation} {numbers.condition})"
    )


def code_text(source: Source, roles: Roles, dim: str) -> str:
    """A dimension's codes as text in SQL, padded where asked; NULL where none stands."""
    text = f"nullif(CAST({source.column(dim)} AS VARCHAR), '')"
    if width := (roles.pad or {}).get(dim):
        return f"CASE WHEN length({text}) < {width} THEN lpad({text}, {width}, ' ') ELSE {text} END"
    return text


def _by_name(source: Source, roles: Roles) -> str:
    """Whose record it is, as text: the holding, else the contributor, else the record by itself."""
    empty = "trim({0})" if roles.spelling == "folded" else "{0}"
    named = [
        f"CASE WHEN {empty.format(names_as_text(source, name))} <> '' THEN '{mark}' || {names_as_text(source, name)} END"
        for mark, name in (("h", roles.holding), ("c", roles.contributor))
        if name is not None
    ]
    return f"coalesce({', '.join(named)}, 'r' || rn)"


def _numbered(source: Source, roles: Roles) -> tuple[str, int] | None:
    """The column of whole numbers that names the units, where there is one, with a number in every record, and the largest: quicker than texts."""
    given = [name for name in (roles.holding, roles.contributor) if name is not None]
    if len(given) != 1 or source.type_of(given[0]) not in _WHOLE_NAMES:
        return None
    column = source.column(given[0])
    least, most, blanks = source.one(
        f"SELECT min({column}), max({column}), count(*) - count({column}) FROM {source.relation}"
    )
    if blanks or least is None or least < 0 or most >= 2**40:
        return None
    return f"CAST({column} AS BIGINT)", int(most)


def _names(source: Source, rows: str, *, folded: bool) -> bool:
    """List the distinct names, ``name`` as written and ``spelt`` as the unit is called; whether some are spellings of one.

    What spellings have in common (spelling.py) is found in SQL, and in Python for the few names of which SQL's notion of case or blanks is another.
    """
    run, mark = source.run, source.mark
    run(f"CREATE OR REPLACE TEMP TABLE {mark}_name AS SELECT DISTINCT unit AS name, unit AS spelt FROM {rows}")
    if not folded:
        return False
    blanks = f"regexp_replace(nfc_normalize(name), '[{_BLANKS}]+', ' ', 'g')"
    run(
        f"CREATE OR REPLACE TEMP TABLE {mark}_fold AS SELECT name, CASE WHEN name[1] = 'r' THEN name "
        f"ELSE name[1] || trim(lower({blanks})[2:]) END AS fold FROM {mark}_name"
    )
    foreign = run(f"SELECT DISTINCT fold FROM {mark}_fold WHERE strlen(fold) > length(fold)").fetchall()
    wrong = [(text, text[0] + folded_name) for (text,) in foreign if (folded_name := fold(text[1:])) != text[1:]]
    for at in range(0, len(wrong), _AT_ONCE):
        pairs = ", ".join(f"({sql_text(text)}, {sql_text(right)})" for text, right in wrong[at : at + _AT_ONCE])
        run(f"UPDATE {mark}_fold SET fold = v.r FROM (VALUES {pairs}) v(l, r) WHERE fold = v.l")
    names, several = source.one(f"SELECT count(*), count(DISTINCT fold) FROM {mark}_fold")
    if names == several:
        return False
    run(
        f"CREATE OR REPLACE TEMP TABLE {mark}_name AS SELECT name, first_value(name) OVER (PARTITION BY fold ORDER BY {_NAME_ORDER}) AS spelt "
        f"FROM {mark}_fold"
    )
    return True


def _merged(source: Source) -> Alike:
    """The names that are spellings of one."""
    several = f"(SELECT spelt, list(name[2:]) AS every FROM {source.mark}_name GROUP BY spelt HAVING count(*) > 1)"
    names, units = source.one(f"SELECT sum(len(every)), count(*) FROM {several}")
    some = source.run(f"SELECT every FROM {several} ORDER BY length(spelt), spelt LIMIT {EXAMPLES}").fetchall()
    examples = tuple(tuple(sorted(every, key=lambda name: (len(name), name))) for (every,) in some)
    return Alike("units", int(names), int(units), examples, merged=True)


def _renumbered(source: Source, rows: Sequence[str], order: str) -> list[str]:
    """The rows with units numbered in this order of their names."""
    source.run(
        f"CREATE OR REPLACE TEMP TABLE {source.mark}_unit AS SELECT name, row_number() OVER (ORDER BY {order}) - 1 AS unit "
        f"FROM (SELECT DISTINCT spelt AS name FROM {source.mark}_name)"
    )
    spelt = f"(SELECT n.name, u.unit FROM {source.mark}_name n JOIN {source.mark}_unit u ON n.spelt = u.name)"
    return [f"(SELECT b.* REPLACE (u.unit AS unit) FROM {each} b JOIN {spelt} u ON b.unit = u.name)" for each in rows]


def names_as_text(source: Source, name: str) -> str:
    """A column of names as text; whole numbers that a library keeps as doubles, because some are missing, are written without decimals."""
    column = source.column(name)
    if source.type_of(name) not in ("DOUBLE", "FLOAT"):
        return f"CAST({column} AS VARCHAR)"
    whole = f"abs({column}) < 1e15 AND {column} = trunc({column})"
    return f"CASE WHEN isnan({column}) THEN NULL WHEN {whole} THEN CAST(CAST({column} AS BIGINT) AS VARCHAR) ELSE CAST({column} AS VARCHAR) END"


def _request(source: Source, name: str) -> str:
    """A column of request codes as text, NULL where nothing is asked."""
    return f"nullif(nullif(trim({names_as_text(source, name)}), ''), '0')"


def _requests(source: Source, roles: Roles) -> tuple[str, ...]:
    """The request codes declared, in order; a code in the data that is not among them is refused, since nobody would be protected by it."""
    if roles.request is None:
        return ()
    text = _request(source, roles.request)
    known = ", ".join(sql_text(code) for code in roles.request_codes)
    record, code = source.one(
        f"SELECT min(rn), arg_min({text}, rn) FROM {source.relation} WHERE {text} NOT IN ({known})"
    )
    if record is not None:
        raise InputError(
            f"{source.place(record)}, column {roles.request}: the request code {code!r} is not declared; correct it, or name all codes with "
            f"request_codes=[{', '.join(map(repr, [*roles.request_codes, code]))}] (blank and 0 mean no request)"
        )
    return tuple(roles.request_codes)


def packing(largest: int, units: int) -> tuple[str, int]:
    """The SQL type that holds size and unit together, and the bits of the unit."""
    bits = max(units, 1).bit_length()
    return ("BIGINT" if max(largest, 1).bit_length() + bits <= 62 else "HUGEINT"), bits


def _by_record(source: Source, roles: Roles, numbers: SqlNumbers, requests: tuple[str, ...]) -> LeafStates:
    base = _base(source, roles, numbers, "rn - 1")
    dims = [f"d{k}" for k in range(len(roles.formula.dims))]
    kind, bits = packing(numbers.largest, numbers.records)
    packed = f"CAST(abs(x) AS {kind}) * {1 << bits} + ({(1 << bits) - 1} - unit)"
    k = roles.largest
    heavy = f", arg_max(abs(wx), {packed}, {k}) AS heavy" if numbers.weighted else ""
    asked = "".join(f", max(abs(x)) FILTER (request = {sql_text(code)}) AS r{j}" for j, code in enumerate(requests))
    source.run(
        f"CREATE OR REPLACE TEMP TABLE {source.mark}_leaf AS SELECT {', '.join(dims)}, count(*) AS n, count(*) AS u, sum(wx) AS v, "
        f"sum(abs(wx)) AS s, "
        f"max({packed}, {k}) AS top{heavy}{asked} FROM {base} GROUP BY ALL"
    )
    codes, leaf, states = _fetch(source, roles, numbers, requests, bits)
    none = np.zeros(0, np.int64)
    members = Members(none, np.zeros((len(dims), 0), np.int64), none, none, np.zeros((len(requests), 0), bool))
    return LeafStates(
        codes, leaf, states, members, numbers.decimals, requests, numbers.negative, numbers.weighted, numbers.dropped,
        RecordNames(range(1, numbers.records + 1)),
    )  # fmt: skip


def _by_unit(source: Source, roles: Roles, numbers: SqlNumbers, requests: tuple[str, ...]) -> LeafStates:
    dims = [f"d{k}" for k in range(len(roles.formula.dims))]
    listed = ", ".join(dims)
    run = source.run
    numbered = _numbered(source, roles)
    unit = numbered[0] if numbered else _by_name(source, roles)
    base = _base(source, roles, numbers, unit)
    asking = _base(source, roles, replace(numbers, condition="", x="0", wx="0"), unit)
    own = numbered is not None and numbered[1] <= _MOST_GAPS * numbers.records
    merged = None
    if not own:
        named = asking if requests else base
        fresh = _names(source, named, folded=numbered is None and roles.spelling == "folded")
        merged = _merged(source) if fresh else None
        base, asking = _renumbered(source, (base, asking), "name" if numbered else _NAME_ORDER)
    run(
        f"CREATE OR REPLACE TEMP TABLE {source.mark}_member AS SELECT {listed}, unit, count(*) AS n, sum(x) AS x, sum(wx) AS wx "
        f"FROM {base} b GROUP BY ALL"
    )
    if requests:  # a unit that asks in one record, be it one that is left out, asks everywhere
        every = ", ".join(
            f"coalesce(bool_or(request = {sql_text(code)}), false) AS q{j}" for j, code in enumerate(requests)
        )
        run(
            f"CREATE OR REPLACE TEMP TABLE {source.mark}_member AS SELECT m.*, a.* EXCLUDE (unit) FROM {source.mark}_member m "
            f"JOIN (SELECT unit, {every} FROM {asking} b GROUP BY unit) a ON m.unit = a.unit"
        )
    run(
        f"CREATE OR REPLACE TEMP TABLE {source.mark}_spread AS SELECT unit FROM {source.mark}_member GROUP BY unit HAVING count(*) > 1"
    )
    most, largest = source.one(f"SELECT max(unit), max(abs(x)) FROM {source.mark}_member")
    if int(largest or 0) > LARGEST:
        raise too_large(source, str(roles.measure), int(largest), numbers.decimals)
    kind, bits = packing(int(largest or 0), int(most or 0) + 1)
    packed = f"CAST(abs(x) AS {kind}) * {1 << bits} + ({(1 << bits) - 1} - m.unit)"
    k = roles.largest
    single = "FILTER (s.unit IS NULL)"
    heavy = f", arg_max(abs(wx), {packed}, {k}) {single} AS heavy" if numbers.weighted else ""
    asked = "".join(f", max(abs(x)) FILTER (s.unit IS NULL AND q{j}) AS r{j}" for j in range(len(requests)))
    run(
        f"CREATE OR REPLACE TEMP TABLE {source.mark}_leaf AS SELECT {listed}, sum(n) AS n, count(*) {single} AS u, sum(wx) AS v, "
        f"sum(abs(wx)) {single} AS s, max({packed}, {k}) {single} AS top{heavy}{asked} "
        f"FROM {source.mark}_member m LEFT JOIN {source.mark}_spread s ON m.unit = s.unit GROUP BY ALL"
    )
    codes, leaf, states = _fetch(source, roles, numbers, requests, bits)
    members = _members(source, dims, requests)

    def names(wanted: Ints) -> Sequence[str]:
        mask = (1 << bits) - 1
        every = run(
            f"SELECT unit, name FROM {source.mark}_unit WHERE unit IN (SELECT {mask} - (unnest(top) & {mask}) FROM {source.mark}_leaf UNION ALL "
            f"SELECT unit FROM {source.mark}_spread) ORDER BY unit"
        ).fetchnumpy()
        found = every["name"][np.searchsorted(np.asarray(every["unit"], np.int64), wanted)]
        if numbered:
            return RecordNames(np.asarray(found, np.int64), "")
        return [f"record {name[1:]}" if name[0] == "r" else name[1:] for name in found.tolist()]

    return LeafStates(
        codes, leaf, states, members, numbers.decimals, requests, numbers.negative, numbers.weighted, numbers.dropped,
        RecordNames(range(int(most or 0) + 1), "") if own else names, merged,
    )  # fmt: skip


def _fetch(
    source: Source, roles: Roles, numbers: SqlNumbers, requests: tuple[str, ...], bits: int
) -> tuple[tuple[tuple[str, ...], ...], Ints, States]:
    """The leaf table as arrays, its codes as numbers of the texts in order."""
    run, d, k = source.run, len(roles.formula.dims), roles.largest
    total = source.one(f"SELECT coalesce(sum(CAST(s AS HUGEINT)), 0) + max(abs(v)) FROM {source.mark}_leaf")[0]
    if total is None:
        raise InputError(f"{source.name}: no record is left; check what blank= and missing= drop")
    if int(total) >= 2**62:
        raise too_large(source, str(roles.measure), int(total), numbers.decimals)
    codes, joins, picks = [], [], []
    for dim in range(d):
        run(
            f"CREATE OR REPLACE TEMP TABLE {source.mark}_code{dim} AS SELECT code, row_number() OVER (ORDER BY code) - 1 AS i "
            f"FROM (SELECT DISTINCT d{dim} AS code FROM {source.mark}_leaf WHERE d{dim} IS NOT NULL)"
        )
        codes.append(tuple(run(f"SELECT code FROM {source.mark}_code{dim} ORDER BY i").fetchnumpy()["code"].tolist()))
        joins.append(f"LEFT JOIN {source.mark}_code{dim} k{dim} ON l.d{dim} = k{dim}.code")
        picks.append(f"coalesce(k{dim}.i, -1) AS i{dim}")
    size, unit = f"top[{{}}] >> {bits}", f"{(1 << bits) - 1} - (top[{{}}] & {(1 << bits) - 1})"
    picks += [f"CAST({column} AS BIGINT) AS {column}" for column in ("n", "u", "v")]
    picks.append("CAST(coalesce(s, 0) AS BIGINT) AS s")
    picks += [f"CAST(coalesce({size.format(r)}, -1) AS BIGINT) AS t{r}" for r in range(1, k + 1)]
    picks += [f"CAST(coalesce({unit.format(r)}, {NOBODY}) AS BIGINT) AS w{r}" for r in range(1, k + 1)]
    if numbers.weighted:
        picks += [f"coalesce(heavy[{r}], 0) AS h{r}" for r in range(1, k + 1)]
    picks += [f"coalesce(r{j}, 0) AS r{j}" for j in range(len(requests))]
    order = ", ".join(f"i{dim}" for dim in range(d))
    found = run(f"SELECT {', '.join(picks)} FROM {source.mark}_leaf l {' '.join(joins)} ORDER BY {order}").fetchnumpy()
    column = {name: np.asarray(array, np.int64) for name, array in found.items()}

    def stacked(letter: str, numbered: range) -> Ints:
        none = np.zeros((0, len(column["n"])), np.int64)
        return np.stack([column[f"{letter}{j}"] for j in numbered]) if len(numbered) else none

    ranks = range(1, k + 1)
    weighted = stacked("h", ranks) if numbers.weighted else None
    states = States(
        column["n"], column["u"], column["v"], column["s"], stacked("t", ranks), stacked("w", ranks), weighted,
        stacked("r", range(len(requests))),
    )  # fmt: skip
    return tuple(codes), stacked("i", range(d)), states


def _members(source: Source, dims: list[str], requests: tuple[str, ...]) -> Members:
    joins = " ".join(f"LEFT JOIN {source.mark}_code{k} k{k} ON m.{dim} = k{k}.code" for k, dim in enumerate(dims))
    picks = ", ".join(f"coalesce(k{k}.i, -1) AS i{k}" for k in range(len(dims)))
    gave = "".join(f", coalesce(q{j}, false) AS q{j}" for j in range(len(requests)))
    found = source.run(
        f"SELECT m.unit AS unit, CAST(x AS BIGINT) AS x, CAST(wx AS BIGINT) AS wx, {picks}{gave} FROM {source.mark}_member m "
        f"JOIN {source.mark}_spread s ON m.unit = s.unit {joins} ORDER BY m.unit, {', '.join(f'i{k}' for k in range(len(dims)))}"
    ).fetchnumpy()
    leaf = np.stack([np.asarray(found[f"i{k}"], np.int64) for k in range(len(dims))])
    asked = [np.asarray(found[f"q{j}"], bool) for j in range(len(requests))]
    return Members(
        *(
            np.asarray(found["unit"], np.int64),
            leaf,
            np.asarray(found["x"], np.int64),
            np.asarray(found["wx"], np.int64),
        ),
        np.stack(asked) if asked else np.zeros((0, leaf.shape[1]), bool),
    )
