"""Valid certificates of small tables: every rule, every kind of what is printed, and nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import releases
from bank import BANK, causey_cox_ernst
from certificate_form import Json
from fixed_keys import key_of
from public_files import decimal
from random_tables import random_case

import cellward as cw
from cellward.audit.evidence import show_levels
from cellward.instance import Instance
from cellward.objective import Aim
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge
from cellward.table.sensitivity import Sensitivity

KEY = key_of(0)


def valid_certificates(seed: int = 0) -> Iterator[tuple[str, Json]]:
    """Certificates of small tables of every kind, with names."""
    rng = Random(seed)
    for name, make in BANK.items():
        yield from _rounded(name, make(), 5, None, rng)
    yield from _rounded("causey_cox_ernst", causey_cox_ernst(), 2, None, rng, levels=0)
    asked = _with_levels(BANK["two_dimensional"](), 1, 1, Random(1))
    insider = cw.Attacker.knowing(asked, "insider", exactly=asked.sensitivity.levels.cell.tolist())
    assert len(insider.cell) == 1
    known = cw.ControlledRounding(5).protect(asked, attackers=[insider], key=KEY)
    yield "all levels known", json.loads(known.certificate().text)
    found = Counter[str]()
    for number in range(160):
        case = random_case(number)
        weights: Any = case.weights
        if isinstance(weights, list):  # those that are 0 count only beside their table, check 8
            weights = [max(weight, 1) for weight in weights]
        if isinstance(weights, str) and weights == "table" and not case.table.weight.all():
            weights = None
        for name, content in _rounded(case.kind, case.table, case.base, weights, rng):
            kind = f"{case.kind}, infeasible" if content["printed"] is None else case.kind
            kind += ", searched" if len(content["bound"]["tree"]) > 1 else ""
            found[kind] += 1
            if found[kind] <= (3 if kind == case.kind else 2):
                yield f"{name}, seed {number}", content
    searched = 0
    for number in range(40):
        shape, base = (((2, 2, 2, 2), 3), ((2, 2, 3, 3), 3), ((2, 2, 2, 2), 5), ((2, 2, 3, 3), 5))[number % 4]
        made = cw.Table.from_array(np.random.default_rng(number).poisson(4, shape))
        for name, content in _rounded(f"Poisson {shape}", made, base, None, rng):
            searched += len(content["bound"]["tree"]) > 1
            if len(content["bound"]["tree"]) > 1 and searched <= 6:
                yield f"{name}, seed {number}", content
    for k, name in enumerate([*BANK] * 2):
        yield from _tight(name, BANK[name](), ("strict", "paper")[k % 2], rng)
    for k, rule in enumerate(HAND * 2 + ("suppressed", "interval") * 4):
        for name, content in _by_hand(
            rule, (BANK["two_dimensional"], BANK["hierarchical"], BANK["three_dimensional"])[k % 3](), rng
        ):
            yield name, content
            if rule in ("suppressed", "interval") and k < len(HAND):
                yield f"{name}, infeasible", _unpublished(content)
    for k in range(24):
        yield from _withheld(k, rng)
    for k in range(24):
        yield from _ranged(k, rng)
    for k, (form, kind) in enumerate(
        (("base", "strict"), ("base", "paper"), ("distance", "strict"), ("distance", "paper"))
    ):
        yield from _perturbed(form, kind, BANK["two_dimensional"](), rng)
        yield from _perturbed(form, kind, cw.Table.from_array(np.random.default_rng(k).poisson(4, (2, 3))), rng)
    for k, (small, steps) in enumerate((("up", 1), ("zero", 1), ("up", 2), ("zero", 2), ("up", 1), ("zero", 1))):
        yield from _spared(small, steps, "paper" if k > 3 else "strict", rng)
    for small in ("free", "up", "zero"):
        yield from _following(small, rng)


def _with_levels(made: cw.Table, cells: int, most: int, rng: Random) -> cw.Table:
    s = made.sensitivity
    amounts = [np.zeros(made.cells, np.int64) for _ in range(3)]
    for i in rng.sample(range(made.cells), min(cells, made.cells)):
        for amount in amounts:
            amount[i] = rng.randint(0, most)
        amounts[2][i] *= rng.choice((0, 1, 2))
    return made.with_sensitivity(Sensitivity(s.status, *amounts))


def _attackers(made: cw.Table, rng: Random) -> list[cw.Attacker]:
    out, unit = [cw.Attacker.external(whole=rng.random() < 0.3)], 10**made.decimals
    for k in range(rng.choice((0, 0, 1, 2))):
        cells = rng.sample(range(made.cells), min(made.cells, rng.randint(1, 3)))
        known = [i for i in cells if rng.random() < 0.4]
        lower = {i: Fraction(int(made.scaled[i]) - rng.randint(1, 4), unit) for i in cells if i not in known}
        asked = {rng.randrange(made.cells): (Fraction(1, unit), 0, Fraction(1, unit))} if rng.random() < 0.3 else None
        shown = {i: str(x.numerator) if x.denominator == 1 else float(x) for i, x in lower.items()}
        own = None if asked is None else {i: tuple(float(x) for x in level) for i, level in asked.items()}
        out.append(
            cw.Attacker.knowing(made, f"insider {k}", lower=shown, exactly=known, whole=rng.random() < 0.3, levels=own)
        )
    return out


def _rounded(
    name: str, made: cw.Table, base: Any, weights: Any, rng: Random, levels: int = 3
) -> Iterator[tuple[str, Json]]:
    """A rounding, its levels as high as they are met, or ignored."""
    kind, ignore = rng.choice(("strict", "paper")), rng.random() < 0.15
    method = cw.ControlledRounding(base, knowledge=kind, ignore_levels=ignore)
    for most in (4, 3, 2, 1, 1, 0, 0):
        asked = _with_levels(made, rng.randint(levels > 0, levels), most, rng)
        try:
            p = method.protect(asked, weights=weights, attackers=_attackers(made, rng), key=KEY)
        except cw.InputError:
            return
        if p.status != "failed":
            yield f"{name}, {kind}{', levels ignored' * ignore}", json.loads(p.certificate().text)
            return


def _tight(name: str, made: cw.Table, kind: str, rng: Random) -> Iterator[tuple[str, Json]]:
    """A rounding whose levels are just met, some of cells that an insider knows something of."""
    cells = sorted(rng.sample(range(made.cells), min(4, made.cells)))
    unit = 10**made.decimals
    lower = {i: float(Fraction(int(made.scaled[i]) - rng.randint(1, 3), unit)) for i in cells[:2]}
    attackers = [cw.Attacker.external(), cw.Attacker.knowing(made, "insider", lower=lower, exactly=cells[3:])]
    method = cw.ControlledRounding(5 if unit == 1 else "0.5", knowledge=kind)
    rounded = replace(method, ignore_levels=True).protect(made, attackers=attackers, key=KEY)
    if rounded.scaled is None:
        return
    ends = rounded.audit().ends
    amounts = [np.zeros(made.cells, np.int64) for _ in range(3)]
    for i in cells:
        a = int(made.scaled[i])
        mine = [
            (int((a - low * unit) // 1), int((high * unit - a) // 1), int((high - low) * unit // 1))
            for low, high in (ends[k * made.cells + i] for k in range(1 if i in cells[3:] else 2))
        ]
        which = rng.choice(((0, 1), (0, 2), (1, 2), (2,), (0, 1, 2)))
        for side in which:
            amounts[side][i] = min(one[side] for one in mine)
    asked = made.with_sensitivity(Sensitivity(made.sensitivity.status, *amounts))
    p = method.protect(asked, attackers=attackers, key=KEY)
    assert p.status == "optimal", f"{name}: the ends of an audit are not reached"
    yield f"{name}, tight, {kind}", json.loads(p.certificate().text)


def _unpublished(content: Json) -> Json:
    """The same where nothing was found to publish."""
    asked = content["protection"] != "none asked"
    return content | {
        "printed": None,
        "objective": None,
        "status": "infeasible",
        "witnesses": [],
        "protection": "ignored" if asked else "none asked",
    }


HAND = (
    "suppressed", "interval", "perturbed distance paper", "perturbed distance strict", "perturbed base paper", "perturbed base strict",
    "adjusted", "adjusted freely", "rounded paper", "rounded strict",
)  # fmt: skip


def _by_hand(rule: str, made: cw.Table, rng: Random) -> Iterator[tuple[str, Json]]:
    """A certificate of a release that no method of the package makes."""
    n, a = made.cells, made.scaled
    rounded = cw.ControlledRounding(5, ignore_levels=True).protect(made, key=KEY)
    assert rounded.scaled is not None
    v, allowed, five = rounded.scaled, rounded.sought.allowed, np.full(n, 5)
    words = rule.split()
    kind: Any = words[-1]
    method: dict[str, Any] = {"name": "by hand"}
    if words[0] == "suppressed":
        method["name"] = "cell suppression"
        knowledge = Knowledge.suppressed(a, np.array(sorted(rng.sample(range(n), rng.choice((n - 2, n - 4, n // 2))))))
    elif words[0] == "interval":
        far = cw.exact.NO_BOUND
        lo, hi = (np.array([int(x) + way * rng.randint(0, 6) for x in a]) for way in (-1, 1))
        lo[0], hi[0] = rng.choice((-far, lo[0])), far
        lo[-1], hi[-1] = -far, rng.choice((hi[-1], far))
        method["name"] = "interval publication"
        knowledge = Knowledge.interval(lo, hi)
    elif words[0] == "perturbed":
        form: Any = words[1]
        knowledge = Knowledge.perturbed(v, five, form=form, kind=kind, a=a)
    elif words[0] == "adjusted":
        if "freely" in words and rng.random() < 0.5:
            method = {"name": "controlled tabular adjustment", "norm": "l1"}
        knowledge = Knowledge.adjusted(v, None if "freely" in words else five)
    else:
        method = {"name": "controlled rounding", "base": decimal(5, made.decimals), "steps": 2, "knowledge": kind}
        down, up = a - a % 5 - 5 * (a % 5 > 0), a - a % 5 + 5 + 5 * (a % 5 > 0)
        allowed = AllowedSet(np.maximum(np.where(a % 5, down, a - 5), 0), np.where(a % 5, up, a + 5), five)
        knowledge = Knowledge.rounded(v, five, kind=kind, steps=2, a=a)
    yield from _certified(rule, made, v, allowed, method, knowledge, rng)


def _withheld(k: int, rng: Random) -> Iterator[tuple[str, Json]]:
    """A cell suppression of a small table, its bound by cuts; some promise no exact disclosure only, some have no answer."""
    draw = np.random.default_rng(k)
    made = cw.Table.from_array(draw.integers(0, 9, ((2, 2), (3,), (4,))[k % 3]), upper=(None, 30)[k % 2])
    free = _attackers(made, rng)
    asked = _with_levels(made, 2, 3, rng)
    held = np.minimum(asked.sensitivity.lpl, made.scaled)
    asked = asked.with_sensitivity(replace(asked.sensitivity, lpl=held))
    method = cw.CellSuppression(
        ("levels", "exact")[k % 8 == 7], zeros=("published", "candidates")[k % 2], withhold=[0] if k % 5 == 1 else (),
        forbidden="totals" if k % 6 == 5 else (),
    )  # fmt: skip
    p = method.protect(asked, attackers=free, weights=("value", "equal")[k % 2], key=KEY)
    if p.status == "failed" or (p.publication is not None and not p.releasable):
        return
    yield f"cell suppression {k}, {p.status}", json.loads(p.certificate().text)
    if p.publication is not None and method.guarantee == "levels":
        assert p.sought.allowed is not None
        free = np.flatnonzero(p.sought.allowed.lo < p.sought.allowed.hi).tolist()
        cuts = tuple(_any_cut(p.instance, free, rng) for _ in range(30))
        claimed = replace(p.sought, bound=Fraction(p.objective_scaled), cuts=cuts, cut_weights=())
        yield (
            f"cell suppression {k}, any cuts",
            json.loads(replace(p, sought=claimed, status="optimal").certificate().text),
        )


def _ranged(k: int, rng: Random) -> Iterator[tuple[str, Json]]:
    """An interval publication of a small table, its bound by cuts on widths; some have no answer, some few widths, some any cuts."""
    draw = np.random.default_rng([k, 1])
    made = cw.Table.from_array(draw.integers(0, 9, ((2, 2), (3,), (4,), (2, 3))[k % 4]), upper=(None, 32, 30)[k % 3])
    asked = _with_levels(made, 2, 3, rng)
    held = np.minimum(asked.sensitivity.lpl, made.scaled)
    asked = asked.with_sensitivity(replace(asked.sensitivity, lpl=held))
    attackers = _attackers(made, rng)
    wanted = {int(i) for one in attackers for i in one.wanted(asked.sensitivity.levels).cell}
    quiet = [i for i in range(made.cells) if i not in asked.sensitivity.unsafe and i not in wanted]
    method = cw.IntervalPublication(
        (1, 1, 2, 5)[k % 4], widths=(0, 0, 0, 2, 1)[k % 5], zeros=("published", "candidates")[k % 2],
        publish=quiet[-1:] if k % 6 == 5 else (),
    )  # fmt: skip
    p = method.protect(asked, attackers=attackers, weights=("value", "equal")[k % 2], key=KEY)
    if p.status == "failed" or (p.publication is not None and not p.releasable):
        return
    yield f"interval publication {k}, {p.status}", json.loads(p.certificate().text)
    if p.publication is not None:
        cuts = tuple(_any_width_cut(p.instance, rng) for _ in range(12))
        claimed = replace(
            p.sought, bound=Fraction(0), cuts=cuts, cut_weights=tuple(rng.randint(0, 3) for _ in cuts), cut_scale=60
        )
        yield (
            f"interval publication {k}, any cuts",
            json.loads(replace(p, sought=claimed, status="feasible").certificate().text),
        )


def _any_width_cut(instance: Instance, rng: Random) -> dict[str, Any]:
    """Any requirement, or a bridge, with any multipliers."""
    attacker = rng.choice(instance.attackers)
    cells = attacker.asked(instance.sensitivity.levels).cell.tolist()
    sense = rng.choice(("up", "down", "slide", "above", "below")) if cells else rng.choice(("above", "below"))
    bridge, many = sense in ("above", "below"), instance.relations.equations
    ways = []
    for _ in range(2 if sense == "slide" else 1):
        equations = sorted(rng.sample(range(many), rng.randint(0, min(3, many))))
        known = [] if bridge else [int(i) for i in attacker.cell if rng.random() < 0.5]
        multipliers = [rng.choice((-2, -1, -1, 1, 1, 2)) for _ in equations]
        ways.append({"equation": equations, "multiplier": multipliers, "known": known})
    p = rng.randrange(instance.cells) if bridge else rng.choice(cells)
    return {"attacker": attacker.name, "cell": p, "sense": sense, "scale": rng.randint(1, 2), "ways": ways}


def _any_cut(instance: Instance, free: list[int], rng: Random) -> dict[str, Any]:
    """Any requirement, or a bridge, with any multipliers, some of them covering cells."""
    attacker = rng.choice(instance.attackers)
    cells = attacker.asked(instance.sensitivity.levels).cell.tolist()
    sense = rng.choice(("up", "down", "slide", "bridge")) if cells else "bridge"
    equations = sorted(
        rng.sample(range(instance.relations.equations), rng.randint(1, min(3, instance.relations.equations)))
    )
    return {
        "attacker": attacker.name, "cell": rng.randrange(instance.cells) if sense == "bridge" else rng.choice(cells), "sense": sense,
        "scale": rng.randint(1, 2), "equation": equations, "multiplier": [rng.choice((-2, -1, -1, 1, 1, 2)) for _ in equations],
        **({"covered": sorted(rng.sample(free, min(len(free), rng.randint(1, 2))))} if sense != "bridge" and rng.random() < 0.5 else {}),
    }  # fmt: skip


def _perturbed(form: Any, kind: Any, made: cw.Table, rng: Random) -> Iterator[tuple[str, Json]]:
    """A cell perturbation: by base towards the nearer multiples, all values between them; by distance sometimes a single one."""
    a = made.scaled
    rounded = cw.ControlledRounding(5, ignore_levels=True).protect(made, key=KEY)
    assert rounded.scaled is not None
    v, amount = rounded.scaled, np.where(rounded.scaled == a, rng.choice((0, 5)), 5)
    if form == "base":
        lo, hi = a - a % np.maximum(amount, 1), a + -a % np.maximum(amount, 1)
    else:
        held = np.array([rng.random() < 0.3 for _ in a])
        lo, hi = np.where(held, v, a - amount), np.where(held, v, a + amount)
    allowed = AllowedSet(np.maximum(lo, made.lower), np.minimum(hi, made.upper), np.ones(made.cells, np.int64))
    aim = None
    if form == "base":
        base = np.maximum(amount, 1)
        down, up = a - a % base, a + -a % base
        weight = np.array([rng.choice((1, 1, 2, 3)) for _ in a])
        aim = Aim(np.where(amount == 0, a, np.where(a - down <= up - a, down, up)), np.where(down < up, weight, 0))
    knowledge = Knowledge.perturbed(v, amount, form=form, kind=kind, a=a)
    method = {"name": "cell perturbation", "base" if form == "base" else "within": decimal(5, made.decimals)}
    method |= {"knowledge": kind, "objective": "nearest" if form == "base" else "distance"}
    yield from _certified(f"perturbation, {form}, {kind}", made, v, allowed, method, knowledge, rng, aim)


def _certified(
    rule: str,
    made: cw.Table,
    v: Any,
    allowed: AllowedSet,
    method: dict[str, Any],
    knowledge: Knowledge,
    rng: Random,
    aim: Aim | None = None,
) -> Iterator[tuple[str, Json]]:
    """The certificate of a release, its levels as high as they are met."""
    a = made.scaled
    for most in (4, 3, 2, 1, 1, 0):
        asked = _with_levels(made, 3, most, rng)
        if not knowledge.intervals:
            s = asked.sensitivity
            moved = np.where(s.lpl > 0, np.abs(v - a), 0)
            asked = asked.with_sensitivity(Sensitivity(s.status, moved, moved, np.zeros(made.cells, np.int64)))
        attackers = _attackers(made, rng)
        if not knowledge.intervals:  # nothing is claimed against insiders
            attackers = [one for one in attackers if not len(one.cell)]
        instance = Instance.of(asked, attackers=attackers or None)
        evidence = show_levels(instance, releases.published(v, knowledge))
        if evidence.protected:
            break
    else:
        return
    sought = {"allowed": allowed, "aim": aim} if knowledge.v is not None else {}
    method = method | ({"tells": dict(knowledge.stated)} if method["name"] == "by hand" else {})
    certificate = releases.certified(instance, v, method=method, knowledge=knowledge, salt="0a" * 32, **sought)
    yield rule, json.loads(certificate.text)


def _few(made: cw.Table, small: str, allowed: AllowedSet) -> AllowedSet:
    """What an option for small counts leaves of the values allowed; nothing is known to be above or below but 0."""
    few = (made.scaled > 0) & (made.scaled < 5)
    lo = np.where(few & (small == "up"), np.maximum(allowed.lo, allowed.step), allowed.lo)
    hi = np.where(few & (small == "zero"), 0, allowed.hi)
    return AllowedSet(lo, hi, allowed.step)


def _rounded_small(small: str) -> Iterator[tuple[cw.Table, Any]]:
    """Counts with small ones among them that a rounding happens to treat as the option asks."""
    for number in range(1000):
        made = cw.Table.from_array(np.random.default_rng(number).poisson(5, (3, 3)))
        rounded = cw.ControlledRounding(5, ignore_levels=True).protect(made, key=KEY)
        few = (made.scaled > 0) & (made.scaled < 5)
        right = small == "free" or (few.any() and not ((rounded.scaled[few] > 0) != (small == "up")).any())
        if rounded.scaled is not None and right:
            yield made, rounded.scaled


def _spared(small: Any, steps: int, kind: Any, rng: Random) -> Iterator[tuple[str, Json]]:
    """A rounding with an option for small counts."""
    made, v = next(islice(_rounded_small(small), rng.randrange(3), None))
    a, five, reach = made.scaled, np.full(made.cells, 5), 5 * steps - 1
    lo, hi = -(-np.maximum(a - reach, 0) // 5) * 5, (a + reach) // 5 * 5
    knowledge = Knowledge.rounded(v, five, kind=kind, steps=steps, a=a, small=small, lower=made.lower, upper=made.upper)
    method = {"name": "controlled rounding", "base": "5", "steps": steps, "small_counts": small, "knowledge": kind}
    allowed = _few(made, small, AllowedSet(lo, hi, five))
    yield from _certified(f"small {small}, {kind}, {steps} steps", made, v, allowed, method, knowledge, rng)


def _following(small: Any, rng: Random) -> Iterator[tuple[str, Json]]:
    """A rounding of the margins alone, one circle of inner cells moved by a unit if they may."""
    for made, rounded in _rounded_small(small):
        a, follows = made.scaled, np.ones((4, 4), bool)
        follows[3], follows[:, 3] = False, False
        follows = follows.ravel()
        step = np.where(follows, 1, 5)
        lo = np.where(follows, np.maximum(a - 4, 0), -(-np.maximum(a - 4, 0) // 5) * 5)
        allowed = _few(made, small, AllowedSet(lo, np.where(follows, a + 4, (a + 4) // 5 * 5), step))
        v = rounded.copy()
        v[[0, 1, 4, 5]] += [1, -1, -1, 1]
        if len(allowed.outside(v)):
            continue
        knowledge = Knowledge.rounded(v, np.full(16, 5), a=a, small=small, lower=made.lower, upper=made.upper)
        method = {"name": "controlled rounding", "base": "5", "steps": 1, "knowledge": "strict", "only": "7 cells"}
        method |= {} if small == "free" else {"small_counts": small}
        yield from _certified(f"followers, small {small}", made, v, allowed, method, knowledge, rng)
        return
