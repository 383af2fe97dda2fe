"""The judge of public files: does release.csv, read field by field, or release.json print what the certificate says and nothing else."""

from __future__ import annotations

import hashlib
import json

from certificate_form import Json, MalformedError, Reading, need
from judgement import FALSE, MALFORMED, TRUE, Judgement
from public_files import apart, canonical, statement


def fields(data: str) -> list[list[str]]:
    """The rows of a CSV (RFC 4180), read from left to right."""
    rows, k = [], 0
    while k < len(data):
        row: list[str] = []
        while not row or data[k : k + 1] == ",":
            k += 1 if row else 0
            if data[k : k + 1] == '"':
                own, k = "", k + 1
                while True:
                    end = data.find('"', k)
                    need(end >= 0, "a quote that nobody closes")
                    own, k = own + data[k:end], end + 1
                    if data[k : k + 1] != '"':
                        break
                    own, k = own + '"', k + 1
            else:
                end = min((i for i in (data.find(x, k) for x in ",\r\n") if i >= 0), default=len(data))
                own, k = data[k:end], end
            row.append(own)
        rows.append(row)
        ended = next((x for x in ("\r\n", "\n") if data.startswith(x, k)), "")
        need(ended or k == len(data), "something behind a closing quote, or a CR alone")
        k += len(ended)
    return rows


def is_number(field: str, number: int, decimals: int) -> bool:
    """Whether a printed field is this number of units 10^−decimals."""
    left, point, right = field.removeprefix("-").partition(".")
    digits = set("0123456789")
    if not left or (point and not right) or not set(left + right) <= digits or max(len(left), len(right)) > 40:
        return False
    kept, rest = right[:decimals].ljust(decimals, "0"), right[decimals:]
    value = int(left + kept) * (-1 if field.startswith("-") else 1)
    return not rest.strip("0") and value == number


def judge_release(content: Json, data: bytes) -> Judgement:
    """Check 9: whether release.csv is what a certificate says, which itself is well formed."""
    r = Reading(content)
    if r.printed is None:
        return Judgement(FALSE, "there is a release, and nothing is published")
    try:
        heading, *rows = fields(data.decode())
    except (ValueError, MalformedError) as error:
        return Judgement(MALFORMED, str(error))
    names = {"ranges": ["lower", "upper"], "withheld": ["value", "status"]}.get(r.kind, ["value"])
    if heading != [*r.names, *(apart(name, r.names) for name in names)]:
        return Judgement(FALSE, "another heading")
    if len(rows) != r.n or any(len(row) != len(heading) for row in rows):
        return Judgement(FALSE, "more or fewer rows, or fields in one of them")
    width = len(r.names)
    for k, one in enumerate(r.printed):
        for number, row in zip(one, rows, strict=True):
            field = row[width + k]
            if field != "" if number is None else not is_number(field, number, r.decimals):
                return Judgement(FALSE, f"{field!r} is printed, and should be {number}")
    if r.kind == "withheld":
        said = [row[width + 1] for row in rows]
        if said != ["withheld" if number is None else "published" for number in r.printed[0]]:
            return Judgement(FALSE, "another status than what is printed has")
    if hashlib.sha256(canonical([row[:width] for row in rows]).encode()).hexdigest() != r.digest:
        return Judgement(FALSE, "other labels")
    if width and len({tuple(row[:width]) for row in rows}) < r.n:
        return Judgement(FALSE, "two rows of the same labels")
    return Judgement(TRUE)


def judge_statement(content: Json, data: bytes) -> Judgement:
    """Check 9: whether release.json is what a certificate says."""
    pairs: list[list[tuple[str, Json]]] = []

    def keep(own: list[tuple[str, Json]]) -> dict[str, Json]:
        pairs.append(own)
        return dict(own)

    try:
        stated = json.loads(data.decode(), object_pairs_hook=keep)
    except (ValueError, RecursionError) as error:
        return Judgement(MALFORMED, str(error))
    if any(len({key for key, _ in own}) < len(own) for own in pairs):
        return Judgement(FALSE, "something is said twice")
    right = statement(content)
    same = type(stated) is dict and set(stated) == set(right)
    same = same and all(canonical(stated[key]) == canonical(value) for key, value in right.items())
    return Judgement(TRUE) if same else Judgement(FALSE, "it says something else than the certificate")
