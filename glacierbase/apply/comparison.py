"""Compare the tables that files declare with those that exist, part by part, as `drift` compares them with their records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from glacierbase.errors import ConfigurationError, EngineError, TableNotFound
from glacierbase.executors import Session
from glacierbase.executors.engine import Engine
from glacierbase.history.shapes import as_recorded
from glacierbase.model import differences
from glacierbase.model.accepted import DeclaredDifference
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_of, name_parts, snowflake_identifier
from glacierbase.model.shape import Shape
from glacierbase.sql.declared import Declared, declared_shape
from glacierbase.sql.dialects import SPARK, dialect_of
from glacierbase.sql.file import Named, is_whole, names_within
from glacierbase.sql.known import KnownTable
from glacierbase.sql.qualified import qualified
from glacierbase.sql.statement import Name, ParsedStatement
from glacierbase.stores.live import LiveTables, Reading
from glacierbase.stores.shapes import TableShapes

_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found.

    Attributes:
        missing: the tables and views that do not exist.
        differences: by the key of the table's whole name.
        not_compared: a sentence for each table or view that was not compared, or not as a whole.
    """

    missing: tuple[str, ...] = ()
    differences: Mapping[_Key, tuple[DeclaredDifference, ...]] = field(default_factory=dict)
    not_compared: tuple[str, ...] = ()


def compare(existing: ExistingTables, tables: Collection[Declared], dialect: str) -> Comparison:
    """Compare each declared table with the one that exists. Changes nothing.

    Raises:
        EngineError: the engine does not answer whether one of them exists.
    """
    missing: list[str] = []
    found: dict[_Key, tuple[DeclaredDifference, ...]] = {}
    not_compared: list[str] = []
    for table, reading in zip(tables, existing.read(tables), strict=True):
        if reading.unread is None and reading.shape is None:
            missing.append(table.name)
        elif reading.shape is None or table.known is None:
            not_compared.append(f"not compared: {table.name} ({table.why or reading.unread})")
        else:
            found[table.whole.key], unknown = _difference(table.name, table.known, reading.shape, dialect)
            if unknown:
                not_compared.append(f"not compared: {table.name}: {', '.join(unknown)} (not derived from the files)")
    return Comparison(tuple(missing), found, tuple(not_compared))


def _difference(
    name: str, known: KnownTable, actual: Shape, dialect: str
) -> tuple[tuple[DeclaredDifference, ...], Sequence[str]]:
    """Return the differences of a table, and its parts that are not known."""
    declared = declared_shape(known, actual, dialect)
    changes = differences.compare({name: as_recorded(declared.shape)}, {name: as_recorded(actual)})
    found = (each for change in changes for each in change.diff)
    return (
        tuple(DeclaredDifference(name, each.name, each.before, each.after, each.what) for each in found),
        declared.unknown,
    )


class ExistingTables:
    """The tables and views of a catalog as they exist. A context manager, which closes what it opened."""

    def __init__(self, catalog: Catalog, engine: Engine) -> None:
        """Contact nothing. The engine is started when it is needed."""
        self._catalog = catalog
        self._engine = engine
        self._shapes = TableShapes(catalog)
        # By the statements of a session: catalog and namespace after them; None where they do not exist.
        self._places: dict[_Key, Sequence[str] | None] = {}
        self._nowhere: set[_Key] = set()

    def names(self, parsed: ParsedStatement, uses: Sequence[Named]) -> Sequence[Name]:
        """Return the whole names of what a statement changes, after the statements of its session before it."""
        is_moved = any(each.parsed.moves for each in uses)
        before = tuple(each.statement.text for each in uses) if is_moved else ()
        names = zip(parsed.targets, names_within(parsed, self._catalog.dialect), strict=True)
        return [self._whole(name, written, before) for name, written in names]

    def read(self, tables: Collection[Declared]) -> Sequence[Reading]:
        """Return each table as it is, in the same order; of a view, why it is not read.

        Raises:
            EngineError: the engine does not answer whether one of them exists.
        """
        near = [each.whole.recorded for each in tables if not each.uses and not each.is_view]
        with LiveTables(self._catalog, self._engine) as live:
            found = live.read(near)
        return [self._read(each, found.get(each.whole.recorded)) for each in tables]

    def _read(self, table: Declared, reading: Reading | None) -> Reading:
        if reading and reading.unread is None:
            return reading
        name = table.whole.recorded
        if table.whole.key in self._nowhere:
            return Reading()
        with self._session(table.uses) as session:
            try:
                session.query(f"SELECT 1 FROM {name} LIMIT 0")
            except TableNotFound:
                return Reading()
            try:
                return Reading(unread="a view") if table.is_view else Reading(self._shapes.read(name, session))
            except (ConfigurationError, EngineError) as error:
                return Reading(unread=error.message)

    def _whole(self, name: Name, written: str, uses: _Key) -> Name:
        """Return a name that the rest of its statement has completed, with its catalog and namespace."""
        if not uses or is_whole(self._catalog, written):
            return self._with_parts(name, name_parts(qualified(self._catalog, written)))
        if uses not in self._places:
            self._places[uses] = self._place(uses)
        place = self._places[uses]
        if place is None:
            self._nowhere.add((*uses, *name.key))
            return Name((*uses, *name.parts), (*uses, *name.key), (*uses, *name.written))
        above = place if len(name.parts) == 1 else place[:1]
        return self._with_parts(name, (*above, *name.parts))

    def _with_parts(self, name: Name, parts: Sequence[str]) -> Name:
        """Return a name with further parts before it."""
        above = tuple(parts[: len(parts) - len(name.parts)])
        facts = dialect_of(self._catalog.dialect)
        is_exact = not facts.quotes_fold
        key = above if is_exact else tuple(map(facts.folds, above))
        written = (snowflake_identifier(f'"{each}"') if is_exact else name_of((each,)) for each in above)
        return Name((*above, *name.parts), (*key, *name.key), (*written, *name.written))

    def _place(self, uses: _Key) -> Sequence[str] | None:
        try:
            with self._session(uses) as session:
                context = session.context()
        except TableNotFound:
            return None
        catalog, namespace = context.catalog or "", context.namespace or ""
        return (catalog, *name_parts(namespace)) if self._catalog.dialect == SPARK.name else (catalog, namespace)

    @contextmanager
    def _session(self, uses: Sequence[str]) -> Iterator[Session]:
        with closing(self._engine.start().open_session()) as session:
            for sql in uses:
                session.execute(sql)
            yield session

    def __enter__(self) -> ExistingTables:
        return self

    def __exit__(self, *_: object) -> None:
        self._shapes.close()
