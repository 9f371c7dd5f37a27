"""`squash`: replace the files up to a version by one that creates the tables as they are in one environment.

Nothing but files is written. The statements come from the tables, the list of tables from what the history says ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from glacierbase.apply.plan import Selection, make_plan
from glacierbase.apply.results import SquashResult
from glacierbase.errors import ConfigurationError, HistoryDisagrees, MigrationFileError, TableNotFound
from glacierbase.history.opening import OpenCatalog, Target
from glacierbase.history.records import SETTLED, History
from glacierbase.history.squashes import fitted
from glacierbase.history.state import read_state
from glacierbase.history.status import newest_number
from glacierbase.migrations.compiled import compile_migration
from glacierbase.migrations.effects import Effect, Kind, effect
from glacierbase.migrations.squash_files import (
    SquashFile,
    commit_squash,
    not_committed,
    replace_files,
    squash_text,
    variables_in,
)
from glacierbase.migrations.squashes import squashed_by
from glacierbase.migrations.statements import split_statements
from glacierbase.model.arguments import unknown_version
from glacierbase.model.command import command
from glacierbase.model.migration import Migration, State
from glacierbase.model.migration import checksum as checksum_of
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Shape
from glacierbase.model.text import counted, quoted
from glacierbase.secrets import mask
from glacierbase.sql.creates import create_statements, not_creatable, places, table_name
from glacierbase.stores.iceberg.shape import ShapeReader


def squash(
    target: Target, result: SquashResult, to: int, author: str, *, dry_run: bool, commit: bool, session: Any = None
) -> SquashResult:
    """Write the squash of all files up to version `to`, and remove them.

    Args:
        dry_run: only return its text.
        commit: commit both.

    Raises:
        ConfigurationError: there is no such version, or git refuses.
        HistoryDisagrees: this environment is not exactly at that version, or its tables cannot be created by one file.
    """
    root = Path(target.run.project)
    files = _files(target.migrations, to, root)
    with target.opened(session) as opened:
        history = _at_version(opened, files[-1])
        found = _effects(target, files, history)
        shapes = tuple(_shapes(target, found))
        if read_state(opened).history.events != history.events:
            raise _refused("a run changed the tables while they were read", f"`{command('squash', '--to', str(to))}`")
    squash = _squash_file(target, files, history, found, shapes, author)
    result = replace(
        result,
        path=squash.path.relative_to(root).as_posix(),
        removed=tuple(each.location for each in files),
        tables=tuple(shape.table for shape in shapes),
        left_out=tuple(_left_out(target, files, history, found, shapes)),
        sql=squash.text,
        dry_run=dry_run,
    )
    if dry_run:
        return result
    replace_files(squash, root)
    message = f"Squash migrations up to {files[-1].version} of {target.catalog.name}"
    return replace(result, commit=commit_squash(squash, root, message) if commit else None)


def _refused(what: str, hint: str, lines: Sequence[str] = (), **data: object) -> HistoryDisagrees:
    return HistoryDisagrees("SQUASH_REFUSED", (f"{what}; nothing was written", *lines), hint, **data)


def _files(migrations: Sequence[Migration], to: int, root: Path) -> tuple[Migration, ...]:
    """Return the files to replace."""
    files = tuple(each for each in migrations if each.number <= to)
    if newest_number(files) != to:
        raise unknown_version(f"there is no migration with version {to}")
    if len(files) == 1 and files[0].squashes:
        raise _refused(f"{files[0].location} is a squash already, the only file up to it", "name a later --to")
    if uncommitted := not_committed(files, root):
        raise _refused(
            f"git does not have these files as they are here: {', '.join(uncommitted)}",
            "commit them first: after the squash, only git has them",
            paths=uncommitted,
        )
    return files


def _at_version(opened: OpenCatalog, last: Migration) -> History:
    """Return the history, which is past the file `last` and past nothing above it."""
    target, history = opened.target, read_state(opened).history
    make_plan(target.migrations, history, Selection(out_of_order=None))  # Raises what `migrate` would.
    records = history.records
    where = f"environment {target.catalog.environment}"
    here = [each for each in fitted(target.migrations, history).migrations if each.number <= last.number]
    unsettled = [
        each.version for each in here if each.number not in records or records[each.number].state not in SETTLED
    ]
    if unsettled:
        hint = f"`{command('migrate', '--to', last.version)}`, or squash to a lower version"
        raise _refused(f"{where} has not applied {', '.join(unsettled)}", hint, versions=unsettled)
    above = [record for number, record in sorted(records.items()) if number > last.number and not record.is_removed]
    if above:
        what = f"{where} is past {last.version}: {', '.join(f'{each.version} is {each.state}' for each in above)}"
        hint = f"squash where {last.version} is the last one, or `{command('squash', '--to', above[-1].version)}`"
        raise _refused(what, hint, versions=[each.version for each in above])
    return history


@dataclass(frozen=True, slots=True)
class _Ran:
    """A statement that ran in this environment, and what it changes; names of tables begin with their catalog."""

    version: str
    sql: str
    effect: Effect


def _effects(target: Target, files: Sequence[Migration], history: History) -> tuple[_Ran, ...]:
    """Return what all statements changed.

    Raises:
        HistoryDisagrees: a statement may have changed a table that it does not name.
    """
    if target.dialect != "spark":
        raise _refused(
            f"catalog {target.catalog.name} runs on {target.dialect}; squash reads Iceberg tables of Spark catalogs only",
            "keep the files: a new environment runs them all",
        )
    found = [ran for sql, version in _ran(target, files, history) for ran in _of_file(target, sql, version)]
    unknown = [each for each in found if each.effect.kind is Kind.UNKNOWN]
    if unknown:
        lines = quoted("\n".join(f"{each.version}: {' '.join(each.sql.split())[:100]}" for each in unknown))
        raise _refused(
            "these statements may have changed tables, but do not name them so that squash understands it",
            "squash to a version below the first of them",
            lines,
            versions=sorted({each.version for each in unknown}),
        )
    return tuple(found)


def _ran(target: Target, files: Sequence[Migration], history: History) -> Iterator[tuple[str, str]]:
    """Yield the text that ran, and its version."""
    by_number = {each.number: each for each in files}
    for number, record in sorted(history.records.items()):
        sql = record.started.rendered_sql
        if sql is None and number in by_number:
            [compiled] = target.compile([by_number[number]])
            sql = compiled.text
        yield sql or "", record.version


def _of_file(target: Target, sql: str, version: str) -> Iterator[_Ran]:
    try:
        statements = split_statements(sql, target.dialect)
    except MigrationFileError:  # A secret that was masked in it may have been part of its syntax.
        yield _Ran(version, sql, Effect(Kind.UNKNOWN))
        return
    switched = False
    for statement in statements:
        found = effect(statement.text)
        tables = [_in_catalog(target.catalog.spark_conf, table, switched) for table in found.tables]
        known = tuple(table for table in tables if table is not None)
        # Of a renamed table, one of the new names is enough.
        if found.tables and (tables[0] is None or (len(tables) > 1 and len(known) < 2)):
            found = Effect(Kind.UNKNOWN)
        switched = switched or found.switches
        yield _Ran(version, statement.text, replace(found, tables=known))


def _in_catalog(conf: Mapping[str, str], table: str, switched: bool) -> str | None:
    """Return a name that begins with its catalog; None where that depends on a USE, or on a default that is not configured."""
    parts = name_parts(table)
    if len(parts) > 2 and f"spark.sql.catalog.{parts[0]}" in conf:
        return name_of(parts)
    default = conf.get("spark.sql.defaultCatalog")
    return name_of((default, *parts)) if default and len(parts) > 1 and not switched else None


def _shapes(target: Target, found: Sequence[_Ran]) -> Iterator[Shape]:
    """Yield the shape of each table that exists.

    Raises:
        HistoryDisagrees: a table cannot be read, or Spark SQL cannot create it.
    """
    seen: set[str | None] = set()
    with closing(ShapeReader(target.catalog)) as reader:
        for table in sorted({table for each in found for table in each.effect.tables}):
            shape = _read(reader, table)
            if shape is not None and shape.uuid not in seen:  # Some catalogs ignore the case of names.
                seen.add(shape.uuid)
                yield shape


def _read(reader: ShapeReader, table: str) -> Shape | None:
    try:
        shape = reader.read(table)
    except (ConfigurationError, TableNotFound) as error:
        if isinstance(error, ConfigurationError) and error.code != "STORE_NOT_ICEBERG":
            raise
        raise _refused(
            f"{table}: {error.message}; squash reads Iceberg tables through PyIceberg only",
            "keep the files: a new environment runs them all",
            table=table,
        ) from error
    if shape is None:
        return None
    wrong = not_creatable(shape)
    texts = (*shape.properties, *shape.properties.values(), *(each.comment or "" for each in shape.columns))
    if any(mask(text) != text for text in texts):
        wrong = ["one of its comments or properties holds a secret"]
    if wrong:
        what = f"{table} cannot be created with Spark SQL: {'; '.join(wrong)}"
        raise _refused(what, "keep the files: a new environment runs them all", table=table)
    return shape


def _squash_file(
    target: Target,
    files: Sequence[Migration],
    history: History,
    found: Sequence[_Ran],
    shapes: Sequence[Shape],
    author: str,
) -> SquashFile:
    environment, last = target.catalog.environment, files[-1]
    span = f"versions {files[0].version} to {last.version}"
    written = command("squash", "--to", last.version)
    left_out = [f"  - {each}" for each in _left_out(target, files, history, found, shapes)]
    comments = [
        f"Written by `{written}` from the tables of environment {environment}. Do not edit.",
        "It runs in new environments only. Where the files that it replaces are applied, nothing runs.",
        *(["It does not have:", *left_out] if left_out else []),
    ]
    statements = [*_namespaces(found, shapes), *(sql for shape in shapes for sql in create_statements(shape))]
    text = squash_text(files, f"Create the tables of {span}", author, comments, statements)
    path = target.catalog.file.parent.parent / "migrations" / target.catalog.stem / f"{last.version}_squashed.sql"
    _check_text(target, last, path, text, statements, files)
    return SquashFile(path, text, tuple(files))


def _check_text(
    target: Target,
    last: Migration,
    path: Path,
    text: str,
    statements: Sequence[str],
    files: Sequence[Migration],
) -> None:
    """Check that the text is read as exactly these statements."""
    location = path.relative_to(Path(target.run.project)).as_posix()
    made = replace(
        last, path=path, location=location, text=text, checksum=checksum_of(text.encode()), squashes=squashed_by(files)
    )
    compiled = compile_migration(made, target.catalog, target.dialect)
    assert [each.text for each in compiled.statements] == list(statements), location


def _namespaces(found: Sequence[_Ran], shapes: Sequence[Shape]) -> Iterator[str]:
    """Yield a statement for each namespace of a table that the replaced files create."""
    needed = {tuple(name_parts(shape.table)[:-1]) for shape in shapes}
    created = {each.effect.namespace for each in found if each.effect.namespace}
    for parts in sorted(needed):
        if any(tuple(name_parts(name)) in (parts, parts[1:]) for name in created):
            yield f"CREATE NAMESPACE IF NOT EXISTS {table_name(name_of(parts))}"


def _left_out(
    target: Target, files: Sequence[Migration], history: History, found: Sequence[_Ran], shapes: Sequence[Shape]
) -> Iterator[str]:
    """Yield what the squash does not do in a new environment, a sentence each."""
    for kind in (Kind.ROWS, Kind.VIEW, Kind.FUNCTION, Kind.RIGHTS, Kind.CALL, Kind.NAMESPACE):
        versions = _versions(
            each for each in found if each.effect.kind is kind or (kind is Kind.ROWS and each.effect.has_rows)
        )
        if versions:
            yield f"{kind.value} ({counted(len(versions), 'version')}: {', '.join(versions)})"
    for shape in shapes:
        if keys := places(shape):
            yield f"places of the files of {shape.table}: {', '.join(keys)}"
    yield "locations of tables: the catalog chooses them"
    if names := variables_in(files):
        environment = target.catalog.environment
        yield f"variables: it has the values of {environment} of {', '.join(names)}"
    abandoned = [record.version for record in history.records.values() if record.state is State.ABANDONED]
    if abandoned:
        yield f"statements that did not run in {target.catalog.environment}, of abandoned versions: {', '.join(abandoned)}"


def _versions(found: Iterator[_Ran]) -> list[str]:
    return list(dict.fromkeys(each.version for each in found))
