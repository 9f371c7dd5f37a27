"""Values of a JSON document as HTML tables, for notebooks: text and tables only, every value escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from glacierbase.model.escape import escaped

# A notebook stores its output; the history of years would make it unusable.
_MOST_ROWS = 500
# Notebooks align the cells of tables to the right.
_LEFT = 'style="text-align:left"'


def to_html(value: Any) -> str:
    """Return the HTML of a value of JSON's types; a list of objects becomes a table. Null values are left out."""
    if isinstance(value, Mapping):
        return _table(f"<tr>{_heading(key)}{_cell(item)}</tr>" for key, item in value.items() if item is not None)
    if not isinstance(value, list):
        return _text(str(value).lower() if isinstance(value, bool) else str(value))
    if not value:
        return "none"
    if all(isinstance(item, Mapping) for item in value):
        return _rows(value)
    return ", ".join(map(to_html, value))


def _rows(items: Sequence[Mapping[str, Any]]) -> str:
    shown = items[-_MOST_ROWS:]
    keys = [key for key in dict.fromkeys(key for item in shown for key in item) if _has_value(shown, key)]
    header = f"<tr>{''.join(map(_heading, keys))}</tr>"
    rows = (f"<tr>{''.join(_cell(item.get(key)) for key in keys)}</tr>" for item in shown)
    left_out = f"the last {len(shown)} of {len(items)}" if len(shown) < len(items) else ""
    return left_out + _table([header, *rows])


def _has_value(items: Sequence[Mapping[str, Any]], key: str) -> bool:
    return any(item.get(key) is not None for item in items)


def _table(rows: Iterable[str]) -> str:
    return f"<table>{''.join(rows)}</table>"


def _heading(key: str) -> str:
    return f"<th {_LEFT}>{_text(key)}</th>"


def _cell(value: Any) -> str:
    return f"<td {_LEFT}>{'' if value is None else to_html(value)}</td>"


def _text(text: str) -> str:
    lines = [escape(escaped(line)) for line in text.split("\n")]
    return lines[0] if len(lines) == 1 else f"<pre>{chr(10).join(lines)}</pre>"
