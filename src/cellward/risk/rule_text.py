"""Rules as they are written: ``PPercent(10)``, ``Threshold(3, units=2)``; for the command line and job files."""

from __future__ import annotations

import ast

from cellward.errors import InputError, brief
from cellward.risk.policy import RULES
from cellward.risk.rule import Rule

BY_NAME = {rule.__name__: rule for rule in RULES.values()}


def read_rule(text: str) -> Rule:
    """The rule that a text writes, by its name or by what policies call it.

    >>> read_rule("Dominance(2, 75)").sentence
    'A cell is unsafe when its two largest contributions are together more than 75 % of its total ((n, k) rule, n = 2, k = 75).'
    """
    known = BY_NAME | RULES
    example = "write it like PPercent(10), Dominance(2, 75) or Threshold(3, units=2)"
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"rule {brief(text)}: not readable; {example}") from None
    name = call.func if isinstance(call, ast.Call) else call
    if not isinstance(name, ast.Name) or name.id not in known:
        raise InputError(f"rule {brief(text)}: it is none of {', '.join(BY_NAME)}; {example}")
    try:
        given = [ast.literal_eval(entry) for entry in call.args] if isinstance(call, ast.Call) else []
        if isinstance(call, ast.Call) and len({key.arg for key in call.keywords}) < len(call.keywords):
            raise InputError("a parameter is given twice; give it once")
        named = (
            {str(key.arg): ast.literal_eval(key.value) for key in call.keywords} if isinstance(call, ast.Call) else {}
        )
        return known[name.id](*given, **named)
    except InputError as error:
        raise InputError(f"rule {brief(text)}: {error}") from None
    except (TypeError, ValueError, MemoryError, RecursionError) as error:
        why = str(error) if " object at " not in str(error) and len(str(error)) < 100 else "not plain numbers or texts"
        raise InputError(f"rule {brief(text)}: its parameters are not readable ({why}); {example}") from None
