"""The examples of errors of `migrate` are what a run prints, but for ids, times, names of users and machines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Selection
from glacierbase.errors import GlacierbaseError, OutcomeUnknown, StatementRefused
from glacierbase.errors.reference import ENTRIES
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.headers import header_lines, squashed_by
from tests.support.errors import text_error
from tests.support.fakes import lost_answer
from tests.support.project_folder import ProjectFolder, migration
from tests.support.repository import commit_all
from tests.support.world import World

CREATE = "CREATE TABLE t (a INT)"
# One that is done, one that an engine rejects, one that does not run; in lines 4, 6 and 8.
THREE = (
    "INSERT INTO t VALUES (0);\n\nALTER TABLE lake.sleep.event ADD COLUMN device STRING;\n\nINSERT INTO t VALUES (2)"
)
# What differs from run to run.
VARYING = {
    r"run [0-9a-f]{8,}": "run ID",
    r" of \S+ on \S+(?= |\n|$)": " of USER on HOST",
    r"\(pid \d+\)": "(pid PID)",
    r" UTC \(.+? ago\)": " UTC (AGE)",
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?": "INSTANT",
    r"event \d+": "event NUMBER",
    r"v1:sha256:[0-9a-f]+…?": "CHECKSUM",
}


class Sleep(World):
    """The world of the examples."""

    def __init__(self, project: ProjectFolder) -> None:
        super().__init__(project)
        self.environment = "prod"

    def migrator(self, name: str = "analytics", **options: Any) -> Migrator:
        return super().migrator(name, **options)

    def add(self, name: str, sql: str = CREATE) -> None:
        self.project.file(f"{name}.sql", sql, "analytics")

    def path(self, name: str) -> str:
        return str(self.project.root / "migrations/analytics" / f"{name}.sql")

    def refuse(self, kind: type[GlacierbaseError] | None = None) -> None:
        """Apply a file, and stop in the next one, which has three statements, at its second."""

        def action(_: str) -> None:
            if kind:
                lost_answer()
            message = "The table or view `lake`.`sleep`.`event` cannot be found."
            raise StatementRefused("TABLE_OR_VIEW_NOT_FOUND", message)

        self.add("0003_add_scores")
        self.add("0007_add_device", THREE)
        self.break_at("ADD COLUMN device", action)

    def stop(self, kind: type[GlacierbaseError] | None = None) -> None:
        self.refuse(kind)
        with pytest.raises(GlacierbaseError):
            self.migrate()


def applied(world: Sleep, *names: str) -> None:
    for number, name in enumerate(names):
        world.add(name, f"CREATE TABLE t{number} (a INT)")
    world.migrate()


def failed(world: Sleep) -> None:
    world.refuse()


def unknown(world: Sleep) -> None:
    world.stop(OutcomeUnknown)


def edited(world: Sleep) -> None:
    applied(world, "0003_add_scores")
    world.add("0003_add_scores", "CREATE TABLE other (a INT)")


def deleted(world: Sleep) -> None:
    applied(world, "0003_add_scores", "0004_more")
    commit_all(world.project.root)
    (world.project.root / "migrations/analytics/0003_add_scores.sql").unlink()


def late(world: Sleep) -> None:
    applied(world, "0007_add_scores")
    world.add("0006_add_device", "CREATE TABLE late (a INT)")
    commit_all(world.project.root)


def done_edited(world: Sleep) -> None:
    world.add("0003_add_scores")
    world.add("0007_add_device", "INSERT INTO t VALUES (0);\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2)")
    world.break_at("VALUES (2)", lambda _: refuse_once())
    with pytest.raises(GlacierbaseError):
        world.migrate()
    world.add("0007_add_device", "INSERT INTO t VALUES (9);\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2)")


def computed_variable(world: Sleep) -> None:
    world.add("0003_add_scores")
    computed = "SET VAR newest = (SELECT max(id) FROM lake.sleep.event)"
    world.add("0007_add_device", f"{computed};\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2)")
    world.break_at("VALUES (1)", lambda _: refuse_once())
    with pytest.raises(GlacierbaseError):
        world.migrate()


def refuse_once() -> None:
    raise StatementRefused("X", "no")


def other_environment(world: Sleep) -> None:
    applied(world, "0003_add_scores")
    world.environment = "dev"


def renamed(world: Sleep) -> None:
    applied(world, "0003_add_scores")
    world.tables.histories["events"] = world.tables.histories.pop("analytics")
    world.tables.locks["events"] = world.tables.locks.pop("analytics")


def squashed(world: Sleep) -> None:
    applied(world, "0003_add_scores")
    world.add("0007_add_device")
    folder = world.project.root / "migrations/analytics"
    files, _ = load_migrations(folder, world.project.root)
    for file in files:
        file.path.unlink()
    text = "\n".join([*header_lines(squashed_by(files)), migration(CREATE)])
    (folder / "0007_squashed.sql").write_text(text)


def held(world: Sleep) -> None:
    world.add("0003_add_scores")

    def look(_: str) -> None:
        world.migrate()

    world.break_at("CREATE", look)


def future(world: Sleep) -> None:
    applied(world, "0003_add_scores")
    world.tables.locks["analytics"] = replace(world.tables.locks["analytics"], format_version=2)


def lost(world: Sleep) -> None:
    applied(world, "0003_add_scores")
    row = world.tables.locks["analytics"]
    world.tables.locks["analytics"] = replace(row, head_sequence=52)


def doubled(world: Sleep) -> None:
    applied(world, "0003_add_scores")
    world.tables.rows["analytics"] = (world.tables.locks["analytics"],) * 2


def damaged(world: Sleep) -> None:
    applied(world, "0003_add_scores", "0004_more", "0005_more")
    del world.tables.histories["analytics"][1]


def closed(world: Sleep) -> None:
    world.add("0003_add_scores")
    world.variables += "hooks: {beforeMigrate: [sh, -c, 'echo the release window opens at 18:00; exit 1']}\n"


def silent(world: Sleep) -> None:
    world.add("0003_add_scores")

    def refuse(verb: str) -> None:
        raise OutcomeUnknown("ConnectError", "https://catalog.example.com/v1/config: Connection refused")

    world.store_before = refuse


RUNS: dict[str, tuple[Callable[[Sleep], None], Selection]] = {
    "STATEMENT_FAILED": (failed, Selection()),
    "OUTCOME_UNKNOWN": (unknown, Selection()),
    "CHECKSUM_MISMATCH": (edited, Selection()),
    "MIGRATION_MISSING": (deleted, Selection()),
    "OUT_OF_ORDER": (late, Selection()),
    "DONE_STATEMENT_CHANGED": (done_edited, Selection()),
    "SESSION_NOT_RESTORED": (computed_variable, Selection()),
    "ENVIRONMENT_MISMATCH": (other_environment, Selection()),
    "CATALOG_RENAMED": (renamed, Selection()),
    "SQUASH_DISAGREES": (squashed, Selection()),
    "LOCK_HELD": (held, Selection()),
    "LOCK_DAMAGED": (doubled, Selection()),
    "FORMAT_TOO_NEW": (future, Selection()),
    "HISTORY_LOST": (lost, Selection()),
    "HISTORY_DAMAGED": (damaged, Selection()),
    "HOOK_FAILED": (closed, Selection()),
    "STORE_UNAVAILABLE": (silent, Selection()),
    "UNKNOWN_VERSION": (lambda world: world.add("0003_add_scores"), Selection(to="0070")),
    "CONFLICTING_OPTIONS": (lambda world: world.add("0003_add_scores"), Selection("0003", "0003", "a reason")),
}


def comparable(text: str) -> str:
    for pattern, name in VARYING.items():
        text = re.sub(pattern, name, text)
    return text


def printed(code: str, project: ProjectFolder) -> str:
    """The text of the error that a run ends with."""
    arrange, selection = RUNS[code]
    world = Sleep(project)
    arrange(world)
    with pytest.raises(GlacierbaseError) as caught:
        world.migrate(selection)
    return text_error(caught.value)


@pytest.mark.parametrize("code", RUNS)
def test_the_example_of_an_entry_is_what_migrate_prints(code: str, project: ProjectFolder) -> None:
    """Message and hint are reproduced by a run in memory."""
    assert comparable(printed(code, project)) == comparable(ENTRIES[code].example)
