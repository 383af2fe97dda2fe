"""What is said of a result: one word for what was made small, and proven only what the certificate proves."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward.report.sections.outcome import outcome

TABLE = cw.Table.from_array(np.random.default_rng(4).poisson(9, (3, 4)))
LEVELS = cw.Table.from_equations([10, 20, 30], [[1, 1, -1]], sensitive=[0], lpl=[2], upl=[2])


def lines(result, table=TABLE):
    (block,) = outcome(result, table).blocks
    return block.lines


def test_a_plain_sum_is_proven_least():
    p = cw.ControlledRounding(5).protect(TABLE)
    said = lines(p)
    assert f"optimal: sum of changes {p.objective} (proven least), largest " in said[1]
    assert said[3] == "certified: no smaller sum of changes exists, proven in exact arithmetic"


def test_of_a_weighted_sum_the_weighted_one_is_called_least():
    p = cw.ControlledRounding(5).protect(TABLE, weights="totals")
    said = lines(p)
    assert f"optimal: weighted sum of changes {p.objective:,} (proven least); plain sum of changes " in said[1]
    assert said[3] == "certified: no smaller weighted sum of changes exists, proven in exact arithmetic"


def test_an_objective_that_happens_to_be_the_sum_is_not_called_so():
    """The table itself lies between the multiples, and changes nothing."""
    p = cw.CellPerturbation(5).protect(TABLE)
    assert lines(p)[1].startswith(f"optimal: objective {p.objective}")
    assert "plain sum of changes" in lines(p)[1]
    assert "no smaller objective exists" in lines(p)[3]


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_what_no_certificate_proves_is_the_solvers_word(norm):
    p = cw.ControlledAdjustment(norm, senses="up", jitter=0, grid=None).protect(LEVELS, key=key_of("outcome"))
    said = lines(p, LEVELS)
    assert p.status == "optimal"
    assert "(least by the solver's word)" in said[1] and "proven" not in said[1]
    assert said[3] == "certified: no bound on the objective was proven"


def test_a_gap_does_not_stand_beside_a_proof_that_there_is_none():
    p = cw.ControlledRounding(5).protect(TABLE)
    stopped = replace(p, status="feasible", sought=replace(p.sought, bound=Fraction(p.objective_scaled) - 1))
    assert stopped.gap > 0
    assert "(proven least)" in lines(stopped)[1] and "gap" not in lines(stopped)[1]
    assert "no smaller sum of changes exists" in lines(stopped)[3]


def test_whole_numbers_have_no_decimals():
    assert ".0" not in lines(cw.ControlledRounding(5).protect(TABLE))[1]
