"""An engine that runs nothing, for a worker: its statements are words such as `sleep` and `refuse`."""

from __future__ import annotations

import logging
import os
import signal
import stat
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glacierbase.errors import ConfigurationError, OutcomeUnknown, StatementRefused
from glacierbase.executors import (
    CopiedView,
    CopyCheckpoint,
    CopyState,
    EngineType,
    Evidence,
    Executor,
    InFlight,
    ListedTable,
)
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.session import SessionContext
from glacierbase.model.shape import Shape
from glacierbase.run.activity import doing, note
from glacierbase.run.processes import engine_process
from glacierbase.run.run import Run

logger = logging.getLogger("glacierbase")


class VendorRow(tuple[Any, ...]):
    """A row of a class that another Python may lack."""


class WordSession:
    """A session whose statements are words."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self._cancelled = threading.Event()

    def execute(self, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> str | None:
        word, _, rest = sql.partition(" ")
        self.ran.append(sql)
        answer: str | None = getattr(self, f"_{word}")(rest)
        return answer

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if sql == "ran":
            return [(statement,) for statement in self.ran]
        if sql == "rows":
            return [(VendorRow((1, "a")),)]
        if sql == "unpicklable":
            return [(lambda: None,)]
        return [(os.getpid(), threading.get_ident(), *parameters)]

    def _note(self, rest: str) -> str:
        return rest

    def _sleep(self, rest: str) -> None:
        if self._cancelled.wait(float(rest)):
            raise OutcomeUnknown("Cancelled", "the statement was cancelled")

    def _refuse(self, rest: str) -> None:
        raise StatementRefused("REFUSED", f"refused: {rest}", "query-7", "correct it")

    def _strange(self, rest: str) -> None:
        error = StatementRefused("REFUSED", "refused")
        error.data = {"call": lambda: None}
        raise error

    def _fail(self, rest: str) -> None:
        raise ZeroDivisionError(rest)

    def _print(self, rest: str) -> None:
        print(rest)  # noqa: T201
        os.write(1, rest.encode())
        subprocess.run(["/bin/echo", rest], check=True)

    def _log(self, rest: str) -> None:
        logger.warning("%s", rest)

    def _garble(self, rest: str) -> None:
        """Write into the pipe of the messages."""
        for number in range(3, 20):
            try:
                if stat.S_ISFIFO(os.fstat(number).st_mode):
                    os.write(number, b"what a package prints, which is no message")
            except OSError:
                continue
        self._sleep("60")

    def _die(self, rest: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def cancel(self) -> None:
        self._cancelled.set()

    def progress(self) -> str | None:
        return f"{len(self.ran)} statements"

    def shape(self, table: str) -> Shape | None:
        return None

    def tables(self, catalog: str) -> list[ListedTable]:
        return [ListedTable(f"{catalog}.t")]

    def view_statements(self, view: str) -> tuple[str, ...]:
        return ()

    def context(self) -> SessionContext:
        return SessionContext("words", "main")

    def select(self, context: SessionContext) -> None:
        self.ran.append(f"select {context.namespace}")

    def close(self) -> None:
        """Close nothing."""


class WordExecutor:
    """An executor, with a process of its own if the catalog has a command for it."""

    dialect = "spark"
    engine = "words 1.0"
    principal = "tester"

    def __init__(self, catalog: Catalog) -> None:
        self.process: dict[str, Any] = {}
        if catalog.conf.get("child"):
            self._child = subprocess.Popen(catalog.conf["child"], stdin=subprocess.PIPE, start_new_session=True)
            self.process = engine_process(self._child.pid)

    def open_session(self, *, bookkeeping: bool = False) -> WordSession:
        return WordSession()

    def evidence(self, statement: InFlight) -> Evidence:
        return Evidence((statement.sql,), took_effect=True)

    def proving_table(self, sql: str, file: str) -> str | None:
        return f"table of {sql}"

    def close(self) -> None:
        """Close nothing."""


class WordCopy(WordExecutor):
    """A copy whose content is a namespace; what a checkpoint holds cannot be sent."""

    def __init__(self, catalog: Catalog, folder: Path, names: Sequence[str]) -> None:
        super().__init__(catalog)
        self._folder, self._names = folder, names
        self._namespace = ""

    def make_namespace(self, name: str, levels: Sequence[str]) -> None:
        self._namespace = ".".join((name, *levels))

    def locations(self) -> dict[str, str]:
        return {f"{self._namespace}.t": f"{self._folder} {os.getpid()}"}

    def metadata(self, location: str) -> str:
        return f"metadata of {location}"

    def views(self) -> dict[str, CopiedView]:
        return {name: CopiedView("id", 1, "") for name in self._names}

    def state(self) -> CopyState | None:
        return CopyState({(self._namespace, "a"): {}}, {}, {}, {"f": b"\0"})

    def restore(self, state: CopyState) -> None:
        [(self._namespace, _)] = state.namespaces

    def checkpoint(self) -> CopyCheckpoint:
        namespace = self._namespace
        return CopyCheckpoint(lambda: namespace, is_whole=False)

    def rewind(self, checkpoint: CopyCheckpoint) -> None:
        self._namespace = checkpoint.content()


class Words(EngineType):
    """The type of the engine."""

    name = "words"
    dialect = "spark"

    def open_executor(self, catalog: Catalog, run: Run) -> Executor:
        if catalog.conf.get("refuses"):
            raise ConfigurationError("SPARK_VERSION_MISMATCH", f"catalog {catalog.name}: another version", "install it")
        with doing(f"{catalog.name}: starting words"):
            note("half")
            threading.Event().wait(catalog.conf.get("seconds", 0))
        return WordExecutor(catalog)

    def open_copy(self, catalog: Catalog, run: Run, folder: Path, names: Sequence[str]) -> WordCopy:
        return WordCopy(catalog, folder, names)

    def needs(self, catalog: Catalog) -> Sequence[Any] | None:
        return [catalog.conf.get("needs")]

    def check_installed(self, catalog: Catalog) -> None:
        if catalog.conf.get("refuses"):
            raise ConfigurationError(
                "SPARK_VERSION_MISMATCH", f"catalog {catalog.name}: another version", command("env")
            )


ENGINE = Words()


def install_words(folder: Path) -> Path:
    """Write the metadata of a package that adds the engine into a folder for `sys.path`, and return the folder."""
    metadata = folder / "words-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: words\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[glacierbase.executors]\nwords = {__name__}:ENGINE\n")
    return folder
