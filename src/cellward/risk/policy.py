"""Policy: a named set of rules in a TOML file, which can be locked against unnoticed change."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from cellward.errors import InputError
from cellward.files.text import naming
from cellward.files.toml_file import read_toml
from cellward.files.whole import write_whole
from cellward.risk.dominance import Dominance
from cellward.risk.p_percent import PPercent
from cellward.risk.prior_posterior import PriorPosterior
from cellward.risk.request import Request
from cellward.risk.rule import Rule
from cellward.risk.threshold import Threshold
from cellward.risk.zero import Zero

RULES: dict[str, type[Rule]] = {
    rule.kind: rule for rule in (PPercent, Dominance, PriorPosterior, Threshold, Request, Zero)
}
"""The rules that a policy may name. Manual decisions are about one table's cells and stay with that table."""


@dataclass(frozen=True)
class Policy:
    """A name, rules, and the digest of both where the policy is locked.

    >>> policy = Policy("Business statistics 2026", (PPercent(10), Threshold(3)))
    >>> print(policy.text())
    [policy]
    name = "Business statistics 2026"
    <BLANKLINE>
    [[rule]]
    rule = "p_percent"
    p = 10
    <BLANKLINE>
    [[rule]]
    rule = "threshold"
    n = 3
    <BLANKLINE>
    """

    name: str
    rules: tuple[Rule, ...]
    locked: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable():
            raise InputError(f"policy: name={self.name!r}; give it a name of printable characters")
        object.__setattr__(self, "rules", tuple(self.rules) if isinstance(self.rules, Iterable) else ())
        if not self.rules:
            raise InputError(f"policy {self.name}: it has no rules; give a sequence of at least one")
        for k, rule in enumerate(self.rules):
            if getattr(rule, "kind", None) not in RULES:
                raise InputError(f"policy {self.name}: {rule!r} is no rule of a policy; use {', '.join(RULES)}")
            if rule in self.rules[:k]:
                raise InputError(f"policy {self.name}: the rule {rule.short} is given twice; give it once")
        if self.locked is not None and self.locked != self.digest:
            raise InputError(
                f"policy {self.name}: it was changed after it was locked (locked as {self.locked!r}, its name and rules now give {self.digest}); "
                "restore it, or take out its line locked and lock it anew"
            )

    @staticmethod
    def default(*, counts: bool = False) -> Policy:
        """What a statistical office would sign (reasons in rules.md): for magnitude tables, or for tables of counts."""
        if counts:
            return Policy("cellward default for counts", (Threshold(3, units=2),))
        return Policy("cellward default for magnitudes", (PPercent(10), Threshold(3, percent=10)))

    @property
    def digest(self) -> str:
        """SHA-256 of the name and of all parameters of all rules, in a canonical form."""
        rules = [{"rule": rule.kind, **{k: _canonical(v) for k, v in rule.options.items()}} for rule in self.rules]
        text = json.dumps({"name": self.name, "rules": rules}, sort_keys=True, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def lock(self) -> Policy:
        """The same policy with its digest: from now on a changed file is refused."""
        return replace(self, locked=self.digest)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Policy:
        """Read a policy file; refused where it was changed after it was locked."""
        held, _ = read_toml(path)
        with naming(Path(path)):
            return _parsed(held)

    @staticmethod
    def named(name: str | os.PathLike[str]) -> Policy:
        """The policy of a file, or one of those called ``default`` and ``default for counts``."""
        if isinstance(name, str) and name in BUILT_IN:
            return Policy.default(counts=BUILT_IN[name])
        return Policy.read(name)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the policy file."""
        return write_whole(Path(path), self.text().encode())

    def text(self) -> str:
        """The policy file; parameters that have their default value are left out."""
        out = ["[policy]", f"name = {_toml(self.name)}"]
        if self.locked is not None:
            out.append(f"locked = {_toml(self.locked)}")
        for rule in self.rules:
            out += ["", "[[rule]]", f"rule = {_toml(rule.kind)}"]
            out += [f"{key} = {_toml(value)}" for key, value in rule.stated.items()]
        return "\n".join(out) + "\n"


BUILT_IN = {"default": False, "default for counts": True}
"""The policies that need no file; whether they are for tables of counts."""


def named_rules(name: str | os.PathLike[str]) -> tuple[Rule, ...]:
    """The rules of a policy file, or of the policies called ``default`` and ``default for counts``."""
    return Policy.named(name).rules


def _canonical(value: object) -> object:
    return format(value, "f") if isinstance(value, Decimal) else value if isinstance(value, bool | str) else str(value)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | Decimal):
        return format(value, "d" if isinstance(value, int) else "f")
    return '"' + "".join(_escaped(c) for c in str(value)) + '"'


def _escaped(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    return c if c.isprintable() else f"\\U{ord(c):08X}"


def _parsed(held: dict[str, Any]) -> Policy:
    """The policy that a TOML document states, every key of it understood."""
    _refuse_unknown(held, ("policy", "rule"), "the file")
    head, rules = held.get("policy"), held.get("rule")
    if not isinstance(head, dict) or "name" not in head:
        raise InputError('no name; begin the file with [policy] and name = "…"')
    _refuse_unknown(head, ("name", "locked"), "[policy]")
    locked = head.get("locked")
    if locked is not None and not isinstance(locked, str):
        raise InputError(f"[policy] locked={locked!r}; it is the text that lock wrote")
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise InputError('no rules; add tables such as [[rule]] with rule = "p_percent" and p = 10')
    return Policy(head["name"], tuple(_rule(k, rule) for k, rule in enumerate(rules, 1)), locked)


def _rule(number: int, held: dict[str, Any]) -> Rule:
    options = dict(held)
    kind = options.pop("rule", None)
    if not isinstance(kind, str) or kind not in RULES:
        raise InputError(f"rule {number}: rule={kind!r} is not known; use one of {', '.join(RULES)}")
    where = f"rule {number} ({kind})"
    own = fields(RULES[kind])
    _refuse_unknown(options, [f.name for f in own], where)
    if missing := [f.name for f in own if f.default is MISSING and f.name not in options]:
        raise InputError(f"{where}: {missing[0]} is missing; give it")
    try:
        return RULES[kind](**options)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _refuse_unknown(held: dict[str, Any], known: Any, where: str) -> None:
    if unknown := [key for key in held if key not in known]:
        raise InputError(f"{where}: {unknown[0]!r} is not known here; use {', '.join(known)}")
