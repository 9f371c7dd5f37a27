"""The JSON Schemas that `glacierbase schemas` prints: of catalog files, and of each command's document.

A document's schema is derived from the annotations of its command's result type.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from glacierbase.catalogs.schema import catalog_file_schema
from glacierbase.errors import GlacierbaseError
from glacierbase.model.codec import document_fields, is_embedded, key_of
from glacierbase.model.finding import Severity
from glacierbase.project.commands import COMMANDS

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SIMPLE: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
    Path: {"type": "string"},
}
_ERROR: Schema = {
    "description": "What went wrong. Further properties depend on `code`.",
    "type": "object",
    "properties": {
        "code": {"description": "Stable name of the error.", "type": "string"},
        "exit_code": {"description": "Exit code of the command line.", "type": "integer"},
        "message": {"type": "string"},
        "hint": {"description": "The next step; may be empty.", "type": "string"},
        "errors": {"description": "Each of several errors.", "type": "array", "items": {"$ref": "#/$defs/Error"}},
    },
    "required": ["code", "exit_code", "message", "hint"],
}
_ENTRY: Schema = {
    "description": "The reference entry of an error code.",
    "type": "object",
    "properties": {
        "code": {"type": "string"},
        "exit_codes": {"type": "array", "items": {"type": "integer"}},
        "errors": {"description": "Exception classes in Python.", "type": "array", "items": {"type": "string"}},
        "meaning": {"type": "string"},
        "example": {"type": "string"},
        "remedy": {"description": "Steps, in order.", "type": "array", "items": {"type": "string"}},
    },
    "required": ["code", "exit_codes", "errors", "meaning", "example", "remedy"],
}
_RULE: Schema = {
    "description": "A rule of `lint`.",
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in ("code", "name", "why", "fix", "bad", "good", "source")},
        "severity": {"type": "string", "enum": list(Severity)},
        "formats": {
            "description": "The table formats that it is about; empty for all.",
            "type": "array",
            "items": {"type": "string"},
        },
        "proof": {
            "description": "Where its claim comes from: a run on the engine, the vendor's page, or a convention.",
            "type": "string",
            "enum": ["run", "cited", "convention"],
        },
    },
    "required": ["code", "name", "why", "fix", "bad", "good", "source", "severity", "formats", "proof"],
}
_SCHEMA: Schema = {
    "description": "A JSON Schema of glacierbase, and what it describes.",
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "describes": {"type": "string"},
        "json_schema": {"type": "object"},
    },
    "required": ["name", "describes", "json_schema"],
}
_LISTED: Schema = {
    "description": "A command.",
    "type": "object",
    "properties": {"command": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["command", "summary"],
}
# One look-up: the codes of a call are errors or rules.
_CODES: Mapping[str, Schema] = {
    "entries": {"type": "array", "items": _ENTRY},
    "rules": {"type": "array", "items": _RULE},
}
# The further properties of documents that are about no catalog. `usage` is the document of a wrong command line.
WITHOUT_CATALOGS: Mapping[str, Mapping[str, Schema]] = {
    "completion": {"script": {"type": "string"}, "install": {"type": "string"}},
    "explain": _CODES,
    "help": {"commands": {"type": "array", "items": _LISTED}},
    "layout-ls": {},  # Of a failure; its result is lines.
    "rules": _CODES,
    "schemas": {"schemas": {"type": "array", "items": _SCHEMA}},
    "usage": {},
}
_WITH_ACTIONS = ("drift", "import", "layout", "rekey", "sharding")
# Schemas of other documents than those of commands.
# Documents of a command with an option that gives it another result.
_WITH_OPTION = {"new-matching": "new --to-match FILE"}
_OTHERS = {"catalog-file": "catalog files, for editors", "usage": "the document of a wrong command line"}


def described_schemas() -> dict[str, str]:
    """Return what each JSON Schema describes, by the schema's name, in the order of the names."""
    documents = {name: f"the document of `{_command(name)}`" for name, row in COMMANDS.items() if not row.is_group}
    return dict(sorted({**documents, **_OTHERS}.items()))


def _command(document: str) -> str:
    """Return the command line of a document's name: each action of some commands has its own document."""
    group, dash, action = document.partition("-")
    if document in _WITH_OPTION:
        return f"glacierbase {_WITH_OPTION[document]}"
    return f"glacierbase {group} {action}" if dash and group in _WITH_ACTIONS else f"glacierbase {document}"


def json_schema(name: str) -> Schema:
    """Return the JSON Schema of a document or of catalog files.

    Args:
        name: one of `described_schemas`.
    """
    return catalog_file_schema() if name == "catalog-file" else _document_schema(name)


def _document_schema(command: str) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a command's document. Documents may have more properties than it lists."""
    definitions: dict[str, Schema] = {"Error": _ERROR}
    more = WITHOUT_CATALOGS.get(command, {})
    answer = (
        _fields(COMMANDS[command].answer_type(), definitions)
        if command in COMMANDS and COMMANDS[command].answer
        else {}
    )
    entry = False if command in WITHOUT_CATALOGS or answer else _schema(COMMANDS[command].result_type(), definitions)
    return {
        "$schema": _DIALECT,
        "title": f"glacierbase {command}",
        "type": "object",
        "properties": {
            "schema": {"const": f"glacierbase/{command}/1"},
            "ok": {"type": "boolean"},
            "error": _schema(GlacierbaseError | None, definitions),
            "catalogs": {"type": "array", "items": entry},
            **more,
            **answer,  # A command that failed has none.
        },
        "required": ["schema", "ok", "error", "catalogs", *more],
        "$defs": definitions,
    }


def _schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of a type as `model.result.to_json` writes its values. Dataclasses are added to the definitions."""
    if get_origin(kind) in (Union, types.UnionType):
        return {"anyOf": [_schema(argument, definitions) for argument in get_args(kind)]}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _schema(get_args(kind)[0], definitions)}
    if get_origin(kind) in (dict, Mapping):
        return {"type": "object", "additionalProperties": _schema(get_args(kind)[1], definitions)}
    if kind is type(None):
        return {"type": "null"}
    if kind is Any:
        return {}
    if is_dataclass(kind):
        return _reference(kind, definitions)
    if issubclass(kind, GlacierbaseError):
        return {"$ref": "#/$defs/Error"}
    if issubclass(kind, Enum):
        return {"type": "string", "enum": [member.value for member in kind]}
    return dict(_SIMPLE[kind])


def _reference(kind: Any, definitions: dict[str, Schema]) -> Schema:
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # A type may contain itself.
        properties = _fields(kind, definitions)
        definitions[name] = {
            "description": _summary(kind),
            "type": "object",
            "properties": properties,
            "required": list(properties),
        }
    return {"$ref": f"#/$defs/{name}"}


def _fields(kind: Any, definitions: dict[str, Schema]) -> dict[str, Schema]:
    """Return the schemas of the fields of a dataclass, by their keys."""
    hints = get_type_hints(kind)
    return {
        key_of(field): {} if is_embedded(field) else _schema(hints[field.name], definitions)
        for field in document_fields(kind)
    }


def _summary(kind: type) -> str:
    return (kind.__doc__ or "").partition("\n\n")[0]
