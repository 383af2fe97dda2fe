"""The routes of the gate's cases through cellward: Python, the command line, jobs and τ-ARGUS batches, to files that an outsider can read."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import measure  # noqa: F401  # isort: skip (finds the oracles)
import typer
from outsider_equations import Codes, Parents
from outsider_reading import Claim, Published, read_claim, read_code_value, read_grid, read_release, runnable
from random_gate_cases import GateCase, RandomRecords
from random_gate_tables import TOTAL, RandomTable

import cellward as cw
from cellward.cli.app import build
from cellward.errors import CellwardError
from cellward.job import Job
from cellward.outputs import summary, write_outputs
from cellward.tauargus.batch import Batch

LIMIT_S = 5
METHODS = {"round": cw.ControlledRounding, "perturb": cw.CellPerturbation, "adjust": cw.ControlledAdjustment,
           "suppress": cw.CellSuppression}  # fmt: skip
RULES = {
    "threshold": "Threshold", "p_percent": "PPercent", "dominance": "Dominance", "prior_posterior": "PriorPosterior",
    "zero": "Zero", "request": "Request",
}  # fmt: skip
CELLS = ("only_up", "only_down")
"""Options that name cells."""
OTHER_WRITERS = (".parquet", ".xlsx", ".jj", ".json", ".px", ".tsv")
"""Where a release can be saved as one of these, its numbers are compared with those of release.csv."""


class Refused(Exception):  # noqa: N818 (no error: nothing is released, and a sentence says why)
    """Nothing is released."""


@dataclass
class Out:
    """What came of a case: what was published, what is claimed of it, and what the files themselves have wrong."""

    published: Published
    claim: Claim | None
    wrong: list[str] = field(default_factory=list)
    writers: list[str] = field(default_factory=list)


def run(case: GateCase, folder: Path) -> Out:
    """Take a case's way through cellward; raises Refused or CellwardError where nothing is released."""
    return {"python": _python, "command line": _command_line, "job": _job, "batch": _batch}[case.route](case, folder)


# ---- Python --------------------------------------------------------------------------------------------------------------------------------


def _python(case: GateCase, folder: Path) -> Out:
    table = _table(case)
    attackers = None
    if case.records is not None and case.records.insiders and len(table.sensitive):
        attackers = cw.Attacker.from_data(table, respondents=2)
    elif case.known:
        numbers = {_cell(case, codes): _text(value) for codes, value in case.known.items()}
        attackers = [cw.Attacker.external(), cw.Attacker.knowing(table, "rival", lower=numbers, upper=numbers)]
    p = METHODS[case.method](**_by_number(case)).protect(
        table,
        weights=case.weights,
        attackers=attackers,
        time_limit_s=LIMIT_S,
        key=bytes.fromhex(case.key),
    )
    if not p.releasable:
        raise Refused(f"{p.status}: {p.reason}")
    write_outputs(p, folder / "out", summary(p, verified=True))
    out = _folder(case, folder / "out")
    if case.seed % 10 == 0:
        _other_writers(p.release(), out, folder, case)
    return out


def _by_number(case: GateCase) -> dict[str, Any]:
    """The options, cells of equations by number."""
    return {
        name: [_cell(case, codes) for codes in given] if name in CELLS else given
        for name, given in case.options.items()
    }


def _table(case: GateCase) -> cw.Table:
    if case.source == "records":
        assert case.records is not None
        own = case.records
        given = {"hierarchies": _hierarchies(own.trees), "empty": own.empty, **_roles(own)}
        made = cw.Table.from_microdata(
            dict(own.records.columns), threads=1, **{k: v for k, v in given.items() if v is not None}
        )
        return made.find(*_rules(own), waivers=own.waivers, frozen=own.frozen, levels=own.levels or None)
    assert case.table is not None
    table, secret = case.table, case.table.secret
    if case.source == "array":
        return _array(table)
    if case.source == "equations":
        return _equations(table)
    return cw.Table.from_frame(
        _columns(table),
        dims=list(table.public.dims),
        value="value!",
        hierarchies=_hierarchies(table.trees),
        empty=table.empty,
        status="status!",
        lower=None if table.public.lower is None else 0,
        upper=None if table.public.upper is None else int(table.public.upper),
        decimals=table.decimals,
        **({} if table.additive is None else {"additive": table.additive, "keep_values": table.keep}),
        **({side: f"{side}!" for side in ("lpl", "upl", "spl")} if any(map(any, secret.at_risk.values())) else {}),
    )


def _array(table: RandomTable) -> cw.Table:
    """The inner cells as nested lists; cells at risk by hand or by levels."""
    codes = [list(own[0]) for own in table.public.trees]
    truth = table.secret.truth

    def nested(prefix: Codes) -> Any:
        if len(prefix) == len(codes):
            return _number(truth[prefix])
        return [nested((*prefix, code)) for code in codes[len(prefix)]]

    made = cw.Table.from_array(
        nested(()),
        dims=list(table.public.dims),
        codes=codes,
        decimals=table.decimals,
        upper=None if table.public.upper is None else int(table.public.upper),
        **({"lower": None} if table.public.lower is None else {}),
    )
    levelled = {c: tuple(_levels(table, c)) for c, own in table.secret.at_risk.items() if any(own)}
    bare = {codes: "expert" for codes, own in table.secret.at_risk.items() if not any(own)}
    rules: list[Any] = [cw.Manual(bare)] if bare else []
    if table.secret.fixed:
        rules.append(cw.Manual(dict.fromkeys(table.secret.fixed, "published"), status="fixed"))
    found = made.find(*rules, levels=levelled or None) if rules or levelled else made
    return _bare(found, table) if bare else found


def _bare(found: cw.Table, table: RandomTable) -> cw.Table:
    """A cell declared at risk by hand gets a level of one unit; some are to have none, as those of a status column."""
    keep = [found.labels.find(codes) for codes, own in table.secret.at_risk.items() if any(own)]
    s = found.sensitivity
    lpl, upl, spl = (own.copy() for own in (s.lpl, s.upl, s.spl))
    for own in (lpl, upl, spl):
        own[[i for i in range(found.cells) if i not in keep]] = 0
    return found.with_sensitivity(type(s)(s.status, lpl, upl, spl))


def _equations(table: RandomTable) -> cw.Table:
    secret, n = table.secret, len(table.secret.truth)
    assert table.public.equations is not None
    matrix = [[0] * n for _ in table.public.equations]
    for row, equation in zip(matrix, table.public.equations, strict=True):
        for codes, coef in equation.terms:
            row[int(codes[0])] = coef
    risky = sorted(secret.at_risk, key=lambda codes: int(codes[0]))
    levels = list(zip(*(_levels(table, codes) for codes in risky), strict=True)) or [(), (), ()]
    return cw.Table.from_equations(
        [_number(value) for value in secret.truth.values()],
        matrix,
        sensitive=[int(codes[0]) for codes in risky],
        lpl=list(map(float, levels[0])),
        upl=list(map(float, levels[1])),
        spl=list(map(float, levels[2])),
        lower=None if table.public.lower is None else 0,
        upper=None if table.public.upper is None else int(table.public.upper),
        fixed=[int(codes[0]) for codes in secret.fixed] or None,
        decimals=table.decimals,
    )


def _roles(own: RandomRecords) -> dict[str, Any]:
    r = own.records
    return {
        "dims": list(r.dims), "measure": r.measure, "contributor": r.contributor, "holding": r.holding, "request": r.request,
        "weight": r.weight,
    }  # fmt: skip


def _rules(own: RandomRecords) -> list[Any]:
    out = []
    for kind, options in own.rules:
        given = dict(options)
        out.append(cw.Manual(given.pop("cells"), **given) if kind == "manual" else getattr(cw, RULES[kind])(**given))
    return out


def _hierarchies(trees: Mapping[str, Any]) -> dict[str, Any]:
    """Hierarchies of the dimensions that are not flat, and of some that are."""
    return {dim: [cw.Hierarchy(_sums(tree)) for tree in own] for dim, own in trees.items() if _deep(own)}


def _deep(own: Any) -> bool:
    return len(own) > 1 or any(parent != TOTAL for parent in own[0].values())


def _sums(tree: Parents) -> tuple[tuple[str, tuple[str, ...]], ...]:
    below: dict[str, list[str]] = {}
    for child, parent in tree.items():
        below.setdefault(parent, []).append(child)
    return tuple((parent, tuple(children)) for parent, children in below.items())


def _other_writers(release: Any, out: Out, folder: Path, case: GateCase) -> None:
    """Where a release can be saved in other forms, they say what release.csv says."""
    for ending in OTHER_WRITERS:
        path = folder / f"other{ending}"
        try:
            release.save(path)
        except CellwardError:
            continue
        out.writers.append(ending)
        if ending == ".parquet":
            import pyarrow.parquet

            columns = pyarrow.parquet.read_table(path).to_pydict()
            dims = len(case.public.dims)
            *places, values = list(columns.values())[: dims + 1]
            read = {
                tuple(map(str, codes)): None if v is None else Fraction(str(v))
                for *codes, v in zip(*places, values, strict=True)
            }
            if read != dict(out.published.values) or list(columns)[:dims] != list(case.public.dims):
                out.wrong.append("the Parquet file differs from release.csv")


# ---- the command line ------------------------------------------------------------------------------------------------------------------------


@cache
def _commands() -> Any:
    return typer.main.get_command(build())


def _invoked(case: GateCase, folder: Path, words: list[str]) -> Out:
    """What a command came to, in this process: files, or a sentence and an exit code."""
    said, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
        try:
            code = _commands().main(args=words, prog_name="cellward", standalone_mode=False)
        except Exception as error:
            if hasattr(error, "format_message"):  # a wrong word on the command line
                raise Refused(error.format_message()) from None
            raise
    if code:
        raise Refused(f"exit {code}: {(errors.getvalue().strip().splitlines() or ['?'])[-1]}")
    facts = json.loads(said.getvalue())
    out = _folder(case, folder / "out")
    if not facts["verified"] or facts["status"] not in ("optimal", "feasible"):
        out.wrong.append(f"--json says {facts['status']}, verified {facts['verified']}, of what was released")
    return out


def _command_line(case: GateCase, folder: Path) -> Out:
    assert case.table is not None
    source, reading = _input(case, folder)
    words = [case.method, str(source), *reading, "--out", str(folder / "out"), "--json", "--time-limit-s", str(LIMIT_S)]
    for name, given in case.options.items():
        flag = f"--{name.replace('_', '-')}"
        if name in CELLS:
            words += [word for codes in given for word in (flag, _csv([codes]).rstrip("\n"))]
        elif given is True:
            words.append(flag)
        elif given is False:
            words.append(f"--no-{name.replace('_', '-')}")
        else:
            text = ",".join(f"{k}={v}" for k, v in given.items()) if isinstance(given, dict) else str(given).lower()
            words += [flag, text]
    if case.weights:
        words += ["--weights", case.weights]
    if case.known:
        words += ["--attackers", str(_attackers(case, folder))]
    known = {written for option in _commands().commands[case.method].params for written in option.opts}
    return _invoked(case, folder, words + _key_words(case, folder, known))


def _key_words(case: GateCase, folder: Path, known: set[str]) -> list[str]:
    if "--key-file" in known:
        return ["--key-file", str(_key_file(case, folder))]
    return ["--key", case.key] if "--key" in known else []


def _key_file(case: GateCase, folder: Path) -> Path:
    path = folder / "key.txt"
    path.write_text(case.key + "\n")
    path.chmod(0o600)
    return path


def _attackers(case: GateCase, folder: Path) -> Path:
    path = folder / "attackers.csv"
    rows = [["rival", *codes, _text(value), _text(value)] for codes, value in case.known.items()]
    path.write_text(_csv([["attacker", *case.public.dims, "lower", "upper"], *rows]))
    return path


def _input(case: GateCase, folder: Path) -> tuple[Path, list[str]]:
    """The table as a file, and the options that say how to read it."""
    table = case.table
    assert table is not None
    if case.source == "equations":
        path = folder / "table.jj"
        path.write_text(_jj(table))
        return path, ["--decimals", str(table.decimals)]
    columns = _columns(table)
    levels = any(map(any, table.secret.at_risk.values()))
    kind = (".csv", ".csv", ".tsv", ".parquet")[case.seed % 4]
    path = folder / f"table{kind}"
    if kind == ".parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    else:
        path.write_text(_csv([list(columns), *zip(*columns.values(), strict=True)], "\t" if kind == ".tsv" else ","))
    words = ["--dims", ",".join(table.public.dims), "--value", "value!", "--status", "status!"]
    words += ["--empty", table.empty, "--decimals", str(table.decimals)]
    words += [w for side in ("lpl", "upl", "spl") for w in (f"--{side}", f"{side}!")] if levels else []
    kept = [table.keep] if isinstance(table.keep, str) else [_csv([codes]).rstrip("\n") for codes in table.keep]
    words += [] if table.additive is None else ["--additive", table.additive]
    words += [w for cell in kept for w in ("--keep-value", cell)]
    words += ["--lower", "none"] if table.public.lower is None else []
    words += [] if table.public.upper is None else ["--upper", _text(table.public.upper)]
    for dim, own in table.trees.items():
        for k, tree in enumerate(own if _deep(own) else ()):
            words += ["--hierarchy", f"{dim}={_tree_file(folder, dim, k, tree, hrc=case.seed % 2 == 0)}"]
    return path, words


def _tree_file(folder: Path, dim: str, k: int, tree: Parents, *, hrc: bool) -> Path:
    if not hrc:
        path = folder / f"{dim}{k}.csv"
        path.write_text(_csv([["child", "parent"], *tree.items()]))
        return path
    below = dict(_sums(tree))
    lines: list[str] = []
    line = [(code, 0) for code in reversed(below[TOTAL])]
    while line:
        code, depth = line.pop()
        lines.append("@" * depth + code)
        line += [(child, depth + 1) for child in reversed(below.get(code, ()))]
    path = folder / f"{dim}{k}.hrc"
    path.write_text("\n".join(lines) + "\n")
    return path


def _columns(table: RandomTable) -> dict[str, list[str]]:
    """A long table of texts; its own columns end in !, which no dimension does."""
    secret, cells = table.secret, table.shown
    out = {dim: [codes[k] for codes in cells] for k, dim in enumerate(table.public.dims)}
    out["value!"] = [_text(table.given.get(codes, secret.truth[codes])) for codes in cells]
    out["status!"] = ["u" if c in secret.at_risk else "z" if c in secret.fixed else "s" for c in cells]
    if any(map(any, secret.at_risk.values())):
        for k, side in enumerate(("lpl", "upl", "spl")):
            out[f"{side}!"] = [_levels(table, codes)[k] for codes in cells]
    return out


def _levels(table: RandomTable, codes: Codes) -> list[str]:
    """The levels of a cell as texts."""
    own = table.secret.at_risk.get(codes, (Fraction(0),) * 3)
    return ["inf" if table.endless.get(codes) == k else _text(level) for k, level in enumerate(own)]


def _jj(table: RandomTable) -> str:
    secret = table.secret
    assert table.public.equations is not None
    lines = ["0", str(len(secret.truth))]
    low = "-999999999" if table.public.lower is None else "0"
    high = "999999999" if table.public.upper is None else _text(table.public.upper)
    for codes, value in secret.truth.items():
        status = "u" if codes in secret.at_risk else "z" if codes in secret.fixed else "s"
        levels = _levels(table, codes)
        lines.append(" ".join([codes[0], _text(value), "1", status, low, high, *levels]))
    lines.append(str(len(table.public.equations)))
    for equation in table.public.equations:
        terms = " ".join(f"{codes[0]} ({coef})" for codes, coef in equation.terms)
        lines.append(f"0 {len(equation.terms)} : {terms}")
    return "\n".join(lines) + "\n"


# ---- jobs --------------------------------------------------------------------------------------------------------------------------------------


def _job(case: GateCase, folder: Path) -> Out:
    own = case.records
    said: dict[str, dict[str, Any]] = {"input": {}, "roles": {}, "hierarchies": {}}
    trees = case.table.trees if case.table is not None else own.trees if own is not None else {}
    for dim, tree in trees.items():
        if _deep(tree):
            said["hierarchies"][dim] = _tree_file(folder, dim, 0, tree[0], hrc=case.seed % 2 == 0).name
    manual = ""
    if own is not None:
        columns = {name: ["" if x is None else x for x in column] for name, column in own.records.columns.items()}
        (folder / "records.csv").write_text(_csv([list(columns), *zip(*columns.values(), strict=True)]))
        said["input"] = {"file": "records.csv"}
        said["roles"] = {k: v for k, v in {**_roles(own), "empty": own.empty}.items() if v is not None}
        said["risk"] = {"rules": [_rule_text(kind, options) for kind, options in own.rules if kind != "manual"]}
        said["risk"] |= {"waivers": list(own.waivers)} if own.waivers else {}
        said["risk"] |= {"frozen": [list(codes) for codes in own.frozen]} if own.frozen else {}
        if own.levels:
            sides = [dict(zip(("lpl", "upl", "spl"), levels, strict=True)) for levels in own.levels.values()]
            said["risk"]["levels"] = [
                {"cell": list(c), **own_levels} for c, own_levels in zip(own.levels, sides, strict=True)
            ]
        for kind, options in own.rules:
            if kind == "manual":
                cells = json.dumps([list(codes) for codes in options["cells"]])
                units = f"units = {options['units']}\n" if "units" in options else ""
                manual += f'[[manual]]\ncells = {cells}\nreason = "expert"\n{units}'
        said["attackers"] = {"respondents": 2 if own.insiders else 0}
    else:
        table = case.table
        assert table is not None
        columns = _columns(table)
        (folder / "table.csv").write_text(_csv([list(columns), *zip(*columns.values(), strict=True)]))
        said["input"] = {"file": "table.csv", "kind": "table"}
        said["roles"] = {
            "dims": list(table.public.dims),
            "value": "value!",
            "status": "status!",
            "empty": table.empty,
        }
        said["roles"] |= {side: f"{side}!" for side in ("lpl", "upl", "spl") if f"{side}!" in columns}
        said["roles"] |= {"lower": -1_000_000} if table.public.lower is None else {}
        said["roles"] |= {"decimals": table.decimals}
        kept = table.keep if isinstance(table.keep, str) else [list(codes) for codes in table.keep]
        said["roles"] |= {} if table.additive is None else {"additive": table.additive, "keep_values": kept}
        said["roles"] |= {} if table.public.upper is None else {"upper": int(table.public.upper)}
        if case.known:
            said["attackers"] = {"file": _attackers(case, folder).name}
    cells = {name: [list(codes) for codes in case.options[name]] for name in CELLS if name in case.options}
    said["method"] = {"name": case.method, "time_limit_s": LIMIT_S, **case.options, **cells}
    if "grid" in case.options and case.options["grid"] is None:
        said["method"]["grid"] = "none"
    if case.weights:
        said["method"]["weights"] = case.weights
    said["output"] = {"folder": "out", "key_file": _key_file(case, folder).name}
    text = "\n".join(f"[{name}]\n{_toml(section)}" for name, section in said.items() if section) + manual
    (folder / "job.toml").write_text(text)
    if case.seed % 3 == 0:  # by the command, with what it prints
        return _invoked(case, folder, ["run", str(folder / "job.toml"), "--json"])
    job = Job.read(folder / "job.toml")
    made = job.table()
    p = job.protect(made)
    if not p.releasable:
        raise Refused(f"{p.status}: {p.reason}")
    job.write(made, p)
    return _folder(case, folder / "out")


def _rule_text(kind: str, options: Mapping[str, Any]) -> str:
    return f"{RULES[kind]}({', '.join(f'{name}={value!r}' for name, value in options.items())})"


def _toml(section: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {_toml_value(value)}\n" for name, value in section.items())


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{k}" = {_toml_value(v)}' for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


# ---- τ-ARGUS batches -----------------------------------------------------------------------------------------------------------------------


def _batch(case: GateCase, folder: Path) -> Out:
    own = case.records
    assert own is not None
    dims = own.records.dims
    lines = [f"{dim} {2 * k + 1} 1\n  <RECODEABLE>\n  <TOTCODE> {TOTAL}" for k, dim in enumerate(dims)]
    lines.append(f"V {2 * len(dims) + 1} 5\n  <NUMERIC>")
    (folder / "data.rda").write_text("\n".join(lines) + "\n")
    columns = own.records.columns
    rows = zip(*(columns[dim] for dim in dims), columns["amount"], strict=True)
    (folder / "data.asc").write_text("".join(f"{' '.join(map(str, codes))} {v:>5}\n" for *codes, v in rows))
    rules = {
        "threshold": lambda o: f"FREQ({o['n']},{o['percent']})",
        "p_percent": lambda o: f"P({o['p']},{o['n']})",
        "dominance": lambda o: f"NK({o['n']},{o['k']})",
    }
    asked = "|".join(rules[kind](options) for kind, options in own.rules)
    named = "".join(f'"{dim}"' for dim in dims)
    response = '"<freq>"' if own.records.measure is None else '"V"'
    options = case.options
    how = f"RND(1,{options['base']},{options['steps']})" if case.method == "round" else "CTA(1)"
    how = "OPT(1,1)" if case.method == "suppress" else how
    (folder / "b.arb").write_text(
        f'<OPENMICRODATA> "data.asc"\n<OPENMETADATA> "data.rda"\n<SPECIFYTABLE> {named}|{response}||\n'
        f"<SAFETYRULE> {asked}\n<READMICRODATA>\n<SUPPRESS> {how}\n"
        '<WRITETABLE> (1,3,SE+,"r3.txt")\n<WRITETABLE> (1,2,,"r2.txt")\n<WRITETABLE> (1,1,,"r1.csv")\n'
    )
    done = Batch(folder / "b.arb").run(key=bytes.fromhex(case.key), threads=1)
    if done.infeasible:
        raise Refused(done.infeasible)
    claim = read_claim(folder / "r3.txt.certificate.json.gz")
    crosses = "x" if case.method == "suppress" else None
    values = read_code_value(folder / "r3.txt", len(dims), crosses)
    out = Out(Published(values=values, method=claim.method, decimals=claim.decimals), None)
    out.writers = ["τ-ARGUS 1", "τ-ARGUS 2", "τ-ARGUS 3"]
    if read_code_value(folder / "r2.txt", len(dims), crosses) != values:
        out.wrong.append("the pivot file (type 2) differs from code and value (type 3)")
    if read_grid(folder / "r1.csv", len(dims), crosses) != values:
        out.wrong.append("the grid (type 1) differs from code and value (type 3)")
    rows_in_order = [done.tables[0].labels.tuple_of(i) for i in range(done.tables[0].cells)]
    if set(rows_in_order) == set(values):
        out.published = Published(
            values={codes: values[codes] for codes in rows_in_order}, method=claim.method, decimals=claim.decimals
        )
        out.claim = claim
    return out


# ---- files ---------------------------------------------------------------------------------------------------------------------------------


def _folder(case: GateCase, folder: Path) -> Out:
    published = read_release(folder, case.public.dims)
    out = Out(published, read_claim(folder / "certificate.json.gz"))
    out.writers = ["release.csv"]
    out.wrong += [f"a spreadsheet would run {text!r}" for text in runnable(folder / "release.csv")]
    return out


def _cell(case: GateCase, codes: Codes) -> Any:
    return int(codes[0]) if case.source == "equations" else codes


def _csv(rows: Any, separator: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _text(value: Fraction) -> str:
    """A decimal number in plain digits."""
    for places in range(6):
        if (value * 10**places).denominator == 1:
            whole = abs(int(value * 10**places))
            digits = str(whole).rjust(places + 1, "0")
            text = digits if not places else f"{digits[:-places]}.{digits[-places:]}"
            return f"-{text}" if value < 0 else text
    raise ValueError(value)


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(_text(value))


def without_particulars(sentence: str) -> str:
    """A sentence without names, numbers and places, so that like ones can be counted together."""
    sentence = re.sub(r"^(exit \d+: )?(cellward: )?(\S*b\.arb line \d+ <SUPPRESS>: )?(infeasible[:;] )?", "", sentence)
    sentence = re.sub(r"\S*/\S+/", "", sentence)
    sentence = re.sub(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|cell \d+", "…", sentence)
    sentence = re.sub(r"-?\d[\d.]*", "n", sentence)
    sentence = re.sub(r"(n (below|above|of width)( and )?)+", "so far ", sentence)
    return re.split(r"[;:]| from attacker|, whatever", sentence)[0][:100].strip()
