"""ControlledRounding: the options and the flow of the method; model.md beside this file holds model, guarantee and proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.errors import InputError
from cellward.exact import Ints
from cellward.instance import Instance, by_level
from cellward.protect.amounts import amounts, beyond_every_value, stated, stated_amounts
from cellward.protect.lattice.engines import ENGINES
from cellward.protect.lattice.model import check_grid
from cellward.protect.lattice.problem import LatticeEngine
from cellward.protect.method import BatchRun, Method, Parameter, TauArgus
from cellward.protect.named_cells import named_cells
from cellward.protect.option import MOST_STEPS, Amount, Cells, Flag, Steps, Word, option
from cellward.protect.perturbation.method import CellPerturbation
from cellward.protect.rounding.attempt import RoundingAttempt
from cellward.protect.rounding.ladder import climb, stated_steps, steps_in_words, within
from cellward.protect.rounding.small import small_blocks
from cellward.protect.unmoved import unmoved
from cellward.protection import Protection
from cellward.publication.knowledge import KINDS, SMALL, Knowledge
from cellward.publication.values import Values
from cellward.solve.budget import Budget
from cellward.table.table import Table

GOALS = ("least", "any")


@dataclass(frozen=True)
class ControlledRounding(Method):
    """Round every cell to one of the two multiples of its base around it: all sums hold, every protection level is met, and Σ w·|v − a| is least.

    ``base`` is one number, one a cell, or one a level of sums ({0: 5, 1: 10}; 0: cells that are no sum), in the table's units. Zero-restricted: a
    value that is a multiple stays. ``knowledge`` is what attackers are taken to read out of a rounded value: ``strict`` (the safe one) or
    ``paper``, see publication/knowledge.py. ``ignore_levels`` rounds without a look at the levels. ``max_steps``: where no such rounding exists,
    multiples up to so many bases away are tried, one more at a time, or so many a level of sums ({0: 1, 1: 2}); ``"auto"`` (what the command line
    and jobs take): as few as are found in the time there is, leaves staying next to their values. The number is public. ``goal="any"``: some
    rounding, as fast as possible, where no levels are asked. ``unbiased``: round up as often as a value's distance from the multiple below asks
    for, on average. ``keyed``: round to the table nearest to one drawn from the key, so that who knows the method learns no more than who does not,
    however small the table. ``small_counts``: whether counts below their base may be published as 0 (``free``), never are (``up``) or always are
    (``zero``). ``only``: the cells to be rounded, ``"leaves"``, ``"totals"`` or ``"small"`` (counts below the base become 0 or the base, all others
    stay at or above it); the others then follow, one unit at a time and by less than their base.

    >>> from cellward import Table
    >>> p = ControlledRounding(base=5).protect(Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]))
    >>> p.status, p.objective
    ('optimal', 16)
    """

    word: ClassVar[str] = "round"
    title: ClassVar[str] = "controlled rounding"
    summary: ClassVar[str] = (
        "Round a table to multiples of a base: all sums hold, every protection level is met, the change is least."
    )
    tauargus: ClassVar[tuple[TauArgus, ...]] = (
        TauArgus(
            "RND",
            "_Round",
            (
                Parameter("the base", None, 1, 10**8),
                Parameter("the number of steps", 0, 0, 99),
                Parameter("the time in minutes", 10, 1, 10**5),
                Parameter("partitions", 0, 0, 1),
                Parameter("the stop rule", 2, 1, 2),
                Parameter("unit costs", 1, 0, 1),
            ),
        ),
    )
    resumes: ClassVar[bool] = True
    engines: ClassVar[tuple[LatticeEngine, ...]] = ENGINES

    base: Any = option(
        5,
        Amount("base"),
        "Base in the table's units; or one a level of sums, 0=5,1=10 (0: cells that are no sum).",
        first=True,
    )
    knowledge: str = option(
        "strict", Word(KINDS), "What attackers read out of a value: strict (the safe one) or paper."
    )
    max_steps: Any = option(
        1,
        Steps(MOST_STEPS),
        "Where no rounding exists, try multiples up to so many bases away; one number, one a level of sums (0=1,1=2), or auto: as few as are found. "
        "The number is published.",
        unsaid="auto",
    )
    goal: str = option("least", Word(GOALS), "least: the nearest rounding; any: some rounding, as fast as possible.")
    unbiased: bool = option(False, Flag(), "Round up as often as values ask for on average, instead of to the nearest.")
    keyed: bool = option(
        False, Flag(), "Round near a table drawn from the key: for small tables, whose nearest rounding can be undone."
    )
    small_counts: str = option(
        "free", Word(SMALL), "Counts below their base are free to become 0, never do (up), or always do (zero)."
    )
    only: Any = option(
        None,
        Cells(("leaves", "totals", "small")),
        "Round only the leaves, only the totals, only small counts (below the base, to 0 or the base), or only these cells; the others follow "
        "unit by unit.",
    )
    ignore_levels: bool = option(False, Flag(), "Round without a look at the table's protection levels.")

    def __post_init__(self) -> None:
        super().__post_init__()
        more = not isinstance(self.max_steps, str) and self.max_steps != 1
        if self.unbiased and (more or self.goal == "any" or self.only is not None):
            raise InputError(
                "unbiased: it is for roundings of all cells to neighbouring multiples; leave out max_steps, goal and only"
            )
        if self.keyed and (self.unbiased or more or self.goal == "any" or self.only is not None):
            raise InputError(
                "keyed: it is for roundings of all cells to neighbouring multiples; leave out unbiased, max_steps, goal and only"
            )
        if self.small_counts != "free" and (more or self.only is not None):
            raise InputError(
                "small_counts: it is for roundings of all cells to neighbouring multiples; leave out max_steps and only"
            )
        if self.only is not None and self.knowledge == "paper":
            raise InputError(
                "only: cells that follow move even where they are multiples, which knowledge='paper' rules out; use 'strict'"
            )

    @property
    def ignores_levels(self) -> bool:
        """Where told so."""
        return self.ignore_levels

    def accepts(self, instance: Instance) -> str | None:
        """Any table; some rounding, as fast as possible, only without levels."""
        if self.only == "small" and int(instance.lower.min(initial=0)) < 0:
            return "only='small': it is for counts, which are known not to be negative; state the lower bound 0, or round all cells"
        if self.goal == "any" and not self.ignore_levels and (instance.asks or instance.sensitivity.sums):
            return "goal='any': the table asks for protection levels; use goal='least', or round without them (ignore_levels)"
        return None

    def solve(self, instance: Instance, budget: Budget, key: bytes) -> Protection:
        """The least rounding that keeps every sum and meets every level, with as few steps as it takes; or the proof that there is none."""
        base = amounts(instance, self.base, "base")
        rounded = self._rounded(instance, base)
        _refuse_overflow(instance, base, self.max_steps if isinstance(self.max_steps, int) else 1)
        check_grid(instance, np.where(rounded, base, 1))
        attempt = RoundingAttempt(self, instance, budget, key, base, rounded, np.ones(instance.cells, np.int64))
        climbs = isinstance(self.max_steps, int) or not _overflow(instance, base, MOST_STEPS)
        found = climb(attempt, self.max_steps if climbs and not self._neighbours_only else "none")
        return self._with_proposal(found) if found.status == "infeasible" else found

    @property
    def _neighbours_only(self) -> bool:
        """Whether options are given that are for neighbouring multiples."""
        return self.unbiased or self.keyed or self.small_counts != "free"

    def _with_proposal(self, found: Protection) -> Protection:
        """Where no rounding exists, a perturbation between the same multiples may."""
        proposal = CellPerturbation(self.base, knowledge=self.knowledge, ignore_levels=self.ignore_levels)
        if proposal.accepts(found.instance) or proposal.unreachable(found.instance):
            return found
        assert found.failure is not None
        reason = f"{found.reason}; or perturb the cells (cellward perturb)"
        return replace(found, failure=replace(found.failure, proposal=proposal, reason=reason))

    @classmethod
    def publication(cls, stated: Mapping[str, Any], printed: Mapping[str, Any], table: Table) -> Values:
        """Multiples of the stated base, so many steps away at most."""
        v, steps = printed["value"], stated_steps(table, stated.get("steps", 1))
        bases = stated_amounts(table, stated["base"], "base")
        off = np.flatnonzero(v % np.maximum(bases, 1))
        alone = stated.get("small_counts") == "only"
        if (
            len(off) and not stated.get("only") and not alone
        ):  # cells that only followed the rounded ones are published as they came
            i = int(off[0])
            value, grid = (exact.short(int(x[i]), table.decimals) for x in (v, bases))
            raise InputError(
                f"the published value {value} of {table.labels.name(i)} is no multiple of {grid}; give the base that was used"
            )
        return Values(
            Knowledge.rounded(
                v,
                bases,
                kind=stated.get("knowledge", "strict"),
                steps=steps,
                a=table.scaled,
                small=stated.get("small_counts", "free"),
                lower=table.lower,
                upper=table.upper,
            )
        )

    @classmethod
    def notes(cls, result: Protection) -> list[str]:
        """Small blocks can be undone, multiples stay, a base may be too large, and more steps are told."""
        out = small_blocks(result) + unmoved(result, "are multiples of their base and ")
        out += beyond_every_value(result.instance, result.method["base"], "base")
        if result.publication is not None and (words := steps_in_words(result)):
            out.append(f"neighbouring multiples do not do, or none were found: {words}, and the release says so")
        return out

    @classmethod
    def from_batch(cls, command: str, *parameters: int) -> BatchRun:  # noqa: ARG003
        """RND(table, base, steps, minutes, partitions, stop rule, unit costs): steps 0 are neighbouring multiples, stop rule 1 the first one found.

        Partitions are τ-ARGUS' way through tables that are too large for it; ours are solved whole.
        """
        base, steps, minutes, _, stop, unit = parameters
        method = cls(base, max_steps=steps + 1, goal="any" if stop == 1 else "least")
        return BatchRun(method=method, unit_costs=unit == 1, time_limit_s=60.0 * minutes)

    def _rounded(self, instance: Instance, base: Ints) -> NDArray[np.bool_]:
        """The cells to be rounded."""
        if self.only is None:
            return np.ones(instance.cells, bool)
        if self.only == "small":
            return np.asarray(instance.a < base)
        if isinstance(self.only, str):
            return np.asarray((instance.relations.height > 0) == (self.only == "totals"))
        out = np.zeros(instance.cells, bool)
        out[named_cells(instance, self.only, "only")] = True
        return out

    def says(self, instance: Instance) -> dict[str, Any]:
        """The options, without the steps taken."""
        rounded = self._rounded(instance, amounts(instance, self.base, "base"))
        return {**self.stated(instance, rounded), "knowledge": self.knowledge}

    def agrees(self, said: Mapping[str, Any], instance: Instance) -> bool:
        """With as many steps as were allowed, or fewer."""
        steps = said.get("steps")
        rest = {name: entry for name, entry in said.items() if name != "steps"}
        return within(steps, self.max_steps, instance.relations) and super().agrees(rest, instance)

    def stated(self, instance: Instance, rounded: NDArray[np.bool_]) -> dict[str, Any]:
        """The options as the public may read them."""
        base = by_level(instance.relations, self.base, "base") if isinstance(self.base, Mapping) else self.base
        out: dict[str, Any] = {"base": stated(base)}
        if self.unbiased:
            out["unbiased"] = True
        if self.keyed:
            out["keyed"] = True
        if self.small_counts != "free":
            out["small_counts"] = self.small_counts
        if self.only == "small":
            out["small_counts"] = "only"
        elif self.only is not None:
            out["only"] = f"{int(rounded.sum())} cells"
        return out


def _refuse_overflow(instance: Instance, base: Ints, steps: int) -> None:
    """Refuse what would leave int64."""
    if sentence := _overflow(instance, base, steps):
        raise InputError(sentence)


def _overflow(instance: Instance, base: Ints, steps: int) -> str:
    """Why so many steps would leave int64, in which everything counts; empty where they do not.

    Σ |m|·steps·base bounds it all, since M·(lo − a) is what the model's right-hand sides are made of.
    """
    r = instance.relations
    most = int(base.max(initial=0)) * steps
    if most * max(r.largest * r.longest, int(instance.weight.max(initial=0)) * instance.cells) < 2**62:
        return ""
    sizes = np.abs(r.coefs).astype(float) * base[r.indices].astype(float) * steps
    if float(np.bincount(r.row, sizes, minlength=1).max()) >= 2**62:
        return "base times coefficients exceed 2^62 in an equation; choose a smaller base or a larger unit"
    if float(instance.weight.astype(float) @ base.astype(float)) * steps >= 2**62:
        return "weights times bases exceed 2^62; divide the weights by a common number or give them fewer digits"
    return ""
