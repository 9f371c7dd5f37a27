"""Read a schemachange project: `V1.2__words.sql`, `R__words.sql`, `A__words.sql`, and `schemachange-config.yml`.

The names in its Jinja templates become variables; nothing of a template is run. https://github.com/Snowflake-Labs/schemachange
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.defaults import DEFAULT_NAMESPACE

from glacierbase.capabilities.adopt.foreign import (
    ForeignFolder,
    ForeignProject,
    ForeignScript,
    HistoryRow,
    HistoryTable,
    Tool,
    Variables,
)
from glacierbase.catalogs.yamlfile import MappingNode, Node, ScalarNode, SequenceNode, parse_yaml
from glacierbase.errors import GlacierbaseError

_CONFIG = "schemachange-config.yml"
_NAME = re.compile(r"(?i)(?P<kind>[VRA])(?P<version>(?:[^_]|_(?!_))*)__(?P<words>.[^.\n]*)\.(?P<suffix>.*)")
_SUFFIX = re.compile(r"(?i)\.(?:sql|cli\.yml)(?:\.jinja)?$")
_ENV_VAR = re.compile(r"\{\{\s*env_var\(\s*(['\"])(\w+)\1\s*(?:,\s*(['\"])([^'\"]*)\3\s*)?\)\s*\}\}")
_HINT = "its value is not in vars of schemachange-config.yml"
_SECRET = re.compile("(?i)secret")
# Blocks that read another file.
_OF_FILES: Mapping[type[nodes.Node], str] = {
    nodes.Import: "import",
    nodes.FromImport: "from … import",
    nodes.Include: "include",
    nodes.Extends: "extends",
}
_LONGEST = 2**20  # Reading a template of this length takes seconds.
_KNOWN = frozenset({*DEFAULT_NAMESPACE, "loop", "caller", "varargs", "kwargs", "self"})


class _Token(NamedTuple):
    """A token of a template, and where it is."""

    kind: str
    text: str
    start: int
    line: int


def read(folder: ForeignFolder, dialect: str) -> ForeignProject:  # noqa: ARG001 (the port's)
    """Return the schemachange project in a folder."""
    folder.check_is_folder()
    settings = _settings(folder)
    known = settings.get("vars")
    values = known.values.items() if isinstance(known, MappingNode) else ()
    variables = Variables(folder, {name: _value(name, value, folder) for name, value in values}, _HINT)
    paths = filter(_SUFFIX.search, folder.files(_root(folder, settings)))
    scripts = [script for path in paths if (script := _script(folder, path, variables))]
    if (node := settings.get("modules-folder")) and (modules := _text(node)):
        what = "a migration reads no other file; write its macros into the files that use them"
        folder.note(_CONFIG, node.place.line, f"modules-folder {modules}: {what}")
    table = _text(settings.get("change-history-table"))
    return ForeignProject(
        tuple(sorted(scripts, key=lambda script: ("vra".index(script.key[0][0]), _order(script.key[0])))),
        tuple(folder.not_mapped),
        variables.values,
        table if table and "{" not in table else None,
    )


def _settings(folder: ForeignFolder) -> MappingNode:
    """Return the keys of the configuration, in either of its versions; none where there is no configuration."""
    try:
        content = parse_yaml(folder.text(_CONFIG).encode() if folder.has(_CONFIG) else b"", _CONFIG)
    except GlacierbaseError as error:
        folder.note(_CONFIG, int(error.data.get("line", 1)), f"the configuration: {error.message}")
        content = parse_yaml(b"", _CONFIG)
    inside = content.get("schemachange")
    return inside if isinstance(inside, MappingNode) else content


def _value(name: str, node: Node, folder: ForeignFolder) -> Any:
    """Return a value of `vars` as a catalog file has it; None for a secret, which is not shown."""
    if isinstance(node, MappingNode):
        return {key: _value(f"{name}.{key}", value, folder) for key, value in node.values.items()}
    if _SECRET.search(name):
        what = f"{name}: a secret; a variable reaches SQL and query logs, so its value was not read"
        folder.note(_CONFIG, node.place.line, what)
        return None
    if isinstance(node, SequenceNode):
        return [_value(name, item, folder) for item in node.items]
    return _with_environment(node, folder) if isinstance(node.value, str) else node.value


def _with_environment(node: ScalarNode, folder: ForeignFolder) -> str:
    """Return a text in which `{{ env_var('NAME') }}` is the reference of a catalog file, and no other text is one."""

    def reference(match: re.Match[str]) -> str:
        _note_default(folder, _CONFIG, node.place.line, match[2], match[4])
        return f"${{env:{match[2]}}}"

    return _ENV_VAR.sub(reference, node.text.replace("${", "$${"))


def _note_default(folder: ForeignFolder, path: str, line: int, name: str, default: str | None) -> None:
    if default is not None:
        folder.note(path, line, f"env_var of {name}: its default {default!r} has no counterpart")


def _root(folder: ForeignFolder, settings: MappingNode) -> str:
    """Return the folder of scripts: that of the configuration if it is there, else the folder itself."""
    node = settings.get("root-folder")
    if node is None or not (root := _text(node)):
        return "."
    place = folder.on_search_path(root)
    if place is not None and folder.is_folder(place):
        return place
    if root.strip("./"):
        what = f"it is no folder below {folder.shown('')}, of which all scripts were read"
        folder.note(_CONFIG, node.place.line, f"root-folder {root}: {what}")
    return "."


def _script(folder: ForeignFolder, path: str, variables: Variables) -> ForeignScript | None:
    """Return the script in a file; None where it has no counterpart, which is noted."""
    file = path.rpartition("/")[2]
    name = _NAME.fullmatch(file)
    if name is None or bool(name["version"]) != (name["kind"].upper() == "V"):
        folder.note(path, 1, "schemachange does not read a script of this name; not imported")
        return None
    if "cli.yml" in name["suffix"].lower():
        folder.note(path, 1, "a script of commands is not run and not imported")
        return None
    text = folder.text(path).replace("\r", "\n")  # As Jinja reads it.
    try:
        sql = _rewritten(text, folder, path, variables)
    except TemplateSyntaxError as error:
        folder.note(path, error.lineno, f"not imported: {error.message}")
        return None
    if name["kind"].upper() == "A":
        folder.note(path, 1, "an always script: here it runs again only when its text changes")
    return ForeignScript(
        folder.shown(path),
        1,
        name["version"] or None,
        name["words"].replace("_", " ").strip(),
        None,
        sql,
        (re.sub(r"(?i)\.jinja$", "", file).lower(),),
        None if any(mark in text for mark in ("{{", "{%", "{#")) else _checksum(text),
    )


def _rewritten(text: str, folder: ForeignFolder, path: str, variables: Variables) -> str:
    """Return a template in which each name that it does not define is a variable; comments of Jinja are left out and noted.

    Raises:
        TemplateSyntaxError: it is not valid, too long, or it reads another file.
    """
    if len(text) > _LONGEST:
        raise TemplateSyntaxError(f"it has more than {_LONGEST} characters", 1)
    environment = Environment()
    try:
        free = _free_names(environment.parse(text))
        tokens = list(_tokens(environment, text))
    except TemplateSyntaxError as error:
        raise TemplateSyntaxError(f"Jinja cannot parse it: {error.message}", error.lineno) from error
    except RecursionError as error:
        raise TemplateSyntaxError("its expressions are nested too deeply", 1) from error
    parts, at = [], 0
    for index, (kind, word, start, line) in enumerate(tokens):
        end, new = start + len(word), ""
        if kind == "comment_begin":
            folder.note(path, line, "a comment of Jinja was left out")
        elif kind == "name" and word in free and not _is_part(tokens, index):
            if word == "env_var":
                name, default, end = _call(tokens, index)
                _note_default(folder, path, line, name, default)
                new = variables.with_value(f"env_{name.lower()}", f"${{env:{name}}}")
            else:
                new = variables.expression(word, path, line)
        elif kind not in ("comment", "comment_end"):
            continue
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _free_names(tree: nodes.Template) -> frozenset[str]:
    """Return the names that a template reads and does not define.

    Raises:
        TemplateSyntaxError: it reads another file.
    """
    read: set[str] = set()
    defined = set(_KNOWN)
    for node in tree.find_all(nodes.Node):
        if block := _OF_FILES.get(type(node)):
            what = f"{{% {block} %}} reads another file; write its macro or text into the migration"
            raise TemplateSyntaxError(what, node.lineno)
        if isinstance(node, nodes.Name):
            (read if node.ctx == "load" else defined).add(node.name)
        elif isinstance(node, nodes.Macro):
            defined.add(node.name)
    return frozenset(read - defined)


def _tokens(environment: Environment, text: str) -> Iterator[_Token]:
    """Yield the tokens of a template with their places; whitespace that a mark such as `{%-` removes is in none."""
    at = 0
    for line, kind, word in environment.lex(text):
        start = text.find(word, at)
        if start < 0:  # Whitespace at the end of the text.
            return
        at = start + len(word)
        if kind != "whitespace":
            yield _Token(kind, word, start, line)


def _is_part(tokens: Sequence[_Token], index: int) -> bool:
    """Return whether a name is not read as a value: an attribute, a filter, a test, a block, or an argument's name."""
    before, after = tokens[index - 1], tokens[min(index + 1, len(tokens) - 1)]
    is_test = before.text == "is" or (before.text == "not" and tokens[index - 2].text == "is")
    is_argument = after.text == "=" and before.text in ("(", ",")
    return before.text in (".", "|") or before.kind == "block_begin" or is_test or is_argument


def _call(tokens: Sequence[_Token], index: int) -> tuple[str, str | None, int]:
    """Return the arguments of a call of `env_var`, and where it ends.

    Raises:
        TemplateSyntaxError: they are not texts.
    """
    for count in (2, 4):
        call = tokens[index + 1 : index + count + 2]
        kinds = [token.text if token.kind == "operator" else token.kind for token in call]
        if kinds == ["(", "string", *[",", "string"][: count - 2], ")"]:
            name, *default = (re.sub(r"\\(.)", r"\1", token.text[1:-1]) for token in call[1::2])
            return name, next(iter(default), None), call[-1].start + 1
    what = "env_var with arguments that are not texts; write a variable in its place"
    raise TemplateSyntaxError(what, tokens[index].line)


def _checksum(text: str) -> str:
    """Return the SHA-224 of a script without blanks and a semicolon at its ends: what schemachange records."""
    return hashlib.sha224(text.strip().removesuffix(";").encode()).hexdigest()


def _order(text: str) -> list[tuple[int, int, str]]:
    """Return the key by which schemachange sorts: numbers as numbers, other text without regard to case."""
    parts = re.split("([0-9]+)", text)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part.lower()) for part in parts]


def _text(node: Node | None) -> str:
    return node.text if isinstance(node, ScalarNode) else ""


def _row(
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
        columns=("SCRIPT", "SCRIPT_TYPE", "CHECKSUM", "STATUS", "INSTALLED_BY"),
        row=_row,
        time="INSTALLED_ON",
        order="INSTALLED_ON",
    ),
    is_numbered=True,
)
