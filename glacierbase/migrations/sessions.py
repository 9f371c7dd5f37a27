"""What the statements of a file do to the session in which the later ones run. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from glacierbase.errors import MigrationFileError
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.migration import Statement
from glacierbase.sql.dialects import SNOWFLAKE
from glacierbase.sql.operations import ROWS
from glacierbase.sql.statement import ParsedStatement, SessionEffect
from glacierbase.sql.tokens import words

# These change a temporary view if one has the name; else another view, or a table.
_CHANGES_VIEW = frozenset({"drop_view", "alter_view", "rename_view", "drop_table", "rename_table"})
# These leave the columns of their tables as they are.
_KEEPS_COLUMNS = ROWS | {"optimize", "analyze"}
# Its value is the query id of the previous statement of the session.
# https://docs.snowflake.com/en/sql-reference/functions/last_query_id
_LAST_QUERY = "LAST_QUERY_ID"


def session_effects(compiled: Compiled, done: int | None = None) -> dict[int, SessionEffect]:
    """Return what each statement of a file does to the session, by its index; those that do nothing are left out.

    Args:
        done: only of this many first statements, as if the file ended after them; by default of all.
    """
    effects: dict[int, SessionEffect] = {}
    views: dict[tuple[str, ...], _View] = {}
    for named in compiled.named[:done]:
        parsed, index = named.parsed, named.statement.index
        effect = _effect(parsed, views)
        if effect is not SessionEffect.NONE:
            effects[index] = effect
        elif parsed.operation not in _KEEPS_COLUMNS:
            changed = {name.key[-1] for name in parsed.targets}
            for view in views.values():
                if view.reads is None or not changed.isdisjoint(view.reads):
                    effects[view.at] = SessionEffect.UNKNOWN  # The view would have other columns now.
        if parsed.options.temporary:
            reads = None if parsed.sources is None else {name.key[-1] for name in parsed.sources}
            views.update((name.key, _View(index, reads)) for name in parsed.targets)
    return effects


class _View(NamedTuple):
    """A temporary view: the statement that creates it, and the last names of what it reads; None if unknown."""

    at: int
    reads: set[str] | None


def _effect(parsed: ParsedStatement, views: dict[tuple[str, ...], _View]) -> SessionEffect:
    """Return what a statement does to the session, and take the temporary views that it drops or renames from `views`."""
    if parsed.operation not in _CHANGES_VIEW or not parsed.targets or parsed.targets[0].key not in views:
        return parsed.session
    view = views[parsed.targets[0].key]
    if parsed.operation != "alter_view":
        del views[parsed.targets[0].key]
    if parsed.operation.startswith("rename_"):
        views[parsed.targets[-1].key] = view
    return SessionEffect.SET


def unrepeatable(compiled: Compiled, done: int) -> tuple[Statement, str] | None:
    """Return the first statement that needs the session of the completed ones, and why a new session cannot replace it.

    Args:
        done: how many statements are done.
    """
    return next(_unrepeatable(compiled, done), None) if done else None


def why_not_continued(compiled: Compiled, first: int) -> str:
    """Return why a version cannot continue at a statement in another session, as a clause; empty where it can."""
    obstacle = None if compiled.migration.is_repeatable else unrepeatable(compiled, first - 1)
    return f"statement {obstacle[0].index} {obstacle[1]}" if obstacle else ""


def _unrepeatable(compiled: Compiled, done: int) -> Iterator[tuple[Statement, str]]:
    effects = session_effects(compiled, done)
    for statement in compiled.statements[:done]:
        if effects.get(statement.index) is SessionEffect.UNKNOWN:
            yield statement, "may have changed the session in a way that cannot be repeated"
    for statement in compiled.statements[done:]:
        if _names_last_query(statement.text, compiled.dialect):
            yield statement, "reads the result of a statement before it, which ended with its session"


def _names_last_query(sql: str, dialect: str) -> bool:
    try:
        return dialect == SNOWFLAKE.name and _LAST_QUERY in words(sql, dialect)
    except MigrationFileError:
        return True
