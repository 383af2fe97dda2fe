"""The same release whatever the order of rows and dimensions, the words for totals, the hash seed and the threads; the same draws next period."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward.hierarchy import Hierarchy
from cellward.protect.adjustment.needs import drawn_levels
from cellward.protect.draws import Draws
from cellward.table.labels import Labels
from cellward.table.sensitivity import Sensitivity

KEY = key_of("canonical")
METHODS = {
    "round": cw.ControlledRounding(5),
    "round in steps": cw.ControlledRounding(3, max_steps=3),
    "round unbiased": cw.ControlledRounding(5, unbiased=True),
    "perturb": cw.CellPerturbation(5),
    "perturb on a grid": cw.CellPerturbation(5, grid=1),
    "perturb within": cw.CellPerturbation(within=12),
    "adjust l1": cw.ControlledAdjustment(),
    "adjust l2": cw.ControlledAdjustment(norm="l2"),
    "adjust linf": cw.ControlledAdjustment(norm="linf"),
    "adjust, cells fixed": cw.ControlledAdjustment(fixed=[("r0", "c0", "x"), ("Total", "c0", "Total")]),
}
REGIONS = Hierarchy.from_parents([("r0", "North"), ("r1", "North"), ("r2", "South"), ("r3", "South")])


def records(seed=0, order=None, growth=1.0, more=()):
    """A long table of counts: region × sector × kind, some rows absent; rows in another order, values grown, rows added."""
    rng = np.random.default_rng(seed)
    rows = [
        [f"r{i}", f"c{j}", k, int(np.rint((5 + rng.poisson(30)) * growth))]
        for i in range(4) for j in range(5) for k in "xy" if rng.random() < 0.9
    ]  # fmt: skip
    rows += [list(row) for row in more]
    return rows if order is None else [rows[k] for k in np.random.default_rng(order).permutation(len(rows))]


def made(rows, dims=("region", "sector", "kind"), total="Total", hierarchies=None):
    columns = dict(zip(("region", "sector", "kind", "n"), map(list, zip(*rows, strict=True)), strict=True))
    table = cw.Table.from_frame(columns, dims=list(dims), value="n", total=total, hierarchies=hierarchies)
    names = table.labels.identities(np.arange(table.cells))
    risky = [i for i, identity in enumerate(names) if hash_of(identity) < 0.15 and "c0" not in identity]
    level = np.ones(len(risky), np.int64)
    return table.with_sensitivity(Sensitivity.of(table.cells, np.array(risky), level, level, 0 * level))


def hash_of(identity):
    return Draws(key_of("which are at risk"), Labels(1, named={0: identity})).fractions("", np.array([0]))[0]


def mapping(p, total="Total"):
    """Values by the pairs of dimension and code, without totals."""
    columns = p.release().labels.columns()
    cells = zip(*columns.values(), strict=True)
    named = [frozenset((d, c) for d, c in zip(columns, cell, strict=True) if c != total) for cell in cells]
    return dict(zip(named, p.values.tolist(), strict=True))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_neither_the_order_of_rows_nor_of_dimensions_changes_a_release(method):
    first = method.protect(made(records()), key=KEY)
    assert first.protected
    for order in range(1, 4):
        again = method.protect(made(records(order=order)), key=KEY)
        assert mapping(again) == mapping(first)
        assert (again.status, again.objective) == (first.status, first.objective)
        assert again.certificate().check()
    if method.word != "adjust" or method.fixed is None:  # whose cells are named in the order of the dimensions
        turned = method.protect(made(records(order=5), dims=("kind", "region", "sector")), key=KEY)
        assert mapping(turned) == mapping(first)


@pytest.mark.parametrize(
    "method", [cw.ControlledRounding(5), cw.CellPerturbation(within=12), cw.ControlledAdjustment()]
)
def test_with_hierarchies_and_attackers_too(method):
    found = []
    for order in range(3):
        table = made(records(order=order), hierarchies={"region": REGIONS})
        same = {name: table.labels.find(("r1", "c1", "x")) for name in "ab"}
        spies = [cw.Attacker.knowing(table, name, lower={cell: 1}) for name, cell in same.items()]
        found.append(method.protect(table, attackers=spies if order % 2 else spies[::-1], key=KEY))
    assert mapping(found[0]) == mapping(found[1]) == mapping(found[2])
    for p in found:
        assert p.release() and p.certificate().check()


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_what_totals_are_called_changes_nothing(method):
    if method.word == "adjust" and method.fixed is not None:
        return
    first = method.protect(made(records()), key=KEY)
    again = method.protect(made(records(order=1), total="Sum of all"), key=KEY)
    assert mapping(again, "Sum of all") == mapping(first)


def test_one_base_a_cell_and_senses_of_cells_follow_their_cells():
    bases, senses = [], []
    for order in (None, 1, 2):
        table = made(records(order=order))
        names = table.labels.identities(np.arange(table.cells))
        base = [3 if len(name) % 2 else 6 for name in names]
        p = cw.CellPerturbation(base).protect(table, key=KEY)
        assert p.method["base"] == list(map(str, base))
        assert all(abs(v - a) < b for v, a, b in zip(p.values, table.values, base, strict=True))
        bases.append(mapping(p))
        up = [1 if len(names[i]) % 2 else -1 for i in table.sensitive.tolist()]
        q = cw.ControlledAdjustment(senses=up, jitter=0).protect(table, key=KEY)
        assert all((q.values - table.values)[i] * s > 0 for i, s in zip(table.sensitive.tolist(), up, strict=True))
        assert list(q.details.senses) == table.sensitive.tolist()
        senses.append(mapping(q))
    assert bases[0] == bases[1] == bases[2]
    assert senses[0] == senses[1] == senses[2]


def test_arrays_turned_around():
    inner = np.random.default_rng(3).poisson(20, (7, 12, 3))
    codes = [[f"{d}{k}" for k in range(size)] for d, size in zip("abc", inner.shape, strict=True)]
    table = cw.Table.from_array(inner, dims=["a", "b", "c"], codes=codes)
    first = cw.ControlledRounding(3).protect(table, key=KEY)
    back = cw.Table.from_array(
        inner.transpose(2, 0, 1)[:, ::-1], dims=["c", "a", "b"], codes=[codes[2], codes[0][::-1], codes[1]]
    )
    again = cw.ControlledRounding(3).protect(back, key=KEY)
    assert mapping(again) == mapping(first)


def test_what_is_infeasible_names_the_same_cells():
    said = []
    for order in (None, 1):
        table = made(records(order=order))
        level = np.full(len(table.sensitive), 40)
        table = table.with_sensitivity(Sensitivity.of(table.cells, table.sensitive, level, level, 0 * level))
        p = cw.ControlledRounding(5).protect(table, key=KEY)
        assert p.status == "infeasible"
        said.append({table.labels.tuple_of(i) for i in p.failure.cells})
    assert said[0] == said[1]


def test_neither_threads_nor_the_hash_seed_change_a_release():
    script = """
import json, sys
import test_canonical as t
threads = int(sys.argv[1])
rows = t.records(order=7)
print(json.dumps([p.values.tolist() for p in (m.protect(t.made(rows), key=t.KEY, threads=threads) for m in t.METHODS.values())]))
"""
    found = []
    for seed, threads in (("0", 1), ("1", 1), ("77", 2)):
        paths = [*sys.path, str(Path(__file__).parent)]
        done = subprocess.run(
            [sys.executable, "-c", script, str(threads)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(paths)},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(done.stdout))
    assert found[0] == found[1] == found[2]


# ---- draws ---------------------------------------------------------------------------------------------------------------------------------


def drawn(table, what="sense"):
    cells = np.arange(table.cells)
    draws = Draws(KEY, table.labels)
    return dict(zip(table.labels.identities(cells), draws.fractions(what, cells).tolist(), strict=True))


def test_draws_know_a_cell_by_its_codes_alone():
    first = drawn(made(records()))
    for other in (
        made(records(order=3)),
        made(records(), dims=("sector", "kind", "region")),
        made(records(), total="All"),
        made(records(), hierarchies={"region": REGIONS}),
        made(records(more=[("r9", "c9", "x", 8)])),
        cw.Table.from_frame(
            {"region": ["r0", "r1"], "year": ["2020", "2020"], "n": [3, 4]}, dims=["year", "region"], value="n"
        ),
    ):
        again = drawn(other)
        assert len(again.keys() & first.keys()) >= 3
        assert all(again[name] == first[name] for name in again.keys() & first.keys())
    assert len(set(first.values())) == len(first)
    assert drawn(made(records()), "level up")[""] != first[""]


def test_draws_of_cells_without_dimensions_go_by_their_numbers():
    one = cw.Table.from_equations([1, 2, 3], [[1, 1, -1]])
    two = cw.Table.from_equations([1, 2, 3, 6], [[1, 1, 1, -1]])
    assert drawn(two)["cell 1"] == drawn(one)["cell 1"] != drawn(one)["cell 2"]


def test_draws_are_spread_evenly():
    u = np.array(list(drawn(cw.Table.from_array(np.ones((60, 60), int))).values()))
    assert abs(u.mean() - 0.5) < 0.02
    assert np.abs(np.histogram(u, 10, (0, 1))[0] / len(u) - 0.1).max() < 0.02
    draws = Draws(KEY, Labels(2000))
    cells = np.arange(2000)
    assert set(draws.up_to("x", cells, np.full(2000, 6)).tolist()) == set(range(7))
    assert abs(draws.bits("x", cells).mean() - 0.5) < 0.05


def test_six_periods_of_growth_keep_the_deviation_in_proportion():
    """Where what is drawn were a remainder, a level of one unit more would be a fresh draw, and six of them together narrow."""
    cells = np.arange(40)
    draws = Draws(KEY, Labels(40))
    share = []
    for period in range(6):
        level = np.rint(1000 * 1.03**period * (1 + cells)).astype(np.int64)
        share.append(drawn_levels(draws, cells, level, np.full(40, 10**9), 1.0, 1, "up") / level)
    assert np.ptp(share, axis=0).max() < 2e-3
    assert np.ptp(share) > 0.8


def test_next_period_moves_cells_the_same_way():
    method, risky = cw.CellPerturbation(within=12), [("r0", "c1", "x"), ("r1", "c3", "y"), ("r3", "c4", "x")]
    found = []
    for more in ((), [("a0", "c0", "x", 40), ("r0", "c9", "y", 31)]):
        table = made(records(more=more))
        cells = np.sort([table.labels.find(cell) for cell in risky])
        level = np.full(len(cells), 2)
        table = table.with_sensitivity(Sensitivity.of(table.cells, cells, level, level, 0 * level))
        p = method.protect(table, key=KEY)
        found.append([int(p.values[table.labels.find(cell)]) for cell in risky])
        assert any(p.values[cells] != table.values[cells])
    assert found[0] == found[1]
