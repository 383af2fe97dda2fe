"""RESULTS.md: each benchmark owns one section of it and writes nothing else."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

SHARED = Path(os.environ.get("CELLWARD_SHARED", Path(__file__).resolve().parents[2] / "shared")).resolve()
"""Third-party data, used from there."""
RESULTS = Path(__file__).with_name("RESULTS.md")
HEAD = "# Results\n\nWritten by the scripts in this folder; each section names its script. Times are of a shared machine: trust the ratios.\n"


def write_section(script: str, title: str, body: str) -> None:
    """Replace (or add) the section of one script."""
    text = RESULTS.read_text() if RESULTS.exists() else HEAD
    start, end = f"<!-- {script} -->", f"<!-- end {script} -->"
    section = f"{start}\n## {title}\n\n`python benchmarks/{script}`; {_setting()}\n\n{body.strip()}\n{end}\n"
    if start in text:
        before, rest = text.split(start, 1)
        text = before + section + rest.split(end + "\n", 1)[1]
    else:
        text = text.rstrip("\n") + "\n\n" + section
    RESULTS.write_text(text)


def section_of(script: str) -> str:
    """What the section of a script says now."""
    text = RESULTS.read_text() if RESULTS.exists() else ""
    return text.partition(f"<!-- {script} -->")[2].partition(f"<!-- end {script} -->")[0]


def rows_of(section: str, head: list[str]) -> list[list[str]]:
    """The rows of the Markdown table with this head in a section; none where there is no such table."""
    _, found, below = section.partition("| " + " | ".join(head) + " |\n")
    lines = below.split("\n\n")[0].splitlines()[1:] if found else []
    return [[entry.strip() for entry in line.strip().strip("|").split("|")] for line in lines if line.startswith("|")]


def _setting() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("cellward", "highspy", "ortools", "numpy"))
    return f"Python {platform.python_version()}, {packages}."


def table(head: list[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(str(entry) for entry in row) + " |" for row in rows]
    return "\n".join(lines)


@dataclass
class Report:
    """Sections of text, and what fell short."""

    sections: list[str] = field(default_factory=list)
    short: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        print(text, "\n", flush=True)
        self.sections.append(text)

    def require(self, holds: object, what: str) -> None:
        if not holds:
            print(f"FALLS SHORT: {what}", flush=True)
            self.short.append(what)

    @property
    def verdict(self) -> str:
        return "**Everything holds.**" if not self.short else "**Falls short:** " + "; ".join(self.short)


def run_parts(script: str, title: str, parts: dict[str, str], figures: Callable[..., None], about: str | None) -> int:
    """The command line of a benchmark in parts: each computes its figures and writes its section; 1 when one falls short.

    ``parts``: what each part shows, in the order in which they are run. ``--quick`` writes nothing.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", choices=parts, action="append", help="only this part; repeatable")
    options = parser.parse_args()
    short: list[str] = []
    for part in options.part or parts:
        report = Report()
        figures(report, part, quick=options.quick)
        if not options.quick:
            body = "\n\n".join([report.verdict, *report.sections])
            write_section(f"{script} --part {part}", f"{title}: {parts[part]}", body)
        short += report.short
    print(Report(short=short).verdict)
    return 1 if short else 0
