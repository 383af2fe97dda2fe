"""Table: the confidential side; cells with exact values, the relations they obey, their bounds, and what is at risk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cellward import exact
from cellward.errors import InputError
from cellward.exact import Ints
from cellward.files.made_frames import frame_of
from cellward.notebook import MOST_ROWS, card
from cellward.table.cell_columns import cell_columns, word_of
from cellward.table.labels import Labels, unused
from cellward.table.made_additive import REMEDY, Additive, MadeAdditive
from cellward.table.relations import Relations
from cellward.table.sensitivity import Sensitivity

if TYPE_CHECKING:
    from cellward.hierarchy import Hierarchy
    from cellward.risk.attacker import Cell
    from cellward.risk.find import Findings
    from cellward.risk.policy import Policy
    from cellward.risk.rule import Rule
    from cellward.table.contributions import Contributions


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Table:
    """A table that adds up. Made by :meth:`from_array`, :meth:`from_frame`, :meth:`from_microdata`, :meth:`from_equations`, :func:`cellward.link` or
    :func:`cellward.read`.

    ``scaled`` holds the exact integers value·10^decimals; ``lower`` and ``upper`` bound each cell in the same unit, as the public may know.
    ``weight`` (with ``weight_decimals``) is the cost of moving a cell, used only on request. ``contributions`` says who stands behind each cell, in a
    table made from microdata; ``findings`` why cells are at risk, after :meth:`find`.
    """

    relations: Relations
    scaled: Ints
    decimals: int
    lower: Ints
    upper: Ints
    labels: Labels
    sensitivity: Sensitivity
    weight: Ints | None = None
    weight_decimals: int = 0
    contributions: Contributions | None = None
    findings: Findings | None = None
    made_additive: MadeAdditive | None = None
    """What was moved, where it was asked to be made additive."""

    # ---- builders --------------------------------------------------------------------------------------------------------------------------

    @staticmethod
    def from_array(
        values: Any,
        *,
        dims: Sequence[str] | None = None,
        codes: Sequence[Sequence[str]] | None = None,
        total: str = "Total",
        decimals: int | None = None,
        lower: Any = 0,
        upper: Any = None,
    ) -> Table:
        """A k-dimensional array of inner cells; the margins are added, last on each axis. Cells stand in C order.

        >>> table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
        >>> table.values.reshape(4, 4)[3].tolist()
        [45, 101, 44, 190]
        """
        from cellward.table.array import build_from_array

        return build_from_array(values, dims, codes, total, decimals, lower, upper)

    @staticmethod
    def from_frame(
        frame: Any,
        *,
        dims: Sequence[str],
        value: str,
        hierarchies: Mapping[str, Hierarchy | Sequence[Hierarchy]] | None = None,
        total: str | Mapping[str, str] = "Total",
        totals: str = "auto",
        empty: str = "absent",
        status: str | None = None,
        lpl: str | None = None,
        upl: str | None = None,
        spl: str | None = None,
        cost: str | None = None,
        decimals: int | None = None,
        lower: Any = 0,
        upper: Any = None,
        frequency: str | None = None,
        largest: Sequence[str] = (),
        additive: str | None = None,
        keep_values: Any = (),
        additive_weights: str = "equal",
        labels: Mapping[str, str | Mapping[str, str]] | None = None,
        across: str | None = None,
        **former: Any,
    ) -> Table:
        """A long table: one row a cell, a column a dimension, a column of values; a pandas or polars frame, or a mapping of columns.

        ``hierarchies`` gives the sums between the codes of a dimension, one hierarchy or several; without one, all codes add up to ``total``.
        ``totals``: ``"auto"`` computes every total that is not in the frame, ``"given"`` computes none (and refuses a frame without a total through
        which a relation runs), ``"compute"`` computes all and ignores those in the frame. ``empty``: other cells that are not in the frame are
        ``"absent"`` from the table, or ``"zero"``.
        ``lower`` and ``upper`` are bounds for all cells or the names of columns of bounds.
        ``status`` names a column of letters (s safe, u unsafe, m secondary, z fixed), ``lpl``/``upl``/``spl`` columns of protection levels,
        ``cost`` one of what a unit of deviation costs (used with ``weights="table"``).
        ``frequency`` names a column of the numbers of contributors, ``largest`` columns of the largest contributions, the largest first: rules then
        judge the cells (:meth:`find`).
        ``additive``: a table that does not add up (rounded or noisy totals) becomes the nearest that does: ``"l1"`` the least Σ w·|change|, ``"l2"``
        the least Σ w·change²; :attr:`made_additive` lists what moved. ``keep_values``: cells that keep their values, by their codes, or ``"total"``
        (grand totals), ``"margins"`` (all sums), ``"inner"`` (all others). ``additive_weights``: w is 1 (``"equal"``), 1/value (``"relative"``) or
        the column of ``cost`` (``"table"``).
        ``labels``: what codes are called, by dimension a column beside the codes or a mapping; hierarchies from files may know too. ``across``: the
        dimension whose codes are columns of a wide table; an empty entry is then no cell.

        >>> table = Table.from_frame({"sex": ["F", "M"], "n": [3, 4]}, dims=["sex"], value="n")
        >>> table.labels.columns()["sex"], table.values.tolist()
        (['F', 'M', 'Total'], [3, 4, 7])
        >>> rows = {"sex": ["F", "M", "Total"], "n": [3, 4, 8]}
        >>> table = Table.from_frame(rows, dims=["sex"], value="n", additive="l1", keep_values=["Total", "F"])
        >>> table.values.tolist(), table.made_additive.columns()
        ([3, 5, 8], {'sex': ['M'], 'was': ['4'], 'is': ['5'], 'change': ['1']})
        """
        from cellward.table.frame import LongSpec, build_from_frame, refuse_former

        refuse_former(former)
        spec = LongSpec(
            dims=dims, value=value, hierarchies=hierarchies, total=total, totals=totals, empty=empty, status=status,
            lpl=lpl, upl=upl, spl=spl, cost=cost, decimals=decimals, lower=lower, upper=upper,
            frequency=frequency, largest=largest, additive=additive, keep_values=keep_values, additive_weights=additive_weights,
            labels=labels, across=across, **former,
        )  # fmt: skip
        return build_from_frame(frame, spec)

    @staticmethod
    def from_microdata(
        rows: Any,
        *,
        dims: str | Sequence[str],
        measure: str | None = None,
        contributor: str | None = None,
        holding: str | None = None,
        weight: str | None = None,
        request: str | None = None,
        request_codes: Sequence[str] = ("1",),
        hierarchies: Mapping[str, Hierarchy | Sequence[Hierarchy]] | None = None,
        total: str | Mapping[str, str] = "Total",
        missing: str | Mapping[str, str] = "refuse",
        missing_codes: Mapping[str, Sequence[str]] | None = None,
        labels: Mapping[str, str | Mapping[str, str]] | None = None,
        pad: Mapping[str, int] | None = None,
        blank: str = "refuse",
        negative: str = "refuse",
        empty: str = "absent",
        spelling: str = "folded",
        largest: int = 3,
        decimals: int | None = None,
        lower: Any = None,
        upper: Any = None,
        query: str | None = None,
        separator: str | None = None,
        sheet: str | None = None,
        decimal: str = ".",
        threads: int | None = None,
        memory_mb: int | None = None,
    ) -> Table:
        """Add up a file of records, exactly, and keep who stands behind each cell in ``contributions``.

        ``rows``: a CSV or Parquet file, a pandas, polars or pyarrow frame, a mapping of columns, a DuckDB relation, a DuckDB connection or file with
        ``query`` (a table or a SELECT), or an ibis table, whose backend then does the adding. ``dims``: the dimension columns, or a formula of
        several tables such as ``"region*nace + size"``, which are linked. Without a ``measure`` records are counted. ``contributor`` and ``holding``
        name the columns that say whose record it is: the records of one holding (else contributor, else each record by itself) are summed in every
        cell before they are ranked. ``weight``: sampling weights; the table then holds weighted sums. ``request``: the column that says who asked
        for protection, with one of ``request_codes`` (blank or 0: did not ask).

        ``missing``: records without a code (or with one of ``missing_codes``) are refused, dropped (``"drop"``), or kept below the total
        (``"keep"``); one word, or one a dimension. ``blank``: records without a value are refused, dropped, or count as ``"zero"``. ``negative``:
        negative contributions are refused, or rules look at sizes (``"absolute"``). ``empty``: combinations without a record are absent (a count
        that is there is then publicly at least 1), or ``"zero"`` cells. ``pad``: width to which codes are padded with blanks on the left.
        ``spelling``: names of units that differ only in case, blanks or Unicode form are one unit's (``"folded"``), or several's
        (``"as written"``). ``largest``: how many of the largest contributions are kept. ``decimals``: round each contribution to so many (default:
        exactly as given). ``lower``: default 0, none where something is negative. ``labels``: what codes are called, by dimension a column beside the
        codes or a mapping. ``sheet`` of an Excel file, where several hold something.

        >>> records = {"region": ["N", "N", "S"], "firm": ["a", "b", "a"], "turnover": [5, 2, 4]}
        >>> table = Table.from_microdata(records, dims=["region"], measure="turnover", contributor="firm")
        >>> table.labels.columns()["region"], table.values.tolist(), table.contributions.top[0].tolist()
        (['Total', 'N', 'S'], [11, 7, 4], [9, 5, 4])
        """
        from cellward.tabulate.build import build_from_microdata
        from cellward.tabulate.roles import Roles

        roles = Roles(
            dims=dims, measure=measure, contributor=contributor, holding=holding, weight=weight, request=request, request_codes=request_codes,
            hierarchies=hierarchies,
            total=total, missing=missing, missing_codes=missing_codes, labels=labels, pad=pad, blank=blank, negative=negative, empty=empty,
            spelling=spelling, largest=largest, decimals=decimals, decimal=decimal, lower=lower, upper=upper,
        )  # fmt: skip
        return build_from_microdata(
            rows, roles, query=query, separator=separator, sheet=sheet, threads=threads, memory_mb=memory_mb
        )

    @staticmethod
    def from_equations(
        values: Any,
        matrix: Any,
        rhs: Any = None,
        *,
        sensitive: Sequence[int] | Ints | None = None,
        lpl: Any = None,
        upl: Any = None,
        spl: Any = None,
        lower: Any = 0,
        upper: Any = None,
        weight: Any = None,
        fixed: Sequence[int] | Ints | None = None,
        decimals: int | None = None,
        additive: str | None = None,
        keep_values: Any = (),
        additive_weights: str = "equal",
    ) -> Table:
        """Any cells and any integer system matrix·values = rhs (an array or a scipy sparse matrix, one row an equation; rhs 0 unless given).

        ``additive``, ``keep_values`` (cells by number) and ``additive_weights`` as in :meth:`from_frame`; ``fixed`` cells keep their values too.

        >>> Table.from_equations([1, 2, 3], [[1, 1, -1]], sensitive=[0], upl=[1])
        Table(3 cells, 1 equation, 1 unsafe)
        """
        from cellward.table.equations import build_from_equations

        levels = {"lpl": lpl, "upl": upl, "spl": spl}
        wish = Additive.of(additive, keep_values, additive_weights)
        return build_from_equations(values, matrix, rhs, sensitive, levels, lower, upper, weight, fixed, decimals, wish)

    def __post_init__(self) -> None:
        exact.freeze(self.scaled, self.lower, self.upper, self.weight)
        if len(self.scaled) and int(np.abs(self.scaled).max()) > exact.LARGEST:
            i = int(np.abs(self.scaled).argmax())
            raise InputError(
                f"{self.labels.name(i)}: its value counted with {self.decimals} decimals "
                "is beyond 2^53, where doubles stop being exact; choose a larger unit or fewer decimals"
            )
        check_additive(self.relations, self.scaled, self.decimals, self.labels)
        check_bounds(self.scaled, self.decimals, self.lower, self.upper, self.labels)

    # ---- reading ---------------------------------------------------------------------------------------------------------------------------

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.scaled)

    @property
    def values(self) -> NDArray[np.int64] | NDArray[np.float64]:
        """The values in the user's units, in cell order: int64, or float64 when there are decimals."""
        return exact.units(self.scaled, self.decimals)

    @property
    def sensitive(self) -> Ints:
        """The cells at risk."""
        return self.sensitivity.unsafe

    @property
    def frequency(self) -> Ints | None:
        """How many records stand behind each cell, where that is known."""
        return None if self.contributions is None else self.contributions.rows

    def to_pandas(self) -> Any:
        """One row a cell as a pandas frame (confidential): codes, labels, value, status, levels, and how many stand behind it.

        >>> table = Table.from_array([3, 4], dims=["sex"], codes=[["F", "M"]])
        >>> table.to_pandas()[["sex", "value", "status"]].values.tolist()
        [['F', 3, 'safe'], ['M', 4, 'safe'], ['Total', 7, 'safe']]
        """
        return frame_of("pandas", self._columns())

    def to_polars(self) -> Any:
        """The same as a polars frame."""
        return frame_of("polars", self._columns())

    def _columns(self) -> dict[str, Any]:
        return cell_columns(self.labels, self.scaled, self.decimals, self.sensitivity, self.frequency)

    def _repr_html_(self) -> str:
        first = self.labels.columns()
        shown = {
            **{name: column[:MOST_ROWS] for name, column in first.items()},
            unused("value", first, "cell"): exact.texts(self.scaled[:MOST_ROWS], self.decimals),
            unused("status", first, "cell"): [word_of(code) for code in self.sensitivity.status[:MOST_ROWS].tolist()],
        }
        return card(repr(self), confidential=True, columns=shown, marked=set(self.sensitive.tolist()), cells=self.cells)

    def __repr__(self) -> str:
        def count(number: int, noun: str) -> str:
            return f"{number:,} {noun}{'' if number == 1 else 's'}"

        parts = [count(self.cells, "cell"), count(self.relations.equations, "equation")]
        if self.labels.dims:
            parts.insert(0, " × ".join(self.labels.dims))
        if self.decimals:
            parts.append(count(self.decimals, "decimal"))
        if unsafe := len(self.sensitive):
            parts.append(f"{unsafe:,} unsafe")
        if fixed := int(self.sensitivity.fixed.sum()):
            parts.append(f"{fixed:,} fixed")
        return f"Table({', '.join(parts)})"

    def equation_text(self, j: int) -> str:
        """Equation j in words: ``(North, Total) = (North, F) + (North, M)``."""
        return equation_text(self.relations, self.labels, j, self.decimals)

    # ---- changing --------------------------------------------------------------------------------------------------------------------------

    def with_sensitivity(self, sensitivity: Sensitivity) -> Table:
        """The same table with other cells at risk."""
        return replace(self, sensitivity=sensitivity)

    def called(self, labels: Mapping[str, Mapping[str, str]]) -> Table:
        """The same table with words for the codes of these dimensions.

        >>> table = Table.from_frame({"sex": ["F", "M"], "n": [3, 4]}, dims=["sex"], value="n")
        >>> table.called({"sex": {"F": "women", "M": "men"}}).labels.word_columns()
        {'sex label': ['women', 'men', 'Total']}
        """
        return replace(self, labels=self.labels.called(labels)) if labels else self

    def find(
        self,
        *rules: Rule | Policy,
        waivers: Iterable[str] = (),
        frozen: Iterable[Cell] = (),
        levels: Mapping[Cell, tuple[Any, Any, Any]] | None = None,
    ) -> Table:
        """The same table with the cells at risk found by these rules, or by a policy's; :attr:`findings` says why each is.

        ``waivers``: units that consent to publication. ``frozen``: cells already published, which stay as they are. ``levels``: levels of cells, in
        the table's units, instead of the rules'.
        """
        from cellward.risk.find import find

        sensitivity, findings = find(self, rules, waivers=waivers, frozen=frozen, levels=levels)
        return replace(self, sensitivity=sensitivity, findings=findings)

    def without_levels(self) -> Table:
        """The same table with the same cells at risk and no protection levels asked."""
        return replace(self, sensitivity=self.sensitivity.without_levels())


def equation_name(labels: Labels, j: int) -> str:
    """What to call an equation before its words: by its number where cells have numbers only, by its words alone where they have codes."""
    return "" if labels.dims else f"equation {j}, "


def equation_text(relations: Relations, labels: Labels, j: int, decimals: int) -> str:
    """Equation j in words, its total on the left where it has one."""
    rhs, members, coefs = relations.equation(j)
    total = int(relations.total[j])
    flip = 1

    def term(cell: int, coef: int) -> str:
        return labels.name(cell) if coef == 1 else f"{coef}·{labels.name(cell)}"

    if total >= 0:
        flip = -coefs[members.index(total)]
    shown = [(i, c * flip) for i, c in zip(members, coefs, strict=True) if i != total]
    words = [(" + " if c > 0 else " − ") + term(i, abs(c)) for i, c in shown[:4]]
    if len(shown) > 4:
        words.append(f" + … ({len(shown) - 4} more)")
    right = "".join(words).removeprefix(" + ").strip() or "0"
    constant = -rhs * flip if total >= 0 else rhs
    if total < 0:
        return f"{right} = {exact.short(constant, decimals)}"
    if constant:
        right += f" {'+' if constant > 0 else '−'} {exact.short(abs(constant), decimals)}"
    return f"{labels.name(total)} = {right}"


def check_additive(
    relations: Relations, scaled: Ints, decimals: int, labels: Labels, remedy: Callable[[int], str] | str = ""
) -> None:
    """Refuse values that miss an equation: name it and the difference; the values themselves may be confidential."""
    missed = np.flatnonzero(relations.residual(scaled))
    if not len(missed):
        return
    j = int(missed[0])
    others = [
        f"equation {k}, {equation_text(relations, labels, k, decimals)} (difference {exact.short(_difference(relations, scaled, k), decimals)})"
        for k in missed[1:_NAMED].tolist()
    ]
    more = f"; nor does {'; nor '.join(others)}" if others else ""
    if len(missed) > _NAMED:
        more += f" (and {len(missed) - _NAMED:,} more equations)"
    raise InputError(
        f"equation {j}, {equation_text(relations, labels, j, decimals)}, does not add up: difference "
        f"{exact.short(_difference(relations, scaled, j), decimals)}{more}; "
        + ((remedy if isinstance(remedy, str) else remedy(j)) or f"correct the values, or {REMEDY}")
    )


def check_bounds(scaled: Ints, decimals: int, lower: Ints, upper: Ints, labels: Labels) -> None:
    """Refuse values outside their bounds."""
    for bound, name, out in (
        (lower, "lower", scaled < lower),
        (upper, "upper", scaled > upper),
    ):
        if out.any():
            i = int(out.argmax())
            limit = exact.short(int(bound[i]), decimals)
            count = int(out.sum())
            more = "" if count == 1 else f" (and {count - 1} more cells)"
            side = "below its lower" if name == "lower" else "above its upper"
            raise InputError(
                f"{labels.name(i)}: its value is {side} bound {limit}{more}; "
                f"correct the value, or widen the bounds with {name}= (--{name}, or the file's own)"
            )


_NAMED = 3
"""So many equations that do not add up are named."""


def _sides(relations: Relations, scaled: Ints, j: int) -> tuple[int, int]:
    """The two sides of an equation: its total and its parts, where it has a total."""
    rhs, members, coefs = relations.equation(j)
    total = int(relations.total[j])
    values = {i: int(scaled[i]) for i in members}
    if total < 0:
        return sum(c * values[i] for i, c in zip(members, coefs, strict=True)), rhs
    flip = -coefs[members.index(total)]
    parts = sum(flip * c * values[i] for i, c in zip(members, coefs, strict=True) if i != total)
    return values[total], parts - flip * rhs


def _difference(relations: Relations, scaled: Ints, j: int) -> int:
    left, right = _sides(relations, scaled, j)
    return left - right
