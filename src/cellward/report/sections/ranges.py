"""Ranges as a file: what anybody can work out of a suppressed table, cell by cell; public, since it follows from what is published."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from cellward.errors import VerificationError
from cellward.exact import NO_BOUND
from cellward.protection import Protection
from cellward.publication.ranges import Ranges
from cellward.risk.attacker import Attacker


def ranges_csv(result: Protection) -> bytes:
    """The audit's intervals for the public, widened to the table's decimals: a printed value is both ends, an open end is empty."""
    found = result.audit(attackers=[Attacker.external()])
    if found.open or found.claimed:
        raise VerificationError(
            f"{found.open + found.claimed} ranges are not settled exactly; nothing is written of them"
        )
    factor = 10**result.instance.decimals
    lower = [-NO_BOUND if low is None else math.floor(low * factor) for low, _ in found.ends]
    upper = [NO_BOUND if high is None else math.ceil(high * factor) for _, high in found.ends]
    told = Ranges(np.array(lower, np.int64), np.array(upper, np.int64))
    told.check(result.instance, None)
    return replace(result.release(), publication=told).to_csv()
