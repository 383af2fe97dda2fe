"""The public files of a certificate: release.csv and release.json, with labels of all kinds."""

from __future__ import annotations

import hashlib
import json
from random import Random

from certificate_form import Bound, Json


def canonical(content: Json) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def apart(name: str, others: list[str]) -> str:
    return apart(f"published {name}", others) if name in others else name


def statement(content: Json) -> Json:
    """What release.json says."""
    digest = hashlib.sha256(canonical(content).encode()).hexdigest()
    kind = content["printed"]["kind"]
    return {"method": content["method"], "decimals": content["decimals"], "printed": kind, "certificate": digest}


LABELS = (
    "region",
    "kind",
    "value",
    "lower",
    "upper",
    "status",
    "published value",
    "published lower",
    "cell",
    "a,b",
    'q"t',
    "größe",
    "",
)


def labelled(content: Json, rng: Random) -> tuple[Json, list[list[str]]]:
    """A certificate with label columns and labels of all kinds, and its release in rows."""
    names = rng.sample(LABELS, rng.randint(1, 3))
    letters = rng.choice(("ab", 'a,"b', "a\nb\r", "aäß€", "012."))
    labels = [["".join(rng.choices(letters, k=rng.randint(0, 4))) for _ in names] for _ in content["nominal"]]
    for k, own in enumerate(labels):  # no two alike
        own[0] = f"{k} {own[0]}"
    digest = hashlib.sha256(canonical(labels).encode()).hexdigest()
    content = content | {"labels": {"column": names, "sha256": digest}}
    if content["printed"] is None:
        return content, []
    columns = {key: column for key, column in sorted(content["printed"].items()) if key != "kind"}
    words = ["withheld" if x is None else "published" for x in columns.get("value", ())]
    words = words if content["printed"]["kind"] == "withheld" else []
    rows = [[*names, *(apart(key, names) for key in [*columns, *(["status"] if words else [])])]]
    rows += [
        [*own, *(decimal(x, content["decimals"]) for x in numbers)]
        for own, *numbers in zip(labels, *columns.values(), strict=True)
    ]
    for row, word in zip(rows[1:], words, strict=bool(words)):
        row.append(word)
    return content, rows


def decimal(x: Bound, decimals: int) -> str:
    """A printed field."""
    if x is None:
        return ""
    digits = str(abs(x)).rjust(decimals + 1, "0")
    return (
        "-" * (x < 0) + digits[: len(digits) - decimals] + ("." + digits[len(digits) - decimals :] if decimals else "")
    )


def written(rows: list[list[str]], end: str = "\n") -> str:
    """The text of release.csv."""
    quoted = [[f'"{x.replace(chr(34), chr(34) * 2)}"' if set(x) & set(',"\r\n') else x for x in row] for row in rows]
    return "".join(",".join(row) + end for row in quoted)
