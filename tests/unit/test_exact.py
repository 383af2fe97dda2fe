"""Exact numbers: the grammar, what it refuses and how it says so, the scaling of columns, and the way back to text and units."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from cellward import InputError, Table
from cellward.exact import (
    LARGEST,
    NO_BOUND,
    Numbers,
    check_decimals,
    parse,
    rescale,
    scale_one,
    short,
    text,
    texts,
    unit,
    units,
)

# ---- grammar ---------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "mantissa", "decimals"),
    [
        ("0", 0, 0),
        ("-0", 0, 0),
        ("+7", 7, 0),
        ("007", 7, 0),
        ("5.", 5, 0),
        (".5", 5, 1),
        ("-.5", -5, 1),
        ("12.50", 1250, 2),
        ("3e2", 300, 0),
        ("3E+2", 300, 0),
        ("1.25e1", 125, 1),
        ("1.5e-3", 15, 4),
        ("1e15", 10**15, 0),
        ("1e-15", 1, 15),
        ("1e000000015", 10**15, 0),
        ("9" * 30, 10**30 - 1, 0),
        ("0." + "0" * 28 + "1", 1, 29),
        ("0." + "0" * 29 + "1", 1, 30),
        ("9" * 30 + "e15", (10**30 - 1) * 10**15, 0),
    ],
)
def test_a_number_is_read_exactly(written, mantissa, decimals):
    assert parse(written) == (mantissa, decimals)


@pytest.mark.parametrize(
    "written",
    [
        *("nan", "NaN", "inf", "-inf", "Infinity", "1_000", "1,000", "1,5", "1 000", " 1", "1 ", "1\n", "\t1", "1\x00"),
        *("0x10", "0b1", "0o7", "1e", "1e+", "e5", ".", "-", "+", "-.", ".e1", "--1", "+-1", "1-", "1.2.3", "1e1.5"),
        *("１２", "٣", "١٫٥", "²", "½", "Ⅷ", "−1", "1’000", "£5", "5%", "abc", "1e9999999999"),
    ],
)
def test_what_is_not_a_number_is_refused_with_place_and_remedy(written):
    with pytest.raises(
        InputError, match=r"^here: .* is not a number; (write digits with a point|if the comma)"
    ) as caught:
        parse(written, "here")
    assert repr(written) in str(caught.value)


@pytest.mark.parametrize("written", ["", " ", "\t", "\n", "\u00a0"])
def test_blank_text_asks_for_a_value(written):
    with pytest.raises(InputError, match="fill in a value or leave the cell out"):
        parse(written)


def test_a_long_wrong_text_is_shown_in_part():
    with pytest.raises(InputError) as caught:
        parse("x" * 1_000_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("written", ["1" * 31, "." + "0" * 31, "1" * 16 + "." + "1" * 15, "-" + "9" * 31])
def test_more_than_thirty_digits_are_refused(written):
    with pytest.raises(InputError, match="31 digits; at most 30 are read: round it first"):
        parse(written)


@pytest.mark.parametrize("written", ["1e16", "1e-16", "0e16", "1e30000000", "1e-30000000", "1e999999999"])
def test_an_exponent_beyond_fifteen_is_refused_without_computing_it(written):
    start = time.process_time()
    with pytest.raises(InputError, match="is outside ±15; choose another unit"):
        parse(written)
    assert time.process_time() - start < 1  # 10^30000000 alone takes far longer


# ---- Python values ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (3, Fraction(3)),
        (-(10**29), Fraction(-(10**29))),
        (np.int8(-5), Fraction(-5)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (0.1, Fraction(1, 10)),
        (-0.0, Fraction(0)),
        (1e-7, Fraction(1, 10**7)),
        (2.5e15, Fraction(25 * 10**14)),
        (np.float64(0.3), Fraction(3, 10)),
        (0.1 + 0.2, Fraction("0.30000000000000004")),
        (Decimal("12.50"), Fraction(25, 2)),
        (Decimal("1E+5"), Fraction(10**5)),
        ("7.25", Fraction(29, 4)),
        (np.str_("7.25"), Fraction(29, 4)),
    ],
)
def test_values_of_any_numeric_type_are_read_exactly(value, exact):
    numbers = Numbers.read([value])
    assert Fraction(int(numbers.mantissa[0]), 10 ** int(numbers.places[0])) == exact


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (True, "True is a truth value"),
        (np.bool_(False), "False is a truth value"),
        (None, "no value; fill one in"),
        (float("nan"), "nan is not a number; fill in"),
        (float("-inf"), "-inf is not a number; fill in"),
        (np.float32("inf"), "inf is not a number; fill in"),
        (Decimal("NaN"), "'NaN' is not a number"),
        (Decimal("-Infinity"), "'-Infinity' is not a number"),
        (Decimal("1e400"), "the exponent 400 is outside"),
        (10**30, "more than 30 digits"),
        (-(10**30), "more than 30 digits"),
        (1e16, "the exponent 16 is outside"),
        (5e-324, "the exponent -324 is outside"),
        (1j, "complex is not a number"),
        (b"1", "bytes is not a number"),
        ([1], "list is not a number"),
        (Fraction(1, 2), "Fraction is not a number"),
    ],
)
def test_what_is_no_number_is_refused_with_its_place(value, sentence):
    with pytest.raises(InputError) as caught:
        Numbers.read([1, value], lambda i: f"file.csv line {i + 2}")
    assert str(caught.value).startswith("file.csv line 3: ")
    assert sentence in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_float_arrays_refuse_what_is_not_finite(value):
    with pytest.raises(InputError, match=r"^value 2: .* is not a number"):
        Numbers.read(np.array([1.0, 2.5, value]))


@pytest.mark.parametrize("value", [1e300, -1.7976931348623157e308, 1e16, 5e-324, 1e-16])
def test_float_arrays_refuse_what_is_too_large_or_too_small(value):
    with pytest.raises(InputError, match=r"^value 1: the exponent .* is outside"):
        Numbers.read(np.array([1.0, value]))


def test_arrays_of_truth_values_and_of_several_dimensions_are_refused():
    with pytest.raises(InputError, match="truth value"):
        Numbers.read(np.array([True, False]))
    with pytest.raises(InputError, match=r"one dimension, not 2; use Table\.from_array"):
        Numbers.read(np.zeros((2, 2)))


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float64, object, str]
)
def test_arrays_of_any_type_hold_the_same_numbers(dtype):
    numbers = Numbers.read(np.array([0, 5, 100]).astype(dtype))
    assert numbers.scaled().tolist() == [0, 5, 100]
    assert numbers.scaled().dtype == np.int64


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_short_floats_are_read_by_their_own_shortest_text(dtype):
    """A float32 of 0.1 is 0.1, not the 0.10000000149011612 that the same bits are as a double."""
    assert Numbers.read(np.array([0.1, 2.5], dtype)).scaled().tolist() == [1, 25]


def test_iterables_and_empty_columns_are_read():
    assert Numbers.read(str(k) for k in range(3)).scaled(1).tolist() == [0, 10, 20]
    for empty in ([], np.zeros(0), np.zeros(0, np.int64)):
        assert Numbers.read(empty).decimals == 0
        assert Numbers.read(empty).scaled(3).tolist() == []


# ---- scaling a column --------------------------------------------------------------------------------------------------------------------------


def test_a_column_takes_the_decimals_it_needs_and_no_more():
    assert Numbers.read(["1.250", "3", "4.0"]).decimals == 2
    assert Numbers.read(["1.250", "3", "4.0"]).scaled().tolist() == [125, 300, 400]
    assert Numbers.read([0.1, 0.25, 3.0]).decimals == 2
    assert Numbers.read([10.0, 2e3]).decimals == 0
    assert Numbers.read(["0.000"]).decimals == 0


def test_fewer_decimals_round_half_to_even_and_more_add_zeros():
    numbers = Numbers.read(["0.125", "0.375", "-0.125", "-0.375", "0.1251"])
    assert numbers.scaled(2).tolist() == [12, 38, -12, -38, 13]
    assert numbers.scaled(6).tolist() == [125000, 375000, -125000, -375000, 125100]
    assert Numbers.read(np.array([7, -7])).scaled(3).tolist() == [7000, -7000]


def test_up_and_down_go_towards_the_infinities():
    numbers = Numbers.read(["1.01", "-1.01", "2.00"])
    assert numbers.scaled(1, "up").tolist() == [11, -10, 20]
    assert numbers.scaled(1, "down").tolist() == [10, -11, 20]


def test_levels_are_rounded_up_to_the_tables_grid():
    table = Table.from_equations(
        ["3.5", "4.5", "8"], [[1, 1, -1]], sensitive=[0, 1], lpl=["0.01", 1], upl=["1.21", "0.3"], spl=["0", "2.51"]
    )
    assert table.decimals == 1
    s = table.sensitivity
    assert s.lpl.tolist() == [1, 10, 0]
    assert s.upl.tolist() == [13, 3, 0]
    assert s.spl.tolist() == [0, 26, 0]


@pytest.mark.parametrize("read", [list, np.array], ids=["list", "array"])
def test_integers_are_taken_to_two_to_the_53_and_no_further(read):
    assert Numbers.read(read([LARGEST, -LARGEST])).scaled().tolist() == [LARGEST, -LARGEST]
    for beyond in (LARGEST + 1, -LARGEST - 1, 2**62, -(2**63)):
        with pytest.raises(
            InputError, match=r"^value 1: -?[0-9]+ counted with 0 decimals is beyond 2\^53 .* larger unit"
        ):
            Numbers.read(read([0, beyond])).scaled()


def test_a_number_too_fine_is_refused_with_the_decimals_that_fit():
    numbers = Numbers.read(["0.5", "9007199254740.12345", "1.123456789"])
    assert numbers.too_fine(3) is None
    assert numbers.too_fine(4) == 1
    with pytest.raises(InputError, match=r"^value 1: 9007199254740\.12345 counted with 9 decimals .* use decimals=3$"):
        numbers.scaled()
    assert numbers.scaled(3).tolist() == [500, 9007199254740123, 1123]


@pytest.mark.parametrize("read", [list, np.array], ids=["list", "array"])
def test_whole_numbers_too_large_for_the_decimals_asked_propose_fewer(read):
    numbers = Numbers.read(read([5, 10**14]))
    assert numbers.scaled(1).tolist() == [50, 10**15]
    with pytest.raises(InputError, match=r"^value 1: 100000000000000 counted with 2 decimals .* use decimals=1$"):
        numbers.scaled(2)


def test_rounding_up_does_not_pass_the_limit_unseen():
    numbers = Numbers.read([f"{LARGEST}.1"])
    assert numbers.scaled(0).tolist() == [LARGEST]
    with pytest.raises(InputError, match="beyond"):
        numbers.scaled(0, "up")


def test_the_callers_array_is_not_shared():
    given = np.array([1, 2, 3])
    scaled = Numbers.read(given).scaled()
    given[0] = 99
    assert scaled.tolist() == [1, 2, 3]


# ---- one number --------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mantissa", "places", "target", "nearest", "up", "down"),
    [
        (125, 2, 1, 12, 13, 12),
        (135, 2, 1, 14, 14, 13),
        (-125, 2, 1, -12, -12, -13),
        (-135, 2, 1, -14, -13, -14),
        (126, 2, 1, 13, 13, 12),
        (120, 2, 1, 12, 12, 12),
        (1, 40, 0, 0, 1, 0),
        (-1, 40, 0, 0, 0, -1),
        (3, 0, 2, 300, 300, 300),
    ],
)
def test_rescale(mantissa, places, target, nearest, up, down):
    assert rescale(mantissa, places, target) == nearest
    assert rescale(mantissa, places, target, "up") == up
    assert rescale(mantissa, places, target, "down") == down


def test_scale_one_rounds_or_refuses_what_is_finer_than_the_table():
    assert scale_one("2.5", 1, "base") == 25
    assert scale_one("2.50", 1, "base", strict=True) == 25
    assert scale_one(0.25, 1, "base", "up") == 3
    with pytest.raises(InputError, match=r"^base: 0\.25 is finer .* multiple of 0\.1, .* with decimals=2$"):
        scale_one("0.25", 1, "base", strict=True)
    with pytest.raises(InputError, match=r"^base: no value"):
        scale_one(None, 1, "base")


@pytest.mark.parametrize("decimals", [-1, 31, True, 1.0, "2"])
def test_decimals_must_be_a_whole_number_from_0_to_30(decimals):
    with pytest.raises(InputError, match=r"^decimals="):
        check_decimals(decimals)


def test_decimals_from_0_to_30_pass():
    assert [check_decimals(d) for d in (None, 0, 30)] == [None, 0, 30]


# ---- back to text and units --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scaled", "decimals", "written", "shortly"),
    [
        (0, 0, "0", "0"),
        (0, 2, "0.00", "0"),
        (7, 0, "7", "7"),
        (-5, 1, "-0.5", "-0.5"),
        (1250, 2, "12.50", "12.5"),
        (-100, 2, "-1.00", "-1"),
        (5, 3, "0.005", "0.005"),
        (100, 0, "100", "100"),
        (LARGEST, 16, "0.9007199254740992", "0.9007199254740992"),
    ],
)
def test_text(scaled, decimals, written, shortly):
    assert text(scaled, decimals) == written
    assert short(scaled, decimals) == shortly
    assert texts(np.array([scaled]), decimals) == [written]


def test_units_are_integers_without_decimals_and_the_nearest_doubles_with_them():
    whole = units(np.array([1, 2]), 0)
    assert whole.dtype == np.int64
    assert whole.tolist() == [1, 2]
    a = np.array([1, -3, LARGEST, LARGEST - 1, 123456789012345])
    for decimals in (1, 2, 15, 22, 23, 30):
        got = units(a, decimals)
        assert got.dtype == np.float64
        assert got.tolist() == [float(Fraction(v, 10**decimals)) for v in a.tolist()]


def test_unit_is_an_int_only_for_whole_numbers_without_decimals():
    assert (unit(7, 0), type(unit(7, 0))) == (7, int)
    assert (unit(70, 1), type(unit(70, 1))) == (7.0, float)
    assert unit(Fraction(7, 2), 0) == 3.5
    assert unit(Fraction(7, 2), 1) == 0.35


def test_no_bound_is_beyond_every_value():
    assert NO_BOUND > 2 * LARGEST
    assert np.int64(NO_BOUND) == NO_BOUND
    assert np.int64(-NO_BOUND) == -NO_BOUND
