"""Printed columns: what is published, for frames, alone, beside the true values, and back on the user's own rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward import exact
from cellward.errors import InputError, brief
from cellward.exact import Ints
from cellward.files.frames import frame_columns, in_narwhals, with_index
from cellward.table.labels import Labels, unused

if TYPE_CHECKING:
    from cellward.publication.publication import Publication


def public_columns(labels: Labels, publication: Publication, decimals: int) -> dict[str, Any]:
    """Codes, labels and what is printed; nothing else."""
    out: dict[str, Any] = {**labels.columns(), **labels.word_columns()}
    for name, column in publication.numbers(decimals).items():
        out[unused(name, out, "published")] = column
    return out


def compared_columns(publication: Publication, a: Ints, decimals: int) -> dict[str, Any]:
    """What is printed, as ``published …``, and v − a as ``deviation``, missing where no value is printed. Confidential."""
    numbers = publication.numbers(decimals)
    out = {"published" if name == "value" else f"published {name}": column for name, column in numbers.items()}
    v, hidden = publication.start, publication.unsaid
    out["deviation"] = np.ma.masked_array(exact.units(np.where(hidden, 0, v - a), decimals), hidden)
    return out


def joined(frame: Any, labels: Labels, columns: dict[str, Any]) -> Any:
    """The user's rows with these columns of the cells that they are in; the frame is one of any package, its order and index as they were."""
    place = labels.dims or ("cell",)
    frame = with_index(frame, place)
    names, column = frame_columns(frame)
    if lost := [dim for dim in place if dim not in names]:
        raise InputError(f"there is no column {lost[0]!r}; the rows are joined by {', '.join(place)}")
    cells = _cells(labels, place, [list(column(dim)) for dim in place])
    added: dict[str, Any] = {}
    for name, own in columns.items():
        taken = own[cells] if isinstance(own, np.ndarray) else [own[i] for i in cells.tolist()]
        added[unused(name, [*names, *added], "published" if name.startswith("published") else "cell")] = taken
    if isinstance(frame, dict):
        return {**frame, **added}
    return _with_columns(frame, added)


def _cells(labels: Labels, place: Sequence[str], columns: list[list[Any]]) -> Ints:
    """The cell of every row."""
    known: dict[tuple[str, ...], int] = {}
    out = np.zeros(len(columns[0]), np.int64)
    for row, entries in enumerate(zip(*columns, strict=True)):
        codes = tuple(str(entry) for entry in entries)
        if codes not in known:
            try:
                known[codes] = labels.find(codes if labels.dims else _number(codes[0]))
            except InputError as error:
                raise InputError(f"row {row}, {', '.join(place)}: {error}") from None
        out[row] = known[codes]
    return out


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"{brief(text)} is no number of a cell; give one from 0 on")
    return int(text)


def _with_columns(frame: Any, added: dict[str, Any]) -> Any:
    import narwhals as nw

    own = in_narwhals(frame)
    lists = {name: column.tolist() if isinstance(column, np.ndarray) else column for name, column in added.items()}
    series = [nw.new_series(name, values, backend=own.implementation) for name, values in lists.items()]
    if own.implementation.is_pandas():
        return frame.assign(**{one.name: one.to_native().to_numpy() for one in series})
    return own.with_columns(*series).to_native()
