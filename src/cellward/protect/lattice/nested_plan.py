"""Plan: the order in which nested blocks are decided: as many levels from above as make one question, then the parts below them.

A part is what stands right below one decided block, as deep as its columns are few; what is deeper are parts of their own. Parts below different
blocks share no equation once what is above them is decided, so they can be asked at the same time; small ones are asked together. In ``slices`` the
children of one block are decided a few at a time, one turn after the other: questions are small then, but need prices to leave room for the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.exact import Bools, Ints
from cellward.protect.lattice.nested import Nested

TOP, PART, LARGEST = 12_000, 2_000, 40_000
"""Columns of the first question and of a part, about, and of a part at most: a family can be no smaller than all children of one block."""
FEWEST = 4
"""Parts below the top that are worth it."""


@dataclass(frozen=True, eq=False)
class Part:
    """Blocks that are decided together, and the blocks right above them."""

    blocks: Ints
    heads: Ints


@dataclass(frozen=True, eq=False)
class Plan:
    """The parts, those of one turn independent of each other once the turns before are decided; the first turn is the top alone."""

    turns: tuple[tuple[Part, ...], ...]

    @property
    def parts(self) -> int:
        """How many there are below the top."""
        return sum(len(turn) for turn in self.turns[1:])


def plan_of(nested: Nested, many: Ints, *, slices: bool = False) -> Plan | None:
    """The plan for blocks with so many columns each; None where some part would be too large, or there are too few."""
    columns = int(many.sum())
    top, part, largest = min(TOP, columns // 4), min(PART, columns // 16), LARGEST
    roots = np.flatnonzero(nested.above < 0)
    first, edge = _down(nested, many, roots, top)
    turns: list[tuple[Part, ...]] = [(Part(first, np.zeros(0, np.int64)),)]
    while len(edge):
        families = []
        for head in edge.tolist():
            blocks, below = _down(nested, many, nested.children(head), part)
            if int(many[blocks].sum()) > largest:
                return None
            families.append((Part(blocks, np.array([head])), below))
        parts = [family for family, _ in families]
        each = _sliced(parts, nested, many, part) if slices else [parts]
        turns.extend(tuple(_together(turn, many, part)) for turn in each)
        edge = np.concatenate([below for _, below in families])
    plan = Plan(tuple(turns))
    enough = int(many[first].sum()) <= largest and plan.parts >= FEWEST
    return plan if enough else None


def _sliced(parts: list[Part], nested: Nested, many: Ints, most: int) -> list[list[Part]]:
    """Large families a few children at a time: in the first turn the first of each, and so on; the last of each is the largest."""
    turns: list[list[Part]] = []
    for part in parts:
        below = nested.above[part.blocks] == part.heads[0]
        single = len(part.blocks) == np.count_nonzero(below)
        size = int(many[part.blocks].sum())
        pieces = max(size // most, 1) if single else 1
        cuts = np.searchsorted(np.cumsum(many[part.blocks]), size * np.arange(1, pieces) / (pieces + 1))
        for number, blocks in enumerate(piece for piece in np.split(part.blocks, cuts) if len(piece)):
            if number == len(turns):
                turns.append([])
            turns[number].append(Part(blocks, part.heads))
    return turns


def _down(nested: Nested, many: Ints, blocks: Ints, most: int) -> tuple[Ints, Ints]:
    """These blocks and whole levels below them, as long as there are at most so many columns; and those of the last level that stand above others."""
    found, level = [blocks], blocks
    total = int(many[blocks].sum())
    while len(level):
        below = np.concatenate([nested.children(each) for each in level.tolist()])
        total += int(many[below].sum())
        if not len(below) or total > most:
            break
        found.append(below)
        level = below
    deep = [each for each in level.tolist() if len(nested.children(each))]
    return np.concatenate(found), np.array(deep, np.int64)


def _together(parts: list[Part], many: Ints, most: int) -> list[Part]:
    """Small parts put together, large ones first."""
    out: list[Part] = []
    parts = sorted(parts, key=lambda part: -int(many[part.blocks].sum()))
    held: list[Part] = []
    for part in parts:
        size = sum(int(many[one.blocks].sum()) for one in held)
        if held and size + int(many[part.blocks].sum()) > most:
            out.append(_joined(held))
            held = []
        held.append(part)
    return [*out, *([_joined(held)] if held else [])]


def _joined(parts: list[Part]) -> Part:
    return Part(np.concatenate([each.blocks for each in parts]), np.concatenate([each.heads for each in parts]))


def chosen(blocks: Ints, size: int) -> Bools:
    """The same as a mark for each of so many blocks."""
    out = np.zeros(size, bool)
    out[blocks] = True
    return out
