"""Files: written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from cellward.errors import InputError


def check_folder(path: Path) -> None:
    """Refuse a file whose folder is not there, or that is no plain file."""
    try:
        if not path.parent.is_dir():
            raise InputError(
                f"{path}: cannot be written, there is no folder {path.parent}; make it, or choose another folder"
            )
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise InputError(
                f"{path}: cannot be written, it is a link, a folder or a device and would be replaced; choose another name"
            )
    except (OSError, ValueError) as error:
        raise InputError(f"{path!s}: cannot be written ({error}); choose another name") from None


def write_whole(path: Path, data: bytes, *, confidential: bool = False) -> Path:
    """Write beside the target and move into place, so that a reader finds the old file or the new one and never a part.

    A confidential file can be read by its owner alone.
    """
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise InputError(
                f"{path}: cannot be written, it is a link, a folder or a device and would be replaced; choose another name"
            )
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be written ({why}); choose another folder") from error
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        if not confidential:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)  # noqa: PTH101
        os.replace(temporary, path)  # noqa: PTH105
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another folder") from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
