"""The command `lint`: apply the rules to migrations as every environment renders them. Contacts nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from glacierbase.catalogs.catalogfile import read_name
from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.catalogs.declared_catalogs import DECLARED
from glacierbase.catalogs.folder import CatalogFile
from glacierbase.errors import ConfigurationError, GlacierbaseError, MigrationFileError, joined
from glacierbase.executors import type_of
from glacierbase.migrations.git_base import read_base
from glacierbase.migrations.in_environments import InEnvironment, in_environments
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.migration import Migration
from glacierbase.model.result import Results, raise_first
from glacierbase.model.spelling import did_you_mean
from glacierbase.model.text import counted
from glacierbase.review.catalogue import all_rules
from glacierbase.review.chain import examined
from glacierbase.review.judge import Examined, judge
from glacierbase.review.origin import origin
from glacierbase.review.results import LintResult
from glacierbase.review.rule import Rule
from glacierbase.sql.dialects import dialect_of

_JARS = {
    name: re.compile(rf"[^:]+:{part}[^:]*:(?P<version>[0-9][^:]*)")
    for name, part in (("iceberg", "iceberg-spark-runtime"), ("delta", "delta-spark"), ("hudi", "hudi-spark"))
}
_DEFAULT = re.compile(
    r"spark\.databricks\.delta\.properties\.defaults\.(?P<delta>.+)"
    r"|spark\.sql\.catalog\.[^.]+\.table-(?:default|override)\.(?P<iceberg>.+)"
)
Select = Callable[[Catalog, Sequence[Migration]], Sequence[Migration]]
# A shorter value of a variable is found by chance.
_SHORTEST_TEXT = 4
# Parts of the classes that tell the format of a catalog's tables.
_FORMATS = {"iceberg": "iceberg", "delta": "delta", "hudi": "hudi", "hoodie": "hudi"}


def lint(root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str | None) -> tuple[LintResult, ...]:
    """Apply the rules to the migrations of the chosen catalogs.

    Args:
        base: a git ref; only files that it does not have are checked. Default: all files.

    Raises:
        GlacierbaseError: a file does not render, or has an error that is not allowed. Its `results` have an entry per catalog.
    """
    rules = {rule.code: rule for rule in all_rules()}
    select = _new(root, choice, base) if base is not None else lambda _, migrations: migrations
    chosen = choice.in_every_environment(catalogs)

    varying = {file.name: _varying(file, environments, root) for file, environments in chosen}

    without_rules: dict[str, set[str]] = {}

    def examine(sandbox: Sandbox, catalog: Catalog, migrations: Sequence[Migration]) -> Iterator[Examined]:
        _check_codes(catalog, rules)
        if not dialect_of(catalog.dialect).has_rules:
            without_rules.setdefault(catalog.name, set()).add(catalog.dialect)
        facts = {**_facts(catalog), "varying": varying[catalog.name]}
        for migration, answer in examined(sandbox, catalog, migrations, select(catalog, migrations), facts):
            yield Examined(catalog.environment, migration.location, catalog.lint, answer)

    found, _ = in_environments(root, chosen, False, examine)
    groups: dict[str, list[InEnvironment[Examined]]] = {file.name: [] for file, _ in chosen}
    for each in found:
        groups[each.catalog].append(each)
    at = origin(root, "lint", catalogs, base)
    results = (
        replace(_result(name, group, rules, base), origin=at, warnings=_no_rules(without_rules.get(name, ())))
        for name, group in groups.items()
    )
    return raise_first(Results(results))


def _no_rules(dialects: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"there are no rules for the dialect {dialect}" for dialect in sorted(dialects))


def _new(root: Path, choice: CatalogChoice, ref: str) -> Select:
    base = read_base(root, ref, {file.name: file.stem for file in choice.files}, read_name)
    return lambda catalog, migrations: base.compared(catalog.name, migrations).new()


def _varying(file: CatalogFile, environments: Sequence[str], root: Path) -> dict[str, str]:
    """Return the texts that a variable has in one of the environments and not in another, each with the variable's path."""
    found: dict[str, set[str]] = {}
    for environment in environments if len(environments) > 1 else ():
        with suppress(GlacierbaseError):  # `in_environments` reports it.
            for text, path in _texts(file.for_environment(environment, root, resolve=False).variables, "variables"):
                found.setdefault(path, set()).add(text)
    return {text: path for path, texts in found.items() if len(texts) > 1 for text in texts}


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield the texts in a value that are long enough to be recognised, each with its path."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(each, f"{path}.{key}")
    elif isinstance(value, str) and len(value) >= _SHORTEST_TEXT:
        yield value, path


def _check_codes(catalog: Catalog, rules: Mapping[str, Rule]) -> None:
    """Refuse a catalog file that sets the severity of an unknown rule."""
    for code, (file, line) in catalog.lint.places.items():
        if code not in rules:
            hint = did_you_mean(code, rules, f"`{command('rules')}` lists the codes")
            what = f"{file}, line {line}: lint.rules: there is no rule {code}"
            raise ConfigurationError("UNKNOWN_RULE", what, hint, path=file, line=line)


def _facts(catalog: Catalog) -> dict[str, object]:
    """Return the attributes of `Facts` that follow from the catalog file."""
    declared = ((found[1], value) for key, value in catalog.spark_conf.items() if (found := DECLARED.fullmatch(key)))
    return {
        "formats": {name: _format(value) for name, value in declared},
        "versions": _versions(catalog),
        "given_parts": type_of(catalog).given_parts(catalog),
        "default_catalog": catalog.spark_conf.get("spark.sql.defaultCatalog", "spark_catalog"),
        "defaults": dict(_defaults(catalog)),
    }


def _defaults(catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Yield the properties that the engine gives to new tables of one of its catalogs."""
    for key, value in catalog.spark_conf.items():
        if found := _DEFAULT.fullmatch(key):
            yield (f"delta.{found['delta']}" if found["delta"] else found["iceberg"]), value


def _versions(catalog: Catalog) -> dict[str, str]:
    """Return the versions of the formats whose jars the catalog file names."""
    pairs = ((name, pattern.fullmatch(each)) for each in catalog.dependencies for name, pattern in _JARS.items())
    return {name: found["version"] for name, found in pairs if found}


def _format(implementation: str) -> str:
    return next((name for part, name in _FORMATS.items() if part in implementation.lower()), "")


def _result(
    name: str, group: Iterable[InEnvironment[Examined]], rules: Mapping[str, Rule], base: str | None
) -> LintResult:
    group = list(group)
    examined = [each for found in group for each in found.used]
    verdict = judge(examined, rules, spares_new=base is not None)
    environments = tuple(each.environment for each in group)
    result = LintResult(
        name,
        ", ".join(environments),
        environments=environments,
        files=len({each.path for each in examined}),
        findings=verdict.findings,
        not_understood=verdict.not_understood,
        spared=verdict.spared,
    )
    errors: dict[str, GlacierbaseError] = {error.message: error for each in group for error in each.errors}
    return replace(result, error=joined([*errors.values(), *_failure(result)]))


def _failure(result: LintResult) -> Iterator[MigrationFileError]:
    """Yield the error of a result with findings that fail the command."""
    wrong = [finding for finding in result.findings if finding.is_error]
    if wrong:
        codes = tuple(dict.fromkeys(finding.code for finding in wrong))
        yield MigrationFileError(
            "LINT_FAILED",
            f"catalog {result.catalog}: {counted(len(wrong), 'error')} of {', '.join(codes)}",
            f"`{command('rules', *codes)}` explains them, and how to allow one",
            catalog=result.catalog,
            codes=list(codes),
        )
