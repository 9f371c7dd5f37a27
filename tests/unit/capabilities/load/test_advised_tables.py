"""`layout advise --table`: the recorded format and layout of a table, and the migration that `--write` writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glacierbase import GlacierbaseError
from glacierbase.capabilities.load.advise import advise
from glacierbase.capabilities.load.advised import advised_table
from glacierbase.capabilities.load.explain import ExplainResult
from glacierbase.capabilities.load.explained import ExplainedKeys
from glacierbase.capabilities.load.rates import Load
from glacierbase.capabilities.load.remedies import AdvisedTable
from glacierbase.cli.program import main
from glacierbase.errors import ConfigurationError
from glacierbase.layout.facts import of_shape
from glacierbase.layout.providers import AWS
from glacierbase.layout.templates import key_template
from glacierbase.model.finding import Severity
from glacierbase.model.shape import PartitionField, Shape
from tests.support.documents import checked
from tests.support.project_folder import ProjectFolder
from tests.support.rules import FACTS, findings
from tests.support.world import World

SHAPE = Shape(
    "lake.web.`my events`",
    None,
    "iceberg",
    2,
    (),
    partitioning=(PartitionField(1000, "ts_hour", "ts", "hour"), PartitionField(1001, "region", "region", "identity")),
)
HOT = Load(put_per_second=9000)


def explained(shape: Shape = SHAPE, version: str | None = None) -> ExplainedKeys:
    """Return what `layout explain` shows of a recorded table."""
    facts = of_shape(shape, version)
    keys = ExplainedKeys(shape.table, "prod", "recorded", shape.format, version, why=None if facts else "not modelled")
    if facts is None:
        return keys
    template = key_template(facts)
    return replace(keys, segments=template.segments, text=template.text, notes=template.notes)


def recorded(
    keys: ExplainedKeys, table_format: str | None = None, is_readable: bool = False, column: str | None = "id"
) -> AdvisedTable:
    """Return the table of an advice, which one of two catalogs has."""
    results = [ExplainResult("shop", "prod", templates=(keys,)), ExplainResult("other", "prod")]
    table, catalog = advised_table(lambda: results, "events", table_format, column, is_readable)
    assert catalog == "shop"
    return table


def test_statements_are_about_the_recorded_table_and_its_partition_fields() -> None:
    """The bucket comes first: the other fields are dropped, and added again after it in their order."""
    table = recorded(explained(), is_readable=True)
    assert advise(HOT, AWS, table).statements == (
        "ALTER TABLE lake.web.`my events` DROP PARTITION FIELD hours(`ts`)",
        "ALTER TABLE lake.web.`my events` DROP PARTITION FIELD `region`",
        "ALTER TABLE lake.web.`my events` ADD PARTITION FIELD bucket(100, id)",
        "ALTER TABLE lake.web.`my events` ADD PARTITION FIELD hours(`ts`)",
        "ALTER TABLE lake.web.`my events` ADD PARTITION FIELD `region`",
    )


@pytest.mark.parametrize(("given", "expected"), [(None, "user_id"), ("device", "device")])
def test_the_column_is_that_of_the_bucket_field(given: str | None, expected: str) -> None:
    """A column that the caller names comes first."""
    shape = replace(SHAPE, partitioning=(PartitionField(1000, "user_id_bucket", "user_id", "bucket[16]"),))
    assert recorded(explained(shape), column=given).column == expected


@pytest.mark.parametrize(
    ("shape", "property_name"),
    [
        (replace(SHAPE, properties={"write.object-storage.enabled": "true"}), "write.object-storage.enabled"),
        (
            replace(SHAPE, format="delta", properties={"delta.randomizeFilePrefixes": "true"}),
            "delta.randomizeFilePrefixes",
        ),
    ],
)
def test_a_recorded_table_with_hashed_keys_needs_nothing(shape: Shape, property_name: str) -> None:
    """The title names the property."""
    advice = advise(HOT, AWS, recorded(explained(shape)))
    assert advice.verdict == "nothing"
    assert property_name in advice.title


def test_the_format_is_the_recorded_one() -> None:
    """Another `--type` is refused; a table of Snowflake has Snowflake's statement."""
    assert advise(HOT, AWS, recorded(explained(replace(SHAPE, format="delta")))).verdict == "random-prefix"
    assert advise(HOT, AWS, recorded(explained(replace(SHAPE, format="snowflake")))).verdict == "flat-paths"
    with pytest.raises(GlacierbaseError) as caught:
        recorded(explained(), "delta")
    assert caught.value.code == "CONFLICTING_OPTIONS"


def test_the_partition_fields_are_those_of_one_environment() -> None:
    """A number of buckets may be a variable: the statements name that of the environment that was read."""
    sentence = "whether its partition fields are the same in other environments than prod"
    assert sentence in advise(HOT, AWS, recorded(explained(), is_readable=True)).unknown
    unpartitioned = replace(SHAPE, partitioning=())
    assert sentence not in advise(HOT, AWS, recorded(explained(unpartitioned))).unknown


def test_a_version_that_ignores_the_properties_is_named() -> None:
    """The version of Delta is that of the catalog file."""
    delta = replace(SHAPE, format="delta")
    assert (
        "Delta 4.0.1, as the catalog file has it, ignores these properties"
        in advise(HOT, AWS, recorded(explained(delta, "4.0.1"))).warnings
    )
    assert not any("ignores" in warning for warning in advise(HOT, AWS, recorded(explained(delta, "4.1.0"))).warnings)


def test_what_is_known_of_the_keys_is_not_listed_as_unknown() -> None:
    """The note of `layout explain` on skewed bucket numbers is a reason."""
    bucket = PartitionField(None, "id_bucket", "id", "bucket[16]")
    advice = advise(HOT, AWS, recorded(explained(replace(SHAPE, partitioning=(bucket,)))))
    assert "44 % of the numbers of bucket(16, id) begin with 1" in advice.why
    assert advice.unknown
    assert not any("bucket" in sentence for sentence in advice.unknown)


def unknown() -> list[ExplainResult]:
    raise ConfigurationError("UNKNOWN_TABLE", "no migration changed it", "did you mean events?")


def twice() -> list[ExplainResult]:
    return [ExplainResult(name, "prod", templates=(explained(),)) for name in ("shop", "web")]


def without_format() -> list[ExplainResult]:
    keys = ExplainedKeys("lake.web.events", "prod", "declared", None, None, why="the table was dropped")
    return [ExplainResult("shop", "prod", templates=(keys,))]


@pytest.mark.parametrize(
    ("read", "code"), [(unknown, "UNKNOWN_TABLE"), (twice, "AMBIGUOUS_TABLE"), (without_format, "UNKNOWN_TABLE")]
)
def test_a_table_that_is_not_one_known_table_is_refused(read: Callable[[], list[ExplainResult]], code: str) -> None:
    """One error with exit code 2 and a hint."""
    with pytest.raises(GlacierbaseError) as caught:
        advised_table(read, "events", None, "id", False)
    assert (caught.value.code, caught.value.exit_code) == (code, 2)
    assert caught.value.hint


def test_a_table_that_is_not_known_is_advised_with_a_type() -> None:
    """The fields before a bucket are not known, so that no statement names one."""
    table, catalog = advised_table(unknown, "events", "iceberg", "id", True)
    assert catalog is None
    assert advise(HOT, AWS, table).statements == ("ALTER TABLE events ADD PARTITION FIELD bucket(100, id)",)
    assert "nothing is known of events" in advise(HOT, AWS, table).unknown
    table, catalog = advised_table(without_format, "events", "delta", "id", False)
    assert catalog == "shop"
    assert "its keys: the table was dropped" in advise(HOT, AWS, table).unknown


@pytest.fixture
def ask(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return the advice of a command line in a project whose history is empty."""
    world.target()
    monkeypatch.setattr("glacierbase.project.each.load_targets", lambda *_: [world.target()])
    monkeypatch.chdir(world.project.root)

    def run(*arguments: str) -> Any:
        with pytest.raises(SystemExit):
            main(["layout", "advise", "--table", "lake.web.events", *arguments, "--format", "json"])
        document = checked(json.loads(capsys.readouterr().out))
        return document["error"] or document["advice"]

    return run


def files(project: ProjectFolder) -> list[Path]:
    return sorted((project.root / "migrations" / "shop").glob("*.sql"))


def test_write_writes_a_migration_that_lint_accepts(ask: Callable[..., Any], project: ProjectFolder) -> None:
    """The next version, with its headers and the statements; nothing runs it."""
    created = "CREATE TABLE lake.web.events (id BIGINT, ts TIMESTAMP) USING iceberg PARTITIONED BY (hours(ts))"
    project.file("0001_create.sql", created)
    rates = ("--put-per-second", "9k", "--write", "--author", "Ann")
    assert ask(*rates, "--readable")["verdict"] == "bucket-first"
    advice = ask(*rates)
    [_, bucket, hashed] = files(project)
    assert advice["written"] == str(hashed)
    assert [bucket.name, hashed.name] == [
        "0002_partition_by_bucket_100_id_first_for_lake_web_events.sql",
        "0003_turn_on_object_storage_for_lake_web_events.sql",
    ]
    assert hashed.read_text() == (
        "-- MIGRATION_DESCRIPTION: Turn on object storage for lake.web.events\n-- MIGRATION_AUTHOR: Ann\n\n"
        "ALTER TABLE lake.web.events SET TBLPROPERTIES ('write.object-storage.enabled' = 'true');\n"
    )
    assert bucket.read_text().count("PARTITION FIELD hours(`ts`);") == 2
    assert severities(bucket.read_text().replace("hours", "days"), hashed.read_text()) == {Severity.WARNING}
    assert ask(*rates)["verdict"] == "nothing"
    assert len(files(project)) == 3


def test_a_migration_that_is_not_applied_yet_is_not_written_again(
    ask: Callable[..., Any], project: ProjectFolder
) -> None:
    """The advice on a recorded table is the same until its migration is applied; other statements get a file."""
    arguments = ("--put-per-second", "9k", "--type", "iceberg", "--write", "--author", "Ann")
    first = ask(*arguments)["written"]
    second = ask(*arguments)
    assert second["written"] is None
    assert f"{Path(first).name} has these statements: no file was written" in second["warnings"]
    assert files(project) == [Path(first)]
    assert ask(*arguments, "--readable")["written"]


def severities(*files: str, table_format: str = "iceberg") -> set[Severity]:
    """Return the severities of what `lint` finds in files, after one that creates the table that they are about."""
    partitioning = " PARTITIONED BY (days(ts))" if table_format == "iceberg" else ""
    created = f"CREATE TABLE lake.web.events (id BIGINT, ts TIMESTAMP) USING {table_format}{partitioning}"
    facts = replace(FACTS, formats={"lake": table_format})
    return {
        finding.severity
        for finding in findings(created, *files, facts=facts)
        if finding.path != "migrations/lake/0001_a.sql"
    }


@pytest.mark.parametrize(
    "table",
    [
        AdvisedTable("delta"),
        AdvisedTable("hive"),
        AdvisedTable("hive", is_readable=True),
        AdvisedTable(is_readable=True),
    ],
    ids=lambda table: f"{table.format} {table.is_readable}",
)
def test_lint_has_no_error_about_the_statements_of_a_format(table: AdvisedTable) -> None:
    """A new partition field gets a warning: files that exist keep their partitioning."""
    advice = advise(HOT, AWS, replace(table, name="lake.web.events"))
    table_format = "parquet" if table.format == "hive" else table.format
    assert advice.statements
    assert severities(";\n".join(advice.statements), table_format=table_format) <= {Severity.WARNING}


def test_nothing_to_do_writes_nothing(ask: Callable[..., Any], project: ProjectFolder) -> None:
    """The advice says so, also where no statement does it."""
    for arguments in (("--put-per-second", "900", "--type", "iceberg"), ("--put-per-second", "9k", "--type", "hudi")):
        advice = ask(*arguments, "--write", "--author", "Ann")
        assert advice["written"] is None
        assert "there is no statement to write: no file was written" in advice["warnings"]
    assert files(project) == []


def test_a_table_that_no_history_has_needs_a_type(ask: Callable[..., Any]) -> None:
    """The error is one of the command, with exit code 2."""
    error = ask("--put-per-second", "9k")
    assert (error["code"], error["exit_code"]) == ("UNKNOWN_TABLE", 2)
    assert error["hint"]
