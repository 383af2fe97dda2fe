"""Mutants of public files: release.csv or release.json with one thing changed."""

from __future__ import annotations

import json
from random import Random

from certificate_form import Json
from certificate_mutants import mutate
from public_files import LABELS, canonical, decimal, statement, written


def mutate_release(content: Json, original: list[list[str]], rng: Random) -> tuple[str, bytes]:
    """release.csv with one thing changed: a field, a row, a column, the labels, or some letter of its text."""
    rows, true = [row[:] for row in original], [decimal(x, content["decimals"]) for x in content["nominal"]]
    width, n = len(content["labels"]["column"]), len(rows) - 1
    i, other = rng.randint(1, n), rng.randint(1, n)
    k = rng.randrange(width, len(rows[0]))
    what = rng.choice((
        "field", "field", "field", "true value", "true value", "true values", "empty", "swap rows", "swap labels", "rotate labels", "delete row",
        "double row", "insert column", "insert true values", "delete column", "swap columns", "heading", "one field more", "one field less",
        "label", "label", "letter", "letter", "letter", "delete letter", "line ends", "digits", "order",
    ))  # fmt: skip
    if what == "field":
        rows[i][k] = rng.choice((_other_field(rows[i][k], rng), rows[other][k]))
    elif what == "true value":
        rows[i][k] = true[i - 1]
    elif what == "true values":
        for row, x in zip(rows[1:], true, strict=True):
            row[k] = x
    elif what == "empty":
        rows[i][k] = ""
    elif what == "swap rows":
        rows[i], rows[other] = rows[other], rows[i]
    elif what == "swap labels":
        rows[i][:width], rows[other][:width] = rows[other][:width], rows[i][:width]
    elif what == "rotate labels":
        for row, own in zip(rows[1:], original[2:] + original[1:2], strict=True):
            row[:width] = own[:width]
    elif what == "delete row":
        del rows[i]
    elif what == "double row":
        rows.insert(rng.choice((i, n + 1)), rows[i])
    elif what in ("insert column", "insert true values"):
        at = rng.randint(0, len(rows[0]))
        for row, x in zip(rows, [rng.choice(("value", "x", "true")), *true], strict=True):
            row.insert(at, x if what == "insert true values" else "")
    elif what == "delete column":
        at = rng.randrange(len(rows[0]))
        rows = [row[:at] + row[at + 1 :] for row in rows]
    elif what == "swap columns":
        at, to = rng.randrange(len(rows[0])), rng.randrange(len(rows[0]))
        for row in rows if rng.random() < 0.5 else rows[1:]:
            row[at], row[to] = row[to], row[at]
    elif what == "heading":
        at = rng.randrange(len(rows[0]))
        rows[0][at] = rng.choice(
            (rows[0][at].upper(), f"published {rows[0][at]}", rows[0][at] + " ", "", rng.choice(LABELS))
        )
    elif what == "one field more":
        rows[i].insert(rng.randint(0, len(rows[i])), rng.choice(("", true[i - 1])))
    elif what == "one field less":
        del rows[i][rng.randrange(len(rows[i]))]
    elif what == "label":
        at = rng.randrange(width)
        rows[i][at] = rng.choice((rows[i][at] + " ", rows[i][at][:-1], rows[other][at], rows[i][at].upper()))
    elif what == "digits":
        rows[i][k] += ("" if "." in rows[i][k] else ".") + "0" * rng.choice((1, 5, 39, 41))
    elif what == "order":
        rows[1:] = sorted(rows[1:])
    text = written(rows, "\r\n" if what == "line ends" else "\n")
    at = rng.randrange(len(text))
    if what == "letter":
        text = text[:at] + rng.choice('0123456789,,"\n\r .-+eéa\ufeff٣') + text[at + rng.choice((0, 1)) :]
    elif what == "delete letter":
        text = text[:at] + text[at + 1 :]
    return what, text.encode()


def _other_field(field: str, rng: Random) -> str:
    """A printed field that says something else, or the same in another way."""
    return rng.choice((
        field + "0", "0" + field, "-" + field, "+" + field, field + "e0", " " + field, field + " ", field[:-1], field + "1", field.replace("1", "2"),
        "0", "x", "-", ".", field + ".", "NaN", "1_0", "٣", f"({field})",
    ))  # fmt: skip


def mutate_statement(content: Json, rng: Random) -> tuple[str, bytes]:
    """release.json with one thing changed."""
    original = canonical(statement(content))
    luck = rng.random()
    if luck < 0.6:
        mutant = mutate(original, rng)
        return mutant.what, json.dumps(mutant.content, indent=rng.choice((None, 2))).encode()
    if luck < 0.7:
        key = rng.choice(("method", "decimals", "printed", "certificate", "name"))
        return f"{key} twice", original.replace(f'"{key}":', f'"{key}":0,"{key}":', 1).encode()
    at = rng.randrange(len(original))
    text = (
        original[:at]
        + rng.choice(("0", '"', " ", "\n", "}", ",", "a", "1.0", "\\u0041"))
        + original[at + rng.choice((0, 1)) :]
    )
    return "a letter", text.encode()
