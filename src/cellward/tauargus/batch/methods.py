"""The solutions of a batch: τ-ARGUS commands as the methods themselves name them."""

from __future__ import annotations

from cellward.errors import InputError
from cellward.protect.method import BatchRun, Method, TauArgus
from cellward.protect.methods import METHODS
from cellward.tauargus.files.arb import Suppress

OTHERS = {"CKM": "the cell key method"}
"""What we do not carry out."""


def solution_of(command: Suppress) -> tuple[BatchRun, TauArgus]:
    """What a command asks for, and how its method is called there; refused in one sentence where we have none."""
    known: dict[str, tuple[type[Method], TauArgus]] = {
        one.command: (method, one) for method in METHODS for one in method.tauargus
    }
    if command.method not in known:
        what = OTHERS.get(command.method, "a solution that is not known")
        ours = ", ".join(known)
        raise InputError(
            f"{command.where}: {command.method}, {what}, is not among our methods; ask for {ours} instead, or run this batch in τ-ARGUS"
        )
    method, said = known[command.method]
    return method.from_batch(said.command, *_parameters(command, said)), said


def _parameters(command: Suppress, said: TauArgus) -> list[int]:
    """The parameters after the table, those left out at their defaults."""
    given = [text for text in command.given if text] if not said.parameters else list(command.given)
    texts = [*given, *[""] * (len(said.parameters) - len(given))]
    needed = [not text and one.default is None for text, one in zip(texts, said.parameters, strict=False)]
    if len(texts) > len(said.parameters) or any(needed):
        form = f"{said.command}({', '.join(('table', *(one.what.removeprefix('the ') for one in said.parameters)))})"
        more = next((one.what for one, lost in zip(said.parameters, needed, strict=False) if lost), None)
        more = "it has no other parameters" if more is None else f"{more} is needed"
        raise InputError(f"{command.where}: write {form}; {more}")
    return [
        command.line.whole(text or str(one.default), one.what, one.least, one.most)
        for text, one in zip(texts, said.parameters, strict=True)
    ]
