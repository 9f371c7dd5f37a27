"""Values of any type with a hostile text wherever a string can be."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from glacierbase.errors import GlacierbaseError
from glacierbase.model.migration import Event
from glacierbase.secrets import Secrets
from tests.support.hostile import PAYLOAD


def planted(kind: Any) -> Any:
    """Return a value of that type with the payload wherever a string can be."""
    if kind is Any or kind is str:
        return PAYLOAD
    if get_origin(kind) in (Union, types.UnionType):
        return planted(next(each for each in get_args(kind) if each is not type(None)))
    if get_origin(kind) is tuple:
        return (planted(get_args(kind)[0]),)
    if get_origin(kind) in (dict, Mapping):
        return {PAYLOAD: planted(get_args(kind)[1])}
    if kind is Event:
        hints = get_type_hints(kind)
        columns = {field.name: planted(hints[field.name]) for field in fields(kind)}
        return Event(**{**columns, "details": json.dumps({"ci_actor": PAYLOAD})})
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{field.name: planted(hints[field.name]) for field in fields(kind)})
    if issubclass(kind, Enum):
        return next(iter(kind))
    simple: dict[Any, Any] = {
        int: 1, bool: True, datetime: datetime.now(timezone.utc), Path: Path(PAYLOAD),
        GlacierbaseError: GlacierbaseError("A_CODE", PAYLOAD, PAYLOAD, path=PAYLOAD), Secrets: Secrets(),
    }  # fmt: skip
    return simple[kind]
