"""The commands in hints lead out: each situation ends, whoever runs what is printed."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence
from contextlib import closing

import pytest

from glacierbase import Project
from tests.support.lakes import printed_commands
from tests.support.program import run_here
from tests.support.project_folder import Output, ProjectFolder
from tests.support.repository import commit_all, git, set_author

CATALOG = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties: {type: sql, uri: "sqlite:///${projectRoot}/lake.db", warehouse: "file://${projectRoot}/warehouse"}
"""
TABLES = ("orders", "returns", "stores")
MOST_STEPS = 3


@pytest.fixture
def shop(project: ProjectFolder) -> ProjectFolder:
    """A project with a file for each of three tables."""
    project.catalog(CATALOG)
    for number, table in enumerate(TABLES, start=1):
        create = f"CREATE NAMESPACE IF NOT EXISTS lake.web;\nCREATE TABLE lake.web.{table} (id BIGINT) USING iceberg"
        project.file(f"{number}_create_{table}.sql", create, description=f"Create the {table}")
    return project


def make(shop: ProjectFolder, tables: Sequence[str]) -> None:
    """Create tables outside of migrations."""
    target = Project.load(shop.root)._catalogs.only(["shop"])
    with closing(target.engine()) as engine, closing(engine.start().open_session()) as session:
        session.execute("CREATE NAMESPACE IF NOT EXISTS lake.web")
        for table in tables:
            session.execute(f"CREATE TABLE lake.web.{table} (id BIGINT) USING iceberg")


def followed(shop: ProjectFolder, *arguments: str) -> Output:
    """Run a command, and after an error the first command of its hint, until one ends without an error."""
    done = run_here(shop, *arguments)
    for _ in range(MOST_STEPS):
        if done.code == 0:
            break
        line = next(line for line in printed_commands(done.stderr) if not line.startswith("glacierbase explain"))
        _, *words = shlex.split(line.replace("…", "they exist"))
        done = run_here(shop, *words, *(["--yes"] if words[0] in ("baseline", "repair") else []))
    assert done.code == 0, done
    return done


SUBSETS = [
    tables for count in range(1, len(TABLES) + 1) for tables in itertools.combinations(TABLES, count)
]  # fmt: skip


@pytest.mark.parametrize(
    "command", ["baseline --to 3 --reason why --yes", "import tables * --baseline --reason why --yes --author me"]
)
@pytest.mark.parametrize("present", SUBSETS, ids="-".join)
def test_an_environment_with_some_of_the_tables_is_adopted_in_one_command(
    present: Sequence[str], command: str, shop: ProjectFolder
) -> None:
    """The tables that exist are recorded; the files of the others stay pending, and `migrate` runs them."""
    make(shop, present)
    followed(shop, *command.split())
    migrated = run_here(shop, "migrate")
    assert migrated.code == 0, migrated
    applied = [table for table in TABLES if f"create_{table}" in migrated.stdout]
    assert applied == [table for table in TABLES if table not in present]
    assert run_here(shop, "drift").code == 0


def test_a_file_with_tables_that_exist_and_tables_that_do_not_is_refused(shop: ProjectFolder) -> None:
    """Neither recorded nor run it would be right."""
    shop.file(
        "4_more.sql", "CREATE TABLE lake.web.a (id INT) USING iceberg;\nCREATE TABLE lake.web.b (id INT) USING iceberg"
    )
    make(shop, ["a"])
    done = run_here(shop, "baseline", "--to", "4", "--leave-missing", "--reason", "why", "--yes")
    assert (done.code, "lake.web.b: 4" in done.stderr) == (3, True), done
    assert run_here(shop, "pending", "--exit-code").code == 7


def test_two_files_of_one_version_that_a_merge_has_added_are_renamed(shop: ProjectFolder) -> None:
    """On the main branch, no file is new: `rebase` renames the one that was merged last."""
    root = shop.root
    git(root, "init", "-q", "-b", "main")
    set_author(root)
    (root / ".gitignore").write_text("*.db*\nwarehouse/\n")
    commit_all(root)
    for branch in ("one", "two"):
        git(root, "switch", "-qc", branch, "main")
        shop.file(
            f"4_{branch}.sql", f"ALTER TABLE lake.web.orders ADD COLUMN {branch} INT", description=f"Add {branch}"
        )
        commit_all(root, branch)
    git(root, "switch", "-q", "main")
    for branch in ("one", "two"):
        git(root, "merge", "-q", "--no-ff", "-m", f"merge {branch}", branch)
    assert "DUPLICATE_VERSION" in run_here(shop, "validate").stderr
    followed(shop, "validate")
    assert sorted(path.name for path in (root / "migrations/shop").glob("[45]_*")) == ["4_one.sql", "5_two.sql"]
    assert run_here(shop, "validate").code == 0


def test_a_shortened_header_suggests_the_whole_one(shop: ProjectFolder) -> None:
    """`MIGRATION_DESC` is no header that the catalog file could list."""
    path = shop.root / "migrations/shop/1_create_orders.sql"
    path.write_text(path.read_text().replace("MIGRATION_DESCRIPTION", "MIGRATION_DESC"))
    assert "did you mean MIGRATION_DESCRIPTION?" in run_here(shop, "validate").stderr


def test_a_decision_without_a_reason_asks_for_the_reason_first(shop: ProjectFolder) -> None:
    """A confirmation would be in vain."""
    assert "REASON_MISSING" in run_here(shop, "repair", "1", "--as", "edited").stderr


@pytest.mark.parametrize("comment", ["-- for the reports", "/* for the reports */"])
def test_a_planned_statement_can_be_pasted(comment: str, shop: ProjectFolder) -> None:
    """The semicolon is no part of a comment that ends the statement."""
    shop.file(
        "4_more.sql",
        f"ALTER TABLE lake.web.orders ADD COLUMN a INT {comment}\n;\nALTER TABLE lake.web.orders ADD COLUMN b INT",
    )
    lines = [line.strip(" |") for line in run_here(shop, "plan").stdout.splitlines()]
    [at] = [number for number, line in enumerate(lines) if "COLUMN a INT" in line]
    assert lines[at].split("--")[0].endswith(";") or lines[at + 1] == ";", lines
