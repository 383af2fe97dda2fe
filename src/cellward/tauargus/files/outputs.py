"""τ-ARGUS' output types 1 to 4: a grid in CSV, a pivot table, code and value, and the form of structural business statistics."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from cellward.errors import InputError
from cellward.risk.concentration import Concentration
from cellward.risk.dominance import Dominance
from cellward.tauargus.files.output_table import Options, Written
from cellward.tauargus.files.statuses import EMPTY, UNSAFE, CellState, sbs, style


def grid(written: Written, options: Options) -> str:
    """Type 1: a block for each combination of the leading dimensions, the last two as rows and columns."""
    codes = written.codes
    if len(codes) == 1:
        codes = [[""], *codes]
    *leading, rows, columns = codes
    quoted = _quoting(options)
    lines: list[str] = []
    cells = iter(written.cell_at.tolist())
    for chosen in product(*leading):
        if chosen:
            lines.append(", ".join(f"Var {k},{quoted(code)}" for k, code in enumerate(chosen, start=1)))
        lines.append("," + ",".join(map(quoted, columns)))
        lines += [
            ",".join([quoted(row) if row else "", *(written.shown(next(cells)) for _ in columns)]) for row in rows
        ]
        lines.append("")
    return "\n".join(lines) + "\n"


def code_value(written: Written, options: Options, statuses: str = "tauargus") -> str:
    """Types 2 and 3: one line a cell. With statuses the true values are shown, beside a published one or with the status in words of ``statuses``."""
    quoted = _quoting(options)
    columns = style(statuses)
    lines = []
    if options.names:
        head = [*written.table.labels.dims, written.name]
        if options.statuses:
            head += [f"{written.response}_Orig"] if written.published is not None else list(columns)
        lines.append(",".join(map(quoted, head)))
    for codes, cell in written.rows(cells_only=options.skip_empty):
        empty = written.is_empty(cell)
        if empty and options.skip_empty:
            continue
        entries = list(map(quoted, codes))
        if written.published is not None:
            entries.append(written.shown(cell))
            if options.statuses:
                entries.append("-" if empty else written.true_texts[cell])
        elif options.statuses:
            entries.append("-" if empty else written.texts[cell])
            state = CellState(EMPTY) if cell < 0 else written.states[cell]
            entries += [own(state) for own in columns.values()]
        else:
            entries.append(written.shown(cell))
        lines.append(",".join(entries))
    return "\n".join(lines) + "\n"


def business(written: Written, options: Options) -> str:
    """Type 4: codes, [levels], value, frequency, flag, and the shares of the largest where a concentration rule found the cell. Confidential."""
    table, quoted = written.table, _quoting(options)
    c = table.contributions
    if c is None:
        raise InputError(
            "the table holds no frequencies, which the SBS form has for every cell; read them with the table"
        )
    counts = c.units if options.holdings else c.rows
    deep = {dim: tree.levels for dim, tree in written.hierarchies.items() if tree.depth > 1} if options.levels else {}
    lines = []
    for codes, cell in written.rows(cells_only=True):
        if written.is_empty(cell):
            continue
        entries = []
        for dim, code in zip(table.labels.dims, codes, strict=True):
            entries.append(quoted(code))
            if options.levels:
                entries.append(str(deep[dim][code] if dim in deep else 0))
        state = written.states[cell]
        entries += [written.texts[cell], str(int(counts[cell])), sbs(state)]
        if state.state == UNSAFE:
            entries += _shares(written, cell)
        lines.append(",".join(entries))
    return "\n".join(lines) + "\n"


def _shares(written: Written, cell: int) -> list[str]:
    """What the largest make up of the cell, in percent: together for a dominance rule, one by one for the p % rule."""
    rule, c = written.states[cell].rule, written.table.contributions
    if not isinstance(rule, Concentration) or c is None:
        return []
    total, top = int(c.size[cell]), c.top[:, cell].tolist()
    parts = [sum(top[: rule.n])] if isinstance(rule, Dominance) else top[:2]
    return [f"{100 * part / total:.1f}" if total else "0.0" for part in parts]


def _quoting(options: Options) -> Callable[[str], str]:
    def quoted(text: str) -> str:
        if '"' in text:
            raise InputError(f"the code {text!r} holds a quote, which these outputs cannot hold; rename it")
        if not options.quotes and "," in text:
            raise InputError(f"the code {text!r} holds a comma; write codes in quotes (QU+)")
        return f'"{text}"' if options.quotes else text

    return quoted
