"""Schemas: what a request for a table looks like, and what the OpenAPI document says of the answers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from cellward.server.front.twins import JSON, Form
from cellward.server.front.writers import LIST_FORMS, TABLE_FORMS

Name = Annotated[str, Field(min_length=1, max_length=200)]
Code = Annotated[str, Field(max_length=1_000)]


class Shown(BaseModel):
    """A dimension of the table, and the level of its codes."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: Name
    level: Annotated[int, Field(ge=0, le=1_000)]


class Asked(BaseModel):
    """A table that is asked for: its dimensions, what is added up, and which records count."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {"dimensions": [{"name": "region", "level": 1}], "measure": "count", "where": {"activity": ["B"]}}
            ]
        },
    )
    dimensions: Annotated[list[Shown], Field(max_length=20, description="May be empty: the total alone.")]
    measure: Name = "count"
    where: Annotated[
        dict[Name, Annotated[list[Code], Field(min_length=1, max_length=10_000)]],
        Field(max_length=20, description="Records count whose code is one of these, or below one of them."),
    ] = Field(default_factory=dict)

    @field_validator("dimensions")
    @classmethod
    def _each_once(cls, given: list[Shown]) -> list[Shown]:
        if len({one.name for one in given}) < len(given):
            raise ValueError("a dimension is named twice; name each once")
        return given


class Problem(BaseModel):
    """The one shape of everything that goes wrong."""

    code: str
    sentence: str
    remedy: str


def answers(forms: tuple[Form, ...], *statuses: int) -> dict[int | str, dict[str, Any]]:
    """What the OpenAPI document says of a resource: its forms, and the one shape of all else."""
    content: dict[str, Any] = {form.bare: {} if form is JSON else {"schema": {"type": "string"}} for form in forms}
    told: dict[int | str, dict[str, Any]] = {
        status: {"description": "As asked for.", "content": content} for status in statuses
    }
    told |= {code: {"model": Problem, "description": "What went wrong."} for code in (422, "default")}
    return told


OF_A_TABLE = answers(TABLE_FORMS, 200)
OF_A_LIST = answers(LIST_FORMS, 200)
OF_ONE = answers((JSON,), 200)
