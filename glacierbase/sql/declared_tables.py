"""The tables and views that files leave behind together, followed from CREATE through ALTER and RENAME to DROP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from glacierbase.sql.clauses import if_not_exists
from glacierbase.sql.completed import Named
from glacierbase.sql.cursor import Cursor, NotUnderstood
from glacierbase.sql.known_table import KnownTable
from glacierbase.sql.known_tables import KnownTables
from glacierbase.sql.statement import Name, ParsedStatement

# Returns the whole names of what a statement changes, after these statements of its session.
WholeNames = Callable[[ParsedStatement, Sequence[Named]], Sequence[Name]]

_CREATES = frozenset({"create_table", "create_table_as", "replace_table", "create_view", "replace_view"})
_DROPS = frozenset({"drop_table", "drop_view"})
_RENAMES = frozenset({"rename_table", "rename_view"})
_OF_SESSION = frozenset({"use", "set"})
# Words between CREATE and TABLE or VIEW.
_MOST_WORDS = 6


@dataclass(frozen=True, slots=True)
class Declared:
    """A table or view that the files leave behind.

    Attributes:
        name: as the file writes it.
        whole: its name after every USE.
        uses: the statements of its session before it.
        versions: of the files that create or change it.
        known: what the statements declare of it; None for a view, and where it is not known.
        why: why it is not known.
    """

    name: str
    whole: Name
    uses: tuple[str, ...]
    versions: tuple[str, ...]
    is_view: bool = False
    known: KnownTable | None = None
    why: str = ""


@dataclass(slots=True)
class DeclaredTables:
    """What files declare.

    Attributes:
        tables: by the key of the whole name.
        not_understood: the versions of files, and a sentence for each of their statements that is not understood.
    """

    tables: dict[tuple[str, ...], Declared] = field(default_factory=dict)
    not_understood: list[tuple[str, str]] = field(default_factory=list)


def declared_tables(files: Iterable[tuple[str, Sequence[Named]]], dialect: str, names: WholeNames) -> DeclaredTables:
    """Return what the files declare. What a statement may have changed that is not understood is not known afterwards.

    Args:
        files: the version and the statements of each, from the first one of the catalog.
    """
    follower = _Follower(dialect, names)
    for version, statements in files:
        follower.follow_file(version, statements)
    return follower.found


class _Follower:
    """Follows tables from statement to statement."""

    def __init__(self, dialect: str, names: WholeNames) -> None:
        self.found = DeclaredTables()
        self._dialect = dialect
        self._names = names
        self._known = KnownTables()

    def follow_file(self, version: str, statements: Sequence[Named]) -> None:
        uses: tuple[Named, ...] = ()
        for each in statements:
            parsed = self._parsed(each, version)
            if parsed.operation in _OF_SESSION:
                uses = (*uses, each)
            elif not parsed.options.temporary:
                written = [name.recorded for name in parsed.targets]
                whole = replace(parsed, targets=tuple(self._names(parsed, uses)))
                self._known.follow(whole)
                self._list(whole, written, tuple(use.statement.text for use in uses), version)
                self._explain(f"version {version}, statement {each.statement.index}: {_effect(parsed)}")

    def _parsed(self, each: Named, version: str) -> ParsedStatement:
        """Return what a statement does; of one that is not understood, also what it creates."""
        statement, parsed = each.statement, each.parsed
        if parsed.understood:
            return parsed
        place = f"version {version}, statement {statement.index}"
        self.found.not_understood.append((version, f"{place} is not understood: {parsed.why}"))
        name = _created_name(statement.text, self._dialect)
        return replace(parsed, targets=(name,) if name else ())

    def _list(self, parsed: ParsedStatement, written: Sequence[str], uses: tuple[str, ...], version: str) -> None:
        """Add, remove or rename the tables that a statement is about."""
        tables, keys = self.found.tables, [name.key for name in parsed.targets]
        is_new = parsed.operation in _CREATES or (not parsed.understood and keys)
        if is_new and not (parsed.options.if_not_exists and keys[0] in tables):
            is_view = parsed.operation.endswith("_view") or parsed.options.kind.endswith("view")
            tables[keys[0]] = Declared(
                written[0], parsed.targets[0], uses, (version,), is_view, why=_why(parsed, self._dialect)
            )
        elif parsed.operation in _DROPS:
            tables.pop(keys[0], None)
        elif parsed.operation in _RENAMES and keys[0] in tables:
            renamed = tables.pop(keys[0])
            tables[keys[1]] = replace(renamed, name=written[1], whole=parsed.targets[1], uses=uses)
        for key in keys[-1:] if parsed.operation in _RENAMES else keys:
            if key in tables and version not in tables[key].versions:
                tables[key] = replace(tables[key], versions=(*tables[key].versions, version))

    def _explain(self, why: str) -> None:
        """Keep what is known of each table, and the reason where that has ended."""
        for key, table in self.found.tables.items():
            known = None if table.is_view or (table.why and not table.known) else self._known.before(table.whole)
            if known is None and not table.why:
                self.found.tables[key] = replace(table, known=None, why="a view" if table.is_view else why)
            else:
                self.found.tables[key] = replace(table, known=known)


def _why(parsed: ParsedStatement, dialect: str) -> str:
    """Return why the table that a statement creates cannot be known; empty where it can."""
    if not parsed.understood:
        return parsed.why
    if dialect == "snowflake" and (parsed.options.kind != "table" or parsed.options.external):
        return (
            ""
            if parsed.options.kind.endswith("view")
            else f"Snowflake adds columns or maps types of an {parsed.options.kind}"
        )
    if parsed.operation in ("create_table", "replace_table") and parsed.sources:
        return f"a copy of {parsed.sources[0]}"
    return ""


def _effect(parsed: ParsedStatement) -> str:
    """Return in words what a statement may have done to a table of which nothing is known afterwards."""
    what = parsed.operation.replace("_", " ") if parsed.understood else f"it is not understood ({parsed.why})"
    return f"{what} may have changed it"


def _created_name(sql: str, dialect: str) -> Name | None:
    """Return the name of the table or view that a statement creates which is not understood further."""
    try:
        cursor = Cursor(sql, dialect)
        if cursor.next() not in ("CREATE", "REPLACE"):
            return None
        for _ in range(_MOST_WORDS):
            if cursor.next() in ("TABLE", "VIEW"):
                if_not_exists(cursor)
                return cursor.table()
    except NotUnderstood:
        pass
    return None
