"""A project of two catalogs in several environments; each environment has an engine and tables in memory."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from glacierbase.history.target import CatalogRun
from glacierbase.model.migration import Event
from glacierbase.project import each as running
from glacierbase.stores import LockRow
from glacierbase.stores.bounded import BoundedStore
from tests.support.catalog_files import LAKE
from tests.support.fakes import FakeExecutor, MemoryStore, MemoryTables, MemoryVersions
from tests.support.program import Keyboard, call_program
from tests.support.project_folder import Output, ProjectFolder

CATALOGS = ("shop", "web")
ENVIRONMENTS = "environments: {dev: {}, prod: {}}\ndefaultEnvironment: dev\n"
# In backticks, or at the end of a line that a label begins.
_COMMAND = re.compile(r"`(glacierbase \w[^`]*)`|^ *(?:more:|next|or) +(glacierbase .*)$", re.MULTILINE)


class Place:
    """An engine and the tables of history and lock of one environment.

    Attributes:
        store_before: called with each verb of the store; may raise what a store would.
    """

    def __init__(self) -> None:
        self.engine = FakeExecutor()
        self.tables = MemoryTables()
        self.store_before: Callable[[str], None] = lambda verb: None

    def open(self, target: CatalogRun) -> CatalogRun:
        """Return the target with this engine and these tables."""
        return replace(
            target,
            open_executor=lambda *_: self.engine,
            open_store=lambda catalog, engine: BoundedStore(
                lambda: MemoryStore(self.tables, catalog.name, lambda verb: self.store_before(verb)), engine.cancelled
            ),
            open_tables=lambda *_: MemoryVersions(self.tables, lambda verb: self.store_before(verb)),  # type: ignore[arg-type, return-value]
        )

    def events(self, catalog: str = "shop") -> list[Event]:
        return self.tables.histories.get(catalog, [])

    def content(self) -> tuple[Mapping[str, Sequence[Event]], Mapping[str, LockRow]]:
        """Return a copy of the tables."""
        return {name: tuple(events) for name, events in self.tables.histories.items()}, dict(self.tables.locks)


class Lakes:
    """The project, and the program run on it in this process."""

    def __init__(self, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, more: str = ENVIRONMENTS) -> None:
        self.project = project
        self.places: dict[str, Place] = {}
        for name in CATALOGS:
            project.catalog(LAKE.replace("WAREHOUSE", "/nowhere") + more, name)
        load = running.load_targets

        def load_targets(*arguments: Any) -> list[CatalogRun]:
            return [self.place(target.catalog.environment).open(target) for target in load(*arguments)]

        monkeypatch.setattr(running, "load_targets", load_targets)
        elsewhere = project.root.parent / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)

    def place(self, environment: str) -> Place:
        return self.places.setdefault(environment, Place())

    def call(self, *arguments: str, typed: str | Keyboard | None = None) -> Output:
        """Run the program from another folder; `typed` is the input of a terminal."""
        return call_program(arguments, typed)

    def run(self, command: str, *more: str, typed: str | Keyboard | None = None) -> Output:
        """Run a command on the project, which `--project` names as seen from the working directory."""
        where = os.path.relpath(self.project.root)
        return self.call(*shlex.split(command), *more, "--project", where, typed=typed)

    def paste(self, command: str, *more: str, typed: str | Keyboard | None = None) -> Output:
        """Run a command line as a message printed it."""
        program, *arguments = shlex.split(command)
        assert program == "glacierbase"
        return self.call(*arguments, *more, typed=typed)


def printed_commands(text: str) -> list[str]:
    """Return the commands of glacierbase in a text, each once."""
    return list(dict.fromkeys(quoted or labelled for quoted, labelled in _COMMAND.findall(text)))
