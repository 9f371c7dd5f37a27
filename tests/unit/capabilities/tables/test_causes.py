"""Why a part of a table differs: by its last change in each environment, and by the statements about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.types import IntegerType, NestedField, StringType, StructType

from tests.support.fleet import Fleet, nothing
from tests.support.program import call_program
from tests.support.project_folder import Output, ProjectFolder
from tests.unit.inspect.scenes import ENVIRONMENTS, ID, added, created

TABLE = "lake.a.t"
CREATE = f"CREATE TABLE {TABLE} (id BIGINT NOT NULL) USING iceberg"

Tell = Callable[..., Fleet]


@pytest.fixture
def tell(project: ProjectFolder) -> Tell:
    """Return what writes files, by version, and returns the environments in which nothing is applied yet."""

    def write(**files: str) -> Fleet:
        for version, sql in files.items():
            project.file(f"{version.removeprefix('v')}_change.sql", sql)
        return Fleet(project, ENVIRONMENTS)

    return write


def set_to(**properties: str) -> Callable[[SqlCatalog], None]:
    def change(client: SqlCatalog) -> None:
        with client.load_table("a.t").transaction() as changed:
            changed.set_properties(properties)

    return change


def dropped(column: str) -> Callable[[SqlCatalog], None]:
    def change(client: SqlCatalog) -> None:
        with client.load_table("a.t").update_schema(allow_incompatible_changes=True) as update:
            update.delete_column(column)

    return change


def renamed(old: str, new: str) -> Callable[[SqlCatalog], None]:
    def change(client: SqlCatalog) -> None:
        with client.load_table("a.t").update_schema() as update:
            update.rename_column(old, new)

    return change


def of_ints(client: SqlCatalog) -> None:
    fields = PartitionField(source_id=1, field_id=1000, name="id_bucket", transform=BucketTransform(32))
    client.create_namespace_if_not_exists("a")
    client.create_table(
        "a.t", Schema(NestedField(1, "id", IntegerType(), required=True)), partition_spec=PartitionSpec(fields)
    )


def two_columns(client: SqlCatalog) -> None:
    client.create_namespace_if_not_exists("a")
    client.create_table("a.t", Schema(ID, NestedField(2, "extra", StringType())))


def of_struct(client: SqlCatalog) -> None:
    fields = StructType(NestedField(3, "x", IntegerType()), NestedField(4, "y", StringType()))
    client.create_namespace_if_not_exists("a")
    client.create_table("a.t", Schema(ID, NestedField(2, "s", fields)))


def of_sorted(client: SqlCatalog) -> None:
    client.create_namespace_if_not_exists("a")
    client.create_table(
        "a.t",
        Schema(ID, NestedField(2, "a", StringType(), doc="live"), NestedField(3, "b", IntegerType())),
        sort_order=SortOrder(SortField(2, transform=IdentityTransform())),
    )


def output_of(fleet: Fleet, *arguments: str) -> Output:
    names = arguments or ("dev", "prod")
    return call_program(["compare", *names, "--exit-code", "--format", "json", "--project", str(fleet.project.root)])


def whys(fleet: Fleet, *arguments: str) -> list[tuple[str, str, str, list[str]]]:
    """Return environment, cause, part and versions of each difference of the table."""
    [table] = output_of(fleet, *arguments).entry()["tables"]
    return [
        (each["environment"], each["cause"], f"{each['what']} {each['name']}".rstrip(), each["versions"])
        for each in table["differences"]
    ]


def both(fleet: Fleet, version: str, *changes: Callable[[SqlCatalog], object]) -> None:
    """Apply a file in dev with the first change, and in prod with the last one."""
    fleet["dev"].apply(version, changes[0])
    fleet["prod"].apply(version, changes[-1])


def test_a_manual_change_is_reported_although_a_file_with_a_variable_touched_the_table(tell: Tell) -> None:
    """A later file has recorded it. What the variable makes different is by design, and nothing else is."""
    fleet = tell(
        v0001=CREATE,
        v0002=f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('team'='{{{{ variables.ns }}}}')",
        v0003=f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('note'='1')",
    )
    both(fleet, "0001", created("a.t"))
    both(fleet, "0002", set_to(team="dev"), set_to(team="live"))
    assert (output_of(fleet).code, whys(fleet)) == (0, [("prod", "variables", "property team", ["0002"])])
    set_to(owned="by hand")(fleet["prod"].client)
    both(fleet, "0003", set_to(note="1"))
    assert output_of(fleet).code == 7
    assert whys(fleet) == [
        ("prod", "outside", "property owned", ["0003"]), ("prod", "variables", "property team", ["0002"]),
    ]  # fmt: skip
    text = call_program(["compare", "dev", "prod", "--project", str(fleet.project.root)]).stdout
    assert "+ property owned: by hand  not from a migration, first observed by 0003" in text


def test_a_column_that_a_variable_decides_stays_by_design_after_a_revert(tell: Tell) -> None:
    """`drift revert` leaves a change from outside in the records, of another column."""
    fleet = tell(
        v0001=f"CREATE TABLE {TABLE} (id BIGINT NOT NULL{{% if variables.buckets > 4 %}}, extra STRING{{% endif %}}) USING iceberg",
        v0002=f"{{% if environment == 'prod' %}}ALTER TABLE {TABLE} DROP COLUMN debug{{% endif %}}",
    )
    both(fleet, "0001", created("a.t"), two_columns)
    expected = [("prod", "variables", "column extra", ["0001"])]
    assert whys(fleet) == expected
    added("a.t", "debug")(fleet["prod"].client)
    both(fleet, "0002", nothing, dropped("debug"))
    assert (output_of(fleet).code, whys(fleet)) == (0, expected)


def test_two_independent_causes_of_one_part_are_listed_both(tell: Tell) -> None:
    """Prod lacks the version that sets the property in dev, and somebody set it there."""
    fleet = tell(
        v0001=CREATE,
        v0002=f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('note'='1')",
        v0003=f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('more'='1')",
    )
    both(fleet, "0001", created("a.t"))
    fleet["dev"].apply("0002", set_to(note="1"))
    set_to(note="by hand")(fleet["prod"].client)
    both(fleet, "0003", set_to(more="1"))
    assert whys(fleet) == [
        ("prod", "outside", "property note", ["0003"]), ("prod", "versions", "property note", ["0002"]),
    ]  # fmt: skip


def test_a_version_that_is_missing_explains_only_what_it_is_about(tell: Tell) -> None:
    """A manual change of another part is no consequence of it."""
    fleet = tell(
        v0001=CREATE,
        v0002=f"ALTER TABLE {TABLE} ADD COLUMN extra STRING",
        v0003=f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('more'='1')",
    )
    both(fleet, "0001", created("a.t"))
    fleet["dev"].apply("0002", added("a.t", "extra"))
    set_to(note="by hand")(fleet["dev"].client)
    both(fleet, "0003", set_to(more="1"))
    assert whys(fleet) == [
        ("prod", "versions", "column extra", ["0002"]), ("dev", "outside", "property note", ["0003"]),
    ]  # fmt: skip


def test_a_part_follows_its_column_through_renames(tell: Tell) -> None:
    """The type is that of the file which declared it, under another name; a rename by hand is one of neither file."""
    fleet = tell(
        v0001=f"CREATE TABLE {TABLE} (id {{{{ 'INT' if variables.buckets > 4 else 'BIGINT' }}}}) USING iceberg"
        " PARTITIONED BY (bucket({{ variables.buckets }}, id))",
        v0002=f"ALTER TABLE {TABLE} RENAME COLUMN id TO user_id",
        v0003=f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('more'='1')",
    )
    both(fleet, "0001", created("a.t", 4), of_ints)
    both(fleet, "0002", renamed("id", "user_id"))
    by_design = [
        ("prod", "variables", "type user_id", ["0001"]), ("prod", "variables", "partitioning", ["0001"]),
    ]  # fmt: skip
    assert whys(fleet) == by_design
    renamed("user_id", "by_hand")(fleet["prod"].client)
    both(fleet, "0003", set_to(more="1"))
    outside = [(cause, part) for _, cause, part, _ in whys(fleet)]
    assert outside == [
        ("outside", "column user_id"), ("outside", "column by_hand"), ("outside", "partitioning"), ("variables", "partitioning"),
    ]  # fmt: skip


def test_the_fields_of_a_struct_that_a_variable_renames_differ_by_design(tell: Tell) -> None:
    """With the column; a field that somebody has added inside is still reported."""
    fleet = tell(
        v0001=f"CREATE TABLE {TABLE} (id BIGINT NOT NULL, s STRUCT<x: INT, y: STRING>) USING iceberg",
        v0002=f"ALTER TABLE {TABLE} RENAME COLUMN s TO s_{{{{ variables.ns }}}}",
        v0003=f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('note'='1')",
    )
    both(fleet, "0001", of_struct)
    both(fleet, "0002", renamed("s", "s_dev"), renamed("s", "s_live"))
    paths = [
        ("prod", "variables", f"column s_{name}{field}", ["0002"])
        for name in ("dev", "live")
        for field in ("", ".x", ".y")
    ]
    assert sorted(whys(fleet)) == paths
    with fleet["prod"].client.load_table("a.t").update_schema() as update:
        update.add_column(("s_live", "z"), IntegerType())
    both(fleet, "0003", set_to(note="1"))
    assert sorted(whys(fleet)) == [("prod", "outside", "column s_live.z", ["0003"]), *paths]


def test_a_field_that_somebody_has_added_stays_theirs_when_a_file_renames_the_column_around_it(tell: Tell) -> None:
    """The field has another path then."""
    fleet = tell(
        v0001=f"CREATE TABLE {TABLE} (id BIGINT NOT NULL, s STRUCT<x: INT, y: STRING>) USING iceberg",
        v0002=f"ALTER TABLE {TABLE} RENAME COLUMN s TO t",
    )
    both(fleet, "0001", of_struct)
    with fleet["prod"].client.load_table("a.t").update_schema() as update:
        update.add_column(("s", "z"), IntegerType())
    both(fleet, "0002", renamed("s", "t"))
    assert whys(fleet) == [("prod", "outside", "column t.z", ["0002"])]


def test_a_swap_of_columns_that_an_environment_lacks_is_due_to_the_version(tell: Tell) -> None:
    """The sort order follows its column, and so does a comment, although a variable sets it."""
    swap = (("a", "b_new"), ("b", "a"), ("b_new", "b"))
    fleet = tell(
        v0001=f"CREATE TABLE {TABLE} (id BIGINT NOT NULL, a STRING COMMENT '{{{{ variables.ns }}}}', b INT) USING iceberg;\n"
        f"ALTER TABLE {TABLE} WRITE ORDERED BY a",
        v0002=";\n".join(f"ALTER TABLE {TABLE} RENAME COLUMN {old} TO {new}" for old, new in swap),
    )
    both(fleet, "0001", of_sorted)
    fleet["dev"].apply("0002", lambda client: [renamed(old, new)(client) for old, new in swap])
    parts = ("order of columns", "sorting", "type a", "type b", "comment a", "comment b")
    assert sorted(whys(fleet)) == sorted(("prod", "versions", part, ["0002"]) for part in parts)


def test_a_statement_that_names_another_namespace_says_the_same(tell: Tell) -> None:
    """The columns are those of a query, whose tables are in a namespace of each environment."""
    fleet = tell(
        v0001="CREATE TABLE lake.{{ variables.ns }}.t USING iceberg AS SELECT * FROM lake.{{ variables.ns }}.source",
    )
    fleet["dev"].apply("0001", created("dev.t"))
    fleet["prod"].apply("0001", lambda client: (created("live.t")(client), added("live.t", "extra")(client)))
    assert whys(fleet) == [("prod", "unexplained", "column extra", [])]


def test_a_table_that_a_variable_drops_is_missing_by_design(tell: Tell) -> None:
    """A file that cannot be read explains no difference."""
    drop = f"{{% if environment == 'prod' %}}DROP TABLE {TABLE}{{% endif %}}"
    fleet = tell(v0001=CREATE, v0002=drop)
    both(fleet, "0001", created("a.t"))
    both(fleet, "0002", nothing, lambda client: client.drop_table("a.t"))
    assert whys(fleet) == [("prod", "variables", "table", ["0002"])]


def test_a_state_file_holds_digests_and_no_statement(tell: Tell, tmp_path: Path) -> None:
    """Two files compare as the environments do."""
    fleet = tell(v0001=CREATE, v0002=f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('team'='{{{{ variables.ns }}}}-canary')")
    both(fleet, "0001", created("a.t"))
    both(fleet, "0002", set_to(team="dev-canary"), set_to(team="live-canary"))
    files = [str(tmp_path / f"{name}.json") for name in ("dev", "prod")]
    for name, path in zip(("dev", "prod"), files, strict=True):
        call_program(["export-state", "--env", name, "-o", path, "--project", str(fleet.project.root)])
    assert whys(fleet, *files) == [("prod", "variables", "property team", ["0002"])]
    for path in files:
        text = Path(path).read_text()
        assert "ALTER TABLE" not in text
        assert text.count("-canary") == 1  # The value in the shape.
