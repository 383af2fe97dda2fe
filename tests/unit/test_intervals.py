"""Interval publication: widths beside one exact program of all attackers, ends on the grid, few widths, the bound of the certificate, files."""

import json

import numpy as np
import pytest
from least_widths import Asker, least_widths

import cellward as cw
from cellward.audit import verify as checker
from cellward.exact import NO_BOUND
from cellward.instance import Instance
from cellward.protect.intervals.few_widths import few_widths
from cellward.protect.intervals.requirements import Requirements
from cellward.protect.intervals.widths import WidthSearch
from cellward.solve.budget import Budget
from cellward.table.sensitivity import Sensitivity


def oracle(p, method):
    """The least Σ w·width of real ends, by one exact linear program over widths and a move for every requirement."""
    i, r = p.instance, p.instance.relations

    def ends(bounds):
        return [None if abs(end) == NO_BOUND else end for end in bounds.tolist()]

    rows = [
        (right, dict(zip(cells, coefs, strict=True))) for right, cells, coefs in map(r.equation, range(r.equations))
    ]
    askers = []
    for attacker in i.attackers:
        one = attacker.asked(i.sensitivity.levels)
        levels = list(zip(one.cell.tolist(), one.lpl.tolist(), one.upl.tolist(), one.spl.tolist(), strict=True))
        askers.append(Asker(*map(ends, attacker.narrow(i.lower, i.upper)), levels))
    free, weight = method.candidate(i).tolist(), i.weight.tolist()
    return least_widths(rows, i.a.tolist(), ends(i.lower), ends(i.upper), free, weight, askers)


def drawn(seed):
    """A small table with levels to one side, to both, or a width, and attackers who know a cell, or a part of one."""
    rng = np.random.default_rng(seed)
    shape = ((2, 3), (2, 2), (5,), (2, 2, 2))[seed % 4]
    table = cw.Table.from_array(rng.integers(1, 30, shape), upper=None if seed % 3 else 300)
    risk = np.sort(rng.choice(table.cells, 2, replace=False))
    lpl = np.minimum(rng.integers(0, 5, 2), table.scaled[risk])
    upl, spl = rng.integers(1, 5, 2), rng.integers(0, 12, 2) * (seed % 2)
    table = table.with_sensitivity(Sensitivity.of(table.cells, risk, lpl, upl, spl))
    part = int(rng.integers(table.cells))
    known = [
        cw.Attacker.external(),
        cw.Attacker.knowing(table, "insider", exactly=[int(rng.integers(table.cells))]),
        cw.Attacker.knowing(
            table, "part", lower={part: int(table.scaled[part]) // 2}, upper={part: int(table.scaled[part]) + 3}
        ),
    ]
    return table, known


@pytest.mark.parametrize("seed", range(16))
def test_the_bound_is_that_of_one_exact_program_of_all_attackers(seed):
    table, known = drawn(seed)
    method = cw.IntervalPublication()
    p = method.protect(table, attackers=known, weights=("equal", "value")[seed % 2])
    best = oracle(p, method)
    if p.publication is None:
        assert (p.status, best.value) == ("infeasible", None) and p.certificate().check().proven
        return
    assert p.protected and p.release() and best.exact
    unit = p.certificate().content["bound"]["unit"]["size"]
    scale = 10**p.instance.weight_decimals
    assert -(-best.value // unit) * unit == p.certified_bound * scale == p.bound * scale <= p.objective_scaled


def test_ends_are_round_and_cells_are_published_as_told():
    table = cw.Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]).find(levels={("1", "0"): (2, 2, 0)})
    p = cw.IntervalPublication(5, publish=[("1", "1")]).protect(table)
    lower, upper = p.publication.lower, p.publication.upper
    wide = lower < upper
    assert not (lower[wide] % 5).any() and not (upper[wide] % 5).any()
    assert not wide[table.labels.find(("1", "1"))]
    with pytest.raises(cw.InputError, match=r"\(1, 0\) is at risk and is to be published"):
        cw.IntervalPublication(publish=[("1", "0")]).protect(table)


def test_levels_that_no_ranges_meet_are_named():
    table = cw.Table.from_array([[20, 50], [8, 19]]).find(levels={("1", "0"): (2, 2, 0)})
    p = cw.IntervalPublication(publish=[("1", "1"), ("1", "Total")]).protect(table)
    assert p.status == "infeasible" and p.reason.startswith("(1, 0): no ranges keep attacker external")
    assert p.certificate().check()


def test_the_command_writes_ranges(run, tmp_path):
    (tmp_path / "t.csv").write_text("r,n,s,l\na,20,s,0\nb,8,u,2\nc,30,s,0\n")
    reading = ["--dims", "r", "--value", "n", "--status", "s", "--lpl", "l", "--upl", "l"]
    said = run("intervals", tmp_path / "t.csv", *reading, "--grid", "5", "--out", tmp_path / "out")
    assert said.code == 0 and "total width" in said.out
    head, *rows = (tmp_path / "out" / "release.csv").read_text().splitlines()
    assert head == "r,lower,upper" and "b,5,10" in rows
    assert run("verify", tmp_path / "out").code == 0
    assert run("audit", tmp_path / "t.csv", *reading, "--release", tmp_path / "out").code == 0


def sample(**options):
    table = cw.Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]).find(levels={("1", "0"): (2, 2, 0)})
    return cw.IntervalPublication(**options).protect(table)


@pytest.mark.parametrize(("grid", "widths"), [(1, 1), (5, 1), (5, 2), (3, 1), (7, 2)])
def test_ranges_have_no_more_widths_than_asked(grid, widths):
    p = sample(grid=grid, widths=widths)
    lower, upper = p.publication.lower, p.publication.upper
    assert len(set((upper - lower).tolist()) - {0}) <= widths
    assert not (lower[lower < upper] % grid).any() and p.releasable and p.certificate().check()


def test_few_widths_are_those_that_cost_least():
    need, weight = [1, 2, 7, 8, 20], [5, 1, 2, 1, 1]
    every = [
        sum(w * min(x for x in (one, 20) if x >= n) for n, w in zip(need, weight, strict=True))
        for one in (1, 2, 7, 8, 20)
    ]
    chosen = few_widths(need, [100.0] * 5, weight, 2)
    assert sum(w * x for w, x in zip(weight, chosen, strict=True)) == min(every) and len(set(chosen)) == 2
    assert few_widths(need, [100.0] * 5, weight, 5) == need
    assert few_widths([4, 9], [5.0, 100.0], [1, 1], 1) is None


def refusal(p, **changes):
    content = json.loads(p.certificate().text)
    for path, value in changes.items():
        *parts, last = path.split("__")
        part = content
        for key in parts:
            part = part[int(key) if isinstance(part, list) else key]
        part[int(last) if isinstance(part, list) else last] = value
    try:
        return checker.check(content).reason
    except checker.Refused as refused:
        return str(refused)


def test_the_verifier_holds_ranges_to_what_the_method_says():
    p = sample(grid=5, widths=1)
    assert "proven" in refusal(p)
    assert "does not end on the grid" in refusal(p, method__grid="4")
    assert refusal(p, method__grid="0") == "grid of method is not a whole number of units"
    assert refusal(p, method__widths=0) == "widths of method is not a number from 1 on"
    wide = sample(grid=1)
    two = [int(x) for x in wide.publication.upper]
    two[int(np.flatnonzero(wide.publication.lower < wide.publication.upper)[0])] += 1
    assert (
        refusal(wide, method__widths=1, printed__upper=two, objective=17) == "the ranges have more widths than stated"
    )
    free = [1] * 16
    free[0] = 0
    assert (
        refusal(wide, allowed__hi=free, allowed__step=free) == "cell 0 was not free to be a range, and nothing says why"
    )


def test_the_verifier_derives_the_bound_of_ranges_from_cuts():
    p = sample()
    assert (p.certified_bound, p.objective) == (16, 16)
    bound = json.loads(p.certificate().text)["bound"]
    assert refusal(p, bound__value="17") == "the bound is 16, not as stated"
    assert refusal(p, bound__cuts=[]) == "the equations of a combination does not increase from 0 to below 0"
    level = next(k for k, cut in enumerate(bound["cuts"]) if cut["sense"] in ("up", "down"))
    assert refusal(p, **{f"bound__cuts__{level}__cell": 0}) == "a cut is of a level that nobody has to be kept from"
    tree = [{**bound["tree"][0], "multiplier": [-1] * len(bound["tree"][0]["multiplier"])}]
    assert refusal(p, bound__tree=tree) == "a cut has a negative multiplier"
    assert "the bound is " in refusal(p, bound__tree=[{**bound["tree"][0], "denominator": 7}])


def test_the_verifier_takes_ranges_without_a_bound_and_none_that_are_open():
    p = sample()
    nothing = {"value": None, "unit": {"size": 1, "equation": [], "multiplier": []}, "tree": [], "cuts": []}
    assert "no lower bound is proven" in refusal(p, bound=nothing, status="feasible")
    open_ = [int(x) for x in p.publication.upper]
    at = int(np.flatnonzero(p.publication.lower < p.publication.upper)[0])
    open_[at] = None
    assert (
        refusal(p, printed__upper=open_, objective=None)
        == f"the range of cell {at} is open to a side, and so ends on no grid"
    )


def test_a_fixed_cell_is_no_range():
    content = json.loads(sample().certificate().text)
    free = content["allowed"]["hi"]
    at = 0 if isinstance(free, int) else free.index(1)
    with pytest.raises(checker.Refused, match="fixed was free to be a range"):
        checker.check(content, expected={"fixed": [at]})


def test_cells_tied_by_two_terms_ask_once():
    """A total of one part moves with it: the larger of their levels is asked."""
    tree = cw.Hierarchy.from_dict({"Total": {"N": ["n1"], "S": ["s1", "s2"]}})
    table = cw.Table.from_frame(
        {"r": ["n1", "s1", "s2"], "n": [9, 8, 7]}, dims=["r"], value="n", hierarchies={"r": tree}
    )
    both = sorted(table.labels.find(code) for code in ("N", "n1"))
    table = table.with_sensitivity(
        Sensitivity.of(table.cells, both, np.array([2, 3]), np.array([4, 1]), np.zeros(2, np.int64))
    )
    asked = Requirements.of_instance(Instance.of(table))
    kept = sorted((int(asked.way[r]), int(asked.level[r])) for r in np.flatnonzero(asked.first))
    assert len(asked.cell) == 4 and kept == [(-1, 3), (1, 4)]
    p = cw.IntervalPublication().protect(table)
    assert p.protected and p.certified_bound == p.objective


def test_a_cube_is_proven_least():
    rng = np.random.default_rng(7)
    table = cw.Table.from_array(rng.integers(1, 100, (4, 4, 4)))
    risk = np.sort(rng.choice(np.flatnonzero(table.relations.height == 0), 6, replace=False))
    level = np.maximum(1, table.scaled[risk] * 15 // 100)
    p = cw.IntervalPublication().protect(
        table.with_sensitivity(Sensitivity.of(table.cells, risk, level, level, 0 * level))
    )
    assert p.status == "optimal" and p.certified_bound == p.objective and p.certificate().check().proven


def test_safe_widths_meet_what_is_asked_and_are_told_exactly():
    """What is there when the time is up: moves for every requirement, each a table in exact numbers."""
    table, known = drawn(3)
    instance = Instance.of(table, attackers=known)
    search = WidthSearch(instance, cw.IntervalPublication(zeros="candidates").candidate(instance), Budget())
    widths = search._safe(np.zeros(2 * instance.cells))
    assert widths is not None and not (widths % 1).any() and not search.missed(widths)
    assert search.tables and all(
        not instance.relations.sums(instance.relations.coefs * one.shift[instance.relations.indices]).any()
        for one in search.tables
    )


def test_a_table_with_nothing_at_risk_is_printed_as_it_is():
    p = cw.IntervalPublication().protect(cw.Table.from_array([[1, 2], [3, 4]]))
    assert (p.status, p.objective) == ("optimal", 0)
    assert p.release().values.tolist() == [1, 2, 3, 3, 4, 7, 4, 6, 10]
