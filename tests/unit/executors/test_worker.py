"""The engine of a catalog in a worker: what crosses the pipes, and what happens when a process of the two ends."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from glacierbase.errors import ConfigurationError, EngineUnavailable, OutcomeUnknown, StatementRefused
from glacierbase.executors import CopiedView, CopyState, InFlight, check_installed, open_copy, open_executor
from glacierbase.executors.worker import client
from glacierbase.executors.worker.client import Worker
from glacierbase.executors.worker.pool import Workers
from glacierbase.executors.worker.start import start_process
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import Scope
from glacierbase.run.activity import watched
from glacierbase.run.processes import engine_process, is_engine_gone, this_process
from glacierbase.run.run import Run
from glacierbase.run.shared import Shared
from glacierbase.run.waiting import Caller, result, start_thread
from glacierbase.secrets import register
from tests.support.project_folder import REPOSITORY
from tests.support.worker_engine import install_words

CANARY = "canary-of-a-worker"
Open = Callable[..., Any]


@pytest.fixture(scope="module", autouse=True)
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The engine, which this process and those that it starts find."""
    folder = install_words(tmp_path_factory.mktemp("words"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(REPOSITORY)]))
        yield


@pytest.fixture(scope="module")
def shared(words: None) -> Iterator[Shared]:
    """What the runs of one command share: one worker for most tests."""
    with Shared() as shared:
        yield shared


@pytest.fixture
def catalog(iceberg_catalog: Catalog) -> Catalog:
    """A catalog whose engine runs in a worker of this Python."""
    return replace(iceberg_catalog, executor_type="words", python=sys.executable)


@pytest.fixture
def session(catalog: Catalog, shared: Shared) -> Any:
    """A session in the shared worker."""
    return opened(catalog, shared).open_session()


@pytest.fixture
def own(catalog: Catalog) -> Iterator[Open]:
    """Opens executors, each in a worker of its own."""
    executors: list[Any] = []

    def open_own(**conf: Any) -> Any:
        executors.append(opened(replace(catalog, conf=conf), None))
        return executors[-1]

    yield open_own
    for executor in executors:
        executor.close()


def opened(catalog: Catalog, shared: Shared | None) -> Any:
    return open_executor(catalog, replace(Run.here(catalog.file.parent.parent), shared=shared))


def pid_of(session: Any) -> int:
    pid: int = session.query("process")[0][0]
    return pid


def has_ended(pid: int, seconds: float = 5) -> bool:
    """Return whether a process ends within some seconds."""
    started = {**this_process(), **engine_process(pid)}
    end = time.monotonic() + seconds
    while not (gone := is_engine_gone(started)) and time.monotonic() < end:
        time.sleep(0.02)
    return gone


def test_an_engine_runs_in_another_process(catalog: Catalog, shared: Shared) -> None:
    """The executor has the attributes of the engine. An engine without a process and an application is the worker's process."""
    executor = opened(catalog, shared)
    pid = pid_of(executor.open_session())
    assert (executor.dialect, executor.engine, executor.principal) == ("spark", "words 1.0", "tester")
    assert executor.process == engine_process(pid)
    assert pid != os.getpid()
    assert os.getsid(pid) == pid  # Signals of the terminal reach this process only.
    statement = InFlight(("a.t",), datetime.now(timezone.utc), "tag", "note it", None)
    assert executor.evidence(statement).facts == ("note it",)
    assert executor.proving_table("note it", "") == "table of note it"


def test_a_throw_away_copy_runs_in_another_process(catalog: Catalog, tmp_path: Path) -> None:
    """Values cross; the content of a checkpoint stays there. The process ends with the copy."""
    with closing(open_copy(catalog, Run.here(tmp_path), tmp_path, ["lake"])) as copy:
        assert copy.views() == {"lake": CopiedView("id", 1, "")}
        copy.make_namespace("lake", ["a"])
        before = copy.checkpoint()
        assert (before.is_whole, copy.state()) == (False, CopyState({("lake.a", "a"): {}}, {}, {}, {"f": b"\0"}))
        copy.restore(CopyState({("lake.b", "a"): {}}, {}, {}, {}))
        assert [*copy.locations()] == ["lake.b.t"]
        copy.rewind(before)
        [(name, place)] = copy.locations().items()
        folder, pid = place.split()
        assert (name, folder, copy.metadata(place)) == ("lake.a.t", str(tmp_path), f"metadata of {place}")
        assert (pid_of(copy.open_session()), int(pid) != os.getpid()) == (int(pid), True)
    assert has_ended(int(pid))


def test_catalogs_with_equal_needs_have_one_worker(catalog: Catalog, shared: Shared, own: Open) -> None:
    """Without something that the runs share, each executor has its own, which ends with the executor."""
    pids = {pid_of(opened(replace(catalog, name=name), shared).open_session()) for name in ("one", "two")}
    alone = own()
    other = pid_of(alone.open_session())
    assert len({*pids, other}) == 2
    alone.close()
    assert has_ended(other)
    assert not has_ended(pids.pop(), 0)


def test_the_calls_on_a_session_run_in_order_in_one_thread(session: Any) -> None:
    """The same holds for those that several threads of this process make at the same time."""
    assert session.execute("note first") == "first"
    session.execute("note second")
    assert session.query("ran") == [("note first",), ("note second",)]
    idents: list[int] = []
    threads = [start_thread(lambda: idents.append(session.query("process")[0][1]), "call") for _ in range(8)]
    for thread in threads:
        thread.join()
    assert len(idents) == 8
    assert len(set(idents)) == 1


def test_values_cross_as_they_are(session: Any) -> None:
    """A row of a vendor's class is a tuple here: this Python may lack the class."""
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, timezone.utc)
    assert session.query("process", [None, 2**70, "ünï\0 🧊", moment, b"\xff"])[0][2:] == (
        None, 2**70, "ünï\0 🧊", moment, b"\xff",
    )  # fmt: skip
    [[row]] = session.query("rows")
    assert (type(row), row) == (tuple, (1, "a"))
    context = session.context()
    session.select(context)
    assert session.query("ran") == [("select main",)]
    assert (session.shape("a.t"), session.tables("a")[0].name, session.view_statements("a.v")) == (None, "a.t", ())


def test_cancel_and_progress_run_beside_a_statement(session: Any) -> None:
    """The statement ends with what the engine raises, and the session stays usable."""
    progress: list[str | None] = []

    def cancel() -> None:
        time.sleep(0.1)
        progress.append(session.progress())
        session.cancel()

    began = time.monotonic()
    canceller = start_thread(cancel, "cancel")
    with pytest.raises(OutcomeUnknown, match="the statement was cancelled"):
        session.execute("sleep 60")
    canceller.join()
    assert time.monotonic() - began < 5
    assert progress == ["1 statements"]
    assert session.execute("note more") == "more"


def test_an_error_of_the_engine_crosses_with_its_class_and_data(session: Any) -> None:
    """Code, message, hint, data and the engine's id of the statement are those of the error in the worker."""
    with pytest.raises(StatementRefused) as caught:
        session.execute("refuse it")
    error = caught.value
    assert (type(error), error.code, error.message, error.hint) == (
        StatementRefused, "ENGINE_ERROR", "refused: it", "correct it",
    )  # fmt: skip
    assert (error.error_class, error.query_id, error.data) == ("REFUSED", "query-7", {"error_class": "REFUSED"})
    assert str(error) == "refused: it"


@pytest.mark.parametrize("sql", ["fail 4711", "strange", "nonsense"])
def test_a_bug_in_the_worker_is_an_error_here(sql: str, session: Any) -> None:
    """The message has the traceback of the worker; the session stays usable."""
    with pytest.raises(RuntimeError, match=r"(?s)in the worker: .*worker_engine\.py"):
        session.execute(sql)
    with pytest.raises(RuntimeError, match="in the worker"):
        session.query("unpicklable")
    assert session.execute("note more") == "more"


def test_what_a_package_prints_disturbs_no_message(session: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The noise goes to the log, at the level debug."""
    caplog.set_level(logging.DEBUG, "glacierbase")
    session.execute("print noise of a package")
    assert session.execute("note more") == "more"
    end = time.monotonic() + 5
    while caplog.text.count("noise of a package") < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert caplog.text.count("noise of a package") >= 3
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}


def test_records_of_the_worker_are_logged_here(session: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Under the name of the same logger, at the same level."""
    session.execute("log something is odd")
    assert [(record.name, record.levelname, record.getMessage()) for record in caplog.records] == [
        ("glacierbase", "WARNING", "something is odd")
    ]


def test_activities_of_the_worker_are_shown_here(catalog: Catalog, shared: Shared) -> None:
    """The thread that opens the engine has the activity while it lasts, with its detail."""
    observed: list[tuple[str, str | None]] = []
    with watched() as activities:
        opening = start_thread(lambda: opened(replace(catalog, conf={"seconds": 0.3}), shared), "open")
        while opening.is_alive():
            observed += [(activity.what, activity.detail()) for activity in list(activities)]
        assert list(activities) == []
    assert ("shop: starting words", "half") in observed


def test_a_secret_is_masked_in_the_worker(catalog: Catalog, shared: Shared, caplog: pytest.LogCaptureFixture) -> None:
    """Errors, bugs and records mask it. It is neither on the command line nor in the environment of the process."""
    register(CANARY)
    session = opened(replace(catalog, conf={"password": CANARY}), shared).open_session()
    with pytest.raises(StatementRefused, match=r"^refused: \*\*\*$"):
        session.execute(f"refuse {CANARY}")
    with pytest.raises(RuntimeError, match=r"ZeroDivisionError: \*\*\*"):
        session.execute(f"fail {CANARY}")
    session.execute(f"log {CANARY}")
    assert [record.getMessage() for record in caplog.records] == ["***"]
    process = Path(f"/proc/{pid_of(session)}")
    assert CANARY.encode() not in (process / "cmdline").read_bytes() + (process / "environ").read_bytes()


def test_a_session_ends_with_its_close_and_with_its_executor(catalog: Catalog, shared: Shared) -> None:
    """Other sessions go on. A closed one has no progress, and refuses statements."""
    executor = opened(catalog, shared)
    first, second, other = executor.open_session(), executor.open_session(), opened(catalog, shared).open_session()
    first.close()
    first.close()
    first.cancel()
    assert first.progress() is None
    with pytest.raises(RuntimeError, match="was closed"):
        first.execute("note it")
    assert second.execute("note it") == "it"
    executor.close()
    with pytest.raises(RuntimeError, match="was closed"):
        second.execute("note it")
    assert other.execute("note it") == "it"


def test_what_the_engine_refuses_at_its_start_is_raised_here(catalog: Catalog, shared: Shared) -> None:
    """A check without a start raises the same."""
    refusing = replace(catalog, conf={"refuses": True})
    run = replace(Run.here(catalog.file.parent.parent), shared=shared)
    for call in (open_executor, check_installed):
        with pytest.raises(ConfigurationError, match="catalog shop: another version"):
            call(refusing, run)


def test_a_command_in_a_message_of_a_worker_repeats_the_callers_choice(catalog: Catalog, shared: Shared) -> None:
    """The hint can be pasted: it names catalog and environment."""
    refusing = replace(catalog, conf={"refuses": True})
    scope = Scope(environment="prod", catalog="shop")
    with pytest.raises(ConfigurationError) as caught, scope.in_use():
        check_installed(refusing, replace(Run.here(catalog.file.parent.parent), shared=shared))
    assert caught.value.hint == "glacierbase env --catalog shop --env prod"


def test_an_executor_that_the_other_python_lacks_is_one_clear_error(catalog: Catalog, shared: Shared) -> None:
    """The message names the executor and the Python."""
    with pytest.raises(ConfigurationError) as caught:
        check_installed(
            replace(catalog, python=lacking(catalog)), replace(Run.here(catalog.file.parent.parent), shared=shared)
        )
    assert caught.value.code == "ENGINE_NOT_INSTALLED"
    assert "adds the executor words" in caught.value.message


def test_a_python_without_pyspark_is_one_clear_error(iceberg_catalog: Catalog) -> None:
    """The worker runs the code of this glacierbase, without any other package."""
    catalog = replace(iceberg_catalog, python=lacking(iceberg_catalog))
    with pytest.raises(ConfigurationError) as caught:
        check_installed(catalog, Run.here(catalog.file.parent.parent))
    assert caught.value.code == "SPARK_NOT_INSTALLED"


def lacking(catalog: Catalog) -> str:
    """Return a program that is this Python without any installed package."""
    path = catalog.file.parent / "bare-python"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def spark_35(tmp_path: Path) -> str:
    """A Python with Spark 3.5, beside a folder with another Spark."""
    folder = tmp_path / "spark35"
    venv.EnvBuilder(symlinks=True).create(folder)
    [packages] = folder.glob("lib/*/site-packages")
    for place, version in ((packages, "3.5.9"), (tmp_path / "callers", "4.1.2")):
        files = {"pyspark/__init__.py": "", "pyspark/bin/spark-submit": ""}
        files[f"pyspark-{version}.dist-info/METADATA"] = f"Metadata-Version: 2.1\nName: pyspark\nVersion: {version}\n"
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
    return str(folder / "bin" / "python")


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONHOME", "SPARK_HOME"])
def test_another_python_has_its_own_packages_and_its_own_spark(
    name: str, spark_35: str, iceberg_catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variables by which this Python finds its packages and its Spark are not those of the other one."""
    monkeypatch.setenv(name, str(tmp_path / "callers"))
    catalog = replace(
        iceberg_catalog, python=spark_35, dependencies=("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",)
    )
    check_installed(catalog, Run.here(catalog.file.parent.parent))


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONHOME", "PYSPARK_PYTHON", "SPARK_HOME"])
def test_another_python_has_no_variable_that_names_packages(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-I` is for one process. The processes that it starts, as Spark does for functions in Python, would use them."""
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexec env\n")
    program.chmod(0o755)
    monkeypatch.setenv(name, "callers")
    variables = start_process(program, {"OWN": "value"}).communicate(timeout=60)[0].decode().splitlines()
    assert "OWN=value" in variables
    assert f"{name}=callers" not in variables


def test_a_python_outside_a_virtual_environment_has_the_users_packages(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`migrationExecutor.python` may be the Python of the system, where `pip install --user` installed the engine."""
    base = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    monkeypatch.setenv("HOME", str(tmp_path))
    place = sysconfig.get_path("purelib", "posix_user", {"userbase": str(tmp_path / ".local")})
    (install_words(Path(place)) / "tests").symlink_to(REPOSITORY / "tests")
    (Path(place) / "packages.pth").write_text(sysconfig.get_path("purelib"))
    check_installed(replace(catalog, python=base), Run.here(catalog.file.parent.parent))


def test_a_worker_that_dies_at_its_start_is_one_clear_error(catalog: Catalog) -> None:
    """The message has the last line that it printed."""
    path = catalog.file.parent / "broken-python"
    # Only the program that asks for the version is short.
    path.write_text(f'#!/bin/sh\n[ $# = 3 ] && exec {sys.executable} "$@"\necho no room >&2\nexit 3\n')
    path.chmod(0o755)
    with pytest.raises(EngineUnavailable) as caught:
        opened(replace(catalog, python=str(path)), None)
    assert caught.value.code == "ENGINE_PROCESS_ENDED"
    assert caught.value.message == "catalog shop: the process of the engine ended with exit code 3: no room"


def test_a_call_that_waits_ends_with_its_worker(own: Open) -> None:
    """The process is killed while the statement runs."""
    executor = own()
    session, other = executor.open_session(), executor.open_session()
    waiting = Caller().submit(lambda: session.execute("sleep 60"))
    os.kill(pid_of(other), signal.SIGKILL)
    with pytest.raises(OutcomeUnknown, match="was killed by SIGKILL"):
        result(waiting, 5)


def test_the_engine_of_a_lost_worker_is_killed(own: Open) -> None:
    """A JVM would go on with its statement for some seconds after its stdin was closed."""
    executor = own(child=["sleep", "60"])
    with pytest.raises(OutcomeUnknown):
        executor.open_session().execute("die")
    assert has_ended(executor.process["engine_pid"])


@pytest.mark.parametrize(
    ("sql", "why"), [("die", "was killed by SIGKILL"), ("garble", "its pipe holds something else than messages")]
)
def test_a_worker_that_is_lost_inside_a_statement_leaves_its_outcome_unknown(sql: str, why: str, own: Open) -> None:
    """Every call that waits, and every later one, raises what it raises where a JVM has died. The engine ends with it."""
    executor = own(child=["cat"])
    session, other = executor.open_session(), executor.open_session()
    errors: list[BaseException] = []

    def wait() -> None:
        try:
            other.execute("sleep 60")
        except OutcomeUnknown as error:
            errors.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    pid = pid_of(executor.open_session())
    with pytest.raises(OutcomeUnknown, match=why):
        session.execute(sql)
    waiting.join(5)
    assert [why in str(error) for error in errors] == [True]
    with pytest.raises(OutcomeUnknown, match=why):
        session.query("process")
    with pytest.raises(EngineUnavailable, match=why):
        executor.open_session()
    assert session.progress() is None
    for close in (session.cancel, session.close, executor.close):
        close()
    assert has_ended(pid)
    assert has_ended(executor.process["engine_pid"])


def test_an_engine_that_nobody_uses_ends_before_the_next_one_starts(catalog: Catalog) -> None:
    """Each holds the memory of a Spark. A catalog that needs it again gets a new one."""
    with Shared() as shared:
        used, unused = opened(catalog, shared), opened(replace(catalog, conf={"needs": "other"}), shared)
        pids = [pid_of(executor.open_session()) for executor in (used, unused)]
        unused.close()
        assert not has_ended(pids[1], 0)
        opened(replace(catalog, conf={"needs": "third"}), shared).close()
        assert has_ended(pids[1])
        assert pid_of(used.open_session()) == pids[0]


class Starting(Worker):
    """A worker without a process."""

    def __init__(self, start: Callable[[], object]) -> None:
        self._lost = None
        self.closed = threading.Event()
        start()

    def close(self) -> None:
        self.closed.set()


def test_workers_of_unequal_needs_start_at_the_same_time() -> None:
    """Each start waits for the other one."""
    both = threading.Barrier(2)
    with Shared() as shared:
        workers, callers = Workers(shared), [Caller(), Caller()]
        start = partial(Starting, partial(both.wait, 5))
        uses = [
            caller.submit(partial(workers.use, key, start, opens=True))
            for key, caller in zip("ab", callers, strict=True)
        ]
        assert len({id(result(use, 10)[0]) for use in uses}) == 2


def test_the_end_of_a_command_does_not_wait_for_a_worker_that_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is closed once it has started."""
    monkeypatch.setattr("glacierbase.run.shared._EXIT_SECONDS", 0.05)
    going, may_start = threading.Event(), threading.Event()

    def start() -> None:
        going.set()
        may_start.wait(20)

    began = time.monotonic()
    with Shared() as shared:
        workers = shared.get("workers", None, partial(Workers, shared), lambda _: None)
        use = Caller().submit(partial(workers.use, "a", partial(Starting, start), opens=True))
        assert going.wait(5)
    assert time.monotonic() - began < 5
    may_start.set()
    worker, _ = result(use, 5)
    assert isinstance(worker, Starting)
    assert worker.closed.wait(5)


def test_a_worker_that_died_is_replaced(catalog: Catalog) -> None:
    """The next catalog of the command gets a new one."""
    with Shared() as shared:
        session = opened(catalog, shared).open_session()
        pid = pid_of(session)
        with pytest.raises(OutcomeUnknown):
            session.execute("die")
        other = pid_of(opened(catalog, shared).open_session())
    assert pid != other
    assert has_ended(other)


def test_a_worker_that_does_not_answer_is_killed(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is cancelled closes the executor; no call waits for a process that is stopped."""
    monkeypatch.setattr(client, "_CLOSE_SECONDS", 0.2)
    monkeypatch.setattr(client, "_BESIDE_SECONDS", 0.2)
    with Shared() as shared:
        executor = opened(catalog, shared)
        session = executor.open_session()
        pid = pid_of(session)
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(0.3, executor.close).start()
        assert session.progress() is None
        with pytest.raises(OutcomeUnknown):
            result(Caller().submit(lambda: session.execute("note it")), 5)
    assert has_ended(pid)


def test_a_statement_that_is_too_long_for_the_pipe_of_a_stopped_worker_can_be_cancelled(
    own: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pipe is full; still neither a cancel nor the close waits longer than its time limit."""
    monkeypatch.setattr(client, "_CLOSE_SECONDS", 0.2)
    monkeypatch.setattr(client, "_BESIDE_SECONDS", 0.2)
    executor = own()
    session = executor.open_session()
    pid = pid_of(session)
    os.kill(pid, signal.SIGSTOP)
    statement = Caller().submit(lambda: session.execute(f"note {'a' * 2**20}"))
    beside = Caller()
    beside.submit(session.cancel)
    try:
        result(beside.submit(executor.close), 5)
        with pytest.raises(OutcomeUnknown):
            result(statement, 5)
    finally:
        if not has_ended(pid):
            os.kill(pid, signal.SIGKILL)


PARENT = """
import sys
from dataclasses import replace
from pathlib import Path
from glacierbase.executors import open_executor
from glacierbase.run.run import Run
from tests.support.project_folder import only_catalog
root = Path(sys.argv[1])
catalog = replace(only_catalog(root), executor_type="words", python=sys.executable, conf={"child": ["cat"]})
executor = open_executor(catalog, Run.here(root))
session = executor.open_session()
print(session.query("process")[0][0], executor.process["engine_pid"], flush=True)
session.execute("sleep 60")
"""


def test_a_worker_and_its_engine_end_with_the_process_that_started_it(iceberg_catalog: Catalog) -> None:
    """The parent is killed, and so closes nothing itself."""
    root = iceberg_catalog.file.parent.parent
    parent = subprocess.Popen([sys.executable, "-c", PARENT, root], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    worker, engine = map(int, parent.stdout.readline().split())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert has_ended(worker)
    assert has_ended(engine)
