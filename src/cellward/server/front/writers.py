"""Writers: the bytes of an answer, and of lists, in each form; values keep their digits in all of them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cellward.files.scratch import scratch_folder
from cellward.formats.parquet import write_texts
from cellward.server.front.answer import Answer
from cellward.server.front.twins import CSV, JSON, JSON_STAT, PARQUET, SDMX_CSV, Form


def write_answer(answer: Answer, form: Form) -> bytes:
    """A table in a form."""
    return _TABLES[form](answer)


def _json(answer: Answer) -> bytes:
    return as_json(
        {
            "id": answer.id, "dataset": answer.dataset, "columns": answer.columns, "rows": answer.rows, "decimals": answer.decimals,
            "engine": answer.engine, "statement": answer.statement,
        }
    )  # fmt: skip


def _csv(answer: Answer) -> bytes:
    return _lines([answer.columns, *answer.rows])


def _parquet(answer: Answer) -> bytes:
    kinds = ["VARCHAR"] * len(answer.dimensions) + [f"DECIMAL(38, {answer.decimals})"]
    return _in_parquet(answer.columns, answer.rows, kinds)


def _sdmx_csv(answer: Answer) -> bytes:
    """SDMX-CSV 1.0: a row an observation, the name of the dataflow before it, the measure as one more dimension."""
    flow = f"CELLWARD:{re.sub('[^A-Za-z0-9_@$-]', '_', answer.dataset)}(1.0)"
    measure = _free("MEASURE", answer.dimensions)
    head = ("DATAFLOW", *answer.dimensions, measure, "OBS_VALUE")
    return _lines([head, *((flow, *row[:-1], answer.measure, row[-1]) for row in answer.rows)])


def _json_stat(answer: Answer) -> bytes:
    """JSON-stat 2.0: a cube of all the codes that occur, values by place, written with the digits that they have."""
    codes = [list(dict.fromkeys(row[k] for row in answer.rows)) for k in range(len(answer.dimensions))]
    place = [{code: n for n, code in enumerate(column)} for column in codes]
    measure = _free("measure", answer.dimensions)
    values = []
    for row in answer.rows:
        at = 0
        for code, column in zip(row, place, strict=False):
            at = at * len(column) + column[code]
        values.append(f'"{at}":{row[-1]}')
    dimension: dict[str, Any] = {
        name: {"label": name, "category": {"index": column}}
        for name, column in zip(answer.dimensions, codes, strict=True)
    }
    unit = {answer.measure: {"decimals": answer.decimals}}
    dimension[measure] = {"label": measure, "category": {"index": [answer.measure], "unit": unit}}
    head = {
        "version": "2.0", "class": "dataset", "label": answer.dataset, "note": [answer.statement], "id": [*answer.dimensions, measure],
        "size": [*map(len, codes), 1], "role": {"metric": [measure]}, "dimension": dimension,
    }  # fmt: skip
    return as_json(head)[:-1] + b',"value":{' + ",".join(values).encode() + b"}}"


_TABLES: Mapping[Form, Callable[[Answer], bytes]] = {
    JSON: _json, CSV: _csv, PARQUET: _parquet, JSON_STAT: _json_stat, SDMX_CSV: _sdmx_csv
}  # fmt: skip
TABLE_FORMS = tuple(_TABLES)
LIST_FORMS = (JSON, CSV, PARQUET, JSON_STAT)
"""A list has no SDMX-CSV form: that one is for observations alone."""


def write_list(whole: Mapping[str, Any], name: str, columns: Sequence[str], form: Form) -> bytes:
    """A list in a form: ``whole`` as JSON, or the rows that it holds under ``name``."""
    if form is JSON:
        return as_json(whole)
    if form is JSON_STAT:
        items = [{"class": "dataset", "label": _text(row[columns[0]]), "extension": row} for row in whole[name]]
        return as_json({"version": "2.0", "class": "collection", "label": name, "link": {"item": items}})
    rows = [[_text(row.get(column)) for column in columns] for row in whole[name]]
    return _lines([columns, *rows]) if form is CSV else _in_parquet(columns, rows, ["VARCHAR"] * len(columns))


def as_json(thing: Any) -> bytes:
    """JSON, as short as it gets."""
    return json.dumps(thing, ensure_ascii=False, separators=(",", ":")).encode()


def _text(entry: Any) -> str:
    if entry is None:
        return ""
    return entry if isinstance(entry, str) else as_json(entry).decode()


def _lines(rows: Sequence[Sequence[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode()


def _in_parquet(columns: Sequence[str], rows: Sequence[Sequence[str]], kinds: Sequence[str]) -> bytes:
    texts = {column: [row[k] for row in rows] for k, column in enumerate(columns)}
    with scratch_folder() as private:
        return write_texts(texts, private / "answer.parquet", kinds).read_bytes()


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
