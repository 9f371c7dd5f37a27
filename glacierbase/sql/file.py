"""The statements of a file: what each does, and the tables that it changes, by their qualified names. Pure.

The catalog file, USE before a statement, and the rest of the statement complete a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat

from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Statement
from glacierbase.model.names import completed_like, name_of, name_parts
from glacierbase.sql import read
from glacierbase.sql.dialects import SPARK, dialect_of
from glacierbase.sql.qualified import DEFAULT_CATALOG, first_namespace, is_catalog, is_path, qualified
from glacierbase.sql.statement import Call, Name, ParsedStatement


@dataclass(frozen=True, slots=True)
class FileStatement:
    """A statement of a file, what it does, and the tables that it changes.

    Attributes:
        names: for each table, the name that the history records, and the qualified name by which it is read; None if it is not
            certain which table the statement means. Without a catalog, both are as written.
    """

    statement: Statement
    parsed: ParsedStatement
    names: tuple[tuple[str, str | None], ...]


def named(statements: Iterable[Statement], dialect: str, catalog: Catalog | None = None) -> tuple[FileStatement, ...]:
    """Read all statements of a file, in order.

    Args:
        catalog: that they run in; None where only their text matters.
    """
    session, named_statements = _Session(catalog) if catalog else None, []
    for statement in statements:
        parsed = read(statement.text, dialect)
        if session is None:
            names = [(target.recorded, target.recorded) for target in parsed.targets]
            named_statements.append(FileStatement(statement, parsed, tuple(names)))
        else:
            session.follow(parsed)
            named_statements.append(FileStatement(statement, parsed, tuple(_names(parsed, session, dialect))))
    if session is None or dialect_of(dialect).names_follow_conf:
        return tuple(named_statements)
    # Tables are read in the session of the file: before its first statement and after its last one.
    return tuple(
        FileStatement(
            named.statement,
            named.parsed,
            tuple((name, whole and session.lasting(whole)) for name, whole in named.names),
        )
        for named in named_statements
    )


class _Session:
    """The current catalog (on Snowflake, the database) and namespace of a session, as far as its statements determine them."""

    def __init__(self, of: Catalog) -> None:
        self._of = of
        self._follows_conf = dialect_of(of.dialect).names_follow_conf
        # As recorded; None before a statement chooses one.
        self._catalog: str | None = None
        self._namespace: str | None = None
        # Which of "catalog" and "namespace" statements have changed, and which of these are unknown now.
        self._moved: set[str] = set()
        self._unknown: set[str] = set()

    def follow(self, statement: ParsedStatement) -> None:
        """Apply the effect of a statement on later names."""
        if statement.operation == "use":
            self._use(statement)
        else:
            self._forget(*statement.moves)

    def complete(self, name: str) -> tuple[str, str | None]:
        """Return a name as it is recorded, and the qualified name; None where it is not certain."""
        parts = name_parts(name)
        is_alone = len(parts) == 1
        if not self._moved or is_whole(self._of, name) or (is_alone and self._moved == {"catalog"}):
            return name, qualified(self._of, name)
        if self._unknown.intersection(("catalog", "namespace") if is_alone else ("catalog",)):
            return name, None
        catalog = self._catalog or (self._default() if self._follows_conf else None)
        recorded = ".".join(filter(None, (catalog, self._namespace if is_alone else None, name)))
        return recorded, qualified(self._of, recorded)

    def lasting(self, whole: str) -> str | None:
        """Return a qualified name of Snowflake if it means the same before all statements and after them, else None."""
        missing = 3 - len(name_parts(whole))
        is_moved = (missing > 0 and "catalog" in self._moved) or (missing > 1 and "namespace" in self._moved)
        return None if is_moved else whole

    def completed_in(self, catalog: str, name: str, within: str) -> tuple[str, str | None]:
        """Return what `complete` returns for a name that is relative to this catalog; `within` is the name with the catalog."""
        parts = name_parts(name)
        is_current = catalog.casefold() == (self._catalog or self._default()).casefold()
        if len(parts) == 1 and self._moved and (is_current or self._unknown):
            return self.complete(name)
        return name, qualified(self._of, within)

    def _use(self, statement: ParsedStatement) -> None:
        kind, selected = statement.options.kind, statement.selected
        if kind not in ("", "catalog", "namespace"):
            return  # A role, a warehouse.
        if selected is None:
            self._forget("catalog", "namespace")
        elif kind == "namespace" and (self._follows_conf or len(selected.parts) == 1):
            self._choose(selected.recorded)
        elif kind == "namespace":
            self._choose(selected.recorded.partition(".")[2], selected.written[0])
        elif not self._follows_conf:
            self._choose(None, selected.recorded)
            self._forget("namespace")  # PUBLIC, if it exists.
        elif is_catalog(self._of, selected.parts[0]):
            namespace = Name(selected.parts[1:], selected.key[1:], selected.written[1:])
            self._choose(namespace.recorded or first_namespace(self._of, selected.parts[0]), selected.parts[0])
        elif kind == "catalog" or len(selected.parts) > 1:
            self._forget("catalog", "namespace")
        else:
            self._choose(selected.recorded)

    def _choose(self, namespace: str | None, catalog: str | None = None) -> None:
        self._namespace = namespace
        self._moved.add("namespace")
        self._unknown.discard("namespace")
        if catalog is not None:
            self._catalog = name_of([catalog]) if self._follows_conf else catalog
            self._moved.add("catalog")
            self._unknown.discard("catalog")

    def _forget(self, *what: str) -> None:
        self._moved.update(what)
        self._unknown.update(what)

    def _default(self) -> str:
        return self._of.spark_conf.get("spark.sql.defaultCatalog", DEFAULT_CATALOG)


def whole_names(catalog: Catalog, parsed: ParsedStatement, uses: Iterable[FileStatement]) -> list[Name]:
    """Return the qualified names of the tables that a statement changes, after the statements of its session before it.

    A name that is not certain is as written. Only for the names of Spark.
    """
    session = _Session(catalog)
    for use in uses:
        session.follow(use.parsed)
    names = zip(parsed.targets, _names(parsed, session, catalog.dialect), strict=True)
    return [_name(whole) if whole else name for name, (_, whole) in names]


def _name(whole: str) -> Name:
    parts = tuple(name_parts(whole))
    return Name(parts, tuple(map(str.lower, parts)), tuple(name_of((part,)) for part in parts))


def names_within(parsed: ParsedStatement, dialect: str) -> list[str]:
    """Return the recorded names of the tables that a statement changes, completed from the rest of the statement."""
    names = [target.recorded for target in parsed.targets]
    if parsed.operation == "rename_table" and dialect == SPARK.name:
        return [names[0], *(completed_like(new, name_parts(names[0])) for new in names[1:])]
    if catalog := _catalog_of_call(parsed):
        return [completed_like(name, [catalog, *name_parts(name)][:3]) for name in names]
    return names


def is_whole(catalog: Catalog, name: str) -> bool:
    """Return whether a recorded name means the same table after any statement."""
    parts = name_parts(name)
    if not dialect_of(catalog.dialect).names_follow_conf:
        return len(parts) > 2
    return is_path(parts) or (len(parts) > 1 and is_catalog(catalog, parts[0]))


def _catalog_of_call(parsed: ParsedStatement) -> str | None:
    """Return the catalog of a procedure that is called; the tables in its arguments are relative to it."""
    call = next((part for part in parsed.parts if isinstance(part, Call)), None)
    return call.procedure[0] if call and len(call.procedure) > 2 else None


def _names(parsed: ParsedStatement, session: _Session, dialect: str) -> Iterator[tuple[str, str | None]]:
    """Yield each table as recorded, and as the engine completes its name."""
    written, within = [target.recorded for target in parsed.targets], names_within(parsed, dialect)
    if catalog := _catalog_of_call(parsed):
        yield from map(session.completed_in, repeat(catalog), written, within)
    elif parsed.operation == "rename_table" and dialect == SPARK.name:
        old, whole = session.complete(written[0])
        yield old, whole
        for name, relative in zip(written[1:], within[1:], strict=True):
            new, new_whole = session.complete(relative)
            yield (new if old != written[0] else name), whole and new_whole
    else:
        yield from map(session.complete, written)
