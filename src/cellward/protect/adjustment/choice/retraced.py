"""Retraced: a tree over classes of cells that move alike, as one over cells, with multipliers of the table's equations at its leaves.

In leaves a node takes a twentieth of the time, so that several things can be looked at before each is split; and where one of several cells that move
alike is decided, the relaxation by equations knows what the others do.
"""

from __future__ import annotations

import numpy as np

from cellward.exact import Ints
from cellward.protect.adjustment.choice.classes import Classes
from cellward.protect.adjustment.choice.envelope import Envelope, Relaxed
from cellward.protect.adjustment.choice.tree import Node, Searched
from cellward.solve.budget import Budget


def retraced(searched: Searched, classes: Classes, relaxation: Envelope, budget: Budget) -> Searched | None:
    """The tree with what the relaxation by equations says of each of its leaves; None where that is not to be had in time."""
    cell, relaxation.budget = _deciding(classes, relaxation), budget

    def again(node: Node, decided: Ints) -> Node | None:
        if budget.over:
            return None
        if node.split is None:
            found = relaxation.solve(decided)
            return None if found.status == "unknown" else Node(decided, found)
        k = int(cell[node.split])
        sides: dict[int, Node] = {}
        for below, side in zip(node.sides, (-1, 1), strict=True):
            taken = decided.copy()
            taken[k] = side * classes.sign[k]
            made = again(below, taken)
            if made is None:
                return None
            sides[int(taken[k])] = made
        least = min(side.relaxed.bound for side in sides.values())
        return Node(decided, Relaxed("optimal", least), k, (sides[-1], sides[1]))

    root = again(searched.root, relaxation.sides.only.copy())
    return None if root is None else Searched(float("inf"), None, root.relaxed.bound, root, searched.nodes)


def _deciding(classes: Classes, relaxation: Envelope) -> Ints:
    """Of each class the cell at risk of the largest levels."""
    order = np.argsort(relaxation.sides.up + relaxation.sides.down, kind="stable")
    cell = np.zeros(len(classes.at), np.int64)
    cell[classes.of[order]] = order
    return cell
