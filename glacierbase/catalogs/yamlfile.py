"""YAML files: read into nodes that keep the line of each value and key; merging one mapping over another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from glacierbase.errors import ConfigurationError, GlacierbaseError, raise_all
from glacierbase.run.files import FileReader, FileRefused

# Aliases of aliases can expand to more values than fit into memory.
_MOST_NODES = 100_000
# Open brackets: PyYAML's work for each token grows with their number.
_DEEPEST = 100
_MOST_BYTES, _MOST_BYTES_IN_ALL = 2**20, 16 * 2**20
# For one file or environment; more would only lengthen the output.
MOST_ERRORS = 100
# Python refuses to convert numbers of thousands of digits, which a tag such as !!int allows.
_LONGEST_NUMBER = 40
_TOO_DEEP = "it is nested too deeply"
_TAG = "tag:yaml.org,2002:"


def yaml_files(root: Path) -> FileReader:
    """Return the reader of a project's YAML files; its limits allow what can be parsed in a minute or two."""
    return FileReader(root, _MOST_BYTES, _MOST_BYTES_IN_ALL)


def load_yaml(path: Path, location: str, files: FileReader) -> MappingNode:
    """Return the mapping that a file contains; an empty file contains an empty one.

    Args:
        location: the file's name in messages.
        files: the `yaml_files` of its project.

    Raises:
        ConfigurationError, SeveralErrors: `UNREADABLE_FILE`, `OUTSIDE_PROJECT`, `INVALID_YAML`, and every `DUPLICATE_KEY`.
    """
    try:
        content = files.read(path)
    except FileRefused as error:
        raise YamlPlace(location, 1).error(error.code, error.what, error.hint) from error
    return parse_yaml(content, location)


def parse_yaml(content: bytes, location: str) -> MappingNode:
    """Return the mapping that these bytes of a file contain.

    Args:
        location: the file's name in messages.

    Raises:
        ConfigurationError, SeveralErrors: `INVALID_YAML`, and every `DUPLICATE_KEY`.
    """
    reader = _Reader(location)
    try:
        root = yaml.compose(content, Loader=_CoreLoader)
        node = reader.read(root) if root else MappingNode({}, YamlPlace(location, 1))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "this is not YAML in UTF-8"
        raise _invalid(YamlPlace(location, mark.line + 1 if mark else 1), what) from error
    except (ValueError, OverflowError) as error:
        what = "an escape or a version number in it is out of range"
        raise _invalid(YamlPlace(location, 1), what) from error
    except RecursionError as error:
        raise _invalid(YamlPlace(location, 1), _TOO_DEEP) from error
    raise_all(reader.errors[:MOST_ERRORS])
    if not isinstance(node, MappingNode):
        raise _invalid(node.place, "keys and values are expected here")
    return node


class _CoreLoader(yaml.BaseLoader):
    """PyYAML's parser with the scalar types of the core schema, and limits of nodes and of open brackets."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            problem = f"it holds more than {_MOST_NODES} values"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=self.peek_event().start_mark)  # type: ignore[no-untyped-call]
        return super().compose_node(parent, index)

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803 (PyYAML's)
        if self.flow_level >= _DEEPEST:
            raise yaml.MarkedYAMLError(problem=_TOO_DEEP, problem_mark=self.get_mark())
        super().fetch_flow_collection_start(TokenClass)


for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,30})|0o[0-7]{1,30}|0x[0-9a-fA-F]{1,30}", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]{0,30})(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,2})?",
        list("-+.0123456789"),
    ),
):
    _CoreLoader.add_implicit_resolver(_TAG + _name, re.compile(rf"^(?:{_pattern})$"), _first)


class _Reader:
    """Convert PyYAML's nodes, and collect duplicate keys."""

    def __init__(self, location: str) -> None:
        self.errors: list[GlacierbaseError] = []
        self._location = location
        self._count = 0
        self._open: set[int] = set()

    def read(self, node: Any) -> Node:
        place = YamlPlace(self._location, node.start_mark.line + 1)
        self._count += 1
        if self._count > _MOST_NODES or id(node) in self._open:
            raise _invalid(place, "its aliases expand to too many values, or to themselves")
        self._open.add(id(node))
        try:
            return self._read(node, place)
        finally:
            self._open.discard(id(node))

    def _read(self, node: Any, place: YamlPlace) -> Node:
        kind = node.tag.removeprefix(_TAG)
        if isinstance(node, yaml.ScalarNode):
            _check_characters(node.value, place)
        if isinstance(node, yaml.ScalarNode) and kind in _VALUES:
            return ScalarNode(_converted(node.value, kind, place), node.value, place)
        if isinstance(node, yaml.SequenceNode) and kind == "seq":
            return SequenceNode(tuple(self.read(item) for item in node.value), place)
        if isinstance(node, yaml.MappingNode) and kind == "map":
            pairs = list(self._pairs(node))
            return MappingNode({key: value for key, _, value in pairs}, place, {key: where for key, where, _ in pairs})
        raise _invalid(place, f"unsupported tag {node.tag}")

    def _pairs(self, node: Any) -> Iterator[tuple[str, YamlPlace, Node]]:
        places: dict[str, YamlPlace] = {}
        for key_node, value_node in node.value:
            place = YamlPlace(self._location, key_node.start_mark.line + 1)
            if not isinstance(key_node, yaml.ScalarNode):
                raise _invalid(place, "a key must be a single value")
            key = key_node.value
            _check_characters(key, place)
            if key == "<<":
                what = "merge keys (<<) are not part of YAML 1.2; write what catalogs share into _shared.yaml"
                raise _invalid(place, what)
            if key in places:
                what = f"duplicate key {key}; first defined on line {places[key].line}"
                self.errors.append(place.error("DUPLICATE_KEY", what, "keep one of them"))
            places[key] = place
            yield key, place, self.read(value_node)


_VALUES: dict[str, Any] = {
    "str": str,
    "null": lambda _: None,
    "bool": lambda text: text.lower() == "true",
    "int": lambda text: int(text, 0),
    "float": float,
}


def _converted(text: str, kind: str, place: YamlPlace) -> Any:
    """Return a scalar's value; a tag such as `!!int` may be written before any text."""
    try:
        if kind in ("int", "float") and len(text) > _LONGEST_NUMBER:
            raise ValueError("too long")
        return _VALUES[kind](text)
    except ValueError as error:
        raise _invalid(place, f"{text[:_LONGEST_NUMBER]!r} is not of type {kind}") from error


def _check_characters(text: str, place: YamlPlace) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _invalid(place, "half of a character, from an escape such as \\ud800")


def _invalid(place: YamlPlace, what: str) -> ConfigurationError:
    return place.error("INVALID_YAML", what, "correct the YAML; an editor with a YAML mode marks the error")


@dataclass(frozen=True, slots=True)
class YamlPlace:
    """A line of a file, counted from 1."""

    file: str
    line: int

    def error(self, code: str, what: str, hint: str, **data: Any) -> ConfigurationError:
        """Return a configuration error whose message begins with this place."""
        return ConfigurationError(
            code, f"{self.file}, line {self.line}: {what}", hint, path=self.file, line=self.line, **data
        )


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
        node: Node | None = self
        for key in path:
            node = node.values.get(key) if isinstance(node, MappingNode) else None
        return node


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
