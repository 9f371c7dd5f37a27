"""Random statements that change one table after the other, by a seed: what Spark accepts and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_COLUMNS = (
    "id BIGINT NOT NULL, Name STRING, s STRUCT<a: INT NOT NULL, b: STRING, c: STRUCT<z: FLOAT>> NOT NULL,"
    " l ARRAY<STRUCT<x: INT, y: STRING>>, m MAP<STRING, STRUCT<v: FLOAT, w: INT>>, d DECIMAL(10,2), f FLOAT, ts TIMESTAMP,"
    " day DATE, i INT NOT NULL"
)
_PARTITIONING = (
    "", " PARTITIONED BY (i)", " PARTITIONED BY (days(ts), bucket(4, id))", " PARTITIONED BY (truncate(2, Name), s.a)",
)  # fmt: skip
_PROPERTIES = (
    "'write.metadata.metrics.column.f'='counts'",
    "'write.parquet.bloom-filter-enabled.column.s.b'='true'",
    """'schema.name-mapping.default'='[{"field-id":1,"names":["id","key"]},{"field-id":3,"names":["s"],"fields":[]}]'""",
)
_PATHS = (
    "id", "Name", "NAME", "s", "s.a", "S.B", "s.c", "s.c.z", "l", "l.element", "l.element.x", "l.element.y", "m", "m.value",
    "m.value.v", "m.value.w", "m.key", "d", "f", "ts", "day", "i", "c1", "c2", "c3", "s.n1", "s.n2", "l.element.n1", "nope",
    "`q.z`",
)  # fmt: skip
_NAMES = ("c1", "c2", "c3", "c4", "i", "`q.z`", "f", "id", "ts_day", "id_bucket_4", "NAME2")
_TYPES = (
    "INT", "BIGINT", "STRING", "FLOAT", "DOUBLE", "DECIMAL(12,2)", "DECIMAL(20,4)", "TIMESTAMP", "DATE", "BINARY", "BOOLEAN",
    "SMALLINT", "STRUCT<a: INT, b: ARRAY<STRUCT<q: INT>>>", "MAP<INT, STRUCT<k: STRING COMMENT 'kk'>>", "ARRAY<DOUBLE>",
)  # fmt: skip
_WIDER = ("INT", "BIGINT", "DOUBLE", "DECIMAL(12,2)", "DECIMAL(14,2)", "STRING", "TIMESTAMP", "FLOAT")
# The fields of each struct.
_STRUCTS = {
    "": ("id", "NAME", "s", "f", "c1", "i"), "s.": ("a", "B", "c", "n1"), "l.element.": ("x", "y", "n1"),
    "m.value.": ("v", "w"), "s.c.": ("z",),
}  # fmt: skip
_TRANSFORMS = (
    "i", "Name", "id", "s.a", "day", "bucket(4, id)", "bucket(8, id)", "bucket(4, Name)", "truncate(2, Name)",
    "truncate(10, i)", "years(ts)", "months(ts)", "days(ts)", "hours(ts)", "day(day)", "month(day)", "c1", "bucket(4, c1)",
    "d", "s.c.z", "l.element.x", "bucket(4, f)", "truncate(3, s.b)",
)  # fmt: skip
_SETTINGS = (
    "SET TBLPROPERTIES ('a'='1', 'b'='2')", "SET TBLPROPERTIES ('a'='1')", "UNSET TBLPROPERTIES ('a', 'zz')",
    "SET TBLPROPERTIES ('format-version'='2')", "SET TBLPROPERTIES ('write.distribution-mode'='none')",
    "SET TBLPROPERTIES ('write.metadata.metrics.column.id'='full')", "REPLACE COLUMNS (id BIGINT, c2 STRING)",
)  # fmt: skip


def chain(seed: int, length: int = 20) -> list[str]:
    """Return CREATE TABLE and statements that change the table; `NS` stands for the namespace."""
    random = Random(seed)
    properties = [
        f"'format-version'='{random.choice('12223')}'",
        *(one for one in _PROPERTIES if random.random() < 0.3),
    ]
    create = f"CREATE TABLE lake.NS.t ({_COLUMNS}) USING iceberg{random.choice(_PARTITIONING)}"
    kinds, weights = zip(*_KINDS, strict=True)
    clauses = (kind(random) for kind in random.choices(kinds, weights, k=length))
    return [
        f"{create} TBLPROPERTIES ({', '.join(properties)})",
        *(f"ALTER TABLE lake.NS.t {clause}" for clause in clauses),
    ]


def _add(random: Random) -> str:
    return f"ADD COLUMNS ({', '.join(_new_column(random) for _ in range(random.choice((1, 1, 2, 3))))})"


def _new_column(random: Random) -> str:
    struct = random.choice(("", "", *_STRUCTS))
    name = random.choice(("n1", "n2", "n3", "a") if struct else _NAMES)
    position = random.choice(("", "", "", " FIRST", f" AFTER {random.choice(_STRUCTS[struct])}"))
    return f"{struct}{name} {random.choice(_TYPES)}{random.choice(('', chr(32) + _comment(random)))}{position}"


def _comment(random: Random) -> str:
    return f"COMMENT '{random.choice(('', 'x', 'y'))}'"


def _drop(random: Random) -> str:
    exists = random.choice(("", "", "IF EXISTS "))
    return f"DROP COLUMNS {exists}({', '.join(random.choices(_PATHS, k=random.choice((1, 1, 2))))})"


def _rename(random: Random) -> str:
    return f"RENAME COLUMN {random.choice(_PATHS)} TO {random.choice((*_NAMES, 'a', 'b', 'x'))}"


def _alter(random: Random) -> str:
    return f"ALTER COLUMN {', '.join(_change(random) for _ in range(random.choice((1, 1, 1, 2))))}"


def _change(random: Random) -> str:
    after = f"AFTER {random.choice(('id', 'name', 'b', 'y', 'w', 'c1', 'f'))}"
    nullability = f"{random.choice(('SET', 'DROP', 'DROP'))} NOT NULL"
    changes = (f"TYPE {random.choice(_WIDER)}", nullability, _comment(random), "FIRST", after)
    return f"{random.choice(_PATHS)} {random.choice(changes)}"


def _partition(random: Random) -> str:
    new = f"{random.choice(_TRANSFORMS)}{random.choice(('', '', ' AS p1', ' AS p2', ' AS id'))}"
    old = random.choice((*_TRANSFORMS, *("p1", "p2", "id_bucket_4", "ts_day") * 3))
    add = f"ADD PARTITION FIELD {new}"
    return random.choice((add, add, f"DROP PARTITION FIELD {old}", f"REPLACE PARTITION FIELD {old} WITH {new}"))


def _write(random: Random) -> str:
    order = f"ORDERED BY {', '.join(_sorted(random) for _ in range(random.choice((1, 2))))}"
    partition = "DISTRIBUTED BY PARTITION"
    return f"WRITE {random.choice((order, f'LOCALLY {order}', partition, f'{partition} LOCALLY {order}', 'UNORDERED'))}"


def _sorted(random: Random) -> str:
    direction, nulls = random.choice(("", " ASC", " DESC")), random.choice(("", " NULLS FIRST", " NULLS LAST"))
    return f"{random.choice(_TRANSFORMS)}{direction}{nulls}"


def _identify(random: Random) -> str:
    fields = random.sample(("id", "i", "s.a", "Name", "f"), random.choice((1, 1, 2)))
    return f"{random.choice(('SET', 'SET', 'DROP'))} IDENTIFIER FIELDS {', '.join(fields)}"


def _set(random: Random) -> str:
    return random.choice(_SETTINGS)


def _refer(random: Random) -> str:
    name = random.choice(("b1", "b2", "t1", "main"))
    return random.choice(
        (
            f"CREATE BRANCH {name}",
            f"CREATE TAG {name} RETAIN 3 DAYS",
            f"CREATE OR REPLACE TAG {name}",
            f"CREATE BRANCH IF NOT EXISTS {name} WITH SNAPSHOT RETENTION 4 SNAPSHOTS",
            f"REPLACE BRANCH {name} RETAIN 7 HOURS",
            f"DROP BRANCH IF EXISTS {name}",
            f"DROP TAG {name}",
        )
    )


# How often each kind of clause occurs.
_KINDS: tuple[tuple[Callable[[Random], str], int], ...] = (
    (_add, 20), (_drop, 10), (_rename, 10), (_alter, 25), (_partition, 18), (_write, 7), (_identify, 5), (_set, 6), (_refer, 5),
)  # fmt: skip
