"""The display of what a command is doing: on a terminal, in a log, and beside JSON."""

from __future__ import annotations

import io
import logging
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import replace
from types import SimpleNamespace

import pytest

from glacierbase.cli import display
from glacierbase.cli.display import LiveLine, LogLines, open_display
from glacierbase.cli.terminal import Terminal
from glacierbase.model.text import as_clock
from glacierbase.run.activity import Activity, doing, on_own_line
from glacierbase.run.waiting import start_thread
from glacierbase.secrets import register
from tests.support.hostile import PAYLOAD, check_safe
from tests.support.project_folder import ProjectFolder
from tests.support.terminal import Recording, run_on_terminal, terminal
from tests.support.world import World

logger = logging.getLogger("glacierbase")


# The age of an activity is exact where a test compares it: between two lines a busy machine may pause for seconds.
NOW = 1_000_000.0


@pytest.fixture(autouse=True)
def environment_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable replaces the width of the terminal; pytest-xdist sets one. A detail may be late."""
    monkeypatch.setattr(display, "_ANSWER_SECONDS", 30)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("CI", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def tty() -> Iterator[Recording]:
    """A terminal of 80 columns, as stderr where a test calls `watching` or `report`."""
    with terminal() as recording:
        yield recording


@contextmanager
def watching(tty: Recording, form: str = "text") -> Iterator[None]:
    """Show what happens in the block."""
    with redirect_stderr(tty.stream), open_display(form).watching():
        yield


def report(tty: Recording, command: str, run: Callable[[Terminal], object]) -> None:
    """Run a command that returns no results."""
    with redirect_stderr(tty.stream):
        screen = Terminal("text", False)
        with screen.reporting(command):
            run(screen)


def started(seconds_ago: float, what: str = "shop: running 0003 2/4 (line 6)", detail: str | None = None) -> Activity:
    """Return a statement that has been running that long."""
    return Activity(what, lambda: detail, announce=False, since=NOW - seconds_ago)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock of the display."""
    monkeypatch.setattr(display, "time", SimpleNamespace(monotonic=lambda: NOW))


def wait_for(condition: Callable[[], object]) -> None:
    """Return once the condition holds."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def shown(recording: Recording, activity: Activity) -> str:
    """Return the line that a terminal shows of an activity."""
    LiveLine(recording.stream)._show([activity], [activity])
    wait_for(lambda: recording.live)
    return recording.live[-1]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "00:00"), (41.9, "00:41"), (60, "01:00"), (3599, "59:59"), (3600, "1:00:00"), (90_061, "25:01:01")],
)
def test_elapsed_time_is_a_clock(seconds: float, text: str) -> None:
    """Hours appear from the first on, and are not folded into days."""
    assert as_clock(seconds) == text


def test_a_line_names_version_statement_line_time_and_what_the_engine_shows(tty: Recording, now: None) -> None:
    """The display prints the line of the documentation."""
    line = shown(tty, started(41.2, detail="stage 2, 145/224 tasks"))
    assert line == "shop: running 0003 2/4 (line 6) 00:41, stage 2, 145/224 tasks"


def test_the_line_grows_each_second_and_is_gone_afterwards(tty: Recording) -> None:
    """Nothing is shown of what takes less than a second."""
    with watching(tty):
        with doing("shop: running 1 1/2 (line 4)"):
            pass
        with doing("shop: running 1 2/2 (line 5)", lambda: "half"):
            wait_for(lambda: len(tty.live) >= 2)
    found = [re.fullmatch(r"shop: running 1 2/2 \(line 5\) 00:(\d\d), half", line) for line in tty.live]
    seconds = [int(each[1]) for each in found if each]
    assert len(seconds) == len(tty.live)
    assert seconds == sorted(set(seconds))
    assert seconds[0] >= 1
    wait_for(lambda: tty.screen == [])


def test_a_log_line_is_written_above_the_live_line(tty: Recording) -> None:
    """A message is intact; the line is removed before it and comes back after it."""

    def run(_: Terminal) -> None:
        with doing("shop: running 1 1/1 (line 4)"):
            wait_for(lambda: tty.live)
            logger.warning("shop: the lock could not be renewed")
            before = len(tty.live)
            wait_for(lambda: len(tty.live) > before)

    report(tty, "migrate", run)
    wait_for(lambda: tty.screen == ["shop: the lock could not be renewed"])


def test_an_error_and_a_signal_remove_the_line(tty: Recording) -> None:
    """What the terminal shows in the end is the error."""

    def run(_: Terminal) -> None:
        with doing("shop: running 1 1/1 (line 4)"):
            wait_for(lambda: tty.live)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(SystemExit) as caught:
        report(tty, "warm", run)
    assert caught.value.code == 130
    wait_for(lambda: "explain" in tty.text)
    assert tty.screen[0].startswith("error: INTERRUPTED: warm was stopped by a signal")


def test_the_second_signal_removes_the_line_before_the_process_ends(
    tty: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next line of a shell begins on an empty line."""

    def end(code: int) -> None:
        wait_for(lambda: tty.text.endswith("\r\x1b[K"))
        sys.exit(code)

    def run(screen: Terminal) -> None:
        with screen.signals.cancelling(), doing("shop: running 1 1/1 (line 4)"):
            signal.raise_signal(signal.SIGINT)
            wait_for(lambda: tty.live)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, "_exit", end)
    with pytest.raises(SystemExit) as caught:
        report(tty, "migrate", run)
    assert caught.value.code == 130
    assert tty.screen[0].startswith("stopping: ")


def test_a_job_in_the_background_leaves_the_prompt_of_its_shell_alone(
    tty: Recording, now: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terminal belongs to another process group meanwhile."""
    line, activity = LiveLine(tty.stream), started(5)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp() + 1)
    line._show([activity], [activity])
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
    assert shown(tty, activity) == "shop: running 0003 2/4 (line 6) 00:05"
    assert len(tty.live) == 1


def test_an_activity_that_has_ended_meanwhile_is_not_shown(tty: Recording, now: None) -> None:
    """The answer of its engine may come after its end; something else is on the line by then."""
    LiveLine(tty.stream)._show([started(5)], [])
    assert shown(tty, started(6)).endswith("00:06")
    assert len(tty.live) == 1


def test_the_line_is_gone_before_a_question(tty: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question is asked on an empty line."""
    monkeypatch.setattr(sys, "stdin", type("Keyboard", (io.StringIO,), {"isatty": lambda _: True})("no\n"))

    def run(screen: Terminal) -> None:
        with doing("shop: starting Spark"):
            wait_for(lambda: tty.live)
        screen.confirm(["prod"], [])

    with pytest.raises(SystemExit):
        report(tty, "migrate", run)
    wait_for(lambda: "explain" in tty.text)
    assert tty.screen[0].startswith("environment prod is protected")


@pytest.mark.parametrize(
    ("columns", "what", "expected"),
    [
        (20, "shop: running 0003 2/4 (line 6)", "shop: running 0003 "),
        (20, "shop: 表表表表表表表表表", "shop: 表表表表表表"),
        (0, "shop: running 0003 2/4 (line 6)", "shop: running 0003 2/4 (line 6) 00:05"),
    ],
)
def test_a_line_is_cut_and_never_wraps(columns: int, what: str, expected: str, now: None) -> None:
    """Wide characters count twice; a terminal that does not know its width has 80 columns."""
    with terminal(columns) as recording:
        assert shown(recording, started(5, what)) == expected


def test_a_line_shows_no_secret_and_obeys_no_value(tty: Recording, now: None) -> None:
    """Host names, file names and states come from elsewhere."""
    register("canary-of-the-display")
    line = shown(tty, started(5, detail=f"canary-of-the-display {PAYLOAD}"))
    assert "canary" not in line
    assert line.startswith("shop: running 0003 2/4 (line 6) 00:05, *** ")
    check_safe(line)


def test_an_engine_that_does_not_answer_or_fails_costs_only_the_detail(
    tty: Recording, now: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seconds go on; another activity has its own detail."""
    silent, line = threading.Event(), LiveLine(tty.stream)

    def fail() -> str:
        raise RuntimeError("no")

    details = {"hanging": lambda: str(silent.wait(60)), "failing": fail, "answering": lambda: "here"}
    hanging, *others = [Activity(what, detail, True, NOW - 5) for what, detail in details.items()]
    for activity in (hanging, hanging):
        with monkeypatch.context() as patch:
            patch.setattr(display, "_ANSWER_SECONDS", 0.1)
            line._show([activity], [activity])
    for activity in others:
        line._show([activity], [activity])
    silent.set()
    wait_for(lambda: len(tty.live) == 4)
    assert tty.live == ["hanging 00:05", "hanging 00:05", "failing 00:05", "answering 00:05, here"]


def test_a_closed_terminal_disturbs_nothing(tty: Recording) -> None:
    """The command goes on; neither the end of its activity nor a log line raises an error."""
    with watching(tty), doing("shop: running 1 1/1 (line 4)"):
        wait_for(lambda: tty.live)
        tty.stream.close()
        time.sleep(1.1)


@pytest.mark.parametrize(
    ("environ", "kind"),
    [
        ({"TERM": "xterm"}, LiveLine),
        ({"TERM": "dumb"}, LogLines),
        ({"TERM": ""}, LogLines),
        ({"TERM": "xterm", "CI": "true"}, LogLines),
    ],
)
def test_only_a_terminal_that_can_rewrite_a_line_has_a_live_one(
    environ: dict[str, str], kind: type, tty: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CI service may offer a terminal, and records everything that is written to it."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with redirect_stderr(tty.stream):
        assert type(open_display("text")) is kind


def test_in_a_log_a_phase_has_a_line_at_its_start_and_a_statement_one_a_minute(
    caplog: pytest.LogCaptureFixture, now: None
) -> None:
    """A phase or a statement that takes less leaves no line."""
    caplog.set_level(logging.INFO, "glacierbase")
    log, phase = LogLines(), started(0.5, "shop: starting Spark")
    phase.announce = True
    statement = started(59.5, detail="stage 1, 5/8 tasks")
    for activity in (phase, statement):
        log._show([activity], [activity])
    assert caplog.messages == []
    for activity, age in ((phase, 1.1), (phase, 2), (phase, 62), (statement, 60), (statement, 61), (statement, 121)):
        activity.since = NOW - age
        log._show([activity], [activity])
    assert caplog.messages == [
        "shop: starting Spark",
        "shop: starting Spark 01:02",
        "shop: running 0003 2/4 (line 6) 01:00, stage 1, 5/8 tasks",
        "shop: running 0003 2/4 (line 6) 02:01, stage 1, 5/8 tasks",
    ]


def catalogs_at_work(count: int, seconds: float = 5) -> list[Activity]:
    """Return the activity of each of several catalogs, which have separate lines."""
    return [replace(started(seconds, f"c{number}: starting Spark"), line=number) for number in range(1, count + 1)]


def test_each_catalog_that_runs_has_a_line_which_is_rewritten_in_place(tty: Recording, now: None) -> None:
    """The lines are in the order in which the catalogs started; those of catalogs that have ended disappear."""
    line, (first, second, third) = LiveLine(tty.stream), catalogs_at_work(3)
    tty.stream.write("before\n")
    line._show([first, second, third], [first, second, third])
    wait_for(lambda: tty.screen == ["before", *(f"c{number}: starting Spark 00:05" for number in (1, 2, 3))])
    second.since, third.since = NOW - 70, NOW - 0.1
    line._show([second, third], [second, third])
    wait_for(lambda: tty.screen == ["before", "c2: starting Spark 01:10", "c3: starting Spark 00:00"])
    with line.paused():
        tty.stream.write("applied  migrations/c1/1_a.sql\n")
    line._show([third], [third])
    line._show([second], [second])
    wait_for(lambda: tty.screen == ["before", "applied  migrations/c1/1_a.sql", "c2: starting Spark 01:10"])
    line._show([second, third], [second, third])
    line.close()
    wait_for(lambda: tty.screen == ["before", "applied  migrations/c1/1_a.sql"])


@pytest.mark.parametrize(
    ("rows", "count", "shown"), [(24, 10, 10), (24, 12, 9), (6, 5, 5), (6, 6, 4), (2, 3, 1), (0, 11, 9)]
)
def test_the_lines_of_catalogs_fit_on_the_screen(rows: int, count: int, shown: int, now: None) -> None:
    """The screen never scrolls by them: at most ten are shown, or one less than it has; the last one counts the others."""
    activities = catalogs_at_work(count)
    with terminal(rows=rows) as recording:
        LiveLine(recording.stream)._show(activities, activities)
        last = [] if shown == count else [f"…and {count - shown} more"]
        expected = [*(f"c{number}: starting Spark 00:05" for number in range(1, shown + 1)), *last]
        wait_for(lambda: recording.screen == expected)


def test_lines_of_catalogs_are_cut_and_never_wrap(now: None) -> None:
    """A wrapped line would not be erased."""
    activities = catalogs_at_work(2)
    with terminal(12) as recording:
        line = LiveLine(recording.stream)
        line._show(activities, activities)
        wait_for(lambda: recording.screen == ["c1: startin", "c2: startin"])
        line.clear()
        wait_for(lambda: recording.screen == [])


def test_one_engine_without_an_answer_delays_no_other_line(
    tty: Recording, now: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each catalog has its own detail, which is requested at the same time as the others."""
    silent, (first, second) = threading.Event(), catalogs_at_work(2)
    first.detail, second.detail = lambda: str(silent.wait(60)), lambda: "stage 1"
    monkeypatch.setattr(display, "_ANSWER_SECONDS", 0.2)
    line = LiveLine(tty.stream)
    for _ in range(2):
        line._show([first, second], [first, second])
    wait_for(lambda: tty.screen == ["c1: starting Spark 00:05", "c2: starting Spark 00:05, stage 1"])
    silent.set()


def test_a_log_names_the_catalogs_that_run_at_the_same_time(caplog: pytest.LogCaptureFixture, now: None) -> None:
    """Each start is a line, as with one catalog."""
    caplog.set_level(logging.INFO, "glacierbase")
    activities = catalogs_at_work(2)
    for activity in activities:
        activity.announce = True
    LogLines()._show(activities, activities)
    assert caplog.messages == ["c1: starting Spark", "c2: starting Spark"]


def test_catalogs_that_run_in_threads_have_lines_of_their_own(tty: Recording) -> None:
    """The newest activity of each is shown; an activity in a thread that a catalog starts is on its line."""

    def work(name: str) -> None:
        with on_own_line(), doing(f"{name}: outer"):
            start_thread(lambda: inner(name), name).join()

    def inner(name: str) -> None:
        with doing(f"{name}: inner"):
            done.wait(30)

    done = threading.Event()
    with watching(tty):
        threads = [start_thread(lambda name=name: work(name), name) for name in "ab"]  # type: ignore[misc]
        wait_for(lambda: sorted(line[:8] for line in tty.screen) == ["a: inner", "b: inner"])
        done.set()
        for thread in threads:
            thread.join()
    wait_for(lambda: tty.screen == [])


def test_beside_json_nothing_is_shown(tty: Recording) -> None:
    """Not even on a terminal."""
    with watching(tty, "json"), doing("shop: running 1 1/1 (line 4)"):
        time.sleep(1.2)
    assert tty.text == ""


def test_a_run_shows_the_statement_and_what_its_engine_reports(project: ProjectFolder, tty: Recording) -> None:
    """Version, number and line are those of the file; the engine is asked while the statement runs."""
    world = World(project)
    world.file("0007_two.sql", "CREATE TABLE t (a INT);\n\nINSERT INTO t VALUES (1);")
    world.engine.progress = lambda: "half of it"
    world.break_at("INSERT INTO t", lambda _: wait_for(lambda: tty.live))
    with watching(tty):
        world.migrate()
    assert re.fullmatch(r"shop: running 0007 2/2 \(line 6\) 00:\d\d, half of it", tty.live[0])
    assert world.values() == [1]


def test_a_run_that_waits_for_the_lock_shows_whose_it_is_and_how_long_it_still_waits(
    project: ProjectFolder, tty: Recording
) -> None:
    """The holder is named with its age; the time that is left counts down."""
    world = World(project)
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    holder, waiting = World(project), threading.Event()
    holder.tables, holder.engine = world.tables, world.engine
    holder.break_at("CREATE TABLE t", lambda _: waiting.set() or wait_for(lambda: len(tty.live) >= 2))
    thread = threading.Thread(target=holder.migrate)
    thread.start()
    waiting.wait(30)
    with watching(tty):
        world.migrate(lock_timeout=90)
    thread.join()
    left = [re.match(r"shop: waiting for the lock 00:\d\d, 01:(\d\d) left, \w+ on .*", line) for line in tty.live]
    assert len(left) >= 2
    assert all(left), tty.live
    assert [int(each[1]) for each in left if each] == sorted((int(each[1]) for each in left if each), reverse=True)


def test_a_command_that_ends_at_once_shows_no_line(lake_project: ProjectFolder) -> None:
    """Only its error is on the terminal."""
    code, recording = run_on_terminal(lake_project, "unlock", "--catalog", "missing")
    assert code == 2
    assert recording.live == []
    assert recording.screen[0].startswith("error: ")
