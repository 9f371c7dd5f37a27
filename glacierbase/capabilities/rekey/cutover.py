"""Let readers read a data set by its new keys, step by step: through a view, or through the locations of partitions.

Each step is one share of the data, from 0 (all by old keys: the way back) to 100 percent. Old and new keys have the same content,
so that a reader finds all rows in every step. A step that was stopped is repeated: it changes only what is not as it must be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import dropwhile, takewhile
from urllib.parse import unquote

from glacierbase.capabilities.rekey.journal import Journal, instant, journal_of, milliseconds, now, state
from glacierbase.capabilities.rekey.keys import RekeyedObjects, of_arguments
from glacierbase.declared.render import literal, table_name
from glacierbase.errors import StatementRefused
from glacierbase.executors.actions import ActionRun, GateShut
from glacierbase.layout.keys import hash_prefix
from glacierbase.model.escape import on_one_line
from glacierbase.model.names import name_parts, spark_identifier
from glacierbase.model.text import counted
from glacierbase.sql.qualified import DEFAULT_CATALOG

_SHARES = 100
# The value of a partition whose column is NULL.
_NULL = "__HIVE_DEFAULT_PARTITION__"
# Spark then compares the text of a value; otherwise it reads a number first, and does not find `id=007` as `id=7`.
_BY_TEXT = "spark.sql.legacy.skipTypeValidationOnAlterPartition"


def cutover(run: ActionRun) -> None:
    """Let readers read one share of the data by its new keys.

    Raises:
        GateShut: the step before is not as old as it must be.
        StatementRefused: nothing was validated, old objects were deleted, or readers cannot be switched in this way.
    """
    objects, percent = of_arguments(run.arguments), int(run.arguments["percent"])
    if percent > _SHARES:
        raise _refused(f"percent => {percent} is more than {_SHARES}")
    with closing(journal_of(run)) as journal:
        _check_gates(run, journal, percent)
        table = run.arguments.get("table")
        for statement in _of_view(run, percent) if table is None else _of_partitions(run, objects, table, percent):
            run.execute(statement)
        journal.put("state", {"cutover": {"percent": percent, "table": table, "at": now()}})


def check_readers(run: ActionRun, journal: Journal, objects: RekeyedObjects) -> None:
    """Check that no reader reads by old keys. Without a step in the journal, readers were switched by other means.

    Raises:
        GateShut: one does.
    """
    step = state(journal, "cutover")
    if step.get("percent", _SHARES) < _SHARES:
        raise GateShut(f"readers read only {step['percent']} % by new keys")
    if (table := step.get("table")) and (left := len([*_of_partitions(run, objects, table, _SHARES)])):
        raise GateShut(
            f"{counted(left, 'partition')} of {table} got the location of old keys after the last step; a"
            " `CALL glacierbase.rekey_cutover` of 100 percent switches them"
        )


def _check_gates(run: ActionRun, journal: Journal, percent: int) -> None:
    manifest, step = state(journal, "manifest"), state(journal, "cutover")
    if percent and not manifest:
        raise _refused(f"the journal has no manifest of {run.arguments['objects']}; rekey_validate writes it")
    if percent < _SHARES and state(journal, "deletion"):
        raise _refused("objects with old keys were deleted; no reader can read by them")
    if 0 < step.get("percent", 0) < percent:
        ends = milliseconds(step["at"]) + int(run.arguments["hold_seconds"]) * 1000
        if milliseconds(now()) < ends:
            raise GateShut(
                f"readers read {step['percent']} % by new keys since {step['at']}; the next step is at {instant(ends)}"
            )


def _of_view(run: ActionRun, percent: int) -> Iterator[str]:
    """Yield the statement that replaces the view."""
    view, old, new = (table_name(run.arguments[name]) for name in ("view", "old_table", "new_table"))
    by, columns, others = run.arguments["by"], _columns(run, old), _columns(run, new)
    present = {name.lower(): type for name, type in others.items()}
    for name, type in columns.items():
        # The two sides of a UNION have the types that fit both, and a hash depends on the type.
        if present.get(name.lower()) != type:
            raise _refused(f"{new} has no column {name} of the type {type}, which {old} has")
    if by.lower() not in {name.lower() for name in columns}:
        raise _refused(f"{old} has no column {by}")
    # By name: the partition columns of the two tables come in another order.
    selected = f"SELECT {', '.join(map(spark_identifier, columns))} FROM"
    share = f"pmod(xxhash64({spark_identifier(by)}), {_SHARES})"
    query = f"{selected} {new if percent else old}"
    if 0 < percent < _SHARES:
        query = f"{selected} {new} WHERE {share} < {percent} UNION ALL {selected} {old} WHERE {share} >= {percent}"
    yield f"{_replacing(run, view)} {query}"


def _replacing(run: ActionRun, view: str) -> str:
    """Return the begin of the statement that replaces the text of a view by one change of its catalog.

    Spark's own catalog replaces a view by dropping it, and readers fail until it is there again. Other catalogs do not alter views.
    """
    parts = name_parts(run.arguments["view"])
    catalog = parts[0] if len(parts) > 2 else run.session.context().catalog
    return f"{'ALTER' if catalog == DEFAULT_CATALOG else 'CREATE OR REPLACE'} VIEW {view} AS"


def _columns(run: ActionRun, table: str) -> Mapping[str, str]:
    """Return the types of the columns of a table or view, which end at an empty line or a headline."""
    rows = run.query(f"DESCRIBE TABLE {table}")
    return {row[0]: row[1] for row in takewhile(lambda row: row[0] and not row[0].startswith("# "), rows)}


def _of_partitions(run: ActionRun, objects: RekeyedObjects, table: str, percent: int) -> Iterator[str]:
    """Yield the statements that give the partitions of a table their locations.

    A partition is known by its present location: that of its old keys or that of its new ones. Others stay.
    """
    table, folders = table_name(table), objects.folders
    [[_, checked]] = run.query(f"SET {_BY_TEXT}")
    run.execute(f"SET {_BY_TEXT} = true")
    specs = [str(row[0]) for row in run.query(f"SHOW PARTITIONS {table}")]
    count = 0
    for number, spec in enumerate(specs, start=1):
        run.progress = f"partition {number} of {len(specs)}"
        partition = ", ".join(map(_assigned, spec.split("/")))
        location = _location(run, table, partition)
        match = re.fullmatch(rf"(\w+://{re.escape(objects.bucket)}/)(.+?)/*", location, re.DOTALL)
        here = match[2] if match else ""
        old, new = folders.old_key(here), folders.new_key(here)
        if match is None or (old or new) is None:
            continue
        count += 1
        is_new = int(hash_prefix(spec, 8), 16) % _SHARES < percent
        if place := new if is_new else old:
            yield f"ALTER TABLE {table} PARTITION ({partition}) SET LOCATION {literal(match[1] + place)}"
    if not count:
        raise _refused(
            f"none of the partitions of {table} has the location of a folder {objects.address}{folders.old_keys}"
            + (f"; {on_one_line(location)} is one of their locations" if specs else "")
        )
    run.execute(f"SET {_BY_TEXT} = {checked}")


def _assigned(part: str) -> str:
    """Return the value of a partition column for a statement, of its text in the list of partitions."""
    name, _, value = part.partition("=")
    return f"{spark_identifier(unquote(name))} = {'NULL' if value == _NULL else literal(unquote(value))}"


def _location(run: ActionRun, table: str, partition: str) -> str:
    rows = run.query(f"DESCRIBE TABLE EXTENDED {table} PARTITION ({partition})")
    # Columns come before, and the location of the table after it.
    details = dropwhile(lambda row: row[0] != "# Detailed Partition Information", rows)
    return next((str(row[1]) for row in details if row[0] == "Location"), "")


def _refused(why: str) -> StatementRefused:
    return StatementRefused("CANNOT_REKEY", why)
