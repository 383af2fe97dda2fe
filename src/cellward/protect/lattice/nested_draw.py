"""Nested draw: neighbourhoods of a table of nested blocks, where prices and the best table disagree the most."""

from __future__ import annotations

import numpy as np

from cellward.exact import Bools, Floats, Ints
from cellward.protect.lattice.best_table import BestTable
from cellward.protect.lattice.nested import Nested

DEAR = 1.0
"""Columns whose reduced cost is more than so many mean costs, and which are where the relaxation has them, stay as they are."""
AT_ONCE = 0.5
"""How much is left of what was tried without success, whenever something is gained."""


class NestedDraw:
    """Sets of columns to be decided anew: ``family``: children of one block, ``cousins``: children of two blocks below the same one."""

    def __init__(
        self,
        nested: Nested,
        block: Ints,
        table: BestTable,
        duals: Floats | None,
        point: Floats | None,
        rng: np.random.Generator,
    ) -> None:
        self.nested, self.block, self.table, self.rng = nested, block, table, rng
        self.many = np.bincount(block, minlength=nested.blocks)
        q = table.question
        self.point = point
        self.reduced = np.zeros(q.columns)
        if duals is not None:
            self.reduced = np.abs(q.cost - np.bincount(q.indices, q.coefs * duals[table.row], minlength=q.columns))
        self.dear = DEAR * max(float(np.abs(q.cost).mean()), 1e-9)
        self.tries = np.zeros(nested.blocks)
        depth = np.arange(nested.blocks)
        self.deep = [each for each in depth.tolist() if len(nested.children(each))]
        self.deeper = [
            each
            for each in self.deep
            if sum(len(nested.children(one)) > 0 for one in nested.children(each).tolist()) > 1
        ]

    @property
    def kinds(self) -> list[str]:
        """The kinds there are."""
        return ["family", *(["cousins"] if self.deeper else [])]

    def draw(self, kind: str, size: float) -> Ints:
        """Columns of this kind, about so many."""
        worth = self._worth()
        if kind == "family":
            head = self._one(np.array(self.deep), worth)
            heads = np.array([head])
        else:
            head = self._one(np.array(self.deeper), worth)
            below = np.array([one for one in self.nested.children(head).tolist() if len(self.nested.children(one))])
            heads = self.rng.choice(below, 2, replace=False)
        inside = np.zeros(self.nested.blocks, bool)
        inside[self._chain(head)] = True
        inside[heads] = True
        eligible = self._eligible()
        many = np.bincount(self.block[eligible], minlength=self.nested.blocks)
        orders = [self.rng.permutation(self.nested.children(int(one))).tolist() for one in heads]
        total = int(many[inside].sum())
        while any(orders) and total < size:
            for order in orders:
                if order:
                    for one in self._subtree(order.pop()):
                        inside[one] = True
                        total += int(many[one])
        return np.flatnonzero(inside[self.block] & eligible)

    def tried(self, free: Ints, *, gained: bool) -> None:
        """What came of it."""
        self.tries[np.unique(self.block[free])] += 1
        if gained:
            self.tries *= AT_ONCE

    def _worth(self) -> Floats:
        """By block: what the table costs more than the relaxation there, less where it was tried."""
        x = self.table.x
        assert x is not None
        if self.point is None:
            return np.ones(self.nested.blocks)
        away = np.bincount(self.block, self.reduced * np.abs(x - self.point), minlength=self.nested.blocks)
        return np.asarray((away + 1e-6) / (1 + self.tries) ** 2)

    def _one(self, heads: Ints, worth: Floats) -> int:
        of_children = np.array([worth[self.nested.children(int(head))].sum() for head in heads])
        return int(self.rng.choice(heads, p=of_children / of_children.sum()))

    def _eligible(self) -> Bools:
        x = self.table.x
        assert x is not None
        if self.point is None:
            return np.ones(len(self.block), bool)
        return np.asarray((self.reduced <= self.dear) | (np.abs(x - self.point) > 0.5))

    def _chain(self, block: int) -> list[int]:
        chain = [block]
        while (up := int(self.nested.above[chain[-1]])) >= 0:
            chain.append(up)
        return chain

    def _subtree(self, block: int) -> list[int]:
        out, at = [block], 0
        while at < len(out):
            out.extend(self.nested.children(out[at]).tolist())
            at += 1
        return out
