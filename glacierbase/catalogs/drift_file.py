"""Write rules that ignore differences into the text of a catalog file. The rest of the text, comments included, stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from glob import escape

from glacierbase.catalogs.drift import drift_rules
from glacierbase.catalogs.nodes import SequenceNode
from glacierbase.catalogs.yamlfile import parse_yaml
from glacierbase.errors import ConfigurationError
from glacierbase.model.catalog import DriftRule

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def exact_rule(table: str, what: str, reason: str) -> DriftRule:
    """Return the rule about one difference of one table: characters of patterns in their names mean themselves.

    A character that cannot be on a line stands for any other.
    """
    return DriftRule(_CONTROL.sub("?", escape(table)), _CONTROL.sub("?", escape(what)), " ".join(reason.split()))


def with_rules(text: str, rules: Iterable[DriftRule], location: str) -> str:
    """Return the text of a catalog file with further rules.

    Args:
        location: the file's name in messages.

    Raises:
        ConfigurationError: the file has a list of rules in a form that nothing can be added to.
    """
    node = parse_yaml(text.encode(), location)
    lines = text.split("\n")
    items = node.get("drift", "ignore")
    if node.get("drift") is None:
        place, indent = len(lines) - (not lines[-1]), "    "
        head = ["drift:", "  ignore:"]
    elif isinstance(items, SequenceNode) and items.items and lines[_line(items)].lstrip().startswith("- "):
        place, head = _line(items), []
        indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
    else:
        raise _not_extended(rules, location)
    added = [line for rule in rules for line in _lines(rule, indent)]
    changed = "\n".join([*lines[:place], *head, *added, *lines[place:]])
    if set(rules) - set(drift_rules(parse_yaml(changed.encode(), location))):
        raise _not_extended(rules, location)
    return changed


def _line(items: SequenceNode) -> int:
    return items.items[0].place.line - 1


def _lines(rule: DriftRule, indent: str) -> list[str]:
    """Return the rule as YAML, in which a text of JSON is a text. https://yaml.org/spec/1.2.2/#12-overview-of-yaml"""
    values = (("table", rule.table), ("what", rule.what), ("reason", rule.reason))
    texts = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values]
    return [f"{indent}{'- ' if at == 0 else '  '}{each}" for at, each in enumerate(texts)]


def _not_extended(rules: Iterable[DriftRule], location: str) -> ConfigurationError:
    rule = "; ".join(" ".join(_lines(each, "")) for each in rules)
    what = f"{location}: nothing can be added to its `drift.ignore` as it is written; nothing was written"
    return ConfigurationError("INVALID_VALUE", what, f"write it as a list with an item per line, and add: {rule}")
