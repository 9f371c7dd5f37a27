"""Keys of a catalog file that are lists or patterns, or of no environment: `lint`, `layout`, `drift`, `managed`, `headers`, …."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from glacierbase.catalogs.keys import KEYS
from glacierbase.catalogs.yamlfile import MappingNode, Node, ScalarNode, SequenceNode, is_null
from glacierbase.errors import ConfigurationError, raise_all
from glacierbase.model.catalog import DriftRule, LayoutOptions, LintOptions, Management, Peak, UnmanagedTables
from glacierbase.model.keys import HEADER_NAME, RATE, RULE_CODE, SEVERITY
from glacierbase.model.text import did_you_mean

# How an item of each list of mappings is written.
_FORMS = {
    "drift.ignore": "write `{table: lake.events.*, what: property write.*, reason: why it is in order}`",
    "unmanaged": "write `{pattern: lake.raw.*, reason: who changes these tables}`",
    "layout.tables": "write `{table: lake.events.*, peakPutPerSecond: 5000, peakGetPerSecond: 2000}`",
}
_RATES = ("peakPutPerSecond", "peakGetPerSecond")
# Each table or difference is compared with each pattern or rule.
_MOST = 500
# The nearest spelling of an unknown header is searched among all of them.
_MOST_HEADERS = 100


def drift_rules(content: MappingNode) -> tuple[DriftRule, ...]:
    """Return the rules of one environment.

    Raises:
        ConfigurationError, SeveralErrors: a rule is incomplete, or there are too many.
    """
    return tuple(DriftRule(*values) for values in _mappings(content, "drift.ignore"))


def layout_options(content: MappingNode) -> LayoutOptions:
    """Return the declared peaks of one environment, those of the whole catalog last.

    Raises:
        ConfigurationError, SeveralErrors: a pattern is missing, a rate is no number from 0, or there are too many.
    """
    group = content.get("layout")
    rates = [_rate(group, name) for name in _RATES] if isinstance(group, MappingNode) else []
    tables = [(table, _peak(rates)) for table, *rates in _mappings(content, "layout.tables")]
    return LayoutOptions((*tables, *([("*", Peak(*rates))] if any(rate is not None for rate in rates) else [])))


def _rate(group: MappingNode, name: str) -> float | None:
    node = group.get(name)
    if not isinstance(node, ScalarNode) or is_null(node):
        return None
    if not RATE.accepts(node.text):
        what = f"layout.{name}: {node.text!r} is not {RATE.expected}"
        raise node.place.error("INVALID_VALUE", what, f"write {name}: 900, or remove it")
    return float(RATE.convert(node.text))


def _peak(rates: Iterable[str]) -> Peak:
    return Peak(*(RATE.convert(rate) if rate else None for rate in rates))


def management(content: MappingNode) -> Management:
    """Return which tables the migrations of one environment manage.

    Raises:
        ConfigurationError, SeveralErrors: a pattern or a reason is missing or is no text, or there are too many; a pattern has a
            reference, which is not resolved and would match no table.
    """
    node = content.get("managed")
    items = node.items if isinstance(node, SequenceNode) else ()
    if isinstance(node, SequenceNode) and len(items) > _MOST:
        raise _too_many(node, "managed", len(items))
    patterns = [item for item in items if isinstance(item, ScalarNode)]
    raise_all([_no_pattern(item) for item in patterns if not KEYS["managed"].type.accepts(item.text)])
    unmanaged = tuple(UnmanagedTables(*values) for values in _mappings(content, "unmanaged"))
    others = content.get("unmanaged")
    rules = others.items if isinstance(others, SequenceNode) else ()
    written = (*patterns, *(rule.get("pattern") for rule in rules if isinstance(rule, MappingNode)))
    raise_all([_with_reference(node) for node in written if isinstance(node, ScalarNode) and "${" in node.text])
    return Management(tuple(item.text for item in patterns), unmanaged)


def _no_pattern(item: ScalarNode) -> ConfigurationError:
    what = f"managed: {KEYS['managed'].type.expected} is expected here"
    return item.place.error("INVALID_VALUE", what, "write a pattern, such as lake.sales.*")


def _with_reference(pattern: ScalarNode) -> ConfigurationError:
    what = f"managed and unmanaged: a pattern cannot contain references: {pattern.text}"
    return pattern.place.error("INVALID_VALUE", what, "write the names, for each environment where they differ")


def _mappings(content: MappingNode, path: str) -> tuple[tuple[str, ...], ...]:
    """Return the values of a list of mappings, in the order of the keys of such a mapping.

    Raises:
        ConfigurationError, SeveralErrors: a mapping is not whole, or there are too many.
    """
    node = content.get(*path.split("."))
    items = node.items if isinstance(node, SequenceNode) else ()
    if isinstance(node, SequenceNode) and len(items) > _MOST:
        raise _too_many(node, path, len(items))
    raise_all([error for item in items for error in _wrong_mapping(item, path)])
    return tuple(
        tuple(_text(item, key.name) or key.default or "" for key in KEYS[path].keys)
        for item in items
        if isinstance(item, MappingNode)
    )


def _wrong_mapping(item: Node, path: str) -> Iterator[ConfigurationError]:
    form = _FORMS[path]
    if not isinstance(item, MappingNode):
        yield item.place.error("INVALID_VALUE", f"{path}: a mapping is expected here", form)
        return
    for key in KEYS[path].keys:
        text = _text(item, key.name)
        if key.required and text is None:
            yield item.place.error("MISSING_KEY", f"{path}: {key.name} is missing", form)
        elif text is not None and not key.type.accepts(text):
            what = f"{path}: {key.name} is not {key.type.expected}"
            yield item.keys[key.name].error("INVALID_VALUE", what, form)


def _text(item: MappingNode, name: str) -> str | None:
    node = item.get(name)
    return node.text if isinstance(node, ScalarNode) else None


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
            yield value.place.error("INVALID_VALUE", what, f"write {code}: off, note, warning or error")


def _too_many(node: MappingNode | SequenceNode, path: str, count: int, most: int = _MOST) -> ConfigurationError:
    return node.place.error("INVALID_VALUE", f"{path}: there are {count}", f"list at most {most}")


def listed_headers(content: MappingNode) -> Mapping[str, bool]:
    """Return the names of the listed headers, and whether each is required.

    Args:
        content: the content of the catalog file, merged over the shared one.

    Raises:
        ConfigurationError, SeveralErrors: a name cannot be a header's, or a value is neither `required` nor `optional`.
    """
    node = content.get("headers")
    if not isinstance(node, MappingNode):
        return {}
    raise_all(list(_wrong_headers(node)))
    return {name: value.text == "required" for name, value in node.values.items() if isinstance(value, ScalarNode)}


def style_of_versions(content: MappingNode) -> str | None:
    """Return `sequence` or `timestamp`, or None where the file does not say how new files are numbered.

    Args:
        content: the content of the catalog file, merged over the shared one.

    Raises:
        ConfigurationError: `INVALID_VALUE`.
    """
    node, key = content.get("versions"), KEYS["versions"]
    if not isinstance(node, ScalarNode) or is_null(node):
        return None
    if not key.type.accepts(node.text):
        what = f"versions: {node.text!r} is not {key.type.expected}"
        hint = did_you_mean(node.text, ("sequence", "timestamp"), "write `versions: sequence` or `versions: timestamp`")
        raise node.place.error("INVALID_VALUE", what, hint)
    return node.text


def _wrong_headers(node: MappingNode) -> Iterator[ConfigurationError]:
    if len(node.values) > _MOST_HEADERS:
        yield node.place.error(
            "INVALID_VALUE", f"headers: there are {len(node.values)}", f"list at most {_MOST_HEADERS}"
        )
        return
    for name, value in node.values.items():
        if not HEADER_NAME.accepts(name):
            what = f"headers: {name!r} is not {HEADER_NAME.expected}"
            yield node.keys.get(name, node.place).error("INVALID_NAME", what, "list it as in `TICKET: required`")
        elif not isinstance(value, ScalarNode) or value.text not in ("required", "optional"):
            what = f"headers.{name}: this is not {KEYS['headers'].type.expected}"
            yield value.place.error("INVALID_VALUE", what, f"write {name}: required, or {name}: optional")
