"""The property `schema.name-mapping.default`, which Iceberg changes together with the columns.

https://iceberg.apache.org/spec/#column-projection
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

NAME_MAPPING = "schema.name-mapping.default"
_ROOT = -1


@dataclass(frozen=True, slots=True)
class _Mapped:
    """The names of one field, in the order of the text, and the fields inside; None if it has no list of them."""

    field_id: int
    names: tuple[str, ...]
    inside: tuple[_Mapped, ...] | None


def updated_mapping(text: str, fields: Mapping[int, NestedField], added: Mapping[int, Sequence[int]]) -> str:
    """Return a mapping with the new names of fields and with new fields; unchanged if it cannot be read.

    Args:
        fields: the added and changed fields, by their ids.
        added: the ids of the added fields, by those of the structs.
    """
    try:
        mapping = tuple(map(_read, json.loads(text)))
        return "".join(_written(_Update(fields, added).apply(mapping)))
    except (ValueError, TypeError, KeyError, AttributeError):
        return text


class _Update:
    def __init__(self, fields: Mapping[int, NestedField], added: Mapping[int, Sequence[int]]) -> None:
        self._fields, self._added = fields, added

    def apply(self, mapping: tuple[_Mapped, ...]) -> tuple[_Mapped, ...]:
        return self._with_new(self._level(mapping), _ROOT) or ()

    def _level(self, mapping: tuple[_Mapped, ...]) -> tuple[_Mapped, ...]:
        named = tuple(map(self._named, mapping))
        updates = [self._fields[mapped.field_id] for mapped in named if mapped.field_id in self._fields]
        return tuple(_without(named, updates))

    def _named(self, mapped: _Mapped) -> _Mapped:
        names, inside = mapped.names, None if mapped.inside is None else self._level(mapped.inside)
        if update := self._fields.get(mapped.field_id):
            names = (*names, update.name)
        return _Mapped(mapped.field_id, _of_set(names), self._with_new(inside, mapped.field_id))

    def _with_new(self, mapping: tuple[_Mapped, ...] | None, parent: int) -> tuple[_Mapped, ...] | None:
        if not (fields := [self._fields[field_id] for field_id in self._added.get(parent, ())]):
            return mapping
        return (*_without(mapping or (), fields), *map(_created, fields))


def _without(mapping: Iterable[_Mapped], taken: Sequence[NestedField]) -> Iterator[_Mapped]:
    """Yield fields without a name that another field has taken."""
    ids = {field.name: field.field_id for field in taken}
    if len(ids) < len(taken):
        raise ValueError("two fields of one name")
    for mapped in mapping:
        lost = [name for name in mapped.names if ids.get(name, mapped.field_id) != mapped.field_id]
        # Iceberg removes only the last one.
        names = tuple(name for name in mapped.names if name not in lost[-1:])
        yield _Mapped(mapped.field_id, names, mapped.inside)


def _created(field: NestedField) -> _Mapped:
    return _Mapped(field.field_id, (field.name,), _inside(field.field_type))


def _inside(type_: IcebergType) -> tuple[_Mapped, ...] | None:
    if isinstance(type_, StructType):
        return tuple(map(_created, type_.fields))
    if isinstance(type_, ListType):
        return (_created(type_.element_field),)
    return (_created(type_.key_field), _created(type_.value_field)) if isinstance(type_, MapType) else None


def _of_set(names: Sequence[str]) -> tuple[str, ...]:
    """Return names in the order of a hash set of Java, by which Iceberg writes them."""
    distinct = dict.fromkeys(names)
    size = 16
    while len(distinct) > size * 3 // 4:
        size *= 2
    return tuple(sorted(distinct, key=lambda name: _spread(name) & (size - 1)))


def _spread(name: str) -> int:
    code, units = 0, name.encode("utf-16-be")
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    return code ^ code >> 16


def _read(entry: Mapping[str, object]) -> _Mapped:
    field_id, names, inside = entry["field-id"], entry.get("names", ()), entry.get("fields")
    if not isinstance(field_id, int) or not isinstance(names, list | tuple):
        raise TypeError("no field with an id and names")
    return _Mapped(
        field_id,
        tuple(dict.fromkeys(map(str, names))),
        tuple(map(_read, inside)) if isinstance(inside, list) else None,
    )


def _written(mapping: tuple[_Mapped, ...], indent: str = "") -> Iterator[str]:
    """Yield the text of a mapping, with the spaces that Iceberg writes."""
    yield "[ " if mapping else "[ ]"
    for number, mapped in enumerate(mapping):
        names = ", ".join(json.dumps(name, ensure_ascii=False) for name in mapped.names)
        yield f'{", " if number else ""}{{\n{indent}  "field-id" : {mapped.field_id},\n'
        yield f'{indent}  "names" : [ {names} ]' if names else f'{indent}  "names" : [ ]'
        if mapped.inside is not None:
            yield f',\n{indent}  "fields" : '
            yield from _written(mapped.inside, f"{indent}  ")
        yield f"\n{indent}}}"
    if mapping:
        yield " ]"
