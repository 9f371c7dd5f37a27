"""Direct statements through a gateway that sends each change twice: the first answer is lost, and the second one is a refusal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from glacierbase.executors.direct.ddl import CLAUSES, NAMESPACES, STATEMENTS
from glacierbase.executors.direct.executor import IcebergExecutor
from tests.engines.test_direct_lost import REST
from tests.support.checkingproxy import CheckingProxy, Fault, checking_proxy
from tests.support.program import ask_here
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.pythoncatalog import PythonCatalog

# What each kind of statement needs, and the statement.
T = "ALTER TABLE lake.a.t"
KINDS: Mapping[str, tuple[str, ...]] = {
    "set_properties": (f"{T} SET TBLPROPERTIES ('p' = '2')",),
    "unset_properties": (f"{T} UNSET TBLPROPERTIES ('p')",),
    "set_location": (f"{T} SET LOCATION 'file:///elsewhere/t'",),
    "comment_on": ("COMMENT ON TABLE lake.a.t IS 'new'",),
    "add_column": (f"{T} ADD COLUMNS (c INT, s.y INT)",),
    "drop_column": (f"{T} DROP COLUMN n",),
    "rename_column": (f"{T} RENAME COLUMN b TO c",),
    "replace_columns": (f"{T} DROP PARTITION FIELD b", f"{T} REPLACE COLUMNS (c INT)"),
    "alter_column_type": (f"{T} ALTER COLUMN n TYPE BIGINT",),
    "alter_column_nullability": (f"{T} ALTER COLUMN id DROP NOT NULL",),
    "alter_column_comment": (f"{T} ALTER COLUMN b COMMENT 'new'",),
    "alter_column_position": (f"{T} ALTER COLUMN b FIRST",),
    "set_identifier_fields": (f"{T} SET IDENTIFIER FIELDS id",),
    "drop_identifier_fields": (f"{T} SET IDENTIFIER FIELDS id", f"{T} DROP IDENTIFIER FIELDS id"),
    "add_partition_field": (f"{T} ADD PARTITION FIELD bucket(4, n)",),
    "drop_partition_field": (f"{T} DROP PARTITION FIELD b",),
    "replace_partition_field": (f"{T} REPLACE PARTITION FIELD b WITH truncate(2, b)",),
    "set_write_order": (f"{T} WRITE ORDERED BY id",),
    "set_distribution": (f"{T} WRITE DISTRIBUTED BY PARTITION",),
    "create_branch": (f"{T} CREATE BRANCH new",),
    "create_tag": (f"{T} CREATE TAG new",),
    "drop_branch": (f"{T} CREATE BRANCH old", f"{T} DROP BRANCH old"),
    "drop_tag": (f"{T} CREATE TAG old", f"{T} DROP TAG old"),
    "create_table": (
        "CREATE TABLE lake.a.u (id BIGINT, s STRUCT<x: INT>) USING iceberg PARTITIONED BY (bucket(4, id))",
    ),
    "drop_table": ("DROP TABLE lake.a.t",),
    "rename_table": (f"{T} RENAME TO a.u",),
    "replace_table": ("CREATE OR REPLACE TABLE lake.a.t (c INT) USING iceberg",),
    "create_namespace": ("CREATE NAMESPACE lake.b WITH PROPERTIES ('p' = '1')",),
    "alter_namespace": ("ALTER NAMESPACE lake.a SET PROPERTIES ('p' = '1')",),
    "drop_namespace": ("CREATE NAMESPACE lake.b", "DROP NAMESPACE lake.b"),
    "comment_on a namespace": ("COMMENT ON NAMESPACE lake.a IS 'new'",),
}
TABLE = (
    "CREATE TABLE lake.a.t (id BIGINT NOT NULL, n INT, b STRING, s STRUCT<x: INT>) USING iceberg PARTITIONED BY (b)"
    " TBLPROPERTIES ('p' = '1')"
)
# The names whose table or namespace is another one, or has other properties, afterwards; of all other kinds `t`.
CHANGED = {
    "create_table": "u", "drop_table": "t", "rename_table": "tu", "create_namespace": "b", "alter_namespace": "a",
    "drop_namespace": "b", "comment_on a namespace": "a",
}  # fmt: skip
# The changes of users' tables and namespaces.
CHANGE = r"(POST|DELETE) (?!.*/tokens)"


class Gateway:
    """A project without Spark on a REST server behind a gateway, with the table lake.a.t, which has a row."""

    def __init__(self, folder: Path, proxy: CheckingProxy, server: PythonCatalog) -> None:
        self.proxy, self._server = proxy, server
        self.project = ProjectFolder(folder / "project")
        # The requests to the server are those of statements alone.
        self.project.catalog(REST.replace("ADDRESS", proxy.address).replace("store: {", "store: {type: embedded, "))
        self.execute("CREATE NAMESPACE lake.a", TABLE)
        table = server.catalog.load_table(("a", "t"))
        table.append(pyarrow.Table.from_pylist([{"id": 1, "b": "x"}], schema=table.schema().as_arrow()))

    def execute(self, *statements: str) -> None:
        """Execute statements as another client."""
        with closing(IcebergExecutor(only_catalog(self.project.root))) as executor:
            for sql in statements:
                executor.open_session().execute(sql)

    def state(self) -> dict[str, Any]:
        """Return the namespaces with their properties, and the tables with what statements change."""
        catalog, state = self._server.catalog, dict[str, Any]()
        for (namespace,) in catalog.list_namespaces():
            state[namespace] = catalog.load_namespace_properties(namespace)
            for name in catalog.list_tables(namespace):
                metadata = catalog.load_table(name).metadata
                state[name[-1]] = (
                    str(metadata.schema()), sorted(metadata.schema().identifier_field_ids), str(metadata.spec()),
                    str(metadata.sort_order()), metadata.location if "elsewhere" in metadata.location else "",
                    metadata.properties, sorted(metadata.refs), len(metadata.metadata_log),
                )  # fmt: skip
        return state


def commits(state: dict[str, Any]) -> int:
    """Return the number of commits to the table `t` after its creation."""
    return int(state["t"][-1])


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    """A project behind a gateway that sends nothing twice yet."""
    server = PythonCatalog(tmp_path)
    with checking_proxy(server.answer) as proxy:
        yield Gateway(tmp_path, proxy, server)


def test_every_kind_of_direct_statement_is_sent_twice() -> None:
    """A new kind needs a case."""
    kinds = {kind.partition(" ")[0] for kind in KINDS}
    assert kinds == {*CLAUSES, *STATEMENTS, *NAMESPACES}


@pytest.mark.parametrize("status", [409, 404])
@pytest.mark.parametrize("kind", KINDS)
def test_a_change_that_a_gateway_sends_twice_has_not_failed(gateway: Gateway, kind: str, status: int) -> None:
    """The statement took effect once, and the run goes on; the second answer does not count."""
    *before, sql = KINDS[kind]
    gateway.execute(*before)
    gateway.project.file("0001_a.sql", sql)
    was = gateway.state()
    gateway.proxy.faults = [Fault(CHANGE, [status], is_after=True)]
    done = ask_here(gateway.project, "migrate")
    assert done.code == 0, done.stdout
    assert gateway.proxy.faults[0].statuses == []
    now = gateway.state()
    assert {name for name in {*was, *now} if was.get(name) != now.get(name)} == set(CHANGED.get(kind, "t"))
    if "t" in now:
        assert commits(now) == commits(was) + (kind not in CHANGED)


@pytest.mark.parametrize("status", [409, 404])
@pytest.mark.parametrize("kind", KINDS)
def test_a_change_that_a_server_refuses_has_failed(gateway: Gateway, kind: str, status: int) -> None:
    """Nothing took effect, and nothing is waited for."""
    *before, sql = KINDS[kind]
    gateway.execute(*before)
    gateway.project.file("0001_a.sql", sql)
    was = gateway.state()
    gateway.proxy.faults = [Fault(CHANGE, [status] * 5)]
    failed = ask_here(gateway.project, "migrate")
    assert (failed.code, failed.document["error"]["code"]) == (1, "STATEMENT_FAILED"), failed.stdout
    assert gateway.state() == was
