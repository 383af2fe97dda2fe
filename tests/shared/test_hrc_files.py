"""Every .hrc file among the shared τ-ARGUS data: read, written and read again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cellward.errors import InputError
from cellward.formats.hrc import parse_hrc, read_hrc, write_hrc

SHARED = Path(os.environ.get("CELLWARD_SHARED", Path(__file__).parents[2].parent / "shared"))
FOLDER = SHARED / "data" / "tauargus"
FILES = sorted(FOLDER.rglob("*.hrc"))
BROKEN = {"NUTS.hrc"}  # repeats a code; see below


def test_there_are_files():
    assert len(FILES) >= 10


@pytest.mark.parametrize("file", [f for f in FILES if f.name not in BROKEN], ids=lambda f: str(f.relative_to(FOLDER)))
def test_read_written_and_read_again(file, tmp_path):
    hierarchy = read_hrc(file)
    codes = [line.strip("\r@") for line in file.read_text().split("\n") if line.strip("\r@ ")]
    assert [*hierarchy.codes[1:]] == [code.rstrip() for code in codes]
    write_hrc(hierarchy, tmp_path / file.name)
    assert read_hrc(tmp_path / file.name) == hierarchy


def test_region2_by_hand():
    nr, os_, ws, zd = [" 1", " 2", " 3"], [" 4", " 5", " 6", " 7"], [" 8", " 9", "10"], ["11", "12"]
    sums = (("Nr", nr), ("Os", os_), ("Ws", ws), ("Zd", zd))
    expected = (("Total", ("Nr", "Os", "Ws", "Zd")), *((parent, tuple(children)) for parent, children in sums))
    assert read_hrc(FOLDER / "region2.hrc").sums == expected


def test_nuts_repeats_a_code_and_says_where():
    """Line 150 should read 10: the region of its municipalities in example_enterprise.csv, and one NUTS.hrc lacks."""
    with pytest.raises(InputError, match=r"NUTS\.hrc, line 204: '11' is on line 150 already"):
        read_hrc(FOLDER / "NUTS.hrc")
    lines = (FOLDER / "NUTS.hrc").read_text().splitlines()
    assert lines[149] == "@11"
    mended = parse_hrc([*lines[:149], "@10", *lines[150:]])
    assert mended.depth == 3
    assert len(mended.codes) == 1 + len(lines)
