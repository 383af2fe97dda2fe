"""The output folder of a protection: release.csv and release.json for the public, protection.json and the certificates for the house."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellward.audit.certificate import OF_SUMS
from cellward.errors import InputError
from cellward.files.folder import replacing
from cellward.files.whole import write_whole
from cellward.formats.exports import EXPORTS, Export, exports_called
from cellward.manifest import MANIFEST, manifest_text
from cellward.protection import Protection
from cellward.publication.release import Release
from cellward.report.sections.deviations import Deviations
from cellward.report.sections.made_additive import made_additive_csv
from cellward.report.sections.outcome import notes
from cellward.report.sections.ranges import ranges_csv
from cellward.report.sections.statuses import statuses_csv
from cellward.report.written import PLAIN, PUBLIC_REPORT, REPORT, folder_reports
from cellward.solve.alarm import WRITING
from cellward.solve.budget import Budget
from cellward.table.table import Table

CERTIFICATE, DETAILS = "certificate.json.gz", "protection.json"
STATEMENT, VALUES = "release.json", "release.csv"
FILES = {
    CERTIFICATE: "confidential: the proof",
    OF_SUMS: "confidential: the proof for sums of cells",
    DETAILS: "confidential: the result in numbers",
    "findings.csv": "confidential: why cells are at risk",
    "made_additive.csv": "confidential: what was moved so that the table adds up",
    "statuses.csv": "confidential: what each cell is withheld for",
    REPORT: "confidential: everything for those who sign",
    MANIFEST: "confidential: hashes of inputs and outputs",
    STATEMENT: "public",
    VALUES: "public",
    PUBLIC_REPORT: "public: how to read the table",
    "ranges.csv": "public: what anybody can work out",
    **{f"release{export.suffix}": "public" for export in EXPORTS},
}
"""What a folder holds, and for whose eyes; of linked tables also each by itself, see :func:`folder_files`."""
_ENDS = (".csv", *(export.suffix for export in EXPORTS))
PART = re.compile(rf"release-[1-9][0-9]*({'|'.join(map(re.escape, _ENDS))})")


@dataclass(frozen=True)
class Formats:
    """The formats in which a release is written beside its CSV, and the user's words in them."""

    exports: tuple[Export, ...] = ()
    title: str = ""
    footnotes: tuple[str, ...] = ()

    @staticmethod
    def of(names: Sequence[str], title: str, footnotes: Sequence[str], where: str) -> Formats:
        """By the names of the formats; words need a format that has a place for them."""
        exports = exports_called(names, where)
        if (title or footnotes) and not exports:
            raise InputError(
                f"{where}: release.csv has no place for a title and footnotes; name another format beside it"
            )
        return Formats(exports, title, tuple(footnotes))

    def save(self, release: Release, folder: Path, stem: str) -> None:
        """Write a release in each."""
        for export in self.exports:
            release.save(folder / f"{stem}{export.suffix}", title=self.title, footnotes=self.footnotes)


def folder_files(tables: int) -> dict[str, str]:
    """The files of a folder, and for whose eyes; ``tables``: how many were linked, 1 for none."""
    numbers = range(1, tables + 1) if tables > 1 else ()
    return FILES | {f"release-{k}{end}": "public: a linked table by itself" for k in numbers for end in _ENDS}


def summary(protection: Protection, *, verified: bool, table: Table | None = None) -> dict[str, Any]:
    """What came out, in the words of the command line's ``--json``; of the ``table``, how it was made additive."""
    made = None if table is None else table.made_additive
    conflict = () if protection.failure is None else protection.failure.conflict
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
        "notes": notes(protection),
        **({} if made is None else {"made_additive": made.to_dict()}),
        **({"reason": protection.reason} if protection.reason else {}),
        **({} if not conflict else {"conflict": [{"cell": one.name, "what": one.what} for one in conflict]}),
    }


def further_files(table: Table, result: Protection, *, ranges: bool = False) -> dict[str, bytes]:
    """What else a folder holds: of a table that was made additive what moved, of a suppression the statuses, and where asked for the ranges that the
    public can work out."""
    statuses, made = statuses_csv(table, result), made_additive_csv(table)
    return {
        **({} if made is None else {"made_additive.csv": made}),
        **({} if statuses is None else {"statuses.csv": statuses}),
        **({"ranges.csv": ranges_csv(result)} if ranges else {}),
    }


KEPT = "note: the key of the release that stood in the folder was used again, so that the same cells draw the same"


def key_for(folder: Path, given: bytes | None) -> bytes | None:
    """The key of what is to be written into a folder: that of the release it holds, as a second draw of the same cells would tell more of them.

    None: a random one is to be drawn. Another key than the one the folder's release was made with is refused.
    """
    try:
        kept = bytes.fromhex(json.loads((folder / DETAILS).read_bytes())["key"])
    except (FileNotFoundError, NotADirectoryError):
        return given
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{folder / DETAILS}: is of a release whose key cannot be read; restore it, or choose another folder"
        ) from None
    if given not in (None, kept):
        raise InputError(
            f"{folder}: holds a release made with another key, and cells that are drawn twice give more away; "
            "name no key, which takes that one again, or choose another folder"
        )
    return kept


def write_outputs(
    protection: Protection,
    folder: Path,
    facts: dict[str, Any],
    more: Mapping[str, bytes] | None = None,
    inputs: Mapping[str, Path] | None = None,
    budget: Budget | None = None,
    formats: Formats = Formats(),
    report: str = PLAIN,
) -> list[Path]:
    """Write the folder, which takes the place of an earlier one in a single step; ``more``: further files.

    ``inputs``: the files that it was made of, for the manifest. ``budget``: of the job, which is told of the phases. ``report``: ``plain`` (the
    internal report without pictures), ``internal`` (with them), ``public`` (the public one beside it) or ``none``.
    """
    budget = budget or Budget()
    budget.enter("certifying")
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
    of_sums = protection.certificate_of_sums()
    budget.enter(WRITING)
    every_more = {**(more or {}), **folder_reports(protection, report)}
    try:
        with replacing(folder, {*every, *_parts_in(folder)}) as target:
            protection.certificate().save(target / CERTIFICATE)
            if of_sums is not None:
                of_sums.save(target / OF_SUMS)
            for name, content in every_more.items():
                write_whole(target / name, content, confidential=not FILES[name].startswith("public"))
            write_whole(target / DETAILS, text.encode(), confidential=True)
            for k, part in enumerate(parts, start=1):
                part.save(target / f"release-{k}.csv")
                formats.save(part, target, f"release-{k}")
            release.save_statement(target / STATEMENT)
            release.save(target / VALUES)
            formats.save(release, target, "release")
            outputs = [target / name for name in every if (target / name).exists()]
            write_whole(target / MANIFEST, manifest_text(inputs or {}, outputs, protection.key), confidential=True)
            names = [name for name in every if (target / name).exists()]
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another --out") from error
    return [folder / name for name in names]


def _parts_in(folder: Path) -> list[str]:
    """The linked tables that an earlier release left in a folder."""
    return [path.name for path in folder.iterdir() if PART.fullmatch(path.name)] if folder.is_dir() else []
