"""ControlledAdjustment: the options of the method; model.md beside this file holds model, guarantee and proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from cellward import exact
from cellward.errors import InputError
from cellward.instance import Instance, Weights
from cellward.protect.adjustment.distance import NORMS
from cellward.protect.method import Method
from cellward.protection import Protection
from cellward.solve.budget import Budget

FORMS = ("auto", "leaf", "network", "equation", "cone", "sums")
SENSES = ("secret", "up", "down")
JITTER = 1.0
MOST_DEARER = 10**6


@dataclass(frozen=True, kw_only=True)
class ControlledAdjustment(Method):
    """Move every cell at risk at least its protection level away from the truth, and all others as little as keeps every sum.

    ``norm``: what little means: ``l1`` (Σ w|z|), ``l2`` (Σ w·z²), ``linf`` (the largest w|z| of the cells at risk plus that of the others; among its
    optima the one of least L1), ``l1-2`` (``shares`` of L1 and L2, the squares with ``second_weights`` and over ``subset`` only), ``huber`` (the
    pseudo-Huber function with ``delta``). Weights are 1/max(|a|, one unit) unless others are given to ``protect``. ``senses``: which way cells at
    risk move: ``secret`` (drawn from the key), ``up``, ``down``, or +1 and −1, one a cell at risk. ``jitter``: each cell's level is drawn from the
    key between its protection level and this share of it above, at least two steps of the grid wide; 0: the protection level itself. ``grid``:
    publish multiples of it; ``"table"``: of the table's last decimal, 1 for counts; None: the continuous optimum. ``fixed``: cells that keep their
    value, ``"margins"`` or cells by number or codes. ``soft_margins``: fixed totals may move after all, at so many times their weight.
    ``soft_levels``: where no table reaches every level, bend them as little as possible (the result is then not protected). ``zeros_stay``: cells of
    0 stay 0. ``form``: leaf, network, equation, cone or sums; ``auto`` chooses by structure.

    For figures as in the papers: ``ControlledAdjustment(senses="up", jitter=0, grid=None)``.

    >>> from cellward import Table
    >>> table = Table.from_equations([10, 20, 30], [[1, 1, -1]], sensitive=[0], lpl=[2], upl=[2])
    >>> p = ControlledAdjustment(senses="up", jitter=0).protect(table)
    >>> p.status, p.values.tolist(), p.protected
    ('optimal', [12, 20, 32], True)
    """

    default_weights: ClassVar[Weights] = "relative"

    norm: str = "l1"
    senses: Any = "secret"
    jitter: float = JITTER
    grid: Any = "table"
    shares: tuple[Any, Any] = ("0.99", "0.01")
    second_weights: Any = None
    subset: Any = None
    delta: Any = "0.001"
    fixed: Any = None
    soft_margins: float | None = None
    soft_levels: bool = False
    zeros_stay: bool = True
    form: str = "auto"

    def accepts(self, instance: Instance) -> str | None:
        """Any table with levels below or above; the options must be ones we know, and go together."""
        if self.norm not in NORMS:
            return f"norm={self.norm!r} is not known; use {', '.join(map(repr, NORMS))}"
        if self.form not in FORMS:
            return f"form={self.form!r} is not known; use {', '.join(map(repr, FORMS))}"
        if isinstance(self.senses, str) and self.senses not in SENSES:
            return f"senses={self.senses!r} is not known; use 'secret', 'up', 'down' or +1 and −1, one a cell at risk"
        if not _is_number(self.jitter) or not 0 <= self.jitter <= 100:
            return f"jitter={self.jitter!r}: give a share of the protection level from 0 (none) to 100, such as 1.0"
        if reason := self._of_another_norm() or self._margins():
            return reason
        for attacker in instance.attackers:
            levels = attacker.asked(instance.sensitivity.levels)
            if levels.spl.any():
                name = instance.labels.name(int(levels.cell[levels.spl.argmax()]))
                return f"{name} asks for a sliding level, which an adjustment cannot show: it moves a cell to one side; give lower and upper levels"
        if instance.sensitivity.sums:
            return "sums of cells are at risk too, which an adjustment cannot show to be safe; round or perturb the table, or name their cells"
        return None

    def _of_another_norm(self) -> str | None:
        """Options that the norm has no use for, and shares that are none."""
        for name, norm in (("shares", "l1-2"), ("second_weights", "l1-2"), ("subset", "l1-2"), ("delta", "huber")):
            given = getattr(self, name)
            untold = given is None or (isinstance(given, str | tuple) and given == getattr(type(self), name))
            if self.norm != norm and not untold:
                return f"{name}: it is for norm={norm!r}, and the norm is {self.norm!r}; leave it out"
        if self.norm == "l1-2":
            pair = isinstance(self.shares, Sequence) and not isinstance(self.shares, str) and len(self.shares) == 2
            if not pair or self.decimal("first") + self.decimal("second") == 0:
                return f"shares={self.shares!r}: give two numbers that are not both 0, of L1 and of L2, such as 0.99 and 0.01"
        if self.norm == "huber":
            self.decimal("delta")
        return None

    def _margins(self) -> str | None:
        given = self.soft_margins
        if given is None:
            return None
        if not _is_number(given) or not 0 < given <= MOST_DEARER:
            return f"soft_margins={given!r}: give how many times dearer fixed totals are, up to {MOST_DEARER:,}, such as 100"
        if self.fixed is None:
            return (
                "soft_margins: no cells are fixed that could move after all; give fixed='margins' too, or leave it out"
            )
        return None

    def solve(self, instance: Instance, budget: Budget, key: bytes) -> Protection:
        """The nearest table in which every cell at risk is off by its level; or that there is none."""
        from cellward.protect.adjustment.attempt import Attempt  # loads scipy

        return Attempt(self, instance, budget, key).solve()

    def fixed_cells(self, instance: Instance) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which cells keep their value."""
        out = instance.sensitivity.fixed.copy()
        if self.fixed is None:
            return out
        if isinstance(self.fixed, str):
            if self.fixed != "margins":
                raise InputError(f"fixed={self.fixed!r} is not known; use 'margins' or a list of cells")
            return np.asarray(out | (instance.relations.height > 0))
        out[named_cells(instance, self.fixed, "fixed", "'margins' or a list of cells")] = True
        return out

    def decimal(self, name: str) -> Fraction:
        """An option that is a decimal number, exactly."""
        given = {"delta": self.delta, "first": self.shares[0], "second": self.shares[1]}[name]
        what = "delta" if name == "delta" else "shares"
        number = Fraction(exact.scale_one(given, 12, what, strict=True), 10**12)
        if number < 0 or (name == "delta" and number == 0):
            raise InputError(f"{what}: {given} is not a positive number; give one such as 0.001")
        return number

    @property
    def secret(self) -> bool:
        """Whether senses are drawn from the key."""
        return isinstance(self.senses, str) and self.senses == "secret"

    def notes(self, places: int) -> list[str]:
        """What makes a release of these options readable for whoever knows them; ``places``: decimals more than the table's that are published."""
        out = []
        if not self.secret:
            out.append(
                "senses are not secret: whoever knows them and the levels' rule comes near the true values of cells at risk"
            )
        if not self.jitter:
            out.append("levels have no jitter: whoever knows their rule reads true values off the published ones")
        if places and self.norm != "l1":
            out.append(
                "values have more decimals than the table: what lies behind the true ones' last decimal are deviations"
            )
        return out

    def stated(self) -> dict[str, Any]:
        """The options as the public may read them: nothing of senses or drawn levels."""
        out: dict[str, Any] = {"norm": self.norm}
        if self.norm == "l1-2":
            out["shares"] = [str(share) for share in self.shares]
        if self.norm == "huber":
            out["delta"] = str(self.delta)
        if self.grid is not None and self.grid != "table":
            out["grid"] = str(self.grid)
        return out


def named_cells(instance: Instance, given: Any, what: str, known: str) -> list[int]:
    """Cells by number, or by their codes."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{what}={given!r} is not known; use {known}")
    bare = not instance.labels.dims  # cells of bare equations have numbers only
    try:
        return [
            instance.labels.find(int(cell) if bare and isinstance(cell, str) and cell.isdecimal() else cell)
            for cell in given
        ]
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)
