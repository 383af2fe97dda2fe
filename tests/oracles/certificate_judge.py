"""The judge of certificates: is the file well formed, is every claim true, is all evidence what docs/certificate.md asks for.

Written without the package; what the evidence leaves open is answered by exact linear programs and enumeration.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import certificate_widths
import exact_lp
import integer_points
from certificate_claims import Region, plain_claim, regions
from certificate_evidence import Evidence, published_within, wrong_bound
from certificate_form import Json, Level, MalformedError, Reading
from judgement import EVIDENCE, FALSE, MALFORMED, TRUE, Judgement

SECONDS = 0.5
"""Of processor time for the ends of one cell."""


class TooLongError(Exception):
    """The time is up."""


def in_time(answer: Callable[[], Any]) -> Any:
    """An answer, or None when it takes too long."""

    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return answer()
    except TooLongError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Oracle:
    """Slow exact answers, each found once."""

    MOST_FREE, MOST_VALUES, MOST_NODES, MOST_FLAGS = 18, 12, 30_000, 8

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}
        self.open = 0
        """Ends that were not found in time: whether these levels are met is then left to the evidence alone."""

    def _once(self, what: str, key: object, answer: Callable[[], Any]) -> Any:
        name = f"{what} {key!r}"
        if name not in self.known:
            self.known[name] = answer()
        return self.known[name]

    def protects(self, r: Reading, region: Region, i: int, lpl: int, upl: int, spl: int) -> bool:
        """Whether the region reaches the levels of one cell, as far as can be told: its real ends at least, its whole ones if found in time."""
        rows = [(right, list(terms), list(terms.values())) for right, terms in r.rows]
        for oracle in (exact_lp, integer_points) if region.whole else (exact_lp,):
            ends = self._once(
                "ends",
                (oracle.__name__, rows, region.lo, region.hi, i),
                lambda oracle=oracle: in_time(lambda: oracle.intervals(rows, region.lo, region.hi, [i])[0]),
            )
            if ends is None:
                self.open += 1
                continue
            below, above = (None if end is None else end - r.a[i] for end in ends)
            wide = below is None or above is None or above - below >= spl
            if not ((below is None or below <= -lpl) and (above is None or above >= upl) and wide):
                return False
        return True

    def least(self, r: Reading) -> int | str | None:
        """The least cost of all tables of allowed values; None: there is no table; a text: there are too many to try."""
        more = (
            (r.a, r.lower, r.upper, r.levels, r.attackers, r.method.get("guarantee")) if r.pattern or r.ranges else ()
        )
        more += (r.ranging, r.method.get("grid")) if r.ranges else ()
        return self._once("least", (r.rows, r.t, r.w, r.sets, *more), lambda: self._least(r))

    def _least_pattern(self, r: Reading) -> int | str | None:
        """Of withheld cells: the least cost of a pattern that keeps every level, or where no more is promised every cell from being known."""
        free = [i for i, own in enumerate(r.sets) if own.count == 2]
        if len(free) > self.MOST_FLAGS:
            return "too many"
        chosen = [dict(zip(free, x, strict=True)) for x in product((0, 1), repeat=len(free))]
        exact = r.method.get("guarantee") == "exact"
        for flags in sorted(chosen, key=lambda x: sum(r.w[i] for i, own in x.items() if own)):
            hidden = [bool(flags.get(i, own.first)) for i, own in enumerate(r.sets)]
            printed = [None if gone else a for gone, a in zip(hidden, r.a, strict=True)]
            for k, who in enumerate(r.attackers):
                own = regions(r, printed)[k]
                if not all(
                    self.protects(r, own, i, 0, 0, 1) if exact else self.protects(r, own, i, *level)
                    for i, *level in who.asked(r.levels)
                ):
                    break
            else:
                return sum(r.w[i] for i, x in flags.items() if x)
        return None

    def _least(self, r: Reading) -> int | str | None:
        if r.pattern:
            return self._least_pattern(r)
        if r.ranges:
            found = certificate_widths.cheapest(r)
            return "too many" if found is None or any(k.whole for k in r.attackers) else found
        if not all(own.count for own in r.sets):
            return None
        free = [i for i, own in enumerate(r.sets) if own.count > 1]
        if len(free) > self.MOST_FREE or any(r.sets[i].count > self.MOST_VALUES for i in free):
            return "too many"
        order = _order(r, free)
        left = [right - sum(c * r.sets[i].first for i, c in terms.items() if i not in free) for right, terms in r.rows]
        cost = sum(w * abs(s.first - t) for w, s, t in zip(r.w, r.sets, r.t, strict=True) if s.count == 1)
        # What the cells from the p-th on can add, at least and at most, to each equation of the p-th; their least cost.
        choices, room, cheap = [], [], [0]
        ends = [(0, 0)] * r.m
        for i in reversed(order):
            own = [r.sets[i].first + x * r.sets[i].step for x in range(r.sets[i].count)]
            mine = [(j, terms[i]) for j, (_, terms) in enumerate(r.rows) if terms.get(i)]
            choices.append([(v, r.w[i] * abs(v - r.t[i])) for v in own])
            room.append([(j, c, *ends[j]) for j, c in mine])
            cheap.append(cheap[-1] + min(w for _, w in choices[-1]))
            for j, c in mine:
                ends[j] = ends[j][0] + min(c * own[0], c * own[-1]), ends[j][1] + max(c * own[0], c * own[-1])
        if any(not low <= x <= high for x, (low, high) in zip(left, ends, strict=True)):
            return None
        choices, room, cheap = choices[::-1], room[::-1], cheap[::-1]
        best: int | None = None
        waiting = [(0, cost, left)]
        for _ in range(self.MOST_NODES):
            if not waiting:
                return best
            p, cost, left = waiting.pop()
            if best is not None and cost + cheap[p] >= best:
                continue
            if p == len(order):
                best = cost
                continue
            for v, own_cost in sorted(choices[p], key=lambda choice: -choice[1]):
                after = left.copy()
                for j, c, low, high in room[p]:
                    after[j] -= c * v
                    if not low <= after[j] <= high:
                        break
                else:
                    waiting.append((p + 1, cost + own_cost, after))
        return "too many"


def _order(r: Reading, free: list[int]) -> list[int]:
    """The free cells, always next one that an equation with few others left holds."""
    open_cells = [{i for i, c in terms.items() if c and i in free} for _, terms in r.rows]
    out: list[int] = []
    while len(out) < len(free):
        shortest = min((own for own in open_cells if own), key=len, default={i for i in free if i not in out})
        i = min(shortest)
        out.append(i)
        for own in open_cells:
            own.discard(i)
    return out


def judge(content: Json, oracle: Oracle, *, thorough: bool = False) -> Judgement:
    """Whether some claim or evidence of a certificate is false; ``thorough``: levels that witnesses show are also held against the true ends."""
    try:
        r = Reading(content)
    except MalformedError as error:
        return Judgement(MALFORMED, str(error))
    if wrong := plain_claim(r):
        return Judgement(FALSE, wrong)
    evidence = Evidence(r)
    doubtful = evidence.wrong or wrong_bound(r)
    if wrong := unprotected(r, evidence.asked if thorough else evidence.unshown, oracle) or beaten(r, oracle):
        return Judgement(FALSE, wrong, doubtful is not None)
    return Judgement(EVIDENCE, doubtful) if doubtful else Judgement(TRUE)


def unprotected(r: Reading, levels: Sequence[Level], oracle: Oracle) -> str | None:
    """One of these levels that an attacker comes closer than, though all are said to be shown."""
    if r.printed is None or r.protection != "shown":
        return None
    if r.rule == "adjusted" and r.knowledge["most"] is None:
        return published_within(r)
    own = regions(r)
    for k, i, *level in levels:
        if not oracle.protects(r, own[k], i, *level):
            return f"attacker {k} comes too close to cell {i}"
    return None


def beaten(r: Reading, oracle: Oracle) -> str | None:
    """A table that costs less than the bound's value, or exists where none is said to."""
    if r.value is None:
        return None
    least = oracle.least(r)
    if isinstance(least, int) and (r.value == "infeasible" or least < r.value):  # type: ignore[operator]
        return f"a table costs {least}, the bound is {r.value}"
    return None
