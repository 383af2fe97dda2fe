"""A vault that holds nothing: it speaks the vault's protocol over a Unix socket, and answers from a rule that anybody can work out.

``python fake_vault.py CONFIG SOCKET`` reads from CONFIG (JSON) how it behaves; what it publishes it appends to a file, as a ledger would.
Values: the length of all codes of a cell, and the number of dimensions after the point.
"""

from __future__ import annotations

import hashlib
import json
import os
import socketserver
import sys
import threading
import time
from itertools import product
from pathlib import Path

CODES = {
    "region": [
        ("Total", None, 0),
        ("N", "Total", 1),
        ("S", "Total", 1),
        ("N1", "N", 2),
        ("N2", "N", 2),
        ("S1", "S", 2),
    ],
    "activity": [("Total", None, 0), *((f"A{k:02}", "Total", 1) for k in range(60))],
    "product": [("Total", None, 0), *((f"P{k:03}", "Total", 1) for k in range(500))],
}
DATASET = {
    "name": "firms", "title": "Firms", "records": 1000, "measures": [{"name": "turnover", "unit": "EUR", "decimals": 1}],
    "dimensions": [{"name": name, "title": name.title(), "levels": [
        {"level": at, "name": f"level {at}", "codes": sum(level == at for _, _, level in codes)} for at in sorted({level for _, _, level in codes})
    ]} for name, codes in CODES.items()],
}  # fmt: skip
REFUSALS = {"A13": "union"}
"""A condition on this code is refused."""


class FakeVault:
    """The calls."""

    def __init__(self, config: dict) -> None:
        self.config = config
        self.path, self.canary = Path(config["ledger"]), config.get("canary", "")
        self.lock = threading.Lock()
        self.entries = [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []
        self.by_id = {entry["answer"]["id"]: entry["answer"] for entry in self.entries}
        self.by_key = {(entry["who"], entry["key"]): entry["answer"] for entry in self.entries if entry["key"]}

    def answer(self, said: dict) -> dict:
        call = {"health": self.health, "datasets": self.datasets, "codes": self.codes, "ask": self.ask, "table": self.table,
                "answers": self.answers, "ledger_verify": self.ledger_verify}  # fmt: skip
        return call[said["call"]](said)

    def health(self, _):
        return {"ok": True, "datasets": 1, "answers": len(self.by_id)}

    def datasets(self, _):
        return {"datasets": [DATASET | {"canary": self.canary}]}

    def codes(self, said):
        if said["dataset"] != "firms":
            return _error("dataset", "there is no such dataset", "see the datasets")
        if said["dimension"] not in CODES:
            return _error("dimension", "there is no such dimension", "see the dataset")
        found = [
            {"code": code, "label": f"label of {code}", "parent": parent, "level": level}
            for code, parent, level in CODES[said["dimension"]]
            if said.get("level") in (None, level)
        ]
        at = said.get("offset", 0)
        return {"codes": found[at : at + said.get("limit", 100)], "total": len(found)}

    def ask(self, said):
        asked, who, key = said["request"], said["who"], said["key"]
        time.sleep(self.config.get("seconds", 0) if "slow" in asked["measure"] else 0)
        if said["dataset"] != "firms":
            return _error("dataset", "there is no such dataset", "see the datasets")
        if asked["measure"] == "broken":
            return {"answer": {"columns": 3, "canary": self.canary}}
        for name, codes in asked["where"].items():
            if not {code for code, _, _ in CODES.get(name, [])}.issuperset(codes):
                return _error("code", "there is no such code", "ask for the codes")
            if not REFUSALS.keys().isdisjoint(codes):
                return {"refusal": {"code": "union", "sentence": "published tables stand against", "remedy": "take a broader condition"}}  # fmt: skip
        if any(one["name"] not in CODES for one in asked["dimensions"]):
            return _error("dimension", "there is no such dimension", "see the dataset")
        with self.lock:
            if key and (who, key) in self.by_key:
                if self.by_key[who, key]["id"] != _table(asked)["id"]:
                    return _error("idempotency_key", "the key was used for another request", "use a new one")
                return {"answer": self.by_key[who, key] | {"from_ledger": True}}
            answer = _table(asked)
            known = answer["id"] in self.by_id
            entry = {"who": who, "key": key, "request": asked, "at": "2030-01-01T00:00:00Z", "answer": answer}
            with self.path.open("a") as out:
                out.write(json.dumps(entry) + "\n")
                out.flush()
                os.fsync(out.fileno())
            self.entries.append(entry)
            self.by_id[answer["id"]] = answer
            self.by_key[who, key] = answer
        return {"answer": answer | {"from_ledger": known}}

    def table(self, said):
        if said["answer"] not in self.by_id:
            return _error("answer", "there is no such table", "see your tables")
        return {"answer": self.by_id[said["answer"]] | {"from_ledger": True}}

    def answers(self, said):
        found = [e for e in reversed(self.entries) if said.get("who") in (None, e["who"])]
        page = found[said["offset"] : said["offset"] + said["limit"]]
        return {"answers": [
            {"id": e["answer"]["id"], "dataset": "firms", "request": e["request"], "who": e["who"], "at": e["at"], "canary": self.canary}
            for e in page
        ]}  # fmt: skip

    def ledger_verify(self, _):
        return {
            "ok": True,
            "rows": len(self.entries),
            "sentence": "the chain is whole",
            "canary": self.canary,
        }


def _table(asked: dict) -> dict:
    shown = []
    for one in asked["dimensions"]:
        only = asked["where"].get(one["name"])
        codes = [
            code for code, _, level in CODES[one["name"]] if level == one["level"] and (only is None or code in only)
        ]
        shown.append(codes + (["Total"] if one["level"] else []))
    rows = [[*codes, value_of(codes)] for codes in product(*shown)]
    number = hashlib.sha256(json.dumps([asked["dimensions"], asked["measure"], asked["where"]]).encode()).hexdigest()[
        :24
    ]
    return {
        "id": number, "dataset": "firms", "columns": [*(one["name"] for one in asked["dimensions"]), asked["measure"]], "rows": rows,
        "decimals": 1, "engine": "twin", "statement": "Values are adjusted so that nobody is given away.", "from_ledger": False,
    }  # fmt: skip


def value_of(codes) -> str:
    """What a cell is published as."""
    return f"{sum(map(len, codes))}.{len(codes)}"


def _error(code: str, sentence: str, remedy: str) -> dict:
    return {"error": {"code": code, "sentence": sentence, "remedy": remedy}}


class Line(socketserver.StreamRequestHandler):
    """One connection."""

    def handle(self) -> None:
        for text in self.rfile:
            said = json.loads(text)
            self.wfile.write(json.dumps({"id": said["id"], **self.server.vault.answer(said)}).encode() + b"\n")


class Server(socketserver.ThreadingUnixStreamServer):
    """Connections, a thread each."""

    daemon_threads = True
    request_queue_size = 256


def main() -> None:
    config = json.loads(Path(sys.argv[1]).read_text())
    if config.get("fails"):
        sys.exit("this vault does not begin")
    server = Server(sys.argv[2], Line)
    server.vault = FakeVault(config)
    server.serve_forever()


if __name__ == "__main__":
    main()
