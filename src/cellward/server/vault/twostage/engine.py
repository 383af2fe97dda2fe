"""The two-stage engine of paper 001: a table is judged and its sides are drawn, then it is adjusted with every published cell fixed; before it leaves
it is judged together with everything that was published. What it cannot answer so, it refuses."""

from __future__ import annotations

import base64
import hmac
import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import combinations
from threading import Lock

import numpy as np

from cellward.errors import InputError
from cellward.exact import Ints
from cellward.server.config import COUNT, Limits
from cellward.server.ledger.ledger import Ledger
from cellward.server.vault.records import Records
from cellward.server.vault.request import Request
from cellward.server.vault.said import RefusedError
from cellward.server.vault.tabulator import Cells as Values
from cellward.server.vault.twin.engine import twin_of
from cellward.server.vault.twin.lattice import needs_of
from cellward.server.vault.twostage.atoms import Atoms
from cellward.server.vault.twostage.cells import Cells
from cellward.server.vault.twostage.first_stage import FirstStage
from cellward.server.vault.twostage.layout import Layout
from cellward.server.vault.twostage.measured import Measured
from cellward.server.vault.twostage.sealed import opened, seal
from cellward.server.vault.twostage.sets import Sets

STATEMENT = (
    "Values are adjusted so that no respondent can be told from this table and all others that were published; what was published stays. They add "
    "up exactly within and across tables. They differ from the true ones, as a rule by little where a cell is large."
)
REFUSED_STEP_S = 0.25
"""A refusal is given at the next multiple of so many seconds, so that its time tells little."""


class TwoStageEngine:
    """Answers requests one at a time; ``decimals`` of each measure, the count last."""

    name = "two-stage"
    statement = STATEMENT

    def __init__(self, records: Records, key: bytes, ledger: Ledger) -> None:
        config = records.config
        self._dataset, self._ledger, self._lock = config.name, ledger, Lock()
        self._key = hmac.digest(key, f"two-stage of {config.name}".encode(), "sha256")
        self.decimals = (*records.decimals, 0)
        self._atoms = Atoms.of(records)
        self._names = [*(measure.name for measure in config.measures), COUNT]
        self._bind("records and codes", f"{records.version:032x} {self._atoms.digest}")
        self.measured = _measured(records, key, self._atoms)
        start = sha256(b"".join(own.shadow.tobytes() for own in self.measured)).hexdigest()
        self._bind("start and twin file", f"{config.start} {start}")
        none = np.zeros(0, np.int64)
        for layout in _common(records, self._atoms):
            for own in self.measured:
                own.taken(layout, none, none)
        self._restore()
        self._sound = True

    @contextmanager
    def answering(self, request: Request) -> Iterator[Values]:
        """Every cell of the table as it is published, or a refusal; kept as published when the caller is done with it, and not where it fails."""
        begun = time.monotonic()
        at = len(self.decimals) - 1 if request.measure is None else request.measure
        layout = Layout.of(request, self._atoms.code)
        cells, known = self._looked_up(layout, at)
        if all(
            one in known or not one for one in cells.identity
        ):  # from the ledger, beside others that wait for a solve
            yield Values(np.array([known.get(one, 0) for one in cells.identity], np.int64), cells.identity)
            return
        try:
            with self._lock:
                yield from self._answered(layout, at)
        except RefusedError:
            time.sleep(-(time.monotonic() - begun) % REFUSED_STEP_S)
            raise

    def _looked_up(self, layout: Layout, at: int) -> tuple[Cells, dict[int, int]]:
        """The cells of a table, and the values of those that were published."""
        cells = Cells.of(layout, self._atoms, self.measured[at].seen)
        return cells, self._ledger.known(self._dataset, self._names[at], sorted(cells.names))

    def _answered(self, layout: Layout, at: int) -> Iterator[Values]:
        own = self.measured[at]
        cells, known = self._looked_up(layout, at)
        if not self._sound or not known.keys() <= own.seen:
            raise RefusedError(
                "inconsistent",
                "the ledger holds answers that this server did not give",
                "tell the administrator of this server that it has to be started again, and that one server alone may use a ledger",
            )
        found = own.answer(cells, known)
        try:
            yield Values(found.value, cells.identity, self._noted(at, layout, found.moved, found.by))
        except BaseException:
            found.back()
            raise
        self._sound = False  # unless all of it is noted
        found.keep()
        self._sound = True

    def _noted(self, at: int, layout: Layout, moved: Ints, by: Ints) -> str:
        """What the next start needs of an answer, sealed: the atoms of the table and how the shadow was moved."""
        out = io.BytesIO()
        np.savez_compressed(
            out, at=np.array([at]), atom=layout.atom.astype(np.int32), leaf=layout.leaf.astype(np.int32),
            groups=np.array(layout.groups, np.int64), moved=moved.astype(np.int32), by=by,
        )  # fmt: skip
        return base64.b85encode(seal(self._key, out.getvalue())).decode()

    def _restore(self) -> None:
        """What was published before this process began."""
        for note in self._ledger.notes(self._dataset):
            with np.load(io.BytesIO(opened(self._key, base64.b85decode(note))), allow_pickle=False) as held:
                layout = Layout(
                    held["atom"].astype(np.int64), held["leaf"].astype(np.int64), tuple(held["groups"].tolist())
                )
                self.measured[int(held["at"][0])].taken(layout, held["moved"].astype(np.int64), held["by"])

    def _bind(self, what: str, said: str) -> None:
        """Refuse what is not as when the ledger was begun: published sets of records could not be found again."""
        if self._ledger.bind(f"{what} of {self._dataset}", said) != said:
            raise InputError(
                f"{self._dataset}: the two-stage engine serves the {what} that its ledger was begun with; restore them, or serve the records as a "
                "new dataset with a ledger of its own"
            )


def _measured(records: Records, key: bytes, atoms: Atoms) -> list[Measured]:
    """Every measure, the count last, as its twin stands."""
    twin = twin_of(records, key)
    database = records.database()
    config = records.config
    first = np.unique(twin.part, return_index=True)[1]
    every = np.ones(records.many, bool)
    found = []
    for j, value in enumerate(twin.value):
        measure = j if j < len(records.decimals) else None
        rules = config.rules if measure is not None else config.count_rules
        needs = needs_of(records, database, measure, atoms.code, atoms.atom_of_record, rules, every)
        shadow = np.zeros(atoms.many, np.int64)
        np.add.at(shadow, atoms.atom_of_record[first], value)
        true = np.diff(atoms.first) if measure is None else atoms.added(records.heavy[measure])
        lattice = Sets(needs.sums, needs.value, needs.rows, needs.up, needs.down)
        found.append(Measured(FirstStage(records, database, atoms, measure, rules, key), lattice, shadow, true))
    return found


def _common(records: Records, atoms: Atoms) -> Iterator[Layout]:
    """The tables that have their values before the first request: all that cross up to so many dimensions, at every level."""
    config, dims = records.config, records.dimensions
    every = Limits(max_cells=1_000_000, max_dimensions=12)
    for crossed in range(config.start + 1 if config.start else 0):
        for chosen in combinations(range(len(dims)), crossed):
            for levels in np.ndindex(*(dims[k].deepest for k in chosen)):
                said = [{"name": dims[k].name, "level": level + 1} for k, level in zip(chosen, levels, strict=True)]
                yield Layout.of(Request.of({"dimensions": said}, dims, config.measures, every), atoms.code)
