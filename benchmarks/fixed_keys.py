"""Fixed keys for tests and benchmarks: digests of a label, which are neither weak nor secret; a release is made with a random one."""

from __future__ import annotations

import hashlib
from pathlib import Path


def key_of(label: object) -> bytes:
    """The key of this label."""
    return hashlib.sha256(f"cellward, not a secret: {label}".encode()).digest()


def key_file(path: Path, label: object = 0) -> Path:
    """A file of that key, as commands and jobs take it."""
    path.write_text(f"{key_of(label).hex()}\n")
    path.chmod(0o600)
    return path
