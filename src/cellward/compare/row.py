"""Row: one method on the table: what came of it, what attackers get, what users lose. Confidential."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from cellward.advise.advice import options_said, setting_of
from cellward.compare.entries import Entry
from cellward.compare.risk import Risk
from cellward.compare.rivals.rival import Rival
from cellward.compare.utility import Utility
from cellward.protect.method import Method
from cellward.protect.option import options_of

Answer = Literal["protects", "rival", "not protected", "none exists", "undecided", "refused", "failed"]
"""Found and shown to protect; a rival, drawn and attacked; found, and not shown to protect; proven that there is none; not decided in its time; not
what the method is for; an error."""
ENDED = ("protects", "rival")


@dataclass(frozen=True, kw_only=True)
class Row:
    """``mark``: its letter (ours) or number (rivals) on the map. ``kind``: of what is printed: values, withheld or ranges. ``limit_reached``: the
    time ended the search. ``reason``: why nothing came of it, or what is to be known of it."""

    mark: str
    entry: Entry
    answer: Answer
    seconds: float = 0.0
    kind: str = ""
    gap: float | None = None
    limit_reached: bool = False
    risk: Risk | None = None
    utility: Utility | None = None
    reason: str = ""

    @property
    def rival(self) -> bool:
        """Whether it is a method of others, which makes no release."""
        return isinstance(self.entry, Rival)

    @property
    def setting(self) -> str:
        """The method with what is chosen of its options."""
        if isinstance(self.entry, Method):
            return setting_of(self.entry)
        return ", ".join((self.entry.title, *(f"{name} {_words(one)}" for name, one in self._options.items())))

    @property
    def _options(self) -> dict[str, Any]:
        """What is chosen of the options, in what JSON can hold."""
        if isinstance(self.entry, Method):
            return options_said(self.entry)
        given = {name: getattr(self.entry, name) for name in options_of(type(self.entry))}
        return {name: one for name, one in given.items() if one is not None}

    @property
    def name(self) -> str:
        """The same for a table: a rival is called one, and steps as few as are found are left out."""
        return f"{self.setting} (rival)" if self.rival else self.setting.replace(", max steps auto", "")

    @property
    def safe(self) -> bool:
        """Whether it may be recommended: ours, shown to protect, nothing given away."""
        return not self.rival and self.answer == "protects" and self.risk is not None and self.risk.safe

    @property
    def distances(self) -> bool:
        """Whether it promises distances and no intervals."""
        return (
            self.answer == "protects" and self.risk is not None and self.risk.asking > 0 and self.risk.narrowest is None
        )

    def flat(self) -> dict[str, Any]:
        """One line of a CSV or a frame."""
        out: dict[str, Any] = {
            "mark": self.mark, "method": self.setting, "rival": self.rival, "answer": self.answer, "printed": self.kind,
            "seconds": round(self.seconds, 3), "limit_reached": self.limit_reached, "gap": self.gap,
        }  # fmt: skip
        risk = None if self.risk is None else {**asdict(self.risk), "disclosed": self.risk.disclosed}
        for name, column in RISK.items():
            out[column] = None if risk is None else risk[name]
        utility = None if self.utility is None else asdict(self.utility)
        for name in UTILITY:
            out[name] = None if utility is None else utility[name]
        out["by_level"] = None if utility is None else " ".join(f"{one:.6g}" for one in utility["by_level"])
        return {**out, "reason": self.reason}

    def to_dict(self) -> dict[str, Any]:
        """By name, for ``--json``."""
        return {
            "mark": self.mark,
            "method": self.entry.word,
            "options": self._options,
            "rival": self.rival,
            "answer": self.answer,
            "printed": self.kind,
            "seconds": round(self.seconds, 3),
            "gap": self.gap,
            "limit_reached": self.limit_reached,
            "risk": None if self.risk is None else {**asdict(self.risk), "disclosed": self.risk.disclosed},
            "utility": None if self.utility is None else asdict(self.utility),
            "reason": self.reason,
        }


RISK = {
    "asking": "asking", "unmet": "unmet", "disclosed": "disclosed", "exact": "exact", "undecided": "undecided", "narrowest": "narrowest",
    "equations": "equations_missed", "of_equations": "equations", "largest": "largest_miss",
}  # fmt: skip
"""What is measured of the risk, and the columns of a frame."""
UTILITY = (
    "loss", "leaves", "margins", "margin_change", "total_change", "bias", "rank", "cramers_v", "chi_square", "slope", "changed", "unprinted",
)  # fmt: skip


def _words(one: Any) -> str:
    return str(one) if isinstance(one, str) else f"{one:,}"
