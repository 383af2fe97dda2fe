"""Keys: weak and published ones refused everywhere, files that others can read too, and a folder's release keeps its key."""

import json
import re
import stat
from pathlib import Path

import pytest
from fixed_keys import key_file, key_of

import cellward as cw
from cellward.errors import InputError
from cellward.key import PUBLISHED, checked_key, read_key, write_new_key

ROOT = Path(__file__).resolve().parents[2]
WEAK = {
    "zeros": bytes(32),
    "one byte": b"\x5a" * 32,
    "counting": bytes(range(32)),
    "counting down by threes": bytes((200 - 3 * k) % 256 for k in range(32)),
    "few bytes": bytes.fromhex("5eed" * 16),
    "half of it twice": key_of("half")[:16] * 2,
    "text": b"a long sentence that is no secret"[:32],
    "digits": key_of("text").hex()[:32].encode(),
    **{f"published {k}": key for k, key in enumerate(sorted(PUBLISHED))},
}
TABLE = cw.Table.from_array([[20, 50, 10], [8, 19, 22]])
LONG = "region,sector,n\nN,A,20\nN,B,52\nS,A,8\nS,B,19\n"


@pytest.fixture
def round_to(run, tmp_path):
    def call(*options, out="out"):
        (tmp_path / "t.csv").write_text(LONG)
        return run(
            "round", tmp_path / "t.csv", "--dims", "region,sector", "--value", "n", "--out", tmp_path / out, *options
        )

    return call


@pytest.mark.parametrize("key", WEAK.values(), ids=WEAK)
def test_weak_and_published_keys_are_refused_in_python_in_files_and_on_the_command_line(key, tmp_path, run):
    with pytest.raises(InputError, match=r"^key: .*anybody could guess it; make one with cellward key new FILE"):
        cw.ControlledRounding(5).protect(TABLE, key=key)
    file = tmp_path / "key"
    file.write_text(key.hex())
    file.chmod(0o600)
    with pytest.raises(InputError, match=r"key: key: .*anybody could guess it"):
        read_key(file)


def test_random_keys_and_digests_of_labels_are_not():
    for k in range(2000):
        assert checked_key(key_of(k)) == key_of(k)
        checked_key(checked_key())


def test_every_key_that_stands_in_the_repository_is_refused():
    folders = [ROOT / name for name in ("docs", "examples", "tests", "benchmarks", "scripts", "src")]
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in (".md", ".py", ".toml", ".txt")]
    for file in [*files, ROOT / "README.md", ROOT / "CHANGELOG.md"]:
        for digits in re.findall(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", file.read_text(errors="replace")):
            with pytest.raises(InputError):
                checked_key(bytes.fromhex(digits))


def test_a_new_key_is_random_private_and_never_written_over(tmp_path, run):
    said = run("key", "new", tmp_path / "a")
    assert (said.code, said.err) == (0, "")
    one, two = read_key(tmp_path / "a"), read_key(write_new_key(tmp_path / "b"))
    assert one != two
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert one.hex() not in said.out
    again = run("key", "new", tmp_path / "a")
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "exists already" in again.err
    assert read_key(tmp_path / "a") == one
    assert run("key", "new", tmp_path / "none" / "a").code == 2


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_key_that_others_can_reach_is_refused_with_the_remedy(mode, tmp_path, round_to):
    file = key_file(tmp_path / "key")
    file.chmod(mode)
    said = round_to("--key-file", file)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert f"run chmod 600 {file}" in said.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["", "5a", "zz" * 32, key_of(0).hex() * 2])
def test_a_file_that_holds_no_key(text, tmp_path, round_to):
    file = key_file(tmp_path / "key")
    file.write_text(text)
    said = round_to("--key-file", file)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "a key is 64 hexadecimal digits and nothing else" in said.err


def test_a_folder_keeps_its_key(tmp_path, round_to):
    assert round_to().code == 0
    out = tmp_path / "out"
    first, key = (out / "certificate.json.gz").read_bytes(), json.loads((out / "protection.json").read_text())["key"]
    again = round_to()
    assert again.code == 0
    assert "note: the key of the release that stood in the folder was used again" in again.out
    assert (out / "certificate.json.gz").read_bytes() == first
    other = round_to("--key-file", key_file(tmp_path / "key"))
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "holds a release made with another key" in other.err
    assert "choose another folder" in other.err
    assert (out / "certificate.json.gz").read_bytes() == first
    (tmp_path / "own").write_text(key)
    (tmp_path / "own").chmod(0o600)
    assert round_to("--key-file", tmp_path / "own").code == 0
    assert round_to("--key-file", key_file(tmp_path / "key"), out="elsewhere").code == 0


@pytest.mark.parametrize("text", ["", "[]", '{"key": 3}', '{"key": "zz"}', "{}"])
def test_a_folder_whose_key_cannot_be_read_is_left_alone(text, tmp_path, round_to):
    assert round_to().code == 0
    (tmp_path / "out" / "protection.json").write_text(text)
    said = round_to()
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "choose another folder" in said.err
