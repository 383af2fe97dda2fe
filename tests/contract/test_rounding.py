"""Controlled rounding keeps the contract."""

import numpy as np
import pytest
from additive_values import AdditiveValues, KnownOptimum, OneOptimum, TellsOnlyValues, absolute
from bank import BANK, causey_cox_ernst
from enumeration import every_rounding
from levels import LevelsByIntervals
from method_contract import MethodContract

import cellward as cw
from cellward.instance import Instance
from cellward.protect.lattice.flow_in_worker import FlowInWorker
from cellward.protect.lattice.staged_flow import StagedFlow
from cellward.protect.lattice.vertex import VertexThenBlocks


class TestControlledRounding(
    MethodContract, AdditiveValues, OneOptimum, KnownOptimum, TellsOnlyValues, LevelsByIntervals
):
    method = cw.ControlledRounding(base=5)
    knowledge_kinds = ("strict", "paper")
    infeasible = ("bounded",)

    def asking(self, kind):
        return cw.ControlledRounding(base=5, knowledge=kind)

    def cost(self, instance, v):
        return absolute(instance, v)

    def least_objective(self, instance):
        base = 5 * 10**instance.decimals
        return min((objective for objective, _ in every_rounding(instance, base)), default=None)


class RoundingByFlow(cw.ControlledRounding):
    """Every network table is sent to the flow solver."""

    engines = (StagedFlow(fewest=0), FlowInWorker(fewest=0), VertexThenBlocks())


class RoundingByWorker(cw.ControlledRounding):
    """Every network table is sent to the flow solver's process."""

    engines = (FlowInWorker(fewest=0), VertexThenBlocks())


class TestControlledRoundingByFlow(TestControlledRounding):
    method = RoundingByFlow(base=5)


class TestControlledRoundingByWorker(TestControlledRounding):
    method = RoundingByWorker(base=5)


def test_table_weights_are_used_on_request():
    p = cw.ControlledRounding(5).protect(BANK["weighted"](), weights="table")
    instance = Instance.of(BANK["weighted"](), weights="table")
    assert p.objective_scaled == min(objective for objective, _ in every_rounding(instance, 5))


def test_causey_cox_and_ernst_have_no_rounding_to_base_2():
    p = cw.ControlledRounding(2).protect(causey_cox_ernst())
    assert p.status == "infeasible"
    assert not list(every_rounding(p.instance, 2))
    with pytest.raises(cw.VerificationError):
        p.release()


def test_a_base_a_cell():
    table = BANK["two_dimensional"]()
    base = np.where(np.arange(16) % 4 == 3, 10, 5)
    base[12:] = 10
    p = cw.ControlledRounding(base).protect(table)
    assert p.status in ("optimal", "infeasible")
    if p.status == "optimal":
        assert np.all(p.values % base == 0)
