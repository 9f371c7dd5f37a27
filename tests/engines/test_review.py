"""`review` on the real Spark: what it shows, what a hostile branch reaches, and what is left of it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from glacierbase.run.cache import cache_folder, make_folder
from tests.support.project_folder import REPOSITORY, Output, ProjectFolder
from tests.support.repository import commit_all

pytestmark = pytest.mark.spark

CANARY = "canary-4711"
RAW = "org.apache.hadoop.fs.RawLocalFileSystem"
RAW_FILES = f"'fs.file.impl' '{RAW}', 'fs.file.impl.disable.cache' 'true'"
CREATE = """\
CREATE TABLE lake.shop.orders (id BIGINT NOT NULL, at TIMESTAMP, legacy STRING, home STRUCT<city: STRING>)
USING iceberg PARTITIONED BY (days(at)) LOCATION 's3://bucket-of-orders/orders';
INSERT INTO lake.shop.orders VALUES (1, current_timestamp(), 'x', named_struct('city', 'Bonn'));
CREATE TABLE lake.shop.replaced (id BIGINT) USING iceberg;
CREATE TABLE lake.shop.untouched (id BIGINT) USING iceberg;
ALTER TABLE lake.shop.orders CREATE TAG first;
CREATE VIEW lake.shop.seen AS SELECT id FROM lake.shop.orders"""
# Runs only where rows, a tag and a view of the base are there.
USES = """\
SELECT assert_true((SELECT count(*) FROM lake.shop.orders VERSION AS OF 'first') = 1);
INSERT INTO lake.shop.replaced SELECT id FROM lake.shop.seen;
SELECT assert_true((SELECT count(*) FROM lake.shop.replaced) = 1)"""
# The resolver runs in the JVM of spark-submit; nothing listens on the discard port.
NO_NETWORK = {"SPARK_SUBMIT_OPTS": "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9"}

# Opens the copy of a project, and prints a line with the error of each statement.
WITHOUT_THE_LOOK = """
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from glacierbase.errors import EngineError
from glacierbase.executors import open_copy
from glacierbase.capabilities.review.copy import copy_of
from glacierbase.run.run import Run
from tests.support.project_folder import only_catalog

root, folder, *statements = sys.argv[1:]
copy = copy_of(only_catalog(Path(root)))
with closing(open_copy(copy.catalog, Run.here(Path(folder)), Path(folder), copy.names)) as engine:
    for sql in statements:
        with closing(engine.open_session()) as session:
            try:
                session.execute(sql)
                print("it ran")
            except EngineError as error:
                print(" ".join(error.message.split()))
"""


class Branch:
    """A branch of a project, and a folder for everything that a review creates."""

    def __init__(self, project: ProjectFolder, folder: Path) -> None:
        self.project = project
        self.folder = folder
        folder.mkdir()
        self.environ = {"TMPDIR": str(folder), "CANARY": CANARY, "AWS_SECRET_ACCESS_KEY": CANARY}
        self.environ["XDG_CACHE_HOME"] = str(cache_with_jars(folder.with_name("cache")))
        project.file("0001_create.sql", CREATE)
        commit_all(project.root)

    def review(self, **environ: str) -> Output:
        return self.project.ask("review", "--base", "main", environ={**self.environ, **environ})

    def files(self) -> set[Path]:
        """Return the files of the project, without git's."""
        return {path for path in self.project.root.rglob("*") if ".git" not in path.parts}

    def jvms(self) -> list[int]:
        """Return the processes whose command line or environment names the folder."""
        found = []
        for process in Path("/proc").iterdir():
            with suppress(OSError):
                content = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
                if process.name.isdecimal() and str(self.folder).encode() in content and b"java" in content:
                    found.append(int(process.name))
        return found


def cache_with_jars(folder: Path) -> Path:
    """Return a new cache for the user, in which only the jars and Java are those of the user's own."""
    for name in ("jars", "java", "archives"):
        make_folder(cache_folder(name))
        (folder / "glacierbase").mkdir(parents=True, exist_ok=True)
        (folder / "glacierbase" / name).symlink_to(cache_folder(name))
    return folder


@pytest.fixture
def branch(lake_project: ProjectFolder, tmp_path: Path) -> Branch:
    """A branch without new migrations."""
    return Branch(lake_project, tmp_path / "everything")


def test_a_review_shows_exactly_what_a_branch_changes_and_the_next_one_offline_the_same(branch: Branch) -> None:
    """From the metadata of the copy: a column more, one less, other partitions. Nothing is left, in the folder or of the JVM.

    The second review has an empty home and no network, and takes the state after the base from the cache: tables with their rows
    and tags, and views.
    """
    sql = "ALTER TABLE lake.shop.orders ADD COLUMN home.zip INT COMMENT 'post code';\n"
    sql += "ALTER TABLE lake.shop.orders DROP COLUMN legacy;\n"
    sql += "ALTER TABLE lake.shop.orders REPLACE PARTITION FIELD days(at) WITH bucket(16, id)"
    branch.project.file("0002_change.sql", sql)
    branch.project.file("0003_use.sql", USES)
    replace = "CREATE OR REPLACE TABLE lake.shop.replaced (id BIGINT) USING iceberg"
    branch.project.file("0004_replace.sql", f"{replace}; CREATE OR REPLACE VIEW lake.shop.seen AS SELECT 1 AS one")
    branch.project.file("0005_typos.sql", "ALTER TABLE lake.shop.order ADD COLUMN x INT")
    branch.project.file("0006_rename.sql", "ALTER TABLE lake.shop.untouched RENAME TO lake.shop.touched")
    before, home = branch.files(), branch.folder.with_name("home")
    home.mkdir()
    output = branch.review()
    offline = branch.review(HOME=str(home), **NO_NETWORK)
    for each in (output, offline):
        assert each.code == 3, each.stderr
        entry = each.entry()
        assert [(each["table"], each["change"]) for each in entry["tables"]] == [
            ("lake.shop.orders", "altered"),
            ("lake.shop.replaced", "altered"),
        ]
        assert [(each["what"], each["name"], each["before"], each["after"]) for each in entry["tables"][0]["diff"]] == [
            ("column", "legacy", "string", None),
            ("column", "home.zip", None, "int"),
            ("partitioning", "", "day(at)", "bucket(16, id)"),
        ]
        assert entry["views"] == [{"view": "lake.shop.seen", "change": "replaced"}]
        found = [(each["code"], each["severity"]) for each in entry["findings"]]
        assert [each for each in found if each[0].startswith(("REPLAY_", "DS"))] == [
            ("DS103", "error"),
            ("DS106", "error"),
            ("DS117", "error"),
            ("REPLAY_UNKNOWN_TABLE", "error"),
            ("REPLAY_REFUSED", "error"),
        ]
        kinds = ["destructive", "rewrites data", "destructive", "replayed in part", "replayed in part"]
        assert [each["kind"] for each in entry["files"]] == kinds
        assert entry["warnings"] == []
    assert output.entry()["replay"] == {"replayed": 16, "skipped": [], "cached": False, "engine": "spark"}
    assert offline.entry()["replay"] == {"replayed": 10, "skipped": [], "cached": True, "engine": "spark"}
    assert list(branch.folder.iterdir()) == []
    assert list(home.iterdir()) == []
    assert branch.jvms() == []
    assert branch.files() == before


BASE_OF_EFFECTS = """\
CREATE TABLE lake.shop.filled (id BIGINT, x STRING) USING iceberg;
INSERT INTO lake.shop.filled VALUES (1, 'a'), (2, 'b');
CREATE TABLE lake.shop.reserved (id BIGINT) USING iceberg;
CREATE TABLE lake.shop.compressed (id BIGINT, at TIMESTAMP NOT NULL) USING iceberg PARTITIONED BY (days(at));
CREATE TABLE lake.shop.first_version (id BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '1');
CREATE TABLE lake.shop.wrong_before (id BIGINT) USING iceberg TBLPROPERTIES ('write.parquet.compression-codec' = 'zsdt');
CREATE TABLE lake.shop.moved (id BIGINT, s STRUCT<a: INT NOT NULL> NOT NULL, l ARRAY<INT>, m MAP<STRING, INT>, d DECIMAL(4, 2))
USING iceberg LOCATION 's3://lake/old';
CREATE TABLE lake.shop.gone (id BIGINT) USING iceberg;
CREATE VIEW lake.shop.stale AS SELECT id FROM lake.shop.gone;
DROP TABLE lake.shop.gone"""
EFFECTS = {
    "rename": """\
ALTER TABLE lake.shop.orders ADD COLUMN more INT;
ALTER TABLE lake.shop.orders RENAME COLUMN id TO key;
ALTER TABLE lake.shop.orders ADD PARTITION FIELD bucket(16, key) AS shard;
ALTER TABLE lake.shop.orders DROP TAG first;
ALTER TABLE lake.shop.orders CREATE BRANCH audit""",
    "reserve": "ALTER TABLE lake.shop.reserved ADD COLUMN a INT;\nALTER TABLE lake.shop.reserved ADD COLUMN _file STRING",
    "compress": "ALTER TABLE lake.shop.compressed SET TBLPROPERTIES ('write.parquet.compression-codec' = 'zsdt')",
    "merge_on_read": "ALTER TABLE lake.shop.first_version SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')",
    "wrong_before": "ALTER TABLE lake.shop.wrong_before ADD COLUMN x DOUBLE",
    "delete": "DELETE FROM lake.shop.filled WHERE true",
    "move": "ALTER TABLE lake.shop.moved SET LOCATION 's3://lake/new';\nALTER TABLE lake.shop.moved ADD COLUMN t TIMESTAMP",
    "create": """\
CREATE TABLE lake.shop.created (id BIGINT) USING iceberg TBLPROPERTIES ('write.format.default' = 'parket');
ALTER TABLE lake.shop.created ADD COLUMN x INT""",
    "refused": "SELECT 1;\nALTER TABLE lake.shop.moved ADD COLUMN d INT;\n"
    "CREATE TABLE lake.shop.late (id INT) USING iceberg;\nSELECT 2",
    "late": "ALTER TABLE lake.shop.late ADD COLUMN x INT",
}


def test_a_review_shows_what_no_longer_works_and_what_happens_to_files_and_rows(branch: Branch) -> None:
    """Each effect on tables of the base, in one start of Spark: what was broken before is no finding.

    A finding of the copy has the code of the rule that predicts it, if there is one.
    """
    branch.project.file("0002_base.sql", BASE_OF_EFFECTS)
    commit_all(branch.project.root, "base")
    for version, (name, sql) in enumerate(EFFECTS.items(), start=3):
        branch.project.file(f"{version:04}_{name}.sql", sql)
    output = branch.review()
    entry = output.entry()
    broken = [
        (finding["path"].rpartition("/")[2][5:-4], finding["statement_index"], finding["code"], finding["table"])
        for finding in entry["findings"]
        if finding["message"].startswith("on the throw-away copy")
    ]
    assert sorted(broken) == sorted([
        ("rename", 2, "BC106", "lake.shop.seen"),
        ("reserve", 2, "TY113", "lake.shop.reserved"),
        ("compress", 1, "PR102", "lake.shop.compressed"),
        ("merge_on_read", 1, "PR113", "lake.shop.first_version"),
        ("create", 1, "PR102", "lake.shop.created"),
        ("refused", 2, "TY115", "lake.shop.moved"),
        ("late", 1, "REPLAY_UNKNOWN_TABLE", "lake.shop.late"),
    ]), [finding["message"] for finding in entry["findings"]]  # fmt: skip
    tables = {table["table"].rpartition(".")[2]: table for table in entry["tables"]}
    effects = {name: (table["files"], table["snapshots"], table["breaks"]) for name, table in tables.items()}
    assert effects == {
        "orders": ("left in spec 0", 0, ["view lake.shop.seen"]),
        "reserved": ("untouched", 0, ["SELECT"]),
        "compressed": ("untouched", 0, ["INSERT"]),
        "first_version": ("untouched", 0, ["DELETE"]),
        "wrong_before": ("untouched", 0, []),
        "filled": ("removed", 1, []),
        "moved": ("untouched", 0, []),
        "created": (None, 0, ["INSERT"]),
    }
    shown = {
        (name, difference["what"], difference["name"], difference["before"], difference["after"])
        for name, table in tables.items()
        for difference in table["diff"]
        if difference["what"] in ("location", "partition field", "rows of the copy", "tag", "branch")
    }
    snapshots = {value for row in shown if row[1] in ("tag", "branch") for value in row[3:] if value}
    assert len(snapshots) == 1
    assert shown == {
        ("orders", "partition field", "bucket(16, key)", None, "shard"),
        ("orders", "tag", "first", *snapshots, None),
        ("orders", "branch", "audit", None, *snapshots),
        ("filled", "rows of the copy", "", "2", "0"),
        ("moved", "location", "", "s3://lake/old", "s3://lake/new"),
    }
    assert [(skipped["line"], skipped["why"]) for skipped in entry["replay"]["skipped"]] == [
        (6, "2 statements in lines 6, 7, after the refused one in line 5")
    ]


@dataclass
class Listener:
    """A server on 127.0.0.1, and how many connections it had."""

    port: int
    connections: int = 0

    def accept(self, server: socket.socket) -> None:
        with suppress(OSError):  # The end of the server.
            while True:
                server.accept()[0].close()
                self.connections += 1


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A server of this machine that ends every connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        listener = Listener(server.getsockname()[1])
        threading.Thread(target=listener.accept, args=(server,), daemon=True).start()
        yield listener


def test_a_hostile_branch_reaches_nothing(branch: Branch, listener: Listener) -> None:
    """No file is read or written, no program, class or connection started; each attempt is a finding at its line.

    A table at a path is made in the memory of the copy, as on the real engine in its files.
    """
    key, written = branch.folder.parent / "key", branch.folder.parent / "written"
    key.write_text(CANARY)
    address = f"http://127.0.0.1:{listener.port}"
    attempts = [
        f"ADD JAR '{key}'",
        f"CREATE FUNCTION f AS 'com.evil.F' USING JAR '{key}'",
        "SELECT java_method('java.lang.System', 'getenv', 'CANARY')",
        # The next ones pass the look at the statement, and meet the boundary.
        "SELECT `java_method`('java.lang.System', 'getenv', 'CANARY')",
        "SELECT IDENTIFIER('java_' || 'method')('java.lang.System', 'getenv', 'CANARY')",
        f"CREATE TEMPORARY VIEW a USING text OPTIONS (path '{key}')",
        f"CREATE TEMPORARY VIEW b USING text OPTIONS (path '{key}', 'fs.file.impl' '{RAW}', 'fs.file.impl.disable.cache' 'true')",
        f"CREATE TABLE spark_catalog.default.c (a STRING) USING csv LOCATION '{written}'",
        f"CREATE TEMPORARY VIEW d USING text OPTIONS (path '{address}/x')",
        f"SELECT from_xml('<a/>', 'a INT', map('rowValidationXSDPath', '{key}')) FROM lake.shop.orders",
        "BEGIN EXECUTE IMMEDIATE 'SELECT TRANSFORM (id) USING ''touch "
        + str(written)
        + "'' AS (x STRING) FROM lake.shop.orders'; END",
        f"SELECT * FROM lake.shop.orders.files WHERE 1 = (SELECT count(*) FROM text.`{key}`)",
        f"CREATE TABLE lake.shop.e USING iceberg AS SELECT * FROM IDENTIFIER('text.`{key}`')",
    ]
    for version, sql in enumerate(attempts, start=2):
        branch.project.file(f"{version:04}_x.sql", sql)
    output = branch.review()
    assert output.code == 3, output.stderr
    findings = output.entry()["findings"]
    found = {int(each["path"].rpartition("/")[2][:4]) for each in findings if each["severity"] == "error"}
    in_memory = next(
        version for version, sql in enumerate(attempts, start=2) if sql.startswith("CREATE TABLE spark_catalog")
    )
    assert found == set(range(2, len(attempts) + 2)) - {in_memory}
    assert CANARY not in output.stdout + output.stderr
    assert not written.exists()
    assert listener.connections == 0
    assert [table["table"] for table in output.entry()["tables"]] == ["spark_catalog.default.c"]


def test_the_boundary_holds_without_the_look_at_the_statements(
    lake_project: ProjectFolder, tmp_path: Path, listener: Listener
) -> None:
    """Derby, which calls any method of Java from SQL, is not loaded; no address and no file is reached."""
    jdbc = "CREATE TEMPORARY VIEW v USING jdbc OPTIONS (url 'jdbc:derby:memory:x;create=true', dbtable 'sysibm.sysdummy1', "
    attempts = [
        jdbc + "driver 'org.apache.derby.iapi.jdbc.AutoloadedDriver', sessionInitStatement 'CALL x()')",
        f"SELECT from_xml('<a/>', 'a INT', map('rowValidationXSDPath', 'http://127.0.0.1:{listener.port}/x'))",
        f"CREATE TEMPORARY VIEW v USING text OPTIONS (path '/etc/passwd', {RAW_FILES})",
        "CREATE TEMPORARY VIEW v USING text OPTIONS (path '/etc/passwd')",
    ]
    # In a process of its own: this one may have a Spark session already.
    command = [sys.executable, "-c", WITHOUT_THE_LOOK, str(lake_project.root), str(tmp_path), *attempts]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=300)
    answers = done.stdout.splitlines()
    assert len(answers) == len(attempts), done.stderr
    *refused, in_memory = answers
    assert all("access denied" in answer for answer in refused), answers
    assert in_memory == "Path does not exist: file:/etc/passwd."
    assert listener.connections == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_jvm_outlives_a_review_that_is_ended(branch: Branch, number: signal.Signals) -> None:
    """A signal while the JVM starts ends it and removes the folder; the JVM of a killed process ends by itself."""
    branch.project.file("0002_add.sql", "ALTER TABLE lake.shop.orders ADD COLUMN x INT")
    process = branch.project.start("review", "--base", "main", environ=branch.environ)
    wait_for_log(branch.folder, process)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == (-9 if number is signal.SIGKILL else 143)
    deadline = time.monotonic() + 30
    while branch.jvms() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert branch.jvms() == []
    if number is not signal.SIGKILL:
        assert not any(branch.folder.iterdir())


def wait_for_log(folder: Path, process: subprocess.Popen[str]) -> None:
    """Return once the JVM of a copy prints something."""
    deadline = time.monotonic() + 120
    while not any(log.stat().st_size for log in folder.glob("*/.glacierbase/logs/*.log")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_review_shows_a_view_that_an_edited_repeatable_replaces(branch: Branch) -> None:
    """Repeatables run on the copy as the base has them, and then as the branch has them: the new ones are created."""
    view = "CREATE OR REPLACE VIEW lake.shop.{} AS SELECT id FROM lake.shop.orders{}"
    branch.project.file("repeatable/a_base.sql", view.format("a_base", ""))
    branch.project.file("repeatable/same.sql", view.format("same", ""))
    commit_all(branch.project.root)
    branch.project.file("repeatable/a_base.sql", view.format("a_base", " WHERE id > 1"))
    path = branch.project.file("repeatable/a_new.sql", view.format("a_new", "").replace("orders", "a_base"))
    path.write_text(path.read_text().replace("\n\n", "\n-- MIGRATION_AFTER: a_base\n\n", 1))
    entry = branch.review().entry()
    assert [(file["version"], file["name"]) for file in entry["files"]] == [(None, "a_base"), (None, "a_new")]
    assert sorted((view["view"], view["change"]) for view in entry["views"]) == [
        ("lake.shop.a_base", "replaced"),
        ("lake.shop.a_new", "created"),
    ]
    assert (entry["findings"], entry["replay"]["skipped"]) == ([], [])


PLAIN = """\
CREATE NAMESPACE lake.shop COMMENT 'of the shop';
CREATE TABLE lake.shop.orders (id BIGINT NOT NULL, at TIMESTAMP, home STRUCT<city: STRING, zip: INT>, tags ARRAY<STRING>)
USING iceberg PARTITIONED BY (days(at), bucket(4, id)) COMMENT 'all' TBLPROPERTIES ('a' = '1');
ALTER TABLE lake.shop.orders SET IDENTIFIER FIELDS id;
ALTER TABLE lake.shop.orders WRITE ORDERED BY at DESC;
ALTER TABLE lake.shop.orders DROP PARTITION FIELD bucket(4, id);
CREATE TABLE lake.shop.old (id INT, name STRING) USING iceberg PARTITIONED BY (name) TBLPROPERTIES ('format-version' = '1');
ALTER TABLE lake.shop.old DROP PARTITION FIELD name;
ALTER TABLE lake.shop.old RENAME TO shop.older;
CREATE TABLE lake.shop.third (id INT, name STRING) USING iceberg"""
CHANGE = """\
ALTER TABLE lake.shop.orders ALTER COLUMN home.zip TYPE BIGINT;
ALTER TABLE lake.shop.orders ADD COLUMN country STRING AFTER at;
ALTER TABLE lake.shop.third ADD PARTITION FIELD truncate(2, name);
ALTER TABLE lake.shop.third SET TBLPROPERTIES ('b' = '2')"""
VIEW = "CREATE VIEW lake.shop.seen AS SELECT id, country FROM lake.shop.orders"
OF_A_COPY = ("uuid", "metadata_location")


def test_a_copy_in_memory_and_one_in_spark_use_the_same_states(lake_project: ProjectFolder, tmp_path: Path) -> None:
    """Each restores the state after plain files that the other one has cached, and shows the same as without a cache."""
    caches = {name: str(cache_with_jars(tmp_path / name)) for name in ("memory", "spark")}
    lake_project.file("0001_create.sql", PLAIN)
    commit_all(lake_project.root)

    def review(cache: str, *statements: str) -> tuple[str, bool, object]:
        lake_project.file("0002_change.sql", ";\n".join(statements))
        output = lake_project.ask("review", "--base", "main", environ={"XDG_CACHE_HOME": caches[cache]})
        assert output.code == 0, output.stderr
        entry = output.entry()
        assert entry["warnings"] == []
        return entry["replay"]["engine"], entry["replay"]["cached"], shown(entry)

    direct = review("memory", CHANGE)
    on_memory = review("memory", CHANGE, VIEW)
    spark = review("spark", CHANGE, VIEW)
    on_spark = review("spark", CHANGE)
    assert [outcome[:2] for outcome in (direct, on_memory, spark, on_spark)] == [
        ("direct", False),
        ("spark", True),
        ("spark", False),
        ("direct", True),
    ]
    assert on_memory[2] == spark[2]
    assert on_spark[2] == direct[2]


def shown(entry: Any) -> object:
    """Return the tables, findings and files of a review, without what differs in each copy."""
    tables = [
        {**table, **{side: table[side] and {key: value for key, value in table[side].items() if key not in OF_A_COPY}
                     for side in ("before", "after")}}
        for table in entry["tables"]
    ]  # fmt: skip
    return tables, entry["findings"], entry["files"], entry["views"]
