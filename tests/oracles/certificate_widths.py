"""The bound of ranges, derived once more from docs/certificate.md: cuts on widths, the leaf that combines them, and the least ranges there are."""

from __future__ import annotations

import re
from fractions import Fraction

import least_widths
from certificate_form import Attacker, Bound, Reading, WidthCut

Inequality = tuple[int, dict[tuple[int, str], int]]
"""Right-hand side, and coefficients by cell and side."""
NOTHING: Inequality = (0, {})


def _room(r: Reading, who: Attacker, i: int, side: str) -> Bound:
    if side == "above":
        ends = [x for x in (r.upper[i], who.upper[i]) if x is not None]
        return min(ends) - r.a[i] if ends else None
    ends = [x for x in (r.lower[i], who.lower[i]) if x is not None]
    return r.a[i] - max(ends) if ends else None


def inequality(r: Reading, cut: WidthCut) -> Inequality | str:
    """What a cut says; a text when it may not be stated."""
    who = r.attackers[cut.attacker]
    levels = {i: {"down": lpl, "up": upl, "slide": spl} for i, lpl, upl, spl in who.asked(r.levels)}
    bridge = cut.sense in ("above", "below")
    if not bridge and cut.cell not in levels:
        return "a cut of no level"
    if bridge and any(known for _, known in cut.ways):
        return "a bridge that counts what somebody knows"
    least = 0 if bridge else cut.scale * levels[cut.cell][cut.sense]
    row: dict[tuple[int, str], int] = {}
    signs = {"up": [1], "above": [1], "down": [-1], "below": [-1], "slide": [1, -1]}[cut.sense]
    for sign, (multipliers, known) in zip(signs, cut.ways, strict=True):
        combined = [0] * r.n
        for j, x in multipliers:
            for i, c in r.rows[j][1].items():
                combined[i] += x * c
        combined[cut.cell] += sign * cut.scale
        for i, c in enumerate(combined):
            if not c or not r.ranging[i]:
                continue
            side = "above" if c > 0 else "below"
            if i in known:
                room = _room(r, who, i, side)
                if room is None:
                    return NOTHING
                least -= abs(c) * room
            else:
                row[i, side] = row.get((i, side), 0) + abs(c)
    if bridge:
        row[cut.cell, cut.sense] = row.get((cut.cell, cut.sense), 0) - cut.scale
        return 0, row
    return (least, row) if least > 0 else NOTHING


def grid_of(r: Reading) -> int | None:
    """The grid in units, None where the method has none."""
    text = r.method.get("grid")
    if type(text) is not str or not re.fullmatch(r"-?[0-9]{1,40}(\.[0-9]{1,40})?", text):
        return None
    grid = Fraction(text) * 10**r.decimals
    return int(grid) if grid.denominator == 1 and grid >= 1 else None


def misplaced(r: Reading) -> str | None:
    """Check 2 of ranges: off the grid, too many widths, or where nothing says why cells are printed or are not."""
    grid, widths = grid_of(r), r.method.get("widths")
    if grid is None or not (widths is None or (type(widths) is int and widths > 0)):
        return "no grid, or no number of widths"
    said = type(r.method.get("printed")) is str and r.method["printed"] != ""
    for i, may in enumerate(r.ranging):
        if not may and not said and not (r.method.get("zeros") == "published" and r.a[i] == 0):
            return f"cell {i} had to be printed, and nothing says why"
    if r.printed is None:
        return None
    found = set()
    for i, (low, high) in enumerate(zip(*r.printed, strict=True)):
        if low is None or high is None:
            return f"the range of cell {i} is open"
        if low >= high:
            continue
        found.add(high - low)
        if not r.ranging[i]:
            return f"cell {i} is a range that had to be printed"
        if (low % grid and low != r.lower[i]) or (high % grid and high != r.upper[i]):
            return f"the range of cell {i} does not end on the grid"
    return "too many widths" if widths is not None and len(found) > widths else None


def derive(r: Reading) -> Fraction | str | None:
    """The value that the leaf shows, "infeasible", None without a leaf; a text beginning with "wrong" when it shows nothing."""
    lines = []
    for cut in r.width_cuts:
        one = inequality(r, cut)
        if isinstance(one, str):
            return f"wrong: {one}"
        lines.append(one)
    g, grid = r.unit[0], grid_of(r)
    if grid is None:
        return "wrong: no grid"
    for i, may in enumerate(r.ranging):
        round_ends = all(end is None or end % grid == 0 for end in (r.lower[i], r.upper[i]))
        if may and r.w[i] * (grid if round_ends else 1) % g:
            return "wrong: a unit that costs are no multiples of"
    if not r.tree:
        return None
    if len(r.tree) > 1 or "kind" not in r.tree[0]:
        return "wrong: a tree of ranges with branches"
    node = r.tree[0]
    if min(node["multiplier"], default=0) < 0:
        return "wrong: a cut with a negative multiplier"
    gain: dict[tuple[int, str], int] = {}
    right = 0
    for j, x in zip(node["equation"], node["multiplier"], strict=True):
        right += x * lines[j][0]
        for key, c in lines[j][1].items():
            gain[key] = gain.get(key, 0) + x * c
    d, dual = node["denominator"], node["kind"] == "dual"
    for (i, side), have in gain.items():
        over = have - (d * r.w[i] if dual else 0)
        end = r.upper[i] if side == "above" else r.lower[i]
        if over > 0 and end is None:
            return "wrong: a width without end that gains too much"
        right -= max(over, 0) * abs((end if end is not None else r.a[i]) - r.a[i])
    if not dual:
        return "infeasible" if right > 0 else "wrong: a farkas leaf that shows nothing"
    return Fraction(-(-right // (d * g)) * g)


def cheapest(r: Reading) -> int | None:
    """What some safe ranges on the grid cost: the least ones of real ends, moved outwards to the grid; None where there are none.

    A bound above that is false. (Attackers who know that values are whole may need wider ones, so nothing is said of them.)
    """
    askers = [least_widths.Asker(k.lower, k.upper, k.asked(r.levels)) for k in r.attackers]
    found = least_widths.least_widths(r.rows, r.a, r.lower, r.upper, r.ranging, r.w, askers)
    grid = grid_of(r)
    if found.value is None or not found.exact or grid is None:
        return None
    cost, place = 0, 0
    for i, may in enumerate(r.ranging):
        if not may:
            continue
        below, above = found.widths[place : place + 2] if found.widths else (Fraction(0), Fraction(0))
        place += 2
        if below or above:
            low, high = (r.a[i] - below) // grid * grid, -(-(r.a[i] + above) // grid) * grid
            least, most = r.lower[i], r.upper[i]
            low, high = low if least is None else max(low, least), high if most is None else min(high, most)
            cost += r.w[i] * int(high - low)
    return cost
