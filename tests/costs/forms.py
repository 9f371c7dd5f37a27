"""The form of a test, quick, lint, long or full: it follows from the recorded cost and from four lists, and from nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from tests.costs.table import Costs

# The quick form holds each test that costs less, in seconds of processor time.
QUICK = 0.3
# The long form holds the first item of each function on each engine, and each that costs less.
LONG = 0.5
# The full form holds each test that costs more.
MOST = 3.5

# What the quick form shows of the real parts, whatever it costs.
KEPT: tuple[str, ...] = (
    "tests/crash/test_kill_matrix.py::test_killed_anywhere_each_effect_is_there_once_in_the_end[repeatable-inside:6-python]",
    "tests/crash/test_race.py::test_of_many_processes_one_applies_and_the_others_name_it_or_find_nothing_to_do[snowflake-2]",
    "tests/engines/test_migrate_iceberg.py::test_migrations_change_real_tables_and_are_in_the_history_table",
    "tests/engines/test_migrate_snowflake.py::test_statements_run_and_are_recorded_with_their_ids",
    "tests/unit/migrations/test_sandbox.py::test_the_worker_takes_no_more_memory_than_it_may",
    "tests/unit/capabilities/review/test_direct_review.py::test_plain_ddl_is_replayed_without_an_engine",
    "tests/unit/stores/test_object_store.py::test_the_program_makes_few_requests_to_the_store",
)
# What the long form shows of a Spark that is killed, and of a re-key of objects, whatever it costs.
KEPT_LONG: tuple[str, ...] = (
    "tests/crash/test_recovery.py::test_a_commit_whose_answer_was_lost_is_done",
    "tests/engines/test_rekey_objects.py::test_a_clean_up_that_stopped_goes_on_with_what_is_left",
)
# Texts, layers, screens, the commands of guides, large random inputs, and large sets of generated cases of which the quick form has
# others. The lint step of CI runs them.
LINT: tuple[str, ...] = (
    "tests/costs/",
    "tests/docs/",
    "tests/histories/",
    "tests/oracle/test_oracle.py::test_the_direct_engine_does_in_chains_of_clauses_what_spark_did",
    "tests/oracle/test_model.py",
    "tests/test_architecture.py",
    "tests/test_growth.py",
    "tests/test_reader_growth.py",
    "tests/test_style.py",
    "tests/unit/capabilities/authoring/test_squash.py::test_a_variable_is_said_unless_it_is_only_in_names_of_tables",
    "tests/unit/errors/test_reference.py",
    "tests/unit/history/test_damaged_events.py::test_no_command_ends_in_an_internal_error",
    "tests/unit/migrations/test_fuzz",
    "tests/unit/migrations/test_statements_properties.py::test_a_hostile_text_of_200_000_characters_ends",
    "tests/unit/output/test_screen.py",
    "tests/unit/stores/test_clones.py::test_what_is_done_in_a_clone_deletes_no_file_of_the_original",
)
# Tests of a server whose program is fetched when it is first used, and the fixture that starts it. The quick form uses none.
FETCHED: tuple[str, ...] = ("tests/engines/test_sharding.py",)
FETCHED_FIXTURE = "tests::dynamodb"

_FUNCTION = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)


class Form(str, Enum):
    """The forms, each with the mark of its tests."""

    QUICK = "quick"
    LINT = "lint"
    LONG = "long"
    FULL = "full"


def form(node: str, costs: Costs, is_first: bool) -> Form:
    """Return the form of a test. One whose cost is not recorded yet is quick.

    Args:
        is_first: whether it is the first item of its function on its engines.
    """
    seconds = costs.seconds(node) or 0.0
    if node.startswith(KEPT):
        return Form.QUICK
    if node.startswith(KEPT_LONG):
        return Form.LONG
    if seconds > MOST:
        return Form.FULL
    if node.startswith(LINT):
        return Form.LINT
    if seconds < QUICK:
        cost = costs.of(node)
        is_fetched = node.startswith(FETCHED) or (cost is not None and FETCHED_FIXTURE in cost.shares)
        return Form.LONG if is_fetched else Form.QUICK
    return Form.LONG if is_first or seconds < LONG else Form.FULL


def is_left_out(file: Path, path: str, selects: Mapping[Form, bool], costs: Costs) -> bool:
    """Return whether a file holds no test of a selected form, by the costs of all its functions. It then need not be imported.

    Args:
        path: its path in node ids.
    """
    recorded = costs.files.get(path, {})
    if {*_FUNCTION.findall(file.read_text("utf-8"))} - recorded.keys():
        return False
    return not any(
        selects[form(node, costs, is_first)]
        for nodes in recorded.values() for node in nodes for is_first in (True, False)
    )  # fmt: skip
