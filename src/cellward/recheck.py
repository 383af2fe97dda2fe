"""Recheck: a job's table, rules, attackers, sums and options built anew from its own inputs, and an output folder held against them.

Nothing is protected again: the certificate shows what holds of the release, and all that it is about follows from the job.
"""

from __future__ import annotations

import hmac
import json
from pathlib import Path
from typing import Any

from cellward.audit import verify as checker
from cellward.audit.certificate import expected_of, salt_of, weights_of
from cellward.errors import InputError
from cellward.instance import Instance
from cellward.job import Job
from cellward.manifest import differing_input, differing_output, read_manifest
from cellward.outputs import CERTIFICATE, FILES, STATEMENT, VALUES


def recheck(job: Job, folder: Path) -> checker.Verdict:
    """Whether a folder holds what this job makes of its inputs, in a sentence."""
    method = job.method
    if method is None:
        raise InputError(f"{job.path}: there is no [method], so it makes no release; give the job of the release")
    held = read_manifest(folder)
    if wrong := differing_output(folder, held, FILES) or differing_input(held, job.inputs, job.given_key):
        return checker.Verdict(False, wrong)
    table = job.table()
    weights = method.default_weights if job.weights is None else job.weights
    instance = Instance.of(table, weights=weights, attackers=job.attackers(table))
    instance = method.covered(method.faced(instance))
    expected = expected_of(table, weights="equal" if weights is None else weights, attackers=instance.attackers)
    expected["weights"] = [weights_of(instance)]  # as the method makes them count
    try:
        verdict, content = checker.check_file(folder / CERTIFICATE, expected)
        checker.compare_release((folder / VALUES).read_bytes(), content)
        checker.compare_statement((folder / STATEMENT).read_bytes(), content, verdict.digest)
    except (checker.Refused, OSError) as refusal:
        return checker.Verdict(False, str(refusal))
    if wrong := _differing(job, content, instance, held):
        return checker.Verdict(False, wrong)
    return verdict


def _differing(job: Job, content: Any, instance: Instance, held: Any) -> str | None:
    """What the certificate says otherwise than the job does of method, levels and key."""
    method = job.method
    assert method is not None
    said = content["method"]
    if not method.agrees(said, instance):
        return f"the method of the release is not that of the job: {json.dumps(said, ensure_ascii=False)}"
    if (content["protection"] == "ignored") != (method.ignores_levels and instance.asks):
        return "whether levels are ignored is not as the job says"
    if said.get("version") != held["cellward"]:
        return "certificate and manifest are of different versions of cellward"
    if job.given_key is not None and not hmac.compare_digest(content["salt"], salt_of(job.given_key)):
        return "the certificate is salted with another key than the job's"
    return None
