"""τ-ARGUS files by random tables and records: whatever is written is read back equal, or refused in a sentence and nothing is written."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import given, reject, settings
from hypothesis import strategies as st

import cellward as cw
from cellward.errors import CellwardError, InputError
from cellward.tauargus.files.arb import read_arb
from cellward.tauargus.files.asc import read_asc, write_asc
from cellward.tauargus.files.cdl import read_cdl, write_cdl
from cellward.tauargus.files.rda import Metadata, Variable, read_rda, write_rda

CODE = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=6)
PLAIN = st.text("abcXYZ019 -_é", min_size=1, max_size=5)


@st.composite
def tables(draw):
    """One to three dimensions, one of them deep, some cells absent, statuses, levels and costs."""
    many = draw(st.integers(1, 3))
    dims = draw(st.lists(PLAIN.filter(str.strip), min_size=many, max_size=many, unique_by=str.casefold))
    codes = [
        draw(
            st.lists(
                CODE.filter(lambda c: c.strip().casefold() not in ("", "total", "sum")),
                min_size=1,
                max_size=4,
                unique_by=str.strip,
            )
        )
        for _ in dims
    ]
    trees = {}
    if draw(st.booleans()) and len(codes[0]) > 1:
        trees[dims[0]] = cw.Hierarchy.from_dict({"Total": {"Sum": codes[0][:-1], codes[0][-1]: None}})
    cells = [()]
    for own in codes:
        cells = [(*cell, code) for cell in cells for code in own]
    kept = draw(st.lists(st.sampled_from(cells), min_size=1, max_size=12, unique=True))
    places = draw(st.integers(0, 3))
    values = [
        str(
            Fraction(draw(st.integers(-50 if draw(st.booleans()) else 0, 10**6)), 10**places).limit_denominator(
                10**places
            )
        )
        for _ in kept
    ]
    numbers = [f"{float(Fraction(value)):.{places}f}" for value in values]
    columns = {dim: [cell[k] for cell in kept] for k, dim in enumerate(dims)}
    status = [draw(st.sampled_from("susmz")) for _ in kept]
    levels = [f"{draw(st.integers(0, 500)) if letter == 'u' else 0}" for letter in status]
    columns |= {
        "the value": numbers,
        "the status": status,
        "the level": levels,
        "the cost": [str(draw(st.integers(0, 99))) for _ in kept],
    }
    named = {"status": "the status", "lpl": "the level", "upl": "the level"}
    if draw(st.booleans()):
        named["weight"] = "the cost"
    lower = 0 if all(not number.startswith("-") for number in numbers) else None
    try:
        return cw.Table.from_frame(columns, dims=dims, value="the value", hierarchies=trees, lower=lower, **named)
    except InputError:  # a code that happens to be the sum of the others
        reject()


def content(table):
    s = table.sensitivity
    names = [table.labels.tuple_of(i) for i in range(table.cells)]
    unit, cost = Fraction(1, 10**table.decimals), Fraction(1, 10**table.weight_decimals)
    costs = [None] * table.cells if table.weight is None else [int(w) * cost for w in table.weight]
    columns = zip(table.scaled.tolist(), s.status.tolist(), s.lpl.tolist(), s.upl.tolist(), costs, strict=True)
    rows = [(a * unit, status, lpl * unit, upl * unit, own) for a, status, lpl, upl, own in columns]
    cells = dict(zip(names, rows, strict=True))
    sums = {
        frozenset((names[i], c) for i, c in zip(*table.relations.equation(j)[1:], strict=True))
        for j in range(table.relations.equations)
    }
    return table.labels.dims, cells, sums


@given(tables())
@settings(max_examples=60, deadline=None)
def test_tables_are_read_back_equal(table):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "t.tab"
        try:
            cw.write(table, path)
        except InputError as error:
            assert "\n" not in str(error)
            assert not path.exists()
            return
        assert content(cw.read(path)) == content(table)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_records_are_read_back_equal(data):
    kind = data.draw(st.sampled_from(["fixed", "free"]))
    many = data.draw(st.integers(1, 4))
    at, variables = 1, []
    for k in range(many):
        width = data.draw(st.integers(1, 6))
        start = at + data.draw(st.integers(0, 2))
        numeric = data.draw(st.booleans())
        variables.append(
            Variable(
                name=f"V{k}",
                start=start if kind == "fixed" else 0,
                width=width,
                role="number" if numeric else "",
                recodable=not numeric,
            )
        )
        at = start + width
    mark = data.draw(st.sampled_from(",;|\t")) if kind == "free" else ";"
    metadata = Metadata(path=Path("m.rda"), kind=kind, variables=tuple(variables), separator=mark)
    rows = data.draw(st.integers(1, 6))
    columns = {}
    for v in variables:
        text = (
            st.text("0123456789", min_size=1, max_size=v.width)
            if v.role
            else st.text("abc1 é", min_size=1, max_size=v.width).filter(str.strip)
        )
        columns[v.name] = [data.draw(text if v.role != "number" else st.none() | text) for _ in range(rows)]
    with tempfile.TemporaryDirectory() as name:
        try:
            write_asc(columns, metadata, Path(name) / "r.asc")
        except InputError as error:
            blank = any(all(column[i] is None for column in columns.values()) for i in range(rows))
            assert "UTF-8" in str(error) or (blank and "holds nothing" in str(error))
            return
        found = read_asc(Path(name) / "r.asc", metadata)
        write_rda(metadata, Path(name) / "m.rda")
        assert read_rda(Path(name) / "m.rda", kind) == metadata
    for v in variables:
        mine = [None if entry is None else entry if v.role else entry.rjust(v.width) for entry in columns[v.name]]
        if kind == "free":
            mine = [entry if v.role or entry is None else entry.strip().rjust(v.width) for entry in mine]
        assert found[v.name] == mine


@given(st.dictionaries(CODE.filter(str.strip), st.text("abc, ", max_size=8), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_code_lists_are_read_back_equal(labels):
    with tempfile.TemporaryDirectory() as name:
        try:
            write_cdl(labels, Path(name) / "c.cdl")
        except InputError:
            return
        assert read_cdl(Path(name) / "c.cdl") == {code: label.strip() for code, label in labels.items()}


@given(
    st.lists(
        st.sampled_from(
            [
                "<SPECIFYTABLE> ",
                '"A""B"',
                "|",
                '"',
                "RND(",
                "1,",
                ")",
                "<WRITETABLE> (1,3,",
                "//",
                "\n",
                "<RECODE> 1,",
                "x",
                "<",
                ">",
            ]
        ),
        max_size=12,
    )
)
@settings(max_examples=150, deadline=None)
def test_batches_are_read_or_refused(parts):
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "b.arb").write_text("".join(parts))
        try:
            read_arb(Path(name) / "b.arb")
        except CellwardError as error:
            assert "b.arb" in str(error)
