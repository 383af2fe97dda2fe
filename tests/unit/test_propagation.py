"""Propagation: shared bounds are followed once, each attacker's own from there; levels are put together once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward import Attacker, PPercent, Table
from cellward.audit import propagation
from cellward.audit.propagation import Propagation, propagate
from cellward.errors import InputError
from cellward.exact import NO_BOUND
from cellward.job import Job
from cellward.table.relations import Relations
from cellward.table.sensitivity import Sensitivity

BUSINESS = Path(__file__).parents[2] / "examples" / "business"


def relations(rng):
    """A table of three dimensions, or equations with any small coefficients."""
    if rng.random() < 0.5:
        return Table.from_array(rng.integers(0, 9, tuple(rng.integers(2, 4, 3)))).relations
    cells = 12
    rows = []
    for _ in range(8):
        held = np.sort(rng.choice(cells, 4, replace=False))
        rows.append((int(rng.integers(-3, 4)), held.tolist(), rng.choice([-3, -2, -1, 1, 2], 4).tolist()))
    return Relations.from_rows(cells, rows)


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_followed_from_shared_bounds_is_what_is_followed_from_the_start(whole):
    rng, contradicted, narrower = np.random.default_rng(5), 0, 0
    for _ in range(300):
        r = relations(rng)
        lo = rng.integers(-9, 1, r.cells)
        hi = lo + rng.integers(1, 30, r.cells)
        lo[rng.random(r.cells) < 0.1] = -NO_BOUND
        hi[rng.random(r.cells) < 0.1] = NO_BOUND
        own = rng.choice(r.cells, 2, replace=False)
        low, high = lo.copy(), hi.copy()
        low[own] = np.minimum(np.maximum(lo[own], -3), np.minimum(hi[own], 5))
        high[own] = np.minimum(hi[own], np.maximum(low[own], 6))
        try:
            expected = propagate(r, low, high, whole=whole)
        except InputError:
            contradicted += 1
            with pytest.raises(InputError, match="contradict"):
                Propagation(r, lo, hi).narrowed(low, high, whole=whole)
            continue
        found = Propagation(r, lo, hi).narrowed(low, high, whole=whole)
        assert all(map(np.array_equal, found, expected))
        narrower += not all(map(np.array_equal, found, Propagation(r, lo, hi).narrowed(lo, hi, whole=whole)))
    assert contradicted > 10
    assert narrower > 50


@pytest.fixture
def looked_at(monkeypatch):
    """How many equations each round of propagation looked at."""
    seen = []
    follow = propagation._round

    def counted(part, lo, hi, *, whole):
        seen.append(len(part.rhs))
        return follow(part, lo, hi, whole=whole)

    monkeypatch.setattr(propagation, "_round", counted)
    return seen


def test_shared_bounds_are_propagated_once_for_all_attackers(looked_at):
    rng = np.random.default_rng(0)
    many = 400
    rows = {
        "region": rng.choice(list("ABCDEFGH"), many),
        "kind": rng.choice(list("uvwxyz"), many),
        "firm": np.arange(many).astype(str),
        "turnover": np.rint(rng.lognormal(3, 2, many)).astype(np.int64) + 1,
    }
    table = Table.from_microdata(rows, dims=["region", "kind"], measure="turnover", contributor="firm").find(
        PPercent(20)
    )
    attackers = Attacker.from_data(table)
    assert len(attackers) > 10
    p = cw.ControlledRounding(100, ignore_levels=True).protect(table, attackers=attackers, key=key_of(0))
    looked_at.clear()
    shown = p.audit(only_levels=True).intervals
    every, once = table.relations.equations, sum(looked_at)
    # Attackers one by one, as if each had the release to itself.
    looked_at.clear()
    verdicts = []
    for attacker in attackers:
        verdicts += p.audit(only_levels=True, attackers=[attacker]).intervals["verdict"].tolist()
    apart = sum(looked_at)
    assert shown["verdict"].tolist() == verdicts
    assert apart > every * len(attackers)
    assert once <= 3 * every


def test_levels_are_put_together_once_in_a_job(monkeypatch):
    built = []
    made = Sensitivity.__dict__["levels"]
    assert isinstance(made, cached_property)

    def counted(self):
        built.append(self)
        return made.func(self)

    again = cached_property(counted)
    again.__set_name__(Sensitivity, "levels")
    monkeypatch.setattr(Sensitivity, "levels", again)
    job = Job.read(BUSINESS / "job.toml")
    table = job.table()
    p = job.protect(table)
    assert p.protected
    p.certificate()
    assert len(p.instance.attackers) > 50
    assert len(built) <= 2  # in the order of the table, and in that in which it is solved


def test_what_is_kept_cannot_be_changed():
    zero, one = np.zeros(3, np.int64), np.ones(3, np.int64)
    s = Sensitivity(np.zeros(3, np.uint8), zero, one, zero)
    assert s.levels is s.levels
    for column in (s.status, s.lpl, s.levels.cell, s.levels.upl):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
