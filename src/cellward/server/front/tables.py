"""Addresses of tables: asking for one, looking after an ask that takes long, and reading one that is published."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time
from typing import Annotated, Any

from fastapi import Header, Path, Request
from fastapi.responses import Response

from cellward.errors import CellwardError
from cellward.server.front.answer import IDENTITY, Answer
from cellward.server.front.fault import Fault, told_by_the_vault
from cellward.server.front.front import Front, TheFront, ThePerson, accepted, for_holders, one
from cellward.server.front.lists import Dataset
from cellward.server.front.people import Person
from cellward.server.front.schemas import OF_A_TABLE, OF_ONE, Asked, answers
from cellward.server.front.twins import wanted
from cellward.server.front.writers import TABLE_FORMS

router = for_holders("/v1")

WAIT = re.compile(r"(?:^|[,;\s])wait=([0-9]{1,4})(?:$|[,;\s])")
KEY = Annotated[
    str | None,
    Header(
        max_length=255,
        pattern=r"^[!-~]+$",
        description="The same key and request give the same answer, asked once or twice.",
    ),
]
PREFER = Annotated[str | None, Header(max_length=200, description="respond-async, or wait=SECONDS.")]


@router.post("/datasets/{name}/tables", responses=answers(TABLE_FORMS, 201, 202), status_code=201, tags=["tables"])
async def ask(
    request: Request,
    front: TheFront,
    person: ThePerson,
    name: Dataset,
    asked: Asked,
    idempotency_key: KEY = None,
    prefer: PREFER = None,
) -> Response:
    """Ask for a table: 201 and the table, or 202 and an address where it will be told of."""
    wanted(request.scope["cellward"].form, accepted(request), TABLE_FORMS)
    request_body = asked.model_dump()
    await _within_limits(front, person, name, request_body)
    key = secrets.token_hex(32) if idempotency_key is None else _own_key(person, idempotency_key)
    task = front.waiting.begin(person.name, _answered(front, person, name, request_body, key))
    done, _ = await asyncio.wait([task], timeout=_wait_s(front, prefer))
    if not done:
        address = f"/v1/requests/{front.waiting.keep(person.name, task).id}"
        told = {"status": "under way", "address": address}
        return one(request, told, {"Location": address, "Retry-After": "1"}, 202)
    answer = task.result()
    headers = {"Location": f"/v1/tables/{answer.id}", "Cellward-From-Ledger": "yes" if answer.from_ledger else "no"}
    return await front.table(request, answer, headers, 201)


@router.get("/requests/{number}", responses=OF_ONE, tags=["tables"])
async def look_after(request: Request, front: TheFront, person: ThePerson, number: str) -> Response:
    """How an ask of yours stands that took long."""
    kept = front.waiting.find(number)
    if kept is None or kept.who != person.name:
        remedy = "ask for the table again; with the same Idempotency-Key it is the same answer"
        raise Fault(404, "unknown-request", "you have no such request", remedy)
    if not kept.table.done():
        told = {"status": "under way", "address": f"/v1/requests/{number}"}
        return one(request, told, {"Retry-After": "1"})
    return one(request, {"status": "done", "address": f"/v1/tables/{kept.table.result()}"})


@router.get("/tables/{number}", responses=OF_A_TABLE, tags=["tables"])
async def table(
    request: Request, front: TheFront, person: ThePerson, number: Annotated[str, Path(max_length=80)]
) -> Response:
    """A published table: one that you asked for, or, for reviewers, anybody's."""
    unknown = Fault(404, "unknown-table", "there is no such table among yours", "see /v1/tables")
    if not IDENTITY.fullmatch(number) or not (person.may("reviewer") or await front.owners.has(person.name, number)):
        raise unknown
    said = await front.vault.call("table", {"answer": number})
    if "answer" not in said:
        raise unknown
    return await front.table(request, Answer.read(said["answer"]))


async def _answered(front: Front, person: Person, dataset: str, asked: dict[str, Any], key: str) -> Answer:
    """The vault's answer, noted down; a Fault where it refuses."""
    said = await front.vault.call("ask", {"dataset": dataset, "request": asked, "who": person.name, "key": key})
    if "answer" not in said:
        fault = told_by_the_vault(said.get("refusal"), refusal=True)
        front.metrics.add("cellward_refusals_total", code=fault.code)
        raise fault
    answer = Answer.read(said["answer"])
    front.owners.add(person.name, answer.id)
    front.metrics.add("cellward_answers_total", engine=answer.engine[:20], from_ledger=str(answer.from_ledger).lower())
    if not answer.from_ledger and answer.rows:
        try:
            await asyncio.to_thread(front.people.spend, person.name, _today(), len(answer.rows))
        except CellwardError:
            sentence = "what you have had today cannot be noted down"
            raise Fault(
                503, "people", sentence, "tell the administrator to look at the file of tokens and its disk"
            ) from None
    return answer


async def _within_limits(front: Front, person: Person, dataset: str, asked: dict[str, Any]) -> None:
    """Refuse what is larger than this person's limits, before the vault has any work with it."""
    most, limits = await front.sizes.most_cells(dataset, asked), person.limits
    if most > limits.cells_a_table:
        sentence = f"this table can have {most:,} cells, and your limit is {limits.cells_a_table:,}"
        raise Fault(422, "table-too-large", sentence, "take fewer dimensions, levels with fewer codes, or conditions")
    if front.people.spent(person.name, _today()) >= limits.cells_a_day:
        sentence = f"you have had your {limits.cells_a_day:,} new cells of today"
        seconds = 86_400 - int(time.time()) % 86_400
        remedy = "ask again tomorrow (UTC); tables that you have had can be read at any time"
        raise Fault(429, "cells-of-today", sentence, remedy, {"Retry-After": str(seconds)})


def _today() -> int:
    return int(time.time()) // 86_400


def _own_key(person: Person, key: str) -> str:
    """The key as the vault gets it: nobody can name the key of somebody else."""
    return hashlib.sha256(f"{person.name}\n{key}".encode()).hexdigest()


def _wait_s(front: Front, prefer: str | None) -> float:
    """How long a client waits for an answer: as it prefers, up to what the server allows."""
    if prefer is None:
        return front.wait_s
    if "respond-async" in prefer.lower():
        return 0.0
    found = WAIT.search(prefer.lower())
    return min(float(found[1]), front.wait_s) if found else front.wait_s
