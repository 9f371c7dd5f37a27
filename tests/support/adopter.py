"""A person who adopts glacierbase: a project in git, commands typed one after the other, and the messages that they print."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.executors import Session
from glacierbase.executors.spark.executor import SparkExecutor
from glacierbase.executors.spark.session import SparkSessionPort
from glacierbase.history.target import CatalogRun
from glacierbase.model.catalog import Catalog
from glacierbase.project import each as running
from tests.support.beds import LakeBed
from tests.support.lakes import printed_commands
from tests.support.program import call_program
from tests.support.project_folder import Output, migration

ENVIRONMENTS = ("dev", "prod")
EVENTS, USERS = "lake.web.events", "lake.web.users"
_NINE = {
    "0002_add_device": f"ALTER TABLE {EVENTS} ADD COLUMN device string COMMENT 'as the app reports it'",
    "0003_add_country": f"ALTER TABLE {EVENTS} ADD COLUMN country string AFTER kind",
    "0004_rename_kind": f"ALTER TABLE {EVENTS} RENAME COLUMN kind TO event_kind",
    "0005_create_users": f"CREATE TABLE {USERS} (id bigint NOT NULL, name string) USING iceberg",
    "0006_retry_commits": f"ALTER TABLE {EVENTS} SET TBLPROPERTIES ('commit.retry.num-retries'='10')",
    "0007_split_by_country": f"ALTER TABLE {EVENTS} ADD PARTITION FIELD country",
    "0008_first_users": f"INSERT INTO {USERS} VALUES (1, 'ada'), (2, 'bob')",
    "0009_sort_events": f"ALTER TABLE {EVENTS} WRITE ORDERED BY timestamp",
    "0010_drop_device": f"ALTER TABLE {EVENTS} DROP COLUMN device",
}
TEN = [f"{number:04}" for number in range(1, 11)]
CATALOG = "catalogs/web.yaml"
# A question and what follows it are on one line: nobody pressed Enter.
_ERROR = re.compile(
    r"(?:^|type its name to go on: )error: (\w+): (.*?)\n(?:next: (.*?)\n)?(?=error: |state: |more: )",
    re.DOTALL | re.MULTILINE,
)
_PLACE = re.compile(r"((?:catalogs|migrations)/[\w./-]+)(?:, line (\d+))?")
_STATE = re.compile(r"(?i)\b(?:nothing|no \w+|and recorded|is recorded|is unknown|did not start|was not started)\b")
_GIT = re.compile(r"\bgit (?:checkout|merge|mv) [^;`)\n]+")


@dataclass(frozen=True)
class Message:
    """An error as a terminal shows it.

    Attributes:
        path, line: the place that it names.
    """

    code: str
    what: str
    hint: str
    path: str
    line: int | None

    @property
    def commands(self) -> list[str]:
        """The commands of glacierbase in the hint, as printed."""
        return printed_commands(self.hint)

    @property
    def git(self) -> list[str]:
        """The commands of git in the hint, as printed."""
        return [found.strip() for found in _GIT.findall(self.hint)]


class Adopter:
    """The project, and the commands that are typed in its root folder.

    Attributes:
        engines: the environments in which a command started its engine, in order.
    """

    def __init__(self, root: Path, lake: LakeBed, patch: pytest.MonkeyPatch) -> None:
        """Let all commands of this process use the Spark of `lake`, with the catalogs of the project's catalog file."""
        self.root = root
        self.engines: list[str] = []
        self._lake = lake
        load = running.load_targets

        def load_targets(*arguments: Any) -> list[CatalogRun]:
            return [replace(target, open_executor=self._open) for target in load(*arguments)]

        patch.setattr(running, "load_targets", load_targets)

    def _open(self, catalog: Catalog, *_: object) -> SparkExecutor:
        self.engines.append(catalog.environment)
        return _InOneSpark(catalog, self._lake)

    def types(self, line: str, typed: str | None = None, stderr: io.StringIO | None = None) -> Output:
        """Run a line: a command of glacierbase in this process, any other one in a shell.

        Args:
            typed: the answers at a terminal; without it, stdin is none.
        """
        program, *arguments = shlex.split(line)
        if program == "glacierbase":
            return call_program(arguments, typed, stderr)
        done = subprocess.run(line, shell=True, cwd=self.root, capture_output=True, text=True, check=False)
        return Output(done.returncode, done.stdout, done.stderr)

    def does(self, line: str, typed: str | None = None) -> Output:
        """Run a line that succeeds."""
        done = self.types(line, typed)
        assert done.code == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done

    def fails(self, line: str, code: str, exit_code: int, typed: str | None = None) -> Message:
        """Run a line that ends with an error; return its message, which says what, where, the state now, and what is next."""
        return self.told(self.types(line, typed), code, exit_code)

    def told(self, output: Output, code: str, exit_code: int) -> Message:
        """Return the message of an error, which says what, where, the state now, and what is next."""
        assert output.code == exit_code, f"{output.stdout}\n{output.stderr}"
        errors = {error[0]: error for error in _ERROR.findall(output.stderr)}
        assert code in errors, output.stderr
        _, what, hint = errors[code]
        place = _PLACE.search(what)
        explained = self.does(output.stderr.rpartition("\nmore: ")[2].strip()).stdout
        assert _STATE.search(what) or _STATE.search(explained), what
        assert hint, what
        return Message(code, what, hint, place[1] if place else "", int(place[2]) if place and place[2] else None)

    def outside(self, line: str) -> Output:
        """Run a command of glacierbase as a process, with a Spark that it starts itself."""
        command = [sys.executable, "-m", *shlex.split(line)]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=300, check=False)
        return Output(done.returncode, done.stdout, done.stderr)

    def presses_ctrl_c(self, line: str, typed: str, once: str) -> Output:
        """Run a line, and press Ctrl-C a moment after it has written a text to stderr."""
        return self.types(line, typed, _Watched(once))

    def edit(self, path: str, old: str, new: str, line: int | None = None) -> None:
        """Replace a text that a file has once; on this line, where one is given."""
        file = self.root / path
        text = file.read_text()
        assert text.count(old) == 1, (path, old)
        assert line is None or old in text.splitlines()[line - 1], (path, old, line)
        file.write_text(text.replace(old, new))

    def writes(self, name: str, sql: str, commit: bool = False) -> str:
        """Write a migration; return its path."""
        path = f"migrations/web/{name}.sql"
        (self.root / path).write_text(migration(sql))
        if commit:
            self.commits(name)
        return path

    def commits(self, message: str) -> None:
        self.does("git add -A")
        self.does(f"git commit -q -m {shlex.quote(message)}")

    def pending(self, environment: str) -> list[str]:
        """Return the versions that `migrate` would apply."""
        done = self.does(f"glacierbase pending --env {environment} --format json")
        return [file["version"] for file in done.entry()["pending"]]

    def states(self, environment: str) -> dict[str, str]:
        """Return the state of each version."""
        done = self.does(f"glacierbase status --env {environment} --format json")
        assert done.entry()["lock"] is None
        return {each["version"]: each["state"] for each in done.entry()["migrations"]}

    @contextmanager
    def table(self, environment: str, name: str) -> Iterator[Table]:
        """Open a table of an environment without glacierbase and without Spark."""
        folder = self.root / ".glacierbase" / environment
        with closing(SqlCatalog("lake", uri=f"sqlite:///{folder}/web.db", warehouse=f"file://{folder}/web")) as catalog:
            yield catalog.load_table(f"web.{name}")

    def columns(self, environment: str, name: str) -> list[str]:
        with self.table(environment, name) as table:
            return [field.name for field in table.schema().fields]

    def ids(self, environment: str, name: str = "users") -> list[int]:
        """Return the column `id` of a table."""
        with self.table(environment, name) as table:
            return sorted(table.scan().to_arrow().column("id").to_pylist())

    def by_hand(self, environment: str, sql: str) -> None:
        """Run a statement without glacierbase."""
        [file] = load_catalog_files(self.root / "catalogs", self.root)
        catalog = file.for_environment(environment, self.root)
        with closing(_InOneSpark(catalog, self._lake).open_session()) as session:
            session.execute(sql)

    @contextmanager
    def changing(self, *environments: str) -> Iterator[None]:
        """Check that the block commits to tables of these environments, history and lock included, and of no other one."""
        before = self._contents()
        yield
        assert {name for name, content in self._contents().items() if content != before.get(name)} == set(environments)

    def _contents(self) -> dict[str, bytes]:
        """Return the databases that name the newest version of each table."""
        files = {name: self.root / ".glacierbase" / name / "web.db" for name in ENVIRONMENTS}
        return {name: file.read_bytes() for name, file in files.items() if file.exists()}


def begin(adopter: Adopter) -> None:
    """Do what an adopter does before the first mistake. Each command is one that was printed before, or one of the guide."""
    for line in ("git init -q -b main", "git config user.name Ada", "git config user.email ada@example.com"):
        adopter.does(line)
    steps = adopter.does("glacierbase init web").stdout.partition("next:\n")[2].splitlines()
    for step in steps:
        adopter.does(step.strip())
    assert adopter.states("dev") == {"0001": "applied"}
    for name, sql in _NINE.items():
        adopter.writes(name, f"{sql};")
    adopter.does("glacierbase migrate")
    adopter.commits("Ten migrations")
    adopter.does("git init -q --bare .glacierbase/origin.git")
    adopter.does("git remote add origin .glacierbase/origin.git")
    adopter.does("git push -q -u origin main")
    adopter.does("git remote set-head origin main")
    with adopter.changing():
        refused = adopter.fails("glacierbase migrate --env prod", "CONFIRMATION_MISSING", 2)
    assert refused.hint == "add --yes"
    with adopter.changing("prod"):
        adopter.does("glacierbase migrate --env prod --yes")


class _InOneSpark(SparkExecutor):
    """Sessions with the catalogs of one environment, in a Spark that several environments share."""

    def __init__(self, catalog: Catalog, lake: LakeBed) -> None:
        super().__init__(catalog, lake.spark, lake.executor.process, lake.executor.principal)
        # `LocalExecutor` creates the folder as well.
        (catalog.file.parent.parent / ".glacierbase" / catalog.environment).mkdir(parents=True, exist_ok=True)

    def _new_session(self, *, bookkeeping: bool) -> Session:
        session = self._spark.newSession()
        for key, value in self._catalog.spark_conf.items():
            if key.startswith("spark.sql.catalog."):
                session.conf.set(key, value)
        return SparkSessionPort(session, bookkeeping=bookkeeping)


class _Watched(io.StringIO):
    """A stream that has the process interrupted, once, a moment after a text was written to it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text: str | None = text

    def write(self, written: str) -> int:
        count = super().write(written)
        if self._text and self._text in self.getvalue():
            self._text = None
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        return count
