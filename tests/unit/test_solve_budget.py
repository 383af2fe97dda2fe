"""Budgets: parts of what is left, and what Ctrl-C leaves of them."""

import pickle

import numpy as np
import pytest

from cellward.solve import cpsat, worker
from cellward.solve.ask import ask
from cellward.solve.budget import NO_TIME, Budget
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome
from cellward.solve.watch import Watch


def test_a_part_is_never_more_than_what_is_left():
    assert Budget().part().left is None
    assert Budget().part(5.0).time_limit_s == 5.0
    assert 0 < Budget(time_limit_s=3.0).part(5.0).time_limit_s <= 3.0
    part = Budget(time_limit_s=3.0, threads=2, seed=7).part(threads=1)
    assert (part.threads, part.seed) == (1, 7)


def test_what_is_over_has_no_parts():
    over = Budget(time_limit_s=NO_TIME)
    assert over.over and over.left == 0.0
    assert over.part().over and over.part(5.0).over and Budget().part(-1.0).over


def test_ctrl_c_in_a_part_stops_the_whole():
    whole = Budget(threads=2)
    part = whole.part(60.0).part(threads=1)
    answer = Outcome(status="unknown", interrupted=True)
    assert not whole.over
    ask(lambda budget: answer, columns=1, budget=part)
    assert part.over and whole.over and whole.left == 0.0 and whole.part().over
    assert not whole.again().over


@pytest.mark.parametrize("limit", [None, 30.0])
def test_nothing_of_a_budget_but_numbers_travels_to_the_worker(limit, monkeypatch):
    sent = []
    monkeypatch.setattr(worker, "call", lambda task, question, **_: sent.append(task) or Outcome(status="unknown"))
    none, one = np.zeros(0), np.zeros(1)
    model = LinearModel(
        cost=one, lower=one, upper=one + 1, indptr=np.zeros(1, np.int64), indices=np.zeros(0, np.int64), coefs=none,
        row_lower=none, row_upper=none, integer=np.ones(1, bool),
    )  # fmt: skip
    cpsat.solve_cpsat(model, budget=Budget(time_limit_s=limit, threads=2, seed=5, progress=lambda done, all_: None))
    keywords = pickle.loads(pickle.dumps(sent[0])).keywords
    assert (keywords["threads"], keywords["seed"]) == (2, 5)
    assert all(isinstance(value, int | float | None) for value in keywords.values())
    assert len(pickle.dumps(sent[0])) < 500


def test_a_search_leaves_time_for_what_comes_after_it():
    job = Budget(time_limit_s=60.0)
    search = job.search(20.0)
    assert 39 < search.left <= 40 and 59 < search.part().showing.left <= 60
    closed = Budget(time_limit_s=60.0).search(20.0, 5.0)
    assert 34 < closed.left <= 35 and 54 < closed.part().showing.left <= 55
    assert Budget().search(20.0).left is None
    assert Budget(time_limit_s=5.0).search(20.0).over


def test_a_wish_to_stop_ends_the_search_and_not_what_shows_it():
    job = Budget(time_limit_s=60.0)
    search = job.search(20.0)
    search.part(3.0).stop()
    assert search.over and search.stopped and not job.over and search.part().showing.left > 50


def test_what_is_found_is_told_in_the_units_of_the_job_and_only_if_it_counts():
    told = []
    budget = Budget(watch=Watch(told.append))
    budget.enter("solving")
    ours = budget.counting(100.0, 0.1)
    ours.found(50.0)
    ours.part().found(1.0)
    ours.part(3.0).counting(10.0, 2.0).found(15.0, 5.0)
    ours.found(45.0)
    assert [(one.phase, one.incumbent, one.bound) for one in told] == [
        ("solving", None, None), ("solving", 105.0, None), ("solving", 104.0, 102.0),
    ]  # fmt: skip
    assert told[-1].gap == pytest.approx(2 / 104) and told[0].gap is None
