"""The command `rekey plan`: write the migration files, one for each phase, that give a live table other keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from glacierbase.capabilities.rekey.iceberg import with_field_names
from glacierbase.capabilities.rekey.keys import RekeyedObjects
from glacierbase.capabilities.rekey.phases import Readers, phases
from glacierbase.catalogs.folder import file_of
from glacierbase.declared.known import KnownTable
from glacierbase.declared.known_tables import altered
from glacierbase.declared.render import has_function, literal, table_name, transformed
from glacierbase.errors import ConfigurationError, EngineUnavailable, StatementRefused
from glacierbase.history.state import current_state
from glacierbase.history.target import CatalogRun
from glacierbase.layout.facts import of_known
from glacierbase.layout.iceberg import OBJECT_STORAGE, PARTITIONED_PATHS, PROVIDER
from glacierbase.layout.template import KeyTemplate, is_true
from glacierbase.layout.templates import key_template
from glacierbase.migrations.new_files import as_template, git_user, write_migration
from glacierbase.model.command import command
from glacierbase.model.names import name_parts, recorded_name, spark_identifier
from glacierbase.model.partial_shape import FORMER, PartialShape
from glacierbase.model.result import Result
from glacierbase.model.shape import Shape
from glacierbase.record.live import LiveTables
from glacierbase.record.template_names import template_of, varying_names, written_names
from glacierbase.sql import read
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.statement import ParsedStatement

_TO_OBJECT_STORAGE = "object-storage"
_PROPERTIES = ("set_properties", "unset_properties")
_FIELDS = ("add_partition_field", "drop_partition_field", "replace_partition_field")
# Spark casts values of other types to a text from which it does not read the same value.
_NOT_DIVIDED = ("binary", "float", "double")
# One commit, and one comparison, for so many bytes.
_BYTES_PER_RANGE = 100 * 1024**3


@dataclass(frozen=True, slots=True)
class RekeyPlanResult(Result):
    """The files that `rekey plan` wrote, and the templates of the keys before and after them."""

    files: tuple[str, ...] = ()
    keys_before: str = ""
    keys_after: str = ""

    def lines(self) -> Sequence[str]:
        keys = (f"keys now:    {self.keys_before}", f"keys after:  {self.keys_after}")
        return [*keys, *(f"wrote {path}" for path in self.files)] if self.files else []


@dataclass(frozen=True, slots=True)
class _Plan:
    """What `plan` writes: the name of what is re-keyed, its templates, and the description and the SQL of each file."""

    name: str
    keys_before: str
    keys_after: str
    phases: Sequence[tuple[str, str]]


def plan(
    target: CatalogRun,
    result: RekeyPlanResult,
    *, table: str, to: str, author: str | None, keys: str | None, readers: tuple[str | None, ...],
) -> RekeyPlanResult:  # fmt: skip
    """Write the files that give an Iceberg table, or the objects of a data set, other keys. Runs nothing.

    Args:
        table: its name; it begins with the catalog. Or the address of the objects, `s3://BUCKET/PREFIX/`.
        to: `object-storage`, or the ALTER TABLE that changes its keys; of objects, the template of the new keys.
        author: default git's `user.name`.
        keys: of objects, the template of the present keys.
        readers: of objects, the fields of `Readers`.

    Raises:
        ConfigurationError: `UNKNOWN_TABLE`; `CANNOT_REKEY`: the statement does not change the keys of the table, or the templates
            are wrong.
        EngineUnavailable: the table cannot be read.
        MigrationFileError: `NOT_WRITTEN`: a file would be refused.
    """
    is_address = table.startswith("s3://")
    made = _plan_of_objects(table, keys, to, Readers(*readers)) if is_address else _plan_of_table(target, table, to)
    root = Path(target.run.project)
    folder = root / "migrations" / target.catalog.stem
    file, files, count = file_of(folder, root), list[Path](), len(made.phases)
    try:
        for number, (description, sql) in enumerate(made.phases, start=1):
            files.append(
                write_migration(
                    folder,
                    root,
                    f"Rekey {made.name}, {number} of {count}: {description}",
                    author or git_user(),
                    sql=sql,
                    headers=file.required_headers,
                    versions=file.versions,
                    check=target.check_new,
                    reason="rekey plan",
                )
            )
    except BaseException:
        for path in files:
            path.unlink(missing_ok=True)
        raise
    return replace(result, files=tuple(map(str, files)), keys_before=made.keys_before, keys_after=made.keys_after)


def _plan_of_objects(address: str, keys: str | None, to: str, readers: Readers) -> _Plan:
    try:
        objects = RekeyedObjects(address, keys or "", to)
        return _Plan(re.sub(r"[^\w.-]+", " ", address[5:]).strip(), objects.old_keys, to, [*phases(objects, readers)])
    except StatementRefused as error:
        raise _refused(error.message) from error


def _plan_of_table(target: CatalogRun, table: str, to: str) -> _Plan:
    shape = _read(target, table)
    name = table_name(shape.table)
    statement = f"ALTER TABLE {name} SET TBLPROPERTIES ({literal(OBJECT_STORAGE)} = 'true')"
    statement = statement if to == _TO_OBJECT_STORAGE else to.strip().rstrip(";").rstrip()
    before, after = _templates(shape, _parsed(statement, shape))
    if before.text == after.text:
        raise _refused(f"the keys of {shape.table} stay {before.text} after this statement")
    root = Path(target.run.project)
    names = {
        **varying_names(root, target.catalog.stem, [shape.table]),
        **written_names(target, current_state(target).history, [shape.table]),
    }
    template = names.get(shape.table)
    # A quote in the name is refused by the check of the file.
    in_call = f"'{template}'" if template else as_template(literal(name))
    altering = template_of(statement, {shape.table: template} if template else {})
    return _Plan(
        re.sub("[{}`]", "", shape.table),
        before.text,
        after.text,
        [*_phases(shape, before, after, altering, in_call)],
    )


def _phases(
    shape: Shape, before: KeyTemplate, after: KeyTemplate, altering: str, table: str
) -> Iterator[tuple[str, str]]:
    """Yield the description and the statements of each file.

    Args:
        altering: the statement that changes the layout.
        table: the table as a string literal.
    """
    ranges = _ranges(shape)
    by = f", ranges => {as_template(literal(ranges))}" if ranges else ""
    yield (
        "new keys for new files",
        f"{as_template(f'-- Keys before: {before.text}')}\n{as_template(f'-- Keys after:  {after.text}')}\n"
        "-- Nobody writes twice and no reader is switched: readers of Iceberg follow its metadata, whatever the keys are.\n"
        f"{altering};\n",
    )
    yield (
        "rewrite the other files",
        "-- One commit for each range of partitions. Other writers go on; a conflict is retried. A run that stopped continues.\n"
        f"CALL glacierbase.rekey_backfill(table => {table}{by}, bytes_per_range => {_BYTES_PER_RANGE});\n",
    )
    yield (
        "validate",
        "-- The replaced files stay until the snapshots that need them expire: CALL CATALOG.system.expire_snapshots.\n"
        f"CALL glacierbase.rekey_validate(table => {table}{by});\n",
    )


def _ranges(shape: Shape) -> str:
    """Return the partition field by whose values the files are divided, `days(ts) AS ts_day`; empty where there is none."""
    types = {column.name: column.type for column in shape.columns}
    for field in shape.partitioning:
        if field.transform != "void" and has_function(field) and types.get(field.source) not in _NOT_DIVIDED:
            return f"{transformed(field)} AS {spark_identifier(field.name)}"
    return ""


def _read(target: CatalogRun, table: str) -> Shape:
    name = recorded_name(table)
    with closing(target.engine()) as engine, LiveTables(target.catalog, engine) as tables:
        answer = tables.read([name])[name]
    if answer.unread:
        hint = f"`{command('doctor')}` checks the catalog"
        raise EngineUnavailable("TABLES_NOT_READ", f"{table} cannot be read: {answer.unread}", hint)
    if answer.shape is None:
        hint = f"`{command('import', 'tables', '--list')}` lists the tables that exist"
        raise ConfigurationError("UNKNOWN_TABLE", f"there is no table {table}", hint, table=table)
    if PROVIDER in answer.shape.properties:
        raise _refused(f"{PROVIDER} decides the keys of {table}")
    if answer.shape.format != "iceberg" or len(name_parts(name)) < 3:
        raise _refused(f"{table} is not an Iceberg table, named with its catalog and its namespace")
    return with_field_names(replace(answer.shape, table=name))


def _parsed(statement: str, shape: Shape) -> ParsedStatement:
    """Return the statement.

    Raises:
        ConfigurationError: it is not an ALTER TABLE that changes properties or partition fields of the table.
    """
    parsed = read(statement, SPARK.name)
    operations = {part.operation for part in parsed.parts}
    is_allowed = parsed.understood and operations and operations <= {*_PROPERTIES, *_FIELDS}
    if not is_allowed or [target.recorded for target in parsed.targets] != [shape.table]:
        raise _refused(
            f"{statement!r} is not an ALTER TABLE {table_name(shape.table)} of properties or partition fields"
        )
    if operations & {*_FIELDS} and _hides_partitions(shape):
        raise _refused(f"the keys of {shape.table} do not show its partition fields ({PARTITIONED_PATHS} is false)")
    return parsed


def _hides_partitions(shape: Shape) -> bool:
    is_hashed = is_true(shape.properties, OBJECT_STORAGE)
    return is_hashed and not is_true(shape.properties, PARTITIONED_PATHS, "true")


def _templates(shape: Shape, change: ParsedStatement) -> tuple[KeyTemplate, KeyTemplate]:
    """Return the templates of the table's keys before and after the statement."""
    known = KnownTable("iceberg", PartialShape(shape, frozenset({FORMER})))
    made = [of_known(shape.table, table, "iceberg") for table in (known, altered(known, change)[0])]
    if None in made:
        raise _refused("the partition fields after this statement are not known")
    before, after = (key_template(facts) for facts in made if facts)
    return before, after


def _refused(why: str) -> ConfigurationError:
    return ConfigurationError("CANNOT_REKEY", f"{why}; nothing was written", command("rekey", "plan", "--help"))
