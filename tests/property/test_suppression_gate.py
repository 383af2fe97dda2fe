"""Suppressions of random tables and records by every route, attacked by an outsider that shares nothing with the package."""

from pathlib import Path

import pytest
from gate_routes import Refused, run
from outsider import attack
from random_gate_cases import suppressed_case

from cellward.errors import CellwardError


@pytest.mark.parametrize("block", range(6))
def test_nothing_is_broken(block, tmp_path):
    released = 0
    for seed in range(8 * block, 8 * block + 8):
        case = suppressed_case(seed)
        folder = Path(tmp_path / str(seed))
        folder.mkdir()
        try:
            out = run(case, folder)
        except (Refused, CellwardError) as refusal:
            assert ";" in str(refusal)  # a sentence with a remedy
            continue
        assert not out.wrong
        found = attack(case.public, out.published, out.claim, case.secret)
        assert not found.breaks, (seed, found.breaks[:3])
        released += 1
    assert released > 2
