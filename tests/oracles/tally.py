"""What was seen on many random cases: counts, counts by kind, and where cellward and an oracle differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Tally:
    """Adds up over cases, and over processes; ``tell`` takes the differences as they come."""

    count: Counter[str] = field(default_factory=Counter)
    by: dict[str, Counter[Any]] = field(default_factory=lambda: defaultdict(Counter))
    differences: list[str] = field(default_factory=list)

    def differ(self, lines: list[str], tell: Callable[[str], None] | None = None) -> None:
        self.differences += lines
        for line in lines if tell is not None else ():
            tell(line)

    def add(self, other: Tally) -> None:
        self.count.update(other.count)
        for name, split in other.by.items():
            self.by[name].update(split)
        self.differences += other.differences

    @property
    def rows(self) -> list[list[object]]:
        """Name and count, as a table shows them."""
        rows: list[list[object]] = [[name, f"{count:,}"] for name, count in self.count.items()]
        for name, split in self.by.items():
            rows += [[f"by {name}: {key}", f"{count:,}"] for key, count in sorted(split.items())]
        return rows
