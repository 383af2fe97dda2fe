"""Front: what all addresses share, handed to each of them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request, Security
from fastapi.responses import Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer

from cellward.server.front.answer import Answer
from cellward.server.front.metrics import Metrics
from cellward.server.front.owners import Owners
from cellward.server.front.people import People, Person
from cellward.server.front.rights import Rights
from cellward.server.front.sizes import Sizes
from cellward.server.front.twins import CSV, JSON, Form, wanted
from cellward.server.front.vault_line import VaultLine
from cellward.server.front.waiting import Waiting
from cellward.server.front.writers import LIST_FORMS, TABLE_FORMS, as_json, write_answer, write_list

LONGEST_ACCEPT = 2_000
SMALL = 2_000
"""Rows that are written at once; larger tables, and Parquet, in a thread."""


class Front:
    """The parts of a front."""

    def __init__(self, vault: VaultLine, people: People, *, wait_s: float = 10.0) -> None:
        self.vault = vault
        self.people = people
        self.wait_s = wait_s
        self.rights = Rights(people)
        self.metrics = Metrics()
        self.sizes, self.owners, self.waiting = Sizes(vault), Owners(vault), Waiting()
        self._writing = asyncio.Semaphore(2)

    async def written(self, answer: Answer, form: Form) -> bytes:
        """A table in a form."""
        if form in (JSON, CSV) and len(answer.rows) <= SMALL:
            return write_answer(answer, form)
        async with self._writing:
            return await asyncio.to_thread(write_answer, answer, form)

    async def table(
        self, request: Request, answer: Answer, more: Mapping[str, str] | None = None, status: int = 200
    ) -> Response:
        """A published table, which never changes: it may be kept for good, and is not sent to who has it already."""
        form = wanted(request.scope["cellward"].form, accepted(request), TABLE_FORMS)
        body = await self.written(answer, form)
        headers = {"Vary": "Accept, Authorization", **(more or {})}
        if status == 200:
            mark = f'"{answer.id}-{hashlib.sha256(body).hexdigest()[:16]}"'
            headers |= {"ETag": mark, "Cache-Control": "private, max-age=31536000, immutable"}
            held = [text.strip().removeprefix("W/") for text in request.headers.get("if-none-match", "").split(",")]
            if mark in held or "*" in held:
                return Response(status_code=304, headers=headers)
        return Response(body, status, headers, form.media)

    async def listed(self, request: Request, whole: Mapping[str, Any], name: str, columns: Sequence[str]) -> Response:
        """A list in the form that is asked for; who asks for rows alone finds the next page in the header Link."""
        form = wanted(request.scope["cellward"].form, accepted(request), LIST_FORMS)
        headers = {"Vary": "Accept, Authorization"}
        if whole.get("next"):
            headers["Link"] = f'<{whole["next"]}>; rel="next"'
        body = await asyncio.to_thread(write_list, whole, name, columns, form)
        return Response(body, 200, headers, form.media)


def one(
    request: Request, thing: Mapping[str, Any], headers: Mapping[str, str] | None = None, status: int = 200
) -> Response:
    """A resource that has no form but JSON."""
    wanted(request.scope["cellward"].form, accepted(request), (JSON,))
    return Response(as_json(thing), status, dict(headers or {}), JSON.media)


def accepted(request: Request) -> str:
    """The whole Accept of a request, as far as anybody writes one."""
    return ",".join(request.headers.getlist("accept"))[:LONGEST_ACCEPT]


def page(request: Request, offset: int, limit: int, *, more: bool) -> dict[str, Any]:
    """Where a page of a list stands, and the address of the next one."""
    following = urlencode({**request.query_params, "offset": offset + limit})
    ending = request.scope["cellward"].form
    path = quote(request.scope["path"]) + (ending.ending if ending else "")
    return {"offset": offset, "limit": limit, "next": f"{path}?{following}" if more else None}


def front_of(request: Request) -> Front:
    """The front that a request came to."""
    front: Front = request.app.state.front
    return front


class ForHolders(APIRoute):
    """An address for holders of a token: whose request it is, is asked before anything of it is looked at."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            person = await front_of(request).rights.person(request.headers.get("authorization"))
            request.scope["cellward"].who = person.name
            request.state.person = person
            return await handle(request)

        return answer


def person_of(request: Request) -> Person:
    """Whose request it is."""
    person: Person = request.state.person
    return person


def for_holders(prefix: str = "") -> APIRouter:
    """Addresses for holders of a token."""
    bearer = HTTPBearer(auto_error=False, description="A token of cellward token add.")
    return APIRouter(prefix=prefix, route_class=ForHolders, dependencies=[Security(bearer)])


TheFront = Annotated[Front, Depends(front_of)]
ThePerson = Annotated[Person, Depends(person_of)]
