"""Values of a JSON document from the history, checked for their type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def texts(values: list[object], name: str) -> tuple[str, ...]:
    """Return the values, which are texts.

    Raises:
        ValueError: one is not.
    """
    return tuple(checked(value, str, name) for value in values)


def optional(values: Mapping[str, object], key: str, kind: type[T]) -> T | None:
    """Return the value of a key, None where there is none.

    Raises:
        ValueError: it has another type.
    """
    value = values.get(key)
    return None if value is None else checked(value, kind, key)


def checked(value: object, kind: type[T], name: str) -> T:
    """Return the value. `true` is no number, although `bool` is a subclass of `int`.

    Raises:
        ValueError: it has another type.
    """
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{name}: {type(value).__name__} where {kind.__name__} is expected")
    return value
