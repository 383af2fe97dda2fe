"""Results: losses, gaps and what a Protection refuses to be."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward.errors import VerificationError
from cellward.objective import Objective
from cellward.protection import Failure, Protection
from cellward.publication.loss import Loss


def test_losses_are_in_the_users_units():
    loss = Loss.of(np.array([100, 0, 50]), np.array([10, 5, 0]), decimals=1)
    assert (loss.sum_abs, loss.max_abs, loss.changed, loss.cells) == (1.5, 1.0, 2, 3)
    assert loss.mean_percent == pytest.approx(5.0)
    assert loss.norm2 == pytest.approx(np.hypot(1.0, 0.5))
    assert loss.as_dict()["max_percent"] == pytest.approx(10.0)


@pytest.fixture
def fields():
    p = cw.ControlledRounding(5).protect(cw.Table.from_array([[1, 2], [3, 4]]))
    return {name: getattr(p, name) for name in p.__dataclass_fields__ if name != "shown"}


def test_the_gap_is_relative_to_the_objective(fields):
    p = Protection(**{**fields, "status": "feasible"})
    half = Protection(
        **{**fields, "status": "feasible", "sought": replace(p.sought, bound=Fraction(p.objective_scaled, 2))}
    )
    assert (p.gap, half.gap) == (0.0, 0.5)
    assert "gap 50 %" in repr(half)
    assert Protection(**{**fields, "sought": replace(p.sought, bound=None)}).gap is None


@pytest.mark.parametrize(
    "change", [{"publication": None}, {"status": "infeasible"}, {"sought": Objective(bound=Fraction(10**6))}]
)
def test_a_result_must_be_consistent(fields, change):
    with pytest.raises(VerificationError):
        Protection(**{**fields, **change})


def test_a_result_without_values_has_nothing_to_show(fields):
    because = Failure(reason="because", knowledge=fields["publication"].knowledge)
    p = Protection(**{**fields, "status": "infeasible", "publication": None, "failure": because})
    assert p.values is p.objective is p.gap is None
    assert "because" in repr(p)
    for ask in (p.loss, p.release, lambda: p.evidence):
        with pytest.raises(VerificationError):
            ask()
    verdict = p.certificate().check()  # what is not true cannot be proven, and the certificate says so
    assert (verdict.holds, verdict.proven) == (True, False)
    with pytest.raises(VerificationError):
        Protection(**{**fields, "status": "failed", "publication": None, "failure": because}).certificate()


def test_a_key_is_32_bytes(fields):
    for key in (b"short", "x" * 32):
        with pytest.raises(cw.InputError, match="give 32 secret bytes"):
            Protection(**{**fields, "key": key})


def test_the_key_decides_the_salt_and_the_digest():
    table = cw.Table.from_array([[1, 2], [3, 4]])
    one, two, other = (cw.ControlledRounding(5).protect(table, key=key) for key in (key_of(0), key_of(0), key_of(1)))
    assert one.release().digest == two.release().digest != other.release().digest
    assert one.certificate().content["salt"] != other.certificate().content["salt"]
    assert set(one.release().statement()) == {"method", "decimals", "printed", "certificate"}


def test_the_bound_is_certified():
    p = cw.ControlledRounding(5).protect(cw.Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]))
    assert p.certified_bound == p.objective == 16


def test_objectives_are_exact_at_large_weights():
    table = cw.Table.from_equations([3, 4, 7], [[1, 1, -1]])
    p = cw.ControlledRounding(5).protect(table, weights=[2**53, 2**53, 1])
    assert (p.scaled.tolist(), p.objective_scaled) == ([5, 5, 10], 2**53 * (2 + 1) + 3)


def test_weights_beyond_64_bits_are_refused():
    table = cw.Table.from_equations([3, 4, 7], [[1, 1, -1]])
    with pytest.raises(cw.InputError, match="weights times bases"):
        cw.ControlledRounding(1000).protect(table, weights=[2**53, 2**53, 1])


def test_a_time_limit_is_told_honestly():
    table = cw.Table.from_array(np.random.default_rng(1).poisson(4, (12, 12, 12)))
    p = cw.ControlledRounding(5).protect(table, time_limit_s=0.05)
    assert p.status in ("feasible", "failed")
    assert p.run.limit_reached
    assert p.gap is None or p.gap > 0
