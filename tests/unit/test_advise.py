"""The adviser: the smallest base is the smallest, what is ruled out has no rounding, what is undecided is called so, and it can be followed."""

import json
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
import zero_restricted
from benchmarks.fixed_keys import key_of
from least_rounding import Problem, truth
from random_levels import with_levels
from random_roundings import random_case
from rounding_grid import grid_of
from typer.testing import CliRunner

import cellward as cw
from cellward.advise.by_level import bases_by_level
from cellward.advise.candidates import round_up
from cellward.advise.smallest import Smallest
from cellward.cli.app import build
from cellward.instance import Instance
from cellward.protect.amounts import amounts
from cellward.protect.rounding.least_base import SingleCells, round_bases

KEY = key_of("advice")


def asking(values, levels):
    """A small table with these levels on its cells."""
    return with_levels(cw.Table.from_array(values), levels)


def brute_force(table, levels, bases):
    """Of these bases those with a rounding that keeps every level from the public, found by going through all roundings."""
    out = []
    for base in bases:
        grid = grid_of(zero_restricted.Case("tiny", table, base, None))
        if truth(Problem(grid, "strict", levels)).status == "optimal":
            out.append(base)
    return out


# ---- the smallest base ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_the_smallest_base_is_that_of_brute_force(seed):
    rng = Random(seed)
    shape = [(3,), (2, 2), (3, 2), (2, 2, 2)][seed % 4]
    values = np.array([rng.randint(0, 25) for _ in range(int(np.prod(shape)))]).reshape(shape)
    plain = cw.Table.from_array(values)
    levels = {}
    for i in rng.sample(range(plain.cells), 2):
        most = int(plain.scaled[i])
        levels[i] = (rng.randint(0, min(most, 7)), rng.randint(1, 7), rng.choice((0, 0, 9)))
    table = with_levels(plain, levels)
    looked_at = range(2, 25)
    found = cw.advise(table, bases=list(looked_at), time_limit_s=None, key=KEY)
    working = brute_force(table, levels, looked_at)
    assert (found.base if found.base_found else None) == min(working, default=None)
    assert found.base_proven is bool(working)
    assert all(found.least_base <= base for base in working)
    anyone = cw.advise(table, bases="any", time_limit_s=None, key=KEY)
    if working:
        assert (anyone.base, anyone.base_proven) == (min(working), True)


@dataclass(frozen=True)
class Said:
    answer: str


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_the_search_finds_the_smallest_whatever_the_order_of_answers(seed, many):
    rng = Random(seed)
    candidates = sorted(rng.sample(range(1, 99), rng.randint(1, 30)))
    answers = {base: rng.choice(("protects", "none exists", "none exists", "undecided")) for base in candidates}
    ruled_out = {base for base in candidates if answers[base] == "none exists" and rng.random() < 0.5}
    asked = []

    def attempt(base):
        asked.append(base)
        return Said(answers[base])

    search = Smallest(candidates, ruled_out.__contains__, attempt, lambda: False, many=many)
    search.run()
    working = [base for base in candidates if answers[base] == "protects"]
    best = min(working, default=None)
    assert search.found == best
    assert search.undecided == [b for b in candidates if answers[b] == "undecided" and (best is None or b < best)]
    assert search.proven == (best is not None and not search.undecided)
    assert len(asked) == len(set(asked))
    assert not ruled_out & set(asked)


def test_a_search_cut_short_says_what_it_left():
    calls = []

    def attempt(base):
        calls.append(base)
        return Said("protects" if base >= 40 else "none exists")

    search = Smallest(range(1, 99), lambda _: False, attempt, lambda: len(calls) >= 8, many=True)
    search.run()
    assert len(calls) == 8
    assert search.found >= 40
    assert not search.proven
    assert set(search.undecided) == set(range(1, search.found)) - set(calls)


# ---- what single cells ask -----------------------------------------------------------------------------------------------------------------------


def test_single_cells_never_rule_out_what_works():
    seen = 0
    for seed in range(160):
        case = random_case(seed)
        if case.problem.knowledge != "strict" or case.truth.status != "optimal":
            continue
        instance = Instance.of(case.table, attackers=case.attackers)
        single, base = SingleCells.of(instance), amounts(instance, case.base, "base")
        steps = case.truth.steps
        assert not len(single.blocked(base, steps))
        assert np.all((single.least(steps) <= base) | instance.sensitivity.fixed)
        assert single.least_steps(base, 9) <= steps
        seen += bool(single.asked.any.any())
    assert seen > 30


def test_single_cells_rule_out_bases_that_have_no_protected_rounding():
    levels = {0: (6, 6, 0)}
    table = asking([6, 19, 30], levels)
    single = SingleCells.of(Instance.of(table))
    out = [base for base in range(2, 20) if len(single.blocked(base))]
    assert 5 in out
    assert 7 not in brute_force(table, levels, [7])
    assert {7, 12} <= set(out)  # wide enough, but 0 and 12 both lie 6 away, from where 6 more is not told
    assert not set(out) & set(brute_force(table, levels, range(2, 20)))
    assert single.least_round() == next(base for base in round_bases() if not len(single.blocked(base)))


def test_an_infeasible_rounding_says_how_large_the_base_must_be():
    table = cw.Table.from_equations([10, 20, 30], [[1, 1, -1]], sensitive=[0], lpl=[9], upl=[9])
    p = cw.ControlledRounding(5).protect(table, key=KEY)
    assert "choose a larger base, of round ones 10 at least" in p.reason
    assert "max_steps=2 at least" in p.reason
    assert cw.ControlledRounding(10).protect(table, key=KEY).releasable
    assert cw.ControlledRounding(5, max_steps=2).protect(table, key=KEY).releasable


def test_a_distance_that_is_too_near_names_the_one_that_does_for_all_cells():
    table = cw.Table.from_equations([50, 60, 110], [[1, 1, -1]], sensitive=[0, 1], lpl=[2, 4], upl=[2, 4])
    with pytest.raises(cw.InputError, match="give at least 12,"):
        cw.CellPerturbation(within=5).protect(table, key=KEY)
    assert cw.CellPerturbation(within=12).protect(table, key=KEY).releasable
    assert cw.advise(table, key=KEY).least_distance == 12


# ---- the advice ----------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def heavy():
    """Magnitudes of which a few cells are many times larger than the rest, and ask for levels of their size."""
    rng = np.random.default_rng(3)
    values = np.rint(np.exp(rng.normal(4, 1.0, (12, 14))) * 10) / 10
    values[2, 3], values[5, 6] = 9871.3, 4102.8
    plain = cw.Table.from_array(values)
    inner = np.flatnonzero(plain.relations.height == 0)
    largest = inner[np.argsort(-plain.scaled[inner])][:20]
    return with_levels(plain, {int(i): (int(plain.scaled[i]) // 10, int(plain.scaled[i]) // 10, 0) for i in largest})


def test_the_advice_can_be_followed(heavy):
    found = cw.advise(heavy, key=KEY)
    assert found.base_found
    assert found.base_proven
    assert cw.ControlledRounding(found.base).protect(heavy, key=KEY).releasable
    assert cw.CellPerturbation(within=found.distance).protect(heavy, key=KEY).releasable
    assert found.least_distance <= found.distance
    assert isinstance(found.method, cw.ControlledAdjustment)
    assert found.method.protect(heavy, key=KEY).releasable
    assert found.paragraph.startswith("Use cellward adjust: ")
    assert found.paragraph in str(found)
    by_word = {row.method.word: row for row in found.table if row.answer == "protects" and row.steps == 1}
    assert by_word["adjust"].cost.sum_abs < by_word["round"].cost.sum_abs
    p = cw.ControlledRounding(found.base).protect(heavy, key=KEY)
    assert by_word["round"].cost.sum_abs == pytest.approx(p.loss().sum_abs)
    assert json.loads(json.dumps(found.to_dict()))["base"] == found.base


def test_smaller_bases_are_shown_with_the_cells_in_the_way(heavy):
    rows = [row for row in cw.advise(heavy, key=KEY).table if row.answer == "none exists"]
    assert rows
    assert all(row.blocked and "(2, 3)" in row.in_the_way and not row.tried for row in rows)


def test_counts_are_rounded():
    table = asking([[3, 8, 12], [1, 9, 20]], {0: (2, 2, 0)})
    found = cw.advise(table, key=KEY)
    assert isinstance(found.method, cw.ControlledRounding)
    assert found.method.protect(table, key=KEY).releasable


def test_a_table_without_levels_needs_no_more_than_a_rounding():
    found = cw.advise(cw.Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]), key=KEY)
    assert (found.base, found.base_proven, found.least_base, found.distance) == (3, True, None, None)
    assert "no protection levels are asked" in found.paragraph


def test_without_time_everything_is_undecided_but_what_is_proven(heavy):
    found = cw.advise(heavy, time_limit_s=1e-6, key=KEY)
    assert (found.method, found.base_found, found.base_proven) == (None, False, False)
    assert found.least_base == cw.advise(heavy, key=KEY).least_base
    assert {row.answer for row in found.table} <= {"undecided", "none exists"}
    assert "give more time" in found.paragraph


def test_what_is_not_decided_against_all_attackers_is_said_of_the_public(heavy, monkeypatch):
    insider = cw.Attacker.knowing(heavy, "insider", exactly=[0])
    real = cw.ControlledRounding.protect

    def slow(self, table, *, attackers, **given):
        if attackers is not None and any(len(one.cell) for one in attackers):
            raise cw.SolverError("nothing was found in time")
        return real(self, table, attackers=attackers, **given)

    monkeypatch.setattr(cw.ControlledRounding, "protect", slow)
    found = cw.advise(heavy, attackers=[cw.Attacker.external(), insider], key=KEY)
    public = cw.advise(heavy, key=KEY)
    assert (found.base, found.base_found, found.base_proven) == (public.base, False, False)
    assert "public only" in {row.answer for row in found.table if row.method.word == "round"}
    assert "protects against the public" in found.paragraph


def test_ctrl_c_gives_what_was_found(heavy, monkeypatch):
    def interrupted(self, table, **given):
        raise KeyboardInterrupt

    monkeypatch.setattr(cw.ControlledAdjustment, "protect", interrupted)
    found = cw.advise(heavy, key=KEY)
    assert found.base_found
    assert [row.reason for row in found.table if row.method.word == "adjust"] == ["it was interrupted"]
    assert {row.answer for row in found.table if row.method.word == "perturb"} == {"undecided"}


def test_bases_by_level_where_sums_ask_for_more_than_their_parts():
    table = asking([[103, 218], [324, 131]], {0: (1, 1, 0), 8: (40, 40, 0)})
    single = SingleCells.of(Instance.of(table))
    bases = bases_by_level(single)
    assert bases is not None
    assert bases[0] < bases[2]
    assert bases[2] % bases[1] == bases[1] % bases[0] == 0
    height = table.relations.height
    assert not len(single.blocked(np.array([bases[level] for level in height.tolist()], np.int64)))
    assert any(
        isinstance(row.method.base, dict) for row in cw.advise(table, key=KEY).table if row.method.word == "round"
    )


def test_distances_are_as_round_as_bases():
    assert [round_up(x) for x in (1, 12, 123, 9_901)] == [3, 15, 150, 10_000]


@pytest.mark.parametrize("bases", ["all", [], 5, [0], ["x"]])
def test_bases_that_are_none_are_refused(bases):
    with pytest.raises(cw.InputError, match="base"):
        cw.advise(cw.Table.from_array([1, 2]), bases=bases)


# ---- the command -----------------------------------------------------------------------------------------------------------------------------------

TABLE = "region,value,status,lpl,upl\nN,30,u,6,6\nS,44,s,0,0\nW,51,s,0,0\n"
JOB = '[input]\nfile = "t.csv"\nkind = "table"\n[roles]\ndims = ["region"]\nvalue = "value"\nstatus = "status"\nlpl = "lpl"\nupl = "upl"\n'


def test_the_command_reads_tables_and_jobs(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "job.toml").write_text(JOB)
    columns = ["--dims", "region", "--value", "value", "--status", "status", "--lpl", "lpl", "--upl", "upl"]
    of_table = CliRunner().invoke(build(), ["advise", str(tmp_path / "t.csv"), *columns, "--json"])
    of_job = CliRunner().invoke(build(), ["advise", str(tmp_path / "job.toml"), "--json"])
    assert (of_table.exit_code, of_job.exit_code) == (0, 0)
    said = [json.loads(one.stdout) for one in (of_table, of_job)]
    assert [one["base"] for one in said] == [10, 10]
    assert said[0]["least_base"] == 7
    shown = CliRunner().invoke(build(), ["advise", str(tmp_path / "job.toml"), "--bases", "8,9"])
    assert "[method]" in shown.stdout
    assert "What was looked at (confidential" in shown.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "job.toml"}  # nothing is written


def test_a_job_is_read_as_it_says(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "job.toml").write_text(JOB)
    done = CliRunner().invoke(build(), ["advise", str(tmp_path / "job.toml"), "--dims", "region"])
    assert isinstance(done.exception, cw.InputError)
    assert "leave it out" in str(done.exception)
