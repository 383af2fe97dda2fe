"""Batch: a τ-ARGUS batch file, looked through for what we do not do, then carried out; outputs appear when all of it has succeeded."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cellward.audit.audit import audit
from cellward.errors import InputError
from cellward.exact import Bools, Ints
from cellward.files.scratch import scratch_folder
from cellward.files.whole import Whole, check_folder, write_all
from cellward.files.within import allowing_outside
from cellward.protect.method import BatchRun
from cellward.protect.stopped import Stopped
from cellward.protection import Protection
from cellward.publication.release import Release
from cellward.publication.withheld import Withheld
from cellward.report.sections.outcome import notes
from cellward.risk.attacker import Attacker
from cellward.table.link import link
from cellward.table.table import Table
from cellward.tauargus.batch.apriori import Said, apply, take
from cellward.tauargus.batch.batch_table import BatchTable
from cellward.tauargus.batch.methods import solution_of
from cellward.tauargus.batch.sessions import BatchSession, sessions_of
from cellward.tauargus.batch.tables import tables_of
from cellward.tauargus.files.arb import Apriori, Recode, Suppress, WriteTable, read_arb
from cellward.tauargus.files.hst import read_hst
from cellward.tauargus.files.jj_output import with_whole_costs
from cellward.tauargus.files.output_files import output_files
from cellward.tauargus.files.output_table import Options, Written
from cellward.tauargus.files.references import find_beside, resolve, target
from cellward.tauargus.files.statuses import style, with_pattern, withheld

CERTIFICATE, OF_SUMS = ".certificate.json.gz", ".sums.certificate.json.gz"
"""What the names of proofs end in: of the table, and of sums of its cells."""
PUBLIC = (1, 2, 3)
"""Output types that may be public, once the table is protected."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """What came of a batch: lines to be read, the files written and whether each is public, and the protections that were made.

    ``infeasible`` is the reason why a table could not be protected; nothing was written then.
    """

    lines: tuple[str, ...]
    files: tuple[tuple[Path, bool], ...] = ()
    tables: tuple[Table, ...] = ()
    protections: tuple[Protection, ...] = ()
    infeasible: str = ""


@dataclass
class _State:
    """A table on its way through the steps of a session."""

    made: BatchTable
    table: Table
    said: Said = field(default_factory=Said)
    published: Ints | None = None
    hidden: Bools | None = None
    """Which cells are withheld, by a suppression."""
    protection: Protection | None = None
    suffix: str = ""

    def forget(self) -> None:
        """The table is another now."""
        self.published, self.hidden, self.protection, self.suffix = None, None, None, ""


class Batch:
    """A batch file. ``refusals`` has a sentence for every command that is not carried out; a batch with one is not run.

    ``outside``: whether it, and the files it names, may name files outside their own folders.
    """

    def __init__(self, path: str | os.PathLike[str], *, outside: bool = False) -> None:
        self.path, self.outside = Path(path), outside
        with allowing_outside(allowed=outside):
            self._look_through()

    def _look_through(self) -> None:
        self.sessions, self.notes, refused = sessions_of(read_arb(self.path))
        if not self.sessions and not refused:
            raise InputError(f"{self.path}: opens no data; begin with <OPENMICRODATA> or <OPENTABLEDATA>")
        self.refusals: list[str] = [*refused, *(said for session in self.sessions for said in session.refusals())]
        if not self.refusals:
            self._check_targets()

    @cached_property
    def read(self) -> set[Path]:
        """Every file that is read."""
        files = {self.path}
        for session in self.sessions:
            for one in session.opened:
                files |= {one.source, one.metadata.path}
                named = [v.hierarchy_file for v in one.metadata.variables if v.hierarchy_file is not None]
                files |= {find_beside(name, one.metadata.path) or self.path for name in named}
            files |= {resolve(s.file, self.path, s.where) for s in session.steps if isinstance(s, Apriori)}
            recodings = [session.recoding(s) for s in session.steps if isinstance(s, Recode)]
            files |= {recoding.path for recoding in recodings if not isinstance(recoding, int)}
        return {file.resolve() for file in files}

    def _check_targets(self) -> None:
        """Refuse outputs that could not be written, that stand for each other, or over a file that is read."""
        written: list[Path] = []
        for session in self.sessions:
            for step in session.steps:
                if isinstance(step, WriteTable):
                    path = target(step.file, self.path)
                    check_folder(path)
                    written.append(path.resolve())
                    if path.resolve() in self.read or written.count(path.resolve()) > 1:
                        raise InputError(
                            f"{step.where}: {path.name} would be written over a file that is read, or over another output; choose another name"
                        )

    def run(
        self,
        *,
        statuses: str = "tauargus",
        threads: int | None = None,
        key: bytes | None = None,
    ) -> Done:
        """Carry the batch out; ``statuses`` says in whose words outputs with statuses have them, ``key`` salts the proofs."""
        style(statuses)
        if self.refusals:
            more = "" if len(self.refusals) == 1 else f" (and {len(self.refusals) - 1} more commands are refused)"
            raise InputError(f"{self.refusals[0]}{more}")
        run = _Run(self, statuses, threads, key)
        with allowing_outside(allowed=self.outside):
            for session in self.sessions:
                run.session(session)
                if run.infeasible:
                    break
            return run.finish()


class _Run:
    """One batch being carried out; outputs are made in a folder of their own and moved at the end."""

    def __init__(self, batch: Batch, statuses: str, threads: int | None, key: bytes | None) -> None:
        self.batch, self.statuses, self.threads, self.key = batch, statuses, threads, key
        self.lines: list[str] = list(batch.notes)
        self.outputs: list[tuple[Path, bytes, bool]] = []
        self.tables: list[Table] = []
        self.protections: list[Protection] = []
        self.certified: list[Protection] = []
        self.infeasible = ""

    def session(self, session: BatchSession) -> None:
        states = [_State(made, made.table) for made in tables_of(session, self.threads)]
        for k, state in enumerate(states, start=1):
            self._report(k, state.table)
            self.lines += [f"  {note}" for note in state.made.notes]
        for step in session.steps:
            numbers = session.numbers(step)
            if isinstance(step, Recode):
                self.lines.append(f"{step.variable} recoded by {step.by}")
            elif isinstance(step, Apriori):
                self._apriori(step, [states[k] for k in numbers])
            elif isinstance(step, Suppress):
                self._protect(step, states, numbers)
                if self.infeasible:
                    return
            else:
                self._write(step, states[numbers[0]])
        self.tables += [state.table for state in states]

    def _report(self, k: int, table: Table) -> None:
        self.lines.append(f"table {k}: {table!r}")
        if table.findings is not None:
            self.lines += [f"  {line}" for line in table.findings.lines()]

    def _apriori(self, step: Apriori, states: list[_State]) -> None:
        file = resolve(step.file, self.batch.path, step.where)
        for state in states:
            changes = read_hst(file, len(state.table.labels.dims), step.separator)
            self.lines += take(state.said, state.made, changes, ignore=step.ignore, expand=step.expand)
            state.table = apply(state.said, state.made)
            state.forget()
            self.lines.append(f"{file.name}: {len(changes)} lines read; {len(state.table.sensitive)} cells are unsafe")

    # ---- protecting ------------------------------------------------------------------------------------------------------------------------

    def _protect(self, step: Suppress, states: list[_State], numbers: list[int]) -> None:
        solution, called = solution_of(step)
        mine = [states[k] for k in numbers]
        table = mine[0].table if len(mine) == 1 else link(*(state.table for state in mine))
        try:
            plain = solution.unit_costs or solution.exact_costs
            found = solution.method.protect(
                table if plain else with_whole_costs(table),
                weights="distance"
                if mine[0].made.by_distance and not solution.unit_costs
                else _weights(solution, table),
                attackers=_attackers(table),
                time_limit_s=solution.time_limit_s,
                threads=self.threads,
                key=self.key,
            )
        except Stopped as stop:
            found = stop.best
        self.protections.append(found)
        if not found.releasable:
            self.infeasible = f"{step.where}: {found.status}; {found.reason}"
            return
        printed = found.release().publication
        places = [one.cell for one in table.labels.tables] or [np.arange(table.cells)]
        for state, place in zip(mine, places, strict=True):
            state.forget()
            if isinstance(printed, Withheld):
                state.hidden = printed.withheld[place]
            else:
                state.published = printed.start[place] // 10 ** (table.decimals - state.table.decimals)
            state.protection, state.suffix = found, called.suffix
        told = [*([solution.note] if solution.note else []), *notes(found)]
        self.lines += [self._said(step, solution, found), *(f"  note: {note}" for note in told)]

    def _said(self, step: Suppress, solution: BatchRun, found: Protection) -> str:
        told = found.knowledge is not None and found.knowledge.intervals
        held = "every level shown to hold" if told else "every cell at risk is off by its level"
        shown = {None: "no levels asked", True: held}.get(found.protected, "levels not looked at")
        loss, names = found.loss(), [attacker.name for attacker in found.instance.attackers]
        changed = f"sum of changes {loss.sum_abs:,}, largest {loss.max_abs:,}"
        if isinstance(found.publication, Withheld):
            changed = f"{loss.changed:,} cells withheld, {found.objective:,} the cost of those not at risk, gap {100 * (found.gap or 0):.3g} %"
        more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
        return (
            f"{step.method}: {found.status}, {changed}; verified, {shown} "
            f"({type(solution.method).__name__}, against {', '.join(names[:3])}{more})"
        )

    # ---- writing ---------------------------------------------------------------------------------------------------------------------------

    def _write(self, step: WriteTable, state: _State) -> None:
        options = Options.read(step.options, step.output, step.where)
        path = target(step.file, self.batch.path)
        made = state.made
        written = Written(
            table=state.table if state.hidden is None else with_pattern(state.table, state.hidden),
            response=made.response,
            counts=made.counts,
            published=state.published,
            suffix=state.suffix,
            more_codes=made.more_codes,
            largest=made.largest(holdings=options.holdings),
            trees=made.trees,
        )
        if options.audit and step.output == 5:
            if state.published is not None:
                raise InputError(
                    f"{step.where}: AR+ is of withheld cells, and the values of this table are changed; leave it out"
                )
            written = replace(written, intervals=_intervals(state.table, withheld(written.states), self.threads))
        protected = state.published is not None or state.hidden is not None
        public = step.output in PUBLIC and protected and not options.statuses
        for name, data in output_files(written, step.output, options, path.name, self.statuses).items():
            self.outputs.append((path.with_name(name), data, public))
        if state.protection is not None and state.protection not in self.certified:
            self._certify(state.protection, path)

    def _certify(self, protection: Protection, path: Path) -> None:
        """The proof goes beside the first output of a protected table."""
        self.certified.append(protection)
        proofs = [(protection.certificate(), CERTIFICATE)]
        if (of_sums := protection.certificate_of_sums()) is not None:
            proofs.append((of_sums, OF_SUMS))
        with scratch_folder() as folder:
            for proven, ending in proofs:
                file = proven.save(folder / (path.name + ending))
                self.outputs.append((path.with_name(file.name), file.read_bytes(), False))

    def finish(self) -> Done:
        """Write what was made, unless a table could not be protected."""
        if self.infeasible:
            return Done(lines=tuple(self.lines), protections=tuple(self.protections), infeasible=self.infeasible)
        paths = [path.resolve() for path, _, _ in self.outputs]
        for path, _, _ in self.outputs:
            check_folder(path)
            if path.resolve() in self.batch.read or paths.count(path.resolve()) > 1:
                raise InputError(
                    f"{self.batch.path}: {path.name}, which comes with an output, would be written over a file that is read, or over another "
                    "output; choose other names"
                )
        write_all([Whole(path, data, not public) for path, data, public in self.outputs])
        return Done(
            lines=tuple(self.lines),
            files=tuple((path, public) for path, _, public in self.outputs),
            tables=tuple(self.tables),
            protections=tuple(self.protections),
        )


def _weights(solution: BatchRun, table: Table) -> str | None:
    """The table's own costs, where it has some, or the sizes of its values."""
    if solution.exact_costs:
        return "value" if table.weight is None else "table"
    return None if solution.unit_costs else "table"


def _attackers(table: Table) -> list[Attacker]:
    """The external attacker, and where the rules know them those who stand behind the cells."""
    c = table.contributions
    if c is not None and c.parts is not None and table.findings is not None and len(table.findings.unsafe):
        return Attacker.from_data(table, respondents=min(2, c.kept))
    return [Attacker.external()]


def _intervals(table: Table, hidden: NDArray[np.bool_], threads: int | None) -> dict[int, tuple[Fraction, Fraction]]:
    """What the public can narrow the withheld cells down to."""
    cells = np.flatnonzero(hidden)
    if not len(cells):
        return {}
    release = Release(
        labels=table.labels,
        publication=Withheld.of(table.scaled, cells),
        decimals=table.decimals,
        method={"name": "suppression"},
        relations=table.relations,
        lower=table.lower,
        upper=table.upper,
        digest="",
    )
    found = audit(release, table=table, cells=cells.tolist(), threads=threads or 1).intervals
    ends = zip(found["cell"].tolist(), found["lower"].tolist(), found["upper"].tolist(), strict=True)
    out = {}
    for cell, low, high in ends:
        if abs(low) == float("inf") or abs(high) == float("inf"):
            raise InputError(
                f"{table.labels.name(int(cell))}: what is withheld leaves it open to one side, which an audit column cannot say; leave AR+ out"
            )
        out[int(cell)] = (Fraction(str(low)), Fraction(str(high)))
    return out
