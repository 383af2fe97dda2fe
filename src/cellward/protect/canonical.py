"""Canonical order: an instance is solved with its cells, equations and attackers in an order of their own, so that the order of rows, columns and
dimensions in a file has no part in what is released; where optima tie, that order decides which is taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.audit.evidence import Evidence
from cellward.exact import Ints
from cellward.instance import Instance
from cellward.protection import Failure, Protection
from cellward.solve.budget import Budget
from cellward.table.array import margins
from cellward.table.relations import Relations

if TYPE_CHECKING:
    from cellward.protect.method import Method

ONE_A_CELL = ("base", "within", "steps")
"""What a method states as a list of one entry a cell."""


def solve_in_canonical_order(method: Method, instance: Instance, budget: Budget, key: bytes) -> Protection:
    """What a method makes of an instance, found in canonical order and given in the instance's own."""
    order = CanonicalOrder.of(instance)
    if order.own:
        return method.solve(instance, budget, key)
    moved = method.permuted(instance, order.cells)
    return order.back(moved.solve(order.instance, budget, key), instance)


@dataclass(frozen=True, eq=False)
class CanonicalOrder:
    """Cell cells[k], equation equations[k] and attacker attackers[k] of an instance come k-th; ``instance``: it in this order."""

    cells: Ints
    equations: Ints
    attackers: Ints
    instance: Instance

    @staticmethod
    def of(instance: Instance) -> CanonicalOrder:
        """That of an instance; one without dimensions has its own, the cells' numbers and the order of its equations."""
        cells, own = instance.labels.canonical_order(), instance.relations
        stays = _rises(cells)
        equations = np.arange(own.equations, dtype=np.int64)
        relations = own
        if instance.labels.dims and not (stays and own.array_shape is not None):
            turned = own if stays else own.permuted(cells)
            equations, relations = _ordered(turned, _shape(instance))
        names = [attacker.name for attacker in instance.attackers]
        attackers = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        if stays and _rises(equations) and _rises(attackers):
            return CanonicalOrder(cells, equations, attackers, instance)
        turned_instance = replace(
            instance if stays else instance.permuted(cells),
            relations=relations,
        )
        everyone = turned_instance.attackers
        turned_instance = replace(turned_instance, attackers=tuple(everyone[k] for k in attackers.tolist()))
        return CanonicalOrder(cells, equations, attackers, turned_instance)

    @property
    def own(self) -> bool:
        """Whether it is the order that the instance has."""
        return _rises(self.cells) and _rises(self.equations) and _rises(self.attackers)

    def back(self, found: Protection, instance: Instance) -> Protection:
        """A result in this order as one of the instance it was made of."""
        cells, equations = np.argsort(self.cells), np.argsort(self.equations)
        publication = None if found.publication is None else found.publication.take(cells)
        own = instance.finer(found.instance.beyond - instance.beyond)
        if {one.name for one in found.instance.attackers} != {one.name for one in instance.attackers}:
            # A method may set some aside, of whom nothing is claimed; the others stand in their own order, and new ones last.
            place = {one.name: k for k, one in enumerate(instance.attackers)}
            kept = sorted(found.instance.attackers, key=lambda one: place.get(one.name, len(place)))
            own = replace(own, attackers=tuple(one.permuted(self.cells) for one in kept))
        lower, upper = found.instance.lower[cells], found.instance.upper[cells]
        if not np.array_equal(lower, own.lower) or not np.array_equal(upper, own.upper):  # a method may widen bounds
            own = replace(own, lower=lower, upper=upper)
        weight, places = found.instance.weight[cells], found.instance.weight_decimals
        if places != own.weight_decimals or not np.array_equal(weight, own.weight):  # a method may make some count less
            own = replace(own, weight=weight, weight_decimals=places)
        made = replace(
            found,
            instance=own,
            method=self._stated(found.method, cells),
            sought=found.sought.permuted(cells, equations),
            publication=publication,
            failure=None if found.failure is None else self._failure(found.failure, instance),
            details=None if found.details is None else found.details.renumbered(self.cells),
            shown=None,  # type: ignore[arg-type] # made of the other fields
        )
        made.shown.by(found.shown.budget)
        evidence = found.shown.found
        if evidence is not None:
            made.shown.known(evidence.permuted(cells, self.attackers))
        elif found.shown.levels is not None and found.shown.levels.known:
            made.shown.after(Evidence(0, tables=found.shown.levels.known).permuted(cells, self.attackers))
        return made

    def _stated(self, stated: Any, cells: Ints) -> dict[str, Any]:
        lists = {name: stated[name] for name in ONE_A_CELL if isinstance(stated.get(name), list)}
        return {**stated, **{name: [one[i] for i in cells.tolist()] for name, one in lists.items()}}

    def _failure(self, failure: Failure, instance: Instance) -> Failure:
        cells = np.argsort(self.cells)
        return replace(
            failure,
            cells=tuple(sorted(int(self.cells[i]) for i in failure.cells)),
            equations=tuple(sorted(int(self.equations[j]) for j in failure.equations)),
            conflict=tuple(replace(one, cell=int(self.cells[one.cell])) for one in failure.conflict),
            proposal=None if failure.proposal is None else failure.proposal.permuted(instance, cells),
            knowledge=None if failure.knowledge is None else failure.knowledge.take(cells),
        )


def _rises(order: Ints) -> bool:
    return bool(np.array_equal(order, np.arange(len(order))))


def _shape(instance: Instance) -> tuple[int, ...] | None:
    """The inner shape of a full array with its dimensions in canonical order."""
    shape = instance.relations.array_shape
    return None if shape is None else tuple(shape[k] for k in instance.labels.sorted_dims)


def _ordered(turned: Relations, shape: tuple[int, ...] | None) -> tuple[Ints, Relations]:
    """The canonical order of the equations, and these in it; those of a full array as an array has them, which engines know to use."""
    equations = turned.canonical_order()
    if shape is None:
        return equations, turned.take(equations)
    array = margins(shape)
    out = np.empty_like(equations)
    out[array.canonical_order()] = equations
    return out, array
