"""The examples of errors in files are what a run prints."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from glacierbase import GlacierbaseError, Project
from glacierbase.errors import EngineUnavailable
from glacierbase.errors.reference import ENTRIES
from glacierbase.migrations.statements import split_statements
from tests.support.errors import text_error
from tests.support.program import run_here
from tests.support.project_folder import Output, ProjectFolder, migration

# Where the project of the examples is.
ROOT = "/home/ana/lake"
CONF = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
variables: {sleep: {bucketSize: 4}, columns: [a, b]}
environments:
  dev: {}
  prod: {protected: true}
"""
WITHOUT_ENVIRONMENTS = CONF.partition("variables")[0]
SNOWFLAKE = """\
migrationExecutor: {type: snowflake, conf: {connection: {account: acme, database: LAKE}}}
"""
FILE = "0007_add_device.sql"

Arrange = Callable[[ProjectFolder], object]


def validate(_: ProjectFolder) -> object:
    return Project.load().validate()


def lint(_: ProjectFolder) -> object:
    return Project.load().lint()


def undo(project: ProjectFolder) -> object:
    return run_here(project, "new", "undo the addition", "--author", "me", "--reverting", "0007")


def lint_with_broken_rules(project: ProjectFolder) -> object:
    """Run `lint` where a package is installed whose module is missing."""
    info = project.root / "packages" / "acme_rules-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rules\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[glacierbase.rules]\nacme = acme_rules:RULES\n")
    paths = [str(info.parent), os.environ.get("PYTHONPATH", "")]
    return project.run("lint", environ={"PYTHONPATH": os.pathsep.join(filter(None, paths))})


def pending_on(engine: str | None) -> Arrange:
    """Run `pending` on a catalog of the type `acme`, where a package adds an engine whose module has this text, or is missing."""

    def arrange(project: ProjectFolder) -> object:
        project.catalog("migrationExecutor: {type: acme}\n")
        info = project.root / "packages" / "acme_engine-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-engine\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[glacierbase.executors]\nacme = acme_engine:ENGINE\n")
        if engine is not None:
            (info.parent / "acme_engine.py").write_text(engine)
        paths = [str(info.parent), os.environ.get("PYTHONPATH", "")]
        return project.run("pending", environ={"PYTHONPATH": os.pathsep.join(filter(None, paths))})

    return arrange


ACME = """\
from glacierbase.executors import EngineType

class Acme(EngineType):
    name = dialect = "acme"

ENGINE = Acme()
"""


def pending(_: ProjectFolder) -> object:
    return Project.load().pending()


def catalog(text: str, name: str = "analytics", run: Arrange = validate) -> Arrange:
    """Check a project with this catalog file."""

    def arrange(project: ProjectFolder) -> object:
        project.catalog(text, name)
        return run(project)

    return arrange


def files(run: Arrange = validate, conf: str = CONF, **texts: str | bytes) -> Arrange:
    """Check a project with migrations of these names and SQL; bytes are the whole file."""

    def arrange(project: ProjectFolder) -> object:
        project.catalog(conf, "analytics")
        for name, text in texts.items():
            path = project.root / "migrations/analytics" / f"{name}.sql"
            path.write_bytes(text if isinstance(text, bytes) else migration(text).encode("utf-8", "surrogatepass"))
        return run(project)

    return arrange


def added(text: str) -> Arrange:
    """Check a project with one more migration."""
    return files(**{FILE.removesuffix(".sql"): text})


def partition(text: str) -> Arrange:
    """Check a project with a template in line 6 of a migration."""
    return files(**{"0004_partition": f"SELECT\n  1,\n{text}"})


def two(run: Callable[[Project], object], **options: str) -> Arrange:
    """Run a verb on a project with two catalogs."""

    def arrange(project: ProjectFolder) -> object:
        project.catalog(CONF, "analytics")
        project.catalog(CONF, "billing")
        return run(Project.load(**options))

    return arrange


def outside(project: ProjectFolder) -> object:
    elsewhere = project.root.parent / "shared"
    elsewhere.mkdir()
    (elsewhere / "0007.sql").write_text(migration("SELECT 1"))
    project.catalog(CONF, "analytics")
    (project.root / "migrations/analytics" / FILE).symlink_to(elsewhere / "0007.sql")
    return validate(project)


def misplaced(project: ProjectFolder) -> object:
    project.catalog(CONF, "analytics")
    (project.root / "migrations" / FILE).write_text(migration("SELECT 1"))
    return validate(project)


def without_catalog(project: ProjectFolder) -> object:
    project.catalog(CONF, "analytics")
    (project.root / "migrations/analytics").rename(project.root / "migrations/analytic")
    return validate(project)


def without_project(project: ProjectFolder) -> object:
    (project.root / "migrations").rmdir()
    return run_here(project, "pending")


def two_names(project: ProjectFolder) -> object:
    project.catalog(CONF, "analytics")
    return catalog("name: analytics\n" + CONF, "analytics_eu")(project)


def existing(project: ProjectFolder) -> object:
    assert run_here(project, "init", "analytics").code == 0
    return run_here(project, "init", "analytics")


def protected(project: ProjectFolder) -> object:
    project.catalog(CONF, "analytics")
    return run_here(project, "repair", "--env", "prod", "--environment-was", "dev", "--reason", "renamed")


def git(project: ProjectFolder, *arguments: str) -> None:
    who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *arguments], cwd=project.root, check=True, capture_output=True)


def against_base(
    change: Callable[[Path], object],
    run: Callable[[Project], object] = lambda project: project.validate(base="origin/main"),
) -> Arrange:
    """Compare a branch with `origin/main`, which has two migrations, after a change to its folder of migrations."""

    def arrange(project: ProjectFolder) -> object:
        files(**{"0001_create": "SELECT 1", "0007_add_scores": "SELECT 1"})(project)
        git(project, "init")
        git(project, "add", ".")
        git(project, "commit", "-m", "base")
        git(project, "update-ref", "refs/remotes/origin/main", "HEAD")
        change(project.root / "migrations/analytics")
        return run(Project.load())

    return arrange


def dropping(project: ProjectFolder, refused: EngineUnavailable | None = None) -> object:
    """Review a branch that drops a column, with the answers of a copy in place of Spark."""
    from tests.unit.capabilities.review.copies import FakeCopy

    sql = "ALTER TABLE lake.sleep.event DROP COLUMN device"
    arrange = against_base(
        lambda folder: (folder / "0008_drop_device.sql").write_text(migration(sql)),
        lambda found: found.review("origin/main"),
    )
    with FakeCopy(refused).in_use():
        return arrange(project)


def unstarted(project: ProjectFolder) -> object:
    """Review a branch on a machine where Spark does not start."""
    error = EngineUnavailable("SPARK_DID_NOT_START", "catalog analytics: Spark did not start")
    return dropping(project, error)


def conflicted(project: ProjectFolder) -> object:
    """Rebase while a merge is stopped, because both branches added the same file."""
    files(**{"0001_create": "SELECT 1"})(project)
    git(project, "init")
    git(project, "add", ".")
    git(project, "commit", "-m", "base")
    git(project, "branch", "topic")
    for branch, sql in (("main", "SELECT 2"), ("topic", "SELECT 3")):
        git(project, "switch", branch)
        files(**{"0006_add_device": sql, **({"0007_add_scores": "SELECT 1"} if branch == "main" else {})})(project)
        git(project, "add", ".")
        git(project, "commit", "-m", branch)
    with pytest.raises(subprocess.CalledProcessError):
        git(project, "merge", "main")
    return run_here(project, "rebase")


def without_base(project: ProjectFolder) -> object:
    catalog(CONF)(project)
    git(project, "init")
    return Project.load().validate(base="origin/main")


def commented(text: str) -> bytes:
    """A migration whose headers are replaced by these lines."""
    return f"{text}\n\nSELECT 1\n".encode()


LISTED = "-- MIGRATION_DESCRIPTION: a\n-- MIGRATION_AUTHOR: b\n-- MIGRATION_SQUASHES: 0007 {}"

ARRANGED: dict[str, Arrange] = {
    # The project.
    "USAGE": lambda project: run_here(project, "migrate", "--lock-timeout", "5 minutes"),
    "EMPTY_VALUE": lambda project: run_here(project, "pending", environ={"GLACIERBASE_ENV": ""}),
    "CONFIRMATION_MISSING": protected,
    "PROJECT_NOT_FOUND": without_project,
    "NO_CATALOG": validate,
    "FOLDER_WITHOUT_CATALOG": without_catalog,
    "MISPLACED_FILE": misplaced,
    "OUTSIDE_PROJECT": outside,
    "UNKNOWN_CATALOG": two(lambda project: project.pending(["analytic"])),
    "UNKNOWN_ENVIRONMENT": two(lambda project: project.pending(["analytics"]), environment="production"),
    "CATALOG_NOT_CHOSEN": two(lambda project: project.unlock()),
    "ENVIRONMENT_NOT_CHOSEN": two(lambda project: project.pending(["analytics"])),
    "REASON_MISSING": two(lambda project: project.repair(["7"], as_="done")),
    "ALREADY_EXISTS": existing,
    "BASE_NOT_FOUND": without_base,
    "GIT_FAILED": conflicted,
    "UNKNOWN_DIALECT": lambda _: split_statements("SELECT 1", "postgres"),
    # Catalog files.
    "INVALID_YAML": catalog(f"{CONF}store:\n\tnamespace: ops\n"),
    "DUPLICATE_KEY": catalog(f"{CONF}variables: {{}}\n"),
    "UNKNOWN_KEY": catalog(f"{CONF}variabels: {{}}\n"),
    "MISSING_KEY": catalog("variables: {}\n"),
    "INVALID_VALUE": catalog(f"{CONF}store: {{lockLease: soon}}\n"),
    "INVALID_NAME": catalog(CONF, "Sales-EU"),
    "DUPLICATE_CATALOG": two_names,
    "STORE_CATALOG_UNCLEAR": catalog(WITHOUT_ENVIRONMENTS + "      spark.sql.catalog.archive: x\n"),
    "FLOATING_DEPENDENCY": catalog(
        CONF.replace(
            "variables",
            "    dependencies:\n      - org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:latest.release\nvariables",
        )
    ),
    "UNSET_REFERENCE": catalog(
        CONF.replace("variables", "      spark.sql.catalog.lake.credential: ${secret:CATALOG_CREDENTIAL}\nvariables")
        + "defaultEnvironment: dev\n",
        run=pending,
    ),
    "UNKNOWN_REFERENCE": catalog(f"{CONF}store: {{namespace: 'ops_${{enviroment}}'}}\n"),
    "CYCLIC_REFERENCE": catalog(CONF.replace("[a, b]}", "[a, b], root: '${variables.root}/x'}")),
    "SECRET_IN_VARIABLES": catalog(CONF.replace("[a, b]}", "[a, b], key: '${secret:BUCKET_KEY}'}")),
    # Migration files.
    "MISNAMED_FILE": files(**{"add device": "SELECT 1"}),
    "DUPLICATE_VERSION": files(**{"0007_a": "SELECT 1", "0007_b": "SELECT 1"}),
    "NOT_UTF8": files(**{"0007_add_device": migration("SELECT 'caf\u00e9'").encode("latin-1")}),
    "MISSING_HEADER": files(**{"0007_add_device": commented("-- MIGRATION_AUTHOR: Data Platform Team")}),
    "INVALID_SQUASH": files(**{"0007_squashed": commented(LISTED.format("v1"))}),
    "BELOW_SQUASH": files(
        **{"0006_add_device": "SELECT 1", "0007_squashed": commented(LISTED.format(f"v1:sha256:{'0' * 64}"))}
    ),
    "DUPLICATE_HEADER": files(
        **{
            "0007_add_device": commented(
                "-- MIGRATION_DESCRIPTION: device\n-- MIGRATION_AUTHOR: Ana\n-- MIGRATION_AUTHOR: Ben"
            )
        }
    ),
    "UNKNOWN_HEADER": files(
        **{
            "0007_add_device": commented(
                "-- MIGRATION_DESCRIPTON: a\n-- MIGRATION_DESCRIPTION: device\n-- MIGRATION_AUTHOR: Ana"
            )
        }
    ),
    "NOT_WRITTEN": files(run=undo, **{"0007_add_device": "ALTER TABLE events RENAME COLUMN kind TO type"}),
    "LINT_FAILED": files(run=lint, **{"0007_add_device": "ALTER TABLE lake.a.t DROP COLUMN legacy"}),
    "UNKNOWN_RULE": catalog(f"{CONF}lint: {{rules: {{SD103: off}}}}\n", run=lint),
    "BROKEN_RULES": files(run=lint_with_broken_rules),
    "BROKEN_PACKAGE": pending_on(None),
    "NO_STORE": pending_on(ACME),
    "NOT_INVERTIBLE": files(
        run=lambda project: run_here(project, "new", "undo", "--author", "Ana", "--reverting", "7"),
        **{"0007_add_device": "SELECT 1"},
    ),
    "BASE_FILE_EDITED": against_base(lambda folder: (folder / "0007_add_scores.sql").write_text(migration("SELECT 2"))),
    "BASE_FILE_DELETED": against_base(lambda folder: (folder / "0001_create.sql").unlink()),
    "VERSION_BELOW_BASE": against_base(
        lambda folder: (folder / "0006_add_device.sql").write_text(migration("SELECT 1"))
    ),
    "REVIEW_FAILED": dropping,
    "COPY_NOT_STARTED": unstarted,
    # SQL.
    "UNDEFINED_VARIABLE": partition("bucket({{ variables.sleep.bucketSise }}, id)"),
    "UNPRINTABLE_VALUE": partition("{{ variables.columns }}"),
    "TEMPLATE_SYNTAX": partition("{{ }}"),
    "TEMPLATE_FAILED": partition("{{ 1 / 0 }}"),
    "UNTERMINATED_STRING": added("SELECT\n  'a"),
    "UNTERMINATED_IDENTIFIER": added("SELECT\n  `a"),
    "UNTERMINATED_COMMENT": added("SELECT\n  1 /* a"),
    "UNTERMINATED_BLOCK": added("\nBEGIN SELECT 1;"),
    "MISREAD_COMMENT": added("SELECT\n  1 -- C:\\\n  , 2"),
    "SPARK_SUBSTITUTION": added("SELECT\n  '${env:USER}'"),
    "MISSING_SEMICOLON": added("SET spark.wap.id=backfill\nALTER TABLE sleep.events ADD COLUMN device string"),
    "OTHER_TOOLS_SYNTAX": added("USE lake.sleep\nGO"),
    "NEEDS_CONFIGURATION": files(
        conf=CONF.replace("variables:", "      spark.sql.catalog.lake.type: rest\nvariables:"),
        **{"0007_add_device": "ALTER TABLE lake.sleep.events WRITE ORDERED BY id"},
    ),
    "NUL_CHARACTER": added("SELECT\n  '\0'"),
    "SURROGATE_CHARACTER": added("SELECT\n  '{{ \"\\ud83d\" }}'"),
    "TRANSACTION_BROKEN": files(
        conf=SNOWFLAKE,
        **{
            "0007_backfill": "BEGIN;\nDELETE FROM t;\nINSERT INTO t VALUES (1);\nALTER TABLE t ADD COLUMN a INT;\nCOMMIT;"
        },
    ),
    "TRANSACTION_NOT_ENDED": files(conf=SNOWFLAKE, **{"0007_backfill": "BEGIN;\nDELETE FROM t;"}),
}


@pytest.fixture(autouse=True)
def _environ(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of this machine decides, and the project is the one around the working directory."""
    monkeypatch.chdir(project.root)
    for name in [name for name in os.environ if name.startswith("GLACIERBASE_") or name == "CATALOG_CREDENTIAL"]:
        monkeypatch.delenv(name)


def printed(code: str, project: ProjectFolder) -> str:
    """The text of the error that the arrangement of a code raises, or that its command prints."""
    try:
        done = ARRANGED[code](project)
        assert isinstance(done, Output)
        text = done.stderr.partition("more: ")[0].rstrip()
    except GlacierbaseError as error:
        text = text_error(error)
    return text.replace(str(project.root), ROOT).replace(str(project.root.parent), "/srv")


@pytest.mark.parametrize("code", ARRANGED)
def test_the_example_of_an_entry_is_what_a_run_prints(code: str, project: ProjectFolder) -> None:
    """Message and hint are reproduced by a real run, with the project at the place of the examples."""
    assert printed(code, project) == ENTRIES[code].example
