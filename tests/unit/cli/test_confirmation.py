"""A protected environment asks for its name, after it has shown what is about to be done."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from glacierbase import Project
from glacierbase.errors import HistoryDisagrees, NeedsRepair
from tests.support.fakes import lost_answer
from tests.support.lakes import Keyboard, Lakes, printed_commands
from tests.support.project_folder import ProjectFolder

PROTECTED = "environments: {dev: {}, prod: {protected: true}}\ndefaultEnvironment: dev\n"
PROD = "--env prod --catalog shop"


@pytest.fixture
def lakes(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Lakes:
    """A project whose environment prod is protected, with one file that is pending everywhere."""
    lakes = Lakes(project, monkeypatch, PROTECTED)
    project.file("0001_a.sql", "CREATE TABLE a (a INT)")
    return lakes


@pytest.fixture
def applied(lakes: Lakes) -> Lakes:
    """The file is applied in prod."""
    assert lakes.run(f"migrate {PROD} --yes").code == 0
    return lakes


def test_with_nothing_to_do_it_asks_for_nothing(applied: Lakes) -> None:
    """The result is that of an environment without protection, also off a terminal."""
    for typed in (None, ""):
        output = applied.run(f"migrate {PROD} --format json", typed=typed)
        assert (output.code, output.stderr) == (0, "")
        assert output.document["schema"] == "glacierbase/migrate/1"
        assert (output.entry()["applied"], output.entry()["not_run"]) == ([], [])
    assert "nothing to do" in applied.run(f"migrate {PROD}").stdout


def test_the_plan_is_shown_before_the_question(lakes: Lakes) -> None:
    """After the name was typed, that plan runs; stdout has the result alone."""
    output = lakes.run(f"migrate {PROD}", typed="prod\n")
    assert output.code == 0
    shown, _, asked = output.stderr.partition("type its name to go on")
    assert "CREATE TABLE a (a INT)" in shown
    assert asked
    assert output.stdout.startswith("shop (prod)\n  applied  migrations/shop/0001_a.sql")


@pytest.mark.parametrize(
    ("typed", "code", "name"),
    [("dev\n", 2, "NOT_CONFIRMED"), ("", 130, "INTERRUPTED"), (None, 2, "CONFIRMATION_MISSING")],
)
def test_without_the_name_the_plan_is_shown_and_nothing_is_changed(
    typed: str | None, code: int, name: str, lakes: Lakes
) -> None:
    """Another name, no answer and no terminal all leave the environment as it is."""
    output = lakes.run(f"migrate {PROD} --format json", typed=typed)
    assert (output.code, output.document["error"]["code"]) == (code, name)
    assert "CREATE TABLE a (a INT)" in output.stderr
    assert lakes.place("prod").content() == ({}, {})


def test_an_error_that_stops_the_plan_is_the_result_of_migrate(applied: Lakes) -> None:
    """With no file to run there is no question."""
    applied.project.file("0001_a.sql", "CREATE TABLE other (a INT)")
    output = applied.run(f"migrate {PROD} --format json")
    assert (output.code, output.document["error"]["code"]) == (3, "CHECKSUM_MISMATCH")
    assert output.entry()["error"]["code"] == "CHECKSUM_MISMATCH"
    assert output.entry()["failed"] is None


def test_a_catalog_that_cannot_run_does_not_spare_the_question_for_the_other(applied: Lakes) -> None:
    """The plan of the other catalog is shown, and it runs after the name was typed."""
    applied.project.file("0001_b.sql", "CREATE TABLE w (a INT)", "web")
    assert applied.run("migrate --env prod --catalog web --yes").code == 0
    applied.project.file("0001_b.sql", "CREATE TABLE other (a INT)", "web")
    applied.project.file("0002_b.sql", "CREATE TABLE b (a INT)")
    before = len(applied.place("prod").events())
    assert applied.run("migrate --env prod").code == 2
    assert len(applied.place("prod").events()) == before
    output = applied.run("migrate --env prod", typed="prod\n")
    assert output.code == 3
    assert [event.event for event in applied.place("prod").events()[before:]] == ["started", "applied"]


def test_an_unprotected_environment_asks_for_nothing(lakes: Lakes) -> None:
    """`migrate` in dev runs at once."""
    assert lakes.run("migrate --env dev --catalog shop").code == 0
    assert [event.event for event in lakes.place("dev").events()] == ["started", "applied"]


def test_repair_shows_the_case_and_asks_once(lakes: Lakes) -> None:
    """The name of a protected environment is the confirmation; there is no second question."""
    lakes.place("prod").engine.before = lambda sql: lost_answer() if "CREATE" in sql else None
    assert lakes.run(f"migrate {PROD} --yes").code == 6
    lakes.place("prod").engine.before = lambda _: None
    output = lakes.run(f"repair 1 --as done --reason seen {PROD}", typed="prod\n")
    assert output.code == 0, output
    assert output.stderr.index("0001 is unknown") < output.stderr.index("type its name")
    assert lakes.place("prod").events()[-1].state == "applied"


def test_a_repair_that_is_not_possible_is_refused_without_a_question(applied: Lakes) -> None:
    """An applied version needs no decision."""
    output = applied.run(f"repair 1 --as done --reason seen {PROD} --format json", typed="")
    assert (output.code, output.document["error"]["code"]) == (2, "NOT_REPAIRABLE")


def test_not_done_is_refused_without_a_question_while_the_engine_may_run(lakes: Lakes) -> None:
    """Nobody types the name of a protected environment for a decision that is refused; with the confirmation it is asked."""
    lakes.place("prod").engine.before = lambda sql: lost_answer()
    assert lakes.run(f"migrate {PROD} --yes").code == 6
    before = lakes.place("prod").content()
    output = lakes.run(f"repair 0001 --as not-done --reason why {PROD}", typed="")
    assert (output.code, output.stdout) == (6, "")
    assert "error: ENGINE_MAY_RUN: " in output.stderr
    assert "type its name" not in output.stderr
    assert lakes.place("prod").content() == before
    output = lakes.run(f"repair 0001 --as not-done --engine-stopped --reason why {PROD}", typed="prod\n")
    assert output.code == 0
    assert "type its name" in output.stderr


def test_a_dry_run_of_a_repair_records_nothing(lakes: Lakes) -> None:
    """`repair --dry-run` returns the cases that `repair` would record a decision about, or refuses as it would."""
    lakes.place("prod").engine.before = lambda sql: lost_answer()
    assert lakes.run(f"migrate {PROD} --yes").code == 6
    before = lakes.place("prod").content()
    project = Project.load(lakes.project.root, "prod")
    [result] = project.repair(["0001"], ["shop"], as_="done", reason="why", dry_run=True)
    assert [(case.version, case.repaired_as) for case in result.cases] == [("0001", None)]
    with pytest.raises(NeedsRepair):
        project.repair(["0001"], ["shop"], as_="not-done", reason="why", dry_run=True)
    [result] = project.repair(catalogs=["shop"], environment_was="dev", reason="why", dry_run=True)
    assert result.cases == ()
    assert lakes.place("prod").content() == before


def test_baseline_shows_what_it_would_record_and_asks_for_nothing_else(lakes: Lakes) -> None:
    """A second call has nothing to record and asks for nothing."""
    lakes.project.file("0002_b.sql", "SELECT 1")
    lakes.place("prod").engine.open_session().execute("CREATE TABLE a (a INT)")
    refused = lakes.run(f"baseline --to 1 --reason old {PROD}")
    assert refused.code == 2
    assert "0001_a.sql" in refused.stderr
    assert "0002_b.sql" not in refused.stderr
    assert lakes.run(f"baseline --to 1 --reason old {PROD}", typed="prod\n").code == 0
    assert lakes.run(f"baseline --to 1 --reason old {PROD}").code == 0
    assert [event.event for event in lakes.place("prod").events()] == ["baselined"]


def test_a_free_lock_is_unlocked_without_a_question(applied: Lakes) -> None:
    """There is nothing to release."""
    assert applied.run(f"unlock {PROD}").stdout == "shop (prod)\n  the lock is free\n"


class _Slow(Keyboard):
    """A person who types the name after something has changed."""

    def __init__(self, change: Callable[[], object]) -> None:
        super().__init__("prod\n")
        self._change = change

    def readline(self, *_: object) -> str:  # type: ignore[override]
        self._change()
        return super().readline()


def test_what_was_not_shown_does_not_run(lakes: Lakes) -> None:
    """A file that is added, or edited, while the question waits for its answer is not run."""
    for name, sql in (("0002_b.sql", "CREATE TABLE b (a INT)"), ("0001_a.sql", "CREATE TABLE other (a INT)")):
        output = lakes.run(f"migrate {PROD}", typed=_Slow(lambda n=name, s=sql: lakes.project.file(n, s)))
        assert output.code == 3
        assert "error: PLAN_OUTDATED: catalog shop: 1 change since the plan was made; nothing ran" in output.stderr
        assert f"migrations/shop/{name}: the file was " in output.stderr
        assert printed_commands(output.stderr)[0].startswith("glacierbase migrate --catalog shop --env prod")
    assert lakes.place("prod").engine.rows("SELECT name FROM sqlite_master") == []
    assert lakes.run(f"migrate {PROD}", typed="prod\n").code == 0


def test_what_another_run_applied_meanwhile_leaves_another_plan(lakes: Lakes) -> None:
    """The rest of the plan was shown as part of a whole; it is shown again before it runs."""
    lakes.project.file("0002_b.sql", "CREATE TABLE b (a INT)")
    answer = _Slow(lambda: lakes.run(f"migrate --to 1 {PROD} --yes"))
    output = lakes.run(f"migrate {PROD}", typed=answer)
    assert output.code == 3, output
    assert ": 0001 applied" in output.stderr
    assert lakes.run(f"migrate {PROD}", typed="prod\n").code == 0
    assert [event.version for event in lakes.place("prod").events() if event.event == "applied"] == ["0001", "0002"]


def test_nothing_that_appears_after_an_empty_plan_runs(applied: Lakes, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an empty plan there was no question, so that nothing is confirmed."""
    plan = Project.plan

    def then_a_file(project: Project, *arguments: object, **options: object) -> object:
        planned = plan(project, *arguments, **options)  # type: ignore[arg-type]
        applied.project.file("0002_b.sql", "CREATE TABLE b (a INT)")
        return planned

    monkeypatch.setattr(Project, "plan", then_a_file)
    output = applied.run(f"migrate {PROD} --format json")
    assert (output.code, output.document["error"]["code"]) == (3, "PLAN_OUTDATED")
    assert len(applied.place("prod").events()) == 2


def test_a_plan_of_another_environment_confirms_nothing(lakes: Lakes) -> None:
    """The other environment's statements are the same; the tables are not."""
    planned = Project.load(lakes.project.root, "dev").plan(["shop"])
    prod = Project.load(lakes.project.root, "prod")
    with pytest.raises(HistoryDisagrees) as caught:
        prod.migrate(["shop"], plan=planned)
    assert caught.value.code == "ENVIRONMENT_MISMATCH"
    assert lakes.place("prod").events() == []
    assert prod.migrate(["shop"], plan=prod.plan(["shop"]))[0].applied
