"""Information loss: how far the published values are from the true ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from cellward.exact import Ints


@dataclass(frozen=True)
class Loss:
    """Deviations |v − a| over all cells, in the user's units; percentages are of |a| over the cells with a ≠ 0."""

    sum_abs: float
    max_abs: float
    mean_abs: float
    norm2: float
    mean_percent: float
    max_percent: float
    changed: int
    cells: int

    @staticmethod
    def of(a: Ints, deviation: Ints, decimals: int) -> Loss:
        """Measure deviations from true values a (both scaled)."""
        unit = 10.0**decimals
        nonzero = a != 0
        percent = 100.0 * deviation[nonzero] / np.abs(a[nonzero])
        return Loss(
            sum_abs=int(deviation.sum()) / unit,
            max_abs=int(deviation.max(initial=0)) / unit,
            mean_abs=float(deviation.mean()) / unit if len(a) else 0.0,
            norm2=float(np.sqrt((deviation.astype(float) ** 2).sum())) / unit,
            mean_percent=float(percent.mean()) if len(percent) else 0.0,
            max_percent=float(percent.max(initial=0.0)),
            changed=int((deviation > 0).sum()),
            cells=len(a),
        )

    def as_dict(self) -> dict[str, float]:
        """The measures by name."""
        return asdict(self)
