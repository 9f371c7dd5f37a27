"""Check the migrations that a command is about to write: they pass `validate` and `lint` in every environment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from glacierbase.catalogs.folder import CatalogFile
from glacierbase.catalogs.needs import refused
from glacierbase.errors import GlacierbaseError, MigrationFileError
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.in_environments import in_environments
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.migration import Migration
from glacierbase.model.text import quoted
from glacierbase.review.lint import Examined, Linting, judge


def check_written(root: Path, file: CatalogFile, new: Sequence[Migration], replaced: Collection[str] = ()) -> None:
    """Refuse new migrations of a catalog that a check refuses in one of its environments. Contacts nothing.

    Args:
        root: the root of the project.
        new: in order; their files need not exist.
        replaced: the locations of the files in whose place they will be.

    Raises:
        MigrationFileError: `NOT_WRITTEN`, with the reasons by location in `refusals`.
    """
    if refusals := _refusals(root, file, new, replaced):
        lines = [f"{place}: {line}" for place, reasons in refusals.items() for line in reasons]
        what = "the file that it would write is refused by `validate` or `lint`; nothing was written"
        hint = f"write the change by hand: `{command('new', 'what it changes')}`"
        raise MigrationFileError("NOT_WRITTEN", (what, *quoted("\n".join(lines))), hint, state="", refusals=refusals)


def _refusals(
    root: Path, file: CatalogFile, new: Sequence[Migration], replaced: Collection[str]
) -> Mapping[str, Sequence[str]]:
    """Return why files are refused, by location."""
    chosen = [(file, file.environments)]
    linting = Linting(root, chosen, None)

    def examine(sandbox: Sandbox, catalog: Catalog, present: Sequence[Migration]) -> Iterator[Examined]:
        list(sandbox.compile_all(new, catalog, catalog.dialect, partial(_check, catalog)))
        rest = [migration for migration in present if migration.location not in replaced]
        versioned = sorted((*filter(_is_versioned, rest), *filter(_is_versioned, new)), key=lambda each: each.number)
        others = [migration for migration in (*rest, *new) if not migration.version]
        yield from linting.examine(sandbox, catalog, (*versioned, *others), new)

    outcomes, _ = in_environments(root, chosen, False, examine)
    places = {migration.location for migration in new}
    reasons: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        for error in outcome.errors:
            if (place := str(error.data.get("path"))) in places:
                reasons.setdefault(place, {})[_line(error)] = None
    findings = judge([used for outcome in outcomes for used in outcome.used], linting.rules, spares_new=False).findings
    for finding in findings:
        if finding.is_error:
            where = f"{finding.code} in {', '.join(finding.environments)}"
            reasons.setdefault(finding.path, {})[f"line {finding.line}: {where}: {finding.message}"] = None
    return {place: tuple(lines) for place, lines in reasons.items()}


def _check(catalog: Catalog, compiled: Compiled) -> bool:
    if error := refused(compiled, catalog):
        raise error
    return False


def _is_versioned(migration: Migration) -> bool:
    return bool(migration.version)


def _line(error: GlacierbaseError) -> str:
    """Return the message of an error without the location of its file."""
    return error.message.removeprefix(f"{error.data.get('path')}: ").removeprefix(f"{error.data.get('path')}, ")
