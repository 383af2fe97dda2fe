"""Exports read back by the readers of their own world: openpyxl, pysdmx, pyjstat, pyaxis and pyarrow; LaTeX and Markdown by a few lines here.

Each gives the cells by their codes (by labels where a format shows these alone), every one as (value, lower, upper) in exact decimals, None where
nothing is printed; of tables for the eye what stands in each cell instead.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import cellward as cw

Told = tuple[Decimal | None, Decimal | None, Decimal | None]
Cells = dict[tuple[str, ...], Any]
MEASURES = {"OBS_VALUE", "OBS_STATUS", "CONF_STATUS", "LOWER", "UPPER", "DECIMALS", "COMMENT_DSET"}


def expected(release: cw.Release, *, by_label: bool = False) -> dict[tuple[str, ...], Told]:
    """What a release prints of each cell, from its own columns."""
    printed = release.publication.columns(release.decimals)
    value = printed.get("value") or [
        a if a == b else "" for a, b in zip(printed["lower"], printed["upper"], strict=True)
    ]
    ends = [printed.get(name, [""] * release.labels.cells) for name in ("lower", "upper")]
    codes = release.labels.columns()
    if by_label:
        words = release.labels.words or ({},) * len(codes)
        codes = {
            dim: [word.get(code, code) for code in column]
            for (dim, column), word in zip(codes.items(), words, strict=False)
        }
    return {
        key: tuple(map(_decimal, told))
        for key, *told in zip(zip(*codes.values(), strict=True), value, *ends, strict=True)
    }


def _decimal(entry: Any) -> Decimal | None:
    """A number as it is written; none where there is none."""
    if entry is None or entry == "" or entry != entry:
        return None
    return entry if isinstance(entry, Decimal) else Decimal(str(entry))


def read_excel(path: Path) -> dict[tuple[str, ...], Told]:
    import openpyxl

    book = openpyxl.load_workbook(path)
    assert not [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.data_type in ("f", "e")]
    head, *rows = book["Table"].iter_rows(values_only=True)
    return _by_codes(list(head), rows)


def _by_codes(head: list[Any], rows: Any) -> dict[tuple[str, ...], Told]:
    """Rows of codes, labels (left out), value, status and ends; a dimension may bear the name of any of these, so they are known by their place."""
    last = [name.split()[-1] for name in head]
    ranges = last[-2:] == ["lower", "upper"]
    many = 4 if ranges else 2 if last[-1] == "status" else 1
    names = head[: len(head) - many]
    dims = [
        k for k, name in enumerate(names) if not (name.endswith(" label") and k and name[: -len(" label")] in names)
    ]
    found = {}
    for row in rows:
        told = row[len(names) :]
        value, ends = told[0], told[2:] if ranges else (None, None)
        if many > 1:
            assert (told[1] == "published") == (_decimal(value) is not None)
        found[tuple(str(row[k]) for k in dims)] = (_decimal(value), *map(_decimal, ends))
    return found


def read_sdmx(path: Path) -> dict[tuple[str, ...], Told]:
    from pysdmx.io.csv.sdmx20.reader import read

    data = read(path.read_text())[0].data
    dims = [name for name in data.columns if name not in MEASURES]
    found = {}
    for row in data.to_dict("records"):
        value = _decimal(row["OBS_VALUE"])
        flags = ("A", "F") if value is not None else ("Q", "C")
        assert (row["OBS_STATUS"], row["CONF_STATUS"]) == flags
        ends = (_decimal(row.get("LOWER")), _decimal(row.get("UPPER")))
        found[tuple(row[dim] for dim in dims)] = (value, *ends)
    return found


def read_json_stat(path: Path) -> dict[tuple[str, ...], Told]:
    from pyjstat import pyjstat

    text = path.read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = pyjstat.Dataset.read(text).write("dataframe", naming="id")
    said = json.loads(text, parse_float=Decimal)
    numbers, status = said["value"], said.get("status", {})
    dims = list(frame.columns[:-1])
    metric = bool(said.get("role", {}).get("metric"))
    cells: dict[tuple[str, ...], dict[str, Any]] = {}
    for place, row in enumerate(frame.itertuples(index=False, name=None)):
        number = numbers[place] if isinstance(numbers, list) else numbers.get(str(place))
        flag = status.get(str(place), "")
        assert _decimal(row[-1]) == (None if number is None else Decimal(str(float(number))))
        if number is None and not flag:
            continue  # no cell
        assert (number is None) == bool(flag)
        codes = tuple(map(str, row[: len(dims) - metric]))
        cells.setdefault(codes, {})[row[len(dims) - 1] if metric else "value"] = _decimal(number)
    return {key: (one["value"], one.get("lower"), one.get("upper")) for key, one in cells.items()}


def read_px(path: Path) -> dict[tuple[str, ...], Told]:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyaxis import pyaxis

        frame = pyaxis.parse(str(path), encoding="utf-8", null_values=r'^"\."$', sd_values=r'^"\.\."$')["DATA"]
    dims = [name for name in frame.columns if name != "DATA"]
    metric = '"..."' in set(frame["DATA"]) or set(frame[dims[-1]]) == {"value", "lower", "upper"}
    cells: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in frame.to_dict("records"):
        entry = row["DATA"]
        if entry == "":
            continue  # no cell; the reader takes a withheld value for a missing one
        codes = tuple(row[dim] for dim in dims[: len(dims) - metric])
        number = None if entry != entry or entry in ('"..."', '"...."') else Decimal(entry)
        cells.setdefault(codes, {})[row[dims[-1]] if metric else "value"] = number
    return {key: (one["value"], one.get("lower"), one.get("upper")) for key, one in cells.items()}


def read_parquet(path: Path) -> dict[tuple[str, ...], Told]:
    import pyarrow.parquet

    columns = pyarrow.parquet.read_table(path).to_pydict()
    return _by_codes(list(columns), zip(*columns.values(), strict=True))


def read_markdown(path: Path) -> list[list[str]]:
    lines = [line for line in path.read_text().split("\n") if line.startswith("| ")]
    split = [re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |")) for line in lines]
    return [[re.sub(r"\\(.)", r"\1", text) for text in row] for k, row in enumerate(split) if k != 1]


_LATEX = {
    r"\textbackslash{}": "\\", r"\{": "{", r"\}": "}", r"\#": "#", r"\$": "$", r"\%": "%", r"\&": "&", r"\_": "_", r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~", r"\textless{}": "<", r"\textgreater{}": ">", r"$\ge$": "≥", r"$\le$": "≤", "--": "–", r"\textbar{}": "|",
}  # fmt: skip
_TOKEN = re.compile("|".join(map(re.escape, _LATEX)))


def read_latex(path: Path) -> list[list[str]]:
    rows = [line.removesuffix(r" \\") for line in path.read_text().split("\n") if line.endswith(r" \\")]
    return [[_from_latex(text) for text in re.split(r"(?<!\\) & ", row)] for row in rows]


def _from_latex(text: str) -> str:
    if re.fullmatch(r"\$-[0-9.]+\$", text):
        return text.strip("$")
    if re.fullmatch(r"\{.*\}", text):
        text = text[1:-1]
    return _TOKEN.sub(lambda found: _LATEX[found[0]], text)


READERS: Mapping[str, Callable[[Path], dict[tuple[str, ...], Told]]] = {
    "release.xlsx": read_excel,
    "release.sdmx.csv": read_sdmx,
    "release.jsonstat.json": read_json_stat,
    "release.px": read_px,
    "release.parquet": read_parquet,
}
FOR_THE_EYE: Mapping[str, Callable[[Path], list[list[str]]]] = {
    "release.tex": read_latex,
    "release.md": read_markdown,
}
SHOW_LABELS = ("release.px",)
"""Formats whose reader gives labels for codes."""
SHOW_NO_ENDS = ("release.sdmx.csv",)


def contents(path: Path) -> str:
    """All that a file holds, unpacked."""
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as held:
            return b"\n".join(held.read(name) for name in held.namelist()).decode()
    if path.suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
        return f"{table.to_pydict()} {table.schema.metadata}"
    return path.read_text()


def differences(release: cw.Release, folder: Path, name: str, **words: Any) -> list[str]:
    """What a file of this name, written and read back, says otherwise than the release."""
    path = release.save(folder / name, **words)
    if name in FOR_THE_EYE:
        return _seen_differences(release, FOR_THE_EYE[name](path))
    wanted, found = expected(release, by_label=name in SHOW_LABELS), READERS[name](path)
    lost = [f"{key}: lost" for key in wanted if key not in found]
    more = [f"{key}: not in the release" for key in found if key not in wanted]
    other = [f"{key}: {found[key]} for {told}" for key, told in wanted.items() if key in found and found[key] != told]
    return lost + more + other


def _seen_differences(release: cw.Release, grid: list[list[str]]) -> list[str]:
    """Of a table for the eye: what stands in each cell, found by its labels at the left and on top."""
    wanted = expected(release, by_label=True)
    dims = len(next(iter(wanted)))
    head, *rows = grid
    across = len(head) > dims + 1 or head[-1] != "value"
    names = dims - across
    found: dict[tuple[str, ...], str] = {}
    for row in rows:
        for code, entry in zip(head[names:], row[names:], strict=True):
            key = (*row[:names], code) if across else tuple(row[:names])
            if entry:
                found[key] = entry
    other = [f"{key}: {found.get(key)!r} for {told}" for key, told in wanted.items() if found.get(key) != _seen(told)]
    return other + [f"{key}: not in the release" for key in found if key not in wanted]


def _seen(told: Told) -> str:
    value, low, high = told
    if value is not None:
        return str(value)
    if low is None and high is None:
        return "c"
    return f"≥ {low}" if high is None else f"≤ {high}" if low is None else f"{low} – {high}"
