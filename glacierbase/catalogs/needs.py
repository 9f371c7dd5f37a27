"""What a statement needs of the catalog file: extensions of Spark's parser, catalogs with views, features that allow something.

The needs of Iceberg and Delta were tested on Spark 4.1 with Iceberg 1.12 and Delta 4.4, without what they name: the statement
fails, after those before it took effect. Those of Hudi are from its documentation, that of scripts is from tests of Spark 4.0. A
server of Spark Connect has its own settings, so nothing is known there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from glacierbase.catalogs.table_formats import formats
from glacierbase.errors import MigrationFileError
from glacierbase.executors import type_of
from glacierbase.executors.direct.files import FileEngines
from glacierbase.formats import DELTA, HUDI, ICEBERG
from glacierbase.formats.table_format import TableFormat
from glacierbase.migrations.compiled import Compiled, refused_action, refused_misreading, refused_secret
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_parts
from glacierbase.sql.operations import EXTENSIONS

if TYPE_CHECKING:
    from glacierbase.sql.file import FileStatement
    from glacierbase.sql.statement import ColumnClause, ParsedStatement
    from glacierbase.sql.types import TypeTree

_EXTENSIONS = "spark.sql.extensions"
_CATALOG, _SESSION_CATALOG = ICEBERG.catalogs
_METASTORES = ("spark.hadoop.hive.metastore.uris", "spark.hive.metastore.uris")
# https://docs.delta.io/latest/quick-start.html#set-up-apache-spark-with-delta-lake
_OF_DELTA = frozenset(
    {
        "insert", "insert_overwrite", "update", "delete", "merge", "optimize", "vacuum", "restore", "add_constraint",
        "drop_constraint", "cluster_by",
    }
)  # fmt: skip
# Statements that only Delta's parser reads, and that have no operation of their own.
_READ_BY_DELTA = re.compile(r"(?i)^\s*(?:CONVERT\s+TO\s+DELTA|GENERATE)\b|\b(?:DROP\s+FEATURE|SYNC\s+IDENTITY)\b")
_DEFAULTS = "feature.allowColumnDefaults"
_MAPPING = "columnMapping.mode"
# https://docs.delta.io/delta-column-mapping/
_NOT_IN_NAMES = frozenset(" ,;{}()\n\t=")
# Hudi refuses these otherwise: https://hudi.apache.org/docs/schema_evolution
_EVOLVING = frozenset({"rename_column", "drop_column", "alter_column_position", "alter_column_type"})
_SCHEMA_ON_READ = "hoodie.schema.on.read.enable"
_SCRIPTING = "spark.sql.scripting.enabled"
# The types of catalogs without a server, which could choose the format version of a new table.
_WITHOUT_SERVER = ("hadoop", "hive", "jdbc", "glue", "nessie")
# A file without these words needs nothing but the types of its catalogs, and is not read.
_MAY_NEED = re.compile(
    r"(?i)\b(?:PARTITION\s+FIELD|WRITE|IDENTIFIER|BRANCH|TAG|VIEW|CALL|INSERT|UPDATE|DELETE|MERGE|OPTIMIZE|VACUUM|RESTORE"
    r"|CONSTRAINT|CLUSTER|DEFAULT|CLONE|CONVERT|REORG|GENERATE|FEATURE|SYNC|VARIANT|BEGIN)\b|`[^`]*[ ,;{}()\n\t=]"
)
# The same for a catalog of Hudi; most files of any other have the word, and need nothing.
_MAY_EVOLVE = re.compile(r"(?i)\b(?:COLUMNS?|CHANGE)\b")


@dataclass(frozen=True, slots=True)
class _Use:
    """A statement in a catalog of Spark.

    Attributes:
        catalog: the catalog file in one environment.
        name: the name of the catalog in `sparkConf`.
        sql: the statement; the whole script for one in a script.
        text: the text of the file, which may set something for its session.
    """

    parsed: ParsedStatement
    catalog: Catalog
    name: str
    sql: str
    text: str

    @property
    def conf(self) -> Mapping[str, str]:
        return self.catalog.spark_conf

    @property
    def operations(self) -> frozenset[str]:
        return frozenset({self.parsed.operation, *(part.operation for part in self.parsed.parts)})

    def setting(self, key: str) -> str:
        """Return a setting of the catalog; empty where it is not set."""
        return self.conf.get(f"spark.sql.catalog.{self.name}.{key}", "")

    def extends(self, extension: str) -> bool:
        return extension in (name.strip() for name in self.conf.get(_EXTENSIONS, "").split(","))


@dataclass(frozen=True, slots=True)
class _Need:
    """What a statement needs.

    Attributes:
        of: whether a statement needs it.
        is_met: whether the catalog file has it.
        what: the need, as the object of "needs".
        hint: how to meet it, with `{name}` for the catalog.
    """

    of: Callable[[_Use], bool]
    is_met: Callable[[_Use], bool]
    what: str
    hint: str


def _is_of(use: _Use, table_format: TableFormat) -> bool:
    return formats(use.catalog).get(use.name) == table_format.name


def _is_in(use: _Use, *types: str) -> bool:
    """Return whether a catalog of Iceberg is of one of these types."""
    return use.conf.get(f"spark.sql.catalog.{use.name}") == _CATALOG and use.setting("type").lower() in types


def _has_type(catalog: Catalog, name: str) -> bool:
    """Return whether a catalog of Iceberg has a type, or what makes it one of a Hive metastore; others need none."""
    conf, key = catalog.spark_conf, f"spark.sql.catalog.{name}"
    given = (f"{key}.type", f"{key}.catalog-impl", f"{key}.uri", *_METASTORES)
    return conf.get(key) != _CATALOG or any(map(conf.get, given))


def _is_view(use: _Use) -> bool:
    options = use.parsed.options
    return (
        options.kind == "view" and not options.temporary and use.conf.get(f"spark.sql.catalog.{use.name}") == _CATALOG
    )


def _has_jar(use: _Use, start: str) -> bool:
    return any(start in jar for jar in use.catalog.dependencies)


def _is_call_of_spark_3(use: _Use) -> bool:
    return use.parsed.operation == "call" and _has_jar(use, "iceberg-spark-runtime-3.")


def _is_migrate(use: _Use) -> bool:
    from glacierbase.sql.statement import Call  # Only what is read needs the names of statements.

    return any(isinstance(part, Call) and part.procedure[-2:] == ("system", "migrate") for part in use.parsed.parts)


def _sets(use: _Use, key: str, value: str = "") -> bool:
    """Return whether the file mentions a setting, or a setting of the catalog file whose name ends so has a value.

    Args:
        value: the only one that counts; default any.
    """
    settings = (held.lower() for name, held in use.conf.items() if name.endswith(key))
    return key in use.text or any(value in ("", held) for held in settings)


def _columns(use: _Use) -> list[ColumnClause]:
    from glacierbase.sql.statement import ColumnClause

    return [part for part in use.parsed.parts if isinstance(part, ColumnClause)]


def _creates_delta(use: _Use) -> bool:
    """Return whether a statement creates a table of Delta; the session's catalog also holds tables of other formats."""
    return use.parsed.operation in ("create_table", "replace_table") and use.parsed.options.using == DELTA.name


def _has_defaults(use: _Use) -> bool:
    return _creates_delta(use) and any(column.default is not None for column in _columns(use))


def _has_other_names(use: _Use) -> bool:
    """Return whether a new table has a column or a field with a character that files of Parquet do not have in names."""
    is_new = _creates_delta(use) and use.parsed.operation == "create_table"
    return is_new and any(not _NOT_IN_NAMES.isdisjoint(name) for column in _columns(use) for name in _names(column))


def _names(column: ColumnClause) -> Iterator[str]:
    yield from column.path
    yield from (field.name for tree in _trees(column) for field in tree.fields)


def _trees(column: ColumnClause) -> Iterator[TypeTree]:
    """Yield the type of a column and all types inside; none where it has a form that is not supported."""
    from glacierbase.sql.cursor import UnsupportedClause
    from glacierbase.sql.types import type_tree

    trees = []
    with suppress(UnsupportedClause):
        trees.append(type_tree(column.type or ""))
    while trees:
        yield (tree := trees.pop())
        trees += [field.type for field in tree.fields]


def _has_variant(use: _Use) -> bool:
    is_new = use.parsed.operation == "create_table" and _is_in(use, *_WITHOUT_SERVER)
    return is_new and any(tree.name == "variant" for column in _columns(use) for tree in _trees(column))


def _has_version_3(use: _Use) -> bool:
    from glacierbase.sql.statement import Property

    given = (part.value for part in use.parsed.parts if isinstance(part, Property) and part.key == "format-version")
    chosen = (use.setting(f"table-{kind}.format-version") for kind in ("default", "override"))
    return any(version not in (None, "", "1", "2") for version in (*given, *chosen))


def _is_of_delta(use: _Use) -> bool:
    is_read = use.parsed.operation == "other" and _READ_BY_DELTA.search(use.sql) is not None
    return _is_of(use, DELTA) and (is_read or use.parsed.options.shallow or not use.operations.isdisjoint(_OF_DELTA))


_NEEDS = (
    _Need(
        lambda _: True,
        lambda use: _has_type(use.catalog, use.name),
        "a type of the catalog",
        "set `spark.sql.catalog.{name}.type`; without it, Iceberg looks for a Hive metastore, for which `hive` says so",
    ),
    _Need(
        lambda use: _is_of(use, ICEBERG) and (not use.operations.isdisjoint(EXTENSIONS) or _is_call_of_spark_3(use)),
        lambda use: use.extends(ICEBERG.extension),
        "Iceberg's SQL extensions",
        f"add `{ICEBERG.extension}` to `{_EXTENSIONS}` of the catalog file",
    ),
    _Need(
        _is_view,
        lambda use: use.extends(ICEBERG.extension),
        "Iceberg's SQL extensions, by which Spark knows views of a catalog",
        f"add `{ICEBERG.extension}` to `{_EXTENSIONS}` of the catalog file",
    ),
    _Need(
        lambda use: _is_view(use) and _is_in(use, "jdbc"),
        lambda use: use.setting("jdbc.schema-version").upper() == "V1",
        "a JDBC catalog with views",
        "set `spark.sql.catalog.{name}.jdbc.schema-version` to `V1`, which adds a column to its database",
    ),
    _Need(
        lambda use: _is_view(use) and _is_in(use, "hadoop") and use.parsed.operation != "drop_view",
        lambda _: False,
        "a catalog with views, which a Hadoop catalog is not",
        "create the view in a catalog of another type, or as a temporary view",
    ),
    _Need(
        lambda use: _is_of(use, ICEBERG) and _is_migrate(use),
        lambda use: use.conf.get("spark.sql.catalog.spark_catalog") == _SESSION_CATALOG,
        "Iceberg's session catalog, in which `migrate` replaces a table",
        f"set `spark.sql.catalog.spark_catalog` to `{_SESSION_CATALOG}`; or call `snapshot`, which creates another table",
    ),
    _Need(
        _has_variant,
        _has_version_3,
        "format version 3, which has the type variant",
        "write TBLPROPERTIES ('format-version' = '3'), or set `spark.sql.catalog.{name}.table-default.format-version`",
    ),
    _Need(
        lambda use: use.parsed.operation == "script" and _has_jar(use, "iceberg-spark-runtime-4.0_"),
        lambda use: _sets(use, _SCRIPTING, "true"),
        "scripts, which Spark 4.0 has off by default",
        f"set `{_SCRIPTING}` to `true`",
    ),
    _Need(
        _is_of_delta,
        lambda use: use.extends(DELTA.extension),
        "Delta's SQL extension",
        f"add `{DELTA.extension}` to `{_EXTENSIONS}` of the catalog file",
    ),
    _Need(
        _has_defaults,
        lambda use: _sets(use, _DEFAULTS),
        f"the feature that allows defaults, `delta.{_DEFAULTS}`",
        f"write TBLPROPERTIES ('delta.{_DEFAULTS}' = 'supported')",
    ),
    _Need(
        _has_other_names,
        lambda use: _sets(use, _MAPPING),
        "column mapping, for the characters in the name of a column",
        f"write TBLPROPERTIES ('delta.{_MAPPING}' = 'name')",
    ),
    _Need(
        lambda use: _is_of(use, HUDI) and not use.operations.isdisjoint(_EVOLVING),
        lambda use: _sets(use, _SCHEMA_ON_READ, "true"),
        "schema on read, by which Hudi changes columns",
        f"write SET {_SCHEMA_ON_READ}=true above the statement",
    ),
)


def refused(
    compiled: Compiled, catalog: Catalog | None, resumes_at: int = 1, or_else: str = ""
) -> MigrationFileError | None:
    """Return the error for a statement to run that is misread, holds a secret, or needs an action, an engine or a setting
    that is not there.

    Args:
        catalog: None where the caller's session has settings of its own.
        resumes_at: the index of the first statement that is to run.
        or_else: another way out, for the hint.
    """
    location = compiled.migration.location
    error = refused_misreading(location, compiled.misread, resumes_at, or_else)
    error = error or refused_secret(compiled, resumes_at, or_else) or refused_action(compiled, resumes_at, or_else)
    if error or catalog is None:
        return error
    if type_of(catalog).is_direct:
        return FileEngines(catalog).refusal(replace(compiled, catalog=catalog), location, resumes_at, or_else)
    return unmet(compiled, catalog, resumes_at)


def unmet(compiled: Compiled, catalog: Catalog, resumes_at: int = 1) -> MigrationFileError | None:
    """Return an error for the first statement to run that needs what the catalog file lacks, or None.

    Args:
        resumes_at: the index of the first statement that is to run.
    """
    declared = formats(catalog)
    if not declared or "spark.remote" in catalog.spark_conf or not _may_need(compiled, catalog):
        return None
    for named in (compiled if compiled.catalog else replace(compiled, catalog=catalog)).named:
        for parsed, line, column, names in _statements(named) if named.statement.index >= resumes_at else ():
            for name in names & declared.keys():
                use = _Use(parsed, catalog, name, named.statement.text, compiled.text)
                need = next((need for need in _NEEDS if need.of(use) and not need.is_met(use)), None)
                if need:
                    return _error(compiled.migration.location, line, column, use, need)
    return None


def _may_need(compiled: Compiled, catalog: Catalog) -> bool:
    """Return whether a statement may need something; what every statement needs of a catalog is known from the catalog file."""
    declared = formats(catalog)
    if not all(_has_type(catalog, name) for name in declared) or _MAY_NEED.search(compiled.text):
        return True
    return HUDI.name in declared.values() and _MAY_EVOLVE.search(compiled.text) is not None


def _statements(named: FileStatement) -> Iterator[tuple[ParsedStatement, int, int, set[str]]]:
    """Yield a statement, and those of a script, each with line, column and the first parts of the names of what it changes."""
    statement = named.statement
    names = [name_parts(whole) for _, whole in named.names if whole]
    firsts = {parts[0] for parts in names if len(parts) > 1}
    yield named.parsed, statement.line, statement.column, _firsts(named.parsed) | firsts
    for inner in named.parsed.inner:
        column = inner.place.column + (statement.column - 1 if inner.place.line == 1 else 0)
        yield inner.parsed, statement.line + inner.place.line - 1, column, _firsts(inner.parsed)


def _firsts(parsed: ParsedStatement) -> set[str]:
    changed = [*parsed.targets, *([parsed.namespace] if parsed.namespace else [])]
    return {name.parts[0] for name in changed if len(name.parts) > 1}


def _error(location: str, line: int, column: int, use: _Use, need: _Need) -> MigrationFileError:
    what = f"this statement needs {need.what}, and the catalog file of {use.name} lacks it"
    return MigrationFileError(
        "NEEDS_CONFIGURATION",
        f"{location}, line {line}, column {column}: {what}",
        need.hint.format(name=use.name),
        path=location,
        line=line,
        column=column,
    )
