"""A project of several catalogs, each with an engine and tables in memory."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.errors import GlacierbaseError
from glacierbase.history.target import CatalogRun
from glacierbase.project import each
from tests.support.catalog_files import LAKE
from tests.support.lakes import Place
from tests.support.program import call_program
from tests.support.project_folder import Output, ProjectFolder
from tests.support.world import wait_until


class Several:
    """The project; each catalog has one pending file of two statements, `1_a.sql`.

    Attributes:
        places: engine and tables of each catalog, by name.
        more: further lines of the catalog files, by name.
    """

    def __init__(
        self, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, names: Sequence[str] = ("a", "b", "c")
    ) -> None:
        self.project = project
        self.places = {name: Place() for name in names}
        for name in names:
            self.catalog(name)
            project.file("1_a.sql", "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);", name)
        load = each.load_targets

        def load_targets(*arguments: Any) -> list[CatalogRun]:
            return [self.places[target.catalog.name].open(target) for target in load(*arguments)]

        monkeypatch.setattr(each, "load_targets", load_targets)

    def catalog(self, name: str, more: str = "") -> None:
        """Write the catalog file, with further lines."""
        self.project.catalog(LAKE.replace("WAREHOUSE", "/nowhere") + more, name)

    def before(self, name: str, *actions: Callable[[], object], text: str = "CREATE TABLE t") -> None:
        """Call the actions before a catalog's statement that contains `text`; they may raise what an engine would."""

        def before(sql: str) -> None:
            for action in actions if text in sql else ():
                action()

        self.places[name].engine.before = before

    def until(self, kind: str, *names: str) -> Callable[[], None]:
        """Return an action that waits until an event of this kind is in the histories of these catalogs."""
        return lambda: wait_until(lambda: all(kind in self.events(name) for name in names))

    def until_ended(self, name: str) -> Callable[[], None]:
        """Return an action that waits until the run of a catalog has ended and its result is collected, which takes no time."""

        def wait() -> None:
            wait_until(lambda: self.places[name].engine.closed)
            time.sleep(0.2)

        return wait

    def migrate(self, parallel: int, **options: Any) -> tuple[Any, ...]:
        """Return the results of all catalogs, also if one failed."""
        try:
            return Project.load(self.project.root).migrate(parallel=parallel, **options)
        except GlacierbaseError as error:
            return error.results

    def call(self, command: str, *arguments: str, stderr: io.StringIO | None = None) -> Output:
        """Run the program on the project."""
        return call_program([command, *arguments, "--project", str(self.project.root)], stderr=stderr)

    def events(self, name: str) -> list[str]:
        """Return the kinds of the events in the history of a catalog."""
        return [event.event for event in self.places[name].events(name)]

    @property
    def applied(self) -> str:
        """The names of the catalogs whose file is applied."""
        return "".join(name for name in self.places if "applied" in self.events(name))
