"""Certificate: what a protection shows about itself, for :mod:`cellward.audit.verify` to check. Confidential: it holds the true values."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward.aim import Aim
from cellward.allowed import AllowedSet
from cellward.audit import verify as checker
from cellward.audit.bound import nothing_proven
from cellward.audit.evidence import Evidence
from cellward.audit.knowledge import Knowledge, bound_column, compact
from cellward.audit.sums import labels_of_sums, sensitivity_of_sums, unbounded
from cellward.errors import InputError
from cellward.exact import NO_BOUND
from cellward.files import write_whole
from cellward.instance import Instance
from cellward.risk.attacker import Attacker
from cellward.risk.levels import Levels
from cellward.table.labels import Labels
from cellward.table.relations import Relations
from cellward.table.sums import add_up, with_sums
from cellward.table.table import Table

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """The certificate's content (plain lists and whole numbers, as docs/certificate.md defines them), ready to be checked or saved."""

    content: Mapping[str, Any]

    @staticmethod
    def of(
        instance: Instance,
        v: Ints | None,
        *,
        allowed: AllowedSet,
        aim: Aim | None = None,
        method: Mapping[str, Any],
        knowledge: Knowledge,
        evidence: Evidence | None,
        bound: Mapping[str, Any],
        objective: int | None,
        status: str,
        engine: str,
        salt: str,
    ) -> Certificate:
        """State what is to be shown of published values v, or of what ``knowledge`` leaves of them; without ``evidence`` the levels are ignored."""
        shown = () if evidence is None else evidence.shown
        of_values = knowledge.rule not in ("suppressed", "interval")
        weight = instance.weight if aim is None else aim.weight
        return Certificate(
            {
                "format": checker.FORMAT,
                "version": checker.VERSION,
                "salt": salt,
                "method": dict(method),
                "decimals": instance.decimals,
                "weight_decimals": instance.weight_decimals,
                **_stated(instance.relations, instance.a, instance.lower, instance.upper, instance.sensitivity.levels),
                "labels": _labels(instance.labels),
                "printed": None if v is None else _printed(v, knowledge),
                "allowed": {"lo": compact(allowed.lo), "hi": compact(allowed.hi), "step": compact(allowed.step)}
                if of_values
                else None,
                "weight": compact(weight),
                "target": None if aim is None or not of_values else aim.target.tolist(),
                "objective": objective if of_values else _objective(instance, v, knowledge, weight),
                "knowledge": dict(knowledge.stated),
                "protection": "none asked" if not instance.asks else "ignored" if evidence is None else "shown",
                "attackers": [_attacker(attacker) for attacker in instance.attackers],
                "definitions": _definitions(instance.relations) if shown else {"equation": [], "cell": []},
                "witnesses": [_witness(one, _leaves(instance.relations)) for one in shown],
                "bound": dict(bound if of_values else nothing_proven().content),
                "status": status,
                "engine": engine,
            }
        )

    @cached_property
    def text(self) -> bytes:
        """The canonical JSON."""
        return json.dumps(self.content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    @property
    def digest(self) -> str:
        """SHA-256 of the JSON: what the public half carries; the salt keeps it from being guessed."""
        return hashlib.sha256(self.text).hexdigest()

    def check(self) -> checker.Verdict:
        """Run the independent check on this certificate as a reader of its file would see it."""
        try:
            return checker.check(json.loads(self.text), self.digest)
        except checker.Refused as refusal:
            return checker.Verdict(False, str(refusal))

    def save(self, path: str | Path) -> Path:
        """Write the file whole or not at all; the same certificate gives the same bytes."""
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6, mtime=0) as out:
            out.write(self.text)
        return write_whole(Path(path), packed.getvalue(), confidential=True)


OF_SUMS = "sums.certificate.json.gz"
"""What the certificate of a table's sums is called; it stands beside that of the cells."""


def verify(path: str | Path, *, table: Table | None = None) -> checker.Verdict:
    """Check a certificate file exactly and independently of what wrote it; with ``table``, also that it is of this table.

    A table with sums of cells at risk has a second certificate beside the first, which must then hold too.
    """
    if table is None:
        return checker.verify(path)
    if not isinstance(table, Table):
        raise InputError(f"table: a {type(table).__name__} is no Table; give the table that was protected")
    s = table.sensitivity
    expected = _stated(table.relations, table.scaled, table.lower, table.upper, s.levels)
    expected |= {"labels": _labels(table.labels), "decimals": table.decimals}
    beside = Path(path).with_name(OF_SUMS)
    if Path(path).name == OF_SUMS:
        return _verify_sums(beside, table)
    verdict = checker.verify(path, expected=expected)
    if not verdict or not s.sums or verdict.protected is False:
        return verdict
    second = _verify_sums(beside, table)
    if second:
        second = _same_release(Path(path), beside, second, table.cells)
    reason = (
        f"the table has sums of cells at risk, and {beside.name} beside the certificate does not hold: {second.reason}"
    )
    return verdict if second else checker.Verdict(False, reason)


def _same_release(path: Path, beside: Path, second: checker.Verdict, cells: int) -> checker.Verdict:
    """The verdict on the sums, if it says that they are protected, and from what the release of the first certificate tells of the cells."""
    first, other = (checker.load(file) for file in (path, beside))
    if second.protected is not True:
        return checker.Verdict(False, "it does not show that they are protected")
    told, assumed = (checker.check_box(checker.Certificate(content)) for content in (first, other))
    if first["salt"] != other["salt"] or any(x != y[:cells] for x, y in zip(told, assumed, strict=True)):
        return checker.Verdict(False, "it is of another release")
    return second


def _verify_sums(path: Path, table: Table) -> checker.Verdict:
    """Check the certificate of the sums of a table's cells."""
    sums, n = table.sensitivity.sums, table.cells
    expected = _stated(
        with_sums(table.relations, sums),
        add_up(table.scaled, sums),
        unbounded(table.lower, -NO_BOUND, len(sums)),
        unbounded(table.upper, NO_BOUND, len(sums)),
        sensitivity_of_sums(n, sums).levels,
    )
    labels = _labels(labels_of_sums(table.labels, sums))
    return checker.verify(path, expected={**expected, "labels": labels, "decimals": table.decimals})


def _stated(relations: Relations, a: Ints, lower: Ints, upper: Ints, levels: Levels) -> dict[str, Any]:
    """What a certificate states of the table itself."""
    return {
        "equations": {
            "length": np.diff(relations.indptr).tolist(),
            "rhs": compact(relations.rhs),
            "cell": relations.indices.tolist(),
            "coef": compact(relations.coefs),
        },
        "nominal": a.tolist(),
        "lower": bound_column(lower),
        "upper": bound_column(upper),
        "levels": _levels(levels),
    }


def _printed(v: Ints, knowledge: Knowledge) -> dict[str, Any]:
    """What is printed of values v by the rule of what it tells: null where a value is withheld, or a range is open."""
    if knowledge.rule == "interval":
        lower, upper = (_or_none(end).tolist() for end in (knowledge.lo, knowledge.hi))
        return {"kind": "ranges", "lower": lower, "upper": upper}
    if knowledge.rule == "suppressed":
        return {"kind": "withheld", "value": _or_none(knowledge.lo).tolist()}
    return {"kind": "values", "value": v.tolist()}


def _or_none(bounds: Ints) -> NDArray[np.object_]:
    return np.where(np.abs(bounds) == NO_BOUND, None, bounds)  # type: ignore[call-overload,no-any-return]


def _objective(instance: Instance, v: Ints | None, knowledge: Knowledge, weight: Ints) -> int | None:
    """What withheld values, or ranges, cost: Σ w, or Σ w·(upper − lower), an open end at the public bound; None where there is none either."""
    if v is None:
        return None
    lower = np.where(knowledge.lo == -NO_BOUND, instance.lower, knowledge.lo).astype(object)
    upper = np.where(knowledge.hi == NO_BOUND, instance.upper, knowledge.hi).astype(object)
    if knowledge.rule == "suppressed":
        return int(weight.astype(object)[knowledge.lo == -NO_BOUND].sum())
    if NO_BOUND in upper or -NO_BOUND in lower:
        return None
    return int((weight.astype(object) * (upper - lower)).sum())


def _labels(labels: Labels) -> dict[str, Any]:
    """The label columns of the release by name, and what their rows hash to."""
    columns = labels.columns()
    rows = json.dumps(
        [list(row) for row in zip(*columns.values(), strict=True)], separators=(",", ":"), ensure_ascii=False
    )
    return {"column": list(columns), "sha256": hashlib.sha256(rows.encode()).hexdigest()}


def _levels(levels: Levels) -> dict[str, Any]:
    return {
        "cell": levels.cell.tolist(),
        "lpl": compact(levels.lpl),
        "upl": compact(levels.upl),
        "spl": compact(levels.spl),
    }


def _attacker(attacker: Attacker) -> dict[str, Any]:
    return {
        "name": attacker.name,
        "whole": attacker.whole,
        "cell": attacker.cell.tolist(),
        "lower": bound_column(attacker.lower),
        "upper": bound_column(attacker.upper),
        "levels": None if attacker.levels is None else _levels(attacker.levels),
    }


def _definitions(relations: Relations) -> dict[str, Any]:
    """The triangular definitions, earlier ones first."""
    structure = relations.structure
    cell = np.flatnonzero(structure.definition >= 0)
    cell = cell[np.argsort(structure.level[cell], kind="stable")]
    return {"equation": structure.definition[cell].tolist(), "cell": cell.tolist()}


def _leaves(relations: Relations) -> Ints:
    return relations.structure.leaves


def _witness(shown: Any, leaves: Ints) -> dict[str, Any]:
    difference = shown.witness.shift[leaves]
    moved = np.flatnonzero(difference)
    return {
        "denominator": shown.witness.denominator,
        "leaf": leaves[moved].tolist(),
        "difference": difference[moved].tolist(),
        "covers": [[k, *cells.tolist()] for k, cells in shown.covers],
    }
