"""The front of the table server: 50 clients at a time, and 100,000 requests made of its own OpenAPI document, by people of every role.

Both processes are started as users start them. But for `records` the vault holds nothing and answers by a rule, so that what is measured is the
front: HTTP, tokens, limits, forms, the line to the vault. It writes each new answer to a file and waits for the disk, as a ledger does.

    load          50 clients who think 0.25 s on average between requests: tables published before, new tables of 2,004 cells, lists. Afterwards
                  without thought, for the throughput. The front's memory is looked at every second.
    records       the same over the vault, with a million records: one new table of 2,255 cells in 33 requests, 0.5 s of thought.
    openapi       schemathesis draws requests that the document allows and such that it does not; half of them name a dataset, or a table of
                  somebody else, that is there. Each is sent without a token, by a reader, a reviewer and an administrator: four cases. None may
                  end in a 5xx, in another shape than the one for errors, or with what its sender has no right to. A word that the vault adds to
                  whatever it says must not come out, or stand in the log.

python benchmarks/server_front.py            10 minutes of load twice, 100,000 cases; exits 1 when something falls short
python benchmarks/server_front.py --quick    seconds of load by 10 clients, 400 cases; judges no times
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import random
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import measure  # noqa: F401 (tests/oracles on the path)
from results import Report, run_parts, table
from served import Served, served
from served import table as asked_for
from server_load import Ask, Kinds, Load, run_load
from server_population import population, write

SCRIPT = "server_front.py"
PARTS = {
    "load": "50 clients at a time",
    "records": "50 clients at a time, a million records",
    "openapi": "requests made of the OpenAPI document",
}
ASK = "/v1/datasets/firms/tables"
CANARY = "CANARY-55102-of-the-vault"
OF_THE_LEDGER, NEW = "tables of the ledger", "new tables"
LEDGER_P99_S, NEW_P99_S = 0.050, 0.500
GROWTH = 1.10
"""The front's memory at the end beside that after a quarter of the time."""
WORKERS = 2
WHO = (None, "rita", "vera", "ada")
FOR_MORE = {"/v1/people": {"ada"}, "/v1/ledger": {"ada"}, "/metrics": {"ada", "vera"}}


# ---- load ----------------------------------------------------------------------------------------------------------------------------------


def by_rule(draw: random.Random, k: int | None) -> Ask:
    """A table of the vault that answers by a rule: one of those published beforehand, or a new one of 2,004 cells."""
    if k is not None:
        return "POST", ASK, asked_for((("region", 2), ("activity", 1)), where={"product": [f"P{k:03}"]})
    where = {"activity": [f"A{n:02}" for n in range(14, 60) if draw.random() < 0.5] or ["A14"]}
    return "POST", ASK, asked_for((("region", 2), ("product", 1)), where=where)


def of_records(draw: random.Random, k: int | None) -> Ask:
    """A table of the population: one of those published beforehand, or a new one of 2,255 cells."""
    if k is not None:
        where = {"sector": [f"S{k % 10:02}"], "year": [("2023", "2024", "2025")[k % 3]]}
        return "POST", ASK, asked_for((("region", 2), ("size", 1)), measure="turnover", where=where)
    sectors = [f"S{top:02}{n:02}" for top in range(10) for n in range(6) if draw.random() < 0.7] or ["S0000"]
    return (
        "POST",
        ASK,
        asked_for((("region", 2), ("sector", 1), ("size", 1)), measure="turnover", where={"sector": sectors}),
    )


def kinds(published: list[str], ask: Callable[[random.Random, int | None], Ask], new: float, dimension: str) -> Kinds:
    """What the clients ask for: six in ten what was published, by its number or asked again; some new tables; the rest lists."""
    lists = ("/v1/datasets", f"/v1/datasets/firms/codes?dimension={dimension}&level=1", "/v1/tables.csv")

    def draw_one(draw: random.Random) -> tuple[str, Ask]:
        part = draw.random()
        if part < 0.3:
            return OF_THE_LEDGER, ("GET", draw.choice(published), None)
        if part < 0.6:
            return OF_THE_LEDGER, ask(draw, draw.randrange(len(published)))
        return (NEW, ask(draw, None)) if part < 0.6 + new else ("lists", ("GET", draw.choice(lists), None))

    return draw_one


def clients(*, quick: bool) -> dict[str, str]:
    """Names and roles."""
    return {f"client {k}": "admin" if k == 0 else "reviewer" for k in range(10 if quick else 50)}


def memory_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def load(report: Report, *, quick: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, served(Path(folder) / "s", roles=clients(quick=quick)) as server:
        ask_and_judge(report, server, by_rule, 0.1, "product", think_s=0.25, quick=quick)


def records(report: Report, *, quick: bool) -> None:
    many = 3_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        config = write(Path(folder), population(many, 7))
        vault = [sys.executable, "-P", "-m", "cellward.server.vault", str(config.path)]
        with served(Path(folder) / "s", roles=clients(quick=quick), vault=vault) as server:
            ask_and_judge(report, server, of_records, 0.03, "sector", think_s=0.5, quick=quick)
            verified = server("GET", "/v1/ledger", "client 0").json
    report.add(f"{many:,} records. {verified['sentence']}")
    report.require(verified["ok"], "the chain of the ledger holds")


def ask_and_judge(
    report: Report,
    server: Served,
    ask: Callable[[random.Random, int | None], Ask],
    new: float,
    dimension: str,
    *,
    think_s: float,
    quick: bool,
) -> None:
    """Publish some tables, let the clients ask, with thought and without, and judge what came."""
    seconds, tokens = (3.0 if quick else 600.0), list(server.tokens.values())
    published = []
    for k, name in enumerate(server.tokens):
        method, address, body = ask(random.Random(k), k)
        published.append(server(method, address, name, body).headers["location"])
    front, memory, done = server.pid("front"), [], threading.Event()

    def look() -> None:
        while not done.wait(0.2 if quick else 1.0):
            memory.append(memory_mb(front))

    looking, drawn = threading.Thread(target=look), kinds(published, ask, new, dimension)
    looking.start()
    calm = run_load(server.url, tokens, drawn, seconds=seconds, think_s=think_s)
    done.set()
    looking.join()
    busy = run_load(server.url, tokens, drawn, seconds=seconds / 20, think_s=0.0)
    judge_load(report, calm, busy, memory, think_s, quick=quick)


def judge_load(report: Report, calm: Load, busy: Load, memory: list[float], think_s: float, *, quick: bool) -> None:
    rows = [
        [kind, f"{len(calm.seconds[kind]):,}", *(f"{1000 * calm.quantile(kind, q):.0f}" for q in (0.5, 0.95, 0.99))]
        for kind in (OF_THE_LEDGER, NEW, "lists")
    ]
    report.add(table([f"{think_s:g} s of thought", "requests", "p50, ms", "p95, ms", "p99, ms"], rows))
    quarter, end = memory[len(memory) // 4], memory[-1]
    report.add(
        f"{calm.count:,} requests in {calm.lasted:.0f} s, {len(calm.wrong)} errors; the front's memory {quarter:.0f} MB after a quarter of the time, "
        f"{end:.0f} MB at the end. Without thought: {busy.count / busy.lasted:,.0f} requests a second, {len(busy.wrong)} errors."
    )
    report.require(not calm.wrong and not busy.wrong, f"no errors: {Counter(calm.wrong + busy.wrong).most_common(3)}")
    if not quick:
        report.require(end <= GROWTH * quarter, f"memory grows by at most a tenth: {quarter:.0f} MB, then {end:.0f} MB")
        for kind, most in ((OF_THE_LEDGER, LEDGER_P99_S), (NEW, NEW_P99_S)):
            p99 = calm.quantile(kind, 0.99)
            report.require(p99 < most, f"p99 of {kind} below {1000 * most:.0f} ms: {1000 * p99:.0f} ms")


# ---- requests made of the OpenAPI document -------------------------------------------------------------------------------------------------


def openapi(report: Report, *, quick: bool) -> None:
    cases = 400 if quick else 100_000
    with tempfile.TemporaryDirectory() as folder, served(Path(folder) / "s", canary=CANARY) as server:
        asked = asked_for((("region", 1),), where={"activity": ["A33"]})
        theirs = server("POST", ASK, "ron", asked).headers["location"].rpartition("/")[2]
        workers = 1 if quick else WORKERS
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            parts = list(
                pool.map(
                    draw_cases, [(server.url, server.tokens, theirs, seed, cases // workers) for seed in range(workers)]
                )
            )
        metrics, log = server("GET", "/metrics", "ada").body.decode(), server.log
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    for counted, complaints in parts:
        seen += counted
        wrong += complaints
    judge_cases(report, seen, wrong, server, metrics, log, cases)


def judge_cases(
    report: Report, seen: Counter[str], wrong: list[str], server: Served, metrics: str, log: str, cases: int
) -> None:
    statuses = sorted({key.rpartition(" ")[2] for key in seen})
    addresses = sorted({key.rpartition(" ")[0] for key in seen})
    rows = [[address, *(f"{seen[f'{address} {status}']:,}" for status in statuses)] for address in addresses]
    report.add(table(["address", *statuses], rows))
    report.add(f"{sum(seen.values()):,} cases, {len(wrong)} complaints.")
    report.require(
        sum(seen.values()) >= 0.99 * cases, f"as many cases as asked for: {sum(seen.values()):,} of {cases:,}"
    )
    report.require(not wrong, f"no complaints: {Counter(wrong).most_common(3)}")
    for name, text in (("log", log), ("metrics", metrics)):
        held = [word for word in (CANARY, "Traceback", *server.tokens.values()) if word in text]
        report.require(not held, f"no word of the vault, trace or token in the {name}")
    report.require('"trouble"' not in log, "no trouble in the log")


def draw_cases(given: tuple[str, dict[str, str], str, int, int]) -> tuple[Counter[str], list[str]]:
    """So many cases, shared among the addresses; what came back by address and status, and what must not have."""
    import requests
    import schemathesis
    from hypothesis import HealthCheck, Phase, seed, settings
    from hypothesis import given as for_each
    from hypothesis import strategies as st

    url, tokens, theirs, number, count = given
    logging.disable(logging.CRITICAL)
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    operations = [operation for operation in operations if operation.path != "/health"]
    session, seen, wrong = requests.Session(), Counter[str](), list[str]()
    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    left = count // len(WHO)
    for k, operation in enumerate(operations):
        share = left // (len(operations) - k)
        left -= share
        for mode, examples in zip(modes, (share // 2, share - share // 2), strict=True):

            @seed(number)
            @settings(
                max_examples=examples,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
                phases=[Phase.generate],
            )
            @for_each(
                case=operation.as_strategy(generation_mode=mode),
                there=st.sampled_from(("there", "drawn")),
                ending=st.sampled_from(ENDINGS),
            )
            def one(case: Any, there: str, ending: str) -> None:
                if there == "there":
                    name_what_is_there(case, theirs)
                for who in WHO:
                    sent_and_judged(case, who, there == "there", ending, (url, tokens, session), seen, wrong)

            drawn = sum(seen.values())
            while sum(seen.values()) - drawn < examples * len(
                WHO
            ):  # a document that allows few requests is gone through again
                one()
    return seen, wrong


ENDINGS = ("", "", "", ".csv", ".json", ".parquet", ".jsonstat", ".sdmx.csv")
OPEN = re.compile(r"/(health|docs|openapi\.json)?$")


def sent_and_judged(
    case: Any,
    who: str | None,
    there: bool,  # noqa: FBT001
    ending: str,
    server: tuple[str, dict[str, str], Any],
    seen: Counter[str],
    wrong: list[str],
) -> None:
    """Send a case as somebody, and judge what comes back."""
    url, tokens, session = server
    given = case.as_transport_kwargs(base_url=url)
    headers = {name: text for name, text in (given.get("headers") or {}).items() if name.lower() != "authorization"}
    if who is not None:
        headers["Authorization"] = f"Bearer {tokens[who]}"
    given["headers"] = headers
    if given["url"].startswith(f"{url}/v1/"):
        given["url"] += ending
    reply = session.request(**given, timeout=60, allow_redirects=False)
    path, status = case.operation.path, reply.status_code
    seen[f"{case.operation.method.upper()} {path} {status}"] += 1
    good = status < 300
    if status >= 500:
        wrong.append(f"{path}: status {status}")
    if not good and status != 304 and not in_shape(reply):
        wrong.append(f"{path}: {status} in another shape")
    if good and (who is None or who not in FOR_MORE.get(path, {who})):
        wrong.append(f"{path}: {status} for {who}")
    if good and path == "/v1/tables/{number}" and there and who == "rita":
        wrong.append(f"{path}: somebody else's table for {who}")
    if good and path == "/v1/tables" and who == "rita" and b"ron" in reply.content:
        wrong.append(f"{path}: somebody else's trail for {who}")
    if CANARY.encode() in reply.content:
        wrong.append(f"{path}: a word of the vault's own")


def name_what_is_there(case: Any, theirs: str) -> None:
    """Let a case name a dataset, a dimension, or somebody else's table that is there."""
    names = {"name": "firms", "number": theirs}
    case.path_parameters = {name: names.get(name, text) for name, text in case.path_parameters.items()}
    if isinstance(case.query, dict) and "dimension" in case.query:
        case.query = {**case.query, "dimension": "region"}
    shown = case.body.get("dimensions") if isinstance(case.body, dict) else None
    if isinstance(shown, list) and all(isinstance(one, dict) for one in shown):
        levels = [{**one, "name": name} for one, name in zip(shown, ("region", "activity"), strict=False)]
        case.body = {**case.body, "dimensions": levels, "where": {"region": ["N"]}}


def in_shape(reply: Any) -> bool:
    try:
        return bool(json.loads(reply.content).keys() == {"code", "sentence", "remedy"})
    except (ValueError, AttributeError):
        return False


def figures(report: Report, part: str, *, quick: bool) -> None:
    {"load": load, "records": records, "openapi": openapi}[part](report, quick=quick)


if __name__ == "__main__":
    sys.exit(run_parts(SCRIPT, "The server's front", PARTS, figures, __doc__))
