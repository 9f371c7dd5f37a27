"""KL: the object keys of a table's files, and the declared peak of requests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.capabilities.review.rule import Facts
from glacierbase.model.catalog import LintOptions
from glacierbase.model.finding import Finding
from tests.support.rules import FACTS, findings

DELTA = replace(FACTS, formats={"spark_catalog": "delta"})
HUDI = replace(FACTS, formats={"spark_catalog": "hudi"})
COLUMNS = "(id bigint, name string, ts timestamp) USING iceberg"
# The example that the project comes from.
ORIGINAL = f"CREATE TABLE lake.a.t {COLUMNS} PARTITIONED BY (day(ts), bucket(16, id))"
DAYS = f"CREATE TABLE lake.a.t {COLUMNS} PARTITIONED BY (day(ts))"
SET = "ALTER TABLE lake.a.t SET TBLPROPERTIES ({})"
HASHED = "'write.object-storage.enabled'='true'"


def found(*files: str, facts: Facts = FACTS, options: LintOptions | None = None) -> list[Finding]:
    """Return the findings about keys."""
    return [finding for finding in findings(*files, facts=facts, options=options) if finding.code.startswith("KL")]


def codes(*files: str, facts: Facts = FACTS) -> list[str]:
    return [finding.code for finding in found(*files, facts=facts)]


def with_peak(put: float | None, get: float | None = None, pattern: str = "*") -> Facts:
    return replace(FACTS, peaks=[(pattern, put, get)])


def test_the_originals_example_has_two_notes_that_object_storage_silences() -> None:
    """Each is at its partition field, and says from which rate it matters and where the rate is declared."""
    notes = found(ORIGINAL)
    assert [(note.code, note.severity.value) for note in notes] == [("KL101", "note"), ("KL102", "note")]
    line = ORIGINAL
    assert [
        line[note.column - 1 :].startswith(text) for note, text in zip(notes, ("day(ts)", "bucket(16"), strict=True)
    ] == [
        True,
        True,
    ]
    assert all("matters from about 1,750 PUT/s or 2,750 GET/s (the key `layout`" in note.message for note in notes)
    assert notes[0].message.startswith("keys begin with day(ts): all writes of a day reach one partition of the store")
    assert "bucket(16, id) before day(ts)" in notes[1].fix
    assert codes(f"{ORIGINAL} TBLPROPERTIES ({HASHED})") == []


@pytest.mark.parametrize(
    ("transform", "together"),
    [
        ("year", "a year"),
        ("month", "a month"),
        ("day", "a day"),
        ("hour", "an hour"),
        ("identity", "one value of ts"),
    ],
)
def test_the_time_of_the_first_field_is_named(transform: str, together: str) -> None:
    """The files of this time begin with the same key."""
    field = "ts" if transform == "identity" else f"{transform}(ts)"
    [note] = found(f"CREATE TABLE lake.a.t {COLUMNS} PARTITIONED BY ({field})")
    assert f"all writes of {together} reach one partition" in note.message


def test_a_statement_after_which_keys_begin_with_a_time_is_found() -> None:
    """Any that changes the partition fields, or the properties of the keys, of the table."""
    plain = f"CREATE TABLE lake.a.t {COLUMNS}"
    parted = f"{plain} PARTITIONED BY (id, day(ts))"
    hashed = f"{DAYS} TBLPROPERTIES ({HASHED})"
    for create, clause in (
        (plain, "ADD PARTITION FIELD day(ts)"),
        (parted, "DROP PARTITION FIELD id"),
        (f"{plain} PARTITIONED BY (id)", "REPLACE PARTITION FIELD id WITH day(ts)"),
        (hashed, "SET TBLPROPERTIES ('write.object-storage.enabled'='false')"),
        (hashed, "UNSET TBLPROPERTIES ('write.object-storage.enabled')"),
    ):
        assert codes(create) == []
        assert (clause, codes(create, f"ALTER TABLE lake.a.t {clause}")) == (clause, ["KL101"])
    assert codes(DAYS, "DROP TABLE lake.a.t") == []


def test_one_bucket_spreads_nothing() -> None:
    """Two buckets spread files of the same time over two keys."""
    create = f"CREATE TABLE lake.a.t {COLUMNS} PARTITIONED BY (day(ts), bucket({{}}, id))"
    assert codes(create.format(1)) == ["KL101"]
    assert codes(create.format(2)) == ["KL101", "KL102"]


@pytest.mark.parametrize(
    ("using", "cure"),
    [
        ("iceberg", ", or set write.object-storage.enabled to true"),
        ("delta", ", or set delta.randomizeFilePrefixes to true with Delta 3.3.3, 4.1.0 or newer"),
        ("hudi", ""),
        ("parquet", ""),
    ],
)
def test_the_cure_is_that_of_the_format(using: str, cure: str) -> None:
    """Only Iceberg and Delta write a hash before the folders of partitions."""
    field = "day(ts)" if using == "iceberg" else "day"
    create = (
        f"CREATE TABLE spark_catalog.a.t (id BIGINT, ts TIMESTAMP, day DATE) USING {using} PARTITIONED BY ({field})"
    )
    [note] = [finding for finding in found(create) if finding.code == "KL101"]
    assert note.fix == f"For a high rate, put a field with many values before {field}{cure}."


def test_a_note_has_the_name_for_which_a_rate_is_declared() -> None:
    """A short name in a file is completed, as it is for the patterns of `layout`."""
    facts = replace(FACTS, beginning=("spark_catalog", "default", ""))
    created = "CREATE TABLE raw.events (id BIGINT, ts TIMESTAMP) USING iceberg PARTITIONED BY (day(ts))"
    [note] = found(created, facts=facts)
    assert note.message.endswith("of the catalog file declares them for spark_catalog.raw.events)")
    [error] = found(created, facts=replace(facts, peaks=[("spark_catalog.raw.*", 9000, None)]))
    assert error.severity.value == "error"


@pytest.mark.parametrize(
    ("put", "get", "severity"),
    [
        (None, None, "note"),
        (0, 0, None),
        (49.9, None, None),
        (49, 49, None),
        (None, 10, None),
        (49, 50, "note"),
        (50, None, "note"),
        (1749, 2749, "note"),
        (1750, None, "warning"),
        (0, 2750, "warning"),
        (3500, 5500, "warning"),
        (3501, None, "error"),
        (0, 5501, "error"),
    ],
)
def test_the_severity_follows_from_the_declared_peak(
    put: float | None, get: float | None, severity: str | None
) -> None:
    """Half of what S3 documents for a partition is a warning, more than all an error, below 50 per second nothing."""
    severities = {finding.severity.value for finding in found(ORIGINAL, facts=with_peak(put, get))}
    assert severities == ({severity} if severity else set())


def test_the_peak_is_that_of_the_qualified_name_of_the_table() -> None:
    """The catalog file completes a shorter name; the message states the declared rates beside the documented ones."""
    facts = replace(
        with_peak(5000, 10, "lake.A.*"),
        beginning=("lake", "default", ""),
        default_catalog="lake",
        formats={"lake": "iceberg"},
    )
    [finding] = found(DAYS.replace("lake.a.t", "a.t"), facts=facts)
    assert finding.severity.value == "error"
    assert (
        "declared: 5,000 PUT/s and 10 GET/s; documented for one partition: 3,500 PUT/s and 5,500 GET/s"
        in finding.message
    )
    [other] = found(DAYS.replace("lake.a.t", "b.t"), facts=facts)
    assert other.severity.value == "note"


def test_a_severity_of_the_catalog_file_has_priority() -> None:
    """A severity does not bring back what the declared peak silences."""
    options = LintOptions({"KL101": "warning", "KL102": "off"})
    for facts in (FACTS, with_peak(5000)):
        assert [
            (finding.code, finding.severity.value) for finding in found(ORIGINAL, facts=facts, options=options)
        ] == [("KL101", "warning")]
    assert found(ORIGINAL, facts=with_peak(10), options=options) == []


@pytest.mark.parametrize(
    ("partitioning", "expected"),
    [
        ("", []),
        ("PARTITIONED BY (name)", []),
        ("PARTITIONED BY (name, day(ts))", []),
        ("PARTITIONED BY (hours(ts), name)", ["KL101"]),
        ("PARTITIONED BY (years(ts), bucket(1, id))", ["KL101"]),
        ("PARTITIONED BY (bucket(100, id), day(ts))", []),
        ("PARTITIONED BY (bucket(4, id), day(ts))", []),
        ("PARTITIONED BY (bucket(32, id), day(ts))", ["KL103"]),
        ("PARTITIONED BY (bucket(256, id))", ["KL103"]),
        (f"PARTITIONED BY (bucket({'9' * 5000}, id), day(ts))", []),
    ],
)
def test_the_first_field_that_varies_decides(partitioning: str, expected: list[str]) -> None:
    """Few buckets with even digits are not skewed; a single bucket spreads nothing."""
    assert codes(f"CREATE TABLE lake.a.t {COLUMNS} {partitioning}") == expected


@pytest.mark.parametrize(
    ("sql", "facts", "expected"),
    [
        ("CREATE TABLE spark_catalog.a.t (id INT, day DATE) USING delta PARTITIONED BY (day)", DELTA, ["KL101"]),
        (
            "CREATE TABLE spark_catalog.a.t (id INT, day DATE) USING delta PARTITIONED BY (day) "
            "TBLPROPERTIES ('delta.randomizeFilePrefixes'='true')",
            DELTA,
            [],
        ),
        ("CREATE TABLE spark_catalog.a.t (id INT, dt STRING) USING hudi PARTITIONED BY (dt)", HUDI, ["KL101"]),
        ("CREATE TABLE spark_catalog.a.t (id INT, dt STRING) USING parquet PARTITIONED BY (dt)", DELTA, ["KL101"]),
        (
            "CREATE TABLE spark_catalog.a.t (id INT, date_key INT) USING parquet PARTITIONED BY (date_key)",
            DELTA,
            ["KL101"],
        ),
        ("CREATE TABLE a.b.t (d DATE) CLUSTER BY (d)", Facts(engine="snowflake"), []),
    ],
)
def test_every_format_with_folders_of_partitions_has_the_note(sql: str, facts: Facts, expected: list[str]) -> None:
    """Snowflake chooses its own keys."""
    assert codes(sql, facts=facts) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("ALTER TABLE lake.a.t ADD COLUMN note string", [("0001", "KL101")]),
        ("ALTER TABLE lake.a.t SET TBLPROPERTIES ('comment'='x')", [("0001", "KL101")]),
        ("ALTER TABLE lake.a.t ADD PARTITION FIELD name", [("0001", "KL101")]),
        ("ALTER TABLE lake.a.t REPLACE PARTITION FIELD day(ts) WITH hour(ts)", [("0001", "KL101")]),
        ("ALTER TABLE lake.a.t ADD PARTITION FIELD bucket(16, id)", [("0001", "KL101"), ("0002", "KL102")]),
        ("ALTER TABLE lake.a.t DROP PARTITION FIELD day(ts)", []),
        (SET.format(HASHED), []),
        (f"CREATE OR REPLACE TABLE lake.a.t {COLUMNS}", []),
        ("DROP TABLE lake.a.t", []),
        (f"DROP TABLE lake.a.t; CREATE TABLE lake.a.t {COLUMNS} PARTITIONED BY (bucket(100, id), day(ts))", []),
        ("CREATE OR REPLACE TABLE lake.a.t USING iceberg PARTITIONED BY (id) AS SELECT * FROM lake.a.s", []),
        (ORIGINAL.replace("CREATE", "CREATE OR REPLACE"), [("0002", "KL101"), ("0002", "KL102")]),
        (DAYS.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"), [("0001", "KL101")]),
    ],
)
def test_only_the_statement_that_makes_the_keys_has_the_finding(change: str, expected: list[tuple[str, str]]) -> None:
    """A later change that ends the cause ends the finding, too, in the same file or in a later one."""
    placed = [(finding.path.split("/")[-1][:4], finding.code) for finding in found(DAYS, change)]
    assert sorted(placed) == expected
    assert sorted(codes(f"{DAYS};\n{change}")) == [code for _, code in expected]


def test_short_names_after_use_are_one_table_up_to_the_next_use() -> None:
    """A note at a short name ends where the same session changes the keys, or where they are no longer known."""
    use, create, change = ("USE lake.a", ORIGINAL.replace("lake.a.t", "t"), SET.format(HASHED).replace("lake.a.t", "t"))
    assert codes(f"{use}; {create}") == ["KL101", "KL102"]
    assert codes(f"{use}; {create}; {change}") == []
    assert codes(f"{use}; {create}", f"{use}; {change}") == []


def test_a_table_that_a_query_replaces_has_the_keys_of_its_partition_fields() -> None:
    """CREATE OR REPLACE TABLE … AS copies nothing of the table that it reads."""
    replaced = "CREATE OR REPLACE TABLE lake.a.t USING iceberg PARTITIONED BY (days(ts)) AS SELECT * FROM lake.a.s"
    assert codes("CREATE TABLE lake.a.t (ts timestamp) USING iceberg", replaced) == ["KL101"]


def test_the_place_of_any_column_is_its_partition_field() -> None:
    """A name may be quoted, and a field may be inside a struct."""
    create = "CREATE TABLE lake.a.t (`Time Stamp` timestamp, m struct<ts: timestamp>) USING iceberg PARTITIONED BY (days({}))"
    for quoted in (create.format("`Time Stamp`"), create.format("m.ts")):
        [finding] = found(quoted)
        assert quoted[finding.column - 1 :].startswith("days(")


def test_partitioning_that_comes_later_is_found_where_it_comes() -> None:
    """Object storage that is removed brings the finding to the statement that removes it."""
    assert [
        finding.path[-9:]
        for finding in found(f"CREATE TABLE lake.a.t {COLUMNS}", "ALTER TABLE lake.a.t ADD PARTITION FIELD day(ts)")
    ] == ["0002_a.sql"[-9:]]
    unset = "ALTER TABLE lake.a.t UNSET TBLPROPERTIES ('write.object-storage.enabled')"
    [finding] = found(f"{DAYS} TBLPROPERTIES ({HASHED})", unset)
    assert (finding.code, finding.path) == ("KL101", "migrations/lake/0002_a.sql")


def test_properties_that_the_engine_gives_to_new_tables_count() -> None:
    """`spark.sql.catalog.lake.table-default.…` may enable object storage."""
    assert codes(ORIGINAL, facts=replace(FACTS, defaults={"write.object-storage.enabled": "true"})) == []


@pytest.mark.parametrize(
    ("properties", "versions", "expected"),
    [
        (f"'write.object-storage.path'='s3://x/y', {HASHED}", {"iceberg": "1.12.0"}, ["error"]),
        ("'write.object-storage.path'='s3://x/y'", {"iceberg": "1.12.0"}, ["warning"]),
        ("'write.folder-storage.path'='s3://x/y', 'write.data.path'='s3://x/z'", {"iceberg": "1.12.0"}, ["warning"]),
        ("'write.folder-storage.path'='s3://x/y'", {"iceberg": "1.9.0"}, ["error"]),
        ("'write.folder-storage.path'='s3://x/y'", {"iceberg": "1.8.1"}, []),
        ("'write.folder-storage.path'='s3://x/y'", {}, ["warning"]),
        ("'write.object-storage.partitioned-paths'='false'", {}, ["warning"]),
        ("'write.object-storage.partitioned-paths'='true'", {}, []),
        (f"'write.object-storage.partitioned-paths'='false', {HASHED}", {}, []),
        (f"'write.object-storage.partitioned-paths'='false', {HASHED}", {"iceberg": "1.6.1"}, ["warning", "note"]),
        (HASHED, {"iceberg": "1.6.1"}, ["note"]),
        (HASHED, {"iceberg": "1.7.0"}, []),
    ],
)
def test_a_property_that_iceberg_refuses_or_ignores_is_found(
    properties: str, versions: dict[str, str], expected: list[str]
) -> None:
    """A refused property is an error at the declared version. One cause is one finding, also on a table that exists."""
    facts = replace(FACTS, versions=versions)
    create = f"CREATE TABLE lake.a.t {COLUMNS}"
    severities = [finding.severity.value for finding in found(f"{create} TBLPROPERTIES ({properties})", facts=facts)]
    assert severities == expected
    altered = findings(create, SET.format(properties), facts=facts)
    refused = [finding.code for finding in altered if "storage.path" in finding.message]
    assert refused == (["PR120"] if "1.8.1" in versions.values() else ["KL104"] if "storage.path" in properties else [])


def test_a_property_that_a_later_statement_completes_is_in_order() -> None:
    """The statements of one file may set the two properties in any order."""
    details = SET.format("'write.object-storage.partitioned-paths'='false'")
    assert codes(f"{details};\n{SET.format(HASHED)}") == []
    assert codes(f"CREATE TABLE lake.a.t {COLUMNS} TBLPROPERTIES ({HASHED})", details) == []
    assert codes(f"CREATE TABLE lake.a.t {COLUMNS}", details) == ["KL104"]


def test_the_other_properties_of_a_table_that_no_statement_declares_are_not_known() -> None:
    """What depends on them is no finding; a former path is a warning, because writers do not read it beside another one."""
    facts = replace(FACTS, versions={"iceberg": "1.12.0"})
    assert codes(SET.format("'write.object-storage.partitioned-paths'='false'"), facts=facts) == []
    [finding] = found(SET.format("'write.folder-storage.path'='s3://x/y'"), facts=facts)
    assert (finding.code, finding.severity.value) == ("KL104", "warning")


@pytest.mark.parametrize(
    ("version", "expected"),
    [("3.3.2", ["KL104"]), ("3.3.3", []), ("4.0.0", ["KL104"]), ("4.0.1", ["KL104"]), ("4.1.0", []), (None, [])],
)
def test_random_prefixes_that_delta_ignores_are_a_warning(version: str | None, expected: list[str]) -> None:
    """The length of a prefix has no effect without them, in any version."""
    facts = replace(DELTA, versions={"delta": version} if version else {})
    create = "CREATE TABLE spark_catalog.a.t (id INT) USING delta TBLPROPERTIES ({})"
    random = create.format("'delta.randomizeFilePrefixes'='true', 'delta.randomPrefixLength'='1'")
    assert [(finding.code, finding.severity.value) for finding in found(random, facts=facts)] == [
        (code, "warning") for code in expected
    ]
    assert codes(create.format("'delta.randomPrefixLength'='1'"), facts=facts) == ["KL104"]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("CREATE TABLE lake.a.t (reversed_user_id bigint) USING iceberg", "reversed_user_id is of type bigint"),
        ("ALTER TABLE lake.a.t ADD COLUMN user_id_rev decimal(20, 0)", "user_id_rev is of type decimal(20, 0)"),
        ("ALTER TABLE lake.a.t ALTER COLUMN id_reversed TYPE bigint", "id_reversed is of type bigint"),
        ("CREATE TABLE lake.a.t (id_reversed string, rev_id bigint, reversed_payment_id int) USING iceberg", ""),
        (
            "CREATE TABLE lake.a.t USING iceberg AS SELECT CAST(reverse(CAST(id AS string)) AS bigint) AS key FROM lake.a.s",
            "CAST … AS BIGINT of a reversed text",
        ),
        (
            "CREATE TABLE lake.a.t USING iceberg AS SELECT reverse(id)::int AS key FROM lake.a.s",
            "… :: INT of a reversed text",
        ),
        ("CREATE TABLE lake.a.t USING iceberg AS SELECT CAST(reverse(id) AS string) AS key FROM lake.a.s", ""),
        ("CREATE TABLE lake.a.t USING iceberg AS SELECT reverse(CAST(id AS string)) AS key FROM lake.a.s", ""),
        ("CREATE TABLE lake.a.t USING iceberg AS SELECT CAST(id AS bigint), reverse(name) AS key FROM lake.a.s", ""),
    ],
)
def test_a_reversed_id_that_is_a_number_is_a_warning(sql: str, message: str) -> None:
    """A text that is reversed last keeps its zeros. `reversed_payment_id` is the id of a payment that was reversed."""
    assert [(finding.code, finding.severity.value, finding.message) for finding in found(sql)] == (
        [("KL105", "warning", message)] if message else []
    )


def test_a_generated_column_of_a_reversed_number_is_one_finding() -> None:
    """The column and its expression are one cause."""
    sql = "CREATE TABLE spark_catalog.a.t (id STRING, {} BIGINT GENERATED ALWAYS AS (CAST(reverse(id) AS BIGINT))) USING delta"
    assert [codes(sql.format(name), facts=DELTA) for name in ("id_rev", "key")] == [["KL105"], ["KL105"]]


@pytest.mark.parametrize("put", [None, 1, 9000])
def test_a_name_after_the_hash_is_a_note_at_every_rate(put: float | None) -> None:
    """Whether rules by prefix exist is not known. A folder inside the table's location has only its files."""
    create = (
        f"CREATE TABLE lake.a.t {COLUMNS} LOCATION 's3://lake/a/t' TBLPROPERTIES ({HASHED}, 'write.data.path'='{{}}')"
    )
    [note] = found(create.format("s3://shared/data"), facts=with_peak(put))
    assert (note.code, note.severity.value) == ("KL106", "note")
    assert "keys are data/<hash>/a/t/…" in note.message
    assert codes(create.format("s3://lake/a/t/files")) == []
    later = found(create.format("s3://lake/a/t/files"), SET.format("'write.data.path'='s3://shared/data'"))
    assert [(finding.code, finding.path[-10:]) for finding in later] == [("KL106", "0002_a.sql")]
