"""The changes of one statement to the columns of a table, and the schema that results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AddSchemaUpdate, SetCurrentSchemaUpdate
from pyiceberg.types import (
    DoubleType,
    FloatType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)

from glacierbase.declared.applied import following
from glacierbase.declared.widening import is_widening
from glacierbase.executors.direct.ddl.commit import Transaction, illegal, invalid
from glacierbase.executors.direct.ddl.name_mapping import NAME_MAPPING, updated_mapping
from glacierbase.executors.direct.ddl.partitioning import check_names, check_sources, parents
from glacierbase.executors.direct.ddl.properties import stored_properties
from glacierbase.executors.direct.ddl.transforms import field_named
from glacierbase.executors.pyiceberg.shape import spelling

# The parent of the columns themselves.
ROOT = -1


class SchemaChange:
    """Columns that are added, changed, moved and dropped: all refer to the schema before the statement.

    Attributes:
        schema: the one before the statement.
        identifiers: the names of the identifier fields.
    """

    def __init__(self, metadata: TableMetadata) -> None:
        self._metadata, self.schema = metadata, metadata.schema()
        self.identifiers = self.schema.identifier_field_names()
        self._last_id: int = metadata.last_column_id
        self._parents = dict(self.schema._lazy_id_to_parent)
        self._fields: dict[int, NestedField] = {}  # Added and changed ones.
        self._added = defaultdict[int, list[int]](list)
        self._dropped: list[int] = []
        self._moves = defaultdict[int, list[tuple[int, int | None]]](list)

    def next_id(self) -> int:
        """Return a new id of a column."""
        self._last_id += 1
        return self._last_id

    def add(self, parent: int, field: NestedField) -> None:
        """Add a field, whose id is a new one, at the end of a struct."""
        above = "" if parent == ROOT else f"{self.schema.find_column_name(parent)}."
        same = field_named(self.schema, above + field.name)
        if same is not None and same not in self._dropped:
            raise illegal(f"Cannot add column, name already exists: {above}{field.name}")
        self._fields[field.field_id] = field
        self._added[parent].append(field.field_id)
        if parent != ROOT:
            self._parents[field.field_id] = parent

    def drop(self, field_id: int) -> None:
        """Drop a field."""
        self._dropped.append(field_id)

    def rename(self, path: Sequence[str], field_id: int, name: str) -> None:
        """Rename a field. As in Iceberg, an identifier field keeps its role only if it is a column itself."""
        self._fields[field_id] = changed(self._field(field_id), name=name)
        if (full := ".".join(path)) in self.identifiers:
            self.identifiers = self.identifiers - {full} | {name}

    def retype(self, name: str, field_id: int, type_: IcebergType) -> None:
        """Widen the type of a field."""
        field = self._field(field_id)
        if field.field_type == type_:
            return
        if not is_widening(spelling(field.field_type), spelling(type_)):
            raise illegal(f"Cannot change column type: {name}: {field.field_type} -> {type_}")
        self._fields[field_id] = changed(field, type_=type_)

    def relax(self, field_id: int) -> None:
        """Let a field be NULL."""
        self._fields[field_id] = changed(self._field(field_id), required=False)

    def comment(self, field_id: int, doc: str) -> None:
        """Set the comment of a field."""
        self._fields[field_id] = changed(self._field(field_id), doc=doc)

    def move(self, name: str, field_id: int, after: int | None) -> None:
        """Move a field behind another one of its struct, or to the first place."""
        parent = self._parents.get(field_id, ROOT)
        if field_id == after:
            raise illegal(f"Cannot move {name} after itself")
        if parent != ROOT and not (type_ := self.schema.find_type(parent)).is_struct:
            raise illegal(f"Cannot move fields in non-struct type: {type_}")
        self._moves[parent].append((field_id, after))

    def stage(self, transaction: Transaction) -> None:
        """Make the new schema the current one; an equal former schema is used again.

        Raises:
            StatementRefused: identifier fields, partition fields or the sort order do not admit it.
        """
        self._check_identifiers_stay()
        schema = self._new_schema()
        if schema.schema_id != self.schema.schema_id:
            self._check_users(schema)
            if all(former.schema_id != schema.schema_id for former in self._metadata.schemas):
                transaction.change(AddSchemaUpdate(schema=schema))
            transaction.change(SetCurrentSchemaUpdate(schema_id=schema.schema_id))
        self._stage_properties(transaction, schema)

    def _field(self, field_id: int) -> NestedField:
        return self._fields.get(field_id) or self.schema.find_field(field_id)

    def _check_identifiers_stay(self) -> None:
        for name in self.identifiers:
            field_id = field_named(self.schema, name)
            if field_id is None:
                continue
            for dropped in (field_id, *parents(self.schema, field_id)):
                if dropped in self._dropped:
                    raise illegal(f"Cannot delete identifier field {name}, or the field that contains it")

    def _new_schema(self) -> Schema:
        """Return the new schema, with the id of an equal former schema if there is one."""
        fields = self._arranged(ROOT, self._struct(self.schema.as_struct()).fields)
        try:
            new = Schema(*fields)
        except ValueError as error:  # Two paths with dots are equal.
            raise invalid(str(error)) from error
        ids = [_identifier(new, self.schema, name) for name in sorted(self.identifiers)]
        former = self._metadata.schemas
        equal = (
            schema.schema_id
            for schema in former
            if len(schema.fields) == len(new.fields)
            and set(schema.identifier_field_ids) == set(ids)
            and schema.fields == new.fields
        )
        schema_id = next(equal, max(schema.schema_id for schema in former) + 1)
        return Schema(*fields, schema_id=schema_id, identifier_field_ids=sorted(ids))

    def _check_users(self, schema: Schema) -> None:
        """Check that the partition specs and the sort order of the table admit a new schema."""
        for spec in self._metadata.partition_specs:
            check_names(schema, spec.fields)
        check_sources(schema, self._metadata.spec().fields)
        for field in self._metadata.sort_order().fields:
            if field.source_id not in schema.field_ids:
                raise invalid(f"Cannot find source column for sort field: {field}")
            type_ = schema.find_type(field.source_id)
            if not field.transform.can_transform(type_):
                raise invalid(f"Invalid source type {type_} for transform: {field.transform}")

    def _stage_properties(self, transaction: Transaction, schema: Schema) -> None:
        """Let the properties that name columns follow the columns."""
        properties = dict(transaction.table_metadata.properties)
        if NAME_MAPPING in properties:
            properties[NAME_MAPPING] = updated_mapping(properties[NAME_MAPPING], self._fields, self._added)
        added = {field_id for ids in self._added.values() for field_id in ids}
        dropped = {str(self.schema.find_column_name(field_id)) for field_id in self._dropped}
        renamed = {
            str(self.schema.find_column_name(field_id)): str(schema.find_column_name(field_id))
            for field_id in self._fields.keys() - added
        }
        stored_properties(transaction, dict(following(properties, renamed, dropped)))

    def _struct(self, struct: StructType) -> StructType:
        fields = ((field, self._type_of(field)) for field in struct.fields)
        return StructType(
            *(
                changed(self._fields.get(field.field_id, field), type_=type_)
                for field, type_ in fields
                if type_ is not None
            )
        )

    def _type_of(self, field: NestedField) -> IcebergType | None:
        """Return the new type of a field; None if it is dropped."""
        type_ = self._type(field.field_type)
        if field.field_id in self._dropped:
            return None
        update = self._fields.get(field.field_id, field)
        if update.field_type != field.field_type:
            return update.field_type
        if isinstance(type_, StructType):
            return StructType(*self._arranged(field.field_id, type_.fields))
        return type_

    def _type(self, type_: IcebergType) -> IcebergType:
        if isinstance(type_, StructType):
            return self._struct(type_)
        if isinstance(type_, ListType):
            if (element := self._type_of(type_.element_field)) is None:
                raise illegal(f"Cannot delete element type from list: {type_}")
            required = self._is_required(type_.element_field)
            # By keyword: a struct without fields is false, which PyIceberg takes for no type.
            return ListType(type_.element_id, element_type=element, element_required=required)
        if isinstance(type_, MapType):
            key, value = type_.key_field, self._type_of(type_.value_field)
            if self._type_of(key) != key.field_type or key.field_id in self._fields:
                raise illegal(f"Cannot alter map keys: {type_}")
            if value is None:
                raise illegal(f"Cannot delete value type from map: {type_}")
            required = self._is_required(type_.value_field)
            return MapType(type_.key_id, type_.key_type, type_.value_id, value, required)
        return type_

    def _is_required(self, field: NestedField) -> bool:
        return bool(self._fields.get(field.field_id, field).required)

    def _arranged(self, parent: int, fields: Iterable[NestedField]) -> tuple[NestedField, ...]:
        """Return the fields of a struct with the added ones, in their new order."""
        arranged = [*fields, *(self._fields[field_id] for field_id in self._added[parent])]
        for field_id, after in self._moves[parent]:
            moved = next(field for field in arranged if field.field_id == field_id)
            arranged.remove(moved)
            ids = [field.field_id for field in arranged]
            arranged.insert(0 if after is None else ids.index(after) + 1, moved)
        return tuple(arranged)


def changed(
    field: NestedField,
    *,
    name: str | None = None,
    type_: IcebergType | None = None,
    required: bool | None = None,
    doc: str | None = None,
) -> NestedField:
    """Return a field with other attributes; None keeps one."""
    return NestedField(
        field.field_id,
        field.name if name is None else name,
        field.field_type if type_ is None else type_,
        field.required if required is None else required,
        field.doc if doc is None else doc,
        field.initial_default,
        field.write_default,
    )


def _identifier(new: Schema, old: Schema, name: str) -> int:
    """Return the id of an identifier field.

    Raises:
        StatementRefused: the field cannot identify a row.
    """
    field_id, cannot = field_named(new, name), f"Cannot add field {name} as an identifier field"
    if field_id is None:
        raise illegal(f"{cannot}: not found in current schema or added columns")
    field = new.find_field(field_id)
    if not field.field_type.is_primitive:
        raise illegal(f"{cannot}: not a primitive type field")
    if not field.required:
        raise illegal(f"{cannot}: not a required field")
    if isinstance(field.field_type, FloatType | DoubleType):
        raise illegal(f"{cannot}: must not be float or double field")
    for parent in parents(old, field_id):
        if not (above := new.find_field(parent)).field_type.is_struct:
            raise illegal(f"{cannot}: must not be nested in {above}")
        if not above.required:
            raise illegal(f"{cannot}: must not be nested in an optional field {above}")
    return field_id
