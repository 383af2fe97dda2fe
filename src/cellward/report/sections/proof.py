"""The proof: what the certificate shows and how anybody who may hold it can check it; for the public, what stands behind the table."""

from __future__ import annotations

from cellward.protection import Protection
from cellward.publication.release import Release
from cellward.report.numbers import many
from cellward.report.section import Block, Figures, Lines
from cellward.version import __version__

HOW = "cellward verify certificate.json.gz release.csv release.json"


def proof_blocks(result: Protection) -> list[Block]:
    """For the data holder."""
    if not result.releasable:
        return [Lines(("Nothing is released, so there is no certificate of a release.",))]
    rows = [("Sums", "Every sum of the table holds exactly in the published numbers.", "exact arithmetic")]
    if not result.ignore_levels and result.protected is not None:
        rows.append(_levels(result))
    if result.certified_bound is not None:
        rows.append(
            (
                "Least loss",
                "No smaller loss than the bound in the certificate is possible.",
                "multipliers of the equations",
            )
        )
    rows.append(
        ("Match", "The certificate belongs to these very files; release.json holds its fingerprint.", "SHA-256, salted")
    )
    return [
        Lines(
            (
                "The certificate (certificate.json.gz) holds what is needed to check this result without trusting the program that made it. It is "
                "confidential, because it holds the true values.",
            )
        ),
        Figures("What it shows", ("claim", "in words", "by"), tuple(rows), names=3),
        Lines(
            (
                "To check it, run in the folder of the release:",
                HOW,
                "The verifier is a single file that uses only Python's standard library and exact arithmetic; docs/certificate.md says what it "
                "checks, so that it can be written anew by somebody else.",
            )
        ),
    ]


def _levels(result: Protection) -> tuple[str, str, str]:
    if result.knowledge is not None and not result.knowledge.intervals:
        return (
            "Protection",
            "Every cell at risk is at least its level away from its true value.",
            "comparison, cell by cell",
        )
    tables = many(len(result.evidence.shown), "witness table")
    words = "Tables that fit everything published, yet are far enough from the truth in every cell at risk: no attacker can rule them out."
    return ("Protection", words, tables)


def public_proof(release: Release) -> list[Block]:
    """For everybody."""
    return [
        Lines(
            (
                "Before it was published, the table was checked in exact arithmetic by a program independent of the one that made it. "
                "What the check rests on is kept in a certificate. It is confidential, because it holds the true values.",
                f"The fingerprint of the certificate is {release.digest}. It is printed here so that the certificate cannot be exchanged later: "
                "an auditor who is given it can see that it is the one of this table, and check it.",
            )
        )
    ]


def versions(result: Protection) -> Figures:
    """What made it, by version and fingerprint; nothing of times, so that the same result gives the same report."""
    rows = [("cellward", str(result.method.get("version", __version__))), ("engine", result.engine or "none")]
    if result.releasable:
        rows.append(("certificate (SHA-256)", result.certificate().digest))
        if (sums := result.certificate_of_sums()) is not None:
            rows.append(("certificate of sums (SHA-256)", sums.digest))
    if result.instance.findings is not None:
        rows += [(f"policy {policy.name}", policy.digest) for policy in result.instance.findings.policies]
    return Figures("", ("what", "version or fingerprint"), tuple(rows), names=2)


def public_versions(release: Release) -> Figures:
    """As the release states them."""
    rows = (("cellward", str(release.method.get("version", ""))), ("certificate (SHA-256)", release.digest))
    return Figures("", ("what", "version or fingerprint"), rows, names=2)
