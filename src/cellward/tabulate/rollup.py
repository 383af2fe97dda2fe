"""Rolling up: from the leaves to every cell of every table, one dimension and one height of its hierarchy at a time."""

from __future__ import annotations

import numpy as np

from cellward.errors import InputError
from cellward.exact import Ints
from cellward.table.lattice import MOST_CELLS, Lattice
from cellward.table.relations import ranges
from cellward.tabulate.states import States


def roll_up(lattice: Lattice, leaf: Ints, states: States) -> tuple[Ints, States]:
    """The keys and states of all cells, keys in increasing order; ``leaf`` holds the codes of the leaf states, one row a dimension."""
    parts = [_table(lattice, term, leaf, states) for term in lattice.terms]
    if len(parts) == 1:
        return parts[0]
    key = np.concatenate([own for own, _ in parts])
    every = parts[0][1]
    for _, more in parts[1:]:
        every = every.then(more)
    distinct, first = np.unique(key, return_index=True)  # a cell of two tables is the same in both
    return distinct, every.take(first)


def _table(lattice: Lattice, term: tuple[int, ...], leaf: Ints, states: States) -> tuple[Ints, States]:
    code = leaf.copy()
    outside = [dim for dim in range(len(lattice.axes)) if dim not in term]
    for dim in outside:
        code[dim] = lattice.total(dim)
    key, own = states.merged(lattice.key(code))
    for dim in term:
        axis, stride = lattice.axes[dim], lattice.stride[dim]
        code_here = key // stride % len(axis.codes)
        for child, parent in axis.steps(np.unique(code_here)):
            start, stop = (np.searchsorted(child, code_here, side=side) for side in ("left", "right"))
            part = np.repeat(np.arange(len(key)), stop - start)
            above = key[part] + stride * (parent[ranges(start, stop)] - code_here[part])
            fresh_key, fresh = own.take(part).merged(above)
            key, own = np.concatenate((key, fresh_key)), own.then(fresh)
            code_here = key // stride % len(axis.codes)
            if len(key) > MOST_CELLS:
                raise InputError(
                    f"the table would have more than {MOST_CELLS:,} cells; drop a dimension or coarsen its codes"
                )
    order = np.argsort(key, kind="stable")
    return key[order], own.take(order)
