"""Assemble: from numbers, relations and labels to a Table, with everything scaled to one exact unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.errors import InputError
from cellward.exact import NO_BOUND, NOISE, Bools, Ints, Numbers, Where
from cellward.table.labels import Labels
from cellward.table.levels import levels_of
from cellward.table.made_additive import Additive
from cellward.table.relations import Relations
from cellward.table.sensitivity import CellStatus, Sensitivity
from cellward.table.table import Table, check_additive, check_bounds


def assemble(
    *,
    numbers: Numbers,
    relations: Relations,
    labels: Labels,
    rhs: Numbers | None = None,
    decimals: int | None = None,
    lower: Any = 0,
    upper: Any = None,
    status: NDArray[np.uint8] | None = None,
    levels: Mapping[str, Numbers | None] | None = None,
    weight: Numbers | None = None,
    remedy: Callable[[int], str] | str = "",
    additive: Additive | None = None,
    stated: Bools | None = None,
) -> Table:
    """Scale everything to common integers, test additivity on them, and make the Table; ``additive``: make it so where it is not.

    ``stated``: cells whose values were given, and not computed from others; None: all.

    Levels are rounded up to the grid (more protection, never less); a lower bound is rounded up and an upper one down, which loses no value that the
    table's decimals can express.
    """
    decimals = exact.check_decimals(decimals)
    if additive is not None and decimals is None:
        decimals = additive.decimals(numbers)
    finest = max(numbers.decimals, rhs.decimals if rhs else 0)
    d = finest if decimals is None else decimals
    if decimals is None and d and (i := numbers.too_fine(d)) is not None:
        raise numbers.refuse_too_fine(i, d, _proposal(numbers, rhs, relations, d))
    scaled = numbers.scaled(d)
    if rhs is not None:
        relations = _with_rhs(relations, rhs.scaled(d))
    relations.check()
    if decimals is None and d and _only_noise(relations, scaled):
        proposed = _proposal(numbers, rhs, relations, d)
        remedy = (
            "that looks like float noise: round the values at the source and recompute the totals"
            if proposed is None
            else f"that is float noise: with decimals={proposed} every equation holds"
        )
    n = relations.cells
    ends = bounds(lower, n, d, "lower"), bounds(upper, n, d, "upper")
    status = np.zeros(n, np.uint8) if status is None else status
    own, places = _weights(weight), weight.decimals if weight else 0
    made = None
    if additive is None:
        check_additive(relations, scaled, d, labels, remedy)
    else:
        from cellward.additive.made import make_additive

        check_bounds(scaled, d, *ends, labels)
        scaled, made = make_additive(
            additive,
            relations,
            scaled,
            d,
            ends,
            labels,
            given=np.ones(n, bool) if stated is None else stated,
            fixed=np.asarray(status == CellStatus.FIXED),
            weight=None if own is None else (own, places),
        )
    zero = np.zeros(n, np.int64)
    given = {name: column for name, column in (levels or {}).items() if column is not None}
    asked = {name: levels_of(column, d, name, labels) for name, column in given.items()}
    return Table(
        relations=relations,
        scaled=scaled,
        decimals=d,
        lower=ends[0],
        upper=ends[1],
        labels=labels,
        sensitivity=Sensitivity(
            status,
            asked.get("lpl", zero),
            asked.get("upl", zero),
            asked.get("spl", zero),
        ),
        weight=own,
        weight_decimals=places,
        made_additive=made,
    )


def _weights(weight: Numbers | None) -> Ints | None:
    if weight is None:
        return None
    scaled = weight.scaled()
    if len(scaled) and int(scaled.min()) < 0:
        raise InputError(f"{weight.where(int(scaled.argmin()))}: a negative weight; weights are costs, so at least 0")
    return scaled


def _with_rhs(relations: Relations, rhs: Ints) -> Relations:
    if len(rhs) != relations.equations:
        raise InputError(f"rhs: {len(rhs)} right-hand sides for {relations.equations} equations; give one an equation")
    return Relations(relations.cells, relations.indptr, relations.indices, relations.coefs, rhs)


def _only_noise(relations: Relations, scaled: Ints) -> bool:
    """Whether some equations are missed, and all of those by float noise."""
    miss = np.abs(relations.residual(scaled)).astype(float)
    size = relations.sums(np.abs(relations.coefs * scaled[relations.indices])).astype(float)
    return bool(miss.any()) and not np.any(miss > NOISE * size)


def _proposal(numbers: Numbers, rhs: Numbers | None, relations: Relations, decimals: int) -> int | None:
    """The decimals, fewer than these, to use instead: all numbers fit and every equation holds.

    The fewest that move no value by more than noise (what the values had before floats got at them), or else the most.
    """
    fitting = []
    for fewer in range(decimals):
        if numbers.too_fine(fewer) is None and (rhs is None or rhs.too_fine(fewer) is None):
            right = relations.rhs if rhs is None else rhs.scaled(fewer)
            if not np.any(_with_rhs(relations, right).residual(numbers.scaled(fewer))):
                if numbers.moved(fewer) <= NOISE:
                    return fewer
                fitting.append(fewer)
    return max(fitting, default=None)


def bounds(value: Any, cells: int, decimals: int, side: str) -> Ints:
    """Cell bounds from None (no bound), one number, or one a cell (±inf allowed)."""
    sign = -1 if side == "lower" else 1
    if value is None:
        return np.full(cells, sign * NO_BOUND, np.int64)
    column = [value] if np.ndim(value) == 0 else list(value)
    if np.ndim(value) and len(column) != cells:
        raise InputError(f"{side}: {len(column)} bounds for {cells} cells; give one number, or one a cell")
    out = []
    for i, bound in enumerate(column):
        if bound is None or (isinstance(bound, float | np.floating) and bound == sign * np.inf):
            out.append(sign * NO_BOUND)
            continue
        scaled = exact.scale_one(bound, decimals, f"{side} bound of cell {i}", "up" if side == "lower" else "down")
        out.append(max(-NO_BOUND, min(NO_BOUND, scaled)))
    return np.array(out * cells if np.ndim(value) == 0 else out, np.int64)


def read_column(values: Any, where: Where, name: str) -> Numbers:
    """A column of numbers given by the user: any iterable."""
    if np.ndim(values) == 0 or isinstance(values, str | bytes):
        raise InputError(f"{name}: give a list or an array of numbers, not {type(values).__name__}")
    return Numbers.read(values if isinstance(values, np.ndarray) else list(values), where)


STATUS_LETTERS = {"s": CellStatus.SAFE, "u": CellStatus.UNSAFE, "m": CellStatus.SECONDARY, "z": CellStatus.FIXED}


def is_blank(entry: object) -> bool:
    """Whether an entry of a table says nothing: None, NaN, pandas' NA, or empty text."""
    if isinstance(entry, float | np.floating):
        return bool(np.isnan(entry))
    return entry is None or repr(entry) in ("''", "<NA>")


def read_status(letters: list[object], where: Where) -> NDArray[np.uint8]:
    """Status letters (any case; empty is safe)."""
    out = np.zeros(len(letters), np.uint8)
    for i, letter in enumerate(letters):
        key = "s" if is_blank(letter) else str(letter).strip().lower()
        key = "s" if key == "e" else key  # e: an empty cell
        if key not in STATUS_LETTERS:
            raise InputError(
                f"{where(i)}: the status {letter!r} is not known; use s safe, u unsafe, m secondary or z fixed"
            )
        out[i] = STATUS_LETTERS[key]
    return out
