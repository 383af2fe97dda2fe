"""The evidence of a certificate: definitions, witnesses and the tree of its bound, as docs/certificate.md asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import certificate_widths
from certificate_claims import Region, misses, regions, within
from certificate_cuts import inequality
from certificate_form import Json, Level, Reading, Steps, Witness


def wrong_definitions(r: Reading) -> str | None:
    """Check 5."""
    cells = [i for _, i in r.definitions]
    if len(set(cells)) < len(cells) or len({j for j, _ in r.definitions}) < len(cells):
        return "an equation or a cell is defined twice"
    late = set(cells)
    for j, i in r.definitions:
        terms = r.rows[j][1]
        if abs(terms.get(i, 0)) != 1:
            return "a definition without coefficient ±1"
        if any(c and other in late for other, c in terms.items() if other != i):
            return "definitions are not triangular"
        late.remove(i)
    return None


def shift(r: Reading, witness: Witness) -> list[int] | None:
    """Check 6: Δ of a witness, None when it moves what is no leaf or misses an equation; the definitions are in order."""
    out = [0] * r.n
    if {i for _, i in r.definitions} & set(witness.leaf):
        return None
    for i, x in zip(witness.leaf, witness.difference, strict=True):
        out[i] = x
    for j, i in r.definitions:
        terms = r.rows[j][1]
        out[i] = -terms[i] * sum(c * out[other] for other, c in terms.items() if other != i)
    return None if misses([(0, terms) for _, terms in r.rows], out) else out


def meets(reached: Sequence[Fraction], lpl: int, upl: int, spl: int) -> bool:
    low, high = min(0, *reached, 0), max(0, *reached, 0)
    return low <= -lpl and high >= upl and high - low >= spl


def published_within(r: Reading) -> str | None:
    """Check 7 where nothing can be worked out from the values: they themselves must be far enough off."""
    assert r.v is not None
    for k in r.attackers:
        for i, lpl, upl, spl in k.asked(r.levels):
            if k.insider:
                return f"{k.name} knows cells, and nothing is known of what it makes of values by their distance"
            moved = r.v[i] - r.a[i]
            if abs(moved) < spl or not (moved >= upl > 0 or -moved >= lpl > 0 or not (lpl or upl)):
                return f"cell {i} is published within its levels"
    return None


class Evidence:
    """Checks 5 to 7: what is wrong with the witnesses, and which levels no table among them shows."""

    def __init__(self, r: Reading) -> None:
        self.wrong = wrong_definitions(r)
        self.unshown: list[Level] = []
        self.asked = [(k, *one) for k, own in enumerate(r.attackers) for one in own.asked(r.levels)]
        if r.printed is None:
            # What the public would learn from nothing matters to nobody: only that witnesses would be needed.
            self.wrong = self.wrong or (
                "levels of nothing published" if r.protection == "shown" and self.asked else None
            )
            return
        found = [] if self.wrong else [(shift(r, witness), witness) for witness in r.witnesses]
        if any(moved is None for moved, _ in found):
            self.wrong = "a witness that is no table"
        tables = [(moved, witness) for moved, witness in found if moved is not None]
        own = regions(r)
        inside = [[_inside(r, moved, witness.denominator, region) for region in own] for moved, witness in tables]
        if any(not good[k] for good, (_, witness) in zip(inside, tables, strict=True) for k, _ in witness.covers):
            self.wrong = self.wrong or "a witness outside a region that it covers"
        if r.protection != "shown":
            return
        if r.rule == "adjusted" and r.knowledge["most"] is None:
            self.wrong = self.wrong or published_within(r)
            return
        for k, i, *level in self.asked:
            covering = [
                Fraction(moved[i], witness.denominator)
                for moved, witness in tables
                if any(k == other and i in cells for other, cells in witness.covers)
            ]
            if not meets(covering, *level):
                self.wrong = self.wrong or "a level that no witness shows"
            usable = [
                Fraction(moved[i], witness.denominator)
                for good, (moved, witness) in zip(inside, tables, strict=True)
                if good[k]
            ]
            if not meets(usable, *level):
                self.unshown.append((k, i, *level))  # type: ignore[arg-type]


def _inside(r: Reading, moved: list[int], d: int, region: Region) -> bool:
    return (d == 1 or not region.whole) and within(
        [a * d + x for a, x in zip(r.a, moved, strict=True)], region.lo, region.hi, d
    )


Lines = Sequence[tuple[int, dict[int, int]]]
"""What a proof combines: equations, or cuts."""


def slope(r: Reading, lines: Lines, multipliers: Sequence[tuple[int, int]]) -> tuple[int, list[int]]:
    """λ·b and Mᵀλ."""
    right, out = 0, [0] * r.n
    for j, x in multipliers:
        right += x * lines[j][0]
        for i, c in lines[j][1].items():
            out[i] += x * c
    return right, out


def leaf(r: Reading, lines: Lines, node: Json, sets: list[Steps]) -> Fraction | str | None:
    """What a leaf shows: L, or None that there is no table; a text when it shows nothing."""
    if r.pattern and min(node["multiplier"], default=0) < 0:
        return "a cut with a negative multiplier"
    if not all(own.count for own in sets):
        return None
    d = node["denominator"]
    right, m = slope(r, lines, list(zip(node["equation"], node["multiplier"], strict=True)))
    if node["kind"] == "dual":
        each = zip(r.w, r.t, m, sets, strict=True)
        return Fraction(
            right + sum(min(d * w * abs(v - t) - c * v for v in own.corners(t)) for w, t, c, own in each), d
        )
    if node["kind"] == "farkas":
        least = right + sum(min(-c * own.first, -c * own.last) for c, own in zip(m, sets, strict=True))
        return None if least > 0 else "a farkas leaf that shows nothing"
    fits = all(c * own.step % d == 0 for c, own in zip(m, sets, strict=True) if own.count > 1)
    rest = right - sum(c * own.first for c, own in zip(m, sets, strict=True))
    return None if d >= 2 and fits and rest % d else "a modular leaf that shows nothing"


@dataclass(frozen=True)
class Derived:
    """What unit and tree show together."""

    value: Fraction | str | None


def wrong_bound(r: Reading) -> str | None:
    """Check 8, all but whether the value is true."""
    derived = derive(r)
    if isinstance(derived, str):
        return derived
    return None if r.value == derived.value else f"the tree derives {derived.value}, not {r.value}"


def derive(r: Reading) -> Derived | str:
    """What the tree shows; a text when it shows nothing."""
    if r.ranges:
        shown = certificate_widths.derive(r)
        return shown if isinstance(shown, str) and shown != "infeasible" else Derived(shown)
    if r.kind != "values" and not r.pattern:
        return Derived(None) if r.unit == (1, []) and not r.tree else "a bound of what is not made of values"
    lines: list[tuple[int, dict[int, int]]] = list(r.rows)
    if r.pattern:
        lines = []
        for cut in r.cuts:
            if isinstance(one := inequality(r, cut), str):
                return one
            lines.append(one)
    g, multipliers = r.unit
    right, m = slope(r, lines, multipliers)
    residue = right
    for w, t, c, own in zip(r.w, r.t, m, r.sets, strict=True):
        left = {(w * abs(v - t) - c * v) % g for v in (own.corners(t) if own.count else ())}
        if len(left) > 1:
            return "a unit in which tables do not cost the same"
        residue += sum(left)
    if not r.tree:
        return Derived(None)
    waiting, shown = [r.sets], []
    for node in r.tree:
        if not waiting:
            return "a tree that goes on after its end"
        sets = waiting.pop()
        if "kind" in node:
            shown.append(leaf(r, lines, node, sets))
        else:
            i = node["cell"]
            low, high = sets[i].split(node["at"])
            waiting += [[*sets[:i], high, *sets[i + 1 :]], [*sets[:i], low, *sets[i + 1 :]]]
    if waiting:
        return "a tree that ends too early"
    for one in shown:
        if isinstance(one, str):
            return one
    counted = [one for one in shown if isinstance(one, Fraction)]
    if not counted:
        return Derived("infeasible")
    above = -(-min(counted).numerator // min(counted).denominator)
    return Derived(Fraction(above + (residue - above) % g))
