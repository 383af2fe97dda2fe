"""ControlledRounding: the options and the flow of the method; model.md beside this file holds model, guarantee and proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.audit.knowledge import KINDS, Knowledge
from cellward.errors import InputError, SolverError, VerificationError
from cellward.exact import LARGEST
from cellward.instance import Instance
from cellward.protect.method import Limits, Method
from cellward.protect.rounding import engines
from cellward.protect.rounding.model import RoundingModel, allowed_multiples, check_grid
from cellward.protection import Protection
from cellward.table.table import equation_text
from cellward.version import __version__

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ControlledRounding(Method):
    """Round every cell to one of the two multiples of its base around it, so that all sums hold and Σ w·|v − a| is least.

    ``base`` is one number or one a cell, in the table's units. Zero-restricted: a value that is a multiple stays. ``knowledge`` is what attackers are
    taken to read out of a rounded value: ``strict`` (the safe one) or ``paper``, see audit/knowledge.py. Where the table asks for protection levels,
    the least rounding is audited: it is given when it meets them, otherwise nothing is. ``ignore_levels`` rounds without a look at them.

    >>> from cellward import Table
    >>> p = ControlledRounding(base=5).protect(Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]))
    >>> p.status, p.objective
    ('optimal', 16)
    """

    base: Any = 5
    knowledge: str = field(default="strict", kw_only=True)
    ignore_levels: bool = field(default=False, kw_only=True)

    def accepts(self, instance: Instance) -> str | None:  # noqa: ARG002 (every method has this shape)
        """Any table; the kind of knowledge must be one we know."""
        return (
            None if self.knowledge in KINDS else f"knowledge={self.knowledge!r} is not known; use 'strict' or 'paper'"
        )

    def solve(self, instance: Instance, limits: Limits) -> Protection:
        """Optimal zero-restricted rounding, or the proof that there is none."""
        began = perf_counter()
        base = self._bases(instance)
        _refuse_overflow(instance, base)
        check_grid(instance, base)
        allowed = allowed_multiples(instance, base)
        model = RoundingModel(instance, allowed)
        if reason := _hopeless(model):
            return self._protection(model, "infeasible", began, reason=reason, engine="divisibility and bounds")
        found = engines.solve(model, limits)
        if found.status == "infeasible":
            why = f"no table of neighbouring multiples keeps every sum ({found.engine})"
            reason = f"{why}; choose another base, widen the cells' bounds or free fixed cells"
            return self._protection(model, "infeasible", began, reason=reason, engine=found.engine)
        if found.x is None or found.bound is None:
            within = "" if limits.time_limit_s is None else f" within {limits.time_limit_s} s"
            reason = f"nothing was found{within} ({found.engine}); give more time"
            return self._protection(model, "failed", began, reason=reason, engine=found.engine, limit_reached=True)
        down = model.objective(allowed.lo)
        try:
            rounded = self._protection(
                model,
                "optimal" if found.status == "optimal" else "feasible",
                began,
                scaled=model.values(found.x),
                bound_scaled=Fraction(down + found.bound),
                engine=found.engine,
                multipliers=found.multipliers,
                limit_reached=found.status != "optimal" and limits.time_limit_s is not None,
            )
        except VerificationError as error:
            raise SolverError(f"{found.engine} gave an answer that does not hold: {error}") from error
        if rounded.protected is not False or self.ignore_levels:
            return rounded
        missing = rounded.missing
        more = "" if len(missing) == 1 else f" (and {len(missing) - 1:,} more requirements fail)"
        reason = f"the least rounding does not protect: {missing[0]}{more}; try a larger base, lower levels, or round without them (ignore_levels)"
        return self._protection(model, "failed", began, reason=reason, engine=found.engine)

    def _bases(self, instance: Instance) -> Ints:
        """The base of every cell as scaled integers."""
        whole = _is_list(self.base)
        given = list(self.base) if whole else [self.base]
        if whole and len(given) != instance.cells:
            raise InputError(f"base: {len(given)} bases for {instance.cells} cells; give one number, or one a cell")
        scaled = []
        for i, base in enumerate(given):
            where = f"base of {instance.labels.name(i)}" if whole else "base"
            value = exact.scale_one(base, instance.decimals, where, strict=True)
            if not 0 < value <= LARGEST:
                raise InputError(f"{where}: {base} is not a base; give a positive number such as 3, 5 or 10")
            scaled.append(value)
        return np.array(scaled if whole else scaled * instance.cells, np.int64)

    def _protection(self, model: RoundingModel, status: Any, began: float, **facts: Any) -> Protection:
        shown = list(map(str, self.base)) if _is_list(self.base) else str(self.base)
        v = facts.get("scaled", model.instance.a)
        kind: Any = self.knowledge
        return Protection(
            instance=model.instance,
            method={
                "name": "controlled rounding",
                "base": shown,
                "steps": 1,
                "knowledge": kind,
                "version": __version__,
            },
            status=status,
            allowed=model.allowed,
            knowledge=Knowledge.rounded(v, model.allowed.step, kind=kind, a=model.instance.a),
            ignore_levels=self.ignore_levels,
            seconds=perf_counter() - began,
            **facts,
        )


def _is_list(base: object) -> bool:
    """Whether a base a cell is given."""
    return (
        np.ndim(base) > 0
        if isinstance(base, np.ndarray)
        else isinstance(base, Sequence) and not isinstance(base, str | bytes)
    )


def _refuse_overflow(instance: Instance, base: Ints) -> None:
    """Everything below counts in int64; Σ |m|·base bounds it all, since M·(lo − a) is what the model's right-hand sides are made of."""
    r = instance.relations
    sizes = np.abs(r.coefs).astype(float) * base[r.indices].astype(float)
    if float(np.bincount(r.row, sizes, minlength=1).max()) >= 2**62:
        raise InputError("base times coefficients exceed 2^62 in an equation; choose a smaller base or a larger unit")
    if float(instance.weight.astype(float) @ base.astype(float)) >= 2**62:
        raise InputError(
            "weights times bases exceed 2^62; divide the weights by a common number or give them fewer digits"
        )


def _hopeless(model: RoundingModel) -> str:
    """Why no rounding can exist, when bounds or divisibility already say so."""
    empty = model.allowed.empty
    names, decimals = model.instance.labels, model.instance.decimals
    if len(empty):
        i = int(empty[0])
        return f"{names.name(i)} has no multiple of its base next to it inside its bounds; widen the bounds or choose a smaller base"
    if len(impossible := model.impossible):
        j = int(impossible[0])
        words = equation_text(model.instance.relations, names, j, decimals)
        return f"equation {j}, {words}, cannot be met by neighbouring multiples of its cells' bases; choose other bases"
    return ""
