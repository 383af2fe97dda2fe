"""The file that keeps a twin: written whole, sealed with the key, so that another file, or another key's, is not taken for it."""

from __future__ import annotations

import hmac
import io
import zipfile
from hashlib import blake2b
from pathlib import Path

import numpy as np

from cellward.errors import InputError
from cellward.files.whole import write_whole
from cellward.server.vault.twin.build import Twin

FORM = 1


def write_twin(path: Path, twin: Twin, key: bytes) -> Path:
    """Write the file; its owner alone can read it."""
    arrays = {
        "form": np.array([FORM]),
        "low": twin.low,
        "high": twin.high,
        "part": twin.part,
        "value": twin.value,
        "decimals": np.array(twin.decimals),
        "names": np.array(twin.names),
        "said": np.array([twin.rules, twin.codes]),
    }
    out = io.BytesIO()
    np.savez_compressed(out, seal=_seal(arrays, key), **arrays)  # type: ignore[arg-type]
    return write_whole(path, out.getvalue(), confidential=True)


def read_twin(path: Path, key: bytes) -> Twin | None:
    """The twin that the file keeps; None where there is no file."""
    if not path.exists():
        return None
    refused = InputError(f"{path}: is no twin made with this key; give the key it was made with, or name another file")
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError):
        raise refused from None
    seal = arrays.pop("seal", None)
    if seal is None or not hmac.compare_digest(_seal(arrays, key).tobytes(), seal.tobytes()):
        raise refused
    names = tuple(map(str, arrays["names"]))
    return Twin(
        arrays["low"], arrays["high"], arrays["part"], arrays["value"], tuple(arrays["decimals"].tolist()), names,
        *map(str, arrays["said"]),
    )  # fmt: skip


def _seal(arrays: dict[str, np.ndarray], key: bytes) -> np.ndarray:
    found = blake2b(key=hmac.digest(key, b"seal of a twin", "sha256"), digest_size=32)
    for name in sorted(arrays):
        own = np.ascontiguousarray(arrays[name])
        head = f"{name} {own.dtype.str} {own.shape} ".encode()
        found.update(len(head).to_bytes(8, "big") + head)
        found.update(own.tobytes())
    return np.frombuffer(found.digest(), np.uint8)
