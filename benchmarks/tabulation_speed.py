"""Tabulation speed: ten million records beside pandas and beside regrouping every margin, a hundred million within four gigabytes.

Every measurement runs in a process of its own, started from here:

python benchmarks/tabulation_speed.py ours|pandas|holdings|margins records.parquet result.npz
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from results import Report, table

from cellward.hierarchy import Hierarchy

DIMS = {"a": (100, 9), "b": (90, 9), "c": (36, 4)}
"""For each dimension its bottom codes, and how many of them make a group."""
PANDAS, MARGINS, MEGABYTES, LARGE_MEGABYTES = 5.0, 3.0, 1024, 4096
"""What is asked: this many times faster than pandas, and than regrouping every margin; peak memory of ten and of a hundred million records."""
RECORDS, LARGE, QUICK = 10_000_000, 100_000_000, 200_000


# ---- records -----------------------------------------------------------------------------------------------------------------------------


def hierarchy(dim: str) -> Hierarchy:
    """Total > groups > bottom codes."""
    codes, size = DIMS[dim]
    bottom = [f"{dim.upper()}{k:02d}" for k in range(codes)]
    groups = {f"{dim.upper()}g{k // size:02d}": bottom[k : k + size] for k in range(0, codes, size)}
    return Hierarchy.from_dict(groups, total="Total")


def _code(dim: str, seed: str) -> str:
    return f"'{dim.upper()}' || lpad(CAST(hash({seed}) % {DIMS[dim][0]} AS VARCHAR), 2, '0') AS {dim}"


def write_records(path: Path, records: int) -> None:
    """Records by themselves: three codes, and a value with a long tail."""
    import duckdb

    codes = ", ".join(_code(dim, f"8 * i + {k}") for k, dim in enumerate(DIMS))
    value = (
        "CAST((hash(8 * i + 3) % 1000) * (hash(8 * i + 4) % 1000) * (1 + hash(8 * i + 5) % 10) // 10 AS BIGINT) AS x"
    )
    with duckdb.connect(config={"memory_limit": "2GB"}) as connection:
        connection.execute(f"COPY (SELECT {codes}, {value} FROM range({records}) t(i)) TO '{path}' (FORMAT parquet)")


def write_holdings(path: Path, records: int) -> None:
    """Records of holdings: 77 % of these stand in one leaf, with 1 to 4 records there; the others have 2 to 6 establishments in leaves of their own.

    Sizes are about those of example_enterprise.csv: 1.4 records on average for the former, 2.9 for the latter.
    """
    import duckdb

    one, several = [1] * 12 + [2, 2, 3, 4], [2] * 8 + [3] * 4 + [4, 4, 5, 6]
    size = f"(CASE WHEN alone THEN {one} ELSE {several} END)[CAST(1 + hash(4 * g + 1) % 16 AS INTEGER)]"
    made = f"SELECT g, hash(4 * g) % 100 < 77 AS alone, unnest(range({size})) AS j "
    made += f"FROM range({records}) t(g)"
    codes = ", ".join(_code(dim, f"64 * g + {8 * k} + CASE WHEN alone THEN 0 ELSE j END") for k, dim in enumerate(DIMS))
    value = "CAST((hash(64 * g + 32 + j) % 1000) * (hash(64 * g + 40 + j) % 1000) * (1 + hash(64 * g + 48 + j) % 10) // 10 AS BIGINT) AS x"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT {codes}, {value}, g AS h FROM ({made}) LIMIT {records}) TO '{path}' (FORMAT parquet)"
        )


# ---- ours --------------------------------------------------------------------------------------------------------------------------------


def ours(path: Path, holding: str | None = None, memory_mb: int | None = None) -> dict[str, Any]:
    """Every cell with its sum, records, units and two largest contributions."""
    from cellward import Table

    trees = {dim: hierarchy(dim) for dim in DIMS}
    began = time.perf_counter()
    made = Table.from_microdata(
        path, dims=list(DIMS), measure="x", holding=holding, hierarchies=trees, largest=2, memory_mb=memory_mb
    )
    seconds = time.perf_counter() - began
    c = made.contributions
    assert c is not None
    key = np.zeros(made.cells, np.int64)
    for codes, index in zip(made.labels.codes, made.labels.index, strict=True):
        key = key * len(codes) + index
    order = np.argsort(key)
    columns = {"key": key, "sum": made.scaled, "rows": c.rows, "units": c.units, "first": c.top[0], "second": c.top[1]}
    return {"seconds": seconds, **{name: column[order] for name, column in columns.items()}}


# ---- pandas ------------------------------------------------------------------------------------------------------------------------------


def in_pandas(path: Path) -> dict[str, Any]:
    """The same in pandas, as its manual would have it: group the records once, then merge with (code, code above) pairs dimension by dimension."""
    import pandas as pd

    trees = {dim: hierarchy(dim) for dim in DIMS}
    dims = list(DIMS)
    began = time.perf_counter()
    read = pd.read_parquet(path)
    frame = read.groupby(dims)["x"].agg(["sum", "size"]).rename(columns={"size": "rows"})
    two = read.sort_values("x", ascending=False).groupby(dims)["x"]
    frame["first"], frame["second"] = two.max(), two.nth(1).set_axis(_index(read, two.nth(1).index, dims))
    frame = frame.fillna(0).reset_index()
    for dim, tree in trees.items():
        above = pd.DataFrame(tree.closure, columns=[dim, "above"])
        frame = frame.merge(above, on=dim).drop(columns=dim).rename(columns={"above": dim})
        grouped = frame.groupby(dims)
        fresh = grouped[["sum", "rows"]].sum()
        both = pd.concat(
            [
                frame[[*dims, "first"]].rename(columns={"first": "x"}),
                frame[[*dims, "second"]].rename(columns={"second": "x"}),
            ]
        )
        ranked = both.sort_values("x", ascending=False).reset_index(drop=True)
        nth = ranked.groupby(dims)["x"].nth(1)
        fresh["first"], fresh["second"] = grouped["first"].max(), nth.set_axis(_index(ranked, nth.index, dims))
        frame = fresh.reset_index()
    seconds = time.perf_counter() - began
    key = np.zeros(len(frame), np.int64)
    for dim, tree in trees.items():
        place = {code: k for k, code in enumerate(tree.codes)}
        key = key * len(place) + frame[dim].map(place).to_numpy(np.int64)
    order = np.argsort(key)
    columns = {name: frame[name].to_numpy(np.int64)[order] for name in ("sum", "rows", "first", "second")}
    return {"seconds": seconds, "key": key[order], **columns}


def _index(frame: Any, rows: Any, dims: list[str]) -> Any:
    """The codes of some rows as an index."""
    import pandas as pd

    return pd.MultiIndex.from_frame(frame.loc[rows, dims])


def in_pandas_by_hand(path: Path) -> dict[str, Any]:
    """The same in pandas, tuned by hand: codes as one integer key, the largest by position, levels rolled up one from the other."""
    import pandas as pd
    import pyarrow.parquet as pq

    trees = {dim: hierarchy(dim) for dim in DIMS}
    began = time.perf_counter()
    read = pq.read_table(path, read_dictionary=list(DIMS)).to_pandas()
    key = np.zeros(len(read), np.int64)
    for dim, tree in trees.items():
        place = {code: k for k, code in enumerate(tree.codes)}
        numbers = np.array([place[code] for code in read[dim].cat.categories], np.int64)
        key = key * len(place) + numbers[read[dim].cat.codes.to_numpy()]
    x = read["x"]
    grouped = x.groupby(key)
    frame = pd.DataFrame({"sum": grouped.sum(), "rows": grouped.size()})
    first = grouped.idxmax().to_numpy()
    frame["first"] = x.to_numpy()[first]
    rest = x.to_numpy().copy()
    rest[first] = 0  # no contribution is negative, so a lone one has a second largest of 0
    frame["second"] = pd.Series(rest).groupby(key).max()
    stride = 1
    for tree in reversed(list(trees.values())):
        frame = _with_totals(frame, tree, stride)
        stride *= len(tree.codes)
    frame = frame.sort_index()
    seconds = time.perf_counter() - began
    columns = {name: frame[name].to_numpy() for name in ("sum", "rows", "first", "second")}
    return {"seconds": seconds, "key": frame.index.to_numpy(), **columns}


def _with_totals(frame: Any, tree: Hierarchy, stride: int) -> Any:
    """The cells with the groups and the total along one dimension, each level from the one below."""
    import pandas as pd

    place = {code: k for k, code in enumerate(tree.codes)}
    parent = np.zeros(len(place), np.int64)
    for above, children in tree.sums:
        parent[[place[child] for child in children]] = place[above]
    levels, below = [frame], frame
    for _ in range(2):
        key = below.index.to_numpy()
        code = key // stride % len(place)
        above = key + (parent[code] - code) * stride
        grouped = below.reset_index(drop=True).groupby(above)
        fresh = grouped[["sum", "rows"]].sum()
        where = grouped["first"].idxmax().to_numpy()
        fresh["first"] = below["first"].to_numpy()[where]
        rest = below["first"].to_numpy().copy()
        rest[where] = below["second"].to_numpy()[where]
        fresh["second"] = pd.Series(rest).groupby(above).max()
        levels.append(fresh)
        below = fresh
    return pd.concat(levels)


# ---- every margin regrouped --------------------------------------------------------------------------------------------------------------


def margins(path: Path) -> dict[str, Any]:
    """The same with holdings, the plain way: for every combination of levels read the records, group by codes and holding, then by codes."""
    import duckdb

    trees = {dim: hierarchy(dim) for dim in DIMS}
    began = time.perf_counter()
    parts: list[dict[str, Any]] = []
    with duckdb.connect() as connection:
        for dim, tree in trees.items():
            parent = {child: above for above, children in tree.sums for child in children}
            leaf = list(tree.leaves)
            above = {"code": leaf, "l0": leaf, "l1": [parent[code] for code in leaf], "l2": ["Total"] * len(leaf)}
            connection.register(
                f"codes_{dim}", {name: np.array(column, dtype=object) for name, column in above.items()}
            )
        for levels in product(range(3), repeat=3):
            codes = ", ".join(f"{dim}.l{level} AS {dim}" for dim, level in zip(DIMS, levels, strict=True))
            joins = " ".join(f"JOIN codes_{dim} {dim} ON r.{dim} = {dim}.code" for dim in DIMS)
            listed = ", ".join(DIMS)
            parts.append(
                connection.execute(
                    f"SELECT {listed}, CAST(sum(x) AS BIGINT) AS sum, CAST(sum(n) AS BIGINT) AS rows, count(*) AS units, max(x, 2) AS top "
                    f"FROM (SELECT {codes}, h, sum(x) AS x, count(*) AS n FROM read_parquet('{path}') r {joins} GROUP BY ALL) GROUP BY {listed}"
                ).fetchnumpy()
            )
    seconds = time.perf_counter() - began
    key = np.zeros(sum(len(part["sum"]) for part in parts), np.int64)
    for dim, tree in trees.items():
        place = {code: k for k, code in enumerate(tree.codes)}
        key = key * len(place) + np.concatenate([[place[code] for code in part[dim].tolist()] for part in parts])
    order = np.argsort(key)
    found = {
        name: np.concatenate([np.asarray(part[name], np.int64) for part in parts])[order]
        for name in ("sum", "rows", "units")
    }
    for rank, name in enumerate(("first", "second")):
        largest = [int(top[rank]) if len(top) > rank else 0 for part in parts for top in part["top"]]
        found[name] = np.array(largest, np.int64)[order]
    return {"seconds": seconds, "key": key[order], **found}


def margins_by_hand(path: Path) -> dict[str, Any]:
    """The same, tuned by hand: the codes of all levels as integers, in a table, first."""
    import duckdb

    trees = {dim: hierarchy(dim) for dim in DIMS}
    began = time.perf_counter()
    parts: list[dict[str, Any]] = []
    with duckdb.connect() as connection:
        numbers = []
        for dim, tree in trees.items():
            place = {code: k for k, code in enumerate(tree.codes)}
            parent = {child: above for above, children in tree.sums for child in children}
            leaf = list(tree.leaves)
            connection.register(
                f"codes_{dim}",
                {
                    "code": np.array(leaf, dtype=object),
                    "l0": np.array([place[code] for code in leaf], np.int32),
                    "l1": np.array([place[parent[code]] for code in leaf], np.int32),
                },
            )
            numbers.append(f"{dim}.l0 AS {dim}0, {dim}.l1 AS {dim}1, {place['Total']} AS {dim}2")
        joins = " ".join(f"JOIN codes_{dim} {dim} ON r.{dim} = {dim}.code" for dim in DIMS)
        connection.execute(
            f"CREATE TEMP TABLE numbered AS SELECT {', '.join(numbers)}, h, x FROM read_parquet('{path}') r {joins}"
        )
        size = {dim: len(tree.codes) for dim, tree in trees.items()}
        for levels in product(range(3), repeat=3):
            a, b, c = (f"{dim}{level}" for dim, level in zip(DIMS, levels, strict=True))
            key = f"(CAST({a} AS BIGINT) * {size['b']} + {b}) * {size['c']} + {c}"
            parts.append(
                connection.execute(
                    f"SELECT key, CAST(v AS BIGINT) AS sum, CAST(n AS BIGINT) AS rows, units, CAST(top[1] AS BIGINT) AS first, "
                    f"CAST(coalesce(top[2], 0) AS BIGINT) AS second FROM (SELECT key, sum(x) AS v, sum(n) AS n, count(*) AS units, max(x, 2) AS top "
                    f"FROM (SELECT {key} AS key, h, sum(x) AS x, count(*) AS n FROM numbered GROUP BY 1, 2) GROUP BY key)"
                ).fetchnumpy()
            )
    whole = {name: np.concatenate([np.asarray(part[name], np.int64) for part in parts]) for name in parts[0]}
    order = np.argsort(whole["key"])
    found = {name: column[order] for name, column in whole.items()}
    return {"seconds": time.perf_counter() - began, **found}


# ---- measuring ---------------------------------------------------------------------------------------------------------------------------


def measure(job: str, path: Path, result: Path) -> dict[str, float]:
    """Seconds and peak megabytes of a process that does only this."""
    done = subprocess.run(
        [sys.executable, __file__, job, str(path), str(result)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{job} failed: {done.stderr[-2000:]}")
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def _child(job: str, path: Path, result: Path) -> None:
    work = {
        "ours": lambda: ours(path),
        "large": lambda: ours(path, memory_mb=2048),
        "holdings": lambda: ours(path, "h"),
        "pandas": lambda: in_pandas(path),
        "pandas by hand": lambda: in_pandas_by_hand(path),
        "margins": lambda: margins(path),
        "margins by hand": lambda: margins_by_hand(path),
    }[job]
    found = work()
    seconds = found.pop("seconds")
    with Path("/proc/self/status").open() as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    np.savez(result, **found)
    print(json.dumps({"seconds": seconds, "megabytes": peak / 1024}))


def _same(one: Path, two: Path) -> tuple[bool, int]:
    """Whether two results agree in every column that both have, and the number of cells."""
    with np.load(one) as a, np.load(two) as b:
        shared = set(a.files) & set(b.files)
        assert {"key", "sum", "rows", "first", "second"} <= shared
        return all(np.array_equal(a[name], b[name]) for name in shared), len(a["key"])


def duel(path: Path, job: str, rival: str, times: int) -> tuple[dict[str, float], dict[str, float], bool, int]:
    """Medians of both, taken in turn, and whether they found the same."""
    results = [path.with_name(f"{name}.npz") for name in (job, rival)]
    runs: list[list[dict[str, float]]] = [[], []]
    for _ in range(times):
        for k, name in enumerate((job, rival)):
            runs[k].append(measure(name, path, results[k]))
    equal, cells = _same(*results)
    mine, theirs = ({what: statistics.median(run[what] for run in own) for what in own[0]} for own in runs)
    return mine, theirs, equal, cells


def figures(report: Report, *, quick: bool) -> None:
    """Ten million records: beside pandas, and with holdings beside every margin regrouped."""
    records, times = (QUICK, 1) if quick else (RECORDS, 3)
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for what, write, job, rival, asked in (
            ("each record by itself", write_records, "ours", "pandas", PANDAS),
            ("each record by itself", write_records, "ours", "pandas by hand", None),
            ("holdings", write_holdings, "holdings", "margins", MARGINS),
            ("holdings", write_holdings, "holdings", "margins by hand", None),
        ):
            path = Path(folder) / f"{job}.parquet"
            if not path.exists():
                write(path, records)
            mine, theirs, equal, cells = duel(path, job, rival, times)
            ratio = theirs["seconds"] / mine["seconds"]
            report.require(equal, f"speed, {what}: the results differ")
            if not quick and asked is not None:
                report.require(ratio >= asked, f"speed, {what}: {ratio:.1f} times faster than {rival}, not {asked:g}")
            if job == "ours":
                report.require(mine["megabytes"] <= MEGABYTES, f"speed, {what}: {mine['megabytes']:.0f} MB")
            rows.append(
                [what, f"{cells:,}", f"{mine['seconds']:.1f} s", f"{mine['megabytes']:.0f} MB", rival, f"{theirs['seconds']:.1f} s",
                 f"{theirs['megabytes']:.0f} MB", f"**{ratio:.1f} ×**", "yes" if equal else "NO"]
            )  # fmt: skip
    head = ["units", "cells", "ours", "peak", "rival", "its time", "its peak", "ratio", "same result"]
    report.add(
        f"{records:,} records in a Parquet file, three hierarchical dimensions (100, 90 and 36 bottom codes): sum, records, units and "
        f"two largest contributions of every cell; each run in a process of its own, medians of {times}, ours and the rival in turn. Ours ends with "
        "a table whose equations are tested, and with whose the largest contributions are; pandas is asked for neither. *pandas* groups the "
        "records by their codes once, and then merges with (code, code above) pairs dimension by dimension; *pandas by hand* works on one integer "
        "key, made of the dictionary codes of the file, and finds the largest by position: no figure is asked of it. *margins* is DuckDB grouping "
        "the records by codes and holding for each of the 27 combinations of levels; *margins by hand* does so on integer codes of all levels, made "
        "first; 77 % of the holdings stand in one leaf.\n\n" + table(head, rows)
    )


def large(report: Report, *, quick: bool) -> None:
    """A hundred million records."""
    records = QUICK if quick else LARGE
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.parquet"
        write_records(path, records)
        size = path.stat().st_size
        told = measure("large", path, path.with_name("large.npz"))
        with np.load(path.with_name("large.npz")) as found:
            rows, cells = int(found["rows"].max()), len(found["key"])
    report.require(rows == records, f"large: {rows:,} records in the total, not {records:,}")
    report.require(told["megabytes"] <= LARGE_MEGABYTES, f"large: {told['megabytes']:.0f} MB")
    report.add(
        f"{records:,} records ({size / 2**20:,.0f} MB of Parquet) into {cells:,} cells, with the two largest contributions of each and whose: "
        f"{told['seconds']:.0f} s, peak {told['megabytes']:,.0f} MB ({LARGE_MEGABYTES:,} allowed)."
    )


if __name__ == "__main__":
    _child(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
