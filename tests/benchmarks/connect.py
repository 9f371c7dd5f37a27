"""One pending ALTER on a Spark Connect server, from a client without Java, against the script that a user would write for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from tests.benchmarks.measure import Command, by_turns, run
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Row, compared, worked
from tests.support.catalog_files import REMOTE, RUNTIME, SQLITE
from tests.support.connect import connect_server
from tests.support.environments import environment
from tests.support.project_folder import REPOSITORY, ProjectFolder

CLIENT = REPOSITORY / ".venv-client"
REQUIREMENTS = ["--editable", f"{REPOSITORY}[iceberg]", "pyspark-client==4.1.*"]
MOST = 1.3
BARE = "bare pyspark-client script"
SCRIPT = """\
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("ADDRESS").getOrCreate()
BEFOREspark.sql("ALTER TABLE lake.bare.t SET TBLPROPERTIES ('round'='bare')")
AFTERspark.stop()
"""
# Other tables than those of the migrations, in which its changes would be manual ones.
CREATE = """\
for name, columns in (("t", "a BIGINT"), ("history", "fence BIGINT, event STRING"), ("lock", "owner STRING, beat BIGINT")):
    spark.sql(f"CREATE TABLE IF NOT EXISTS lake.bare.{name} ({columns}) USING iceberg TBLPROPERTIES ('format-version'='2')")
spark.sql("INSERT INTO lake.bare.lock VALUES ('', 0)")
"""
# The least that history and lock require, without any check: acquire, announce, prove before the statement, record, release after.
SERVER_BEFORE = """\
def read(table):
    spark.sql(f"REFRESH TABLE lake.bare.{table}")
    return spark.sql(f"SELECT * FROM lake.bare.{table}").collect()
read("lock"), read("history")
spark.sql("UPDATE lake.bare.lock SET owner = 'me' WHERE owner = ''")
read("lock"), read("history")
spark.sql("INSERT INTO lake.bare.history VALUES (1, 'started')")
read("lock")
"""
SERVER_AFTER = """\
spark.sql("INSERT INTO lake.bare.history VALUES (1, 'applied')")
spark.sql("UPDATE lake.bare.lock SET owner = '' WHERE owner = 'me'")
read("lock")
"""
FILE_BEFORE = """\
import pyarrow
from pyiceberg.catalog.sql import SqlCatalog
catalog = SqlCatalog("bare", uri="sqlite:///FOLDER/bare.db", warehouse="file://FOLDER/bare")
catalog.create_namespace_if_not_exists("bare")
row = pyarrow.table({"owner": ["me"], "beat": [1]})
lock, history = (catalog.create_table_if_not_exists(f"bare.{name}", row.schema) for name in ("lock", "history"))
def read(table):
    return table.refresh().scan().to_arrow()
read(lock), read(history)
lock.overwrite(row)
read(history)
history.append(row)
read(lock)
"""
FILE_AFTER = """\
history.append(row)
lock.overwrite(row)
"""


def rows(order: Order) -> Iterator[Row | Absent]:
    """With history and lock in a file, through PyIceberg, and through the server.

    The bare script makes one commit. Four more are necessary for the guarantees of a run, so each way is also compared with a
    script that makes the same commits and reads in the same place.
    """
    programs = environment(CLIENT, REQUIREMENTS)
    folder = order.folder / "connect"
    folder.mkdir()
    # The commands find no Java.
    environ = {"JAVA_HOME": ""}
    with connect_server(folder, f"{RUNTIME},{SQLITE}") as address:
        text = REMOTE.replace("ADDRESS", address)

        def script(name: str, before: str = "", after: str = "") -> Command:
            code = SCRIPT.replace("BEFORE", before).replace("AFTER", after)
            code = code.replace("ADDRESS", address).replace("FOLDER", str(folder))
            return Command(name, (programs / "python", "-c", code), order.folder, environ)

        projects = [ProjectFolder(order.folder / name) for name in ("connect-file", "connect-server")]
        stores = ("{type: embedded}", "{catalog: lake, namespace: through}")
        for project, store in zip(projects, stores, strict=True):
            project.catalog(text.replace("{catalog: lake}", store))
        projects[0].file(
            "0_create.sql",
            "CREATE NAMESPACE lake.a; CREATE TABLE lake.a.t (a BIGINT); CREATE TABLE lake.a.u (a BIGINT);",
        )
        in_file, through_server = (
            _one_alter(programs, project, table, environ) for project, table in zip(projects, "tu", strict=True)
        )
        run(replace(in_file, before=lambda: None))
        run(script("setup", f"spark.sql('CREATE NAMESPACE lake.bare')\n{CREATE}"))
        bare = script(BARE)
        file_bound = script(f"{BARE}, with the same commits in a file", FILE_BEFORE, FILE_AFTER)
        server_bound = script(f"{BARE}, with the same commits on the server", SERVER_BEFORE, SERVER_AFTER)
        commands = [bare, file_bound, server_bound, in_file, through_server]
        alone, with_file, with_server, file_run, server_run = by_turns(commands, order.runs)
    sides = (
        ("in a file", file_run, file_bound.name, with_file),
        ("through the server", server_run, server_bound.name, with_server),
    )
    for place, samples, bound, of_bound in sides:
        what = f"one pending ALTER on Connect, history and lock {place}"
        yield compared(what, samples, BARE, alone, MOST)
        yield compared(what, samples, bound, of_bound, MOST)
        yield compared(f"{what}: processor time", samples, BARE, alone, figure=worked)
        yield compared(f"{what}: processor time", samples, bound, of_bound, figure=worked)
        yield compared(f"the same commits {place}, with no check", of_bound, BARE, alone)


_versions = count(1)


def _one_alter(programs: Path, project: ProjectFolder, table: str, environ: dict[str, str]) -> Command:
    def write() -> Path:
        version = next(_versions)
        return project.file(
            f"{version}_alter.sql", f"ALTER TABLE lake.a.{table} SET TBLPROPERTIES ('round'='{version}');"
        )

    return Command("glacierbase migrate", (programs / "glacierbase", "migrate"), project.root, environ, write)
