"""A method is a folder and one line: tests/trial/publish_zeros.py gets its command, its job section, its release and its audit."""

import json

import pytest
from publish_zeros import PublishZeros
from typer.testing import CliRunner

import cellward as cw
from cellward.cli.app import build
from cellward.job import Job
from cellward.protect import methods

TABLE = "region,n\nN,3\nS,4\nTotal,7\n"
READING = ["--dims", "region", "--value", "n"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(methods, "METHODS", methods.METHODS)
    methods.METHODS.append(PublishZeros)  # the one line
    (tmp_path / "t.csv").write_text(TABLE)
    yield tmp_path / "t.csv"
    methods.METHODS.remove(PublishZeros)


def call(*arguments):
    return CliRunner().invoke(build(), [str(one) for one in arguments])


def test_it_has_a_command_with_its_options_and_an_audit(table, tmp_path):
    said = call("zeros", table, *READING, "--mood", "bold", "--out", tmp_path / "out", "--json")
    assert said.exit_code == 0, said.output
    assert json.loads(said.stdout)["status"] == "optimal"
    assert (tmp_path / "out" / "release.csv").read_text().splitlines() == ["region,value", "N,0", "S,0", "Total,0"]
    assert json.loads((tmp_path / "out" / "release.json").read_text())["method"]["mood"] == "bold"
    assert cw.verify(tmp_path / "out" / "certificate.json.gz")
    audited = call("audit", table, *READING, "--release", tmp_path / "out")
    assert audited.exit_code == 0, audited.output
    assert "What the release says of itself" in " ".join(call("zeros", "--help").output.replace("│", " ").split())


def test_it_has_a_section_in_jobs(table, tmp_path):
    text = '[input]\nfile = "t.csv"\nkind = "table"\n[roles]\ndims = ["region"]\nvalue = "n"\n[output]\nfolder = "out"\n[method]\nname = "zeros"\n'
    (tmp_path / "job.toml").write_text(f'{text}mood = "bold"\n')
    job = Job.read(tmp_path / "job.toml")
    made = job.table()
    result = job.protect(made)
    assert result.method["mood"] == "bold"
    assert [path.name for path in job.write(made, result)]
    (tmp_path / "job.toml").write_text(f'{text}mood = "sad"\n')
    with pytest.raises(cw.InputError, match="mood='sad' is not known; use 'calm' or 'bold'"):
        Job.read(tmp_path / "job.toml")
