"""Warehouse leaves: the leaf states of an ibis table, by group-bys and windows that its own backend runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import ibis
import numpy as np

from cellward.errors import InputError
from cellward.exact import LARGEST
from cellward.table.spelling import fold
from cellward.tabulate.amounts import too_large
from cellward.tabulate.leaf_states import LeafStates
from cellward.tabulate.roles import Roles
from cellward.tabulate.warehouse import Warehouse
from cellward.tabulate.warehouse_amounts import WarehouseAmounts, amounts, quotient
from cellward.tabulate.warehouse_answers import Answers

_MOST_PUT_RIGHT = 1000
"""So many names are put right one by one; more make the query too long."""


def read_leaves(warehouse: Warehouse, roles: Roles) -> LeafStates:
    """Add the records up by bottom codes, exactly."""
    numbers = _numbers(warehouse, roles)
    requests = _requests(warehouse, roles)
    base = _base(warehouse, roles, numbers, requests)
    _refuse_overflow(warehouse, roles, numbers, base)
    members = _by_leaf_and_unit(base, roles, requests)
    leaves, largest, spread = (warehouse.fetch(question) for question in _questions(members, roles, requests))
    if not len(leaves):
        raise InputError(f"{warehouse.source.name}: no record is left; check what blank= and missing= drop")
    answers = Answers.of(leaves, largest, spread, _dims(roles), roles.largest)
    if answers is None:
        raise InputError(
            f"{warehouse.source.name}: two readings of it do not agree; give one that does not change meanwhile, with codes that differ in more "
            "than case"
        )
    weighted = roles.weight is not None
    states = answers.states(roles.largest, len(requests), weighted=weighted)
    spread_units = answers.members(len(requests))
    most = max(int(states.top.max(initial=0)), int(np.abs(spread_units.amount).max(initial=0)))
    if most > LARGEST:
        raise too_large(warehouse.source, str(roles.measure), most, numbers.decimals)
    return LeafStates(
        answers.codes, answers.leaf, states, spread_units, numbers.decimals, requests, numbers.negative, weighted, numbers.dropped,
        answers.called,
    )  # fmt: skip


def code_text(warehouse: Warehouse, roles: Roles, dim: str) -> Any:
    """The codes of a dimension as text, null where none stands."""
    column = warehouse.rows[dim]
    if column.type().is_floating():
        raise InputError(
            f"{warehouse.source.name}: the dimension {dim} holds decimal numbers; make the column text or whole numbers, so that codes stay as "
            "written"
        )
    text = column.cast("string").nullif("")
    width = (roles.pad or {}).get(dim)
    return text if width is None else (text.length() < width).ifelse(text.lpad(width, " "), text)


@dataclass(frozen=True, eq=False)
class _WarehouseNumbers:
    """Amount and weight of each record, whole numbers; records where ``keep`` (if any) fails are left out.

    A contribution is ``amount``·``finer``, and weighted it is ``amount``·``weight``/``coarser``, both in one common unit.
    """

    amount: Any
    weight: Any
    finer: int
    coarser: int
    decimals: int
    most: int
    """A bound on the sum of all sizes, weighted or not."""
    negative: bool
    dropped: int
    keep: Any


def _numbers(warehouse: Warehouse, roles: Roles) -> _WarehouseNumbers:
    source = warehouse.source
    measure = _measure(warehouse, roles)
    if measure.blanks and roles.blank == "refuse":
        raise InputError(
            f"{source.name}, column {roles.measure}: no value ({measure.blanks:,} records have none); fill it in, or say what it means with "
            "blank='drop' or blank='zero' (--blank)"
        )
    if measure.negatives and roles.negative == "refuse":
        raise InputError(
            f"{source.name}, column {roles.measure}: a negative contribution ({measure.negatives:,} records have one); correct it, or have "
            "the rules look at sizes with negative='absolute' (--negative absolute)"
        )
    amount = measure.column.fill_null(0) if measure.blanks and roles.blank == "zero" else measure.column
    keep = measure.column.notnull() if measure.blanks and roles.blank == "drop" else None
    dropped, negative = (0 if keep is None else measure.blanks), measure.negatives > 0
    if roles.weight is None:
        most = measure.largest * measure.records
        return _WarehouseNumbers(amount, None, 1, 1, measure.places, most, negative, dropped, keep)
    weight = amounts(warehouse, roles.weight, decimals=None, mark=roles.decimal, role="weight")
    for wrong, text in ((weight.blanks, "no weight"), (weight.negatives, "a negative weight")):
        if wrong:
            raise InputError(
                f"{source.name}, column {roles.weight}: {text} ({wrong:,} records); weights are numbers of at least 0"
            )
    exactly = roles.decimals is None  # else the weighted contribution of each record is rounded, halves away from zero
    finer, coarser = (10**weight.places, 1) if exactly else (1, 10**weight.places)
    decimals = measure.places + (weight.places if exactly else 0)
    factor = max(finer, weight.largest)
    if measure.largest * finer > LARGEST or measure.largest * weight.largest > 2**62:
        raise too_large(source, str(roles.measure), measure.largest * factor, decimals)
    most = measure.largest * factor * measure.records
    return _WarehouseNumbers(amount, weight.column, finer, coarser, decimals, most, negative, dropped, keep)


def _measure(warehouse: Warehouse, roles: Roles) -> WarehouseAmounts:
    if roles.measure is not None:
        return amounts(warehouse, roles.measure, decimals=roles.decimals, mark=roles.decimal, role="measure")
    records = warehouse.one(records=warehouse.rows.count())["records"]
    if not records:
        raise InputError(f"{warehouse.source.name}: there are no records; give at least one")
    return WarehouseAmounts(ibis.literal(1, "int64"), 0, 1, 0, 0, records)


def _requests(warehouse: Warehouse, roles: Roles) -> tuple[str, ...]:
    """The request codes declared, in order; a code in the data that is not among them is refused, since nobody would be protected by it."""
    if roles.request is None:
        return ()
    text = _request_text(warehouse, roles)
    code = warehouse.one(code=text.min(where=text.notin(list(roles.request_codes))))["code"]
    if code is not None:
        raise InputError(
            f"{warehouse.source.name}, column {roles.request}: the request code {code!r} is not declared; correct it, or name all codes with "
            f"request_codes=[{', '.join(map(repr, [*roles.request_codes, code]))}] (blank and 0 mean no request)"
        )
    return tuple(roles.request_codes)


def _request_text(warehouse: Warehouse, roles: Roles) -> Any:
    return _names_as_text(warehouse, str(roles.request)).strip().nullif("").nullif("0")


def _names_as_text(warehouse: Warehouse, name: str) -> Any:
    """A column of names as text; whole numbers that a library keeps as doubles, because some are missing, are written without decimals."""
    column = warehouse.rows[name]
    if not column.type().is_floating():
        return column.cast("string")
    column = warehouse.without_nan(column)
    whole = (column.abs() < 1e15).ifelse(column, 0.0).cast("int64")
    return (whole.cast("float64") == column).ifelse(whole.cast("string"), column.cast("string"))


def _spelt(warehouse: Warehouse, name: str, roles: Roles) -> Any:
    """Names of units; those that differ only in case, blanks or Unicode form as one, in the form that they have in common.

    The backend's own notion of case and blanks goes first; the names that it leaves apart from ours (spelling.py) are few, and put right one by one.
    """
    text, kind = _names_as_text(warehouse, name), warehouse.rows[name].type()
    if roles.spelling != "folded" or not kind.is_string():
        return text
    if warehouse.can("RegexReplace"):
        text = text.re_replace("[ \t-\r]+", " ")
    text = text.strip().lower()
    if not warehouse.can("RegexSearch"):
        return text
    foreign = warehouse.rows.select(text=text).distinct()
    foreign = warehouse.fetch(foreign.filter(foreign.text.re_search("[^ -~]")))["text"].to_pylist()
    wrong = {own: right for own in foreign if (right := fold(own)) != own}
    if len(wrong) > _MOST_PUT_RIGHT:
        raise InputError(
            f"{warehouse.source.name}, column {name}: {len(wrong):,} names need another Unicode form than the warehouse gives them; "
            "normalise them there (NFC), or take them as they are with spelling='as written' (--spelling)"
        )
    return text.substitute(wrong) if wrong else text


def _base(warehouse: Warehouse, roles: Roles, numbers: _WarehouseNumbers, requests: tuple[str, ...]) -> Any:
    """The records as codes, contributions, unit (null for a record by itself) and, for each request code, 1 or 0."""
    rows = warehouse.rows
    columns = {f"d{k}": code_text(warehouse, roles, dim) for k, dim in enumerate(roles.formula.dims)}
    named = [
        ibis.literal(mark) + _spelt(warehouse, name, roles).nullif("")
        for mark, name in (("h", roles.holding), ("c", roles.contributor))
        if name is not None
    ]
    columns["unit"] = reduce(lambda first, then: first.fill_null(then), named) if named else ibis.null("string")
    if requests:
        text = _request_text(warehouse, roles)
        columns |= {f"q{j}": (text == code).fill_null(False).cast("int64") for j, code in enumerate(requests)}
    columns["x"] = numbers.amount
    if numbers.weight is not None:
        columns["w"] = numbers.weight
    kept = rows if numbers.keep is None else rows.filter(numbers.keep)
    base = kept.select(**columns).view()  # a subquery: repeated, these expressions would be too deep for some parsers
    wx = base.x
    if numbers.weight is not None:
        product = base.x.abs() * base.w
        size = product if numbers.coarser == 1 else quotient(product, numbers.coarser)
        wx = (base.x < 0).ifelse(-size, size)
    return base.select(*(name for name in columns if name not in ("x", "w")), x=base.x * numbers.finer, wx=wx).view()


def _refuse_overflow(warehouse: Warehouse, roles: Roles, numbers: _WarehouseNumbers, base: Any) -> None:
    """Where the sum of all sizes is below 2^62, no sum of int64 can overflow, on whatever backend."""
    if numbers.most < 2**62:
        return
    sums = base.aggregate(**{name: base[name].cast("float64").abs().sum() for name in ("x", "wx")})
    total = max(sum_ or 0 for sum_ in warehouse.fetch(sums).to_pylist()[0].values())
    if total >= 2**62:
        raise too_large(warehouse.source, str(roles.measure), int(total), numbers.decimals)


def _by_leaf_and_unit(base: Any, roles: Roles, requests: tuple[str, ...]) -> Any:
    """One row a leaf and unit: records ``n``, sums, whether the unit asks anywhere, and in how many leaves (``places``) it is."""
    asks = [f"q{j}" for j in range(len(requests))]
    one = ibis.literal(1, "int64")
    if roles.contributor is None and roles.holding is None:
        return base.mutate(n=one, places=one)
    known = base.filter(base.unit.notnull())
    sums = {"n": known.count(), "x": known.x.sum(), "wx": known.wx.sum()} | {q: known[q].max() for q in asks}
    known = known.group_by([*_dims(roles), "unit"]).aggregate(**sums)
    known = known.mutate(
        places=known.n.count().over(group_by="unit"), **{q: known[q].max().over(group_by="unit") for q in asks}
    )
    alone = base.filter(base.unit.isnull()).mutate(n=one, places=one)
    order = [*_dims(roles), "unit", "n", "x", "wx", *asks, "places"]
    return known.select(order).union(alone.select(order))


def _dims(roles: Roles) -> list[str]:
    return [f"d{k}" for k in range(len(roles.formula.dims))]


def _questions(members: Any, roles: Roles, requests: tuple[str, ...]) -> tuple[Any, Any, Any]:
    """The leaves, the largest units of each among those that are in it alone, and the units that are in several."""
    dims, size = _dims(roles), members.x.abs()
    alone, single = members.unit.isnull(), members.places == 1
    leaves = members.group_by(dims).aggregate(
        n=members.n.sum(),
        u=members.count(where=single),
        m=members.count(where=~single),
        alone=members.count(where=alone),
        v=members.wx.sum(),
        s=members.wx.abs().sum(where=single).fill_null(0),
        **{f"r{j}": size.max(where=single & (members[f"q{j}"] == 1)).fill_null(0) for j in range(len(requests))},
    )
    lone = members.filter(single)
    lone = lone.mutate(size=lone.x.abs(), heavy=lone.wx.abs(), alone=lone.unit.isnull().cast("int64"))
    order = [ibis.desc("size"), "alone", lone.unit.substr(0, 1), lone.unit.length(), "unit", ibis.desc("heavy")]
    largest = lone.mutate(
        rank=ibis.row_number().over(group_by=dims, order_by=order),
        own=ibis.row_number().over(group_by=[*dims, "alone"], order_by=order),
    )
    largest = largest.filter(largest.rank < roles.largest).select(*dims, "unit", "size", "heavy", "own")
    spread = members.filter(~single).select(*dims, "unit", "x", "wx", *(f"q{j}" for j in range(len(requests))))
    return leaves, largest, spread
