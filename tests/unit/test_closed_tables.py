"""No relation that readers know is lost when a long table lacks some of its totals."""

import itertools

import numpy as np
import pytest

import cellward as cw
from cellward.errors import InputError

TREE = cw.Hierarchy.from_dict({"Total": {"A": ["1", "2"], "B": ["3", "4"]}})
LEVELS = ({"1", "2", "3", "4"}, {"A", "B"}, {"Total"})
BELOW = {"A": ["1", "2"], "B": ["3", "4"], "Total": ["1", "2", "3", "4"]}
SEXES = {"Total": ["F", "M"]}


def cell_as_leaves(region, sex):
    """The cell as a 0–1 vector over the eight leaf cells."""
    leaves = [(r, s) for r in "1234" for s in "FM"]
    mine = set(itertools.product(BELOW.get(region, [region]), SEXES.get(sex, [sex])))
    return [int(leaf in mine) for leaf in leaves]


COMBINATIONS = list(itertools.product(LEVELS, ({"F", "M"}, {"Total"})))
SUBSETS = [chosen for size in range(1, 7) for chosen in itertools.combinations(range(6), size)]


@pytest.mark.parametrize("chosen", SUBSETS, ids=str)
@pytest.mark.parametrize("totals", ["auto", "given"])
def test_every_relation_between_the_cells_is_an_equation_or_the_table_is_refused(chosen, totals):
    value = dict(zip(((r, s) for r in "1234" for s in "FM"), range(3, 11), strict=True))
    cells = [(r, s) for k in chosen for r in sorted(COMBINATIONS[k][0]) for s in sorted(COMBINATIONS[k][1])]
    numbers = [int(np.dot(cell_as_leaves(r, s), list(value.values()))) for r, s in cells]
    frame = {"r": [r for r, _ in cells], "s": [s for _, s in cells], "n": numbers}
    try:
        table = cw.Table.from_frame(frame, dims=["r", "s"], value="n", hierarchies={"r": TREE}, totals=totals)
    except InputError as error:
        assert totals == "given"
        assert "a sum that readers know runs through it" in str(error)
        return
    vectors = np.array([cell_as_leaves(*table.labels.tuple_of(i)) for i in range(table.cells)])
    assert table.relations.structure.rank == table.cells - np.linalg.matrix_rank(vectors)
    assert totals == "auto" or table.cells == len(cells)


def test_a_total_that_contradicts_cells_far_below_is_refused():
    frame = {"r": ["N", "N", "S", "S", "Total"], "s": ["F", "M", "F", "M", "Total"], "n": [1, 2, 3, 4, 99]}
    with pytest.raises(InputError, match="does not add up: difference 89"):
        cw.Table.from_frame(frame, dims=["r", "s"], value="n")


def test_margins_alone_must_agree():
    frame = {"r": ["N", "S", "Total", "Total"], "s": ["Total", "Total", "F", "M"], "n": [3, 7, 400, 6]}
    with pytest.raises(InputError, match="does not add up"):
        cw.Table.from_frame(frame, dims=["r", "s"], value="n")


def test_a_total_takes_the_first_sum_that_occurs():
    sums = cw.Hierarchy((("all", ("male", "female")), ("all", ("young", "old"))))
    table = cw.Table.from_frame(
        {"who": ["young", "old"], "n": [3, 4]}, dims=["who"], value="n", hierarchies={"who": sums}
    )
    assert table.values.tolist() == [3, 4, 7]
    assert table.relations.equations == 1


def test_overlapping_groupings_are_added_up_whole():
    tree = cw.Hierarchy.from_dict(
        {"Total": {"North": ["N1", "N2"], "South": ["S1", "S2"]}, "East": ["N2", "X"], "West": ["X", "S1"]}
    )
    frame = {"r": ["N1", "N2", "S1", "S2", "X"], "n": [1, 2, 4, 8, 16]}
    table = cw.Table.from_frame(frame, dims=["r"], value="n", hierarchies={"r": tree})
    values = dict(zip(table.labels.columns()["r"], table.values.tolist(), strict=True))
    assert values == {
        "N1": 1,
        "N2": 2,
        "S1": 4,
        "S2": 8,
        "X": 16,
        "North": 3,
        "South": 12,
        "East": 18,
        "West": 20,
        "Total": 15,
    }


@pytest.mark.parametrize("code", ["Total ", "TOTAL", " total"])
def test_a_code_that_is_nearly_the_totals_is_refused(code):
    with pytest.raises(InputError, match="not quite the total's 'Total'"):
        cw.Table.from_frame({"r": ["N", "S", code], "n": [1, 2, 3]}, dims=["r"], value="n")


def test_what_was_checked_cannot_be_changed_before_the_release():
    table = cw.Table.from_array([[1, 2], [3, 4]])
    p = cw.ControlledRounding(5).protect(table)
    p.certificate()
    for array in (p.values, p.scaled, table.values, p.sought.allowed.lo, p.instance.a, p.release().values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 77


def test_costs_too_far_apart_for_tolerances_are_solved_exactly_or_not_called_optimal():
    weights = [3, 1, 3, 0, 3, 0, 1, 0, 0, 10**13, 1, 1]
    p = cw.ControlledRounding(10).protect(cw.Table.from_array([[7, 19, 3], [19, 10, 11]]), weights=weights)
    assert (p.status, p.objective, p.engine) == ("optimal", 10000000000028, "minimum-cost flow")


def test_infeasible_is_not_claimed_at_coefficients_beyond_tolerances():
    row, values = [-999999999, -1000000000, -1, 999999999, 999999999], [3, 19, 2, 18, 11]
    table = cw.Table.from_equations(values, [row], [sum(c * v for c, v in zip(row, values, strict=True))])
    with pytest.raises(cw.SolverError, match="its word is not enough"):
        cw.ControlledRounding([2, 5, 6, 2, 6]).protect(table)


def test_a_total_under_a_name_we_were_not_told_is_noticed():
    frame = {"r": ["a", "b", "c", "All"], "n": [1, 2, 4, 7]}
    with pytest.raises(InputError, match="'All' of r is the sum of all the others everywhere"):
        cw.Table.from_frame(frame, dims=["r"], value="n")
    told = cw.Table.from_frame(frame, dims=["r"], value="n", total="All")
    assert (told.cells, told.relations.equations) == (4, 1)


def test_a_number_column_cannot_be_a_dimension_too():
    with pytest.raises(InputError, match="cannot be a dimension and a number at once"):
        cw.Table.from_frame({"a": ["x", "y"], "n": [1, 2]}, dims=["a", "n"], value="n")


def test_levels_on_any_cell_are_a_request():
    table = cw.Table.from_frame({"a": ["x", "y"], "n": [1, 2], "up": [1, 0]}, dims=["a"], value="n", upl="up")
    assert cw.ControlledRounding(5).protect(table).protected is True


def test_a_certificate_of_a_rounding_must_be_one():
    from cellward.audit import verify

    content = dict(cw.ControlledRounding(5).protect(cw.Table.from_array([[1, 2], [3, 4]])).certificate().content)
    n = len(content["nominal"])
    same = {
        **content,
        "printed": {"kind": "values", "value": content["nominal"]},
        "allowed": {"lo": content["nominal"], "hi": content["nominal"], "step": 0},
        "knowledge": {**content["knowledge"], "base": 0},
        "bound": {"value": None, "unit": {"size": 1, "equation": [], "multiplier": []}, "tree": []},
        "objective": 0,
    }
    with pytest.raises(verify.Refused, match="base is 0 in every cell: the table would be published as it is"):
        verify.check(same)
    far = [v + 10 * (i in (0, 2, 6, 8)) for i, v in enumerate(content["printed"]["value"])]
    moved = sum(abs(v - a) for v, a in zip(far, content["nominal"], strict=True))
    with pytest.raises(verify.Refused, match="cell"):
        verify.check(
            {
                **content,
                "printed": {"kind": "values", "value": far},
                "allowed": {"lo": [0] * n, "hi": [100] * n, "step": 5},
                "objective": moved,
            }
        )
