"""The application: all addresses together, and one shape for whatever goes wrong."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from cellward.errors import brief, printable
from cellward.server.front import lists, tables
from cellward.server.front.fault import Fault
from cellward.server.front.front import Front, TheFront, ThePerson, for_holders, one
from cellward.server.front.page import PAGE_POLICY, page_of
from cellward.server.front.rights import needs
from cellward.server.front.schemas import OF_ONE, answers
from cellward.version import __version__

ABOUT = (
    "Tables over confidential records: the same cell is always the same, all answers add up, and together they give nobody away. Every address "
    "under /v1 has twins by ending (.json, .csv, .parquet, .jsonstat, .sdmx.csv) and by Accept. Whatever goes wrong has "
    "one shape: a code, a sentence and a remedy."
)
OF_HTTP = {
    400: ("bad-request", "the request is in no order", "see /docs"),
    404: ("unknown-address", "there is nothing at this address", "see /docs"),
    405: ("unknown-method", "this address does not know that method", "see the header Allow, and /docs"),
}


def application(front: Front) -> FastAPI:
    """The application of a front."""

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        await front.waiting.end()
        await front.vault.close()
        front.people.close()

    app = FastAPI(
        title="cellward", version=__version__, description=ABOUT, docs_url=None, redoc_url=None, lifespan=life, redirect_slashes=False
    )  # fmt: skip
    app.state.front = front
    app.include_router(lists.router)
    app.include_router(tables.router)
    app.get("/health", responses=OF_ONE, tags=["state"])(health)
    holders = for_holders()
    holders.get("/metrics", responses=answers((), 200), tags=["state"])(metrics)
    app.include_router(holders)
    for address in ("/", "/docs"):
        app.get(address, include_in_schema=False)(docs)
    app.exception_handler(Fault)(_told)
    app.exception_handler(HTTPException)(_of_http)
    app.exception_handler(RequestValidationError)(_of_form)
    return app


async def health(request: Request, front: TheFront) -> Response:
    """Whether tables can be asked for."""
    await front.vault.call("health", patient=False)
    return one(request, {"ok": True})


async def metrics(front: TheFront, person: ThePerson) -> Response:
    """Counts and times for Prometheus; for reviewers."""
    needs(person, "reviewer")
    try:
        said = await front.vault.call("health", patient=False)
    except Fault:
        said = {}
    front.metrics.put("cellward_vault_up", 1 if said.get("ok") is True else 0)
    for name, key in (("cellward_datasets", "datasets"), ("cellward_published_answers", "answers")):
        if isinstance(said.get(key), int):
            front.metrics.put(name, said[key])
    return Response(front.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def docs(request: Request) -> Response:
    """What can be asked for, as a page that needs nothing from elsewhere."""
    return HTMLResponse(page_of(request.app.openapi()), headers={"Content-Security-Policy": PAGE_POLICY})


async def _told(_: Request, fault: Any) -> Response:
    return Response(fault.body, fault.status, dict(fault.headers), "application/json")


async def _of_http(request: Request, error: Any) -> Response:
    """What the router says, in our shape."""
    code, sentence, remedy = OF_HTTP.get(error.status_code, OF_HTTP[400])
    return await _told(request, Fault(error.status_code, code, sentence, remedy, error.headers or {}))


async def _of_form(request: Request, error: Any) -> Response:
    """The first thing that is in no order, in a sentence; what was sent is not repeated."""
    first = error.errors()[0]
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and media != "application/json":
        fault = Fault(
            415, "not-json", "the body is not application/json", "send JSON with Content-Type: application/json"
        )
    elif first["type"] == "json_invalid":
        fault = Fault(422, "not-json", "the body is not JSON", "see the example in /docs")
    else:
        place = ".".join(printable(str(step)) for step in first["loc"] if step != "body")
        where = brief(place) if place else "the body"
        fault = Fault(422, "form", f"{where}: {_said(first)}", "see the form in /docs")
    return await _told(request, fault)


def _said(first: dict[str, Any]) -> str:
    """A complaint in our words: small letters, no full stop, nothing of what was sent."""
    text = printable(str(first["msg"]).removeprefix("Value error, ").rstrip("."))
    return text[:1].lower() + text[1:]
