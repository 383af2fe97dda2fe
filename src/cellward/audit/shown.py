"""Shown: what is shown of a publication, each part when it is first asked for: the levels by witnesses, the least objective by a proof."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cellward.audit.bound import BoundProof, nothing_proven, prove_bound, refuted
from cellward.audit.ends import Witness
from cellward.audit.evidence import LARGE, Evidence, show_levels
from cellward.audit.pattern_bound import prove_pattern
from cellward.audit.sums_as_cells import instance_of_sums, publication_of_sums
from cellward.audit.width_bound import prove_widths
from cellward.instance import Instance
from cellward.objective import Objective
from cellward.publication.allowed import AllowedSet
from cellward.publication.publication import Publication
from cellward.solve.budget import AT_THE_END_S, Budget
from cellward.table.cell_sums import add_up

LEAST_NODES, MOST_NODES, SEARCHED = 50, 2000, 10**6
"""A search tree is proven up to this many nodes, fewer in large tables: cells times nodes stay near SEARCHED."""
VERY_LARGE = 10_000
"""Cells from which a bound on what is not called optimal is proven without a linear program."""
PROOF_SHARE = 0.4
"""Of the time left, the part that the proof of the bound may take."""


class ShownLevels:
    """What is shown of the levels of one instance by what is published of it; ``found``: the evidence, once it was looked for."""

    def __init__(self, instance: Instance, publication: Publication) -> None:
        self.instance, self.publication = instance, publication
        self.found: Evidence | None = None
        self.budget: Budget | None = None
        self.known: tuple[Witness, ...] = ()
        """Tables that attackers must think possible, to begin with: found for another publication of the same instance, or for other levels."""

    @property
    def evidence(self) -> Evidence:
        """Witness tables, or the requirements that fail."""
        if self.found is None:
            budget = None if self.budget is None else self.budget.to_end
            self.found = show_levels(self.instance, self.publication, budget, self.known)
        return self.found

    @property
    def sums(self) -> Shown | None:
        """The same seen with the sums of cells at risk as further cells, for what is to be shown of them; None where there are none.

        Tables that show levels of cells show most levels of sums as well.
        """
        seen, found = self._sums, self.found
        if seen is not None and seen.levels is not None and seen.found is None and found is not None:
            tables, sums = (*found.tables, *(one.witness for one in found.shown)), self.instance.sensitivity.sums
            seen.levels.known = tuple(Witness(add_up(one.shift, sums), one.denominator) for one in tables)
        return seen

    @cached_property
    def _sums(self) -> Shown | None:
        extended = instance_of_sums(self.instance, self.publication.knowledge)
        if extended is None:
            return None
        told = publication_of_sums(self.publication.knowledge, self.instance.sensitivity.sums)
        allowed = None if told.v is None else AllowedSet(told.v, told.v, np.zeros_like(told.v))
        made = Shown(extended, told, Objective(allowed=allowed), "feasible").by(self.budget)
        if self.found is not None:  # what shows the cells often shows their sums
            sums, known = (
                self.instance.sensitivity.sums,
                [*self.found.tables, *(one.witness for one in self.found.shown)],
            )
            made.after(Evidence(0, tables=tuple(Witness(add_up(one.shift, sums), one.denominator) for one in known)))
        return made


class Shown:
    """What is shown of one instance and what is published of it (None: nothing)."""

    def __init__(
        self,
        instance: Instance,
        publication: Publication | None,
        sought: Objective,
        status: str,
        levels: ShownLevels | None = None,
    ) -> None:
        self.instance, self.publication, self.sought, self.status = instance, publication, sought, status
        self.levels = ShownLevels(instance, publication) if levels is None and publication is not None else levels
        self.budget: Budget | None = None

    def of(self, instance: Instance, publication: Publication | None, sought: Objective) -> bool:
        """Whether this is shown of these very parts."""
        return self.instance is instance and self.publication is publication and self.sought is sought

    def knowing(self, other: Shown) -> Shown:
        """The same with what was shown already of the same values against the same attackers."""
        mine, known = self.publication, other.publication
        if mine is None or known is None or self.instance is not other.instance:
            return self
        same = np.array_equal(mine.start, known.start)
        if not same:
            return self
        made = Shown(self.instance, mine, self.sought, self.status, other.levels)
        made.budget = self.budget
        return made

    def by(self, budget: Budget | None) -> Shown:
        """What is not shown within the budget is not shown."""
        self.budget = budget
        if self.levels is not None:
            self.levels.budget = budget
        return self

    def after(self, other: Evidence | None) -> None:
        """Begin with the tables that were found for another publication of the same instance."""
        if self.levels is not None and other is not None:
            self.levels.known = (*other.tables, *(one.witness for one in other.shown))

    def known(self, evidence: Evidence) -> None:
        """Take this evidence, which was found of the same publication in another order of its cells, instead of looking for it again."""
        assert self.levels is not None
        self.levels.found = evidence

    @property
    def found(self) -> Evidence | None:
        """The evidence, where it was looked for already."""
        return None if self.levels is None else self.levels.found

    @property
    def evidence(self) -> Evidence:
        """Witness tables for the levels, or the requirements that fail."""
        assert self.levels is not None
        return self.levels.evidence

    @property
    def sums(self) -> Shown | None:
        """What is shown of the sums of cells at risk; None where there are none."""
        return None if self.levels is None else self.levels.sums

    @property
    def _for_the_bound(self) -> Budget | None:
        """A part of what is left: the certificate has to be written and checked as well."""
        if self.budget is None or self.budget.left is None:
            return self.budget
        return self.budget.to_end.part(PROOF_SHARE * max(self.budget.left, AT_THE_END_S))

    @property
    def _too_long(self) -> bool:
        """Whether the linear program of a large table that is not called optimal would take longer than there is time: with prices at hand, which
        prove as much, or where it is very large."""
        if self.budget is None or not self.budget.limited or self.status != "feasible":
            return False
        return self.instance.cells >= (VERY_LARGE if self.sought.multipliers is None else LARGE)

    @cached_property
    def bound(self) -> BoundProof:
        """What is proven of the least objective possible, or that there is no table at all, in exact arithmetic."""
        if self.sought.pattern:
            optimal = self.status == "optimal"
            return prove_pattern(
                self.instance, self.publication, self.sought, optimal=optimal, budget=self._for_the_bound
            )
        if self.sought.grid is not None and self.sought.allowed is not None:
            return prove_widths(self.instance, self.publication, self.sought)
        allowed, values = self.sought.allowed, None if self.publication is None else self.publication.v
        if values is None and self.sought.refutation:
            return refuted(self.sought.refutation)
        no_bound = self.sought.measure is not None or (self.status == "feasible" and not self.instance.weight.any())
        if allowed is None or (no_bound and values is not None):
            return nothing_proven()
        # What is not called optimal cannot be proven so: the root's bound is then all there is to get.
        nodes = (
            1
            if self.status == "feasible"
            else max(LEAST_NODES, min(MOST_NODES, SEARCHED // max(self.instance.cells, 1)))
        )
        return prove_bound(
            self.instance,
            allowed,
            v=values,
            aim=self.sought.aim,
            multipliers=self.sought.multipliers,
            hint=self.sought.tree,
            most_nodes=nodes,
            search=self.sought.search and not self._too_long,
            budget=self._for_the_bound,
        )
