"""What the version of a table proves of a statement that was announced on it. Pure."""

from __future__ import annotations

from glacierbase.model.shape import TableVersion
from glacierbase.run.run import tag_uuid


def verdict(before: TableVersion, now: TableVersion | None, tag: str) -> tuple[bool | None, str]:
    """Return whether the statement took effect, None where the table proves nothing, and what the table shows. Pure.

    Args:
        now: read after the engine ended; None if the table is gone.
        tag: the tag of the statement.
    """
    table = before.table
    if now is None:
        return None, f"{table} is gone"
    if now.uuid != before.uuid:
        return None, f"{table} is another table now"
    if (now.metadata, now.sequence) == (before.metadata, before.sequence):
        return False, f"{table} has had no commit since ({_file(now.metadata)}), so it had no effect"
    if now.previous != before.metadata:
        return None, f"{table} has had several commits since {_file(before.metadata)}"
    if tag_uuid(tag) in _file(now.metadata) or (now.sequence == before.sequence + 1 and now.tag == tag):
        return True, f"the only commit to {table} since is its own ({_file(now.metadata)}), so it took effect"
    return None, f"{table} has had one commit since, which does not name this statement ({_file(now.metadata)})"


def _file(location: str) -> str:
    return location.rpartition("/")[2]
