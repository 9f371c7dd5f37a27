"""The data in a page of `report`, read as its script reads it."""

from __future__ import annotations

import json
import re
from typing import Any


def in_page(text: str) -> Any:
    """Return the data of a page."""
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return opened(json.loads(data))


def opened(content: dict[str, Any]) -> Any:
    """Return a packed value; truth values are numbers."""

    def value(reference: int | None) -> Any:
        if reference is None or reference < 0:
            return None if reference is None else -1 - reference
        node = content["nodes"][reference]
        if isinstance(node, str):
            return node
        kind, *parts = node
        items = [value(each) for each in parts]
        return items if kind == -1 else dict(zip(content["shapes"][kind], items, strict=True))

    return value(content["root"])
