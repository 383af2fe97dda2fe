"""Metrics: counts and times in the text form of Prometheus; labels are routes, statuses and codes, never names or values."""

from __future__ import annotations

import bisect
from collections import defaultdict

BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
MOST_SERIES = 2_000
HELP = {
    "cellward_requests_total": ("counter", "Requests by route, method and status."),
    "cellward_answers_total": ("counter", "Tables handed out, by engine and whether all was published before."),
    "cellward_refusals_total": ("counter", "Requests for tables that were refused, by code."),
    "cellward_under_way": ("gauge", "Requests under way."),
    "cellward_vault_up": ("gauge", "Whether the vault answers."),
    "cellward_datasets": ("gauge", "Datasets that the vault serves."),
    "cellward_published_answers": ("gauge", "Answers in the ledger."),
}
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What is counted."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, Labels], float] = defaultdict(float)
        self._times: dict[str, list[float]] = {}

    def add(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Count."""
        key = name, tuple(sorted(labels.items()))
        if key in self._values or len(self._values) < MOST_SERIES:
            self._values[key] += amount

    def put(self, name: str, value: float) -> None:
        """State a level."""
        self._values[name, ()] = value

    def time(self, route: str, seconds: float) -> None:
        """Note how long a request took."""
        found = self._times.setdefault(route, [0.0] * (len(BOUNDS_S) + 2))
        found[bisect.bisect_left(BOUNDS_S, seconds)] += 1
        found[-1] += seconds

    def text(self) -> str:
        """All of it."""
        lines: list[str] = []
        for name, (kind, about) in HELP.items():
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
            lines += [
                f"{name}{_braces(labels)} {value:.15g}"
                for (own, labels), value in sorted(self._values.items())
                if own == name
            ]
        name = "cellward_request_seconds"
        lines += [f"# HELP {name} Seconds that requests took, by route.", f"# TYPE {name} histogram"]
        for route, found in sorted(self._times.items()):
            below = 0.0
            for bound, count in zip([*map(str, BOUNDS_S), "+Inf"], found[:-1], strict=True):
                below += count
                lines.append(f"{name}_bucket{_braces((('le', bound), ('route', route)))} {below:.15g}")
            lines.append(f"{name}_sum{_braces((('route', route),))} {found[-1]:.6f}")
            lines.append(f"{name}_count{_braces((('route', route),))} {below:.15g}")
        return "\n".join(lines) + "\n"


def _braces(labels: Labels) -> str:
    if not labels:
        return ""
    told = (f'{name}="{text}"' for name, text in labels)
    return "{" + ",".join(told) + "}"
