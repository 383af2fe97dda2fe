"""Tree: the codes of one dimension and their sums, each with the share of its cells that are at risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.protection import Protection
from cellward.report.pictures.theme import GREY, INK, RULE, VERMILLION, cut, figure, key
from cellward.table.labels import Labels

_MOST = 40
"""Codes that are drawn: the upper ones, where there are more."""


@dataclass(frozen=True)
class Node:
    """A code, how deep it stands below the top, which node it belongs to (−1: none), how many cells it has and how many are at risk."""

    code: str
    depth: int
    parent: int
    cells: int
    at_risk: int


def title(result: Protection) -> str:  # noqa: ARG001
    """What it is called in a report."""
    return "Where the risk is"


def refuses(result: Protection) -> str | None:
    """Why there is none."""
    return (
        None
        if result.instance.labels.dims
        else "the cells of this table have numbers and no codes, so there is no tree to draw"
    )


def caption(result: Protection) -> str:
    """What to see in it."""
    dim = deepest(result)
    nodes, left = tree_of(result, dim)
    more = f" {left:,} further codes do not fit; the upper ones are shown." if left else ""
    shown = (
        "no cell is at risk"
        if not any(node.at_risk for node in nodes)
        else "the bar says how many of a code's cells are at risk"
    )
    return f"The codes of {dim}, indented below their sums; {shown}, whatever their other codes.{more}"


def draw(result: Protection, dim: str | None = None) -> Any:
    """One line a code."""
    labels = result.instance.labels
    if dim is not None and dim not in labels.dims:
        raise InputError(f"tree: there is no dimension {dim!r}; use {', '.join(labels.dims)}")
    nodes, _ = tree_of(result, deepest(result) if dim is None else dim)
    made, axes = figure(height=0.8 + 0.24 * max(len(nodes), 4))
    most = max((node.at_risk / node.cells for node in nodes), default=0) or 1.0
    for y, node in enumerate(nodes):
        x = 0.035 * node.depth
        if node.parent >= 0:
            up = 0.035 * nodes[node.parent].depth + 0.012
            axes.plot([up, up, x + 0.004], [node.parent + 0.42, y, y], color=RULE, linewidth=0.9)
        axes.text(
            x + 0.01, y, cut(node.code, 36), va="center", fontsize=9, weight="bold" if node.depth == 0 else "normal"
        )
        share = node.at_risk / node.cells
        axes.barh(y, 0.3, left=0.55, height=0.55, color=RULE, alpha=0.6)
        axes.barh(y, 0.3 * share / most, left=0.55, height=0.55, color=VERMILLION)
        said = f"R {node.at_risk:,} of {node.cells:,}" if node.at_risk else f"0 of {node.cells:,}"
        axes.text(0.86, y, said, va="center", fontsize=8.5, color=INK if node.at_risk else GREY)
    axes.set(xlim=(0, 1), ylim=(len(nodes) - 0.4, -0.6))
    axes.axis("off")
    key(axes, [("R", VERMILLION, f"cells at risk (a full bar is {100 * most:.3g} % of a code's cells)")])
    return made


def deepest(result: Protection) -> str:
    """The dimension whose codes form the deepest tree; the first of several."""
    depth = {
        dim: max(_depths(_parents(result, k)).values(), default=0) for k, dim in enumerate(result.instance.labels.dims)
    }
    return max(depth, key=lambda dim: depth[dim])


def tree_of(result: Protection, dim: str) -> tuple[list[Node], int]:
    """The codes of a dimension, each below its sum, and how many are left out."""
    labels: Labels = result.instance.labels
    k = labels.dims.index(dim)
    index, codes = labels.index[k], labels.codes[k]
    cells = np.bincount(index, minlength=len(codes))
    risk = np.bincount(index[result.instance.sensitivity.unsafe], minlength=len(codes))
    parents = _parents(result, k)
    depth = _depths(parents)
    used, first = np.unique(index, return_index=True)
    order = used[np.argsort(first)].tolist()
    below: dict[int, list[int]] = {}
    for code in order:
        below.setdefault(parents.get(code, -1), []).append(code)
    upper = sorted(order, key=lambda code: depth.get(code, 0))[:_MOST]
    kept, nodes, at = set(upper), list[Node](), dict[int, int]()
    stack = list(reversed(below.get(-1, [])))
    while stack:
        code = stack.pop()
        if code not in kept or code in at:
            continue
        at[code] = len(nodes)
        parent = at.get(parents.get(code, -1), -1)
        nodes.append(Node(codes[code], depth.get(code, 0), parent, int(cells[code]), int(risk[code])))
        stack += reversed(below.get(code, []))
    return nodes, len(order) - len(nodes)


def _depths(parents: dict[int, int]) -> dict[int, int]:
    out: dict[int, int] = {}
    for code in parents:
        path, now = [code], parents[code]
        while now in parents and now not in out and len(path) <= len(parents):
            path.append(now)
            now = parents[now]
        start = out.get(now, 0)
        for step, each in enumerate(reversed(path), start=1):
            out[each] = start + step
    return out


def _parents(result: Protection, k: int) -> dict[int, int]:
    """The sum that each code of a dimension belongs to, the first of several, read off the equations along it."""
    i, out = result.instance, dict[int, int]()
    r, index = i.relations, i.labels.index
    row, total = r.row, r.total
    parts = (total[row] >= 0) & (total[row] != r.indices)
    cell, above = r.indices[parts], total[row[parts]]
    along = np.ones(len(cell), bool)
    for other in range(len(index)):
        if other != k:
            along &= index[other][cell] == index[other][above]
    along &= index[k][cell] != index[k][above]
    pairs = np.unique(np.stack([index[k][cell[along]], index[k][above[along]]], axis=1), axis=0)
    for code, parent in pairs.tolist():
        out.setdefault(code, parent)
    return {code: parent for code, parent in out.items() if out.get(parent) != code}
