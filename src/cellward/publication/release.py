"""Release: the public side; what anyone may see, and no true value."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.exact import Floats, Ints
from cellward.files.made_frames import frame_of
from cellward.files.whole import write_whole
from cellward.formats.exports import EXPORTS, export_of, write_export
from cellward.formats.formulas import refuse_formulas
from cellward.formats.printed_table import PrintedTable
from cellward.notebook import MOST_ROWS, card
from cellward.publication.knowledge import Knowledge
from cellward.publication.printed_columns import public_columns
from cellward.publication.publication import Publication
from cellward.table.labels import Labels, unused
from cellward.table.relations import Relations


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """What is printed with its labels, and what the public is told or knows: the method, the equations, bounds known beforehand.

    ``digest`` is the salted hash of the certificate. Made by :meth:`Protection.release`, or read back from files to be audited.
    """

    labels: Labels
    publication: Publication
    decimals: int
    method: Mapping[str, Any]
    relations: Relations
    lower: Ints
    upper: Ints
    digest: str

    @property
    def knowledge(self) -> Knowledge:
        """What the public reads out of it."""
        return self.publication.knowledge

    @property
    def values(self) -> Ints | Floats | None:
        """The published values in the user's units, in cell order, not a number where none is printed."""
        return self.publication.values(self.decimals)

    def columns(self) -> dict[str, list[str]]:
        """The long table as text columns: the dimensions, or ``cell``, and what is printed."""
        return {
            **{name: list(column) for name, column in self.labels.columns().items()},
            **{
                printed_name(name, self.labels.dims): column
                for name, column in self.publication.columns(self.decimals).items()
            },
        }

    def to_pandas(self) -> Any:
        """The public columns as a pandas frame: codes, labels, and what is printed; a number that is not is missing."""
        return frame_of("pandas", public_columns(self.labels, self.publication, self.decimals))

    def to_polars(self) -> Any:
        """The same as a polars frame."""
        return frame_of("polars", public_columns(self.labels, self.publication, self.decimals))

    def tables(self) -> tuple[Release, ...]:
        """Of linked tables each by itself, with its own dimensions, cells and order, printed as in the whole; without links, the release.

        Anyone who reads one of them may read the others: audits are of the whole, and so is the certificate.

        >>> from cellward import ControlledRounding, Table
        >>> rows = {"sex": ["F", "F", "M"], "age": ["old", "young", "young"]}
        >>> whole = ControlledRounding(5).protect(Table.from_microdata(rows, dims="sex + age")).release()
        >>> [list(part.columns()) for part in whole.tables()]
        [['sex', 'value'], ['age', 'value']]
        """
        return tuple(
            replace(
                self,
                labels=one.labels,
                publication=self.publication.take(one.cell),
                relations=self.relations.within(one.cell),
                lower=self.lower[one.cell],
                upper=self.upper[one.cell],
            )
            for one in self.labels.tables
        ) or (self,)

    def statement(self) -> dict[str, Any]:
        """The public half of the proof: method and parameters, what is printed, and the hash that ties it to its certificate; no true value."""
        return {
            "method": dict(self.method),
            "decimals": self.decimals,
            "printed": self.publication.kind,
            "certificate": self.digest,
        }

    def save_statement(self, path: str | Path) -> Path:
        """Write the public statement as JSON, whole or not at all."""
        text = json.dumps(self.statement(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        return write_whole(Path(path), text.encode())

    def printed_table(self, *, title: str = "", footnotes: Sequence[str] = ()) -> PrintedTable:
        """What is printed, ready for any format; ``title`` and ``footnotes`` are the user's own words."""
        if not isinstance(title, str) or isinstance(footnotes, str) or not all(isinstance(n, str) for n in footnotes):
            raise InputError("title and footnotes: give a text, and a list of texts")
        plain = {key: said for key, said in self.method.items() if isinstance(said, str | int | float)}
        about = {"Method": str(plain.pop("name", "")), **{key: str(said) for key, said in plain.items()}}
        if self.digest:
            about["Certificate"] = self.digest
        columns = self.publication.columns(self.decimals)
        return PrintedTable(self.labels, columns, self.decimals, title, tuple(footnotes), about)

    def save(self, path: str | Path, *, title: str = "", footnotes: Sequence[str] = ()) -> Path:
        """Write what is printed, whole or not at all, in the format that the name asks for.

        ``.csv`` (codes and what is printed, nothing else; what certificates are checked against), ``.xlsx``, ``.sdmx.csv`` (SDMX-CSV 2.0),
        ``.jsonstat.json`` or ``.json`` (JSON-stat 2), ``.px`` (PC-Axis), ``.parquet``, ``.tex`` (LaTeX) or ``.md`` (Markdown); these have the labels
        of codes, a ``title`` and ``footnotes``.
        """
        path = Path(path)
        if (export := export_of(path)) is not None:
            return write_export(self.printed_table(title=title, footnotes=footnotes), path, export)
        if path.suffix.lower() != ".csv":
            ends = ", ".join(("csv", *(end[1:] for export in EXPORTS for end in export.suffixes)))
            raise InputError(
                f"{path}: a release is written as CSV, or in another format; give a name that ends in one of {ends}"
            )
        if title or footnotes:
            raise InputError(
                f"{path}: CSV has no place for a title and footnotes; leave them out, or choose another format"
            )
        return write_whole(path, self.to_csv())

    def refuse_formulas(self) -> None:
        """Refuse labels that a spreadsheet would run: a file that marked them as text would not hold the codes that the certificate names."""
        used = zip(self.labels.codes, self.labels.index, strict=True)
        for dim, (codes, index) in zip(self.labels.dims, used, strict=True):
            refuse_formulas(dim, (dim, *(codes[k] for k in np.unique(index).tolist())))

    def to_csv(self) -> bytes:
        """The long table as CSV."""
        self.refuse_formulas()
        columns = self.columns()
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        return out.getvalue().encode()

    def _repr_html_(self) -> str:
        columns = {name: column[:MOST_ROWS] for name, column in self.columns().items()}
        return card(repr(self), confidential=False, columns=columns, cells=self.labels.cells)

    def __repr__(self) -> str:
        return f"Release({self.labels.cells:,} cells, {self.method.get('name', '')})"


def printed_name(name: str, dims: tuple[str, ...]) -> str:
    """What a printed column is called beside dimensions that may bear its name."""
    return unused(name, dims, "published")
