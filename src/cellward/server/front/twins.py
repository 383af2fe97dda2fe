"""Twins: which form of a resource is asked for, by the ending of its address or else by Accept."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cellward.server.front.fault import Fault


@dataclass(frozen=True)
class Form:
    """A form: the ending of its addresses and its media type."""

    name: str
    ending: str
    media: str
    others: tuple[str, ...] = ()

    @property
    def bare(self) -> str:
        """The media type without parameters."""
        return self.media.partition(";")[0]


JSON = Form("JSON", ".json", "application/json")
CSV = Form("CSV", ".csv", "text/csv; charset=utf-8")
PARQUET = Form("Parquet", ".parquet", "application/vnd.apache.parquet", ("application/x-parquet",))
JSON_STAT = Form("JSON-stat", ".jsonstat", "application/vnd.json-stat+json", ("application/json-stat",))
SDMX_CSV = Form("SDMX-CSV", ".sdmx.csv", "application/vnd.sdmx.data+csv; version=1.0.0")
FORMS = (JSON, SDMX_CSV, CSV, PARQUET, JSON_STAT)
"""All of them; an ending that ends in another one stands before it."""


def without_ending(path: str) -> tuple[str, Form | None]:
    """The address of the resource itself, and the form that its ending asks for.

    >>> without_ending("/v1/datasets.csv")[0], without_ending("/v1/datasets/firms.2020")
    ('/v1/datasets', ('/v1/datasets/firms.2020', None))
    """
    for form in FORMS:
        if path.endswith(form.ending) and not path.endswith(f"/{form.ending}"):
            return path[: -len(form.ending)], form
    return path, None


def wanted(ending: Form | None, accept: str, there: Collection[Form]) -> Form:
    """The form to answer in: that of the ending, or the one that Accept likes best; the first of those there where it likes several alike."""
    if ending is not None:
        if ending in there:
            return ending
        raise _none(there)
    likings = {form: _liking(form, accept) for form in there}
    best = max(there, key=likings.__getitem__)
    if likings[best] <= 0:
        raise _none(there)
    return best


def _liking(form: Form, accept: str) -> float:
    """How much Accept likes it: the quality of the most specific range that it falls under."""
    if not accept.strip():
        return 1.0
    found: tuple[int, float] = (-1, 0.0)
    for entry in accept.split(","):
        media, *parameters = (text.strip().lower() for text in entry.split(";"))
        specific = _falls_under(form, media)
        if specific > found[0]:
            found = specific, _quality(parameters)
    return found[1]


def _falls_under(form: Form, media: str) -> int:
    if media in (form.bare, *form.others):
        return 2
    if media == form.bare.partition("/")[0] + "/*":
        return 1
    return 0 if media == "*/*" else -1


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, text = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(text), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0


def _none(there: Collection[Form]) -> Fault:
    names = ", ".join(f"{form.bare} ({form.ending})" for form in there)
    return Fault(406, "no-such-form", "this resource has no form that was asked for", f"ask for one of {names}")
