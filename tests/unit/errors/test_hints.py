"""Every command in a message can be run as printed, and acts on the project, environment and catalog that were chosen."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise

import click
import pytest

from glacierbase.cli.group import cli
from glacierbase.errors import GlacierbaseError
from glacierbase.history.items import Item, next_step
from glacierbase.history.records import fold
from glacierbase.model.command import Scope
from glacierbase.model.migration import Event, State
from glacierbase.output.documents import text_errors
from tests.support.fakes import lost_answer
from tests.support.lakes import Lakes, printed_commands
from tests.support.project_folder import Output, ProjectFolder
from tests.unit.errors import test_examples as of_files
from tests.unit.errors import test_examples_of_runs as of_runs

THREE = "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2)"


def check(line: str) -> None:
    """Parse a command line as the program does, required arguments included."""
    program, name, *arguments = shlex.split(line)
    assert program == "glacierbase"
    with suppress(click.exceptions.Exit):  # `--help`
        cli.commands[name].make_context(name, arguments).close()


def chosen(line: str) -> dict[str, str]:
    """The options of a command line that choose project, environment and catalog."""
    arguments = shlex.split(line)
    pairs = pairwise(arguments)
    return {option: value for option, value in pairs if option in ("--project", "--env", "--catalog")}


@pytest.mark.parametrize("code", of_runs.RUNS)
def test_the_commands_in_an_error_of_a_run_are_complete(code: str, project: ProjectFolder) -> None:
    """Each repeats what the caller chose."""
    scope = Scope("../lake", "prod", "analytics")
    arrange, selection = of_runs.RUNS[code]
    world = of_runs.Sleep(project)
    arrange(world)
    with scope.in_use(), pytest.raises(GlacierbaseError) as caught:
        world.migrate(selection)
    lines = printed_commands(text_errors([caught.value]))
    assert lines
    for line in lines:
        check(line)
        if not line.startswith("glacierbase explain"):
            assert chosen(line) == {"--project": "../lake", "--env": "prod", "--catalog": "analytics"}


@pytest.mark.parametrize("code", of_files.ARRANGED)
def test_the_commands_in_an_error_of_the_files_can_be_parsed(
    code: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands have all arguments that the program requires."""
    monkeypatch.chdir(project.root)
    try:
        done = of_files.ARRANGED[code](project)
        assert isinstance(done, Output)
        text = done.stderr
    except GlacierbaseError as error:
        text = text_errors([error])
    lines = printed_commands(text)
    assert bool(lines) == (code != "USAGE")
    for line in lines:
        check(line)


@pytest.mark.parametrize("state", State)
def test_the_next_step_of_every_state_can_be_run(state: State) -> None:
    """Each command repeats what the caller chose."""
    started = Event(
        1, 1, "run", "analytics", "prod", "started", "running", "0007", statement_index=1, statement_total=3
    )
    item = Item("0007", None, None, fold([started]).records[7], state)
    with Scope("../lake", "prod", "analytics").in_use():
        text = next_step(item)
    lines = printed_commands(text)
    assert bool(lines) == (state not in (State.RUNNING, State.APPLIED, State.ABANDONED))
    for line in lines:
        check(line)
        assert chosen(line) == {"--project": "../lake", "--env": "prod", "--catalog": "analytics"}


@pytest.fixture
def lakes(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Lakes:
    """Two catalogs in dev and prod; one file is applied in both."""
    lakes = Lakes(project, monkeypatch)
    project.file("0001_a.sql", "CREATE TABLE a (a INT)")
    project.file("0001_a.sql", "CREATE TABLE web_a (a INT)", "web")
    for environment in ("dev", "prod"):
        assert lakes.run(f"migrate --env {environment}").code == 0
    return lakes


def edited(lakes: Lakes) -> None:
    lakes.project.file("0001_a.sql", "CREATE TABLE other (a INT)")


def deleted(lakes: Lakes) -> None:
    lakes.project.file("0002_b.sql", "SELECT 1")
    assert lakes.run("migrate --catalog shop --env prod").code == 0
    (lakes.project.root / "migrations/shop/0001_a.sql").unlink()


def late(lakes: Lakes) -> None:
    lakes.project.file("0003_c.sql", "SELECT 1")
    assert lakes.run("migrate --catalog shop --env prod").code == 0
    lakes.project.file("0002_b.sql", "CREATE TABLE late (a INT)")


def refused(lakes: Lakes) -> None:
    lakes.project.file("0002_b.sql", THREE.replace("t VALUES (1)", "nowhere VALUES (1)"))


def unknown(lakes: Lakes) -> None:
    lakes.project.file("0002_b.sql", THREE)
    lakes.place("prod").engine.before = lambda sql: lost_answer() if "VALUES (1)" in sql else None


def unwritten(lakes: Lakes) -> None:
    """The outcome of a statement is missing in the history."""
    prod = lakes.place("prod")
    lakes.project.catalog((lakes.project.root / "catalogs/shop.yaml").read_text() + "store: {lockLease: 1s}\n")
    lakes.project.file("0002_b.sql", THREE)
    begun = len(prod.events()) + 1
    prod.store_before = lambda verb: lost_answer() if verb == "append" and len(prod.events()) >= begun else None


def held(lakes: Lakes) -> None:
    lakes.project.file("0002_b.sql", "SELECT 1")
    locks = lakes.place("prod").tables.locks
    later = datetime.now(timezone.utc) + timedelta(hours=1)
    locks["shop"] = replace(locks["shop"], owner="other", fence=9, expires_at=later, holder="{}")


# What arranges the error of `migrate`, the beginning of the command in its hint that is run, and what a person adds to it.
CASES: dict[str, tuple[Callable[[Lakes], None], str, list[str]]] = {
    "CHECKSUM_MISMATCH": (edited, "repair 0001 --as edited", ["--yes"]),
    "MIGRATION_MISSING": (deleted, "repair 0001 --as removed", ["--yes"]),
    "OUT_OF_ORDER": (late, "migrate --allow-out-of-order 0002", []),
    "STATEMENT_FAILED": (refused, "repair 0002 --as done", ["--yes"]),
    "HISTORY_NOT_WRITTEN": (unwritten, "repair 0002 --as done", ["--yes"]),
    "LOCK_HELD": (held, "unlock", ["--force", "--yes"]),
}


def check_acts_on_prod_only(lakes: Lakes, line: str, *more: str) -> None:
    """Run a printed command, which changes the history of `shop` in prod and no other."""
    dev, prod, web = lakes.place("dev").content(), lakes.place("prod").content(), lakes.place("prod").events("web")[:]
    done = lakes.paste(line, *more)
    assert done.code == 0, done
    assert lakes.place("prod").content() != prod
    assert lakes.place("dev").content() == dev
    assert lakes.place("prod").events("web") == web


def failing(lakes: Lakes, arrange: Callable[[Lakes], None]) -> Output:
    """Run `migrate` in prod on what was arranged; no fault is left afterwards."""
    arrange(lakes)
    output = lakes.run("migrate --env prod --catalog shop --format json")
    prod = lakes.place("prod")
    prod.engine.before = prod.store_before = lambda _: None
    return output


@pytest.mark.parametrize("code", CASES)
def test_a_pasted_command_acts_where_the_failed_one_did(code: str, lakes: Lakes) -> None:
    """The failed run was in prod, dev is the default: only prod is changed."""
    arrange, begins, more = CASES[code]
    error = failing(lakes, arrange).document["error"]
    assert error["code"] == code
    [line] = [each for each in printed_commands(error["hint"]) if each.startswith(f"glacierbase {begins}")]
    check_acts_on_prod_only(lakes, line, *more)


@pytest.mark.parametrize("resolution", ["done", "abandoned"])
@pytest.mark.parametrize("asked", [None, "show 0002 --env prod --catalog shop"])
def test_each_way_out_of_a_failed_file_is_a_whole_command(asked: str | None, resolution: str, lakes: Lakes) -> None:
    """The error and `show` print a command for each decision, which can be run as it is."""
    hint = failing(lakes, refused).document["error"]["hint"]
    text = lakes.run(asked).stdout if asked else hint
    [line] = [each for each in printed_commands(text) if f"--as {resolution}" in each]
    check_acts_on_prod_only(lakes, line, "--yes")


def test_an_unknown_outcome_is_settled_by_the_commands_that_are_printed(lakes: Lakes) -> None:
    """The error names the command that shows the case, which prints one command for each decision."""
    error = failing(lakes, unknown).document["error"]
    assert error["code"] == "OUTCOME_UNKNOWN"
    [show] = printed_commands(error["hint"])
    choices = printed_commands(lakes.paste(show).stdout)
    assert [shlex.split(each)[4] for each in choices] == ["done", "not-done", "abandoned"]
    assert lakes.paste(show, "--format", "json").entry()["cases"][0]["commands"] == choices
    check_acts_on_prod_only(lakes, choices[0], "--yes")


def test_the_next_step_that_show_prints_acts_where_show_looked(lakes: Lakes) -> None:
    """`show` looked at prod, dev is the default."""
    edited(lakes)
    [line] = printed_commands(lakes.run("show 0001 --env prod --catalog shop").stdout)
    check_acts_on_prod_only(lakes, line, "--yes")


def test_a_variable_that_chose_the_environment_is_repeated_as_an_option(
    lakes: Lakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command may be pasted where the variable has another value."""
    monkeypatch.setenv("GLACIERBASE_ENV", "prod")
    error = failing(lakes, edited).document["error"]
    [line] = printed_commands(error["hint"])
    monkeypatch.setenv("GLACIERBASE_ENV", "dev")
    check_acts_on_prod_only(lakes, line, "--yes")


def test_a_catalog_that_was_not_named_is_named_where_there_are_several(lakes: Lakes) -> None:
    """`repair` refuses a project with several catalogs otherwise."""
    edited(lakes)
    output = lakes.run("migrate --env prod --format json")
    [line] = printed_commands(output.document["error"]["hint"])
    assert chosen(line)["--catalog"] == "shop"
    check_acts_on_prod_only(lakes, line, "--yes")


def test_commands_on_files_repeat_what_was_chosen(lakes: Lakes) -> None:
    """`new` and `rebase` are no methods of a project, and their messages name the same project and catalog."""
    lakes.project.file("0002_b.sql", "DROP TABLE a")
    error = lakes.run("new why --author me --catalog shop --reverting 0002 --format json").document["error"]
    assert error["code"] == "NOT_INVERTIBLE"
    [line] = printed_commands(error["hint"])
    assert chosen(line) == {"--project": "../project", "--catalog": "shop"}
    before = set((lakes.project.root / "migrations/shop").iterdir())
    assert lakes.paste(line, "--author", "me").code == 0
    assert len(set((lakes.project.root / "migrations/shop").iterdir()) - before) == 1
    error = lakes.run("new why --author me --catalog shop --reverting 0009 --format json").document["error"]
    assert printed_commands(error["hint"]) == ["glacierbase status --catalog shop --project ../project"]
