"""The noun `Key`: a key of a catalog file, as the loader checks it, the reference shows it, and editors complete it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from glacierbase.model.values import TEXT, ValueType


class Kind(str, Enum):
    """What may be written as the value of a key, in words."""

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
        type: of a single value, or of the single values in a list.
        default: as it would be written; None where the key has no fixed default.
        keys: of a group, or of the mappings in a list.
        engine: the only `migrationExecutor.type` that the key is allowed for; None where all are.
        fixed: the keys inside it that glacierbase sets itself.
        names: what a name is, in a mapping whose names the user chooses; None where it may be any.
        required: whether the mapping that the key belongs to must have it.
        resolved: whether references in the value are resolved.
        secrets: whether they may be references to secrets.
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
