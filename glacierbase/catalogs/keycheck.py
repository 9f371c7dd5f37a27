"""Check the keys of a catalog file, and the kinds of their values, against the table in `keys`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glacierbase.catalogs.nodes import MappingNode, Node, ScalarNode, SequenceNode, is_null
from glacierbase.errors import ConfigurationError
from glacierbase.executors import OWN
from glacierbase.model.keys import Key, Kind
from glacierbase.model.spelling import did_you_mean
from glacierbase.model.values import ENVIRONMENT_NAME
from glacierbase.run.packages import EXECUTORS, names_in

# Every file is rendered in each of them.
_MOST_ENVIRONMENTS = 1_000


def wrong_keys(node: Node, keys: Sequence[Key], path: str = "") -> Iterator[ConfigurationError]:
    """Yield an error for each unknown key and each value of the wrong kind; null is allowed for every key.

    Args:
        path: of the keys that lead to `node`.
    """
    if is_null(node):
        return
    if not isinstance(node, MappingNode):
        yield _wrong_kind(node, path, f"keys are expected here: {', '.join(key.name for key in keys)}")
        return
    known = {key.name: key for key in keys}
    for name, value in node.values.items():
        if name in known:
            yield from _wrong_value(value, known[name], f"{path}.{name}".lstrip("."))
        else:
            yield _unknown_key(name, node, list(known), path)


def unknown_engine(written: ScalarNode) -> ConfigurationError:
    """Return the error for a type of engine that neither glacierbase nor an installed package has."""
    what = f"migrationExecutor.type: {written.text!r} is not {' or '.join((*OWN, *names_in(EXECUTORS)))}"
    hint = f"correct the value, or install the package that adds it by an entry point of the group {EXECUTORS}"
    return written.place.error("INVALID_VALUE", what, hint)


def _wrong_value(node: Node, key: Key, path: str) -> Iterator[ConfigurationError]:
    if key.kind is Kind.GROUP:
        yield from wrong_keys(node, key.keys, path)
    elif key.kind is Kind.ENVIRONMENTS:
        yield from _wrong_environments(node, key.keys)
    elif not is_null(node) and not _fits(node, key.kind):
        yield _wrong_kind(node, path, f"{key.kind} is expected here{_as_list(node, key.kind)}")
    elif isinstance(node, SequenceNode):
        for item in node.items:
            if key.kind is Kind.MAPPINGS or is_null(item) or not isinstance(item, ScalarNode):
                yield from _wrong_item(item, key, path)


def _wrong_item(item: Node, key: Key, path: str) -> Iterator[ConfigurationError]:
    if key.keys:
        yield from wrong_keys(item, key.keys, path)
    else:
        yield _wrong_kind(item, path, "a list of single values is expected here")


def _as_list(node: Node, kind: Kind) -> str:
    """Return how a single value begins as a list. Its other words may hold a secret."""
    if kind is not Kind.LIST or not isinstance(node, ScalarNode):
        return ""
    first, *others = node.text.split() or [""]
    return f": [{first}{', …' if others else ''}]"


def _wrong_environments(node: Node, keys: Sequence[Key]) -> Iterator[ConfigurationError]:
    if is_null(node):
        return
    if not isinstance(node, MappingNode):
        yield _wrong_kind(
            node, "environments", f"{Kind.ENVIRONMENTS} are expected here, as in {{dev: {{}}, prod: {{}}}}"
        )
        return
    if len(node.values) > _MOST_ENVIRONMENTS:
        what = f"environments: there are {len(node.values)}, and at most {_MOST_ENVIRONMENTS} are possible"
        yield node.place.error("INVALID_VALUE", what, "write what differs into `variables`")
    for name, content in node.values.items():
        try:
            ENVIRONMENT_NAME.convert(name)
        except ValueError:
            what = f"{name!r} cannot be an environment's name"
            yield node.keys[name].error("INVALID_NAME", what, "use letters, digits, . _ and -")
        else:
            yield from wrong_keys(content, keys, f"environments.{name}")


def _fits(node: Node, kind: Kind) -> bool:
    if kind is Kind.VALUE:
        return isinstance(node, ScalarNode)
    if kind in (Kind.LIST, Kind.MAPPINGS):
        return isinstance(node, SequenceNode)
    return isinstance(node, MappingNode) and (
        kind is Kind.KEYS or all(isinstance(value, ScalarNode) for value in node.values.values())
    )


def _unknown_key(name: str, node: MappingNode, known: Sequence[str], path: str) -> ConfigurationError:
    where = f" under {path}" if path else ""
    hint = did_you_mean(name, known, f"allowed: {', '.join(known)}")
    return node.keys[name].error("UNKNOWN_KEY", f"unknown key {name}{where}", hint)


def _wrong_kind(node: Node, path: str, expected: str) -> ConfigurationError:
    return node.place.error("INVALID_VALUE", f"{path or 'the file'}: wrong kind of value", expected)
