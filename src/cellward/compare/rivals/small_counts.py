"""Small counts: counts below the base, in cells that are no sum, become 0 or the base; all others stay, and the sums are added up anew.

Which go up is chosen greedily, the one next that fits best to what the sums still lack, as R's SmallCountRounding does. Whoever knows the base β
knows 0 ≤ y < β where v = 0, 0 < y ≤ β where v = β, and y = v elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.compare.rivals.rival import Rival, of_leaves, refuse_no_counts, refuse_no_leaves
from cellward.exact import Bools, Ints
from cellward.instance import Instance
from cellward.protect.option import Whole, option
from cellward.publication.values import Values


@dataclass(frozen=True)
class SmallCounts(Rival):
    """Small-count rounding of inner cells, greedy, as statistical offices use it for censuses."""

    word = "small-counts"
    title = "small-count rounding"
    tells = "printed 0 is less than a base, a printed base at most that and not 0, and every other inner cell is true"

    base: int = option(5, Whole(2, 1000), "Counts below it become 0 or the base.", first=True)

    def accepts(self, instance: Instance) -> str | None:
        """Counts that are sums of leaves."""
        return refuse_no_counts(instance, self.title) or refuse_no_leaves(instance, self.title)

    def print_of(self, instance: Instance, rng: np.random.Generator) -> Values:  # noqa: ARG002
        """Leaves rounded, sums added up."""
        leaf = instance.a[instance.relations.leaf_form.leaves]
        small = (leaf > 0) & (leaf < self.base)
        v = np.where(small, np.where(self._up(instance, leaf, small), self.base, 0), leaf)
        zero, full = v == 0, v == self.base
        lo = np.where(zero, 0, np.where(full, 1, v))
        hi = np.where(zero, self.base - 1, v)
        return of_leaves(instance, v, lo, hi)

    def _up(self, instance: Instance, leaf: Ints, small: Bools) -> Bools:
        """Those that go up: as many as keep the total nearest, each the one whose sums lack most when it is its turn."""
        form = instance.relations.leaf_form
        mine = np.flatnonzero(small)
        n = form.matrix.tocsc()[:, mine].astype(np.int64)
        rows = n.tocsr()
        lacking = np.asarray(n @ leaf[mine])
        score = np.asarray(n.T @ lacking)
        up = np.zeros(len(leaf), bool)
        for _ in range((2 * int(leaf[mine].sum()) + self.base) // (2 * self.base)):
            k = int(score.argmax())
            up[mine[k]] = True
            column = n[:, [k]]
            score -= self.base * np.asarray((rows.T @ column).todense()).ravel()
            score[k] = np.iinfo(np.int64).min // 2
        return up
