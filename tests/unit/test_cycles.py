"""Rounding along cycles: every node keeps its balance exactly, whatever the network's shape, its parts and its wholes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from cellward.protect.lattice.cycles import round_along_cycles


def balances(tail, head, amounts):
    out = {}
    for u, v, amount in zip(tail.tolist(), head.tolist(), amounts, strict=True):
        out[u] = out.get(u, 0) + amount
        out[v] = out.get(v, 0) - amount
    return out


def check(tail, head, part, whole):
    """x of the network, after an independent look at its balances in exact fractions."""
    given = [array.copy() for array in (tail, head, part, whole)]
    x = round_along_cycles(tail, head, part, whole)
    assert x.dtype == bool
    assert x.shape == tail.shape
    shares = [Fraction(p, w) for p, w in zip(part.tolist(), whole.tolist(), strict=True)]
    assert balances(tail, head, x.astype(int).tolist()) == balances(tail, head, shares)
    assert all(np.array_equal(a, b) for a, b in zip(given, (tail, head, part, whole), strict=True))
    return x


def closed(tail, head, value, base, nodes):
    """The network of some values: what a node lacks comes from the ground, and only what is not a multiple of the base is an arc."""
    net = np.zeros(nodes, np.int64)
    np.add.at(net, tail, value)
    np.subtract.at(net, head, value)
    tail = np.concatenate((tail, np.full(nodes, nodes)))
    head = np.concatenate((head, np.arange(nodes)))
    part = np.concatenate((value, net)) % base
    arc = part > 0
    return tail[arc], head[arc], part[arc], np.full(int(arc.sum()), base)


def table(rng, rows, columns, base):
    """Rows and columns of counts with their totals; the total of all joins the two kinds of totals, so it has no arc."""
    i, j = np.indices((rows, columns)).reshape(2, -1)
    return closed(i, rows + j, rng.integers(0, 50, rows * columns), base, rows + columns)


def together(*networks):
    """Side by side, no node shared."""
    first, parts = 0, []
    for tail, head, part, whole in networks:
        parts.append((tail + first, head + first, part, whole))
        first += int(max(tail.max(initial=-1), head.max(initial=-1))) + 1
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


@pytest.mark.parametrize("base", [2, 3, 4, 5, 6, 7, 10, 12, 97, 1000, 2**20 + 7])
def test_random_networks_keep_every_balance(base):
    rng = np.random.default_rng(base)
    for _ in range(25):
        nodes, arcs = int(rng.integers(1, 30)), int(rng.integers(0, 120))
        tail, head = rng.integers(0, nodes, (2, arcs))  # parallel arcs, arcs back and loops among them
        check(*closed(tail, head, rng.integers(0, base, arcs), base, nodes))


@pytest.mark.parametrize("base", [3, 5, 10, 1000])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (9, 60), (60, 60), (1, 500)])
def test_tables_keep_every_balance(shape, base):
    check(*table(np.random.default_rng(shape[1]), *shape, base))


def test_parallel_arcs_share_what_they_carry():
    for count in (3, 30, 3000):
        ones = np.ones(count, np.int64)
        assert int(check(0 * ones, ones, ones, 3 * ones).sum()) == count // 3
    there = np.array([0, 0, 1, 1])  # two arcs there and two back
    check(there, 1 - there, np.array([1, 2, 1, 2]), np.full(4, 3))


def test_a_long_cycle_is_whole_at_once():
    count = 100_000
    u = np.arange(count)
    v = (u + 1) % count
    against = np.random.default_rng(1).random(count) < 0.5
    tail, head = np.where(against, v, u), np.where(against, u, v)
    x = check(tail, head, np.where(against, 4, 1), np.full(count, 5))
    assert np.array_equal(x, against) or np.array_equal(x, ~against)


def test_a_long_ladder_keeps_every_balance():
    steps, base = 20_000, 3
    around = np.random.default_rng(2).integers(0, base, steps)  # an amount around each field of the ladder
    left, right = np.arange(steps), np.arange(steps) + steps + 1
    tail = np.concatenate((left, right + 1, np.arange(steps + 1)))
    head = np.concatenate((left + 1, right, np.arange(steps + 1) + steps + 1))
    part = np.concatenate((around, around, np.append(0, around) - np.append(around, 0))) % base
    arc = part > 0
    check(tail[arc], head[arc], part[arc], np.full(int(arc.sum()), base))


def test_many_small_networks_of_different_wholes():
    rng = np.random.default_rng(3)
    check(*together(*(table(rng, 3, 3, int(base)) for base in rng.integers(2, 12, 300))))


def test_different_wholes_may_meet_at_the_ground():
    networks = [table(np.random.default_rng(base), 8, 8, base) for base in (3, 5, 8)]
    tail, head, part, whole = together(*networks)
    ground = np.cumsum([17, 17, 17]) - 1
    merge = np.arange(51)
    merge[ground] = 50
    check(merge[tail], merge[head], part, whole)


def test_the_same_network_gives_the_same_rounding():
    network = table(np.random.default_rng(4), 40, 40, 3)
    assert np.array_equal(check(*network), check(*network))


def test_no_arcs_no_rounding():
    none = np.zeros(0, np.int64)
    assert check(none, none, none, none).tolist() == []


def test_a_balance_that_is_not_whole_is_refused():
    ones = np.ones(3, np.int64)
    with pytest.raises(ValueError, match="the arcs at node 4 do not add up to a whole number"):
        round_along_cycles(4 * ones, 5 * ones, np.array([1, 1, 2]), 3 * ones)
    with pytest.raises(ValueError, match="do not add up"):
        # 1/2 + 1/4 + 1/4 is whole, but arcs of different wholes are rounded apart
        round_along_cycles(4 * ones, 5 * ones, ones, np.array([2, 4, 4]))


@pytest.mark.parametrize("part", [0, 3, -1, 4])
def test_an_arc_that_is_already_whole_is_refused(part):
    with pytest.raises(ValueError, match=f"arc 1 carries {part}/3"):
        round_along_cycles(np.zeros(2, int), np.ones(2, int), np.array([1, part]), np.array([3, 3]))


def test_parts_beyond_64_bits_are_refused():
    for base in (2**58 - 1, 2**58 + 1):
        part = np.array([base // 2, base // 2, base // 2, 2 * base - 3 * (base // 2)])
        network = np.zeros(4, int), np.ones(4, int), part - np.array([0, 0, 3, -3]), np.full(4, base)
        if base < 2**58:
            assert int(check(*network).sum()) == 2
        else:
            with pytest.raises(ValueError, match="exceed 64 bits"):
                round_along_cycles(*network)
