"""Direct tabulation: the table of a file of records, who stands behind each cell and what each rule says, straight from the definitions.

Plain Python and Fractions over the raw records, cell by cell and unit by unit; nothing of the package is used, so that it can be judged by this.
Legend: x_1 ≥ x_2 ≥ … sizes of the units' contributions to a cell, X their weighted total, N how many of them a rule looks at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil
from typing import Any

EXACT = 2**53
"""Scaled numbers beyond this are to be refused."""
MISSING = "missing"

Codes = tuple[str, ...]
Sums = Sequence[tuple[str, tuple[str, ...]]]
Verdicts = dict[Codes, tuple[int, int, int]]
"""The unsafe cells, and the levels below, above and sliding that are asked for, in units of the last place."""


class RefusedError(Exception):
    """The records are to be refused; the reason is for whoever reads a difference."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """Columns of raw texts (None or empty: nothing stands there), what they mean, and what is to be done with them."""

    columns: Mapping[str, Sequence[str | None]]
    terms: tuple[tuple[str, ...], ...]
    """The tables of the formula, each with the dimensions it crosses."""
    measure: str | None = None
    contributor: str | None = None
    holding: str | None = None
    weight: str | None = None
    request: str | None = None
    request_codes: tuple[str, ...] = ("1",)
    sums: Mapping[str, Sums] = field(default_factory=dict)
    """The sums between the codes of the dimensions that have a hierarchy."""
    total: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    missing_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    pad: Mapping[str, int] = field(default_factory=dict)
    blank: str = "refuse"
    negative: str = "refuse"
    empty: str = "absent"
    largest: int = 3
    decimals: int | None = None
    lower: int | None = None

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(dim for term in self.terms for dim in term))

    @property
    def count(self) -> int:
        return len(next(iter(self.columns.values())))

    def entry(self, name: str | None, r: int) -> str | None:
        """What stands in a column of record r (0, 1, …), None where nothing does."""
        return None if name is None else self.columns[name][r] or None


Unit = tuple[Any, str]
"""What ties are broken by, and what the unit is called."""


@dataclass(frozen=True)
class DirectCell:
    """The records of one cell: how many, their weighted sum, and the contribution of each unit, plain and weighted, with its sign."""

    rows: int
    value: Fraction
    units: Mapping[Unit, tuple[Fraction, Fraction]]

    @cached_property
    def ranked(self) -> list[tuple[Unit, Fraction, Fraction]]:
        """Units by size, largest first, ties by the unit: (unit, |x|, |w·x|)."""
        sized = [(unit, abs(x), abs(wx)) for unit, (x, wx) in self.units.items()]
        return sorted(sized, key=lambda own: (-own[1], own[0][0]))

    @cached_property
    def size(self) -> Fraction:
        """X."""
        return sum((abs(wx) for _, wx in self.units.values()), Fraction(0))


@dataclass(frozen=True)
class DirectTable:
    """All cells by their codes, the equations between them, and who asked for protection."""

    records: Records
    cells: Mapping[Codes, DirectCell]
    equations: set[tuple[Codes, frozenset[Codes]]]
    """(total, its parts), for every sum of every dimension of which a total and a part are there."""
    decimals: int
    negative: bool
    """Whether a value that was read is negative."""
    asked: Mapping[str, set[Unit]]

    @cached_property
    def lower(self) -> dict[Codes, int | None]:
        """The public lower bounds in the last place; None: none. A count that has a row tells that there is a record, and a sum has those of its
        parts together."""
        r, one = self.records, 10**self.decimals
        given = r.lower * one if r.lower is not None else None if self.negative else 0
        if r.measure is not None or r.empty != "absent" or given is None:
            return dict.fromkeys(self.cells, given)
        told = {
            codes: max(given, one if r.weight is None else min(int(cell.value * one), 1))
            for codes, cell in self.cells.items()
        }
        for _ in self.cells:
            for parent, children in self.equations:
                told[parent] = max(told[parent], sum(told[child] for child in children))
        return dict(told)

    def requested(self, code: str, cell: DirectCell) -> Fraction:
        """The largest contribution of a unit that asked with this code."""
        return max((x for unit, x, _ in cell.ranked if unit in self.asked[code]), default=Fraction(0))


# ---- tabulating --------------------------------------------------------------------------------------------------------------------------


def tabulate(records: Records) -> DirectTable:
    """Every combination of codes, of every table, with at least one record below it (or with none, where empty cells are wanted)."""
    worth, decimals, negative = _worth(records)
    valued = [r for r in range(records.count) if worth[r] is not None]
    leaf = {dim: _leaf_codes(records, dim, valued) for dim in records.dims}
    unit = [_unit(records, r) for r in range(records.count)]
    asked: dict[str, set[Unit]] = {code: set() for code in records.request_codes if records.request is not None}
    for r in range(records.count):
        if code := _request(records, r):
            asked[code].add(unit[r])  # in any record, it asks everywhere
    kept = [r for r in valued if all(leaf[dim][r] is not None for dim in records.dims)]
    if not kept:
        raise RefusedError("no record is left")
    sums, above, total = {}, {}, {}
    for dim in records.dims:
        sums[dim] = _sums(records, dim, set(leaf[dim].values()) - {None})
        above[dim] = _above(sums[dim])
        total[dim] = _total(records, dim, sums[dim])
    within: dict[Codes, list[int]] = {}
    for codes in _empty_cells(records, above, total) if records.empty == "zero" else ():
        within[codes] = []
    for r in kept:
        codes = {dim: leaf[dim][r] for dim in records.dims}
        for cell in set(_cells_above(records, codes, above, total)):
            within.setdefault(cell, []).append(r)
    cells = {codes: _cell(rows, unit, worth) for codes, rows in within.items()}
    _refuse_inexact(cells, decimals)
    equations = set(_equations(records.dims, sums, set(cells)))
    for parent, children in equations:
        if sum(cells[child].value for child in children) != cells[parent].value:
            raise RefusedError(f"{parent} does not add up")
    table = DirectTable(records, cells, equations, decimals, negative, asked)
    if any(least is not None and cells[codes].value * 10**decimals < least for codes, least in table.lower.items()):
        raise RefusedError("a value below its bound")
    return table


def _cell(rows: Sequence[int], unit: Sequence[Unit], worth: Sequence[Any]) -> DirectCell:
    units: dict[Unit, tuple[Fraction, Fraction]] = {}
    for r in rows:
        x, wx = units.get(unit[r], (Fraction(0), Fraction(0)))
        units[unit[r]] = (x + worth[r][0], wx + worth[r][1])
    return DirectCell(len(rows), sum((worth[r][1] for r in rows), Fraction(0)), units)


def rounded(x: Fraction, decimals: int) -> Fraction:
    """To so many decimals, halves away from zero."""
    scaled = abs(x) * 10**decimals
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Fraction(whole if x > 0 else -whole, 10**decimals)


def places(x: Fraction) -> int:
    """How many decimals a number has."""
    count = 0
    while (x * 10**count).denominator > 1:
        count += 1
    return count


def _worth(records: Records) -> tuple[list[tuple[Fraction, Fraction] | None], int, bool]:
    """What each record contributes, plain and weighted (None: it is dropped); the decimals of the table; whether something is negative."""
    values = [_number(records.entry(records.measure, r)) for r in range(records.count)]
    if records.measure is None:
        values = [Fraction(1)] * records.count
    if None in values and records.blank == "refuse":
        raise RefusedError("a record without a value")
    known = [x for x in values if x is not None]
    kept = known if records.decimals is None else [rounded(x, records.decimals) for x in known]
    negative = any(x < 0 for x in kept)  # what is rounded to zero is not negative
    if negative and records.negative == "refuse":
        raise RefusedError("a negative contribution")
    if records.blank == "zero":
        values = [Fraction(0) if x is None else x for x in values]
    weights = [Fraction(1)] * records.count
    if records.weight is not None:
        read = [_number(records.entry(records.weight, r)) for r in range(records.count)]
        weights = [w for w in read if w is not None]
        if None in read or min(weights) < 0:
            raise RefusedError("no weight, or a negative one")
    d = records.decimals
    if d is None:
        decimals = max(map(places, known), default=0) + max(map(places, weights))
        return [None if x is None else (x, x * w) for x, w in zip(values, weights, strict=True)], decimals, negative
    worth: list[tuple[Fraction, Fraction] | None] = []
    for x, w in zip(values, weights, strict=True):
        own = None if x is None else rounded(x, d)
        worth.append(None if own is None else (own, rounded(own * w, d)))
    return worth, d, negative


def _number(text: str | None) -> Fraction | None:
    return None if text is None or not text.strip() else Fraction(text.strip().replace(",", "."))


def _unit(records: Records, r: int) -> Unit:
    """A holding where one is named, else a contributor, else the record."""
    for mark, name in (("h", records.holding), ("c", records.contributor)):
        if (text := records.entry(name, r)) is not None:
            return (mark, len(text), text), text
    return ("r", r + 1), f"record {r + 1}"


def _request(records: Records, r: int) -> str | None:
    text = (records.entry(records.request, r) or "").strip(" ")
    if text in ("", "0"):
        return None
    if text not in records.request_codes:
        raise RefusedError(f"nobody may ask with {text}")
    return text


def _leaf_codes(records: Records, dim: str, rows: Sequence[int]) -> dict[int, str | None]:
    """The bottom code of these records; None where the record is dropped."""
    policy = records.missing.get(dim, "refuse")
    out: dict[int, str | None] = {}
    for r in rows:
        text = records.entry(dim, r)
        if text is not None and dim in records.pad:
            text = text.rjust(records.pad[dim])
        if text is not None and text not in records.missing_codes.get(dim, ()):
            out[r] = text
        elif policy == "refuse":
            raise RefusedError(f"a record without {dim}")
        else:
            out[r] = (text or MISSING) if policy == "keep" else None
    return out


def _sums(records: Records, dim: str, occurring: set[Any]) -> Sums:
    """The sums of a dimension, those of missing codes included."""
    hung = {code for code in occurring if code == MISSING or code in records.missing_codes.get(dim, ())}
    total = records.total.get(dim, "Total")
    if dim not in records.sums:
        if total in occurring:
            raise RefusedError(f"{dim}: a record of the total")
        return ((total, tuple(sorted(occurring))),)
    given = records.sums[dim]
    known = {code for parent, children in given for code in (parent, *children)}
    parents = {parent for parent, _ in given}
    if occurring & parents or occurring - hung - known:
        raise RefusedError(f"{dim}: a code that is a sum, or in no sum")
    fresh = tuple(sorted(hung - known))
    roots = _roots(given)
    if fresh and len(roots) > 1:
        raise RefusedError(f"{dim}: no one root to hang {fresh} on")
    return tuple((parent, (*children, *fresh) if parent == roots[0] else children) for parent, children in given)


def _roots(sums: Sums) -> list[str]:
    below = {child for _, children in sums for child in children}
    return [parent for parent in dict.fromkeys(parent for parent, _ in sums) if parent not in below]


def _total(records: Records, dim: str, sums: Sums) -> str | None:
    roots, wanted = _roots(sums), records.total.get(dim, "Total")
    return wanted if wanted in roots else roots[0] if len(roots) == 1 else None


def _above(sums: Sums) -> dict[str, set[str]]:
    """For every bottom code, the codes at or above it."""
    parents: dict[str, set[str]] = {}
    for parent, children in sums:
        for child in children:
            parents.setdefault(child, set()).add(parent)
    out = {}
    for code in parents.keys() - {parent for parent, _ in sums}:
        met, line = {code}, [code]
        while line:
            fresh = parents.get(line.pop(), set()) - met
            met |= fresh
            line.extend(fresh)
        out[code] = met
    return out


def _cells_above(
    records: Records, leaf: Mapping[str, Any], above: Mapping[str, Mapping[str, set[str]]], total: Mapping[str, Any]
) -> Iterator[Codes]:
    """The cells of all tables that a leaf goes to."""
    for term in records.terms:
        for dim in set(records.dims) - set(term):
            if total[dim] is None:
                raise RefusedError(f"{dim} has no total")
        yield from product(*(above[dim][leaf[dim]] if dim in term else (total[dim],) for dim in records.dims))


def _empty_cells(
    records: Records, above: Mapping[str, Mapping[str, set[str]]], total: Mapping[str, Any]
) -> Iterator[Codes]:
    for leaf in product(*(above[dim] for dim in records.dims)):
        yield from _cells_above(records, dict(zip(records.dims, leaf, strict=True)), above, total)


def _equations(
    dims: Sequence[str], sums: Mapping[str, Sums], cells: set[Codes]
) -> Iterator[tuple[Codes, frozenset[Codes]]]:
    for k, dim in enumerate(dims):
        for codes in cells:
            for parent, children in sums[dim]:
                if codes[k] != parent:
                    continue
                parts = {(*codes[:k], child, *codes[k + 1 :]) for child in children} & cells
                if parts:
                    yield codes, frozenset(parts)


def _refuse_inexact(cells: Mapping[Codes, DirectCell], decimals: int) -> None:
    for codes, cell in cells.items():
        if max(abs(cell.value), *(x for _, x, _ in cell.ranked), Fraction(0)) * 10**decimals > EXACT:
            raise RefusedError(f"{codes}: beyond 2^53")


# ---- judging -----------------------------------------------------------------------------------------------------------------------------

Rule = tuple[str, Mapping[str, Any]]
"""What a policy calls the rule, and its parameters."""
_SHARE = {"p_percent", "prior_posterior", "dominance"}


def judge(table: DirectTable, rule: Rule, waivers: Sequence[str] = ()) -> Verdicts:
    """The unsafe cells and their levels; ``waivers`` are the names of units that consent to publication."""
    kind, options = rule
    out: Verdicts = {}
    for codes, cell in table.cells.items():
        if kind in _SHARE:
            level = _concentration(table, kind, options, cell, set(waivers))
            asked = (ceil(level * 10**table.decimals), 0) if level > 0 else None
        else:
            unsafe = _at_risk(table, kind, options, codes, cell)
            if unsafe and kind != "manual" and _all_consent(table, cell, set(waivers)):
                unsafe = False
            asked = _user_levels(table, options, cell) if unsafe else None
        if asked is not None:
            if max(asked) > EXACT:
                raise RefusedError(f"{codes}: the level is beyond 2^53")
            value = int(cell.value * 10**table.decimals)
            least = table.lower[codes]
            below = asked[0] if least is None else min(asked[0], value - least)
            out[codes] = (below, *asked)
    return out


def together(verdicts: Sequence[Verdicts]) -> Verdicts:
    """Unsafe for any reason, with the largest levels."""
    out: Verdicts = {}
    for own in verdicts:
        for codes, levels in own.items():
            before = out.get(codes, levels)
            out[codes] = (max(before[0], levels[0]), max(before[1], levels[1]), max(before[2], levels[2]))
    return out


def _concentration(
    table: DirectTable, kind: str, options: Mapping[str, Any], cell: DirectCell, waivers: set[str]
) -> Fraction:
    """How far above the total an attacker must be kept; not positive where the cell is safe."""
    if kind == "dominance":
        q, alpha, beta, many = Fraction(0), Fraction(0), 100 / Fraction(options["k"]), options["n"]
    else:
        q = Fraction(options["q"]) if kind == "prior_posterior" else Fraction(100)
        alpha, beta, many = Fraction(options["p"]) / q, Fraction(1), options.get("n", 1) + 1
    weighted = table.records.weight is not None and options.get("weights", True)
    x = [(own, wx if weighted else own) for _, own, wx in cell.ranked]
    first = x[0][0] if x else Fraction(0)
    head = _score(x, many)
    share, rest = Fraction(options.get("k", 0)) / 100, cell.size - head
    unsafe = head > share * cell.size if kind == "dominance" else q * rest < Fraction(options["p"]) * first
    level = alpha * first + beta * head - cell.size
    assert unsafe == (level > 0)
    if not unsafe or not waivers:
        return level
    if _all_consent(table, cell, waivers):
        return Fraction(0)
    if weighted or cell.ranked[0][0][1] not in waivers:
        return level
    known = cell.ranked[: table.records.largest]
    if all(unit[1] in waivers for unit, _, _ in known):
        return level
    asked = []
    for t, (unit, target, _) in enumerate(cell.ranked):  # whoever has not consented, against the strongest others
        if unit[1] not in waivers:
            others = [own for k, (_, own, _) in enumerate(cell.ranked) if k != t]
            asked.append(alpha * target + beta * (target + sum(others[: many - 1])) - cell.size)
    return max(asked)


def _score(x: Sequence[tuple[Fraction, Fraction]], many: int) -> Fraction:
    """The sum of the first contributions, each as often as its weight says, until ``many`` units are used."""
    total, used = Fraction(0), Fraction(0)
    for own, weighted in x[:many]:
        if not own:
            break
        w = weighted / own
        if used + w < many:
            total += own * w
            used += w
        else:
            return total + own * (many - used)
    return total


def _all_consent(table: DirectTable, cell: DirectCell, waivers: set[str]) -> bool:
    """Whether every unit is known to the table and consents."""
    return len(cell.units) <= table.records.largest and all(unit[1] in waivers for unit in cell.units)


def _at_risk(table: DirectTable, kind: str, options: Mapping[str, Any], codes: Codes, cell: DirectCell) -> bool:
    if kind == "threshold":
        count = cell.rows if options.get("by") == "records" else len(cell.units)
        return 0 < count < options["n"]
    if kind == "zero":
        return cell.rows > 0 and all(wx == 0 for _, wx in cell.units.values())
    if kind == "request":
        share = Fraction(options["percent_of_total"]) / 100
        return table.requested(options["code"], cell) > share * cell.size
    assert kind == "manual"
    return codes in options["cells"]


def _user_levels(table: DirectTable, options: Mapping[str, Any], cell: DirectCell) -> tuple[int, int]:
    """The level on both sides and the width, in the last place."""

    def larger(percent: str, units: str) -> int | None:
        asked = [Fraction(options[units])] if units in options else []
        asked += [Fraction(options[percent]) / 100 * abs(cell.value)] if percent in options else []
        return max(1, *(ceil(level * 10**table.decimals) for level in asked), 1) if asked else None

    return larger("percent", "units") or 1, larger("sliding_percent", "sliding_units") or 0
