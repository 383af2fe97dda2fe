"""Warehouse leaves: the leaf states of an ibis table, by group-bys and windows that its own backend runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np

from cellward.errors import InputError
from cellward.exact import LARGEST
from cellward.tabulate.amounts import too_large
from cellward.tabulate.leaf_states import Leaves
from cellward.tabulate.roles import Roles
from cellward.tabulate.warehouse import Warehouse
from cellward.tabulate.warehouse_amounts import WarehouseAmounts, amounts, quotient
from cellward.tabulate.warehouse_answers import Answers


def read_leaves(warehouse: Warehouse, roles: Roles) -> Leaves:
    """Add the records up by bottom codes, exactly."""
    numbers = _numbers(warehouse, roles)
    requests = _requests(warehouse, roles)
    members = _by_leaf_and_unit(_base(warehouse, roles, numbers, requests), roles, requests)
    leaves, largest, spread = (warehouse.fetch(question) for question in _questions(members, roles, requests))
    if not len(leaves):
        raise InputError(f"{warehouse.source.name}: no record is left; check what blank= and missing= drop")
    answers = Answers.of(leaves, largest, spread, _dims(roles), roles.largest)
    if answers is None:
        raise InputError(
            f"{warehouse.source.name}: two readings of it do not agree; give one that does not change meanwhile, with codes that differ in more than case"
        )
    states = answers.states(roles.largest, len(requests), weighted=numbers.weighted)
    spread_units = answers.members(len(requests))
    most = max(int(states.top.max(initial=0)), int(np.abs(spread_units.amount).max(initial=0)))
    if most > LARGEST:
        raise too_large(warehouse.source, str(roles.measure), most, numbers.decimals)
    return Leaves(
        answers.codes, answers.leaf, states, spread_units, numbers.decimals, requests, numbers.negative, numbers.weighted, numbers.dropped,
        answers.called,
    )  # fmt: skip


def code_text(warehouse: Warehouse, roles: Roles, dim: str) -> Any:
    """The codes of a dimension as text, null where none stands."""
    column = warehouse.rows[dim]
    if column.type().is_floating():
        raise InputError(
            f"{warehouse.source.name}: the dimension {dim} holds decimal numbers; make the column text or whole numbers, so that codes stay as written"
        )
    text = column.cast("string").nullif("")
    width = (roles.pad or {}).get(dim)
    return text if width is None else (text.length() < width).ifelse(text.lpad(width, " "), text)


@dataclass(frozen=True, eq=False)
class _Numbers:
    """A record's contribution (unweighted and weighted) in one common unit; records where ``keep`` (if any) fails are left out."""

    x: Any
    wx: Any
    decimals: int
    negative: bool
    weighted: bool
    dropped: int
    keep: Any


def _numbers(warehouse: Warehouse, roles: Roles) -> _Numbers:
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
    x = measure.column.fill_null(0) if measure.blanks and roles.blank == "zero" else measure.column
    keep = measure.column.notnull() if measure.blanks and roles.blank == "drop" else None
    wx, decimals, finer, heaviest = x, measure.places, 1, 1
    if roles.weight is not None:
        weight = amounts(warehouse, roles.weight, decimals=None, mark=roles.decimal, role="weight")
        for wrong, text in ((weight.blanks, "no weight"), (weight.negatives, "a negative weight")):
            if wrong:
                raise InputError(
                    f"{source.name}, column {roles.weight}: {text} ({wrong:,} records); weights are numbers of at least 0"
                )
        heaviest = weight.largest
        if roles.decimals is None:
            finer = 10**weight.places
            decimals += weight.places
            x, wx = x * finer, x * weight.column
        else:  # the weighted contribution of each record is rounded, halves away from zero
            size = quotient(x.abs() * weight.column, 10**weight.places)
            wx = (x < 0).ifelse(-size, size)
        if measure.largest * finer > LARGEST or measure.largest * heaviest > 2**62:
            raise too_large(source, str(roles.measure), measure.largest * max(finer, heaviest), decimals)
    if measure.largest * max(finer, heaviest) * measure.records >= 2**62:
        sums = warehouse.one(x=x.cast("float64").abs().sum(), wx=wx.cast("float64").abs().sum())
        if (
            total := max(sums["x"] or 0, sums["wx"] or 0)
        ) >= 2**62:  # below this no backend's sum of int64 can overflow
            raise too_large(source, str(roles.measure), int(total), decimals)
    dropped = 0 if keep is None else measure.blanks
    return _Numbers(x, wx, decimals, measure.negatives > 0, roles.weight is not None, dropped, keep)


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
    return warehouse.rows[roles.request].cast("string").strip().nullif("").nullif("0")


def _base(warehouse: Warehouse, roles: Roles, numbers: _Numbers, requests: tuple[str, ...]) -> Any:
    """The records as codes, contributions, unit (null for a record by itself) and, for each request code, 1 or 0."""
    rows = warehouse.rows
    columns = {f"d{k}": code_text(warehouse, roles, dim) for k, dim in enumerate(roles.formula.dims)}
    columns |= {"x": numbers.x, "wx": numbers.wx}
    named = [
        ibis.literal(mark) + rows[name].cast("string").nullif("")
        for mark, name in (("h", roles.holding), ("c", roles.contributor))
        if name is not None
    ]
    columns["unit"] = ibis.coalesce(*named) if named else ibis.null("string")
    if requests:
        text = _request_text(warehouse, roles)
        columns |= {f"q{j}": (text == code).fill_null(False).cast("int64") for j, code in enumerate(requests)}
    return (rows if numbers.keep is None else rows.filter(numbers.keep)).select(**columns)


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
        places=known.count().over(group_by="unit"), **{q: known[q].max().over(group_by="unit") for q in asks}
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
    order = [ibis.desc("size"), "alone", "unit", ibis.desc("heavy")]
    largest = lone.mutate(
        rank=ibis.row_number().over(group_by=dims, order_by=order),
        own=ibis.row_number().over(group_by=[*dims, "alone"], order_by=order),
    )
    largest = largest.filter(largest.rank < roles.largest).select(*dims, "unit", "size", "heavy", "own")
    spread = members.filter(~single).select(*dims, "unit", "x", "wx", *(f"q{j}" for j in range(len(requests))))
    return leaves, largest, spread
