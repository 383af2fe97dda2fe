"""Tables found for one publication, brought inside what another tells: still tables, inside, and as far as they can be what they were."""

import numpy as np
import pytest

import cellward as cw
from cellward.audit.ends import Witness
from cellward.audit.mended import mended


def case(seed):
    rng = np.random.default_rng(seed)
    table = cw.Table.from_array(rng.integers(0, 9, (4, 5)))
    form = table.relations.leaf_form
    leaves = rng.integers(-2, 3, len(form.leaves))
    return table, form, np.asarray(form.matrix @ leaves), rng


@pytest.mark.parametrize("seed", range(20))
def test_what_comes_out_is_a_table_inside(seed):
    table, form, shift, rng = case(seed)
    low, high = -rng.integers(0, 4, table.cells), rng.integers(0, 4, table.cells)
    for moved in mended([Witness(shift)], form, low, high):
        assert np.all((moved >= low) & (moved <= high))
        assert not table.relations.residual(table.scaled + moved).any()
        kept = moved[form.leaves] != 0
        assert np.array_equal(
            moved[form.leaves][kept], shift[form.leaves][kept]
        )  # a leaf stays moved as it was, or not at all


def test_a_table_that_is_inside_stays_as_it_is():
    _, form, shift, _ = case(1)
    (moved,) = mended([Witness(shift)], form, np.minimum(shift, 0), np.maximum(shift, 0))
    assert np.array_equal(moved, shift)


def test_where_nothing_is_left_and_of_tables_with_fractions_nothing_comes_out():
    table, form, shift, _ = case(2)
    none = np.zeros(table.cells, np.int64)
    assert list(mended([Witness(shift)], form, none, none)) == []
    assert list(mended([Witness(shift, 2)], form, none - 99, none + 99)) == []
