"""The headers that a catalog file allows in its migration files, beside description and author."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from glacierbase.catalogs.keys import KEYS
from glacierbase.catalogs.nodes import MappingNode, ScalarNode
from glacierbase.errors import ConfigurationError, raise_all
from glacierbase.model.values import HEADER_NAME

# Finding the nearest spelling of an unknown header compares it with each.
_MOST_HEADERS = 100


def listed_headers(content: MappingNode) -> Mapping[str, bool]:
    """Return the names of the listed headers, and whether each is required.

    Args:
        content: of the catalog file, merged over the shared one.

    Raises:
        ConfigurationError, SeveralErrors: a name cannot be a header's, or a value is neither `required` nor `optional`.
    """
    node = content.get("headers")
    if not isinstance(node, MappingNode):
        return {}
    raise_all(list(_wrong_headers(node)))
    return {name: value.text == "required" for name, value in node.values.items() if isinstance(value, ScalarNode)}


def _wrong_headers(node: MappingNode) -> Iterator[ConfigurationError]:
    if len(node.values) > _MOST_HEADERS:
        yield node.place.error("INVALID_VALUE", f"headers: there are {len(node.values)}", f"list at most {_MOST_HEADERS}")
        return
    for name, value in node.values.items():
        if not HEADER_NAME.accepts(name):
            what = f"headers: {name!r} is not {HEADER_NAME.expected}"
            yield node.keys.get(name, node.place).error("INVALID_NAME", what, "list it as in `TICKET: required`")
        elif not isinstance(value, ScalarNode) or value.text not in ("required", "optional"):
            what = f"headers.{name}: this is not {KEYS['headers'].type.expected}"
            yield value.place.error("INVALID_VALUE", what, f"write {name}: required, or {name}: optional")
