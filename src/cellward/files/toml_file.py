"""TOML files: job and policy files as plain values, numbers exact."""

from __future__ import annotations

import os
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from cellward.errors import InputError
from cellward.files.text import decode_file, naming

MOST_BYTES = 1 << 22


def read_toml(path: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    """What a file says, and its text; decimal numbers are Decimals."""
    text = decode_file(path, most_bytes=MOST_BYTES)
    with naming(Path(path)):
        try:
            return tomllib.loads(text, parse_float=Decimal), text
        except (ValueError, RecursionError) as error:
            raise InputError(f"not TOML ({error}); correct it there") from None
