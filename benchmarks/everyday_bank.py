"""The bank of everyday tables (shared/everyday, drawn from a seed), and jobs on them; for the benchmarks that run them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fixed_keys import key_file
from results import SHARED

COUNTS = ("town", "census4", "health", "school", "small_areas", "census5")
MAGNITUDES = ("survey", "net_positions", "research", "linked", "energy", "business2", "business3", "trade")


def made(folder: Path, seed: int) -> Path:
    """The bank at a seed, made in a folder of its own."""
    bank = folder / f"seed{seed}"
    if not bank.exists():
        maker = SHARED / "everyday" / "make.py"
        subprocess.run([sys.executable, str(maker), str(bank), str(seed)], check=True)
    return bank


@dataclass(frozen=True)
class Way:
    """A method and its options, as a job file has them."""

    name: str
    options: str

    def __str__(self) -> str:
        return f"{self.name} {self.options.replace(chr(10), ', ').replace(' = ', '=')}".strip()


def job(bank: Path, table: str, way: Way, limit_s: float | None, folder: Path) -> Path:
    """A job that protects a table of the bank this way, in a new folder with the bank's files."""
    shutil.copytree(bank / table, folder)
    key_file(folder / "key", "everyday")
    text = (folder / "table.toml").read_text().replace('folder = "out"', 'folder = "out"\nkey_file = "key"')
    limit = "" if limit_s is None else f"time_limit_s = {limit_s}\n"
    path = folder / "job.toml"
    path.write_text(f'{text}\n[method]\nname = "{way.name}"\n{limit}{way.options}\n')
    return path
