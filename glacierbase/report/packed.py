"""JSON values in little space: each text, and each object or list that occurs several times, is written once.

A packed value is `{"shapes": [[key...]...], "nodes": [...], "root": reference}`. A reference is null, the place of a node, or
-1 - N for the number N; truth values are the numbers 1 and 0. A node is a text; or a list of -1 and the references of the items of
a list; or a list of the place of a shape, and a reference for each of its keys. The page opens a node when it shows it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from glacierbase.model.escape import escaped

Reference: TypeAlias = int | None


def packed(value: Any) -> str:
    """Return a value of JSON's types, packed, as text for a `script` element: no text can end the element.

    Control characters in texts, and those that change the direction of text, become visible escapes.
    """
    packer = _Packer()
    root = packer.add(value)
    content = {
        "shapes": [list(map(_visible, keys)) for keys in packer.shapes],
        "nodes": list(map(_node, packer.nodes)),
        "root": root,
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _node(key: str | tuple[Reference, ...]) -> object:
    return _visible(key) if isinstance(key, str) else key


def _visible(text: str) -> str:
    return "\n".join(map(escaped, text.split("\n")))


class _Packer:
    """Nodes and shapes, each once, by the order of their first use."""

    def __init__(self) -> None:
        self.nodes: dict[str | tuple[Reference, ...], int] = {}
        self.shapes: dict[tuple[str, ...], int] = {}

    def add(self, value: Any) -> Reference:
        """Return the reference of a value."""
        if value is None:
            return None
        if isinstance(value, int) and value >= 0:
            return -1 - value
        if isinstance(value, Mapping):
            shape = self.shapes.setdefault(tuple(value), len(self.shapes))
            return self._place((shape, *(self.add(each) for each in value.values())))
        if isinstance(value, (list, tuple)):
            return self._place((-1, *(self.add(each) for each in value)))
        return self._place(str(value))

    def _place(self, node: str | tuple[Reference, ...]) -> int:
        return self.nodes.setdefault(node, len(self.nodes))
