"""The templates of the tables that migration files declare, read in the worker process of a sandbox. Contacts nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from glacierbase.capabilities.load.explained import ExplainedKeys
from glacierbase.catalogs.table_formats import default_catalog, defaults, formats, versions
from glacierbase.declared.declared import Declared, TableTracker
from glacierbase.layout.facts import layout_format, of_known
from glacierbase.layout.templates import key_template
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.migrations.worker import Chain, Examiner
from glacierbase.model.catalog import Catalog, StoreOptions
from glacierbase.model.codec import from_stored, to_stored
from glacierbase.model.migration import Migration
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.file import FileStatement, named, whole_names
from glacierbase.sql.statement import Name

_FUNCTION = f"{__name__}:examine"
# The keys of `sparkConf` from which the names, formats and properties of tables follow.
_NEEDED = re.compile(
    r"spark\.sql\.(?:defaultCatalog|catalog\.[^.]+(?:\.default-namespace|\.table-(?:default|override)\..+)?)"
    r"|spark\.databricks\.delta\.properties\.defaults\..+"
)


def declared_keys(
    sandbox: Sandbox, catalog: Catalog, migrations: Sequence[Migration], last: Migration, *, every_table: bool = False
) -> tuple[ExplainedKeys, ...]:
    """Return the keys of the tables that a file creates or changes, after it and the files before it.

    Args:
        every_table: also of the tables that only files before it create or change.

    Raises:
        MigrationFileError, SeveralErrors: one of these files does not render.
    """
    files = [*migrations[: migrations.index(last)], last]
    facts = {
        "conf": {key: value for key, value in catalog.spark_conf.items() if _NEEDED.fullmatch(key)},
        "dependencies": catalog.dependencies,
        "name": catalog.name,
        "environment": catalog.environment,
        "every_table": every_table,
    }
    examining = [(file, Examiner(_FUNCTION, {**facts, "is_last": file is last})) for file in files]
    answers = sandbox.walk(examining, catalog, catalog.dialect)
    return tuple(from_stored(ExplainedKeys, keys) for _, answer in answers for keys in answer)


def examine(compiled: Compiled, facts: Mapping[str, Any], chain: Chain) -> list[Any] | None:
    """Return the keys of tables after the last file; None for the files before it.

    Args:
        facts: the values of `declared_keys`.
    """
    catalog = _catalog(facts, compiled.dialect)
    names_of = partial(whole_names, catalog)
    tracker = chain.left(lambda is_complete: TableTracker(compiled.dialect, names_of, is_complete=is_complete))
    statements = named(compiled.statements, compiled.dialect)
    tracker.follow_file(compiled.migration.label, statements)
    if not facts["is_last"]:
        return None
    tables = tracker.declared.tables
    names = [table.whole for table in tables.values()] if facts["every_table"] else _changed(catalog, statements)
    shown = ((name, tables.get(name.key)) for name in names)
    return [to_stored(_keys(catalog, name, table)) for name, table in shown if not (table and table.is_view)]


def _changed(catalog: Catalog, statements: Sequence[FileStatement]) -> Sequence[Name]:
    """Return the tables that a file creates or changes, and does not drop."""
    uses: tuple[FileStatement, ...] = ()
    changed: dict[tuple[str, ...], Name] = {}
    for statement in statements:
        parsed = statement.parsed
        names = {name.key: name for name in whole_names(catalog, parsed, uses)}
        if parsed.operation in ("use", "set"):
            uses = (*uses, statement)
        elif parsed.operation in ("drop_table", "rename_table"):
            old, *new = names
            changed.pop(old, None)
            changed.update((key, names[key]) for key in new)
        elif not (parsed.options.temporary or parsed.operation.endswith("_view")):
            changed.update(names)
    return tuple(changed.values())


def _keys(catalog: Catalog, name: Name, declared: Declared | None) -> ExplainedKeys:
    table = (declared.whole if declared else name).recorded
    keys = ExplainedKeys(table, catalog.environment, "declared", None, None)
    if catalog.dialect != SPARK.name:
        why = f"keys of tables of {catalog.dialect} are not modelled"
        return replace(keys, format=catalog.dialect, why=why)
    if declared is None:
        return replace(keys, why="no migration up to this one creates it")
    if declared.known is None:
        return replace(keys, why=f"its declaration is not known: {declared.why}")
    own = name.parts[0] if len(name.parts) > 2 else default_catalog(catalog)
    table_format = _format(formats(catalog).get(own), declared.known.using)
    version = versions(catalog).get(table_format)
    facts = of_known(table, declared.known, table_format, version, defaults(catalog, own))
    if facts:
        return replace(keys, format=facts.format, version=version).with_template(key_template(facts))
    is_modelled = layout_format(declared.known.using or table_format)
    why = "its partition fields are not known" if is_modelled else f"keys of the format {table_format} are not modelled"
    return replace(keys, format=table_format, version=version, why=why)


def _format(of_catalog: str | None, using: str | None) -> str:
    """Return the format of a table: that of its catalog, of which USING may choose another one.

    Args:
        of_catalog: empty where its class implies none; None where the catalog file does not declare the catalog.
    """
    in_catalog = "hive" if of_catalog is None else of_catalog or "iceberg"
    return using if using and not (in_catalog == "iceberg" and layout_format(using) == "hive") else in_catalog


def _catalog(facts: Mapping[str, Any], dialect: str) -> Catalog:
    """Return a catalog with what is needed of its file."""
    name, environment = facts["name"], facts["environment"]
    return Catalog(
        name, Path(), name, environment, False, "", dialect, facts["conf"], tuple(facts["dependencies"]), {}, {}, False,
        StoreOptions("", "", 0),
    )  # fmt: skip
