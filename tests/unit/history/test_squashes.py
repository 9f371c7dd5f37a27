"""A squash and the files that it replaces, against histories that have the one or the others."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glacierbase.apply.baseline import baseline
from glacierbase.apply.plan import Selection
from glacierbase.capabilities.authoring.new import reverting_sql
from glacierbase.errors import (
    ConfigurationError,
    GlacierbaseError,
    HistoryDisagrees,
    NeedsRepair,
    SeveralErrors,
    StatementRefused,
)
from glacierbase.history.details import Details, details_of, to_json
from glacierbase.history.state import read_state
from glacierbase.inspect.status import statuses
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.headers import header_lines, squashed_by
from glacierbase.model.migration import AppliedBy, Event
from tests.support.fakes import lost_answer
from tests.support.project_folder import ProjectFolder, migration
from tests.support.repository import commit_all, git
from tests.support.world import World

CREATED = "CREATE TABLE t (a INT, b INT, c INT)"
OLD = {
    "0001_t.sql": "CREATE TABLE t (a INT)",
    "0002_b.sql": "ALTER TABLE t ADD COLUMN b INT",
    "0003_c.sql": "ALTER TABLE t ADD COLUMN c INT",
}
LATER = {"0004_d.sql": "ALTER TABLE t ADD COLUMN d INT", "0005_e.sql": "ALTER TABLE t ADD COLUMN e INT"}


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project with three files, none of which is applied."""
    world = World(project)
    add(world, OLD)
    return world


def add(world: World, files: dict[str, str]) -> None:
    for name, sql in files.items():
        world.file(name, sql)


def folder(world: World) -> Path:
    return world.project.root / "migrations/shop"


def squash(world: World, to: int = 3, sql: str = CREATED) -> Path:
    """Replace the files up to a version by a squash, as the command does."""
    found, _ = load_migrations(folder(world), world.project.root)
    files = [each for each in found if each.version and each.number <= to]
    head, body = migration(sql).split("\n\n", 1)
    path = folder(world) / f"{files[-1].version}_squashed.sql"
    for each in files:
        each.path.unlink()
    path.write_text("\n".join([head, *header_lines(squashed_by(files)), "", body]))
    return path


def older_checkout(world: World) -> None:
    """Restore the files from before the squash, and none else."""
    for path in folder(world).glob("*_squashed.sql"):
        path.unlink()
    add(world, OLD)


def fresh(project: ProjectFolder) -> World:
    """Return another environment of the same project, in which nothing is applied."""
    return World(project)


def pending(world: World) -> list[str]:
    return [each.version for each in world.migrator().plan(Selection()).migrations]


def states(world: World) -> dict[str, str]:
    return {item.version or "": item.state.value for item, _ in statuses(world.target(), world.state.history)}


def refused(world: World, selection: Selection = Selection()) -> GlacierbaseError:  # noqa: B008 (frozen)
    """Return the error of `migrate`, which records nothing."""
    before = list(world.events)
    with pytest.raises(GlacierbaseError) as caught:
        world.migrate(selection)
    assert world.events == before
    return caught.value


def disagrees(world: World, *versions: str, selection: Selection = Selection()) -> HistoryDisagrees:  # noqa: B008 (frozen)
    error = refused(world, selection)
    assert isinstance(error, HistoryDisagrees)
    assert (error.code, error.exit_code, error.data["versions"]) == ("SQUASH_DISAGREES", 3, list(versions))
    return error


def test_where_all_of_it_is_applied_nothing_runs_and_nothing_is_recorded(world: World) -> None:
    """The replaced versions stay applied by their own runs; none is missing, changed or pending."""
    world.migrate()
    before = list(world.events)
    squash(world)
    assert pending(world) == []
    assert states(world) == {"0001": "applied", "0002": "applied", "0003": "applied"}
    world.migrate()
    assert world.events == before
    assert [status.note for _, status in statuses(world.target(), world.state.history)] == [None, None, None]


def test_where_nothing_is_applied_only_the_squash_runs(world: World) -> None:
    """The squash is recorded under its version, with what it replaces; later files follow."""
    squash(world)
    add(world, LATER)
    assert pending(world) == ["0003", "0004", "0005"]
    world.migrate()
    assert {event.version for event in world.events} == {"0003", "0004", "0005"}
    assert [each.version for each in details_of(world.events[0]).squashes] == ["0001", "0002", "0003"]
    assert states(world) == {"0003": "applied", "0004": "applied", "0005": "applied"}
    before = list(world.events)
    world.migrate()
    assert world.events == before


def test_files_after_it_run_everywhere(world: World) -> None:
    """An old environment goes on with the version after the squash."""
    world.migrate()
    squash(world)
    add(world, LATER)
    assert pending(world) == ["0004", "0005"]
    world.migrate()
    assert world.engine.rows("SELECT a, b, c, d, e FROM t") == []


def test_in_the_middle_of_it_nothing_runs(world: World) -> None:
    """The error names what is not done and the commit to go to; `status` shows the versions one by one."""
    world.migrate(Selection(to="2"))
    path = squash(world)
    add(world, LATER)
    error = disagrees(world, "0003")
    assert f"-- {path.relative_to(world.project.root)}" in error.hint
    assert "glacierbase migrate --to 0003" in error.hint
    assert states(world) == {
        "0001": "applied", "0002": "applied", "0003": "pending", "0004": "pending", "0005": "pending",
    }  # fmt: skip
    older_checkout(world)
    world.migrate(Selection(to="3"))
    squash(world)
    assert pending(world) == ["0004", "0005"]


def test_the_commands_of_the_message_complete_the_environment(world: World) -> None:
    """The commands apply the rest at the commit before the squash; then the squash has nothing to do."""
    root = world.project.root
    world.migrate(Selection(to="2"))
    commit_all(root)
    squash(world)
    commit_all(root, "squash")
    add(world, LATER)
    commit_all(root, "later")
    hint = disagrees(world, "0003").hint
    checkout, migrate = re.findall(r"`([^`]*)`", hint)
    subprocess.run(checkout, shell=True, check=True, cwd=root, capture_output=True)
    assert migrate == "glacierbase migrate --to 0003"
    world.migrate(Selection(to="0003"))
    git(root, "switch", "-q", "main")
    assert pending(world) == ["0004", "0005"]


def test_a_squash_needs_no_header_that_the_catalog_file_requires(world: World) -> None:
    """A command writes it; files that people write after it need theirs."""
    squash(world)
    world.variables += "headers: {TICKET: required}\n"
    world.migrate()
    assert states(world) == {"0003": "applied"}
    add(world, LATER)
    assert isinstance(refused(world), SeveralErrors)


def test_no_inverse_is_written_for_a_part_of_a_squash(world: World) -> None:
    """The statements of a squashed version are not in the files any more."""
    squash(world)
    with pytest.raises(ConfigurationError, match=r"0003_squashed\.sql, a squash"):
        reverting_sql(world.project.root, folder(world), "2")


@pytest.mark.parametrize("only", ["0002", "0003"])
def test_a_version_that_was_jumped_over_is_not_done(world: World, only: str) -> None:
    """A squash must not hide a file that never ran here."""
    world.engine.open_session().execute("CREATE TABLE t (a INT)")
    world.migrate(Selection(only=only, reason="a hotfix"))
    squash(world)
    disagrees(world, *(version for version in ("0001", "0002", "0003") if version != only))


def test_a_failed_file_is_not_done(world: World) -> None:
    """The squash does not resume it: its statements are others."""

    def refuse(_: str) -> None:
        raise StatementRefused("NO", "no")

    world.break_at("COLUMN c", refuse)
    with pytest.raises(GlacierbaseError):
        world.migrate()
    squash(world)
    assert "0003 (failed)" in disagrees(world, "0003").message


def test_an_unknown_outcome_comes_first(world: World) -> None:
    """An unknown outcome is settled with `repair` before anything else."""

    def lose(_: str) -> None:
        lost_answer()

    world.break_at("COLUMN c", lose)
    with pytest.raises(GlacierbaseError):
        world.migrate()
    squash(world)
    error = refused(world)
    assert isinstance(error, SeveralErrors)
    assert isinstance(error.errors[0], NeedsRepair)


def test_another_file_under_a_replaced_version_is_not_done(world: World) -> None:
    """The environment ran another file as 0002."""
    world.file("0002_b.sql", "ALTER TABLE t ADD COLUMN other INT")
    world.migrate()
    add(world, OLD)
    squash(world)
    assert "0002 (applied from a file with another checksum)" in disagrees(world, "0002").message
    assert set(states(world).values()) == {"applied"}


def test_out_of_order_allowed_changes_nothing_of_it(world: World) -> None:
    """No selection runs a squash over tables that exist."""
    world.migrate(Selection(to="2"))
    squash(world)
    for selection in (Selection(out_of_order=None), Selection(only="0003", reason="now")):
        disagrees(world, "0003", selection=selection)


def test_a_squash_that_failed_resumes(world: World) -> None:
    """In its environment, a failed squash is a file like any other: its later statements may be edited."""
    squash(world, sql=f"{CREATED};\nINSERT INTO nowhere VALUES (1)")
    with pytest.raises(GlacierbaseError):
        world.migrate()
    path = folder(world) / "0003_squashed.sql"
    path.write_text(path.read_text().replace("nowhere", "t (a)"))
    assert pending(world) == ["0003"]
    world.migrate()
    assert states(world) == {"0003": "applied"}
    assert world.values() == [1]


def test_a_squash_that_was_edited_after_it_ran_is_changed(world: World) -> None:
    """Where it never ran, only its headers count."""
    world.migrate()
    other = fresh(world.project)
    path = squash(world)
    other.migrate()
    path.write_text(path.read_text() + "-- edited\n")
    assert refused(other).code == "CHECKSUM_MISMATCH"
    assert states(other) == {"0003": "changed"}
    assert pending(world) == []


def test_a_header_that_was_taken_out_leaves_its_version_missing(world: World) -> None:
    """The list is what the squash stands for."""
    world.migrate()
    path = squash(world)
    path.write_text("".join(each for each in path.read_text().splitlines(True) if "SQUASHES: 0002" not in each))
    assert refused(world).code == "MIGRATION_MISSING"


def test_the_files_from_before_it_do_not_run_where_it_ran(world: World) -> None:
    """An older checkout finds its files applied, whatever order is allowed, and goes on with new ones."""
    squash(world)
    world.migrate()
    older_checkout(world)
    for selection in (Selection(), Selection(out_of_order=None)):
        assert world.migrator().plan(selection).migrations == ()
    assert states(world) == {"0003": "applied"}
    add(world, LATER)
    world.migrate()
    assert states(world) == {"0003": "applied", "0004": "applied", "0005": "applied"}


def test_an_edited_file_from_before_it_does_not_run_where_it_ran(world: World) -> None:
    """The squash has taken the version of a file from before it."""
    squash(world)
    world.migrate()
    older_checkout(world)
    world.file("0002_b.sql", "ALTER TABLE t ADD COLUMN other INT")
    for selection in (Selection(), Selection(out_of_order=None)):
        disagrees(world, "0002", selection=selection)


def test_a_file_from_before_it_does_not_resume_it(world: World) -> None:
    """A squash that failed at its first statement, and the old file of the same version: nothing runs."""
    squash(world, sql="INSERT INTO nowhere VALUES (1)")
    with pytest.raises(GlacierbaseError):
        world.migrate()
    older_checkout(world)
    disagrees(world, "0003")


@pytest.mark.parametrize("name", ["0002_b.sql", "0001_other.sql"])
def test_no_file_is_below_a_squash(world: World, name: str) -> None:
    """A file below a squash is refused, replaced or not: a new environment would run it first."""
    squash(world)
    world.file(name, OLD.get(name, "SELECT 1"))
    _, [error] = load_migrations(folder(world), world.project.root)
    assert error.code == "BELOW_SQUASH"
    assert ("delete it" in error.hint) == (name == "0002_b.sql")


def test_a_squash_beside_all_that_it_replaces_is_said_to_replace_it(world: World) -> None:
    """`squash` was killed before it removed the files, or a merge brought them back: none of the files is to be renamed."""
    squash(world)
    add(world, OLD)
    _, errors = load_migrations(folder(world), world.project.root)
    assert [error.code for error in errors] == ["BELOW_SQUASH"] * 3
    assert all("delete it" in error.hint for error in errors)
    add(world, {"0003_c.sql": "SELECT 'another file'"})
    _, errors = load_migrations(folder(world), world.project.root)
    assert [error.code for error in errors] == ["DUPLICATE_VERSION", "BELOW_SQUASH", "BELOW_SQUASH"]


def test_a_second_squash_fits_every_history(world: World) -> None:
    """One that began with the files, one that began with the first squash, a new one, and one that has only the first part."""
    world.migrate()
    squash(world)
    began, part = fresh(world.project), fresh(world.project)
    part.migrate()
    add(world, LATER)
    world.migrate()
    began.migrate()
    squash(world, 5, "CREATE TABLE t (a INT, b INT, c INT, d INT, e INT)")
    new = fresh(world.project)
    assert pending(world) == pending(began) == []
    assert list(states(world)) == ["0001", "0002", "0003", "0004", "0005"]
    assert states(began) == {"0003": "applied", "0004": "applied", "0005": "applied"}
    assert pending(new) == ["0005"]
    disagrees(part, "0004", "0005")
    new.migrate()
    older_checkout(new)
    add(new, LATER)
    assert pending(new) == []


def test_baseline_records_a_squash_in_a_new_environment_only(world: World) -> None:
    """In the middle of the files it is refused; where they are applied there is nothing to record."""
    world.migrate(Selection(to="2"))
    part, new, old = world, fresh(world.project), fresh(world.project)
    old.migrate()
    squash(world)
    with pytest.raises(HistoryDisagrees) as caught:
        baseline(part.target(), 3, "adopted")
    assert caught.value.code == "SQUASH_DISAGREES"
    assert baseline(old.target(), 3, "adopted").files == ()
    new.engine.open_session().execute(CREATED)
    patch_described(new)
    assert [each.migration.version for each in baseline(new.target(), 3, "adopted").files] == ["0003"]
    assert new.state.history.records[3].applied_by is AppliedBy.BASELINE
    older_checkout(world)
    assert baseline(new.target(), 3, "adopted").files == ()
    assert pending(new) == []


def patch_described(world: World) -> None:
    """Let the engine in memory describe its table as Spark does."""
    opened = world.engine.open_session

    def open_session(**options: Any) -> Any:
        session = opened(**options)
        query = session.query
        rows = [(name, "int", None) for name in "abc"]
        session.query = lambda sql, parameters=(): rows if sql.startswith("DESCRIBE") else query(sql, parameters)
        return session

    world.engine.open_session = open_session  # type: ignore[method-assign]


def test_a_renamed_catalog_is_recognised_through_a_squash(world: World) -> None:
    """The catalog's files are applied under the other name."""
    world.migrate()
    squash(world)
    (world.project.root / "catalogs/shop.yaml").unlink()
    folder(world).rename(folder(world).with_name("store"))
    target = world.target("store")
    with target.opened() as opened, pytest.raises(HistoryDisagrees) as caught:
        read_state(opened)
    assert caught.value.code == "CATALOG_RENAMED"


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("SQUASHES: 0001 v1", "SQUASHES: 0001 v2"),
        lambda text: text.replace("SQUASHES: 0001 v1", "SQUASHES: 0009 v1"),
        lambda text: text.replace("SQUASHES: 0001 v1", "SQUASHES: 0002 v1"),
        lambda text: text.replace("SQUASHES: 0003 v1", "SQUASHES: 0002 v1"),
        lambda text: text.replace("SQUASHES: 0001 ", "SQUASHES: " + "9" * 5000 + " "),
        lambda text: text.replace("SQUASHES: 0001 ", "SQUASHES: ١ "),
        lambda text: text.replace("SQUASHES: 0001 ", "SQUASHES:"),
        lambda text: re.sub(r"(SQUASHES: .*)", r"\1 squash", text),
        lambda text: re.sub(r"(SQUASHES: 0001 .*)", r"\1 squash", text),
        lambda text: re.sub(r"(.*SQUASHES: 0003 .*)", r"\1\n\1 squash", text),
    ],
)
def test_headers_that_no_command_wrote_are_refused(world: World, edit: Callable[[str], str]) -> None:
    """A wrong list would let a squash run where it must not."""
    path = squash(world)
    path.write_text(edit(path.read_text()))
    _, [error] = load_migrations(folder(world), world.project.root)
    assert error.code == "INVALID_SQUASH"


def test_a_squash_under_another_version_is_refused(world: World) -> None:
    """A squash lists the files up to its own version."""
    path = squash(world)
    path.rename(path.with_name("0004_squashed.sql"))
    _, [error] = load_migrations(folder(world), world.project.root)
    assert error.code == "INVALID_SQUASH"


@pytest.mark.parametrize("value", [[["x", "c", True]], [["1", "c"]], [["1", 2, False]], ["1"], [{"version": "1"}]])
def test_a_damaged_list_in_the_history_is_not_read_as_none(value: object) -> None:
    """What a squash replaced decides whether files run."""
    event = Event(1, 1, "r", "shop", "default", "started", details=json.dumps({"squashes": value}))
    with pytest.raises(NeedsRepair):
        details_of(event)
    assert to_json(Details()) is None


def test_repeatables_are_no_part_of_a_squash(world: World) -> None:
    """An environment that has run them runs nothing; a new one runs the squash and then the repeatables."""
    world.file("repeatable/v.sql", "DROP VIEW IF EXISTS v; CREATE VIEW v AS SELECT a FROM t")
    world.migrate()
    squash(world)
    assert world.migrator().plan(Selection()).pending == ()
    fresh = World(world.project)
    assert [file.label for file in fresh.migrate().applied] == ["0003", "v"]
