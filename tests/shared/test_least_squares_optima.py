"""Least squares on the benchmark tables of the field: the optima on record, with all unsafe cells moved upwards."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import cellward as cw
from cellward.solve.least_squares import least_squares
from cellward.table.leaf_sums import leaf_sums
from cellward.table.sensitivity import CellStatus

SHARED = Path(os.environ.get("CELLWARD_SHARED", Path(__file__).parents[2].parent / "shared"))
CSPLIB = SHARED / "instances" / "csplib"
OPTIMA = {
    name: (CSPLIB / anchor["file"], anchor["reference"]["l2_obj"])
    for name, anchor in json.loads((CSPLIB / "anchors.json").read_text()).items()
    if isinstance(anchor, dict) and "l2_obj" in anchor.get("reference", {})
}


@pytest.mark.parametrize("name", OPTIMA)
def test_optimum(name):
    path, optimum = OPTIMA[name]
    table = cw.read(path)
    a, levels = table.scaled.astype(float), table.sensitivity
    lo = np.where(levels.status == CellStatus.UNSAFE, levels.upl, table.lower - a)
    found = least_squares(leaf_sums(table.relations), 1 / np.maximum(a, 1), lo, table.upper - a)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(optimum, rel=1e-7)
    assert found.bound == pytest.approx(optimum, rel=1e-7)
