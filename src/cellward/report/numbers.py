"""Numbers as texts for readers: exact decimals with their thousands set apart."""

from __future__ import annotations

from cellward import exact
from cellward.report.section import Column


def grouped(scaled: int, decimals: int, *, signed: bool = False) -> str:
    """scaled·10^−decimals with commas between thousands, a proper minus, and on request a plus.

    >>> grouped(-123456789, 2), grouped(1500, 0, signed=True), grouped(0, 1, signed=True)
    ('−1,234,567.89', '+1,500', '0.0')
    """
    whole, point, rest = exact.text(abs(scaled), decimals).partition(".")
    sign = "−" if scaled < 0 else "+" if signed and scaled > 0 else ""
    return f"{sign}{int(whole):,}{point}{rest}"


def entry(column: Column, row: int) -> str:
    """One number of a column; empty where there is none."""
    if column.absent is not None and column.absent[row]:
        return ""
    return grouped(int(column.scaled[row]), column.decimals, signed=column.signed)


def number(x: float) -> str:
    """A measure: whole where it is, otherwise with four significant digits.

    >>> number(3259.8), number(12.0), number(0.012345), number(-0.5)
    ('3,260', '12', '0.01235', '−0.5')
    """
    if x == int(x):
        text = f"{int(x):,}"
    elif abs(x) >= 1000:
        text = f"{x:,.0f}"
    else:
        text = f"{x:.4g}"
    return text.replace("-", "−")


def many(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun.

    >>> many(1, "cell"), many(1200, "cell"), many(2, "entry", "entries")
    ('1 cell', '1,200 cells', '2 entries')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
