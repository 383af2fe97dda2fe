"""Codes as τ-ARGUS' users write them: padded with blanks here, unpadded there, and the total sometimes left out."""

from __future__ import annotations

from collections.abc import Iterable

from cellward.formats.hrc import read_hrc
from cellward.hierarchy import Hierarchy
from cellward.tauargus.files.rda import Metadata, Variable
from cellward.tauargus.files.references import resolve


class Codes:
    """The codes of one dimension, found by their text, or without the blanks around it where that is one code only."""

    def __init__(self, codes: Iterable[str], total: str) -> None:
        self.known = set(codes)
        self.total = total
        stripped: dict[str, list[str]] = {}
        for code in self.known:
            stripped.setdefault(code.strip(), []).append(code)
        self._alone = {text: own[0] for text, own in stripped.items() if len(own) == 1}

    def find(self, text: str) -> str | None:
        """The code that is meant; nothing, or the total's name in any case, is the total."""
        if text in self.known:
            return text
        name = text.strip()
        if not name or name.casefold() == self.total.strip().casefold():
            return self.total
        return self._alone.get(name)


def as_one(texts: Iterable[str], total: str) -> dict[str, str]:
    """For each text of a column its code: as it stands; where the same code occurs with different blanks around it, with the most of them."""
    variants: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        variants.setdefault(text.strip(), []).append(text)
    found: dict[str, str] = {}
    for name, own in variants.items():
        is_total = not name or name.casefold() == total.strip().casefold()
        code = total if is_total else own[0] if len(own) == 1 else name.rjust(max(map(len, own)))
        found.update(dict.fromkeys(own, code))
    return found


def hierarchy_of(variable: Variable, metadata: Metadata, codes: Iterable[str]) -> Hierarchy | None:
    """The hierarchy that the metadata give a variable, from its file or from the digits of these (occurring) codes; None where it is flat.

    Two branches of one name are told apart by their lines in records, which have bottom codes only; in tables, which name the branches too,
    they are refused.
    """
    if variable.hierarchy_file is not None:
        file = resolve(variable.hierarchy_file, metadata.path, f"{metadata.path} line {variable.line}, {variable.name}")
        repeated = "refuse" if metadata.kind == "table" else "by line"
        return read_hrc(file, lead=variable.lead, total=variable.total, repeated=repeated)
    if len(variable.levels) > 1:
        lengths, digits = [], 0
        for own in variable.levels:
            digits += own
            lengths.append(digits)
        distinct = dict.fromkeys(codes)
        ours = sorted(distinct.keys() - {*missing_codes(variable, distinct), variable.total})
        return Hierarchy.from_prefixes(ours, lengths=lengths, total=variable.total) if ours else None
    return None


def missing_codes(variable: Variable, codes: Iterable[str]) -> list[str]:
    """Those of the codes that stand for a missing one, as they occur."""
    named = {code.strip() for code in variable.missing}
    return [code for code in dict.fromkeys(codes) if code.strip() in named]
