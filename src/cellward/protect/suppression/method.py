"""CellSuppression: the options and the flow of the method; model.md beside this file holds model, guarantee and proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from cellward.exact import LARGEST, Bools, Ints
from cellward.instance import Instance, Weights
from cellward.protect.method import BatchRun, Method, Parameter, TauArgus
from cellward.protect.named_cells import named_cells
from cellward.protect.option import Cells, Flag, Word, option
from cellward.protect.suppression.attempt import SuppressionAttempt
from cellward.protection import Protection
from cellward.publication.withheld import Withheld
from cellward.solve.budget import Budget
from cellward.table.sensitivity import CellStatus
from cellward.table.table import Table

GUARANTEES = ("levels", "exact")
ZEROS = ("published", "candidates")
SHARE = 10
"""A preferred cell costs this much less."""


def _number(what: str) -> Parameter:
    """A parameter of τ-ARGUS' own ways, which has no part in ours."""
    return Parameter(what, 0, 0, 10**6)


MINUTES = Parameter("the time in minutes", 10, 0, 10**5)


@dataclass(frozen=True)
class CellSuppression(Method):
    """Withhold the cells at risk, and as little besides as it takes so that every protection level holds against every attacker; all else is printed
    as it is.

    Least is the sum of weights over the cells withheld for the sake of others (``weights`` of :meth:`protect`: ``value`` unless given).
    ``guarantee="exact"``: no cell at risk can be worked out exactly, whatever its levels ask. ``zeros``: cells of 0 are published, or may be withheld
    (``candidates``). ``publish``: cells that must be printed, as must those that the table calls fixed. ``withhold``: cells that must be withheld, as
    must those that it calls secondary. ``preferred``: cells that cost a tenth, such as those withheld last year. ``forbidden``: cells that are never
    withheld for the sake of others, ``"totals"``, ``"leaves"`` or these. ``ranges``: folders also hold what anybody can work out of each cell.

    >>> from cellward import Table
    >>> table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    >>> p = CellSuppression().protect(table.find(levels={("1", "0"): (2, 2, 0)}))
    >>> p.protected, int(p.publication.withheld.sum())
    (True, 4)
    """

    word: ClassVar[str] = "suppress"
    title: ClassVar[str] = "cell suppression"
    summary: ClassVar[str] = (
        "Withhold cells: those at risk and as little besides as every protection level takes; all others are printed as they are."
    )
    default_weights: ClassVar[Weights] = "value"

    tauargus: ClassVar[tuple[TauArgus, ...]] = (
        TauArgus("OPT", "", (MINUTES, _number("the time of a subtable"))),
        TauArgus("MOD", "", (MINUTES, *map(_number, ("singletons", "multiple singletons", "the minimum frequency")))),
        TauArgus("GH", "", tuple(map(_number, ("the a-priori bounds", "the model size", "singletons")))),
        TauArgus("NET", "", (_number("the time in minutes"),)),
        TauArgus("UWE", "", (_number("the time in minutes"),)),
    )

    guarantee: str = option(
        "levels",
        Word(GUARANTEES),
        "levels: every protection level holds; exact: no cell at risk can be worked out exactly.",
        first=True,
    )
    zeros: str = option("published", Word(ZEROS), "Cells of 0 are published, or may be withheld (candidates).")
    publish: Any = option((), Cells(), "Cells that must be printed: codes A,B or a number; repeatable.")
    withhold: Any = option((), Cells(), "Cells that must be withheld.")
    preferred: Any = option((), Cells(), "Cells to be withheld rather than others: they cost a tenth.")
    forbidden: Any = option(
        (), Cells(("totals", "leaves")), "Cells never withheld for the sake of others: totals, leaves or these."
    )

    ranges: bool = option(
        False, Flag(), "Also publish what anybody can work out of the withheld cells, as ranges (ranges.csv)."
    )

    @property
    def ignores_levels(self) -> bool:
        """Where exact disclosure is all that is guarded against."""
        return self.guarantee == "exact"

    @property
    def publishes_ranges(self) -> bool:
        """Where told so."""
        return self.ranges

    def accepts(self, instance: Instance) -> str | None:
        """Any table, unless a cell is both to be printed and to be withheld."""
        printed, hidden = self.printed(instance), self.hidden(instance)
        if len(both := np.flatnonzero(printed & hidden)):
            i = int(both[0])
            name, more = instance.labels.name(i), f" (and {len(both) - 1} more)" if len(both) > 1 else ""
            why = "is at risk" if asked(instance)[i] else "is to be withheld"
            return f"{name}{more} {why} and is to be published as it is (fixed, or publish); let it go on one side"
        return None

    def covered(self, instance: Instance) -> Instance:
        """With the costs of preferred cells."""
        if not len(tuple(self.preferred)):
            return instance
        chosen = _flags(instance, self.preferred, "preferred")
        weight = np.where(chosen, instance.weight, np.minimum(instance.weight, LARGEST // SHARE) * SHARE)
        return replace(instance, weight=weight, weight_decimals=instance.weight_decimals + 1)

    def solve(self, instance: Instance, budget: Budget, key: bytes) -> Protection:
        """A safe pattern as cheap as it is found, with a bound on how much cheaper any could be; or the level that none meets."""
        return SuppressionAttempt(self, self.covered(instance), budget, key).solve()

    @classmethod
    def publication(cls, stated: Mapping[str, Any], printed: Mapping[str, Any], table: Table) -> Withheld:  # noqa: ARG003
        """The values, nothing where the field is empty."""
        return Withheld(printed["value"], printed["empty value"])

    @classmethod
    def notes(cls, result: Protection) -> list[str]:
        """How many cells are withheld, and for whose sake; and levels that reach down to 0 where zeros are known to be published."""
        if not isinstance(result.publication, Withheld):
            return []
        hidden, risk = result.publication.withheld, asked(result.instance)
        others = f"{int((hidden & ~risk).sum()):,} for the sake of others"
        out = [f"{int(hidden.sum()):,} cells are withheld, {int((hidden & risk).sum()):,} at risk and {others}"]
        i, s = result.instance, result.instance.sensitivity
        to_zero = int(((s.lpl > 0) & (i.a - s.lpl <= 0) & (i.lower == 0)).sum())
        if to_zero and result.method.get("zeros") == "published":
            out.append(
                f"{to_zero:,} level{'s' * (to_zero > 1)} reach{'es' * (to_zero == 1)} down to 0, which who knows that zeros are published rules "
                "out; let zeros be withheld too (zeros='candidates') where that matters"
            )
        return out

    @classmethod
    def from_batch(cls, command: str, *parameters: int) -> BatchRun:
        """OPT, MOD, GH, NET and UWE: all are this one problem; OPT and MOD say how many minutes it may take.

        Singletons, which τ-ARGUS guards against by parameters, are attackers who know their own contributions.
        """
        minutes = parameters[0] if command in ("OPT", "MOD") else 0
        return BatchRun(
            method=cls(),
            unit_costs=False,
            exact_costs=True,
            time_limit_s=60.0 * minutes if minutes else None,
            note=f"{command} is run as one problem over the whole table, against every attacker, with a bound; its other parameters have no effect",
        )

    def says(self, instance: Instance) -> dict[str, Any]:
        """The options, cells by how many they are."""
        out: dict[str, Any] = {"guarantee": self.guarantee, "zeros": self.zeros}
        zero = (instance.a == 0) if self.zeros == "published" else np.zeros(instance.cells, bool)
        if many := int((~self.candidate(instance) & ~zero).sum()):
            out["printed"] = f"{many} cells"
        if many := int((self.hidden(instance) & ~asked(instance)).sum()):
            out["withheld"] = f"{many} cells"
        return out

    # ---- which cells -----------------------------------------------------------------------------------------------------------------------

    def printed(self, instance: Instance) -> Bools:
        """The cells that must be printed."""
        return np.asarray(instance.sensitivity.fixed | _flags(instance, self.publish, "publish"))

    def hidden(self, instance: Instance) -> Bools:
        """The cells that must be withheld: at risk, or as the user or the table says."""
        by_hand = instance.sensitivity.status == CellStatus.SECONDARY
        return np.asarray(asked(instance) | by_hand | _flags(instance, self.withhold, "withhold"))

    def candidate(self, instance: Instance) -> Bools:
        """The cells that may be withheld."""
        free = ~self.printed(instance) & ~self._forbidden(instance)
        if self.zeros == "published":
            free &= instance.a != 0
        return np.asarray(free | self.hidden(instance))

    def _forbidden(self, instance: Instance) -> Bools:
        if isinstance(self.forbidden, str):
            return np.asarray((instance.relations.height > 0) == (self.forbidden == "totals"))
        return _flags(instance, self.forbidden, "forbidden")


def asked(instance: Instance) -> Bools:
    """The cells that something must be kept from anyone of."""
    out = np.zeros(instance.cells, bool)
    out[instance.sensitivity.unsafe] = True
    out[instance.sensitivity.levels.cell] = True
    # What attackers with levels of their own are asked to be kept from, without what each knows by himself; all of them at once, as they may be many.
    keys = [k * instance.cells + one.known for k, one in enumerate(instance.attackers) if len(one.cell)]
    known = np.concatenate(keys) if keys else np.zeros(0, np.int64)
    many = [(k, one.levels) for k, one in enumerate(instance.attackers) if one.levels is not None]
    if many:
        cell = np.concatenate([levels.cell for _, levels in many])
        whose = np.repeat([k for k, _ in many], [len(levels) for _, levels in many])
        wanted = np.concatenate([(levels.lpl > 0) | (levels.upl > 0) | (levels.spl > 0) for _, levels in many])
        out[cell[wanted & ~np.isin(whose * instance.cells + cell, known)]] = True
    return out


def _flags(instance: Instance, given: Iterable[Any], what: str) -> Bools:
    out = np.zeros(instance.cells, bool)
    cells: Ints = np.array(named_cells(instance, given, what), np.int64)
    out[cells] = True
    return out
