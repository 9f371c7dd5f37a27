"""Breaks of repeatables: when one runs, what is recorded of it, and in which order they run."""

from __future__ import annotations

from tests.breaks.running import Break

_APPLY = "unit/apply/test_repeatables.py::"
_FILES = "unit/migrations/test_repeatables.py::"

BREAKS = (
    Break(
        "a repeatable runs while a version is left out",
        "apply/plan.py",
        "repeatables if len(chosen) == len(unsettled) and not selection.only else ()",
        "repeatables",
        f"{_APPLY}test_none_runs_while_a_version_is_left_out",
    ),
    Break(
        "a changed repeatable does not run again",
        "history/items.py",
        "is_other = rendered is not None and record.last.rendered_checksum != rendered",
        "is_other = False",
        f"{_APPLY}test_what_changed_runs_again",
    ),
    Break(
        "a repeatable that returned is taken for applied",
        "history/items.py",
        "(is_other or record.is_removed)",
        "is_other",
        f"{_APPLY}test_a_file_that_returns_after_its_removal_was_accepted_runs",
    ),
    Break(
        "an edited repeatable resumes in its middle",
        "apply/plan.py",
        "record.last.rendered_checksum == file.checksum and not any",
        "not any",
        f"{_APPLY}test_a_failed_one_that_was_edited_begins_again",
    ),
    Break(
        "a repeatable resumes in a session that cannot be set again",
        "apply/plan.py",
        " and not any(_not_resumed(planned, file))",
        "",
        f"{_APPLY}test_a_failed_one_whose_session_cannot_be_set_again_begins_again",
    ),
    Break(
        "a repeatable that begins again has its former statements done",
        "history/records.py",
        "done = (event.statement_index or 1) - 1",
        "done = done",
        f"{_APPLY}test_an_unknown_outcome_is_left_to_repair",
    ),
    Break(
        "an unknown repeatable stops no run",
        "apply/plan.py",
        "for item in known if item.state is State.UNKNOWN",
        "for item in known if item.state is State.UNKNOWN and not item.is_repeatable",
        f"{_APPLY}test_an_unknown_outcome_is_left_to_repair",
    ),
    Break(
        "an event of a version that lost its number is ignored",
        "history/details.py",
        "        if event.event in _OF_CATALOG:\n",
        "        if True:\n",
        f"{_APPLY}test_an_event_of_a_repeatable_that_no_run_writes_is_damage",
    ),
    Break(
        "a cycle leaves files out silently",
        "migrations/repeatables.py",
        "    if left:\n",
        "    if False:\n",
        f"{_FILES}test_a_cycle_is_an_error_at_the_line_that_closes_it",
    ),
    Break(
        "a repeatable that comes after another one runs last",
        "migrations/repeatables.py",
        "heapq.heappush(ready, other)",
        "ready.append(other)",
        f"{_FILES}test_of_repeatables_that_may_be_next_the_first_by_name_runs_first",
    ),
    Break(
        "an unknown name in a header is ignored",
        "migrations/repeatables.py",
        "            if name not in known:\n",
        "            if False:\n",
        f"{_FILES}test_an_order_after_a_file_that_does_not_exist_is_an_error_with_the_nearest_name",
    ),
    Break(
        "a repeatable may have a version in its name",
        "model/migration.py",
        'REPEATABLE_NAME = re.compile(r"[a-z]',
        'REPEATABLE_NAME = re.compile(r"[a-z0-9]',
        f"{_FILES}test_a_misnamed_repeatable_is_an_error_and_never_skipped",
    ),
    Break(
        "a deleted repeatable is not noticed",
        "apply/plan.py",
        "warnings=(*_ahead(ahead, traces), *_warned(left, traces)),",
        "warnings=tuple(_ahead(ahead, traces)),",
        f"{_APPLY}test_a_deleted_one_is_a_warning_until_a_person_accepts_it",
    ),
    Break(
        "a plan does not compare repeatables",
        "apply/approved.py",
        "{migration.label for migration in migrations}",
        "{file.label for file in then.plan}",
        "unit/cli/test_repeatables.py::test_a_plan_names_repeatables_that_came_and_went",
    ),
    Break(
        "a secret in the path of a repeatable damages the history",
        "history/recorder.py",
        "path=_masked(file.path) if file.version else file.path,",
        "path=_masked(file.path),",
        f"{_APPLY}test_a_secret_that_occurs_in_its_path_leaves_the_history_readable",
    ),
    Break(
        "a secret in a version damages the history",
        "history/recorder.py",
        "version=file.version,",
        "version=_masked(file.version),",
        f"{_APPLY}test_a_secret_that_occurs_in_a_version_leaves_the_history_readable",
    ),
    Break(
        "a deleted repeatable hides its unknown outcome",
        "history/items.py",
        "    is_open = record.state in (State.UNKNOWN, State.RUNNING)\n",
        "    is_open = False\n",
        f"{_APPLY}test_an_unknown_outcome_is_settled_before_a_deleted_file_is_accepted",
    ),
    Break(
        "a failed repeatable that was edited is shown as pending",
        "history/items.py",
        "record.is_settled and (is_other",
        "(is_other",
        f"{_APPLY}test_a_failed_one_that_was_edited_begins_again",
    ),
    Break(
        "a version without a file is no item",
        "history/items.py",
        "sorted({*by_number, *(record.number for record in history.versions)}):",
        "sorted(by_number):",
        "unit/history/test_items.py::test_items_are_in_the_order_in_which_they_run",
    ),
    Break(
        "compare takes the name of a repeatable for a version",
        "capabilities/tables/compare/origins.py",
        "            if moment.event.name is not None:",
        "            if False:",
        "unit/capabilities/tables/test_compare_repeatables.py::test_a_table_that_a_repeatable_changed_last_has_that_change",
    ),
    Break(
        "CREATE TABLE IF NOT EXISTS of a repeatable is a finding",
        "capabilities/review/rules/files.py",
        "if step.parsed.options.if_not_exists and not file.migration.is_repeatable:",
        "if step.parsed.options.if_not_exists:",
        "unit/capabilities/review/test_lint.py::test_a_repeatable_may_do_what_only_a_file_that_runs_once_must_not",
    ),
    Break(
        "the session of a repeatable is a finding",
        "capabilities/review/rules/files.py",
        "    if file.migration.is_repeatable or",
        "    if",
        "unit/capabilities/review/test_lint.py::test_a_repeatable_may_do_what_only_a_file_that_runs_once_must_not",
    ),
    Break(
        "the confirmation of a baseline fails where a repeatable is pending",
        "cli/apply.py",
        "if f.version and f.number <= last",
        "if f.number <= last",
        "unit/cli/test_repeatables.py::test_the_confirmation_of_a_baseline_lists_versions_only",
    ),
)
