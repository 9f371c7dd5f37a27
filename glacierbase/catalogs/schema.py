"""The JSON Schema of catalog files, for editors, generated from the table of keys.

The schema accepts what the loader accepts in a single file. It omits checks that depend on other keys, other files or the
environment: whether a required key comes from `_shared.yaml`, whether a variable exists, and the like.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from glacierbase.catalogs.keys import file_keys
from glacierbase.catalogs.references import KNOWN_PLAIN, KNOWN_SECRET
from glacierbase.executors import engine_types
from glacierbase.model.keys import RATE, TEXT, WORDS, Key, Kind, whole

Schema = dict[str, Any]

# Draft 7, because the language servers of editors support no later one reliably:
# https://github.com/redhat-developer/yaml-language-server
_DIALECT = "http://json-schema.org/draft-07/schema#"
_WRONG = r"\$\$\{|\$\{[^{}]*\}"
_REFERENCE, _VALUE, _WITHOUT_SECRETS, _ENVIRONMENT = "reference", "value", "valueWithoutSecrets", "environment"
# The definitions of types that several keys have.
_TYPES = {WORDS: "words", RATE: "rate"}
_DEFAULTS = {"true": True, "false": False}


def catalog_file_schema() -> Schema:
    """Return the JSON Schema of a catalog file, and of `_shared.yaml`; with the engines that installed packages add.

    Raises:
        ConfigurationError: `BROKEN_PACKAGE`.
    """
    keys = {key.name: key for key in file_keys(engine_types())}
    return {
        "$schema": _DIALECT,
        "title": "glacierbase catalog file",
        "description": "How to reach one catalog's engine, and what differs between its environments.",
        "type": ["object", "null"],  # An empty file is null.
        "properties": _properties(keys.values()),
        "additionalProperties": False,
        "definitions": {
            _REFERENCE: _with_reference(),
            _VALUE: _any_value(_VALUE, secrets=True),
            _WITHOUT_SECRETS: _any_value(_WITHOUT_SECRETS, secrets=False),
            _ENVIRONMENT: _mapping(keys["environments"].keys),
            **{name: dict(value_type.schema) for value_type, name in _TYPES.items()},
        },
    }


def _properties(keys: Iterable[Key]) -> Schema:
    return {key.name: _described(key) for key in keys}


def _mapping(keys: tuple[Key, ...]) -> Schema:
    """Return the schema of a mapping with these keys, which null removes."""
    return {"type": ["object", "null"], "properties": _properties(keys), "additionalProperties": False}


def _described(key: Key) -> Schema:
    return {**_meaning(key), **_of_kind(key)}


def _meaning(key: Key) -> Schema:
    meaning = f"{key.meaning} Only for {key.engine}." if key.engine else key.meaning
    default = {} if key.default is None else {"default": _DEFAULTS.get(key.default, key.default)}
    return {"description": meaning, **default}


def _of_kind(key: Key) -> Schema:
    """Return the schema of a key's value; null removes the key."""
    if key.kind is Kind.VALUE:
        return {"anyOf": [*_single(key), {"type": "null"}]}
    if key.kind is Kind.GROUP:
        return _mapping(key.keys)
    if key.kind in (Kind.LIST, Kind.MAPPINGS):
        single = _single(key) if key.kind is Kind.LIST else ()
        return {"type": ["array", "null"], "items": {"anyOf": [*single, *_items(key)]}}
    names = {"propertyNames": dict(key.names.schema)} if key.names else {}
    return {"type": ["object", "null"], **names, "additionalProperties": _inside(key)}


def _inside(key: Key) -> Schema:
    """Return the schema of the values in a mapping whose keys the user names."""
    if key.kind is Kind.ENVIRONMENTS:
        return _defined(_ENVIRONMENT)
    if key.kind is Kind.VALUES:
        return {"anyOf": [*_single(key), {"type": "null"}]}
    return _defined(_VALUE if key.secrets else _WITHOUT_SECRETS)


def _items(key: Key) -> list[Schema]:
    """Return the schema of the mappings in a list. Lists are not merged, so that null has no meaning in them."""
    if not key.keys:
        return []
    properties = {inner.name: {**_meaning(inner), "anyOf": _single(inner)} for inner in key.keys}
    required = [inner.name for inner in key.keys if inner.required]
    return [{"type": "object", "properties": properties, "required": required, "additionalProperties": False}]


def _single(key: Key) -> list[Schema]:
    """Return the schemas of which a single value must match one: its type's, or that of a text with a reference."""
    if key.resolved and key.type == TEXT:
        return [{**key.type.schema, **_text(secrets=key.secrets)}]
    schema = _defined(_TYPES[key.type]) if key.type in _TYPES else dict(key.type.schema)
    return [schema, *([_defined(_REFERENCE)] if key.resolved else [])]


def _defined(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _any_value(name: str, *, secrets: bool) -> Schema:
    return {
        "type": ["string", "number", "boolean", "null", "array", "object"],
        **_text(secrets=secrets),
        "items": _defined(name),
        "additionalProperties": _defined(name),
    }


def _text(*, secrets: bool) -> Schema:
    """Return the schema of a text in which anything that resembles a reference is a reference or is escaped."""
    return {"pattern": whole(f"(?:{_part(_known(secrets=secrets))})*")["pattern"]}


def _with_reference() -> Schema:
    """Return the schema of a text with a reference in it, whose value is known only when the reference is resolved."""
    known = _known(secrets=True)
    described = {"description": "A text with a reference such as ${env:NAME}."}
    return {**described, **whole(f"(?:{_part(known)})*{known}(?:{_part(known)})*")}


def _known(*, secrets: bool) -> str:
    """Return the pattern of the references that a value may hold."""
    return rf"\$\{{(?:{'|'.join((*KNOWN_PLAIN, *(KNOWN_SECRET if secrets else ())))})\}}"


def _part(known: str) -> str:
    """Return the pattern of a reference, an escaped reference, or a single character that begins neither."""
    return rf"\$\$\{{|{known}|(?!{_WRONG})[\s\S]"
