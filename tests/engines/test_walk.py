"""The walk of an adopter, from `init` to every typical mistake, on real tables and with real git.

Each message says what failed, where, the state now and what is next. Its command, run as printed, does that in the environment
of the mistake and in no other one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.adopter import CATALOG, ENVIRONMENTS, EVENTS, TEN, USERS, Adopter, begin
from tests.support.beds import LakeBed


@pytest.fixture(scope="module")
def begun(lake: LakeBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Adopter, Path]]:
    """The project with ten migrations in two environments, and a copy of it."""
    root, saved = tmp_path_factory.mktemp("walk") / "lakehouse", tmp_path_factory.mktemp("saved") / "lakehouse"
    root.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GLACIERBASE_ENV", "GLACIERBASE_PROJECT"):
            patch.delenv(name, raising=False)
        patch.chdir(root)
        adopter = Adopter(root, lake, patch)
        begin(adopter)
        shutil.copytree(root, saved)
        yield adopter, saved


@pytest.fixture
def adopter(begun: tuple[Adopter, Path], monkeypatch: pytest.MonkeyPatch) -> Adopter:
    """The project as it was before the first mistake, and the working directory in it."""
    adopter, saved = begun
    monkeypatch.chdir(adopter.root.parent)
    shutil.rmtree(adopter.root)
    shutil.copytree(saved, adopter.root)
    monkeypatch.chdir(adopter.root)
    adopter.engines.clear()
    return adopter


@pytest.fixture
def without_engine(adopter: Adopter) -> Iterator[None]:
    """Check that no command of the test started an engine."""
    yield
    assert adopter.engines == []


def check_settled(adopter: Adopter, *more: str) -> None:
    """Check that all versions are applied in both environments, and that nothing is pending."""
    for environment in ENVIRONMENTS:
        assert adopter.states(environment) == dict.fromkeys([*TEN, *more], "applied")
        assert adopter.pending(environment) == []


def test_ten_migrations_are_applied_in_two_environments(adopter: Adopter) -> None:
    """The tables of both have the same columns, and each its own number of buckets."""
    check_settled(adopter)
    for environment, buckets in (("dev", 4), ("prod", 10)):
        assert adopter.columns(environment, "events") == ["id", "user_id", "event_kind", "country", "timestamp"]
        assert adopter.ids(environment) == [1, 2]
        with adopter.table(environment, "events") as events:
            transforms = [str(field.transform) for field in events.spec().fields]
        assert transforms == [f"bucket[{buckets}]", "day", "identity"]


@pytest.mark.usefixtures("without_engine")
@pytest.mark.parametrize("is_committed", [False, True])
def test_an_edited_file_is_restored(adopter: Adopter, is_committed: bool) -> None:
    """The git command of the message restores it, also after the edit was committed."""
    path = "migrations/web/0003_add_country.sql"
    adopter.edit(path, "country string", "country char(2)")
    if is_committed:
        adopter.commits("Shorten the country")
    with adopter.changing():
        message = adopter.fails("glacierbase pending --env prod", "CHECKSUM_MISMATCH", 3)
        assert message.path == path
        adopter.does(message.git[0])
        check_settled(adopter)


@pytest.mark.usefixtures("without_engine")
def test_an_edit_that_is_intended_is_accepted(adopter: Adopter) -> None:
    """The command of the message accepts it in the environment that the failed command was for, and in no other one."""
    adopter.edit("migrations/web/0003_add_country.sql", "A test's change", "The country, for the report")
    for environment, options, answer in (("prod", " --env prod", "prod\n"), ("dev", "", "y\n")):
        message = adopter.fails(f"glacierbase migrate{options}", "CHECKSUM_MISMATCH", 3, answer)
        [accept] = message.commands
        with adopter.changing(environment):
            adopter.does(accept, answer)
        assert adopter.pending(environment) == []
    check_settled(adopter)


@pytest.mark.usefixtures("without_engine")
@pytest.mark.parametrize("is_committed", [False, True])
def test_a_deleted_file_is_restored(adopter: Adopter, is_committed: bool) -> None:
    """The git command of the message restores it, also after the deletion was committed."""
    path = "migrations/web/0005_create_users.sql"
    (adopter.root / path).unlink()
    if is_committed:
        adopter.commits("Clean up")
    with adopter.changing():
        message = adopter.fails("glacierbase migrate --env prod", "MIGRATION_MISSING", 3)
        assert message.path == path
        adopter.does(message.git[0])
        check_settled(adopter)


@pytest.mark.usefixtures("without_engine")
def test_a_file_that_was_deleted_on_purpose_is_accepted(adopter: Adopter) -> None:
    """The command of the message accepts it in the environment that the failed command was for, and in no other one."""
    (adopter.root / "migrations/web/0005_create_users.sql").unlink()
    for environment, options, answer in (("prod", " --env prod", "prod\n"), ("dev", "", "y\n")):
        message = adopter.fails(f"glacierbase pending{options}", "MIGRATION_MISSING", 3)
        with adopter.changing(environment):
            adopter.does(message.commands[-1], answer)
    check_settled(adopter)


@pytest.mark.usefixtures("without_engine")
def test_the_newest_file_deleted_is_no_older_checkout(adopter: Adopter) -> None:
    """`pending` warns, with the git command that restores the file."""
    (adopter.root / "migrations/web/0010_drop_device.sql").unlink()
    warned = adopter.does("glacierbase pending --env prod").stdout
    assert "its file was deleted here" in warned
    adopter.does(warned.partition("restore it: ")[2].splitlines()[0])
    assert "warning" not in adopter.does("glacierbase pending --env prod").stdout
    check_settled(adopter)


def branch(adopter: Adopter, on_main: str) -> str:
    """Write a migration on a branch while main gets another one, which is pushed; return the path of the branch's."""
    adopter.does("git checkout -q -b sessions")
    path = adopter.writes("0011_add_session", f"ALTER TABLE {EVENTS} ADD COLUMN session_id string;", commit=True)
    adopter.does("git checkout -q main")
    adopter.writes(on_main, f"ALTER TABLE {EVENTS} ADD COLUMN city string;", commit=True)
    adopter.does("git push -q origin main")
    adopter.does("git checkout -q sessions")
    return path


@pytest.mark.usefixtures("without_engine")
@pytest.mark.parametrize(
    ("on_main", "code"), [("0011_add_city", "DUPLICATE_VERSION"), ("0012_add_city", "VERSION_BELOW_BASE")]
)
def test_a_version_that_main_has_reached_is_changed_on_the_branch(on_main: str, code: str, adopter: Adopter) -> None:
    """After the commands of the message, the branch has both files, its own one last."""
    path = branch(adopter, on_main)
    with adopter.changing():
        message = adopter.fails("glacierbase validate --base origin/main", code, 3)
        assert message.path == path
        for line in (*message.commands, *message.git):
            adopter.does(line)
        adopter.does("glacierbase validate --base origin/main")
        assert adopter.pending("dev") == adopter.pending("prod") == [on_main[:4], f"{int(on_main[:4]) + 1:04}"]


@pytest.mark.usefixtures("without_engine")
def test_two_files_of_one_version_are_told_apart_after_a_merge(adopter: Adopter) -> None:
    """The command of the message renames the file that main does not have."""
    branch(adopter, "0011_add_city")
    adopter.does("git merge -q --no-edit origin/main")
    with adopter.changing():
        message = adopter.fails("glacierbase migrate --env prod", "DUPLICATE_VERSION", 3)
        assert message.path.startswith("migrations/web/0011_add_")
        [rebase] = message.commands
        adopter.does(rebase)
        assert adopter.pending("prod") == ["0011", "0012"]
    assert (adopter.root / "migrations/web/0011_add_city.sql").exists()


def test_a_late_version_is_renamed_or_allowed(adopter: Adopter) -> None:
    """Of the two commands of the message, one applies it in the environment of the failed command, and in no other one."""
    adopter.writes("0012_add_city", f"ALTER TABLE {EVENTS} ADD COLUMN city string;")
    adopter.does("glacierbase migrate")
    adopter.does("glacierbase migrate --env prod --yes")
    path = adopter.writes("0011_add_session", f"ALTER TABLE {EVENTS} ADD COLUMN session_id string;", commit=True)
    for environment, options, answer in (("prod", " --env prod", "prod\n"), ("dev", "", None)):
        with adopter.changing():
            message = adopter.fails(f"glacierbase migrate{options}", "OUT_OF_ORDER", 3)
            assert message.path == path
            assert adopter.states(environment)["0011"] == "out_of_order"
            adopter.does(message.git[0])
            assert adopter.pending(environment) == ["0013"]
        adopter.does("git reset -q --hard")
        with adopter.changing(environment):
            adopter.does(message.commands[0], answer)
        assert adopter.columns(environment, "events")[-2:] == ["city", "session_id"]
    check_settled(adopter, "0011", "0012")


@pytest.mark.usefixtures("without_engine")
@pytest.mark.parametrize("command", ["validate", "migrate --env prod"])
def test_a_header_with_a_typo_is_corrected_as_the_message_says(command: str, adopter: Adopter) -> None:
    """The message names the line and the header that was meant."""
    path = adopter.writes("0011_add_session", f"ALTER TABLE {EVENTS} ADD COLUMN session_id string;")
    adopter.edit(path, "MIGRATION_AUTHOR", "MIGRATION_AUTOR")
    with adopter.changing():
        message = adopter.fails(f"glacierbase {command}", "UNKNOWN_HEADER", 3)
        assert message.path == path
        adopter.edit(path, "MIGRATION_AUTOR", name_in(message.hint), message.line)
        assert adopter.pending("dev") == adopter.pending("prod") == ["0011"]


def name_in(hint: str) -> str:
    """Return the name that a hint suggests."""
    return hint.rstrip("?").split()[-1]


@pytest.mark.usefixtures("without_engine")
@pytest.mark.parametrize("command", ["validate", "migrate --env prod"])
def test_an_undefined_variable_is_corrected_as_the_message_says(command: str, adopter: Adopter) -> None:
    """The message names the line and the nearest variable."""
    sql = "CREATE TABLE lake.web.visits (id bigint) USING iceberg\nPARTITIONED BY (bucket({{ variables.events.bukets }}, id));"
    path = adopter.writes("0011_create_visits", sql)
    with adopter.changing():
        message = adopter.fails(f"glacierbase {command}", "UNDEFINED_VARIABLE", 3)
        assert message.path == path
        adopter.edit(path, "variables.events.bukets", name_in(message.hint), message.line)
        assert adopter.pending("dev") == adopter.pending("prod") == ["0011"]


@pytest.mark.usefixtures("without_engine")
def test_a_wrong_key_is_corrected_as_the_message_says(adopter: Adopter) -> None:
    """The message names the line of the catalog file and the key that was meant."""
    adopter.edit(CATALOG, "protected: true", "protect: true")
    with adopter.changing():
        message = adopter.fails("glacierbase migrate --env prod", "UNKNOWN_KEY", 2)
        assert message.path == CATALOG
        adopter.edit(CATALOG, "protect:", f"{name_in(message.hint)}:", message.line)
        check_settled(adopter)


@pytest.mark.usefixtures("without_engine")
def test_a_variable_of_the_environment_that_is_not_set_is_named(
    adopter: Adopter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the environment that uses it needs it."""
    conf = "    migrationExecutor: {conf: {sparkConf: {spark.sql.shuffle.partitions: '${env:SHUFFLE}'}}}\n"
    adopter.edit(CATALOG, "    protected: true\n", f"    protected: true\n{conf}")
    monkeypatch.delenv("SHUFFLE", raising=False)
    with adopter.changing():
        message = adopter.fails("glacierbase status --env prod", "UNSET_REFERENCE", 2)
        assert (adopter.root / message.path).read_text().splitlines()[(message.line or 0) - 1] == conf.rstrip()
        adopter.does("glacierbase validate")
        assert adopter.pending("dev") == []
        monkeypatch.setenv(name_in(message.hint), "3")
        check_settled(adopter)


def test_a_wrong_value_of_a_variable_fails_where_it_is_wrong(adopter: Adopter) -> None:
    """After the value is corrected, the command of the message applies the file there."""
    adopter.edit(CATALOG, "buckets: 10", "buckets: sixteen")
    sql = "CREATE TABLE lake.web.visits (id bigint) USING iceberg\nPARTITIONED BY (bucket({{ variables.events.buckets }}, id));"
    path = adopter.writes("0011_create_visits", sql)
    adopter.does("glacierbase migrate")
    with adopter.changing("prod"):
        message = adopter.fails("glacierbase migrate --env prod", "STATEMENT_FAILED", 1, "prod\n")
        assert (message.path, message.line) == (path, 4)
        adopter.edit(CATALOG, "buckets: sixteen", "buckets: 10")
        adopter.does(message.commands[0], "prod\n")
    with adopter.table("prod", "visits") as visits:
        assert [str(field.transform) for field in visits.spec().fields] == ["bucket[10]"]
    check_settled(adopter, "0011")


FOUR = f"""\
ALTER TABLE {EVENTS} ADD COLUMN session_id string;
INSERT INTO {USERS} VALUES (3, 'cyd');
ALTER TABLE {EVENTS} DROP COLUMN countri;
INSERT INTO {USERS} VALUES (4, 'dee');"""


def corrected(adopter: Adopter, migrate: str, *_: str) -> str:
    """Correct the statement, and run `migrate` as printed."""
    adopter.edit("migrations/web/0011_replace_country.sql", "countri;", "event_kind;")
    assert "resumed at statement 3" in adopter.does(migrate).stdout
    return "applied"


def completed_by_hand(adopter: Adopter, migrate: str, repair: str, _: str) -> str:
    """Do what the statement should do, and run `repair --as done` and `migrate` as printed."""
    adopter.by_hand("dev", f"ALTER TABLE {EVENTS} DROP COLUMN event_kind")
    adopter.does(repair, "y\n")
    assert adopter.pending("dev") == ["0011"]
    adopter.does(migrate)
    return "applied"


def abandoned(adopter: Adopter, migrate: str, _: str, abandon: str) -> str:
    """Run `repair --as abandoned` as printed, and put the rest into a new file."""
    adopter.does(abandon, "y\n")
    assert adopter.pending("dev") == []
    adopter.writes(
        "0012_replace_country", f"ALTER TABLE {EVENTS} DROP COLUMN event_kind; INSERT INTO {USERS} VALUES (4, 'dee')"
    )
    adopter.does(migrate)
    return "abandoned"


@pytest.mark.parametrize("settle", [corrected, completed_by_hand, abandoned])
def test_a_file_that_failed_in_the_middle_is_brought_to_its_end(
    settle: Callable[[Adopter, str, str, str], str], adopter: Adopter
) -> None:
    """Each way out that the message names leads to the same table; every statement takes effect once."""
    path = adopter.writes("0011_replace_country", FOUR)
    with adopter.changing("dev"):
        message = adopter.fails("glacierbase migrate", "STATEMENT_FAILED", 1)
        assert (message.path, message.line) == (path, 6)
        assert "statement 3 of 4" in message.what
        assert "done and recorded: statements 1 to 2" in message.what
        assert adopter.states("dev")["0011"] == "failed"
        state = settle(adopter, *message.commands)
    assert adopter.states("dev")["0011"] == state
    assert adopter.pending("dev") == []
    assert adopter.ids("dev") == [1, 2, 3, 4]
    assert adopter.columns("dev", "events")[2:] == ["country", "timestamp", "session_id"]
    assert adopter.pending("prod")[0] == "0011"


# Each row takes a second.
SLOW = f"""\
INSERT INTO {USERS} SELECT id + 10, java_method('java.lang.Thread', 'sleep', 1000L + id * 0) FROM range(0, ROWS, 1, ROWS);
INSERT INTO {USERS} VALUES (9, 'eve');"""
STARTED = "statement 1 of 2 starts"


def test_after_ctrl_c_the_run_continues_where_it_stopped(adopter: Adopter) -> None:
    """A short statement ends and is recorded; the command of the message runs the rest."""
    path = adopter.writes("0011_slow", SLOW.replace("ROWS", "1"))
    with adopter.changing("prod"):
        stopped = adopter.presses_ctrl_c("glacierbase migrate -v --env prod", "prod\n", STARTED)
        message = adopter.told(stopped, "INTERRUPTED", 130)
        assert message.path == path
        assert adopter.states("prod")["0011"] == "interrupted"
        adopter.does(message.commands[0], "prod\n")
    assert (adopter.states("prod")["0011"], adopter.ids("prod")) == ("applied", [1, 2, 9, 10])
    assert adopter.pending("dev") == ["0011"]


def test_a_statement_that_ctrl_c_cancelled_is_settled_by_what_repair_prints(adopter: Adopter, lake: LakeBed) -> None:
    """Message, evidence and choices lead to a file that is applied; the statement takes effect once."""
    rows = str(8 * lake.spark.sparkContext.defaultParallelism)
    path = adopter.writes("0011_slow", SLOW.replace("ROWS", rows))
    with adopter.changing("prod"):
        stopped = adopter.presses_ctrl_c("glacierbase migrate -v --env prod", "prod\n", STARTED)
        message = adopter.told(stopped, "OUTCOME_UNKNOWN", 130)
        assert (message.path, message.line) == (path, 4)
        assert adopter.states("prod")["0011"] == "unknown"
        [repair] = [command for command in message.commands if "repair" in command]
        shown = adopter.does(repair).stdout
        assert "suggests  not-done" in shown
        [not_done] = [line.split(maxsplit=1)[1] for line in shown.splitlines() if "--as not-done" in line]
        # The Spark of this run goes on, for other tests.
        refused = adopter.fails(not_done, "ENGINE_MAY_RUN", 6, "prod\n")
        assert refused.hint.endswith("add --engine-stopped, which is recorded")
        adopter.does(f"{not_done} --engine-stopped", "prod\n")
        assert adopter.states("prod")["0011"] == "interrupted"
        adopter.edit(path, f"range(0, {rows}, 1, {rows})", "range(0, 1, 1, 1)")
        adopter.does("glacierbase migrate --env prod", "prod\n")
    assert (adopter.states("prod")["0011"], adopter.ids("prod")) == ("applied", [1, 2, 9, 10])
    assert adopter.pending("dev") == ["0011"]


@pytest.mark.usefixtures("without_engine")
@pytest.mark.parametrize(
    ("old", "new", "code", "correction"),
    [
        ("lake.type: jdbc", "lake.type: jbdc", "INVALID_VALUE", "did you mean jdbc?"),
        ("runtime-4.1_2.13:1.12.0", "runtime-4.0_2.13:1.12.0", "SPARK_VERSION_MISMATCH", "the artifact for Spark 4.1"),
        ("runtime-4.1_2.13:1.12.0", "runtime-4.1_2.13:9.9.9", "SPARK_DID_NOT_START", "correct group, artifact or version"),
    ],
)  # fmt: skip
def test_wrong_coordinates_are_corrected_where_the_message_says(
    old: str, new: str, code: str, correction: str, adopter: Adopter
) -> None:
    """The message names the line of the catalog file; no migration was begun, and a run with the line corrected applies it."""
    adopter.writes("0011_add_ids", f"CREATE VIEW lake.web.ids AS SELECT id FROM {EVENTS};")
    adopter.edit(CATALOG, old, new)
    # Only a start shows that a version does not exist; the lock is acquired before it, and released then.
    with adopter.changing(*(["dev"] if code == "SPARK_DID_NOT_START" else [])):
        output = adopter.outside("glacierbase migrate")
        message = adopter.told(output, code, 5 if code == "SPARK_DID_NOT_START" else 2)
        assert message.path == CATALOG
        assert correction in message.hint
        adopter.edit(CATALOG, new, old, message.line)
        assert adopter.states("dev")["0011"] == "pending"
    if code == "SPARK_DID_NOT_START":
        with adopter.changing("dev"):
            assert adopter.outside("glacierbase migrate").code == 0
        assert adopter.states("dev")["0011"] == "applied"
