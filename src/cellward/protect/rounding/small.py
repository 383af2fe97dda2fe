"""Small: the note on blocks of a rounded table that whoever knows the method can undo: all their tables can be tried, or few sums hold them."""

from __future__ import annotations

import numpy as np

from cellward.audit.by_method import explained, unknown
from cellward.exact import Ints
from cellward.protection import Protection
from cellward.risk.attacker import Attacker
from cellward.table.relations import Relations

MOST_TABLES = 20_000
"""Tables of a block that are tried for a note."""
MOST_AT_RISK = 200
"""Cells at risk that are looked at for it."""
FEW = 3
"""A sum of so many cells that stand in no other sum leaves one who knows the method little to doubt (benchmarks/method_attack.py)."""
REMEDY = "round with keyed=True (--keyed), after which the method tells nothing more"


def small_blocks(result: Protection) -> list[str]:
    """What is left of the levels against one who knows the method, in sentences; nothing where no block is small or loosely coupled."""
    i, told = result.instance, result.knowledge
    levels = i.sensitivity.levels
    levels = levels.take((levels.lpl > 0) | (levels.upl > 0) | (levels.spl > 0))
    if told is None or result.ignore_levels or result.method.get("keyed") or not len(levels):
        return []
    if unknown(i, told, result.method, result.status):
        return []
    levels = levels.take(np.arange(len(levels)) < MOST_AT_RISK)
    cell = levels.cell
    left = explained(i, told, result.method, result.status, Attacker.knowing_method(), cell, MOST_TABLES)
    tried, low, high, a = (x[cell] for x in (left.tried, left.low, left.high, i.a))
    kept = tried & (a - low >= levels.lpl) & (high - a >= levels.upl) & (high - low >= levels.spl) & (low < high)
    out = []
    if tried.any():
        out.append(
            f"{int(tried.sum()):,} of the cells at risk lie in blocks so small that whoever knows the method can try all their tables: the levels of "
            f"{int(kept.sum()):,} are kept from him; {REMEDY}"
        )
    loose = np.isin(cell, loosely_coupled(i.relations)) & ~tried
    if loose.any():
        out.append(
            f"{int(loose.sum()):,} of the cells at risk are held by one sum of at most {FEW} cells only, which tells whoever knows the method more "
            f"than others; {REMEDY}"
        )
    return out


def loosely_coupled(relations: Relations) -> Ints:
    """Cells that stand in one equation only, together with one or two more of that kind."""
    single = np.bincount(relations.indices, minlength=relations.cells) == 1
    lone = single[relations.indices]
    many = np.bincount(relations.row[lone], minlength=relations.equations)
    few = (many >= 2) & (many <= FEW)
    return np.asarray(relations.indices[lone & few[relations.row]])
