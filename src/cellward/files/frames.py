"""Frames as users hand them in (the index of a pandas Series or frame, back among the columns) and get them back."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from cellward.errors import InputError, brief


def frame_of(package: str, columns: Mapping[str, Any]) -> Any:
    """A frame of pandas or polars."""
    try:
        return importlib.import_module(package).DataFrame(columns)
    except ImportError:
        raise InputError(f"{package} is not installed; install it, or use the columns as they are") from None


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
