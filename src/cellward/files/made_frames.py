"""Frames as users get them: columns as a pandas or a polars frame, which both are optional."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from cellward.errors import InputError

PACKAGES = ("pandas", "polars")


def frame_of(package: str, columns: Mapping[str, Any]) -> Any:
    """A frame of this package; numbers that are masked are missing in it.

    >>> frame_of("polars", {"region": ["N", "S"], "value": np.ma.masked_array([3, 0], [False, True])})["value"].to_list()
    [3, None]
    """
    try:
        made = importlib.import_module(package)
    except ImportError:
        other = PACKAGES[1 - PACKAGES.index(package)]
        raise InputError(
            f"{package} is not installed; install it (pip install {package}), or use to_{other}() or the columns as they are"
        ) from None
    if package == "pandas":
        return made.DataFrame({name: _with_nan(column) for name, column in columns.items()})
    return made.DataFrame([_series(made, name, column) for name, column in columns.items()])


def _with_nan(column: Any) -> Any:
    """A column of numbers for pandas, where one that is missing makes all of them floats."""
    if not isinstance(column, np.ma.MaskedArray):
        return column
    return np.where(column.mask, np.nan, column.data.astype(np.float64)) if np.ma.is_masked(column) else column.data


def _series(polars: Any, name: str, column: Any) -> Any:
    if not isinstance(column, np.ma.MaskedArray):
        texts = isinstance(column, np.ndarray) and column.dtype.kind == "O"
        return polars.Series(name, column.tolist() if texts else column)
    kind = polars.Int64 if column.dtype.kind == "i" else polars.Float64
    return polars.Series(name, column.tolist(), dtype=kind)
