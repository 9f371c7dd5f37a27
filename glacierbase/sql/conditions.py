"""Conditions: whether WHERE, ON or WHEN can be decided from the text alone, for all rows or for none.

What is not decided depends on the rows. No expression is evaluated but comparisons of literals, and of a column with itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.statement import Condition, Subquery

# Deeper parentheses are not decided.
_DEEPEST = 20
_SIGNS = frozenset("=<>!")
# Words of a condition that are no columns, beside functions.
_KEYWORDS = frozenset(
    {
        "AND", "OR", "NOT", "IS", "NULL", "TRUE", "FALSE", "IN", "BETWEEN", "LIKE", "DATE", "TIMESTAMP", "INTERVAL", "DAY", "DAYS",
        "HOUR", "HOURS", "MONTH", "MONTHS", "YEAR", "YEARS", "(", ")", ",", "+", "-", "*", "/", "%", "|", "'", '"', *_SIGNS,
    }
)  # fmt: skip
# Words by which a query in EXISTS may refer to the row outside, or return no row.
_REFERS = frozenset({"WHERE", "ON", "USING", "HAVING", "LIMIT", "LATERAL", "UNNEST", "EXPLODE"})
# Words after which another condition begins.
_BEGINS = frozenset({"SELECT", "WHERE", "ON", "HAVING", "WHEN", "THEN", "ELSE"})
# Words of a query of more than one table, or of groups.
_BEYOND_WHERE = frozenset({"UNION", "EXCEPT", "INTERSECT", "GROUP", "QUALIFY"})
_RANDOM = frozenset({"RAND", "RANDN", "RANDOM", "UUID", "UUID_STRING", "NEXTVAL", "SHUFFLE"})
_UNDECIDED = Condition()
_ALWAYS, _NEVER = Condition(holds=True), Condition(holds=False)


def condition(cursor: Cursor) -> Condition:
    """Return what the tokens of a cursor decide as a condition."""
    qualifiers = _qualifiers(cursor.part_to_end())
    is_mixed, named = _is_mixed(cursor), _named(cursor.part_to_end())
    subqueries, compared = tuple(_subqueries(cursor.part_to_end())), tuple(_compared_texts(cursor.part_to_end()))
    try:
        decided = _any(cursor, 0)
    except (UnsupportedClause, IndexError):
        decided = _UNDECIDED
    return replace(
        decided, qualifiers=qualifiers, is_mixed=is_mixed, named=named, subqueries=subqueries, compared=compared
    )


def _any(cursor: Cursor, depth: int) -> Condition:
    """Return the result of alternatives with OR."""
    if depth > _DEEPEST or "CASE" in cursor.words():
        return _UNDECIDED
    results = [_all(part, depth) for part in _split(cursor, "OR")]
    if len(results) == 1:
        return results[0]
    holding = [result for result in results if result.holds]
    if holding:
        return min(holding, key=lambda result: len(result.unless_null) + len(result.if_required))
    return _NEVER if all(result.holds is False for result in results) else _UNDECIDED


def _all(cursor: Cursor, depth: int) -> Condition:
    """Return the result of conditions with AND."""
    results = [_single(part, depth) for part in _split(cursor, "AND")]
    if len(results) == 1:
        return results[0]
    if any(result.holds is False for result in results):
        return _NEVER
    if not all(result.holds for result in results):
        return _UNDECIDED
    nulls = frozenset().union(*(result.unless_null for result in results))
    return Condition(True, nulls, frozenset().union(*(result.if_required for result in results)))


def _split(cursor: Cursor, word: str) -> list[Cursor]:
    parts, start = [], cursor.position
    while cursor.skip_to(word):
        parts.append(cursor.part(start))
        cursor.next()
        start = cursor.position
    return [*parts, cursor.part(start)]


def _single(cursor: Cursor, depth: int) -> Condition:
    words = cursor.words()
    if words[:1] == ("NOT",):
        cursor.next()
        return _ALWAYS if words[1:] == ("FALSE",) else _negated(_single(cursor.part_to_end(), depth))
    if words[:1] == ("(",):
        start = cursor.position + 1
        cursor.parentheses()
        if not cursor.word():
            return _any(cursor.part_between(start, cursor.position - 1), depth + 1)
        return _UNDECIDED
    if len(words) == 1:
        return {"TRUE": _ALWAYS, "FALSE": _NEVER, "NULL": _NEVER}.get(words[0], _number(words[0]))
    if words[:2] == ("EXISTS", "("):
        return Condition(is_uniform=not _REFERS.intersection(words)) if words[-1] == ")" else _UNDECIDED
    if any(word in _SIGNS for word in words):
        return _comparison(cursor)
    return _test(cursor)


def _negated(result: Condition) -> Condition:
    if result.holds is None or result.unless_null or result.if_required:
        return _UNDECIDED
    return _NEVER if result.holds else _UNDECIDED  # NULL is neither, and so is its negation.


def _number(word: str) -> Condition:
    return (_ALWAYS if int(word) else _NEVER) if word.isdecimal() else _UNDECIDED


def _comparison(cursor: Cursor) -> Condition:
    start = cursor.position
    cursor.skip_to(*_SIGNS)
    left, at = cursor.part(start), cursor.position
    while cursor.word() in _SIGNS:
        cursor.next()
    sign, right = cursor.text_since(at), cursor.part_to_end()
    if left.words() == ("NULL",) or right.words() == ("NULL",):
        return _UNDECIDED if sign == "<=>" else _NEVER
    if (values := (_literal(left), _literal(right))) and None not in values:
        return _compared(values[0], sign, values[1])
    column = _column(left)
    if column is None or column != _column(right):
        column = _expression(left, right)
    if column is None:
        return _UNDECIDED
    if sign == "<=>":
        return _ALWAYS
    return Condition(True, frozenset({column})) if "=" in sign and "!" not in sign else _NEVER


def _compared(left: Decimal | str | None, sign: str, right: Decimal | str | None) -> Condition:
    if isinstance(left, Decimal) is not isinstance(right, Decimal):
        return _UNDECIDED
    is_equal = left == right
    if sign in ("=", "==", "<=>"):
        return _ALWAYS if is_equal else _NEVER
    if sign in ("<>", "!="):
        return _NEVER if is_equal else _ALWAYS
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        order = {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}
        return _ALWAYS if order.get(sign) else _NEVER if sign in order else _UNDECIDED
    return _UNDECIDED


def _literal(cursor: Cursor) -> Decimal | str | None:
    """Return the value of a string or a number without an exponent."""
    if cursor.is_string() and len(cursor.words()) == 1:
        return cursor.part_to_end().string()
    text = "".join(cursor.words())
    try:
        return Decimal(text) if text[:1].isdigit() or text[:1] == "-" else None
    except InvalidOperation:
        return None


def _column(cursor: Cursor) -> tuple[str, ...] | None:
    """Return the name of a column that is all of the tokens."""
    names = cursor.part_to_end()
    try:
        key = names.names()
    except UnsupportedClause:
        return None
    return None if names.word() or key[0].isdigit() else key


def _expression(left: Cursor, right: Cursor) -> tuple[str, ...] | None:
    """Return the text of two equal expressions that call nothing random."""
    texts = [" ".join(_text(side).split()) for side in (left, right)]
    return (texts[0],) if texts[0] == texts[1] and _RANDOM.isdisjoint(left.words()) else None


def _text(cursor: Cursor) -> str:
    rest = cursor.part_to_end()
    rest.skip_all()
    return rest.text_since(0)


def _test(cursor: Cursor) -> Condition:
    """Decide `a IS NOT NULL`, `a LIKE '%'` and `a NOT IN (…, NULL)`."""
    column = cursor.names()
    if cursor.take("IS", "NOT", "NULL") and not cursor.word():
        return Condition(True, frozenset(), frozenset({column}))
    if cursor.take("LIKE") and cursor.is_string():
        is_any = set(cursor.string().replace("\\", "")) == {"%"}
        return Condition(True, frozenset({column})) if is_any and not cursor.word() else _UNDECIDED
    if cursor.take("IN", "(", "SELECT"):
        return _queried(cursor, column)
    if cursor.take("NOT", "IN", "("):
        words = cursor.words()
        has_null = any(
            words[at : at + 1] == ("NULL",) and words[at - 1 : at] in ((",",), ()) for at in range(len(words))
        )
        return _NEVER if has_null and "SELECT" not in words and words[-1:] == (")",) else _UNDECIDED
    return _UNDECIDED


def _queried(cursor: Cursor, column: tuple[str, ...]) -> Condition:
    """Decide `id IN (SELECT id FROM t)`, which holds for all rows of t in which id is not NULL."""
    cursor.take("DISTINCT")
    selected = cursor.names()
    cursor.expect("FROM")
    table = cursor.table()
    is_all = selected[-1] == column[-1] and cursor.words() == (")",)
    return Condition(None, frozenset({column}), queried=table.key) if is_all else _UNDECIDED


def _qualifiers(cursor: Cursor) -> frozenset[str] | None:
    """Return the first parts of the columns; None if one has no first part, or there is a query."""
    first: set[str] = set()
    while word := cursor.word():
        if cursor.is_string() or word in _KEYWORDS or word[0].isdigit() or cursor.word(1) == "(":
            cursor.next()
        elif cursor.word(1) == "." and word not in ("SELECT", "EXISTS"):
            try:
                first.add(cursor.names()[0])
            except UnsupportedClause:
                return None
        else:
            return None
    return frozenset(first)


def _is_mixed(cursor: Cursor) -> bool:
    """Return whether AND and OR follow each other at one level, where AND of BETWEEN is none."""
    levels: list[set[str]] = [set()]
    for word in cursor.words():
        if word in ("(", "CASE"):
            levels.append(set())
        elif word in (")", "END"):
            levels.pop()
        elif word in _BEGINS:
            levels[-1].clear()
        elif word == "AND" and "BETWEEN" in levels[-1]:
            levels[-1].remove("BETWEEN")
        elif word in ("AND", "OR", "BETWEEN"):
            levels[-1].add(word)
        if not levels or levels[-1] >= {"AND", "OR"}:
            return bool(levels)
    return False


def _named(cursor: Cursor) -> frozenset[str]:
    """Return the parts of all names, and other words that may be names."""
    named: set[str] = set()
    while cursor.word():
        try:
            names = cursor.names()
        except UnsupportedClause:
            cursor.next()
        else:
            named.update(names if cursor.word() != "(" else names[:-1])
    return frozenset(name for name in named if name and not name[0].isdigit())


def _subqueries(cursor: Cursor) -> Iterator[Subquery]:
    """Yield the queries after IN that select a column of one table."""
    while cursor.word():
        if cursor.word() == "IN" and (cursor.word(1), cursor.word(2)) == ("(", "SELECT"):
            is_excluded, query = cursor.word(-1) == "NOT", cursor.part_to_end()
            with suppress(UnsupportedClause, IndexError):
                yield from _subquery(query, is_excluded)
        cursor.next()


def _subquery(cursor: Cursor, is_excluded: bool) -> Iterator[Subquery]:
    cursor.expect("IN", "(", "SELECT")
    cursor.take("DISTINCT")
    path = cursor.names()
    cursor.expect("FROM")
    table = cursor.table()
    cursor.take("AS")
    alias = table.key[-1] if cursor.word() in ("WHERE", ")") else cursor.name()
    rest, has_where = cursor.part_to_end(), cursor.word() == "WHERE"
    rest.skip_to(")")
    condition_words = rest.part_between(0, rest.position).words()
    if (not has_where and cursor.word() != ")") or not _BEYOND_WHERE.isdisjoint(condition_words):
        return
    if path[:-1] in ((), (alias,), table.key):
        tested = (path[-1].upper(), "IS", "NOT", "NULL")
        is_not_null = any(condition_words[at : at + 4] == tested for at in range(len(condition_words)))
        yield Subquery(path[-1], table.key, is_excluded, is_not_null)


def _compared_texts(cursor: Cursor) -> Iterator[tuple[str, str, str]]:
    """Yield the columns that are compared with a text or a DATE: column, sign, text."""
    while word := cursor.next():
        if word in ("<", ">", "=", "BETWEEN") and cursor.word(-2) not in _SIGNS:
            column = cursor.part_between(cursor.position - 2, cursor.position - 1)
            sign = word + ("=" if cursor.take("=") else "")
            with suppress(UnsupportedClause):
                text = _text_or_date(cursor)
                if word == "BETWEEN":
                    cursor.expect("AND")
                    text = _text_or_date(cursor)
                yield column.name(), sign, text


def _text_or_date(cursor: Cursor) -> str:
    cursor.take("DATE")
    return cursor.string()
