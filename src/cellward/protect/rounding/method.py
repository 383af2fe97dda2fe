"""ControlledRounding: the options and the flow of the method; model.md beside this file holds model, guarantee and proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.audit.knowledge import KINDS, Knowledge
from cellward.errors import InputError, SolverError, VerificationError
from cellward.exact import LARGEST
from cellward.instance import Instance
from cellward.protect.method import Clock, Limits, Method
from cellward.protect.rounding import engines
from cellward.protect.rounding.model import RoundingModel, allowed_multiples, check_grid
from cellward.protect.rounding.protected import Search, guards
from cellward.protection import Protection
from cellward.table.table import equation_text
from cellward.version import __version__

Ints = NDArray[np.int64]
MOST_STEPS = 100


@dataclass(frozen=True)
class ControlledRounding(Method):
    """Round every cell to one of the two multiples of its base around it: all sums hold, every protection level is met, and Σ w·|v − a| is least.

    ``base`` is one number or one a cell, in the table's units. Zero-restricted: a value that is a multiple stays. ``knowledge`` is what attackers are
    taken to read out of a rounded value: ``strict`` (the safe one) or ``paper``, see audit/knowledge.py. ``ignore_levels`` rounds without a look at
    the levels. ``max_steps``: where no such rounding exists, multiples up to so many bases away are tried, one more at a time; the number is public.

    >>> from cellward import Table
    >>> p = ControlledRounding(base=5).protect(Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]))
    >>> p.status, p.objective
    ('optimal', 16)
    """

    base: Any = 5
    knowledge: str = field(default="strict", kw_only=True)
    ignore_levels: bool = field(default=False, kw_only=True)
    max_steps: int = field(default=1, kw_only=True)

    def accepts(self, instance: Instance) -> str | None:  # noqa: ARG002 (every method has this shape)
        """Any table; the options must be ones we know."""
        if self.knowledge not in KINDS:
            return f"knowledge={self.knowledge!r} is not known; use 'strict' or 'paper'"
        if (
            not isinstance(self.max_steps, int)
            or isinstance(self.max_steps, bool)
            or not 1 <= self.max_steps <= MOST_STEPS
        ):
            return f"max_steps={self.max_steps!r}: give a whole number from 1 to {MOST_STEPS}"
        return None

    def solve(self, instance: Instance, limits: Limits) -> Protection:
        """The least rounding that keeps every sum and meets every level, with as few steps as it takes; or the proof that there is none."""
        began, clock = perf_counter(), Clock(limits)
        base = self._bases(instance)
        _refuse_overflow(instance, base, self.max_steps)
        check_grid(instance, base)
        for steps in range(1, self.max_steps + 1):
            attempt = _Attempt(self, instance, base, steps, limits, clock, began)
            found = attempt.solve()
            if found.status != "infeasible":
                break
        return found

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

    @property
    def _shown(self) -> str | list[str]:
        """The base as the public may read it."""
        return list(map(str, self.base)) if _is_list(self.base) else str(self.base)


@dataclass(frozen=True)
class _Attempt:
    """One number of steps."""

    options: ControlledRounding
    instance: Instance
    base: Ints
    steps: int
    limits: Limits
    clock: Clock
    began: float

    def solve(self) -> Protection:
        """What comes of it."""
        allowed = allowed_multiples(self.instance, self.base, self.steps)
        model = RoundingModel(self.instance, allowed)
        if reason := _hopeless(model):
            return self._nothing(model, "infeasible", f"{reason}{self._remedy}", "divisibility and bounds")
        levels = self.instance.asks or bool(self.instance.sensitivity.sums)
        if self.options.ignore_levels or not levels:
            return self._answer(model, model, engines.solve(model, self.limits, self.clock))
        knowledge = self._knowledge(model, self.instance.a)
        watched = list(guards(self.instance, knowledge, self.instance.a))
        for guard in watched:
            if impossible := list(islice(guard.impossible(allowed), 4)):
                return self._nothing(
                    model, "infeasible", self._unreachable([s for _, s in impossible]), "levels of single cells"
                )
        narrowed = model.narrowed(*_tightest([guard.room() for guard in watched]))
        if _hopeless(narrowed):
            reason = f"the levels of single cells leave no rounding: {_hopeless(narrowed)}{self._remedy}"
            return self._nothing(model, "infeasible", reason, "levels of single cells")
        search = Search(narrowed, watched, partial(self._made, model), self.limits, self.clock)
        found = search.solve()
        if found.x is None and found.status == "unknown" and search.missing:
            reason = f"no rounding was shown to protect ({found.engine}); of the last one tried: {search.missing}"
            return self._nothing(model, "failed", reason, found.engine, limit_reached=self.clock.over)
        return self._answer(model, narrowed, found)

    def _answer(self, model: RoundingModel, solved: RoundingModel, found: engines.Found) -> Protection:
        """The engine's answer as a Protection."""
        if found.status == "infeasible":
            with_levels = solved is not model
            why = f"no table of {_multiples(self.steps)} keeps every sum{' and every level' if with_levels else ''} ({found.engine})"
            return self._nothing(model, "infeasible", f"{why}{self._remedy}", found.engine)
        if found.x is None or found.bound is None:
            within = "" if self.limits.time_limit_s is None else f" within {self.limits.time_limit_s} s"
            reason = f"nothing was found{within} ({found.engine}); give more time"
            return self._nothing(model, "failed", reason, found.engine, limit_reached=True)
        return self._made(
            model,
            solved.values(found.x),
            "optimal" if found.status == "optimal" else "feasible",
            bound_scaled=Fraction(solved.start + found.bound),
            engine=found.engine,
            multipliers=found.multipliers,
            limit_reached=found.status != "optimal" and self.limits.time_limit_s is not None,
        )

    @property
    def _remedy(self) -> str:
        more = f", allow more steps (max_steps={self.steps + 1})" if self.steps >= self.options.max_steps else ""
        return f"; choose another base{more}, widen the cells' bounds or free fixed cells"

    def _unreachable(self, sentences: Sequence[str]) -> str:
        more = "" if len(sentences) <= 3 else " (and more)"
        return f"{'; '.join(sentences[:3])}{more}, whatever is published; choose a larger base, allow more steps or ask for lower levels"

    def _made(self, model: RoundingModel, v: Ints, status: Any = "feasible", **facts: Any) -> Protection:
        """A table as a result; one that does not hold is the engine's fault."""
        try:
            return self._protection(model, status, scaled=v, **facts)
        except VerificationError as error:
            raise SolverError(
                f"{facts.get('engine', 'the engine')} gave an answer that does not hold: {error}"
            ) from error

    def _nothing(self, model: RoundingModel, status: Any, reason: str, engine: str, **facts: Any) -> Protection:
        return self._protection(model, status, reason=reason, engine=engine, **facts)

    def _knowledge(self, model: RoundingModel, v: Ints) -> Knowledge:
        kind: Any = self.options.knowledge
        return Knowledge.rounded(v, model.allowed.step, kind=kind, steps=self.steps, a=model.instance.a)

    def _protection(self, model: RoundingModel, status: Any, **facts: Any) -> Protection:
        return Protection(
            instance=model.instance,
            method={
                "name": "controlled rounding",
                "base": self.options._shown,
                "steps": self.steps,
                "knowledge": self.options.knowledge,
                "version": __version__,
            },
            status=status,
            allowed=model.allowed,
            knowledge=self._knowledge(model, facts.get("scaled", model.instance.a)),
            ignore_levels=self.options.ignore_levels,
            seconds=perf_counter() - self.began,
            **facts,
        )


def _multiples(steps: int) -> str:
    return "neighbouring multiples" if steps == 1 else f"multiples less than {steps} bases away"


def _tightest(rooms: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """The narrowest of several bounds."""
    least, most = zip(*rooms, strict=True)
    return np.maximum.reduce(least), np.minimum.reduce(most)


def _is_list(base: object) -> bool:
    """Whether a base a cell is given."""
    return (
        np.ndim(base) > 0
        if isinstance(base, np.ndarray)
        else isinstance(base, Sequence) and not isinstance(base, str | bytes)
    )


def _refuse_overflow(instance: Instance, base: Ints, steps: int) -> None:
    """Everything below counts in int64; Σ |m|·steps·base bounds it all, since M·(lo − a) is what the model's right-hand sides are made of."""
    r = instance.relations
    sizes = np.abs(r.coefs).astype(float) * base[r.indices].astype(float) * steps
    if float(np.bincount(r.row, sizes, minlength=1).max()) >= 2**62:
        raise InputError("base times coefficients exceed 2^62 in an equation; choose a smaller base or a larger unit")
    if float(instance.weight.astype(float) @ base.astype(float)) * steps >= 2**62:
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
