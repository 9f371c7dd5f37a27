"""One `migrate` on several catalogs, one after the other and at the same time."""

from __future__ import annotations

import hashlib
import io
import os
import re
import signal
import sys
import threading
from functools import partial
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import ConfigurationError, GlacierbaseError, Interrupted, StatementRefused
from glacierbase.executors.spark import Spark
from glacierbase.executors.spark.jars import record_jars
from glacierbase.project import each
from tests.support.catalog_files import RUNTIME
from tests.support.fakes import lost_answer
from tests.support.project_folder import ProjectFolder
from tests.support.several import Several
from tests.support.world import wait_until

ALL = [1, 2, 3]
_JAR = RUNTIME.replace("4.1_", "3.5_")
OTHER_SPARK = f"environments: {{default: {{migrationExecutor: {{conf: {{dependencies: ['{_JAR}']}}}}}}}}\n"
REFUSED = StatementRefused("Refused", "no")
SKIPPED = "not run, because catalog b failed"


@pytest.fixture
def several(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> Several:
    """A project of the catalogs a, b and c."""
    return Several(project, monkeypatch)


def refuse() -> None:
    raise REFUSED


def interrupt() -> None:
    """Send a signal to the main thread, as a terminal does."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
def test_results_are_in_order_of_name_whichever_catalog_ends_first(order: tuple[str, ...], several: Several) -> None:
    """All three run at the same time: each one waits until the one before it in the order has ended."""
    for before, name in pairwise(order):
        several.before(name, several.until("applied", before))
    results = several.migrate(3)
    assert [result.catalog for result in results] == ["a", "b", "c"]
    assert [len(result.applied) for result in results] == [1, 1, 1]


@pytest.mark.parametrize("parallel", ALL)
def test_n_catalogs_run_at_the_same_time(parallel: int, several: Several) -> None:
    """Each of the first N waits for the others, and no further one is started meanwhile."""
    together, started = threading.Barrier(parallel), []
    for name in "abc"[:parallel]:
        several.before(name, lambda: started.append([*filter(several.events, "abc")]), lambda: together.wait(30))
    several.migrate(parallel)
    assert several.applied == "abc"
    assert started[-1] == [*"abc"[:parallel]]


@pytest.mark.parametrize(("parallel", "applied"), [(1, ""), (2, "b"), (3, "bc")])
def test_after_the_first_catalog_failed_those_not_started_do_not_run(
    parallel: int, applied: str, several: Several
) -> None:
    """Catalogs that run meanwhile go on to their end. A result says why its catalog did not run, and what is pending there."""
    several.before("a", several.until("started", *applied), refuse)
    for name in applied:
        several.before(name, several.until_ended("a"), text="INSERT")
    a, *others = several.migrate(parallel)
    assert (a.error.code, several.applied) == ("STATEMENT_FAILED", applied)
    assert [result.catalog for result in others] == ["b", "c"]
    for result in others:
        is_left = result.catalog not in applied
        assert result.skipped == ("not run, because catalog a failed" if is_left else None)
        assert (result.not_run, result.error) == (("1",) if is_left else (), None)
        assert bool(several.events(result.catalog)) != is_left


@pytest.mark.parametrize("parallel", ALL)
def test_a_catalog_that_fails_last_leaves_the_others_applied(parallel: int, several: Several) -> None:
    """The error is that of the last one."""
    several.before("c", several.until("applied", "a", "b"), refuse)
    *_, c = several.migrate(parallel)
    assert (several.applied, c.error.code, c.skipped) == ("ab", "STATEMENT_FAILED", None)


def test_the_exit_code_is_that_of_the_first_failure_in_time(several: Several) -> None:
    """The document is in order of name: catalog a, which fails later and by another code, is its first entry."""
    several.before("a", several.until_ended("b"), lost_answer)
    several.before("b", refuse)
    output = several.call("migrate", "--parallel", "3", "--format", "json")
    assert (output.code, output.document["error"]["code"]) == (1, "STATEMENT_FAILED")
    errors = [entry["error"] and entry["error"]["code"] for entry in output.document["catalogs"]]
    assert errors == ["OUTCOME_UNKNOWN", "STATEMENT_FAILED", None]


def test_an_error_before_any_run_counts_as_the_first(several: Several) -> None:
    """Catalog b has no value for a reference. It does not stop the others, and its code is the exit code."""
    several.catalog("b", "variables: {x: '${env:NOT_SET_ANYWHERE}'}\n")
    several.before("c", refuse)
    output = several.call("migrate", "--format", "json")
    assert (output.code, output.document["error"]["code"]) == (2, "UNSET_REFERENCE")
    assert [bool(entry["applied"]) for entry in output.document["catalogs"]] == [True, False, False]
    assert [entry["skipped"] for entry in output.document["catalogs"]] == [None] * 3


def test_json_and_text_name_what_did_not_run(several: Several) -> None:
    """The document has all catalogs; the engine of a run is in it, also of one that failed."""
    several.before("a", refuse)
    several.project.file("2_b.sql", "SELECT 1", "b")
    output = several.call("migrate", "--format", "json")
    a, b, _ = output.document["catalogs"]
    assert (a["skipped"], a["engine"]) == (None, {"name": "sqlite", "version": "", "java": None})
    assert (b["skipped"], b["not_run"], b["engine"]) == ("not run, because catalog a failed", ["1", "2"], None)
    assert (b["applied"], b["failed"], b["error"]) == ([], None, None)
    text = several.call("migrate").stdout
    assert "b (default): not run, because catalog a failed\n  not run  1, 2\n\nc (default): not run" in text


def test_what_is_pending_is_not_guessed_where_only_the_engine_knows(several: Several) -> None:
    """A store in the engine's tables would start the engine. Neither is it started for a history that cannot be read."""
    several.catalog("b", "store: {type: sql}\n")
    several.before("a", refuse)
    several.places["c"].store_before = lambda _: lost_answer()
    opened: list[str] = []
    several.places["b"].store_before = opened.append
    _, b, c = several.migrate(1)
    assert (b.not_run, c.not_run, opened) == ((), (), [])
    assert b.skipped == c.skipped == "not run, because catalog a failed"


def test_cancelling_stops_all_catalogs_that_run(several: Several) -> None:
    """Each ends between two statements, its history says so and its lock is free; no other is started or read."""
    cancel = threading.Event()
    both = threading.Barrier(2, cancel.set)
    for name in "ab":
        several.before(name, lambda: both.wait(30))
    opened: list[str] = []
    several.places["c"].store_before = opened.append
    with pytest.raises(Interrupted) as caught:
        Project.load(several.project.root).migrate(parallel=2, cancel=cancel)
    assert [(result.error and result.error.code, result.skipped) for result in caught.value.results] == [
        ("INTERRUPTED", None),
        ("INTERRUPTED", None),
        (None, "not run, because the command was stopped"),
    ]
    assert [several.events(name)[-1] for name in "ab"] == ["interrupted"] * 2
    assert [several.places[name].tables.locks[name].owner for name in "ab"] == ["", ""]
    assert opened == []


def test_a_keyboard_interrupt_cancels_all_waits_for_them_and_is_raised(
    several: Several, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statements end after the signal; the runs stop before the next one, release their locks, and no other starts."""
    flags: list[threading.Event] = []
    cancelled_by = each._cancelled_by
    monkeypatch.setattr(each, "_cancelled_by", lambda flag, target: flags.append(flag) or cancelled_by(flag, target))
    both = threading.Barrier(2, interrupt)
    for name in "ab":
        several.before(name, lambda: both.wait(30), lambda: flags[0].wait(30))
    project = Project.load(several.project.root)
    with pytest.raises(KeyboardInterrupt):
        project.migrate(parallel=2)
    assert [several.events(name)[-1] for name in "ab"] == ["interrupted"] * 2
    assert [several.places[name].tables.locks[name].owner for name in "ab"] == ["", ""]
    assert (several.events("c"), project.held_locks.descriptions()) == ([], ())


def test_a_bug_in_one_catalog_is_raised_after_the_others_have_ended(several: Several) -> None:
    """A catalog that runs goes on to its end, and no other is started."""

    def bug() -> None:
        raise RuntimeError("a bug")

    several.before("a", several.until("started", "b"), bug)
    several.before("b", several.until_ended("a"), text="INSERT")
    with pytest.raises(RuntimeError, match="a bug"):
        several.migrate(2)
    assert (several.applied, several.events("c")) == ("b", [])


@pytest.mark.parametrize("parallel", [1, 3])
def test_nothing_of_any_catalog_runs_if_an_engine_does_not_fit(parallel: int, several: Several) -> None:
    """The jar of catalog b is for another Spark. Neither a nor c starts; the hook of b that reports failures runs."""
    several.catalog("b", f"{OTHER_SPARK}hooks: {{onFailure: [touch, reported]}}\n")
    a, b, c = several.migrate(parallel)
    assert (b.error.code, b.not_run, b.skipped) == ("SPARK_VERSION_MISMATCH", ("1",), None)
    assert [(result.skipped, result.not_run) for result in (a, c)] == [(SKIPPED, ("1",))] * 2
    assert [place.content() for place in several.places.values()] == [({}, {})] * 3
    assert (several.project.root / "reported").exists()


def test_nothing_of_any_catalog_runs_if_a_resolved_jar_has_another_digest(
    several: Several, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jars that were never resolved are compared when Spark starts, because resolving them starts a Java."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    jar = tmp_path / "g_a-2.jar"
    jar.write_bytes(b"the jar")
    digest = hashlib.sha256(b"exchanged").hexdigest()
    dependencies = f"dependencies: [{{coordinate: 'g:a:2', sha256: {digest}}}]"
    several.catalog("b", f"environments: {{default: {{migrationExecutor: {{conf: {{{dependencies}}}}}}}}}\n")
    root = several.project.root
    file = next(file for file in load_catalog_files(root / "catalogs", root) if file.name == "b")
    catalog = file.for_environment("default", root)
    record_jars(catalog.spark_conf, catalog.dependencies, [jar.as_uri()])
    a, b, c = several.migrate(1)
    assert (b.error.code, b.not_run, [a.skipped, c.skipped]) == ("DEPENDENCY_DIGEST", ("1",), [SKIPPED] * 2)
    assert [place.content() for place in several.places.values()] == [({}, {})] * 3
    jar.write_bytes(b"exchanged")
    several.migrate(1)
    assert several.applied == "abc"


def test_an_engine_that_does_not_fit_does_not_matter_where_nothing_is_pending(several: Several) -> None:
    """The other catalogs run, and the catalog has nothing to do."""
    several.migrate(1, catalogs=["b"])
    several.catalog("b", OTHER_SPARK)
    results = several.migrate(2)
    assert [result.error for result in results] == [None] * 3
    assert several.applied == "abc"


def test_an_engine_that_does_not_fit_counts_where_it_is_needed_to_read_the_history(several: Several) -> None:
    """What is pending is not known, and not guessed."""
    several.catalog("b", f"{OTHER_SPARK}store: {{type: sql}}\n")
    _, b, _ = several.migrate(1)
    assert (b.error.code, b.not_run, several.applied) == ("SPARK_VERSION_MISMATCH", (), "")


def test_an_error_of_a_plan_is_reported_by_the_run_of_its_catalog(several: Several) -> None:
    """Catalog b has an edited file and an engine that does not fit; nothing of it would run, so that the others run."""
    several.migrate(1, catalogs=["b"])
    several.project.file("1_a.sql", "SELECT 2", "b")
    several.catalog("b", OTHER_SPARK)
    _, b, _ = several.migrate(1)
    assert (several.applied, b.error.code) == ("abc", "CHECKSUM_MISMATCH")


def test_one_catalog_is_checked_once(several: Several, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command on one catalog checks it; one on two checks both before the first runs, and neither again."""
    checked: list[str] = []
    monkeypatch.setattr(Spark, "check_installed", lambda _, catalog: checked.append(catalog.name))
    several.migrate(3, catalogs=["a"])
    assert checked == ["a"]
    several.before("b", lambda: checked.append("b runs"))
    several.migrate(1, catalogs=["b", "c"])
    assert checked == ["a", "b", "c", "b runs"]


def test_catalogs_that_can_share_an_engine_are_adjacent(several: Several, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order is otherwise that of the names; catalogs whose engine starts no process keep their places."""
    needs = {"a": ["x"], "b": None, "c": ["x"]}
    monkeypatch.setattr(Spark, "needs", lambda _, catalog: needs[catalog.name])
    order: list[str] = []
    for name in several.places:
        several.before(name, partial(order.append, name))
    several.migrate(1)
    assert order == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("parallel", "code"), [(0, "INVALID_VALUE"), (-1, "INVALID_VALUE"), (2, "CONFLICTING_OPTIONS")]
)
def test_a_session_and_a_number_that_is_none_are_refused(parallel: int, code: str, several: Several) -> None:
    """A given session runs one catalog at a time."""
    with pytest.raises(ConfigurationError) as caught:
        Project.load(several.project.root).migrate(parallel=parallel, spark=object())
    assert caught.value.code == code
    assert [place.content() for place in several.places.values()] == [({}, {})] * 3


def test_commands_and_logs_of_each_catalog_name_it(several: Several) -> None:
    """The threads do not share the choice that commands repeat, and a line of the log is whole."""
    both = threading.Barrier(3)
    for name in several.places:
        several.before(name, lambda: both.wait(30), refuse)
    hints = [re.findall("--catalog ([abc])", result.error.hint) for result in several.migrate(3)]
    assert hints == [[name] * 4 for name in "abc"]
    for name in several.places:
        several.before(name)
    lines = several.call("migrate", "--parallel", "3", "--format", "json").stderr.splitlines()
    assert sorted(line.partition("  2 statements, ")[0] for line in lines) == [
        f"applied  migrations/{name}/1_a.sql" for name in several.places
    ]


def test_hooks_of_catalogs_run_at_the_same_time_and_apart(several: Several) -> None:
    """Each hook waits for that of the other catalog. One fails and is quoted with its own output; the other run succeeds."""
    (several.project.root / "hook").write_text(
        "#!/bin/sh\ntouch $GLACIERBASE_CATALOG.began\n"
        "for try in $(seq 300); do [ -f a.began ] && [ -f b.began ] && break; sleep 0.1; done\n"
        'echo "output of $GLACIERBASE_CATALOG"\n[ -f b.began ] && [ "$GLACIERBASE_CATALOG" != a ]\n'
    )
    (several.project.root / "hook").chmod(0o755)
    for name in "ab":
        several.catalog(name, "hooks: {beforeMigrate: [./hook]}\n")
    a, b = several.migrate(2, catalogs=["a", "b"])
    assert (a.error.code, b.error) == ("HOOK_FAILED", None)
    assert "output of a" in a.error.message
    assert "output of b" not in a.error.message


@pytest.mark.parametrize("parallel", ["1", "2"])
def test_a_plan_file_is_applied_with_all_its_catalogs(parallel: str, several: Several, tmp_path: Path) -> None:
    """The environment requires a plan. A catalog that changed since is refused."""
    for name in several.places:
        several.catalog(name, "requirePlan: true\n")
    path = str(tmp_path / "plan.json")
    assert several.call("plan", "--output", path).code == 0
    assert several.call("migrate", "--parallel", parallel, "--plan", path).code == 0
    assert several.applied == "abc"
    several.project.file("2_b.sql", "SELECT 1", "c")
    output = several.call("migrate", "--parallel", parallel, "--plan", path, "--format", "json")
    assert (output.code, output.document["error"]["code"]) == (3, "PLAN_OUTDATED")


def test_a_second_signal_names_every_lock_that_is_left_behind(
    several: Several, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The process ends at once, while the statements of two catalogs run."""
    done, stderr = threading.Event(), io.StringIO()
    both = threading.Barrier(2, interrupt)

    def interrupt_again() -> None:
        wait_until(lambda: "stopping: " in stderr.getvalue())
        interrupt()
        done.wait(30)

    several.before("a", lambda: both.wait(30), interrupt_again)
    several.before("b", lambda: both.wait(30), lambda: done.wait(30))
    monkeypatch.setattr(os, "_exit", sys.exit)
    try:
        assert several.call("migrate", "--parallel", "2", stderr=stderr).code == 130
    finally:
        done.set()
    left = [line for line in capfd.readouterr().err.splitlines() if line.startswith("a lock is left behind")]
    assert sorted(line.partition(", ")[0] for line in left) == [
        f"a lock is left behind: the lock of {name}" for name in "ab"
    ]


def test_an_error_is_raised_with_all_results(several: Several) -> None:
    """The attribute `results` has those of the catalogs that did not run, too."""
    several.before("a", refuse)
    with pytest.raises(GlacierbaseError) as caught:
        Project.load(several.project.root).migrate()
    results: tuple[Any, ...] = caught.value.results
    assert repr(results[2]) == "c (default): not run, because catalog a failed\n  not run  1"
