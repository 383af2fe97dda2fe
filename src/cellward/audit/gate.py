"""Gate: before anything is released, another table is shown for every cell at risk in which that cell has another value.

Levels say how far attackers must be kept off; this is asked of every release, whatever its method and whether levels are looked at or not: the
public, who knows the equations, the public bounds, that true values lie on the table's grid and all that is printed, must not know the value of a
cell at risk. Where values are only adjusted, of which nothing follows in intervals, what is printed must not be the true value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cellward.audit.ends import HIGH, LOW, Witness
from cellward.audit.mended import mended
from cellward.audit.region import Region
from cellward.audit.settle import Question, settle
from cellward.exact import NO_BOUND, Ints
from cellward.instance import Instance
from cellward.publication.knowledge import Knowledge
from cellward.publication.publication import Publication
from cellward.solve.budget import Budget
from cellward.table.levels import Levels
from cellward.table.relations import Relations

LARGE = 4000
"""Cells from which one that is proven to be given away is enough: the others are not looked at."""
REMEDY = "protect it by other options or another method, or declare it safe if it need not be protected"


def given_away(
    instance: Instance, publication: Publication, known: Iterable[Witness] = (), budget: Budget | None = None
) -> tuple[str, ...]:
    """A sentence for each cell at risk that is not shown to stay unknown; ``known``: tables that attackers must think possible, shown before."""
    return told_of(instance, publication, not_unknown(instance, publication, known, budget))


def told_of(instance: Instance, publication: Publication, cells: Ints) -> tuple[str, ...]:
    """The sentences of these cells."""
    word = "given away by what is published" if publication.knowledge.intervals else "published as it is"
    return tuple(f"{instance.labels.name(int(i))} is {word}; {REMEDY}" for i in cells)


def not_unknown(
    instance: Instance, publication: Publication, known: Iterable[Witness] = (), budget: Budget | None = None
) -> Ints:
    """The same as cells."""
    return kept_unknown(instance, publication, known, budget)[0]


def kept_unknown(
    instance: Instance,
    publication: Publication,
    known: Iterable[Witness] = (),
    budget: Budget | None = None,
    others: Sequence[Witness] = (),
) -> tuple[Ints, list[Witness]]:
    """The same, and the tables that show it of the others, but for those known; of a large table only the cells that are proven to be given away, if
    there are any. ``others``: tables found for another publication, to begin with."""
    unsafe, unit = instance.sensitivity.unsafe, instance.sensitivity.unit
    knowledge = publication.knowledge
    if not knowledge.intervals:
        assert publication.v is not None
        return np.asarray(unsafe[np.abs(publication.v[unsafe] - instance.a[unsafe]) < unit]), []
    region = _public(instance, knowledge)
    for witness in known:
        if witness.denominator == 1 and not (witness.shift % unit).any() and len(unsafe):
            shift = witness.shift // unit
            if not knowledge.open_ends or region.contains(region.center + shift):
                unsafe = unsafe[shift[unsafe] == 0]
    if not len(unsafe):
        return unsafe, []
    none = np.zeros(len(unsafe), np.int64)
    asked = [Question(region, levels=Levels(unsafe, none, none, none + 1))]
    large, budget = instance.cells >= LARGE, budget or Budget()
    inside = [region.center]
    if others and unit == 1:
        moves = mended(others, region.form, region.lo - region.center, region.hi - region.center)
        inside += [region.center + shift for shift in moves]
    (ends,) = settle(asked, instance.labels, inside, budget, until_missed=large)
    if large and ends.out_of_reach:
        return unsafe[ends.outer[LOW][unsafe] == ends.outer[HIGH][unsafe]], []
    return unsafe[~ends.met], [Witness(one.shift * unit, one.denominator) for one in ends.witnesses]


def _public(instance: Instance, knowledge: Knowledge) -> Region:
    """The tables on the grid of the table that anybody must think possible, counted in its unit."""
    unit, r = instance.sensitivity.unit, instance.relations
    lo, hi = knowledge.lo, knowledge.hi
    if knowledge.open_ends:
        free = lo < hi
        lo, hi = np.where(free, lo + 1, lo), np.where(free, hi - 1, hi)
    lo, hi = np.maximum(instance.lower, lo), np.minimum(instance.upper, hi)
    if unit == 1:
        return Region(r, lo, hi, True, instance.a)
    coarse = r if not r.rhs.any() else Relations(r.cells, r.indptr, r.indices, r.coefs, r.rhs // unit)
    lo = np.where(lo > -NO_BOUND, -(-lo // unit), -NO_BOUND)
    hi = np.where(hi < NO_BOUND, hi // unit, NO_BOUND)
    return Region(coarse, lo, hi, True, instance.a // unit)
