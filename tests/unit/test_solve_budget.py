"""Budgets: parts of what is left, and what Ctrl-C leaves of them."""

import pickle

import numpy as np
import pytest

from cellward.solve import cpsat, worker
from cellward.solve.ask import ask
from cellward.solve.budget import NO_TIME, Budget
from cellward.solve.model import LinearModel
from cellward.solve.outcome import Outcome


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
