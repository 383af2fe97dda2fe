"""compare: several methods, and the rivals that offices use, on one table: what attackers get of each, what users lose, and which to use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cellward.compare.comparison import Comparison
from cellward.compare.entries import entries_of
from cellward.compare.recommendation import at_risk, choose, words
from cellward.compare.trials import Contest
from cellward.errors import InputError
from cellward.instance import Instance
from cellward.protect.method import refuse_endless
from cellward.risk.attacker import Attacker
from cellward.solve.budget import Budget
from cellward.table.table import Table

TIME_LIMIT_S = 120.0


def compare(
    table: Table,
    methods: Iterable[Any] | None = None,
    *,
    attackers: Iterable[Attacker] | None = None,
    time_limit_s: float | None = TIME_LIMIT_S,
    seed: int = 0,
    threads: int | None = None,
) -> Comparison:
    """Several methods, and as rivals those of others, on one table: what attackers get, what users lose, and which to use, in words.

    ``methods``: methods, rivals, or texts such as ``"round base=5"`` and ``"random-rounding base=3"``; unless given, those that fit the table. All
    share the time; what fails, or is not decided in its share, is a row and not the end. What is drawn is drawn from ``seed``, so that the same
    comparison can be made again; nothing of it can be released: ``found.method.protect(table)`` protects the table, with a key of its own.

    >>> table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    >>> found = compare(table, ["round base=5", "random-rounding base=5"], time_limit_s=20)
    >>> [(row.mark, row.setting, row.answer) for row in found.rows]
    [('A', 'round, base 5, max steps auto', 'protects'), ('1', 'random rounding, base 5', 'rival')]
    """
    if not isinstance(table, Table):
        raise InputError(
            f"a {type(table).__name__} holds nothing to compare methods on; make a Table of it first, such as with Table.from_frame"
        )
    known = None if attackers is None else list(attackers)
    budget = Budget(time_limit_s=time_limit_s, threads=1 if threads is None else threads, seed=seed)
    instance = Instance.of(table, attackers=known)
    refuse_endless(instance, "nothing can be compared on it")
    contest = Contest(table, known, instance, budget)
    rows = contest.rows(entries_of(methods, instance))
    chosen = choose(rows) if at_risk(instance) else None
    return Comparison(
        rows=tuple(rows),
        recommended=chosen,
        recommendation=words(rows, chosen, instance),
        cells=instance.cells,
        at_risk=len(instance.sensitivity.levels),
        attackers=len(instance.attackers),
        seed=seed,
        seconds=budget.spent,
    )
