"""Hard senses: small random tables with many cells at risk and little room, so that most combinations of senses do not go together."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import random_adjustments

import cellward as cw
from cellward.table.sensitivity import Sensitivity


def hard_case(seed: int, most_at_risk: int = 8) -> tuple[cw.Table, dict[str, Any], set[int]]:
    """A table, its options and the cells that stay."""
    table, _, options, _ = random_adjustments.random_case(seed)
    rng = Random(f"senses {seed}")
    at = sorted(rng.sample(range(table.cells), rng.randint(1, max(1, min(most_at_risk, table.cells // 2)))))
    most = [max(2, abs(int(table.scaled[i])) // 2) for i in at]
    up, down = (np.array([rng.randint(0, m) for m in most], np.int64) for _ in range(2))
    up = np.where((up == 0) & (down == 0), 1, up)
    table = replace(table, sensitivity=Sensitivity.of(table.cells, at, down, up, 0 * up))
    if rng.random() < 0.5:
        room = rng.choice((0, 1, 2, 5)) * rng.randint(1, 3)
        table = replace(table, upper=np.minimum(table.upper, table.scaled + room))
    fixed = set(options.get("fixed") or ()) - set(at)
    if rng.random() < 0.5:
        fixed |= {i for i in rng.sample(range(table.cells), table.cells // 3) if i not in at}
    return table, {**options, "fixed": sorted(fixed) or None}, fixed
