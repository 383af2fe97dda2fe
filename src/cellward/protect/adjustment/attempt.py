"""One attempt at an adjustment: senses and levels, the continuous optimum, flips where senses do not go together, and the values published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellward.audit.bound import farkas_leaf
from cellward.protect.adjustment import engines
from cellward.protect.adjustment.caps import Caps, headlines
from cellward.protect.adjustment.choice.choose import choose
from cellward.protect.adjustment.conflict import Conflict
from cellward.protect.adjustment.continuous import untouched
from cellward.protect.adjustment.insiders import worked_out
from cellward.protect.adjustment.near_optimum import NearOptimum
from cellward.protect.adjustment.needs import Room
from cellward.protect.adjustment.obstacles import obstacles, obstacles_of_one, together
from cellward.protect.adjustment.question import AdjustmentQuestion
from cellward.protect.adjustment.results import MOST_TURNED, AdjustmentResults
from cellward.protect.adjustment.senses import Senses
from cellward.protect.adjustment.turning import conflicting
from cellward.protection import Protection
from cellward.solve.blas import blas_threads

CAPPED = 0.8
"""The share of the time left after which a table is looked for without caps."""


@dataclass(frozen=True)
class AdjustmentAttempt(AdjustmentQuestion):
    """One adjustment of one instance."""

    def solve(self) -> Protection:
        """What comes of it."""
        lo, hi = self.free
        still = (lo == hi)[: self.instance.cells]
        if told := next(worked_out(self.instance, self.insiders, still, self.budget), None):
            return self._worked_out(*told)
        senses = self.senses()
        lost = senses.stuck
        if len(lost) and not self.bends:
            reason = f"the bounds of {self.names(lost)} leave no value that is far enough off; {self.remedy}"
            found = self.infeasible(
                reason, "levels of single cells", self.own_cells(lost), conflict=obstacles_of_one(self, int(lost[0]))
            )
            return self._with_proof(found, senses, (Conflict.of_nothing(),)) if self.own_cells(lost) else found
        with blas_threads(self.budget.threads):
            if not len(senses.cell):
                return self._of(engines.Sensed(untouched(self.relations), senses, Room(lo, hi)))
            best: Protection | None = None
            for caps in self._caps(senses):
                sensed = self._sensed(senses, caps)
                found = self._of(sensed)
                if found.status == "infeasible" or (caps is not None and self.budget.over):
                    return found if best is None else best
                if found.publication is not None and (
                    caps is None
                    or self.method.slack is not None
                    or sensed.senses.flipped <= MOST_TURNED * len(senses.cell)
                ):
                    return found
                best = best or (found if found.publication is not None else None)
            return best or found

    def _sensed(self, senses: Senses, caps: Caps | None) -> engines.Sensed:
        soft = self.bends
        part = self.budget if caps is None or self.budget.left is None else self.budget.part(CAPPED * self.budget.left)
        if self.method.chosen or self.method.slack is not None:
            return choose(self.problem(Room(*self.free)), senses, part, self.forms, caps, self._wish(senses))
        return engines.solve_with_senses(
            self.problem(Room(*self.free)), senses, part, self.forms, soft_levels=soft, caps=caps
        )

    def _of(self, sensed: engines.Sensed) -> Protection:
        """The table published of a continuous optimum, or why there is none."""
        answer = sensed.answer
        if answer.status == "infeasible" or answer.z is None:
            return self._without(sensed)
        made = (AdjustmentResults(self).of(*one, sensed) for one in NearOptimum(self).tables(sensed))
        found = next(made, None) if self.bends or self.lowered is not None else self.first_protected(made)
        if found is not None:
            return found
        reason = f"no additive table on {self.grid_words} was found near the optimum ({answer.engine})"
        remedy = "give a grid, such as grid=1" if self.method.grid is None else "give a finer grid, or grid=None"
        remedy = "give more time" if self.budget.over else remedy
        return self.failed(f"{reason}; {remedy}", answer.engine, limit_reached=self.budget.over)

    def _caps(self, senses: Senses) -> Iterator[Caps | None]:
        """How far cells should move at most, in the order in which that is tried; in very large tables, and last, as far as they like.

        Beside senses that are given there are no caps but for headlines.
        """
        n, headline, top = self.fine.cells, np.zeros(self.wide.cells, bool), np.zeros(self.wide.cells, bool)
        if self.wide.cells < engines.DIRECT:
            if self.method.keeps != "nothing":
                moves = (self.wide.a - self.origin) % self.step != 0  # what is off the grid cannot stay
                moves[self.needs.cell] = True
                headline[:n] = headlines(self.fine.relations, first=self.method.keeps == "headlines")
                top[:n] = headlines(self.fine.relations, first=False)
                headline, top = headline & ~moves, top & headline & ~moves
            for capped in (True, False):
                if self.method.capped if capped else headline.any():
                    yield Caps.of(
                        self.wide.a,
                        Room(*self.free),
                        senses,
                        headline,
                        top,
                        n,
                        capped=capped,
                        least=2 * (self.step - 1),
                    )
        yield None

    def _with_proof(self, found: Protection, s: Senses, tree: Sequence[int | Conflict]) -> Protection:
        """The result with the tree of its certificate: branchings between the sides of cells at risk, and conflicts.

        Senses that are given are sides of ``allowed``. A proof that leans on sums at risk is not one of the table's equations alone.
        """
        n, m = self.fine.cells, self.fine.relations.equations
        conflicts = [node for node in tree if isinstance(node, Conflict)]
        if any(int(one.equation.max(initial=0)) >= m for one in conflicts):
            return found
        free = Room(*self.free)
        allowed = self.allowed(free if s.secret else s.lowered(s.asked).room(free)).permuted(np.arange(n))
        nodes = tuple(
            farkas_leaf(node.equation, node.multiplier)
            if isinstance(node, Conflict)
            else {"cell": int(s.cell[node]), "at": int(self.fine.a[s.cell[node]] - self.needs.down[node])}
            for node in tree
        )
        sought = replace(found.sought, allowed=allowed, refutation=nodes)
        return replace(found, sought=sought, shown=None)  # type: ignore[arg-type] # made of the other fields

    def _worked_out(self, name: str, cell: int) -> Protection:
        named = self.instance.labels.name(cell)
        why = f"attacker {name} works out {named} from its own cells and those that stay as they are, whatever is published of the others"
        remedy = "free fixed cells, or round or perturb the table"
        return self.infeasible(f"{why}; {remedy}", "sums of what an insider knows", [cell])

    def _without(self, sensed: engines.Sensed) -> Protection:
        """Why there is no adjustment: none can be, which is proven, or none was found."""
        answer, turned = sensed.answer, sensed.turned
        if turned is not None and turned.tree:
            cells = conflicting(turned.tree, sensed.senses)
            conflict = obstacles(self, turned.tree)
            where = (
                f", {self.names(cells)} among the cells that cannot be far enough off together" if len(cells) else ""
            )
            where = f": {together(conflict)} do not go together" if conflict else where
            reason = f"no table keeps every sum and reaches every level{where} ({answer.engine}); {self.remedy}"
            return self._with_proof(
                self.infeasible(reason, answer.engine, self.own_cells(cells), conflict=conflict),
                turned.senses,
                turned.tree,
            )
        short = (
            ""
            if turned is None or turned.found
            else (
                f": {turned.short:,} of {len(sensed.senses.cell):,} cells at risk fall short of their levels in the nearest table seen"
            )
        )
        cap = "" if self.method.max_change is None else "give a larger max_change, "
        remedy = f"{cap}give more time, or {'ask for lower levels' if short else 'another form'}"
        reason = f"no adjustment was found{self.within} ({answer.engine}; {self.took}){short}; {remedy}"
        return self.failed(reason, answer.engine, limit_reached=self.budget.over)
