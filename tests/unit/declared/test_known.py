"""What is known of a table before a statement, folded over the statements before it; what is unclear is not known."""

from __future__ import annotations

import pytest

from glacierbase.declared.known import KnownTable
from glacierbase.declared.known_tables import KnownTables
from glacierbase.sql import read
from glacierbase.sql.statement import Name

CREATE = (
    "CREATE TABLE lake.a.t (id BIGINT NOT NULL, Name STRING, day DATE) USING iceberg"
    " PARTITIONED BY (bucket(16, id), days(day)) TBLPROPERTIES ('k'='v')"
)
T = ("lake", "a", "t")


def after(*statements: str, complete: bool = True, table: tuple[str, ...] = T) -> KnownTable | None:
    """Return what is known of a table after these statements."""
    tables = KnownTables(is_complete=complete)
    for sql in statements:
        tables.follow(read(sql, "spark"))
    return tables.before(Name(table, table, table))


def test_a_create_table_declares_all_parts() -> None:
    """Names are in lower case, types in one spelling; fields have the names that Iceberg gives."""
    known = after(CREATE)
    assert known is not None
    assert known.columns is not None
    assert {name: (each.type, each.required) for name, each in known.columns.items()} == {
        "id": ("bigint", True), "name": ("string", False), "day": ("date", False),
    }  # fmt: skip
    assert [(each.name, each.source, each.transform) for each in known.partitioning or ()] == [
        ("id_bucket", ("id",), "bucket(16)"),
        ("day_day", ("day",), "day"),
    ]
    assert (known.using, known.ordering, known.identifiers, known.properties) == ("iceberg", (), (), {"k": "v"})


@pytest.mark.parametrize(
    ("alter", "columns"),
    [
        ("ADD COLUMN x INT", ["day", "id", "name", "x"]),
        ("ADD COLUMNS (x INT, y STRUCT<z: INT>)", ["day", "id", "name", "x", "y"]),
        ("DROP COLUMN NAME", ["day", "id"]),
        ("DROP COLUMNS (name, day)", ["id"]),
        ("RENAME COLUMN name TO Title", ["day", "id", "title"]),
        ("ALTER COLUMN name COMMENT 'x'", ["day", "id", "name"]),
        ("ADD COLUMN name.inner INT", ["day", "id", "name"]),
        ("REPLACE COLUMNS (a INT)", ["a"]),
    ],
)
def test_an_alter_changes_the_columns(alter: str, columns: list[str]) -> None:
    """A field inside of a column is none of its own."""
    known = after(CREATE, f"ALTER TABLE lake.a.t {alter}")
    assert known is not None
    assert sorted(known.columns or ()) == columns


@pytest.mark.parametrize(
    ("alter", "fields", "former"),
    [
        ("ADD PARTITION FIELD truncate(2, name)", ["id_bucket", "day_day", "name_trunc_2"], []),
        ("ADD PARTITION FIELD name AS n", ["id_bucket", "day_day", "n"], []),
        ("DROP PARTITION FIELD days(day)", ["id_bucket"], ["day_day"]),
        ("DROP PARTITION FIELD day_day", ["id_bucket"], ["day_day"]),
        ("REPLACE PARTITION FIELD bucket(16, ID) WITH bucket(32, id)", ["day_day", "id_bucket_32"], ["id_bucket"]),
        ("DROP PARTITION FIELD day(day)", ["id_bucket"], ["day_day"]),
        ("DROP PARTITION FIELD date(day)", ["id_bucket"], ["day_day"]),
        ("DROP PARTITION FIELD bucket(016, id)", ["day_day"], ["id_bucket"]),
        ("ADD PARTITION FIELD identity(name)", ["id_bucket", "day_day", "name"], []),
        ("REPLACE PARTITION FIELD id_bucket WITH bucket(16, id)", ["id_bucket", "day_day"], []),
        ("REPLACE PARTITION FIELD days(day) WITH day(day) AS d", ["id_bucket", "d"], []),
        ("DROP PARTITION FIELD other", None, []),
        ("ADD PARTITION FIELD `a.b`", None, []),
    ],
)
def test_an_alter_changes_the_partition_fields(alter: str, fields: list[str] | None, former: list[str]) -> None:
    """A field that is dropped is found by its transform or its name; one that is not found makes all of them unknown."""
    known = after(CREATE, f"ALTER TABLE lake.a.t {alter}")
    assert known is not None
    assert (known.partitioning and [each.name for each in known.partitioning]) == fields
    assert [each.name for each in known.former] == former


def test_a_field_is_added_to_a_table_without_partitions() -> None:
    """No partition field is something that is known."""
    known = after("CREATE TABLE lake.a.t (id BIGINT) USING iceberg", "ALTER TABLE lake.a.t ADD PARTITION FIELD id")
    assert known is not None
    assert [each.name for each in known.partitioning or ()] == ["id"]


def test_fields_and_identifiers_follow_a_renamed_column() -> None:
    """The engine refers to columns by their id."""
    known = after(
        CREATE, "ALTER TABLE lake.a.t WRITE ORDERED BY id", "ALTER TABLE lake.a.t SET IDENTIFIER FIELDS id",
        "ALTER TABLE lake.a.t RENAME COLUMN id TO key",
    )  # fmt: skip
    assert known is not None
    assert ("id_bucket", ("key",)) in [(field.name, field.source) for field in known.partitioning or ()]
    assert ([each.source for each in known.ordering or ()], known.identifiers) == ([("key",)], (("key",),))


def test_properties_are_set_and_unset() -> None:
    """SET and UNSET leave the other properties of the CREATE."""
    known = after(
        CREATE, "ALTER TABLE lake.a.t SET TBLPROPERTIES ('a'='1', 'b'='2')", "ALTER TABLE lake.a.t UNSET TBLPROPERTIES ('a')"
    )  # fmt: skip
    assert known is not None
    assert known.properties == {"k": "v", "b": "2"}


@pytest.mark.parametrize(
    ("alter", "clustered", "constraint"),
    [
        ("CLUSTER BY (ID, name)", '[["id"],["Name"]]', None),
        ("CLUSTER BY NONE", None, None),
        ("CLUSTER BY (missing)", None, None),
        ("RENAME COLUMN größe TO höhe", '[["höhe"]]', None),
        ("ADD CONSTRAINT K CHECK (id > 0)", '[["größe"]]', "id > 0"),
        ("SET TBLPROPERTIES ('clusteringColumns' = '[[')", "[[", None),
    ],
)
def test_clustering_and_constraints_of_a_delta_table_are_known(
    alter: str, clustered: str | None, constraint: str | None
) -> None:
    """A column has the spelling of the table and follows a rename, also where no statement names the format."""
    for using in ("", " USING delta"):
        create = f"CREATE TABLE lake.a.t (id BIGINT, Name STRING, `größe` INT){using} CLUSTER BY (`größe`)"
        known = after(create, f"ALTER TABLE lake.a.t {alter}".replace("größe", "`größe`"))
        assert known is not None
        properties = known.properties or {}
        assert properties.get("clusteringColumns") == clustered
        assert properties.get("delta.constraints.k") == constraint


def test_a_table_is_known_by_its_new_name() -> None:
    """Spark's new name lacks the catalog; a drop ends what is known."""
    rename = "ALTER TABLE lake.a.t RENAME TO a.u"
    assert after(CREATE, rename) is None
    assert after(CREATE, rename, table=("lake", "a", "u")) is not None
    assert after(CREATE, rename, "DROP TABLE lake.a.u", table=("lake", "a", "u")) is None


@pytest.mark.parametrize(
    "unclear",
    [
        "ALTER TABLE a.t DROP COLUMN day",
        "ALTER TABLE t DROP COLUMN day",
        "DROP TABLE IF EXISTS a.t",
        "CREATE TABLE a.t (x INT) USING iceberg",
        "DROP NAMESPACE lake.a CASCADE",
        "FROBNICATE lake.a.t",
        "BEGIN ALTER TABLE lake.a.t DROP COLUMN day; END",
        "EXECUTE IMMEDIATE 'ALTER TABLE lake.a.t DROP COLUMN day'",
        "CALL lake.system.register_table('a.t', 's3://x')",
        "RESTORE TABLE lake.a.t TO VERSION AS OF 3",
        "ALTER TABLE lake.a.t SET TAGS ('x' = 'y')",
        "CREATE OR REPLACE TABLE lake.a.t LIKE lake.a.s",
        "CREATE OR REPLACE TABLE lake.a.t CLONE lake.a.s",
    ],
)
def test_what_may_have_changed_the_table_is_not_guessed(unclear: str) -> None:
    """A shorter name may be the table's; what is not understood may have changed any table."""
    assert after(CREATE, unclear) is None


@pytest.mark.parametrize(
    "harmless",
    [
        "INSERT INTO lake.a.t VALUES (1)",
        "ALTER TABLE lake.a.u DROP COLUMN id",
        "CREATE VIEW lake.a.v AS SELECT * FROM lake.a.t",
        "COMMENT ON SCHEMA lake.a IS 'x'",
        "CALL lake.system.rewrite_data_files('lake.a.t')",
        "SET x = 1",
        "ALTER TABLE lake.b.t DROP COLUMN id",
        "CREATE TABLE IF NOT EXISTS lake.a.t (x INT) USING iceberg",
    ],
)
def test_what_is_about_rows_or_another_table_changes_nothing(harmless: str) -> None:
    """All is known as before."""
    assert after(CREATE, harmless) == after(CREATE) != None  # noqa: E711


def test_a_query_declares_no_columns() -> None:
    """The partition fields of CREATE TABLE AS are known, its columns are not."""
    known = after("CREATE TABLE lake.a.t USING iceberg PARTITIONED BY (id) AS SELECT 1 AS id")
    assert known is not None
    assert (known.columns, [each.name for each in known.partitioning or ()]) == (None, ["id"])


def test_a_name_after_use_is_not_known() -> None:
    """Only a name of three parts means the same after any USE; the next file begins without it."""
    tables, short = KnownTables(), Name(("a", "t"), ("a", "t"), ("a", "t"))
    tables.follow(read("CREATE TABLE a.t (id INT) USING iceberg", "spark"))
    tables.follow(read("USE lake", "spark"))
    assert tables.before(short) is None
    tables.start_file()
    assert tables.before(short) is not None
    tables.follow(read("USE lake", "spark"))
    tables.follow(read("ALTER TABLE a.t ADD COLUMN x INT", "spark"))
    tables.start_file()
    assert tables.before(short) is None


def test_a_short_name_after_use_is_one_table_up_to_the_next_use() -> None:
    """The table may exist: IF NOT EXISTS declares nothing, and the properties of a replaced table are not known."""
    tables, short, whole = KnownTables(), Name(("t",), ("t",), ("t",)), Name(("lake", "a", "t"), ("lake", "a", "t"), ())
    create = "CREATE{} TABLE t (id INT) USING iceberg"
    for sql in (CREATE, "USE lake.a", create.format("").replace("TABLE", "TABLE IF NOT EXISTS")):
        tables.follow(read(sql, "spark"))
    assert (tables.before(short), tables.before(whole) is None) == (None, False)
    tables.follow(read(create.format(" OR REPLACE"), "spark"))
    known = tables.before(short)
    assert (known and known.has(("id",)), known and known.properties, tables.before(whole)) == (True, None, None)
    tables.follow(read("USE lake.b", "spark"))
    assert tables.before(short) is None


def test_an_existing_table_is_not_known_where_files_are_missing() -> None:
    """IF NOT EXISTS declares a table only if no earlier statement can have created it."""
    create = CREATE.replace("TABLE", "TABLE IF NOT EXISTS")
    assert after(create) is not None
    assert after(create, complete=False) is None
    assert after(CREATE, complete=False) is not None


def test_a_replaced_table_keeps_properties_and_old_files() -> None:
    """The replaced table's fields are new; the earlier ones belong to files that snapshots list, while their columns exist."""
    known = after(CREATE, "CREATE OR REPLACE TABLE lake.a.t (id INT) USING iceberg")
    assert known is not None
    assert (known.partitioning, [each.name for each in known.former], known.properties) == (
        (), ["id_bucket"], {"k": "v"},
    )  # fmt: skip


def test_comments_defaults_and_the_write_order_are_known() -> None:
    """Of the table and its columns; a comment that is removed is empty, a property that is unset is known to be."""
    known = after(
        CREATE, "COMMENT ON TABLE lake.a.t IS 'x'", "ALTER TABLE lake.a.t ALTER COLUMN name COMMENT 'n'",
        "COMMENT ON COLUMN lake.a.t.id IS 'i'", "ALTER TABLE lake.a.t WRITE ORDERED BY id, days(day) DESC NULLS FIRST",
        "ALTER TABLE lake.a.t UNSET TBLPROPERTIES ('k')",
    )  # fmt: skip
    assert known is not None
    assert known.columns is not None
    assert {name: each.comment for name, each in known.columns.items()} == {"id": "i", "name": "n", "day": None}
    assert [(each.transform, each.direction, each.nulls) for each in known.ordering or ()] == [
        ("identity", "asc", "first"), ("day", "desc", "first"),
    ]  # fmt: skip
    assert (known.properties, known.unset) == ({"comment": "x"}, {"k"})


def test_a_partition_column_that_is_declared_in_its_clause_partitions() -> None:
    """Hive's way to write it."""
    known = after("CREATE TABLE lake.a.t (id INT) USING parquet PARTITIONED BY (day DATE)")
    assert known is not None
    assert (list(known.columns or ()), [each.source for each in known.partitioning or ()]) == (
        ["id", "day"],
        [("day",)],
    )


def test_a_procedure_for_files_changes_nothing_that_is_known() -> None:
    """The name that a call has for the table may lack the catalog, by which it would be another one."""
    assert after(CREATE, "CALL lake.system.rewrite_data_files('a.t')") == after(CREATE)
    assert after(CREATE, "CALL lake.system.set_up('a.t')") is None
