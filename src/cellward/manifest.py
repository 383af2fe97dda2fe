"""Manifest: what a release was made of and what came out, each file by its hash; the key only by a mark that does not give it away.

Confidential: whoever holds a hash can try what a small input might have been.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cellward.errors import InputError
from cellward.files.text import decode_file
from cellward.version import __version__

MANIFEST = "manifest.json"
FORMAT, VERSION = "cellward manifest", 1
ENTRIES = {"format", "version", "cellward", "inputs", "outputs", "key"}


def hash_of(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the name") from error


def key_mark(key: bytes) -> str:
    """What is kept of the key: enough to tell it from others, nothing to draw with."""
    return hmac.new(key, b"cellward manifest", "sha256").hexdigest()


def manifest_text(inputs: Mapping[str, Path], outputs: Iterable[Path], key: bytes) -> bytes:
    """The file: inputs by what they are for, outputs by name."""
    held = {
        "format": FORMAT,
        "version": VERSION,
        "cellward": __version__,
        "inputs": {role: {"file": path.name, "sha256": hash_of(path)} for role, path in inputs.items()},
        "outputs": {path.name: hash_of(path) for path in outputs},
        "key": key_mark(key),
    }
    return (json.dumps(held, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of an output folder."""
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"{folder}: there is no {MANIFEST} in it; give a folder that cellward wrote")
    try:
        held: dict[str, Any] = json.loads(decode_file(path, most_bytes=1 << 26))
        right = isinstance(held, dict) and held.keys() == ENTRIES and held["format"] == FORMAT
        right = right and all(isinstance(held[part], dict) for part in ("inputs", "outputs"))
    except (ValueError, RecursionError):
        right = False
    if not right:
        raise InputError(f"{path}: not the manifest of a release; make the release again")
    if held["version"] != VERSION:
        raise InputError(
            f"{path}: a manifest of version {held['version']}, and this is version {VERSION}; make the release again"
        )
    return held


def differing_output(folder: Path, held: Mapping[str, Any], known: Iterable[str]) -> str | None:
    """The first file of the folder that is not as the manifest says, in a sentence; ``known``: files that are there only if it names them."""
    for name, digest in held["outputs"].items():
        path = folder / name
        if Path(name).name != name or not path.is_file():
            return f"the manifest names {name}, which is not there"
        if hash_of(path) != digest:
            return f"{name} is not the file that the manifest names"
    named = {MANIFEST, *held["outputs"]}
    extra = [name for name in known if name not in named and (folder / name).exists()]
    return f"{extra[0]} is not in the manifest" if extra else None


def differing_input(held: Mapping[str, Any], inputs: Mapping[str, Path], key: bytes | None) -> str | None:
    """The first input that is not the one that the release was made of, in a sentence; None as key: it was drawn."""
    if missing := sorted(inputs.keys() ^ held["inputs"].keys()):
        return f"the manifest and the job do not name the same inputs: {missing[0]}"
    for role, path in inputs.items():
        if held["inputs"][role] != {"file": path.name, "sha256": hash_of(path)}:
            return f"the {role} ({path.name}) is not the one that the release was made of"
    if key is not None and held["key"] != key_mark(key):
        return "the key is not the one that the release was made with"
    return None
