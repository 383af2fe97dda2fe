"""Attackers in plain integers, as the oracles know them: bounds of their own on some cells, and levels to be kept from them."""

from __future__ import annotations

from dataclasses import dataclass, field

Level = tuple[int, int, int]
"""lpl, upl, spl: how far an attacker's interval must reach below and above a, and how wide it must be."""


@dataclass(frozen=True)
class Spy:
    """An attacker: its own bounds on some cells, whether it knows that values are whole, and its own levels (None: the table's)."""

    name: str
    lower: dict[int, int] = field(default_factory=dict)
    upper: dict[int, int] = field(default_factory=dict)
    whole: bool = False
    levels: dict[int, Level] | None = None
    respondent: bool = False

    def knows(self, i: int) -> bool:
        """Whether it knows the value of cell i by itself."""
        return i in self.lower and self.lower[i] == self.upper.get(i)
