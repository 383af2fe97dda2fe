"""Records: one file read once, coded and numbered, in a database of this process that holds nothing else and reaches nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cellward.errors import InputError, brief
from cellward.exact import Floats, Ints
from cellward.files.database import connect_confined
from cellward.server.config import DatasetConfig
from cellward.server.vault.dimension import Dimension
from cellward.server.vault.numbers import Halves, joined, numbers_of_records
from cellward.table.coded import Axis
from cellward.table.spelling import fold
from cellward.tabulate.amounts import amounts
from cellward.tabulate.build import Places, axis_of
from cellward.tabulate.leaf_states import code_text, names_as_text, numbers_of
from cellward.tabulate.roles import Roles
from cellward.tabulate.source import Source, open_source

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, eq=False)
class Records:
    """The records of a dataset: bottom codes (a row a dimension), amounts (a row a measure), scaled, and ``heavy``, the same times weights."""

    config: DatasetConfig
    dimensions: tuple[Dimension, ...]
    code: Ints
    unit: Ints
    amount: Ints
    heavy: Ints
    weight: Floats | None
    decimals: tuple[int, ...]
    low: Halves
    high: Halves

    @staticmethod
    def read(config: DatasetConfig, key: bytes) -> Records:
        """Read, check and number the records of a file."""
        with open_source(config.file, query=config.query, separator=config.separator) as source:
            return _read(source, config, key)

    @property
    def many(self) -> int:
        """How many there are."""
        return len(self.unit)

    @property
    def version(self) -> int:
        """The identity of all records together: another file of records has another."""
        return joined(int(self.low.astype(object).sum()), int(self.high.astype(object).sum())) if self.many else 0

    def database(self) -> duckdb.DuckDBPyConnection:
        """A table ``records`` of them: rn, d0, d1, … (codes), unit, x0, x1, … and w0, w1, … (amounts, and amounts times weights), lo and hi."""
        columns: dict[str, Any] = {f"d{k}": own.astype(np.int32) for k, own in enumerate(self.code)}
        columns |= {"rn": np.arange(self.many), "unit": self.unit, "lo": self.low, "hi": self.high}
        columns |= {f"x{j}": own for j, own in enumerate(self.amount)}
        columns |= {f"w{j}": own for j, own in enumerate(self.heavy)}
        columns |= {} if self.weight is None else {"weight": self.weight}
        connection = connect_confined()
        connection.register("given", columns)
        connection.execute("CREATE TABLE records AS SELECT * FROM given")
        connection.unregister("given")
        return connection


def _read(source: Source, config: DatasetConfig, key: bytes) -> Records:
    kept = [f"{text} AS d{k}" for k, text in enumerate(_codes(source, config))]
    measures = [_roles(config, measure.name, measure.decimals) for measure in config.measures]
    numbers = [numbers_of(source, roles) for roles in measures]
    kept += [f"{own.x} AS x{j}, {own.wx} AS w{j}" for j, own in enumerate(numbers)]
    if config.weight is not None:
        weight = amounts(source, config.weight, decimals=None, mark=config.decimal, role="weight")
        kept.append(f"CAST({weight.sql} AS DOUBLE) / {10**weight.places} AS weight")
    kept += [f"{_whose(source, config)} AS unit", f"{_name(source, config)} AS name"]
    found = source.run(f"SELECT {', '.join(kept)} FROM {source.relation} ORDER BY rn").fetchnumpy()
    dimensions, code = _coded(source, config, found)
    keep = np.asarray((code >= 0).all(axis=0))
    names = np.asarray(found["name"], object)[keep]
    if config.record and len(set(names.tolist())) < len(names):
        raise InputError(
            f"{source.name}: two records have the same {', '.join(config.record)} and amounts; name columns that tell records apart with record="
        )
    low, high = numbers_of_records(key, names)

    def stacked(letter: str) -> Ints:
        none = np.zeros((0, int(keep.sum())), np.int64)
        each = [np.asarray(found[f"{letter}{j}"], np.int64)[keep] for j in range(len(numbers))]
        return np.stack(each) if each else none

    if not keep.any():
        raise InputError(f"{source.name}: no record is left; check what missing= drops")
    return Records(
        config, dimensions, code[:, keep], _units(found["unit"])[keep], stacked("x"), stacked("w"),
        None if config.weight is None else np.asarray(found["weight"], np.float64)[keep], tuple(own.decimals for own in numbers), low, high,
    )  # fmt: skip


def _roles(config: DatasetConfig, measure: str | None = None, decimals: int | None = None) -> Roles:
    """What the columns mean, for the readers of tabulate/."""
    hierarchies = {one.name: one.hierarchy for one in config.dimensions if one.hierarchy is not None}
    return Roles(
        dims=[one.name for one in config.dimensions],
        measure=measure,
        weight=None if measure is None else config.weight,
        contributor=config.contributor,
        holding=config.holding,
        hierarchies=hierarchies or None,
        total=config.total,
        missing=config.missing,
        decimals=decimals,
        decimal=config.decimal,
    )


def _codes(source: Source, config: DatasetConfig) -> list[str]:
    """The codes of the records as SQL, one expression a dimension."""
    roles = _roles(config)
    for name in roles.wanted:
        source.column(name)
    for name in roles.formula.dims:
        if source.type_of(name) in ("DOUBLE", "FLOAT"):
            raise InputError(
                f"{source.name}: the dimension {name} holds decimal numbers; make it text or whole numbers"
            )
    return [code_text(source, roles, name) for name in roles.formula.dims]


def _coded(source: Source, config: DatasetConfig, found: Any) -> tuple[tuple[Dimension, ...], Ints]:
    """The dimensions, and the number of each record's code (−1: to be left out)."""
    roles, places = _roles(config), Places(source, _roles(config))
    dimensions, codes = [], []
    for k, one in enumerate(config.dimensions):
        given = _texts(found[f"d{k}"])
        blank = np.array([text is None for text in given], bool)
        texts = tuple(sorted(set(given[~blank].tolist())))
        axis, number = axis_of(roles, one.name, texts, places, blank=bool(blank.any()))
        at = {text: int(number[i]) for i, text in enumerate(texts)}
        dimension, moved = _total_first(one.name, axis, roles.total_of(one.name))
        own = np.array([-2 if none else at[text] for text, none in zip(given, blank, strict=True)], np.int64)
        own[own == -2] = number[-1]
        codes.append(np.where(own >= 0, moved[own], -1))
        dimensions.append(Dimension.of(one, dimension))
    return tuple(dimensions), np.stack(codes)


def _texts(column: Any) -> Any:
    """A column of texts, None where DuckDB has none."""
    texts = np.array(np.ma.getdata(column), object)
    texts[np.ma.getmaskarray(column)] = None
    return texts


def _total_first(name: str, axis: Axis, total: str) -> tuple[Axis, Ints]:
    """The axis as it is, with the numbers of its codes; a code that is all there is gets a total above it."""
    if axis.sums:
        return axis, np.arange(len(axis.codes))
    if len(axis.codes) != 1:
        raise InputError(f"{name}: its codes have no total; give it a hierarchy")
    above = Axis(name, (total, *axis.codes), ((0, (1,)),), axis.code, total)
    return above, np.array([1])


def _whose(source: Source, config: DatasetConfig) -> str:
    """Whose record it is, as text in SQL: the holding, else the contributor; NULL where neither is named."""
    named = [
        f"CASE WHEN trim({names_as_text(source, name)}) <> '' THEN '{mark}' || {names_as_text(source, name)} END"
        for mark, name in (("h", config.holding), ("c", config.contributor))
        if name is not None
    ]
    return f"coalesce({', '.join([*named, 'NULL'])})" if named else "CAST(NULL AS VARCHAR)"


def _units(whose: Any) -> Ints:
    """Units numbered in the order in which they come; spellings of one name are one unit, and records of nobody are units of their own."""
    given = _texts(whose)
    number: dict[str, int] = {}
    of: dict[str, int] = {}
    out = np.zeros(len(given), np.int64)
    for k, name in enumerate(given.tolist()):
        if name is None:
            out[k] = len(given) + k
            continue
        if name not in of:
            of[name] = number.setdefault(name[0] + fold(name[1:]), len(number))
        out[k] = of[name]
    return np.asarray(np.unique(out, return_inverse=True)[1], np.int64)


def _name(source: Source, config: DatasetConfig) -> str:
    """What names a record, as one text in SQL that no other columns could give: each entry with its length before it."""
    roles = _roles(config)
    own = config.record or [*roles.wanted, *([config.weight] if config.weight else [])]
    columns = dict.fromkeys([*own, *(measure.name for measure in config.measures)])
    texts = [f"CAST({source.column(column)} AS VARCHAR)" for column in columns]
    return " || ".join(f"coalesce(length({text}) || ':' || {text}, '-') || ';'" for text in texts) or brief("")
