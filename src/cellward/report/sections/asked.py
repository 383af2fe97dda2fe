"""What was asked: the method in words, the policy and who stands behind it, the rules and what each found, and whom it is kept from. Confidential."""

from __future__ import annotations

from cellward.protection import Protection
from cellward.report.numbers import many
from cellward.report.section import Block, Figures, Lines
from cellward.report.sections.method_in_words import in_words
from cellward.report.sections.outcome import without_levels

_MOST_NAMED = 5


def asked_blocks(result: Protection) -> list[Block]:
    """The question, before any answer."""
    return [Lines((" ".join(in_words(result.method)),)), *_rules(result), Lines(tuple(_attackers(result)))]


def _rules(result: Protection) -> list[Block]:
    i, findings = result.instance, result.instance.findings
    count = len(i.sensitivity.unsafe)
    if findings is None:
        if not count:
            return [Lines(("No cell was said to be at risk.",))]
        said = "is" if count == 1 else "are"
        return [
            Lines(
                (
                    f"{many(count, 'cell')} {said} at risk as the table itself says; no rules were named.",
                    *_levels(result),
                )
            )
        ]
    policies = tuple(
        f"The rules are those of the policy “{policy.name}”, "
        f"{'which is locked' if policy.locked else 'which is not locked'}; its fingerprint is {policy.digest}."
        for policy in findings.policies
    )
    own = () if policies else ("The rules were given by the user, without a named policy.",)
    called = findings.counts()
    rows = tuple(
        (rule.short, rule.sentence, f"{called.get(rule.short, 0):,}") for rule in findings.rules if rule.short in called
    )
    note = "The last column counts the cells to be protected that the rule calls unsafe; a cell may be called unsafe by several rules."
    sentences = findings.lines()[len(findings.rules) :]
    return [
        Lines((*policies, *own)),
        Figures("The rules", ("rule", "in words", "cells"), rows, names=2, note=note),
        Lines((*sentences, *_levels(result))),
    ]


def _levels(result: Protection) -> list[str]:
    out = [
        "Protection levels say how far from the true value, down and up, an attacker's idea of a cell must reach, and how wide it must be."
    ]
    if bare := without_levels(result):
        out.append(
            f"{many(bare, 'cell')} at risk without a level of its own: of each, a unit at least is kept unknown."
        )
    if sums := len(result.instance.sensitivity.sums):
        out.append(f"{many(sums, 'sum')} of cells that one respondent dominates: to be protected like cells.")
    return out


def _attackers(result: Protection) -> list[str]:
    names = [attacker.name for attacker in result.instance.attackers]
    if names == ["external"]:
        return [
            "It is kept from the public: readers who know the sums, the ordinary bounds of the values, the method, and all that is published."
        ]
    shown = ", ".join(names[:_MOST_NAMED]) + (
        f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    )
    return [
        f"It is kept from {many(len(names), 'attacker')}: {shown}. Each knows the sums, the ordinary bounds of the values, the method, and all "
        "that is published; respondents and coalitions also know what they contributed themselves."
    ]
