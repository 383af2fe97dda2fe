"""cellward verify: check certificates exactly, independently of what wrote them; with a table or a job, that they are of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cellward.audit.certificate import OF_SUMS, expected_of
from cellward.audit.verify import main as check
from cellward.cli.exits import BAD_INPUT, DONE, INFEASIBLE
from cellward.cli.options import ALLOW_OUTSIDE, ATTACKERS
from cellward.cli.reading import read_table, reads_a_table
from cellward.errors import InputError
from cellward.formats.attackers import read_attackers
from cellward.job import Job
from cellward.manifest import MANIFEST, differing_output, read_manifest
from cellward.outputs import CERTIFICATE, FILES, STATEMENT, VALUES
from cellward.protect.option import text_by_level
from cellward.recheck import recheck


@reads_a_table
def verify(
    certificates: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CERTIFICATE...",
            help="An output folder; or certificate.json.gz files; or one of them with its release.csv and release.json.",
        ),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="The table that should have been certified, read as for the protection.")
    ] = None,
    attackers: Annotated[Path | None, ATTACKERS] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help="With --table, the weights of the protection; default: any that have a name (table, totals, …)."
        ),
    ] = None,
    job: Annotated[
        Path | None,
        typer.Option(help="The job of an output folder (the job's own unless named): all is built anew and compared."),
    ] = None,
    allow_outside: Annotated[bool, ALLOW_OUTSIDE] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Check certificates exactly, independently of what wrote them; with a table or a job, also that they are of it."""
    paths = certificates or []
    if job is None and not paths:
        raise InputError("there is nothing to verify; give an output folder, or certificates with their release")
    if job is not None:
        if table is not None or attackers is not None or weights is not None:
            raise InputError("--job: a job says itself of which table it is; leave out --table, --attackers, --weights")
        raise typer.Exit(_against_job(job, paths, outside=allow_outside))
    if table is None and (attackers is not None or weights is not None):
        raise InputError("--attackers and --weights are those of a table; give --table too")
    expected = None
    if table is not None:
        original = read_table(table, reading)
        expected = expected_of(
            original,
            weights=None if weights is None else text_by_level(weights, "--weights"),
            attackers=None if attackers is None else read_attackers(attackers, original),
        )
    if [path for path in paths if path.is_dir()]:
        raise typer.Exit(_folder(paths, expected))
    raise typer.Exit(_files(paths, expected))


def _against_job(file: Path, paths: list[Path], *, outside: bool) -> int:
    """One folder against a job; the sentence says what holds or what differs."""
    job = Job.read(file, outside=outside)
    if len(paths) > 1 or (not paths and job.method is None):
        raise InputError("--job: give the one folder that the job made")
    folder = paths[0] if paths else job.folder
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; give the folder that the job made")
    verdict = recheck(job, folder)
    typer.echo(f"{folder}: {'holds' if verdict else 'DOES NOT HOLD'}: {verdict.reason}")
    return DONE if verdict else INFEASIBLE


def _folder(paths: list[Path], expected: dict[str, Any] | None) -> int:
    """An output folder: certificates, public files and manifest together."""
    if len(paths) > 1:
        raise InputError(f"{paths[0]}: give one folder, or files")
    folder = paths[0]
    held = read_manifest(folder)
    code = _files([folder / name for name in (CERTIFICATE, VALUES, STATEMENT)], expected)
    wrong = differing_output(folder, held, FILES)
    words = f"DOES NOT HOLD: {wrong}" if wrong else f"holds: {len(held['outputs'])} outputs are as it says"
    typer.echo(f"{folder / MANIFEST}: {words}")
    return max(code, INFEASIBLE if wrong else DONE)


def _files(paths: list[Path], expected: dict[str, Any] | None) -> int:
    """Certificates, or one with its public files; each certificate against what is expected of it, whatever it is called."""
    names = [str(path) for path in paths]
    alone = [name for name in names if not name.lower().endswith((".csv", ".json"))]
    if expected is None or len(alone) < 2:
        return check(names, _meant(alone[0], expected) if alone else expected)
    if len(alone) < len(names):
        return check(names)  # which says how it is used
    return max((check([name], _meant(name, expected)) for name in names), default=BAD_INPUT)


def _meant(name: str, expected: dict[str, Any] | None) -> dict[str, Any] | None:
    """What is expected of a certificate, or of that of the sums."""
    if expected is None or not name.endswith(OF_SUMS):
        return expected
    if expected["sums"] is None:
        raise InputError(f"{name}: the table has no sums of cells at risk; give the certificate of its cells")
    found: dict[str, Any] = expected["sums"]
    return found
