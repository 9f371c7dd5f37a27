"""The state now is in the text of every error that is raised before anything runs."""

from __future__ import annotations

import pytest

from glacierbase.errors import (
    ConfigurationError,
    GlacierbaseError,
    HistoryDisagrees,
    MigrationFailed,
    MigrationFileError,
    SeveralErrors,
)
from glacierbase.output.documents import json_document, text_errors
from tests.support.project_folder import ProjectFolder, migration


@pytest.mark.parametrize("kind", [ConfigurationError, MigrationFileError, HistoryDisagrees])
def test_an_error_of_what_is_checked_before_a_run_states_that_nothing_ran(kind: type[GlacierbaseError]) -> None:
    """The line is between the hint and the command that explains the code."""
    text = text_errors([kind("A_CODE", "what, where", "do this")])
    assert text.splitlines() == [
        "error: A_CODE: what, where", "next: do this", "state: nothing ran", "more: glacierbase explain A_CODE",
    ]  # fmt: skip


@pytest.mark.parametrize("state", ["nothing ran", "nothing was written", "nothing was recorded"])
def test_a_message_with_the_state_is_not_given_another(state: str) -> None:
    """Every message that says what ran, or what was changed, stays as it is."""
    assert "state:" not in text_errors([ConfigurationError("A_CODE", f"what, where; {state}")])


def test_several_errors_state_once_that_nothing_ran() -> None:
    """The line is below all of them; an error that has another state is not among them."""
    before = SeveralErrors([ConfigurationError("ONE", "a"), MigrationFileError("TWO", "b", "do that")])
    failed = MigrationFailed("THREE", "c; the first statement is done")
    assert text_errors([before, before, failed]).splitlines()[:-1] == [
        "error: ONE: a", "error: TWO: b", "next: do that", "state: nothing ran", "error: THREE: c; the first statement is done",
    ]  # fmt: skip


def test_an_error_that_changed_something_states_no_more_than_its_message() -> None:
    """An error can replace the state of its class."""
    assert "state:" not in text_errors([ConfigurationError("GIT_FAILED", "still renamed: a.sql", state="")])


def test_the_json_document_of_an_error_has_the_fields_that_it_had() -> None:
    """The line is a part of the text only."""
    assert "state" not in json_document("migrate", [], ConfigurationError("A_CODE", "what, where"))


@pytest.mark.parametrize("command", ["migrate", "repair", "validate", "pending"])
def test_each_command_states_that_nothing_ran_after_wrong_files(command: str, project: ProjectFolder) -> None:
    """A catalog file and a migration are wrong; both errors are above the line."""
    project.catalog("migrationExecutor: {type: spark}\nstore: {catalog: lake}\nvariabels: {}\n")
    (project.root / "migrations/shop/0001_a.sql").write_text(migration("SELECT 1").replace("AUTHOR", "AUTOR"))
    done = project.run(command)
    assert done.code != 0
    assert done.stderr.splitlines()[-2] == "state: nothing ran"
    assert done.stderr.count("nothing ran") == 1
    assert done.stderr.count("error: ") >= 2
