"""Folders and files that a process has claimed: private, locked while it lives, so that what a killed one left can be told from what is in use."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

try:
    import fcntl
except ImportError:  # no locks: nothing is ever taken for left behind
    fcntl = None  # type: ignore[assignment]

_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True)
class Claim:
    """A folder or file and the lock on it, which the system takes away when the process ends, however it ends."""

    path: Path
    lock: int
    which: os.stat_result

    def is_at(self, path: Path) -> bool:
        """Whether it stands there now, under whatever name it was made."""
        try:
            return os.path.samestat(self.which, path.lstat())
        except OSError:
            return False

    def give_up(self) -> None:
        """Let go of the lock; what was claimed stays."""
        if self.lock >= 0:
            os.close(self.lock)


def claim_new(parent: Path, prefix: str) -> Claim:
    """A new folder of this process, for its owner alone (mode 0700)."""
    return _claim_new(lambda: tempfile.mkdtemp(dir=parent, prefix=prefix))


def claim_new_file(parent: Path, prefix: str) -> Claim:
    """A new and empty file of this process, for its owner alone (mode 0600)."""

    def make() -> str:
        handle, path = tempfile.mkstemp(dir=parent, prefix=prefix)
        os.close(handle)
        return path

    return _claim_new(make)


def _claim_new(make: Callable[[], str]) -> Claim:
    while True:
        path = Path(make())
        found = claim(path)
        if found is not None and found.is_at(path):
            return found
        # Somebody who looked for what is left behind came between making and locking, and takes it away.
        if found is not None:
            found.give_up()


def claim(path: Path, *, wait: bool = False) -> Claim | None:
    """Claim what stands there; None where it is another process's, or not there; ``wait``: for the other to end."""
    try:
        if fcntl is None:
            return Claim(path, -1, path.lstat())
        lock = os.open(path, _OPEN)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(lock)
        return None
    except OSError:  # a file system without locks
        which = os.fstat(lock)
        os.close(lock)
        return Claim(path, -1, which)
    except BaseException:
        os.close(lock)
        raise
    return Claim(path, lock, os.fstat(lock))


def left_behind(parent: Path, prefix: str) -> Iterator[Path]:
    """What begins like this and no living process claims, each claimed while it is looked at; only this user's own folders and files, no links."""
    if fcntl is None:
        return
    try:
        names = [entry.name for entry in os.scandir(parent) if entry.name.startswith(prefix)]
    except OSError:
        return
    for name in names:
        path = parent / name
        found = claim(path)
        if found is None:
            continue
        try:
            if found.lock >= 0 and found.is_at(path) and _own(found.which):
                yield path
        finally:
            found.give_up()


def _own(found: os.stat_result) -> bool:
    return (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)) and found.st_uid == os.geteuid()
