"""The page: what the OpenAPI document says, as one HTML page without scripts and without anything from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from html import escape
from typing import Any

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}"
    "h2{margin-top:2.5rem;border-bottom:1px solid #ccc}h3{font:600 1rem ui-monospace,monospace;margin:1.5rem 0 .25rem}"
    "pre{background:#f4f4f4;padding:.75rem;overflow-x:auto}table{border-collapse:collapse}td,th{text-align:left;padding:.15rem 1rem .15rem 0;"
    "vertical-align:top}@media(prefers-color-scheme:dark){body{background:#161616;color:#e8e8e8}pre{background:#242424}h2{border-color:#444}a{color:#8ab4f8}}"
)
PAGE_POLICY = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page_of(document: dict[str, Any]) -> str:
    """The page for an OpenAPI document."""
    info = document["info"]
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = (operation.get("tags") or ["other"])[0]
            by_tag.setdefault(tag, []).append("".join(_operation(path, method, operation, document)))
    parts = "".join(f"<h2>{escape(tag)}</h2>{''.join(operations)}" for tag, operations in by_tag.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(info['title'])}</title><style>{STYLE}</style></head><body><h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f'<p>{escape(info["description"])}</p><p>For programs: <a href="/openapi.json">openapi.json</a>.</p>{parts}</body></html>'
    )


def _operation(path: str, method: str, operation: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    yield f"<h3>{method.upper()} {escape(path)}</h3><p>{escape(operation.get('description', ''))}</p>"
    rows = [
        f"<tr><th>{escape(one['name'])}</th><td>{escape(one['in'])}{', required' if one.get('required') else ''}</td>"
        f"<td>{escape(one.get('description', ''))}</td></tr>"
        for one in operation.get("parameters", [])
    ]
    if rows:
        yield f"<table>{''.join(rows)}</table>"
    example = _example(operation, document)
    auth = ' -H "Authorization: Bearer $TOKEN"' if operation.get("security") else ""
    body = f" -H 'Content-Type: application/json' -d '{json.dumps(example)}'" if example else ""
    yield f"<pre>curl{auth}{body} $SERVER{escape(path)}</pre>".replace("$SERVER", '"$SERVER"', 1)
    forms = [media for response in operation["responses"].values() for media in response.get("content", {})]
    if forms:
        yield f"<p>Forms: {escape(', '.join(dict.fromkeys(forms)))}</p>"


def _example(operation: dict[str, Any], document: dict[str, Any]) -> Any:
    """The example of a body, where an operation takes one."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if not content:
        return None
    schema = document["components"]["schemas"][content["schema"]["$ref"].rsplit("/", 1)[1]]
    return schema["examples"][0]
