"""A checkout that holds a module for each name of the standard library; no Python that glacierbase starts imports one."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from glacierbase.executors.environments import installing, interpreters
from glacierbase.executors.spark import gateway
from glacierbase.executors.spark.sandbox import JvmSandbox
from glacierbase.executors.worker.start import start_process
from glacierbase.migrations import sandbox
from glacierbase.migrations.sandbox import _start as start_as_the_program_does
from glacierbase.project.commands import COMMANDS, Section
from glacierbase.run.user_command import run_command
from tests.support.program import run_here
from tests.support.project_folder import REPOSITORY, ProjectFolder
from tests.support.repository import commit_all
from tests.support.worker_engine import install_words

# Names that a Python imports at its start, or that glacierbase imports first.
OTHERS = ("sitecustomize", "usercustomize", "glacierbase", "pip", "yaml", "jinja2", "pyspark", "words")
NAMES = sorted({*sys.stdlib_module_names, *OTHERS})
PACKAGE = REPOSITORY / "glacierbase"
CATALOG = "migrationExecutor: {{type: words, python: {python}}}\nstore: {{type: embedded}}\n"
# Arguments of commands; a command that is not here runs without any. Many end with an error, after they started what they need.
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "review": ("--base", "HEAD~1"),
    "access": ("plan", "--migrator", "deploy"),
    "import": ("flyway", "old"),
    "layout": ("explain", "migrations/shop/0001_create.sql"),
    "new": ("a change",),
    "rebase": ("--base", "HEAD~1"),
    "squash": ("--to", "0001"),
    "init": ("other",),
    "schema": ("lake.a.t",),
    "blame": ("lake.a.t",),
    "compare": ("default", "default"),
    "repair": ("0001",),
    "baseline": ("--to", "0001", "--reason", "it exists"),
    "export-state": ("--output", "state.json"),
    "report": ("--output", "page.html"),
    "show": ("0001",),
    "schemas": ("migrate",),
    "completion": ("bash",),
}
# Those that start a Python with this catalog, at least.
STARTING = {"validate", "render", "lint", "review", "doctor", "migrate"}


class Checkout:
    """The root of a checkout, and the file in which a module of it that is imported leaves its name."""

    def __init__(self, root: Path, mark: Path) -> None:
        self.root, self.mark = root, mark

    def plant(self, form: str) -> Checkout:
        """Write a module for each name, as a file or as a package."""
        for name in NAMES:
            place = self.root / (f"{name}.py" if form == "file" else f"{name}/__init__.py")
            place.parent.mkdir(exist_ok=True)
            place.write_text(f"open({str(self.mark)!r}, 'a').write({name!r} + '\\n')\nraise SystemExit\n")
        return self

    def imported(self) -> list[str]:
        """Return the names of the modules that were imported."""
        return sorted(set(self.mark.read_text().split())) if self.mark.exists() else []


@pytest.fixture(params=["file", "package"])
def checkout(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """The working directory."""
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    return Checkout(tmp_path / "checkout", tmp_path / "imported").plant(request.param)


def worker(python: Path) -> None:
    with start_process(python, {}) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read(1), process.stderr.read()


def other_python(folder: Path) -> Path:
    venv.EnvBuilder(symlinks=True).create(folder / "venv")
    return folder / "venv" / "bin" / "python"


def sandboxed(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "_start", start_as_the_program_does)
        sandbox._Worker(1.0).end()


def confined(folder: Path) -> None:
    command = JvmSandbox(folder / "jvm").command(Path(sys.prefix), ())
    assert subprocess.run([*command, "/bin/true"], check=False).returncode == 0


def sparks_own_python(folder: Path) -> None:
    """Start a program in place of Spark's, which starts a Python as Spark 4 does to find data sources."""
    if sys.version_info < (3, 11):
        pytest.skip("PYTHONSAFEPATH: Python 3.11 and newer")
    program = folder / "bin" / "spark-submit"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{sys.executable} -m json.tool --help > /dev/null\n")
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gateway, "spark_home", lambda: folder)
        assert gateway._launch({}, folder, folder, None).wait(60) == 0


def uv(folder: Path) -> None:
    """Run the programs as `env` does: uv starts the Python of an environment, and pip shows its configuration."""
    words = [installing._uv(), "pip", "list", "--python", str(other_python(folder))]
    assert not run_command(words, b"", installing._FOLDER, {}, 60, lambda: False).failure
    installing._index()


STARTERS: tuple[Callable[[Path], object], ...] = (
    lambda folder: worker(Path(sys.executable)),
    lambda folder: worker(other_python(folder)),
    lambda folder: interpreters._version(Path(sys.executable)),
    sandboxed,
    confined,
    sparks_own_python,
    uv,
)


@pytest.mark.parametrize(
    "start", STARTERS, ids=["worker", "other-python", "version", "sandbox", "confined", "spark", "uv"]
)
def test_a_python_that_is_started_imports_nothing_from_the_checkout(
    start: Callable[[Path], object], checkout: Checkout, tmp_path: Path
) -> None:
    """Each place that starts one does so in a working directory that holds every name of the standard library."""
    (tmp_path / "own").mkdir()
    start(tmp_path / "own")
    assert checkout.imported() == []


def test_the_modules_of_a_checkout_are_imported_by_a_python_that_is_not_isolated(checkout: Checkout) -> None:
    """The planted modules leave their names: without `-I`, a Python of the same kind imports one of them."""
    subprocess.run([sys.executable, "-c", "import json"], check=False)
    assert "json" in checkout.imported()


def test_no_command_imports_from_the_checkout(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command runs in a planted project whose engine needs a worker; those that need another Python start one."""
    monkeypatch.setattr(sandbox, "_start", start_as_the_program_does)
    monkeypatch.syspath_prepend(install_words(tmp_path / "packages"))
    project = ProjectFolder(checkout.root)
    project.catalog(CATALOG.format(python=sys.executable))
    commit_all(checkout.root)
    project.file("0001_create.sql", "note it;")
    commit_all(checkout.root)
    started = set()
    # What a command writes is in the way of the others.
    for name, command in sorted(COMMANDS.items(), key=lambda row: row[1].section is Section.WRITE):
        if command.section is not None:
            with starts() as programs:
                run_here(project, name, *ARGUMENTS.get(name, ()))
            if any(Path(program).name.startswith("python") for program in programs):
                started.add(name)
            assert checkout.imported() == [], name
    assert started >= STARTING


@contextmanager
def starts() -> Iterator[list[str]]:
    """Yield the programs that are started meanwhile."""
    programs: list[str] = []
    started = subprocess.Popen.__init__

    def start(self: Any, args: Any, *others: Any, **named: Any) -> None:
        programs.append(str(args[0]))
        started(self, args, *others, **named)

    with patch.object(subprocess.Popen, "__init__", start):
        yield programs


@pytest.mark.parametrize("name", ["action.yml", "templates/check.yml"])
def test_a_python_of_a_ci_file_is_isolated(name: str) -> None:
    """Jobs run in a checkout, some of them with credentials: `python3` has `-I` in each line of each file."""
    lines = (REPOSITORY / name).read_text("utf-8").splitlines()
    started = [line for line in lines if re.search(r"\bpython3?\s+\S", line)]
    assert started
    assert [line for line in started if not re.search(r"\bpython3 -I ", line)] == []


def test_this_python_is_started_in_one_place() -> None:
    """Elsewhere, `sys.executable` is printed, compared or passed on; uv gets it as an argument."""
    direct = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.List | ast.Tuple)
        for item in node.elts
        if ast.unparse(item) == "sys.executable"
    }
    assert direct == {"executors/environments/installing.py"}
