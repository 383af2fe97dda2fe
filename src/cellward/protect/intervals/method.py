"""IntervalPublication: the options and the flow of the method; model.md beside this file holds model and guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cellward import exact
from cellward.exact import NO_BOUND, Bools
from cellward.instance import Instance
from cellward.protect.asked_of_cells import AskedOfCells
from cellward.protect.intervals.attempt import IntervalAttempt
from cellward.protect.method import Method
from cellward.protect.named_cells import named_cells
from cellward.protect.option import Cells, Grid, Whole, Word, option
from cellward.protection import Protection
from cellward.publication.ranges import Ranges
from cellward.solve.budget import Budget
from cellward.table.table import Table

ZEROS = ("published", "candidates")


@dataclass(frozen=True)
class IntervalPublication(Method):
    """Print ranges in place of some values, all others as they are, so that every protection level holds against every attacker and the total width
    Σ w·(upper − lower) is as small as it is found.

    ``grid``: ends of ranges are multiples of it. ``widths``: ranges have at most so many different widths (0: any). ``zeros``: cells of 0 are
    published, or may become ranges (``candidates``). ``publish``: cells that must be printed as they are, as must those that the table calls fixed.

    >>> from cellward import Table
    >>> table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    >>> p = IntervalPublication().protect(table.find(levels={("1", "0"): (2, 2, 0)}))
    >>> p.protected, p.objective
    (True, 16)
    """

    word: ClassVar[str] = "intervals"
    title: ClassVar[str] = "interval publication"
    summary: ClassVar[str] = (
        "Print ranges in place of some values, all others as they are: every protection level is met, the total width is small."
    )

    grid: Any = option(1, Grid(), "Ends of ranges are multiples of this.", first=True)
    widths: int = option(0, Whole(0, 1000), "Ranges have at most so many different widths; 0: any.")
    zeros: str = option("published", Word(ZEROS), "Cells of 0 are published, or may become ranges (candidates).")
    publish: Any = option((), Cells(), "Cells that must be printed: codes A,B or a number; repeatable.")

    def accepts(self, instance: Instance) -> str | None:
        """Any table, unless a cell at risk is to be printed as it is."""
        both = np.flatnonzero(self.printed(instance) & AskedOfCells.of(instance).any)
        if len(both):
            name, more = instance.labels.name(int(both[0])), f" (and {len(both) - 1} more)" if len(both) > 1 else ""
            return f"{name}{more} is at risk and is to be published as it is (fixed, or publish); let it go on one side"
        return None

    def solve(self, instance: Instance, budget: Budget, key: bytes) -> Protection:
        """Ranges that meet every level, with a bound on how narrow any could be."""
        return IntervalAttempt(self, instance, budget, key, self.step(instance)).solve()

    @classmethod
    def publication(cls, stated: Mapping[str, Any], printed: Mapping[str, Any], table: Table) -> Ranges:  # noqa: ARG003
        """The ends, open where a field is empty."""
        lower = np.where(printed["empty lower"], -NO_BOUND, printed["lower"])
        return Ranges(lower, np.where(printed["empty upper"], NO_BOUND, printed["upper"]))

    @classmethod
    def notes(cls, result: Protection) -> list[str]:
        """How many ranges there are, and for whose sake."""
        if not isinstance(result.publication, Ranges):
            return []
        wide = result.publication.lower < result.publication.upper
        risk = AskedOfCells.of(result.instance).any
        others = f"{int((wide & ~risk).sum()):,} for the sake of others"
        return [f"{int(wide.sum()):,} cells are ranges, {int((wide & risk).sum()):,} at risk and {others}"]

    def says(self, instance: Instance) -> dict[str, Any]:
        """The options, cells by how many they are."""
        grid = exact.texts(np.array([self.step(instance)]), instance.decimals)[0]
        out: dict[str, Any] = {"grid": grid, "zeros": self.zeros, **({"widths": self.widths} if self.widths else {})}
        zero = (instance.a == 0) if self.zeros == "published" else np.zeros(instance.cells, bool)
        if many := int((~self.candidate(instance) & ~zero).sum()):
            out["printed"] = f"{many} cells"
        return out

    def step(self, instance: Instance) -> int:
        """The grid in units of the instance."""
        return max(1, exact.scale_one(1 if self.grid is None else self.grid, instance.decimals, "grid"))

    def printed(self, instance: Instance) -> Bools:
        """The cells that must be printed as they are."""
        out = instance.sensitivity.fixed.copy()
        out[named_cells(instance, self.publish, "publish")] = True
        return np.asarray(out)

    def candidate(self, instance: Instance) -> Bools:
        """The cells that may become ranges."""
        free = ~self.printed(instance)
        if self.zeros == "published":
            free &= instance.a != 0
        return np.asarray(free | AskedOfCells.of(instance).any)
