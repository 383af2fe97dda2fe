"""The newcomer's path: the commands of docs/first-release.md, as a shell takes them, from the τ-ARGUS sample's records to a verified release."""

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("CELLWARD_SHARED", ROOT.parent / "shared"))
FILES = ("example_enterprise.csv", "nace_divisions.hrc", "KohStatReg.hrc")
MOST = 9


def commands():
    block = re.search(r"```bash\n(.*?)```", (ROOT / "docs" / "first-release.md").read_text(), re.DOTALL)
    return block.group(1).strip().splitlines()


def shell(folder):
    """An environment in which ``cellward`` is on the path, as after an installation."""
    programs = folder / "bin"
    programs.mkdir()
    program = programs / "cellward"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from cellward.cli import main; main()" "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_newcomer_reaches_a_verified_release_in_under_ten_commands(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    for name in FILES:
        shutil.copyfile(SHARED / "data" / "tauargus" / name, work / name)
    environment, said = shell(tmp_path), {}
    assert len(commands()) <= MOST
    for command in commands():
        done = subprocess.run(
            ["bash", "-c", command], cwd=work, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        said[command.split()[1]] = done.stdout
    assert said["verify"].count("holds") >= 4
    assert said["compare"].lstrip().startswith("Table(act × region")
    true, published = rows(work / "turnover.csv"), rows(work / "release" / "release.csv")
    assert list(published[0]) == ["act", "region", "value"]
    assert [(row["act"], row["region"]) for row in published] == [(row["act"], row["region"]) for row in true]
    assert all(float(row["value"]) % 1500 == 0 for row in published)
    unsafe = [k for k, row in enumerate(true) if row["status"] == "u"]
    assert len(unsafe) > 300
    assert not [k for k in unsafe if true[k]["value"] == published[k]["value"] != "0.00"]
    assert {path.name for path in (work / "comparison").iterdir()} == {"comparison.csv", "map.svg", "recommendation.md"}


def test_the_readme_leads_there():
    readme = (ROOT / "README.md").read_text()
    assert "docs/first-release.md" in readme
    assert "docs/choosing.md" in readme
