"""Building a k-dimensional table from the array of its inner cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cellward.errors import InputError, kind_of
from cellward.exact import Numbers, check_decimals, refuse_overflow
from cellward.table.assemble import bounds
from cellward.table.labels import Labels
from cellward.table.network import network_of_rows_and_columns
from cellward.table.relations import Relations
from cellward.table.sensitivity import Sensitivity
from cellward.table.table import Table


def build_from_array(
    values: Any,
    dims: Sequence[str] | None,
    codes: Sequence[Sequence[str]] | None,
    total: str,
    decimals: int | None,
    lower: Any,
    upper: Any,
) -> Table:
    """See :meth:`Table.from_array`."""
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise InputError("values: some entries are masked; fill them in, or use from_frame, where cells may be absent")
    try:
        inner = np.asarray(values)
    except ValueError as error:
        raise InputError("values: the rows differ in length; give a rectangular array") from error
    if inner.ndim == 0:
        raise InputError(f"values: {kind_of(values)} is no array; give the inner cells as nested lists or an array")
    if inner.size == 0:
        raise InputError("values: the array is empty; give at least one inner cell")
    decimals = check_decimals(decimals)
    numbers = Numbers.read(inner.ravel(), lambda i: f"values{list(map(int, np.unravel_index(i, inner.shape)))}")
    d = numbers.decimals if decimals is None else decimals
    full = numbers.scaled(d).reshape(inner.shape)
    refuse_overflow(full)
    for axis in range(inner.ndim):
        full = np.concatenate((full, full.sum(axis=axis, keepdims=True)), axis=axis)
    names = tuple(map(str, dims)) if dims is not None else tuple(f"axis{k}" for k in range(inner.ndim))
    if len(names) != inner.ndim or len(set(names)) != len(names):
        raise InputError(f"dims: {len(names)} names for {inner.ndim} axes; give one name an axis, all different")
    return Table(
        relations=margins(inner.shape),
        scaled=full.ravel(),
        decimals=d,
        lower=bounds(lower, full.size, d, "lower"),
        upper=bounds(upper, full.size, d, "upper"),
        labels=_labels(names, codes, inner.shape, total),
        sensitivity=Sensitivity.none(full.size),
    )


def margins(shape: tuple[int, ...]) -> Relations:
    """The equations of a k-dimensional array of the given inner shape with its margin last on each axis, cells in C order.

    >>> margins((2, 2)).equations
    6
    """
    full = tuple(size + 1 for size in shape)
    cell = np.arange(int(np.prod(full)), dtype=np.int64).reshape(full)
    indices, coefs, lengths = [], [], []
    for axis, size in enumerate(full):
        lines = np.moveaxis(cell, axis, -1).reshape(-1, size)
        indices.append(lines.ravel())
        coefs.append(np.tile(np.append(np.ones(size - 1, np.int64), -1), len(lines)))
        lengths.append(np.full(len(lines), size, np.int64))
    length = np.concatenate(lengths)
    indptr = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
    made = Relations(cell.size, indptr, np.concatenate(indices), np.concatenate(coefs), np.zeros(len(length), np.int64))
    made = made.with_array_shape(shape)
    return made.with_network(network_of_rows_and_columns(*shape)) if len(shape) == 2 else made


def _labels(
    names: tuple[str, ...], codes: Sequence[Sequence[str]] | None, shape: tuple[int, ...], total: str
) -> Labels:
    if codes is None:
        codes = [[str(k) for k in range(size)] for size in shape]
    if len(codes) != len(shape) or any(len(c) != size for c, size in zip(codes, shape, strict=False)):
        raise InputError(f"codes: give one list of codes an axis, of lengths {list(shape)}")
    every = []
    for name, own in zip(names, codes, strict=True):
        full = (*(str(code) for code in own), total)
        if len(set(full)) < len(full):
            raise InputError(f"codes: a code of {name} occurs twice, or is the total's {total!r}; codes must differ")
        every.append(full)
    places = np.indices(tuple(size + 1 for size in shape)).reshape(len(shape), -1)
    cells = places.shape[1]
    return Labels(cells, names, tuple(every), tuple(places.astype(np.int64)), (total,) * len(names))
