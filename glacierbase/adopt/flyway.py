"""Read a Flyway project: `V1.2__words.sql`, `R__words.sql`, and what its configuration says of names and placeholders.

https://documentation.red-gate.com/fd/flyway-documentation-138346877.html
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from glacierbase.adopt.flyway_settings import Settings, read_settings
from glacierbase.adopt.folder import ForeignFolder
from glacierbase.adopt.foreign import (
    ForeignProject,
    HistoryRow,
    HistoryTable,
    Key,
    NotMapped,
    Script,
    Tool,
    exactly,
)
from glacierbase.adopt.placeholders import Variables, template
from glacierbase.adopt.versions import parts_of
from glacierbase.model.command import command

# Where scripts are, if the configuration names no folder.
_USUAL_FOLDERS = ("src/main/resources/db/migration", "db/migration", "sql", "migrations")
_CALLBACK = re.compile(r"(?:before|after)[A-Z]\w*|createSchema")
_CODE = re.compile(r"\.(?:java|kt|groovy|scala|class|jar|py|sh|bash|ps1|bat|cmd|exe)$", re.IGNORECASE)
_SIDECAR = ".conf"
_HINT = "its value is not in the configuration of Flyway"
# Flyway's own placeholders with a counterpart.
_OWN = {"flyway:environment": "environment"}


@dataclass(frozen=True, slots=True)
class _Named:
    """The parts of a script's name: `V`, `1.2`, `add users`."""

    kind: str
    version: str
    description: str


def read(folder: ForeignFolder, dialect: str) -> ForeignProject:
    """Return the Flyway project in a folder."""
    settings = read_settings(folder)
    not_mapped = list(settings.not_mapped)
    variables = Variables(settings.placeholders, _HINT)
    scripts = []
    for path in _paths(folder, settings, not_mapped):
        script = _script(folder, path, settings, variables, not_mapped)
        if script:
            scripts.append(script)
    ordered = sorted(scripts, key=lambda script: (script.version is None, script.key, script.path))
    return ForeignProject(
        tuple(ordered),
        (*not_mapped, *variables.not_mapped),
        dict(variables.values),
        ".".join(exactly(part, dialect) for part in settings.history_table) or None,
    )


def _paths(folder: ForeignFolder, settings: Settings, not_mapped: list[NotMapped]) -> Sequence[str]:
    """Return the files below the folders of scripts, or the file that was named."""
    if folder.start:
        return [folder.start]
    found: dict[str, None] = {}
    for location in settings.locations:
        place = _place(folder, location.value)
        if place is None:
            what = f"location {location.value}: there is no such folder below {folder.shown('')}"
            not_mapped.append(NotMapped(location.path, location.line, f"{what}; import it by its own path"))
        else:
            found.update(dict.fromkeys(folder.files(place)))
    if not settings.locations:
        usual = [place for place in _USUAL_FOLDERS if folder.is_folder(place)]
        found = dict.fromkeys(path for place in usual or ["."] for path in folder.files(place))
    return list(found)


def _place(folder: ForeignFolder, location: str) -> str | None:
    """Return the folder of a location, `filesystem:sql` or `classpath:db/migration`."""
    scheme, colon, path = location.rpartition(":")
    bases = ("src/main/resources", "") if scheme == "classpath" else ("",)
    if colon and scheme not in ("filesystem", "classpath"):
        return None
    return next((place for base in bases if (place := folder.resolved(path.strip("/"), base))), None)


def _script(
    folder: ForeignFolder, path: str, settings: Settings, variables: Variables, not_mapped: list[NotMapped]
) -> Script | None:
    """Return the script in a file; None where it holds none, which is in `not_mapped` unless Flyway ignores the file."""
    name, shown = path.rpartition("/")[2], folder.shown(path)
    named = _named(name, settings)
    if named is None or (why := _why_not(named)):
        reason = _of_another_kind(name, settings) if named is None else why
        if reason:
            not_mapped.append(NotMapped(shown, 1, reason))
        return None
    options = dict(_sidecar(folder, path, not_mapped))
    if options.get("shouldExecute", "").lower() == "false":
        not_mapped.append(NotMapped(shown, 1, "shouldExecute=false: Flyway does not run it; not imported"))
        return None
    text = folder.text(path, options.get("encoding", settings.encoding))
    version = named.version if named.kind == "V" else None
    key: Key = (parts_of(version),) if version else (named.description.lower(),)
    replaces = options.get("placeholderReplacement", settings.placeholder_replacement).lower() != "false"
    sql = _template(text, shown, settings, variables, not_mapped, replaces=replaces)
    return Script(shown, 1, version, named.description, None, sql, key, str(_checksum(text)) if version else None)


def _named(name: str, settings: Settings) -> _Named | None:
    """Return the parts of the name of an SQL script; None for any other name."""
    suffix = next((suffix for suffix in settings.suffixes if name.lower().endswith(suffix.lower())), None)
    if suffix is None:
        return None
    stem = name[: len(name) - len(suffix)]
    kinds = sorted(settings.prefixes.items(), key=lambda pair: -len(pair[1]))
    for kind, prefix in kinds:
        version, separator, description = stem.removeprefix(prefix).partition(settings.separator)
        if stem.startswith(prefix) and separator and _fits(kind, version):
            return _Named(kind, version, description.replace("_", " ").strip())
    return None


def _fits(kind: str, version: str) -> bool:
    return not version if kind == "R" else parts_of(version) is not None


def _why_not(named: _Named) -> str:
    """Return why a script has no counterpart; empty where it has one."""
    if named.kind == "U":
        way = f"`{command('new', '--reverting', 'VERSION', 'why')}` writes one from the migration"
        return f"undo script of version {named.version}: {way}"
    if named.kind == "B":
        way = f"`{command('squash', '--to', 'VERSION')}` writes such a file from the tables"
        return f"baseline script of version {named.version}: {way}"
    return ""


def _of_another_kind(name: str, settings: Settings) -> str:
    """Return why a file that is no SQL script of a known name is not imported; empty where it is not part of the project."""
    prefixes = "|".join(map(re.escape, settings.prefixes.values()))
    if _CODE.search(name) and re.match(rf"(?:{prefixes})[\d_.]*{re.escape(settings.separator)}", name):
        return "a migration in code is not run and not imported; write what it does as SQL"
    if not any(name.lower().endswith(suffix.lower()) for suffix in settings.suffixes):
        return ""
    if _CALLBACK.fullmatch(name.partition(".")[0].partition(settings.separator)[0]):
        return "callback: run it as a hook of the catalog file (hooks), or put its statements into a migration"
    return "Flyway does not read a script of this name as a migration; not imported"


def _sidecar(folder: ForeignFolder, path: str, not_mapped: list[NotMapped]) -> Iterator[tuple[str, str]]:
    """Yield the options of a script's own configuration that are mapped; the others are added to `not_mapped`."""
    if not folder.has(f"{path}{_SIDECAR}"):
        return
    shown = folder.shown(f"{path}{_SIDECAR}")
    for number, line in enumerate(folder.text(f"{path}{_SIDECAR}").splitlines(), start=1):
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or key.startswith("#"):
            continue
        if key in ("shouldExecute", "encoding", "placeholderReplacement"):
            yield key, value
        else:
            not_mapped.append(NotMapped(shown, number, f"option {key}={value} of a script has no counterpart"))


def _template(
    text: str, path: str, settings: Settings, variables: Variables, not_mapped: list[NotMapped], *, replaces: bool
) -> str:
    opens, closes = re.escape(settings.placeholder_prefix), re.escape(settings.placeholder_suffix)
    pattern = re.compile(rf"{opens}([^\n]{{1,200}}?){closes}" if replaces else r"(?!)")

    def expression(found: re.Match[str], lines: int) -> str:
        name = found[1].strip().lower()  # Flyway compares names without regard to case.
        return _OWN.get(name) or variables.expression(name, path, lines + 1)

    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(r"(?i)\s*(?:DELIMITER|SET\s+TERM)\s+\S+\s*$", line):
            not_mapped.append(NotMapped(path, number, f"{line.strip()}: statements end with a semicolon here"))
    return template(text, pattern, expression)


def _checksum(text: str) -> int:
    """Return the CRC-32 of the text without line ends, as a signed number: what Flyway records of a script."""
    found = 0
    for line in re.split(r"\n|\r", text):
        found = zlib.crc32(line.encode(), found)
    return found - 2**32 if found >= 2**31 else found


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
    is_baseline = "BASELINE" in kind
    parts = parts_of(version) if version else None
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
        columns=("version", "description", "type", "script", "checksum", "installed_by", "success", "installed_on"),
        order="installed_rank",
        row=_row,
        times=("installed_on",),
        is_quoted=True,
    ),
    is_numbered=True,
)
