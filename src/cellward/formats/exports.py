"""Exports: the formats in which what is printed can be written, by name and by the end of a file's name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from cellward.errors import InputError
from cellward.files.text import naming
from cellward.files.whole import write_whole
from cellward.files.workbook import openpyxl
from cellward.formats.excel import excel
from cellward.formats.json_stat import json_stat
from cellward.formats.latex import latex
from cellward.formats.markdown import markdown
from cellward.formats.parquet import printed_parquet
from cellward.formats.printed_table import PrintedTable
from cellward.formats.px import px
from cellward.formats.sdmx_csv import sdmx_csv


@dataclass(frozen=True)
class Export:
    """A format: its name, how its files end (the first is the one in a folder), and what makes the bytes."""

    name: str
    suffixes: tuple[str, ...]
    made: Callable[[PrintedTable], bytes]

    @property
    def suffix(self) -> str:
        """What follows ``release`` in a folder."""
        return self.suffixes[0]


EXPORTS = (
    Export("xlsx", (".xlsx",), excel),
    Export("sdmx-csv", (".sdmx.csv",), sdmx_csv),
    Export("json-stat", (".jsonstat.json", ".json"), json_stat),
    Export("px", (".px",), px),
    Export("parquet", (".parquet", ".pq"), printed_parquet),
    Export("latex", (".tex",), latex),
    Export("markdown", (".md",), markdown),
)
"""The longest ends first where one is the end of another."""
NAMES = tuple(export.name for export in EXPORTS)


def export_of(path: Path) -> Export | None:
    """The format of a file by its name; None where it is none of these."""
    name = path.name.lower()
    return next((export for export in EXPORTS for end in export.suffixes if name.endswith(end)), None)


def exports_called(names: Iterable[str], where: str) -> tuple[Export, ...]:
    """Formats by name, each once, in a fixed order; refused where one is not known or a package is missing."""
    wanted = [name.strip().lower() for name in names]
    if unknown := [name for name in wanted if name not in NAMES]:
        raise InputError(f"{where}: {unknown[0]!r} is no format; use {', '.join(NAMES)}")
    if "xlsx" in wanted:
        openpyxl()
    return tuple(export for export in EXPORTS if export.name in wanted)


def write_export(table: PrintedTable, path: Path, export: Export) -> Path:
    """Write what is printed, public, whole or not at all."""
    with naming(path):
        data = export.made(table)
    return write_whole(path, data)
