"""Checkpoint: where a long search keeps what it has found, so that one that was ended at any moment goes on from there.

One file in a folder of the user's choice, written whole or not at all, with the digest of what it holds and that of the question it is about; a file
that is of another question, or not whole, is not believed. Nothing in it is believed unproven either: tables are checked and prices prove what they
prove. It is confidential: roundings and prices on the way tell of true values.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, fields
from pathlib import Path
from time import perf_counter

import numpy as np

from cellward.errors import InputError
from cellward.exact import Floats, Ints
from cellward.files.whole import write_whole
from cellward.solve.budget import Budget
from cellward.solve.model import LinearModel

NAME = "cellward-search.checkpoint"
EVERY_S = 15.0
"""The least time between two writes on the way."""
MARK = b"cellward checkpoint 1\n"


def search_folder(path: Path) -> Path:
    """A folder for checkpoints, its owner's alone where it is made here."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: no search can be kept there ({error.strerror}); choose another folder") from error
    return path


@dataclass(frozen=True, eq=False)
class Kept:
    """The best table of a search, and its prices if there were any."""

    x: Ints | None
    duals: Floats | None
    point: Floats | None


class Checkpoint:
    """What is kept of the search of one question in one folder; without a folder nothing is."""

    def __init__(self, path: Path | None, question: str) -> None:
        self.path, self.question = path, question
        self.resumed = False
        self.written = perf_counter()
        self.last: Ints | None = None

    @staticmethod
    def nowhere() -> Checkpoint:
        """That of a search that keeps nothing."""
        return Checkpoint(None, "")

    @staticmethod
    def of(budget: Budget, question: LinearModel) -> Checkpoint:
        """That of a budget's folder."""
        if budget.resume is None:
            return Checkpoint.nowhere()
        mark = hashlib.sha256()
        for field in fields(LinearModel):
            array = getattr(question, field.name)
            mark.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
        return Checkpoint(budget.resume / NAME, mark.hexdigest())

    def read(self) -> Kept | None:
        """What a search of the same question kept; None where there is nothing, or nothing to be believed."""
        if self.path is None or not self.path.is_file():
            return None
        data = self.path.read_bytes()
        head, body = data[: len(MARK) + 65], data[len(MARK) + 65 :]
        if (
            not head.startswith(MARK)
            or head[len(MARK) : -1].decode("ascii", "replace") != hashlib.sha256(body).hexdigest()
        ):
            raise InputError(f"{self.path}: it is damaged; remove it, and the search begins anew")
        with np.load(io.BytesIO(body), allow_pickle=False) as kept:
            if str(kept["question"]) != self.question:
                return None
            found = {name: kept.get(name) for name in ("x", "duals", "point")}
        self.resumed = found["x"] is not None
        x = found["x"]
        return Kept(None if x is None else x.astype(np.int64), found["duals"], found["point"])

    def now_and_then(self, x: Ints | None, duals: Floats | None, point: Floats | None) -> None:
        """Write another table than the last, unless that was done a moment ago; to be called again and again, so that none waits for a better one."""
        if x is not self.last and perf_counter() - self.written >= EVERY_S:
            self.write(x, duals, point)

    def write(self, x: Ints | None, duals: Floats | None, point: Floats | None) -> None:
        """Write the whole file anew."""
        if self.path is None:
            return
        given = {"x": None if x is None else x.astype(np.int32), "duals": duals, "point": point}
        body = io.BytesIO()
        arrays = {name: array for name, array in given.items() if array is not None}
        np.savez(body, allow_pickle=False, question=np.array(self.question), **arrays)
        data = body.getvalue()
        write_whole(self.path, MARK + hashlib.sha256(data).hexdigest().encode() + b"\n" + data, confidential=True)
        self.written, self.last = perf_counter(), x
