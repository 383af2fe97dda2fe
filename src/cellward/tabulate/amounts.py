"""Amounts: a column of numbers as exact scaled integers in SQL, whatever it is stored as."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cellward.errors import InputError
from cellward.exact import LARGEST
from cellward.tabulate.source import Source

_WHOLE = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)")
NUMBER = "[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,2})?"
_MOST_PLACES = 15
"""Doubles are tried with up to this many decimals before their digits are counted one by one."""


@dataclass(frozen=True)
class Amounts:
    """``sql``: the column as BIGINT counts of 10^−places, NULL where nothing stands; ``largest`` bounds their size."""

    sql: str
    places: int
    largest: int
    blanks: int
    negatives: int
    records: int


def amounts(source: Source, name: str, *, decimals: int | None, mark: str, role: str) -> Amounts:
    """Read a column of numbers exactly; with ``decimals``, each number is rounded to them (halves away from zero)."""
    column, kind = source.column(name), source.type_of(name)
    if _WHOLE.fullmatch(kind):
        return _measured(source, name, f"CAST({column} AS HUGEINT)", 0, decimals, exactly=True)
    if kind.startswith("DECIMAL"):
        scale = int(kind.rstrip(")").split(",")[1])
        places = _decimal_places(source, column, scale)
        return _measured(source, name, column, places, decimals, exactly=False)
    if kind in ("DOUBLE", "FLOAT"):
        return _floats(source, name, column, decimals)
    if kind == "VARCHAR":
        return _texts(source, name, column, decimals, mark)
    raise InputError(f"{source.name}: the column {name!r} holds {kind.lower()}, not numbers; name another {role}")


def _measured(source: Source, name: str, number: str, places: int, decimals: int | None, *, exactly: bool) -> Amounts:
    """``number`` is an exact expression (HUGEINT or DECIMAL) with this many places."""
    d = places if decimals is None else decimals
    most, blanks, negatives, records = source.one(
        f"SELECT max(abs(CAST({number} AS DOUBLE))), count(*) - count({number}), count(*) FILTER ({number} < 0), count(*) FROM {source.relation}"
    )
    _refuse_no_records(source, records)
    largest = fits(source, name, float(most or 0), d)
    if exactly:
        sql = f"CAST({number} * {10**d} AS BIGINT)" if d else f"CAST({number} AS BIGINT)"
    else:
        sql = f"CAST(CAST({number} AS DECIMAL(38, {d})) * {10**d} AS BIGINT)"
    return Amounts(sql, d, largest, blanks, negatives, records)


def _decimal_places(source: Source, column: str, scale: int) -> int:
    """How many decimals the numbers of a DECIMAL column really have."""
    if not scale:
        return 0
    tests = ", ".join(f"bool_or({column} <> round({column}, {d}))" for d in range(scale))
    finer = source.one(f"SELECT {tests} FROM {source.relation}")
    return next((d for d in range(scale) if not finer[d]), scale)


def _floats(source: Source, name: str, column: str, decimals: int | None) -> Amounts:
    """Doubles by their shortest decimal text: x has d places exactly when it is the double next to k/10^d."""
    x = (
        f"CAST({column} AS DOUBLE)"
        if source.type_of(name) == "DOUBLE"
        else f"CAST(CAST({column} AS VARCHAR) AS DOUBLE)"
    )
    tried = range(_MOST_PLACES + 1) if decimals is None else [min(decimals, _MOST_PLACES)]
    tests = ", ".join(f"count(*) FILTER (round({x} * 1e{d}) / 1e{d} <> {x})" for d in tried)
    most, blanks, negatives, wild, records, *missed = source.one(
        f"SELECT max(abs({x})) FILTER (isfinite({x})), count(*) FILTER ({column} IS NULL OR isnan({column})), count(*) FILTER ({x} < 0), "
        f"min(rn) FILTER (isinf({column})), count(*), {tests} FROM {source.relation}"
    )
    _refuse_no_records(source, records)
    if wild is not None:
        raise InputError(f"{source.place(wild)}, column {name}: an infinite number; fill in a value")
    x = f"CASE WHEN isnan({column}) THEN NULL ELSE {x} END"
    places = next((d for d, count in zip(tried, missed, strict=True) if not count), None)
    if places is not None and (decimals is None or places == decimals):
        largest = fits(source, name, float(most or 0), places)
        if largest < 2**51:  # where k/10^d and its neighbours are still told apart
            return Amounts(f"CAST(round({x} * 1e{places}) AS BIGINT)", places, largest, blanks, negatives, records)
    text = f"CASE WHEN isnan({column}) THEN NULL ELSE CAST({column} AS VARCHAR) END"
    return _digits(source, name, text, decimals, float(most or 0), blanks, negatives, records)


def _texts(source: Source, name: str, column: str, decimals: int | None, mark: str) -> Amounts:
    text = f"nullif(trim({column}), '')"
    if mark == ",":
        bad = f"contains({text}, '.')"
        number = f"replace({text}, ',', '.')"
    else:
        bad, number = "false", text
    wrong, most, blanks, negatives, records = source.one(
        f"SELECT min(rn) FILTER ({bad} OR NOT regexp_full_match({number}, '{NUMBER}')), max(abs(TRY_CAST({number} AS DOUBLE))), "
        f"count(*) - count({text}), count(*) FILTER (TRY_CAST({number} AS DOUBLE) < 0), count(*) FROM {source.relation}"
    )
    _refuse_no_records(source, records)
    if wrong is not None:
        entry = source.one(f"SELECT {column} FROM {source.relation} WHERE rn = {wrong}")[0]
        shown = entry if len(entry) <= 40 else entry[:37] + "..."
        if re.fullmatch(r"\s*[+-]?\d*,\d+\s*", entry) and mark == ".":
            remedy = "if the comma is a decimal mark, say so with decimal=',' (--decimal ,)"
        elif mark == ",":
            remedy = "write digits with a comma for decimals and no points, such as 1234,5"
        else:
            remedy = "write digits with a point for decimals, such as 1234.5"
        raise InputError(f"{source.place(wrong)}, column {name}: {shown!r} is not a number; {remedy}")
    return _digits(source, name, number, decimals, float(most or 0), blanks, negatives, records)


def _digits(
    source: Source,
    name: str,
    text: str,
    decimals: int | None,
    most: float,
    blanks: int,
    negatives: int,
    records: int,
) -> Amounts:
    """Numbers given as decimal text."""
    if decimals is None:
        plain = f"rtrim(split_part(regexp_replace({text}, '[eE].*', ''), '.', 2), '0')"
        power = f"CAST(coalesce(nullif(regexp_extract({text}, '[eE]([+-]?[0-9]+)', 1), ''), '0') AS INTEGER)"
        decimals = source.one(
            f"SELECT greatest(coalesce(max(length({plain}) - {power}), 0), 0) FROM {source.relation}"
        )[0]
    assert decimals is not None
    largest = fits(source, name, most, decimals)
    return Amounts(
        f"CAST(CAST({text} AS DECIMAL(38, {decimals})) * {10**decimals} AS BIGINT)",
        decimals,
        largest,
        blanks,
        negatives,
        records,
    )


def _refuse_no_records(source: Source, records: int) -> None:
    if not records:
        raise InputError(f"{source.name}: there are no records; give at least one")


MOST_DECIMALS = 17
"""More decimals than any number below 2^53 needs."""


def fits(source: Source, name: str, most: float, decimals: int) -> int:
    """A bound on the size of the scaled numbers; refused where one alone is beyond exactness."""
    if decimals > MOST_DECIMALS or most * 10.0**decimals > LARGEST:
        fewer = max((d for d in range(min(decimals, 12)) if most * 10.0**d <= LARGEST / 1024), default=None)
        remedy = (
            "choose a larger unit"
            if fewer is None
            else f"round them with decimals={fewer} (--decimals {fewer}), weights at the source"
        )
        raise InputError(
            f"{source.name}: the numbers of column {name} have up to {decimals} decimals, and the largest is beyond 2^53 when scaled, where "
            f"doubles stop being exact; {remedy}"
        )
    return int(most * 10.0**decimals * (1 + 2**-40)) + 1


def too_large(source: Source, name: str, total: int, decimals: int) -> InputError:
    """The refusal of a column whose sum is beyond exactness, with the decimals that would do."""
    fewer = max((d for d in range(decimals) if total // 10 ** (decimals - d) <= LARGEST // 2), default=None)
    remedy = "choose a larger unit" if fewer is None else f"round them with decimals={fewer} (--decimals {fewer})"
    return InputError(
        f"{source.name}: the numbers of column {name} add up, with {decimals} decimals, to a number beyond 2^53 when scaled, "
        f"where doubles stop being exact; {remedy}"
    )
