"""Evidence: witness tables that show every level met against every attacker, as few of them as a greedy choice finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.audit.effort import Effort
from cellward.audit.ends import HIGH, LOW, Ends, Witness
from cellward.audit.knowledge import Knowledge
from cellward.audit.region import Region
from cellward.audit.settle import Question, settle
from cellward.errors import VerificationError
from cellward.instance import Instance
from cellward.risk.levels import Levels

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Shown:
    """A witness and what it shows: for some attackers (by number) the cells whose levels it helps to meet."""

    witness: Witness
    covers: tuple[tuple[int, Ints], ...]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is shown of the levels: witnesses, and a sentence for each requirement that is not met (or was not settled in time)."""

    requirements: int
    shown: tuple[Shown, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def protected(self) -> bool:
        """Whether every level is shown to be met."""
        return not self.missing


def show_levels(instance: Instance, v: Ints, knowledge: Knowledge, effort: Effort | None = None) -> Evidence:
    """Witnesses for every level of every attacker, or the requirements that fail."""
    asked = [attacker.asked(instance.sensitivity.levels) for attacker in instance.attackers]
    requirements = sum(map(len, asked))
    if not requirements:
        return Evidence(0)
    if not knowledge.intervals:
        return Evidence(requirements, missing=tuple(_inside(instance, v, asked)))
    regions = [
        Region.of(instance.relations, instance.lower, instance.upper, knowledge, attacker, instance.a)
        for attacker in instance.attackers
    ]
    questions = [Question(region, levels=levels) for region, levels in zip(regions, asked, strict=True)]
    ends = settle(questions, instance.labels, [instance.a, v], effort or Effort())
    missing = tuple(sentence for k, one in enumerate(ends) for sentence in _unmet(instance, k, one))
    if missing:
        return Evidence(requirements, missing=missing)
    return Evidence(requirements, tuple(_choose(ends)))


def _inside(instance: Instance, v: Ints, asked: Sequence[Levels]) -> list[str]:
    """Cells whose published value lies strictly within its levels (an adjustment without a published deviation)."""
    out = []
    for attacker, levels in zip(instance.attackers, asked, strict=True):
        move = v[levels.cell] - instance.a[levels.cell]
        # A side that asks nothing does not count, and a width cannot be shown without intervals.
        far = ((move >= levels.upl) & (levels.upl > 0)) | ((-move >= levels.lpl) & (levels.lpl > 0))
        for k in np.flatnonzero(~far | (levels.spl > 0)).tolist():
            name = instance.labels.name(int(levels.cell[k]))
            out.append(f"{name} is published within its levels (attacker {attacker.name})")
    return out


def _unmet(instance: Instance, k: int, ends: Ends) -> list[str]:
    """The requirements of one attacker that no table found meets, in words."""
    out = []
    assert ends.levels is not None
    for j in np.flatnonzero(~_met(ends)).tolist():
        i = int(ends.levels.cell[j])
        low, high = ends.end(i, LOW), ends.end(i, HIGH)
        shown = [
            "…"
            if end is None
            else exact.short(int(end), instance.decimals)
            if end == int(end)
            else f"{float(end) / 10**instance.decimals:g}"
            for end in (low, high)
        ]
        settled = not (ends.open[LOW][i] or ends.open[HIGH][i])
        levels = [
            exact.short(int(x[j]), instance.decimals) for x in (ends.levels.lpl, ends.levels.upl, ends.levels.spl)
        ]
        out.append(
            f"{instance.labels.name(i)}: attacker {instance.attackers[k].name} narrows it down to {shown[0]} to {shown[1]} around "
            f"{exact.short(int(instance.a[i]), instance.decimals)}, where {levels[0]} below, {levels[1]} above and a width of {levels[2]} are asked"
            + ("" if settled else " (not settled in time)")
        )
    return out


def _met(ends: Ends) -> Bools:
    """Levels that the witnesses meet, widths between fractions included."""
    assert ends.levels is not None
    met = ends.met.copy()
    for j in np.flatnonzero(~met).tolist():
        low, high, _, _ = _extremes(ends.witnesses, int(ends.levels.cell[j]))
        lpl, upl, spl = (int(x[j]) for x in (ends.levels.lpl, ends.levels.upl, ends.levels.spl))
        met[j] = low <= -lpl and high >= upl and high - low >= spl
    return met


def _extremes(witnesses: Sequence[Witness], i: int) -> tuple[Fraction, Fraction, int, int]:
    """Least and largest shift of one cell over the witnesses, and which have them (−1: the true table)."""
    low, high, at_low, at_high = Fraction(0), Fraction(0), -1, -1
    for w, witness in enumerate(witnesses):
        shift = Fraction(int(witness.shift[i]), witness.denominator)
        if shift < low:
            low, at_low = shift, w
        if shift > high:
            high, at_high = shift, w
    return low, high, at_low, at_high


def _choose(ends: Sequence[Ends]) -> list[Shown]:
    """Few witnesses that together show everything: the one that shows most of what is left, again and again."""
    pool: list[Witness] = []
    seen: set[bytes] = set()
    for one in ends:
        for witness in one.witnesses:
            mark = witness.shift.tobytes() + witness.denominator.to_bytes(8, "big")
            if mark not in seen:
                seen.add(mark)
                pool.append(witness)
    usable = [[one.region.contains_shift(w.shift, w.denominator) for w in pool] for one in ends]
    reaches = [_reaches(one, pool, np.array(good, bool)) for one, good in zip(ends, usable, strict=True)]
    left = [np.stack([needed, needed_high]) for needed, needed_high in (_needed(one) for one in ends)]
    chosen: list[Shown] = []
    while any(x.any() for x in left):
        gain = sum((reach & todo).sum(axis=(1, 2)) for reach, todo in zip(reaches, left, strict=True))
        best = int(np.argmax(gain)) if pool else -1
        if best < 0 or not gain[best]:
            raise VerificationError("levels called met are not shown by the tables found; nothing is released")
        covers = []
        for k, (reach, todo) in enumerate(zip(reaches, left, strict=True)):
            new = reach[best] & todo
            if new.any():
                levels = ends[k].levels
                assert levels is not None
                covers.append((k, levels.cell[new.any(axis=0)]))
                todo &= ~reach[best]
        chosen.append(Shown(pool[best], tuple(covers)))
    return chosen


def _needed(ends: Ends) -> tuple[Bools, Bools]:
    """Which low and high ends need a witness: those with a level, and both where a width is asked that the levels do not give."""
    assert ends.levels is not None
    wide = ends.levels.spl > ends.levels.lpl + ends.levels.upl
    return np.asarray((ends.levels.lpl > 0) | wide), np.asarray((ends.levels.upl > 0) | wide)


def _reaches(ends: Ends, pool: Sequence[Witness], usable: Bools) -> NDArray[np.bool_]:
    """(witness, side, level): whether the witness shows that end; where a width is asked, only the outermost witness does."""
    assert ends.levels is not None
    levels = ends.levels
    out = np.zeros((len(pool), 2, len(levels)), bool)
    for w in np.flatnonzero(usable).tolist():
        shift, d = pool[w].shift[levels.cell], pool[w].denominator
        out[w] = np.stack((shift <= -levels.lpl * d, shift >= levels.upl * d))
    for j in np.flatnonzero(levels.spl > levels.lpl + levels.upl).tolist():
        mine = [pool[w] if usable[w] else Witness(np.zeros_like(pool[w].shift)) for w in range(len(pool))]
        _, _, at_low, at_high = _extremes(mine, int(levels.cell[j]))
        out[:, :, j] = False
        for side, at in ((LOW, at_low), (HIGH, at_high)):
            out[at if at >= 0 else 0, side, j] = True  # the true table itself needs no witness: any will do
    return out
