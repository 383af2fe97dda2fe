"""Attackers who know the method: what an independent search over all tables and all their roundings says, and where none is possible."""

from itertools import product

import numpy as np
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward.audit.audit import NOT_TRIED
from cellward.errors import InputError
from cellward.protect.rounding.small import loosely_coupled
from cellward.table.sensitivity import Sensitivity


def with_levels(values, cells, level):
    table = cw.Table.from_array(values)
    cells = np.asarray(cells)
    above = np.full(len(cells), level)
    below = np.minimum(above, table.scaled[cells])
    return table.with_sensitivity(Sensitivity.of(table.cells, cells, below, above, np.zeros_like(above)))


def with_margins(inner, shape):
    inner = np.reshape(inner, shape)
    for axis in range(inner.ndim):
        inner = np.concatenate((inner, inner.sum(axis=axis, keepdims=True)), axis=axis)
    return inner.ravel()


class Search:
    """All tables, one by one, in plain loops: shares nothing with the audit but the definition."""

    def __init__(self, shape, base, at_risk, level, known=()):
        self.shape, self.base, self.at_risk, self.level, self.known = shape, base, at_risk, level, known
        self.leaves = int(np.prod(shape))

    def near(self, values, reach):
        """Tables of whole counts less than ``reach`` away in every cell."""
        inner = np.arange(len(values)).reshape([n + 1 for n in self.shape])[tuple(slice(n) for n in self.shape)]
        for move in product(range(1 - reach, reach), repeat=self.leaves):
            y = with_margins(values[inner.ravel()] + np.array(move), self.shape)
            if y.min() >= 0 and np.abs(y - values).max() < reach:
                yield y

    def roundings(self, y):
        return [v for v in self.near(y, self.base) if not (v % self.base).any()]

    def keeps(self, v, y):
        for own in ((), self.known):
            region = [x for x in self.near(v, self.base) if all(x[i] == y[i] for i in own)]
            for p in set(self.at_risk) - set(own):
                ends = min(x[p] for x in region), max(x[p] for x in region)
                if ends[1] - y[p] < self.level or y[p] - ends[0] < min(self.level, y[p]):
                    return False
        return True

    def possible(self, v, y, *, told):
        """Whether v is a least rounding of y: of all, or of those that keep the levels."""
        roundings = self.roundings(y)
        cost = {v.tobytes(): int(np.abs(v - y).sum()) for v in roundings}
        nearest = cost[v.tobytes()] == min(cost.values())
        if nearest and not told:
            return True
        keeping = [cost[x.tobytes()] for x in roundings if self.keeps(x, y)]
        return self.keeps(v, y) and cost[v.tobytes()] == min(keeping)


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("values", [[7, 11], [3, 4], [8, 2], [1, 1], [6, 14]])
def test_a_small_table_is_left_what_a_search_over_all_tables_leaves(values, told):
    table = with_levels(values, [0], 2)
    p = cw.ControlledRounding(5).protect(table)
    found = p.audit(attackers=[cw.Attacker.knowing_method(levels_told=told)])
    search = Search((2,), 5, [0], 2)
    left = np.array([y for y in search.near(p.scaled, 5) if search.possible(p.scaled, y, told=told)])
    assert found.intervals["lower"].tolist() == left.min(axis=0).tolist()
    assert found.intervals["upper"].tolist() == left.max(axis=0).tolist()
    assert found.intervals["exact"].all()


def test_what_insiders_know_binds_the_method_too():
    table = with_levels([7, 11, 4], [0], 1)
    insider = cw.Attacker.knowing(table, "insider", exactly=[1])
    p = cw.ControlledRounding(3).protect(table, attackers=[cw.Attacker.external(), insider])
    found = p.audit(attackers=[cw.Attacker.knowing_method(), cw.Attacker.knowing_method(insider)])
    search = Search((3,), 3, [0], 1, known=[1])
    left = np.array([y for y in search.near(p.scaled, 3) if search.possible(p.scaled, y, told=False)])
    lower, upper = (found.intervals[name].reshape(2, -1) for name in ("lower", "upper"))
    assert (lower[0].tolist(), upper[0].tolist()) == (left.min(axis=0).tolist(), left.max(axis=0).tolist())
    mine = left[left[:, 1] == 11]
    assert (lower[1].tolist(), upper[1].tolist()) == (mine.min(axis=0).tolist(), mine.max(axis=0).tolist())


def test_the_nearest_rounding_of_two_cells_gives_levels_away_and_a_keyed_one_does_not():
    knows = cw.Attacker.knowing_method()
    kept = {}
    for keyed in (False, True):
        got = []
        for seed in range(30):
            table = with_levels(np.random.default_rng(seed).integers(5, 30, 2), [0], 2)
            p = cw.ControlledRounding(5, keyed=keyed).protect(table, key=key_of(seed))
            found = p.audit(attackers=[cw.Attacker.external(), knows])
            got.append(found.kept(knows.name))
            assert found.kept("external") == (1, 1)
            if keyed:
                lower, upper = (found.intervals[name].reshape(2, -1) for name in ("lower", "upper"))
                assert lower[0].tolist() == lower[1].tolist() and upper[0].tolist() == upper[1].tolist()
        kept[keyed] = sum(k for k, _ in got) / sum(n for _, n in got)
    assert kept[False] < 0.8
    assert kept[True] == 1


def test_every_rounding_can_come_of_a_key():
    values = np.array([[7, 11], [13, 21]])
    table = cw.Table.from_array(values)
    expected = {v.tobytes() for v in Search((2, 2), 5, [], 0).roundings(table.scaled)}
    seen = set()
    for k in range(120):
        p = cw.ControlledRounding(5, keyed=True).protect(table, key=key_of(k))
        seen.add(p.scaled.tobytes())
    assert seen == expected
    assert p.method["keyed"] is True and p.release() is not None


def test_a_table_too_large_to_try_gets_no_verdict():
    table = with_levels(np.arange(36).reshape(6, 6) + 7, [0], 2)
    found = cw.ControlledRounding(5).protect(table).audit(attackers=[cw.Attacker.knowing_method()], cells="sensitive")
    assert found.intervals["verdict"].tolist() == [NOT_TRIED]
    assert found.protected is None and found.open == 0
    assert not found.intervals["exact"].any()
    assert "more tables than can be tried" in found.notes[0]


def test_blocks_are_tried_one_by_one():
    matrix = np.zeros((2, 40), int)
    matrix[0, [0, 1, 2]] = 1, 1, -1
    matrix[1, 3:] = 1
    matrix[1, -1] = -1
    values = [7, 11, 18, *range(3, 39), sum(range(3, 39))]
    table = cw.Table.from_equations(values, matrix, sensitive=[0, 3], lpl=[2, 2], upl=[2, 2])
    p = cw.ControlledRounding(5).protect(table)
    found = p.audit(attackers=[cw.Attacker.knowing_method()], cells="sensitive")
    alone = cw.ControlledRounding(5).protect(with_levels([7, 11], [0], 2))
    of_block = alone.audit(attackers=[cw.Attacker.knowing_method()], cells="sensitive")
    assert found.intervals["verdict"].tolist() == [of_block.intervals["verdict"][0], NOT_TRIED]
    assert found.intervals["lower"][0] == of_block.intervals["lower"][0]


def test_no_method_takes_such_an_attacker_and_a_release_cannot_answer_it():
    table = with_levels([7, 11], [0], 2)
    knows = cw.Attacker.knowing_method()
    with pytest.raises(InputError, match="no method promises anything"):
        cw.ControlledRounding(5).protect(table, attackers=[knows])
    with pytest.raises(InputError, match="audit the Protection"):
        cw.audit(cw.ControlledRounding(5).protect(table).release(), table=table, attackers=[knows])


def test_results_of_small_and_loosely_coupled_tables_say_so():
    small = with_levels([7, 11], [0], 2)
    notes = cw.ControlledRounding.notes(cw.ControlledRounding(5).protect(small))
    assert "try all their tables" in notes[0] and "keyed=True" in notes[0]
    assert not cw.ControlledRounding.notes(cw.ControlledRounding(5, keyed=True).protect(small))
    large = with_levels(np.arange(36).reshape(6, 6) + 7, [0], 2)
    assert not cw.ControlledRounding.notes(cw.ControlledRounding(5).protect(large))
    groups = {"Total": {f"G{k}": [f"{k}a", f"{k}b"] for k in range(9)}}
    tree = cw.Hierarchy.from_dict(groups)
    codes = [code for pair in groups["Total"].values() for code in pair]
    frame = {"g": codes, "n": list(range(6, 6 + len(codes)))}
    table = cw.Table.from_frame(frame, dims=["g"], value="n", hierarchies={"g": tree})
    leaf = table.labels.find(("0a",))
    assert len(loosely_coupled(table.relations)) == len(codes)
    one = np.array([2])
    table = table.with_sensitivity(Sensitivity.of(table.cells, np.array([leaf]), one, one, 0 * one))
    (note,) = cw.ControlledRounding.notes(cw.ControlledRounding(5).protect(table))
    assert "one sum of at most 3 cells" in note
