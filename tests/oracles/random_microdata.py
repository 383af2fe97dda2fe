"""Random microdata: small files of records of every kind, with roles, hierarchies, rules and waivers.

Everything hangs on the seed. Sets are small (1 to 60 records, 1 to 3 dimensions) so that ties, zeros, lone units and empty combinations are common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from direct_tabulation import Records, Rule

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
