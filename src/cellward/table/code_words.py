"""Words of codes: what the codes of the dimensions are called, from hierarchies, columns of labels, or mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cellward.errors import InputError, brief
from cellward.hierarchy import Hierarchy

Given = Mapping[str, str | Mapping[str, str]]
"""By dimension a column of labels, or the labels by code."""
Words = dict[str, dict[str, str]]


def check_labels(given: Any, dims: Sequence[str]) -> None:
    """Refuse what is no such mapping, or of other dimensions."""
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise InputError(
            f"labels={given!r}: give a mapping from dimensions to a column or to labels by code, such as {{{dims[0]!r}: …}}"
        )
    for dim, own in given.items():
        if dim not in dims:
            raise InputError(f"labels: {dim!r} is not among the dimensions {', '.join(dims)}; name one of them")
        texts = isinstance(own, Mapping) and all(isinstance(text, str) for pair in own.items() for text in pair)
        if not isinstance(own, str) and not texts:
            raise InputError(f"labels: {dim} needs the name of a column, or a mapping from codes to labels, as text")
        if own in dims:
            raise InputError(f"labels: the column {own!r} is a dimension itself; name another, or leave it out")


def label_columns(given: Given | None) -> dict[str, str]:
    """The columns of labels by dimension."""
    return {dim: own for dim, own in (given or {}).items() if isinstance(own, str)}


def words_from_pairs(
    dim: str, pairs: Iterable[tuple[Any, Any]], place: Callable[[int], str] = lambda _: ""
) -> dict[str, str]:
    """The labels that rows give; refused where one code has two. ``place``: where a row stands."""
    found: dict[str, str] = {}
    for row, (code, label) in enumerate(pairs):
        if code is None or label is None or label != label or not str(label).strip():
            continue
        if found.setdefault(str(code), str(label)) != str(label):
            stands = place(row)
            where = f"{stands}: " if stands else ""
            raise InputError(
                f"{where}the code {brief(str(code))} of {dim} is called {brief(found[str(code)])} and {brief(str(label))}; give each code one label"
            )
    return found


def words_of(
    hierarchies: Mapping[str, Hierarchy | Sequence[Hierarchy]] | None, given: Given | None, from_rows: Words
) -> Words:
    """All that is known of what codes are called: by hierarchies, by rows, and by what is given, which comes first."""
    out: Words = {}
    for dim, own in (hierarchies or {}).items():
        for one in [own] if isinstance(own, Hierarchy) else own:
            out.setdefault(dim, {}).update(one.labels)
    for dim, found in from_rows.items():
        out.setdefault(dim, {}).update(found)
    for dim, said in (given or {}).items():
        if isinstance(said, Mapping):
            out.setdefault(dim, {}).update(said)
    return {dim: words for dim, words in out.items() if words}
