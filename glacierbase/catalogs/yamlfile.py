"""YAML files that know their lines: what a file holds, where each value stands, and merging one over another.

Plain scalars mean what the YAML 1.2 core schema says (https://yaml.org/spec/1.2.2/#103-core-schema): `no` and `on` are text,
not booleans. One exception: digits with a leading zero stay text, as in an account number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from glacierbase.catalogs.nodes import Mapping, Node, Place, Scalar, Sequence
from glacierbase.errors import ConfigurationError, GlacierbaseError, raise_all
from glacierbase.run.files import FileReader, FileRefused

# Aliases of aliases can stand for more than any machine holds.
_MOST_NODES = 100_000
_MOST_BYTES, _MOST_BYTES_IN_ALL = 2**20, 16 * 2**20
# More errors of one file than this are of no use to anybody.
MOST_ERRORS = 100
# Of a number; that of a tag may otherwise have more digits than Python converts.
_LONGEST_NUMBER = 40
_TAG = "tag:yaml.org,2002:"


def yaml_files(root: Path) -> FileReader:
    """What reads the YAML files of a project, and no more of them than can be parsed in a minute or two."""
    return FileReader(root, _MOST_BYTES, _MOST_BYTES_IN_ALL)


def load_yaml(path: Path, location: str, files: FileReader) -> Mapping:
    """Read a file that holds one mapping; an empty file holds an empty one.

    Args:
        location: what messages call the file.
        files: the `yaml_files` of its project.

    Raises:
        ConfigurationError, SeveralErrors: `UNREADABLE_FILE`, `OUTSIDE_PROJECT`, `INVALID_YAML`, and every `DUPLICATE_KEY`.
    """
    try:
        content = files.read(path)
    except FileRefused as error:
        raise Place(location, 1).error(error.code, error.what, error.hint) from error
    return parse_yaml(content, location)


def parse_yaml(content: bytes, location: str) -> Mapping:
    """Return the mapping that a file's bytes hold.

    Args:
        location: what messages call the file.

    Raises:
        ConfigurationError, SeveralErrors: `INVALID_YAML`, and every `DUPLICATE_KEY`.
    """
    reader = _Reader(location)
    try:
        root = yaml.compose(content, Loader=_CoreLoader)
        node = reader.read(root) if root else Mapping({}, Place(location, 1))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "this is not YAML in UTF-8"
        raise _invalid(Place(location, mark.line + 1 if mark else 1), what) from error
    except (ValueError, OverflowError) as error:
        raise _invalid(
            Place(location, 1), "an escape or a version in it is beyond all characters or numbers"
        ) from error
    except RecursionError as error:
        raise _invalid(Place(location, 1), "it is nested too deeply") from error
    raise_all(reader.errors[:MOST_ERRORS])
    if not isinstance(node, Mapping):
        raise _invalid(node.place, "keys and values are expected here")
    return node


class _CoreLoader(yaml.BaseLoader):
    """The parser of the YAML library, with the scalars of the core schema."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            problem = f"it holds more than {_MOST_NODES} values"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=self.peek_event().start_mark)  # type: ignore[no-untyped-call]
        return super().compose_node(parent, index)


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
    """Turns the parser's nodes into ours; collects what is wrong on the way."""

    def __init__(self, location: str) -> None:
        self.errors: list[GlacierbaseError] = []
        self._location = location
        self._count = 0
        self._open: set[int] = set()

    def read(self, node: Any) -> Node:
        place = Place(self._location, node.start_mark.line + 1)
        self._count += 1
        if self._count > _MOST_NODES or id(node) in self._open:
            raise _invalid(place, "its aliases stand for too much, or for themselves")
        self._open.add(id(node))
        try:
            return self._read(node, place)
        finally:
            self._open.discard(id(node))

    def _read(self, node: Any, place: Place) -> Node:
        kind = node.tag.removeprefix(_TAG)
        if isinstance(node, yaml.ScalarNode):
            _check_characters(node.value, place)
        if isinstance(node, yaml.ScalarNode) and kind in _VALUES:
            try:
                if kind in ("int", "float") and len(node.value) > _LONGEST_NUMBER:
                    raise ValueError("too long")
                return Scalar(_VALUES[kind](node.value), node.value, place)
            except ValueError as error:  # A tag that was written, on something else.
                raise _invalid(place, f"{node.value[:_LONGEST_NUMBER]!r} is no {kind}") from error
        if isinstance(node, yaml.SequenceNode) and kind == "seq":
            return Sequence(tuple(self.read(item) for item in node.value), place)
        if isinstance(node, yaml.MappingNode) and kind == "map":
            pairs = list(self._pairs(node))
            return Mapping({key: value for key, _, value in pairs}, place, {key: where for key, where, _ in pairs})
        raise _invalid(place, f"the tag {node.tag} means nothing here")

    def _pairs(self, node: Any) -> Iterator[tuple[str, Place, Node]]:
        seen: dict[str, Place] = {}
        for key_node, value_node in node.value:
            place = Place(self._location, key_node.start_mark.line + 1)
            if not isinstance(key_node, yaml.ScalarNode):
                raise _invalid(place, "a key is a single word or text")
            key = key_node.value
            _check_characters(key, place)
            if key == "<<":
                raise _invalid(
                    place,
                    "merge keys (<<) are not part of YAML 1.2; what catalogs share goes into _shared.yaml",
                )
            if key in seen:
                what = f"the key {key} stands here again; first in line {seen[key].line}"
                self.errors.append(place.error("DUPLICATE_KEY", what, "keep one of them"))
            seen[key] = place
            yield key, place, self.read(value_node)


_VALUES: dict[str, Any] = {
    "str": str,
    "null": lambda _: None,
    "bool": lambda text: text.lower() == "true",
    "int": lambda text: int(text, 0),
    "float": float,
}


def _check_characters(text: str, place: Place) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _invalid(place, "half of a character stands here, by an escape such as \\ud800")


def _invalid(place: Place, what: str) -> ConfigurationError:
    return place.error("INVALID_YAML", what, "correct the YAML; an editor with a YAML mode shows the place")
