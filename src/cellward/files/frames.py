"""Frames as users hand them in: their columns by name, the index of a pandas Series or frame back among them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from cellward.errors import InputError, brief, kind_of


def with_index(frame: Any, wanted: Sequence[str]) -> Any:
    """The frame, with those columns that stand in a pandas index among its columns; a Series becomes a frame.

    Whatever is no pandas object, or lacks nothing, is given back as it is.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(frame, pandas.Series | pandas.DataFrame):
        return frame
    levels = list(frame.index.names)
    if isinstance(frame, pandas.Series):
        others = [name for name in wanted if name not in levels]
        named = bool(levels) and all(isinstance(name, str) for name in levels)
        if not named or len(others) > 1 or (others and frame.name is not None and others != [frame.name]):
            raise InputError(
                f"a Series has one column, and {_listed(wanted)} are wanted; make a frame of it with "
                f"series.reset_index(), its index levels being named {_listed(others[:-1] or wanted)}"
            )
        return (frame.rename(others[0]) if others else frame).reset_index()
    lost = [name for name in wanted if name not in frame.columns]
    inside = [name for name in lost if levels.count(name) == 1]
    if inside:
        return frame.reset_index(level=inside)
    if lost and any(name is not None for name in levels):
        shown = ", ".join(brief(str(name)) for name in levels)
        raise InputError(
            f"there is no column {brief(lost[0])}, and no level of the index is called so (it has {shown}); use frame.reset_index() and rename"
        )
    if lost and not isinstance(frame.index, pandas.RangeIndex):
        raise InputError(
            f"there is no column {brief(lost[0])}; if it is the frame's index, name it: frame.rename_axis({lost[0]!r}).reset_index()"
        )
    return frame


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(brief, names[:6])) + (", …" if len(names) > 6 else "")


def frame_columns(frame: Any) -> tuple[list[str], Any]:
    """The names of a frame's columns and how to get one by its name: of a mapping, or of any data frame through narwhals."""
    if isinstance(frame, Mapping):
        return list(frame), frame.__getitem__
    data = in_narwhals(frame)
    names = list(data.columns)

    def column(name: str) -> Any:
        if name not in names:
            raise KeyError(name)
        if names.count(name) > 1:
            raise InputError(f"the column {name!r} occurs twice in the frame; rename one")
        series = data[name]
        missing = series.is_null().to_list()
        if series.dtype.is_numeric() and not series.dtype.is_decimal() and not any(missing):
            return series.to_numpy()
        return [None if lost else entry for entry, lost in zip(series.to_list(), missing, strict=True)]

    return names, column


def in_narwhals(frame: Any) -> Any:
    """A data frame as narwhals sees it."""
    import narwhals as nw

    try:
        data = nw.from_native(frame, eager_only=True)
        list(data.columns)
        return data
    except TypeError as error:
        raise InputError(
            f"{kind_of(frame)} is no data frame; give pandas, polars, pyarrow or a mapping of columns"
        ) from error
    except (nw.exceptions.DuplicateError, ValueError) as error:
        raise InputError("a column name occurs twice in the frame; rename one") from error
