"""The safety rules of a batch as ours.

τ-ARGUS counts places: of the P and NK rules the first two look at records and the next two at holdings, of FREQ and REQ the first looks at
records and the second at holdings. A parameter 0 switches a place off. WGT(1) weighs the values, WGT(2) and WGT(3) the rules too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from cellward.errors import InputError
from cellward.risk.concentration import Concentration
from cellward.risk.dominance import Dominance
from cellward.risk.p_percent import PPercent
from cellward.risk.prior_posterior import PriorPosterior
from cellward.risk.request import Request
from cellward.risk.rule import Rule
from cellward.risk.threshold import Threshold
from cellward.risk.zero import Zero
from cellward.tauargus.files.arb import Call, SafetyRule
from cellward.tauargus.files.rda import Metadata
from cellward.tauargus.files.tab import MANUAL_PERCENT

PLACES = {"P": 4, "NK": 4, "FREQ": 2, "REQ": 2, "ZERO": 1, "WGT": 1, "MIS": 1, "MAN": 1}
"""How often each may stand in one command."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a <SAFETYRULE> asks for."""

    rules: tuple[Rule, ...] = ()
    holdings: bool = False
    weighted: bool = False
    missing_safe: bool = False
    manual_percent: str = MANUAL_PERCENT

    @property
    def requested(self) -> bool:
        """Whether it matters who asked for protection."""
        return any(isinstance(rule, Request) for rule in self.rules)

    @property
    def largest(self) -> int:
        """How many of the largest contributions the rules look at."""
        return max((rule.needs for rule in self.rules if isinstance(rule, Concentration)), default=0)


def rules_of(command: SafetyRule | None, metadata: Metadata) -> Rules:
    """The rules of a command; errors say what is not carried out."""
    if command is None:
        return Rules()
    reader = _RulesReader(command.where, metadata)
    for call in command.rules:
        try:
            reader.take(call)
        except InputError as error:
            said = str(error)
            raise error if said.startswith(command.where) else InputError(f"{command.where}: {call}: {said}") from None
    return reader.rules()


class _RulesReader:
    """Takes rule after rule and counts their places."""

    def __init__(self, where: str, metadata: Metadata) -> None:
        self.where, self.metadata = where, metadata
        self.seen: dict[str, int] = {}
        self.found: list[Rule] = []
        self.of_records = self.of_holdings = False
        self.settings: dict[str, str] = {}

    def take(self, call: Call) -> None:
        name = call.name
        if name not in PLACES:
            raise InputError(f"{self.where}: the rule {call} is not known; use {', '.join(PLACES)}")
        place = self.seen[name] = self.seen.get(name, 0) + 1
        if place > PLACES[name]:
            raise InputError(
                f"{self.where}: {name} stands {place} times, and has {PLACES[name]} places; leave some out"
            )
        numbers = [_number(text, call) for text in call.given if text]
        if not any(numbers) and name not in ("WGT", "MIS", "MAN"):
            return
        if name in ("P", "NK"):
            self._concentration(call, numbers, holdings=place > 2)
        elif name == "FREQ":
            if len(numbers) != 2:
                raise InputError(f"{self.where}: {call}; write FREQ(minimum, percent)")
            self.of_holdings |= place == 2
            if numbers[0] > 1:  # a minimum of one is met wherever someone stands
                by = "units" if place == 2 else "records"
                self.found.append(Threshold(int(numbers[0]), by=by, percent=numbers[1] or None))
        elif name == "ZERO":
            self.found.append(Zero(units=numbers[0]))
        elif name == "REQ":
            self._request(call, numbers, holdings=place == 2)
        else:
            self._setting(call)

    def _concentration(self, call: Call, numbers: list[Decimal], *, holdings: bool) -> None:
        """P(p, n), P(p, q, n) or NK(n, k)."""
        if not 1 <= len(numbers) <= (3 if call.name == "P" else 2) or (call.name == "NK" and len(numbers) != 2):
            raise InputError(f"{self.where}: {call}; write P(p, n), P(p, q, n) or NK(n, k)")
        if not numbers[0] or (call.name == "NK" and not numbers[1]):
            return
        if call.name == "NK":
            self.found.append(Dominance(int(numbers[0]), numbers[1]))
        else:
            p, q = numbers[0], numbers[1] if len(numbers) == 3 else Decimal(100)
            n = int(numbers[-1]) if len(numbers) > 1 else 1
            self.found.append(PPercent(p, n=n or 1) if q == 100 else PriorPosterior(p, q, n or 1))
        self.of_holdings |= holdings
        self.of_records |= not holdings

    def _request(self, call: Call, numbers: list[Decimal], *, holdings: bool) -> None:
        """REQ(percent of the first code, percent of the second, minimum frequency, margin)."""
        if len(numbers) != 4:
            raise InputError(f"{self.where}: {call}; write REQ(percent, percent, frequency, margin)")
        if numbers[2]:
            raise InputError(
                f"{self.where}: {call}: a minimum frequency beside a request is not carried out; give 0, and FREQ beside it"
            )
        asking = self.metadata.of_role("request")
        if not asking:
            raise InputError(
                f"{self.where}: {call}: no variable in {self.metadata.path.name} is a <REQUEST>; name it there"
            )
        codes = asking[0].request_codes or ("1",)
        for share, code in zip(numbers[:2], codes, strict=False):
            if share:
                self.found.append(Request(share, code, percent=numbers[3] or None))
        self.of_holdings |= holdings
        self.of_records |= not holdings

    def _setting(self, call: Call) -> None:
        """WGT(0|1|2|3), MIS(0|1) or MAN(percent)."""
        text = call.given[0] if len(call.given) == 1 else ""
        known = {"WGT": ("0", "1", "2", "3"), "MIS": ("0", "1")}.get(call.name)
        if known is not None and text not in known:
            raise InputError(f"{self.where}: {call}; write {call.name} with one of {', '.join(known)}")
        _number(text, call)
        self.settings[call.name] = text

    def rules(self) -> Rules:
        if self.of_records and self.of_holdings:
            raise InputError(
                f"{self.where}: rules for records and rules for holdings in one table are not carried out; keep one kind"
            )
        weighted = self.settings.get("WGT", "0")
        if weighted != "0" and not self.metadata.of_role("weight"):
            raise InputError(
                f"{self.where}: WGT({weighted}), and no variable in {self.metadata.path.name} is a <WEIGHT>; name it there"
            )
        if self.of_holdings and not self.metadata.of_role("holding"):
            raise InputError(
                f"{self.where}: rules for holdings, and no variable in {self.metadata.path.name} is a <HOLDING>; name it there"
            )
        found = [replace(r, weights=weighted != "1") if isinstance(r, Concentration) else r for r in self.found]
        return Rules(
            rules=tuple(dict.fromkeys(found)),
            holdings=self.of_holdings,
            weighted=weighted != "0",
            missing_safe=self.settings.get("MIS") == "1",
            manual_percent=self.settings.get("MAN", MANUAL_PERCENT),
        )


def _number(text: str, call: Call) -> Decimal:
    if not text or len(text) > 12 or not text.replace(".", "", 1).isdigit() or not text.isascii():
        raise InputError(f"{call}: {text!r} is no number from 0; correct it")
    return Decimal(text)
