"""Read a schemachange project: `V1.2__words.sql`, `R__words.sql`, `A__words.sql`, and `schemachange-config.yml`.

https://github.com/Snowflake-Labs/schemachange
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from glacierbase.adopt.folder import ForeignFolder
from glacierbase.adopt.foreign import (
    ForeignProject,
    HistoryRow,
    HistoryTable,
    NotMapped,
    Script,
    Tool,
)
from glacierbase.adopt.jinja_names import NotRewritten, rewritten
from glacierbase.adopt.placeholders import Variables, literal_value
from glacierbase.catalogs.yamlfile import MappingNode, Node, ScalarNode, SequenceNode, parse_yaml
from glacierbase.errors import GlacierbaseError

_CONFIG = "schemachange-config.yml"
_NAME = re.compile(r"(?i)(?P<kind>[VRA])(?P<version>(?:[^_]|_(?!_))*)__(?P<words>.+?)\.(?P<suffix>.*)")
_SUFFIX = re.compile(r"(?i)\.(?:sql|cli\.yml)(?:\.jinja)?$")
_ENV_VAR = re.compile(r"\{\{\s*env_var\(\s*(['\"])(\w+)\1\s*(?:,\s*(['\"])([^'\"]*)\3\s*)?\)\s*\}\}")
_HINT = "its value is not in vars of schemachange-config.yml"
_SECRET = re.compile("(?i)secret")


def read(folder: ForeignFolder, dialect: str) -> ForeignProject:  # noqa: ARG001 (the port's)
    """Return the schemachange project in a folder."""
    not_mapped: list[NotMapped] = []
    settings = _settings(folder, not_mapped)
    variables = Variables(_known(settings.get("vars"), folder.shown(_CONFIG), not_mapped), _HINT)
    root = _root(folder, settings, not_mapped)
    scripts = [script for path in _paths(folder, root) if (script := _script(folder, path, variables, not_mapped))]
    modules = _text(settings.get("modules-folder"))
    if modules:
        what = (
            f"modules-folder {modules}: a migration reads no other file; write its macros into the files that use them"
        )
        not_mapped.append(_at(settings.get("modules-folder"), what))
    table = _text(settings.get("change-history-table"))
    ordered = sorted(scripts, key=lambda script: ("vra".index(script.key[0][0]), _order(script.key[0])))
    return ForeignProject(
        tuple(ordered),
        (*not_mapped, *variables.not_mapped),
        dict(variables.values),
        table if table and "{" not in table else None,
    )


def _paths(folder: ForeignFolder, root: str) -> Iterator[str]:
    """Yield the files that schemachange reads."""
    paths = [folder.start] if folder.start else folder.files(root)
    yield from (path for path in paths if _SUFFIX.search(path))


def _settings(folder: ForeignFolder, not_mapped: list[NotMapped]) -> MappingNode:
    """Return the keys of the configuration, in either of its versions; none where there is no configuration."""
    shown = folder.shown(_CONFIG)
    try:
        content = parse_yaml(folder.text(_CONFIG).encode() if folder.has(_CONFIG) else b"", shown)
    except GlacierbaseError as error:
        not_mapped.append(NotMapped(shown, int(error.data.get("line", 1)), f"the configuration: {error.message}"))
        content = parse_yaml(b"", shown)
    inside = content.get("schemachange")
    return inside if isinstance(inside, MappingNode) else content


def _known(node: Node | None, shown: str, not_mapped: list[NotMapped]) -> dict[str, Any]:
    """Return the values of `vars` as a catalog file has them; None for secrets, which are not shown."""
    values = node.values if isinstance(node, MappingNode) else {}
    return {name: _value(name, value, shown, not_mapped) for name, value in values.items()}


def _value(name: str, node: Node, shown: str, not_mapped: list[NotMapped]) -> Any:
    if isinstance(node, MappingNode):
        inside = {key: f"{name}.{key}" for key in node.values}
        return {key: _value(path, node.values[key], shown, not_mapped) for key, path in inside.items()}
    if _SECRET.search(name):
        what = f"{name}: a secret; a variable reaches SQL and query logs, so its value was not read"
        not_mapped.append(_at(node, what))
        return None
    if isinstance(node, SequenceNode):
        return [_value(name, item, shown, not_mapped) for item in node.items]
    if not isinstance(node.value, str):
        return node.value
    return _with_environment(node.text, node, not_mapped)


def _with_environment(text: str, node: Node, not_mapped: list[NotMapped]) -> str:
    """Return a text in which `{{ env_var('NAME') }}` is the reference of a catalog file."""
    parts, at = "", 0
    for found in _ENV_VAR.finditer(text):
        parts += f"{literal_value(text[at : found.start()])}${{env:{found[2]}}}"
        at = found.end()
        if found[4] is not None:
            not_mapped.append(_at(node, f"env_var of {found[2]}: its default {found[4]!r} has no counterpart"))
    return parts + literal_value(text[at:])


def _root(folder: ForeignFolder, settings: MappingNode, not_mapped: list[NotMapped]) -> str:
    """Return the folder of scripts: that of the configuration if it is there, else the folder itself."""
    node = settings.get("root-folder")
    root = _text(node)
    if not root or (found := folder.on_search_path(root)):
        return found if root and found else "."
    not_mapped.append(
        _at(node, f"root-folder {root}: it is not below {folder.shown('')}, of which all scripts were read")
    )
    return "."


def _script(folder: ForeignFolder, path: str, variables: Variables, not_mapped: list[NotMapped]) -> Script | None:
    """Return the script in a file; None where it has no counterpart, which is in `not_mapped`."""
    name, shown = path.rpartition("/")[2], folder.shown(path)
    named = _NAME.fullmatch(name)
    if named is None or bool(named["version"]) != (named["kind"].upper() == "V"):
        not_mapped.append(NotMapped(shown, 1, "schemachange does not read a script of this name; not imported"))
        return None
    if "cli.yml" in named["suffix"].lower():
        not_mapped.append(NotMapped(shown, 1, "a script of commands is not run and not imported"))
        return None
    text = folder.text(path)
    try:
        sql = _template(text, shown, variables, not_mapped)
    except NotRewritten as error:
        not_mapped.append(NotMapped(shown, error.line, f"not imported: {error}"))
        return None
    if named["kind"].upper() == "A":
        not_mapped.append(NotMapped(shown, 1, "an always script: here it runs again only when its text changes"))
    key = re.sub(r"(?i)\.jinja$", "", name).lower()
    return Script(
        shown,
        1,
        named["version"] or None,
        named["words"].replace("_", " ").strip(),
        None,
        sql,
        (key,),
        None if any(mark in text for mark in ("{{", "{%", "{#")) else _checksum(text),
    )


def _template(text: str, shown: str, variables: Variables, not_mapped: list[NotMapped]) -> str:
    def from_environment(name: str, default: str | None, line: int) -> str:
        if default is not None:
            what = f"env_var of {name}: its default {default!r} has no counterpart"
            not_mapped.append(NotMapped(shown, line, what))
        return variables.with_value(f"env_{name.lower()}", f"${{env:{name}}}")

    def left_out(line: int) -> None:
        not_mapped.append(NotMapped(shown, line, "a comment of Jinja was left out"))

    return rewritten(text, lambda name, line: variables.expression(name, shown, line), from_environment, left_out)


def _checksum(text: str) -> str:
    """Return the SHA-224 of a script without blanks and a semicolon at its ends: what schemachange records."""
    return hashlib.sha224(text.strip().removesuffix(";").encode()).hexdigest()


def _order(text: str) -> list[tuple[int, int, str]]:
    """Return the key by which schemachange sorts: numbers as numbers, other text without regard to case."""
    parts = re.split("([0-9]+)", text)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part.lower()) for part in parts]


def _text(node: Node | None) -> str:
    return node.text if isinstance(node, ScalarNode) else ""


def _at(node: Node | None, what: str) -> NotMapped:
    place = node.place if node else None
    return NotMapped(place.file if place else _CONFIG, place.line if place else 1, what)


def _row(
    version: str | None,  # noqa: ARG001 (a column)
    script: str,
    kind: str,
    checksum: str | None,
    status: str | None,
    installed_by: str | None,
    installed_on: datetime | None,
) -> HistoryRow:
    """Return what a row of the change history means."""
    return HistoryRow(
        key=(script.lower(),),
        name=script,
        author=installed_by,
        at=installed_on,
        checksum=checksum,
        is_failed=(status or "").lower() != "success",
        is_repeatable=kind != "V",
    )


SCHEMACHANGE = Tool(
    name="schemachange",
    read=read,
    history=HistoryTable(
        name="METADATA.SCHEMACHANGE.CHANGE_HISTORY",
        columns=("VERSION", "SCRIPT", "SCRIPT_TYPE", "CHECKSUM", "STATUS", "INSTALLED_BY", "INSTALLED_ON"),
        order="INSTALLED_ON",
        row=_row,
        times=("INSTALLED_ON",),
    ),
    is_numbered=True,
)
