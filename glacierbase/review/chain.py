"""Examine the files of a catalog in their order, so that rules know what earlier files declare of a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from glacierbase.errors import GlacierbaseError, collected, raise_all
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.migrations.worker import Examiner
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration
from glacierbase.review.examine import FOLLOW, NAME

# What a template may render is not known before it is rendered.
_TEMPLATE = ("{{", "{%")
Answer = tuple[Migration, Mapping[str, Any]]


def examined(
    sandbox: Sandbox,
    catalog: Catalog,
    migrations: Sequence[Migration],
    chosen: Sequence[Migration],
    facts: Mapping[str, Any],
) -> Iterator[Answer]:
    """Yield what the rules find in the chosen files. Earlier files are read only if a rule asks for a table of theirs.

    Raises:
        MigrationFileError, SeveralErrors: as `Sandbox.examine_all`, of the chosen files only.
    """
    if len(chosen) == len(migrations):
        yield from _walk(sandbox, catalog, migrations, chosen, facts)
        return
    errors: list[GlacierbaseError] = []
    answers: list[Answer] = []
    with collected(errors):
        for answer in sandbox.examine_all(chosen, catalog, catalog.dialect, lambda _: Examiner(NAME, facts)):
            answers.append(answer)
    asked = {name for _, answer in answers for name in answer["asked"]}
    if asked and not sandbox.is_spent:
        files = [migration for migration, _ in answers]
        needed = [each for each in migrations if each in files or _may_name(each, asked)]
        wrong: list[GlacierbaseError] = []
        again: list[Answer] = []
        with collected(wrong):  # Errors of files that are not chosen are those of the base.
            for answer in _walk(sandbox, catalog, needed, files, facts):
                again.append(answer)
        answers = again
        errors += wrong if sandbox.is_spent else []
    yield from answers
    raise_all(errors)


def _walk(
    sandbox: Sandbox,
    catalog: Catalog,
    migrations: Sequence[Migration],
    chosen: Sequence[Migration],
    facts: Mapping[str, Any],
) -> Iterator[Answer]:
    """Yield what the rules find in the chosen files, each after those before it."""
    chain = [catalog.name, catalog.environment]
    places = {each.location: (chain, number) for number, each in enumerate(migrations)}
    wanted = {each.location for each in chosen}

    def examiner(migration: Migration) -> Examiner:
        place = {"place": places[migration.location]}
        return Examiner(NAME, {**facts, **place}) if migration.location in wanted else Examiner(FOLLOW, place)

    for migration, answer in sandbox.examine_all(migrations, catalog, catalog.dialect, examiner):
        if answer is not None:
            yield migration, answer


def _may_name(migration: Migration, tables: Collection[str]) -> bool:
    """Return whether a file may name one of the tables, by its last name."""
    text = migration.text.lower()
    return any(mark in text for mark in _TEMPLATE) or any(name in text for name in tables)
