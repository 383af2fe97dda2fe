"""Estimate: the number that a user takes for each cell of what is printed: the value, the middle of a range, or what the sums leave for a cross."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellward.exact import NO_BOUND, Bools, Floats
from cellward.instance import Instance
from cellward.publication.publication import Publication
from cellward.publication.ranges import Ranges
from cellward.publication.withheld import Withheld

MOST_STEPS = 300
"""Steps of the least-squares solver; a user's estimate need not be exact."""
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Estimate:
    """One number a cell in scaled units; ``doubt``: how far off a user must take it to be on average; ``unprinted``: the share of cells without a
    single value."""

    values: Floats
    doubt: Floats
    unprinted: float


def estimate(instance: Instance, publication: Publication) -> Estimate:
    """What a user takes for each cell. A value that may lie anywhere in a range is on average a quarter of its width from the middle."""
    none = np.zeros(instance.cells)
    if publication.v is not None:
        return Estimate(publication.v.astype(float), none, 0.0)
    if isinstance(publication, Ranges):
        lower = np.where(publication.lower == -NO_BOUND, instance.lower, publication.lower)
        upper = np.where(publication.upper == NO_BOUND, instance.upper, publication.upper)
        open_ = (np.abs(lower) == NO_BOUND) | (np.abs(upper) == NO_BOUND)
        middle = np.where(open_, 0, lower / 2 + upper / 2)
        doubt = np.where(open_, 0, upper / 4 - lower / 4)
        return Estimate(_filled(instance, middle, open_), doubt, float((lower < upper).mean()))
    assert isinstance(publication, Withheld)
    filled = _filled(instance, publication.shown.astype(float), publication.hidden)
    return Estimate(filled, none, float(publication.hidden.mean()))


def _filled(instance: Instance, known: Floats, missing: Bools) -> Floats:
    """The least-squares completion: of all that keep the sums the one nearest to 0, inside the public bounds."""
    if not missing.any():
        return known
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import lsqr

    r = instance.relations
    m = csr_matrix((r.coefs.astype(float), r.indices, r.indptr), shape=(r.equations, r.cells))
    cells = np.flatnonzero(missing)
    left = r.rhs - m @ np.where(missing, 0.0, known)
    found = lsqr(m[:, cells], left, atol=TOLERANCE, btol=TOLERANCE, iter_lim=MOST_STEPS)[0]
    low, high = instance.lower[cells].astype(float), instance.upper[cells].astype(float)
    out = known.copy()
    out[cells] = np.clip(found, np.where(low <= -NO_BOUND, -np.inf, low), np.where(high >= NO_BOUND, np.inf, high))
    return out
