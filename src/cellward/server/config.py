"""Configuration: what a server serves (files, dimensions, measures, rules, limits), where its key and its ledger are; one TOML file says it all."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cellward.errors import InputError
from cellward.files.text import check_input, naming
from cellward.files.toml_file import read_toml
from cellward.files.within import allowing_outside, within
from cellward.formats.hierarchy_file import read_hierarchy
from cellward.hierarchy import Hierarchy
from cellward.job import refuse_unknown
from cellward.risk.policy import BUILT_IN, Policy
from cellward.risk.rule import Rule
from cellward.risk.rule_text import read_rule

COUNT = "count"
"""The measure that every dataset has: how many records there are."""
ENGINES = ("twin", "two-stage")
TWIN_DEPTH, DEEPEST = 2, 6
"""What ``depth`` is for a twin unless it is given, and the most that it may be."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_TEXT, _WHOLE, _LIST = (str,), (int,), (list,)
_SERVER = {"key_file": _TEXT, "ledger": _TEXT}
_LIMITS = {"max_cells": _WHOLE, "max_dimensions": _WHOLE, "max_codes": _WHOLE}
_DATASET = {
    **dict.fromkeys(("name", "title", "file", "query", "separator", "decimal", "contributor", "holding", "weight"), _TEXT),
    **dict.fromkeys(("policy", "counts", "engine", "twin", "headline", "missing", "total"), _TEXT),
    **dict.fromkeys(("dimensions", "measures", "record", "rules"), _LIST),
    **dict.fromkeys(("depth", "start"), _WHOLE),
}  # fmt: skip
_DIMENSION = {"name": _TEXT, "title": _TEXT, "hierarchy": (str, dict), "levels": _LIST}
_HIERARCHY = {"file": _TEXT, "levels": _LIST, "lead": _TEXT, **dict.fromkeys(("child", "parent", "grouping"), _TEXT)}
_MEASURE = {"name": _TEXT, "title": _TEXT, "unit": _TEXT, "decimals": _WHOLE}


@dataclass(frozen=True)
class Limits:
    """What one request may ask for: cells of its table, dimensions, and codes named in its conditions."""

    max_cells: int = 20_000
    max_dimensions: int = 4
    max_codes: int = 2_000

    def __post_init__(self) -> None:
        for name, most in (("max_cells", 1_000_000), ("max_dimensions", 12), ("max_codes", 1_000_000)):
            if not 1 <= getattr(self, name) <= most:
                raise InputError(f"[limits] {name}={getattr(self, name)}: give a whole number from 1 to {most:,}")


@dataclass(frozen=True)
class DimensionConfig:
    """A column of codes, the sums between them, and what its levels are called."""

    name: str
    title: str
    hierarchy: Hierarchy | None
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class MeasureConfig:
    """A column of amounts, its unit, and the decimals it is published with (None: those of the records)."""

    name: str
    title: str
    unit: str = ""
    decimals: int | None = None


@dataclass(frozen=True, kw_only=True)
class DatasetConfig:
    """One file of records and how its tables are made and protected."""

    name: str
    title: str
    file: Path
    dimensions: tuple[DimensionConfig, ...]
    measures: tuple[MeasureConfig, ...]
    rules: tuple[Rule, ...]
    count_rules: tuple[Rule, ...]
    twin: Path
    """The file of adjusted values: those of the twin engine, and those that the two-stage engine begins with."""
    query: str | None = None
    separator: str | None = None
    decimal: str = "."
    contributor: str | None = None
    holding: str | None = None
    weight: str | None = None
    record: tuple[str, ...] = ()
    """Columns that name a record for ever; none: a record is its codes, its contributor and its amounts."""
    missing: str = "refuse"
    total: str = "Total"
    engine: str = "twin"
    depth: int = 2
    """How many dimensions the cells cross of which each is kept off its true value; where a configuration does not say, all of them in two-stage, as
    what was not protected beforehand is refused later."""
    start: int = 0
    """Tables that cross up to so many dimensions have their values before the first request (two-stage)."""
    headline: str | None = None
    """The dimension whose broadest codes keep their true totals where these are safe; None: the grand total alone."""


@dataclass(frozen=True)
class ServerConfig:
    """Everything that the vault needs to know."""

    path: Path
    datasets: tuple[DatasetConfig, ...]
    key_file: Path
    ledger: Path
    limits: Limits = field(default_factory=Limits)

    @staticmethod
    def read(path: str | os.PathLike[str], *, outside: bool = False) -> ServerConfig:
        """Read the file; whatever it says that is not known is refused. Files it names stand below its folder unless ``outside`` allows more."""
        file = Path(path)
        said, _ = read_toml(file)
        with naming(file), allowing_outside(allowed=outside):
            return _Reader(file, said).config()


def config_text(
    data: str | os.PathLike[str],
    *,
    dimensions: Sequence[str],
    measures: Sequence[str] = (),
    policy: str = "default",
    hierarchies: Mapping[str, str] | None = None,
    key_file: str = "key.txt",
    ledger: str = "ledger.sqlite",
    **more: Any,
) -> str:
    """The configuration file of a server for one file of records; ``more`` are further keys of its dataset, such as contributor and holding.

    >>> print(config_text("records.csv", dimensions=["region"], measures=["turnover"], contributor="firm").splitlines()[4])
    name = "records"
    """
    hung = hierarchies or {}
    dims = [
        f"{{name = {json.dumps(name)}, hierarchy = {json.dumps(hung[name])}}}" if name in hung else json.dumps(name)
        for name in dimensions
    ]
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", Path(data).stem) or "data"
    lines = ["[server]", f"key_file = {json.dumps(key_file)}\nledger = {json.dumps(ledger)}", "[[dataset]]"]
    lines += [f"name = {json.dumps(stem)}", f"file = {json.dumps(str(data))}", f"policy = {json.dumps(policy)}"]
    lines += [f"dimensions = [{', '.join(dims)}]", f"measures = {json.dumps(list(measures))}"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in more.items() if value is not None]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Reader:
    """Reads one configuration file."""

    path: Path
    said: Mapping[str, Any]

    def config(self) -> ServerConfig:
        """What the file says, checked."""
        refuse_unknown(self.said, ("server", "limits", "dataset"), "the file")
        server = self.said.get("server", {})
        refuse_unknown(server, _SERVER, "[server]")
        for name in _SERVER:
            if name not in server:
                raise InputError(f"[server]: {name} is missing; name a file")
        limits = self.said.get("limits", {})
        refuse_unknown(limits, _LIMITS, "[limits]")
        given = self.said.get("dataset")
        if not isinstance(given, list) or not given:
            raise InputError("there is no [[dataset]]; describe at least one")
        found = tuple(self._dataset(k, one) for k, one in enumerate(given, 1))
        _refuse_twice([one.name for one in found], "[[dataset]]: the name")
        _refuse_twice([str(one.twin) for one in found], "[[dataset]]: the twin file")
        return ServerConfig(
            self.path, found, self._beside(server["key_file"]), self._beside(server["ledger"]), Limits(**limits)
        )

    def _beside(self, name: str) -> Path:
        return within(name, self.path)

    def _dataset(self, number: int, given: Any) -> DatasetConfig:
        where = f"[[dataset]] {number}"
        refuse_unknown(given, _DATASET, where)
        for key in ("name", "file", "dimensions"):
            if key not in given:
                raise InputError(f"{where}: {key} is missing; give it")
        name = given["name"]
        if not _NAME.fullmatch(name):
            raise InputError(f"{where}: name={name!r}; use up to 64 letters, digits, points, hyphens and underscores")
        where = f"[[dataset]] {name}"
        engine, missing = given.get("engine", "twin"), given.get("missing", "refuse")
        for key, chosen, words in (("engine", engine, ENGINES), ("missing", missing, ("refuse", "keep", "drop"))):
            if chosen not in words:
                raise InputError(f"{where}: {key}={chosen!r} is not known; use {', '.join(words)}")
        dimensions = self._dimensions(given, where)
        plain = ("query", "separator", "contributor", "holding", "weight")
        headline = given.get("headline")
        if headline is not None and headline not in [one.name for one in dimensions]:
            raise InputError(f"{where}: headline={headline!r} is none of its dimensions; name one of them")
        if not 1 <= given.get("depth", 1) <= DEEPEST:
            raise InputError(f"{where}: depth={given['depth']}; give a whole number from 1 to {DEEPEST}")
        if not 0 <= given.get("start", 0) <= 2:
            raise InputError(f"{where}: start={given['start']}; give a whole number from 0 to 2")
        return DatasetConfig(
            name=name,
            title=given.get("title", name),
            file=check_input(self._beside(given["file"])),
            dimensions=dimensions,
            measures=self._measures(given, where),
            rules=self._rules(given, where),
            count_rules=self._policy(given.get("counts", "default for counts")),
            twin=self._beside(given.get("twin", f"{name}.twin.npz")),
            **{key: given.get(key) for key in plain},
            decimal=given.get("decimal", "."),
            record=_texts(given.get("record", []), f"{where}: record"),
            missing=missing,
            total=given.get("total", "Total"),
            engine=engine,
            depth=given.get("depth", TWIN_DEPTH if engine == "twin" else min(len(dimensions), DEEPEST)),
            start=given.get("start", 0),
            headline=headline,
        )

    def _dimensions(self, given: Mapping[str, Any], where: str) -> tuple[DimensionConfig, ...]:
        found = []
        for one in given["dimensions"]:
            said = {"name": one} if isinstance(one, str) else one
            refuse_unknown(said, _DIMENSION, f"{where}: dimensions")
            if "name" not in said:
                raise InputError(f"{where}: a dimension has no name; give the name of its column")
            hung = said.get("hierarchy")
            hierarchy = None if hung is None else self._hierarchy(hung, given.get("total", "Total"), where)
            levels = _texts(said.get("levels", []), f"{where}: levels of {said['name']}")
            found.append(DimensionConfig(said["name"], said.get("title", said["name"]), hierarchy, levels))
        if not found:
            raise InputError(f"{where}: it has no dimensions; name at least one column")
        _refuse_twice([one.name for one in found], f"{where}: the dimension")
        return tuple(found)

    def _hierarchy(self, given: Any, total: str, where: str) -> Hierarchy:
        said = {"file": given} if isinstance(given, str) else given
        refuse_unknown(said, _HIERARCHY, f"{where}: hierarchy")
        if "file" not in said:
            raise InputError(f"{where}: a hierarchy has no file; name one (.hrc or a table)")
        options = {key: value for key, value in said.items() if key != "file"}
        return read_hierarchy(self._beside(said["file"]), total=total, **options)

    def _measures(self, given: Mapping[str, Any], where: str) -> tuple[MeasureConfig, ...]:
        found = []
        for one in given.get("measures", []):
            said = {"name": one} if isinstance(one, str) else one
            refuse_unknown(said, _MEASURE, f"{where}: measures")
            if "name" not in said:
                raise InputError(f"{where}: a measure has no name; give the name of its column")
            if said["name"] == COUNT:
                raise InputError(f"{where}: {COUNT!r} is the number of records; rename the measure")
            found.append(MeasureConfig(**{"title": said["name"], **said}))
        _refuse_twice([one.name for one in found], f"{where}: the measure")
        return tuple(found)

    def _rules(self, given: Mapping[str, Any], where: str) -> tuple[Rule, ...]:
        rules = tuple(read_rule(text) for text in _texts(given.get("rules", []), f"{where}: rules"))
        if "policy" in given or not rules:
            rules = (*self._policy(given.get("policy", "default")), *rules)
        return rules

    def _policy(self, named: str) -> tuple[Rule, ...]:
        return Policy.named(named if named in BUILT_IN else self._beside(named)).rules


def _texts(given: Any, where: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise InputError(f"{where}: give a list of texts")
    return tuple(given)


def _refuse_twice(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{what} {name!r} is given twice; give it once")
        seen.add(name)
