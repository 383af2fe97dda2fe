"""Keyed rounding: a table drawn from the key, each cell one of its two multiples; the rounding nearest to it is published.

For whoever knows all but the key, every rounding of a table is then a possible release of it: the draw may be that rounding itself. So the release
rules out no table whose rounding it is, however small the table: model.md, "Keyed".
"""

from __future__ import annotations

import numpy as np

from cellward.exact import Ints
from cellward.protect.draws import Draws
from cellward.protect.lattice.model import LatticeModel


def keyed_target(model: LatticeModel, draws: Draws) -> Ints:
    """The multiple above in a share ρ/β of the draws, ρ the distance from the multiple below."""
    cell = model.columns.cell
    a, lo, base = (x[cell] for x in (model.instance.a, model.allowed.lo, model.r))
    target = model.instance.a.copy()
    target[cell] = lo + np.where(draws.up_to("rounding", cell, base - 1) < a - lo, base, 0)
    return target
