"""Client: tables from a cellward server, as rows or frames; the standard library alone.

>>> from cellward.client import connect
>>> server = connect("https://tables.example.org", "cw_…")  # doctest: +SKIP
>>> server.table("firms", "region", ("activity", 1), where={"region": ["N"]}).to_pandas()  # doctest: +SKIP
"""

from __future__ import annotations

import http.client
import json
import secrets
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from cellward.errors import CellwardError, InputError, ResourceError, TimeLimitError
from cellward.files.made_frames import frame_of

PAGE = 1_000
TRIES = 5
ANSWER_WITHIN_S = 60.0


class ServerError(CellwardError):
    """The server gave no answer; ``code`` and ``remedy`` as it told them."""

    def __init__(self, status: int, code: str, sentence: str, remedy: str) -> None:
        super().__init__(f"{sentence}; {remedy}")
        self.status, self.code, self.sentence, self.remedy = status, code, sentence, remedy


class RefusedError(ServerError):
    """The table would give somebody away, together with those published before; it is not published."""


class NotAllowedError(ServerError):
    """The token does not hold, or its role or limits do not reach so far."""


@dataclass(frozen=True)
class PublishedTable:
    """A published table: its columns, the dimensions and then the measure, and a row a cell."""

    id: str
    dataset: str
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    decimals: int
    engine: str
    statement: str

    @property
    def rows(self) -> list[tuple[str | Decimal, ...]]:
        """The cells: codes, and the value as an exact decimal."""
        return [(*cell[:-1], Decimal(cell[-1])) for cell in self.cells]

    @property
    def _columns(self) -> dict[str, list[Any]]:
        """The columns; values are whole numbers where the table has no decimals, and floats else."""
        number = float if self.decimals else int
        codes = {name: [cell[k] for cell in self.cells] for k, name in enumerate(self.columns[:-1])}
        return {**codes, self.columns[-1]: [number(cell[-1]) for cell in self.cells]}

    def to_pandas(self) -> Any:
        """A pandas frame."""
        return frame_of("pandas", self._columns)

    def to_polars(self) -> Any:
        """A polars frame."""
        return frame_of("polars", self._columns)


@dataclass(frozen=True)
class Server:
    """A server, and the token that it is asked with."""

    url: str
    token: str
    tls: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    def datasets(self) -> list[dict[str, Any]]:
        """The datasets: name, title, measures, and dimensions with their levels."""
        return list(self._pages("/v1/datasets", "datasets"))

    def codes(self, dataset: str, dimension: str, level: int | None = None) -> list[dict[str, Any]]:
        """The codes of a dimension, with labels, levels and what they are part of."""
        asked = {"dimension": dimension, **({} if level is None else {"level": level})}
        return list(self._pages(f"/v1/datasets/{quote(dataset, safe='')}/codes", "codes", asked))

    def table(
        self,
        dataset: str,
        *rows: str | tuple[str, int],
        measure: str = "count",
        where: Mapping[str, Sequence[str]] | None = None,
        time_limit_s: float = 600.0,
    ) -> PublishedTable:
        """A table of these dimensions, each by name (its finest level) or with a level, of the records that have one of the codes in ``where``."""
        asked = {
            "dimensions": [self._shown(dataset, one) for one in rows],
            "measure": measure,
            "where": {
                name: [codes] if isinstance(codes, str) else list(codes) for name, codes in (where or {}).items()
            },
        }
        once = {"Idempotency-Key": secrets.token_hex(16)}
        address = f"/v1/datasets/{quote(dataset, safe='')}/tables"
        status, said = self._ask("POST", address, asked, once)
        return _table(said if status != 202 else self._waited(said["address"], time.monotonic() + time_limit_s))

    def published(self, number: str) -> PublishedTable:
        """A table that was published before, by its number."""
        return _table(self._ask("GET", f"/v1/tables/{quote(number, safe='')}")[1])

    def tables(self, who: str | None = None) -> list[dict[str, Any]]:
        """The tables that were asked for, newest first: your own, or, for reviewers, everybody's or ``who``'s."""
        return list(self._pages("/v1/tables", "tables", {} if who is None else {"who": who}))

    def _shown(self, dataset: str, row: str | tuple[str, int]) -> dict[str, Any]:
        if not isinstance(row, str):
            return {"name": row[0], "level": row[1]}
        found = self._ask("GET", f"/v1/datasets/{quote(dataset, safe='')}")[1]
        levels = {one["name"]: max(level["level"] for level in one["levels"]) for one in found["dimensions"]}
        if row not in levels:
            raise InputError(f"{row}: {dataset} has no such dimension; it has {', '.join(levels)}")
        return {"name": row, "level": levels[row]}

    def _waited(self, address: str, until: float) -> Any:
        """The table of an ask that takes long."""
        pause = 0.1
        while time.monotonic() < until:
            time.sleep(pause)
            pause = min(1.5 * pause, 3.0)
            told = self._ask("GET", address)[1]
            if told["status"] == "done":
                return self._ask("GET", told["address"])[1]
        raise TimeLimitError(
            f"{self.url}: the table was not there in time; ask again later, or with a larger time_limit_s"
        )

    def _pages(self, address: str, name: str, asked: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        following: str | None = f"{address}?{urlencode({**(asked or {}), 'limit': PAGE})}"
        while following is not None:
            told = self._ask("GET", following)[1]
            yield from told[name]
            following = told["next"]

    def _ask(
        self, method: str, address: str, body: Any = None, more: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """One request, made again where the server has no time for it or a connection breaks; what it asks for is asked once."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", **(more or {})}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + address, data, headers, method=method)
        for tried in range(1, TRIES + 1):
            try:
                with _opener(self.tls).open(request, timeout=ANSWER_WITHIN_S) as answer:
                    return answer.status, json.loads(answer.read())
            except urllib.error.HTTPError as error:
                fault = _fault(error)
                pause = float(error.headers.get("Retry-After") or tried)
                if fault.status not in (429, 503) or pause > 30 or tried == TRIES:
                    raise fault from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                why = getattr(error, "reason", None) or type(error).__name__
                if isinstance(why, ssl.SSLError) or tried == TRIES:
                    raise ResourceError(
                        f"{self.url}: no answer of a cellward server ({why}); check the address"
                    ) from None
                pause = 0.2 * tried
            time.sleep(pause)
        raise AssertionError


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The token goes to the server named and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(tls: ssl.SSLContext | None) -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=tls))


def connect(url: str, token: str, *, ca: str | Path | None = None) -> Server:
    """A server by its address, with a token of yours; ``ca``: a file with the certificate that its own is signed by."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{url}: no address of a server; write it as https://HOST:PORT")
    if not token.isascii() or not token.isprintable() or not token.strip():
        raise InputError("token: this is none; give the one that cellward token add printed")
    try:
        tls = ssl.create_default_context(cafile=ca) if parts.scheme == "https" else None
    except (OSError, ssl.SSLError):
        raise InputError(f"{ca}: cannot be read as a certificate; give a file in PEM") from None
    return Server(url.rstrip("/"), token.strip(), tls)


def _fault(error: urllib.error.HTTPError) -> ServerError:
    """What the server told, as an exception."""
    try:
        told = json.loads(error.read())
        code, sentence, remedy = (str(told[part]) for part in ("code", "sentence", "remedy"))
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        code, sentence, remedy = "no-cellward", f"the server answers with status {error.code}", "check its address"
    kind = {401: NotAllowedError, 403: NotAllowedError, 429: NotAllowedError, 409: RefusedError}.get(
        error.code, ServerError
    )
    return kind(error.code, code, sentence, remedy)


def _table(said: Any) -> PublishedTable:
    return PublishedTable(
        said["id"], said["dataset"], tuple(said["columns"]), tuple(map(tuple, said["rows"])), said["decimals"], said["engine"], said["statement"]
    )  # fmt: skip
