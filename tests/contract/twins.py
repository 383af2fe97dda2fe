"""Results made by hand from others, to see that what is wrong with them is noticed; the one place of the contract that makes a Protection."""

from dataclasses import replace

import numpy as np

from cellward.exact import NO_BOUND
from cellward.instance import Instance
from cellward.protection import Run
from cellward.publication.values import Values
from cellward.table.relations import Relations
from cellward.table.sensitivity import Sensitivity

BEYOND = 10**6
"""A level, in units, that no publication of the bank's tables meets."""


def asking_more(result):
    """The same publication, where its first cell that is not fixed, and of which something is told, asks for more than any gives."""
    instance, told = result.instance, result.knowledge
    open_ = told.intervals & (np.maximum(told.lo, instance.lower) == -NO_BOUND)
    cell = [int(np.flatnonzero(~instance.sensitivity.fixed & ~open_)[0])]
    level = np.full(1, BEYOND * 10**instance.decimals, np.int64)
    asked = Sensitivity.of(instance.cells, cell, level, level, 0 * level)
    return replace(
        result,
        instance=replace(instance, sensitivity=asked),
        sought=replace(result.sought, bound=None),
        status="feasible",
    )


def with_values(result, v, **changes):
    """The same result with other values, and no word on how good they are."""
    sought = replace(
        result.sought, bound=None, **{name: changes.pop(name) for name in ("allowed", "aim") if name in changes}
    )
    told = replace(result.knowledge, v=v)
    return replace(result, publication=Values(told), sought=sought, status="feasible", **changes)


def of_the_published(result, own):
    """A result whose true values are the published ones of another, with nobody at risk; found later, by another engine.

    ``own``: fields that hang on the true values, from the instance.
    """
    instance = replace(result.instance, a=result.scaled, sensitivity=Sensitivity.none(result.instance.cells))
    return replace(
        with_values(result, result.scaled, instance=instance, **own(instance)), run=Run(engine="other", seconds=1.0)
    )


def repeated(instance, which):
    """The same instance with one equation stated twice, the second time negated."""
    r = instance.relations
    rows = [r.equation(j) for j in range(r.equations)]
    rhs, cells, coefs = rows[which]
    extra = Relations.from_rows(r.cells, [*rows, (-rhs, cells, [-c for c in coefs])])
    fields = {name: getattr(instance, name) for name in instance.__dataclass_fields__}
    return Instance(**{**fields, "relations": extra})
