"""All rules: the rules of glacierbase, family by family, and the rules that installed packages add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from types import MappingProxyType

from glacierbase.capabilities.review.rule import Rule
from glacierbase.capabilities.review.rules import (
    allows,
    breaking,
    delta,
    destructive,
    files,
    hudi,
    layout,
    maintenance,
    partitioning,
    properties,
    snowflake,
    snowflake_access,
    snowflake_loads,
    types,
)
from glacierbase.errors import ConfigurationError
from glacierbase.model.keys import RULE_CODE

GROUP = "glacierbase.rules"
FAMILIES: Mapping[str, tuple[str, tuple[Rule, ...]]] = MappingProxyType(
    {
        "FL": ("Files, names and allows", (*files.RULES, *allows.RULES)),
        "DS": ("Destructive changes", tuple(destructive.RULES)),
        "BC": ("Changes that break readers and writers", tuple(breaking.RULES)),
        "TY": ("Changes that the engine refuses", tuple(types.RULES)),
        "PA": ("Partitioning", tuple(partitioning.RULES)),
        "PR": ("Table properties", tuple(properties.RULES)),
        "KL": ("Object keys", tuple(layout.RULES)),
        "MT": ("Maintenance and changes of data", tuple(maintenance.RULES)),
        "DL": ("Delta", tuple(delta.RULES)),
        "HU": ("Hudi", tuple(hudi.RULES)),
        "SF": ("Snowflake", (*snowflake.RULES, *snowflake_access.RULES, *snowflake_loads.RULES)),
    }
)
_BUILT_IN = tuple(chain.from_iterable(rules for _, rules in FAMILIES.values()))


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return the rules in the order of their families; the rules of packages last.

    Raises:
        ConfigurationError: `BROKEN_RULES`: a package's rules cannot be loaded, or are not rules.
    """
    rules = {rule.code: rule for rule in _BUILT_IN}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        for rule in _loaded(entry):
            if rule.code in rules:
                raise _broken(entry, f"the code {rule.code} exists already")
            rules[rule.code] = rule
    return tuple(rules.values())


def is_built_in(rule: Rule) -> bool:
    """Return whether the rule belongs to glacierbase."""
    return rule in _BUILT_IN


def _loaded(entry: EntryPoint) -> Iterator[Rule]:
    try:
        value = entry.load()
        rules = [value] if isinstance(value, Rule) else list(value)
    except Exception as error:
        raise _broken(entry, f"{type(error).__name__}: {error}") from error
    for rule in rules:
        if not isinstance(rule, Rule):
            raise _broken(entry, f"{rule!r} is no rule")
        try:
            RULE_CODE.convert(rule.code)
        except ValueError as error:
            raise _broken(entry, f"{rule.code!r} is not {RULE_CODE.expected}") from error
        yield rule


def _broken(entry: EntryPoint, why: str) -> ConfigurationError:
    package = f" of the package {entry.dist.name}" if entry.dist else ""
    return ConfigurationError(
        "BROKEN_RULES",
        f"the rules {entry.name} ({entry.value}){package} cannot be used: {why}",
        "correct the package, or uninstall it",
        entry_point=entry.name,
    )
