"""Convert dataclasses to JSON documents, and back. Only this module defines how a field is named, written and checked there.

A document of a command has every field, with times in milliseconds and secrets masked: `to_json`, `from_json`. A document in the
history leaves out each field that has its default, and each empty one that is marked `OMITTED`: `to_stored`, `from_stored`. Both
readers ignore unknown keys, which a later version may write.

From the first release on, keys of documents are never renamed.
"""

from __future__ import annotations

import json
import threading
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime, timezone
from enum import Enum
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from glacierbase.errors import GlacierbaseError, SeveralErrors
from glacierbase.secrets import mask

T = TypeVar("T")

# Metadata of a field without a default that the history stores only if it is not empty.
OMITTED: Mapping[str, object] = {"omitted": True}
_EMPTY = (None, ())
# msgspec completes its information on a type at first use; a conversion in another thread meanwhile crashes the process.
_converting = threading.Lock()


class InvalidDocument(ValueError):
    """A document does not match its type; the message begins with the path of the value."""


def key_of(field: Field[Any]) -> str:
    """Return the key of a field; the name of the field may have an underscore at its end, because Python reserves the word."""
    return field.name.rstrip("_")


def document_fields(kind: type[Any]) -> list[Field[Any]]:
    """Return the fields of a dataclass that its documents have: all but the secrets."""
    return [field for field in fields(kind) if field.name != "secrets"]


def to_json(value: Any) -> Any:
    """Return `value` in JSON's types, masked: times as ISO 8601 in UTC, dataclasses as objects, errors as `error_to_json`.

    Values are masked before they are serialised, so that the document is valid JSON for any secret. Field names are not masked.
    """
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, GlacierbaseError):
        return error_to_json(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {key_of(field): to_json(_in_document(field, value)) for field in document_fields(type(value))}
    if isinstance(value, dict):
        return {mask(str(key)): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else mask(str(value))


def _in_document(field: Field[Any], value: Any) -> Any:
    """Return the value of a field as a document has it: of a text in JSON its value. A damaged text stays a text."""
    inner = getattr(value, field.name)
    if is_embedded(field) and isinstance(inner, str):
        with suppress(ValueError, RecursionError):
            return json.loads(inner)
    return inner


def is_embedded(field: Field[Any]) -> bool:
    """Return whether the text of a field is JSON."""
    return bool(field.metadata.get("embedded"))


def error_to_json(error: GlacierbaseError) -> dict[str, Any]:
    """Return the object `error` of every document. Several errors are listed in `errors`."""
    with error.secrets.in_use():
        document = {
            "code": error.code,
            "exit_code": error.exit_code,
            "message": mask(error.message),
            "hint": mask(error.hint),
        }
        document.update({key: to_json(value) for key, value in error.data.items() if key not in document})
    if isinstance(error, SeveralErrors):
        document["errors"] = [error_to_json(inner) for inner in error.errors]
    return document


def to_stored(value: Any) -> Any:
    """Return `value` in JSON's types as the history stores it. Nothing is masked."""
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((field, getattr(value, field.name)) for field in fields(value))
        return {key_of(field): to_stored(item) for field, item in pairs if not _is_left_out(field, item)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: to_stored(item) for key, item in value.items()}
    return [to_stored(item) for item in value] if isinstance(value, (list, tuple)) else value


def from_json(kind: type[T], document: object, path: str) -> T:
    """Return a dataclass with the values of a command's document.

    Args:
        path: the path of the document in its file, for the message.

    Raises:
        InvalidDocument: a field is missing, or has a value of another type. `true` is not a number.
    """
    return _read(kind, document, path, is_stored=False)


def from_stored(kind: type[T], document: object, path: str = "") -> T:
    """Return a dataclass with the values of a document that the history stores.

    Args:
        path: the path of the document, for the message.

    Raises:
        InvalidDocument: a field that is always stored is missing, or a field has a value of another type.
    """
    return _read(kind, document, path, is_stored=True)


def parsed(text: str | bytes) -> Any:
    """Return the values of a JSON text.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: the text is nested too deeply.
    """
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:  # Raised also for half of a surrogate pair, which represents a byte in a file name.
        return json.loads(text)


def _is_left_out(field: Field[Any], value: object) -> bool:
    if field.default_factory is not MISSING:
        return bool(value == field.default_factory())
    return bool(value == field.default) or (value in _EMPTY and "omitted" in field.metadata)


def _read(kind: type[T], document: object, path: str, *, is_stored: bool) -> T:
    import msgspec

    try:
        with _converting:
            checked = msgspec.convert(document, _structure(kind, is_stored))  # type: ignore[arg-type]  # A type is hashable.
            return msgspec.convert(checked, kind, from_attributes=True)
    except msgspec.ValidationError as error:
        raise InvalidDocument(_located(str(error), path)) from error
    except OverflowError as error:
        raise InvalidDocument(f"{path}: a time is out of range") from error


def _located(error: str, path: str) -> str:
    """Return a message of msgspec, ``Expected `int`, got `str` - at `$.head.fence` ``, with the path in front."""
    what, _, below = error.partition(" - at `$")
    place = f"{path}{below.rstrip('`')}".removeprefix(".") or "the document"
    return f"{place}: {what[0].lower()}{what[1:]}"


@cache
def _structure(kind: type[Any], is_stored: bool) -> Any:
    """Return the msgspec type that checks the documents of a dataclass: fields, their keys, and which of them may be missing."""
    import msgspec

    hints = get_type_hints(kind)
    listed = document_fields(kind)
    times = [field.name for field in listed if datetime in (hints[field.name], *get_args(hints[field.name]))]

    def in_utc(values: Any) -> None:
        for name in times:
            if (time := getattr(values, name)) is not None:
                setattr(values, name, time.astimezone(timezone.utc))

    return msgspec.defstruct(
        kind.__name__,
        [
            (field.name, _checked_type(hints[field.name], is_stored), *_if_missing(field, hints[field.name], is_stored))
            for field in listed
        ],
        rename={field.name: key_of(field) for field in listed},
        kw_only=True,
        namespace={"__post_init__": in_utc} if times else {},
    )


def _checked_type(hint: Any, is_stored: bool) -> Any:
    """Return the type by which msgspec checks values of an annotation."""
    import msgspec

    parts = tuple(part if part is ... else _checked_type(part, is_stored) for part in get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        return Union[parts]  # noqa: UP007  # Its parts are computed.
    if get_origin(hint) is tuple:
        return types.GenericAlias(tuple, parts)
    if get_origin(hint) in (dict, Mapping):
        return types.GenericAlias(dict, parts)
    if hint is datetime:
        # A time without a zone would depend on this machine.
        return Annotated[datetime, msgspec.Meta(tz=True)]
    if hint is GlacierbaseError:  # Only documents of commands that succeeded are read.
        return None
    return _structure(hint, is_stored) if isinstance(hint, type) and is_dataclass(hint) else hint


def _if_missing(field: Field[Any], hint: Any, is_stored: bool) -> Iterator[Any]:
    """Yield the default of a field that may be missing."""
    import msgspec

    if not is_stored:
        return
    if field.default_factory is not MISSING:
        yield msgspec.field(default_factory=field.default_factory)
    elif field.default is not MISSING:
        yield field.default
    elif "omitted" in field.metadata:
        yield () if get_origin(hint) is tuple else None
