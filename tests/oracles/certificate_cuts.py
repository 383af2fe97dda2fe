"""The cuts of a suppression's bound, derived once more from docs/certificate.md: each an inequality Σ coef·x ≥ least over cells that were free."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from certificate_form import Attacker, Bound, Cut, Reading

Inequality = tuple[int, dict[int, int]]
"""Right-hand side, and coefficients by cell."""
NOTHING: Inequality = (0, {})


def inequality(r: Reading, cut: Cut) -> Inequality | str:
    """What a cut says; a text when it may not be stated."""
    who = r.attackers[cut.attacker]
    levels = {i: (lpl, upl, spl) for i, lpl, upl, spl in who.asked(r.levels)}
    combined = [0] * r.n
    for j, x in cut.multipliers:
        for i, c in r.rows[j][1].items():
            combined[i] += x * c
    if cut.sense == "bridge":
        return _bridge(r, cut.cell, combined, who, levels.keys())
    if cut.cell not in levels or r.method.get("guarantee") == "exact":
        return "a cut of no level"
    lpl, upl, spl = levels[cut.cell]
    combined[cut.cell] += -cut.scale if cut.sense == "down" else cut.scale
    least = Fraction(cut.scale * {"up": upl, "down": lpl, "slide": spl}[cut.sense])
    rooms: dict[int, int | None] = {}
    for i, c in enumerate(combined):
        low, high = _tighter(r.lower[i], who.lower[i], max), _tighter(r.upper[i], who.upper[i], min)
        down, up = (None if low is None else r.a[i] - low), (None if high is None else high - r.a[i])
        sides = (down, up) if cut.sense == "slide" else (up,) if c > 0 else (down,)
        if c:
            rooms[i] = None if None in sides else abs(c) * sum(side for side in sides if side is not None)
    for i, room in rooms.items():
        if (r.sets[i].first, r.sets[i].count) == (1, 1) or i in cut.covered:
            if room is None:
                return NOTHING
            least -= room
    if least <= 0:
        return NOTHING
    free = {i: room for i, room in rooms.items() if r.sets[i].count == 2 and room != 0 and i not in cut.covered}
    return int(least), {i: int(least) if room is None else min(room, int(least)) for i, room in free.items()}


def _bridge(r: Reading, p: int, combined: list[int], who: Attacker, levels: object) -> Inequality | str:
    if not combined[p]:
        return "a bridge without its cell"
    must = [own.count == 1 and own.first == 1 for own in r.sets]
    if r.sets[p].count == 1 and not must[p]:
        return NOTHING
    if must[p] and p not in levels:  # type: ignore[operator]
        return "a bridge of a cell that nobody has to be kept from"
    known = [must[p] and low is not None and low == high for low, high in zip(who.lower, who.upper, strict=True)]
    others = [i for i, c in enumerate(combined) if c and i != p and not known[i]]
    if any(must[i] for i in others):
        return NOTHING
    row = {i: 1 for i in others if r.sets[i].count == 2}
    return (1, row) if must[p] else (0, {**row, p: -1})


def _tighter(x: Bound, y: Bound, of: Callable[[int, int], int]) -> Bound:
    return y if x is None else x if y is None else of(x, y)


def misplaced(r: Reading) -> str | None:
    """Check 2 of a suppression: a cell that was not free without a word on why; levels shown of a method that does not promise them."""
    if r.protection == "shown" and r.method.get("guarantee") == "exact":
        return "levels are shown that the method does not promise"
    if not r.pattern:
        return None
    asked = {i for i, *level in zip(r.levels.cell, r.levels.lpl, r.levels.upl, r.levels.spl, strict=True) if any(level)}
    asked |= {i for who in r.attackers for i, *_ in who.asked(r.levels)}
    said = {name: type(r.method.get(name)) is str and r.method[name] != "" for name in ("printed", "withheld")}
    for i, own in enumerate(r.sets):
        if own.count == 1 and own.first and not (said["withheld"] or i in asked):
            return f"cell {i} had to be withheld, and nothing says why"
        zero = r.method.get("zeros") == "published" and r.a[i] == 0
        if own.count == 1 and not own.first and not (said["printed"] or zero):
            return f"cell {i} had to be printed, and nothing says why"
    return None
