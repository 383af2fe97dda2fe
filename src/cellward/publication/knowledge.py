"""Knowledge: what each kind of release tells the public about the true values y, as bounds lo ≤ y ≤ hi on every cell.

Legend: v published values, a true values, g the grid of true values (one scaled unit). Defined here once, for methods and audit alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cellward.errors import InputError
from cellward.exact import NO_BOUND, Ints, freeze, one_number

Kind = Literal["strict", "paper"]
KINDS = ("strict", "paper")
Small = Literal["free", "up", "zero", "only"]
SMALL = ("free", "up", "zero")
"""What becomes of 0 < a < base where the public knows that a ≥ 0: any multiple, any but 0, or 0 always. A fourth way, ``only``: these become
multiples, and all others follow and stay at or above the base."""
FARTHEST = 2**62
"""Widths are cut off here, so that v ± width stays inside int64; table values are below 2^53."""


@dataclass(frozen=True, eq=False, repr=False)
class Knowledge:
    """lo ≤ y ≤ hi (±NO_BOUND: nothing known), ``whole``: y lies on the grid; ``stated`` is the rule as a certificate states it.

    ``v``: the values it was read off, None where none are printed.
    ``intervals`` is False where the release tells nothing that could be turned into intervals (an adjustment without a published deviation).
    """

    lo: Ints
    hi: Ints
    whole: bool
    stated: Mapping[str, Any]
    v: Ints | None = None

    def __post_init__(self) -> None:
        freeze(self.lo, self.hi, self.v)

    @property
    def rule(self) -> str:
        """The kind of release: rounded, perturbed, interval, suppressed or adjusted."""
        return str(self.stated["rule"])

    @property
    def intervals(self) -> bool:
        """Whether the release can be turned into intervals at all."""
        return self.rule != "adjusted" or self.stated["most"] is not None

    @property
    def open_ends(self) -> bool:
        """Whether no true value lies on an end: a multiple would have stayed where it was, or at another one, so that of values on a grid the next
        one is the last."""
        between = self.rule == "perturbed" and self.stated["form"] == "base" and self.stated["kind"] == "strict"
        return between or (self.rule == "rounded" and self.stated["kind"] == "paper")

    def take(self, cells: Ints) -> Knowledge:
        """What is known of these cells, in this order."""
        stated = {
            key: [said[i] for i in cells] if isinstance(said, list) else said for key, said in self.stated.items()
        }
        return Knowledge(self.lo[cells], self.hi[cells], self.whole, stated, None if self.v is None else self.v[cells])

    def __repr__(self) -> str:
        kind = f", {self.stated['kind']}" if "kind" in self.stated else ""
        return f"Knowledge({self.rule}{kind}, {len(self.lo):,} cells)"

    # ---- one maker a rule ------------------------------------------------------------------------------------------------------------------

    @staticmethod
    def rounded(
        v: Ints,
        base: Ints,
        *,
        kind: Kind = "strict",
        steps: int | Ints = 1,
        a: Ints | None = None,
        small: Small = "free",
        lower: Ints | None = None,
        upper: Ints | None = None,
    ) -> Knowledge:
        """A rounding to multiples of ``base`` (0: published as it is) at most ``steps`` away, one number or one a cell.

        ``strict``: |y − v| ≤ steps·base − g and y on the grid. ``paper``: |y − v| ≤ steps·base and, when steps = 1, y = v where a was a multiple.
        ``small`` is the method's public option, which needs the public bounds ``lower`` (and ``upper``, if there are any); see :func:`_spared`.
        """
        _check_kind(kind)
        reach = _times(np.asarray(one_number(base)), steps)
        width = reach
        if kind == "strict":
            width = np.maximum(width - 1, 0)
        elif np.any(steps == 1):
            if a is None:
                raise InputError(
                    "knowledge 'paper' of a rounding needs the true values: which were multiples is public"
                )
            width = np.where((np.asarray(steps) == 1) & (a % np.maximum(base, 1) == 0), 0, width)
        said = steps if isinstance(steps, int) else column_of(steps)
        stated: dict[str, Any] = {"rule": "rounded", "kind": kind, "base": column_of(base), "steps": said}
        lo, hi = v - width, v + width
        if small != "free":
            if small not in (*SMALL, "only"):
                raise InputError(f"small_counts={small!r} is not known; use 'free', 'up', 'zero' or 'only'")
            if lower is None:
                raise InputError(f"knowledge of a rounding with small_counts={small!r} needs the public lower bounds")
            least, most = _alone(v, base) if small == "only" else _spared(v, base, reach, small, lower, upper)
            lo, hi = np.maximum(lo, least), np.minimum(hi, most)
            stated["small"] = small
        return Knowledge(lo, hi, kind == "strict", stated, v)

    @staticmethod
    def perturbed(
        v: Ints, amount: Ints, *, form: Literal["distance", "base"], kind: Kind = "strict", a: Ints | None = None
    ) -> Knowledge:
        """A perturbation inside a ± amount (form ``distance``) or between the multiples of ``amount`` around a (form ``base``).

        ``strict``: |y − v| ≤ amount; or y lies between the multiples around v, one more to either side when v is a multiple.
        ``paper``: |y − v| is at most the width of the interval v was drawn from, which is 0 where a was a multiple.
        """
        _check_kind(kind)
        stated = {"rule": "perturbed", "kind": kind, "form": form, "amount": column_of(amount)}
        if form == "distance":
            width = _times(amount, 1 if kind == "strict" else 2)
            return Knowledge(v - width, v + width, False, stated, v)
        if form != "base":
            raise InputError(f"form={form!r} is not known; use 'distance' or 'base'")
        step = np.maximum(amount, 1)
        if kind == "paper":
            if a is None:
                raise InputError(
                    "knowledge 'paper' of a perturbation between multiples needs the true values: which were multiples is public"
                )
            width = np.where(a % step == 0, 0, amount)
            return Knowledge(v - width, v + width, False, stated, v)
        down, up = v - v % step, v + (-v) % step
        wide = np.where(v % step == 0, amount, 0)
        return Knowledge(np.where(amount > 0, down - wide, v), np.where(amount > 0, up + wide, v), False, stated, v)

    @staticmethod
    def suppressed(v: Ints, withheld: Ints) -> Knowledge:
        """True values published except in the cells withheld, of which nothing is said."""
        lo, hi = v.copy(), v.copy()
        lo[withheld], hi[withheld] = -NO_BOUND, NO_BOUND
        return Knowledge(lo, hi, False, {"rule": "suppressed"})

    @staticmethod
    def interval(lo: Ints, hi: Ints) -> Knowledge:
        """An interval published for every cell (±NO_BOUND: open to that side)."""
        return Knowledge(lo.copy(), hi.copy(), False, {"rule": "interval"})

    @staticmethod
    def adjusted(v: Ints, most: Ints | None = None) -> Knowledge:
        """An adjustment: |y − v| ≤ ``most`` where a largest deviation is published, otherwise nothing."""
        if most is None:
            nothing = np.full(len(v), NO_BOUND, np.int64)
            return Knowledge(-nothing, nothing, False, {"rule": "adjusted", "most": None}, v)
        width = _times(most, 1)
        return Knowledge(v - width, v + width, False, {"rule": "adjusted", "most": column_of(most)}, v)


def column_of(column: Ints) -> int | list[int]:
    """One number for a column that holds the same everywhere."""
    if len(column) and (column == column[0]).all():
        return int(column[0])
    values: list[int] = column.tolist()
    return values


def bound_column(bounds: Ints) -> int | list[int | None] | None:
    """A column of bounds, None for none."""
    none = np.abs(bounds) == NO_BOUND
    if none.all():
        return None
    if not none.any() and (bounds == bounds[0]).all():
        return int(bounds[0])
    return [None if missing else bound for missing, bound in zip(none.tolist(), bounds.tolist(), strict=True)]


def _spared(v: Ints, base: Ints, reach: Ints, small: Small, lower: Ints, upper: Ints | None) -> tuple[Ints, Ints]:
    """What the option tells of y beyond its distance from v, as bounds; ``reach``: steps·base, which the distance stays below.

    Where lower ≥ 0, y is 0, small (0 < y < base) or large. 0 can become v where lower ≤ 0 and v < reach; small values cannot where v = 0 under "up"
    or v > 0 under "zero"; large ones cannot where upper < base, or where v = 0 and reach = base. So y begins behind 0, or behind the small values
    too, where 0 cannot become v, and ends at 0 where neither small nor large values can. docs/certificate.md, check 3, has the sets.
    """
    counts = (base > 0) & (lower >= 0)
    never_small = (v == 0) == (small == "up")
    never_large = (v + reach <= base) | (False if upper is None else upper < base)
    behind_zero = counts & ((v >= reach) | (lower > 0))
    least = np.where(behind_zero, np.where(never_small, base, 1), -NO_BOUND)
    most = np.where(counts & never_small & never_large, 0, NO_BOUND)
    return least, most


def _alone(v: Ints, base: Ints) -> tuple[Ints, Ints]:
    """What is told where counts below the base became multiples of it, 0 stayed, and all others are at or above the base."""
    least = np.where(v == 0, 0, np.where(v % np.maximum(base, 1) == 0, 1, base))
    rounded = base > 0
    return np.where(rounded, least, -NO_BOUND), np.where(rounded & (v == 0), base - 1, NO_BOUND)


def _times(width: Ints, factor: int | Ints) -> Ints:
    """width·factor, cut off before it could leave int64."""
    if int(np.min(factor)) < 1 or int(width.min(initial=0)) < 0:
        raise InputError("knowledge: widths are at least 0 and steps at least 1")
    return np.asarray(np.minimum(width, FARTHEST // factor) * factor)


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise InputError(f"knowledge={kind!r} is not known; use 'strict' (the safe one) or 'paper'")
