"""Entries: what is compared: methods of ours and rivals, as objects, as texts such as ``round base=5``, or those that fit the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from cellward import exact
from cellward.advise.candidates import round_up
from cellward.compare.rivals.all import RIVALS
from cellward.compare.rivals.cell_key import CellKey
from cellward.compare.rivals.conventional_rounding import ConventionalRounding
from cellward.compare.rivals.noise import AdditiveNoise, MultiplicativeNoise
from cellward.compare.rivals.random_rounding import RandomRounding
from cellward.compare.rivals.recoding import Recoding
from cellward.compare.rivals.rival import Rival
from cellward.compare.rivals.small_counts import SmallCounts
from cellward.errors import InputError, brief, kind_of
from cellward.instance import Instance
from cellward.protect.adjustment import ControlledAdjustment
from cellward.protect.intervals import IntervalPublication
from cellward.protect.method import Method
from cellward.protect.methods import METHODS, from_texts
from cellward.protect.option import options_of
from cellward.protect.perturbation import CellPerturbation
from cellward.protect.rounding import ControlledRounding
from cellward.protect.rounding.least_base import SingleCells, round_bases
from cellward.protect.suppression import CellSuppression

Entry = Method | Rival
COUNT_BASES = (3, 5, 10)
"""The bases that offices round counts to. Where levels rule out the largest, the next round ones that they leave are compared instead."""
MAGNITUDE_BASES = 2
RIVAL_BASES = 2
"""Rivals are drawn for so many of the bases."""
SHARE = 0.1
WIDTHS = 100
"""Ends of ranges of magnitudes are multiples of about so much less than the least base."""


def entries_of(given: Iterable[Any] | None, instance: Instance) -> list[Entry]:
    """What is to be compared; None: what fits the table."""
    if given is None:
        return usual(instance)
    if isinstance(given, str | Method | Rival) or not isinstance(given, Iterable):
        given = [given]
    out = [read(one) if isinstance(one, str) else one for one in given]
    for one in out:
        if not isinstance(one, Method | Rival):
            raise InputError(f"methods: {kind_of(one)} is no method; give a method, or a text such as 'round base=5'")
    if not out:
        raise InputError("methods: there is none; give at least one, or leave it out")
    return [one for k, one in enumerate(out) if one not in out[:k]]


def read(text: str) -> Entry:
    """A method as a text: its word, and its options as name=value.

    >>> read("adjust norm=l2").norm, read("random-rounding base=3")
    ('l2', RandomRounding(base='3'))
    """
    word, *options = text.split()[:100] or [""]
    kinds: Sequence[type[Any]] = (*METHODS, *RIVALS)
    found = next((kind for kind in kinds if kind.word == word), None)
    if found is None:
        raise InputError(f"{brief(text)}: there is no method {brief(word)}; use {', '.join(k.word for k in kinds)}")
    known, told = options_of(found), {}
    for option in options:
        name, equals, value = option.partition("=")
        name = name.lstrip("-").replace("-", "_")
        if not equals or name not in known:
            has = f"{word} takes {', '.join(sorted(known))}" if known else f"{word} takes no options"
            raise InputError(f"{brief(text)}: {brief(option)} is no option; {has}, written name=value")
        told[name] = _typed(known[name].kind.texts, value, brief(option))
    if issubclass(found, Method):
        return from_texts(found, told)
    made: Rival = found(**{name: known[name].kind.read_text(value, name) for name, value in told.items()})
    return made


def _typed(kind: type[Any], value: str, where: str) -> Any:
    """The value as a command line gives it."""
    if kind is bool:
        if value not in ("yes", "no"):
            raise InputError(f"{where}: write yes or no")
        return value == "yes"
    if kind is list:
        return value.split(";")
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{where}: is no number") from None


def usual(instance: Instance) -> list[Entry]:
    """Our methods and the rivals that fit: for counts the bases of offices, else round ones that the levels leave."""
    single = SingleCells.of(instance)
    least = int(single.least().max(initial=1))
    counts = not instance.decimals and least <= max(COUNT_BASES)
    bases = _bases(instance, single, least, counts=counts)
    units = [_units(instance, base) for base in bases]
    distance = _units(instance, round_up(max(single.asked.least_distance, 1)))
    grid = exact.text(1, instance.decimals) if counts else None
    ours: list[Entry] = [
        *(ControlledRounding(base, max_steps="auto") for base in units),
        CellPerturbation(within=distance, grid=grid),
        ControlledAdjustment("l1"),
        ControlledAdjustment("l2"),
        CellSuppression(),
        IntervalPublication(1 if counts else _units(instance, round_up(max(least // WIDTHS, 1)))),
    ]
    rivals: list[Entry] = [
        *(RandomRounding(base) for base in units[:RIVAL_BASES]),
        *(ConventionalRounding(base) for base in units[:RIVAL_BASES]),
        *((SmallCounts(int(base)) for base in units[:RIVAL_BASES]) if counts else ()),
        *((CellKey(),) if counts else ()),
        AdditiveNoise(units[min(1, len(units) - 1)]),
        *(() if counts else (MultiplicativeNoise(SHARE),)),
        Recoding(),
    ]
    return [*ours, *rivals]


def _bases(instance: Instance, single: SingleCells, least: int, *, counts: bool) -> list[int]:
    if counts:
        return list(COUNT_BASES)
    most = 4 * int(np.abs(instance.a).max(initial=0)) + 2 * least
    left = (base for base in round_bases(least) if base > most or not len(single.blocked(base)))
    return list(islice(left, MAGNITUDE_BASES))


def _units(instance: Instance, scaled: int) -> int | float:
    """In the table's units, whole where it is."""
    whole, rest = divmod(scaled, 10**instance.decimals)
    return exact.unit(scaled, instance.decimals) if rest else whole
