"""The port to an engine: what every executor must do, and how one is opened.

An executor connects, runs one statement at a time and maps its vendor's errors. It holds no judgement: order, lock, history
and what a failure means are decided above it. Every implementation passes `tests/engines/contract/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from glacierbase.errors import ConfigurationError
from glacierbase.model.catalog import Catalog
from glacierbase.run.run import Run

Row = tuple[Any, ...]


class Session(Protocol):
    """One session of the engine: what `USE` and `SET` change stays inside it."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), *, tag: str | None = None) -> str | None:
        """Run one statement to its end, as written, with `?` bound to `parameters` where there are any.

        Args:
            tag: by which the engine knows the statement, to cancel it and in its own log, where it keeps one.

        Returns:
            The engine's id of the statement, None where it has none.

        Raises:
            StatementRefused: the engine's answer proves that the statement had no effect.
            OutcomeUnknown: anything else.
        """

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """All rows of a question. Raises as `execute` does."""

    def cancel(self) -> None:
        """From another thread: ask the engine to end the tagged statement that `execute` runs, if it runs one.

        `execute` then raises, as the truth is, unless the statement was done before. Never raises itself.
        """

    def close(self) -> None:
        """Be done with the session. Never raises."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """A statement whose outcome nobody recorded.

    Attributes:
        tables: what it changes, as far as its text says so.
        since: when it was about to start, by the clock of its run.
        tag: by which it was run.
        sql: its text, as the history has it: masked.
        application: of the engine that ran it, as `Executor.process` names it; None where none was recorded.
    """

    tables: Sequence[str]
    since: datetime
    tag: str
    sql: str
    application: str | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an engine remembers of a statement whose outcome nobody recorded.

    Attributes:
        found: in a line each.
        took_effect: what that suggests; None where it says nothing.
        has_ended: whether the statement is known to run no more; None where the engine cannot tell.
        is_proof: whether `took_effect` is the engine's own record of this very statement, and not only a suggestion.
    """

    found: tuple[str, ...] = ()
    took_effect: bool | None = None
    has_ended: bool | None = None
    is_proof: bool = False


class Executor(Protocol):
    """A connection to the engine of one catalog.

    Attributes:
        dialect: of `glacierbase.migrations.dialects`, and of our own SQL.
        engine: name and version, for the history: `spark 4.1.4`.
        principal: who the engine takes us for.
        process: what tells a later reader whether the engine still lives (`engine_pid`, `application`), for the history.
    """

    dialect: str
    engine: str
    principal: str
    process: Mapping[str, Any]

    def open_session(self, *, bookkeeping: bool = False) -> Session:
        """A clean session, as configured, that sees all that was committed before.

        Args:
            bookkeeping: for history and lock: it must not queue behind the statements of the others.

        Raises:
            EngineUnavailable: the engine gives none any more.
        """

    def evidence(self, statement: InFlight) -> Evidence:
        """What it remembers of the statement.

        Raises:
            EngineError: it cannot be asked.
        """

    def close(self) -> None:
        """End all that `open` started, and nothing else. Never raises."""


@dataclass(frozen=True, slots=True)
class Warmed:
    """What was made ready for an engine's start.

    Attributes:
        dependencies: how many jars are in the cache.
        archive: the file that the start maps; None where the engine starts elsewhere.
        start_ms: how long the start took with it, in milliseconds.
    """

    dependencies: int = 0
    archive: Path | None = None
    start_ms: int | None = None


def warm(catalog: Catalog, run: Run) -> Warmed:
    """Do what only a first start would have to do. Contacts no catalog.

    Raises:
        ConfigurationError, EngineUnavailable: as `open_executor` does.
    """
    if catalog.executor_type != "spark":
        return Warmed()
    from glacierbase.executors import spark

    return spark.warm(catalog, run)


def open_executor(catalog: Catalog, run: Run, session: Any = None) -> Executor:
    """Connect to the catalog's engine; `session` is a SparkSession of the caller's to work in.

    Raises:
        ConfigurationError: what the engine needs is not on this machine, or does not fit together.
        EngineUnavailable: the engine did not start or could not be reached.
    """
    if catalog.executor_type == "spark":
        from glacierbase.executors import spark

        return spark.open_executor(catalog, run, session)
    if session is not None:
        raise ConfigurationError(
            "SESSION_NOT_SPARK",
            f"catalog {catalog.name} runs on {catalog.executor_type}; a Spark session was given",
            "leave `spark=` out, or name the Spark catalogs alone",
        )
    from glacierbase.executors import snowflake

    return snowflake.open_executor(catalog, run)
