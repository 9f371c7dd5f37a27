"""No command shows a literal secret of a migration file, whether it refuses the file or not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from glacierbase import secrets
from glacierbase.project.commands import COMMANDS
from glacierbase.secrets import literal_secrets
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all

CANARY = "hunter2-canary"
KEY = "AKIA" + "Z9" * 8
CATALOG = """\
migrationExecutor:
  type: iceberg
  conf: {name: lake, properties: {type: sql, uri: "sqlite:///FOLDER/lake.db", warehouse: "file://FOLDER/tables"}}
store: {type: embedded}
"""
BEFORE = "CREATE NAMESPACE lake.a;\nCREATE TABLE lake.a.t (id INT) USING iceberg"
# Each with a secret in another place of the text, and in what the throw-away copy shows of it.
STATEMENTS = (
    f"ALTER TABLE lake.a.t SET TBLPROPERTIES ('a.password' = '{CANARY}')",
    f"CREATE TABLE lake.a.u (id INT) USING iceberg TBLPROPERTIES ('a.token' '{CANARY}')",
    f"ALTER TABLE lake.a.t ALTER COLUMN id COMMENT 'password = \"{CANARY}\"'",
    f"ALTER TABLE lake.a.t SET LOCATION 's3://me:{CANARY}@b/t'",
    f"DELETE FROM lake.a.t WHERE token = '{CANARY}' OR password = '{CANARY}'",
    f"INSERT INTO lake.a.t SELECT '{KEY}'",
    f"ALTER TABLE lake.a.t ADD COLUMN k STRING DEFAULT '{KEY}'",
    f"ALTER TABLE lake.a.t DROP COLUMN `{KEY}`",
    f"CREATE USER ana PASSWORD = {CANARY}",
)
REASON = "--reason adopted"
# Each command with the arguments by which it reads the files.
LINES: Mapping[str, tuple[str, ...]] = {
    "show": ("show 2", "show r", "show 2 --format json"),
    "lint": tuple(f"lint --format {name}" for name in ("text", "json", "sarif", "github", "gitlab", "junit", "markdown")),
    "review": tuple(f"review --base HEAD~1 --format {name}" for name in ("text", "json", "sarif", "markdown")),
    "check": tuple(f"check --base HEAD~1 --format {name}" for name in ("text", "json", "markdown")),
    "validate": ("validate", "validate --base HEAD~1"), "render": ("render", "render --format json"),
    "plan": ("plan", "plan --format json", "plan --output plan.json"), "pending": ("pending --format json",),
    "status": ("status --format json",), "migrate": ("migrate --yes",), "baseline": (f"baseline --to 2 {REASON}",),
    "report": ("report --output report.html",), "history": ("history --events",), "doctor": ("doctor",),
    "layout-explain": ("layout explain migrations/shop/0002_b.sql", "layout explain lake.a.t"),
    "layout-advise": ("layout advise --table lake.a.t --put-per-second 9000",),
    "new": ("new another", "new back --reverting 2"), "new-matching": ("new same --to-match env:default",),
    "rebase": ("rebase --base HEAD~1",), "squash": ("squash --to 2",), "repair": (f"repair 2 --as withdrawn --yes {REASON}",),
    "compare": ("compare files:default env:default",), "export-state": ("export-state --output state.json",), "drift": ("drift",),
    "schema": ("schema lake.a.t",), "blame": ("blame lake.a.t",), "access": ("access plan --migrator m --writers w",),
    "drift-adopt": (f"drift adopt {REASON}",), "drift-revert": (f"drift revert {REASON}",),
    "drift-ignore": (f"drift ignore --table lake.a.t {REASON}",), "import-tables": ("import tables lake.a.*",),
    "unlock": (f"unlock --yes {REASON}",), "env": ("env",), "rekey-plan": ("rekey plan lake.a.t --to object-storage",),
}  # fmt: skip
# These read no migration.
OTHERS = {
    "completion", "explain", "help", "import", "init", "layout-ls", "layout-profile", "layout-simulate", "rekey-approve", "rules",
    "schemas", "sharding-advise", "warm",
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> ProjectFolder:
    """A project in git, whose last commit adds a version and a repeatable with secrets."""
    project = ProjectFolder(tmp_path / "project")
    project.catalog(CATALOG.replace("FOLDER", str(tmp_path)))
    project.file("0001_a.sql", BEFORE)
    commit_all(project.root)
    for name in ("0002_b.sql", "repeatable/r.sql"):
        project.file(name, ";\n".join(STATEMENTS))
    commit_all(project.root)
    return project


@pytest.mark.parametrize("command", LINES)
def test_no_command_shows_a_literal_secret(command: str, project: ProjectFolder) -> None:
    """Neither on the terminal nor in a file that it writes."""
    before = {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}
    for line in LINES[command]:
        done = run_here(project, *line.split())
        assert "Usage:" not in done.stderr, done.stderr
        written = [path for path in project.root.rglob("*") if path.is_file() and path not in before]
        texts = [done.stdout, done.stderr, *(path.read_text("utf-8", "replace") for path in written)]
        assert not [text for text in texts if CANARY in text or KEY in text], line


def test_every_command_that_reads_migrations_is_tried() -> None:
    """A new command needs a line above."""
    assert {name for name, command in COMMANDS.items() if not command.is_group} == LINES.keys() | OTHERS


@pytest.mark.parametrize("sql", STATEMENTS)
def test_the_whole_secret_is_masked(sql: str) -> None:
    """The literals are the secrets themselves, without a rest before or after them."""
    assert set(literal_secrets(sql)) == {KEY if KEY in sql else CANARY}


def test_a_secret_that_a_comment_allows_is_shown(project: ProjectFolder) -> None:
    """The comment says that the text is no secret."""
    project.file("0003_c.sql", f"-- GLACIERBASE_ALLOW: FL113 an example\nINSERT INTO lake.a.t SELECT 'AKIA{'Q7' * 8}'")
    assert f"AKIA{'Q7' * 8}" in run_here(project, "show", "3").stdout


def test_a_file_with_more_secrets_than_can_be_masked_is_refused(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is shown."""
    monkeypatch.setattr(secrets, "_MOST_CHARACTERS", 2_000)
    values = ", ".join(f"'{number}.password' = '{CANARY}-{number}'" for number in range(9))
    project.file("0003_c.sql", f"ALTER TABLE lake.a.t SET TBLPROPERTIES ({values})")
    for command in ("show 3", "lint", "review --base HEAD~1"):
        done = run_here(project, *command.split())
        assert "SECRET_IN_SQL" in done.stdout + done.stderr
        assert CANARY not in done.stdout + done.stderr
