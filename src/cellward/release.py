"""Release: the public side; what anyone may see, and no true value."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.audit.knowledge import Knowledge
from cellward.errors import InputError
from cellward.files import write_whole
from cellward.table.labels import Labels
from cellward.table.relations import Relations

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """Published values with their labels, and what the public is told or knows: the method, the equations, bounds known beforehand, and what the
    values say of the true ones. ``digest`` is the salted hash of the certificate. Made by :meth:`Protection.release` alone."""

    labels: Labels
    scaled: Ints
    decimals: int
    method: Mapping[str, Any]
    relations: Relations
    lower: Ints
    upper: Ints
    knowledge: Knowledge
    digest: str

    def __post_init__(self) -> None:
        exact.freeze(self.scaled)

    @property
    def values(self) -> NDArray[np.int64] | NDArray[np.float64]:
        """The published values in the user's units, in cell order."""
        return exact.units(self.scaled, self.decimals)

    def columns(self) -> dict[str, list[str]]:
        """The long table as text columns: the dimensions, or ``cell``, and ``value``."""
        value = "value"
        while value in self.labels.dims:
            value = f"published {value}"
        return {
            **{name: list(column) for name, column in self.labels.columns().items()},
            value: exact.texts(self.scaled, self.decimals),
        }

    def statement(self) -> dict[str, Any]:
        """The public half of the proof: the method and its parameters, and the hash that ties the release to its certificate; no true value."""
        return {
            "method": dict(self.method),
            "decimals": self.decimals,
            "printed": "values",
            "certificate": self.digest,
        }

    def save_statement(self, path: str | Path) -> Path:
        """Write the public statement as JSON, whole or not at all."""
        text = json.dumps(self.statement(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        return write_whole(Path(path), text.encode())

    def save(self, path: str | Path) -> Path:
        """Write the long table as CSV, whole or not at all."""
        if Path(path).suffix.lower() != ".csv":
            raise InputError(f"{path}: a release is written as CSV; give a name that ends in .csv")
        columns = self.columns()
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        return write_whole(Path(path), out.getvalue().encode())

    def __repr__(self) -> str:
        return f"Release({len(self.scaled):,} cells, {self.method.get('name', '')})"
