"""Utility: what users lose, measured on the number they take for each cell.

Legend: a true values, e what a user takes them for; shares are of Σ|a|. Of a range at least a quarter of its width is lost: nobody knows where in it
the value is. None: not to be measured on this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellward.compare.codes import CodeTree
from cellward.compare.estimate import estimate
from cellward.exact import Floats, Ints
from cellward.instance import Instance
from cellward.publication.publication import Publication

FEW = 3
"""Of fewer cells no correlation or slope is said."""


@dataclass(frozen=True, kw_only=True)
class Utility:
    """What is lost of a table.

    ``loss``: Σ|e − a| as a share; ``by_level`` the same of each level of sums, ``leaves`` of the cells that are no sum, ``margins`` of the sums.
    ``margin_change``: the largest change of a sum, as a share of it; ``total_change``: that of the highest sum. ``bias``: Σ(e − a) over the leaves as
    a share. ``rank``: rank correlation of the leaves. ``cramers_v``, ``chi_square``: the largest change of Cramér's V, and of χ² as a share, among
    two-way slices. ``slope``: the change, as a share, of the slope when leaves are regressed on the margins they are in. ``changed``: the share of
    cells off by anything; ``unprinted``: of those with no single value printed.
    """

    loss: float
    by_level: tuple[float, ...]
    leaves: float
    margins: float
    margin_change: float
    total_change: float
    bias: float
    rank: float | None
    cramers_v: float | None
    chi_square: float | None
    slope: float | None
    changed: float
    unprinted: float


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The true table with what is measured of it once, for all methods."""

    instance: Instance

    @cached_property
    def slices(self) -> list[Ints]:
        """The two-way slices; none in a table without two dimensions."""
        labels = self.instance.labels
        if len(labels.dims) < 2:
            return []
        return [matrix for _, matrix in CodeTree.of(self.instance.relations, labels).two_way()]

    @cached_property
    def margins_of(self) -> tuple[Ints, Ints]:
        """(leaf, sum that it is a term of) pairs."""
        r = self.instance.relations
        total = r.total[r.row]
        mine = (total >= 0) & (total != r.indices) & (r.height[r.indices] == 0)
        return r.indices[mine], total[mine]

    def measure(self, instance: Instance, publication: Publication) -> Utility:
        """What users lose of the table when this is printed; ``instance``: the same table, in units that may be finer."""
        a = self.instance.a.astype(float)
        taken, finer = estimate(instance, publication), 10.0 ** (instance.decimals - self.instance.decimals)
        e = taken.values / finer
        height = self.instance.relations.height
        moved, size = np.maximum(np.abs(e - a), taken.doubt / finer), np.abs(a)
        leaf, sums = height == 0, height > 0
        top = int(np.lexsort((-size, -height))[0]) if len(a) else 0
        both = [(association(a, cells), association(e, cells)) for cells in self.slices]
        known = [(true, seen) for true, seen in both if true is not None and seen is not None]
        return Utility(
            loss=share(moved, size),
            by_level=tuple(share(moved[height == h], size[height == h]) for h in range(int(height.max(initial=0)) + 1)),
            leaves=share(moved[leaf], size[leaf]),
            margins=share(moved[sums], size[sums]),
            margin_change=float((moved / np.maximum(size, 1))[sums].max(initial=0.0)),
            total_change=float(moved[top] / max(size[top], 1)) if len(a) else 0.0,
            bias=share((e - a)[leaf], size[leaf]),
            rank=rank_correlation(a[leaf], e[leaf]),
            cramers_v=max((abs(seen[1] - true[1]) for true, seen in known), default=None),
            chi_square=max((relative(seen[0], true[0]) for true, seen in known), default=None),
            slope=self._slope_change(a, e),
            changed=float((moved > 0).mean()) if len(a) else 0.0,
            unprinted=taken.unprinted,
        )

    def _slope_change(self, a: Floats, e: Floats) -> float | None:
        true, seen = self._slope(a), self._slope(e)
        return None if true is None or seen is None or not true else relative(seen, true)

    def _slope(self, y: Floats) -> float | None:
        """Leaves regressed on the mean of the margins that they are in."""
        leaf, margin = self.margins_of
        cells, place = np.unique(leaf, return_inverse=True)
        if len(cells) < FEW:
            return None
        x = np.bincount(place, y[margin]) / np.bincount(place)
        spread = float(((x - x.mean()) ** 2).sum())
        return float(((x - x.mean()) * (y[cells] - y[cells].mean())).sum()) / spread if spread > 0 else None


def share(moved: Floats, size: Floats) -> float:
    """Of the whole; 0 of nothing."""
    whole = float(size.sum())
    return float(moved.sum()) / whole if whole else 0.0


def relative(seen: float, true: float) -> float:
    """A change as a share of the truth."""
    return abs(seen - true) / abs(true) if true else float(seen != true)


def rank_correlation(a: Floats, e: Floats) -> float | None:
    """Spearman's, ties sharing their mean rank; None where one of them is the same everywhere.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0, 9.0]), np.array([0.0, 5.0, 5.0, 10.0])).__round__(3)
    0.949
    """
    if len(a) < FEW or np.ptp(a) == 0 or np.ptp(e) == 0:
        return None
    from scipy.stats import rankdata

    return float(np.corrcoef(rankdata(a), rankdata(e))[0, 1])


def association(values: Floats, cells: Ints) -> tuple[float, float] | None:
    """χ² and Cramér's V of a slice: absent cells and what is below 0 count as 0; None where less than two rows or columns hold anything.

    >>> chi, v = association(np.array([10.0, 0.0, 0.0, 10.0]), np.array([[0, 1], [2, 3]]))
    >>> chi, v
    (20.0, 1.0)
    """
    observed = np.where(cells >= 0, np.maximum(values[cells], 0.0), 0.0)
    observed = observed[observed.sum(axis=1) > 0][:, observed.sum(axis=0) > 0]
    if min(observed.shape) < 2:
        return None
    whole = float(observed.sum())
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / whole
    chi = float(((observed - expected) ** 2 / expected).sum())
    return chi, float(np.sqrt(chi / whole / (min(observed.shape) - 1)))
