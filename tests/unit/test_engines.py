"""Engines and forms: the first of a list that accepts is taken, what is refused says why, and what gives up leaves the next one its turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import cellward as cw
from cellward.instance import Instance
from cellward.protect.adjustment import engines as forms
from cellward.protect.adjustment.continuous import AdjustmentProblem, Continuous, PublishedGrid
from cellward.protect.adjustment.distance import NORMS, Distance
from cellward.protect.adjustment.needs import Room
from cellward.protect.adjustment.network import ByNetwork
from cellward.protect.engine import first_answer
from cellward.protect.lattice import engines
from cellward.protect.lattice.along_cycles import AlongCycles
from cellward.protect.lattice.flow_in_worker import FlowInWorker
from cellward.protect.lattice.linear import Row
from cellward.protect.lattice.model import LatticeModel, allowed_multiples
from cellward.protect.lattice.problem import LatticeProblem
from cellward.protect.lattice.staged_flow import StagedFlow
from cellward.protect.lattice.vertex import VertexThenBlocks
from cellward.solve.budget import Budget
from cellward.solve.outcome import Outcome


@dataclass
class Scripted:
    """An engine that answers as it is told, and remembers that it was asked."""

    name: str
    reason: str | None = None
    answer: object = None
    asked: int = 0

    def accepts(self, _):
        return self.reason

    def solve(self, *_):
        self.asked += 1
        return self.answer


def rounding(shape, rows=(), base=5, **weights):
    instance = Instance.of(cw.Table.from_array(np.random.default_rng(1).poisson(4, shape)), **weights)
    return LatticeProblem(LatticeModel(instance, allowed_multiples(instance, np.full(instance.cells, base))), rows)


def adjustment(norm, shape=(3, 4), step=1, moved=2):
    """A table in which the first cell must move."""
    table = cw.Table.from_array(np.random.default_rng(2).poisson(40, shape))
    lo, hi = np.full(table.cells, -30), np.full(table.cells, 30)
    lo[0] = moved
    one = np.ones(table.cells, np.int64)
    distance = Distance(norm, one, one, 0, np.arange(table.cells) == 0)
    return AdjustmentProblem.of(table.relations, Room(lo, hi), distance, 0, PublishedGrid(table.scaled, step, 1))


# ---- the choice ------------------------------------------------------------------------------------------------------------------------------


def test_the_first_that_accepts_is_taken_and_no_other_is_asked():
    never, second, third = Scripted("a", "a cannot"), Scripted("b", answer=2), Scripted("c", answer=3)
    assert first_answer(None, Budget(), (never, second, third)) == 2
    assert (never.asked, second.asked, third.asked) == (0, 1, 0)


def test_what_gives_up_leaves_the_next_one_its_turn():
    assert first_answer(None, Budget(), (Scripted("a"), Scripted("b", answer=2))) == 2


def test_where_none_accepts_all_reasons_are_said():
    with pytest.raises(cw.InputError, match="a cannot; b has given this table up"):
        first_answer(None, Budget(), (Scripted("a", "a cannot"), Scripted("b")))
    with pytest.raises(cw.InputError, match="no engine"):
        first_answer(None, Budget(), ())


# ---- lattice ---------------------------------------------------------------------------------------------------------------------------------


def test_flows_are_for_networks_without_rows_and_from_a_size_on():
    row = Row(np.array([0]), np.array([1]), 0)
    for flow in (StagedFlow(fewest=0), FlowInWorker(fewest=0)):
        assert flow.accepts(rounding((4, 4))) is None
        assert "no network" in flow.accepts(rounding((3, 3, 3)))
        assert "rows" in flow.accepts(rounding((4, 4), (row,)))
    assert "too few" in StagedFlow().accepts(rounding((4, 4)))
    assert "too few" in FlowInWorker().accepts(rounding((4, 4)))


def test_costs_that_highs_cannot_tell_apart_go_to_the_worker_whatever_the_size():
    problem = rounding((4, 4), weights=np.arange(25) * 10**9 + 1)
    assert not problem.tellable and FlowInWorker().accepts(problem) is None


def test_cycles_need_two_values_around_the_truth():
    problem = rounding((4, 4))
    assert AlongCycles().accepts(problem) is None
    fixed = problem.model.narrowed(problem.model.allowed.lo, problem.model.allowed.hi)
    wide = allowed_multiples(problem.model.instance, np.full(problem.model.instance.cells, 5), 2)
    assert AlongCycles().accepts(LatticeProblem(fixed)) is None
    assert "two allowed values" in AlongCycles().accepts(LatticeProblem(LatticeModel(fixed.instance, wide)))


def test_every_engine_that_accepts_finds_the_same_least_table():
    problem = rounding((12, 12))
    ways = (StagedFlow(fewest=0), FlowInWorker(fewest=0), VertexThenBlocks(), VertexThenBlocks(whole=-1.0))
    found = [engines.solve(problem, Budget(), (way,)) for way in ways]
    assert len({int(problem.model.columns.cost @ each.x) for each in found}) == 1
    assert {each.status for each in found} == {"optimal"}


def test_a_staged_flow_that_gives_up_leaves_a_large_network_to_the_worker():
    problem = rounding((70, 70))
    assert StagedFlow().accepts(problem) is None and FlowInWorker().accepts(problem) is None
    never = StagedFlow(solver=lambda _: Outcome(status="unknown"))
    assert never.solve(problem, Budget()) is None
    worker, usual = (engines.solve(problem, Budget(), way) for way in ((never, FlowInWorker()), engines.ENGINES))
    assert worker.bound == usual.bound


# ---- forms of an adjustment ------------------------------------------------------------------------------------------------------------------

TAKEN = {"l1": "equation", "l2": "sums", "linf": "leaf", "l1-2": "leaf", "huber": "cone"}


@pytest.mark.parametrize("norm", NORMS)
def test_auto_takes_the_form_that_suits(norm):
    answer = forms.solve(adjustment(norm), Budget())
    assert (answer.status, answer.form) == ("optimal", TAKEN[norm])


def test_networks_go_to_the_flow_from_a_size_on():
    answer = forms.solve(adjustment("l1", (40, 40)), Budget())
    assert (answer.status, answer.form) == ("optimal", "network")
    assert forms.solve(adjustment("l1", (12, 12, 12)), Budget()).form == "equation"


@pytest.mark.parametrize("norm", NORMS)
def test_a_form_by_name_finds_what_the_others_find_or_says_why_not(norm):
    found = []
    for form in forms.ASKED:
        assert forms.forms_of(form.name) == (form,)
        if (reason := form.accepts(adjustment(norm))) is None:
            found.append(forms.solve(adjustment(norm), Budget(), (form,)))
        else:
            assert reason.startswith(f"form='{form.name}' does not go with norm='{norm}'; use ")
            with pytest.raises(cw.InputError, match=form.name):
                forms.solve(adjustment(norm), Budget(), (form,))
    assert {each.status for each in found} == {"optimal"}
    assert [each.objective for each in found] == pytest.approx([found[0].objective] * len(found), rel=1e-6)


def test_a_network_needs_a_grid_and_values_on_it():
    problem = adjustment("l1")
    assert "on no grid" in ByNetwork().accepts(problem.between(problem.lo, problem.hi))
    assert "off the grid" in ByNetwork().accepts(adjustment("l1", step=7))
    assert "no network" in ByNetwork().accepts(adjustment("l1", (3, 3, 3)))


def test_a_table_that_moves_by_fractions_is_left_to_the_equations():
    problem = adjustment("linf")
    problem.lo[1] = problem.hi[1] = 0.5
    (leaves,) = (form for form in forms.AUTO if form.name == "leaf")
    assert "fraction" in leaves.accepts(problem)
    answer = forms.solve(problem, Budget())
    assert (answer.status, answer.form) == ("optimal", "equation")


def test_a_second_opinion_is_asked_of_other_forms_until_one_has_an_optimum():
    first = Continuous("infeasible", "leaf", "it says so")
    same, unsure = Scripted("leaf", answer=first), Scripted("a", answer=Continuous("unknown", "cone", "no word"))
    sure, late = Scripted("b", answer=Continuous("optimal", "equation", "it is there")), Scripted("c")
    problem = adjustment("l1")
    assert forms.second_opinion(problem, Budget(), first, (same, unsure, sure, late)) is sure.answer
    assert (same.asked, unsure.asked, sure.asked, late.asked) == (0, 1, 1, 0)
    assert forms.second_opinion(problem, Budget(), first, (Scripted("a", "not mine"), unsure)) is first
    assert forms.second_opinion(problem, Budget(), first).status == "optimal"


def test_a_room_without_any_value_is_infeasible_before_any_form_is_asked():
    never = Scripted("a")
    found = forms.solve(adjustment("l1", moved=31), Budget(), (never,))
    assert (found.status, found.engine, never.asked) == ("infeasible", "bounds of single cells", 0)
