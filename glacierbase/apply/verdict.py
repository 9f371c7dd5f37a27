"""What the version of a table proves of a statement that was announced on it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glacierbase.model.shape import TableVersion
from glacierbase.run.run import tag_uuid

if TYPE_CHECKING:
    from glacierbase.sql.file import Named  # Imports the grammar.

# Statements whose only effect is that the name has no table any more.
_ENDS_NAME = ("drop_table", "rename_table")


def ends_name(statement: Named | None) -> bool:
    """Return whether the name of the table has no table after the statement."""
    return statement is not None and statement.parsed.operation in _ENDS_NAME


def new_name(statement: Named | None) -> str | None:
    """Return the qualified name that a statement gives to its table; None where it renames none."""
    if statement is None or statement.parsed.operation != "rename_table":
        return None
    return statement.names[-1][1]


def verdict(
    before: TableVersion, now: TableVersion | None, tag: str, *, ends_name: bool = False
) -> tuple[bool | None, str]:
    """Return whether the statement took effect, None where the table proves nothing, and what the table shows. Pure.

    Args:
        now: read after the engine ended, under the new name where the table has that of the statement; None if it is gone.
        tag: the tag of the statement.
        ends_name: whether the name of the table has no table after the statement.
    """
    table = before.table
    if now is None or not now.exists:
        if before.exists:
            return None, f"{table} is gone"
        return False, f"{table} does not exist, as before, so it had no effect"
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
    if ends_name:
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
