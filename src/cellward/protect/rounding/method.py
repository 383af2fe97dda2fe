"""ControlledRounding: the options and the flow of the method; model.md beside this file holds model, guarantee and proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cellward.errors import InputError
from cellward.exact import Ints
from cellward.instance import Instance, by_level
from cellward.protect.amounts import amounts, stated
from cellward.protect.lattice.engines import ENGINES
from cellward.protect.lattice.model import check_grid
from cellward.protect.lattice.problem import LatticeEngine
from cellward.protect.method import Method
from cellward.protect.rounding.attempt import Attempt
from cellward.protection import Protection
from cellward.publication.knowledge import KINDS
from cellward.solve.budget import Budget

MOST_STEPS = 100
GOALS, SMALL_COUNTS = ("least", "any"), ("free", "up", "zero")


@dataclass(frozen=True)
class ControlledRounding(Method):
    """Round every cell to one of the two multiples of its base around it: all sums hold, every protection level is met, and Σ w·|v − a| is least.

    ``base`` is one number, one a cell, or one a level of sums ({0: 5, 1: 10}; 0: cells that are no sum), in the table's units. Zero-restricted: a
    value that is a multiple stays. ``knowledge`` is what attackers are taken to read out of a rounded value: ``strict`` (the safe one) or
    ``paper``, see publication/knowledge.py. ``ignore_levels`` rounds without a look at the levels. ``max_steps``: where no such rounding exists,
    multiples up to so many bases away are tried, one more at a time; the number is public. ``goal="any"``: some rounding, as fast as possible,
    where no levels are asked. ``unbiased``: round up as often as a value's distance from the multiple below asks for, on average. ``small_counts``:
    whether counts below their base may be published as 0 (``free``), never are (``up``) or always are (``zero``). ``only``: the cells to be
    rounded, ``"leaves"`` or ``"totals"``; the others then follow, one unit at a time and by less than their base.

    >>> from cellward import Table
    >>> p = ControlledRounding(base=5).protect(Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]))
    >>> p.status, p.objective
    ('optimal', 16)
    """

    engines: ClassVar[tuple[LatticeEngine, ...]] = ENGINES

    base: Any = 5
    knowledge: str = field(default="strict", kw_only=True)
    ignore_levels: bool = field(default=False, kw_only=True)
    max_steps: int = field(default=1, kw_only=True)
    goal: str = field(default="least", kw_only=True)
    unbiased: bool = field(default=False, kw_only=True)
    small_counts: str = field(default="free", kw_only=True)
    only: Any = field(default=None, kw_only=True)

    def accepts(self, instance: Instance) -> str | None:
        """Any table; the options must be ones we know, and go together."""
        for name, words in (("knowledge", KINDS), ("goal", GOALS), ("small_counts", SMALL_COUNTS)):
            if (given := getattr(self, name)) not in words:
                return f"{name}={given!r} is not known; use {' or '.join(map(repr, words))}"
        steps = self.max_steps
        if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= MOST_STEPS:
            return f"max_steps={steps!r}: give a whole number from 1 to {MOST_STEPS}"
        if not isinstance(self.unbiased, bool):
            return f"unbiased={self.unbiased!r}: give True or False"
        if self.unbiased and (steps > 1 or self.goal == "any" or self.only is not None):
            return "unbiased: it is for roundings of all cells to neighbouring multiples; leave out max_steps, goal and only"
        if self.small_counts != "free" and (steps > 1 or self.only is not None):
            return (
                "small_counts: it is for roundings of all cells to neighbouring multiples; leave out max_steps and only"
            )
        if self.only is not None and self.knowledge == "paper":
            return "only: cells that follow move even where they are multiples, which knowledge='paper' rules out; use 'strict'"
        if self.goal == "any" and not self.ignore_levels and (instance.asks or instance.sensitivity.sums):
            return "goal='any': the table asks for protection levels; use goal='least', or round without them (ignore_levels)"
        return None

    def solve(self, instance: Instance, budget: Budget, key: bytes) -> Protection:
        """The least rounding that keeps every sum and meets every level, with as few steps as it takes; or the proof that there is none."""
        base, rounded = amounts(instance, self.base, "base"), self._rounded(instance)
        _refuse_overflow(instance, base, self.max_steps)
        check_grid(instance, np.where(rounded, base, 1))
        for steps in range(1, self.max_steps + 1):
            attempt = Attempt(self, instance, base, rounded, steps, budget, key)
            found = attempt.solve()
            if found.status != "infeasible":
                break
        return self._with_proposal(found) if found.status == "infeasible" else found

    def _with_proposal(self, found: Protection) -> Protection:
        """Where no rounding exists, a perturbation between the same multiples may."""
        from cellward.protect.perturbation import CellPerturbation

        proposal = CellPerturbation(self.base, knowledge=self.knowledge, ignore_levels=self.ignore_levels)
        if proposal.accepts(found.instance) or proposal.unreachable(found.instance):
            return found
        return replace(found, proposal=proposal, reason=f"{found.reason}; or perturb the cells (--method perturb)")

    def _rounded(self, instance: Instance) -> NDArray[np.bool_]:
        """The cells to be rounded."""
        if self.only is None:
            return np.ones(instance.cells, bool)
        if isinstance(self.only, str):
            if self.only not in ("leaves", "totals"):
                raise InputError(f"only={self.only!r} is not known; use 'leaves', 'totals' or a list of cells")
            return np.asarray((instance.relations.height > 0) == (self.only == "totals"))
        if not isinstance(self.only, Iterable):
            raise InputError(f"only={self.only!r} is not known; use 'leaves', 'totals' or a list of cells")
        out = np.zeros(instance.cells, bool)
        out[[instance.labels.find(cell) for cell in self.only]] = True
        return out

    def stated(self, instance: Instance, rounded: NDArray[np.bool_]) -> dict[str, Any]:
        """The options as the public may read them."""
        base = by_level(instance.relations, self.base, "base") if isinstance(self.base, Mapping) else self.base
        out: dict[str, Any] = {"base": stated(base)}
        if self.unbiased:
            out["unbiased"] = True
        if self.small_counts != "free":
            out["small_counts"] = self.small_counts
        if self.only is not None:
            out["only"] = f"{int(rounded.sum())} cells"
        return out


def _refuse_overflow(instance: Instance, base: Ints, steps: int) -> None:
    """Everything below counts in int64; Σ |m|·steps·base bounds it all, since M·(lo − a) is what the model's right-hand sides are made of."""
    r = instance.relations
    most = int(base.max(initial=0)) * steps
    if most * max(r.largest * r.longest, int(instance.weight.max(initial=0)) * instance.cells) < 2**62:
        return
    sizes = np.abs(r.coefs).astype(float) * base[r.indices].astype(float) * steps
    if float(np.bincount(r.row, sizes, minlength=1).max()) >= 2**62:
        raise InputError("base times coefficients exceed 2^62 in an equation; choose a smaller base or a larger unit")
    if float(instance.weight.astype(float) @ base.astype(float)) * steps >= 2**62:
        raise InputError(
            "weights times bases exceed 2^62; divide the weights by a common number or give them fewer digits"
        )
