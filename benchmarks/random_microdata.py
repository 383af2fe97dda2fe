"""Random microdata: small files of records of every kind, given to the package in every way it reads them, and compared with the direct tabulation.

Everything hangs on the seed. Sets are small (1 to 60 records, 1 to 3 dimensions) so that ties, zeros, lone units and empty combinations are common.
"""

from __future__ import annotations

import contextlib
import csv
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import direct_tabulation as direct
from direct_tabulation import Codes, DirectTable, Records, RefusedError, Rule, Verdicts

import cellward as cw

KINDS = ("mapping", "pandas", "polars", "pyarrow", "CSV", "Parquet", "DuckDB relation", "DuckDB query")
"""How the records are given; in rotation, seed by seed."""


@dataclass(frozen=True)
class Microdata:
    """A file of records, how it is given to the package (``options`` of ``Table.from_microdata``), and the rules it is judged by."""

    seed: int
    kind: str
    records: Records
    options: Mapping[str, Any]
    forms: Mapping[str, str]
    """How a column is stored where the input has types: text, int, float, decimal or category."""
    rules: tuple[Rule, ...]
    waivers: tuple[str, ...]
    features: tuple[str, ...]


# ---- making ------------------------------------------------------------------------------------------------------------------------------


def random_microdata(seed: int) -> Microdata:
    """The set of this seed."""
    rng = Random(seed)
    count = rng.choice((1, 2, 3, rng.randint(4, 15), rng.randint(4, 15), rng.randint(16, 60)))
    many = rng.choice((1, 1, 2, 2, 2, 3))
    names = rng.sample(("region", "nace code", "Size", "année", "select"), many)
    columns: dict[str, list[str | None]] = {}
    forms: dict[str, str] = {}
    features: list[str] = []
    held: dict[str, Any] = {name: {} for name in ("sums", "total", "missing", "missing_codes", "pad")}
    hierarchies: dict[str, Any] = {}
    for dim in names:
        _dimension(rng, dim, count, columns, forms, held, hierarchies, features)
    terms, formula = _formula(rng, names)
    features += ["several tables"] * (len(terms) > 1)
    _units(rng, count, columns, forms, held, features)
    _numbers(rng, count, columns, forms, held, features)
    if rng.random() < 0.4:
        held["request"] = "asked"
        if rng.random() < 0.95:
            held["request_codes"] = rng.choice((("1", "2"), ("2", "1"), ("1", "2", "x")))
        columns["asked"] = [rng.choice(("0", "0", None, "", "1", "1", "2", " 1 ")) for _ in range(count)]
        features.append("requests")
    held["largest"] = rng.choice((1, 2, 3, 3, 4, 5))
    if len(names) < 3 and rng.random() < 0.15:
        held["empty"] = "zero"
        features.append("empty cells")
    if rng.random() < 0.15:
        held["lower"] = rng.choice((0, -(10**7), -(10**13)))
    records = Records(columns=columns, terms=terms, **held)
    kind = KINDS[seed % len(KINDS)]
    options = {name: own for name, own in held.items() if name != "sums" and own not in ({}, None)}
    options |= {"dims": formula, "hierarchies": hierarchies} if hierarchies else {"dims": formula}
    for name in ("total", "missing"):  # one word serves all dimensions
        if name in options and len(set(options[name].values())) == 1 and len(options[name]) == many:
            options[name] = rng.choice((options[name], next(iter(options[name].values()))))
    features += [f"missing: {policy}" for policy in sorted(set(held["missing"].values()))]
    return Microdata(
        seed, kind, records, options, forms, _rules(rng, records), tuple(_waivers(rng, columns)), tuple(features)
    )


def _dimension(
    rng: Random,
    dim: str,
    count: int,
    columns: dict[str, list[str | None]],
    forms: dict[str, str],
    held: dict[str, Any],
    hierarchies: dict[str, Any],
    features: list[str],
) -> None:
    """The codes of a dimension, its sums, and what is missing."""
    style = rng.choice(("flat", "tree", "tree", "overlapping"))
    width = rng.choice((0, 0, 2, 3))
    leaves = [str(k) for k in rng.sample(range(1, 13), rng.randint(1, 8))] if width else _texts(rng)
    padded = [leaf.rjust(width) for leaf in leaves]
    total = rng.choice(("Total", "Total", "Total", "All of it", "T'"))
    if width:
        held["pad"][dim] = width
        features.append("padded codes")
    if total != "Total":
        held["total"][dim] = total
    if style != "flat":
        groupings = [_tree(rng, padded, total, "G")]
        if style == "overlapping":
            groupings.append(_second(rng, padded, total))
        held["sums"][dim] = tuple(own for grouping in groupings for own in grouping)
        made = [cw.Hierarchy(tuple(grouping)) for grouping in groupings]
        hierarchies[dim] = rng.choice((made, made[0].merge(*made[1:])))
        if len(made) == 1:
            hierarchies[dim] = rng.choice((made, made[0]))
    features.append(style)
    used = rng.sample(leaves, rng.randint(1, len(leaves)))
    codes: list[str | None] = [rng.choice(used) for _ in range(count)]
    gaps = rng.random()
    if gaps < 0.3:
        held["missing"][dim] = rng.choice(("drop", "keep", "keep"))
        declared = rng.choice(([], ["99"], [padded[0]], ["99", "not known"]))
        if declared:
            held["missing_codes"][dim] = declared
        blanks: list[str | None] = [None, "", *(code.lstrip() if width else code for code in declared)]
        codes = [rng.choice(blanks) if rng.random() < 0.2 else code for code in codes]
    elif gaps < 0.32:  # to be refused
        held["missing_codes"][dim] = ["99"]
        codes[rng.randrange(count)] = rng.choice((None, "", "99", "nowhere", total))
    columns[dim] = codes
    whole = all(code is not None and code.isdecimal() and str(int(code)) == code for code in codes)
    some = ["category"] if any(codes) else []
    forms[dim] = rng.choice(("text", "text", *some, *(["int"] * 2 if whole else [])))


def _texts(rng: Random) -> list[str]:
    pool = ("a", "b", "c", "B", "é", "x y", " 1", "01", "1", "10", "o'k", '"q"', "a,b", "a;b", "Z", "ß")
    return rng.sample(pool, rng.randint(1, 8))


def _tree(rng: Random, leaves: Sequence[str], root: str, mark: str) -> list[tuple[str, tuple[str, ...]]]:
    """An unbalanced tree over these leaves."""
    sums: list[tuple[str, tuple[str, ...]]] = []
    line = list(leaves)
    rng.shuffle(line)
    while len(line) > 1 and rng.random() < 0.7:
        many = rng.randint(1, max(1, len(line) - 1))
        group = f"{mark}{len(sums)}"
        sums.append((group, tuple(line[:many])))
        line = [*line[many:], group]
        rng.shuffle(line)
    return [(root, tuple(line)), *reversed(sums)]


def _second(rng: Random, leaves: Sequence[str], root: str) -> list[tuple[str, tuple[str, ...]]]:
    """Another grouping of the same leaves: of all of them below the same total, or of some of them by itself."""
    if rng.random() < 0.5 and len(leaves) > 1:
        return _tree(rng, leaves, root, "X")
    return [("East", tuple(rng.sample(list(leaves), rng.randint(1, len(leaves)))))]


def _formula(rng: Random, names: Sequence[str]) -> tuple[tuple[tuple[str, ...], ...], Any]:
    """The tables, and how they are asked for."""
    if len(names) == 1 or rng.random() < 0.6:
        term = tuple(names)
        return (term,), rng.choice((list(term), term, " * ".join(term)))
    a, b, *rest = names
    if not rest:
        terms = rng.choice((((a,), (b,)), ((a,), (a, b)), ((b, a), (a, b))))
    else:
        c = rest[0]
        terms = rng.choice(
            (((a, b), (c,)), ((a, b), (b, c)), ((a,), (b,), (c,)), ((a, b), (a, c), (b, c)), ((c,), (a, b), (a,)))
        )
    return terms, rng.choice((" + ", "+")).join(rng.choice((" * ", "*")).join(term) for term in terms)


def _units(
    rng: Random,
    count: int,
    columns: dict[str, list[str | None]],
    forms: dict[str, str],
    held: dict[str, Any],
    features: list[str],
) -> None:
    """Whose record it is."""
    who = rng.choice(("record", "record", "contributor", "holding", "both"))
    pool = rng.choice(([str(k) for k in range(8, 15)], ["a", "b", "o'x", "Éa", "10", "9", "x, y", '"']))
    if who in ("contributor", "both"):
        held["contributor"] = "firm"
        columns["firm"] = [rng.choice(pool) for _ in range(count)]
        if rng.random() < 0.3:
            columns["firm"] = [None if rng.random() < 0.3 else name for name in columns["firm"]]
        features.append("contributors")
    if who in ("holding", "both"):
        held["holding"] = "group"
        some = [f"H{name}" if rng.random() < 0.9 else name for name in pool[: rng.randint(1, len(pool))]]
        lone = rng.choice((0, 0.3, 0.8))
        columns["group"] = [rng.choice((None, "")) if rng.random() < lone else rng.choice(some) for _ in range(count)]
        features.append("holdings")
    for name in ("firm", "group"):
        own = columns.get(name, [None])
        whole = all(entry is not None and entry.isdecimal() for entry in own)
        forms[name] = rng.choice(("int", "text")) if whole else "text"


def _numbers(
    rng: Random,
    count: int,
    columns: dict[str, list[str | None]],
    forms: dict[str, str],
    held: dict[str, Any],
    features: list[str],
) -> None:
    """Contributions and weights."""
    form = rng.choice(("text", "int", "float", "decimal"))
    if rng.random() < 0.85:
        held["measure"] = "value"
        digits = 0 if form == "int" else rng.choice((0, 1, 2, 3))
        most = rng.choice((2, 9, 100, 10**5, 10**11 // 10**digits))
        if rng.random() < 0.04:
            most = 10**15 // 10**digits
            features.append("near 2^53")
        values = [Decimal(rng.randint(0, most * 10**digits)).scaleb(-digits) for _ in range(count)]
        if rng.random() < 0.3:
            values = [rng.choice(values[: 1 + count // 4]) for _ in range(count)]
            features.append("ties")
        if rng.random() < 0.4:
            values = [Decimal(0) if rng.random() < 0.4 else x for x in values]
            features.append("zeros")
        if rng.random() < 0.2:
            values = [-x if rng.random() < 0.4 else x for x in values]
            held["negative"] = "absolute" if rng.random() < 0.9 else "refuse"
            features.append("negatives")
        texts: list[str | None] = [_written(rng, x, form) for x in values]
        if rng.random() < 0.15:
            texts = [None if rng.random() < 0.2 else text for text in texts]
            held["blank"] = rng.choice(("drop", "zero", "drop", "zero", "refuse"))
            features.append("blanks")
        columns["value"] = texts
        forms["value"] = form
        if rng.random() < 0.25:
            held["decimals"] = rng.choice((0, 1, 2, 4))
            features.append("rounded")
    if rng.random() < 0.25:
        held["weight"] = "w"
        digits = rng.choice((0, 1, 2))
        weights = [Decimal(rng.randint(0, 4 * 10**digits)).scaleb(-digits) for _ in range(count)]
        forms["w"] = "int" if not digits and rng.random() < 0.5 else rng.choice(("text", "float", "decimal"))
        columns["w"] = [_written(rng, w, forms["w"]) for w in weights]
        features.append("weights")
        if "measure" not in held and rng.random() < 0.3:
            held["decimals"] = rng.choice((0, 1, 2))


def _written(rng: Random, x: Decimal, form: str) -> str:
    """A number as a file may have it."""
    plain = f"{x:f}"
    if form != "text":
        return plain
    return rng.choice((plain, plain, plain, f" {plain}", f"{x:f}" if x < 0 else f"+{plain}", f"{x:e}", _bare(plain)))


def _bare(plain: str) -> str:
    """.5 for 0.5, 5. for 5."""
    return plain.removeprefix("0") if plain.startswith("0.") else plain if "." in plain else f"{plain}."


def _rules(rng: Random, records: Records) -> tuple[Rule, ...]:
    """Each rule there is, as far as the kept contributions reach."""
    kept, out = records.largest, []
    percent = lambda: str(rng.choice((1, 10, 15, 12.5, 50, 100)))  # noqa: E731
    weights = {} if rng.random() < 0.8 else {"weights": False}
    out.append(("dominance", {"n": rng.randint(1, kept), "k": rng.choice((50, "75", "33.3", 85, 99)), **weights}))
    if kept > 1:
        out.append(("p_percent", {"p": percent(), "n": rng.randint(1, kept - 1), **weights}))
        out.append(("p_percent", {"p": rng.choice((1000, "0.1", 20))}))
        p, q = rng.choice(((10, 30), (15, 100), ("0.5", "12.5"), (40, 50)))
        out.append(("prior_posterior", {"p": p, "q": q, "n": rng.randint(1, kept - 1)}))
    levels = {
        "percent": percent(),
        "units": rng.choice((1, 5, "0.25")),
        "sliding_percent": percent(),
        "sliding_units": 3,
    }
    chosen = {name: own for name, own in levels.items() if rng.random() < 0.4}
    out.append(("threshold", {"n": rng.randint(2, 5), "by": rng.choice(("units", "records")), **chosen}))
    out.append(("zero", {name: own for name, own in levels.items() if rng.random() < 0.3}))
    if records.request is not None:
        share = rng.choice((10, 50, "66.6"))
        out += [("request", {"percent_of_total": share, "code": code}) for code in records.request_codes]
    return tuple(out)


def _waivers(rng: Random, columns: Mapping[str, Sequence[str | None]]) -> list[str]:
    """Names of units that consent, and of some that do not exist."""
    if rng.random() < 0.5:
        return []
    names = {name for column in ("firm", "group") for name in columns.get(column, ()) if name}
    names |= {f"record {k}" for k in range(1, 12)}
    return [name for name in sorted(names) if rng.random() < 0.5]


# ---- giving ------------------------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def given(case: Microdata, kind: str | None = None) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The records as an object or a file, and the options that go with it."""
    import duckdb
    import pandas as pd
    import polars as pl

    kind = kind or case.kind
    rng = Random(case.seed)
    options = dict(case.options)
    columns = case.records.columns
    with contextlib.ExitStack() as stack:
        if kind == "CSV":
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            yield _csv(case, Path(folder) / "records.csv", rng, options), options
            return
        if kind == "mapping":
            yield {name: _entries(own, case.forms.get(name, "text")) for name, own in columns.items()}, options
            return
        if kind == "pandas":
            frame = pd.DataFrame({name: _pandas(own, case.forms.get(name, "text")) for name, own in columns.items()})
            yield frame, options
            return
        if kind == "polars":
            made = pl.DataFrame([_polars(name, own, case.forms.get(name, "text")) for name, own in columns.items()])
            yield rng.choice((made, made.lazy())), options
            return
        arrow = _arrow(case)
        if kind == "pyarrow":
            yield arrow, options
        elif kind == "Parquet":
            import pyarrow.parquet

            folder = stack.enter_context(tempfile.TemporaryDirectory())
            path = Path(folder) / "records [1]*.parquet"
            pyarrow.parquet.write_table(arrow, path, row_group_size=rng.choice((7, 1000)))
            yield rng.choice((path, str(path))), options
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            path = Path(folder) / "records.duckdb"
            connection = stack.enter_context(duckdb.connect(str(path)))
            connection.register("arrow_rows", arrow)
            connection.execute("CREATE TABLE records AS SELECT * FROM arrow_rows")
            if kind == "DuckDB relation":
                yield connection.table("records"), options
                return
            options["query"] = rng.choice(("records", "SELECT * FROM records;", "from records"))
            if rng.random() < 0.5:
                yield connection, options
            else:
                connection.close()
                yield path, options


def _entries(own: Sequence[str | None], form: str) -> list[Any]:
    if form == "int" and None not in own:
        return [int(entry) for entry in own if entry is not None]
    if form == "float":
        return [float("nan") if entry is None else float(entry) for entry in own]
    if form == "decimal":
        return [None if entry is None else Decimal(entry) for entry in own]
    return list(own)


def _pandas(own: Sequence[str | None], form: str) -> Any:
    import pandas as pd

    if form == "int":
        whole = [None if entry is None else int(entry) for entry in own]
        return pd.Series(whole, dtype="Int64" if None in own else "int64")
    if form == "float":
        return pd.Series(_entries(own, form), dtype="float64")
    return pd.Series(_entries(own, form), dtype={"category": "category", "text": "str"}.get(form, "object"))


def _polars(name: str, own: Sequence[str | None], form: str) -> Any:
    import polars as pl

    kinds = {"int": pl.Int64, "float": pl.Float64, "decimal": pl.Decimal(30, 6), "category": pl.Categorical}
    entries = _entries(own, form) if form == "decimal" else list(own)
    if form in ("int", "float"):
        entries = [None if entry is None else (int if form == "int" else float)(entry) for entry in own]
    return pl.Series(name, entries, dtype=kinds.get(form, pl.String))


def _arrow(case: Microdata) -> Any:
    import pyarrow as pa

    kinds = {"int": pa.int64(), "float": pa.float64(), "decimal": pa.decimal128(30, 6)}
    arrays = {}
    for name, own in case.records.columns.items():
        form = case.forms.get(name, "text")
        entries: list[Any] = list(own)
        if form in ("int", "float", "decimal"):
            read = {"int": int, "float": float, "decimal": Decimal}[form]
            entries = [None if entry is None else read(entry) for entry in own]
        array = pa.array(entries, kinds.get(form, pa.string()))
        arrays[name] = array.dictionary_encode() if form == "category" else array
    return pa.table(arrays)


def _csv(case: Microdata, path: Path, rng: Random, options: dict[str, Any]) -> Path:
    """A CSV file of some dialect; what is missing is empty."""
    separator = rng.choice((",", ";", "\t", "|"))
    numbers = [name for name in (case.records.measure, case.records.weight) if name is not None]
    comma = rng.random() < 0.3
    if comma:
        options["decimal"] = ","
    head, *rest = case.records.columns.items()
    rows = list(zip(*(own for _, own in (head, *rest)), strict=True))
    names = [head[0], *(name for name, _ in rest)]
    if rng.random() < 0.5 or len(names) == 1:
        options["separator"] = separator
    encoding = rng.choice(("utf-8", "utf-8-sig", "latin-1"))
    with path.open("w", newline="", encoding=encoding) as file:
        quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
        writer = csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=rng.choice(("\n", "\r\n")))
        writer.writerow(names)
        for row in rows:
            cells = ["" if entry is None else entry for entry in row]
            if comma:
                cells = [e.replace(".", ",") if n in numbers else e for n, e in zip(names, cells, strict=True)]
            writer.writerow(cells)
    return path


# ---- comparing ---------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """What was compared, and every difference in words."""

    outcome: str
    cells: int = 0
    verdicts: int = 0
    unsafe: int = 0
    faults: tuple[str, ...] = ()


def compare(case: Microdata, kind: str | None = None) -> Comparison:
    """The package's table and verdicts beside the direct ones."""
    try:
        expected = direct.tabulate(case.records)
    except RefusedError as reason:
        expected, why = None, str(reason)
    with given(case, kind) as (rows, options):
        try:
            table = cw.Table.from_microdata(rows, **options)
        except cw.InputError as error:
            if expected is None:
                return Comparison("refused")
            if "near 2^53" in case.features:  # where the package may be more careful than it has to be
                return Comparison("refused near 2^53")
            return Comparison("refused", faults=(f"seed {case.seed}: refused, {error}",))
        except Exception as error:  # noqa: BLE001 (whatever it is, it is a difference)
            return Comparison("failed", faults=(f"seed {case.seed}: {type(error).__name__} {error}",))
    if expected is None:
        return Comparison("tabulated", faults=(f"seed {case.seed}: not refused, though {why}",))
    faults = list(_table_faults(table, expected))
    verdicts = unsafe = 0
    if not faults:
        verdicts, unsafe, wrong = _verdict_faults(case, table, expected)
        faults += wrong
    shown = tuple(f"seed {case.seed} ({kind or case.kind}): {fault}" for fault in faults)
    return Comparison("tabulated", len(expected.cells), verdicts, unsafe, shown)


def _table_faults(table: cw.Table, expected: DirectTable) -> Iterator[str]:
    """Cells, counts, sums, the largest units by name, their parts, equations and bounds."""
    c = table.contributions
    assert c is not None
    if table.labels.dims != expected.records.dims or table.decimals != expected.decimals:
        yield f"{table.labels.dims}, {table.decimals} decimals for {expected.records.dims}, {expected.decimals}"
        return
    unit = Fraction(1, 10**table.decimals)
    codes = [table.labels.tuple_of(i) for i in range(table.cells)]
    if len(codes) != len(set(codes)) or set(codes) != set(expected.cells):
        yield f"cells {sorted(set(codes) ^ set(expected.cells))} are in one of the two only, or twice"
        return
    kept = expected.records.largest
    for i, own in enumerate(codes):
        cell = expected.cells[own]
        ranked = cell.ranked[:kept]
        short = kept - len(ranked)
        pairs: list[tuple[str, Any, Any]] = [
            ("records", int(c.rows[i]), cell.rows),
            ("units", int(c.units[i]), len(cell.units)),
            ("value", int(table.scaled[i]) * unit, cell.value),
            ("size", int(c.size[i]) * unit, cell.size),
            ("largest", [x * unit for x in c.top[:, i].tolist()], [x for _, x, _ in ranked] + [0] * short),
            (
                "names",
                [c.names[u] if u >= 0 else None for u in c.unit[:, i].tolist()],
                [who[1] for who, _, _ in ranked] + [None] * short,
            ),
        ]
        if expected.records.weight is not None:
            assert c.weighted is not None
            pairs.append(
                ("weighted", [x * unit for x in c.weighted[:, i].tolist()], [wx for *_, wx in ranked] + [0] * short)
            )
        pairs += [
            (f"asked {code}", int(c.requested[code][i]) * unit, expected.requested(code, cell))
            for code in expected.asked
        ]
        yield from (f"{what} of {own}: {ours}, should be {right}" for what, ours, right in pairs if ours != right)
    yield from _part_faults(table, expected, codes)
    sums = set()
    for j in range(table.relations.equations):
        rhs, members, coefs = table.relations.equation(j)
        (total,) = [i for i, coef in zip(members, coefs, strict=True) if coef < 0]
        sums.add((codes[total], frozenset(codes[i] for i in members if i != total)))
        if rhs or {abs(coef) for coef in coefs} != {1}:
            yield f"equation {j} is no sum"
    if sums != expected.equations:
        yield f"equations {sums ^ expected.equations} are in one of the two only"
    lower = expected.lower
    if set(table.lower.tolist()) != {-(2**62) if lower is None else lower} and lower is not None:
        yield f"lower bounds {set(table.lower.tolist())}, should be {lower}"
    if bool(c.negative) != expected.negative:
        yield f"negative is {c.negative}"


def _part_faults(table: cw.Table, expected: DirectTable, codes: Sequence[Codes]) -> Iterator[str]:
    """The size of what each of the largest units contributes to every cell, weighted."""
    c = table.contributions
    assert c is not None and c.parts is not None
    names = Counter(c.names)
    unit = Fraction(1, 10**table.decimals)
    shared = Counter(name for _, name in {own for cell in expected.cells.values() for own in cell.units})
    for u in sorted(set(c.unit[c.unit >= 0].tolist())):
        name = c.names[u]
        if names[name] > 1 or shared[name] > 1:  # a holding and a contributor of the same name
            continue
        cell, amount = c.parts.of(u)
        ours = {codes[i]: x * unit for i, x in zip(cell.tolist(), amount.tolist(), strict=True)}
        right = {
            own: abs(wx)
            for own, direct_cell in expected.cells.items()
            for (_, who), (_, wx) in direct_cell.units.items()
            if who == name
        }
        if ours != right:
            yield f"parts of {name}: {ours}, should be {right}"


def _verdict_faults(case: Microdata, table: cw.Table, expected: DirectTable) -> tuple[int, int, list[str]]:
    """Each rule by itself, and all of them together with the waivers: (cells judged, unsafe ones, differences)."""
    from cellward.risk.policy import RULES

    judged = unsafe = 0
    faults = []
    asked: list[tuple[list[Rule], tuple[str, ...]]] = [([rule], ()) for rule in case.rules]
    asked.append((list(dict(_named(case.rules)).values()), case.waivers))
    for rules, waivers in asked:
        try:
            plain = [
                direct.judge(expected, rule) for rule in rules
            ]  # what is too large to be exact is so before anyone consents
            right = direct.together([direct.judge(expected, rule, waivers) for rule in rules] if waivers else plain)
        except RefusedError:
            right = None
        try:
            found = table.find(*(RULES[kind](**options) for kind, options in rules), waivers=waivers)
        except cw.InputError as error:
            if right is not None and "near 2^53" not in case.features:
                faults.append(f"{rules}: refused, {error}")
            continue
        if right is None:
            faults.append(f"{rules}: not refused, though a level is beyond 2^53")
            continue
        s = found.sensitivity
        ours: Verdicts = {
            found.labels.tuple_of(i): (int(s.lpl[i]), int(s.upl[i]), int(s.spl[i])) for i in s.unsafe.tolist()
        }
        judged += len(expected.cells)
        unsafe += len(right)
        faults += [
            f"{rules} waiving {waivers}: {own} is {ours.get(own)}, should be {right.get(own)}"
            for own in sorted(set(ours) | set(right))
            if ours.get(own) != right.get(own)
        ]
    return judged, unsafe, faults


def _named(rules: Sequence[Rule]) -> Iterator[tuple[str, Rule]]:
    for kind, options in rules:
        yield f"{kind} {sorted(options.items(), key=str)}", (kind, options)
