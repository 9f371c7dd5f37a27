"""The content of a YAML file, with the line of each value and key; merging one mapping over another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from glacierbase.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class YamlPlace:
    """A line of a file, counted from 1."""

    file: str
    line: int

    def error(self, code: str, what: str, hint: str) -> ConfigurationError:
        """Return a configuration error whose message begins with this place."""
        return ConfigurationError(code, f"{self.file}, line {self.line}: {what}", hint, path=self.file, line=self.line)


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A single value, and its text as written."""

    value: str | int | float | bool | None
    text: str
    place: YamlPlace


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list."""

    items: tuple[Node, ...]
    place: YamlPlace


@dataclass(frozen=True, slots=True)
class MappingNode:
    """Keys with values; `keys` holds the place of each key."""

    values: dict[str, Node]
    place: YamlPlace
    keys: dict[str, YamlPlace] = field(default_factory=dict)

    def get(self, *path: str) -> Node | None:
        """Return the value at a path of keys, or None where one of them is absent."""
        found: Node | None = self
        for key in path:
            found = found.values.get(key) if isinstance(found, MappingNode) else None
        return found


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


def is_null(node: Node | None) -> bool:
    """Return whether the value is null, written or left out after its key."""
    return isinstance(node, ScalarNode) and node.value is None


def merge(base: MappingNode, over: MappingNode) -> MappingNode:
    """Return `over` merged over `base`: mappings merge by key, other values replace, null removes."""
    values = dict(base.values)
    for key, node in over.values.items():
        if is_null(node):
            values.pop(key, None)
        elif isinstance(node, MappingNode):
            below = values.get(key)
            values[key] = merge(below if isinstance(below, MappingNode) else MappingNode({}, node.place), node)
        else:
            values[key] = node
    return MappingNode(values, over.place, {**base.keys, **over.keys})
