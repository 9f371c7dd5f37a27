"""The select list and the end of a query, as far as rules need them: names of columns, LIMIT, whether all rows are kept."""

from __future__ import annotations

from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.statement import Query

_ENDS = (",", "FROM", "UNION", "EXCEPT", "INTERSECT", "MINUS", ";")
# What may come before the `*` of a select list.
_BEFORE_STAR = ("SELECT", "DISTINCT", "ALL", ",", ".")
# Words that may follow a name in an expression, and are no alias.
_NO_ALIAS = frozenset({"END", "NULL", "TRUE", "FALSE"})


def select(cursor: Cursor, *, reads_target: bool) -> Query:
    """Return what is determined of the query in the tokens of a cursor."""
    words = cursor.words()
    names = _names(cursor)
    try:
        columns, is_plain = _definitions(cursor), False
        if columns and cursor.take("SELECT"):
            listed = _columns(cursor)
            is_plain = words[:1] == ("SELECT",) and _is_whole_table(cursor)
            return Query(listed, _limits(cursor), is_plain, reads_target, names)
    except (UnsupportedClause, IndexError):
        pass
    return Query(None, False, False, reads_target, names)


def _names(cursor: Cursor) -> frozenset[str]:
    """Return the words and quoted names of a query as the engine compares names, and `*` where it returns all columns."""
    rest, names = cursor.part_to_end(), set[str]()
    while word := rest.word():
        if word == "*" and rest.word(-1) in _BEFORE_STAR:
            names.add(word)
        try:
            names.add(rest.name())
        except UnsupportedClause:  # A sign, a number or a string.
            rest.next()
    return frozenset(names)


def _definitions(cursor: Cursor) -> bool:
    """Move past common table expressions; return whether a select list may follow."""
    if cursor.take("WITH"):
        cursor.take("RECURSIVE")
        while True:
            cursor.name()
            if cursor.word() == "(":
                cursor.parentheses()
            cursor.expect("AS")
            cursor.parentheses()
            if not cursor.take(","):
                break
    return cursor.word() == "SELECT"


def _columns(cursor: Cursor) -> tuple[str, ...] | None:
    """Move past the select list, and return the names of its columns; None if one is not determined."""
    if cursor.take_any("DISTINCT", "ALL"):
        pass
    names: list[str | None] = []
    while True:
        start = cursor.position
        cursor.skip_to(*_ENDS)
        names.append(_name(cursor.part(start)))
        if not cursor.take(","):
            break
    return None if None in names or cursor.word(-1) == "DISTINCT" else tuple(filter(None, names))


def _name(item: Cursor) -> str | None:
    """Return the name of a column of the select list."""
    words = item.words()
    if len(words) > 2 and words[-2] == "AS":
        return item.part_between(len(words) - 1, len(words)).name()
    try:
        name = item.names()[-1]
        if item.word() and item.word() not in _NO_ALIAS and item.word(1) == "":
            return item.name()  # An alias without AS.
    except UnsupportedClause:
        return None
    is_value = words[0].isdigit() or words[-1] in _NO_ALIAS
    return None if item.word() or is_value else name


def _is_whole_table(cursor: Cursor) -> bool:
    """Return whether the query keeps every row: one table after FROM, and nothing after it."""
    rest = cursor.part_to_end()
    if not rest.take("FROM"):
        return False
    rest.table()
    rest.take("AS")
    if rest.word() not in ("", ";", "WHERE", "LIMIT", "TABLESAMPLE", ","):
        rest.next()
    return rest.word() in ("", ";")


def _limits(cursor: Cursor) -> bool:
    """Return whether the query ends with LIMIT, and has no ORDER BY."""
    rest, is_ordered, limits = cursor.part_to_end(), False, False
    while rest.skip_to("ORDER", "LIMIT"):
        is_ordered = is_ordered or (rest.word(), rest.word(1)) == ("ORDER", "BY")
        limits = limits or (rest.word() == "LIMIT" and rest.word(1).isdigit())
        rest.next()
    return limits and not is_ordered
