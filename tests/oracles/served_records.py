"""Records for a server: a seeded file with two hierarchies and a flat dimension, and its configuration."""

import csv
from pathlib import Path

import numpy as np

from cellward.key import write_new_key
from cellward.server.config import ServerConfig

REGIONS = {"North": ["N1", "N2", "N3"], "South": ["S1", "S2"]}
SECTORS = {"A": ["A1", "A2"], "B": ["B1", "B2", "B3"], "C": ["C1", "C2"]}
SIZES = ["small", "medium", "large"]
HEAD = ("id", "firm", "holding", "region", "sector", "size", "turnover")


def rows_of(many, seed, first=0):
    """So many records; a few firms have several, and a few belong to a holding."""
    rng = np.random.default_rng(seed)
    regions = [code for own in REGIONS.values() for code in own]
    sectors = [code for own in SECTORS.values() for code in own]
    out = []
    for k in range(first, first + many):
        firm = f"F{rng.integers(0, first + many):05d}"
        holding = f"H{rng.integers(0, 40)}" if rng.random() < 0.1 else ""
        region, sector = rng.choice(regions, p=[0.4, 0.25, 0.15, 0.15, 0.05]), rng.choice(sectors)
        amount = f"{rng.lognormal(3, 1.2):.1f}"
        out.append((f"R{k:06d}", firm, holding, str(region), str(sector), str(rng.choice(SIZES)), amount))
    return out


def write_rows(path, rows):
    """The records as a CSV file."""
    with Path(path).open("w", newline="") as out:
        file = csv.writer(out)
        file.writerow(HEAD)
        file.writerows(rows)


def write_hrc(path, nested):
    """A hierarchy of two levels."""
    Path(path).write_text("".join(f"{top}\n" + "".join(f"@{code}\n" for code in own) for top, own in nested.items()))


def served(folder, rows, *, more="", name="firms"):
    """The configuration of a server of these records in a folder; the key that is there is used again."""
    folder = Path(folder)
    write_rows(folder / "records.csv", rows)
    write_hrc(folder / "region.hrc", REGIONS)
    write_hrc(folder / "sector.hrc", SECTORS)
    if not (folder / "key.txt").exists():
        write_new_key(folder / "key.txt")
    (folder / "server.toml").write_text(
        f"""
[server]
key_file = "key.txt"
ledger = "ledger.sqlite"
[[dataset]]
name = "{name}"
file = "records.csv"
contributor = "firm"
holding = "holding"
record = ["id"]
dimensions = [{{name = "region", hierarchy = "region.hrc"}}, {{name = "sector", hierarchy = "sector.hrc", levels = ["section"]}}, "size"]
measures = [{{name = "turnover", unit = "thousand"}}]
{more}
"""
    )
    return ServerConfig.read(folder / "server.toml")
