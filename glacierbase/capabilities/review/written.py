"""Check the migrations that a command is about to write: they pass `validate` and `lint` in every environment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from glacierbase.capabilities.review.lint import Examined, Linting, judge
from glacierbase.capabilities.review.rule import Rule
from glacierbase.catalogs.folder import CatalogFile
from glacierbase.catalogs.needs import refused
from glacierbase.errors import GlacierbaseError, MigrationFileError, collected, raise_all
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.in_environments import in_environments
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.finding import Finding
from glacierbase.model.migration import Migration
from glacierbase.model.text import counted, quoted

# Families of rules about how a file is written, and about types: what they find is no effect that may be intended.
_NO_EFFECTS = frozenset({"FL", "TY"})


def check_written(root: Path, file: CatalogFile, new: Sequence[Migration], replaced: Collection[str] = ()) -> None:
    """Refuse new migrations of a catalog that a check refuses in one of its environments. Contacts nothing.

    The error has in `refusals` the reasons by location, and in `allowable` the codes of its findings by location and line, if a
    comment with a reason can allow all of them: effects that may be intended.

    Args:
        root: the root of the project.
        new: in order; their files need not exist.
        replaced: the locations of the files in whose place they will be.

    Raises:
        MigrationFileError: `NOT_WRITTEN`.
    """
    objections = _objections(root, file, new, replaced, {})
    if objections.errors or objections.findings:
        what = "the file that it would write is refused by `validate` or `lint`; nothing was written"
        hint = f"write the change by hand: `{command('new', 'what it changes')}`"
        raise _not_written(what, hint, _lines(objections.errors, objections.findings), _allowable(objections))


def check_imported(
    root: Path, file: CatalogFile, new: Sequence[Migration], variables: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return what `lint` finds in the files of another tool's scripts, which may have run already. Contacts nothing.

    A file is not checked that uses a variable without a value; it is named.

    Args:
        root, new: as for `check_written`.
        variables: values of those that the catalog file lacks.

    Raises:
        MigrationFileError: `NOT_WRITTEN`: `validate` would refuse a file.
    """
    objections = _objections(root, file, new, (), variables)
    without_value = [error for error in objections.errors if error.code == "UNDEFINED_VARIABLE"]
    if refusals := _lines([error for error in objections.errors if error not in without_value], ()):
        what = f"{counted(len(refusals), 'script')} would be refused by `validate` as migrations; nothing was written"
        raise _not_written(what, "correct the scripts in a copy of the project, and import the copy", refusals, {})
    lines = _lines(without_value, objections.findings)
    return tuple(f"{path}: {line}" for path, reasons in lines.items() for line in reasons)


def _not_written(
    what: str, hint: str, refusals: Mapping[str, Sequence[str]], allowable: Mapping[str, Any]
) -> MigrationFileError:
    lines = quoted("\n".join(f"{place}: {line}" for place, reasons in refusals.items() for line in reasons))
    data: dict[str, Any] = {"refusals": refusals, "allowable": allowable}
    return MigrationFileError("NOT_WRITTEN", (what, *lines), hint, state="", **data)


class _Objections(NamedTuple):
    """The errors that `validate` and `lint` find in new files."""

    errors: Sequence[GlacierbaseError]
    findings: Sequence[Finding]
    rules: Mapping[str, Rule]


def _objections(
    root: Path,
    file: CatalogFile,
    new: Sequence[Migration],
    replaced: Collection[str],
    variables: Mapping[str, Any],
) -> _Objections:
    """Check new files in every environment; the arguments are as for `check_written` and `check_imported`."""
    chosen = [(file, file.environments)]
    linting = Linting(root, chosen, None)

    def examine(sandbox: Sandbox, catalog: Catalog, present: Sequence[Migration]) -> Iterator[Examined]:
        catalog = replace(catalog, variables={**variables, **catalog.variables})
        errors: list[GlacierbaseError] = []
        with collected(errors):
            list(sandbox.compile_all(new, catalog, catalog.dialect, partial(_check, catalog)))
        wrong = {error.data.get("path") for error in errors}
        valid = [migration for migration in new if migration.location not in wrong]
        rest = [migration for migration in present if migration.location not in replaced]
        versioned = sorted(
            (*filter(_is_versioned, rest), *filter(_is_versioned, valid)), key=lambda migration: migration.number
        )
        others = [migration for migration in (*rest, *valid) if not migration.version]
        yield from linting.examine(sandbox, catalog, (*versioned, *others), valid)
        raise_all(errors)

    outcomes, _ = in_environments(root, chosen, False, examine, len(new))
    places = {migration.location for migration in new}
    errors = [error for outcome in outcomes for error in outcome.errors if str(error.data.get("path")) in places]
    findings = judge([used for outcome in outcomes for used in outcome.used], linting.rules, spares_new=False).findings
    return _Objections(errors, [finding for finding in findings if finding.is_error], linting.rules)


def _lines(errors: Sequence[GlacierbaseError], findings: Sequence[Finding]) -> Mapping[str, Sequence[str]]:
    """Return the distinct lines about errors and findings, by location."""
    lines: dict[str, dict[str, None]] = {}
    for error in errors:
        lines.setdefault(str(error.data.get("path")), {})[_line(error)] = None
    for finding in findings:
        where = f"{finding.code} in {', '.join(finding.environments)}"
        lines.setdefault(finding.path, {})[f"line {finding.line}: {where}: {finding.message}"] = None
    return {path: tuple(distinct) for path, distinct in lines.items()}


def _allowable(objections: _Objections) -> Mapping[str, Mapping[int, Sequence[str]]]:
    """Return the codes of findings by location and line, if comments can allow everything that was objections."""
    codes: dict[str, dict[int, dict[str, None]]] = {}
    for finding in objections.findings:
        rule = objections.rules[finding.code]
        if objections.errors or rule.family in _NO_EFFECTS or rule.refuses:
            return {}
        codes.setdefault(finding.path, {}).setdefault(finding.line, {})[finding.code] = None
    return {path: {line: tuple(of_line) for line, of_line in lines.items()} for path, lines in codes.items()}


def _check(catalog: Catalog, compiled: Compiled) -> bool:
    if error := refused(compiled, catalog):
        raise error
    return False


def _is_versioned(migration: Migration) -> bool:
    return bool(migration.version)


def _line(error: GlacierbaseError) -> str:
    """Return the message of an error without the location of its file."""
    return error.message.removeprefix(f"{error.data.get('path')}: ").removeprefix(f"{error.data.get('path')}, ")
