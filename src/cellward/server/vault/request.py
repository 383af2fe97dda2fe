"""Request: what an analyst asks for, checked against the public side of a dataset and bounded in size before anything is added up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import prod
from typing import Any

import numpy as np

from cellward.errors import brief
from cellward.exact import Bools, Ints
from cellward.server.config import COUNT, Limits, MeasureConfig
from cellward.server.vault.dimension import Dimension
from cellward.server.vault.said import BadRequestError


@dataclass(frozen=True, eq=False)
class Crossing:
    """One dimension of a table: its ``groups`` are the codes of a level that the condition leaves, and after them, below the top, their total."""

    at: int
    level: int
    groups: Ints

    @property
    def size(self) -> int:
        """How many entries it has, the total included."""
        return len(self.groups) + (self.level > 0)


@dataclass(frozen=True, eq=False)
class Request:
    """A table: its dimensions in the order of the dataset, ``order`` in which they were asked for, the measure (None: a count), and the bottom codes
    that conditions leave, by dimension; a condition that leaves all is none."""

    dimensions: tuple[Dimension, ...]
    crossings: tuple[Crossing, ...]
    order: tuple[int, ...]
    measure: int | None
    measure_name: str
    where: Mapping[int, Bools]

    @staticmethod
    def of(said: Any, dimensions: Sequence[Dimension], measures: Sequence[MeasureConfig], limits: Limits) -> Request:
        """Read a request; whatever is not known, or too much, is refused with what to do about it."""
        if not isinstance(said, Mapping) or (
            unknown := [k for k in said if k not in ("dimensions", "measure", "where")]
        ):
            what = "is no table of names and values" if not isinstance(said, Mapping) else f"has {_said(unknown[0])}"
            raise BadRequestError("request", f"the request {what}", "give dimensions, measure and where")
        measure, name = _measure(said.get("measure"), measures)
        at = {one.name: k for k, one in enumerate(dimensions)}
        where = _where(said.get("where"), dimensions, at, limits)
        chosen = _chosen(said.get("dimensions"), dimensions, at, limits)
        crossings = tuple(_crossing(dimensions[k], k, level, where.get(k)) for k, level in sorted(chosen.items()))
        cells = prod(one.size for one in crossings)
        if cells > limits.max_cells:
            raise BadRequestError(
                "too_large",
                f"the table would have {cells:,} cells, and {limits.max_cells:,} are allowed",
                "take coarser levels, fewer dimensions, or conditions that leave fewer codes",
            )
        place = {one.at: k for k, one in enumerate(crossings)}
        return Request(tuple(dimensions), crossings, tuple(place[k] for k in chosen), measure, name, where)

    @property
    def shape(self) -> tuple[int, ...]:
        """The entries of each dimension."""
        return tuple(one.size for one in self.crossings)

    @cached_property
    def canonical(self) -> str:
        """The same text for all requests for the same table, however they are worded."""
        said = {
            "dimensions": [[self.dimensions[one.at].name, one.level] for one in self.crossings],
            "measure": self.measure_name,
            "where": {self.dimensions[k].name: self._text(k, own) for k, own in sorted(self.where.items())},
        }
        return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def _text(self, dim: int, own: Bools) -> list[str]:
        return sorted(self.dimensions[dim].codes[code] for code in np.flatnonzero(own).tolist())

    @property
    def digest(self) -> str:
        """A short name of the canonical text."""
        return sha256(self.canonical.encode()).hexdigest()

    def labels(self, k: int) -> list[str]:
        """What the entries of a crossing are called."""
        one = self.crossings[k]
        codes = self.dimensions[one.at].codes
        return [codes[group] for group in one.groups.tolist()] + ([codes[0]] if one.level else [])


def _measure(given: Any, measures: Sequence[MeasureConfig]) -> tuple[int | None, str]:
    names = [one.name for one in measures]
    if given is None or given == COUNT:
        return None, COUNT
    if given not in names:
        raise BadRequestError("measure", f"there is no measure {_said(given)}", f"use {_listed([COUNT, *names])}")
    return names.index(given), given


def _chosen(given: Any, dimensions: Sequence[Dimension], at: Mapping[str, int], limits: Limits) -> dict[int, int]:
    """The level of each dimension asked for, in the order asked."""
    if given is None:
        given = []
    if not isinstance(given, list):
        raise BadRequestError(
            "dimensions", "dimensions is no list", 'give a list such as [{"name": "region", "level": 1}]'
        )
    chosen: dict[int, int] = {}
    for one in given:
        said = {"name": one} if isinstance(one, str) else one
        if not isinstance(said, Mapping) or set(said) - {"name", "level"} or not isinstance(said.get("name"), str):
            raise BadRequestError(
                "dimensions", "a dimension is not well formed", 'write it as {"name": "region", "level": 1}'
            )
        k = _dimension(said["name"], at)
        if k in chosen:
            raise BadRequestError("dimensions", f"the dimension {brief(said['name'])} is named twice", "name it once")
        level, deepest = said.get("level"), dimensions[k].deepest
        if level is None:
            level = deepest
        if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= deepest:
            raise BadRequestError(
                "level",
                f"{brief(said['name'])} has no level {_said(level)}",
                f"give a whole number from 0 to {deepest}",
            )
        chosen[k] = level
    if len(chosen) > limits.max_dimensions:
        raise BadRequestError(
            "too_large",
            f"the table would cross {len(chosen)} dimensions, and {limits.max_dimensions} are allowed",
            "leave some out, or put them into conditions",
        )
    return chosen


def _where(given: Any, dimensions: Sequence[Dimension], at: Mapping[str, int], limits: Limits) -> dict[int, Bools]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise BadRequestError("where", "where is no table of dimensions", 'write it as {"region": ["North"]}')
    found: dict[int, Bools] = {}
    named = 0
    for name, codes in given.items():
        k = _dimension(name, at)
        own = [codes] if isinstance(codes, str) else codes
        if not isinstance(own, list) or not own or not all(isinstance(code, str) for code in own):
            raise BadRequestError("where", f"the condition on {brief(name)} names no codes", "give a list of its codes")
        named += len(own)
        if named > limits.max_codes:
            raise BadRequestError(
                "too_large",
                f"the conditions name more than {limits.max_codes:,} codes",
                "name codes of a broader level",
            )
        for code in own:
            if code not in dimensions[k].number:
                raise BadRequestError(
                    "code", f"{brief(name)} has no code {_said(code)}", "ask for its codes, and use one of them"
                )
        below = dimensions[k].below([dimensions[k].number[code] for code in own])
        if not np.array_equal(below, dimensions[k].bottom):
            found[k] = below
    return found


def _crossing(dimension: Dimension, at: int, level: int, where: Bools | None) -> Crossing:
    groups = dimension.at(level)
    if where is not None:
        groups = np.intersect1d(groups, dimension.above(level)[np.flatnonzero(where)])
    return Crossing(at, level, groups)


def _dimension(name: Any, at: Mapping[str, int]) -> int:
    if name not in at:
        raise BadRequestError("dimension", f"there is no dimension {_said(name)}", f"use {_listed(list(at))}")
    return at[name]


def _said(thing: Any) -> str:
    return brief(thing) if isinstance(thing, str) else brief(str(thing))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
