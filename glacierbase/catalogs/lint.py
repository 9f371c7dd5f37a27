"""What a catalog file says about `lint`: severities of rules, and patterns of tables that streams use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from glacierbase.catalogs.nodes import MappingNode, ScalarNode, SequenceNode
from glacierbase.errors import ConfigurationError, raise_all
from glacierbase.model.catalog import LintOptions
from glacierbase.model.values import RULE_CODE, SEVERITY

# Each table or difference is compared with each pattern or rule.
_MOST = 500


def lint_options(content: MappingNode) -> LintOptions:
    """Return the options of one environment.

    Raises:
        ConfigurationError, SeveralErrors: a code or a severity is wrong, or there are too many.
    """
    rules, streaming = content.get("lint", "rules"), content.get("lint", "streaming")
    scalars: Mapping[str, ScalarNode] = {}
    if isinstance(rules, MappingNode):
        raise_all(list(_wrong_severities(rules)))
        scalars = {code: node for code, node in rules.values.items() if isinstance(node, ScalarNode)}
    patterns = streaming.items if isinstance(streaming, SequenceNode) else ()
    if isinstance(streaming, SequenceNode) and len(patterns) > _MOST:
        raise _too_many(streaming, "lint.streaming", len(patterns))
    return LintOptions(
        {code: node.text for code, node in scalars.items()},
        {code: (node.place.file, node.place.line) for code, node in scalars.items()},
        tuple(node.text for node in patterns if isinstance(node, ScalarNode)),
    )


def _wrong_severities(node: MappingNode) -> Iterator[ConfigurationError]:
    if len(node.values) > _MOST:
        yield _too_many(node, "lint.rules", len(node.values))
        return
    for code, value in node.values.items():
        place = node.keys.get(code, node.place)
        if not RULE_CODE.accepts(code):
            yield place.error(
                "INVALID_NAME", f"lint.rules: {code!r} is not {RULE_CODE.expected}", "write `DS103: warning`"
            )
        elif not isinstance(value, ScalarNode) or not SEVERITY.accepts(value.text):
            what = f"lint.rules.{code}: this is not {SEVERITY.expected}"
            yield value.place.error("INVALID_VALUE", what, f"write {code}: off, {code}: warning or {code}: error")


def _too_many(node: MappingNode | SequenceNode, path: str, count: int, most: int = _MOST) -> ConfigurationError:
    return node.place.error("INVALID_VALUE", f"{path}: there are {count}", f"list at most {most}")
