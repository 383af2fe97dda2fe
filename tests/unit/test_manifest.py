"""The manifest of an output folder, and a folder held against its own files, a table, or the job that made it."""

import csv
import gzip
import hashlib
import io
import json
import random
import shutil

import pytest
from fixed_keys import key_of
from typer.testing import CliRunner

import cellward as cw
from cellward.cli.app import build
from cellward.errors import InputError
from cellward.job import Job
from cellward.manifest import key_mark, read_manifest
from cellward.recheck import recheck
from cellward.risk.policy import Policy

KEY = key_of("manifest")
JOB = """[input]
file = "records.csv"
[roles]
dims = ["region", "kind"]
measure = "x"
contributor = "firm"
[hierarchies]
region = "region.csv"
[risk]
policy = "policy.toml"
waivers = "waivers.txt"
[attackers]
respondents = 1
file = "attackers.csv"
[method]
name = "round"
base = 50
max_steps = 3
[output]
folder = "out"
key_file = "key.txt"
"""


def call(*arguments):
    return CliRunner().invoke(build(), [str(one) for one in arguments])


def refused(*arguments):
    """Whether a command is bad input, which the program ends with 2."""
    said = call(*arguments)
    return isinstance(said.exception, InputError) or said.exit_code == 2


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A job with every kind of input, done once."""
    folder = tmp_path_factory.mktemp("job")
    pick = random.Random(3)
    rows = [
        f"f{k},{pick.choice(('N1', 'N2', 'S1', 'S2'))},{pick.choice('abc')},{pick.randint(1, 300)}" for k in range(60)
    ]
    (folder / "records.csv").write_text("\n".join(["firm,region,kind,x", *rows]) + "\n")
    (folder / "region.csv").write_text("child,parent\nN1,N\nN2,N\nS1,S\nS2,S\nN,Total\nS,Total\n")
    Policy("agreed", (cw.PPercent(10), cw.Threshold(3))).lock().write(folder / "policy.toml")
    (folder / "waivers.txt").write_text("f1\n")
    (folder / "attackers.csv").write_text("attacker,region,kind,lower,upper\nSmith,N,a,1,\n")
    (folder / "key.txt").write_text(KEY.hex() + "\n")
    (folder / "key.txt").chmod(0o600)
    (folder / "job.toml").write_text(JOB)
    done = call("run", folder / "job.toml")
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def job(made, tmp_path):
    """A copy of it, to be changed."""
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


def held_against(job, words):
    said = call("verify", "--job", job / "job.toml", job / "out")
    assert said.exit_code == 1, said.output
    assert "DOES NOT HOLD" in said.output
    assert words in " ".join(said.output.split()), said.output


def repacked(path, change):
    """A certificate with something else in it."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    change(content)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    path.write_bytes(gzip.compress(text, mtime=0))
    return content


def test_the_manifest_names_every_input_and_output_and_not_the_key(job):
    held = read_manifest(job / "out")
    named = {role: entry["file"] for role, entry in held["inputs"].items()}
    assert named == {
        "job": "job.toml", "input": "records.csv", "policy": "policy.toml", "waivers": "waivers.txt", "attackers": "attackers.csv",
        "hierarchy 1 of region": "region.csv",
    }  # fmt: skip
    assert held["outputs"].keys() | {"manifest.json"} == {path.name for path in (job / "out").iterdir()}
    assert held["key"] == key_mark(KEY)
    assert KEY.hex() not in (job / "out" / "manifest.json").read_text()
    assert (job / "out" / "manifest.json").stat().st_mode & 0o077 == 0


def test_a_folder_holds_as_it_was_written_and_against_its_job(job):
    said = call("verify", job / "out")
    assert said.exit_code == 0, said.output
    assert said.output.count(": holds: ") == 4
    for arguments in ((), (job / "out",)):
        said = call("verify", "--job", job / "job.toml", *arguments)
        assert said.exit_code == 0, said.output
        assert "out: holds: " in said.output


@pytest.mark.parametrize("name", ["release.csv", "protection.json", "findings.csv", "release.json"])
def test_a_file_that_was_changed_or_is_gone_is_found(job, name):
    path = job / "out" / name
    data = path.read_bytes()
    for change, words in (
        (lambda: path.write_bytes(data + b"\n"), f"{name} is not the file that the manifest names"),
        (path.unlink, f"the manifest names {name}, which is not there"),
    ):
        change()
        said = call("verify", job / "out")
        assert said.exit_code in (1, 2)
        assert words in " ".join(said.output.split())
        held_against(job, words)


def test_a_certificate_of_sums_from_elsewhere_is_found(job):
    shutil.copy(job / "out" / "certificate.json.gz", job / "out" / "sums.certificate.json.gz")
    assert "sums.certificate.json.gz is not in the manifest" in " ".join(call("verify", job / "out").output.split())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("records.csv", "firm,region,kind,x\nf1,N1,a,3\n"),
        ("region.csv", "child,parent\nN1,N\nN2,N\nS1,S\nS2,S\nN,Total\nS,Total\n\n"),
        ("waivers.txt", "f2\n"),
        ("attackers.csv", "attacker,region,kind,lower,upper\nSmith,N,a,2,\n"),
        ("job.toml", JOB + "\n"),
    ],
)
def test_an_input_that_was_changed_is_found_before_it_is_read(job, name, text):
    (job / name).write_text(text)
    held_against(job, f"({name}) is not the one that the release was made of")


def test_an_adjustment_is_held_against_its_job_though_nothing_is_claimed_of_insiders(job):
    method = 'name = "adjust"\n[output]\nfolder = "adjusted"'
    text = JOB.replace('name = "round"\nbase = 50\nmax_steps = 3\n[output]\nfolder = "out"', method)
    (job / "job.toml").write_text(text)
    assert call("run", job / "job.toml").exit_code == 0
    said = call("verify", "--job", job / "job.toml")
    assert (said.exit_code, "adjusted: holds" in said.output) == (0, True), said.output


def test_another_key_is_found(job):
    (job / "key.txt").write_text(bytes(reversed(KEY)).hex() + "\n")
    held_against(job, "the key is not the one that the release was made with")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("base = 50", "base = 25", "the method of the release is not that of the job"),
        ("base = 50", 'base = 50\nknowledge = "paper"', "the method of the release is not that of the job"),
        ('name = "round"', 'name = "perturb"', "the method of the release is not that of the job"),
        ("base = 50", "base = 50\nignore_levels = true", "whether levels are ignored is not as the job says"),
        ("base = 50", 'base = 50\nweights = "relative"', "its weight differs"),
        ("respondents = 1", "respondents = 3", "its attackers differs"),
        ('waivers = "waivers.txt"', 'waivers = ["f1", "f2", "f3"]', "do not name the same inputs: waivers"),
        (
            "[attackers]",
            '[[manual]]\ncells = [["N1", "a"]]\nreason = "asked"\nstatus = "unsafe"\nunits = 7\n[attackers]',
            "its levels differs",
        ),
        ('dims = ["region", "kind"]', 'dims = ["kind", "region"]', "its labels differs"),
    ],
)
def test_another_job_is_found_even_if_the_manifest_is_made_to_fit(job, old, new, words):
    text = JOB.replace(old, new).replace("max_steps = 3\n", "" if "perturb" in new else "max_steps = 3\n")
    (job / "job.toml").write_text(text)
    path = job / "out" / "manifest.json"
    held = json.loads(path.read_text())
    held["inputs"]["job"]["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(held))
    held_against(job, words)


def test_a_certificate_that_was_repaired_with_its_digests_is_found_by_the_job(job):
    """Levels of 0 and one attacker less, everything that hashes made anew: the certificate alone holds, against the job it does not."""
    path = job / "out" / "certificate.json.gz"

    def weaker(content):
        content["levels"] = {"cell": [], "lpl": [], "upl": [], "spl": []}
        content["attackers"], content["witnesses"] = content["attackers"][:1], []
        content["protection"] = "none asked"

    repacked(path, weaker)
    digest = cw.verify(path).digest
    assert digest
    public = json.loads((job / "out" / "release.json").read_text()) | {"certificate": digest}
    (job / "out" / "release.json").write_text(json.dumps(public))
    held = json.loads((job / "out" / "manifest.json").read_text())
    for name in held["outputs"]:
        held["outputs"][name] = hashlib.sha256((job / "out" / name).read_bytes()).hexdigest()
    (job / "out" / "manifest.json").write_text(json.dumps(held))
    assert call("verify", job / "out").exit_code == 0
    held_against(job, "its levels differs")


def test_the_release_of_another_folder_is_found(job):
    rows = list(csv.reader(io.StringIO((job / "out" / "release.csv").read_text())))
    rows[1][-1] = str(int(rows[1][-1]) + 50)
    (job / "out" / "release.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    held_against(job, "release.csv is not the file that the manifest names")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "cellward manifest"}'])
def test_what_is_no_manifest_is_bad_input(job, text):
    (job / "out" / "manifest.json").write_text(text)
    for arguments in ((job / "out",), ("--job", job / "job.toml")):
        assert refused("verify", *arguments)
    (job / "out" / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"there is no manifest\.json in it"):
        recheck(Job.read(job / "job.toml"), job / "out")


def test_a_manifest_of_another_version_is_refused(job):
    path = job / "out" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 2}))
    with pytest.raises(InputError, match="a manifest of version 2, and this is version 1; make the release again"):
        read_manifest(job / "out")


def test_a_job_is_asked_of_one_folder_and_no_table(job, tmp_path):
    for wrong in (
        [job / "out", job / "out"],
        [job / "none"],
        [job / "out", "--table", job / "records.csv"],
        ["--weights", "equal"],
    ):
        assert refused("verify", "--job", job / "job.toml", *wrong)
    (job / "job.toml").write_text(JOB.split("[method]")[0])
    assert refused("verify", "--job", job / "job.toml", job / "out")
    assert refused("verify", job / "out", job / "out")
    assert refused("verify", job / "out" / "certificate.json.gz", "--weights", "equal")
    assert refused("verify")


# ---- a table ---------------------------------------------------------------------------------------------------------------------------------

TABLE = "region,kind,n,level\nN,a,3,2\nN,b,12,0\nS,a,14,0\nS,b,9,0\nE,a,7,0\nE,b,21,0\n"
READING = ["--dims", "region,kind", "--value", "n", "--upl", "level", "--lpl", "level"]


@pytest.fixture
def rounded(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    done = call("round", tmp_path / "t.csv", *READING, "--base", "5", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    return tmp_path


def test_the_table_is_compared_whatever_the_certificate_is_called(rounded):
    """It was skipped where the file did not end in .gz."""
    for name in ("certificate.json.gz", "certificate", "certificate.bin"):
        path = rounded / name
        shutil.copy(rounded / "out" / "certificate.json.gz", path)
        assert call("verify", path, "--table", rounded / "t.csv", *READING).exit_code == 0
        (rounded / "other.csv").write_text(TABLE.replace("E,b,21,0", "E,b,22,0"))
        said = call("verify", path, "--table", rounded / "other.csv", *READING)
        assert said.exit_code == 1, said.output
        assert "is of another table" in said.output
    assert call("verify", rounded / "out", "--table", rounded / "t.csv", *READING).exit_code == 0
    assert call("verify", rounded / "out", "--table", rounded / "other.csv", *READING).exit_code == 1
    assert call("verify", rounded / "out" / "release.csv", "--table", rounded / "t.csv", *READING).exit_code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TABLE.replace("N,a,3,2", "N,a,3,3"), "its levels differs"),
        (TABLE.replace("N,a,3,2", "N,a,3,0"), "its levels differs"),
        (TABLE.replace("N,b", "N,c").replace("S,b", "S,c").replace("E,b", "E,c"), "its labels differs"),
    ],
)
def test_levels_and_labels_are_those_of_the_table(rounded, text, words):
    (rounded / "other.csv").write_text(text)
    said = call("verify", rounded / "out", "--table", rounded / "other.csv", *READING)
    assert said.exit_code == 1
    assert words in said.output


def test_bounds_weights_and_attackers_are_those_of_the_table(rounded):
    def code(*more):
        return call("verify", rounded / "out", "--table", rounded / "t.csv", *READING, *more).exit_code

    (rounded / "a.csv").write_text("attacker,region,kind,lower,upper\nSmith,N,b,1,\n")
    assert code("--weights", "equal") == 0
    assert [
        code(*more) for more in (("--upper", "99"), ("--weights", "totals"), ("--attackers", rounded / "a.csv"))
    ] == [1, 1, 1]


def test_weights_are_named_or_given(tmp_path):
    table = cw.Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    some = [1] * 15 + [3]
    for weights, named in ((None, True), ("relative", True), ("totals", True), (some, False)):
        p = cw.ControlledRounding(5).protect(table, weights=weights, key=KEY)
        path = p.certificate().save(tmp_path / "certificate.json.gz")
        assert bool(cw.verify(path, table=table)) is named
        assert cw.verify(path, table=table, weights="equal" if weights is None else weights)
        assert not cw.verify(path, table=table, weights=[2] * 16)
    with pytest.raises(InputError, match="give the table too"):
        cw.verify("certificate.json.gz", weights="equal")


def test_what_is_published_with_more_decimals_is_of_the_same_table(tmp_path):
    """A perturbation that takes halves was refused: its decimals are not the table's."""
    table = cw.Table.from_array([[7, 9], [3, 4]], decimals=0)
    p = cw.CellPerturbation(within=2).protect(table, key=KEY)
    fine = cw.ControlledAdjustment(norm="l2", grid="0.1").protect(table, key=KEY)
    for one in (p, fine):
        path = one.certificate().save(tmp_path / "certificate.json.gz")
        assert cw.verify(path, table=table), cw.verify(path, table=table).reason


def test_attackers_who_know_the_cells_at_risk_are_never_the_only_ones(tmp_path):
    """The public stands beside them, so what they know says nothing of what must be kept from it."""
    table = cw.Table.from_equations([8, 19, 27], [[1, 1, -1]], sensitive=[0], lpl=[2], upl=[2])
    knows = cw.Attacker.knowing(table, "insider", exactly=[0])
    p = cw.ControlledRounding(5).protect(table, attackers=[knows], key=KEY)
    assert [one.name for one in p.instance.attackers] == ["external", "insider"]
    own = cw.Attacker.knowing(table, "other", lower={1: 1}, levels={0: (1, 1, 0)})
    with_own = cw.ControlledRounding(5).protect(table, attackers=[own])
    assert [one.name for one in with_own.instance.attackers] == ["external", "other"]
    some = cw.Attacker.knowing(table, "some", lower={1: 1})
    assert [one.name for one in cw.ControlledRounding(5).protect(table, attackers=[some]).instance.attackers] == [
        "some"
    ]


# ---- a policy that a job demands -------------------------------------------------------------------------------------------------------------


def test_a_job_can_demand_a_policy(job):
    digest = Policy.read(job / "policy.toml").digest
    said = call("policy", job / "policy.toml")
    assert f"agreed: locked, {digest}" in " ".join(said.output.split())
    demanding = JOB.replace('policy = "policy.toml"', 'policy = "policy.toml"\npolicy_sha256 = "{}"')
    for good in (digest, digest.removeprefix("sha256:"), digest.removeprefix("sha256:").upper()):
        (job / "job.toml").write_text(demanding.format(good))
        assert len(Job.read(job / "job.toml").rules) == 2
    Policy("agreed", (cw.PPercent(10), cw.Threshold(2))).lock().write(job / "policy.toml")
    (job / "records.csv").unlink()  # it is refused before records are read
    said = call("run", job / "job.toml")
    assert "policy_sha256: the policy agreed is another than the job demands" in str(said.exception)
    (job / "job.toml").write_text(JOB.replace('policy = "policy.toml"', f'policy_sha256 = "{digest}"'))
    with pytest.raises(InputError, match="name the policy too"):
        Job.read(job / "job.toml").rules  # noqa: B018


def test_a_job_can_demand_a_policy_that_needs_no_file(job):
    digest = Policy.default().digest
    text = JOB.replace('policy = "policy.toml"', f'policy = "default"\npolicy_sha256 = "{digest}"')
    (job / "job.toml").write_text(text)
    assert Job.read(job / "job.toml").rules == Policy.default().rules
    assert "policy" not in Job.read(job / "job.toml").inputs
