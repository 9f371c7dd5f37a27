"""The metadata of tables, read also where a column has a type that PyIceberg does not know: the type is kept as it is written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyiceberg.conversions import to_json
from pyiceberg.exceptions import ValidationError
from pyiceberg.serializers import Compressor
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.types import IcebergType, NestedField, PrimitiveType

# What PyIceberg raises for metadata with a type, or a default of a type, that it does not know, and for invalid metadata.
REFUSED = (ValidationError, ValueError, TypeError, LookupError, AttributeError)
# The parts of a type that has other types inside. https://iceberg.apache.org/spec/#appendix-c-json-serialization
_INSIDE = {"list": ("element",), "map": ("key", "value")}
_DEFAULTS = (("initial_default", "initial-default"), ("write_default", "write-default"))


class KeptType(PrimitiveType):  # type: ignore[misc]
    """A type that PyIceberg does not know, as the metadata writes it: `variant`, or a type of a later specification."""

    root: str

    def __new__(cls, *_: Any, **__: Any) -> KeptType:
        """Return a new instance: PyIceberg's types without arguments have one each."""
        made: KeptType = object.__new__(cls)
        return made

    @classmethod
    def of(cls, text: str) -> KeptType:
        """Return the type with this text. PyIceberg's own check would refuse it."""
        made: KeptType = cls.model_construct(root=text)
        return made

    def __str__(self) -> str:
        return self.root

    def __repr__(self) -> str:
        return f"KeptType({self.root!r})"


class KeptDefault(str):
    """A default of a type for which PyIceberg reads none, as the JSON that the metadata holds."""

    __slots__ = ()


def parsed(text: str) -> TableMetadata:
    """Return the metadata of a table from its JSON.

    Raises:
        pyiceberg.exceptions.ValidationError: a part other than the type of a column is not supported.
    """
    try:
        return TableMetadataUtil.parse_raw(text)
    except REFUSED as error:
        with invalid(error):
            return TableMetadataUtil.parse_obj(with_kept_types(json.loads(text)))


def read_metadata(file: Any) -> TableMetadata:
    """Return the metadata in an input file of PyIceberg. Raises as `parsed` does, and as the file does."""
    with file.open() as stream, Compressor.get_compressor(file.location).stream_decompressor(stream) as content:
        return parsed(content.read().decode())


@contextmanager
def invalid(error: Exception) -> Iterator[None]:
    """Raise the first error as PyIceberg does where metadata is invalid in another way than by an unknown type."""
    try:
        yield
    except REFUSED:
        if isinstance(error, ValidationError):
            raise error from error.__cause__
        raise ValidationError(error) from error


def with_kept_types(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a table, a JSON object, with a `KeptType` for each type that PyIceberg does not know."""
    schemas = {"schemas": [_type_of(schema) for schema in document["schemas"]]} if "schemas" in document else {}
    # Format version 1 may have no list of schemas.
    current = {"schema": _type_of(document["schema"])} if "schema" in document else {}
    return {**document, **schemas, **current}


def _type_of(written: Any) -> Any:
    if isinstance(written, str):
        return written if _is_known(written) else KeptType.of(written)
    kind = written["type"]
    if kind == "struct":
        return {**written, "fields": [_field(field) for field in written["fields"]]}
    if kind in _INSIDE:
        return {**written, **{part: _type_of(written[part]) for part in _INSIDE[kind]}}
    return KeptType.of(json.dumps(written))


def _field(written: Mapping[str, Any]) -> NestedField:
    field = {**written, "type": _type_of(written["type"])}
    try:
        return NestedField(**field)
    except TypeError:  # PyIceberg reads no default of this type.
        defaults = {name: field.pop(key) for name, key in _DEFAULTS if field.get(key) is not None}
        kept = {name: KeptDefault(json.dumps(value)) for name, value in defaults.items()}
        return NestedField(**field).model_copy(update=kept)


def default_of(field: NestedField) -> str | None:
    """Return the default of a column for new rows, as JSON by Iceberg's specification; None without one."""
    value = field.write_default
    if value is None or isinstance(value, KeptDefault):
        return value
    return json.dumps(to_json(field.field_type, value))


def _is_known(name: str) -> bool:
    try:
        IcebergType.handle_primitive_type(name, None)
    except (ValueError, ValidationError):
        return False
    return True


class _Shared(list):  # type: ignore[type-arg]
    """Parts of metadata, which never change: a copy of the metadata has the same ones."""

    def __add__(self, more: Any) -> _Shared:
        return _Shared([*self, *more])

    def __deepcopy__(self, _: Any) -> _Shared:
        return _Shared(self)


def with_shared_parts(metadata: TableMetadata) -> TableMetadata:
    """Return metadata whose deep copies, which PyIceberg makes at each change, share its schemas, snapshots and other lists."""
    return metadata.model_copy(update={name: _Shared(part) for name, part in metadata if isinstance(part, list)})


def kept_types(metadata: TableMetadata) -> list[str]:
    """Return the types that PyIceberg does not know, of the columns of all schemas of a table."""
    types = (schema.find_type(number) for schema in metadata.schemas for number in schema.field_ids)
    return sorted({str(type_) for type_ in types if isinstance(type_, KeptType)})
