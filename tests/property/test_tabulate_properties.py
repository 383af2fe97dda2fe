"""Tables of random records and what the rules say of them, beside the direct computation; the full programme is benchmarks/tabulation.py."""

import pytest
import random_microdata
import tabulation_check

EACH = 25
"""Seeds for each way of giving the records; the benchmark takes those from 0 on."""
FIRST = 100_000


@pytest.mark.parametrize("kind", random_microdata.KINDS)
def test_random_microdata(kind):
    place = random_microdata.KINDS.index(kind)
    faults = []
    for seed in range(FIRST + place, FIRST + EACH * len(random_microdata.KINDS), len(random_microdata.KINDS)):
        case = random_microdata.random_microdata(seed)
        assert case.kind == kind
        faults += tabulation_check.compare(case).faults
    assert faults == []


@pytest.mark.parametrize("seed", range(110_000, 110_006))
def test_every_way_of_giving_the_same_records(seed):
    case = random_microdata.random_microdata(seed)
    for kind in random_microdata.KINDS:
        assert tabulation_check.compare(case, kind).faults == ()
