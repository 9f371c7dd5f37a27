"""Let readers read a data set by its new keys, step by step: through a view, or through the locations of partitions.

Each step is one share of the data, from 0 (all by old keys: the way back) to 100 percent. Old and new keys have the same content,
so that a reader finds all rows in every step.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import unquote

from glacierbase.capabilities.rekey.journal import instant, journal_of, milliseconds, state
from glacierbase.capabilities.rekey.keys import RekeyedObjects, of_arguments
from glacierbase.declared.render import literal, table_name
from glacierbase.errors import StatementRefused
from glacierbase.executors.actions import ActionRun, GateShut
from glacierbase.layout.keys import hash_prefix
from glacierbase.model.names import spark_identifier

_SHARES = 100


def cutover(run: ActionRun) -> None:
    """Let readers read one share of the data by its new keys.

    Raises:
        GateShut: the step before is not as old as it must be.
        StatementRefused: nothing was validated, or readers cannot be switched in this way.
    """
    objects, percent = of_arguments(run.arguments), int(run.arguments["percent"])
    if percent > _SHARES:
        raise _refused(f"percent => {percent} is more than {_SHARES}")
    with closing(journal_of(run)) as journal:
        if not state(journal, "manifest"):
            raise _refused(f"the journal has no manifest of {objects.address}; rekey_validate writes it")
        step = state(journal, "cutover")
        now = time.time_ns() // 1_000_000
        if 0 < step.get("percent", 0) < percent:
            ends = milliseconds(step["at"]) + int(run.arguments["hold_seconds"]) * 1000
            if now < ends:
                raise GateShut(
                    f"readers read {step['percent']} % by new keys since {step['at']}; the next step is at {instant(ends)}"
                )
        statements = _of_view(run, percent) if "view" in run.arguments else _of_partitions(run, objects, percent)
        for statement in statements:
            run.execute(statement)
        journal.put("state", {"cutover": {"percent": percent, "at": instant(now)}})


def _of_view(run: ActionRun, percent: int) -> Iterator[str]:
    """Yield the statement that replaces the view."""
    view, old, new = (table_name(run.arguments[name]) for name in ("view", "old_table", "new_table"))
    shape = run.shape(old)
    if shape is None:
        raise _refused(f"there is no table {old}")
    # By name: the partition columns of the two tables come in another order.
    columns = ", ".join(spark_identifier(column.name) for column in shape.columns if "." not in column.name)
    share = f"pmod(xxhash64({spark_identifier(run.arguments['by'])}), {_SHARES})"
    sides = {f"{new} WHERE {share} < {percent}": percent > 0, f"{old} WHERE {share} >= {percent}": percent < _SHARES}
    query = " UNION ALL ".join(f"SELECT {columns} FROM {side}" for side, is_read in sides.items() if is_read)
    yield f"CREATE OR REPLACE VIEW {view} AS {query}"


def _of_partitions(run: ActionRun, objects: RekeyedObjects, percent: int) -> Iterator[str]:
    """Yield the statements that give the partitions of a table their locations."""
    table = table_name(run.arguments["table"])
    locations = [row[1] for row in run.query(f"DESCRIBE TABLE EXTENDED {table}") if row[0] == "Location"]
    if not locations:
        raise _refused(f"{table} has no location, below which its partitions are")
    scheme = str(locations[0]).partition(":")[0]
    for [spec] in run.query(f"SHOW PARTITIONS {table}"):
        values = dict(part.split("=", 1) for part in spec.split("/"))
        keys = objects.new_keys if int(hash_prefix(spec, 8), 16) % _SHARES < percent else objects.old_keys
        folder = objects.folder(keys, {name: unquote(value) for name, value in values.items()})
        given = ", ".join(f"{spark_identifier(name)} = {literal(unquote(value))}" for name, value in values.items())
        place = re.sub("^s3", scheme, objects.address) + folder
        yield f"ALTER TABLE {table} PARTITION ({given}) SET LOCATION {literal(place)}"


def _refused(why: str) -> StatementRefused:
    return StatementRefused("CANNOT_REKEY", why)
