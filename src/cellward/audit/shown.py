"""Shown: what is shown of a publication, each part when it is first asked for: the levels by witnesses, the least objective by a proof."""

from __future__ import annotations

from functools import cached_property

from cellward.audit.bound import BoundProof, nothing_proven, prove_bound
from cellward.audit.evidence import Evidence, show_levels
from cellward.audit.sums_as_cells import instance_of_sums, publication_of_sums
from cellward.instance import Instance
from cellward.objective import Objective
from cellward.publication.publication import Publication

LEAST_NODES, MOST_NODES, SEARCHED = 50, 2000, 10**6
"""A search tree is proven up to this many nodes, fewer in large tables: cells times nodes stay near SEARCHED."""


class Shown:
    """Of one instance and what is published of it (None: nothing)."""

    def __init__(self, instance: Instance, publication: Publication | None, sought: Objective, status: str) -> None:
        self.instance, self.publication, self.sought, self.status = instance, publication, sought, status

    @cached_property
    def evidence(self) -> Evidence:
        """Witness tables for the levels, or the requirements that fail."""
        assert self.publication is not None
        return show_levels(self.instance, self.publication)

    @cached_property
    def sums(self) -> Shown | None:
        """The same seen with the sums of cells at risk as further cells, for what is to be shown of them; None where there are none."""
        if self.publication is None or not self.publication.knowledge.intervals:
            return None
        extended = instance_of_sums(self.instance, self.publication.knowledge)
        if extended is None:
            return None
        many = len(self.instance.sensitivity.sums)
        return Shown(extended, publication_of_sums(self.publication.knowledge, many), Objective(), "feasible")

    @cached_property
    def bound(self) -> BoundProof:
        """What is proven of the least objective possible, or that there is no table at all, in exact arithmetic."""
        allowed, values = self.sought.allowed, None if self.publication is None else self.publication.v
        if allowed is None or (self.sought.measure is not None and values is not None):
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
            most_nodes=nodes,
            search=self.sought.search,
        )
