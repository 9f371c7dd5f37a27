"""`squash` without an engine: what it refuses, what it writes, and what git has afterwards."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glacierbase.apply.plan import Selection
from glacierbase.capabilities.authoring.squash import file as squash_file
from glacierbase.capabilities.authoring.squash.squash import SquashResult, squash
from glacierbase.errors import ConfigurationError, GlacierbaseError, HistoryDisagrees
from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.migrations.folder import load_migrations
from glacierbase.model.shape import Column, Shape
from tests.support.program import call_program
from tests.support.project_folder import Output, ProjectFolder
from tests.support.repository import commit_all, git, set_author
from tests.support.world import World

TABLE = Shape("lake.a.t", "u1", "iceberg", 2, (Column(1, "id", "int"),))
FILES = {
    "0001_t.sql": "CREATE NAMESPACE lake.a;\nCREATE TABLE lake.a.t (id int)",
    "0002_more.sql": "ALTER TABLE lake.a.t ADD COLUMN b int;\nINSERT INTO lake.a.t VALUES ({{ variables.size }})",
}


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> dict[str, Shape]:
    """The tables that exist, by name; a test may change them."""
    found = {"lake.a.t": TABLE}
    monkeypatch.setattr(ShapeReader, "read", lambda _, table: found.get(table))
    return found


@pytest.fixture
def world(project: ProjectFolder, shapes: dict[str, Shape], monkeypatch: pytest.MonkeyPatch) -> World:
    """A project in git with two files that are applied, by an engine that runs anything."""
    monkeypatch.chdir(project.root)
    world = World(project)
    execute = type(world.engine.open_session()).execute
    allowed = (
        "CREATE NAMESPACE",
        "ALTER",
        "INSERT",
        "CREATE TABLE lake",
        "CALL",
        "USE",
        "GRANT",
        "CREATE VIEW",
        "DROP",
    )

    def run(session: Any, sql: str, *arguments: Any, **options: Any) -> Any:
        return execute(session, "SELECT 1" if sql.startswith(allowed) else sql, *arguments, **options)

    monkeypatch.setattr(type(world.engine.open_session()), "execute", run)
    world.begin()
    applied(world, FILES)
    return world


def applied(world: World, files: dict[str, str]) -> None:
    for name, sql in files.items():
        world.file(name, sql)
    world.target()
    commit_all(world.project.root)
    set_author(world.project.root)
    world.migrate()


def run(world: World, to: int = 2, **options: Any) -> SquashResult:
    empty = SquashResult("shop", "default")
    return squash(world.target(), empty, to=to, author="Ana", **{"dry_run": False, "commit": False, **options})


def names(world: World) -> list[str]:
    return sorted(path.name for path in Path(world.project.root, "migrations/shop").iterdir())


def refusal(world: World, to: int = 2) -> GlacierbaseError:
    """Return the error of a squash that changes no file and no index."""
    before = names(world), git(world.project.root, "status", "--porcelain", "--ignored")
    with pytest.raises(GlacierbaseError) as caught:
        run(world, to)
    assert (names(world), git(world.project.root, "status", "--porcelain", "--ignored")) == before
    return caught.value


def check_refused(world: World, *texts: str, to: int = 2) -> None:
    error = refusal(world, to)
    assert isinstance(error, HistoryDisagrees)
    assert error.code == "SQUASH_REFUSED"
    assert "nothing was written" in error.message
    for text in texts:
        assert text in error.message


def test_the_file_takes_the_place_of_those_that_it_lists(world: World) -> None:
    """Nothing is committed unless that is wanted; the history is not written."""
    events = list(world.events)
    made = run(world)
    assert names(world) == ["0002_squashed.sql"]
    assert (made.path, made.tables, made.commit) == ("migrations/shop/0002_squashed.sql", ("lake.a.t",), None)
    assert made.removed == ("migrations/shop/0001_t.sql", "migrations/shop/0002_more.sql")
    text = Path(made.path).read_text()
    assert made.sql == text
    assert "CREATE NAMESPACE IF NOT EXISTS lake.a;" in text
    assert "--   - rows (1 version: 0002)" in text
    assert "--   - variables: it has the values of default of size" in text
    status = git(world.project.root, "status", "--porcelain", "--no-renames").splitlines()
    assert sorted(status) == sorted([f"A  {made.path}", *(f"D  {path}" for path in made.removed)])
    assert world.events == events
    assert world.migrator().plan(Selection()).migrations == ()


def test_the_commit_has_the_replacement_and_nothing_else(world: World) -> None:
    """What else is staged stays staged."""
    Path("other.txt").write_text("x")
    git(world.project.root, "add", "other.txt")
    made = run(world, commit=True)
    assert made.commit == git(world.project.root, "rev-parse", "HEAD")
    assert git(world.project.root, "status", "--porcelain") == "A  other.txt"
    shown = git(world.project.root, "show", "--no-renames", "--name-status", "--format=", "HEAD")
    assert shown.split() == ["D", made.removed[0], "D", made.removed[1], "A", made.path]


def test_a_commit_that_git_refuses_leaves_the_replacement(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says so, and does not claim that nothing was done."""
    for key in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(key, os.devnull)
    git(world.project.root, "config", "--remove-section", "user")
    git(world.project.root, "config", "user.useConfigOnly", "true")
    with pytest.raises(ConfigurationError, match="the files are replaced, but git did not commit that: ") as caught:
        run(world, commit=True)
    assert (caught.value.code, caught.value.state) == ("GIT_FAILED", "")
    assert names(world) == ["0002_squashed.sql"]


def test_a_dry_run_writes_nothing(world: World) -> None:
    """The text is that of the real run."""
    shown = run(world, dry_run=True)
    assert names(world) == list(FILES)
    assert git(world.project.root, "status", "--porcelain") == ""
    assert run(world).sql == shown.sql


def test_an_environment_that_is_not_there_is_refused(world: World) -> None:
    """Pending, past it, or no such version."""
    world.file("0003_later.sql", "ALTER TABLE lake.a.t ADD COLUMN c int")
    commit_all(world.project.root)
    check_refused(world, "has not applied 0003", to=3)
    world.migrate()
    check_refused(world, "is past 0002: 0003 is applied")
    assert refusal(world, 9).code == "UNKNOWN_VERSION"
    assert run(world, 3).path.endswith("0003_squashed.sql")


def test_a_run_while_the_tables_are_read_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The changes of such a run may be in some of the shapes."""

    def overtaken(_: ShapeReader, table: str) -> Shape:
        world.file("0003_later.sql", "ALTER TABLE lake.a.t ADD COLUMN c int")
        world.migrate()
        return TABLE

    monkeypatch.setattr(ShapeReader, "read", overtaken)
    with pytest.raises(HistoryDisagrees) as caught:
        run(world)
    assert "while the tables were read" in caught.value.message
    assert names(world) == [*FILES, "0003_later.sql"]


def edited(world: World) -> None:
    path = Path("migrations/shop/0001_t.sql")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def untracked(world: World) -> None:
    git(world.project.root, "rm", "-q", "--cached", "migrations/shop/0001_t.sql")
    git(world.project.root, "commit", "-qm", "untracked")


def ignored(world: World) -> None:
    untracked(world)
    Path(".git/info/exclude").write_text("0001_*\n")


def staged(world: World) -> None:
    git(world.project.root, "rm", "-q", "--cached", "migrations/shop/0001_t.sql")
    git(world.project.root, "commit", "-qm", "untracked")
    git(world.project.root, "add", "migrations/shop/0001_t.sql")


def assumed(world: World) -> None:
    git(world.project.root, "update-index", "--assume-unchanged", "migrations/shop/0001_t.sql")


def skipped(world: World) -> None:
    git(world.project.root, "update-index", "--skip-worktree", "migrations/shop/0001_t.sql")


@pytest.mark.parametrize("change", [edited, untracked, ignored, staged, assumed, skipped])
def test_a_file_that_git_does_not_have_is_not_removed(world: World, change: Callable[[World], None]) -> None:
    """A file that git does not have could not be restored after its removal."""
    change(world)
    check_refused(world, "0001_t.sql")


def test_no_repository_is_no_place_to_remove_files(world: World) -> None:
    """Nothing is written outside of git."""
    Path(".git").rename("../git")
    with pytest.raises(ConfigurationError) as caught:
        run(world)
    assert (caught.value.code, names(world)) == ("GIT_FAILED", list(FILES))


def test_where_git_refuses_nothing_is_written(world: World) -> None:
    """Another git process holds the index."""
    Path(".git/index.lock").touch()
    with pytest.raises(ConfigurationError) as caught:
        run(world)
    assert (caught.value.code, names(world)) == ("GIT_FAILED", list(FILES))


def test_files_that_git_removed_before_it_failed_are_restored_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The printed command discards no other change."""

    def failing(root: Path, *arguments: str) -> bytes:
        if "rm" in arguments:
            called_git(root, *arguments[:-1])
            raise squash_file.GitFailed("disk full")
        return called_git(root, *arguments)

    Path("notes.txt").write_text("committed")
    commit_all(world.project.root)
    Path("notes.txt").write_text("changed")
    called_git = squash_file.git
    monkeypatch.setattr(squash_file, "git", failing)
    with pytest.raises(ConfigurationError) as caught:
        run(world)
    assert names(world) == ["0002_more.sql"]
    [restoring] = re.findall(r"`([^`]*)` restores them", caught.value.message)
    subprocess.run(restoring, shell=True, check=True, capture_output=True)
    assert names(world) == list(FILES)
    assert Path("notes.txt").read_text() == "changed"


def test_an_interrupt_before_the_files_are_removed_leaves_no_squash(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are as they were."""

    def interrupted(root: Path, *arguments: str) -> bytes:
        if "rm" in arguments:
            raise KeyboardInterrupt
        return called_git(root, *arguments)

    called_git = squash_file.git
    monkeypatch.setattr(squash_file, "git", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(world)
    assert names(world) == list(FILES)
    assert git(world.project.root, "status", "--porcelain") == ""


def test_what_is_left_out_is_said(world: World) -> None:
    """Views, grants, calls and abandoned versions, each with its versions."""
    applied(
        world,
        {
            "0003_v.sql": "CREATE VIEW lake.a.v AS SELECT 1;\nGRANT SELECT ON TABLE lake.a.t TO r",
            "0004_c.sql": "CALL lake.system.expire_snapshots('a.t')",
        },
    )
    text = "\n".join(run(world, 4).lines())  # type: ignore[arg-type]
    for expected in ("views (1 version: 0003)", "grants (1 version: 0003)", "calls of procedures (1 version: 0004)"):
        assert f"left out: {expected}" in text


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("ALTER TABLE lake.a.t SET TBLPROPERTIES ('of' = '{{ environment }}')", "environment, size"),
        ("{% if environment == 'default' %}ALTER TABLE lake.a.t ADD COLUMN c int;{% endif %}", "environment, size"),
        ("{% set all = variables %}ALTER TABLE lake.a.t SET TBLPROPERTIES ('n' = '{{ all.size }}')", "size, variables"),
        ("ALTER TABLE lake.a.t SET TBLPROPERTIES ('{{ variables['size'] }}' = 'environment')", "size"),
    ],
)
def test_what_may_differ_per_environment_is_said(world: World, sql: str, names: str) -> None:
    """A template may name its environment, so that another one would get the tables of this one."""
    applied(world, {"0003_per_environment.sql": sql})
    assert f"variables: it has the values of default of {names}" in run(world, 3).left_out


# Each place of an expression in a file, and whether the squash has the value of the other environment there.
_PLACES = {
    "ALTER TABLE {} ADD COLUMN c int": True,
    "ALTER TABLE {} ADD COLUMN c int COMMENT 'of {}'": False,
    "ALTER TABLE {} SET TBLPROPERTIES ('from' = '{}')": False,
    "ALTER TABLE {} SET TBLPROPERTIES ('from' = \"{}\")": False,
    "-- Don't drop {}\nALTER TABLE {} SET TBLPROPERTIES ('from' = '{}')": False,
    "-- Don't drop {}\nALTER TABLE {} ADD COLUMN c int": True,
    "/* It isn't {} */ ALTER TABLE {} ADD COLUMN c int": True,
    "ALTER TABLE {} ADD COLUMN `it's` int;\nALTER TABLE {} SET TBLPROPERTIES ('from' = '{}')": False,
    "INSERT INTO {} SELECT * FROM {}": True,
    "INSERT INTO {} VALUES ('{{ variables.space }}')": False,
}
_NAMES = ("lake.{{ variables.space }}.u", "lake.{{ variables['space'] }}.u", "{{ 'lake.' ~ variables.space }}.u")


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("place", _PLACES)
def test_a_variable_is_said_unless_it_is_only_in_names_of_tables(
    world: World, shapes: dict[str, Shape], place: str, name: str
) -> None:
    """A text that holds the name of a table has the value of one environment, as any other text has."""
    shapes["lake.a.u"] = replace(TABLE, table="lake.a.u", uuid="u2")
    world.variables = world.variables.replace("{", "{space: a, ")
    texts = {"0003_u.sql": f"CREATE TABLE {name} (id int)", "0004_place.sql": place.replace("{}", name)}
    applied(world, texts)
    [line] = [line for line in run(world, 4).left_out if line.startswith("variables: ")]
    assert line.endswith("of size" if _PLACES[place] else "of size, space")


def test_a_table_that_only_the_environment_lacks_is_said(world: World) -> None:
    """Somebody dropped it by hand; a table that a file drops or renames is missed by nobody."""
    applied(
        world,
        {
            "0003_tables.sql": "CREATE TABLE lake.a.lost (id int);\nCREATE TABLE lake.a.old (id int);\n"
            "CREATE TABLE lake.a.was (id int)",
            "0004_drop.sql": "DROP TABLE lake.a.old;\nALTER TABLE lake.a.was RENAME TO lake.a.T",
        },
    )
    [said] = [each for each in run(world, 4).left_out if "do not exist" in each]
    assert said == "tables that do not exist in default, although no file drops them: lake.a.lost"


def test_a_path_that_is_taken_is_not_overwritten(world: World) -> None:
    """A file of that name may be one of those that are replaced."""
    applied(world, {"0003_squashed.sql": "ALTER TABLE lake.a.t ADD COLUMN c int"})
    assert refusal(world, 3).code == "ALREADY_EXISTS"


def test_a_second_squash_lists_both(world: World) -> None:
    """The first one, and what it replaced."""
    run(world, commit=True)
    check_refused(world, "is a squash already")
    applied(world, {"0003_c.sql": "ALTER TABLE lake.a.t ADD COLUMN c int"})
    run(world, 3, commit=True)
    [file], errors = load_migrations(Path("migrations/shop").resolve(), world.project.root)
    assert errors == []
    assert [(each.version, each.is_squash) for each in file.squashes] == [
        ("0001", False), ("0002", False), ("0002", True), ("0003", False),
    ]  # fmt: skip
    assert world.migrator().plan(Selection()).migrations == ()


def test_hostile_texts_of_a_table_stay_texts(world: World, shapes: dict[str, Shape]) -> None:
    """No template, no header, no statement, no escape sequence comes from a comment or a name."""
    text = "{{ 1/0 }}{% raw %}\n-- MIGRATION_AUTHOR: x\n'; DROP TABLE t; --${x}\x1b[2J{{{%"
    column = Column(1, "`{{ x }};`", "int", comment=text)
    properties = {text: text, "comment": text, "write.data.path": "s3://old/place"}
    shapes["lake.a.t"] = replace(TABLE, columns=(column,), properties=properties)
    world.variables += "drift: {ignore: [{table: '*', what: '*', reason: it is no migration's}]}\n"
    world.target()
    commit_all(world.project.root)
    made = run(world)
    assert "s3://old/place" not in made.sql
    assert "Not exact: lake.a.t: the property write.data.path says where files are, and is left out" in made.left_out
    assert "\x1b" not in made.sql
    [compiled] = world.target().compile(world.target().migrations)
    assert compiled.migration.author == "Ana"
    assert [each.text.split()[0] for each in compiled.statements] == ["CREATE", "CREATE", "ALTER"]
    assert subprocess.run(["git", "diff", "--quiet"], check=False).returncode == 0


def called(world: World, patch: pytest.MonkeyPatch, *arguments: str, typed: str | None = None) -> Output:
    """Call the program on the world; with something typed, at a terminal."""
    patch.setattr("glacierbase.project.each.load_targets", lambda *_: [world.target()])
    return call_program(["squash", "--to", "2", "--author", "Ana", *arguments], typed)


@pytest.mark.parametrize(("typed", "is_committed"), [("y\n", True), ("n\n", False), (None, False)])
def test_the_commit_is_offered_at_a_terminal(
    world: World, monkeypatch: pytest.MonkeyPatch, typed: str | None, is_committed: bool
) -> None:
    """Elsewhere the change is staged and not committed."""
    before = git(world.project.root, "rev-parse", "HEAD")
    told = called(world, monkeypatch, typed=typed)
    assert told.code == 0, told
    assert names(world) == ["0002_squashed.sql"]
    assert (git(world.project.root, "rev-parse", "HEAD") != before) == is_committed
    asked = "also commit migrations/shop/0002_squashed.sql in place of 2 files (otherwise the change is only staged)"
    assert (asked in told.stderr) == (typed is not None)


def test_the_document_of_a_squash_fits_its_schema(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dry run has the text of the file."""
    told = called(world, monkeypatch, "--dry-run", "--format", "json")
    assert told.code == 0, told
    assert told.entry()["sql"].startswith("-- MIGRATION_DESCRIPTION: Create the tables of versions 0001 to 0002\n")
    assert (told.entry()["dry_run"], told.entry()["commit"]) == (True, None)
    shown = called(world, monkeypatch, "--dry-run")
    assert "CREATE TABLE lake.a.t (" in shown.stdout
    assert "nothing was written" in shown.stdout
