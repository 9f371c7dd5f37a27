"""Whether Spark takes a failed statement back: that depends on the tables that it names, as its session resolves the names.

Iceberg, Delta and Hudi show a change when it is committed, and no part of it before. Of other tables a failed statement may have
changed a part: `INSERT` into a `JDBCTableCatalog` commits each task's rows, `INSERT OVERWRITE` deletes files of parquet before it
writes, `CREATE TABLE … AS` creates a table in a catalog that stages none, and then fills it.

The session is asked after the failure, because failures are few. A table that the statement dropped is then missing, and missing
tables prove nothing of a statement that may drop one.
"""

from __future__ import annotations

from glacierbase.errors import EngineError, TableNotFound
from glacierbase.executors import Session
from glacierbase.executors.spark.shape import table_details
from glacierbase.model.names import spark_identifier
from glacierbase.sql import read
from glacierbase.sql.statement import Name, ParsedStatement

_ICEBERG = "org.apache.iceberg.spark.SparkCatalog"  # All its tables are Iceberg.
# The catalogs whose tables with commits are those of one format, beside tables of other formats.
_FORMATS = {
    _ICEBERG: "iceberg",
    "org.apache.iceberg.spark.SparkSessionCatalog": "iceberg",
    "org.apache.spark.sql.delta.catalog.DeltaCatalog": "delta",
    "org.apache.spark.sql.hudi.catalog.HoodieCatalog": "hudi",
}
# With it, a write adds the columns that its table lacks, in a commit before that of its rows.
_MERGES_SCHEMA = "spark.sql.iceberg.merge-schema"
_SESSION_CATALOG = "spark_catalog"
_BUILT_IN = ("", "builtin")  # How the class of the session catalog is configured if it is Spark's own.
_ON_NAMESPACES = ("create_namespace", "alter_namespace", "drop_namespace")
_CREATES = ("create_table", "create_table_as", "replace_table")
_MAY_REMOVE = ("drop_table", "rename_table")


def takes_back(session: Session | None, sql: str, *, not_found: bool) -> bool:
    """Return whether a failed statement, one of the list of `atomic`, is known to have had no effect.

    Args:
        session: the one that it ran in; without one, nothing is known of any table.
        not_found: whether it failed because a table is missing.
    """
    statement = read(sql, "spark")
    if not statement.understood:
        return False
    changes = statement.targets or statement.operation in _ON_NAMESPACES or statement.namespace
    if statement.options.temporary or not changes:
        return True  # It changes nothing outside of its session.
    try:
        return session is not None and _takes_back(session, statement, not_found)
    except EngineError:  # The engine does not say.
        return False


def _takes_back(session: Session, statement: ParsedStatement, not_found: bool) -> bool:
    is_rename = statement.operation.startswith("rename_")
    if len(statement.targets) > (2 if is_rename else 1):
        return False
    name = statement.targets[0] if statement.targets else statement.namespace
    if name is None:
        return False
    catalog, kind = _catalog(session, name, is_namespace=not statement.targets)
    holds_iceberg = kind == _ICEBERG and catalog != _SESSION_CATALOG
    if statement.options.kind == "view" or not statement.targets:  # One entry of the catalog.
        return holds_iceberg or (catalog == _SESSION_CATALOG and kind in (*_FORMATS, *_BUILT_IN))
    if statement.operation in _CREATES:
        return holds_iceberg or (kind in _FORMATS and statement.options.using == _FORMATS[kind])
    if _setting(session, _MERGES_SCHEMA).lower() == "true":
        return False
    is_full = catalog == name.parts[0] and len(name.parts) > 1
    if holds_iceberg and (is_full or statement.operation in _MAY_REMOVE):  # Others may mean a temporary view.
        return True
    try:
        return _format(session, name) == _FORMATS.get(kind)
    except TableNotFound:
        return not_found and statement.operation not in _MAY_REMOVE


def _catalog(session: Session, name: Name, *, is_namespace: bool) -> tuple[str, str]:
    """Return the catalog that a name is in, and its class."""
    first = name.parts[0]
    if len(name.parts) > 1 or is_namespace:
        if first.lower() == _SESSION_CATALOG:
            return _SESSION_CATALOG, _class(session, _SESSION_CATALOG)
        if kind := _class(session, first):
            return first, kind
    [[current]] = session.query("SELECT current_catalog()")
    return current, _class(session, current)


def _class(session: Session, catalog: str) -> str:
    """Return the configured class of a catalog; empty where there is none."""
    return _setting(session, f"spark.sql.catalog.{catalog}")


def _setting(session: Session, key: str) -> str:
    """Return the value of a setting; empty where it has none."""
    [[_, value]] = session.query(f"SET {spark_identifier(key)}")
    return "" if value == "<undefined>" else str(value)


def _format(session: Session, name: Name) -> str:
    """Return the format of a table; empty for a view, and where the engine does not say.

    Raises:
        TableNotFound: there is no such table.
    """
    described = session.query(f"DESCRIBE TABLE EXTENDED {'.'.join(name.written)}")
    return table_details(described).get("Provider", "").lower()
