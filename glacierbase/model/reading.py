"""Values from JSON that anybody may have written: the inverse of `model.result.to_json`."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timezone
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from glacierbase.model.result import document_fields

T = TypeVar("T")

# The metadata of a field that was added to a document after its first version, and that has a default.
ADDED: Mapping[str, bool] = {"added": True}
_NAMES = {str: "a text", bool: "true or false", int: "a whole number", dict: "an object", list: "a list"}


class WrongShape(ValueError):
    """A value is not of the type that belongs at its place; the message names the place."""


def from_json(kind: type[T], value: object, place: str) -> T:
    """Return a dataclass with the values of a JSON object. Further keys, which a later version may write, are ignored; a field
    with the metadata `ADDED`, which an earlier version did not write, may be missing.

    Fields may be texts, numbers, booleans, times, enumerations, other dataclasses, tuples of these, objects with such values, and
    any of them or None.

    Args:
        place: of the value in its document, for the message.

    Raises:
        WrongShape: a field is missing, or has a value of another type.
    """
    values = _checked(dict, value, place)
    found: dict[str, Any] = {}
    for name, hint in _types(kind).items():  # type: ignore[arg-type]  # A type is hashable.
        if name not in values:
            if name in _optional(kind):  # type: ignore[arg-type]
                continue
            raise WrongShape(f"{place} has no {name}")
        found[name] = _read(hint, values[name], f"{place}.{name}")
    return kind(**found)


@cache
def _types(kind: type[Any]) -> Mapping[str, Any]:
    """Return the types of the fields; to evaluate the annotations takes longer than to read an object."""
    hints = get_type_hints(kind)
    return {name: hints[name] for name in document_fields(kind)}


@cache
def _optional(kind: type[Any]) -> frozenset[str]:
    """Return the fields that earlier versions did not write."""
    return frozenset(field.name for field in fields(kind) if ADDED.items() <= field.metadata.items())


def _read(kind: Any, value: object, place: str) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        [kind] = [each for each in get_args(kind) if each is not type(None)]
        return None if value is None else _read(kind, value, place)
    if get_origin(kind) is tuple:
        items = _checked(list, value, place)
        return tuple(_read(get_args(kind)[0], item, f"{place}[{index}]") for index, item in enumerate(items))
    if get_origin(kind) is Mapping:
        return {
            key: _read(get_args(kind)[1], item, f"{place}.{key}") for key, item in _checked(dict, value, place).items()
        }
    if isinstance(kind, type) and is_dataclass(kind):
        return from_json(kind, value, place)
    if kind is datetime or issubclass(kind, Enum):
        return _from_text(kind, _checked(str, value, place), place)
    return _checked(kind, value, place)


def _from_text(kind: Any, text: str, place: str) -> Any:
    """Return a time in UTC, or a value of an enumeration."""
    try:
        if kind is datetime:
            # Python 3.10 does not read the Z. A time without a zone would be one of this machine's.
            return datetime.fromisoformat(f"{text[:-1]}+00:00" if text.endswith("Z") else "").astimezone(timezone.utc)
        return kind(text)
    except (ValueError, OverflowError) as error:
        raise WrongShape(f"{place} is not {'a time in UTC' if kind is datetime else 'one of its values'}") from error


def _checked(kind: type[T], value: object, place: str) -> T:
    """Return the value. `true` is no number, although `bool` is a subclass of `int`."""
    if type(value) is not kind:
        raise WrongShape(f"{place} is not {_NAMES.get(kind, 'null')}")
    return value
