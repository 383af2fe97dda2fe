"""Errors: each says in one sentence what is wrong, where, and what to do about it."""

from __future__ import annotations


class CellwardError(Exception):
    """Base of every error this package raises on purpose; its message is one printable line, whatever codes and names it quotes."""

    def __init__(self, message: str) -> None:
        super().__init__("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message))


class InputError(CellwardError):
    """The input cannot be used as it stands; the message names the place and the remedy."""


class SolverError(CellwardError):
    """A solver crashed, stopped without an answer, or gave one that does not hold; nothing is released."""


class VerificationError(CellwardError):
    """A result did not pass its exact verification; nothing is released."""


class TimeLimitError(CellwardError):
    """The time limit came in a phase that leaves nothing to give; nothing is released, and what was released before stays."""


class ResourceError(CellwardError):
    """Memory or disk space ran out; nothing is released, and what was released before stays."""

    @staticmethod
    def memory(when: str) -> ResourceError:
        """The sentence for memory, the same wherever it ran out."""
        return ResourceError(
            f"memory ran out {when}; close other programs, use fewer threads or a machine with more memory, or split the table"
        )

    @staticmethod
    def disk(when: str) -> ResourceError:
        """The sentence for scratch space."""
        return ResourceError(
            f"the disk of the scratch space ran full {when}; free some space, or set CELLWARD_SCRATCH to a folder on another disk"
        )


def out_of_memory(error: BaseException) -> bool:
    """Whether an error of the interpreter or of a library says that memory ran out."""
    words = ("cannot allocate memory", "can't start new thread", "failed to map segment", "bad_alloc", "out of memory")
    return isinstance(error, MemoryError) or any(word in str(error).lower() for word in words)


def described(error: BaseException) -> str:
    """What an error of a library is, for a sentence; memory that ran out comes with its remedy."""
    if out_of_memory(error):
        return "memory ran out; use fewer threads or a machine with more memory, or split the table"
    return f"{type(error).__name__}: {error}"


def printable(text: str) -> str:
    """A text from the user's data for a sentence: as it is, or escaped where it could not be printed."""
    return text if text.isprintable() else ascii(text)


def brief(text: str) -> str:
    """A text from the user's data quoted for a sentence, cut where it is long."""
    shown = repr(text)
    return shown if len(shown) <= 60 else f"{shown[:57]}…'"


def kind_of(thing: object) -> str:
    """What a wrong argument is, for a sentence.

    >>> kind_of(None), kind_of(3), kind_of([])
    ('nothing', 'an int', 'a list')
    """
    name = type(thing).__name__
    return "nothing" if thing is None else f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"
