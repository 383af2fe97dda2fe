"""Risk: what attackers get of what is printed, by the audit of our own releases: they know the rule of the method, the public bounds, and that the
true values add up, whether the printed ones do or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellward.audit.audit import BAD, DISCLOSED, UNDECIDED, Audit, Protected, audit
from cellward.instance import Instance
from cellward.protection import Protection
from cellward.publication.publication import Publication
from cellward.risk.attacker import Attacker
from cellward.solve.alarm import alarm
from cellward.solve.budget import NO_TIME, Budget


@dataclass(frozen=True, kw_only=True)
class Risk:
    """What attackers get of the cells at risk.

    ``asking``: cells of which something is to be kept from somebody. ``unmet``: of these, those of which a level is proven not to be met; ``exact``:
    of those, those whose value is known exactly. ``undecided``: neither shown to be met nor proven not to be. ``narrowest``: the narrowest interval
    against its level, 1 where every level is met, 0 where an end of some interval is the true value itself; None where no intervals are told.
    ``sums``: whether a sum of cells at risk is given away. ``equations`` that the printed values miss, of ``of_equations``, and the ``largest`` miss
    in the table's units.
    """

    asking: int
    unmet: int
    exact: int
    undecided: int
    narrowest: float | None
    sums: bool
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
        return not (self.unmet or self.undecided or self.sums)


def shown_risk(result: Protection) -> Risk:
    """That of a result of ours whose levels are all shown to be met by tables that attackers must still think possible."""
    assert result.publication is not None
    intervals = result.publication.knowledge.intervals
    narrowest = 1.0 if intervals else None
    return Risk(
        asking=len(_asking(result.instance)), unmet=0, exact=0, undecided=0, narrowest=narrowest, sums=False,
        **_missed(result.instance, result.publication),
    )  # fmt: skip


def attacked(source: Protected, budget: Budget) -> Risk:
    """That of anything printed, attacked for as long as the budget lasts."""
    assert source.publication is not None
    instance, asking = source.instance, _asking(source.instance)
    if not asking and not instance.sensitivity.sums:
        none: dict[str, Any] = {"unmet": 0, "exact": 0, "undecided": 0, "narrowest": None, "sums": False}
        return Risk(asking=0, **none, **_missed(instance, source.publication))
    left = None if budget.left is None else max(budget.left, NO_TIME)
    with alarm(budget):
        found = audit(
            source,
            cells="sensitive",
            only_levels=True,
            time_limit_s=left,
            threads=budget.threads,
            seed=budget.seed,
        )
    cell, verdict = found.intervals["cell"], found.intervals["verdict"]
    unmet = np.unique(cell[np.isin(verdict, BAD)])
    exactly = np.unique(cell[verdict == DISCLOSED])
    undecided = np.setdiff1d(cell[np.isin(verdict, UNDECIDED)], unmet)
    return Risk(
        asking=len(asking), unmet=len(unmet), exact=len(exactly), undecided=len(undecided),
        narrowest=narrowest(found, instance, instance.attackers),
        sums=found.sums is not None and found.sums.protected is False,
        **_missed(instance, source.publication),
    )  # fmt: skip


def undecided_risk(source: Protected) -> Risk:
    """Where there was no time to attack at all."""
    assert source.publication is not None
    asking = len(_asking(source.instance))
    return Risk(
        asking=asking, unmet=0, exact=0, undecided=asking, narrowest=None, sums=False,
        **_missed(source.instance, source.publication),
    )  # fmt: skip


def narrowest(found: Audit, instance: Instance, attackers: Sequence[Attacker]) -> float | None:
    """The least, over cells and attackers, of what an interval leaves to a side as a part of the level there; at most 1. Open ones do not count."""
    columns, out = found.intervals, 1.0
    a = instance.a / 10.0**instance.decimals
    settled = ~np.isin(columns["verdict"], UNDECIDED)
    if not settled.any():
        return None
    for attacker in attackers:
        asked = attacker.asked(instance.sensitivity.levels)
        rows = np.flatnonzero((columns["attacker"] == attacker.name) & settled & np.isin(columns["cell"], asked.cell))
        at = np.searchsorted(asked.cell, columns["cell"][rows])
        own = a[columns["cell"][rows]]
        low, high = own - columns["lower"][rows], columns["upper"][rows] - own
        for left, level in ((low, asked.lpl), (high, asked.upl), (low + high, asked.spl)):
            wanted = level[at] / 10.0**instance.decimals
            ratio = (np.asarray(left, float) / np.where(wanted > 0, wanted, 1))[wanted > 0]
            out = min(out, max(float(ratio.min(initial=1.0)), 0.0))
    return out


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
