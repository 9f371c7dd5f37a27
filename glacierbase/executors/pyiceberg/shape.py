"""The shapes of Iceberg tables through PyIceberg, without an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from glacierbase.errors import NotPlain, OutcomeUnknown, StatementRefused, TableNotFound
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.opened import not_installed, open_catalog
from glacierbase.executors.pyiceberg.properties import opening
from glacierbase.executors.pyiceberg.values import values_of
from glacierbase.executors.pyiceberg.versions import identifier, past_of
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, PartitionField, Past, Shape, SortField
from glacierbase.run.waiting import CALL_SECONDS, CANCELLED_SECONDS, Caller, NoAnswer, result

# https://iceberg.apache.org/docs/latest/spark-getting-started/#iceberg-type-to-spark-type. Types that Spark reads as another one,
# such as uuid as string, keep their name: a table with that other type is another table.
_SPARK_TYPES = {"long": "bigint", "timestamp": "timestamp_ntz", "timestamptz": "timestamp"}

_Path = tuple[str, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListedNames:
    """What is directly inside a catalog or a namespace, as the history records names.

    Attributes:
        views: None where PyIceberg does not list the views of such a catalog.
    """

    namespaces: tuple[str, ...]
    tables: tuple[str, ...] = ()
    views: tuple[str, ...] | None = ()


class ShapeReader:
    """Read tables of all Iceberg catalogs that a catalog file declares. A catalog is opened at first use."""

    def __init__(self, catalog: Catalog, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Args:
        cancelled: returns True once the run is cancelled: a read then ends soon.
        """
        self._catalog = catalog
        self._cancelled = cancelled
        self._caller = Caller()
        self._opened: dict[str, Any] = {}

    def read(self, table: str) -> Shape | None:
        """Return the shape of a table, uncached; None if it does not exist, or its name does not begin with its catalog.

        Args:
            table: its name as the history records names.

        Raises:
            ConfigurationError: PyIceberg cannot open the table's catalog.
            EngineError: the catalog does not answer, or refuses, or the table is not an Iceberg table.
        """
        return self._answer(lambda: self._loaded(table, shape_of))

    def why_not_direct(self, table: str) -> str | None:
        """Return why PyIceberg does not change a table, as a clause; None where it does, and as for `read`.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """
        return self._answer(lambda: self._loaded(table, _why_not_preserved))

    def past(self, table: str, since: str | None) -> Past | None:
        """Return the versions of a table that its metadata still lists; None as for `read`.

        Args:
            since: the location of the metadata file before the first wanted version.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """
        return self._answer(lambda: self._loaded(table, lambda name, loaded: past_of(name, loaded, since, shape_of)))

    def names_beside(self, table: str) -> tuple[str, ...]:
        """Return the names of all tables in the namespace of a table, as the history records names.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """
        name, *levels = name_parts(table)

        def listed() -> tuple[str, ...]:
            with mapped():
                return tuple(name_of((name, *table)) for table in self._open(name).list_tables(tuple(levels[:-1])))

        return self._answer(listed)

    def listed(self, namespace: str) -> ListedNames:
        """Return what is directly inside a namespace, or inside the catalog where only that is named.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """
        name, *levels = name_parts(namespace)
        return self._answer(lambda: _listed(self._open(name), name, tuple(levels)))

    def values(self, table: str, column: str, most: int) -> Iterator[Sequence[str | None]] | None:
        """Return the first values of a column of a table as text, in batches; None as for `read`.

        Args:
            column: its name in the table's shape; a field inside a column is not possible.

        Raises:
            ConfigurationError: as for `read`; `STORE_NOT_ICEBERG`: PyIceberg cannot read the rows. The iterator raises `NOT_IDS`.
            EngineError: as for `read`, by the iterator too.
        """
        batches = self._answer(lambda: self._loaded(table, lambda _, loaded: values_of(loaded, column, most)))
        return None if batches is None else self._bounded(batches)

    def _bounded(self, values: Iterator[T]) -> Iterator[T]:
        """Yield values, for each of which the catalog has a time limit."""

        def following() -> tuple[T, ...]:
            with mapped():
                return tuple(islice(values, 1))

        while batch := self._answer(following):
            yield from batch

    def _answer(self, call: Callable[[], T]) -> T:
        try:
            return result(self._caller.submit(call), CALL_SECONDS, self._cancelled, CANCELLED_SECONDS)
        except NoAnswer as error:
            self._caller.end()
            self._caller, self._opened = Caller(), {}  # The thread of the old one may hang without limit.
            why = "before the run was stopped" if self._cancelled() else f"within {CALL_SECONDS:.0f} s"
            raise OutcomeUnknown("NoAnswer", f"the catalog did not answer {why}") from error

    def close(self) -> None:
        """Close the connections."""
        self._caller.end()
        for opened in self._opened.values():
            opened.close()

    def _loaded(self, table: str, read: Callable[[str, Any], T]) -> T | None:
        name = next(iter(name_parts(table)), "")
        levels = identifier(table, name)
        if levels is None:
            return None
        try:
            with mapped():
                return read(table, self._open(name).load_table(levels))
        except TableNotFound as error:
            if error.error_class == "NoSuchIcebergTableError":
                raise
            return None

    def _open(self, name: str) -> Any:
        if name not in self._opened:
            arguments = opening(replace(self._catalog, store=replace(self._catalog.store, catalog=name)))
            if arguments.file and not arguments.file.exists():  # Opening it would create the file.
                raise TableNotFound("NoSuchTableError", f"there is no database {arguments.file}")
            self._opened[name] = open_catalog(arguments)
        return self._opened[name]


def _why_not_preserved(_: str, table: Any) -> str | None:
    from glacierbase.executors.pyiceberg.preserved import check_preserved

    try:
        check_preserved(table)
    except NotPlain as error:
        return error.message
    return None


def _listed(catalog: Any, name: str, levels: _Path) -> ListedNames:
    def names(paths: Sequence[_Path]) -> tuple[str, ...]:
        return tuple(sorted(name_of((name, *path)) for path in paths))

    with mapped():
        if not levels:
            return ListedNames(names(catalog.list_namespaces()))
        tables = names(catalog.list_tables(levels))
        try:
            views = names(catalog.list_views(levels))
        except NotImplementedError:
            views = None
    try:
        with mapped():  # A server may ignore the parent, and return the outermost namespaces each time.
            inside = names([path for path in catalog.list_namespaces(levels) if path[:-1] == levels])
    except StatementRefused:  # Namespaces of this catalog hold no others.
        inside = ()
    return ListedNames(inside, tables, views)


def shape_from_json(name: str, metadata: str) -> Shape:
    """Return the shape of a table from its metadata, which is JSON by Iceberg's specification.

    Raises:
        ConfigurationError: `PYICEBERG_NOT_INSTALLED`.
        ValueError: PyIceberg does not support the content.
    """
    try:
        from pyiceberg.exceptions import ValidationError
        from pyiceberg.table import Table

        from glacierbase.executors.pyiceberg.metadata import parsed
    except ImportError as error:
        raise not_installed(error) from error
    try:
        read = parsed(metadata)
    except ValidationError as error:
        raise ValueError(f"PyIceberg does not read it: {error}") from error
    # Without access to files, the import of which takes longer than all else here.
    return shape_of(name, Table((name,), read, "", None, None))


def shape_of(name: str, table: Any) -> Shape:
    """Return the shape of a table that PyIceberg has just loaded."""
    metadata, schema = table.metadata, table.schema()
    columns = dict(_columns(schema.fields))
    names = {column.id: column.name for column in columns.values()}
    return Shape(
        table=name,
        uuid=str(metadata.table_uuid),
        format="iceberg",
        format_version=metadata.format_version,
        columns=tuple(columns.values()),
        partitioning=tuple(_partitioning(table.spec().fields, names)),
        sorting=tuple(_sorting(table.sort_order().fields, names)),
        identifiers=tuple(names[id_] for id_ in sorted(schema.identifier_field_ids)),
        properties=dict(sorted(metadata.properties.items())),
        metadata_location=table.metadata_location or None,
        schema_id=schema.schema_id,
        spec_id=metadata.default_spec_id,
        sort_order_id=metadata.default_sort_order_id,
    )


def columns_of(schema: Any) -> tuple[Column, ...]:
    """Return the columns of a schema of PyIceberg, without ids."""
    return tuple(replace(column, id=None) for _, column in _columns(schema.fields))


def _columns(fields: Any, above: _Path = ()) -> Iterator[tuple[_Path, Column]]:
    """Yield each field with its path, and after it the fields inside."""
    from glacierbase.executors.pyiceberg.metadata import default_of

    for field in fields:
        path = (*above, field.name)
        default = default_of(field)
        yield (
            path,
            Column(field.field_id, name_of(path), spelling(field.field_type), field.required, field.doc, default),
        )
        yield from _columns(_inside(field.field_type), path)


def _inside(type_: Any) -> Sequence[Any]:
    """Return the fields inside a type: the fields of a struct, the element of a list, key and value of a map."""
    if type_.is_primitive or type_.is_struct:
        return tuple(getattr(type_, "fields", ()))
    element = getattr(type_, "element_field", None)
    return (element,) if element else (type_.key_field, type_.value_field)


def spelling(type_: Any) -> str:
    inside = [(name_of((field.name,)), spelling(field.field_type)) for field in _inside(type_)]
    if type_.is_primitive:
        text = str(type_).replace(" ", "").replace("[", "(").replace("]", ")")
        return _SPARK_TYPES.get(text, text)
    if type_.is_struct:
        return f"struct<{','.join(f'{name}:{kind}' for name, kind in inside)}>"
    return f"{'map' if len(inside) > 1 else 'array'}<{','.join(kind for _, kind in inside)}>"


def _partitioning(fields: Any, names: Mapping[int | None, str]) -> Iterator[PartitionField]:
    """Yield the partition fields. Format version 1 keeps a removed field with the transform `void`."""
    for field in fields:
        if str(field.transform) != "void":
            yield PartitionField(field.field_id, field.name, names[field.source_id], str(field.transform))


def _sorting(fields: Any, names: Mapping[int | None, str]) -> Iterator[SortField]:
    for field in fields:
        nulls = str(field.null_order).rpartition(" ")[2].lower()
        yield SortField(names[field.source_id], str(field.transform), field.direction.value, nulls)
