"""Read one statement: choose the grammar by its first words.

The grammar is one of heads: the first words of a statement name its operation and the tables that it changes, and each clause of an
ALTER has a form of its own. sqlglot leaves all forms of Iceberg, Delta and Hudi opaque, has no scripts and no procedures, takes
70 to 100 ms to import, and recurses; beside this grammar it could only say what a query reads, which `queries` says from the same
tokens in linear time. So there is one grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from glacierbase.errors import MigrationFileError
from glacierbase.sql import calls, changes, maintenance, objects, session
from glacierbase.sql.clauses import check_end
from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.statement import ParsedStatement, not_understood

_Grammar = Callable[[Cursor], ParsedStatement]
_QUERY_STARTS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(", "MAP", "REDUCE")


def read_statement(sql: str, dialect: str) -> ParsedStatement:
    """Return what a statement does, as `glacierbase.sql.read` does."""
    try:
        return read_words(Cursor(sql, dialect))
    except NotUnderstood as why:
        return not_understood(str(why))
    except MigrationFileError as error:
        return not_understood(error.message)


def read_words(cursor: Cursor) -> ParsedStatement:
    """Read a statement that begins here and ends with the tokens.

    Raises:
        NotUnderstood: its operation or its tables cannot be determined.
    """
    word = cursor.word()
    if word in _QUERY_STARTS:
        return changes.query(cursor)
    if word not in _HEADS:
        raise NotUnderstood(f"a statement that begins with {word or 'nothing'}")
    cursor.next()
    found = _HEADS[word](cursor)
    check_end(cursor)
    return found


def _explain(cursor: Cursor) -> ParsedStatement:
    """Read EXPLAIN after that word. `EXPLAIN EXECUTE IMMEDIATE` executes, and is not understood."""
    cursor.take_any("EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL")
    return ParsedStatement("explain", (), read_words(cursor).sources)


_HEADS: Mapping[str, _Grammar] = {
    "CREATE": objects.create, "REPLACE": objects.replaced, "DROP": objects.drop, "ALTER": objects.alter,
    "COMMENT": objects.comment,
    "INSERT": changes.insert, "UPDATE": changes.update, "DELETE": changes.delete, "MERGE": changes.merge,
    "TRUNCATE": changes.truncate, "LOAD": changes.load, "COPY": changes.copy,
    "CALL": calls.call,
    "OPTIMIZE": maintenance.optimize, "REORG": maintenance.reorg, "VACUUM": maintenance.vacuum,
    "RESTORE": maintenance.restore, "ANALYZE": maintenance.analyze, "REFRESH": maintenance.refresh,
    "CACHE": maintenance.cache, "UNCACHE": maintenance.uncache, "CLEAR": maintenance.clear, "MSCK": maintenance.repair,
    "REPAIR": maintenance.repair, "CONVERT": maintenance.convert, "GENERATE": maintenance.generate,
    "USE": session.use, "SET": session.set_, "RESET": session.reset, "SHOW": session.show, "DESCRIBE": session.describe,
    "DESC": session.describe, "ADD": session.add_resource, "LIST": session.list_resources, "GRANT": session.grant,
    "REVOKE": session.revoke, "COMMIT": session.transaction, "ROLLBACK": session.transaction, "START": session.transaction,
    "DECLARE": session.declare, "EXPLAIN": _explain,
}  # fmt: skip
