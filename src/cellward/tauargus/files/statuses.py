"""Statuses in the words of others: τ-ARGUS' letters and numbers, the SBS flags, SDMX' CONF_STATUS and OBS_STATUS, and rtauargus' letters.

All are mapped from our own :class:`CellStatus` and, for unsafe cells, from the kind of the rule that found them; none is mixed with another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cellward.errors import InputError
from cellward.risk.concentration import Concentration
from cellward.risk.dominance import Dominance
from cellward.risk.request import Request
from cellward.risk.rule import Rule
from cellward.risk.threshold import Threshold
from cellward.risk.zero import Zero
from cellward.table.sensitivity import CellStatus
from cellward.table.table import Table

SAFE, UNSAFE, SECONDARY, FIXED, EMPTY = "safe", "unsafe", "secondary", "fixed", "empty"
_STATE = {
    CellStatus.SAFE: SAFE,
    CellStatus.UNSAFE: UNSAFE,
    CellStatus.SECONDARY: SECONDARY,
    CellStatus.FIXED: FIXED,
}


WORDS = {SAFE: "safe", UNSAFE: "primary", SECONDARY: "secondary", FIXED: "frozen", EMPTY: "empty"}
"""What we call them in files of statuses."""


@dataclass(frozen=True)
class CellState:
    """What a cell is, and for an unsafe one the rule that says so (None: a person, or a file)."""

    state: str
    rule: Rule | None = None

    @property
    def withheld(self) -> bool:
        """Whether a suppression does not show it."""
        return self.state in (UNSAFE, SECONDARY)


def states_of(table: Table) -> list[CellState]:
    """The state of every cell; a fixed cell of value 0 behind which nobody stands is an empty one.

    Where several rules call a cell unsafe, the concentration rules come first, as they do in τ-ARGUS.
    """
    rules: dict[int, Rule] = {}
    if table.findings is not None:
        found = list(zip(table.findings.rules, table.findings.hits, strict=True))
        for rule, hits in sorted(found, key=lambda pair: not isinstance(pair[0], Concentration)):
            for cell in hits.tolist():
                rules.setdefault(cell, rule)
    c = table.contributions
    nobody = table.scaled == 0 if c is None else (table.scaled == 0) & (c.rows == 0)
    empty = table.sensitivity.fixed & nobody
    out = []
    for i, code in enumerate(table.sensitivity.status.tolist()):
        state = EMPTY if empty[i] else _STATE[CellStatus(code)]
        out.append(CellState(state, rules.get(i) if state == UNSAFE else None))
    return out


def with_pattern(table: Table, hidden: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Table:
    """The same table as a pattern of withheld cells leaves it: of cells that are not at risk, those withheld are secondary, and no others."""
    s = table.sensitivity
    plain = np.where(s.status == CellStatus.SECONDARY, CellStatus.SAFE, s.status)
    status = np.where(hidden & (s.status != CellStatus.UNSAFE), CellStatus.SECONDARY, plain)
    return table.with_sensitivity(replace(s, status=status.astype(np.uint8)))


def letter(cell: CellState) -> str:
    """τ-ARGUS' letter in a table file: S, U, P, M or E."""
    return {SAFE: "S", UNSAFE: "U", SECONDARY: "M", FIXED: "P", EMPTY: "E"}[cell.state]


def number(cell: CellState) -> str:
    """τ-ARGUS' number, 1 to 14."""
    if cell.state == UNSAFE:
        for kind, code in ((Concentration, "3"), (Request, "4"), (Threshold, "5"), (Zero, "6")):
            if isinstance(cell.rule, kind):
                return code
        return "9"
    return {SAFE: "1", FIXED: "10", SECONDARY: "11", EMPTY: "14"}[cell.state]


def sbs(cell: CellState) -> str:
    """The flag of structural business statistics: A too few, B one dominates, C several do, F by the p % rule, D secondary, V for all to see."""
    if cell.state != UNSAFE:
        return "D" if cell.state == SECONDARY else "V"
    if isinstance(cell.rule, Dominance):
        return "B" if cell.rule.n == 1 else "C"
    return "F" if isinstance(cell.rule, Concentration) else "A" if isinstance(cell.rule, Threshold) else "B"


def conf_status(cell: CellState) -> str:
    """SDMX CONF_STATUS: F free, D secondary (the sender's), A small counts, O dominance by one, T by two, M other concentration, C confidential."""
    if cell.state != UNSAFE:
        return "D" if cell.state == SECONDARY else "F"
    if isinstance(cell.rule, Dominance) and cell.rule.n <= 2:
        return "O" if cell.rule.n == 1 else "T"
    return "M" if isinstance(cell.rule, Concentration) else "A" if isinstance(cell.rule, Threshold) else "C"


def obs_status(cell: CellState) -> str:
    """SDMX OBS_STATUS: Q where a value is withheld, A (normal) elsewhere."""
    return "Q" if cell.withheld else "A"


def rtauargus(cell: CellState) -> str:
    """rtauargus' letter: A frequency, B dominance, D secondary, V safe."""
    if cell.state != UNSAFE:
        return "D" if cell.state == SECONDARY else "V"
    return "A" if isinstance(cell.rule, Threshold) else "B"


def word(cell: CellState) -> str:
    """Our own word: safe, primary, secondary, frozen or empty."""
    return WORDS[cell.state]


STYLES: dict[str, dict[str, Callable[[CellState], str]]] = {
    "cellward": {"Status": word},
    "tauargus": {"Status": number},
    "sdmx": {"CONF_STATUS": conf_status, "OBS_STATUS": obs_status},
    "rtauargus": {"Status": rtauargus},
}
"""How statuses are written beside values, by name: the columns and what stands in them."""


def style(name: str) -> dict[str, Callable[[CellState], str]]:
    """The columns of a style; letters of one's own are written ``safe=S,primary=P,secondary=X``, and what is not named stays empty."""
    if "=" in name:
        letters = dict(pair.strip().partition("=")[::2] for pair in name.split(","))
        if unknown := [own for own in letters if own not in WORDS.values()]:
            raise InputError(f"statuses: {unknown[0]!r} is no status; use {', '.join(WORDS.values())}")
        return {"Status": lambda cell: letters.get(WORDS[cell.state], "")}
    if name not in STYLES:
        raise InputError(
            f"statuses={name!r} is not known; use {', '.join(map(repr, STYLES))}, or letters of your own, safe=S,primary=P,secondary=X"
        )
    return STYLES[name]


def withheld(states: list[CellState]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which cells a suppression does not show."""
    return np.array([cell.withheld for cell in states], np.bool_)
