"""Recodings ``.grc``: codes put together under a new one, or branches of a hierarchy closed.

1: 1, 3-5          the codes 1 and 3 to 5 become 1; -49 is all up to 49, 150- all from 150; what is not named stays
<MISSING> 9        what stands for missing afterwards
<CODELIST> a.cdl   labels of the new codes

<TREERECODE>       first line; then the codes below which nothing is shown any more
142
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cellward.errors import InputError, brief
from cellward.hierarchy import Hierarchy
from cellward.tauargus.files.lines import Line, read_lines

MOST_RANGES = 1000


@dataclass(frozen=True, kw_only=True)
class CodeGroup:
    """A new code and what becomes it: single codes and ranges, with None for an open end."""

    code: str
    parts: tuple[tuple[str | None, str | None], ...]
    line: int

    def holds(self, code: str, width: int) -> bool:
        """Whether a code of this width is in the group; ranges compare texts padded to the width, so that 9 comes before 10."""
        text = code.strip().rjust(width)
        return any(
            (low is None or low.rjust(width) <= text) and (high is None or text <= high.rjust(width))
            for low, high in self.parts
        )


@dataclass(frozen=True, kw_only=True)
class Recoding:
    """What a recoding file says: ``groups``, or for a tree recode the codes to ``close``."""

    path: Path
    groups: tuple[CodeGroup, ...] = ()
    close: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    code_list: str | None = None

    @property
    def is_tree(self) -> bool:
        """Whether branches are closed and no codes are put together."""
        return bool(self.close)

    def new_codes(self, codes: Iterable[str], width: int) -> dict[str, str]:
        """The new code of each of these; new ones are padded with blanks on the left to the width the codes had."""
        single: dict[str, list[CodeGroup]] = {}
        for group in self.groups:
            for low, high in group.parts:
                if low == high and low is not None and group not in single.setdefault(low, []):
                    single[low].append(group)
        ranged = [group for group in self.groups if any(low != high for low, high in group.parts)]
        found: dict[str, str] = {}
        for code in codes:
            holding = list(dict.fromkeys([*single.get(code.strip(), ()), *(g for g in ranged if g.holds(code, width))]))
            if len(holding) > 1:
                first, second = sorted(holding, key=lambda group: group.line)[:2]
                raise InputError(
                    f"{self.path} line {second.line}: the code {brief(code)} is in line {first.line} already; keep it in one group"
                )
            found[code] = holding[0].code.rjust(width) if holding else code
        return found


def read_grc(path: str | os.PathLike[str]) -> Recoding:
    """Read a recoding file."""
    path = Path(path)
    lines = read_lines(path)
    if not lines:
        raise InputError(f"{path}: holds no recoding; write lines like 1: 2, 4-6, or <TREERECODE> and codes")
    if lines[0].text.strip().upper() == "<TREERECODE>":
        close = tuple(dict.fromkeys(line.text.rstrip() for line in lines[1:]))
        if not close:
            raise lines[0].error("no code follows <TREERECODE>; name the codes to be closed, one a line")
        return Recoding(path=path, close=close)
    groups: list[CodeGroup] = []
    missing: tuple[str, ...] = ()
    code_list = None
    for line in lines:
        if line.text.lstrip().startswith("<"):
            words = line.words()
            given = [text for word in words[1:] for text in word.text.split(",") if text.strip()]
            if words[0].tag == "MISSING" and 1 <= len(given) <= 2:
                missing = tuple(text.strip() for text in given)
            elif words[0].tag == "CODELIST" and len(given) == 1:
                code_list = given[0]
            else:
                raise line.error(
                    f"{brief(line.text)} is not known; a recoding has <MISSING> codes and <CODELIST> file, or begins with <TREERECODE>"
                )
        else:
            groups.append(_group(line))
    if sum("-" in line.text for line in lines) > MOST_RANGES:
        raise InputError(
            f"{path}: more than {MOST_RANGES:,} lines with ranges; put the recoding into the records instead"
        )
    if not groups:
        raise InputError(f"{path}: no group of codes in it; write lines like 1: 2, 4-6")
    return Recoding(path=path, groups=tuple(groups), missing=missing, code_list=code_list)


def _group(line: Line) -> CodeGroup:
    new, colon, rest = line.text.partition(":")
    code = new.strip().strip('"').strip()
    texts = [text.strip() for text in rest.split(",")]
    if not colon or not code or not all(texts):
        raise line.error(
            f"{brief(line.text)} is no group of codes; write the new code, a colon and the old ones, 1: 2, 4-6"
        )
    return CodeGroup(code=code, parts=tuple(_part(line, text) for text in texts), line=line.number)


def _part(line: Line, text: str) -> tuple[str | None, str | None]:
    """One code, or a range; a code that itself holds a hyphen stands in quotes."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].strip(), text[1:-1].strip()
    low, hyphen, high = (part.strip() for part in text.partition("-"))
    if hyphen and not low and not high:
        raise line.error(f"the range {brief(text)} has no ends; write 4-6, -49 or 150-")
    if "-" in high:
        raise line.error(f"the range {brief(text)} has several hyphens; put a code that holds one in quotes")
    return (low or None, high or None) if hyphen else (low, low)


def closed(hierarchy: Hierarchy, codes: Iterable[str], where: str) -> tuple[Hierarchy, dict[str, str]]:
    """The hierarchy with these codes as bottom codes, and for every code below them the closed one it now belongs to."""
    by_name: dict[str, list[str]] = {}
    for code in hierarchy.codes:
        by_name.setdefault(code.strip(), []).append(code)
    below = dict(hierarchy.sums)
    if len(below) < len(hierarchy.sums):
        raise InputError(
            f"{where}: the hierarchy has several sums of one code, which a tree recode cannot close; recode the records instead"
        )
    shut: set[str] = set()
    for name in codes:
        found = [name] if name in below or name in hierarchy.codes else by_name.get(name.strip(), [])
        if len(found) != 1:
            raise InputError(f"{where}: the hierarchy has no code {brief(name)}; correct the recoding")
        if found[0] == hierarchy.total:
            raise InputError(
                f"{where}: {brief(name)} is the total, below which something must stay; close the codes below it"
            )
        shut.add(found[0])
    above: dict[str, str] = {}
    sums, stack = [], [(hierarchy.total, "")]
    while stack:
        code, inside = stack.pop()
        holder = inside or (code if code in shut else "")
        if inside:
            above[code] = inside
        children = below.get(code, ())
        if children and not holder:
            sums.append((code, children))
        stack.extend((child, holder) for child in reversed(children))
    return Hierarchy(tuple(sums)), above


def cut(hierarchy: Hierarchy, level: int) -> list[str]:
    """The codes to close so that so many levels below the total are left; the first below the total is level 1."""
    parents = {parent for parent, _ in hierarchy.sums}
    return [code for code, own in hierarchy.levels.items() if own == level and code in parents]
