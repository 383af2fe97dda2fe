"""Editions: the internal report, made of all that is known of a result, and the public one, made of the release alone.

The public edition takes a :class:`Release`, which holds no true value, and not a Protection: what does not follow from what is published anyway
cannot get into it (docs/decisions/0070).
"""

from __future__ import annotations

from cellward.audit.audit import Audit
from cellward.protection import Protection
from cellward.publication.ranges import Ranges
from cellward.publication.release import Release
from cellward.publication.withheld import Withheld
from cellward.report.numbers import many
from cellward.report.section import Block, Fact, Facts, Lines, Section
from cellward.report.sections.asked import asked_blocks
from cellward.report.sections.cells import both, published
from cellward.report.sections.deviations import Deviations
from cellward.report.sections.found import found_blocks, glance
from cellward.report.sections.loss_by_level import loss_figures
from cellward.report.sections.method_in_words import in_words, parameters
from cellward.report.sections.proof import proof_blocks, public_proof, public_versions, versions
from cellward.report.sections.reached import reached_blocks
from cellward.report.sections.tables import side_by_side

INTERNAL, PUBLIC = "internal", "public"
EDITIONS = (INTERNAL, PUBLIC)


def internal(result: Protection, pictures: list[Block], audit: Audit | None = None) -> list[Section]:
    """For the data holder's eyes."""
    given = [
        ("glance", "At a glance", glance(result)),
        ("asked", "What was asked", asked_blocks(result)),
        ("found", "What was found, and why", found_blocks(result)),
    ]
    if result.publication is None:
        given.append(("table", "The table", [both(result)]))
    else:
        grids = side_by_side(result)
        given += [
            ("table", "Original and protected", [*([] if grids is None else [grids]), both(result)]),
            ("intervals", "What attackers are left with", reached_blocks(result, audit)),
            ("loss", "What it costs", [_lost(result), loss_figures(result), *_deviations(result)]),
            ("pictures", "Pictures", pictures),
            ("proof", "The proof, and how to check it", proof_blocks(result)),
        ]
    given += [
        ("published", "What the public is told about the method", [_told(), parameters(result.method)]),
        ("versions", "Versions and fingerprints", [versions(result)]),
    ]
    return [Section(name, tuple(blocks), confidential=True, title=title) for name, title, blocks in given if blocks]


def _deviations(result: Protection) -> list[Block]:
    """Of values; what is withheld or a range has none that could be called so."""
    printed = result.publication is not None and result.publication.v is not None
    return [*Deviations.of(result).section().blocks] if printed else []


def _told() -> Lines:
    return Lines(
        (
            "The file release.json says this of the method, and nothing else. Levels, senses, keys and seeds are not in it.",
        )
    )


def _lost(result: Protection) -> Lines:
    p = result.publication
    if isinstance(p, Withheld):
        return Lines(
            (
                "Withheld numbers are lost to readers; all others are the true ones. A number counts as lost in full where it is withheld.",
            )
        )
    if isinstance(p, Ranges):
        return Lines(
            (
                "A range tells less than a number: what is lost is its width, or how far its farther end is from the true value.",
            )
        )
    return Lines(
        (
            "What is lost is how far published numbers are from the true ones: in the table's own units, and in per cent of the true value.",
        )
    )


def public(release: Release, pictures: list[Block]) -> list[Section]:
    """For everybody."""
    given: list[tuple[str, str, list[Block]]] = [
        (
            "read",
            "How to read this table",
            [Lines((" ".join(in_words(release.method)),)), Facts(tuple(_facts(release)))],
        ),
        ("table", "The table", [published(release)]),
        ("pictures", "Pictures", pictures),
        ("proof", "How it was checked", public_proof(release)),
        ("published", "The method, as stated", [parameters(release.method)]),
        ("versions", "Version and fingerprint", [public_versions(release)]),
    ]
    return [Section(name, tuple(blocks), confidential=False, title=title) for name, title, blocks in given if blocks]


def _facts(release: Release) -> list[Fact]:
    p, dims, cells = release.publication, release.labels.dims, release.labels.cells
    across = f" across {many(len(dims), 'dimension')} ({' × '.join(dims)})" if dims else ""
    out = [
        Fact(
            "Cells",
            f"{cells:,}",
            f"The table holds so many numbers{across}, tied together by {many(release.relations.equations, 'sum')}.",
        )
    ]
    if isinstance(p, Withheld):
        out.append(
            Fact(
                "Withheld",
                f"{int(p.withheld.sum()):,}",
                "So many cells are not printed. In the table below they show a ×.",
            )
        )
    if isinstance(p, Ranges):
        out.append(
            Fact(
                "Ranges",
                f"{int((p.lower < p.upper).sum()):,}",
                "So many cells are printed as a range; the true value lies somewhere in it.",
            )
        )
    return out
