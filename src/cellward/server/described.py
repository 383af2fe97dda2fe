"""A configuration from a few words: for one file of records, written beside it, where it can be read, changed, and served again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from cellward.errors import InputError
from cellward.files.whole import write_whole
from cellward.key import write_new_key
from cellward.risk.policy import BUILT_IN
from cellward.server.config import config_text


def write_config(
    data: Path,
    *,
    dimensions: Sequence[str],
    measures: Sequence[str],
    policy: str,
    hierarchies: Mapping[str, str],
    contributor: str | None,
    holding: str | None,
) -> Path:
    """The configuration of a server for these records, with a new key and ledger beside it where there are none; one that says otherwise stays."""
    if not dimensions:
        raise InputError(
            f"{data}: name its dimension columns with --dims A,B, or give a configuration (docs/server.md)"
        )
    path, key = data.with_suffix(".server.toml"), data.with_suffix(".server.key")
    text = config_text(
        data.name,
        dimensions=dimensions,
        measures=measures,
        policy=policy if policy in BUILT_IN else _beside(policy, data),
        hierarchies={name: _beside(file, data) for name, file in hierarchies.items()},
        key_file=key.name,
        ledger=data.with_suffix(".server.sqlite").name,
        contributor=contributor,
        holding=holding,
    )
    if path.exists():
        if path.read_text() != text:
            raise InputError(
                f"{path}: is there already and says otherwise, and what was published goes by it; serve it as it is with cellward serve {path}"
            )
        return path
    if not key.exists():
        write_new_key(key)
    return write_whole(path, text.encode(), confidential=True)


def _beside(file: str, data: Path) -> str:
    """A file's name as seen from the folder of the records."""
    return os.path.relpath(Path(file).resolve(), data.parent.resolve())
