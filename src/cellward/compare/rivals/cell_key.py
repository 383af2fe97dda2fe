"""Cell key: every cell gets noise from a published table of probabilities, by a key that is the sum of its records' keys; margins do not add up.

The same records give the same noise wherever they are counted. Legend: i the true count, v what is printed, P(i → v) the table of probabilities,
D its largest deviation. Whoever knows the table knows that y is one of the i with P(i → v) > 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cellward.compare.rivals.rival import Rival, refuse_no_counts, told
from cellward.errors import InputError
from cellward.exact import Ints
from cellward.instance import Instance
from cellward.publication.values import Values

Row = Mapping[int, float]

EXAMPLE: tuple[Row, ...] = (
    {0: 1.0},
    {0: 0.50833333, 2: 0.47500000, 3: 0.01666667},
    {0: 0.16155827, 2: 0.55565037, 3: 0.24246618, 4: 0.04032518},
    {2: 0.41231301, 3: 0.28806097, 4: 0.18693903, 5: 0.11268699},
    {2: 0.07012498, 3: 0.24450007, 4: 0.37074990, 5: 0.24450007, 6: 0.07012498},
)
"""The example table of counts of the R package ptable (``pt_ex_cnts()``: D = 2, V = 1.05, js = 1), as its tests print it. Row i: of what becomes of a
count i; the last one holds for all larger counts too, by deviations."""
KEYS = 2**32
"""Keys are whole numbers below this, which stand for key/2^32 of the literature."""
CLOSE = 1e-6


@dataclass(frozen=True)
class CellKey(Rival):
    """The cell-key method (ABS, Eurostat, Destatis, ONS) with a published table of probabilities."""

    word = "cell-key"
    title = "cell key"
    tells = "the true count is one that the published probabilities can turn into the printed one"

    probabilities: tuple[Row, ...] = field(default=EXAMPLE, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for i, row in enumerate(self.probabilities):
            if abs(sum(row.values()) - 1) > CLOSE or min(row.values()) < 0 or min(row) < 0:
                raise InputError(
                    f"probabilities: those of count {i} are not all at least 0 and 1 together; correct row {i}"
                )
        if not self.probabilities:
            raise InputError("probabilities: no rows; give one a count from 0 on, the last for all larger counts too")

    @property
    def deviation(self) -> int:
        """The largest deviation."""
        return max(abs(v - i) for i, row in enumerate(self.probabilities) for v, p in row.items() if p > 0)

    def accepts(self, instance: Instance) -> str | None:
        """Counts."""
        return refuse_no_counts(instance, self.title)

    def print_of(self, instance: Instance, rng: np.random.Generator) -> Values:
        """The count plus the noise of its key."""
        a, last = instance.a, len(self.probabilities) - 1
        key, v = self._keys(instance, rng), instance.a.copy()
        for i, row in enumerate(self.probabilities):
            mine = np.flatnonzero(a == i if i < last else a >= i)
            target = np.array(sorted(row), np.int64)
            ends = np.cumsum([row[int(j)] for j in target])
            drawn = np.minimum(np.searchsorted(ends, key[mine] / KEYS, side="right"), len(target) - 1)
            v[mine] = a[mine] + target[drawn] - i
        return told(v, *self._sources(v))

    def _keys(self, instance: Instance, rng: np.random.Generator) -> Ints:
        """Sums of records' keys, less whole ones: drawn for cells that are no sum, 0 where there is no record, added up for the others."""
        form = instance.relations.leaf_form
        leaf = np.where(instance.a[form.leaves] > 0, rng.integers(0, KEYS, len(form.leaves)), 0)
        return np.asarray(form.matrix @ leaf) % KEYS

    def _sources(self, v: Ints) -> tuple[Ints, Ints]:
        """The least and the largest count that can become what is printed."""
        last, most = len(self.probabilities) - 1, self.deviation
        shifts = [j - last for j, p in self.probabilities[last].items() if p > 0]
        lo, hi = v - max(shifts), v - min(shifts)
        for printed in range(last + most):
            can = [i for i in range(printed + most + 1) if self._probability(i, printed) > 0]
            here = v == printed
            lo[here], hi[here] = (min(can), max(can)) if can else (printed, printed)
        return lo, hi

    def _probability(self, i: int, v: int) -> float:
        last = len(self.probabilities) - 1
        return self.probabilities[min(i, last)].get(v - i + min(i, last), 0.0)
