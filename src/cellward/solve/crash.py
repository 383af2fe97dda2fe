"""Instances that crashed the worker: saved on request, whole or not at all, and loaded again to be replayed. They hold confidential values."""

from __future__ import annotations

import functools
import hashlib
import importlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.files.scratch import scratch_base
from cellward.files.whole import write_whole
from cellward.solve.outcome import Outcome

FOLDER = "cellward-crash-"
VARIABLE = "CELLWARD_CRASH"
"""Set to 1, it asks for the instance to be kept."""


def save(task: Callable[..., Outcome], model: object, crash_dir: Path | None) -> str:
    """Save the instance where that is asked for, whole or not at all; the sentence says where. The name depends on nothing but the content.

    Unless a folder is named, it goes into one of its own where scratch space stands, which is private and stays.
    """
    if crash_dir is None and os.environ.get(VARIABLE) != "1":
        return f"Run it again with {VARIABLE}=1 to keep the instance, which holds confidential values."
    function, options = (task.func, task.keywords) if isinstance(task, functools.partial) else (task, {})
    about = {"task": _address(function), "options": options, "model": _address(type(model))}
    directory = scratch_base() if crash_dir is None else crash_dir
    try:
        directory = Path(tempfile.mkdtemp(dir=directory, prefix=FOLDER)) if crash_dir is None else directory
        named = {field.name: getattr(model, field.name) for field in fields(model)}  # type: ignore[arg-type]
        arrays = {"about": np.array(json.dumps(about, sort_keys=True))}
        arrays |= {name: np.asarray(value) for name, value in named.items() if value is not None}
        if any(array.dtype.hasobject for array in arrays.values()):
            raise TypeError("it is not made of arrays alone")
        digest = hashlib.sha256()
        for name, array in sorted(arrays.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
        path = directory / f"cellward-crash-{digest.hexdigest()[:8]}.npz"
        directory.mkdir(parents=True, exist_ok=True)
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays)  # type: ignore[arg-type]
        write_whole(path, packed.getvalue(), confidential=True)
    except (OSError, TypeError, ValueError, MemoryError, InputError) as error:
        return f"The instance could not be saved in {directory}: {error}."
    return (
        f"The instance is saved in {path}: it holds CONFIDENTIAL values. "
        "Solve it again with cellward.solve.worker.replay, and delete it when done."
    )


def load(path: Path) -> tuple[Callable[..., Outcome], object]:
    """The task and the model of a saved instance."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            about = json.loads(str(arrays["about"]))
            model = _at(about["model"])(**{name: arrays[name] for name in arrays.files if name != "about"})
        task = _at(about["task"])
    except (
        OSError,
        EOFError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        ImportError,
        zipfile.BadZipFile,
    ) as error:
        raise InputError(f"{path} is not an instance saved by cellward after a crash: {error}.") from error
    return (functools.partial(task, **about["options"]) if about["options"] else task), model


def _address(thing: Any) -> str:
    return f"{thing.__module__}:{thing.__qualname__}"


def _at(address: str) -> Any:
    module, _, name = address.partition(":")
    if not module.startswith("cellward.solve."):
        raise ValueError(f"it names {address}, which is not part of the solver layer")
    return getattr(importlib.import_module(module), name)


def name_of(task: Any) -> str:
    """What a task is called in a sentence."""
    return str(getattr(getattr(task, "func", task), "__name__", task))
