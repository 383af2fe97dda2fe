"""Unmoved: the note on cells at risk that are published as they are."""

from __future__ import annotations

from cellward.protection import Protection


def unmoved(result: Protection, why: str) -> list[str]:
    """A sentence, where there are any; ``why`` says how that comes."""
    v, unsafe = result.scaled, result.instance.sensitivity.unsafe
    many = 0 if v is None or not result.releasable else int((v[unsafe] == result.instance.a[unsafe]).sum())
    return [f"{many:,} of {len(unsafe):,} unsafe cells {why}are published as they are"] if many else []
