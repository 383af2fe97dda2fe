"""Written: a report as a file, by its ending a page (.html) or Markdown (.md), internal or public; the same result gives the same bytes."""

from __future__ import annotations

import os
from pathlib import Path

from cellward.audit.audit import Audit
from cellward.errors import InputError
from cellward.files.whole import check_folder, write_whole
from cellward.protection import Protection
from cellward.report import html, markdown
from cellward.report.editions import EDITIONS, INTERNAL, PUBLIC, internal, public
from cellward.report.pictures.drawn import drawn, missing
from cellward.report.section import Block, Lines
from cellward.risk.attacker import Attacker
from cellward.table.labels import Labels

REPORT, PUBLIC_REPORT = "report.html", "public.html"
PLAIN, NO_REPORT = "plain", "none"
WISHES = (PLAIN, INTERNAL, PUBLIC, NO_REPORT)
"""What an output folder gets: the internal report without pictures, with them, the public one beside it, or none."""
MOST_CELLS, MOST_RISKY = 2000, 100
"""Cells of a table, and cells at risk, up to which a report with pictures has the exact ends of the public's intervals."""
_ENDINGS = {".html": "html", ".htm": "html", ".md": "md"}


def write_report(
    result: Protection,
    path: str | os.PathLike[str],
    *,
    edition: str = INTERNAL,
    title: str | None = None,
    audit: Audit | None = None,
    pictures: bool = True,
) -> Path:
    """Write the report of a result, whole or not at all; an internal one can be read by its owner alone."""
    target = Path(path)
    if target.suffix.lower() not in _ENDINGS:
        raise InputError(f"{target}: a report is a page or Markdown; give a name that ends in .html or .md")
    if edition not in EDITIONS:
        raise InputError(f"edition={edition!r} is not known; use 'internal' (confidential) or 'public'")
    if edition == PUBLIC and audit is not None:
        raise InputError("audit: its intervals are confidential; leave it out of the public edition")
    check_folder(target)
    text = report_text(
        result, edition=edition, ending=_ENDINGS[target.suffix.lower()], title=title, audit=audit, pictures=pictures
    )
    return write_whole(target, text.encode(), confidential=edition == INTERNAL)


def report_text(
    result: Protection,
    *,
    edition: str = INTERNAL,
    ending: str = "html",
    title: str | None = None,
    audit: Audit | None = None,
    pictures: bool = True,
) -> str:
    """The report as a text."""
    confidential = edition == INTERNAL
    if confidential:
        if pictures and audit is None:
            audit = exact_ends(result)
        sections = internal(
            result, _pictures(result, audit) if pictures and ending == "html" else _without(ending), audit
        )
    else:
        release = result.release()
        shown = drawn(release) if pictures and ending == "html" and missing() is None else []
        sections = public(release, shown)
    labels = result.instance.labels
    heading = title or _title(labels, confidential=confidential)
    subtitle = _subtitle(result, confidential=confidential)
    if ending == "md":
        badge = "Internal edition, confidential. " if confidential else "Public edition. "
        return markdown.render(heading, badge + subtitle, sections)
    return html.page(heading, subtitle, sections, confidential=confidential)


def check_wish(wish: object) -> str:
    """What a folder is to get, as users say it; yes is the internal report with pictures, no is none."""
    said = {True: INTERNAL, False: NO_REPORT}[wish] if isinstance(wish, bool) else wish
    if said not in WISHES:
        raise InputError(
            f"report={wish!r} is not known; use 'plain' (no pictures), 'internal' (with pictures), 'public' (the public one too) or 'none'"
        )
    return str(said)


def folder_reports(result: Protection, wish: str) -> dict[str, bytes]:
    """The reports of an output folder, by name."""
    if wish == NO_REPORT:
        return {}
    pictures = wish != PLAIN
    out = {REPORT: report_text(result, pictures=pictures).encode()}
    if wish == PUBLIC:
        out[PUBLIC_REPORT] = report_text(result, edition=PUBLIC).encode()
    return out


def exact_ends(result: Protection) -> Audit | None:
    """What the public is left with of the cells at risk, where a moderate table makes it a matter of moments; None where it takes longer."""
    known, risky = result.knowledge, result.instance.sensitivity.unsafe
    if known is None or not known.intervals or not result.protected or not 0 < len(risky) <= MOST_RISKY:
        return None
    if result.instance.cells > MOST_CELLS:
        return None
    found = result.audit(cells=risky.tolist(), attackers=[Attacker.external()])
    return None if found.open or found.claimed else found


def _pictures(result: Protection, audit: Audit | None) -> list[Block]:
    """What can be drawn, or a sentence where nothing can."""
    why = missing()
    return drawn(result, audit) if why is None else [Lines((why,))]


def _without(ending: str) -> list[Block]:
    if ending == "md":
        return []
    return [
        Lines(
            (
                "This report was made without pictures. With --report on the command line, or p.report in Python, it has them.",
            )
        )
    ]


def _title(labels: Labels, *, confidential: bool) -> str:
    what = " × ".join(labels.dims) if labels.dims else f"{labels.cells:,} cells"
    return f"Protection report: {what}" if confidential else f"Protected table: {what}"


def _subtitle(result: Protection, *, confidential: bool) -> str:
    name = str(result.method.get("name", ""))
    said = (
        "This report holds true values: it is for those who may see them, and is signed before the table is released."
        if confidential
        else "What is published, how it was made, and how to read it."
    )
    return f"{name[:1].upper()}{name[1:]}. {said}"
