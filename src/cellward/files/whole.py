"""Files: written whole or not at all, public ones as the user's umask has it, all others for their owner alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cellward.errors import InputError
from cellward.files.claimed import Claim, claim_new_file, left_behind

UNFINISHED = ".cellward-"
"""What follows the name of a file that is being written; a dot stands before it."""

_users_mask: int | None = None


class Whole(NamedTuple):
    """A file to be written."""

    path: Path
    data: bytes
    confidential: bool = True


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Whatever this process or a library in it creates meanwhile is its owner's alone; what is written as public keeps the user's umask."""
    global _users_mask
    before, _users_mask = _users_mask, os.umask(0o077)
    try:
        yield
    finally:
        os.umask(_users_mask)
        _users_mask = before


def public_mode(wished: int) -> int:
    """The permissions wished for, less what the user's umask takes away."""
    if _users_mask is not None:
        return wished & ~_users_mask
    mask = os.umask(0o077)
    os.umask(mask)
    return wished & ~mask


def check_folder(path: Path) -> None:
    """Refuse a file whose folder is not there, or that is no plain file."""
    try:
        if not path.parent.is_dir():
            raise InputError(
                f"{path}: cannot be written, there is no folder {path.parent}; make it, or choose another folder"
            )
        _check_plain(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path!s}: cannot be written ({error}); choose another name") from None


def _check_plain(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InputError(
            f"{path}: cannot be written, it is a link, a folder or a device and would be replaced; choose another name"
        )


def write_whole(path: Path, data: bytes, *, confidential: bool = False) -> Path:
    """Write beside the target and move into place, so that a reader finds the old file or the new one and never a part.

    A confidential file can be read by its owner alone.
    """
    return write_all([Whole(path, data, confidential)])[0]


def write_all(files: Sequence[Whole]) -> list[Path]:
    """Write several files: all of them beside their targets first, and then each into place, so that a full disk leaves all old ones."""
    written: list[Claim] = []
    path = Path()
    try:
        for path, data, confidential in files:
            _check_plain(path)
            for left in left_behind(path.parent, f".{path.name}{UNFINISHED}"):
                if left.is_file():
                    left.unlink()
            written.append(claim_new_file(path.parent, f".{path.name}{UNFINISHED}"))
            with written[-1].path.open("wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            if not confidential:
                written[-1].path.chmod(public_mode(0o666))
        for claim, (path, _, _) in zip(written, files, strict=True):
            claim.path.replace(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be written ({why}); choose another folder, or free space there") from error
    finally:
        for claim in written:
            claim.path.unlink(missing_ok=True)
            claim.give_up()
    return [file.path for file in files]
