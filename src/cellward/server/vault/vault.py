"""Vault: answers calls with releases and refusals; every answer is in the ledger before it leaves."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Any, Protocol

import numpy as np

from cellward.errors import InputError, ResourceError, brief
from cellward.exact import text
from cellward.key import read_key
from cellward.server.config import COUNT, DatasetConfig, ServerConfig
from cellward.server.ledger.ledger import Answer, Asked, ConflictError, Ledger, UsedOnceError
from cellward.server.ledger.verify import verify_ledger
from cellward.server.vault.records import Records
from cellward.server.vault.request import Request
from cellward.server.vault.said import BadRequestError, RefusedError, SaidError
from cellward.server.vault.tabulator import Cells
from cellward.server.vault.twin.engine import TwinEngine
from cellward.server.vault.twostage.engine import TwoStageEngine

MOST_LISTED = 10_001
"""Codes or answers in one list."""
MOST_NAME = 200
"""Characters of an analyst's name, or of an idempotency key."""
ID_BYTES = 16


class Engine(Protocol):
    """How a dataset is answered."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def statement(self) -> str:
        """What readers of its tables are told about their values."""

    @property
    def decimals(self) -> tuple[int, ...]:
        """Of each measure, the count last."""

    def answering(self, request: Request) -> AbstractContextManager[Cells]:
        """Every cell of the table as it is published, or a refusal; within the context it is published."""


@dataclass(frozen=True, eq=False)
class Served:
    """A dataset that is served: its public side, its engine, and which records it is of."""

    config: DatasetConfig
    dimensions: Any
    engine: Engine
    version: str
    records: int


class Vault:
    """See :meth:`handle` for the calls."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        key = read_key(config.key_file)
        self._ledger = Ledger(config.ledger)
        self._datasets = {one.name: _served(one, key, self._ledger) for one in config.datasets}
        for own in self._datasets.values():
            _check_decimals(self._ledger, own)
        self._calls: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "health": self._health,
            "datasets": self._list_datasets,
            "codes": self._list_codes,
            "ask": self._ask,
            "table": self._table,
            "answers": self._answers,
            "ledger_verify": self._verify,
        }

    def close(self) -> None:
        """Let go of the ledger."""
        self._ledger.close()

    def handle(self, request: Any) -> dict[str, Any]:
        """The response to one call; whatever goes wrong is one sentence with a remedy, and nothing about the data."""
        given = request.get("id") if isinstance(request, dict) else None
        head = {"id": given if isinstance(given, str | int) else None}
        try:
            if not isinstance(request, dict):
                raise BadRequestError("request", "the request is no object", 'send {"id": 1, "call": "health"}')
            call = request.get("call")
            if not isinstance(call, str) or call not in self._calls:
                raise BadRequestError("call", f"there is no call {brief(str(call))}", f"use {', '.join(self._calls)}")
            return {**head, **self._calls[call](request)}
        except SaidError as said:
            return {**head, said.kind: said.shape}
        except ResourceError as error:
            sentence, _, remedy = str(error).rpartition("; ")
            return {**head, "error": {"code": "resources", "sentence": sentence, "remedy": remedy}}
        except Exception:  # noqa: BLE001 (what an error of ours says may hold a value of the records)
            return {**head, "error": _FAILED.shape}

    def _health(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"ok": True, "datasets": len(self._datasets), "answers": self._ledger.counts()["answer"]}

    def _list_datasets(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"datasets": [_described(own) for own in self._datasets.values()]}

    def _list_codes(self, request: Mapping[str, Any]) -> dict[str, Any]:
        own = self._dataset(request)
        dimension = next((one for one in own.dimensions if one.name == request.get("dimension")), None)
        if dimension is None:
            names = ", ".join(one.name for one in own.dimensions)
            raise BadRequestError(
                "dimension", f"there is no dimension {brief(str(request.get('dimension')))}", f"use {names}"
            )
        offset, limit = _page(request)
        level = request.get("level")
        if level is not None and (not _whole(level) or not 0 <= level <= dimension.deepest):
            raise BadRequestError(
                "level", f"{dimension.name} has no level {brief(str(level))}", f"use 0 to {dimension.deepest}"
            )
        listed = list(range(len(dimension.codes))) if level is None else dimension.at(level).tolist()
        codes = [
            {
                "code": dimension.codes[code],
                "label": dimension.codes[code],
                "parent": None if dimension.parent[code] < 0 else dimension.codes[dimension.parent[code]],
                "level": int(dimension.depth[code]),
            }
            for code in listed[offset : offset + limit]
        ]
        return {"codes": codes, "total": len(listed)}

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        own = self._dataset(request)
        who, once = _name(request, "who", needed=True), _name(request, "key", needed=False)
        wanted = Request.of(request.get("request"), own.dimensions, own.config.measures, self._config.limits)
        worded = _worded(wanted)
        asked = Asked(str(who), own.config.name, worded, once)
        try:
            if (kept := self._ledger.again(asked)) is not None:
                return {"answer": _answer(kept, wanted, from_ledger=True)}
            try:
                return {"answer": self._published(own, wanted, asked)}
            except RefusedError as refused:
                self._ledger.refuse(asked, refused.code)
                raise
        except UsedOnceError:
            if (meanwhile := self._again(asked)) is not None:
                return {"answer": _answer(meanwhile, wanted, from_ledger=True)}
            raise BadRequestError(
                "idempotency_key", "the idempotency key was used for another request", "use a new key for each request"
            ) from None

    def _again(self, asked: Asked) -> Answer | None:
        """The answer that another thread gave under the same key meanwhile."""
        try:
            return self._ledger.again(asked)
        except UsedOnceError:
            return None

    def _published(self, own: Served, wanted: Request, asked: Asked) -> dict[str, Any]:
        """Compute an answer, keep it, and only then hand it out."""
        with own.engine.answering(wanted) as cells:
            return self._kept(own, wanted, asked, cells)

    def _kept(self, own: Served, wanted: Request, asked: Asked, cells: Cells) -> dict[str, Any]:
        """An answer that is in the ledger now."""
        at = len(own.engine.decimals) - 1 if wanted.measure is None else wanted.measure
        body = {
            "columns": [own.dimensions[one.at].name for one in wanted.crossings],
            "labels": [wanted.labels(k) for k in range(len(wanted.crossings))],
            "values": cells.value.tolist(),
            "measure": wanted.measure_name,
            "decimals": own.engine.decimals[at],
            "engine": own.engine.name,
            "statement": own.engine.statement,
            **({"note": cells.note} if cells.note else {}),
        }
        name = f"{own.config.name}\n{own.version}\n{wanted.canonical}".encode()
        answer = Answer(blake2b(name, digest_size=ID_BYTES).hexdigest(), own.config.name, wanted.canonical, body)
        try:
            known = self._ledger.publish(asked, answer, wanted.measure_name, cells.identity, cells.value.tolist())
        except ConflictError:
            raise RefusedError(
                "inconsistent",
                "the table would contradict one that was published before",
                "tell the administrator of this server that its twin and its ledger do not belong together",
            ) from None
        return _answer(answer, wanted, from_ledger=known)

    def _table(self, request: Mapping[str, Any]) -> dict[str, Any]:
        named = request.get("answer", request.get("id"))
        answer = self._ledger.answer(named) if isinstance(named, str) else None
        if answer is None:
            raise BadRequestError("answer", "there is no answer of this name", "use the id that an answer came with")
        return {"answer": _as_published(answer)}

    def _answers(self, request: Mapping[str, Any]) -> dict[str, Any]:
        offset, limit = _page(request)
        rows = self._ledger.entries(who=_name(request, "who", needed=False), kind="answer", offset=offset, limit=limit)
        return {
            "answers": [
                {
                    "id": one["said"],
                    "dataset": one["dataset"],
                    "request": json.loads(one["request"]),
                    "who": one["who"],
                    "at": one["at"],
                }
                for one in rows
            ]
        }

    def _verify(self, _: Mapping[str, Any]) -> dict[str, Any]:
        found = verify_ledger(self._config.ledger)
        return {"ok": found.ok, "rows": found.rows, "sentence": found.sentence}

    def _dataset(self, request: Mapping[str, Any]) -> Served:
        name = request.get("dataset")
        if not isinstance(name, str) or name not in self._datasets:
            raise BadRequestError(
                "dataset", f"there is no dataset {brief(str(name))}", f"use {', '.join(self._datasets)}"
            )
        return self._datasets[name]


_FAILED = BadRequestError("failed", "the vault could not answer", "try again, and tell the administrator if it goes on")


def _served(config: DatasetConfig, key: bytes, ledger: Ledger) -> Served:
    """A dataset, ready to be asked; another engine would not know what the first one keeps apart."""
    if (before := ledger.bind(f"engine of {config.name}", config.engine)) != config.engine:
        raise InputError(
            f"{config.name}: its tables were published by the engine {before}; say engine = {before!r}, or serve it with a ledger of its own"
        )
    records = Records.read(config, key)
    engine: Engine = TwinEngine.of(records, key) if config.engine == "twin" else TwoStageEngine(records, key, ledger)
    return Served(config, records.dimensions, engine, f"{records.version:032x}", records.many)


def _check_decimals(ledger: Ledger, own: Served) -> None:
    """Refuse decimals other than those of the values that were published."""
    names = [measure.name for measure in own.config.measures]
    for name, decimals in zip(names, own.engine.decimals, strict=False):
        if (before := ledger.bind(f"decimals of {name} in {own.config.name}", str(decimals))) != str(decimals):
            raise InputError(
                f"{own.config.name}: {name} was published with {before} decimals, and has {decimals} now; say decimals = {before} of it"
            )


def _described(own: Served) -> dict[str, Any]:
    """The public side of a dataset; how many records it has is rounded to two digits."""
    coarse = 10 ** max(len(str(own.records)) - 2, 1)
    units = {measure.name: measure for measure in own.config.measures}
    measures = [{"name": COUNT, "title": "number of records", "unit": "records", "decimals": 0}]
    measures += [
        {"name": name, "title": units[name].title, "unit": units[name].unit, "decimals": decimals}
        for name, decimals in zip(units, own.engine.decimals, strict=False)
    ]
    dimensions = [
        {
            "name": one.name,
            "title": one.config.title,
            "levels": [
                {"level": level, "name": one.level_name(level), "codes": len(one.at(level))}
                for level in range(one.deepest + 1)
            ],
        }
        for one in own.dimensions
    ]
    return {
        "name": own.config.name,
        "title": own.config.title,
        "records": round(own.records / coarse) * coarse,
        "measures": measures,
        "dimensions": dimensions,
    }


def _worded(wanted: Request) -> str:
    """The request as it is kept in the trail: canonical, so that an idempotency key holds for every wording of it, in the order asked for."""
    return json.dumps(
        {**json.loads(wanted.canonical), "order": list(wanted.order)}, sort_keys=True, separators=(",", ":")
    )


def _answer(answer: Answer, wanted: Request, *, from_ledger: bool) -> dict[str, Any]:
    """An answer in the order of dimensions asked for."""
    return {**_as_published(answer, wanted.order), "from_ledger": from_ledger}


def _as_published(answer: Answer, order: Sequence[int] | None = None) -> dict[str, Any]:
    """An answer as it travels: a row a cell, codes first, the value as decimal text."""
    body = answer.body
    order = range(len(body["columns"])) if order is None else order
    labels = body["labels"]
    shape = [len(own) for own in labels]
    values = np.array(body["values"], np.int64).reshape(shape).transpose(list(order)).ravel().tolist()
    codes = product(*(labels[k] for k in order))
    rows = [[*own, text(value, body["decimals"])] for own, value in zip(codes, values, strict=True)]
    return {
        "id": answer.id,
        "dataset": answer.dataset,
        "columns": [*(body["columns"][k] for k in order), body["measure"]],
        "rows": rows,
        "decimals": body["decimals"],
        "engine": body["engine"],
        "statement": body["statement"],
        "from_ledger": True,
    }


def _whole(thing: Any) -> bool:
    return isinstance(thing, int) and not isinstance(thing, bool)


def _page(request: Mapping[str, Any]) -> tuple[int, int]:
    """The part of a list that is asked for."""
    offset, limit = request.get("offset"), request.get("limit")
    offset, limit = 0 if offset is None else offset, 1000 if limit is None else limit
    if not _whole(offset) or not _whole(limit) or not 0 <= offset < 2**62 or not 0 <= limit < 2**62:
        raise BadRequestError("page", "offset and limit are no whole numbers", "give whole numbers of at least 0")
    return offset, min(limit, MOST_LISTED)


def _name(request: Mapping[str, Any], what: str, *, needed: bool) -> str | None:
    """Who asks, or the idempotency key."""
    given = request.get(what)
    if given is None and not needed:
        return None
    if not isinstance(given, str) or not 0 < len(given) <= MOST_NAME or not given.isprintable():
        raise BadRequestError(what, f"{what} is no name", f"give text of 1 to {MOST_NAME} printable characters")
    return given
