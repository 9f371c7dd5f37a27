"""The definition of a key of a catalog file, and the types of single values: description, conversion and schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

_NAMESPACE = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*"
DURATION = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h)"
_RATE = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of the text of a single value.

    Attributes:
        expected: in words, for messages and the reference.
        convert: returns the value of a text, and raises ValueError for a text that is not of this type.
        schema: a JSON Schema of the type for editors; default any single value.
    """

    expected: str
    convert: Callable[[str], Any]
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": ["string", "number", "boolean"]}, compare=False)

    def accepts(self, text: str) -> bool:
        """Return whether the text is of this type."""
        try:
            self.convert(text)
        except ValueError:
            return False
        return True


def one_of(*allowed: str) -> ValueType:
    """Return the type of a value that is one of these words."""

    def convert(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return ValueType(" or ".join(allowed), convert, {"enum": list(allowed)})


def whole(pattern: str) -> dict[str, str]:
    """Return the JSON Schema of texts that match a pattern from their first to their last character.

    The pattern must have the same meaning in Python and JavaScript; `$` has not: in Python it also matches before a final newline.
    """
    return {"type": "string", "pattern": rf"^(?:{pattern})(?![\s\S])"}


def _matching(pattern: str, expected: str) -> ValueType:
    compiled = re.compile(pattern)

    def convert(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(text)
        return text

    return ValueType(expected, convert, whole(pattern))


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _rate(text: str) -> float:
    if not re.fullmatch(_RATE, text):
        raise ValueError(text)
    return float(text)


def _duration(shortest: str, longest: str) -> ValueType:
    def convert(text: str) -> float:
        seconds = parse_duration(text)
        if not parse_duration(shortest) <= seconds <= parse_duration(longest):
            raise ValueError(text)
        return seconds

    return ValueType(f"a duration from {shortest} to {longest}", convert, whole(DURATION))


TEXT = ValueType("text", str)
# One line, so that the text can be part of a message.
WORDS = _matching(r"[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*", "a text of one line")
BOOLEAN = ValueType("true or false", _boolean, {"enum": [True, False, "true", "false"]})
RATE = ValueType("a number from 0", _rate, {**whole(_RATE), "type": ["number", "string"], "minimum": 0})
LEASE = _duration("1s", "24h")
HOOK_TIMEOUT = _duration("1s", "1h")
CATALOG_NAME = _matching("[a-z][a-z0-9_]*", "a name of lower-case letters, digits and _")
ENVIRONMENT_NAME = _matching("[A-Za-z0-9][A-Za-z0-9._-]*", "a name of letters, digits, . _ and -")
HEADER_NAME = _matching(
    r"(?!MIGRATION_|(?:DESCRIPTION|AUTHOR|SQUASHES|AFTER)$)(?=.{1,60}$)[A-Z]+(?:_[A-Z]+)*",
    "a name of capital letters and _, without the prefix MIGRATION_, and none of DESCRIPTION, AUTHOR, SQUASHES and AFTER",
)
RULE_CODE = _matching("[A-Z]{2,8}[0-9]{3}", "the code of a rule, such as DS103")
# YAML reads `off` as false.
SEVERITY = ValueType(
    "off, note, warning or error",
    one_of("off", "note", "warning", "error").convert,
    {"enum": ["off", "note", "warning", "error", False]},
)
# `on` and `off` are booleans for tools that write YAML 1.1.
_SWITCH = {"on": True, "true": True, "off": False, "false": False}


def _switch(text: str) -> bool:
    if text not in _SWITCH:
        raise ValueError(text)
    return _SWITCH[text]


SWITCH = ValueType("on or off", _switch, {"enum": ["on", "off", True, False]})
NAMESPACE = _matching(_NAMESPACE, "names joined by dots")
SCHEMA = _matching(r"[A-Za-z_][A-Za-z0-9_]*", "the name of a schema")
STORE_CATALOG = _matching(rf'{_NAMESPACE}|"[^"\x00-\x1f\x7f]+"', "the name of a catalog")
COORDINATE_PATTERN = r"[^:,/\s]+:[^:,/\s]+:[^:/\s]+"
COORDINATE = _matching(COORDINATE_PATTERN, "a Maven coordinate: group:artifact:version")
# A name by PEP 508 with versions. Options of pip, addresses, paths, markers and hashes do not match.
_VERSION = "[ ]*(?:~=|===?|!=|<=?|>=?)[ ]*[A-Za-z0-9][A-Za-z0-9._*+!-]*[ ]*"
REQUIREMENT = _matching(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9._-]+(?:,[A-Za-z0-9._-]+)*\])?"
    rf"(?:{_VERSION}(?:,{_VERSION})*)?",
    "the name of a package with its versions, such as pyspark==3.5.*",
)
DYNAMODB_TABLE = _matching("[A-Za-z0-9_.-]{3,255}", "the name of a table of 3 to 255 letters, digits, _, . and -")
ENDPOINT = _matching(r"https?://[^/@\s]+/?", "the address of a server, such as http://localhost:8000")
SHA256 = _matching("[0-9A-Fa-f]{64}", "a SHA-256 of 64 hexadecimal digits")


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as `500ms`, `30s`, `5m` or `1h`.

    Raises:
        ValueError: the text is not a duration.
    """
    match = re.fullmatch(DURATION, text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a duration such as 30s, 5m or 1h")
    return float(match[1]) * _SECONDS[match[2]]


class Kind(str, Enum):
    """The kind of a key's value, as a description."""

    VALUE = "a single value"
    VALUES = "keys with single values"
    KEYS = "keys with values"
    GROUP = "the keys below"
    LIST = "a list"
    MAPPINGS = "a list of keys with values"
    ENVIRONMENTS = "names, each with its keys"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a catalog file.

    Attributes:
        meaning: one sentence, for the reference.
        type: the type of a single value, or of the single values in a list.
        default: as written in a file; None if the key has no fixed default.
        keys: the keys of a group, or of the mappings in a list.
        engine: the only `migrationExecutor.type` that the key is allowed for; None if all are.
        fixed: the keys inside the value that only glacierbase sets.
        names: the type of the names in a mapping whose names the user chooses; None if any name is allowed.
        required: whether the mapping that the key belongs to must have it.
        resolved: whether references in the value are resolved.
        secrets: whether the value may contain references to secrets.
    """

    name: str
    meaning: str
    kind: Kind = Kind.VALUE
    type: ValueType = TEXT
    default: str | None = None
    keys: tuple[Key, ...] = ()
    engine: str | None = None
    names: ValueType | None = None
    required: bool = False
    resolved: bool = True
    secrets: bool = True
    fixed: tuple[str, ...] = ()
