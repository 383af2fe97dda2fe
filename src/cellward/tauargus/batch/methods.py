"""The solutions of a batch and the methods that carry them out; one line a solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cellward.errors import InputError
from cellward.protect.adjustment import ControlledAdjustment
from cellward.protect.method import Method
from cellward.protect.rounding import ControlledRounding
from cellward.tauargus.files.arb import Suppress


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A method with what the batch says of it; ``suffix`` is what the response is called afterwards."""

    method: Method
    suffix: str
    unit_costs: bool = True
    time_limit_s: float | None = None


def _rounding(command: Suppress) -> Solution:
    """RND(table, base, steps, minutes, partitions, stop rule, unit costs): steps 0 are neighbouring multiples, stop rule 1 the first one found.

    Partitions are τ-ARGUS' way through tables that are too large for it; ours are solved whole.
    """
    texts = [*command.given, *[""] * (6 - len(command.given))]
    if len(texts) > 6 or not texts[0]:
        raise InputError(
            f"{command.where}: write RND(table, base, steps, minutes, partitions, stop rule, unit costs); the base is needed"
        )
    base, steps, minutes, _, stop, unit = (
        command.line.whole(text or default, what, least, most)
        for text, (what, default, least, most) in zip(texts, _ROUNDING, strict=True)
    )
    method = ControlledRounding(base, max_steps=steps + 1, goal="any" if stop == 1 else "least")
    return Solution(method=method, suffix="_Round", unit_costs=unit == 1, time_limit_s=60.0 * minutes)


_ROUNDING = (
    ("the base", "", 1, 10**8),
    ("the number of steps", "0", 0, 99),
    ("the time in minutes", "10", 1, 10**5),
    ("partitions", "0", 0, 1),
    ("the stop rule", "2", 1, 2),
    ("unit costs", "1", 0, 1),
)


def _adjustment(command: Suppress) -> Solution:
    """CTA(table): the least Σ cost·|v − a| on the table's own grid.

    Senses and levels are drawn from the key; τ-ARGUS leaves senses to its solver and publishes the levels themselves, which can be undone.
    """
    if any(command.given):
        raise InputError(f"{command.where}: write CTA(table); it has no other parameters")
    return Solution(method=ControlledAdjustment(), suffix="_CTA", unit_costs=False)


SOLUTIONS: dict[str, Callable[[Suppress], Solution]] = {
    "RND": _rounding,
    "CTA": _adjustment,
}
"""What we carry out."""

OTHERS = {
    "GH": "the hypercube suppression",
    "MOD": "the modular suppression",
    "OPT": "the optimal suppression",
    "NET": "the network suppression",
    "CKM": "the cell key method",
    "UWE": "the singleton-aware suppression",
}
"""What we do not."""


def solution_of(command: Suppress) -> Solution:
    """The method that a command asks for; refused in one sentence where we have none."""
    if command.method not in SOLUTIONS:
        what = OTHERS.get(command.method, "a solution that is not known")
        known = ", ".join(SOLUTIONS)
        raise InputError(
            f"{command.where}: {command.method}, {what}, is not among our methods; ask for {known} instead, or run this batch in τ-ARGUS"
        )
    return SOLUTIONS[command.method](command)
