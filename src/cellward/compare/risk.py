"""Risk: what attackers get of what is printed: they know the rule of the method, the public bounds, and that the true values add up, whether the
printed ones do or not. Sums of cells at risk are shown of ours; of rivals they are not attacked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.audit.region import Region
from cellward.compare.attack import Attack
from cellward.compare.rivals.rival import Drawn
from cellward.errors import TimeLimitError
from cellward.instance import Instance
from cellward.protection import Protection
from cellward.publication.publication import Publication
from cellward.risk.attacker import Attacker
from cellward.solve.alarm import alarm
from cellward.solve.budget import Budget

AT_ONCE = 50
"""Regions held at a time."""


@dataclass(frozen=True, kw_only=True)
class Risk:
    """What attackers get of the cells at risk.

    ``asking``: cells of which something is to be kept from somebody. ``unmet``: of these, those of which a level is proven not to be met; ``exact``:
    of those, those whose value is known exactly. ``undecided``: neither shown to be met nor proven not to be. ``narrowest``: the narrowest interval
    against its level, 1 where every level is met, 0 where an end of some interval is the true value itself; None where no intervals are told.
    ``equations`` that the printed values miss, of ``of_equations``, and the ``largest`` miss
    in the table's units.
    """

    asking: int
    unmet: int
    exact: int
    undecided: int
    narrowest: float | None
    equations: int
    of_equations: int
    largest: float

    @property
    def disclosed(self) -> float:
        """The share of the cells at risk that is disclosed."""
        return self.unmet / self.asking if self.asking else 0.0

    @property
    def safe(self) -> bool:
        """Nothing is given away, as far as everything is shown."""
        return not (self.unmet or self.undecided)


def shown_risk(result: Protection) -> Risk:
    """That of a result of ours whose levels are all shown to be met by tables that attackers must still think possible."""
    assert result.publication is not None
    intervals = result.publication.knowledge.intervals
    narrowest = 1.0 if intervals else None
    return Risk(
        asking=len(_asking(result.instance)), unmet=0, exact=0, undecided=0, narrowest=narrowest,
        **_missed(result.instance, result.publication),
    )  # fmt: skip


def attacked(source: Drawn | Protection, budget: Budget) -> Risk:
    """That of anything printed with intervals, attacked by everyone for as long as the budget lasts."""
    assert source.publication is not None
    instance, publication = source.instance.distinct(), source.publication
    asking = _asking(instance)
    unmet, exact, open_ = set[int](), set[int](), set[int]()
    least = 1.0
    try:
        with alarm(budget):
            for attacker, region, part in _regions(instance, publication, budget):
                levels = attacker.asked(instance.sensitivity.levels)
                if part.over:
                    open_.update(levels.cell.tolist())
                    continue
                attack = Attack.of(region, levels, instance.labels, part)
                unmet.update(levels.cell[attack.unmet].tolist())
                exact.update(levels.cell[attack.unmet & attack.exact].tolist())
                open_.update(levels.cell[~(attack.met | attack.unmet)].tolist())
                least = min(least, attack.narrowest)
    except TimeLimitError:  # whatever worked last did not look at the clock
        open_.update(asking)
    undecided = len(open_ - unmet)
    return Risk(
        asking=len(asking), unmet=len(unmet), exact=len(exact), undecided=undecided,
        narrowest=least if asking and undecided < len(asking) else None, **_missed(instance, publication),
    )  # fmt: skip


def _regions(instance: Instance, publication: Publication, budget: Budget) -> Iterator[tuple[Attacker, Region, Budget]]:
    """Each attacker with what it must still think possible and its share of the time; a few at once, as each region is as large as the table."""
    those = instance.attackers
    for first in range(0, len(those), AT_ONCE):
        some = those[first : first + AT_ONCE]
        regions = Region.of_each(
            instance.relations, instance.lower, instance.upper, publication.knowledge, some, instance.a
        )
        for k, (attacker, region) in enumerate(zip(some, regions, strict=True), start=first):
            left = budget.left
            yield attacker, region, budget.part(None if left is None else left / (len(those) - k))


def _asking(instance: Instance) -> list[int]:
    """The cells of which some attacker is to be kept from something."""
    cells: set[int] = set()
    for attacker in instance.attackers:
        cells.update(attacker.asked(instance.sensitivity.levels).cell.tolist())
    return sorted(cells)


def _missed(instance: Instance, publication: Publication) -> dict[str, Any]:
    """How far printed values are from adding up; true values and ranges around them always can."""
    r, v = instance.relations, publication.v
    misses = np.zeros(0, np.int64) if v is None else np.abs(r.residual(v))
    return {
        "equations": int((misses > 0).sum()),
        "of_equations": r.equations,
        "largest": int(misses.max(initial=0)) / 10.0**instance.decimals,
    }
