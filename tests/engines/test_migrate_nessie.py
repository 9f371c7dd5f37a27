"""Migrations on a real Nessie: Spark and PyIceberg through its Iceberg REST catalog, with files in an emulated S3."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.stores.iceberg import open_store
from tests.support.catalog_files import RUNTIME
from tests.support.nessie import KEY, SECRET, WAREHOUSE, nessie
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.spark_kills import migrate_killed

pytestmark = pytest.mark.spark

CATALOG = f"""\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: rest
      spark.sql.catalog.lake.uri: ADDRESS
      spark.sql.catalog.lake.warehouse: {WAREHOUSE}
      spark.sql.catalog.lake.s3.endpoint: ${{env:NESSIE_FILES}}
      spark.sql.catalog.lake.s3.access-key-id: {KEY}
      spark.sql.catalog.lake.s3.secret-access-key: ${{secret:NESSIE_SECRET}}
    dependencies: ["{RUNTIME}", "org.apache.iceberg:iceberg-aws-bundle:1.12.0"]
store: {{lockLease: 60s}}
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, nessie(tmp_path_factory.mktemp("nessie")) as (address, files):
        patch.setenv("NESSIE_SECRET", SECRET)
        patch.setenv("NESSIE_FILES", files)
        yield address


def test_eight_first_runs_create_one_row(address: str, project: ProjectFolder) -> None:
    """The server refuses the staged creation that PyIceberg sends, and compares the snapshots of a commit."""
    project.catalog(CATALOG.replace("ADDRESS", f"{address}/main").replace("store: {", "store: {namespace: raced, "))
    catalog = only_catalog(project.root)
    free = free_row(LockTerms("shop", "default", 60))

    def create(_: int) -> None:
        with closing(open_store(catalog)) as store:
            store.create(free)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(8)))
    with closing(open_store(catalog)) as store:
        assert store.lock_rows() == (free,)


def test_of_two_runs_one_migrates_and_a_third_starts_no_engine(address: str, project: ProjectFolder) -> None:
    """The second run waits for the lock, and finds nothing to do. No output has the secret."""
    project.catalog(CATALOG.replace("ADDRESS", address))
    create = "CREATE NAMESPACE lake.shop;\nCREATE TABLE lake.shop.t (a INT) USING iceberg;\n"
    project.file(
        "1_a.sql", f"{create}ALTER TABLE lake.shop.t ADD COLUMN b INT;\nINSERT INTO lake.shop.t VALUES (1, 1);"
    )
    both = [project.start("migrate", "--lock-timeout", "2m", "--format", "json") for _ in range(2)]
    outputs = [run.communicate(timeout=120) for run in both]
    assert [run.returncode for run in both] == [0, 0], [(stdout[-1500:], stderr[-1500:]) for stdout, stderr in outputs]
    applied = [json.loads(stdout)["catalogs"][0]["applied"] for stdout, _ in outputs]
    assert sorted(len(files) for files in applied) == [0, 1]
    assert SECRET not in str(outputs)
    done = project.run("migrate")
    assert (done.code, "Spark" in done.stderr) == (0, False)


def in_namespace(address: str, project: ProjectFolder, sql: str) -> None:
    """Write the catalog file with a new namespace for history and lock, and a migration that creates the namespace NS first."""
    namespace = f"g{uuid.uuid4().hex[:8]}"
    project.catalog(CATALOG.replace("ADDRESS", address).replace("store: {", f"store: {{namespace: {namespace}, "))
    project.file("1_a.sql", f"CREATE NAMESPACE lake.NS;\n{sql}".replace("lake.NS", f"lake.of_{namespace}"))


def test_a_lost_statement_is_repaired_and_a_view_that_the_server_lacks_is_one_message(
    address: str, project: ProjectFolder
) -> None:
    """Nessie keeps no list of earlier metadata, so that a person decides. The next run goes on after the lost statement."""
    in_namespace(
        address,
        project,
        "CREATE TABLE lake.NS.t (a INT) USING iceberg;\nALTER TABLE lake.NS.t ADD COLUMN b INT;\n"
        "INSERT INTO lake.NS.t VALUES (1, 2);\nCREATE VIEW lake.NS.v AS SELECT a FROM lake.NS.t;",
    )
    migrate_killed(project, "ADD COLUMN")
    unknown = project.ask("migrate")
    assert (unknown.code, unknown.document["error"]["code"]) == (6, "OUTCOME_UNKNOWN")
    repaired = project.ask("repair", "1", "--as", "done", "--reason", "the column exists", "--yes")
    assert repaired.code == 0, repaired.stderr
    failed = project.ask("migrate")
    error = failed.document["error"]
    assert (failed.code, error["code"], error["statement_index"]) == (1, "STATEMENT_FAILED", 5), error
    assert "Traceback" not in failed.stderr
    checked = project.ask("doctor")
    assert checked.code == 0, checked.stdout
