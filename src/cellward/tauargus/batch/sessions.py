"""Sessions: a batch taken apart at every <CLEAR>, its commands in the order that τ-ARGUS asks for, and what of them is not carried out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cellward.errors import InputError
from cellward.tauargus.batch.methods import solution_of
from cellward.tauargus.batch.rules import Rules, rules_of
from cellward.tauargus.files.arb import (
    Apriori,
    Command,
    Open,
    ReadTable,
    Recode,
    SafetyRule,
    SpecifyTable,
    Suppress,
    WriteTable,
)
from cellward.tauargus.files.grc import Recoding, read_grc
from cellward.tauargus.files.output_table import Options
from cellward.tauargus.files.rda import Metadata, read_rda
from cellward.tauargus.files.references import resolve

PASSED_OVER = {
    "SOLVER": "the solver is chosen here",
    "GOINTERACTIVE": "there is no window to go to, the batch ends here",
    "LOGBOOK": "what is done is printed",
    "VERSIONINFO": "the version is printed by cellward --version",
    "SILENT": "nothing but this is printed",
}
"""Commands without an effect here, and why."""
REFUSED = {"COVER", "ANCO", "JJ", "REPORTSTR", "LINKMOD"}
"""Commands of τ-ARGUS' own or of long ago."""
Step = Recode | Apriori | Suppress | WriteTable


@dataclass(kw_only=True)
class Opened:
    """A file of records or cells, and the metadata that belong to it."""

    data: Open
    metadata_file: Open | None = None

    @property
    def is_table(self) -> bool:
        """Whether the data are cells and not records."""
        return self.data.name == "OPENTABLEDATA"

    @cached_property
    def source(self) -> Path:
        """The file of records or cells."""
        return resolve(self.data.file, self.data.line.path, self.data.where)

    @cached_property
    def metadata(self) -> Metadata:
        """What the columns are."""
        command = self.metadata_file
        if command is None:
            raise InputError(f"{self.data.where}: no <OPENMETADATA> follows; name the .rda file")
        kind = "table" if self.is_table else "records"
        return read_rda(resolve(command.file, command.line.path, command.where), kind)


@dataclass(kw_only=True)
class BatchSession:
    """Records, or one file of cells or several, with their tables, and what is done to them in order."""

    opened: list[Opened]
    tables: list[SpecifyTable] = field(default_factory=list)
    of: list[Opened] = field(default_factory=list)
    """Where each table comes from."""
    rules_given: dict[int, SafetyRule] = field(default_factory=dict)
    read: ReadTable | None = None
    steps: list[Step] = field(default_factory=list)

    @property
    def is_table(self) -> bool:
        """Whether the data are cells and not records."""
        return self.opened[0].is_table

    def rules(self, table: int) -> Rules:
        """The rules of a table (from 0)."""
        return rules_of(self.rules_given.get(table), self.of[table].metadata)

    def recoding(self, command: Recode) -> Recoding | int:
        """The recoding that a command names: a file, or a level."""
        if len(command.by) == 1 and command.by.isascii() and command.by.isdigit() and command.by != "0":
            return int(command.by)
        return read_grc(resolve(command.by, command.line.path, command.where))

    def numbers(self, command: Step) -> list[int]:
        """The tables that a step is about, from 0."""
        if command.table > len(self.tables):
            raise InputError(
                f"{command.where}: there is no table {command.table}, {len(self.tables)} are specified; correct the number"
            )
        return [command.table - 1] if command.table else list(range(len(self.tables)))

    def refusals(self) -> list[str]:
        """A sentence for every command that is not carried out."""
        found: list[str] = []

        def check(look: Callable[[], object]) -> None:
            try:
                look()
            except InputError as error:
                found.append(str(error))

        for one in self.opened:
            check(lambda one=one: one.source)  # type: ignore[misc]
            check(lambda one=one: one.metadata)  # type: ignore[misc]
        if found:
            return found
        for k, spec in enumerate(self.tables):
            check(lambda spec=spec, k=k: self._check_table(spec, k))  # type: ignore[misc]
        if self.read is not None and self.read.mode == "2":
            found.append(
                f"{self.read.where} 2: a table that does not add up cannot be protected here; let the totals be computed with 1"
            )
        changed: set[int] = set()
        for step in self.steps:
            check(lambda step=step: self._check_step(step, changed))  # type: ignore[misc]
        return found

    def _check_table(self, spec: SpecifyTable, k: int) -> None:
        metadata = self.of[k].metadata
        for name in spec.dims:
            if not metadata.variable(name, spec.where).recodable:
                raise InputError(f"{spec.where}: {name} is not <RECODEABLE> in {metadata.path.name}; mark it so")
        for name in (spec.response, spec.shadow):
            amounts = ("number", "shadow", "cost", "frequency")
            if name and not is_count(name) and metadata.variable(name, spec.where).role not in amounts:
                raise InputError(f"{spec.where}: {name} is not <NUMERIC> in {metadata.path.name}; name a number")
        if spec.cost and spec.cost not in ("-1", "-2", "-3"):
            metadata.variable(spec.cost, spec.where)
        if not re.fullmatch(r"1(\.0*)?", spec.exponent):
            raise InputError(
                f"{spec.where}: the exponent {spec.exponent} of the costs is not carried out; leave it out"
            )
        rules = self.rules(k)
        if self.is_table and rules.rules and not metadata.of_role("frequency"):
            raise InputError(
                f"{spec.where}: rules need to know how many stand behind each cell; give a <FREQUENCY> column, or use the statuses of the file"
            )
        if self.is_table and (rules.weighted or rules.holdings):
            raise InputError(
                f"{self.rules_given[k].where}: weights and holdings are of records, and the data are a table; leave the rule out"
            )

    def _check_step(self, step: Step, changed: set[int]) -> None:
        numbers = self.numbers(step)
        if isinstance(step, Recode):
            if changed:
                raise InputError(
                    f"{step.where}: recodings belong before a-priori files, <SUPPRESS> and <WRITETABLE>; move the line up"
                )
            variable = self.of[numbers[0]].metadata.variable(step.variable, step.where)
            recoding = self.recoding(step)
            tree = isinstance(recoding, int) or recoding.is_tree
            if tree and not variable.hierarchical:
                raise InputError(
                    f"{step.where}: {variable.name} has no hierarchy of which branches could be closed; give a file of groups"
                )
            if not tree and (variable.hierarchical or self.is_table):
                why = (
                    "is hierarchical"
                    if variable.hierarchical
                    else "is of a table, whose largest contributions cannot be put together"
                )
                raise InputError(
                    f"{step.where}: {variable.name} {why}; close branches of its hierarchy with <TREERECODE> instead"
                )
            return
        changed.update(numbers)
        if isinstance(step, Apriori):
            resolve(step.file, step.line.path, step.where)
        elif isinstance(step, Suppress):
            solution_of(step)
        else:
            options = Options.read(step.options, step.output, step.where)
            if not step.table:
                raise InputError(f"{step.where}: there is no table 0 to write; write the tables one by one")
            if step.output == 7:
                raise InputError(
                    f"{step.where}: output type 7 is of the cell key method, which is not among ours; use 1 to 6"
                )
            if options.skip_trivial:
                raise InputError(f"{step.where}: trivial levels stay in our JJ files; leave TR+ out")


def is_count(response: str) -> bool:
    """Whether a response is the number of records."""
    return response.strip().casefold() in ("<freq>", "<frequency>")


def sessions_of(commands: Sequence[Command]) -> tuple[list[BatchSession], list[str], list[str]]:
    """The sessions, the sentences for commands that have no effect, and those for commands that are refused."""
    sessions: list[BatchSession] = []
    notes: list[str] = []
    refused: list[str] = []
    session: BatchSession | None = None
    for command in commands:
        if command.name in PASSED_OVER:
            notes.append(f"{command.where} has no effect: {PASSED_OVER[command.name]}")
        elif command.name in REFUSED:
            refused.append(f"{command.where} is not carried out; take the line out")
        elif command.name == "CLEAR":
            session = None
        elif isinstance(command, Open) and command.name != "OPENMETADATA":
            session = _opened(session, command, sessions)
        elif session is None:
            raise InputError(f"{command.where}: no data are open; begin with <OPENMICRODATA> or <OPENTABLEDATA>")
        else:
            _add(session, command)
    for one in sessions:
        idle = [opened for opened in one.opened if opened not in one.of]
        if idle or one.read is None:
            lacking = "<SPECIFYTABLE>" if idle else "<READTABLE>" if one.is_table else "<READMICRODATA>"
            where = (idle or one.opened)[0].data.where
            raise InputError(f"{where}: no {lacking} follows; nothing would be done with the data")
    return sessions, notes, refused


def _opened(session: BatchSession | None, command: Open, sessions: list[BatchSession]) -> BatchSession:
    """The session with these data: a new one, or the one with further cells, which may then be linked."""
    one = Opened(data=command)
    if session is None:
        sessions.append(BatchSession(opened=[one]))
        return sessions[-1]
    if not (session.is_table and one.is_table) or session.read is not None:
        raise InputError(
            f"{command.where}: the data {session.opened[0].data.file} are open; put <CLEAR> before other data"
        )
    session.opened.append(one)
    return session


def _add(session: BatchSession, command: Command) -> None:
    """Put a command in its place, which must be the one τ-ARGUS has for it."""
    last = session.opened[-1]
    early, ready = last.metadata_file is None, session.read is not None
    if isinstance(command, Open):
        if not early:
            raise InputError(f"{command.where}: the metadata are named already; name them once")
        last.metadata_file = command
    elif early:
        raise InputError(f"{command.where}: stands before <OPENMETADATA>; name the .rda file first")
    elif isinstance(command, SpecifyTable | SafetyRule | ReadTable):
        if ready:
            raise InputError(
                f"{command.where}: the data are read already; specify tables before, or put <CLEAR> in between"
            )
        if isinstance(command, SpecifyTable):
            session.tables.append(command)
            session.of.append(last)
        elif not session.tables:
            raise InputError(f"{command.where}: no table is specified; put <SPECIFYTABLE> before it")
        elif isinstance(command, SafetyRule):
            if len(session.tables) - 1 in session.rules_given:
                raise InputError(
                    f"{command.where}: the table has its rules already; write all in one command, with | between them"
                )
            session.rules_given[len(session.tables) - 1] = command
        elif (command.name == "READTABLE") != session.is_table:
            raise InputError(
                f"{command.where}: does not go with <{last.data.name}>; use {'<READTABLE>' if session.is_table else '<READMICRODATA>'}"
            )
        else:
            session.read = command
    elif isinstance(command, Recode | Apriori | Suppress | WriteTable):
        if not ready:
            raise InputError(
                f"{command.where}: the data are not read yet; put <{'READTABLE' if session.is_table else 'READMICRODATA'}> before it"
            )
        session.steps.append(command)
