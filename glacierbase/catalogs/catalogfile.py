"""Read one catalog file as written, run the checks that need no environment, and normalize its spelling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TypeGuard

from glacierbase.catalogs.keys import BESIDE_CONF, FILE_KEYS, KEYS, file_keys, unknown_engine, wrong_keys
from glacierbase.catalogs.yamlfile import (
    MOST_ERRORS,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    YamlPlace,
    is_null,
    load_yaml,
    parse_yaml,
)
from glacierbase.errors import ConfigurationError, raise_all
from glacierbase.executors import engine_type, engine_types
from glacierbase.model.keys import CATALOG_NAME
from glacierbase.run.files import FileReader

SHARED = "_shared.yaml"

# Any setting of an engine may be a secret, and masking a message takes longer with each secret.
_MOST_SETTINGS = 500


def load_catalog_file(path: Path, location: str, files: FileReader) -> MappingNode:
    """Return the content of one catalog file, its keys and kinds of values checked.

    Args:
        location: the file's name in messages.
        files: the `yaml_files` of its project.

    Raises:
        ConfigurationError, SeveralErrors: `UNKNOWN_KEY`, `INVALID_VALUE` and the like, all of them.
    """
    content = load_yaml(path, location, files)
    errors = chain(_wrong_keys(content, is_shared=path.name == SHARED), _too_large(content))
    raise_all(list(islice(errors, MOST_ERRORS)))
    return _with_one_spelling(content)


def catalog_name(content: MappingNode, stem: str, location: str) -> str:
    """Return the catalog's identity in history and lock: the key `name` of its file, by default the file's stem.

    Raises:
        ConfigurationError: `INVALID_NAME`.
    """
    named = content.get("name")
    name = named.text if isinstance(named, ScalarNode) and not is_null(named) else stem
    try:
        return str(CATALOG_NAME.convert(name))
    except ValueError as error:
        place = named.place if named else YamlPlace(location, 1)
        raise place.error(
            "INVALID_NAME",
            f"{name!r} cannot be a catalog's name, which becomes part of a table's",
            "use lower-case letters, digits and _; the key `name` names a catalog whose file has another name",
        ) from error


def read_name(content: bytes, stem: str, location: str) -> str:
    """Return the name of the catalog whose file has this content; nothing else in the file is checked.

    Args:
        stem: of the file.
        location: the file's name in messages.

    Raises:
        ConfigurationError, SeveralErrors: `INVALID_YAML`, `DUPLICATE_KEY` or `INVALID_NAME`.
    """
    return catalog_name(parse_yaml(content, location), stem, location)


def _wrong_keys(content: MappingNode, *, is_shared: bool) -> Iterator[ConfigurationError]:
    """Yield an error for each wrong key. Other packages are searched for a key only if no engine of glacierbase has it.

    Which keys an environment may have depends on its engine, which another file or a reference may name.
    """
    keys, own = FILE_KEYS, {key.name for key in KEYS["migrationExecutor.conf"].keys}
    confs = _in_layers(content, "migrationExecutor", "conf")
    if any(isinstance(conf, MappingNode) and not own.issuperset(conf.values) for conf in confs):
        keys = file_keys(engine_types())
        for written in _in_layers(content, "migrationExecutor", "type"):
            if _is_literal(written) and not engine_type(written.text):
                yield unknown_engine(written)
    yield from wrong_keys(content, keys[1:] if is_shared else keys)


def _is_literal(node: Node) -> TypeGuard[ScalarNode]:
    return isinstance(node, ScalarNode) and not is_null(node) and "${" not in node.text


def _in_layers(content: MappingNode, *path: str) -> Iterator[Node]:
    """Yield the nodes at a path of keys in the file and in each of its environments."""
    environments = content.get("environments")
    inside = environments.values.values() if isinstance(environments, MappingNode) else ()
    nodes = (node.get(*path) for node in (content, *inside) if isinstance(node, MappingNode))
    yield from (node for node in nodes if node)


def _too_large(content: MappingNode) -> Iterator[ConfigurationError]:
    for executor in _in_layers(content, "migrationExecutor"):
        if next(islice(_nodes(executor), _MOST_SETTINGS, None), None):
            what = f"migrationExecutor: it holds more than {_MOST_SETTINGS} values"
            yield executor.place.error("INVALID_VALUE", what, "keep only what the engine needs")


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    children: Iterable[Node] = ()
    if isinstance(node, MappingNode):
        children = node.values.values()
    elif isinstance(node, SequenceNode):
        children = node.items
    for child in children:
        yield from _nodes(child)


def _with_one_spelling(content: MappingNode) -> MappingNode:
    """Move the keys of dependencies into `conf`, at the top and in every environment."""
    content = _with_dependencies_in_conf(content)
    environments = content.get("environments")
    if not isinstance(environments, MappingNode):
        return content
    inside = {
        name: _with_dependencies_in_conf(node) if isinstance(node, MappingNode) else node
        for name, node in environments.values.items()
    }
    return _with(content, "environments", _replaced(environments, inside))


def _with_dependencies_in_conf(content: MappingNode) -> MappingNode:
    executor = content.get("migrationExecutor")
    if not isinstance(executor, MappingNode):
        return content
    conf = executor.get("conf")
    conf = conf if isinstance(conf, MappingNode) else MappingNode({}, executor.place)
    values = dict(executor.values)
    for key in [key for key in BESIDE_CONF if key in values]:
        if key in conf.values:
            what = f"duplicate key {key}: beside conf and under conf"
            raise executor.keys[key].error("DUPLICATE_KEY", what, "keep one of them")
        conf = _with(conf, key, values.pop(key))
    if len(values) == len(executor.values):
        return content
    return _with(content, "migrationExecutor", _replaced(executor, {**values, "conf": conf}))


def _with(node: MappingNode, key: str, value: Node) -> MappingNode:
    return _replaced(node, {**node.values, key: value})


def _replaced(node: MappingNode, values: dict[str, Node]) -> MappingNode:
    return MappingNode(values, node.place, {key: node.keys.get(key, node.place) for key in values})
