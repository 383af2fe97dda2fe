"""What a judge says of a certificate or of a public file."""

from __future__ import annotations

from dataclasses import dataclass

MALFORMED, FALSE, EVIDENCE, TRUE = "malformed", "claim false", "only evidence false", "still true"
BAD = (MALFORMED, FALSE, EVIDENCE)


@dataclass(frozen=True)
class Judgement:
    kind: str
    reason: str = ""
    sound: bool = True
    """False: a claim is false and all evidence is as the specification asks, which would be a gap in the specification."""
