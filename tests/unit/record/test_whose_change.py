"""Whose change each part of a table is, on a real catalog, where another client changes tables between and inside statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import IntegerType, LongType, NestedField

from glacierbase.errors import MigrationFailed, StatementRefused
from tests.histories.stage import Stage

Act = Callable[[SqlCatalog], object]
T = "ALTER TABLE lake.a.t"


def added(column: str, table: str = "a.t") -> Act:
    def act(client: SqlCatalog) -> None:
        with client.load_table(table).update_schema() as update:
            update.add_column(column, IntegerType())

    return act


def dropped(column: str) -> Act:
    def act(client: SqlCatalog) -> None:
        with client.load_table("a.t").update_schema(allow_incompatible_changes=True) as update:
            update.delete_column(column)

    return act


class Scene(Stage):
    """A stage on which files run, one after the other, and another client acts before or after a statement."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.catalog_file()
        self.client.create_namespace("a")
        self._number = 0

    def run(self, *statements: str, acts: Mapping[tuple[int, bool], Act] = {}) -> tuple[str, ...]:
        """Run a file; return the warnings, without times.

        Args:
            acts: by the index of a statement, and whether it has run.
        """
        self._number += 1
        self.project.file(f"{self._number}_change.sql", ";\n".join(statements))
        left = dict(acts)
        self.watch = lambda _, index, is_done: left.pop((index, is_done), lambda _: None)(self.client)
        with self.running() as project:
            [result] = project.migrate()
        assert not left
        return tuple(warning.partition(", 2")[0] for warning in result.warnings)

    def blamed(self, table: str = "lake.a.t") -> dict[str, str]:
        """Return the version, or the origin, of each part other than what each table has."""
        with self.running() as project:
            [result] = project.blame(table)
        assert result.dropped is None
        return {
            line.name or line.kind: line.version or line.since.why
            for line in result.lines_
            if line.kind != "format" and not line.name.startswith("write.")
        }


def test_names_that_a_file_reuses_are_read_as_of_each_statement(tmp_path: Path) -> None:
    """A swap of the columns by which a table is partitioned, sorted and identified is the file's, and no other client's."""
    scene = Scene(tmp_path)
    scene.run(
        "CREATE TABLE lake.a.t (a INT NOT NULL, b INT NOT NULL) PARTITIONED BY (bucket(4, a))", f"{T} WRITE ORDERED BY a",
        f"{T} SET IDENTIFIER FIELDS a",
    )  # fmt: skip
    assert scene.run(f"{T} RENAME COLUMN a TO x", f"{T} RENAME COLUMN b TO a", f"{T} RENAME COLUMN x TO b") == ()
    assert scene.blamed() == {
        "b": "2", "a": "2", "a_bucket": "1", "sort order": "1", "identifiers": "1", "lake.a.t": "1",
    }  # fmt: skip


def test_what_follows_a_replacement_is_by_the_file_and_what_another_client_adds_is_not(tmp_path: Path) -> None:
    """The metadata files that direct statements commit name their statements."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT, b INT)")
    statements = (
        "CREATE OR REPLACE TABLE lake.a.t (a INT, c INT)",
        f"{T} SET TBLPROPERTIES ('k' = '1')",
        f"{T} ADD PARTITION FIELD bucket(4, c)",
    )
    assert scene.run(*statements, acts={(1, True): added("hand"), (2, True): added("d")}) == (
        "lake.a.t: + column hand: int: during 2, not by it", "lake.a.t: + column d: int: during 2, not by it",
    )  # fmt: skip
    during = "during 2, not by it"
    assert scene.blamed() == {
        "a": "1",
        "c": "2",
        "hand": during,
        "d": during,
        "c_bucket_4": "2",
        "k": "2",
        "lake.a.t": "1",
    }


def test_a_table_that_a_file_drops_and_creates_is_its_own_beside_another_clients_column(tmp_path: Path) -> None:
    """What the other client did to the dropped table is gone with it."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT)")
    acts = {(1, False): added("lost"), (2, True): added("hand")}
    warnings = scene.run("DROP TABLE lake.a.t", "CREATE TABLE lake.a.t (a INT)", f"{T} ADD COLUMN b INT", acts=acts)
    assert warnings == ("lake.a.t: + column hand: int: during 2, not by it",)
    assert scene.blamed() == {"a": "2", "hand": "during 2, not by it", "b": "2", "lake.a.t": "2"}


def test_a_change_that_another_client_undoes_while_a_file_runs_is_a_warning(tmp_path: Path) -> None:
    """The shapes before and after do not show it; the metadata of the table does."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT)")
    acts = {(1, False): added("x"), (1, True): dropped("x")}
    assert scene.run(f"{T} ADD COLUMN b INT", acts=acts) == (
        "lake.a.t: + column x: int: during 2, not by it", "lake.a.t: - column x: int: during 2, not by it",
    )  # fmt: skip
    assert scene.blamed() == {"a": "1", "b": "2", "lake.a.t": "1"}


def test_a_change_before_a_rename_is_not_by_the_file_that_renames(tmp_path: Path) -> None:
    """The table is compared with its last record, under whichever name."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT)")
    added("hand")(scene.client)
    warnings = scene.run("CREATE TABLE lake.a.u (a INT)", "DROP TABLE lake.a.u", f"{T} RENAME TO u")
    assert warnings == ("lake.a.t: + column hand: int: not from a migration",)
    assert scene.blamed("lake.a.u") == {"a": "1", "hand": "not from a migration, first observed by 2", "lake.a.u": "2"}


def test_a_table_that_another_client_renames_is_the_same_table(tmp_path: Path) -> None:
    """A table is followed by its UUID: now, between two files, and while a file runs."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT)")
    scene.client.rename_table("a.t", "a.u")
    assert scene.blamed() == {"a": "1", "lake.a.u": "not from a migration"}
    scene.run("ALTER TABLE lake.a.u ADD COLUMN b INT")
    assert scene.blamed("lake.a.u") == {"a": "1", "b": "2", "lake.a.u": "not from a migration, first observed by 2"}
    acts = {(1, True): lambda client: client.rename_table("a.u", "a.v")}
    assert scene.run("ALTER TABLE lake.a.u ADD COLUMN c INT", acts=acts) == (
        "lake.a.v: ~ table: lake.a.u -> lake.a.v: during 3, not by it",
    )
    assert scene.blamed("lake.a.v") == {"a": "1", "b": "2", "c": "3", "lake.a.v": "during 3, not by it"}


def test_a_table_that_another_client_makes_anew_is_not_before_the_first_record(tmp_path: Path) -> None:
    """The files have recorded a table of that name before."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT)")
    scene.client.drop_table("a.t")
    scene.client.create_table("a.t", Schema(NestedField(1, "a", LongType())))
    scene.run(f"{T} ADD COLUMN b INT")
    outside = "not from a migration, first observed by 2"
    assert scene.blamed() == {"a": outside, "b": "2", "lake.a.t": outside}


def test_a_table_that_takes_over_a_name_and_loses_it_while_a_file_runs_is_followed(tmp_path: Path) -> None:
    """The record of one file shows that both tables lost the name."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT)")
    scene.client.drop_table("a.t")
    scene.client.create_table("a.t", Schema(NestedField(1, "b", LongType())))
    scene.run(f"{T} ADD COLUMN c INT", acts={(1, True): lambda client: client.rename_table("a.t", "a.u")})
    assert scene.blamed() == {
        "b": "not from a migration, first observed by 2", "c": "2", "lake.a.u": "during 2, not by it",
    }  # fmt: skip


def test_a_statement_that_a_person_completes_is_its_versions_with_the_reason(tmp_path: Path) -> None:
    """What else the person changed is not recorded."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT)")

    def refuse(_: SqlCatalog) -> None:
        raise StatementRefused("REFUSED", "the test refuses it")

    with pytest.raises(MigrationFailed):
        scene.run(f"{T} ADD COLUMN b INT", f"{T} ADD COLUMN c INT", acts={(2, False): refuse})
    added("c")(scene.client)
    added("d")(scene.client)
    with scene.running() as project:
        project.repair(["2"], as_="done", reason="added by hand")
        [result] = project.blame("lake.a.t.c")
    assert [line.since.why for line in result.lines_] == ["A test's change; recorded as done: added by hand"]
    assert scene.blamed() == {
        "a": "1", "b": "2", "c": "2", "d": "not recorded, first observed by 2", "lake.a.t": "1",
    }  # fmt: skip


def test_two_tables_that_had_one_name_are_kept_apart(tmp_path: Path) -> None:
    """`history` follows the one that has the name now; `schema --diff` says where the other one is."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT, b INT)")
    scene.run(f"{T} RENAME TO u")
    scene.run("CREATE TABLE lake.a.t (a INT)")
    added("hand", "a.u")(scene.client)
    with scene.running() as project:
        [of_t], [of_u] = (project.history(table=name) for name in ("lake.a.t", "lake.a.u"))
        [column] = project.history(table="lake.a.t", column="a")
        [byhand] = project.history(table="lake.a.u", column="hand")
        [schema] = project.schema("lake.a.t", diff="1..3")
    assert [outcome.version for outcome in of_t.outcomes] == ["3"]
    assert [outcome.version for outcome in of_u.outcomes] == ["1", "2"]
    assert [change.version for change in column.changes or ()] == ["3"]
    assert [(change.version, change.outside) for change in byhand.changes or ()] == [(None, True)]
    [replaced, dropped] = schema.differences or ()
    assert (replaced.before, replaced.destructive, dropped.line()) == (
        "another table, lake.a.u then", False, "- column b: int",
    )  # fmt: skip


def test_a_short_name_that_a_file_gives_and_takes_away_is_no_table_of_another_namespace(tmp_path: Path) -> None:
    """The name has no table afterwards; that of the other namespace is not dropped."""
    scene = Scene(tmp_path)
    scene.client.create_namespace("b")
    scene.run("CREATE TABLE lake.a.u (a INT)")
    scene.run("CREATE TABLE lake.b.t (a INT)", "ALTER TABLE lake.b.t RENAME TO u", "ALTER TABLE lake.b.u RENAME TO b.v")
    added("hand", "a.u")(scene.client)
    with scene.running() as project:
        [drift] = project.drift()
        [history] = project.history(table="lake.a.u")
    assert [(drift.table, drift.what) for drift in drift.drifts] == [("lake.a.u", "column hand")]
    assert [outcome.version for outcome in history.outcomes] == ["1"]


def test_the_file_that_publishes_a_table_by_its_name_is_in_the_history_of_both(tmp_path: Path) -> None:
    """One table loses the name in the file, another gets it. The history of a name has the tables that were dropped under it."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.old (x INT)")
    scene.run("CREATE TABLE lake.a.t (a INT)")
    added("hand")(scene.client)
    scene.run(
        "DROP TABLE lake.a.old",
        "CREATE TABLE lake.a.new (b INT)",
        f"{T} RENAME TO old",
        "ALTER TABLE lake.a.new RENAME TO t",
    )
    with scene.running() as project:
        [of_t], [of_old] = (project.history(table=name) for name in ("lake.a.t", "lake.a.old"))
    assert [outcome.version for outcome in of_t.outcomes] == ["3"]
    assert [outcome.version for outcome in of_old.outcomes] == ["1", "2", "3"]


def test_a_new_table_that_another_client_renames_before_the_file_ends_is_the_files(tmp_path: Path) -> None:
    """The name of its first metadata file names the statement that created the table."""
    scene = Scene(tmp_path)
    acts = {(2, True): lambda client: client.rename_table("a.t", "a.u")}
    scene.run("CREATE TABLE lake.a.t (a INT)", f"{T} ADD COLUMN b INT", acts=acts)
    assert scene.blamed("lake.a.u") == {"a": "1", "b": "1", "lake.a.u": "during 1, not by it"}


def test_a_new_table_is_not_one_that_another_client_drops_while_the_file_runs(tmp_path: Path) -> None:
    """Statements of one file have created both."""
    scene = Scene(tmp_path)
    acts = {(2, True): lambda client: client.drop_table("a.u")}
    scene.run("CREATE TABLE lake.a.t (a INT)", "CREATE TABLE lake.a.u (a INT)", acts=acts)
    assert scene.blamed() == {"a": "1", "lake.a.t": "1"}


def test_a_new_table_that_another_client_makes_anew_while_the_file_runs_is_not_the_files(tmp_path: Path) -> None:
    """The later statements of the file make the same of it as they would have made of the table that the file created."""
    scene = Scene(tmp_path)

    def make_anew(client: SqlCatalog) -> None:
        client.drop_table("a.t")
        client.create_table("a.t", Schema(NestedField(1, "a", IntegerType())))

    acts = {(1, True): make_anew}
    scene.run("CREATE TABLE lake.a.t (a INT)", f"{T} ADD COLUMN b INT", acts=acts)
    during = "during 1, not by it"
    assert scene.blamed() == {"a": during, "b": "1", "lake.a.t": during}
    scene.client.rename_table("a.t", "a.u")
    scene.run("CREATE TABLE lake.a.t (a INT)", f"{T} RENAME TO a.v", acts=acts)
    assert scene.blamed("lake.a.v") == {"a": "during 2, not by it", "lake.a.v": "2"}


def test_a_property_of_a_new_table_is_another_clients_where_a_statement_has_changed_nothing(tmp_path: Path) -> None:
    """With `USE` no name of a metadata file proves who wrote it. A catalog may set properties, but only in the first commit."""
    scene = Scene(tmp_path)

    def set_property(client: SqlCatalog) -> None:
        client.load_table("a.t").transaction().set_properties(k="1").commit_transaction()

    statements = ("USE lake.a", "CREATE TABLE lake.a.t (a INT, b INT)", "ALTER TABLE t ALTER COLUMN b AFTER a")
    assert scene.run(*statements, acts={(3, True): set_property}) == ("lake.a.t: + property k: 1: during 1, not by it",)
    assert scene.blamed() == {"a": "1", "b": "1", "k": "during 1, not by it", "lake.a.t": "1"}


def test_a_table_that_another_client_makes_just_before_a_file_renames_it_has_its_name_by_the_file(
    tmp_path: Path,
) -> None:
    """A rename is no commit; the table is where a catalog puts one with the former name."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT)")

    def make_anew(client: SqlCatalog) -> None:
        client.drop_table("a.t")
        client.create_table("a.t", Schema(NestedField(1, "b", IntegerType())))

    scene.run(f"{T} ADD COLUMN c INT", f"{T} RENAME TO a.u", acts={(2, False): make_anew})
    assert scene.blamed("lake.a.u") == {"b": "during 2, not by it", "lake.a.u": "2"}
    acts = {(1, True): make_anew}
    scene.run("ALTER TABLE lake.a.u RENAME TO a.t", acts=acts)
    assert scene.blamed() == {"b": "during 3, not by it", "lake.a.t": "during 3, not by it"}
    scene.client.rename_table("a.t", "a.v")
    scene.run("CREATE TABLE lake.a.t (a INT)")
    scene.run("CREATE OR REPLACE TABLE lake.a.t (c INT)", f"{T} RENAME TO a.w", acts={(1, False): make_anew})
    assert scene.blamed("lake.a.w") == {"c": "5", "lake.a.w": "5"}


def test_a_table_that_a_file_replaces_and_another_client_renames_is_the_same_table(tmp_path: Path) -> None:
    """REPLACE keeps a table of Iceberg."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT)")
    acts = {(1, True): lambda client: client.rename_table("a.t", "a.u")}
    scene.run("CREATE OR REPLACE TABLE lake.a.t (a INT, b INT)", acts=acts)
    assert scene.blamed("lake.a.u") == {"a": "1", "b": "2", "lake.a.u": "during 2, not by it"}


def test_a_table_that_loses_its_name_to_a_new_one_while_the_file_runs_is_not_dropped(tmp_path: Path) -> None:
    """Another client has renamed it before the statement that would replace it, and after one that changed it."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT)")
    acts = {(1, False): added("hand"), (2, False): lambda client: client.rename_table("a.t", "a.u")}
    scene.run(f"{T} ADD COLUMN b INT", "CREATE OR REPLACE TABLE lake.a.t (b INT)", acts=acts)
    during = "during 2, not by it"
    assert scene.blamed() == {"b": "2", "lake.a.t": "2"}
    assert scene.blamed("lake.a.u") == {"a": "1", "hand": during, "b": "2", "lake.a.u": during}


def test_a_partition_field_on_a_column_that_no_file_adds_is_its_files(tmp_path: Path) -> None:
    """The column was there before the file."""
    scene = Scene(tmp_path)
    scene.client.create_table("a.t", Schema(NestedField(1, "a", IntegerType()), NestedField(2, "hand", IntegerType())))
    with scene.client.load_table("a.t").update_spec() as update:
        update.add_field("hand", BucketTransform(4), "by_hand")
    scene.project.file("1_create.sql", "CREATE TABLE lake.a.t (a INT)")
    scene.project.file("2_partition.sql", f"{T} ADD PARTITION FIELD bucket(4, hand) AS by_hand")
    with scene.running() as project:
        project.baseline("2", reason="they are there", accept=["*"])
    assert scene.blamed() == {"a": "1", "hand": "found at baseline of 2", "by_hand": "2", "lake.a.t": "1"}


def test_a_column_that_a_baselined_file_drops_is_not_one_of_the_same_name_that_a_later_one_adds(tmp_path: Path) -> None:
    """The first file sorts by it."""
    scene = Scene(tmp_path)
    columns = Schema(NestedField(1, "a", IntegerType()), NestedField(3, "b", LongType()))
    scene.client.create_table("a.t", columns)
    scene.project.file("1_create.sql", f"CREATE TABLE lake.a.t (a INT, b INT); {T} WRITE ORDERED BY b")
    scene.project.file("2_again.sql", f"{T} WRITE UNORDERED; {T} DROP COLUMN b; {T} ADD COLUMN b BIGINT")
    with scene.running() as project:
        project.baseline("2", reason="they are there", accept=["*"])
    assert scene.blamed() == {"a": "1", "b": "2", "lake.a.t": "1"}


@pytest.mark.parametrize("more", [(), ("CREATE TABLE lake.a.t (b INT)",)])
def test_a_table_that_a_file_renames_and_then_another_client_is_known_by_all_its_names(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    """No snapshot shows the name that the file gave it."""
    scene = Scene(tmp_path)
    scene.run("CREATE TABLE lake.a.t (a INT)")
    acts = {(1, False): added("hand"), (1 + len(more), True): lambda client: client.rename_table("a.u", "a.v")}
    scene.run(f"{T} RENAME TO a.u", *more, acts=acts)
    during = "during 2, not by it"
    for name in ("lake.a.u", "lake.a.v"):
        assert scene.blamed(name) == {"a": "1", "hand": during, "lake.a.v": during}
    scene.client.rename_table("a.v", "a.u")
    assert scene.blamed("lake.a.u") == {"a": "1", "hand": during, "lake.a.u": "not from a migration"}


def test_a_baseline_records_a_table_once_however_its_files_spell_the_name(tmp_path: Path) -> None:
    """Each part is that of the last file that makes it."""
    scene = Scene(tmp_path)
    scene.client.create_table("a.t", Schema(NestedField(1, "a", IntegerType())), properties={"k": "1", "l": "2"})
    scene.project.file("1_create.sql", "CREATE TABLE lake.a.u (a INT); ALTER TABLE lake.a.u RENAME TO a.t")
    scene.project.file("2_set.sql", f"{T} SET TBLPROPERTIES ('k' = '1')")
    with scene.running() as project:
        project.baseline("2", reason="they are there", accept=["*"])
    assert scene.blamed() == {"a": "1", "k": "2", "l": "found at baseline of 2", "lake.a.t": "1"}
    with scene.running() as project:
        for name in ("lake.a.t", "a.t"):
            [result] = project.history(table=name)
            assert [outcome.version for outcome in result.outcomes] == ["1", "2"]
    scene._number = 2
    assert scene.run(
        f"{T} RENAME TO a.u", "ALTER TABLE lake.a.u ADD COLUMN b INT", acts={(2, True): added("c", "a.u")}
    ) == ("lake.a.t: + column c: int: during 3, not by it",)
