"""Statements with every form of `${…}` that Spark would replace, and what a session made of them.

    python -m tests.support.substituted KIND ROOT FOLDER

writes that for a session of one kind: `started` by glacierbase, `own`, which the caller starts, or `copy` of `review`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from glacierbase.errors import EngineError, StatementRefused
from glacierbase.executors import Executor, Session
from glacierbase.run.run import Run
from glacierbase.sql.dialects import SUBSTITUTES

CANARY = "canary-4711"
# The settings that `_opened` writes. HOME is in the environment of each JVM, and CANARY in that of some.
FORMS = (
    "${env:HOME}",
    "${env:CANARY}",
    "${system:user.dir}",
    "${gb.canary}",
    "${spark:gb.canary}",
    "${sparkconf:gb.canary}",
    "${hivevar:gb.canary}",
    "${hiveconf:gb.canary}",
    "${hivevar:x}",
    "${env:${gb.name}}",
    "${unknown}",
)
NAMES = tuple(form for form in FORMS if "." not in form)
# Each would turn the substitution on, or back to the default of Spark, for the statements after it.
TURNS_ON = (
    f"SET {SUBSTITUTES} = true",
    f"SET `{SUBSTITUTES}` = true",
    f"SET hiveconf:{SUBSTITUTES} = true",
    f"RESET {SUBSTITUTES}",
    "RESET",
    f"EXECUTE IMMEDIATE 'SET {SUBSTITUTES} = true'",
    "EXECUTE IMMEDIATE concat('SET spark.sql.variable.', 'substitute = true')",
    f"BEGIN EXECUTE IMMEDIATE 'SET {SUBSTITUTES} = true'; END",
    "BEGIN RESET; END",
    f"CREATE TEMPORARY VIEW turned TBLPROPERTIES ('view.sqlConfig.{SUBSTITUTES}' = 'true') AS SELECT 1 AS a",
)
# Both in one statement: only a setting that nothing changes withstands it.
TURNS_ON_INSIDE = (
    "BEGIN EXECUTE IMMEDIATE concat('SET spark.sql.variable.', 'substitute = true');"
    " EXECUTE IMMEDIATE 'SELECT assert_true(length(''\\u0024{env:HOME}'') = 11)'; END"
)


def replaced(open_session: Callable[[], Session], namespace: str, *, is_fixed: bool) -> list[str]:
    """Return a line for each text that a session replaced, of an executor on Iceberg tables.

    Args:
        namespace: a new one.
        is_fixed: whether a statement that turns the substitution on has to be refused.
    """
    with closing(_opened(open_session())) as session:
        return [*_literal(session, namespace), *_as_keyword(session, namespace), *_turned_on(session, is_fixed)]


def _opened(session: Session) -> Session:
    for key, value in {"gb.canary": CANARY, "gb.name": "HOME", "gb.word": "DROP", "hivevar:x": CANARY}.items():
        session.execute(f"SET {key} = {value}")
    return session


def _literal(session: Session, namespace: str) -> Iterator[str]:
    """Yield what is not the literal text in rows, comments, properties, names, a location, views, functions and settings."""
    session.execute(f"CREATE NAMESPACE {namespace} COMMENT '{FORMS[0]}'")
    table = f"{namespace}.t"
    columns = ", ".join(f"`{form}` STRING COMMENT '{form}'" for form in NAMES)
    properties = ", ".join(f"'p{at}' = '{form}'" for at, form in enumerate(FORMS))
    session.execute(
        f"CREATE TABLE {table} (value STRING, {columns}) USING iceberg COMMENT '{' '.join(FORMS)}' TBLPROPERTIES ({properties})"
    )
    rows = ", ".join(f"('{form}')" for form in FORMS)
    session.execute(f"INSERT INTO {table} (value) VALUES {rows}")
    found: dict[str, set[Any]] = {}
    found["rows"] = {value for (value,) in session.query(f"SELECT value FROM {table}")}
    found["properties"] = {
        value for key, value in session.query(f"SHOW TBLPROPERTIES {table}") if key[0] == "p" and key[1:].isdigit()
    }
    described = session.query(f"DESCRIBE TABLE EXTENDED {table}")
    yield from _differences("comment of the table", {" ".join(FORMS)} - {row[1] for row in described})
    yield from _differences(
        "names and comments of columns", {(form, "string", form) for form in NAMES} - set(described)
    )
    space = session.query(f"DESCRIBE NAMESPACE EXTENDED {namespace}")
    yield from _differences("comment of the namespace", {FORMS[0]} - {value for _, value in space})
    session.execute(f"CREATE TEMPORARY VIEW v AS SELECT * FROM VALUES {rows}")
    found["view"] = {value for (value,) in session.query("SELECT * FROM v")}
    found["expressions"] = {value for form in FORMS for (value,) in session.query(f"SELECT '{form}'")}
    for at, form in enumerate(FORMS):
        session.execute(f"SET gb.p{at} = {form}")
    found["settings"] = {session.query(f"SET gb.p{at}")[0][1] for at, _ in enumerate(FORMS)}
    for where, values in found.items():
        yield from _differences(where, values ^ set(FORMS))


def _differences(where: str, differing: set[Any]) -> Iterator[str]:
    if differing:
        yield f"{where}: {sorted(map(str, differing))}"


def _as_keyword(session: Session, namespace: str) -> Iterator[str]:
    """Yield the statements that ran although their first word is `${…}`."""
    session.execute("SET spark.sql.iceberg.z = ADD")
    for sql in (
        f"${{gb.word}} TABLE {namespace}.t",
        "${spark.sql.iceberg.z} JAR '/nowhere.jar'",
        "SELECT 1 ${unknown}",
    ):
        try:
            session.execute(sql)
            yield f"it ran: {sql}"
        except StatementRefused:
            session.query(f"SELECT 1 FROM {namespace}.t")


def _turned_on(session: Session, is_fixed: bool) -> Iterator[str]:
    for sql in (*TURNS_ON, *([TURNS_ON_INSIDE] if is_fixed else [])):
        try:
            session.execute(sql)
            if is_fixed and "= true" in sql and "hiveconf" not in sql:
                yield f"it ran: {sql}"
        except EngineError:
            pass
        [(value,)] = session.query("SELECT '${env:HOME}'")
        if value != "${env:HOME}":
            yield f"after {sql}: {value}"


def main(kind: str, root: Path, folder: Path) -> None:
    """Write what a session of this kind replaced."""
    from tests.support.beds import opened
    from tests.support.project_folder import only_catalog

    if kind == "started":
        with opened(root) as (_, executor):
            found = replaced(executor.open_session, "lake.sub", is_fixed=True)
    elif kind == "copy":
        from glacierbase.capabilities.review.copy import copy_of
        from glacierbase.executors import open_copy

        copy = copy_of(only_catalog(root))
        with closing(open_copy(copy.catalog, Run.here(folder), folder, copy.names)) as engine:
            found = replaced(engine.open_session, "lake.sub", is_fixed=True)
    else:
        found = _own(root)
    sys.stdout.write("\n".join(found) + "\nnothing more\n")


def _own(root: Path) -> list[str]:
    """Use a session of the caller, and return also what changed in it."""
    from pyspark.sql import SparkSession

    from glacierbase import Project
    from glacierbase.executors.spark.executor import ExternalExecutor
    from tests.support.project_folder import only_catalog

    (root / "warehouse").mkdir()
    spark = SparkSession.builder.config(map=Project.load(root).spark_conf()).getOrCreate()
    before = spark.sql("SET -v").collect()
    executor: Executor = ExternalExecutor(only_catalog(root), spark)
    found = replaced(executor.open_session, "lake.sub", is_fixed=False)
    executor.close()
    after = spark.sql("SET -v").collect()
    found += [f"changed in the caller's session: {each}" for each in set(before) ^ set(after)]
    [[home]] = spark.sql("SELECT '${env:HOME}'").collect()
    found += [] if home == os.environ["HOME"] else ["the caller's session replaces nothing any more"]
    spark.stop()
    return found


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
