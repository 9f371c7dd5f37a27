"""`repair --as withdrawn`: a version of which nothing took effect ends in every environment, by one command."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.errors import EngineUnavailable
from tests.support.fakes import lost_answer
from tests.support.lakes import Lakes, printed_commands
from tests.support.project_folder import Output, ProjectFolder
from tests.support.repository import git

ENVIRONMENTS = "environments: {dev: {}, staging: {}, prod: {protected: true}}\ndefaultEnvironment: dev\n"
WITHDRAW = "repair 0003 --as withdrawn --reason 'wrong table' --catalog shop --yes"
BAD = "INSERT INTO missing VALUES (1)"


@pytest.fixture
def lakes(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Lakes:
    """0001 is applied in dev, staging and prod; 0003 failed in dev at its first statement, and is pending elsewhere."""
    lakes = Lakes(project, monkeypatch, ENVIRONMENTS)
    project.file("0001_a.sql", "CREATE TABLE a (a INT)")
    for environment in ("dev", "staging", "prod"):
        assert lakes.run(f"migrate --env {environment} --catalog shop --yes").code == 0
    project.file("0003_c.sql", f"{BAD}; CREATE TABLE c (a INT)")
    assert lakes.run("migrate --env dev --catalog shop").code == 1
    return lakes


def file_of(lakes: Lakes) -> Path:
    return lakes.project.root / "migrations/shop/0003_c.sql"


def last(lakes: Lakes, environment: str) -> tuple[str, str | None, str | None, str | None]:
    """Return event, state, version and decision of the newest event of an environment."""
    event = lakes.place(environment).events()[-1]
    return event.event, event.state, event.version, json.loads(event.details or "{}").get("resolution")


def unreachable(verb: str) -> None:
    raise EngineUnavailable("STORE_UNAVAILABLE", "no route to host")


def entries(output: Output) -> dict[str, dict[str, Any]]:
    return {entry["environment"]: entry for entry in output.document["catalogs"]}


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_withdrawn_version_is_named_by_no_environment(is_deleted: bool, lakes: Lakes) -> None:
    """With or without its file: it is not pending in staging, not missing in dev, and no difference for `compare`."""
    done = lakes.run(WITHDRAW)
    assert (done.code, done.stderr) == (0, "")
    for environment in ("dev", "staging", "prod"):
        assert last(lakes, environment) == ("repaired", "abandoned", "0003", "withdrawn")
    if is_deleted:
        file_of(lakes).unlink()
    for environment in ("dev", "staging", "prod"):
        assert lakes.run(f"pending --env {environment} --catalog shop --format json").entry()["pending"] == []
        assert lakes.run(f"migrate --env {environment} --catalog shop --yes").code == 0
        assert "withdrawn" in lakes.run(f"status --env {environment} --catalog shop").stdout
        shown = lakes.run(f"show 0003 --env {environment} --catalog shop")
        assert (shown.code, "wrong table" in shown.stdout) == (0, True)
    compared = lakes.run("compare dev staging prod --catalog shop --exit-code")
    assert (compared.code, "0003" in compared.stdout) == (0, False)


def test_it_prints_what_was_recorded_where_and_the_command_that_deletes_the_file(lakes: Lakes) -> None:
    """A line for each environment."""
    text = lakes.run(WITHDRAW).stdout
    assert [line for line in text.splitlines() if line.startswith("shop")] == [
        "shop (dev)",
        "shop (staging)",
        "shop (prod)",
    ]
    assert text.count("recorded: version 0003 as withdrawn") == 3
    assert "next      rm ../project/migrations/shop/0003_c.sql" in text


def test_a_file_in_git_is_deleted_by_git(lakes: Lakes) -> None:
    """git refuses to remove a file that it does not track, so the command depends on that."""
    git(lakes.project.root, "init", "-q")
    git(lakes.project.root, "add", ".")
    assert "next      git -C ../project rm migrations/shop/0003_c.sql" in lakes.run(WITHDRAW).stdout


def test_a_file_below_it_that_is_pending_elsewhere_is_not_out_of_order(lakes: Lakes) -> None:
    """The version never ran in staging, so that 0002 is not late there."""
    assert lakes.run(WITHDRAW).code == 0
    lakes.project.file("0002_b.sql", "CREATE TABLE b (a INT)")
    done = lakes.run("migrate --env staging --catalog shop --format json")
    assert [file["version"] for file in done.entry()["applied"]] == ["0002"]


def test_another_file_of_the_version_is_refused(lakes: Lakes) -> None:
    """The edited file would run nowhere: the message prints the command that gives it a new version."""
    assert lakes.run(WITHDRAW).code == 0
    lakes.project.file("0003_c.sql", "CREATE TABLE other (a INT)")
    for environment in ("dev", "staging"):
        error = lakes.run(f"pending --env {environment} --catalog shop --format json").document["error"]
        assert (error["code"], error["version"]) == ("CHECKSUM_MISMATCH", "0003")
        assert "was withdrawn with another text" in error["message"]
        assert "--as edited" not in error["hint"]
    [renaming] = re.findall("`(.*)`", error["hint"])
    subprocess.run(shlex.split(renaming), check=True)
    assert lakes.run("migrate --env dev --catalog shop --format json").entry()["applied"][0]["version"] == "0004"


def test_nothing_is_recorded_where_a_statement_took_effect_in_one_environment(lakes: Lakes) -> None:
    """The message names the environment, and the hint is a command about it."""
    lakes.place("prod").engine.rows("CREATE TABLE missing (a INT)")
    assert lakes.run("migrate --env prod --catalog shop --yes").code == 0
    before = {name: list(lakes.place(name).events()) for name in ("dev", "staging", "prod")}
    error = lakes.run(WITHDRAW, "--format", "json").document["error"]
    assert (error["code"], error["environments"]) == ("NOT_REPAIRABLE", ["prod"])
    assert "in prod it is applied; nothing was recorded" in error["message"]
    assert "`glacierbase show 0003 --catalog shop --env prod" in error["hint"]
    assert {name: list(lakes.place(name).events()) for name in before} == before


def test_statements_done_and_unknown_outcomes_are_refused(lakes: Lakes) -> None:
    """A statement of 0004 is done in dev; the outcome of one is unknown in staging."""
    lakes.run(WITHDRAW)
    lakes.project.file("0004_d.sql", f"CREATE TABLE d (a INT); {BAD}")
    assert lakes.run("migrate --env dev --catalog shop").code == 1

    lakes.place("staging").engine.before = lambda sql: lost_answer(sql) if "TABLE d" in sql else None
    assert lakes.run("migrate --env staging --catalog shop").code == 6
    error = lakes.run(WITHDRAW.replace("0003", "0004"), "--format", "json").document["error"]
    assert error["environments"] == ["dev", "staging"]
    assert "in dev 1 statement of 2 took effect; in staging the outcome" in error["message"]


def test_a_version_that_was_abandoned_with_an_unknown_outcome_is_refused(lakes: Lakes) -> None:
    """A statement may have taken effect; only `not-done` records that none did."""
    lakes.run(WITHDRAW)
    lakes.project.file("0004_d.sql", "CREATE TABLE d (a INT)")
    place = lakes.place("staging")
    place.engine.before = lambda sql: lost_answer(sql) if "TABLE d" in sql else None
    assert lakes.run("migrate --env staging --catalog shop").code == 6
    decide = "repair 0004 --reason checked --env staging --catalog shop --yes --engine-stopped --as "
    before = list(place.events())
    withdraw = WITHDRAW.replace("0003", "0004")

    assert lakes.run(f"{decide}abandoned").code == 0
    error = lakes.run(withdraw, "--format", "json").document["error"]
    assert (error["code"], error["environments"]) == ("NOT_REPAIRABLE", ["staging"])
    assert "it was abandoned while the outcome of a statement was unknown" in error["message"]

    place.tables.histories["shop"][:] = before
    place.tables.locks["shop"] = replace(place.tables.locks["shop"], head_sequence=len(before))
    assert lakes.run(f"{decide}not-done").code == lakes.run(f"{decide}abandoned").code == 0
    assert lakes.run(withdraw).code == 0


def test_an_environment_that_cannot_be_read_is_said_and_completed_later(lakes: Lakes) -> None:
    """The same command records it there, and nothing a second time elsewhere."""
    lakes.place("prod").store_before = unreachable
    done = lakes.run(WITHDRAW, "--format", "json")
    assert done.code == 0
    skipped = {name: entry["skipped"] for name, entry in entries(done).items()}
    assert (skipped["dev"], skipped["staging"]) == (None, None)
    assert "STORE_UNAVAILABLE: no route to host" in str(skipped["prod"])
    lakes.place("prod").store_before = lambda verb: None
    before = list(lakes.place("dev").events())
    assert lakes.run(WITHDRAW).code == 0
    assert last(lakes, "prod") == ("repaired", "abandoned", "0003", "withdrawn")
    assert lakes.place("dev").events() == before


def test_an_environment_that_was_not_read_and_had_applied_it_says_so(lakes: Lakes) -> None:
    """With the file deleted, its run stops: the version is applied there, and its file is gone."""
    lakes.place("prod").engine.rows("CREATE TABLE missing (a INT)")
    assert lakes.run("migrate --env prod --catalog shop --yes").code == 0
    lakes.place("prod").store_before = unreachable
    assert lakes.run(WITHDRAW).code == 0
    lakes.place("prod").store_before = lambda verb: None
    file_of(lakes).unlink()
    lakes.project.file("0004_d.sql", "CREATE TABLE d (a INT)")
    assert lakes.run("migrate --env dev --catalog shop").code == 0
    error = lakes.run("migrate --env prod --catalog shop --yes --format json").document["error"]
    assert (error["code"], error["version"]) == ("MIGRATION_MISSING", "0003")
    error = lakes.run(WITHDRAW, "--format", "json").document["error"]
    assert (error["code"], error["environments"]) == ("NOT_REPAIRABLE", ["prod"])


def test_a_stop_between_two_environments_is_completed_by_the_same_command(lakes: Lakes) -> None:
    """Each append is whole; the environments before the stop keep theirs."""

    def stop(verb: str) -> None:
        if verb == "append":
            raise EngineUnavailable("STORE_UNAVAILABLE", "the connection was cut")

    lakes.place("staging").store_before = stop
    done = lakes.run(WITHDRAW, "--format", "json")
    assert done.code == 5
    assert [entry["environment"] for entry in done.document["catalogs"] if entry["error"]] == ["staging"]
    assert last(lakes, "dev")[3] == last(lakes, "prod")[3] == "withdrawn"
    lakes.place("staging").store_before = lambda verb: None
    assert lakes.run(WITHDRAW).code == 0
    assert last(lakes, "staging")[3] == "withdrawn"


def test_a_signal_between_two_environments_names_what_was_recorded(lakes: Lakes) -> None:
    """The hint is the same command, which completes the others."""

    def stop(verb: str) -> None:
        if verb == "compare_and_set":
            raise KeyboardInterrupt

    lakes.place("staging").store_before = stop
    done = lakes.run(WITHDRAW, "--format", "json")
    assert done.code == 130
    assert "recorded: version 0003 as withdrawn in dev" in done.document["error"]["message"]
    assert done.document["error"]["hint"] == "run the same command again"
    assert last(lakes, "dev")[3] == "withdrawn"
    lakes.place("staging").store_before = lambda verb: None
    assert lakes.run(WITHDRAW).code == 0
    assert last(lakes, "staging")[3] == last(lakes, "prod")[3] == "withdrawn"


def test_a_version_that_is_applied_before_the_lock_is_acquired_is_refused_there(lakes: Lakes) -> None:
    """The history is read again under the lock of the environment."""
    place, applied = lakes.place("staging"), []

    def apply_first(verb: str) -> None:
        if verb == "compare_and_set" and not applied:
            applied.append(verb)
            place.store_before = lambda verb: None
            place.engine.rows("CREATE TABLE missing (a INT)")
            Project.load(lakes.project.root, "staging").migrate("shop")

    place.store_before = apply_first
    done = lakes.run(WITHDRAW, "--format", "json")
    assert applied
    assert "in staging it is applied; nothing was recorded there" in entries(done)["staging"]["error"]["message"]
    assert last(lakes, "staging")[:3] == ("applied", "applied", "0003")


def test_a_failed_file_is_offered_the_withdrawal_only_where_nothing_of_it_is_done(lakes: Lakes) -> None:
    """`migrate`, `show` and `repair` print the command."""
    for line in (
        "migrate --env dev --catalog shop",
        "show 0003 --env dev --catalog shop",
        "repair --env dev --catalog shop",
    ):
        output = lakes.run(line)
        assert "--as withdrawn" in output.stdout + output.stderr, line
    lakes.run(WITHDRAW)
    lakes.project.file("0004_d.sql", f"CREATE TABLE d (a INT); {BAD}")
    for line in (
        "migrate --env dev --catalog shop",
        "show 0004 --env dev --catalog shop",
        "repair --env dev --catalog shop",
    ):
        output = lakes.run(line)
        assert "--as withdrawn" not in output.stdout + output.stderr, line


def test_each_protected_environment_is_confirmed(lakes: Lakes) -> None:
    """The command changes prod as well, whichever environment is chosen."""
    question = WITHDRAW.replace(" --yes", "")
    before = list(lakes.place("dev").events())
    assert "prod is protected" in lakes.run(question).stderr
    wrong = lakes.run(question, typed="dev\n")
    assert "NOT_CONFIRMED" in wrong.stderr
    assert lakes.place("dev").events() == before
    assert lakes.run(question, typed="prod\n").code == 0
    assert last(lakes, "prod")[3] == "withdrawn"


def test_a_version_without_file_is_known_by_a_history(lakes: Lakes) -> None:
    """The file was deleted first; a version that nothing has is refused."""
    file_of(lakes).unlink()
    assert lakes.run(WITHDRAW).code == 0
    assert last(lakes, "staging")[3] == "withdrawn"
    error = lakes.run(WITHDRAW.replace("0003", "0009"), "--format", "json").document["error"]
    assert error["code"] == "NOT_REPAIRABLE"


def test_an_environment_that_does_not_exist_is_refused(lakes: Lakes) -> None:
    """The command would record in all others."""
    before = list(lakes.place("prod").events())
    done = lakes.run(f"{WITHDRAW} --env prdo --format json")
    assert done.document["error"]["code"] == "UNKNOWN_ENVIRONMENT"
    assert lakes.place("prod").events() == before


def test_an_environment_without_history_gets_none(lakes: Lakes) -> None:
    """The first run there checks that no history was lost; a history with one event would prevent that."""
    lakes.places["staging"].tables.histories.clear()
    lakes.places["staging"].tables.locks.clear()
    done = lakes.run(WITHDRAW, "--format", "json")
    assert "no history" in str(entries(done)["staging"]["skipped"])
    assert lakes.place("staging").events() == []


def test_where_another_environment_has_applied_the_version_the_hint_ends_it_where_it_failed(lakes: Lakes) -> None:
    """The first command of the hint runs as printed, in the environment of the failure."""
    lakes.place("staging").engine.open_session().execute("CREATE TABLE missing (a INT)")
    assert lakes.run("migrate --env staging --catalog shop").code == 0
    refused = lakes.run(WITHDRAW)
    assert (refused.code, "in staging" in refused.stderr) == (2, True), refused
    line = printed_commands(refused.stderr)[0]
    assert "--as abandoned" in line
    assert "--env dev" in line
    assert lakes.paste(line, "--yes").code == 0
    assert last(lakes, "dev")[1:3] == ("abandoned", "0003")
