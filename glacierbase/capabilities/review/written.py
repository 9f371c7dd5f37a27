"""Check the migrations that a command is about to write: they pass `validate` and `lint` in every environment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from glacierbase.capabilities.review.lint import Examined, Linting, judge
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
    refusals, allowable = _refusals(root, file, new, replaced)
    if refusals:
        lines = [f"{place}: {line}" for place, reasons in refusals.items() for line in reasons]
        what = "the file that it would write is refused by `validate` or `lint`; nothing was written"
        hint = f"write the change by hand: `{command('new', 'what it changes')}`"
        data: dict[str, Any] = {"refusals": refusals, "allowable": allowable}
        raise MigrationFileError("NOT_WRITTEN", (what, *quoted("\n".join(lines))), hint, state="", **data)


def _refusals(
    root: Path, file: CatalogFile, new: Sequence[Migration], replaced: Collection[str]
) -> tuple[Mapping[str, Sequence[str]], Mapping[str, Mapping[int, Sequence[str]]]]:
    """Return why files are refused, by location, and what can be allowed, as `check_written`."""
    chosen = [(file, file.environments)]
    linting = Linting(root, chosen, None)

    def examine(sandbox: Sandbox, catalog: Catalog, present: Sequence[Migration]) -> Iterator[Examined]:
        list(sandbox.compile_all(new, catalog, catalog.dialect, partial(_check, catalog)))
        rest = [migration for migration in present if migration.location not in replaced]
        versioned = sorted(
            (*filter(_is_versioned, rest), *filter(_is_versioned, new)), key=lambda migration: migration.number
        )
        others = [migration for migration in (*rest, *new) if not migration.version]
        yield from linting.examine(sandbox, catalog, (*versioned, *others), new)

    outcomes, _ = in_environments(root, chosen, False, examine)
    places = {migration.location for migration in new}
    reasons: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        for error in outcome.errors:
            if (place := str(error.data.get("path"))) in places:
                reasons.setdefault(place, {})[_line(error)] = None
    is_allowable = not reasons
    codes: dict[str, dict[int, list[str]]] = {}
    findings = judge([used for outcome in outcomes for used in outcome.used], linting.rules, spares_new=False).findings
    for finding in findings:
        if finding.is_error:
            where = f"{finding.code} in {', '.join(finding.environments)}"
            reasons.setdefault(finding.path, {})[f"line {finding.line}: {where}: {finding.message}"] = None
            rule = linting.rules[finding.code]
            is_allowable &= rule.family not in _NO_EFFECTS and not rule.refuses
            of_line = codes.setdefault(finding.path, {}).setdefault(finding.line, [])
            of_line += [finding.code] if finding.code not in of_line else []
    return {place: tuple(lines) for place, lines in reasons.items()}, codes if is_allowable else {}


def _check(catalog: Catalog, compiled: Compiled) -> bool:
    if error := refused(compiled, catalog):
        raise error
    return False


def _is_versioned(migration: Migration) -> bool:
    return bool(migration.version)


def _line(error: GlacierbaseError) -> str:
    """Return the message of an error without the location of its file."""
    return error.message.removeprefix(f"{error.data.get('path')}: ").removeprefix(f"{error.data.get('path')}, ")
