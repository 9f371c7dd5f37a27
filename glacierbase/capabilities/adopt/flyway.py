"""Read a Flyway project: `V1.2__words.sql`, `R__words.sql`, and what its configuration says of names and placeholders.

https://documentation.red-gate.com/fd/flyway-documentation-138346877.html
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from glacierbase.capabilities.adopt.foreign import (
    ForeignFolder,
    ForeignProject,
    ForeignScript,
    HistoryRow,
    HistoryTable,
    Key,
    Tool,
    Variables,
    catalog_value,
    exactly,
    parts_of,
    template,
)
from glacierbase.model.command import command
from glacierbase.sql.tokens import Source

# A later one overrides an earlier one.
_CONFIGURATION = ("conf/flyway.conf", "flyway.conf", "conf/flyway.toml", "flyway.toml", "flyway.user.toml")
_PREFIXES = {
    "V": "sqlMigrationPrefix",
    "R": "repeatableSqlMigrationPrefix",
    "U": "undoSqlMigrationPrefix",
    "B": "baselineMigrationPrefix",
}
_DEFAULTS = {
    **{key: kind for kind, key in _PREFIXES.items()},
    "sqlMigrationSuffixes": ".sql",
    "sqlMigrationSeparator": "__",
    "placeholderPrefix": "${",
    "placeholderSuffix": "}",
    "placeholderReplacement": "true",
    "encoding": "utf-8",
}
# What changes how Flyway runs, each with its counterpart.
_ELSEWHERE = {
    "initSql": "run its statements at the start of each file that needs them",
    "callbacks": "run them as hooks of the catalog file (hooks)",
    "resolvers": "code of migrations is not run",
    "outOfOrder": "outOfOrder: allow in the catalog file",
    "target": "the option --to of migrate",
    "cherryPick": "the option --only of migrate",
}
# Where scripts are, if the configuration names no folder.
_USUAL_FOLDERS = ("src/main/resources/db/migration", "db/migration", "sql", "migrations")
_SECTION = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?")
_PAIR = re.compile(r"""("[^"]*"|'[^']*'|[\w.\-]+)\s*=(.*)""")
# One that is not closed ends with its line, so that no text is searched for its end again and again.
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)(?:"|$)|\'([^\']*)(?:\'|$)')
_CALLBACK = re.compile(r"(?:before|after)[A-Z]\w*|createSchema")
_CODE = re.compile(r"\.(?:java|kt|groovy|scala|class|jar|py|sh|bash|ps1|bat|cmd|exe)$", re.IGNORECASE)
_DELIMITER = re.compile(r"(?im)^[ \t]*(?:DELIMITER|SET[ \t]+TERM)[ \t]+\S+[ \t]*$")
_HINT = "its value is not in the configuration of Flyway"


class _Setting(NamedTuple):
    """The texts of a key of the configuration, and where it is."""

    texts: Sequence[str]
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class _Settings:
    """The keys of the configuration without their prefix `flyway.`."""

    values: Mapping[str, _Setting]

    def text(self, name: str) -> str:
        """Return the value of a key; its default where it is absent, or empty and no prefix of names."""
        setting = self.values.get(name)
        value = setting.texts[-1] if setting and setting.texts else None
        return _DEFAULTS.get(name, "") if value is None or not (value or name in _PREFIXES.values()) else value

    def items(self, name: str) -> list[str]:
        """Return the items of a list that is one text with commas, or several texts."""
        texts = self.values[name].texts if name in self.values else ()
        items = [item.strip() for text in texts for item in text.split(",") if item.strip()]
        return items or list(filter(None, [_DEFAULTS.get(name)]))

    def history_table(self, dialect: str) -> str | None:
        """Return the name of the history table as SQL; None where the configuration does not name it."""
        schema, table = next(iter([*self.items("defaultSchema"), *self.items("schemas")]), ""), self.text("table")
        parts = (schema, table or FLYWAY.history.name) if schema or table else ()
        return ".".join(exactly(part, dialect) for part in parts if part) or None


def read(folder: ForeignFolder, dialect: str) -> ForeignProject:
    """Return the Flyway project in a folder."""
    folder.check_is_folder()
    settings = _settings(folder)
    placeholders = {
        key.removeprefix("placeholders.").lower(): catalog_value(setting.texts[-1])
        for key, setting in settings.values.items()
        if key.startswith("placeholders.") and setting.texts
    }
    variables = Variables(folder, placeholders, _HINT)
    scripts = [script for path in _paths(folder, settings) if (script := _script(folder, path, settings, variables))]
    ordered = sorted(scripts, key=lambda script: (script.version is None, script.key, script.path))
    table = settings.history_table(dialect)
    return ForeignProject(tuple(ordered), tuple(folder.not_mapped), variables.values, table)


def _settings(folder: ForeignFolder) -> _Settings:
    """Return the configuration; keys that have a counterpart elsewhere are noted."""
    values: dict[str, _Setting] = {}
    for path in filter(folder.has, _CONFIGURATION):
        for key, texts, line in _toml(folder, path) if path.endswith(".toml") else _conf(folder, path):
            if key.startswith("flyway."):
                values[key.removeprefix("flyway.")] = _Setting(texts, path, line)
    for name, way in _ELSEWHERE.items():
        if name in values and values[name].texts not in (("false",), ()):
            folder.note(values[name].path, values[name].line, f"{name}: {way}")
    return _Settings(values)


def _conf(folder: ForeignFolder, path: str) -> Iterator[tuple[str, Sequence[str], int]]:
    return ((key, (value,), line) for key, value, line in folder.properties(path))


def _toml(folder: ForeignFolder, path: str) -> Iterator[tuple[str, Sequence[str], int]]:
    """Yield key, texts and line of each pair in TOML; placeholders of one environment are noted.

    Only strings, lists of them and bare words are read: `tomllib` has no lines, and Python 3.10 has no `tomllib`.
    """
    section = ""
    lines = iter(enumerate(folder.text(path).splitlines(), start=1))
    for number, line in lines:
        if head := _SECTION.fullmatch(line):
            section = f"{head[1].strip()}."
        elif pair := _PAIR.fullmatch(line.strip()):
            key = f"{section}{pair[1].strip(chr(34) + chr(39))}"
            if key.startswith("environments.") and ".placeholders." in key:
                what = f"{key}: a value of one environment; write it under environments in the catalog file"
                folder.note(path, number, what)
            yield key, tuple(_texts(pair[2].strip(), lines)), number


def _texts(text: str, below: Iterator[tuple[int, str]]) -> Iterator[str]:
    """Yield the texts of a TOML value: a string, a list of strings on one line or several, or a bare word."""
    is_list = text.startswith("[")
    while is_list:
        text = text.rstrip("\\")
        end = _STRING.sub(lambda match: " " * len(match[0]), text).find("]")
        yield from map(_unquoted, _STRING.finditer(text, 0, len(text) if end < 0 else end))
        if end >= 0:
            return
        _, text = next(below, (0, "]"))
    string = _STRING.match(text.rstrip("\\"))
    yield _unquoted(string) if string else text.partition("#")[0].strip()


def _unquoted(string: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", string[1]) if string[1] is not None else string[2]


def _paths(folder: ForeignFolder, settings: _Settings) -> Sequence[str]:
    """Return the files below the folders of scripts."""
    locations = settings.items("locations")
    places = [] if locations else list(filter(folder.is_folder, _USUAL_FOLDERS)) or ["."]
    for location in locations:
        if (place := _place(folder, location)) is not None:
            places.append(place)
        else:
            setting = settings.values["locations"]
            what = f"location {location}: there is no such folder below {folder.shown('')}; import it by its own path"
            folder.note(setting.path, setting.line, what)
    return list(dict.fromkeys(path for place in places for path in folder.files(place)))


def _place(folder: ForeignFolder, location: str) -> str | None:
    """Return the folder of a location, `filesystem:sql` or `classpath:db/migration`."""
    scheme, _, path = location.rpartition(":")
    bases = ("src/main/resources", "") if scheme == "classpath" else ("",)
    place = folder.resolved(path.strip("/"), *bases) if scheme in ("", "filesystem", "classpath") else None
    return place if place is not None and folder.is_folder(place) else None


def _script(folder: ForeignFolder, path: str, settings: _Settings, variables: Variables) -> ForeignScript | None:
    """Return the script in a file; None where it holds none, which is noted unless Flyway ignores the file."""
    file = path.rpartition("/")[2]
    kind, version, words = _name(file, settings)
    if kind not in ("V", "R"):
        if why := _why_not(file, kind, version, settings):
            folder.note(path, 1, why)
        return None
    options = {key: settings.text(key) for key in ("encoding", "placeholderReplacement")}
    for key, value, line in folder.properties(f"{path}.conf"):
        options[key] = value
        if key not in ("shouldExecute", "encoding", "placeholderReplacement"):
            folder.note(f"{path}.conf", line, f"option {key}={value} of a script has no counterpart")
    if options.get("shouldExecute", "").lower() == "false":
        folder.note(path, 1, "shouldExecute=false: Flyway does not run it; not imported")
        return None
    text = folder.text(path, options["encoding"])
    lines = Source(text)
    for match in _DELIMITER.finditer(text):
        what = f"{match[0].strip()}: statements end with a semicolon here"
        folder.note(path, lines.place(match.start())[0], what)
    sql = _template(text, path, settings, variables, options["placeholderReplacement"].lower() != "false")
    key_of_row: Key = (parts_of(version),) if version else (words.lower(),)
    checksum = str(_checksum(text)) if version else None
    return ForeignScript(folder.shown(path), 1, version or None, words, None, sql, key_of_row, checksum)


def _name(file: str, settings: _Settings) -> tuple[str, str, str]:
    """Return the parts of a script's name: `V`, `1.2`, `add users`; empty ones for any other name."""
    suffix = _suffix(file, settings)
    for kind, key in sorted(_PREFIXES.items(), key=lambda pair: -len(settings.text(pair[1]))):
        prefix = settings.text(key)
        stem = file[len(prefix) : len(file) - len(suffix)]
        version, separator, words = stem.partition(settings.text("sqlMigrationSeparator"))
        is_version = not version if kind == "R" else parts_of(version) is not None
        if suffix and file.startswith(prefix) and separator and is_version:
            return kind, version, words.replace("_", " ").strip()
    return "", "", ""


def _suffix(file: str, settings: _Settings) -> str:
    return next((end for end in settings.items("sqlMigrationSuffixes") if file.lower().endswith(end.lower())), "")


def _why_not(file: str, kind: str, version: str, settings: _Settings) -> str:
    """Return why a file is not imported; empty where it is not part of the project."""
    if kind == "U":
        way = f"`{command('new', '--reverting', 'VERSION', 'why')}` writes one from the migration"
        return f"undo script of version {version}: {way}"
    if kind == "B":
        way = f"`{command('squash', '--to', 'VERSION')}` writes such a file from the tables"
        return f"baseline script of version {version}: {way}"
    separator = settings.text("sqlMigrationSeparator")
    prefixes = "|".join(re.escape(settings.text(key)) for key in _PREFIXES.values())
    if _CODE.search(file) and re.match(rf"(?:{prefixes})[\d_.]*{re.escape(separator)}", file):
        return "a migration in code is not run and not imported; write what it does as SQL"
    if not _suffix(file, settings):
        return ""
    if _CALLBACK.fullmatch(file.partition(".")[0].partition(separator)[0]):
        return "callback: run it as a hook of the catalog file (hooks), or put its statements into a migration"
    return "Flyway does not read a script of this name as a migration; not imported"


def _template(text: str, path: str, settings: _Settings, variables: Variables, replaces: bool) -> str:
    opens, closes = re.escape(settings.text("placeholderPrefix")), re.escape(settings.text("placeholderSuffix"))
    pattern = re.compile(rf"{opens}([^\n]{{1,200}}?){closes}" if replaces else r"(?!)")

    def expression(match: re.Match[str], lines: int) -> str:
        name = match[1].strip().lower()  # Flyway compares names without regard to case.
        return "environment" if name == "flyway:environment" else variables.expression(name, path, lines + 1)

    return template(text, pattern, expression)


def _checksum(text: str) -> int:
    """Return the CRC-32 of the text without line ends, as a signed number: what Flyway records of a script."""
    crc = zlib.crc32(re.sub(r"[\r\n]", "", text).encode())
    return crc - 2**32 if crc >= 2**31 else crc


def _row(
    version: str | None,
    description: str,
    kind: str,
    script: str,
    checksum: int | None,
    installed_by: str | None,
    success: bool | int,
    installed_on: datetime | None,
) -> HistoryRow | None:
    """Return what a row of `flyway_schema_history` means."""
    if kind == "SCHEMA":
        return None
    parts, is_baseline = parts_of(version) if version else None, "BASELINE" in kind
    if version and parts is None:
        raise ValueError(version)
    return HistoryRow(
        key=(parts,) if version else (description.lower(),),
        name=script,
        author=installed_by,
        at=installed_on,
        checksum=None if checksum is None or is_baseline else str(checksum),
        is_applied=not kind.startswith("UNDO") and kind != "DELETE",
        is_failed=not success,
        is_repeatable=version is None,
        covers=is_baseline,
    )


FLYWAY = Tool(
    name="Flyway",
    read=read,
    history=HistoryTable(
        name="flyway_schema_history",
        columns=("version", "description", "type", "script", "checksum", "installed_by", "success"),
        row=_row,
        time="installed_on",
        order="installed_rank",
        is_quoted=True,
    ),
    is_numbered=True,
)
