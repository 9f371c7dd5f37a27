"""One pending ALTER on a Spark Connect server, from a client without Java, against the script that a user would write for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from tests.benchmarks.measure import Command, by_turns, run
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Row, compared
from tests.support.catalog_files import REMOTE, RUNTIME, SQLITE
from tests.support.connect import connect_server
from tests.support.environments import environment
from tests.support.project_folder import REPOSITORY, ProjectFolder

CLIENT = REPOSITORY / ".venv-client"
REQUIREMENTS = ["--editable", f"{REPOSITORY}[iceberg]", "pyspark-client==4.1.*"]
MOST = 1.3
SCRIPT = """\
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("ADDRESS").getOrCreate()
spark.sql("ALTER TABLE lake.a.t SET TBLPROPERTIES ('round'='bare')")
spark.stop()
"""
# Where the server has the catalog, so that history and lock are read by PyIceberg.
PLACE = """\
      spark.sql.catalog.lake.type: jdbc
      spark.sql.catalog.lake.uri: jdbc:sqlite:FOLDER/catalog.db?busy_timeout=30000
      spark.sql.catalog.lake.jdbc.schema-version: V1
      spark.sql.catalog.lake.warehouse: file://FOLDER/tables
"""


def rows(order: Order) -> Iterator[Row | Absent]:
    """With history and lock through PyIceberg, and through the server."""
    programs = environment(CLIENT, REQUIREMENTS)
    folder = order.folder / "connect"
    folder.mkdir()
    # The commands find no Java.
    environ = {"JAVA_HOME": ""}
    with connect_server(folder, f"{RUNTIME},{SQLITE}") as address:
        text = REMOTE.replace("ADDRESS", address)
        near = re.sub(r"(?=      spark\.sql\.shuffle)", PLACE.replace("FOLDER", str(folder)), text)
        script = (programs / "python", "-c", SCRIPT.replace("ADDRESS", address))
        projects = [ProjectFolder(order.folder / name) for name in ("connect-near", "connect-through")]
        for project, catalog, namespace in zip(projects, (near, text), ("near", "through"), strict=True):
            project.catalog(catalog.replace("{catalog: lake}", f"{{catalog: lake, namespace: {namespace}}}"))
        projects[0].file("0_create.sql", "CREATE NAMESPACE lake.a; CREATE TABLE lake.a.t (a BIGINT) USING iceberg;")
        commands = [_one_alter(programs, project, environ) for project in projects]
        run(replace(commands[0], before=lambda: None))
        bare = Command("bare pyspark-client", script, order.folder, environ)
        alone, through_pyiceberg, through_server = by_turns([bare, *commands], order.runs)
    against = "bare pyspark-client script"
    yield compared("one pending ALTER on Connect, whole process", through_pyiceberg, against, alone, MOST)
    yield compared("the same, history and lock through the server", through_server, against, alone)


_versions = count(1)


def _one_alter(programs: Path, project: ProjectFolder, environ: dict[str, str]) -> Command:
    def write() -> Path:
        version = next(_versions)
        return project.file(f"{version}_alter.sql", f"ALTER TABLE lake.a.t SET TBLPROPERTIES ('round'='{version}');")

    return Command("glacierbase migrate", (programs / "glacierbase", "migrate"), project.root, environ, write)
