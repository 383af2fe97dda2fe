"""What came of it: the verdict, the numbers that matter with a sentence each, and the cells at risk with the reasons. Confidential."""

from __future__ import annotations

from cellward.protection import Protection
from cellward.publication.ranges import Ranges
from cellward.publication.withheld import Withheld
from cellward.report.numbers import grouped, many, number
from cellward.report.section import Block, Fact, Facts, Figures, Lines, Verdict
from cellward.report.sections.outcome import conclusions, notes, reason_of

_MOST_LISTED = 25


def glance(result: Protection) -> list[Block]:
    """The page's first screen."""
    return [Verdict(*_verdict(result)), Facts(tuple(_facts(result)))]


def _verdict(result: Protection) -> tuple[str, bool]:
    if result.publication is None:
        return f"Nothing can be published ({result.status}): {reason_of(result)}.", False
    if not result.releasable:
        return f"Not to be published: {reason_of(result)}.", False
    if result.ignore_levels:
        return (
            "Nothing in the table gives a cell at risk away exactly. The protection levels were not looked at, as was asked for.",
            True,
        )
    if result.protected is None:
        return "The table may be published. No protection levels were asked for.", True
    if result.knowledge is not None and not result.knowledge.intervals:
        return (
            "The table may be published: every cell at risk is at least its protection level away from the truth.",
            True,
        )
    return "The table may be published: every protection level is shown to hold against every attacker.", True


def _facts(result: Protection) -> list[Fact]:
    i, p = result.instance, result.publication
    across = f" across {many(len(i.labels.dims), 'dimension')} ({' × '.join(i.labels.dims)})" if i.labels.dims else ""
    risky = len(i.sensitivity.unsafe)
    out = [
        Fact(
            "Cells",
            f"{i.cells:,}",
            f"The table holds so many numbers{across}, tied together by {many(i.relations.equations, 'sum')}.",
        ),
        Fact(
            "At risk",
            f"{risky:,}",
            f"{100 * risky / max(i.cells, 1):.1f} % of the cells would tell too much about a respondent if printed as they are.",
        ),
    ]
    if p is None:
        return out
    out += _of_loss(result)
    if result.protected is not None and not result.ignore_levels and result.releasable:
        evidence, count = result.evidence, len(i.attackers)
        out.append(
            Fact(
                "Requirements met",
                f"{evidence.requirements:,}",
                f"So many protection levels were asked against {many(count, 'attacker')}; each of them is met.",
            )
        )
    return out


def _of_loss(result: Protection) -> list[Fact]:
    i, p = result.instance, result.publication
    assert p is not None
    loss = result.loss()
    least = (
        "It is proven that no table changes less."
        if _proven(result)
        else "It was made small; that it is the least possible is not proven."
    )
    if isinstance(p, Withheld):
        hidden, value = int(p.withheld.sum()), float(abs(i.a).sum()) / 10.0**i.decimals
        return [
            Fact(
                "Withheld",
                f"{hidden:,}",
                f"{100 * hidden / max(i.cells, 1):.1f} % of the cells are not printed; all others are printed as they are.",
            ),
            Fact(
                "Value withheld",
                f"{100 * loss.sum_abs / value if value else 0:.1f} %",
                "The withheld cells' part of the sum of all cells, totals included.",
            ),
        ]
    if isinstance(p, Ranges):
        wide = int((p.lower < p.upper).sum())
        return [
            Fact(
                "Ranges",
                f"{wide:,}",
                f"{100 * wide / max(i.cells, 1):.1f} % of the cells are printed as a range; all others are exact.",
            ),
            Fact("Farthest end", number(loss.max_abs), "No end of a range is farther than this from the true value."),
        ]
    return [
        Fact(
            "Changed",
            f"{loss.changed:,}",
            f"{100 * loss.changed / max(i.cells, 1):.1f} % of the cells are published with another number than the true one.",
        ),
        Fact("Largest change", number(loss.max_abs), "No published number is farther from the true one than this."),
        Fact(
            "Mean change",
            number(loss.mean_abs),
            f"How far a published number is from the true one on average, up or down. {least if result.sought.plain else ''}".strip(),
        ),
    ]


def _proven(result: Protection) -> bool:
    return result.certified_bound is not None and result.certified_bound == result.objective


def found_blocks(result: Protection) -> list[Block]:
    """The outcome in the words of the command line, and why cells are at risk."""
    if result.publication is None or not result.releasable:
        said = [f"{result.status}: {reason_of(result)}."]
        conflict = () if result.failure is None else result.failure.conflict
        said += (
            ["These do not go together, and none of them can be left out:", *(f"– {one}" for one in conflict)]
            if conflict
            else []
        )
    else:
        said = [line[0].upper() + line[1:] + "." for line in conclusions(result)]
    said += [f"Note: {note}." for note in notes(result)]
    return [Lines(tuple(said)), *_reasons(result)]


def _reasons(result: Protection) -> list[Block]:
    i, findings = result.instance, result.instance.findings
    unsafe = i.sensitivity.unsafe
    if findings is None or not len(unsafe):
        return []
    size = i.sensitivity.lpl[unsafe] + i.sensitivity.upl[unsafe] + i.sensitivity.spl[unsafe]
    first = unsafe[(-size).argsort(kind="stable")[:_MOST_LISTED]].tolist()
    rows = tuple((i.labels.name(c), " ".join(findings.reasons(c)), grouped(int(i.a[c]), i.decimals)) for c in first)
    rest = len(unsafe) - len(first)
    note = "The cells that need the most protection come first." + (
        f" {rest:,} more are in findings.csv." if rest else ""
    )
    return [Figures("Why cells are at risk", ("cell", "because", "original"), rows, names=2, note=note)]
