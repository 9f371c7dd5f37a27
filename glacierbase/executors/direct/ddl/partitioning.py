"""ADD, DROP and REPLACE PARTITION FIELD."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AddPartitionSpecUpdate, SetDefaultSpecUpdate
from pyiceberg.transforms import Transform as IcebergTransform
from pyiceberg.transforms import UnknownTransform, VoidTransform

from glacierbase.errors import NotPlain
from glacierbase.executors.direct.ddl.commit import Transaction, illegal, invalid
from glacierbase.executors.direct.ddl.transforms import Bound, bound, field_named
from glacierbase.model.transforms import given_name
from glacierbase.sql.statement import ParsedStatement, PartitionClause, Transform


def change_partitioning(transaction: Transaction, statement: ParsedStatement) -> None:
    """Add a partition field, remove one, or both."""
    [part] = statement.parts
    assert isinstance(part, PartitionClause)
    change = _Change(transaction.table_metadata)
    removed = part.transform if part.operation == "drop_partition_field" else part.replaces
    if removed:
        change.remove(removed)
    if removed is not part.transform:
        change.add(part.transform, part.name)
    set_spec(transaction, tuple(change.fields()))


def set_spec(transaction: Transaction, fields: tuple[PartitionField, ...]) -> None:
    """Make these fields the partitioning; an equal former partitioning is used again.

    Raises:
        StatementRefused: the names or the columns of the fields are not allowed.
    """
    metadata = transaction.table_metadata
    check_names(metadata.schema(), fields)
    check_sources(metadata.schema(), fields)
    compared = [_compared(field) for field in fields]
    specs = metadata.partition_specs
    equal = next((spec.spec_id for spec in specs if [_compared(field) for field in spec.fields] == compared), None)
    spec_id = equal if equal is not None else max((spec.spec_id + 1 for spec in specs), default=0)
    if equal is None:
        if metadata.format_version == 1 and any(
            field.field_id != PARTITION_FIELD_ID_START + at for at, field in enumerate(fields)
        ):
            raise invalid("Spec does not use sequential IDs that are required in v1")
        transaction.change(AddPartitionSpecUpdate(spec=PartitionSpec(*fields, spec_id=spec_id)))
    if spec_id != metadata.default_spec_id:
        transaction.change(SetDefaultSpecUpdate(spec_id=spec_id))


def check_names(schema: Schema, fields: tuple[PartitionField, ...]) -> None:
    """Check that no partition field has the name of another one, or of a column that it does not read."""
    names = set[str]()
    for field in fields:
        column = field_named(schema, field.name)
        if column not in (None, field.source_id) and field.source_id in schema.field_ids:
            raise illegal(f"Cannot create identity partition sourced from different field in schema: {field.name}")
        if field.name in names:
            raise illegal(f"Cannot use partition name more than once: {field.name}")
        names.add(field.name)


def check_sources(schema: Schema, fields: tuple[PartitionField, ...]) -> None:
    """Check that the columns of the partition fields exist, are no lists or maps or inside of one, and fit the transforms."""
    for field in fields:
        if isinstance(field.transform, VoidTransform):
            continue
        if field.source_id not in schema.field_ids:
            raise invalid(f"Cannot find source column for partition field: {field}")
        type_ = schema.find_type(field.source_id)
        if not type_.is_primitive:
            raise invalid(f"Cannot partition by non-primitive source field: {type_}")
        if not field.transform.can_transform(type_):
            raise invalid(f"Invalid source type {type_} for transform: {field.transform}")
        for parent in parents(schema, field.source_id):
            if not schema.find_type(parent).is_struct:
                raise invalid(f"Invalid partition field parent: {schema.find_type(parent)}")


def parents(schema: Schema, field_id: int) -> Iterator[int]:
    """Yield the ids of the fields that contain a field, innermost first."""
    above = schema._lazy_id_to_parent
    while (parent := above.get(field_id)) is not None:
        yield parent
        field_id = parent


def _compared(field: PartitionField) -> tuple[int, str, str]:
    return field.source_id, str(field.transform), field.name


class _Change:
    """The fields of the current partitioning, and what one statement removes, renames and adds."""

    def __init__(self, metadata: TableMetadata) -> None:
        self._metadata, self._schema = metadata, metadata.schema()
        self._current = metadata.spec().fields
        self._removed = set[int]()
        self._names = {field.field_id: field.name for field in self._current}
        self._added: PartitionField | None = None
        if any(isinstance(field.transform, UnknownTransform) for field in self._current):
            raise illegal("Cannot update partition spec with unknown transform")

    def remove(self, clause: Transform) -> None:
        """Remove the field with a transform; a name that is no column is that of a field."""
        name = clause.columns[0]
        if not clause.function and _is_one_name(clause.text) and field_named(self._schema, name) is None:
            field = next((field for field in self._current if field.name == name), None)
        else:
            field = self._with(bound(self._schema, clause, case_sensitive=True))
        if field is None:
            raise illegal(f"Cannot find partition field to remove: {clause.text}")
        self._removed.add(field.field_id)

    def add(self, clause: Transform, name: str | None) -> None:
        """Add a field, or restore the removed one with the same transform.

        Raises:
            StatementRefused: there is a field with the same transform or name.
        """
        source = bound(self._schema, clause, case_sensitive=True)
        existing = self._with(source)
        if existing and existing.field_id in self._removed:
            self._removed.remove(existing.field_id)
            if name is not None and name != existing.name:
                self._rename(existing, name)
            return
        if existing:
            raise illegal(f"Cannot add duplicate partition field {name}={clause.text}, conflicts with {existing}")
        self._added = self._former(source, name) or self._new(source, name)
        self._free(self._added.name)

    def fields(self) -> Iterator[PartitionField]:
        """Yield the fields of the new partitioning. Format version 1 keeps the place of a removed field."""
        for field in self._current:
            transform: IcebergTransform[Any, Any] = field.transform
            if field.field_id in self._removed:
                if self._metadata.format_version > 1:
                    continue
                transform = VoidTransform()
            yield PartitionField(field.source_id, field.field_id, transform, self._names[field.field_id])
        if self._added:
            yield self._added

    def _with(self, source: Bound) -> PartitionField | None:
        """Return the last field of the partitioning with this column and transform."""
        fields = [field for field in self._current if _bound(field) == source]
        return fields[-1] if fields else None

    def _former(self, source: Bound, name: str | None) -> PartitionField | None:
        """Return the field that had this transform before, also in another partitioning: its id is used again."""
        if self._metadata.format_version == 1:
            return None
        fields = {
            field.name: field
            for spec in self._metadata.partition_specs
            for field in spec.fields
            if _bound(field) == source and name in (None, field.name)
        }
        if len(fields) > 1:
            raise NotPlain(f"partition fields of several names had this transform: {', '.join(fields)}")
        return next(iter(fields.values()), None)

    def _new(self, source: Bound, name: str | None) -> PartitionField:
        last = self._metadata.last_partition_id
        field_id = (PARTITION_FIELD_ID_START - 1 if last is None else last) + 1
        return PartitionField(source[0], field_id, source[1], name or self._given_name(source))

    def _given_name(self, source: Bound) -> str:
        return given_name(str(self._schema.find_column_name(source[0])), str(source[1]), with_width=True)

    def _free(self, name: str) -> None:
        """Rename the removed field that has the name of the new one."""
        existing = next((field for field in self._current if field.name == name), None)
        if existing is None:
            return
        if existing.field_id not in self._removed and not isinstance(existing.transform, VoidTransform):
            raise illegal(f"Cannot add duplicate partition field name: {name}")
        self._names[existing.field_id] = f"{name}_{existing.field_id}"

    def _rename(self, field: PartitionField, name: str) -> None:
        existing = next((other for other in self._current if other.name == name), None)
        if existing and isinstance(existing.transform, VoidTransform):
            self._names[existing.field_id] = f"{name}_{existing.field_id}"
        self._names[field.field_id] = name


def _bound(field: PartitionField) -> Bound:
    return field.source_id, field.transform


def _is_one_name(text: str) -> bool:
    """Return whether a name has one part, which may be quoted and hold dots."""
    return "." not in text or (text[0] == text[-1] == "`" and "`" not in text[1:-1].replace("``", ""))
