"""Trials: each entry gets its share of the time; what goes wrong with one is a row, and not the end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from time import perf_counter
from typing import Any

import numpy as np

from cellward.advise.trial import Trials, most_steps
from cellward.compare.entries import Entry
from cellward.compare.risk import attacked, shown_risk
from cellward.compare.rivals.rival import Rival
from cellward.compare.row import Answer, Row
from cellward.compare.utility import Yardstick
from cellward.errors import InputError, TimeLimitError, described
from cellward.instance import Instance
from cellward.protect.method import Method
from cellward.protection import Protection
from cellward.publication.withheld import Withheld
from cellward.risk.attacker import Attacker
from cellward.solve.alarm import alarm
from cellward.solve.budget import Budget
from cellward.table.table import Table

SEARCH, AGAIN = 3.0, 0.25
"""A search, and showing what it found, gets so many times what an attack on a rival gets; what was left undecided is kept so much for another try."""
LONGER = 1.5
"""What was not decided is tried again where there is so many times the time it had."""
NO_TIME = "there was no time left to try it"


@dataclass(frozen=True, eq=False)
class Contest:
    """One table, its attackers, and the time that all entries share."""

    table: Table
    attackers: Sequence[Attacker] | None
    instance: Instance
    budget: Budget

    def rows(self, entries: Sequence[Entry]) -> list[Row]:
        """A row each, ours first. Rivals are tried first: they take least, and leave the others the rest; at last those left undecided, again."""
        self._pay_once()
        first = [(mark, entry) for mark, entry in zip(_marks(entries), entries, strict=True)]
        order = sorted(first, key=lambda one: not isinstance(one[1], Rival))
        found: dict[str, Row] = {}
        for k, (mark, entry) in enumerate(order):
            others = sum(_weight(one) for _, one in order[k + 1 :]) + AGAIN * len(_open(found.values()))
            found[mark] = self._row(mark, entry, self._part(_weight(entry), others))
        again = sorted(_open(found.values()), key=lambda row: -row.seconds)
        for k, row in enumerate(again):
            part = self._part(1, len(again) - k - 1)
            if part.left is not None and part.left > LONGER * row.seconds:
                found[row.mark] = self._row(row.mark, row.entry, part)
        return [found[mark] for mark, _ in sorted(first, key=lambda one: isinstance(one[1], Rival))]

    def _pay_once(self) -> None:
        """What the first entry would pay for all: libraries that are loaded when they are needed, and what is measured of the true table."""
        try:
            with alarm(self.budget):
                self._yardstick.measure(self.instance, Withheld.of(self.instance.a, np.zeros(0, np.int64)))
        except TimeLimitError:
            return

    def _part(self, weight: float, others: float) -> Budget:
        """The share of what is left that goes with a weight, others having theirs."""
        left = self.budget.left
        return self.budget.part(None if left is None else left * weight / (weight + others))

    def _row(self, mark: str, entry: Entry, part: Budget) -> Row:
        began = perf_counter()
        facts: dict[str, Any]
        if part.over:
            facts = {"answer": "undecided", "reason": NO_TIME}
        else:
            try:
                facts = self._rival(entry, part) if isinstance(entry, Rival) else self._ours(entry, part)
            except InputError as error:
                facts = {"answer": "refused", "reason": str(error)}
            except TimeLimitError as error:
                facts = {"answer": "undecided", "limit_reached": True, "reason": str(error)}
            except KeyboardInterrupt:  # what was compared before is still worth saying
                self.budget.stop()
                facts = {"answer": "undecided", "limit_reached": True, "reason": "it was interrupted"}
            except Exception as error:  # noqa: BLE001 (whatever goes wrong with one method, the others are still compared)
                facts = {"answer": "failed", "reason": described(error)}
        return Row(mark=mark, entry=entry, seconds=perf_counter() - began, **facts)

    def _ours(self, method: Method, part: Budget) -> dict[str, Any]:
        """Protected as for a release, with a key that everybody can make: nothing of it is kept but what is measured."""
        trials = Trials(self.table, self.attackers, part, key_of(part.seed))
        trial, found = trials.with_result(method, part.left)
        answer: Answer = trial.answer  # type: ignore[assignment] # "public only" is the adviser's
        if found is None or found.publication is None:
            reached = found is not None and found.run.limit_reached
            return {"answer": answer, "reason": trial.reason, "limit_reached": reached}
        if answer != "protects":
            return {"answer": "not protected", "reason": trial.reason, "limit_reached": found.run.limit_reached}
        return {
            "answer": answer, "kind": found.publication.kind, "gap": found.gap, "limit_reached": found.run.limit_reached,
            "reason": _steps(found), "risk": shown_risk(found),
            "utility": self._yardstick.measure(found.instance, found.publication),
        }  # fmt: skip

    def _rival(self, rival: Rival, part: Budget) -> dict[str, Any]:
        """Drawn from the seed, and attacked."""
        part.enter("attacking")
        with alarm(part):
            drawn = rival.drawn(self.instance, part.seed)
            utility = self._yardstick.measure(drawn.instance, drawn.publication)
        risk = attacked(drawn, part)
        return {
            "answer": "rival", "kind": drawn.publication.kind, "limit_reached": risk.undecided > 0, "reason": f"attackers know that {rival.tells}",
            "risk": risk, "utility": utility,
        }  # fmt: skip

    @cached_property
    def _yardstick(self) -> Yardstick:
        return Yardstick(self.instance)


def key_of(seed: int) -> bytes:
    """The key of draws, a function of the seed, so that a comparison can be made again; no release is made with it."""
    return hashlib.sha256(f"cellward compare {seed}".encode()).digest()


def _marks(entries: Sequence[Entry]) -> Iterator[str]:
    """Letters for ours, numbers for rivals, in their order."""
    ours = rivals = 0
    for entry in entries:
        if isinstance(entry, Rival):
            rivals += 1
            yield str(rivals)
        else:
            yield (ascii_uppercase[ours] if ours < len(ascii_uppercase) else f"Z{ours}")
            ours += 1


def _weight(entry: Entry) -> float:
    return 1.0 if isinstance(entry, Rival) else SEARCH


def _open(rows: Iterable[Row]) -> list[Row]:
    """Those that time left undecided, and that more of it may decide."""
    return [row for row in rows if row.limit_reached and (row.rival or row.answer == "undecided")]


def _steps(found: Protection) -> str:
    steps = most_steps(found)
    return f"it took {steps} steps" if steps > 1 else ""
