"""What the vault says where it gives no table: a sentence with a code and a remedy, nothing about the data in it."""

from __future__ import annotations

from cellward.errors import CellwardError


class SaidError(CellwardError):
    """Base of what is said instead of an answer; ``kind`` is the key under which it travels."""

    kind = "error"

    def __init__(self, code: str, sentence: str, remedy: str) -> None:
        super().__init__(f"{sentence}; {remedy}")
        self.code, self.sentence, self.remedy = code, sentence, remedy

    @property
    def shape(self) -> dict[str, str]:
        """The one shape of all of them."""
        return {"code": self.code, "sentence": self.sentence, "remedy": self.remedy}


class BadRequestError(SaidError):
    """The request cannot be understood or is beyond what is allowed; it depends on the request and on public facts alone."""


class RefusedError(SaidError):
    """The request is understood and not answered."""

    kind = "refusal"
