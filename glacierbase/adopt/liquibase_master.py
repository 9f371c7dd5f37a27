"""Read a changelog of Liquibase in YAML or XML as far as it includes others and defines properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.parsers import expat

from glacierbase.adopt.foreign import NotMapped
from glacierbase.adopt.liquibase_sql import Include, Property
from glacierbase.catalogs.yamlfile import MappingNode, ScalarNode, SequenceNode, parse_yaml
from glacierbase.errors import ConfigurationError, GlacierbaseError

_ROOT = "databasechangelog"
_CHANGES = "its changes are not SQL of their own; write the SQL (`liquibase update-sql` prints it) as a migration"


def read_master(text: str, path: str) -> tuple[list[Include | Property], list[NotMapped]]:
    """Return the includes and properties of a changelog, in order, and what it holds besides.

    Args:
        path: for messages; XML where it ends in `.xml`, else YAML.
    """
    parts: list[Include | Property] = []
    not_mapped: list[NotMapped] = []
    elements = _xml if path.lower().endswith(".xml") else _yaml
    try:
        for name, attributes, line in elements(text, path):
            part = _part(name, attributes, line)
            if part is not None:
                parts.append(part)
                not_mapped += _ignored(name, attributes, path, line)
            elif name.lower() != _ROOT:
                what = _CHANGES if name.lower() == "changeset" else "it has no counterpart"
                who = f" {attributes['author']}:{attributes['id']}" if {"author", "id"} <= set(attributes) else ""
                not_mapped.append(NotMapped(path, line, f"{name}{who}: {what}"))
    except expat.ExpatError as error:
        not_mapped.append(NotMapped(path, error.lineno, f"not read: {error}"))
    except GlacierbaseError as error:
        not_mapped.append(NotMapped(path, int(error.data.get("line", 1)), f"not read: {error.message}"))
    return parts, not_mapped


def _part(name: str, attributes: Mapping[str, str], line: int) -> Include | Property | None:
    lower = {key.lower(): value for key, value in attributes.items()}
    if name == "property":
        return Property(line, lower)
    if name in ("include", "includeAll"):
        is_relative = lower.get("relativetochangelogfile", "").lower() == "true"
        return Include(line, lower.get("file") or lower.get("path") or "", is_relative, name == "includeAll")
    return None


def _ignored(name: str, attributes: Mapping[str, str], path: str, line: int) -> Iterator[NotMapped]:
    """Yield the attributes of an include that change what it means."""
    for key in attributes if name != "property" else ():
        if key.lower() in ("context", "contextfilter", "labels", "filter", "resourcecomparator", "ignore", "mindepth"):
            yield NotMapped(path, line, f"{name}: {key}={attributes[key]} has no counterpart; all of it was imported")


def _yaml(text: str, path: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """Yield name, attributes and line of each item of the changelog."""
    items = parse_yaml(text.encode(), path).get("databaseChangeLog")
    for item in items.items if isinstance(items, SequenceNode) else ():
        for name, node in item.values.items() if isinstance(item, MappingNode) else ():
            values = node.values if isinstance(node, MappingNode) else {}
            yield (
                name,
                {key: value.text for key, value in values.items() if isinstance(value, ScalarNode)},
                item.place.line,
            )


def _xml(text: str, path: str) -> list[tuple[str, dict[str, str], int]]:
    """Return name, attributes and line of the root element and of each element in it.

    Raises:
        expat.ExpatError: it is no XML.
        ConfigurationError: it has a document type, which may define entities without end.
    """
    found: list[tuple[str, dict[str, str], int]] = []
    depth = 0
    parser = expat.ParserCreate(encoding="utf-8")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth <= 2:
            found.append((name.rpartition(":")[2], dict(attributes), parser.CurrentLineNumber))

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*_: object) -> None:
        line = parser.CurrentLineNumber
        raise ConfigurationError("INVALID_VALUE", "it has a document type", "remove it", path=path, line=line)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(text.encode(), True)
    return found
