"""Tables of all key layouts, and the check of their predicted templates against the paths of their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from glacierbase.declared.known_tables import KnownTables
from glacierbase.layout.facts import of_known
from glacierbase.layout.template import KeyTemplate
from glacierbase.layout.templates import key_template
from glacierbase.sql import read

_HASHED = "'write.object-storage.enabled'='true'"
_JOINED = "'write.object-storage.partitioned-paths'='false'"
_COLUMNS = "(Id BIGINT, eventTs TIMESTAMP, id_reversed STRING)"
ROW = "VALUES (100, TIMESTAMP'2026-11-24 13:05:00', '001')"


def _layout(partitioning: str, *properties: str, more: str = "") -> tuple[str, ...]:
    listed = f" TBLPROPERTIES ({', '.join(properties)})" if properties else ""
    by = f" PARTITIONED BY ({partitioning})" if partitioning else ""
    return (
        f"CREATE TABLE TABLE {_COLUMNS} USING iceberg{by}{listed}",
        *([f"ALTER TABLE TABLE {more}"] if more else []),
    )


# The statements that make a table, with TABLE in place of its name and ELSEWHERE for a folder, and the text of its template.
ICEBERG: Mapping[str, tuple[Sequence[str], str]] = {
    "day and bucket": (
        _layout("days(eventTs), bucket(16, Id)"),
        "data/eventTs_day={eventTs_day}/Id_bucket={Id_bucket}/{file}",
    ),
    "bucket and day, in other capitals": (
        _layout("bucket(16, id), days(EVENTTS)"),
        "data/Id_bucket={Id_bucket}/eventTs_day={eventTs_day}/{file}",
    ),
    "reversed id and day": (
        _layout("truncate(1, id_reversed), days(eventTs)"),
        "data/id_reversed_trunc={id_reversed_trunc}/eventTs_day={eventTs_day}/{file}",
    ),
    "object storage": (
        _layout("days(eventTs), bucket(16, Id)", _HASHED),
        "data/{hash:4 bits}/{hash:4 bits}/{hash:4 bits}/{hash:8 bits}/eventTs_day={eventTs_day}/Id_bucket={Id_bucket}/{file}",
    ),
    "object storage without partition paths": (
        _layout("days(eventTs)", _HASHED, _JOINED),
        "data/{hash:4 bits}/{hash:4 bits}/{hash:4 bits}/{hash:8 bits}-{file}",
    ),
}
# What a table of Iceberg has less often.
ICEBERG_MORE: Mapping[str, tuple[Sequence[str], str]] = {
    "no partition fields": (
        _layout("", _HASHED),
        "data/{hash:4 bits}/{hash:4 bits}/{hash:4 bits}/{hash:8 bits}/{file}",
    ),
    "object storage elsewhere": (
        _layout("days(eventTs)", _HASHED, "'write.data.path'='ELSEWHERE'"),
        "ELSEWHERE/{hash:4 bits}/{hash:4 bits}/{hash:4 bits}/{hash:8 bits}/NAMES/eventTs_day={eventTs_day}/{file}",
    ),
    "object storage elsewhere without partition paths": (
        _layout("days(eventTs)", _HASHED, _JOINED, "'write.data.path'='ELSEWHERE'"),
        "ELSEWHERE/{hash:4 bits}/{hash:4 bits}/{hash:4 bits}/{hash:8 bits}/NAMES/{file}",
    ),
    "elsewhere": (
        _layout("eventTs", "'write.data.path'='ELSEWHERE'"),
        "ELSEWHERE/eventTs={eventTs}/{file}",
    ),
    "a field that is added": (
        _layout("months(eventTs)", more="ADD PARTITION FIELD bucket(10, Id)"),
        "data/eventTs_month={eventTs_month}/Id_bucket_10={Id_bucket_10}/{file}",
    ),
}
# The same of Delta and Hudi, in the folder ELSEWHERE.
_PLACED = "PARTITIONED BY (dt, region) LOCATION 'ELSEWHERE'"
_IN_FOLDERS = "(id BIGINT, amount INT, dt DATE, region STRING)"
ROW_IN_FOLDERS = "VALUES (1, 2, DATE'2026-11-24', 'north')"
DELTA: Mapping[str, tuple[Sequence[str], str]] = {
    "folders": (
        [f"CREATE TABLE TABLE {_IN_FOLDERS} USING delta {_PLACED}"],
        "dt={dt}/region={region}/{file}",
    ),
    "random prefixes": (
        [
            f"CREATE TABLE TABLE {_IN_FOLDERS} USING delta {_PLACED}"
            " TBLPROPERTIES ('delta.randomizeFilePrefixes'='true', 'delta.randomPrefixLength'='3')"
        ],
        "{random:3 characters}/{file}",
    ),
    "column mapping": (
        [f"CREATE TABLE TABLE {_IN_FOLDERS} USING delta {_PLACED} TBLPROPERTIES ('delta.columnMapping.mode'='name')"],
        "{random:2 characters}/{file}",
    ),
}
HUDI: Mapping[str, tuple[Sequence[str], str]] = {
    "named": (
        [f"CREATE TABLE TABLE {_IN_FOLDERS} USING hudi {_PLACED} TBLPROPERTIES (primaryKey = 'id')"],
        "dt={dt}/region={region}/{file}",
    ),
    "plain": (
        [
            f"CREATE TABLE TABLE {_IN_FOLDERS} USING hudi {_PLACED}"
            " TBLPROPERTIES (primaryKey = 'id', 'hoodie.datasource.write.hive_style_partitioning' = 'false')"
        ],
        "{dt}/{region}/{file}",
    ),
}


def in_folder(statements: Sequence[str], table: str, folder: Path | str) -> list[str]:
    """Return the statements that make a table, with its name and its folder."""
    return [
        statement.replace("TABLE TABLE", f"TABLE {table}").replace("ELSEWHERE", str(folder)) for statement in statements
    ]


def predicted(table: str, statements: Sequence[str], table_format: str, version: str) -> KeyTemplate:
    """Return the template of the table that statements make."""
    tables = KnownTables()
    for statement in statements:
        parsed = read(statement, "spark")
        tables.follow(parsed)
    known = tables.before(parsed.targets[0])
    assert known
    facts = of_known(table, known, table_format, version)
    assert facts
    return key_template(facts)


def check_keys(template: KeyTemplate, text: str, keys: Sequence[str]) -> None:
    """Check that a template has a text, and that it matches the whole of each key, and not only its end."""
    assert template.text == text
    assert keys
    for key in keys:
        assert template.matches(key), (template.text, key)
        assert key.count("/") == template.text.count("/"), (template.text, key)
