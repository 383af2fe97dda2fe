"""Single moves: each keeps every equation, reaches the level, stays inside the bounds; and what is shown with them is what is shown without."""

from dataclasses import replace

import numpy as np
import pytest
from fixed_keys import key_of

import cellward as cw
from cellward import Attacker, ControlledRounding, Hierarchy, PPercent, Table
from cellward.audit import settle as settling
from cellward.audit import single_moves
from cellward.audit.ends import HIGH, LOW, Ends
from cellward.audit.evidence import show_levels
from cellward.audit.region import Region
from cellward.audit.single_moves import CHOICES, SingleMoves
from cellward.audit.swaps import Swaps
from cellward.solve.budget import Budget

TREE = {"Total": {"N": ["n1", "n2", "n3"], "S": ["s1", "s2"], "W": ["w1", "w2", "w3"]}}
KEY = key_of("moves")


def table(seed, *, sparse=False):
    """Region (a tree) by kind, of a few firms that stand behind many cells."""
    rng = np.random.default_rng(seed)
    leaves = [leaf for below in TREE["Total"].values() for leaf in below]
    rows = [
        (leaf, kind, f"f{rng.integers(9)}", int(rng.choice([1, 3, 10, 40, 200])))
        for leaf in leaves
        for kind in "xyz"
        if not sparse or rng.random() < 0.6
        for _ in range(int(rng.integers(1, 7)))
    ]
    columns = dict(zip(["region", "kind", "firm", "v"], map(list, zip(*rows, strict=True)), strict=True))
    trees = {"region": Hierarchy.from_dict(TREE)}
    made = Table.from_microdata(columns, dims="region*kind", measure="v", contributor="firm", hierarchies=trees)
    return made.find(PPercent(20))


def rounded(seed, base, **options):
    """A rounding, whatever it protects, with many attackers."""
    t = table(seed, **options)
    attackers = Attacker.from_data(t, coalitions=True)
    assert len(attackers) > 5
    p = ControlledRounding(base, ignore_levels=True).protect(t, attackers=attackers, key=KEY)
    assert p.status == "optimal"
    return p


def ends_of(p):
    """The ends of every attacker, with its levels and nothing found yet."""
    i = p.instance
    regions = [Region.of(i.relations, i.lower, i.upper, p.knowledge, one, i.a) for one in i.attackers]
    levels = [one.asked(i.sensitivity.levels) for one in i.attackers]
    return [Ends(region, levels=own) for region, own in zip(regions, levels, strict=True)]


def moves_of(p, seed=0):
    swaps = Swaps.of(p.instance.relations, p.instance.labels)
    assert swaps is not None
    return SingleMoves(swaps, p.instance.labels, ends_of(p), np.random.default_rng(seed))


def needed(p, side):
    """{cell: the largest level that any attacker asks on a side}."""
    need = {}
    for one in p.instance.attackers:
        levels = one.asked(p.instance.sensitivity.levels)
        for i, low, high in zip(levels.cell.tolist(), levels.lpl.tolist(), levels.upl.tolist(), strict=True):
            need[i] = max(need.get(i, 0), high if side == HIGH else low)
    return {i: level for i, level in need.items() if level}


def check(p, moves):
    """What a move must be; how many there are."""
    i = p.instance
    lo, hi = (
        np.maximum(i.lower, p.knowledge.lo),
        np.minimum(i.upper, p.knowledge.hi),
    )  # the external attacker's, the widest
    need, many = (needed(p, LOW), needed(p, HIGH)), 0
    assert i.attackers[0].name == "external"
    for (target, side), some in moves._found.items():
        assert 0 < len(some) <= CHOICES
        for move in some:
            many += 1
            assert len(set(move.cell.tolist())) == len(move.cell) == len(move.shift)
            assert move.shift.all()
            y = i.a.copy()
            y[move.cell] += move.shift
            assert not i.relations.residual(y).any()
            assert np.all(y >= lo)
            assert np.all(y <= hi)
            moved = int(y[target] - i.a[target])
            assert (moved if side == HIGH else -moved) >= need[side][target]
    return many


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_move_keeps_the_sums_reaches_the_level_and_stays_inside(seed, sparse):
    assert check(*((p := rounded(seed, 100, sparse=sparse)), moves_of(p))) > 50


@pytest.mark.parametrize("sparse", [False, True])
def test_so_do_those_through_a_cell_that_was_not_reached_at_random(monkeypatch, sparse):
    monkeypatch.setattr(single_moves, "ROUNDS", 0)
    p = rounded(1, 100, sparse=sparse)
    moves = moves_of(p)
    assert check(p, moves) > 50
    assert {i for i, _ in moves._found} <= set(needed(p, LOW)) | set(needed(p, HIGH))


def test_where_the_bounds_are_too_narrow_there_are_none():
    p = rounded(2, 2)
    moves = moves_of(p)
    check(p, moves)
    far = {i for i, level in needed(p, HIGH).items() if level > 4}
    assert far
    assert not far & {i for i, side in moves._found if side == HIGH}


def test_the_same_seed_gives_the_same_moves():
    p = rounded(3, 100)

    def stated(seed):
        found = moves_of(p, seed)._found
        return {at: [(move.cell.tolist(), move.shift.tolist()) for move in some] for at, some in found.items()}

    assert stated(5) == stated(5)
    assert stated(5) != stated(6)


def test_what_is_shown_to_an_attacker_lies_in_its_region():
    p = rounded(0, 100)
    moves, seen = moves_of(p), 0
    for ends in ends_of(p):
        before = ends.witnesses
        assert not before
        moves.show_to(ends)
        assert all(ends.region.contains_shift(one.shift, one.denominator) for one in ends.witnesses)
        seen += len(ends.witnesses)
        once = len(ends.witnesses)
        moves.show_to(ends)  # and nothing is shown twice
        assert len(ends.witnesses) == once
    assert seen > 20


class NoMoves:
    """In place of single moves."""

    def __init__(self, *_):
        pass

    def show_to(self, ends):
        """Nothing is shown."""


def failing(instance, p, effort=None):
    """(cell, attacker) of every requirement that is not met: the sentences up to what was found so far."""
    evidence = show_levels(instance, p.publication, effort)
    return evidence.protected, sorted(sentence.split(" comes as near")[0] for sentence in evidence.missing)


@pytest.mark.parametrize("base", [5, 40, 100])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_evidence_is_that_without_them(monkeypatch, seed, base):
    p = rounded(seed, base, sparse=bool(seed))
    together = failing(p.instance, p)
    alone = [
        failing(replace(p.instance, attackers=(one,)), p) for one in p.instance.attackers
    ]  # no moves are made for one
    assert together == (all(ok for ok, _ in alone), sorted(said for _, some in alone for said in some))
    assert failing(p.instance, p, Budget(seed=7, threads=2)) == together
    monkeypatch.setattr(settling, "SingleMoves", NoMoves)
    assert failing(p.instance, p) == together


def test_some_of_these_fail_and_some_hold():
    assert {failing(p.instance, p)[0] for p in (rounded(0, 5), rounded(0, 1000))} == {False, True}


def test_they_are_used_for_several_attackers_with_levels_only(monkeypatch):
    made = []

    class Watched(SingleMoves):
        def __init__(self, *args):
            made.append(self)
            super().__init__(*args)

    monkeypatch.setattr(settling, "SingleMoves", Watched)
    p = rounded(0, 100)
    made.clear()
    show_levels(replace(p.instance, attackers=p.instance.attackers[:1]), p.publication)
    p.audit(cells=[0], attackers=p.instance.attackers[:2])
    assert not made
    show_levels(p.instance, p.publication)
    assert len(made) == 1
    p.audit(only_levels=True)
    assert len(made) >= 2


def test_the_certificate_of_many_attackers_is_the_same_every_time_and_holds():
    t = table(0)
    attackers = Attacker.from_data(t, coalitions=True)
    first, second = (ControlledRounding(1000).protect(t, attackers=attackers, key=KEY) for _ in range(2))
    assert first.status == "optimal"
    assert first.certificate().text == second.certificate().text
    assert first.certificate().check().protected
    assert first.audit(only_levels=True).protected
    assert cw.audit(first.release(), table=t, attackers=attackers, only_levels=True, seed=3).protected
