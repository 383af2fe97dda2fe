"""Option: one option of a method, declared once with its kind and its help; Python, the command line and job files are read off the declaration.

A kind says what values there are: it checks one when a method is made, reads one from the texts of a command line and from the values of a job file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.exact import Ints, Numbers
from cellward.instance import named_levels

MOST_STEPS = 100
"""Steps to multiples further and further away, at most."""


class Kind(ABC):
    """What values an option can have."""

    texts: type[Any] = str
    """What a command line gives: ``str``, ``int``, ``float``, ``bool`` or ``list`` (of texts, the option repeated)."""
    in_files: tuple[type, ...] = (str,)
    """The types of a job file's values."""

    @abstractmethod
    def check(self, given: Any, name: str) -> None:
        """Refuse what is no such value, in one sentence."""

    def read_text(self, given: Any, where: str) -> Any:  # noqa: ARG002
        """What a command line says; ``where``: the option as it is written there."""
        return given

    def read_file(self, given: Any, where: str) -> Any:  # noqa: ARG002
        """What a job file says."""
        return given

    def permuted(self, given: Any, order: Ints) -> Any:  # noqa: ARG002
        """The same value when cell order[k] becomes cell k."""
        return given


@dataclass(frozen=True)
class Word(Kind):
    """One of a few words."""

    words: tuple[str, ...]

    def check(self, given: Any, name: str) -> None:
        """One of them."""
        if not isinstance(given, str) or given not in self.words:
            raise unknown(given, name, self.words)


class Flag(Kind):
    """True or false."""

    texts = bool
    in_files = (bool,)

    def check(self, given: Any, name: str) -> None:
        """One of the two."""
        if not isinstance(given, bool):
            raise InputError(f"{name}={given!r}: give True or False")


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number between two."""

    least: int
    most: int

    texts = int
    in_files = (int,)

    def check(self, given: Any, name: str) -> None:
        """Within them."""
        if not isinstance(given, int) or isinstance(given, bool) or not self.least <= given <= self.most:
            raise InputError(f"{name}={given!r}: give a whole number from {self.least} to {self.most}")


@dataclass(frozen=True)
class Steps(Kind):
    """A whole number of steps from 1 on; one a level of sums ({0: 1, 1: 2}); or ``auto``: as few as are found."""

    most: int

    in_files = (int, str, dict)

    def check(self, given: Any, name: str) -> None:
        """Whole numbers, or the word."""
        each = named_levels(given, name).values() if isinstance(given, Mapping) else (given,)
        if isinstance(given, str) and given == "auto":
            return
        if not all(isinstance(one, int) and not isinstance(one, bool) and 1 <= one <= self.most for one in each):
            raise InputError(
                f"{name}={given!r}: give a whole number from 1 to {self.most}, one a level of sums, or 'auto'"
            )

    def read_text(self, given: Any, where: str) -> Any:
        """The word, a number, or one a level of sums."""
        read = text_by_level(given, where)
        if isinstance(read, Mapping):
            return {level: _whole_or_text(one) for level, one in read.items()}
        return _whole_or_text(read)

    def read_file(self, given: Any, where: str) -> Any:
        """As it stands; a table of levels has texts for keys."""
        if not isinstance(given, Mapping):
            return given
        if not all(str(level).isdecimal() for level in given):
            raise InputError(f"{where}: name levels of sums by their numbers, such as {{0 = 1, 1 = 2}}")
        return {int(level): one for level, one in given.items()}


def _whole_or_text(text: str) -> Any:
    return int(text) if text.strip().isdecimal() else text


@dataclass(frozen=True)
class Number(Kind):
    """A number above, or from, one and up to another; ``such_as`` says what for."""

    least: float
    most: float
    such_as: str
    above: bool = False

    texts = float
    in_files = (int, Decimal)

    def check(self, given: Any, name: str) -> None:
        """Within them."""
        right = isinstance(given, int | float) and not isinstance(given, bool)
        if not right or not self.least <= given <= self.most or (self.above and given == self.least):
            raise InputError(f"{name}={given!r}: give {self.such_as}")

    def read_file(self, given: Any, where: str) -> Any:  # noqa: ARG002
        """As a float."""
        return float(given)


class Exact(Kind):
    """A positive decimal number, kept exactly."""

    in_files = (int, Decimal, str)

    def check(self, given: Any, name: str) -> None:
        """A number above 0."""
        positive(given, name, name, "0.001")


@dataclass(frozen=True)
class Amount(Kind):
    """A positive number for every cell: one, one a level of sums ({0: 5, 1: 10}), or one a cell; ``noun`` is what it is."""

    noun: str

    in_files = (str, int, Decimal, list, dict)

    def check(self, given: Any, name: str) -> None:
        """Numbers above 0; whether there is one for every cell is seen when the table is."""
        if isinstance(given, Mapping):
            each: Iterable[Any] = named_levels(given, name).values()
        elif isinstance(given, np.ndarray) or (isinstance(given, Iterable) and not isinstance(given, str | bytes)):
            return
        else:
            each = (given,)
        for one in each:
            positive(one, name, self.noun, "3, 5 or 10")

    def permuted(self, given: Any, order: Ints) -> Any:
        """One a cell follows the cells."""
        return one_a_cell(given, order)

    def read_text(self, given: Any, where: str) -> Any:
        """One, or one a level of sums."""
        return text_by_level(given, where)


@dataclass(frozen=True)
class Grid(Kind):
    """A positive number, or a word that stands for one; ``none`` for None, where options are texts."""

    words: tuple[str, ...] = ()

    in_files = (str, int, Decimal)

    def check(self, given: Any, name: str) -> None:
        """A number above 0, or one of the words."""
        if isinstance(given, str) and given in self.words:
            return
        try:
            positive(given, name, "grid", "1")
        except InputError:
            known = "".join(f"{word!r}, " for word in self.words)
            raise InputError(f"{name}={given!r}: give a positive number such as 1, {known}or none") from None

    def read_text(self, given: Any, where: str) -> Any:  # noqa: ARG002
        """None, where it is called so."""
        return None if given == "none" else given

    def read_file(self, given: Any, where: str) -> Any:
        """None, where it is called so."""
        return self.read_text(given, where)


@dataclass(frozen=True)
class Cells(Kind):
    """A word for many cells, or cells by their codes or numbers."""

    words: tuple[str, ...] = ()

    texts = list
    in_files = (str, list)

    def check(self, given: Any, name: str) -> None:
        """A word that is known, or several cells."""
        if (isinstance(given, str) and given not in self.words) or not isinstance(given, Iterable):
            known = " or ".join((*map(repr, self.words), "a list of cells"))
            raise InputError(f"{name}={given!r} is not known; use {known}")

    def permuted(self, given: Any, order: Ints) -> Any:
        """Numbers follow the cells."""
        if isinstance(given, str):
            return given
        place = np.argsort(order)
        whole = (int, np.integer)
        return tuple(int(place[cell]) if isinstance(cell, whole) and 0 <= cell < len(order) else cell for cell in given)

    def read_text(self, given: Any, where: str) -> Any:  # noqa: ARG002
        """A word, or each cell by its codes A,B or its number."""
        if len(given) == 1 and given[0] in self.words:
            return given[0]
        return tuple(tuple(code.strip() for code in text.split(",")) if "," in text else text for text in given)

    def read_file(self, given: Any, where: str) -> Any:
        """A word, or a list of cells."""
        return given if isinstance(given, str) else tuple(cell_of(cell, where) for cell in given)


@dataclass(frozen=True)
class WordOrNumbers(Kind):
    """One of a few words; or, in Python and job files, a list of numbers (``described``)."""

    words: tuple[str, ...]
    described: str

    in_files = (str, list)

    def check(self, given: Any, name: str) -> None:
        """A word that is known, or a list."""
        if (isinstance(given, str) and given not in self.words) or not isinstance(given, Iterable):
            known = ", ".join(map(repr, self.words))
            raise InputError(f"{name}={given!r} is not known; use {known}{' or ' * bool(known)}{self.described}")

    def permuted(self, given: Any, order: Ints) -> Any:
        """One a cell follows the cells."""
        return one_a_cell(given, order)


class Pair(Kind):
    """Two numbers."""

    in_files = (list,)

    def check(self, given: Any, name: str) -> None:
        """Two, neither below 0, not both 0."""
        try:
            right = not isinstance(given, str) and len(given) == 2
            numbers = Numbers.read(list(given), lambda _: name).mantissa if right else []
        except (TypeError, InputError):
            right = False
        if not right or min(numbers) < 0 or not any(numbers):
            raise InputError(
                f"{name}={given!r}: give two numbers that are not both 0, of L1 and of L2, such as 0.99 and 0.01"
            )

    def read_text(self, given: Any, where: str) -> Any:  # noqa: ARG002
        """With a comma between them."""
        return tuple(given.split(","))

    def read_file(self, given: Any, where: str) -> Any:  # noqa: ARG002
        """A list of two."""
        return tuple(given)


# ---- declaring and reading ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """Kind and help of an option; ``on_command_line`` is False for what only Python and job files can say; ``unsaid``: what the command line and job
    files take where nothing is said, if not the default."""

    kind: Kind
    help: str
    on_command_line: bool = True
    unsaid: Any = None


def option(
    default: Any,
    kind: Kind,
    help: str,  # noqa: A002
    *,
    first: bool = False,
    on_command_line: bool = True,
    unsaid: Any = None,
) -> Any:
    """Declare an option; ``first``: it can be given without its name."""
    declared = Option(kind, help, on_command_line, unsaid)
    return field(default=default, kw_only=not first, metadata={"option": declared})


def options_of(method: type[Any]) -> dict[str, Option]:
    """The options of a method by name."""
    return {one.name: one.metadata["option"] for one in fields(method) if "option" in one.metadata}


def check_options(method: Any) -> None:
    """Refuse values that are none of their kind; those left at their default are right."""
    for one in fields(method):
        given = getattr(method, one.name)
        if "option" in one.metadata and given is not one.default and given is not None:
            one.metadata["option"].kind.check(given, one.name)


# ---- what kinds share --------------------------------------------------------------------------------------------------------------------------


def unknown(given: object, name: str, words: Iterable[str]) -> InputError:
    """The sentence on a word that is not known."""
    return InputError(f"{name}={given!r} is not known; use {' or '.join(map(repr, words))}")


def positive(given: Any, where: str, noun: str, such_as: str) -> None:
    """Refuse what is no number above 0."""
    if not Numbers.read([given], lambda _: where).mantissa[0] > 0:
        raise InputError(f"{where}: {given} is not a {noun}; give a positive number such as {such_as}")


def one_a_cell(given: Any, order: Ints) -> Any:
    """A list of one entry a cell when cell order[k] becomes cell k; anything else as it is."""
    listed = not isinstance(given, str | bytes | Mapping) and hasattr(given, "__len__") and np.ndim(given) == 1
    return [given[i] for i in order.tolist()] if listed and len(given) == len(order) else given


def text_by_level(text: str, where: str) -> Any:
    """What is written after an option: one entry, or one a level of sums (0=5,1=10)."""
    if "=" not in text:
        return text
    entries = [entry.split("=") for entry in text.split(",")]
    if any(len(entry) != 2 or not entry[0].strip().isdecimal() for entry in entries):
        raise InputError(f"{where} {text}: write one entry a level of sums, such as 0=5,1=10")
    return {int(level): entry.strip() for level, entry in entries}


def cell_of(given: Any, where: str = "") -> int | tuple[str, ...]:
    """A cell of a job file, by its codes or by its number."""
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    codes = given if isinstance(given, list) else [given]
    if not codes or not all(isinstance(code, str) for code in codes):
        place = f"{where}: " if where else ""
        raise InputError(f"{place}{given!r} is no cell; give its codes as a list of texts, or its number")
    return tuple(codes)
