"""Templates of strangers end in bounded time and memory, and the files beside them are checked all the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from glacierbase.cli import main
from glacierbase.errors import GlacierbaseError, SeveralErrors, collected
from glacierbase.migrations import sandbox, worker
from glacierbase.migrations.compiled import Compiled, compile_all, compile_migration
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.migrations.worker import Chain, Compiler, Examiner, to_request
from glacierbase.model.migration import Migration
from tests.support.forked import ForkedWorker
from tests.support.project_folder import ProjectFolder

CATALOG = """\
migrationExecutor:
  type: spark
  conf: {sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}}
variables: {size: 4, names: [a, b]}
"""
GROWING = "{{% set s = namespace(x={}, y={}) %}}{{% for _ in range({}) %}}{{% set s.x = {} %}}{{% endfor %}}{}"
GRAPH = GROWING.format("[1]", "[1]", 60, "[s.x, s.x] %}{% set s.y = [s.y, s.y]", "")
COSTLY = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "macros": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "recursive loop": "{% for n in range(40) recursive %}{{ loop(range(40)) if loop.depth < 20 }}{% endfor %}",
    "doubled text": GROWING.format("'x'", "0", 99, "s.x ~ s.x", ""),
    "joined text": GROWING.format("'x'", "0", 99, "[s.x, s.x, s.x] | join", ""),
    "replaced text": GROWING.format("'xx'", "0", 99, "s.x | replace('x', s.x)", ""),
    "formatted text": GROWING.format("'x'", "0", 99, "'%s%s' % (s.x, s.x)", ""),
    "lists": GROWING.format("[1]", "0", 99, "[s.x + s.x, s.x | list] | sum(start=[])", ""),
    "squares": GROWING.format("3", "0", 99, "s.x * s.x", ""),
    "powers": "{{ 9 ** 9999999 % 7 }}{{ 9 ** 9999999 % 7 }}" * 9,
    "comparison": GRAPH + "{{ s.x == s.y }}",
    "as JSON": GRAPH + "{{ s.x | tojson }}",
    "sorting": GRAPH + "{{ [s.x, s.y] | sort | length }}",
    "uniqueness": GRAPH.replace("[", "(").replace("]", ")") + "{{ [s.x, s.y] | unique | list | length }}",
    "groups": GRAPH + "{{ [{'a': s.x}, {'a': s.y}] | groupby('a') | length }}",
    "containment": GRAPH + "{{ s.x in [s.y] }}",
    "batches": "{{ range(99999) | batch(9999999, 0) | list | length }}" * 30,
    "wrapping": "{{ ('x' * 9999999) | wordwrap(1) | length }}",
    "pieces": "{% for a in range(99999) %}{% for b in range(90) %}{{ a }}{% endfor %}{% endfor %}",
    "statements": "{{ 'a;' * 4999999 }}",
    "missing names": "{% for a in range(99999) %}{% for b in range(99) %}{{ [1] | map(attribute='x' ~ a ~ b) | join }}"
    "{% endfor %}{% endfor %}",
    "a long message": "{{ [1] | map('x' * 9999999) | join }}" * 9,
}


@dataclass(frozen=True)
class Names:
    """The names that a template can use."""

    name: str = "shop"
    environment: str = "dev"
    variables: Mapping[str, Any] = field(default_factory=lambda: {"size": 4, "names": ["b", "a"], "none": None})


def migration(text: str, location: str = "migrations/shop/1_a.sql") -> Migration:
    return Migration("1", "a", "d", "a", Path(location), location, text, "v1:sha256:0")


def plain(error: GlacierbaseError) -> list[tuple[Any, ...]]:
    """Return the attributes of all errors."""
    errors = error.errors if isinstance(error, SeveralErrors) else (error,)
    return [(type(each), each.code, each.exit_code, each.message, each.hint, dict(each.data)) for each in errors]


@pytest.fixture(autouse=True)
def forked_workers() -> None:
    """Start each worker as the program does, in place of the fixture of this name: its walls are the subject."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set limits that a test exceeds quickly."""
    monkeypatch.setattr(sandbox, "_SECONDS", 0.4)
    monkeypatch.setattr(sandbox, "_MEMORY", 200 * 2**20)


def validated(project: ProjectFolder, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return the document of `validate`, run in this process."""
    with suppress(SystemExit):
        main(["validate", "--project", str(project.root), "--format", "json", *arguments])
    return json.loads(capsys.readouterr().out)


def children() -> set[int]:
    """Return the child processes of this process."""
    return set(map(int, Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", COSTLY)
def test_a_costly_template_is_an_error_of_its_file(
    kind: str, project: ProjectFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """`validate` exits with 3, names the file, checks the other files, and leaves no process running."""
    project.catalog(CATALOG)
    project.file("1_a.sql", "SELECT {{ variables.before }}")
    project.file("2_b.sql", COSTLY[kind])
    project.file("3_c.sql", "SELECT {{ variables.behind }}")
    before = children()
    error = validated(project, capsys)["error"]
    assert error["exit_code"] == 3
    told = {(each["path"].rpartition("/")[2], each["code"]) for each in error["errors"]}
    assert {("1_a.sql", "UNDEFINED_VARIABLE"), ("3_c.sql", "UNDEFINED_VARIABLE")} <= told
    assert {code for name, code in told if name == "2_b.sql"} & {"TEMPLATE_TOO_COSTLY", "TEMPLATE_FAILED"}
    assert children() == before


@pytest.mark.usefixtures("small")
def test_a_file_that_ended_its_process_is_not_tried_in_other_environments(
    project: ProjectFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file exceeds its limit once, not in each of many environments, and is one error."""
    project.catalog(CATALOG + "environments: {" + ", ".join(f"e{number}: {{}}" for number in range(40)) + "}\n")
    project.file("1_a.sql", COSTLY["loops"])
    project.file("2_b.sql", "SELECT {{ environment.x }}")
    started = []
    monkeypatch.setattr(
        sandbox, "_Worker", lambda limit, kind=sandbox._Worker: started.append(kind(limit)) or started[-1]
    )
    errors = validated(project, capsys)["error"]["errors"]
    assert [each["code"] for each in errors] == ["TEMPLATE_TOO_COSTLY", "UNDEFINED_VARIABLE"]
    assert len(started) == 2


@pytest.mark.usefixtures("small")
def test_a_branch_of_costly_files_ends_when_the_time_of_the_command_is_over(
    project: ProjectFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of the first file that is not checked says that the files after it are not checked either."""
    monkeypatch.setattr(sandbox, "_SECONDS_IN_ALL", 1.2)
    project.catalog(CATALOG)
    for number in range(1, 30):
        project.file(f"{number:02}_a.sql", COSTLY["loops"])
    *killed, last = validated(project, capsys)["error"]["errors"]
    assert 1 <= len(killed) <= 6
    assert {each["code"] for each in killed} == {last["code"]} == {"TEMPLATE_TOO_COSTLY"}
    assert last["path"] == f"migrations/shop/{len(killed) + 1:02}_a.sql"
    assert "this file and those after it were not checked" in last["message"]
    assert last["hint"]


@pytest.mark.parametrize(("again", "expected"), [(True, 1), (False, 2)])
def test_a_file_that_two_functions_read_is_compiled_once(
    again: bool, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another environment it is compiled again."""
    compiled: list[str] = []

    def counting(file: Migration, names: Any, dialect: str) -> Compiled:
        compiled.append(names.environment)
        return compile_migration(file, names, dialect)

    monkeypatch.setattr(worker, "compile_migration", counting)
    compiler, examiner = Compiler(), asdict(Examiner(f"{__name__}:length", is_read_again=again))
    file = {"migration": to_request(migration("SELECT {{ variables.n }}")), "dialect": "spark", "examiner": examiner}
    for environment, value in (("dev", 1), ("prod", 23)):
        names = {"name": "shop", "environment": environment, "variables": {"n": value}}
        answers = [compiler.answer({**file, "names": names}), compiler.answer(file)]
        assert [answer["examined"] for answer in answers] == [len(f"SELECT {value}")] * 2
        assert compiled.count(environment) == expected


def length(compiled: Compiled, _facts: object, _chain: Chain) -> int:
    return len(compiled.text)


def before(compiled: Compiled, _facts: object, chain: Chain) -> list[Any]:
    """Return whether the walk is complete, and the names of its files up to this one."""
    is_complete, names = chain.left(lambda is_complete: (is_complete, list[str]()))
    names.append(compiled.migration.location)
    return [is_complete, list(names)]


def test_a_function_gets_what_the_files_before_left() -> None:
    """After a file that does not compile, nothing is left. Another walk begins anew."""
    texts = {"1": "SELECT 1", "2": "SELECT 2", "3": "SELECT {{ missing }}", "4": "SELECT 4", "5": "SELECT 5"}
    files = [(migration(text, path), Examiner(f"{__name__}:before")) for path, text in texts.items()]
    names = Names()
    with Sandbox(100) as box:
        walked: list[Any] = []
        errors: list[GlacierbaseError] = []
        with collected(errors):
            for _, left in box.walk(files, names, "spark"):
                walked.append(left)
        assert [error.code for error in errors] == ["UNDEFINED_VARIABLE"]
        assert walked == [[True, ["1"]], [True, ["1", "2"]], [False, ["4"]], [False, ["4", "5"]]]
        assert [left for _, left in box.walk(files[:2], names, "spark")] == walked[:2]
        alone = [left for _, left in box.walk(files[:2], names, "spark", alone=True)]
        assert alone == [[False, ["1"]], [False, ["2"]]]


def test_what_is_to_be_printed_is_limited_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that several environments share count once."""
    monkeypatch.setattr(sandbox, "_MOST_HELD", 4_000_000)
    files = [migration(f"-- {number}\n{{{{ 'x' * 900000 }}}}", f"{number}.sql") for number in range(9)]
    with Sandbox(100) as box:
        for names in (Names(), Names()):
            assert len(list(box.compile_all(files[:4], names, "spark", lambda _: True))) == 4
        assert len(list(box.compile_all(files, Names(), "spark", lambda _: False))) == 0
        with pytest.raises(GlacierbaseError, match="is larger than"):
            list(box.compile_all(files, Names(), "spark", lambda _: True))
        assert box.is_spent


def test_the_text_of_all_errors_together_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages count too, because an error may repeat a computed value."""
    monkeypatch.setattr(sandbox, "_MOST_HELD", 4_000_000)
    files = [migration("{{ [1] | map('x' * 900000) | join }}", f"{number}.sql") for number in range(9)]
    with Sandbox(100) as box, pytest.raises(SeveralErrors) as caught:
        list(box.compile_all(files, Names(), "spark", lambda _: False))
    assert [each.code for each in caught.value.errors] == ["TEMPLATE_FAILED"] * 4 + ["TEMPLATE_TOO_COSTLY"]


GOOD = [
    "SELECT {{ variables.size }};\r\n-- é 😀\n SELECT '\x1f\u2028' ; {% for n in variables.names %}SELECT {{ n }};\n{% endfor %}",
    "BEGIN; INSERT INTO t SELECT 1; COMMIT; SELECT $$;$$",
    "",
]
BAD = [
    "{{ variables.a }}\n{{ variables.sise }}{{ variables.none }}", "{{ }}", "{{ variables }}\n\n{{ 1 // 0 }}", "SELECT 'a", "\0",
    "a;\n{{ variables.names }}{% for a in [1] %}", "{{ '\\ud800' }}", "BEGIN;\nCREATE TABLE t (a INT);",
    "{{ 'a' * 10 ** 9 }}", "-- a\\\nSELECT 1;",
]  # fmt: skip


@pytest.mark.parametrize("dialect", ["spark", "snowflake"])
def test_a_file_is_prepared_in_the_sandbox_as_outside(dialect: str) -> None:
    """Text, statements, lines, checksums and all attributes of errors are equal in the sandbox and outside of it."""

    def outside(file: Migration) -> Compiled | list[tuple[Any, ...]]:
        try:
            return compile_all([file], Names(), dialect)[1]
        except GlacierbaseError as error:
            return plain(error)

    def inside(file: Migration) -> Compiled | list[tuple[Any, ...]]:
        try:
            return next(box.compile_all([file], Names(), dialect, lambda _: True))
        except GlacierbaseError as error:
            return plain(error)

    with Sandbox(len(GOOD + BAD)) as box:
        for number, text in enumerate(GOOD + BAD):
            file = migration(text, f"migrations/d\udcff{number}/1_a.sql")
            assert inside(file) == outside(file)


def test_the_worker_has_nothing_of_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker inherits no variable, no open file, no module of the working directory and no ignored signal."""
    monkeypatch.setenv("PLANTED", "canary")
    monkeypatch.setattr(sandbox, "_SECONDS", 0.3)
    monkeypatch.chdir(tmp_path)
    for name in ("json", "jinja2", "sitecustomize", "usercustomize"):
        (tmp_path / f"{name}.py").write_text("open('run', 'w')")
    kept = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(kept, True)
    before = signal.signal(signal.SIGPROF, signal.SIG_IGN)
    try:
        with Sandbox(2) as box:
            others = children()
            list(box.compile_all([migration("SELECT 1")], Names(), "spark", lambda _: True))
            [worker] = [Path(f"/proc/{pid}") for pid in children() - others]
            assert "canary" not in (worker / "environ").read_text()
            assert {path.name for path in (worker / "fd").iterdir()} == {"0", "1", "2"}
            os.kill(int(worker.name), signal.SIGINT)  # As the terminal's Ctrl-C, which a host may survive.
            with pytest.raises(GlacierbaseError, match=r"needs more than 0\.3 s"):
                list(box.compile_all([migration(COSTLY["loops"])], Names(), "spark", lambda _: True))
    finally:
        signal.signal(signal.SIGPROF, before)
        os.close(kept)
    assert not (tmp_path / "run").exists()


def walls() -> dict[str, Any]:
    """Return what surrounds a new worker, and the errors of files that exceed its limits."""
    with Sandbox(9) as box:
        list(box.compile_all([migration("SELECT 1")], Names(), "spark", lambda _: True))
        assert box._worker
        process = Path(f"/proc/{box._worker._process.pid}")
        lines = [line.partition(":") for line in (process / "status").read_text().splitlines()]
        limits = (process / "limits").read_text().splitlines()
        found: dict[str, Any] = {
            "status": {
                name: value for name, _, value in lines if name.startswith(("Sig", "Uid", "Groups", "Cap", "Threads"))
            },
            "limits": [line for line in limits if "address space" not in line],
            "files": {path.name: path.readlink().parts[0].partition(":")[0] for path in (process / "fd").iterdir()},
            "folder": (process / "cwd").readlink(),
            "secret": "canary" in (process / "environ").read_text(),
            "is forked": isinstance(box._worker._process, ForkedWorker),
        }
        with pytest.raises(SeveralErrors) as caught:
            list(
                box.compile_all(
                    [migration(COSTLY[kind], kind) for kind in ("loops", "doubled text")],
                    Names(),
                    "spark",
                    lambda _: True,
                )
            )
        found["errors"] = plain(caught.value)
    assert not process.exists()
    return found


@pytest.mark.usefixtures("small")
def test_a_forked_worker_has_the_walls_of_a_started_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that other tests fork has the files, signals, limits and errors of a worker that the program starts."""
    monkeypatch.setenv("PLANTED", "canary")
    monkeypatch.setattr(
        sandbox, "_SECONDS", 1.0
    )  # On a busy machine, the memory may take half a second of processor time.
    started = walls()
    monkeypatch.setattr(sandbox, "_start", ForkedWorker)
    forked = walls()
    assert (started.pop("is forked"), forked.pop("is forked")) == (False, True)
    assert forked == started
    assert not started["secret"]
    assert len(started["errors"]) == 2


def started_worker(process: subprocess.Popen[str]) -> int:
    """Return the worker of a running program, once it has one."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for _ in range(6_000):
        if found := children.read_text().split():
            return int(found[0])
        time.sleep(0.01)
    raise AssertionError("no worker was started")


def test_the_worker_takes_no_more_memory_than_it_may(project: ProjectFolder) -> None:
    """With the default limits, the worker uses at most a gigabyte beside Python itself."""
    project.catalog(CATALOG)
    project.file("1_a.sql", COSTLY["doubled text"])
    process = project.start("validate", "--format", "json")
    status, peak = Path(f"/proc/{started_worker(process)}/status"), 0
    with suppress(OSError):
        while "VmPeak" in (text := status.read_text()):
            peak = max(peak, int(text.partition("VmPeak:")[2].split()[0]) // 1024)
    stdout, stderr = process.communicate(timeout=300)
    assert json.loads(stdout)["error"]["code"] == "TEMPLATE_TOO_COSTLY", stderr
    assert 100 < peak < 1024 + 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("group", [False, True])
def test_a_signal_during_a_rendering_leaves_no_process(
    group: bool, number: signal.Signals, project: ProjectFolder
) -> None:
    """A signal to the program, or to its process group as by Ctrl-C, exits with 130 or 143 and reports no error of the file."""
    project.catalog(CATALOG)
    project.file("1_a.sql", COSTLY["loops"])
    process = subprocess.Popen(
        [sys.executable, "-m", "glacierbase", "validate"],
        cwd=project.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    worker = started_worker(process)
    stat = Path(f"/proc/{worker}/stat")
    while int(stat.read_text().rpartition(")")[2].split()[11]) < 60:  # Ticks of processor time: past its start.
        time.sleep(0.01)
    (os.killpg if group else os.kill)(process.pid, number)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (128 + number, ""), stderr
    assert "TEMPLATE_TOO_COSTLY" not in stderr
    assert not stat.exists()


def test_the_time_of_the_command_covers_its_catalogs(
    project: ProjectFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large catalog file with many environments exceeds the limit without any migration."""
    monkeypatch.setattr(sandbox, "_SECONDS_IN_ALL", 0.2)
    values = "".join(f"  a{number}: {number}\n" for number in range(5_000))
    project.catalog(
        f"{CATALOG.partition('variables')[0]}variables:\n{values}environments:\n"
        + "".join(f"  e{number}: {{}}\n" for number in range(900))
    )
    error = validated(project, capsys)["error"]
    assert (error["code"], error["path"]) == ("TEMPLATE_TOO_COSTLY", "catalogs/shop.yaml")
