"""Options of what a folder gets beside the release itself: further formats with the user's words, and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand

from cellward.cli.options import Options, in_panel
from cellward.errors import InputError
from cellward.outputs import Formats
from cellward.report.editions import INTERNAL, PUBLIC
from cellward.report.written import NO_REPORT, PLAIN

REPORTS: Options = {
    "report": (
        str | None,
        typer.Option(
            None,
            "--report",
            metavar="[internal|public]",
            help="Give the report of the folder pictures (internal, the same as --report alone), and write public.html beside it (public).",
        ),
    ),
    "no_report": (bool, typer.Option(False, "--no-report", help="Write no report.html into the folder.")),
}
WRITING: Options = in_panel(
    {
        "formats": (
            list[str] | None,
            typer.Option(
                None,
                "--format",
                help="Write the release in further formats: xlsx, sdmx-csv, json-stat, px, parquet, latex, markdown; repeatable, or "
                "separated by commas.",
            ),
        ),
        "title": (str, typer.Option("", "--title", help="Title in the files of --format.")),
        "footnotes": (
            list[str] | None,
            typer.Option(None, "--footnote", help="Footnote in the files of --format; repeatable."),
        ),
        **REPORTS,
    },
    "What is written",
)


@dataclass(frozen=True)
class Wished:
    """What is written beside the release."""

    formats: Formats
    report: str

    @staticmethod
    def of(writing: dict[str, Any]) -> Wished:
        """By the options."""
        names = [name for entry in writing["formats"] or [] for name in entry.split(",")]
        formats = Formats.of(names, writing["title"], writing["footnotes"] or [], "--format")
        return Wished(formats, report_wished(writing) or PLAIN)


def report_wished(writing: dict[str, Any]) -> str | None:
    """What report the options ask for; None: they say nothing."""
    report, none = writing["report"], writing["no_report"]
    if none and report is not None:
        raise InputError("--report and --no-report do not go together; leave one out")
    if report is not None and report not in (INTERNAL, PUBLIC, PLAIN):
        raise InputError(f"--report {report}: use internal or public, or nothing behind it")
    return NO_REPORT if none else report


class ReportAlone(TyperCommand):
    """A command whose ``--report`` may stand without a word behind it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give it the word that is meant."""
        words = {INTERNAL, PUBLIC, PLAIN}
        follows = [*args[1:], ""][: len(args)]
        said = [
            f"--report={INTERNAL}" if one == "--report" and next_ not in words else one
            for one, next_ in zip(args, follows, strict=True)
        ]
        return list(super().parse_args(ctx, said))
