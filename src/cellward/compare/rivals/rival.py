"""Rival: a method of others, as its literature has it, to be measured beside ours. It makes no release, and has nothing to make one with."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from cellward.errors import InputError
from cellward.exact import NO_BOUND, Ints
from cellward.instance import Instance
from cellward.protect.option import check_options, options_of
from cellward.publication.knowledge import Knowledge
from cellward.publication.publication import Publication
from cellward.publication.values import Values

RIVAL = "rival"
"""What the knowledge of a rival's table is called: the rule of no release of ours."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Drawn:
    """What a rival would print of a table: it can be audited, and that is all."""

    instance: Instance
    publication: Publication
    method: Mapping[str, Any] = field(default_factory=dict)
    status: str = RIVAL
    reason: str = ""


class Rival(ABC):
    """A method of others: a frozen dataclass of options, declared as those of our methods are."""

    word: ClassVar[str]
    """What the command line calls it."""
    title: ClassVar[str]
    """What it is called in the literature."""
    tells: ClassVar[str]
    """What attackers take from its published rule, in words."""

    def __post_init__(self) -> None:
        check_options(self)

    @abstractmethod
    def accepts(self, instance: Instance) -> str | None:
        """None where it is meant for such a table; otherwise why not."""

    @abstractmethod
    def print_of(self, instance: Instance, rng: np.random.Generator) -> Publication:
        """What it prints of a table, and what that tells whoever knows its rule."""

    def drawn(self, instance: Instance, seed: int) -> Drawn:
        """The same as something to attack; every setting draws its own numbers from the seed."""
        if reason := self.accepts(instance):
            raise InputError(reason)
        said = " ".join((self.word, *(f"{name}={getattr(self, name)}" for name in options_of(type(self)))))
        rng = np.random.default_rng((seed, zlib.crc32(said.encode())))
        return Drawn(instance=instance, publication=self.print_of(instance, rng), method={"name": self.title})


def told(v: Ints, lo: Ints, hi: Ints) -> Values:
    """Printed values, and the bounds on the true ones that the rival's rule tells; values need not be whole for the attacker."""
    return Values(Knowledge(lo, hi, False, {"rule": RIVAL}, v))


def of_leaves(instance: Instance, leaf: Ints, lo: Ints, hi: Ints) -> Values:
    """The same where only cells that are no sum are changed and all others are added up anew: of those the sums alone tell."""
    form = instance.relations.leaf_form
    v = np.asarray(form.matrix @ leaf + form.constant)
    low, high = np.full(instance.cells, -NO_BOUND, np.int64), np.full(instance.cells, NO_BOUND, np.int64)
    low[form.leaves], high[form.leaves] = lo, hi
    return told(v, low, high)


def refuse_no_counts(instance: Instance, title: str) -> str | None:
    """Why a method for counts is not for this table; None where it is."""
    if instance.decimals or int(instance.a.min(initial=0)) < 0:
        return f"{title} is for counts, and this table has decimals or negative values"
    return None


def refuse_no_leaves(instance: Instance, title: str) -> str | None:
    """Why a method that changes leaves is not for this table; None where it is."""
    form = instance.relations.leaf_form
    if form.condition.shape[0] or (form.matrix.nnz and int(form.matrix.data.min()) < 0) or form.constant.any():
        return f"{title} adds up cells that are no sum, and the sums of this table are not all made of such cells"
    return None
