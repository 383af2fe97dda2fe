"""Certificate: what a protection shows about itself, for :mod:`cellward.audit.verify` to check. Confidential: it holds the true values."""

from __future__ import annotations

import gzip
import hashlib
import hmac
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cellward.audit import verify as checker
from cellward.audit.shown import Shown
from cellward.audit.sums_as_cells import labels_of_sums, sensitivity_of_sums, unbounded
from cellward.errors import InputError
from cellward.exact import NO_BOUND, Ints
from cellward.files.whole import write_whole
from cellward.instance import Instance, Weights
from cellward.publication.allowed import AllowedSet
from cellward.publication.knowledge import Knowledge, bound_column, column_of
from cellward.risk.attacker import Attacker
from cellward.table.cell_sums import add_up, with_sums
from cellward.table.labels import Labels
from cellward.table.levels import Levels
from cellward.table.relations import Relations
from cellward.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """The certificate's content (plain lists and whole numbers, as docs/certificate.md defines them), ready to be checked or saved."""

    content: Mapping[str, Any]
    expected: Mapping[str, Any] | None = None
    """What is known of the table that it is of: its decimals and its weights, which may be 0."""

    @staticmethod
    def of(
        shown: Shown,
        *,
        method: Mapping[str, Any],
        told: Knowledge | None,
        ignore_levels: bool,
        engine: str,
        salt: str,
        sums: Certificate | None = None,
    ) -> Certificate:
        """State what is shown of a publication; where there is none, ``told`` is what would have been told. ``sums``: the certificate of its sums."""
        i, p, sought = shown.instance, shown.publication, shown.sought
        knowledge = told if p is None else p.knowledge
        assert knowledge is not None
        ignored = ignore_levels or p is None
        witnesses = () if ignored else shown.evidence.shown
        return Certificate(
            {
                "format": checker.FORMAT,
                "version": checker.VERSION,
                "salt": salt,
                "method": dict(method),
                "decimals": i.decimals,
                "weight_decimals": i.weight_decimals,
                **_stated(i.relations, i.a, i.lower, i.upper, i.sensitivity.levels),
                "labels": _labels(i.labels),
                "printed": None if p is None else p.printed(),
                "allowed": None if sought.allowed is None else _allowed(sought.allowed),
                "weight": column_of(i.weight if sought.aim is None else sought.aim.weight),
                "target": None if sought.aim is None else sought.aim.target.tolist(),
                "objective": None if p is None else sought.cost(i, p),
                "knowledge": dict(knowledge.stated),
                "protection": "none asked" if not i.asks else "ignored" if ignored else "shown",
                "attackers": _stated_attackers(i),
                "definitions": _definitions(i.relations) if witnesses else {"equation": [], "cell": []},
                "witnesses": [_witness(one, _leaves(i.relations)) for one in witnesses],
                "bound": dict(shown.bound.content),
                "status": shown.status,
                "engine": engine,
                "sums": None if sums is None else sums.digest,
            },
            {"decimals": i.decimals - i.beyond, "weights": [weights_of(i)]},
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
            return checker.check(
                json.loads(self.text), self.digest, None if self.expected is None else dict(self.expected)
            )
        except checker.Refused as refusal:
            return checker.Verdict(False, str(refusal))

    def __repr__(self) -> str:
        status, cells = self.content["status"], len(self.content["nominal"])
        return f"Certificate({status}, {cells:,} cells, {self.content['method'].get('name', '')}, digest {self.digest[:12]}…)"

    def save(self, path: str | Path) -> Path:
        """Write the file whole or not at all; the same certificate gives the same bytes."""
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=3, mtime=0) as out:
            out.write(self.text)
        return write_whole(Path(path), packed.getvalue(), confidential=True)


OF_SUMS = checker.OF_SUMS
"""What the certificate of a table's sums is called; it stands beside that of the cells."""


def salt_of(key: bytes) -> str:
    """What keeps the digest from being guessed."""
    return hmac.new(key, b"cellward certificate", "sha256").hexdigest()


NAMED_WEIGHTS = ("equal", "relative", "value", "logarithm", "frequency", "distance", "table", "totals")


def verify(
    path: str | Path,
    *,
    table: Table | None = None,
    weights: Weights = None,
    attackers: Iterable[Attacker] | None = None,
) -> checker.Verdict:
    """Check a certificate file exactly and independently of what wrote it; with ``table``, also that it is of this table.

    ``weights``: those of the protection; None: any that have a name (equal, relative, totals, the table's own). ``attackers``: those that must have
    been kept out, each by itself or those who know the same as one; None: whoever they were, the table's levels are kept from the
    public. A table with sums of cells at risk has a second certificate beside the first, which must then hold too.
    """
    if table is None:
        if weights is not None or attackers is not None:
            raise InputError("weights and attackers are those of a table; give the table too")
        return checker.verify(path)
    if not isinstance(table, Table):
        raise InputError(f"table: a {type(table).__name__} is no Table; give the table that was protected")
    expected = expected_of(table, weights=weights, attackers=attackers)
    if Path(path).name.endswith(OF_SUMS):
        if expected["sums"] is None:
            return checker.Verdict(False, "the table has no sums of cells at risk")
        return checker.verify(path, expected=expected["sums"])
    verdict = checker.verify(path, expected=expected)
    if verdict or attackers is None:
        return verdict
    as_one = _stated_attackers(Instance.of(table, attackers=attackers).distinct())
    return checker.verify(path, expected={**expected, "attackers": as_one})


def _stated_attackers(instance: Instance) -> list[dict[str, Any]]:
    return [_attacker(one) for one in instance.attackers]


def expected_of(
    table: Table, *, weights: Weights = None, attackers: Iterable[Attacker] | None = None
) -> dict[str, Any]:
    """What a certificate of this table must state, as plain data for the verifier (docs/certificate.md, check 10)."""
    sums, n = table.sensitivity.sums, table.cells
    chosen = [weights_of(Instance.of(table, weights=one)) for one in _schemes(table, weights)]
    known = None if attackers is None else _stated_attackers(Instance.of(table, attackers=attackers))
    own = {
        "decimals": table.decimals,
        "labels": _labels(table.labels),
        **_stated(table.relations, table.scaled, table.lower, table.upper, table.sensitivity.levels),
        "fixed": np.flatnonzero(table.sensitivity.fixed).tolist(),
        "weights": chosen,
        "sums": None,
        **({} if known is None else {"attackers": known}),
    }
    if sums:
        own["sums"] = {
            "decimals": table.decimals,
            "labels": _labels(labels_of_sums(table.labels, sums)),
            **_stated(
                with_sums(table.relations, sums),
                add_up(table.scaled, sums),
                unbounded(table.lower, -NO_BOUND, len(sums)),
                unbounded(table.upper, NO_BOUND, len(sums)),
                sensitivity_of_sums(n, sums).levels,
            ),
        }
    return own


def _schemes(table: Table, weights: Weights) -> list[Weights]:
    if weights is not None:
        return [weights]
    lacking = {"table": table.weight is None, "frequency": table.contributions is None}
    return [name for name in NAMED_WEIGHTS if not lacking.get(name)]


def weights_of(instance: Instance) -> dict[str, Any]:
    """The weights of an instance as plain data for the verifier."""
    return {"weight": column_of(instance.weight), "weight_decimals": instance.weight_decimals}


def _stated(relations: Relations, a: Ints, lower: Ints, upper: Ints, levels: Levels) -> dict[str, Any]:
    """What a certificate states of the table itself."""
    return {
        "equations": {
            "length": np.diff(relations.indptr).tolist(),
            "rhs": column_of(relations.rhs),
            "cell": relations.indices.tolist(),
            "coef": column_of(relations.coefs),
        },
        "nominal": a.tolist(),
        "lower": bound_column(lower),
        "upper": bound_column(upper),
        "levels": _levels(levels),
    }


def _allowed(allowed: AllowedSet) -> dict[str, Any]:
    out: dict[str, Any] = {"lo": column_of(allowed.lo), "hi": column_of(allowed.hi), "step": column_of(allowed.step)}
    if (gaps := allowed.gaps) is not None:
        out["gaps"] = {"cell": gaps.cell.tolist(), "below": gaps.below.tolist(), "above": gaps.above.tolist()}
    return out


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
        "lpl": column_of(levels.lpl),
        "upl": column_of(levels.upl),
        "spl": column_of(levels.spl),
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
