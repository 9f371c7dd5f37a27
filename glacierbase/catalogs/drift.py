"""What a catalog file says about `drift`: differences that somebody decided to ignore, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.catalogs.keys import KEYS
from glacierbase.catalogs.nodes import MappingNode, Node, ScalarNode, SequenceNode
from glacierbase.errors import ConfigurationError, raise_all
from glacierbase.model.catalog import DriftRule

_PATH = "drift.ignore"
_FORM = "write `{table: lake.events.*, what: property write.*, reason: why it is in order}`"


def drift_rules(content: MappingNode) -> tuple[DriftRule, ...]:
    """Return the rules of one environment.

    Raises:
        ConfigurationError, SeveralErrors: a rule is not whole, or there are too many.
    """
    node = content.get(*_PATH.split("."))
    items = node.items if isinstance(node, SequenceNode) else ()
    if isinstance(node, SequenceNode) and len(items) > _MOST:
        raise _too_many(node, _PATH, len(items))
    raise_all([error for item in items for error in _wrong_rule(item)])
    return tuple(_rule(item) for item in items if isinstance(item, MappingNode))


def _rule(item: MappingNode) -> DriftRule:
    table, what, reason = (_text(item, key.name) or key.default or "" for key in KEYS[_PATH].keys)
    return DriftRule(table, what, reason)


def _wrong_rule(item: Node) -> Iterator[ConfigurationError]:
    if not isinstance(item, MappingNode):
        yield item.place.error("INVALID_VALUE", f"{_PATH}: a mapping is expected here", _FORM)
        return
    for key in KEYS[_PATH].keys:
        text = _text(item, key.name)
        if key.required and text is None:
            yield item.place.error("MISSING_KEY", f"{_PATH}: {key.name} is missing", _FORM)
        elif text is not None and not key.type.accepts(text):
            what = f"{_PATH}: {key.name} is not {key.type.expected}"
            yield item.keys[key.name].error("INVALID_VALUE", what, _FORM)


def _text(item: MappingNode, name: str) -> str | None:
    node = item.get(name)
    return node.text if isinstance(node, ScalarNode) else None
