"""The claims of the rules of `lint`, on the engine: the bad example of a rule does what its `why` says.

Delta's claims are in a process of their own, because its Spark has other jars.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from glacierbase.capabilities.load.advise import advise
from glacierbase.capabilities.load.rates import Load
from glacierbase.capabilities.load.remedies import AdvisedTable
from glacierbase.capabilities.review.catalogue import all_rules
from glacierbase.capabilities.review.rule import Proof
from glacierbase.layout.providers import AWS
from glacierbase.migrations.statements import split_statements
from glacierbase.model.shape import PartitionField
from tests.support import delta_claims
from tests.support.beds import LakeBed
from tests.support.project_folder import REPOSITORY
from tests.support.rules import findings

RULES = {rule.code: rule for rule in all_rules()}
TABLE = (
    "CREATE TABLE lake.{}.t (id BIGINT NOT NULL, small INT, name STRING, legacy STRING, amount FLOAT, ts TIMESTAMP,"
    " point STRUCT<x: INT, y: INT>) USING iceberg"
)
ROW = "({0}, {0}, 'name {0}', 'old', 1.5, TIMESTAMP '2026-01-0{0} 00:00:00', named_struct('x', 1, 'y', 2))"


class Refused(Exception):
    """The engine rejected a statement."""


@dataclass
class Lab:
    """A namespace with the tables `t` and `source`, which are equal, in which the examples of rules run."""

    spark: Any
    namespace: str

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run one statement on the tables of this namespace, where the examples have `a`."""
        text = re.sub(r"(?<![\w.])(lake\.|TO |')a\.", rf"\g<1>{self.namespace}.", text)
        try:
            return [tuple(row) for row in self.spark.sql(text).collect()]
        except Exception as error:
            raise Refused(str(error)) from error

    def bad(self, code: str) -> None:
        """Run the bad example of a rule."""
        for statement in split_statements(RULES[code].bad, "spark"):
            self.sql(statement.text)

    def column(self, name: str) -> list[Any]:
        return [value for (value,) in self.sql(f"SELECT {name} FROM lake.a.t ORDER BY 1")]


@pytest.fixture
def lab(lake: LakeBed) -> Lab:
    """Two rows in each of the two tables."""
    lab = Lab(lake.spark.newSession(), f"n{uuid.uuid4().hex[:8]}")
    lab.sql(f"CREATE NAMESPACE lake.{lab.namespace}")
    lab.sql(TABLE.format(lab.namespace))
    lab.sql(f"INSERT INTO lake.a.t VALUES {ROW.format(1)}, {ROW.format(2)}")
    return lab


def _refuses(code: str) -> Callable[[Lab], None]:
    def claim(lab: Lab) -> None:
        with pytest.raises(Refused):
            lab.bad(code)

    return claim


def _unreadable_after(code: str, *queries: str) -> Callable[[Lab], None]:
    def claim(lab: Lab) -> None:
        for query in queries:
            lab.sql(query)
        lab.bad(code)
        for query in queries:
            with pytest.raises(Refused):
                lab.sql(query)

    return claim


def _no_rows_after(code: str) -> Callable[[Lab], None]:
    def claim(lab: Lab) -> None:
        assert lab.column("id") == [1, 2]
        lab.bad(code)
        assert lab.column("id") == []

    return claim


def replaced_columns(lab: Lab) -> None:
    """All values are NULL, also those of the columns that stay."""
    lab.sql("ALTER TABLE lake.a.t ALTER COLUMN id DROP NOT NULL")
    lab.bad("DS104")
    assert lab.sql("SELECT id, name FROM lake.a.t") == [(None, None)] * 2


def readded_column(lab: Lab) -> None:
    """The column that is added again has none of the values."""
    assert lab.column("amount") == [1.5, 1.5]
    lab.bad("DS105")
    assert lab.column("amount") == [None, None]


def purged_table(lab: Lab) -> None:
    """No file of the table remains."""
    from pathlib import Path

    [(file,)] = lab.sql("SELECT file_path FROM lake.a.t.files LIMIT 1")
    path = Path(file.removeprefix("file:"))
    assert path.exists()
    lab.bad("DS102")
    assert not path.exists()


def discarded_commit(lab: Lab) -> None:
    """The rows of the later commit are no longer seen."""
    [(snapshot,)] = lab.sql("SELECT snapshot_id FROM lake.a.t.snapshots")
    lab.sql(f"INSERT INTO lake.a.t VALUES {ROW.format(3)}")
    assert lab.column("id") == [1, 2, 3]
    lab.sql(RULES["DS109"].bad.replace("5781947118336215154", str(snapshot)))
    assert lab.column("id") == [1, 2]


def added_column(lab: Lab) -> None:
    """The INSERT without columns and the MERGE that worked before fail; an INSERT that lists its columns works."""
    lab.sql("CREATE TABLE lake.a.source USING iceberg AS SELECT * FROM lake.a.t")
    insert = f"INSERT INTO lake.a.t VALUES {ROW.format(3)}"
    match = "MERGE INTO lake.a.t USING lake.a.source AS s ON t.id = s.id WHEN"
    jobs = (insert, f"{match} MATCHED THEN UPDATE SET *", f"{match} NOT MATCHED THEN INSERT *")
    for job in jobs:
        lab.sql(job.replace("USING", "AS t USING"))
    lab.bad("BC104")
    for job in jobs:
        with pytest.raises(Refused, match=r"(?i)column"):
            lab.sql(job.replace("USING", "AS t USING"))
    lab.sql("INSERT INTO lake.a.t (id) VALUES (4)")


def view_of_a_renamed_column(lab: Lab) -> None:
    """The rename succeeds, and the view fails."""
    lab.bad("BC106")
    with pytest.raises(Refused, match=r"(?i)view|name"):
        lab.sql("SELECT title FROM lake.a.v")


def reordered_columns(lab: Lab) -> None:
    """An INSERT without columns writes `name` where `legacy` was."""
    lab.sql("ALTER TABLE lake.a.t ALTER COLUMN name AFTER legacy")
    lab.sql(f"INSERT INTO lake.a.t VALUES {ROW.format(3)}")
    assert lab.sql("SELECT name, legacy FROM lake.a.t WHERE id = 3") == [("old", "name 3")]
    lab.bad("BC105")
    assert lab.spark.table(f"lake.{lab.namespace}.t").columns[0] == "name"


def old_partitioning(lab: Lab) -> None:
    """The files that exist keep their partition spec."""
    lab.bad("PA101")
    lab.sql(f"INSERT INTO lake.a.t VALUES {ROW.format(3)}")
    specs = "SELECT spec_id FROM lake.a.t.files"
    assert {spec for (spec,) in lab.sql(specs)} == {0, 1}
    call = "CALL lake.system.rewrite_data_files(table => 'a.t'"
    lab.sql(f"{call})")
    assert {spec for (spec,) in lab.sql(specs)} == {0, 1}
    lab.sql(f"{call}, options => map('rewrite-all', 'true'))")
    assert {spec for (spec,) in lab.sql(specs)} == {1}


def dynamic_overwrite(lab: Lab) -> None:
    """The row that an overwrite of its day replaced before stays beside the new one."""
    lab.sql("ALTER TABLE lake.a.t ADD PARTITION FIELD days(ts)")
    lab.sql("DELETE FROM lake.a.t WHERE true")
    lab.sql(f"INSERT INTO lake.a.t VALUES {ROW.format(1)}")
    lab.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    overwrite = f"INSERT OVERWRITE lake.a.t VALUES {ROW.format(1)}"
    lab.sql(overwrite)
    assert lab.column("id") == [1]
    lab.bad("PA102")
    lab.sql(overwrite)
    assert lab.column("id") == [1, 1]


def refused_at_the_end(code: str) -> Callable[[Lab], None]:
    """The statements before the last one succeed, and the last one is refused."""

    def claim(lab: Lab) -> None:
        *before, last = split_statements(RULES[code].bad, "spark")
        for statement in before:
            lab.sql(statement.text)
        with pytest.raises(Refused):
            lab.sql(last.text)

    return claim


def lost_metadata_tables(lab: Lab) -> None:
    """The table can be queried, its list of files cannot."""
    create, *rest = split_statements(RULES["PA103"].bad, "spark")
    lab.sql(create.text)
    lab.sql("INSERT INTO lake.a.t2 SELECT id, name, ts FROM lake.a.t")
    for table in ("files", "entries"):
        assert len(lab.sql(f"SELECT * FROM lake.a.t2.{table}")) == 2
    for statement in rest:
        lab.sql(statement.text)
    assert len(lab.sql("SELECT * FROM lake.a.t2")) == 2
    for table in ("files", "entries"):
        with pytest.raises(Refused):
            lab.sql(f"SELECT * FROM lake.a.t2.{table}")


def two_buckets(lab: Lab) -> None:
    """More files than either of the buckets alone has."""
    lab.bad("PA104")
    lab.sql("INSERT INTO lake.a.t2 SELECT id FROM range(100)")
    assert lab.sql("SELECT count(*) FROM lake.a.t2.files") == [(12,)]


def no_metrics(lab: Lab) -> None:
    """The files have bounds of the first columns only."""
    for sql, columns in ((RULES["PR104"].bad, {1, 2}), (RULES["PR104"].good, {1, 2, 3})):
        lab.sql(sql)
        lab.sql("INSERT INTO lake.a.t2 VALUES (1, 2, 3)")
        [(bounds,)] = lab.sql("SELECT lower_bounds FROM lake.a.t2.files")
        assert bounds.keys() == columns
        lab.sql("DROP TABLE lake.a.t2")


def file_per_value(lab: Lab) -> None:
    """Each value has a file."""
    lab.bad("PA106")
    lab.sql("INSERT INTO lake.a.t2 SELECT id, ts FROM lake.a.t")
    assert lab.sql("SELECT count(*) FROM lake.a.t2.files") == [(2,)]


def unknown_property(lab: Lab) -> None:
    """The unknown property is stored, and commits retry as before."""
    lab.bad("PR101")
    properties = dict(lab.sql("SHOW TBLPROPERTIES lake.a.t"))
    assert properties["commit.retry.num-retires"] == "10"
    assert "commit.retry.num-retries" not in properties


def bad_value(lab: Lab) -> None:
    """The ALTER succeeds; every commit after it fails, also the one that would undo it."""
    lab.bad("PR102")
    for commit in (
        "INSERT INTO lake.a.t (id) VALUES (3)",
        "ALTER TABLE lake.a.t UNSET TBLPROPERTIES ('commit.retry.num-retries')",
    ):
        with pytest.raises(Refused, match="ten"):
            lab.sql(commit)


BAD_VALUES = [
    ("write.distribution-mode", "hashed", "INSERT INTO lake.a.t (id) VALUES (3)"),
    ("write.format.default", "csv", "INSERT INTO lake.a.t (id) VALUES (3)"),
    ("write.target-file-size-bytes", "512MB", "INSERT INTO lake.a.t (id) VALUES (3)"),
    ("write.delete.isolation-level", "snapshots", "DELETE FROM lake.a.t WHERE id = 1 AND name LIKE 'n%'"),
    ("write.parquet.compression-codec", "zsdt", "INSERT INTO lake.a.t (id) VALUES (3)"),
    ("write.parquet.compression-codec", "none", "INSERT INTO lake.a.t (id) VALUES (3)"),
    ("write.delete.mode", "merge", "DELETE FROM lake.a.t WHERE id = 1 AND name LIKE 'n%'"),
    ("read.split.target-size", "big", "SELECT name FROM lake.a.t"),
    # KL104: the writers refuse the former path, whatever the value.
    ("write.folder-storage.path", "file:/tmp/other", "INSERT INTO lake.a.t (id) VALUES (3)"),
]


def one_number_of_three_ids(lab: Lab) -> None:
    """The reversed ids 1, 01 and 001 are one number."""
    lab.bad("KL105")
    reverse = "CAST(reverse(CAST(id AS STRING)) AS BIGINT)"
    lab.sql(f"INSERT INTO lake.a.t2 SELECT id, {reverse} FROM VALUES (1), (10), (100) AS s (id)")
    assert lab.sql("SELECT DISTINCT id_reversed FROM lake.a.t2") == [(1,)]


def version_upgrade(lab: Lab) -> None:
    """The version cannot be lowered again."""
    lab.bad("PR108")
    with pytest.raises(Refused, match=r"(?i)downgrade"):
        lab.sql("ALTER TABLE lake.a.t SET TBLPROPERTIES ('format-version'='2')")


def no_expiry(lab: Lab) -> None:
    """Expiring snapshots is refused."""
    lab.bad("PR111")
    with pytest.raises(Refused, match=r"(?i)gc"):
        lab.sql(RULES["MT101"].bad)


def expired_snapshot(lab: Lab) -> None:
    """The table as it was cannot be queried any more."""
    [(snapshot,)] = lab.sql("SELECT snapshot_id FROM lake.a.t.snapshots")
    lab.sql(f"INSERT INTO lake.a.t VALUES {ROW.format(3)}")
    before = f"SELECT count(*) FROM lake.a.t VERSION AS OF {snapshot}"
    assert lab.sql(before) == [(2,)]
    lab.sql(RULES["MT101"].bad.replace("2026-01-01", "2030-01-01"))
    with pytest.raises(Refused):
        lab.sql(before)


def no_former_state(lab: Lab) -> None:
    """No state before the last statement can be queried."""
    [(snapshot,)] = lab.sql("SELECT snapshot_id FROM lake.a.t.snapshots")
    lab.sql(f"INSERT INTO lake.a.t VALUES {ROW.format(3)}")
    lab.bad("MT108")
    with pytest.raises(Refused):
        lab.sql(f"SELECT count(*) FROM lake.a.t VERSION AS OF {snapshot}")


def changed_rows(lab: Lab) -> None:
    """No row keeps its name."""
    lab.bad("DS110")
    assert lab.column("name") == ["unknown"] * 2


def _doubles(code: str) -> Callable[[Lab], None]:
    def claim(lab: Lab) -> None:
        lab.sql("CREATE TABLE lake.a.source USING iceberg AS SELECT * FROM lake.a.t")
        lab.bad(code)
        assert lab.column("id") == [1, 1, 2, 2]

    return claim


def merged_by_source(lab: Lab) -> None:
    """A row that the source lacks is gone."""
    lab.sql("CREATE TABLE lake.a.source USING iceberg AS SELECT * FROM lake.a.t WHERE id = 1")
    lab.bad("DS112")
    assert lab.column("id") == [1]


def two_places(lab: Lab) -> None:
    """The files of the table stay where they were."""
    before = lab.sql("SELECT file_path FROM lake.a.t.files")
    place = before[0][0].rpartition("/data/")[0]
    lab.sql(RULES["DS118"].bad.replace("s3://bucket/new", f"{place}_new"))
    assert lab.column("id") == [1, 2]
    assert lab.sql("SELECT file_path FROM lake.a.t.files") == before


def wrong_columns(lab: Lab) -> None:
    """The column `name` has the values of `legacy`."""
    lab.bad("DS122")
    assert lab.sql("SELECT DISTINCT name FROM lake.a.v") == [("old",)]


def recursive_view(lab: Lab) -> None:
    """The view that exists is not replaced."""
    lab.sql("CREATE VIEW lake.a.v AS SELECT id FROM lake.a.t")
    with pytest.raises(Refused):
        lab.bad("DS123")


def dropped_view(lab: Lab) -> None:
    """A query on the view fails."""
    lab.sql("CREATE VIEW lake.a.v AS SELECT id FROM lake.a.t")
    _unreadable_after("DS116", "SELECT id FROM lake.a.v")(lab)


def narrower_view(lab: Lab) -> None:
    """A query of the column fails."""
    lab.bad("DS117")
    with pytest.raises(Refused):
        lab.sql("SELECT name FROM lake.a.v")


def files_written_again(lab: Lab) -> None:
    """All rows are kept, and no file is."""
    before = lab.sql("SELECT file_path FROM lake.a.t.files")
    lab.bad("MT106")
    assert lab.column("id") == [1, 2]
    assert not set(lab.sql("SELECT file_path FROM lake.a.t.files")).intersection(before)


def no_row_changed(lab: Lab) -> None:
    """The row without a name is still there."""
    lab.sql("UPDATE lake.a.t SET name = NULL WHERE id = 1")
    lab.bad("MT113")
    assert lab.column("id") == [1, 2]


def branch_not_published(lab: Lab) -> None:
    """The branch with new commits does not move to main, nor main to the branch."""
    lab.sql("ALTER TABLE lake.a.t CREATE BRANCH audit")
    lab.sql("DELETE FROM lake.a.t.branch_audit WHERE id = 1")
    with pytest.raises(Refused):
        lab.bad("MT115")
    assert lab.column("id") == [1, 2]


def kept_schema(lab: Lab) -> None:
    """The statement succeeds, and the table keeps its columns."""
    lab.bad("FL112")
    assert lab.spark.table(f"lake.{lab.namespace}.t2").columns == ["id"]


def another_table(lab: Lab) -> None:
    """The same name is another table in a session with another default."""
    lab.sql(f"USE lake.{lab.namespace}")
    lab.bad("FL110")
    lab.sql("USE spark_catalog.default")
    with pytest.raises(Refused):
        lab.bad("FL110")


def no_delete_files(lab: Lab) -> None:
    """A table of version 1 that must write a delete file refuses the UPDATE."""
    lab.bad("PR113")
    lab.sql("INSERT INTO lake.a.t2 SELECT id, name, ts FROM lake.a.t")
    with pytest.raises(Refused, match="V2"):
        lab.sql("UPDATE lake.a.t2 SET name = 'new' WHERE id = 1")


def file_per_task(lab: Lab) -> None:
    """Each task writes a file in the partition; with the default, one does."""
    for sql, count in ((RULES["PR114"].bad, 8), (RULES["PR114"].good, 1)):
        lab.sql(sql)
        lab.sql("INSERT INTO lake.a.t2 SELECT /*+ REPARTITION(8) */ id, 'a', TIMESTAMP '2026-01-01' FROM range(200)")
        assert lab.sql("SELECT count(*) FROM lake.a.t2.files") == [(count,)]
        lab.sql("DROP TABLE lake.a.t2")


def no_bounds(lab: Lab) -> None:
    """The files that are written afterwards have no bounds."""
    lab.bad("PR115")
    lab.sql(f"INSERT INTO lake.a.t VALUES {ROW.format(3)}")
    assert {} in [bounds for (bounds,) in lab.sql("SELECT lower_bounds FROM lake.a.t.files")]


def unreadable_table(lab: Lab) -> None:
    """The table is created, and a query of all its columns fails."""
    lab.bad("TY113")
    with pytest.raises(Refused, match="reserved"):
        lab.sql("SELECT * FROM lake.a.t2")


CLAIMS: dict[str, Callable[[Lab], None]] = {
    "FL110": another_table,
    "FL111": _refuses("FL111"),
    "FL112": kept_schema,
    "FL118": _refuses("FL118"),
    "FL119": _refuses("FL119"),
    "DS101": _unreadable_after("DS101", "SELECT * FROM lake.a.t"),
    "DS102": purged_table,
    "DS103": _unreadable_after("DS103", "SELECT legacy FROM lake.a.t"),
    "DS104": replaced_columns,
    "DS105": readded_column,
    "DS106": _no_rows_after("DS106"),
    "DS107": _no_rows_after("DS107"),
    "DS109": discarded_commit,
    "DS110": changed_rows,
    "DS111": _doubles("DS111"),
    "DS112": merged_by_source,
    "DS113": _doubles("DS113"),
    "DS114": _refuses("DS114"),
    "DS116": dropped_view,
    "DS117": narrower_view,
    "DS118": two_places,
    "DS122": wrong_columns,
    "DS123": recursive_view,
    "BC101": _unreadable_after("BC101", "SELECT name FROM lake.a.t"),
    "BC102": _unreadable_after("BC102", "SELECT * FROM lake.a.t"),
    "BC103": _refuses("BC103"),
    "BC104": added_column,
    "BC105": reordered_columns,
    "BC106": view_of_a_renamed_column,
    "TY101": _refuses("TY101"),
    "TY102": refused_at_the_end("TY102"),
    "TY103": _refuses("TY103"),
    "TY104": _refuses("TY104"),
    "TY105": _refuses("TY105"),
    "TY106": refused_at_the_end("TY106"),
    "TY107": _refuses("TY107"),
    "TY108": refused_at_the_end("TY108"),
    "TY109": _refuses("TY109"),
    **{code: _refuses(code) for code in ("TY110", "TY111", "TY112")},
    "TY113": unreadable_table,
    "TY118": _refuses("TY118"),
    **{code: refused_at_the_end(code) for code in ("TY114", "TY115", "TY116", "TY117", "TY121")},
    "PA101": old_partitioning,
    "PA102": dynamic_overwrite,
    "PA103": lost_metadata_tables,
    "PA104": two_buckets,
    "PA106": file_per_value,
    "PA107": _refuses("PA107"),
    "PA109": refused_at_the_end("PA109"),
    "PR101": unknown_property,
    "PR102": bad_value,
    "PR104": no_metrics,
    "PR108": version_upgrade,
    "PR111": no_expiry,
    "PR113": no_delete_files,
    "PR114": file_per_task,
    "PR115": no_bounds,
    "PR123": _refuses("PR123"),
    "KL105": one_number_of_three_ids,
    "MT101": expired_snapshot,
    "MT106": files_written_again,
    "MT108": no_former_state,
    "MT113": no_row_changed,
    "MT115": branch_not_published,
}


def test_every_rule_whose_claim_is_run_has_a_claim_here() -> None:
    """`proof` of a rule says `run` exactly where this module runs it."""
    assert {*CLAIMS, *delta_claims.ONLY} == {code for code, rule in RULES.items() if rule.proof is Proof.RUN}


@pytest.mark.parametrize("code", CLAIMS)
def test_the_claim_of_a_rule_is_true_on_spark_with_iceberg(code: str, lab: Lab) -> None:
    """The bad example does what the rule says."""
    CLAIMS[code](lab)


@pytest.mark.parametrize(("key", "value", "statement"), BAD_VALUES, ids=[key for key, _, _ in BAD_VALUES])
def test_a_value_that_the_rule_objects_to_is_stored_and_fails_later(
    key: str, value: str, statement: str, lab: Lab
) -> None:
    """The ALTER succeeds, and the statement that uses the property fails."""
    lab.sql(f"ALTER TABLE lake.a.t SET TBLPROPERTIES ('{key}'='{value}')")
    with pytest.raises(Refused):
        lab.sql(statement)


def test_the_known_properties_are_those_of_the_jar(lake: LakeBed) -> None:
    """`python -m tests.support.jar_properties` writes them anew for another version."""
    assert delta_claims.knows_the_jar_of(lake.spark, "org.apache.iceberg.TableProperties")


def test_the_advised_statements_begin_icebergs_keys_as_they_say(lab: Lab) -> None:
    """A bucket before the day, then a hash left of both; the distribution of writers changes nothing in the keys."""
    name = f"lake.{lab.namespace}.t"
    lab.sql("ALTER TABLE lake.a.t ADD PARTITION FIELD days(ts)")
    [(spec,)] = lab.sql("SELECT max(spec_id) FROM lake.a.t.files")
    day = (PartitionField(None, "ts_day", "ts", "day"),)
    for is_readable, key in (
        (True, "data/id_bucket_100="),
        (False, "data/[01]{4}/[01]{4}/[01]{4}/[01]{8}/id_bucket_100="),
    ):
        table = AdvisedTable(name=name, is_readable=is_readable, partitioning=day)
        advice = advise(Load(put_per_second=9000), AWS, table)
        for statement in (*advice.statements, *advice.alternatives[0].statements):
            lab.sql(statement)
        lab.sql(f"INSERT INTO lake.a.t VALUES {ROW.format(3)}")
        files = lab.sql(f"SELECT file_path FROM lake.a.t.files WHERE spec_id > {spec}")
        assert [path for (path,) in files if re.search(rf"/{key}\d+/ts_day=2026-01-03/[^/]+$", path)]


REFUSED_TYPES = ("int", "string", "float", "boolean", "date", "binary", "varchar(10)")


@pytest.mark.parametrize("name", REFUSED_TYPES)
def test_no_column_can_be_promoted_to_a_type_that_the_rule_refuses(name: str, lab: Lab) -> None:
    """TY101 objects to the target types that no other type becomes."""
    for column in ("id", "name", "amount", "ts"):
        if dict(lab.spark.table(f"lake.{lab.namespace}.t").dtypes)[column] != name:
            with pytest.raises(Refused):
                lab.sql(f"ALTER TABLE lake.a.t ALTER COLUMN {column} TYPE {name}")


TYPES = ("int", "float", "string", "timestamp", "date", "decimal(10,2)", "bigint", "smallint")
PROMOTED = ("bigint", "double", "decimal(12,2)", "decimal(12,3)", "decimal(8,2)", "timestamp", "timestamp_ntz")


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_promotion_is_refused_exactly_where_the_rule_refuses_it(version: str, lab: Lab) -> None:
    """TY102 and the engine agree on each pair of types, in both versions of the format."""
    pairs = [(old, new) for old in TYPES for new in PROMOTED]
    columns = ", ".join(f"c{number} {old}" for number, (old, _) in enumerate(pairs))
    create = f"CREATE TABLE lake.a.p ({columns}) USING iceberg TBLPROPERTIES ('format-version'='{version}')"
    alters = [f"ALTER TABLE lake.a.p ALTER COLUMN c{number} TYPE {new}" for number, (_, new) in enumerate(pairs)]
    found = {each.statement_index for each in findings("; ".join([create, *alters])) if each.code == "TY102"}
    lab.sql(create)
    for index, (pair, alter) in enumerate(zip(pairs, alters, strict=True), start=2):
        try:
            lab.sql(alter)
            is_refused = False
        except Refused:
            is_refused = True
        assert (index in found) == is_refused, pair


PARTITIONED = (
    "CREATE TABLE lake.a.r (id BIGINT NOT NULL, ts TIMESTAMP, s STRUCT<k: INT NOT NULL> NOT NULL, m MAP<STRUCT<a: INT>, INT>) "
    "USING iceberg PARTITIONED BY (days(ts))"
)
IDENTIFIED = "ALTER TABLE lake.a.r SET IDENTIFIER FIELDS s.k"
REFUSED = {
    "CREATE TABLE lake.a.n (ts TIMESTAMP) USING iceberg PARTITIONED BY (years(ts), days(ts))": "PA107",
    "CREATE TABLE lake.a.n (ts TIMESTAMP) USING iceberg PARTITIONED BY (nope)": "TY114",
    "CREATE TABLE lake.a.n (a INT) USING iceberg TBLPROPERTIES ('write.metadata.metrics.column.b' = 'full')": "TY114",
    "ALTER TABLE lake.a.r REPLACE COLUMNS (id BIGINT, ts TIMESTAMP)": "TY108",
    "ALTER TABLE lake.a.r RENAME COLUMN s TO u": "TY108",
    "ALTER TABLE lake.a.r DROP COLUMN s": "TY108",
    "ALTER TABLE lake.a.r DROP IDENTIFIER FIELDS id": "TY106",
    "ALTER TABLE lake.a.r ADD COLUMN m.key.b INT": "TY121",
    "ALTER TABLE lake.a.r DROP COLUMN m.value": "TY121",
    "ALTER TABLE lake.a.r ALTER COLUMN id AFTER id": "TY121",
    "ALTER TABLE lake.a.r SET TBLPROPERTIES ('write.parquet.bloom-filter-enabled.column.b' = 'true')": None,
}


def test_the_engine_refuses_the_changes_that_the_model_refuses(lab: Lab) -> None:
    """Each with its rule, and no other statement."""
    for statement in (PARTITIONED, IDENTIFIED):
        lab.sql(statement)
    for statement, code in REFUSED.items():
        found = {
            finding.code
            for finding in findings(f"{PARTITIONED};{IDENTIFIED};{statement}")
            if finding.statement_index == 3
        }
        assert {code} - {None} <= found, statement
        if code is None:
            lab.sql(statement)
        else:
            with pytest.raises(Refused):
                lab.sql(statement)


@pytest.mark.parametrize("code", [code for code in CLAIMS if code not in ("FL110", "DS101", "PR101")])
def test_the_good_example_of_a_rule_is_accepted(code: str, lab: Lab) -> None:
    """The engine runs what the rule proposes."""
    lab.sql("CREATE TABLE lake.a.source USING iceberg AS SELECT * FROM lake.a.t")
    for statement in split_statements(RULES[code].good, "spark"):
        lab.sql(statement.text.replace("MERGE INTO lake.a.t ", "MERGE INTO lake.a.t AS t "))


@pytest.mark.delta
def test_the_claims_about_delta_are_true() -> None:
    """Each bad example is run on a Delta table in a Spark of its own. The keys of Delta's files are compared there, too."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.delta_claims"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == dict.fromkeys(
        (*delta_claims.ONLY, *delta_claims.TOO, "advice", "keys", "properties"), True
    )
