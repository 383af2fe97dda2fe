"""The tables of a session: records added up, or cells read, with recodings, costs and rules as the batch says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellward.errors import InputError
from cellward.files.text import naming
from cellward.hierarchy import Hierarchy
from cellward.risk.concentration import Concentration
from cellward.table.table import Table
from cellward.tauargus.batch.batch_table import BatchTable, branches_note, missing_cells, of_shadow, with_cost
from cellward.tauargus.batch.rules import Rules
from cellward.tauargus.batch.sessions import BatchSession, is_count
from cellward.tauargus.files.arb import Recode, SpecifyTable
from cellward.tauargus.files.asc import Columns, numbers_of, read_asc
from cellward.tauargus.files.codes import Codes, hierarchy_of, missing_codes
from cellward.tauargus.files.grc import Recoding, closed, cut
from cellward.tauargus.files.rda import Variable
from cellward.tauargus.files.tab import TabSpec, read_tab_and_trees


@dataclass
class _Dimension:
    """A dimension of records after its recodings."""

    codes: list[str]
    tree: Hierarchy | None
    variable: Variable
    """With the codes for missing that hold after the recodings."""

    @property
    def missing(self) -> list[str]:
        """The codes for missing that occur."""
        return missing_codes(self.variable, self.codes)


def tables_of(session: BatchSession, threads: int | None = None) -> list[BatchTable]:
    """All tables of a session."""
    if session.is_table:
        return [_from_cells(session, k, session.rules(k)) for k in range(len(session.tables))]
    made = _FromRecords(session, threads)
    return [made.table(spec, session.rules(k)) for k, spec in enumerate(session.tables)]


# ---- cells -------------------------------------------------------------------------------------------------------------------------------


def _from_cells(session: BatchSession, k: int, rules: Rules) -> BatchTable:
    """A table of a .tab file; with rules, the statuses of the file do not count (P excepted), as in τ-ARGUS."""
    assert session.read is not None
    spec, metadata = session.tables[k], session.of[k].metadata
    variables = [metadata.variable(name, spec.where) for name in spec.dims]
    shut = _closed_codes(session, k, variables)
    response = None if is_count(spec.response) else spec.response
    if response is None:
        counts = metadata.of_role("frequency")
        if not counts:
            raise InputError(f"{spec.where}: no variable in {metadata.path.name} is a <FREQUENCY>; name the response")
        response = counts[0].name
    table, trees = read_tab_and_trees(
        session.of[k].source,
        metadata,
        TabSpec(
            dims=spec.dims,
            response=response,
            shadow=spec.shadow or None,
            cost=_cost_of_cells(spec, response),
            totals="compute" if session.read.mode == "1" else "given",
            keep_status=session.read.keep_status,
            manual_percent=rules.manual_percent,
            closed=shut,
        ),
    )
    if spec.cost in ("-1", "-2"):
        table = with_cost(table, spec.cost)
    c = table.contributions
    made = BatchTable(
        table=table,
        rules=rules,
        response=response,
        counts=metadata.variable(response, spec.where).role == "frequency",
        trees=trees,
        more_codes={},
        by_distance=spec.cost == "-3",
        scaled_levels=c is not None and bool((c.size != np.abs(table.scaled)).any()),
    )
    safe = missing_cells(table, variables) if rules.missing_safe else ()
    if not rules.rules:
        return made
    found = made.find(table, *safe)
    let_go = len(set(table.sensitive.tolist()) - set(found.sensitive.tolist()))
    note = f"{let_go} cells that the file calls unsafe are safe by the rules, which count instead of its statuses"
    return replace(made, table=found, notes=(note,) if let_go else ())


def _cost_of_cells(spec: SpecifyTable, response: str) -> str | None:
    if spec.cost in ("-1", "-2"):
        return response
    return spec.cost or None


def _closed_codes(session: BatchSession, k: int, variables: list[Variable]) -> dict[str, list[str]]:
    """The codes that tree recodes and levels close, by variable of a table of cells."""
    shut: dict[str, list[str]] = {}
    metadata = session.of[k].metadata
    for step in session.steps:
        if isinstance(step, Recode) and k in session.numbers(step):
            variable = metadata.variable(step.variable, step.where)
            if variable not in variables:
                continue
            recoding = session.recoding(step)
            if isinstance(recoding, int):
                tree = hierarchy_of(variable, metadata, ())
                if tree is None:
                    raise InputError(
                        f"{step.where}: levels of digits cannot be cut in a table; name the codes to close with <TREERECODE>"
                    )
                shut.setdefault(variable.name, []).extend(cut(tree, recoding))
            else:
                shut.setdefault(variable.name, []).extend(recoding.close)
    return shut


# ---- records -----------------------------------------------------------------------------------------------------------------------------


class _FromRecords:
    """The records of a session, read once, and the tables made of them."""

    def __init__(self, session: BatchSession, threads: int | None) -> None:
        self.session, self.threads = session, threads
        self.source, self.metadata = session.opened[0].source, session.opened[0].metadata
        wanted: dict[str, None] = {}
        for k, spec in enumerate(session.tables):
            rules = session.rules(k)
            names = [*spec.dims, *(name for name in (spec.response, spec.shadow, spec.cost) if name)]
            found = [self.metadata.find(name) for name in names if not is_count(name) and name not in ("-1", "-2")]
            used = {"weight": rules.weighted, "holding": rules.holdings, "request": rules.requested}
            found += [v for v in self.metadata.variables if used.get(v.role, False)]
            wanted.update((v.name, None) for v in found if v is not None)
        self.columns: Columns = read_asc(self.source, self.metadata, list(wanted))
        self.dimensions: dict[str, _Dimension] = {}

    def table(self, spec: SpecifyTable, rules: Rules) -> BatchTable:
        """One table: values of the response, contributions of the shadow variable, weights by the cost."""
        metadata = self.metadata
        variables = [metadata.variable(name, spec.where) for name in spec.dims]
        counts = is_count(spec.response)
        response = None if counts else metadata.variable(spec.response, spec.where)
        shadow = metadata.variable(spec.shadow, spec.where) if spec.shadow and not counts else response
        if counts and any(isinstance(rule, Concentration) for rule in rules.rules):
            raise InputError(f"{spec.where}: the table counts records, and P and NK rules are of amounts; use FREQ")
        decimals = None if rules.weighted else self._decimals(response, shadow)
        table = self._added_up(variables, response, rules, decimals)
        other = shadow is not None and response is not None and shadow.name != response.name
        if other:
            whose = self._added_up(variables, shadow, rules, table.decimals).contributions
            assert whose is not None
            table = replace(table, contributions=of_shadow(whose))
        table = self._with_cost(table, spec, variables, rules)
        own = {v.name: self._dimension(v) for v in variables}
        made = BatchTable(
            table=table,
            rules=rules,
            response="Freq" if response is None else response.name,
            counts=counts,
            trees={name: one.tree for name, one in own.items() if one.tree is not None},
            more_codes={
                name: [code.rjust(one.variable.width) for code in one.variable.missing] for name, one in own.items()
            },
            by_distance=spec.cost == "-3",
            scaled_levels=other,
            notes=tuple(note for v in variables if (note := branches_note(v, own[v.name].tree))),
        )
        safe = missing_cells(table, [one.variable for one in own.values()]) if rules.missing_safe else ()
        return replace(made, table=made.find(table, *safe)) if rules.rules else made

    def _added_up(
        self, variables: list[Variable], measure: Variable | None, rules: Rules, decimals: int | None
    ) -> Table:
        metadata = self.metadata
        dims = {v.name: self._dimension(v) for v in variables}
        rows: dict[str, Any] = {name: own.codes for name, own in dims.items()}
        extra: dict[str, Any] = {}
        for role, used in (("weight", rules.weighted), ("holding", rules.holdings), ("request", rules.requested)):
            found = metadata.of_role(role)
            if used and found:
                extra[role] = found[0].name
                rows[found[0].name] = self.columns[found[0].name]
        if "request" in extra:
            v = metadata.variable(extra["request"], "")
            rows[v.name] = [(text or "").strip() for text in rows[v.name]]
            extra["request_codes"] = list(v.request_codes) or ["1"]
        if measure is not None:
            rows[measure.name] = self._complete(measure)
        with naming(self.source):
            return Table.from_microdata(
                rows,
                dims=list(dims),
                measure=None if measure is None else measure.name,
                hierarchies={name: own.tree for name, own in dims.items() if own.tree is not None},
                total={v.name: v.total for v in variables},
                missing="keep",
                missing_codes={name: own.missing for name, own in dims.items() if own.missing},
                largest=max(3, min(20, rules.largest)),
                negative="absolute",
                decimals=decimals,
                threads=self.threads,
                **extra,
            )

    def _complete(self, measure: Variable) -> list[str | None]:
        """The numbers of a variable; a missing one is refused, where τ-ARGUS adds up the code for missing as if it were an amount."""
        column = numbers_of(self.columns[measure.name], measure)
        if None in column:
            others = column.count(None) - 1
            more = f" (and in {others} more)" if others else ""
            raise InputError(
                f"{self.source} record {column.index(None) + 1}: {measure.name} is missing{more}; fill it in, write 0 where nothing is "
                "contributed, or take the record out"
            )
        return column

    def _decimals(self, *measures: Variable | None) -> int | None:
        """The decimals that the metadata declare, or more where the records have more."""
        most = 0
        for v in measures:
            if v is not None:
                texts = [text for text in numbers_of(self.columns[v.name], v) if text is not None]
                if any("e" in text or "E" in text for text in texts):
                    return None
                most = max(most, v.decimals, *(len(text.partition(".")[2]) for text in texts), 0)
        return most

    def _with_cost(self, table: Table, spec: SpecifyTable, variables: list[Variable], rules: Rules) -> Table:
        if not spec.cost or spec.cost in ("-1", "-2", "-3"):
            return with_cost(table, spec.cost)
        measure = self.metadata.variable(spec.cost, spec.where)
        if measure.name.casefold() == spec.response.casefold():
            return table
        other = self._added_up(variables, measure, rules, None)
        return replace(table, weight=np.abs(other.scaled), weight_decimals=other.decimals)

    def _dimension(self, v: Variable) -> _Dimension:
        """The codes of a variable after the recodings that the batch gives it."""
        if v.name in self.dimensions:
            return self.dimensions[v.name]
        texts = [text or "" for text in self.columns[v.name]]
        tree = hierarchy_of(v, self.metadata, dict.fromkeys(texts))
        if tree is not None:
            known = Codes(tree.codes, v.total)
            own = {text: (known.find(text) if text.strip() else None) or text for text in dict.fromkeys(texts)}
            texts = [own[text] for text in texts]
        made = _Dimension(texts, tree, v)
        for step in self.session.steps:
            if isinstance(step, Recode) and self.metadata.variable(step.variable, step.where) == v:
                made = self._recoded(made, step)
        self.dimensions[v.name] = made
        return made

    def _recoded(self, made: _Dimension, step: Recode) -> _Dimension:
        """The dimension after one recoding."""
        recoding: Recoding | int = self.session.recoding(step)
        v, tree = made.variable, made.tree
        if isinstance(recoding, int) or recoding.is_tree:
            if tree is None:
                raise InputError(
                    f"{step.where}: {v.name} has no hierarchy of which branches could be closed; give a file of groups"
                )
            shut = cut(tree, recoding) if isinstance(recoding, int) else list(recoding.close)
            if not shut:
                return made
            tree, above = closed(tree, shut, step.where)
            return _Dimension([above.get(text, text) for text in made.codes], tree, v)
        own = recoding.new_codes(dict.fromkeys(made.codes), v.width)
        named = replace(v, missing=recoding.missing or v.missing)
        return _Dimension([own[text] for text in made.codes], None, named)
