"""Job: everything from the records to the release in one TOML file, so that a release can be made again byte for byte."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from cellward.errors import InputError
from cellward.files.folder import after_writing
from cellward.files.text import check_input, decode_file, naming
from cellward.files.toml_file import read_toml
from cellward.files.within import allowing_outside, within
from cellward.formats.attackers import read_attackers
from cellward.formats.hierarchy_file import read_hierarchy
from cellward.hierarchy import Hierarchy
from cellward.key import read_key
from cellward.manifest import hash_of
from cellward.outputs import Formats, folder_files, further_files, key_for, summary, write_outputs
from cellward.protect.method import Method
from cellward.protect.methods import METHODS, from_file, method_called
from cellward.protect.option import cell_of, options_of
from cellward.protection import Protection
from cellward.registry import check_target
from cellward.registry import read as read_table
from cellward.registry import write as write_table
from cellward.report.sections.findings import findings_csv
from cellward.report.written import PLAIN, check_wish
from cellward.risk.attacker import Attacker, Cell
from cellward.risk.manual import Manual
from cellward.risk.policy import BUILT_IN, Policy
from cellward.risk.rule import Rule
from cellward.risk.rule_text import read_rule
from cellward.solve.alarm import alarm
from cellward.solve.budget import Budget
from cellward.table.frame import LongSpec, refuse_former
from cellward.table.table import Table
from cellward.tabulate.formula import Formula
from cellward.tabulate.roles import Roles

_TEXT, _WHOLE, _FLAG, _NUMBER = (str,), (int,), (bool,), (int, Decimal)
_LIST = (list,)
_ANY = (str, int, Decimal, list, dict)

_LONG = {field.name for field in fields(LongSpec)} - {"hierarchies"}
_MICRO = {field.name for field in fields(Roles)} - {"hierarchies", "decimal"}
_INPUT = {
    "file": _TEXT,
    "sheet": _TEXT,
    "kind": _TEXT,
    "query": _TEXT,
    "separator": _TEXT,
    "decimal": _TEXT,
    "names": _LIST,
}
_RULES = {
    "policy": _TEXT,
    "policy_sha256": _TEXT,
    "rules": _LIST,
    "waivers": (str, list),
    "frozen": _LIST,
    "levels": _LIST,
}
_MANUAL = {"cells": _LIST, "reason": _TEXT, "status": _TEXT, "percent": _NUMBER, "units": _NUMBER}
_ATTACKERS = {"respondents": _WHOLE, "coalitions": _FLAG, "whole": _FLAG, "file": _TEXT}
_PROTECTION = {"name": _TEXT, "weights": (str, dict), "time_limit_s": _NUMBER}
"""What [method] says besides the method's own options."""
_OUTPUT = {"folder": _TEXT, "table": _TEXT, "key_file": _TEXT, "seed": _WHOLE, "threads": _WHOLE, "report": (str, bool)}
_OUTPUT |= {"formats": _LIST, "title": _TEXT, "footnotes": _LIST}
_SECTIONS = ("job", "input", "roles", "hierarchies", "risk", "manual", "attackers", "method", "output")


@dataclass(frozen=True)
class Job:
    """A job file: what it says, and where it stands; files it names are looked for beside it, and below its folder unless ``outside`` allows more."""

    path: Path
    said: Mapping[str, Any]
    digest: str
    outside: bool = False

    @staticmethod
    def read(path: str | os.PathLike[str], *, outside: bool = False) -> Job:
        """Read a job file; whatever it says that is not known is refused, before anything is done."""
        said, text = read_toml(path)
        with naming(Path(path)):
            job = Job(Path(path), said, hashlib.sha256(text.encode()).hexdigest(), outside)
            job._check()
        return job

    def _check(self) -> None:
        if unknown := [name for name in self.said if name not in _SECTIONS]:
            raise InputError(f"[{unknown[0]}] is not known; use {', '.join(f'[{name}]' for name in _SECTIONS)}")
        needed = ("input", "roles", "output") if "method" in self.said else ("input", "roles")
        for name in needed:
            if not isinstance(self.said.get(name), dict):
                raise InputError(f"there is no [{name}]; a job needs {', '.join(f'[{one}]' for one in needed)}")
        roles = _LONG if self.kind == "table" else _MICRO
        if self.kind == "table":
            refuse_former(self.said["roles"])
        self._known("job", {"name": _TEXT})
        self._known("input", _INPUT)
        self._known("roles", dict.fromkeys(roles, (*_ANY, bool)))
        self._known("risk", _RULES)
        self._known("attackers", _ATTACKERS)
        self._check_method()
        if "key" in self.said.get("output", {}):
            raise InputError(
                "[output] key: a job file is no place for a secret; name a file of it with key_file (cellward key new FILE)"
            )
        self._known("output", _OUTPUT)
        manual = self.said.get("manual", [])
        if not isinstance(manual, list):
            raise InputError("[manual]: write [[manual]], once for each decision")
        for k, decision in enumerate(manual, start=1):
            refuse_unknown(decision, _MANUAL, f"[[manual]] {k}")
        wrong = {"microdata": "names", "table": "query"}[self.kind]
        if wrong in self.said["input"]:
            raise InputError(f"[input] {wrong}: not known for kind = {self.kind!r}; leave it out")
        ends = [("input", "file", "of records or cells")]
        ends += [("output", "folder", "for the release")] if "method" in self.said else []
        for section, key, what in ends:
            if key not in self.said.get(section, {}):
                raise InputError(f"[{section}]: there is no {key} {what}; name it")
        if "dims" not in self.said["roles"]:
            raise InputError("[roles]: there is no dims; name the dimension columns")
        self.method, self.formats, self.report  # noqa: B018 (their mistakes are told first)
        self._check_outputs()

    def _check_method(self) -> None:
        """Refuse what the method has no option for, and values of another type than its kind has in files."""
        section = self.said.get("method", {})
        if not isinstance(section, dict):
            raise InputError("method: write it as a section, [method]")
        if "time_limit" in section:
            raise InputError("[method]: 'time_limit' is called time_limit_s, as in Python; write time_limit_s")
        kinds = {name: option.kind.in_files for name, option in options_of(self._chosen).items()}
        if unknown := [name for name in section if name not in {**_PROTECTION, **kinds}]:
            raise InputError(
                f"[method] {unknown[0]} does not go with name={self._chosen.word!r}; use {', '.join(sorted({**_PROTECTION, **kinds}))}"
            )
        self._known("method", {**_PROTECTION, **kinds})

    @property
    def _chosen(self) -> type[Method]:
        name = self.said.get("method", {}).get("name", METHODS[0].word)
        return method_called(name, f"[method] name={name!r}")

    def _check_outputs(self) -> None:
        """Refuse outputs that could not be written, that stand for each other, or over a file that is read."""
        output = self._output
        given = [*self.inputs.values(), *([self._beside(output["key_file"])] if "key_file" in output else [])]
        try:
            read = {path.resolve() for path in given}
            written = (
                [(self.folder / name).resolve() for name in folder_files(self._tables)] if "folder" in output else []
            )
            if "table" in output:
                written.append(check_target(self._beside(output["table"])).resolve())
        except (OSError, ValueError) as error:
            raise InputError(f"[output]: {error}; choose another name") from None
        if clash := [path for path in written if path in read or written.count(path) > 1]:
            raise InputError(
                f"[output]: {clash[0].name} would be written over a file that is read, or over another output; choose another name"
            )

    def _known(self, name: str, keys: Mapping[str, tuple[type, ...]]) -> None:
        section = self.said.get(name, {})
        if not isinstance(section, dict):
            raise InputError(f"{name}: write it as a section, [{name}]")
        refuse_unknown(section, keys, f"[{name}]")

    # ---- what the job says -----------------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What the job is called."""
        return str(self.said.get("job", {}).get("name", self.path.stem))

    @property
    def kind(self) -> str:
        """``microdata`` or ``table``: what the input holds."""
        kind = self.said["input"].get("kind", "microdata")
        if kind not in ("microdata", "table"):
            raise InputError(f"[input] kind={kind!r} is not known; use 'microdata' (records) or 'table' (cells)")
        return str(kind)

    @property
    def source(self) -> Path:
        """The file of records or cells."""
        return self._beside(self.said["input"]["file"])

    @property
    def _output(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.said.get("output", {})
        return found

    @property
    def folder(self) -> Path:
        """Where the release goes."""
        return self._beside(self._output["folder"])

    @property
    def formats(self) -> Formats:
        """In which formats the release is written beside its CSV."""
        said = self._output
        lists = [_texts(said.get(name, []), f"[output] {name}") for name in ("formats", "footnotes")]
        return Formats.of(lists[0], said.get("title", ""), lists[1], "[output] formats")

    @property
    def _tables(self) -> int:
        """How many tables are made of the records."""
        return 1 if self.kind == "table" else len(Formula.of(self.said["roles"]["dims"]).terms)

    @property
    def inputs(self) -> dict[str, Path]:
        """Every file that it reads but the key, by what it is for."""
        risk, found = self.said.get("risk", {}), {"job": self.path, "input": self.source}
        if "policy" in risk and risk["policy"] not in BUILT_IN:
            found["policy"] = self._beside(risk["policy"])
        if isinstance(risk.get("waivers"), str):
            found["waivers"] = self._beside(risk["waivers"])
        if "file" in self.said.get("attackers", {}):
            found["attackers"] = self._beside(self.said["attackers"]["file"])
        for dim, one in self.said.get("hierarchies", {}).items():
            several = one if isinstance(one, list) else [one]
            files = [each.get("file") if isinstance(each, dict) else each for each in several]
            own = [file for file in files if isinstance(file, str)]
            found |= {f"hierarchy {k} of {dim}": self._beside(file) for k, file in enumerate(own, start=1)}
        return found

    @property
    def weights(self) -> Any:
        """How deviations are weighted; None: as the method does."""
        return self.said.get("method", {}).get("weights")

    def _beside(self, file: str) -> Path:
        with allowing_outside(allowed=self.outside):
            return within(file, self.path)

    @cached_property
    def hierarchies(self) -> dict[str, list[Hierarchy]]:
        """The hierarchies of the dimensions, each from a ``.hrc`` file, a parent–child table or a correspondence table."""
        section = self.said.get("hierarchies", {})
        if not isinstance(section, dict):
            raise InputError("hierarchies: write it as a section, [hierarchies]")
        return {
            dim: [self._hierarchy(dim, one) for one in (given if isinstance(given, list) else [given])]
            for dim, given in section.items()
        }

    def _hierarchy(self, dim: str, given: Any) -> Hierarchy:
        total = self.said["roles"].get("total", "Total")
        total = total if isinstance(total, str) else str(total.get(dim, "Total"))
        if isinstance(given, str):
            return read_hierarchy(self._beside(given), total=total)
        where = f"[hierarchies] {dim}"
        if not isinstance(given, dict):
            raise InputError(
                f"{where}: give a file (.hrc or a table), or {{file = …, levels = […]}}, or {{file = …, child = …, parent = …}}"
            )
        keys = {"file": _TEXT, "levels": _LIST, "lead": _TEXT, **dict.fromkeys(("child", "parent", "grouping"), _TEXT)}
        refuse_unknown(given, keys, where)
        options = {key: value for key, value in given.items() if key != "file"}
        if "file" not in given and not options.keys() & {"levels", "child", "parent"}:
            raise InputError(
                f"{where}: name the columns of {self.source.name} with levels = […], or with child and parent"
            )
        file = self._beside(given["file"]) if "file" in given else self.source
        separator = None if "file" in given else self.said["input"].get("separator")
        try:
            return read_hierarchy(file, total=total, separator=separator, **options)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the policy, those written beside it, and the decisions by hand."""
        section = self.said.get("risk", {})
        found: list[Rule] = []
        if self.policy is not None:
            found += self.policy.rules
        elif "policy_sha256" in section:
            raise InputError("[risk] policy_sha256: there is no policy that it could be of; name the policy too")
        found += [read_rule(text) for text in _texts(section.get("rules", []), "[risk] rules")]
        for decision in self.said.get("manual", []):
            options = {key: value for key, value in decision.items() if key not in ("cells", "reason")}
            cells: dict[Cell, str] = {cell_of(cell): decision.get("reason", "") for cell in decision.get("cells", [])}
            found.append(Manual(cells, **options))
        return tuple(found)

    @cached_property
    def policy(self) -> Policy | None:
        """The policy that it names, if it is the very one that the job demands."""
        section = self.said.get("risk", {})
        if "policy" not in section:
            return None
        named = section["policy"]
        policy = Policy.named(named if named in BUILT_IN else self._beside(named))
        demanded = section.get("policy_sha256")
        if demanded is not None and f"sha256:{demanded.removeprefix('sha256:').lower()}" != policy.digest:
            raise InputError(
                f"[risk] policy_sha256: the policy {policy.name} is another than the job demands, its name and rules give {policy.digest}; "
                "restore the policy, or agree on the new one and write its hash here"
            )
        return policy

    @property
    def key(self) -> bytes | None:
        """The secret of the release: that of the file named, or of the release in the folder; None: to be drawn."""
        return self.given_key if "folder" not in self._output else key_for(self.folder, self.given_key)

    @property
    def given_key(self) -> bytes | None:
        """The secret in the file that the job names; None: it names none."""
        file = self._output.get("key_file")
        return None if file is None else read_key(self._beside(file))

    @property
    def names_key(self) -> bool:
        """Whether the job says where the secret is."""
        return "key_file" in self._output

    @property
    def report(self) -> str:
        """What report the folder gets."""
        try:
            return check_wish(self._output.get("report", PLAIN))
        except InputError as error:
            raise InputError(f"[output] {error}") from None

    @property
    def method(self) -> Method | None:
        """The protection method; None: the job ends with the table."""
        section = self.said.get("method")
        if section is None:
            return None
        return from_file(self._chosen, {k: v for k, v in section.items() if k not in _PROTECTION}, "[method]")

    # ---- doing it --------------------------------------------------------------------------------------------------------------------------

    def budget(self) -> Budget:
        """One clock for the whole job, which begins now, with its threads and its seed."""
        limit, output = self.said.get("method", {}).get("time_limit_s"), self._output
        limit = None if limit is None else float(limit)
        with naming(self.path):
            return Budget(time_limit_s=limit, threads=output.get("threads", 1), seed=output.get("seed", 0))

    def table(self, budget: Budget | None = None) -> Table:
        """Read the input, add it up, and find the cells at risk; ``budget``: of the job, which is told of the phases."""
        budget = budget or Budget()
        budget.enter("reading")
        with naming(self.path):
            self.key, self.method, self.rules  # noqa: B018 (mistakes are told before the work begins)
            given = {"hierarchies": self.hierarchies, **self.said["roles"]}
            check_input(self.source)
            reading = {key: value for key, value in self.said["input"].items() if key not in ("file", "kind")}
            if self.kind == "table":
                if (self.rules or self.said.get("risk")) and "frequency" not in self.said["roles"]:
                    raise InputError(
                        "[risk] needs to know who stands behind the cells; give records, or the columns of contributors and largest contributions "
                        "(frequency, largest), or statuses and levels as columns"
                    )
                table = read_table(self.source, **reading, **given)
            else:
                table = Table.from_microdata(self.source, **reading, threads=self._output.get("threads"), **given)
            budget.enter("finding cells at risk")
            exceptions = {"waivers": self._waivers(), **self._exceptions()}
            if not self.rules and not any(exceptions.values()):
                return table
            found = table.find(*self.rules, **exceptions)
            if self.policy is None or found.findings is None:
                return found
            return replace(found, findings=replace(found.findings, policies=(self.policy,)))

    def _waivers(self) -> list[str]:
        given = self.said.get("risk", {}).get("waivers", [])
        if isinstance(given, str):
            lines = decode_file(self._beside(given), most_bytes=1 << 28).splitlines()
            return [line for line in lines if line.strip()]
        return _texts(given, "[risk] waivers")

    def _exceptions(self) -> dict[str, Any]:
        section = self.said.get("risk", {})
        levels = {}
        for entry in section.get("levels", []):
            if not isinstance(entry, dict) or "cell" not in entry:
                raise InputError("[risk] levels: write each as {cell = [codes], lpl = …, upl = …, spl = …}")
            refuse_unknown(entry, ("cell", "lpl", "upl", "spl"), "[risk] levels")
            if cell_of(entry["cell"]) in levels:
                raise InputError(f"[risk] levels: {entry['cell']} is named twice; name it once")
            levels[cell_of(entry["cell"])] = tuple(entry.get(side, 0) for side in ("lpl", "upl", "spl"))
        return {"frozen": [cell_of(cell) for cell in section.get("frozen", [])], "levels": levels or None}

    def attackers(self, table: Table) -> list[Attacker]:
        """The external attacker, those of a file, and those that stand behind the cells."""
        section = self.said.get("attackers", {})
        whole = section.get("whole", False)
        with naming(self.path):
            behind = table.contributions is not None and table.contributions.parts is not None
            if self.rules and behind and table.findings is not None and len(table.findings.unsafe):
                found = Attacker.from_data(
                    table,
                    respondents=section.get(
                        "respondents", min(2, table.contributions.kept if table.contributions else 0)
                    ),
                    coalitions=section.get("coalitions", False),
                    whole=whole,
                )
            else:
                found = [Attacker.external(whole=whole)]
            if "file" in section:
                found += read_attackers(self._beside(section["file"]), table, whole=whole)[1:]
        return found

    def protect(self, table: Table, budget: Budget | None = None) -> Protection:
        """Protect the table as the job says, with what is left of its budget; without one, the clock begins now."""
        if self.method is None:
            raise InputError(f"{self.path}: there is no [method]; say how to protect the table")
        budget = budget or self.budget()
        with alarm(budget):
            budget.enter("finding attackers")
            known = self.attackers(table)
        return self.method.protect_within(budget, table, weights=self.weights, attackers=known, key=self.key)

    def write_table(self, table: Table) -> Path | None:
        """Write the confidential table, where the job wants it."""
        file = self._output.get("table")
        return None if file is None else write_table(table, self._beside(file))

    def write(
        self, table: Table, protection: Protection, budget: Budget | None = None, *, report: str | None = None
    ) -> list[Path]:
        """Write the folder: the release and its proof, why cells were at risk, and the report; ``report``: another one than the job says."""
        job = {"name": self.name, "file": self.path.name, "sha256": self.digest, "input_sha256": hash_of(self.source)}
        more = {} if table.findings is None else {"findings.csv": findings_csv(table)}
        more |= further_files(table, protection, ranges=self.method is not None and self.method.publishes_ranges)
        facts = {**summary(protection, verified=True, table=table), "job": job}
        files = write_outputs(
            protection, self.folder, facts, more, self.inputs, budget, self.formats, report or self.report
        )
        with after_writing(self.folder):
            kept = self.write_table(table)
        return files if kept is None else [*files, kept]


def refuse_unknown(section: Any, known: Iterable[str] | Mapping[str, tuple[type, ...]], where: str) -> None:
    """Refuse a key that is not known in this section, or whose value is of another kind."""
    if not isinstance(section, dict):
        raise InputError(f"{where}: write it as a table of names and values")
    names = list(known)
    if unknown := [key for key in section if key not in names]:
        raise InputError(f"{where}: {unknown[0]!r} is not known here; use {', '.join(sorted(names))}")
    for key, value in section.items():
        kinds = known[key] if isinstance(known, Mapping) else _ANY
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise InputError(
                f"{where}: {key} = {value!r} is {_called(type(value))}; give {' or '.join(_called(kind) for kind in kinds)}"
            )


def _called(kind: type) -> str:
    return {
        str: "text",
        int: "a whole number",
        bool: "true or false",
        Decimal: "a number",
        list: "a list",
        dict: "a table",
    }.get(kind, kind.__name__)


def _texts(given: Any, where: str) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise InputError(f"{where}: give a list of texts")
    return given
