"""Exact numbers at random: reading agrees with Decimal and Fraction, rescaling with rational arithmetic, text with reading."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cellward.errors import InputError
from cellward.exact import LARGEST, Numbers, parse, rescale, short, text, texts, units

MANY = settings(max_examples=400, deadline=None, derandomize=True)

# Shortest texts of doubles from 10^16 on and below 10^−15 carry an exponent that the grammar refuses.
floats_in_range = (
    st.floats(-9.999999999999998e15, 9.999999999999998e15)
    | st.floats(-1, 1)
    | st.integers(-(10**17), 10**17).flatmap(lambda k: st.integers(2, 20).map(lambda d: k / 10**d))
    | st.integers(-(2**53), 2**53).map(float)
    | st.integers(-(2**52), 2**52).flatmap(lambda k: st.integers(0, 40).map(lambda s: math.ldexp(k, -s)))
).filter(lambda x: x == 0 or 1e-15 <= abs(x) < 1e16)


def exact(numbers: Numbers) -> list[Fraction]:
    return [Fraction(int(m), 10 ** int(d)) for m, d in zip(numbers.mantissa, numbers.places, strict=True)]


def plain(numbers: Numbers) -> bool:
    """No number is written with a trailing zero decimal."""
    return all(d == 0 or m % 10 for m, d in zip(numbers.mantissa, numbers.places.tolist(), strict=True))


@MANY
@given(st.lists(floats_in_range, max_size=8))
@example([0.1, 0.30000000000000004, 2.0**51, 2.0**51 + 0.5, 2.0**52 - 0.5, 1e-15, 9007199254740993.0])
@example([0.1 * 3, 1 / 3, 123456.789, 4.35, 2251799813685247.8, 225179981368524.72, 5e-15, -0.0])
def test_an_array_of_floats_is_read_as_their_shortest_texts(values):
    numbers = Numbers.read(np.array(values, np.float64))
    assert exact(numbers) == [Fraction(Decimal(repr(x))) for x in values]
    assert plain(numbers)
    # One by one it is the same: the fast path for arrays has no opinion of its own.
    slow = Numbers.read(values)
    assert exact(slow) == exact(numbers)
    assert slow.places.tolist() == numbers.places.tolist()


digits = st.text("0123456789", min_size=1, max_size=30)


@st.composite
def written(draw) -> str:
    """Any text of the grammar."""
    body = draw(digits)
    cut = draw(st.none() | st.integers(0, len(body)))
    if cut is not None:
        body = f"{body[:cut]}.{body[cut:]}"
    exponent = draw(st.none() | st.integers(-15, 15))
    tail = "" if exponent is None else f"{draw(st.sampled_from('eE'))}{exponent}"
    return draw(st.sampled_from(["", "+", "-"])) + body + tail


@MANY
@given(written())
def test_texts_agree_with_decimal_and_fraction(number):
    mantissa, decimals = parse(number)
    assert decimals >= 0
    assert Fraction(mantissa, 10**decimals) == Fraction(number) == Fraction(Decimal(number))
    column = Numbers.read([number, np.str_(number)])
    assert set(exact(column)) == {Fraction(number)}
    assert plain(column)


@MANY
@given(st.decimals(-(10**12), 10**12, places=9))
def test_decimals_are_read_as_they_are(number):
    assert exact(Numbers.read([number])) == [Fraction(number)]


@MANY
@given(st.text(max_size=8) | st.text("0123456789.eE+-_ ", max_size=8))
def test_whatever_is_read_python_reads_alike_and_only_ascii_is_read(number):
    try:
        mantissa, decimals = parse(number)
    except InputError:
        return
    assert set(number) <= set("0123456789.eE+-")
    assert Fraction(mantissa, 10**decimals) == Fraction(Decimal(number))


@MANY
@given(st.integers(-(10**30), 10**30), st.integers(0, 45), st.integers(0, 45))
@example(5, 1, 0)
@example(15, 1, 0)
@example(-5, 1, 0)
@example(-15, 1, 0)
def test_rescale_agrees_with_rational_arithmetic(mantissa, places, target):
    value = Fraction(mantissa, 10**places) * 10**target
    assert rescale(mantissa, places, target) == round(value)  # Fraction rounds ties to even
    assert rescale(mantissa, places, target, "up") == math.ceil(value)
    assert rescale(mantissa, places, target, "down") == math.floor(value)


@MANY
@given(st.integers(-(10**6), 10**6), st.integers(0, 6))
def test_ties_go_to_even(whole, places):
    half = whole * 10 ** (places + 1) + 5 * 10**places
    assert rescale(half, places + 1, 0) == whole + whole % 2


@MANY
@given(
    st.lists(st.tuples(st.integers(-(10**9), 10**9), st.integers(0, 9)), min_size=1, max_size=6),
    st.integers(0, 6),
    st.sampled_from(["nearest", "up", "down"]),
)
def test_a_column_is_scaled_number_by_number(pairs, decimals, rounding):
    values = [Fraction(m, 10**d) for m, d in pairs]
    turn = {"nearest": round, "up": math.ceil, "down": math.floor}[rounding]
    numbers = Numbers.read([text(m, d) for m, d in pairs])
    assert numbers.scaled(decimals, rounding).tolist() == [turn(v * 10**decimals) for v in values]
    finest = numbers.decimals
    assert all((v * 10**finest).denominator == 1 for v in values)
    assert finest == 0 or any((v * 10 ** (finest - 1)).denominator > 1 for v in values)


@MANY
@given(st.lists(st.integers(-LARGEST, LARGEST), min_size=1, max_size=6), st.integers(0, 4))
def test_an_array_of_integers_scales_or_is_refused_as_a_list_is(values, decimals):
    def outcome(column):
        try:
            return Numbers.read(column).scaled(decimals).tolist()
        except InputError as error:
            return "decimals=" in str(error), str(error).rsplit(";", 1)[1]

    assert outcome(np.array(values, np.int64)) == outcome(values)
    assert (Numbers.read(values).too_fine(decimals) is None) == all(abs(v) * 10**decimals <= LARGEST for v in values)


@MANY
@given(st.integers(-LARGEST, LARGEST), st.integers(0, 30))
@example(1, 30)
def test_text_there_and_back(scaled, decimals):
    there = text(scaled, decimals)
    assert parse(there) == (scaled, decimals)
    assert there == format(Decimal(scaled).scaleb(-decimals), "f")
    assert texts(np.array([scaled]), decimals) == [there]
    mantissa, places = parse(short(scaled, decimals))
    assert Fraction(mantissa, 10**places) == Fraction(scaled, 10**decimals)
    assert places == 0 or mantissa % 10


@MANY
@given(st.lists(st.integers(-LARGEST, LARGEST), max_size=6), st.integers(0, 30))
def test_units_are_the_nearest_doubles(scaled, decimals):
    got = units(np.array(scaled, np.int64), decimals).tolist()
    assert got == [float(Fraction(v, 10**decimals)) for v in scaled]


@MANY
@given(st.lists(st.integers(-(10**15) + 1, 10**15 - 1), max_size=6), st.integers(0, 15))
def test_units_read_again_give_the_same_integers(scaled, decimals):
    """Fifteen digits survive a double: what a user writes out and hands back is the same table."""
    again = Numbers.read(units(np.array(scaled, np.int64), decimals))
    assert again.scaled(decimals).tolist() == scaled
