"""Random adjustments: small tables of every kind with levels and senses, options and weights, to be adjusted."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import random_tables

import cellward as cw
from cellward.table.sensitivity import Sensitivity


def random_case(seed: int) -> tuple[cw.Table, list[int], dict[str, Any], Any]:
    """A table with levels, the senses of its cells at risk, further options, and weights."""
    rng = Random(seed)
    made = random_tables.random_case(seed).table
    made = replace(made, sensitivity=Sensitivity.none(made.cells))
    many = rng.randint(1, max(1, min(5, made.cells // 3)))
    at = sorted(rng.sample(range(made.cells), many))
    levels = np.array([rng.randint(1, max(1, abs(int(made.scaled[i])) // 3)) for i in at], np.int64)
    made = replace(made, sensitivity=Sensitivity.of(made.cells, at, levels, levels, 0 * levels))
    senses = [rng.choice((1, -1)) for _ in at]
    options: dict[str, Any] = {"zeros_stay": rng.random() < 0.5}
    if rng.random() < 0.3:
        options["fixed"] = [i for i in rng.sample(range(made.cells), min(2, made.cells)) if i not in at]
    return made, senses, options, rng.choice((None, "equal", "totals"))
