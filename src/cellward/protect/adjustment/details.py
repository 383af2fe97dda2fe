"""AdjustmentDetails: what an adjustment keeps of its result for the data holder's eyes: form, check, senses and levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from cellward.exact import Ints
from cellward.protect.adjustment.continuous import Check
from cellward.protect.adjustment.insiders import Guesses


@dataclass(frozen=True)
class Repair:
    """What gave way: a bound or the level of a cell, what it was and what it is now."""

    cell: int
    name: str
    what: str
    was: str
    now: str


@dataclass(frozen=True, kw_only=True)
class AdjustmentDetails:
    """``continuous``: the distance of the continuous optimum; ``flipped``: senses that were turned; ``bent``: levels that gave way.

    ``repairs``: bounds and levels that gave way, as the user allowed. ``insiders``: what attackers guess that know cells; None: none were given.
    """

    form: str
    continuous: float
    check: Check | None
    flipped: int
    bent: Any
    senses: Mapping[int, int]
    levels: Mapping[int, str]
    notes: tuple[str, ...]
    insiders: Guesses | None = None
    repairs: tuple[Repair, ...] = ()

    def renumbered(self, cells: Ints) -> AdjustmentDetails:
        """The same when cell k is called cells[k]."""
        own = sorted(self.senses, key=lambda i: int(cells[i]))
        senses, levels = {int(cells[i]): self.senses[i] for i in own}, {int(cells[i]): self.levels[i] for i in own}
        repairs = tuple(replace(one, cell=int(cells[one.cell])) for one in self.repairs)
        return replace(self, senses=senses, levels=levels, repairs=repairs)

    def to_dict(self) -> dict[str, Any]:
        """As protection.json holds it."""
        return asdict(self)
