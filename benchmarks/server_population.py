"""Records for the server's benchmarks: a seeded population of firms, the configuration of a server of it, and what is asked at random."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from fixed_keys import key_of

from cellward.server.config import ServerConfig
from cellward.server.vault.vault import Vault

SIZES = {"1-9": 1, "10-49": 6, "50-249": 30, "250+": 200}
"""Size classes and how many times as much a firm of one turns over."""
NAMES = ("region", "sector", "size", "legal", "year")


def population(
    many: int, seed: int, *, regions: tuple[int, int] = (8, 5), sectors: tuple[int, int] = (10, 6)
) -> dict[str, Any]:
    """So many records over 5 dimensions, two of them with two levels; seven firms of ten records, lognormal turnovers."""
    rng = np.random.default_rng(seed)

    def code(letter: str, shape: tuple[int, int], skew: float) -> Any:
        leaves = np.array([f"{letter}{top:02d}{k:02d}" for top in range(shape[0]) for k in range(shape[1])])
        share = rng.permutation(np.arange(1, len(leaves) + 1) ** -skew)
        return leaves[rng.choice(len(leaves), many, p=share / share.sum())]

    region, sector = code("R", regions, 0.6), code("S", sectors, 0.8)
    size = rng.choice(list(SIZES), many, p=[0.7, 0.2, 0.08, 0.02])
    times = np.array([SIZES[one] for one in size])
    return {
        "id": np.arange(many),
        "firm": rng.integers(0, max(int(many * 0.7), 1), many),
        "region": region,
        "sector": sector,
        "size": size,
        "legal": rng.choice(["sole", "ltd", "plc", "coop"], many, p=[0.5, 0.35, 0.1, 0.05]),
        "year": rng.choice(["2023", "2024", "2025"], many),
        "turnover": np.round(rng.lognormal(3, 1.2, many) * times, 1),
    }


def write(folder: Path, rows: Mapping[str, Any], *, key: int = 0, more: str = "", limits: str = "") -> ServerConfig:
    """The records as Parquet, hierarchies, key and configuration in a folder."""
    connection = duckdb.connect()
    columns = {name: own if own.dtype.kind in "if" else own.astype(object) for name, own in rows.items()}
    connection.register("rows", columns)
    connection.execute(f"COPY rows TO '{folder / 'records.parquet'}'")
    connection.close()
    for name in ("region", "sector"):
        codes = sorted(set(rows[name].tolist()))
        nested: dict[str, list[str]] = {}
        for one in codes:
            nested.setdefault(one[:-2], []).append(one)
        text = "".join(f"{top}\n" + "".join(f"@{one}\n" for one in own) for top, own in nested.items())
        (folder / f"{name}.hrc").write_text(text)
    file = folder / "key.txt"
    file.write_text(key_of(key).hex() + "\n")
    file.chmod(0o600)
    (folder / "server.toml").write_text(
        f"""
[server]
key_file = "key.txt"
ledger = "ledger.sqlite"
[limits]
max_dimensions = 5
{limits}
[[dataset]]
name = "firms"
file = "records.parquet"
contributor = "firm"
record = ["id"]
dimensions = [{{name = "region", hierarchy = "region.hrc"}}, {{name = "sector", hierarchy = "sector.hrc"}}, "size", "legal", "year"]
measures = ["turnover"]
headline = "region"
{more}
"""
    )
    return ServerConfig.read(folder / "server.toml")


def asked(vault: Vault, request: Mapping[str, Any], who: str = "analyst") -> dict[str, Any]:
    """The answer to a request."""
    said = vault.handle({"id": 1, "call": "ask", "dataset": "firms", "request": request, "who": who, "key": None})
    if "answer" not in said:
        raise RuntimeError(f"not answered: {said}")
    answer: dict[str, Any] = said["answer"]
    return answer


class Asker:
    """Random requests of a dataset: one to three dimensions at any level, up to two conditions on codes of any level."""

    def __init__(self, vault: Vault, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        told = vault.handle({"call": "datasets"})["datasets"][0]
        self.levels = {one["name"]: len(one["levels"]) for one in told["dimensions"]}
        self.codes = {
            (name, level): [
                one["code"]
                for one in vault.handle({"call": "codes", "dataset": "firms", "dimension": name, "level": level})[
                    "codes"
                ]
            ]
            for name, levels in self.levels.items()
            for level in range(1, levels)
        }

    def request(self) -> dict[str, Any]:
        """One request."""
        rng, names = self.rng, list(self.levels)
        own = rng.choice(names, rng.integers(1, 4), replace=False).tolist()
        dimensions = [{"name": name, "level": int(rng.integers(0, self.levels[name]))} for name in own]
        where = {}
        for name in rng.choice(names, rng.integers(0, 3), replace=False).tolist():
            codes = self.codes[name, int(rng.integers(1, self.levels[name]))]
            where[name] = rng.choice(codes, rng.integers(1, min(len(codes), 4) + 1), replace=False).tolist()
        return {"dimensions": dimensions, "measure": str(rng.choice(["turnover", "count"])), "where": where}


def drill(asker: Asker) -> list[dict[str, Any]]:
    """A beginning and four steps down."""
    rng = asker.rng
    first, second = rng.choice(NAMES, 2, replace=False).tolist()
    level, where = {first: 1, second: 1}, {}
    measure = str(rng.choice(["turnover", "turnover", "count"]))
    steps = []
    for _ in range(5):
        dimensions = [{"name": name, "level": own} for name, own in level.items()]
        steps.append(
            {"dimensions": dimensions, "measure": measure, "where": {name: [code] for name, code in where.items()}}
        )
        name = str(rng.choice(list(level)))
        if name not in where:
            where[name] = str(rng.choice(asker.codes[name, level[name]]))
        if level[name] + 1 < asker.levels[name]:
            level[name] += 1
        elif len(level) < 4:
            level.setdefault(str(rng.choice([one for one in NAMES if one not in level])), 1)
    return steps
