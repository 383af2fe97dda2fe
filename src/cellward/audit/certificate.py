"""Certificate: what a protection shows about itself, for :mod:`cellward.audit.verify` to check. Confidential: it holds the true values."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellward.allowed import AllowedSet
from cellward.audit import verify as checker
from cellward.files import write_whole
from cellward.instance import Instance

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """The certificate's content (plain lists and whole numbers), ready to be checked or saved."""

    content: Mapping[str, Any]

    @staticmethod
    def of(
        instance: Instance,
        v: Ints,
        allowed: AllowedSet,
        method: Mapping[str, Any],
        objective: int,
        claims: Mapping[str, Any],
    ) -> Certificate:
        """State what is to be shown of published values v."""
        r = instance.relations
        return Certificate(
            {
                "format": checker.FORMAT,
                "version": checker.VERSION,
                "method": dict(method),
                "decimals": instance.decimals,
                "weight_decimals": instance.weight_decimals,
                "equations": {
                    "length": np.diff(r.indptr).tolist(),
                    "rhs": _compact(r.rhs),
                    "cell": r.indices.tolist(),
                    "coef": _compact(r.coefs),
                },
                "nominal": instance.a.tolist(),
                "published": v.tolist(),
                "allowed": {"lo": allowed.lo.tolist(), "hi": allowed.hi.tolist(), "step": _compact(allowed.step)},
                "weight": _compact(instance.weight),
                "objective": objective,
                "claims": dict(claims),
            }
        )

    def check(self) -> checker.Verdict:
        """Run the independent check on this certificate as it stands in memory."""
        try:
            return checker.Verdict(True, checker.check(dict(self.content)))
        except checker.Refused as refusal:
            return checker.Verdict(False, str(refusal))

    def save(self, path: str | Path) -> Path:
        """Write the file whole or not at all; the same certificate gives the same bytes."""
        text = json.dumps(self.content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6, mtime=0) as out:
            out.write(text.encode())
        return write_whole(Path(path), packed.getvalue(), confidential=True)


def _compact(column: Ints) -> int | list[int]:
    """One number for a column that holds the same everywhere."""
    if len(column) and (column == column[0]).all():
        return int(column[0])
    values: list[int] = column.tolist()
    return values
