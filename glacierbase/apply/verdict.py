"""What the version of a table or a namespace proves of a statement that was announced on it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glacierbase.model.shape import TableVersion
from glacierbase.run.run import tag_uuid

if TYPE_CHECKING:
    from glacierbase.sql.file import FileStatement  # Imports the grammar.
    from glacierbase.sql.statement import ParsedStatement

# Statements whose only effect is that the name has no table any more, or no namespace.
_DROPS = ("drop_table", "drop_namespace")
# Statements whose effect is that the name exists.
_CREATES = ("create_table", "create_namespace")


def new_name(statement: FileStatement | None) -> str | None:
    """Return the qualified name that a statement gives to its table; None where it renames none."""
    if statement is None or statement.parsed.operation != "rename_table":
        return None
    return statement.names[-1][1]


def may_run_again(statement: ParsedStatement) -> bool:
    """Return whether a plain statement may run a second time: IF NOT EXISTS, or IF EXISTS of what is inside the table.

    A table of the dropped name may be the one of another writer.
    """
    options = (statement.options, *statement.parts)
    is_conditional = any(getattr(part, key, False) for part in options for key in ("if_exists", "if_not_exists"))
    return is_conditional and statement.operation not in _DROPS


def verdict(
    before: TableVersion, now: TableVersion | None, tag: str, statement: ParsedStatement | None = None
) -> tuple[bool | None, str]:
    """Return whether the statement took effect, None where the table proves nothing, and what the table shows. Pure.

    Args:
        now: read after the engine ended, under the new name where the table has that of the statement; None if it is gone, or
            cannot be read.
        tag: the tag of the statement.
        statement: None if the history does not hold its text.
    """
    name, operation = before.table, statement.operation if statement else ""
    if now is None:
        return None, f"{name} is gone"
    if not now.exists:
        if not before.exists:
            return False, f"{name} does not exist, as before, so it had no effect"
        return (True, f"{name} is gone, so it took effect") if operation in _DROPS else (None, f"{name} is gone")
    if statement and operation in _CREATES and (before.is_namespace or statement.options.if_not_exists):
        if before.exists and not statement.options.if_not_exists:
            return False, f"{name} existed before, so it had no effect"
        return True, f"{name} exists now, so it took effect"
    return _of_namespace(before, now, operation) if before.is_namespace else _of_table(before, now, tag, operation)


def _of_namespace(before: TableVersion, now: TableVersion, operation: str) -> tuple[bool | None, str]:
    """Return the verdict on a statement that changes or drops a namespace, which exists."""
    if operation in _DROPS and before.exists:
        return False, f"{before.table} still exists, so it had no effect"
    if now.metadata == before.metadata:
        return False, f"{before.table} has the same properties as before, so it had no effect"
    return None, f"{before.table} has changed since"


def _of_table(before: TableVersion, now: TableVersion, tag: str, operation: str) -> tuple[bool | None, str]:
    """Return the verdict on a statement whose table exists."""
    table = before.table
    for file in filter(None, (now.metadata, now.previous)):
        if tag_uuid(tag) in _file(file):
            only = "the only commit" if now.previous == before.metadata else "a commit"
            return True, f"{only} to {table} since is its own ({_file(file)}), so it took effect"
    if not before.exists:
        return None, f"{table} exists now; its metadata file does not name this statement ({_file(now.metadata)})"
    if now.uuid != before.uuid:
        return None, f"{table} is another table now"
    if now.table != table:
        return True, f"{table} is {now.table} now (UUID {now.uuid}), so it took effect"
    if operation in ("drop_table", "rename_table"):
        return False, f"{table} still has its name (UUID {now.uuid}), so it had no effect"
    if (now.metadata, now.sequence) == (before.metadata, before.sequence):
        return False, f"{table} has had no commit since ({_file(now.metadata)}), so it had no effect"
    if now.previous != before.metadata:
        return None, f"{table} has had several commits since {_file(before.metadata)}"
    if now.sequence == before.sequence + 1 and now.tag == tag:
        return True, f"the only commit to {table} since is its own ({_file(now.metadata)}), so it took effect"
    return None, f"{table} has had one commit since, which does not name this statement ({_file(now.metadata)})"


def _file(location: str) -> str:
    return location.rpartition("/")[2]
