"""The house rules: who may import whom, and what stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "cellward"
MODULES = sorted(SOURCE.rglob("*.py"))
SOLVERS = {"highspy", "ortools", "clarabel", "pyscipopt", "numba"}

# Rooms in the order in which data passes through them; a room imports from earlier ones only. Each is ranked once.
ROOMS = (
    "errors", "version", "exact", "files", "notebook", "key", "hierarchy", "table", "tabulate", "risk", "formats", "tauargus.files", "registry",
    "convert", "instance", "publication", "objective", "solve", "audit", "protection", "protect", "additive", "advise", "compare", "report",
    "manifest", "outputs", "tauargus.batch", "job", "recheck", "server", "client", "cli", "__main__",
)  # fmt: skip
FACADE = {
    "hierarchy.py": {"formats.hrc", "formats.hierarchy_file"},
    "protection.py": {"report.written", "report.pictures.drawn"},
    "table/assemble.py": {"additive.made"},
    "table/link.py": {"risk.linked_findings"},
    "table/table.py": {"tabulate.build", "tabulate.roles", "risk.find", "risk.attacker", "risk.policy", "risk.rule"},
}
"""Names by which users begin (Hierarchy.from_hrc, Table.from_microdata, table.find) and end (p.report, p.plot), and readers that make tables
additive, reach later rooms, when they are called."""
LATE = {
    "audit/swaps.py": {"table.leaves"},
    "compare/comparison.py": {"compare.chart"},
    "hierarchy.py": {"formats.hrc", "formats.hierarchy_file"},
    "protect/adjustment/cone.py": {"solve.cones"},
    "protect/adjustment/method.py": {"protect.adjustment.attempt", "protect.adjustment.repaired"},
    "protect/adjustment/sums.py": {"solve.least_squares", "table.leaf_sums"},
    "protect/lattice/staged_flow.py": {"solve.staged_flow"},
    "protect/perturbation/method.py": {"protect.perturbation.attempt", "protect.perturbation.further"},
    "protection.py": {"report.written", "report.pictures.drawn"},
    "risk/attacker.py": {"risk.insiders"},
    "table/assemble.py": {"additive.made"},
    "table/link.py": {"risk.linked_findings"},
    "table/relations.py": {"table.leaves", "table.compact", "table.network"},
    "table/table.py": {
        "tabulate.build",
        "tabulate.roles",
        "risk.find",
        "table.array",
        "table.frame",
        "table.equations",
    },
    "tabulate/warehouse.py": {"tabulate.build", "tabulate.warehouse_leaves"},
}
"""Imports inside functions: the facade, and what loads scipy or a solver's room only when it is needed."""
RANK = {name: k for k, name in enumerate(ROOMS)}


def imports(path):
    """(module, name) pairs of every import, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                base = ("cellward", *path.relative_to(SOURCE).parts[:-1])
                module = ".".join((*base[: len(base) - node.level + 1], *([module] if module else [])))
            yield module
            if module == "cellward":
                yield from (f"cellward.{alias.name}" for alias in node.names)


def room(module):
    parts = module.split(".")
    if parts[0] != "cellward" or len(parts) < 2:
        return None
    return ".".join(parts[1:3]) if parts[1] == "tauargus" else parts[1]


def own_room(path):
    return room(".".join(("cellward", *path.relative_to(SOURCE).with_suffix("").parts)))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_follow_the_arrow(path):
    own = own_room(path)
    if own in ("__init__", "tauargus.__init__"):
        return
    beyond = FACADE.get(path.relative_to(SOURCE).as_posix(), set())
    for module in imports(path):
        if module.removeprefix("cellward.") in beyond:
            continue
        if (other := room(module)) is not None:
            assert RANK[other] <= RANK[own], f"{path} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_only_solve_imports_a_solver(path):
    if "solve" not in path.relative_to(SOURCE).parts:
        assert not {module.split(".")[0] for module in imports(path)} & SOLVERS


def test_each_room_is_ranked_once_and_every_room_is_ranked():
    assert len(set(ROOMS)) == len(ROOMS)
    assert {own_room(path) for path in MODULES} - {"__init__", "tauargus.__init__"} == set(ROOMS)


def test_imports_inside_functions_are_listed():
    found = {}
    for path in MODULES:
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                modules = {node.module for node in ast.walk(function) if isinstance(node, ast.ImportFrom)}
                late = {module.removeprefix("cellward.") for module in modules if module.startswith("cellward.")}
                if late:
                    found.setdefault(path.relative_to(SOURCE).as_posix(), set()).update(late)
    assert found == LATE


def test_audit_never_imports_protect():
    for path in (SOURCE / "audit").glob("*.py"):
        assert not any(room(module) == "protect" for module in imports(path))


def test_verify_stands_alone():
    used = {module.split(".")[0] for module in imports(SOURCE / "audit" / "verify.py")}
    assert used <= set(sys.stdlib_module_names)
    lines = (SOURCE / "audit" / "verify.py").read_text().splitlines()
    assert sum(line.strip() != "" for line in lines) <= 1170


def test_importing_cellward_loads_nothing_heavy():
    heavy = (
        "scipy",
        "highspy",
        "ortools",
        "duckdb",
        "pandas",
        "polars",
        "narwhals",
        "rich",
        "fastapi",
        "uvicorn",
        "matplotlib",
    )
    code = f"import cellward, sys; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_a_small_table_needs_no_worker():
    code = (
        "import cellward as cw; from cellward.solve import worker\n"
        "worker.call = None\n"
        "p = cw.ControlledRounding(5).protect(cw.Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]))\n"
        "import sys; print(p.objective, 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == [
        "16",
        "False",
    ]


def test_verify_runs_as_a_copied_file(tmp_path):
    import cellward as cw

    p = cw.ControlledRounding(5).protect(cw.Table.from_array([[1, 2], [3, 4]]))
    path = p.certificate().save(tmp_path / "certificate.json.gz")
    copy = tmp_path / "verify.py"
    copy.write_text((SOURCE / "audit" / "verify.py").read_text())
    done = subprocess.run(
        [sys.executable, "-I", str(copy), str(path)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0
    assert "holds" in done.stdout
