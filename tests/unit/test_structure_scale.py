"""Structure at scale: the census tables' leaves, redundancy and network, as their design predicts them."""

from __future__ import annotations

import census
import numpy as np
import pytest

from cellward.table.relations import Relations


def relations_of(table: census.Census) -> Relations:
    return Relations(table.cells, table.indptr, table.indices, table.coefs, table.rhs)


def scottish(wards: int, seed: int = 0) -> census.Census:
    return census.scottish_census(wards=wards, authorities=6, ages=5, sexes=2, living=4, seed=seed)


def check_form(table: census.Census, r: Relations, leaves: int) -> None:
    """As many leaves as predicted, and they give the table back: its own values and any others with the same leaves."""
    form = r.leaf_form
    assert len(form.leaves) == leaves == r.cells - r.structure.rank
    assert form.condition.shape == (0, leaves)
    assert not len(r.contradictory)
    assert len(r.redundant) == r.equations - r.structure.rank
    assert np.array_equal(form.matrix @ table.values[form.leaves] + form.constant, table.values)
    u = np.random.default_rng(1).integers(-1000, 1000, leaves)
    a = form.matrix @ u + form.constant
    assert np.array_equal(a[form.leaves], u)
    assert not r.residual(a).any()


@pytest.mark.parametrize("wards", [6, 60, 300])
def test_scottish_census_has_the_inner_cells_of_wards_as_leaves(wards):
    """Everything is a sum of age × sex × living in the smallest areas."""
    table = scottish(wards)
    check_form(table, relations_of(table), wards * 5 * 2 * 4)


def test_scottish_census_with_all_its_kinds():
    table = census.scottish_census(wards=60, authorities=8)
    r = relations_of(table)
    check_form(table, r, 60 * 20 * 2 * 7)
    assert r.network is None
    assert not r.blocks().any()


def test_income_support_has_all_but_one_part_of_each_partition_as_leaves():
    """Per ward the total, and each partition less the part that the total settles."""
    partitions = (2, 2, 3, 4, 4, 4)
    table = census.income_support(geography=(300, 40, 8, 2, 1), partitions=partitions)
    check_form(table, relations_of(table), 300 * (1 + sum(partitions) - len(partitions)))


def test_one_partition_over_geography_is_a_network_and_six_are_not():
    """One partition is a 2-D table with a hierarchy of areas; a total with six partitions belongs to too many sums."""
    geography = (300, 40, 8, 2, 1)
    table = census.income_support(geography=geography, partitions=(5,))
    r = relations_of(table)
    net = r.network
    assert net is not None
    check_form(table, r, 300 * 5)
    flow = np.zeros(net.nodes, np.int64)
    np.add.at(flow, net.head, table.values)
    np.subtract.at(flow, net.tail, table.values)
    assert not flow[:-1].any()
    assert relations_of(census.income_support(geography=geography)).network is None


def test_the_order_of_cells_and_equations_changes_nothing_that_counts():
    table = scottish(60)
    rng = np.random.default_rng(5)
    order, rows = rng.permutation(table.cells), rng.permutation(table.equations)
    r = relations_of(table)
    turned = r.take(rows).permuted(order)
    assert turned.structure.rank == r.structure.rank
    form = turned.leaf_form
    assert len(form.leaves) == len(r.leaf_form.leaves)
    values = table.values[order]
    assert np.array_equal(form.matrix @ values[form.leaves] + form.constant, values)


def test_asking_twice_gives_the_same_structure():
    first, second = relations_of(scottish(60)), relations_of(scottish(60))
    assert np.array_equal(first.structure.definition, second.structure.definition)
    assert np.array_equal(first.redundant, second.redundant)
    assert np.array_equal(first.leaf_form.leaves, second.leaf_form.leaves)


def test_a_wrong_equation_among_thousands_is_found():
    table = scottish(300)
    r = relations_of(table)
    rhs = r.rhs.copy()
    wrong = int(r.redundant[len(r.redundant) // 2])
    rhs[wrong] = 1
    spoiled = Relations(r.cells, r.indptr, r.indices, r.coefs, rhs)
    assert spoiled.contradictory.tolist() == [wrong]
    assert spoiled.structure.rank == r.structure.rank
