"""Addresses of lists: datasets, their codes, people and their trail, and the state of the ledger."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request
from fastapi.responses import Response

from cellward.server.front.fault import Fault
from cellward.server.front.front import TheFront, ThePerson, for_holders, one, page
from cellward.server.front.rights import needs
from cellward.server.front.schemas import OF_A_LIST, OF_ONE, Name
from cellward.server.front.vault_line import part

router = for_holders("/v1")

Offset = Annotated[int, Query(ge=0, le=1_000_000_000, description="How many entries are left out.")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="How many entries are wanted.")]
Dataset = Annotated[str, Path(min_length=1, max_length=200)]
DATASET = ("name", "title", "records", "measures", "dimensions")
CODE = ("code", "label", "parent", "level")
PART = ("kind", "name", "title", "level", "level_name", "codes", "unit", "decimals")
ASKED = ("id", "dataset", "request", "who", "at")
PERSON = ("name", "role", "made", "expires", "revoked", "per_minute", "cells_a_table", "cells_a_day")


@router.get("/datasets", responses=OF_A_LIST, tags=["datasets"])
async def datasets(request: Request, front: TheFront, _: ThePerson, offset: Offset = 0, limit: Limit = 100) -> Response:
    """The datasets that tables can be asked of."""
    found = await _datasets(front)
    told = {
        "datasets": found[offset : offset + limit],
        **page(request, offset, limit, more=len(found) > offset + limit),
    }
    return await front.listed(request, told, "datasets", DATASET)


@router.get("/datasets/{name}", responses=OF_A_LIST, tags=["datasets"])
async def dataset(request: Request, front: TheFront, _: ThePerson, name: Dataset) -> Response:
    """A dataset: its measures and its dimensions with their levels."""
    found = next((each for each in await _datasets(front) if each["name"] == name), None)
    if found is None:
        raise Fault(404, "unknown-dataset", "there is no such dataset", "see /v1/datasets")
    whole = found | {"parts": _parts(found)}
    return await front.listed(request, whole, "parts", PART)


@router.get("/datasets/{name}/codes", responses=OF_A_LIST, tags=["datasets"])
async def codes(
    request: Request,
    front: TheFront,
    _: ThePerson,
    name: Dataset,
    dimension: Annotated[Name, Query()],
    level: Annotated[int | None, Query(ge=0, le=1_000)] = None,
    offset: Offset = 0,
    limit: Limit = 1_000,
) -> Response:
    """The codes of a dimension, with their labels and what they are part of."""
    asked: dict[str, Any] = {"dataset": name, "dimension": dimension, "offset": offset, "limit": limit}
    said = await front.vault.call("codes", asked | ({} if level is None else {"level": level}))
    found = [{column: entry.get(column) for column in CODE} for entry in part(said, "codes", list)]
    total = part(said, "total", int)
    told = {"codes": found, "total": total, **page(request, offset, limit, more=offset + len(found) < total)}
    return await front.listed(request, told, "codes", CODE)


@router.get("/tables", responses=OF_A_LIST, tags=["tables"])
async def trail(
    request: Request,
    front: TheFront,
    person: ThePerson,
    who: Annotated[str | None, Query(max_length=64, description="Whose; reviewers may name anybody.")] = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Response:
    """Which tables were asked for: your own, or, for reviewers, everybody's."""
    if who is not None and who != person.name:
        needs(person, "reviewer")
    whose = who if person.may("reviewer") else person.name
    asked = {"offset": offset, "limit": limit + 1, **({} if whose is None else {"who": whose})}
    entries = part(await front.vault.call("answers", asked), "answers", list)
    found = [{column: entry.get(column) for column in ASKED} for entry in entries[:limit]]
    told = {"tables": found, **page(request, offset, limit, more=len(entries) > limit)}
    return await front.listed(request, told, "tables", ASKED)


@router.get("/people", responses=OF_A_LIST, tags=["administration"])
async def people(
    request: Request, front: TheFront, person: ThePerson, offset: Offset = 0, limit: Limit = 100
) -> Response:
    """Who has a token, with roles, ends and limits; for administrators."""
    needs(person, "admin")
    told = front.people.listed()
    found = [
        {"name": p.name, "role": p.role, "made": p.made, "expires": p.expires, "revoked": p.revoked, **vars(p.limits)}
        for p in told[offset : offset + limit]
    ]
    whole = {"people": found, **page(request, offset, limit, more=len(told) > offset + limit)}
    return await front.listed(request, whole, "people", PERSON)


@router.get("/ledger", responses=OF_ONE, tags=["administration"])
async def ledger(request: Request, front: TheFront, person: ThePerson) -> Response:
    """Whether the chain of all that was published is whole; for administrators."""
    needs(person, "admin")
    said = await front.vault.call("ledger_verify")
    told = {"ok": part(said, "ok", bool), "rows": part(said, "rows", int), "sentence": part(said, "sentence", str)}
    return one(request, told)


async def _datasets(front: TheFront) -> list[dict[str, Any]]:
    said = part(await front.vault.call("datasets"), "datasets", list)
    return [{key: entry[key] for key in DATASET if key in entry} for entry in said]


def _parts(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The measures and levels of a dataset, one a row."""
    rows = [{"kind": "measure", **measure} for measure in found.get("measures", [])]
    for dimension in found.get("dimensions", []):
        rows += [
            {
                "kind": "dimension", "name": dimension["name"], "title": dimension.get("title"), "level": level["level"],
                "level_name": level.get("name"), "codes": level.get("codes"),
            }
            for level in dimension["levels"]
        ]  # fmt: skip
    return rows
