"""Chains of DDL statements for one table, generated from a seed: most of them succeed, some are refused, a few need the engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

TABLE = "lake.NS.t"
_SIMPLE = (
    "boolean", "int", "bigint", "float", "double", "decimal(9,2)", "date", "timestamp", "timestamp_ntz", "string",
    "binary",
)  # fmt: skip
_WIDER = {"int": "bigint", "float": "double", "decimal(9,2)": "decimal(18,2)"}
_TIMED = ("date", "timestamp", "timestamp_ntz")
_NAMES = ("a", "b", "c", "Day", "total", "user_id", "größe", "from", "x y", "n.m")
_PROPERTIES = ("a", "write.format.default", "commit.retry.num-retries", "write.target-file-size-bytes", "owner")


@dataclass
class _Table:
    """What a chain knows of its table: types by path, and the partition fields."""

    columns: dict[tuple[str, ...], str] = field(default_factory=dict)
    partitioned: list[str] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    properties: list[str] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    version: int = 2

    def simple(self) -> list[tuple[str, ...]]:
        return [path for path, kind in self.columns.items() if kind in _SIMPLE]


def chain(seed: int, length: int = 20) -> tuple[str, ...]:
    """Return the statements of a chain; the first one creates the table."""
    chance, table = random.Random(seed), _Table()
    statements = [_create(chance, table)]
    kinds = list(_KINDS)
    while len(statements) < length:
        kind = chance.choices(kinds, [_KINDS[kind] for kind in kinds])[0]
        statements += kind(chance, table)
    return tuple(statements[:length])


def _quoted(path: tuple[str, ...]) -> str:
    return ".".join(name if name.isascii() and name.isalnum() and name != "from" else f"`{name}`" for name in path)


def _new(chance: random.Random, table: _Table, above: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return a name, which is sometimes taken, or differs from another one only in the case of its letters."""
    name = chance.choice(_NAMES) + (str(chance.randrange(40)) if chance.random() < 0.8 else "")
    return (*above, name)


def _comment(chance: random.Random) -> str:
    return chance.choice(("", "", " COMMENT 'of it''s row'", " COMMENT ''"))


def _type(chance: random.Random, table: _Table, path: tuple[str, ...], depth: int = 0) -> str:
    """Return the text of a type, and add the fields inside to the table."""
    kind = chance.choice((*_SIMPLE, *("struct", "array", "map")[: 3 if depth < 2 else 0]))
    if kind == "struct":
        names = chance.sample(("city", "zip", "Tags"), chance.randrange(1, 4))
        fields = []
        for name in names:
            inner = _type(chance, table, (*path, name), depth + 1)
            fields.append(f"{name}: {inner}{chance.choice(('', '', ' NOT NULL'))}{_comment(chance)}")
        table.columns[path] = "struct"
        return f"struct<{', '.join(fields)}>"
    if kind == "array":
        text = f"array<{_type(chance, table, (*path, 'element'), depth + 1)}>"
    elif kind == "map":
        text = f"map<{chance.choice(('string', 'int'))}, {_type(chance, table, (*path, 'value'), depth + 1)}>"
    else:
        text = kind
    table.columns[path] = kind
    return text


def _create(chance: random.Random, table: _Table) -> str:
    table.columns.clear()
    columns = []
    for name in ("id", "at", *chance.sample(("name", "price", "home", "Tags", "x y"), chance.randrange(0, 5))):
        text = {"id": "bigint", "at": "timestamp"}.get(name) or _type(chance, table, (name,))
        table.columns.setdefault((name,), text)
        required = " NOT NULL" if chance.random() < 0.3 else ""
        columns.append(f"{_quoted((name,))} {text}{required}{_comment(chance)}")
    table.partitioned = chance.choice(
        ([], [], ["days(at)"], ["bucket(8, id)"], ["id", "months(at)"], ["truncate(10, id)"])
    )
    by = f" PARTITIONED BY ({', '.join(table.partitioned)})" if table.partitioned else ""
    table.version = chance.choice((1, 2, 2, 3))
    more = f" COMMENT 'a table' TBLPROPERTIES ('format-version' = '{table.version}', 'a' = '1')"
    return f"CREATE TABLE {TABLE} ({', '.join(columns)}) USING iceberg{by}{more}"


def _add_column(chance: random.Random, table: _Table) -> Iterator[str]:
    above: tuple[str, ...] = ()
    if chance.random() < 0.35:
        above = chance.choice([path for path, kind in table.columns.items() if kind == "struct"] or [()])
    path = _new(chance, table, above)
    beside = [other[-1] for other in table.columns if other[:-1] == above]
    place = chance.choice(("", "", " FIRST", f" AFTER {_quoted((chance.choice(beside or ['id']),))}"))
    text = _type(chance, table, path)
    yield f"ALTER TABLE {TABLE} ADD COLUMN {_quoted(path)} {text}{_comment(chance)}{place}"


def _add_columns(chance: random.Random, table: _Table) -> Iterator[str]:
    paths = [_new(chance, table) for _ in range(chance.randrange(2, 4))]
    listed = ", ".join(f"{_quoted(path)} {_type(chance, table, path)}{_comment(chance)}" for path in paths)
    yield f"ALTER TABLE {TABLE} ADD COLUMNS ({listed})"


def _drop_column(chance: random.Random, table: _Table) -> Iterator[str]:
    path = chance.choice([*table.columns, ("absent",)])
    yield f"ALTER TABLE {TABLE} DROP COLUMN {_quoted(path)}"
    for inner in [other for other in table.columns if other[: len(path)] == path]:
        del table.columns[inner]
    if not table.columns:
        table.columns[("id",)] = "bigint"


def _rename_column(chance: random.Random, table: _Table) -> Iterator[str]:
    path = chance.choice(list(table.columns))
    new = _new(chance, table)[0] if chance.random() < 0.9 else path[-1].upper()
    yield f"ALTER TABLE {TABLE} RENAME COLUMN {_quoted(path)} TO {_quoted((new,))}"
    for inner in [other for other in table.columns if other[: len(path)] == path]:
        table.columns[(*path[:-1], new, *inner[len(path) :])] = table.columns.pop(inner)


def _alter_type(chance: random.Random, table: _Table) -> Iterator[str]:
    wider = [path for path in table.simple() if table.columns[path] in _WIDER]
    path = chance.choice(wider or table.simple() or [("id",)])
    text = _WIDER.get(table.columns.get(path, ""), chance.choice(_SIMPLE)) if chance.random() < 0.8 else "string"
    yield f"ALTER TABLE {TABLE} ALTER COLUMN {_quoted(path)} TYPE {text}"
    table.columns[path] = text


def _alter_column(chance: random.Random, table: _Table) -> Iterator[str]:
    path = chance.choice(list(table.columns))
    beside = [other[-1] for other in table.columns if other[:-1] == path[:-1]]
    change = chance.choice(
        (
            "COMMENT 'new words'", "COMMENT ''", "FIRST", f"AFTER {_quoted((chance.choice(beside),))}", "DROP NOT NULL",
            "SET NOT NULL",
        )
    )  # fmt: skip
    yield f"ALTER TABLE {TABLE} ALTER COLUMN {_quoted(path)} {change}"


def _field(chance: random.Random, table: _Table) -> str:
    path = chance.choice(table.simple() or [("id",)])
    source, kind = _quoted(path), table.columns.get(path, "")
    timed = [f"{unit}({source})" for unit in ("years", "months", "days", "hours")] if kind in _TIMED else []
    return chance.choice([source, f"bucket({chance.choice((4, 16))}, {source})", f"truncate(4, {source})", *timed * 2])


def _add_field(chance: random.Random, table: _Table) -> Iterator[str]:
    text = _field(chance, table)
    name = chance.choice(("", "", f" AS p{chance.randrange(5)}"))
    yield f"ALTER TABLE {TABLE} ADD PARTITION FIELD {text}{name}"
    table.partitioned.append(name.removeprefix(" AS ") or text)


def _drop_field(chance: random.Random, table: _Table) -> Iterator[str]:
    if table.partitioned:
        yield f"ALTER TABLE {TABLE} DROP PARTITION FIELD {table.partitioned.pop(chance.randrange(len(table.partitioned)))}"


def _replace_field(chance: random.Random, table: _Table) -> Iterator[str]:
    if table.partitioned:
        old, new = table.partitioned.pop(), _field(chance, table)
        yield f"ALTER TABLE {TABLE} REPLACE PARTITION FIELD {old} WITH {new}"
        table.partitioned.append(new)


def _order(chance: random.Random, table: _Table) -> Iterator[str]:
    fields = [f"{_field(chance, table)}{chance.choice(('', ' DESC', ' ASC NULLS LAST'))}" for _ in range(2)]
    order = f"ORDERED BY {', '.join(fields[: chance.randrange(1, 3)])}"
    clauses = ("WRITE UNORDERED", "WRITE DISTRIBUTED BY PARTITION", f"WRITE {order}", f"WRITE LOCALLY {order}")
    more = (f"WRITE DISTRIBUTED BY PARTITION LOCALLY {order}",)
    yield f"ALTER TABLE {TABLE} {chance.choice((*clauses, *more))}"


def _identifiers(chance: random.Random, table: _Table) -> Iterator[str]:
    names = ", ".join(_quoted(path) for path in chance.sample(table.simple(), min(len(table.simple()), 1)))
    yield f"ALTER TABLE {TABLE} {chance.choice(('SET', 'SET', 'DROP'))} IDENTIFIER FIELDS {names or 'id'}"


def _set_property(chance: random.Random, table: _Table) -> Iterator[str]:
    key, value = chance.choice(_PROPERTIES), str(chance.randrange(1, 4))
    value = chance.choice(("parquet", "orc", "avro")) if key == "write.format.default" else value
    if chance.random() < 0.15:
        key, value = "format-version", str(chance.choice((1, 2, 3)))
    yield f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('{key}' = '{value}')"


def _unset_property(chance: random.Random, table: _Table) -> Iterator[str]:
    exists = chance.choice(("", "IF EXISTS "))
    yield f"ALTER TABLE {TABLE} UNSET TBLPROPERTIES {exists}('{chance.choice(_PROPERTIES)}')"


def _reference(chance: random.Random, table: _Table) -> Iterator[str]:
    kind, name = chance.choice(("BRANCH", "TAG")), f"r{chance.randrange(4)}"
    verb = chance.choice(("CREATE", "CREATE OR REPLACE", "REPLACE", "DROP"))
    exists = {"CREATE": " IF NOT EXISTS", "DROP": " IF EXISTS"}.get(verb, "") if chance.random() < 0.5 else ""
    keep = " RETAIN 7 DAYS" if verb != "DROP" and chance.random() < 0.5 else ""
    yield f"ALTER TABLE {TABLE} {verb} {kind}{exists} {name}{keep}"


def _comment_on(chance: random.Random, table: _Table) -> Iterator[str]:
    yield f"COMMENT ON TABLE {TABLE} IS {chance.choice(('NULL', repr('of orders')))}"


def _rows(chance: random.Random, table: _Table) -> Iterator[str]:
    """Give the table a snapshot, as far as its columns allow: the engine does it in both namespaces."""
    yield f"INSERT INTO {TABLE} (id, at) VALUES ({chance.randrange(9)}, TIMESTAMP '2026-11-24 10:00:00')"


def _replace(chance: random.Random, table: _Table) -> Iterator[str]:
    yield _create(chance, table).replace("CREATE TABLE", "CREATE OR REPLACE TABLE")


_KINDS: dict[Callable[[random.Random, _Table], Iterator[str]], float] = {
    _add_column: 4, _add_columns: 2, _drop_column: 2, _rename_column: 2, _alter_type: 2, _alter_column: 4, _add_field: 3,
    _drop_field: 2, _replace_field: 1, _order: 2, _identifiers: 1, _set_property: 2, _unset_property: 1, _reference: 2,
    _comment_on: 1, _rows: 0.7, _replace: 0.3,
}  # fmt: skip
