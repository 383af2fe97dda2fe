"""The hierarchy of each dimension, read off a table's equations: what a τ-ARGUS user needs beside the cells."""

from __future__ import annotations

from cellward.errors import InputError
from cellward.hierarchy import Hierarchy
from cellward.table.table import Table


def hierarchies_of(table: Table) -> dict[str, Hierarchy]:
    """One tree a dimension, the total its root; refused where the equations are no sums within one dimension, or no trees."""
    labels, r = table.labels, table.relations
    if not labels.dims:
        raise InputError("the table has cells by number only, and τ-ARGUS tables have dimensions; write it as .jj")
    below: list[dict[int, set[int]]] = [{} for _ in labels.dims]
    seen: set[tuple[int, int]] = set()
    for j in range(r.equations):
        rhs, members, coefs = r.equation(j)
        total = int(r.total[j])
        parts = [i for i in members if i != total]
        ones = {c for i, c in zip(members, coefs, strict=True) if i != total}
        varying = [k for k, index in enumerate(labels.index) if any(index[i] != index[total] for i in parts)]
        if total < 0 or rhs or len(ones) != 1 or abs(ones.pop()) != 1 or len(varying) != 1:
            raise InputError(
                f"equation {j}, {table.equation_text(j)}, is no sum within one dimension; write the table as .jj"
            )
        (k,) = varying
        if (k, total) in seen:
            raise InputError(
                f"{labels.name(total)} has several sums over {labels.dims[k]}, and a τ-ARGUS table one; write two tables"
            )
        seen.add((k, total))
        below[k].setdefault(int(labels.index[k][total]), set()).update(int(labels.index[k][i]) for i in parts)
    trees: dict[str, Hierarchy] = {}
    for dim, codes, own, root in zip(labels.dims, labels.codes, below, labels.totals, strict=True):
        if not own or root is None:
            raise InputError(
                f"{dim} has no total, which a τ-ARGUS table needs; add the total, or leave the dimension out"
            )
        tree = Hierarchy(tuple((codes[p], tuple(codes[c] for c in sorted(parts))) for p, parts in sorted(own.items())))
        held = [code for _, children in tree.sums for code in children]
        if tree.roots != (root,) or len(set(held)) < len(held):
            raise InputError(
                f"the sums over {dim} are no tree below {root}, which is all that a τ-ARGUS table can hold; write the table as .jj"
            )
        trees[dim] = tree
    return trees
