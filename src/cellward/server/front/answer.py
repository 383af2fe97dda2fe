"""An answer: a published table as the vault gives it, checked, its values exact decimals as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cellward.server.front.fault import broken

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
IDENTITY = re.compile(r"[A-Za-z0-9_.:-]{1,80}")


@dataclass(frozen=True)
class Answer:
    """A table: a row of codes and a value for each cell."""

    id: str
    dataset: str
    dimensions: tuple[str, ...]
    measure: str
    rows: Sequence[Sequence[str]]
    decimals: int
    engine: str
    statement: str
    from_ledger: bool

    @classmethod
    def read(cls, said: Any) -> Answer:
        """What the vault said; anything that was not agreed is refused without a word of what it was."""
        try:
            columns, rows = said["columns"], said["rows"]
            answer = cls(
                id=said["id"], dataset=said["dataset"], dimensions=tuple(columns[:-1]), measure=columns[-1], rows=rows,
                decimals=said["decimals"], engine=said["engine"], statement=said["statement"], from_ledger=bool(said.get("from_ledger", False)),
            )  # fmt: skip
            right = IDENTITY.fullmatch(answer.id) is not None and isinstance(answer.decimals, int)
            right = right and all(
                isinstance(text, str) for text in (*columns, answer.dataset, answer.engine, answer.statement)
            )
            right = right and all(_in_order(row, len(columns)) for row in rows)
        except (KeyError, TypeError, IndexError):
            right = False
        if not right:
            raise broken()
        return answer

    @property
    def columns(self) -> tuple[str, ...]:
        """The dimensions and the measure."""
        return (*self.dimensions, self.measure)


def _in_order(row: Any, width: int) -> bool:
    return len(row) == width and all(type(text) is str for text in row) and NUMBER.fullmatch(row[-1]) is not None
