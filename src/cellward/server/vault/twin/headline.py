"""Headlines: a few large sums are brought back to their true values by parts that can spare it, without taking a cell at risk below its level."""

from __future__ import annotations

import numpy as np

from cellward.exact import Ints
from cellward.solve.sum_moves import SumMoves


def keep_headlines(moves: SumMoves, z: Ints, d: Ints, headlines: Ints) -> Ints:
    """What the sums are off by afterwards; ``z`` is moved in place. ``headlines`` have no part in common."""
    rows, columns = moves.sums.tocsr(), moves.sums.tocsc()
    d = d.copy()
    for headline in headlines.tolist():
        parts = rows.indices[rows.indptr[headline] : rows.indptr[headline + 1]]
        room = np.abs(moves.high[parts] + moves.low[parts] * -1)
        for part in parts[np.argsort(-room, kind="stable")].tolist():
            if not d[headline]:
                break
            above = columns.indices[columns.indptr[part] : columns.indptr[part + 1]]
            z[part] += (step := _step(moves, z, d, part, above, -int(d[headline])))
            d[above] += step
    return d


def _step(moves: SumMoves, z: Ints, d: Ints, part: int, above: Ints, wanted: int) -> int:
    """The step towards this one that all sums above the part allow."""
    up, down, off = moves.up[above], moves.down[above], d[above]
    risky = up > 0
    least, most = int(moves.low[part] - z[part]), int(moves.high[part] - z[part])
    high, low = risky & (off >= up), risky & (off <= -down)
    least = max([least, *(up - off)[high].tolist()])
    most = min([most, *(-down - off)[low].tolist()])
    # a part moves by no more than half of what its safe sums are usually off by, so that no single one pays for all
    spare = int(np.ceil(float(moves.scale[above].min())))
    return int(min(max(wanted, least, -spare), most, spare))
