"""Releases by hand: anything printed of a table, with what it is said to tell; what a result makes of itself that passed its checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import cellward as cw
from cellward.audit.certificate import Certificate
from cellward.audit.shown import Shown
from cellward.instance import Instance
from cellward.objective import Objective
from cellward.publication.publication import Publication
from cellward.publication.ranges import Ranges
from cellward.publication.values import Values
from cellward.publication.withheld import Withheld


def published(v: Any, knowledge: cw.Knowledge) -> Publication:
    """What is printed where this is known of these values."""
    if knowledge.rule == "suppressed":
        hidden = knowledge.lo != knowledge.hi
        return Withheld(np.where(hidden, 0, knowledge.lo), hidden)
    if knowledge.rule == "interval":
        return Ranges(knowledge.lo.copy(), knowledge.hi.copy())
    return Values(knowledge)


def by_hand(table: cw.Table, v: Any, knowledge: cw.Knowledge, name: str = "by hand") -> cw.Release:
    return cw.Release(
        labels=table.labels,
        publication=published(v, knowledge),
        decimals=table.decimals,
        method={"name": name},
        relations=table.relations,
        lower=table.lower,
        upper=table.upper,
        digest="",
    )


def certified(
    instance: Instance,
    v: Any,
    *,
    method: Mapping[str, Any],
    knowledge: cw.Knowledge,
    salt: str,
    status: str = "feasible",
    **sought: Any,
) -> Certificate:
    """The certificate of values by hand; None: of nothing."""
    printed = None if v is None else published(v, knowledge)
    shown = Shown(instance, printed, Objective(**sought), status)
    return Certificate.of(shown, method=method, told=knowledge, ignore_levels=False, engine="by hand", salt=salt)
