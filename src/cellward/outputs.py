"""The output folder of a protection: release.csv and release.json for the public, protection.json and the certificates for the house."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellward.audit.certificate import OF_SUMS
from cellward.errors import InputError
from cellward.files.whole import write_whole
from cellward.protection import Protection
from cellward.report.sections.deviations import Deviations

CERTIFICATE, DETAILS = "certificate.json.gz", "protection.json"
STATEMENT, VALUES = "release.json", "release.csv"
FILES = {
    CERTIFICATE: "confidential: the proof",
    OF_SUMS: "confidential: the proof for sums of cells",
    DETAILS: "confidential: the result in numbers",
    "findings.csv": "confidential: why cells are at risk",
    STATEMENT: "public",
    VALUES: "public",
}
"""What a folder holds, and for whose eyes; of linked tables also each by itself, see :func:`folder_files`."""
PART = re.compile(r"release-[1-9][0-9]*\.csv")


def folder_files(tables: int) -> dict[str, str]:
    """The files of a folder, and for whose eyes; ``tables``: how many were linked, 1 for none."""
    return FILES | {f"release-{k}.csv": "public: a linked table by itself" for k in range(1, tables + 1) if tables > 1}


def summary(protection: Protection, *, verified: bool) -> dict[str, Any]:
    """What came out, in the words of the command line's ``--json``."""
    loss = protection.loss() if protection.publication is not None else None
    return {
        "status": protection.status,
        "objective": protection.objective,
        "bound": protection.bound,
        "gap": protection.gap,
        "seconds": round(protection.seconds, 6),
        "cells": protection.instance.cells,
        "equations": protection.instance.relations.equations,
        "sensitive": len(protection.instance.sensitivity.unsafe),
        "sum_abs": loss.sum_abs if loss else None,
        "max_abs": loss.max_abs if loss else None,
        "protected": protection.protected,
        "verified": verified,
        **({"reason": protection.reason} if protection.reason else {}),
    }


def write_outputs(
    protection: Protection, folder: Path, facts: dict[str, Any], more: Mapping[str, bytes] | None = None
) -> list[Path]:
    """Write the folder: all files together when it is new, each one whole when it exists, the release last; ``more``: further confidential files."""
    release = protection.release()
    release.refuse_formulas()
    parts = release.tables() if release.labels.tables else ()
    every = folder_files(len(parts))
    details = {
        **facts,
        "method": dict(protection.method),
        "engine": protection.engine,
        "limit_reached": protection.run.limit_reached,
        "certified_bound": protection.certified_bound,
        "attackers": [attacker.name for attacker in protection.instance.attackers],
        "witnesses": 0 if protection.ignore_levels else len(protection.evidence.shown),
        "sums": 0 if protection.sums is None else len(protection.instance.sensitivity.sums),
        "key": protection.key.hex(),
        "deviations": Deviations.of(protection).to_dict(),
        **({} if protection.details is None else {"details": protection.details.to_dict()}),
    }
    text = json.dumps(details, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file, not a folder; choose another --out")
    fresh = not folder.exists()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        target = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.")) if fresh else folder
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); choose another --out") from error
    try:
        protection.certificate().save(target / CERTIFICATE)
        if (of_sums := protection.certificate_of_sums()) is not None:
            of_sums.save(target / OF_SUMS)
        elif not fresh:
            (target / OF_SUMS).unlink(missing_ok=True)  # of an earlier release
        for name, content in (more or {}).items():
            write_whole(target / name, content, confidential=True)
        write_whole(target / DETAILS, text.encode(), confidential=True)
        for k, part in enumerate(parts, start=1):
            part.save(target / f"release-{k}.csv")
        for old in target.iterdir():
            if PART.fullmatch(old.name) and old.name not in every:
                old.unlink()  # of an earlier release
        release.save_statement(target / STATEMENT)
        release.save(target / VALUES)
        if fresh:
            mask = os.umask(0)
            os.umask(mask)
            target.chmod(0o777 & ~mask)
            os.rename(target, folder)  # noqa: PTH104
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another --out") from error
    finally:
        if fresh and target.exists():
            shutil.rmtree(target)
    absent = {"findings.csv", OF_SUMS} - {*(more or {}), *([] if protection.sums is None else [OF_SUMS])}
    return [folder / name for name in every if name not in absent]
