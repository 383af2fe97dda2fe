"""The .hrc format: its grammar, its line ends, and one sentence for each way a file can be bad."""

from __future__ import annotations

import os
import random
import stat

import pytest

from cellward.errors import InputError
from cellward.formats.hrc import parse_hrc, read_hrc, write_hrc
from cellward.hierarchy import Hierarchy


def reading(tmp_path, data: bytes, **options):
    file = tmp_path / "region.hrc"
    file.write_bytes(data)
    return read_hrc(file, **options)


@pytest.mark.parametrize(
    "data",
    [
        b"A\n@1\n@2\nB\n",
        b"A\n@1\n@2\nB",
        b"A\r\n@1\r\n@2\r\nB\r\n",
        b"A\r\r\n@1\r\r\n@2\r\r\nB\r\r\n",
        b"A\r@1\r@2\rB\r",
        b"\xef\xbb\xbfA\n@1\n@2\nB\n",
        b"A  \n@1\t\n@2 \r\nB",
        b"A\n\n@1\n  \n@2\nB\n\n\n",
    ],
)
def test_line_ends_marks_and_padding(tmp_path, data):
    assert reading(tmp_path, data).sums == (("Total", ("A", "B")), ("A", ("1", "2")))


def test_blanks_before_a_code_belong_to_it(tmp_path):
    assert reading(tmp_path, b"Nr\n@ 1\n@10\n  male\n").codes == ("Total", "Nr", " 1", "10", "  male")


def test_lead_strings_of_several_characters(tmp_path):
    assert reading(tmp_path, b"A\n+-B\n+-+-C\n+-+D\n", lead="+-").sums == (
        ("Total", ("A",)),
        ("A", ("B", "+D")),
        ("B", ("C",)),
    )
    assert reading(tmp_path, b"A\n\tB\n\t\tC\n", lead="\t").depth == 3


def test_encodings(tmp_path):
    assert reading(tmp_path, "Škofja Loka\n".encode()).leaves == ("Škofja Loka",)
    assert reading(tmp_path, "Île\n".encode("latin-1")).leaves == ("Île",)


def test_the_total_is_named_by_the_caller(tmp_path):
    assert reading(tmp_path, b"Total\nB\n", total="All").codes == ("All", "Total", "B")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "region.hrc: no codes in it"),
        (b"\r\n \n\n", "region.hrc: no codes in it"),
        (b"\xef\xbb\xbf", "region.hrc: no codes in it"),
        (b"@A\n", "line 1: 'A' has 1 lead strings '@' and no line is above it"),
        (b"A\n@@B\n", "line 2: 'B' has 2 lead strings '@' and the line above has 0; insert its parent"),
        (b"A\n@B\n\n@@@C\n", "line 4: 'C' has 3 lead strings '@' and the line above has 1"),
        (b"A\n@B\nA\n", "line 3: 'A' is on line 1 already"),
        (b"A\n@A\n", "line 2: 'A' is on line 1 already"),
        (b"A\r\r\n@B\r\r\n@B\r\r\n", "line 3: 'B' is on line 2 already"),
        (b"A\n@\n", "line 2: only lead strings '@' and no code"),
        (b"A\n@@ \n", "line 2: only lead strings '@' and no code"),
        (b"A\n@Total\n", "line 2: 'Total' is the total's name"),
        (b"A\n@B\x00\n", "line 2: holds the control character 0x00"),
        ("A\n@B\n".encode("utf-16"), "line 1: holds the control character 0x00"),
        (b"A\n@B\x1a", "line 2: holds the control character 0x1a"),
        (b"@" * 1_000_000, "line 1: only lead strings"),
        (b"x" * 1_000_000 + b"\n" + b"x" * 1_000_000, "line 2: 'xxx"),
        (b"\r" * 3_000_000, "no codes in it"),
    ],
)
def test_bad_files_in_one_sentence(tmp_path, data, sentence):
    with pytest.raises(InputError) as caught:
        reading(tmp_path, data)
    message = str(caught.value)
    assert sentence in message
    assert str(tmp_path / "region.hrc") in message
    assert "\n" not in message
    assert len(message) < 400 + len(str(tmp_path))


def test_unreadable_paths(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_hrc(tmp_path / "none.hrc")
    with pytest.raises(InputError, match="a folder or device"):
        read_hrc(tmp_path)
    with pytest.raises(InputError, match=r"cannot be read|no such file"):
        read_hrc("a\0b")
    with pytest.raises(InputError, match="cannot be read"):
        read_hrc("x" * 5_000)
    with pytest.raises(InputError, match="given as int"):
        read_hrc(3)  # type: ignore[arg-type]
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="a folder or device"):
        read_hrc(tmp_path / "pipe")


def test_absurdly_large_files(tmp_path):
    file = tmp_path / "large.hrc"
    with file.open("wb") as handle:
        handle.truncate((1 << 26) + 1)
    with pytest.raises(InputError, match="larger than 64 MiB"):
        read_hrc(file)


def test_garbage_gives_an_input_error_or_a_hierarchy(tmp_path):
    dice = random.Random(5)
    for alphabet in (bytes(range(256)), b"@A1\r\n \t", b"@@@abc\n\n"):
        for _ in range(300):
            data = bytes(dice.choices(alphabet, k=dice.randrange(60)))
            try:
                made = reading(tmp_path, data)
            except InputError as error:
                assert "\n" not in str(error)
            else:
                assert made.total == "Total"


@pytest.mark.parametrize("lead", ["", "\n", "@\r", "\0", None])
def test_bad_lead_strings(lead):
    with pytest.raises(InputError, match="lead string"):
        parse_hrc(["A"], lead=lead)


def test_bad_totals_and_lines():
    with pytest.raises(InputError, match="the total's name '' is not a code"):
        parse_hrc(["A"], total="")
    with pytest.raises(InputError, match="line 1: int where text belongs"):
        parse_hrc([3])  # type: ignore[list-item]
    with pytest.raises(InputError, match="control character 0x0a"):
        parse_hrc(["A\nB"])


TREE = Hierarchy.from_dict({"Total": {"A": {" 1": None, "Île": ["x", "y"]}, "B": ["3"], "C": {}}})


@pytest.mark.parametrize("lead", ["@", "--", "\t", "AB"])
def test_written_and_read_again(tmp_path, lead):
    file = tmp_path / "out.hrc"
    write_hrc(TREE, file, lead=lead)
    assert read_hrc(file, lead=lead) == TREE
    assert [f.name for f in tmp_path.iterdir()] == ["out.hrc"]


def test_written_text(tmp_path):
    file = tmp_path / "out.hrc"
    write_hrc(TREE, str(file))
    assert file.read_bytes().decode() == "A\n@ 1\n@Île\n@@x\n@@y\nB\n@3\nC\n"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize(
    ("hierarchy", "sentence"),
    [
        (Hierarchy.flat(["m", "f"]) | Hierarchy.flat(["y", "a"]), "'Total' has several sums"),
        (
            Hierarchy((("T", ("a",)), ("a", ("x", "y")), ("a", ("b", "c")), ("b", ("x",)), ("c", ("y",)))),
            "'a' has several sums",
        ),
        (Hierarchy.flat(["a", "b"]) | Hierarchy.flat(["b"], total="East"), "no one total"),
        (Hierarchy.flat(["@a"]), "'@a' cannot stand in an .hrc file"),
        (Hierarchy.flat(["a "]), "'a ' cannot stand in an .hrc file"),
        (Hierarchy.flat(["a\nb"]), "cannot stand in an .hrc file"),
        (Hierarchy.flat(["a\rb"]), "cannot stand in an .hrc file"),
        (Hierarchy.flat(["\ufeffa"]), "byte order mark"),
        (Hierarchy.flat(["\ud800"]), "not a character that UTF-8 holds"),
        (Hierarchy(tuple((str(i), (str(i + 1),)) for i in range(20_000))), "would be larger than 64 MiB"),
    ],
)
def test_what_the_format_cannot_hold(tmp_path, hierarchy, sentence):
    file = tmp_path / "out.hrc"
    file.write_text("old")
    with pytest.raises(InputError) as caught:
        write_hrc(hierarchy, file)
    assert sentence in str(caught.value)
    assert file.read_text() == "old"
    assert [f.name for f in tmp_path.iterdir()] == ["out.hrc"]


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="cannot be written"):
        write_hrc(TREE, tmp_path / "none" / "out.hrc")
    with pytest.raises(InputError, match="cannot be written"):
        write_hrc(TREE, "")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_hrc(TREE, tmp_path / "folder")

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_hrc(TREE, tmp_path / "out.hrc")
    assert [f.name for f in tmp_path.iterdir()] == ["folder"]
