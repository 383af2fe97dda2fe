"""Dimension: the codes of one column, level by level; each level parts the bottom codes, so that every level adds up to the total."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellward.errors import InputError, brief
from cellward.exact import Bools, Ints
from cellward.server.config import DimensionConfig
from cellward.table.coded import Axis


@dataclass(frozen=True, eq=False)
class Dimension:
    """``parent`` (−1 for the total) and ``depth`` of every code, parents first; code 0 is the total."""

    config: DimensionConfig
    codes: tuple[str, ...]
    parent: Ints
    depth: Ints

    @staticmethod
    def of(config: DimensionConfig, axis: Axis) -> Dimension:
        """The codes of an axis, where its sums are a tree."""
        parent = np.full(len(axis.codes), -1, np.int64)
        for above, children in axis.sums:
            for child in children:
                if parent[child] >= 0:
                    raise InputError(
                        f"the code {brief(axis.codes[child])} of {config.name} is below two sums; a server takes hierarchies that are trees, "
                        "so serve the other grouping as a dimension of its own"
                    )
                parent[child] = above
        roots = np.flatnonzero(parent < 0)
        if len(roots) != 1:
            raise InputError(f"{config.name} has {len(roots)} codes at its top; give its hierarchy one total")
        if roots[0] != 0:
            raise InputError(f"{config.name}: its total does not stand first; give its hierarchy one total")
        depth = np.zeros(len(parent), np.int64)
        for code in range(1, len(parent)):  # codes stand parents first
            depth[code] = depth[parent[code]] + 1
        if len(config.levels) > int(depth.max(initial=0)):
            raise InputError(f"{config.name}: levels names {len(config.levels)} levels; it has {int(depth.max())}")
        return Dimension(config, axis.codes, parent, depth)

    @property
    def name(self) -> str:
        """The name of its column."""
        return self.config.name

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each code."""
        return {code: k for k, code in enumerate(self.codes)}

    @cached_property
    def bottom(self) -> Bools:
        """Which codes have none below."""
        found = np.ones(len(self.codes), bool)
        found[self.parent[self.parent >= 0]] = False
        return found

    @property
    def deepest(self) -> int:
        """The number of its last level."""
        return int(self.depth.max())

    def level_name(self, level: int) -> str:
        """What a level is called."""
        if level and level <= len(self.config.levels):
            return self.config.levels[level - 1]
        return "total" if level == 0 else f"level {level}"

    def at(self, level: int) -> Ints:
        """The codes of a level, in order: those so deep, and those of less depth that have none below."""
        return np.flatnonzero((self.depth == level) | (self.bottom & (self.depth < level)))

    def above(self, level: int) -> Ints:
        """For every code the code of this level that it belongs to; −1 where it lies above the level."""
        found = np.full(len(self.codes), -1, np.int64)
        own = self.at(level)
        found[own] = own
        for code in range(len(self.codes)):
            if found[code] < 0 and self.parent[code] >= 0:
                found[code] = found[self.parent[code]]
        return found

    def below(self, codes: list[int]) -> Bools:
        """Which bottom codes belong to one of these codes."""
        found = np.zeros(len(self.codes), bool)
        found[codes] = True
        for code in range(1, len(self.codes)):
            found[code] |= found[self.parent[code]]
        return found & self.bottom
