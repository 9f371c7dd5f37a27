"""The port to framework actions: the statements that glacierbase executes itself, through a session of the engine.

An action works in steps. A step that was done is found done when the action is called again, so that an action which a kill, a
cancel or an error stopped goes on where it stopped, and its outcome is never unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from glacierbase.executors import Row, Session
from glacierbase.model.shape import Shape


class GateShut(Exception):
    """An action cannot go on yet. That is an answer, not an error: the file waits, and the next run asks again.

    Attributes:
        why: a clause.
    """

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


@dataclass(slots=True)
class ActionRun:
    """One execution of an action.

    Attributes:
        arguments: those of the call, by name.
        shape: returns the present shape of a table, by its name; None where there is none. Raises `EngineError`.
        check: raises where the run was cancelled or its lock cannot be proven. Called before each statement.
        project: the project's folder.
        progress: what it does now, for people.
    """

    arguments: Mapping[str, str]
    session: Session = field(repr=False)
    tag: str
    shape: Callable[[str], Shape | None] = field(repr=False)
    check: Callable[[], None] = field(repr=False)
    project: Path
    progress: str = ""

    def execute(self, sql: str) -> None:
        """Run a statement. Raises as `Session.execute` and `check` do."""
        self.check()
        self.session.execute(sql, tag=self.tag)

    def query(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
        """Return the rows of a query. Raises as `execute` does."""
        self.check()
        return self.session.query(sql, parameters)

    def make_view(self, view: str, sql: str, function: str, columns: str) -> None:
        """Make a view of rows that a Python function makes. Raises as `Session.make_view` and `check` do."""
        self.check()
        self.session.make_view(view, sql, function, columns)

    def shown(self) -> str | None:
        """Return its progress, and that of its statement."""
        return ", ".join(filter(None, (self.progress, self.session.progress()))) or None


# Raises `GateShut`; `EngineError` where it cannot go on for another reason, and the next run continues.
Action: TypeAlias = Callable[[ActionRun], None]
OpenAction: TypeAlias = Callable[[str], Action]


def no_actions(name: str) -> Action:
    """Raise LookupError: only a caller that has capabilities has actions."""
    raise LookupError(name)
