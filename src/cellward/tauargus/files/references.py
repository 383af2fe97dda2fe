r"""References between τ-ARGUS files: a name is looked for beside the file that makes it, whatever its case or folder.

Files travel from Windows machines with the paths they had there: of ``\\server\share\region.HRC`` the last part is what still holds.
"""

from __future__ import annotations

import re
from pathlib import Path

from cellward.errors import InputError, brief
from cellward.files.within import within

_PARTS = re.compile(r"[\\/]")


def last_part(reference: str) -> str:
    r"""The name without its folders, of Windows or of here.

    >>> last_part(r"\\server\share\region.hrc"), last_part("data/region.hrc")
    ('region.hrc', 'region.hrc')
    """
    return _PARTS.split(reference.strip())[-1]


def find_beside(reference: str, referrer: Path) -> Path | None:
    """The file that is meant: at its path seen from the referring file, or else of its name beside it, ignoring case; None where there is none."""
    name = last_part(reference)
    if not name or "\0" in reference:
        return None
    try:
        if "\\" not in reference and (referrer.parent / reference.strip()).is_file():
            return within(reference.strip(), referrer)
    except (OSError, ValueError):
        return None
    near = companion(name, referrer)
    return None if near is None else within(near.name, referrer)


def companion(name: str, file: Path) -> Path | None:
    """The file of this name beside another, ignoring case; None where there is none."""
    try:
        near = sorted(path for path in file.parent.iterdir() if path.name.casefold() == name.casefold())
        files = [path for path in near if path.is_file()]
    except (OSError, ValueError):
        return None
    same = [path for path in files if path.name == name]
    return next(iter(same or files), None)


def resolve(reference: str, referrer: Path, where: str) -> Path:
    """Like :func:`find_beside`; a file that is not there is refused."""
    found = find_beside(reference, referrer)
    if found is None:
        raise InputError(
            f"{where}: there is no file {brief(last_part(reference))} beside {referrer.name}; put it there"
        )
    return found


def target(reference: str, referrer: Path) -> Path:
    """Where an output goes: to its path seen from the referring file if that folder exists, else beside the referring file under its last part."""
    if "\\" not in reference and "\0" not in reference:
        path = referrer.parent / reference.strip()
        try:
            if path.parent.is_dir():
                return within(reference.strip(), referrer)
        except (OSError, ValueError):
            pass
    return within(last_part(reference), referrer)
