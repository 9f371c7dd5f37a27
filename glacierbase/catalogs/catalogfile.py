"""A catalog file as it is written: which keys there are and what may stand behind each, whatever the environment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Mapping as Values
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from typing import Any

from glacierbase.catalogs.yamlfile import (
    MOST_ERRORS,
    Mapping,
    Node,
    Place,
    Scalar,
    Sequence,
    is_null,
    load_yaml,
    parse_yaml,
)
from glacierbase.errors import ConfigurationError, GlacierbaseError, raise_all
from glacierbase.run.files import FileReader

SHARED = "_shared.yaml"

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Each is one more rendering of every file.
_MOST_ENVIRONMENTS = 1_000
# Of an engine: each that is a secret makes the masking of every message slower.
_MOST_SETTINGS = 500

# The keys of a file, and what may stand behind each.
_ANY, _SCALAR, _SCALARS, _LIST = "anything", "a single value", "keys with single values", "a list"
_KEYS = "keys with values"
# A list with a shape in it: of single values, or of mappings of that shape.
_DEPENDENCIES: dict[str, Any] = {"dependencies": [{"coordinate": _SCALAR, "sha256": _SCALAR}], "allowFloating": _SCALAR}
_EXECUTOR = {
    "type": _SCALAR,
    "conf": {"sparkConf": _SCALARS, **_DEPENDENCIES, "connection": _KEYS},
    **_DEPENDENCIES,
}
_ENVIRONMENT = {
    "migrationExecutor": _EXECUTOR,
    "variables": _KEYS,
    "protected": _SCALAR,
    "outOfOrder": _SCALAR,
    "store": {"catalog": _SCALAR, "namespace": _SCALAR, "lockLease": _SCALAR, "type": _SCALAR},
}
_FILE = {**_ENVIRONMENT, "environments": _ANY, "defaultEnvironment": _SCALAR}


def load_catalog_file(path: Path, location: str, files: FileReader) -> Mapping:
    """One file, with nothing in it that has no meaning.

    Args:
        location: what messages call the file.
        files: the `yaml_files` of its project.

    Raises:
        ConfigurationError, SeveralErrors: `UNKNOWN_KEY`, `INVALID_VALUE` and the like, all of them.
    """
    content = load_yaml(path, location, files)
    shape = _FILE if path.name == SHARED else {"name": _SCALAR, **_FILE}
    found = chain(
        _misshapen(content, shape, ""), _misshapen_environments(content.get("environments")), _too_large(content)
    )
    raise_all(list(islice(found, MOST_ERRORS)))
    return _with_one_spelling(content)


def _misshapen_environments(environments: Node | None) -> Iterator[GlacierbaseError]:
    if isinstance(environments, Mapping):
        if len(environments.values) > _MOST_ENVIRONMENTS:
            what = f"environments: there are {len(environments.values)}, and at most {_MOST_ENVIRONMENTS} are possible"
            yield environments.place.error("INVALID_VALUE", what, "write what differs into `variables`")
        for name, node in environments.values.items():
            if not _ENVIRONMENT_NAME.fullmatch(name):
                what = f"{name!r} cannot be an environment's name"
                yield environments.keys[name].error("INVALID_NAME", what, "use letters, digits, . _ and -")
            elif not is_null(node):
                yield from _misshapen(node, _ENVIRONMENT, f"environments.{name}")
    elif environments and not is_null(environments):
        yield _expected(environments, "environments", "names with keys of their own, as in {dev: {}, prod: {}}")


def catalog_name(content: Mapping, stem: str, location: str) -> str:
    """Return the catalog's identity in history and lock: the key `name` of its file, by default the file's stem.

    Raises:
        ConfigurationError: `INVALID_NAME`.
    """
    named = content.get("name")
    name = named.text if isinstance(named, Scalar) and not is_null(named) else stem
    if not _NAME.fullmatch(name):
        place = named.place if named else Place(location, 1)
        raise place.error(
            "INVALID_NAME",
            f"{name!r} cannot be a catalog's name, which becomes part of a table's",
            "use lower-case letters, digits and _; `name:` in the file names the catalog otherwise than its file",
        )
    return name


def read_name(content: bytes, stem: str, location: str) -> str:
    """Return the name of the catalog whose file holds these bytes; nothing else in the file is checked.

    Args:
        stem: of the file.
        location: what messages call the file.

    Raises:
        ConfigurationError, SeveralErrors: `INVALID_YAML`, `DUPLICATE_KEY` or `INVALID_NAME`.
    """
    return catalog_name(parse_yaml(content, location), stem, location)


def _too_large(content: Mapping) -> Iterator[GlacierbaseError]:
    environments = content.get("environments")
    inside = environments.values.values() if isinstance(environments, Mapping) else ()
    for node in (content, *inside):
        executor = node.get("migrationExecutor") if isinstance(node, Mapping) else None
        if executor and next(islice(_nodes(executor), _MOST_SETTINGS, None), None):
            what = f"migrationExecutor: it holds more than {_MOST_SETTINGS} values"
            yield executor.place.error("INVALID_VALUE", what, "keep what the engine needs")


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    children = node.values.values() if isinstance(node, Mapping) else node.items if isinstance(node, Sequence) else ()
    for child in children:
        yield from _nodes(child)


def _misshapen(node: Node, shape: Any, path: str) -> Iterator[GlacierbaseError]:
    """Keys that do not exist, and values of the wrong kind."""
    if is_null(node) or shape == _ANY:
        return
    if isinstance(shape, dict):
        if not isinstance(node, Mapping):
            yield _expected(node, path, f"keys are expected here: {', '.join(shape)}")
            return
        for key, value in node.values.items():
            if key in shape:
                yield from _misshapen(value, shape[key], f"{path}.{key}".lstrip("."))
            else:
                yield _unknown_key(key, node.keys[key], shape, path)
    elif isinstance(shape, list) and isinstance(node, Sequence):
        for item in node.items:
            if not isinstance(item, Scalar):
                yield from _misshapen(item, shape[0], path)
    elif isinstance(shape, list):
        yield _expected(node, path, f"{_LIST} is expected here")
    elif not _has_shape(node, shape):
        yield _expected(node, path, f"{shape} is expected here")


def _has_shape(node: Node, shape: str) -> bool:
    if shape == _SCALAR:
        return isinstance(node, Scalar)
    if shape == _KEYS:
        return isinstance(node, Mapping)
    return isinstance(node, Mapping) and all(isinstance(value, Scalar) for value in node.values.values())


def _unknown_key(key: str, place: Place, shape: Values[str, Any], path: str) -> ConfigurationError:
    near = get_close_matches(key, shape, n=1)
    where = f" under {path}" if path else ""
    return place.error(
        "UNKNOWN_KEY",
        f"there is no key {key}{where}",
        f"did you mean {near[0]}?" if near else f"there are: {', '.join(shape)}",
    )


def _expected(node: Node, path: str, what: str) -> ConfigurationError:
    return node.place.error("INVALID_VALUE", f"{path or 'the file'}: wrong kind of value", what)


def _with_one_spelling(content: Mapping) -> Mapping:
    """What belongs to `dependencies` may be beside `conf` as well as in it; from here on it is in it."""
    content = _with_dependencies_in_conf(content)
    environments = content.get("environments")
    if not isinstance(environments, Mapping):
        return content
    inside = {
        name: _with_dependencies_in_conf(node) if isinstance(node, Mapping) else node
        for name, node in environments.values.items()
    }
    return _with(content, "environments", _replaced(environments, inside))


def _with_dependencies_in_conf(content: Mapping) -> Mapping:
    executor = content.get("migrationExecutor")
    if not isinstance(executor, Mapping):
        return content
    conf = executor.get("conf")
    conf = conf if isinstance(conf, Mapping) else Mapping({}, executor.place)
    values = dict(executor.values)
    for key in [key for key in _DEPENDENCIES if key in values]:
        if key in conf.values:
            raise executor.keys[key].error("DUPLICATE_KEY", f"{key} is here and under conf", "keep one of them")
        conf = _with(conf, key, values.pop(key))
    if len(values) == len(executor.values):
        return content
    return _with(content, "migrationExecutor", _replaced(executor, {**values, "conf": conf}))


def _with(node: Mapping, key: str, value: Node) -> Mapping:
    return _replaced(node, {**node.values, key: value})


def _replaced(node: Mapping, values: dict[str, Node]) -> Mapping:
    return Mapping(values, node.place, {key: node.keys.get(key, node.place) for key in values})
