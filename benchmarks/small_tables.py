"""Small tables of every kind, drawn from a seed: few cells that may be hidden, several attackers, widths, singletons; as plain data too."""

from __future__ import annotations

import numpy as np

import cellward as cw
from cellward.exact import NO_BOUND
from cellward.instance import Instance
from cellward.table.sensitivity import Sensitivity

KINDS = ("line", "grid", "cube", "tree", "trees", "linked")
CANDIDATES = 14
"""Cells that may be hidden, those at risk included."""


def drawn(rng: np.random.Generator) -> cw.Table:
    """A table with one to three cells at risk, some with a width."""
    try:
        made = _made(str(rng.choice(KINDS)), rng)
    except cw.InputError:  # a code that happens to be the sum of the others
        return drawn(rng)
    held = np.flatnonzero(made.scaled)
    if not len(held):
        return drawn(rng)
    risk = np.sort(rng.choice(held, min(len(held), int(rng.integers(1, 4))), replace=False))
    lpl, upl = np.minimum(rng.integers(0, 3, len(risk)), made.scaled[risk]), rng.integers(0, 4, len(risk))
    spl = rng.integers(0, 5, len(risk)) * (rng.random(len(risk)) < 0.25)
    return made.with_sensitivity(Sensitivity.of(made.cells, risk, lpl, upl, spl))


def _values(rng: np.random.Generator, size: int) -> np.ndarray:
    """Small counts, some of them 0."""
    return np.asarray(np.where(rng.random(size) < 0.12, 0, rng.integers(1, 9, size)))


def _made(kind: str, rng: np.random.Generator) -> cw.Table:
    if kind == "line":
        return cw.Table.from_array(_values(rng, int(rng.integers(3, 9))))
    if kind == "grid":
        rows, columns = rng.integers(2, 4, 2).tolist()
        made = _values(rng, rows * columns).reshape(rows, columns)
        return cw.Table.from_array(made, upper=None if rng.random() < 0.5 else 60)
    if kind == "cube":
        deep = int(rng.integers(1, 3))
        return cw.Table.from_array(_values(rng, 4 * deep).reshape(2, 2, deep))
    tree = cw.Hierarchy.from_dict({"Total": {"N": ["n1", "n2"], "S": ["s1", "s2", "s3"]}})
    if kind == "tree":
        frame = {"r": list(tree.leaves), "n": _values(rng, 5).tolist()}
        return cw.Table.from_frame(frame, dims=["r"], value="n", hierarchies={"r": tree})
    if kind == "trees":
        small = cw.Hierarchy.from_dict({"Total": {"N": ["n1", "n2"], "S": ["s1"]}})
        codes = [(r, c) for r in small.leaves for c in ("x", "y")]
        frame = {"r": [r for r, _ in codes], "c": [c for _, c in codes], "n": _values(rng, 6).tolist()}
        return cw.Table.from_frame(frame, dims=["r", "c"], value="n", hierarchies={"r": small})
    shared = (2 * _values(rng, 3)).tolist()
    first = {"r": ["a", "a", "b", "b", "c", "c"], "x": ["p", "q"] * 3, "n": []}
    second = {"r": ["a", "a", "b", "b", "c", "c"], "y": ["s", "t"] * 3, "n": []}
    for total in shared:
        for frame in (first, second):
            part = int(rng.integers(0, total + 1))
            frame["n"] += [part, total - part]
    return cw.link(
        cw.Table.from_frame(first, dims=["r", "x"], value="n"), cw.Table.from_frame(second, dims=["r", "y"], value="n")
    )


def attackers(one: cw.Table, rng: np.random.Generator) -> list[cw.Attacker]:
    """The public; at times one who knows a cell, one who knows a part of some, and a singleton who is all of a cell at risk."""
    known = [cw.Attacker.external()]
    if rng.random() < 0.3:
        known.append(cw.Attacker.knowing(one, "insider", exactly=[int(rng.integers(one.cells))]))
    if rng.random() < 0.25:
        cells = rng.choice(one.cells, 2, replace=False).tolist()
        known.append(cw.Attacker.respondent(one, "respondent", {i: int(one.scaled[i]) // 2 for i in cells}))
    if rng.random() < 0.25:
        alone = int(rng.choice(one.sensitivity.unsafe))
        known.append(cw.Attacker.knowing(one, "singleton", exactly=[alone]))
    return known


def published(one: cw.Table, free: np.ndarray, forced: np.ndarray, rng: np.random.Generator) -> list[int]:
    """Cells that must be printed so that no more may be hidden than can all be tried; at times such that no pattern is left."""
    over = int((free | forced).sum()) - CANDIDATES
    if over <= 0:
        return []
    drawn_ = rng.permutation(np.flatnonzero(free & ~forced))
    if rng.random() < 0.8:  # some pattern that keeps the public out stays possible
        p = cw.CellSuppression(zeros="candidates").protect(one)
        if p.publication is not None:
            drawn_ = drawn_[np.argsort(p.publication.withheld[drawn_], kind="stable")]
    return sorted(drawn_[:over].tolist())


def bounds(ends: np.ndarray) -> list[int | None]:
    """Bounds as plain numbers, None where there is none."""
    return [None if abs(end) == NO_BOUND else end for end in ends.tolist()]


def askers(instance: Instance, kind: type) -> list[object]:
    """The attackers as plain data: bounds on all cells, levels."""
    out = []
    for attacker in instance.attackers:
        lower, upper = attacker.narrow(instance.lower, instance.upper)
        asked = attacker.asked(instance.sensitivity.levels)
        levels = list(zip(asked.cell.tolist(), asked.lpl.tolist(), asked.upl.tolist(), asked.spl.tolist(), strict=True))
        out.append(kind(bounds(lower), bounds(upper), levels))
    return out
