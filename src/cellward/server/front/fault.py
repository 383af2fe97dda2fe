"""Faults: the one shape of everything that goes wrong, a code, a sentence and a remedy, with the status that HTTP gives it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cellward.errors import printable

CODE = re.compile(r"[a-z][a-z0-9_-]{0,39}")
REFUSED = 409
"""The status of a refusal: the request is in order, and what was published before, or the rules, stand against it."""
OF_THE_VAULT = {
    **dict.fromkeys(("dataset", "answer"), 404),
    **dict.fromkeys(("resources", "busy"), 503),
    "failed": 500,
}
"""The status of what is not there and of what the vault cannot do; whatever else it complains of is in the request."""


@dataclass(eq=False)
class Fault(Exception):  # noqa: N818 (a refusal is no error)
    """Something that went wrong, as the client is told."""

    status: int
    code: str
    sentence: str
    remedy: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """The one shape."""
        return json.dumps(
            {"code": self.code, "sentence": self.sentence, "remedy": self.remedy}, ensure_ascii=False
        ).encode()


def told_by_the_vault(said: Any, *, refusal: bool = False) -> Fault:
    """A refusal or an error of the vault; one that is in no order says nothing of what was in it."""
    parts = [said.get(part) if isinstance(said, dict) else None for part in ("code", "sentence", "remedy")]
    code, sentence, remedy = parts
    if not (isinstance(code, str) and isinstance(sentence, str) and isinstance(remedy, str) and CODE.fullmatch(code)):
        return broken()
    status = REFUSED if refusal else OF_THE_VAULT.get(code, 422)
    return Fault(status, code, printable(sentence), printable(remedy), {"Retry-After": "2"} if status == 503 else {})


def broken() -> Fault:
    """A mistake of ours."""
    return Fault(500, "internal", "the server made a mistake", "report it with the X-Request-Id of this answer")


def away() -> Fault:
    """No vault answers."""
    sentence = "the vault does not answer at the moment"
    return Fault(503, "vault-away", sentence, "ask again in a few seconds", {"Retry-After": "2"})
