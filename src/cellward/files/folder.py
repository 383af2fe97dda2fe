"""A folder that is replaced whole: written beside the old one, which stands until the new one takes its place in a single step.

Where the system can exchange two folders (Linux, macOS) there is no moment without one. Elsewhere the old one is moved aside first, and a run that
finds only that puts it back. Files in the folder that are not ours are carried over, never removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from cellward.errors import InputError
from cellward.files.claimed import Claim, claim, claim_new, left_behind
from cellward.files.whole import UNFINISHED, public_mode

_AT_FDCWD, _EXCHANGE = -100, 2


@contextlib.contextmanager
def replacing(folder: Path, ours: Collection[str]) -> Iterator[Path]:
    """A new and private folder to write into, which takes the place of this one at the end of the block, or is removed when the block fails.

    ``ours``: the names that belong to the folder; whatever else the old one holds is carried over. An error or Ctrl-C after the exchange has a note
    that says so.
    """
    folder = folder.resolve() if folder.is_symlink() else folder
    _check(folder, ours)
    old, new = None, None
    try:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            old = _claimed(folder)
            _repair(folder, ours)
            old = old or _claimed(folder)
            new = claim_new(folder.parent, _prefix(folder))
        except OSError as error:
            raise InputError(f"{folder}: cannot be made ({error.strerror}); choose another --out") from error
        yield new.path
        _dress(new.path, folder if old else None, ours)
        _swap(new.path, folder, there=old is not None)
        _clear(new.path, folder, ours)
    except BaseException as error:
        if new is not None and new.is_at(folder):
            error.add_note(_written_to(folder))
        raise
    finally:
        if new is not None and not new.is_at(folder):
            shutil.rmtree(new.path, ignore_errors=True)
        for each in (old, new):
            if each is not None:
                each.give_up()


@contextlib.contextmanager
def after_writing(folder: Path) -> Iterator[None]:
    """Whatever goes wrong from here on says that the folder stands."""
    try:
        yield
    except BaseException as error:
        error.add_note(_written_to(folder))
        raise


def _written_to(folder: Path) -> str:
    return f"the release was written to {folder}"


def _check(folder: Path, ours: Collection[str]) -> None:
    """Refuse what cannot be replaced."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: is a file, not a folder; choose another --out")
    with contextlib.suppress(FileNotFoundError):
        if folder.samefile(Path.cwd()):
            raise InputError(
                f"{folder}: is the folder you stand in, and would be replaced whole; choose another --out, or stand elsewhere"
            )
    if os.path.ismount(folder):
        raise InputError(
            f"{folder}: is where a disk is mounted, and cannot be replaced whole; choose a folder inside it"
        )
    for name in ours:
        path = folder / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise InputError(
                f"{path}: cannot be written, it is a link, a folder or a device and would be replaced; choose another --out"
            )


def _claimed(folder: Path) -> Claim | None:
    """The folder as it stands, claimed; who else writes there is waited for. None where there is none."""
    while folder.exists():
        found = claim(folder, wait=True)
        if found is not None and found.is_at(folder):
            return found
        if found is not None:
            found.give_up()
    return None


def _prefix(folder: Path) -> str:
    return f".{folder.name}{UNFINISHED}"


def _dress(new: Path, old: Path | None, ours: Collection[str]) -> None:
    """The permissions of the folder, and the plain files in it that are not ours, which from here on stand in both."""
    new.chmod(public_mode(0o777) if old is None else stat.S_IMODE(old.stat().st_mode))
    if old is not None:
        with contextlib.suppress(OSError):
            os.chown(new, -1, old.stat().st_gid)
        for path in old.iterdir():
            if path.name not in ours and not path.is_dir():
                with contextlib.suppress(OSError):  # it is moved later
                    os.link(path, new / path.name, follow_symlinks=False)
    _sync(new)


def _swap(new: Path, folder: Path, *, there: bool) -> None:
    """Put the new folder in its place; the old one, if any, stands where the new one was."""
    if not there:
        new.rename(folder)
    elif not _exchange(new, folder):
        aside = new.with_name(f"{new.name}{_ASIDE}")
        folder.rename(aside)
        new.rename(folder)
        aside.rename(new)
    _sync(folder.parent)


_ASIDE = "-old"
"""What the name of an old folder ends in while it has no other place."""


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in a single step; False where the system or the file system cannot."""
    call = _exchange_call()
    if call is None:
        return False
    if call(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(other))


def _exchange_call() -> Callable[[bytes, bytes], int] | None:
    """The system's own call, if there is one."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            renamex = library.renamex_np
            return lambda one, other: int(renamex(one, other, ctypes.c_uint(_EXCHANGE)))
        renameat2 = library.renameat2
    except (OSError, AttributeError, TypeError):
        return None
    return lambda one, other: int(renameat2(_AT_FDCWD, one, _AT_FDCWD, other, ctypes.c_uint(_EXCHANGE)))


def _clear(old: Path, folder: Path, ours: Collection[str]) -> None:
    """Remove what is ours of a folder that was replaced, move what is not to the one that stands, and remove it when it is empty."""
    if not old.exists():
        return
    for path in sorted(old.iterdir()):
        here = folder / path.name
        with contextlib.suppress(FileNotFoundError):
            if path.name in ours or any(path.name.startswith(f".{name}{UNFINISHED}") for name in ours):
                path.unlink()
            elif not os.path.lexists(here):
                path.rename(here)
            elif os.path.samestat(path.lstat(), here.lstat()):
                path.unlink()
    with contextlib.suppress(OSError):
        old.rmdir()


def _repair(folder: Path, ours: Collection[str]) -> None:
    """Set right what a killed process left beside the folder: an old one is put back where there is none, the rest is cleared away."""
    left = sorted(left_behind(folder.parent, _prefix(folder)), key=lambda path: not path.name.endswith(_ASIDE))
    for path in left:
        if not path.is_dir():
            continue
        if folder.exists():
            _clear(path, folder, ours)
        elif path.name.endswith(_ASIDE):
            path.rename(folder)
        elif all(each.name in ours or each.name.startswith(".") for each in path.iterdir()):
            shutil.rmtree(path, ignore_errors=True)


def _sync(folder: Path) -> None:
    """See that the names in the folder are on the disk."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
