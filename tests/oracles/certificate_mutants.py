"""Mutants of certificates: one field changed before anything is hashed, so no checksum catches it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from certificate_evidence import Derived, derive
from certificate_form import Json, MalformedError, Reading
from public_files import canonical

WORDS = (
    "optimal", "feasible", "infeasible", "shown", "none asked", "ignored", "dual", "farkas", "modular", "strict", "paper", "rounded", "perturbed",
    "interval", "suppressed", "adjusted", "distance", "base", "controlled rounding", "cell perturbation", "by hand", "external", "", "0", "1/2", "up",
    "zero", "free", "values", "withheld", "ranges", "cell suppression", "interval publication", "controlled tabular adjustment", "0" * 64,
)  # fmt: skip
RICH = (
    "allowed",
    "attackers",
    "bound",
    "definitions",
    "equations",
    "knowledge",
    "levels",
    "printed",
    "target",
    "witnesses",
)
"""Parts that are drawn three times as often as the others, unless they are empty."""
DEEPER = 0.93
"""How often a mutation goes on into a list or an object, rather than changing it as a whole."""


@dataclass(frozen=True)
class Mutant:
    key: str
    what: str
    content: Json


def mutate(original: str, rng: Random) -> Mutant:
    """One field of a certificate changed: the part is drawn evenly, then a place in it, then what happens there."""
    while True:
        content = json.loads(original)
        parts = sorted(content)
        (key,) = rng.choices(parts, [3 if key in RICH and content[key] else 1 for key in parts])
        holder, at, path = content, key, [key]
        while type(holder[at]) in (list, dict) and holder[at] and rng.random() < DEEPER:
            holder = holder[at]
            at = rng.choice(sorted(holder)) if type(holder) is dict else rng.randrange(len(holder))
            path.append(at)
        if holder[at] in ([], "") and rng.random() < 0.8:  # little can be done to nothing but spoil its form
            continue
        before = canonical(holder[at])
        what = (
            _move(holder, at, rng)
            if rng.random() < (0.3 if type(holder) is list else 0.08)
            else _change(holder, at, content, rng)
        )
        if what and canonical(content) != original:
            return Mutant(key, f"{'.'.join(map(str, path))}: {what} (was {before[:60]})", content)


def _move(holder: Json, at: Any, rng: Random) -> str:
    """A change of where something stands: swapped, twice, gone, under another name."""
    if type(holder) is list:
        what = rng.choice(("swap", "delete", "double", "copy"))
        other = rng.choice((at - 1, at + 1)) % len(holder)
        if what == "swap":
            holder[at], holder[other] = holder[other], holder[at]
        elif what == "delete":
            del holder[at]
        elif what == "double":
            holder.insert(at, json.loads(json.dumps(holder[at])))
        else:
            holder[at] = json.loads(json.dumps(holder[other]))
        return what
    what = rng.choice(("swap", "delete", "rename", "add", "copy"))
    other = rng.choice(sorted(holder))
    if what == "swap":
        holder[at], holder[other] = holder[other], holder[at]
    elif what == "copy":
        holder[at] = json.loads(json.dumps(holder[other]))
    elif what == "add":
        holder[rng.choice(("more", at + " ", "kind", "note", "small", "only"))] = rng.choice(
            (0, None, "x", [], holder[at])
        )
    else:
        value = holder.pop(at)
        if what == "rename":
            holder[rng.choice((at.upper(), at + "s", "x", "", other))] = value
    return what


def _change(holder: Json, at: Any, content: Json, rng: Random) -> str:
    value = holder[at]
    if type(value) is int:
        holder[at] = new = _other_number(value, content, rng)
    elif type(value) is str:
        holder[at] = new = _other_text(value, rng)
    elif type(value) is bool:
        holder[at] = new = rng.choice((not value, not value, not value, int(value), None, "true"))
    elif value is None:
        true = content.get("nominal")
        lists = [json.loads(json.dumps(true))] if type(true) is list else []
        here = true[at] if lists and type(at) is int and at < len(true) else 0  # where it is withheld, the true value
        holder[at] = new = rng.choice((here, here, 0, 1, -1, 5, 10**6, [], {}, "", False, *lists, *lists))
    elif type(value) is list:
        holder[at] = new = _other_list(value, content, rng)
    else:
        holder[at] = new = rng.choice((None, [], {}, [value], list(value.values()), 0))
    return f"to {canonical(new)[:60]}"


def _other_number(x: int, content: Json, rng: Random) -> Json:
    base = rng.choice((2, 3, 5, 10, 100))
    near = (x + 1, x - 1, x + 1, x - 1, x + base, x - base, -x, 0, 1, 2 * x, x // 2)
    luck = rng.random()
    if luck < 0.7:
        return rng.choice(near)
    if luck < 0.8:
        nominal = content.get("nominal")
        return rng.choice(nominal) if type(nominal) is list and nominal else 0
    if luck < 0.93:
        return rng.choice((1, -1)) * 10 ** rng.choice((3, 6, 12, 18, 20, 39))
    return rng.choice((bool(x), str(x), None, [x], {"x": x}, True, False))


def _other_text(x: str, rng: Random) -> Json:
    luck = rng.random()
    if re.fullmatch(r"-?[0-9]+(/[0-9]+)?", x) and luck < 0.7:
        value = Fraction(x)
        return rng.choice((
            str(value + 1), str(value - 1), str(value + Fraction(1, 2)), str(value - Fraction(1, 3)), str(-value), str(2 * value), "0",
            f"{value.numerator}/{value.denominator}", x + "/1", "+" + x, x + ".0", int(value), str(value + 5), str(value - 5), "10" * 20,
        ))  # fmt: skip
    if luck < 0.6:
        return rng.choice(WORDS)
    if luck < 0.85 and x:
        k = rng.randrange(len(x))
        return rng.choice(
            (x[:k] + x[k + 1 :], x[:k] + rng.choice("aZ0é \n") + x[k + 1 :], x + x[k], x.swapcase(), x[::-1])
        )
    return rng.choice((None, 0, 1, [x], {x: x}, True))


def _other_list(x: list[Json], content: Json, rng: Random) -> Json:
    same = x[0] if x and all(y == x[0] for y in x) else None
    nominal = content.get("nominal")
    return rng.choice((
        None, [], x[::-1], x[:-1], x[1:], [*x, 0], [0, *x], [*x, *x], [x], {}, 0, 1, same, *(nominal[:1] if type(nominal) is list else ()),
        x[1:] + x[:1], [0] * len(x), [1] * len(x), list(range(len(x))),
    ))  # fmt: skip


def made_to_fit(content: Json, r: Reading) -> Json:
    """The same with right-hand sides, objective, status, base and bound as the rest has them, so that what is false lies deeper."""
    out = json.loads(json.dumps(content))
    out["equations"]["rhs"] = [sum(c * r.a[i] for i, c in terms.items()) for _, terms in r.rows]
    out |= {"objective": r.cost(), "status": "infeasible" if r.printed is None else "feasible"}
    if r.method["name"] == "controlled rounding" and r.rule == "rounded":
        out["knowledge"] |= {"base": r.step, "steps": r.method.get("steps")}
    if "tells" in out["method"]:
        out["method"]["tells"] = out["knowledge"]
    try:
        fitted = Reading(out)
    except MalformedError:
        return out
    if isinstance(derived := derive(fitted), Derived):
        out["bound"]["value"] = None if derived.value is None else str(derived.value)
    else:
        out["bound"] |= {"value": None, "tree": [], "unit": {"size": 1, "equation": [], "multiplier": []}}
    return out


def expanded(content: Json, rng: Random) -> Json:
    """The same certificate with some columns written out: what it says stays the same."""
    n, out = len(content["nominal"]), json.loads(json.dumps(content))
    places = [(out, "weight"), (out, "lower"), (out, "upper")]
    places += [(out["allowed"], key) for key in ("lo", "hi", "step") if out["allowed"] is not None]
    for holder, key in places:
        if type(holder[key]) is not list and rng.random() < 0.5:
            holder[key] = [holder[key]] * n
    return out
