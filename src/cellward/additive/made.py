"""Made: values that do not add up become the nearest that do, or a sentence that says which cells cannot be kept together."""

from __future__ import annotations

import numpy as np

from cellward.additive.distance import Distance
from cellward.additive.nearest import nearest
from cellward.errors import InputError
from cellward.exact import NO_BOUND, Bools, Ints
from cellward.instance import relative_weights
from cellward.protect.contradiction import LOW, End, contradiction, within
from cellward.solve.budget import Budget
from cellward.table.labels import Labels
from cellward.table.made_additive import Additive, MadeAdditive
from cellward.table.relations import Relations
from cellward.table.table import equation_text

TIME_LIMIT_S = 60.0
"""Seconds for a table whose relaxation is not whole: the nearest found by then is taken, and the gap stated."""
SHOWN = 4


def make_additive(
    wish: Additive,
    relations: Relations,
    scaled: Ints,
    decimals: int,
    bounds: tuple[Ints, Ints],
    labels: Labels,
    *,
    given: Bools,
    fixed: Bools,
    weight: tuple[Ints, int] | None,
) -> tuple[Ints, MadeAdditive]:
    """The nearest values that add up, and what was moved.

    ``given``: cells that somebody stated; what was computed from others costs nothing to move. ``fixed``: cells that are published as they are.
    """
    rest = relations.residual(scaled)
    kept = wish.kept(relations, labels)
    if len(unsaid := np.flatnonzero(kept & ~given)) and not isinstance(wish.keep, str):
        raise InputError(
            f"keep_values: {labels.name(int(unsaid[0]))} has no row, so there is no value to keep; leave it out"
        )
    stays = (kept & given) | fixed
    cost, places = _weights(wish, scaled, decimals, weight)
    lower, upper = bounds
    lo = np.where(lower <= -NO_BOUND, -NO_BOUND, lower - scaled)
    hi = np.where(upper >= NO_BOUND, NO_BOUND, upper - scaled)
    lo, hi = np.where(stays, 0, np.minimum(lo, 0)), np.where(stays, 0, np.maximum(hi, 0))
    moves = Relations(relations.cells, relations.indptr, relations.indices, relations.coefs, -rest)
    distance = Distance(1 if wish.norm == "l1" else 2, np.where(given, cost, 0), lo, hi)
    found = nearest(moves, distance, Budget(time_limit_s=TIME_LIMIT_S))
    if found.z is None:
        told = Relations(relations.cells, relations.indptr, relations.indices, relations.coefs, relations.rhs)
        raise InputError(
            _why_not(
                moves, told, lo, hi, labels, decimals, stays=stays, fixed=fixed, proven=found.status == "infeasible"
            )
        )
    made = scaled + found.z
    moved = np.flatnonzero((found.z != 0) & given)
    unit = 10.0 ** (places + decimals * distance.power)
    return made, MadeAdditive(
        norm=wish.norm,
        weights=wish.weights,
        labels=labels,
        decimals=decimals,
        missed=int(np.count_nonzero(rest)),
        cell=moved,
        was=scaled[moved],
        now=made[moved],
        kept=int(stays.sum()),
        distance=found.cost / unit,
        bound=float(found.bound) / unit if not found.proven else found.cost / unit,
        proven=found.proven,
        claimed=found.claimed,
        engine=found.engine,
    )


def _weights(wish: Additive, scaled: Ints, decimals: int, weight: tuple[Ints, int] | None) -> tuple[Ints, int]:
    if wish.weights == "equal":
        return np.ones(len(scaled), np.int64), 0
    if wish.weights == "relative":
        return relative_weights(scaled, decimals)
    if weight is None:
        raise InputError(
            "additive_weights='table': the table has no weights; name the column of costs with cost= (--cost), or use 'equal' or 'relative'"
        )
    return weight


def _why_not(
    moves: Relations,
    told: Relations,
    lo: Ints,
    hi: Ints,
    labels: Labels,
    decimals: int,
    *,
    stays: Bools,
    fixed: Bools,
    proven: bool,
) -> str:
    """Which of the cells that are kept, and which bounds, leave no table that adds up."""
    budget = Budget(time_limit_s=TIME_LIMIT_S)
    found = contradiction(moves, lo, hi, budget)
    if found is None:
        said = "none exists, by the solver's word" if proven else f"none was found in {TIME_LIMIT_S:g} s"
        return f"no table that adds up keeps the cells named and every bound ({said}); keep fewer cells, or widen the bounds"
    # Bounds are left out first, then fixed cells, so that as few of the cells named as possible are left.
    found = within(moves, lo, hi, found, lambda end: (bool(stays[end[0]]), not fixed[end[0]], end[0], end[1]), budget)
    ends = found.ends
    kept = sorted({i for i, _ in ends if stays[i] and not fixed[i]})
    still = sorted({i for i, _ in ends if stays[i] and fixed[i]})
    bounded = sorted(end for end in ends if not stays[end[0]])
    parts = [_named("the values of", [labels.name(i) for i in kept])] if kept else []
    parts += [_named("the fixed values of", [labels.name(i) for i in still])] if still else []
    parts += [_named("the bounds", [_bound(end, labels) for end in bounded])] if bounded else []
    remedy = [f"take {'one of them' if len(kept) > 1 else labels.name(kept[0])} out of keep_values"] if kept else []
    remedy += ["free a fixed cell (status z)"] if still else []
    remedy += ["widen the bounds (lower=, upper=)"] if bounded and not remedy else []
    because = ""
    if len(found.equation) == 1:
        because = f", since then {equation_text(told, labels, int(found.equation[0]), decimals)} cannot hold"
    no = "the equations contradict each other" if not parts else f"no table that adds up keeps {' and '.join(parts)}"
    return f"{no}{because}; {', or '.join(remedy) or 'correct the equations'}"


def _named(what: str, names: list[str]) -> str:
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return f"{what} {', '.join(names[:SHOWN])}{more}"


def _bound(end: End, labels: Labels) -> str:
    i, side = end
    return f"{'lower' if side == LOW else 'upper'} bound of {labels.name(i)}"
