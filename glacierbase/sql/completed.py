"""Names of tables as an engine completes them: by the catalog file, by USE before them, by the rest of their statement. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Statement
from glacierbase.model.names import NAME, name_of, name_parts, recorded_name
from glacierbase.model.qualified import DEFAULT_CATALOG, is_catalog, is_path, qualified
from glacierbase.sql import read
from glacierbase.sql.parts import Call
from glacierbase.sql.statement import Name, ParsedStatement, SessionEffect

# Of Snowflake: a namespace that becomes the current one, and whether a database does.
_MADE = re.compile(rf"(?i)\b(?:(DATABASE)|SCHEMA)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?({NAME})")


@dataclass(frozen=True, slots=True)
class Named:
    """A statement with the tables that it changes.

    Attributes:
        names: of each table, the name that the history records, and the whole name by which it is read: None where it is not
            certain which table the statement means.
    """

    statement: Statement
    parsed: ParsedStatement
    names: tuple[tuple[str, str | None], ...]


def named(catalog: Catalog, statements: Iterable[Statement]) -> tuple[Named, ...]:
    """Return all statements of a file, in order, with the tables that they change."""
    session, found = _Session(catalog), []
    for statement in statements:
        parsed = read(statement.text, catalog.executor_type)
        session.follow(parsed, statement.text)
        found.append(Named(statement, parsed, tuple(_names(parsed, session, catalog.executor_type))))
    if catalog.executor_type == "spark":
        return tuple(found)
    # Tables are read in the session of the file: before its first statement and after its last one.
    return tuple(
        Named(
            each.statement, each.parsed, tuple((name, whole and session.lasting(whole)) for name, whole in each.names)
        )
        for each in found
    )


class _Session:
    """What statements say of the current catalog (of Snowflake, the database) and namespace of their session."""

    def __init__(self, of: Catalog) -> None:
        self._of = of
        self._is_spark = of.executor_type == "spark"
        # As recorded; None where no statement has chosen one.
        self._catalog: str | None = None
        self._namespace: str | None = None
        # Of "catalog" and "namespace": what statements have changed, and what of that is not known.
        self._moved: set[str] = set()
        self._unknown: set[str] = set()

    def follow(self, statement: ParsedStatement, sql: str) -> None:
        """Take in what a statement does to the names after it."""
        if statement.operation == "use":
            self._use(statement)
        elif statement.session is SessionEffect.MOVE:
            found = _MADE.search(sql)
            is_schema = found is not None and not found[1] and len(name_parts(recorded_name(found[2]))) == 1
            self._forget("namespace", *([] if is_schema else ["catalog"]))
        elif statement.operation in ("set", "reset"):
            if self._is_spark and "catalog" in sql.lower():  # Such as `spark.sql.defaultCatalog`.
                self._forget("catalog", "namespace")
        elif statement.session is SessionEffect.UNKNOWN and (
            not statement.understood or statement.operation == "script"
        ):
            self._forget("catalog", "namespace")

    def complete(self, name: str) -> tuple[str, str | None]:
        """Return a name as it is recorded, and the whole name; None where it is not certain."""
        parts = name_parts(name)
        is_alone = len(parts) == 1
        if not self._moved or self._is_whole(parts) or (is_alone and self._moved == {"catalog"}):
            return name, qualified(self._of, name)
        if self._unknown.intersection(("catalog", "namespace") if is_alone else ("catalog",)):
            return name, None
        catalog = self._catalog or (self._default() if self._is_spark else None)
        recorded = ".".join(filter(None, (catalog, self._namespace if is_alone else None, name)))
        return recorded, qualified(self._of, recorded)

    def qualified(self, name: str) -> str:
        """Return a name as a new session resolves it."""
        return qualified(self._of, name)

    def lasting(self, whole: str) -> str | None:
        """Return a whole name of Snowflake if it means the same before all statements and after them, else None."""
        missing = 3 - len(name_parts(whole))
        is_moved = (missing > 0 and "catalog" in self._moved) or (missing > 1 and "namespace" in self._moved)
        return None if is_moved else whole

    def completed_in(self, catalog: str, name: str) -> tuple[str, str | None]:
        """Return what `complete` returns for a name that is relative to this catalog."""
        parts = name_parts(name)
        is_current = catalog.casefold() == (self._catalog or self._default()).casefold()
        if len(parts) == 1 and self._moved and (is_current or self._unknown):
            return self.complete(name)
        return name, qualified(self._of, completed_like(name, [catalog, *parts][:3]))

    def _use(self, statement: ParsedStatement) -> None:
        kind, selected = statement.options.kind, statement.selected
        if kind not in ("", "catalog", "namespace"):
            return  # A role, a warehouse.
        if selected is None:
            self._forget("catalog", "namespace")
        elif kind == "namespace" and (self._is_spark or len(selected.parts) == 1):
            self._choose(selected.recorded)
        elif kind == "namespace":
            self._choose(selected.recorded.partition(".")[2], selected.written[0])
        elif not self._is_spark:
            self._choose(None, selected.recorded)
            self._forget("namespace")  # PUBLIC, if there is one.
        elif is_catalog(self._of, selected.parts[0]):
            rest = Name(selected.parts[1:], selected.key[1:], selected.written[1:])
            self._choose(rest.recorded or self._first(selected.parts[0]), selected.parts[0])
        elif kind == "catalog" or len(selected.parts) > 1:
            self._forget("catalog", "namespace")
        else:
            self._choose(selected.recorded)

    def _choose(self, namespace: str | None, catalog: str | None = None) -> None:
        self._namespace = namespace
        self._moved.add("namespace")
        self._unknown.discard("namespace")
        if catalog is not None:
            self._catalog = name_of([catalog]) if self._is_spark else catalog
            self._moved.add("catalog")
            self._unknown.discard("catalog")

    def _forget(self, *what: str) -> None:
        self._moved.update(what)
        self._unknown.update(what)

    def _is_whole(self, parts: Sequence[str]) -> bool:
        if not self._is_spark:
            return len(parts) > 2
        return is_path(parts) or (len(parts) > 1 and is_catalog(self._of, parts[0]))

    def _default(self) -> str:
        return self._of.spark_conf.get("spark.sql.defaultCatalog", DEFAULT_CATALOG)

    def _first(self, catalog: str) -> str:
        """Return the namespace that is the current one when a catalog of Spark becomes the current one."""
        given = self._of.spark_conf.get(f"spark.sql.catalog.{catalog}.default-namespace", "")
        return "default" if catalog == DEFAULT_CATALOG else given


def _names(found: ParsedStatement, session: _Session, dialect: str) -> Iterator[tuple[str, str | None]]:
    """Yield each table as recorded, and as the engine completes its name."""
    names = [each.recorded for each in found.targets]
    call = next((part for part in found.parts if isinstance(part, Call)), None)
    if found.operation == "rename_table" and dialect == "spark":
        old, whole = session.complete(names[0])
        yield old, whole
        for new in names[1:]:
            said = completed_like(new, name_parts(old)) if old != names[0] else new
            yield said, whole and session.qualified(completed_like(new, name_parts(old)))
    elif call and len(call.procedure) > 2:  # Names are relative to the catalog of the procedure.
        yield from (session.completed_in(call.procedure[0], name) for name in names)
    else:
        yield from map(session.complete, names)


def completed_like(name: str, like: Sequence[str]) -> str:
    """Return a name with the first parts of another one where it has fewer."""
    parts = name_parts(name)
    return name_of((*like[: len(like) - len(parts)], *parts)) if len(parts) < len(like) else name
