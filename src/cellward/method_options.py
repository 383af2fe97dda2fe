"""Method options: how the command line asks for a protection method, and the method that it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from cellward.errors import InputError

if TYPE_CHECKING:
    from cellward.protect.method import Method

ZEROS = "--keep-zeros/--free-zeros"
OPTIONS: dict[str, tuple[Any, Any]] = {
    "method": (
        str,
        typer.Option(
            "round",
            help="round: controlled rounding; perturb: cell perturbation, which needs no rounding to exist; "
            "adjust: controlled tabular adjustment, which moves cells at risk and leaves most others as they are.",
        ),
    ),
    "base": (
        str | None,
        typer.Option(
            None,
            help="Base in the table's units, 5 unless given; or one a level of sums, 0=5,1=10 (0: cells that are no sum).",
        ),
    ),
    "within": (
        str | None,
        typer.Option(
            None, help="perturb: move cells within this distance of their value, not between multiples of a base."
        ),
    ),
    "knowledge": (
        str | None,
        typer.Option(None, help="What attackers read out of a value: strict (the safe one, the default) or paper."),
    ),
    "max_steps": (
        int | None,
        typer.Option(
            None,
            help="round: where no rounding exists, try multiples up to so many bases away; the number is published.",
        ),
    ),
    "goal": (
        str | None,
        typer.Option(None, help="round: least, the nearest rounding; any, some rounding, as fast as possible."),
    ),
    "unbiased": (
        bool,
        typer.Option(
            False, "--unbiased", help="round: up as often as values ask for on average, instead of to the nearest."
        ),
    ),
    "small_counts": (
        str | None,
        typer.Option(None, help="round: counts below their base are free to become 0, never 0 (up), or always (zero)."),
    ),
    "only": (
        str | None,
        typer.Option(None, help="round: only the leaves or only the totals; the other cells follow unit by unit."),
    ),
    "objective": (
        str | None,
        typer.Option(
            None, help="perturb: between, costs as in a rounding; nearest, the distance to the nearer multiple."
        ),
    ),
    "grid": (
        str | None,
        typer.Option(
            None,
            help="perturb, adjust: publish multiples of this, such as 1; none: the optimum with its decimals (what perturb does unless told); "
            "table: the table's last decimal (what adjust does unless told).",
        ),
    ),
    "norm": (
        str | None,
        typer.Option(None, help="adjust: what is made small, l1 (unless given), l2, linf, l1-2 or huber."),
    ),
    "senses": (
        str | None,
        typer.Option(
            None, help="adjust: which way cells at risk move, secret (drawn from the key, unless given), up or down."
        ),
    ),
    "jitter": (
        float | None,
        typer.Option(
            None, help="adjust: levels are drawn up to this share above what is asked; 1 unless given, 0 for none."
        ),
    ),
    "delta": (str | None, typer.Option(None, help="adjust: where the norm huber turns from squares to distances.")),
    "shares": (
        str | None,
        typer.Option(None, help="adjust: shares of distances and of squares in the norm l1-2, such as 0.99,0.01."),
    ),
    "fixed": (
        list[str] | None,
        typer.Option(
            None,
            help="adjust: margins, or a cell that keeps its value (its codes A,B; its number in a JJ file); repeatable.",
        ),
    ),
    "soft_margins": (
        float | None,
        typer.Option(None, help="adjust: fixed cells may move after all, at so many times their weight, such as 100."),
    ),
    "soft_levels": (
        bool,
        typer.Option(
            False,
            "--soft-levels",
            help="adjust: where no table reaches every level, say how near one comes; it is not released.",
        ),
    ),
    "zeros_stay": (
        bool | None,
        typer.Option(None, ZEROS, help="adjust: whether cells of 0 stay 0; they do unless told."),
    ),
    "form": (
        str | None,
        typer.Option(
            None, help="adjust: leaf, network, equation, cone or sums; auto (unless given) chooses by structure."
        ),
    ),
    "ignore_levels": (
        bool,
        typer.Option(False, "--ignore-levels", help="round, perturb: without a look at the table's protection levels."),
    ),
}
"""The options that say how to protect a table; ``None`` and ``False`` are not given."""


def method_asked(given: dict[str, Any]) -> Method:
    """The method that the options ask for."""
    from cellward.protect.methods import method_named

    options = {name: None if value is False and name != "zeros_stay" else value for name, value in given.items()}
    name = str(options.pop("method"))
    for amount in ("base", "within"):
        options[amount] = by_level(options[amount], f"--{amount}")
    if options["shares"] is not None:
        options["shares"] = tuple(options["shares"].split(","))
    if options["fixed"]:
        options["fixed"] = _cells(options["fixed"])
    return method_named(name, options, calling=f"--method {name}", option="--{}", called={"zeros_stay": ZEROS})


def by_level(text: str | None, option: str) -> Any:
    """What is written after an option: nothing, one entry, or one a level of sums (0=5,1=10)."""
    if text is None or "=" not in text:
        return text
    entries = [entry.split("=") for entry in text.split(",")]
    if any(len(entry) != 2 or not entry[0].strip().isdecimal() for entry in entries):
        raise InputError(f"{option} {text}: write one entry a level of sums, such as 0=5,1=10")
    return {int(level): entry.strip() for level, entry in entries}


def _cells(texts: list[str]) -> Any:
    """A word for many cells, or cells by their codes."""
    if texts == ["margins"]:
        return "margins"
    return tuple(tuple(code.strip() for code in text.split(",")) if "," in text else text for text in texts)
