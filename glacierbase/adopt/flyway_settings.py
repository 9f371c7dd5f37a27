"""Read the configuration of a Flyway project: `flyway.conf`, and of `flyway.toml` the tables, texts and lists of texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from glacierbase.adopt.folder import ForeignFolder
from glacierbase.adopt.foreign import NotMapped
from glacierbase.adopt.placeholders import catalog_value

# A later one overrides an earlier one.
_FILES = ("conf/flyway.conf", "flyway.conf", "conf/flyway.toml", "flyway.toml", "flyway.user.toml")
_SECTION = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?")
_PAIR = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w.\-]+)\s*=\s*(.*?)\s*""")
# One that is not closed ends with its line, so that no text is searched for its end again and again.
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)(?:"|$)|\'([^\']*)(?:\'|$)')
_ESCAPE = re.compile(r"\\(.)")
# What changes how Flyway runs, each with its counterpart.
_ELSEWHERE = {
    "initSql": "run its statements at the start of each file that needs them",
    "callbacks": "run them as hooks of the catalog file (hooks)",
    "resolvers": "code of migrations is not run",
    "outOfOrder": "outOfOrder: allow in the catalog file",
    "target": "the option --to of migrate",
    "cherryPick": "the option --only of migrate",
}


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the configuration, and where it is."""

    value: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Settings:
    """What the configuration says of scripts.

    Attributes:
        prefixes: of the names of scripts, by the letters that Flyway has for them.
        placeholders: values, as a catalog file has them.
        history_table: the parts of its name; empty for the default.
    """

    locations: tuple[Value, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    separator: str = "__"
    suffixes: tuple[str, ...] = (".sql",)
    placeholder_prefix: str = "${"
    placeholder_suffix: str = "}"
    placeholder_replacement: str = "true"
    placeholders: Mapping[str, str] = field(default_factory=dict)
    history_table: tuple[str, ...] = ()
    encoding: str = "utf-8"
    not_mapped: tuple[NotMapped, ...] = ()


def read_settings(folder: ForeignFolder) -> Settings:
    """Return the configuration of the project in a folder; the defaults of Flyway where it has none."""
    not_mapped: list[NotMapped] = []
    found: dict[str, list[Value]] = {}
    for path in filter(folder.has, _FILES) if folder.start is None else ():
        pairs = _properties if path.endswith(".conf") else _toml
        for key, value in pairs(folder.text(path), folder.shown(path), not_mapped):
            if key in found and found[key][0].path == value.path:
                found[key].append(value)
            else:
                found[key] = [value]

    def last(name: str, default: str) -> str:
        return found[name][-1].value if name in found else default

    not_mapped += (
        NotMapped(values[-1].path, values[-1].line, f"{name}: {_ELSEWHERE[name]}")
        for name, values in found.items()
        if name in _ELSEWHERE and values[-1].value.lower() != "false"
    )
    prefixes = {"V": "sqlMigrationPrefix", "R": "repeatableSqlMigrationPrefix", "U": "undoSqlMigrationPrefix"}
    prefixes["B"] = "baselineMigrationPrefix"
    return Settings(
        locations=tuple(_listed(found.get("locations", []))),
        prefixes={kind: last(key, kind) for kind, key in prefixes.items()},
        separator=last("sqlMigrationSeparator", "__"),
        suffixes=tuple(value.value for value in _listed(found.get("sqlMigrationSuffixes", []))) or (".sql",),
        placeholder_prefix=last("placeholderPrefix", "${"),
        placeholder_suffix=last("placeholderSuffix", "}"),
        placeholder_replacement=last("placeholderReplacement", "true"),
        placeholders={
            key.removeprefix("placeholders.").lower(): catalog_value(values[-1].value)
            for key, values in found.items()
            if key.startswith("placeholders.")
        },
        history_table=_history_table(last("table", ""), last("defaultSchema", ""), found.get("schemas", [])),
        encoding=last("encoding", "utf-8"),
        not_mapped=tuple(not_mapped),
    )


def _history_table(table: str, schema: str, schemas: list[Value]) -> tuple[str, ...]:
    """Return the parts of the name of the history table; none where the configuration does not name it."""
    schema = schema or next((value.value for value in _listed(schemas)), "")
    parts = (schema, table or "flyway_schema_history") if table or schema else ()
    return tuple(filter(None, parts))


def _listed(values: list[Value]) -> Iterator[Value]:
    """Yield the items of a list that is one text with commas, or several texts."""
    for value in values:
        yield from (Value(item.strip(), value.path, value.line) for item in value.value.split(",") if item.strip())


def _properties(text: str, path: str, _: list[NotMapped]) -> Iterator[tuple[str, Value]]:
    """Yield the keys of a properties file without their prefix `flyway.`."""
    whole, first = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        whole, first = (f"{whole}{line.lstrip()}", first) if whole else (line, number)
        if whole.endswith("\\"):
            whole = whole[:-1]
            continue
        key, equals, value = (part.strip() for part in whole.partition("="))
        whole = ""
        if equals and key.startswith("flyway."):
            yield key.removeprefix("flyway."), Value(value, path, first)


def _toml(text: str, path: str, not_mapped: list[NotMapped]) -> Iterator[tuple[str, Value]]:
    """Yield the keys of the table `flyway`; those of one environment are added to `not_mapped`."""
    section = ""
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        if head := _SECTION.fullmatch(line):
            section = f"{head[1].strip()}."
        elif pair := _PAIR.fullmatch(line):
            key = f"{section}{pair[1].strip(chr(34) + chr(39))}"
            if key.startswith("environments.") and ".placeholders." in key:
                what = f"{key}: a value of one environment; write it under environments in the catalog file"
                not_mapped.append(NotMapped(path, number, what))
            for value in _values(pair[2], lines):
                if key.startswith("flyway."):
                    yield key.removeprefix("flyway."), Value(value, path, number)


def _values(text: str, below: Iterator[tuple[int, str]]) -> Iterator[str]:
    """Yield the texts of a TOML value: a string, a list of strings on one line or several, or a bare word."""
    if text.startswith("["):
        while True:
            text = text.rstrip("\\")
            end = _STRING.sub(lambda found: " " * len(found[0]), text).find("]")
            yield from map(_text, _STRING.finditer(text, 0, len(text) if end < 0 else end))
            if end >= 0:
                return
            _, text = next(below, (0, "]"))
    elif found := _STRING.match(text.rstrip("\\")):
        yield _text(found)
    else:
        yield text.partition("#")[0].strip()


def _text(found: re.Match[str]) -> str:
    return _ESCAPE.sub(r"\1", found[1]) if found[1] is not None else found[2]
