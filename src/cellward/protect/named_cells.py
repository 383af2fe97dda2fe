"""Named cells: cells of an option, by number or by their codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cellward.errors import InputError
from cellward.instance import Instance


def named_cells(instance: Instance, given: Iterable[Any], what: str) -> list[int]:
    """Cells by number, or by their codes."""
    bare = not instance.labels.dims  # cells of bare equations have numbers only
    try:
        return [
            instance.labels.find(int(cell) if bare and isinstance(cell, str) and cell.isdecimal() else cell)
            for cell in given
        ]
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
