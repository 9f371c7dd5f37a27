"""Further headers and the CI's actor on the way from the file and the environment to history, `status` and `show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glacierbase.apply.baseline import baseline
from glacierbase.apply.evidence import Decision
from glacierbase.apply.plan import Selection
from glacierbase.apply.repair import repair
from glacierbase.apply.transitions import Resolution
from glacierbase.errors import GlacierbaseError
from glacierbase.history.details import details_of
from glacierbase.inspect import show as answers
from glacierbase.inspect import status as statuses
from glacierbase.inspect.history import Filters, HistoryResult, history
from glacierbase.inspect.results import StatusResult
from glacierbase.inspect.show import ShowResult
from glacierbase.output.documents import json_document, text_document
from glacierbase.run.run import ci_actor
from glacierbase.secrets import register
from tests.support.fakes import lost_answer
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

OPTIONAL, REQUIRED = "headers: {TICKET: optional}\n", "headers: {TICKET: required}\n"
ACTORS = {
    "GITHUB_ACTOR": "octocat",
    "GITLAB_USER_LOGIN": "tanuki",
    "BUILD_USER_ID": "butler",
    "BUILD_REQUESTEDFOREMAIL": "ann@example.com",
    "BUILDKITE_BUILD_CREATOR": "Ann Example",
    "CIRCLE_USERNAME": "ann",
}


@pytest.fixture
def world(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> World:
    """A project whose engine and tables are in memory, outside of CI."""
    for name in ACTORS:
        monkeypatch.delenv(name, raising=False)
    return World(project)


def with_ticket(path: Path, value: str = "OPS-17") -> None:
    path.write_text(f"-- MIGRATION_TICKET: {value}\n" + path.read_text())


def document(world: World) -> dict[str, Any]:
    result = statuses.status(world.target(), StatusResult("shop", "default"))
    return json.loads(json_document("status", [result], None))["catalogs"][0]["migrations"][0]


def show(world: World) -> str:
    return text_document([answers.show(world.target(), ShowResult("shop", "default"), key=1)])


def test_a_header_is_recorded_when_the_file_starts_and_shown(world: World) -> None:
    """The header is in the details of `started`, in `status` as JSON, and in `show`; also after the file is gone."""
    world.variables += OPTIONAL
    path = world.file("1_a.sql", "CREATE TABLE t (a INT)")
    with_ticket(path)
    assert document(world)["headers"] == {"TICKET": "OPS-17"}
    world.migrate()
    assert json.loads(world.events[0].details or "")["headers"] == {"TICKET": "OPS-17"}
    assert "TICKET      OPS-17" in show(world)
    found = history(world.target(), HistoryResult("shop", "default"), filters=Filters())
    assert "OPS-17" in json_document("history", [found], None)
    path.unlink()
    assert document(world)["headers"] == {"TICKET": "OPS-17"}


def test_a_baselined_file_records_its_headers(world: World) -> None:
    """A baseline has no `started` event."""
    world.variables += REQUIRED
    path = world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.engine.open_session().execute("CREATE TABLE t (a INT)")
    with pytest.raises(GlacierbaseError) as caught:
        baseline(world.target(), 1, "by hand")
    assert (caught.value.code, world.events) == ("MISSING_HEADER", [])
    with_ticket(path)
    baseline(world.target(), 1, "by hand")
    assert details_of(world.events[0]).headers == {"TICKET": "OPS-17"}


def test_a_required_header_stops_a_file_that_never_ran(world: World) -> None:
    """`migrate` and `plan` are refused before anything runs, and run once the line is there."""
    world.variables += REQUIRED
    path = world.file("1_a.sql", "CREATE TABLE t (a INT)")
    for command in (world.migrate, lambda: world.migrator().plan(Selection())):
        with pytest.raises(GlacierbaseError) as caught:
            command()
        assert (caught.value.code, caught.value.exit_code) == ("MISSING_HEADER", 3)
        assert caught.value.hint == "write above the SQL: -- MIGRATION_TICKET: VALUE"
    assert world.events == []
    with_ticket(path)
    assert [file.version for file in world.migrate().applied] == ["1"]


def test_a_header_that_becomes_required_does_not_stop_files_that_started_before(world: World) -> None:
    """An applied file must not change any more, and a failed one resumes as it is."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.file("2_b.sql", "CREATE TABLE u (a INT); INSERT INTO u VALUES (1)")
    world.break_at("VALUES (1)", lost_answer)
    with pytest.raises(GlacierbaseError):
        world.migrate()
    repair(world.target(), [2], Decision(Resolution.NOT_DONE, "seen by alice", engine_stopped=True))
    world.variables += REQUIRED
    assert [file.version for file in world.migrate().applied] == ["2"]
    world.file("3_c.sql", "CREATE TABLE v (a INT)")
    with pytest.raises(GlacierbaseError) as caught:
        world.migrate()
    assert caught.value.data["path"] == "migrations/shop/3_c.sql"


def test_a_hostile_value_is_masked_and_escaped(world: World) -> None:
    """A secret is masked before it is recorded; control characters reach no terminal; a long value stays whole."""
    register("canary-in-a-header")
    world.variables += OPTIONAL
    value = 'canary-in-a-header \x1b[31m"quoted" ' + "x" * 100_000
    with_ticket(world.file("1_a.sql", "CREATE TABLE t (a INT)"), value)
    world.migrate()
    recorded = details_of(world.events[0]).headers["TICKET"]
    assert recorded == '*** \x1b[31m"quoted" ' + "x" * 100_000
    assert document(world)["headers"]["TICKET"] == recorded
    text = show(world)
    assert "canary" not in text + json.dumps(document(world))
    assert "\x1b" not in text
    assert r'*** \x1b[31m"quoted" xxx' in text


@pytest.mark.parametrize("variable", ACTORS)
def test_the_actor_of_each_ci_service_is_recorded_and_shown(
    variable: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the user of the machine, which is the same for every job."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    monkeypatch.setenv(variable, ACTORS[variable])
    world.migrate()
    monkeypatch.delenv(variable)
    actor, event = ACTORS[variable], world.events[0]
    assert json.loads(event.details or "")["ci_actor"] == actor
    assert f"{actor} ({event.os_user}@{event.host})" in show(world)
    found = history(world.target(), HistoryResult("shop", "default"), filters=Filters())
    assert f"{actor} ({event.os_user}@{event.host})" in text_document([found])
    assert f"{actor} ({event.os_user}@{event.host})" in text_document([found], HistoryResult.event_lines)


def test_a_repair_records_the_actor_of_its_own_job(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of CI, and with an empty variable, there is none."""
    monkeypatch.setenv("GITHUB_ACTOR", "")
    assert ci_actor() is None
    path = world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    assert "ci_actor" not in (world.events[0].details or "")
    path.write_text(path.read_text() + "\n")
    monkeypatch.setenv("GITHUB_ACTOR", "octocat")
    repair(world.target(), [1], Decision(Resolution.EDITED, "seen by alice"))
    assert json.loads(world.events[-1].details or "")["ci_actor"] == "octocat"
    assert document(world)["repaired"]["ci_actor"] == "octocat"
    assert "by octocat (" in document(world)["note"]
