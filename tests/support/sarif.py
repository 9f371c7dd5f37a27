"""The part of SARIF 2.1.0 that glacierbase writes, as a JSON Schema that allows nothing else.

Written after https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html: names, types, values and required properties are
those of the standard, and what the standard makes optional is required where glacierbase always writes it.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(of: Schema, **limits: int) -> Schema:
    return {"type": "array", "items": of, **limits}


_TEXT: Schema = {"type": "string", "minLength": 1}
_MESSAGE = _object(text=_TEXT)
_LEVEL: Schema = {"enum": ["none", "note", "warning", "error"]}
_FROM_1: Schema = {"type": "integer", "minimum": 1}
_FROM_0: Schema = {"type": "integer", "minimum": 0}
_URI: Schema = {"type": "string", "pattern": r"^[A-Za-z0-9._~/%-]+$"}
_RULE = _object(id=_TEXT, shortDescription=_MESSAGE, help=_MESSAGE, defaultConfiguration=_object(level=_LEVEL))
_PLACE = _object(
    physicalLocation=_object(artifactLocation=_object(uri=_URI), region=_object(startLine=_FROM_1, startColumn=_FROM_1))
)
_NOTIFICATION = _object(descriptor=_object(id=_TEXT), level=_LEVEL, message=_MESSAGE)
_RESULT = _object(
    ruleId=_TEXT,
    ruleIndex=_FROM_0,
    level=_LEVEL,
    message=_MESSAGE,
    locations=_list(_PLACE, minItems=1),
    partialFingerprints={"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
    suppressions=_list(_object(kind={"enum": ["inSource", "external"]}, justification={"type": "string"})),
)
_RUN = _object(
    tool=_object(driver=_object(name=_TEXT, version=_TEXT, rules=_list(_RULE))),
    invocations=_list(
        _object(
            executionSuccessful={"type": "boolean"},
            exitCode={"type": "integer"},
            toolExecutionNotifications=_list(_NOTIFICATION),
        )
    ),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=_list(_RESULT),
)
SARIF: Schema = _object(
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs=_list(_RUN, minItems=1, maxItems=1),
)
