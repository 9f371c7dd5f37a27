"""Write rules that ignore differences into the text of a catalog file. The rest of the text, with its comments, is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from glob import escape

from glacierbase.catalogs.blocks import drift_rules
from glacierbase.catalogs.yamlfile import MappingNode, SequenceNode, parse_yaml
from glacierbase.errors import ConfigurationError, GlacierbaseError
from glacierbase.model.catalog import Catalog, DriftRule

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def exact_rule(table: str, what: str, reason: str) -> DriftRule:
    """Return the rule for one difference of one table, with the pattern characters in their names escaped.

    A control character becomes `?`, which matches any character.
    """
    return DriftRule(_CONTROL.sub("?", escape(table)), _CONTROL.sub("?", escape(what)), " ".join(reason.split()))


def with_rules(content: bytes, rules: Iterable[DriftRule], location: str, catalog: Catalog) -> str:
    """Return the text of a catalog file with further rules. Line ends are kept.

    Args:
        location: the file's name in messages.
        catalog: the catalog of the file, in the environment in which the rules are to hold.

    Raises:
        ConfigurationError: the file has rules in a form that cannot be extended, or a list elsewhere replaces its list.
    """
    rules, node = tuple(rules), parse_yaml(content, location)
    in_environment = node.get("environments", catalog.environment, "drift")
    if in_environment is not None or set(catalog.drift_rules) != set(drift_rules(node)):
        where = f"a `drift.ignore` of the environment {catalog.environment} or of `_shared.yaml`"
        raise _refused(f"{location}: {where} and one of the catalog replace each other", rules)
    not_extended = _refused(f"{location}: nothing can be added to its `drift.ignore` as it is written", rules)
    try:
        text = content.decode()
        is_crlf = "\r\n" in text and text.count("\n") == text.count("\r\n")
        changed = _extended(text.replace("\r\n", "\n") if is_crlf else text, rules, node)
        is_whole = set(rules) <= set(drift_rules(parse_yaml(changed.encode(), location)))
    except (GlacierbaseError, UnicodeDecodeError, _NotExtended) as error:
        raise not_extended from error
    if not is_whole:
        raise not_extended
    return changed.replace("\n", "\r\n") if is_crlf else changed


class _NotExtended(Exception):
    """The rules of the file are in a form that cannot be extended."""


def _extended(text: str, rules: Iterable[DriftRule], node: MappingNode) -> str:
    lines, items = text.split("\n"), node.get("drift", "ignore")
    if node.get("drift") is None:
        place, indent = len(lines) - (not lines[-1]), "    "
        head = ["drift:", "  ignore:"]
    elif isinstance(items, SequenceNode) and items.items and lines[_line(items)].lstrip().startswith("- "):
        place, head = _line(items), []
        indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
    else:
        raise _NotExtended
    added = [line for rule in rules for line in _lines(rule, indent)]
    return "\n".join([*lines[:place], *head, *added, *lines[place:]])


def _line(items: SequenceNode) -> int:
    return items.items[0].place.line - 1


def _lines(rule: DriftRule, indent: str) -> list[str]:
    """Return the rule as YAML, of which JSON is a subset: https://yaml.org/spec/1.2.2/#12-overview-of-yaml"""
    values = (("table", rule.table), ("what", rule.what), ("reason", rule.reason))
    texts = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values]
    return [f"{indent}{'- ' if at == 0 else '  '}{text}" for at, text in enumerate(texts)]


def _refused(what: str, rules: Iterable[DriftRule]) -> ConfigurationError:
    rule = "; ".join(" ".join(map(str.strip, _lines(rule, ""))) for rule in rules)
    return ConfigurationError("INVALID_VALUE", f"{what}; nothing was written", f"add to the list that holds: {rule}")
