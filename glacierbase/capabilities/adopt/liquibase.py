"""Read a Liquibase project: formatted SQL changelogs, and the changelogs in YAML or XML that include them.

https://docs.liquibase.com/concepts/changelogs/home.html, and sql-format.html beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from xml.parsers import expat

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
    template,
)
from glacierbase.catalogs.yamlfile import MappingNode, ScalarNode, SequenceNode, parse_yaml
from glacierbase.errors import ConfigurationError, GlacierbaseError, MigrationFileError
from glacierbase.migrations.new_files import file_words
from glacierbase.migrations.statements import split_statements
from glacierbase.model.command import command

_PROPERTIES = "liquibase.properties"
_MASTERS = re.compile(
    r"(?:.*/)?(?:db\.)?changelog[-.](?:master|root)\.(?:sql|ya?ml|xml)|(?:.*/)?master\.(?:sql|ya?ml|xml)"
)
_PLACEHOLDER = re.compile(r"\$\{(:?[\w.\-]{1,200})\}", re.ASCII)
_HINT = "no property of this name was read; Liquibase takes it from its command line, or leaves the text as it is"
_DEEPEST = 50  # Changelogs that include each other.
# The names of the databases that a dialect's catalogs are in Liquibase.
_DATABASES = {"snowflake": {"snowflake"}, "spark": {"databricks", "sparksql", "spark", "hive"}}
# Attributes of changesets that are mapped, or need no counterpart: comments stay, and each statement is its own transaction.
_MAPPED = frozenset(
    ("stripcomments", "splitstatements", "enddelimiter", "runonchange", "logicalfilepath", "runintransaction",
     "rollbacksplitstatements", "rollbackenddelimiter", "dbms", "context", "contextfilter", "ignore")
)  # fmt: skip
# Attributes of an include that change what it means.
_OF_INCLUDE = frozenset(("context", "contextfilter", "labels", "filter", "resourcecomparator", "ignore", "mindepth"))
_CHANGES = "its changes are not SQL of their own; write the SQL (`liquibase update-sql` prints it) as a migration"
_CONTEXT = re.compile(r"\s+|,|!|\(|\)|[\w.\-@]+", re.ASCII)
_OPERATORS = {",": "or", "!": "not", "(": "(", ")": ")", "and": "and", "or": "or", "not": "not"}

_FIRST = re.compile(r"\s*--\s*liquibase\s+formatted\b(.*)", re.IGNORECASE)
_CHANGESET = re.compile(r'\s*--\s*changeset\s+("[^"]+"|[^:\s"][^:]*):\s*("[^"]+"|\S+(?!\S))(.*)', re.IGNORECASE)
_DIRECTIVE = re.compile(r"\s*--\s*(changeset|property|includeAll|include|ignoreLines)\b(.*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r'\b(\w+):\s*("[^"]*"|\S+)')
_IGNORE = re.compile(r"\s*--\s*ignoreLines:(\w+)\b.*", re.IGNORECASE)
_COMMENT = re.compile(r"\s*--\s*comments?:?\s(.*)", re.IGNORECASE)
_ROLLBACK = re.compile(r"\s*--\s*rollback\s(.*)", re.IGNORECASE)
_ROLLBACK_OPENS = re.compile(r"\s*/\*\s*liquibase\s*rollback\s*", re.IGNORECASE)
_CONDITION = re.compile(r"\s*--\s*(preconditions?\b.*|validCheckSum\b.*)", re.IGNORECASE)


@dataclass(slots=True)
class _Part:
    """An element of a changelog.

    Attributes:
        name: in lower case: `changeset`, `property`, `include`, `includeall`, `databasechangelog`, or another one.
        attributes: by their names in lower case.
        sql: the lines of a changeset in formatted SQL; None for every other part.
        first: the line of the first of them.
    """

    name: str
    line: int
    attributes: Mapping[str, str]
    comment: str = ""
    sql: list[str] | None = None
    first: int = 0

    def is_true(self, name: str) -> bool:
        """Return whether an attribute, in lower case, is `true`."""
        return self.attributes.get(name, "").lower() == "true"

    def context(self) -> str:
        return self.attributes.get("contextfilter") or self.attributes.get("context") or ""

    def text(self) -> str:
        """Return it as messages name it."""
        author, id = self.attributes.get("author"), self.attributes.get("id")
        return f"{self.name} {author}:{id}" if author and id else self.name


def read(folder: ForeignFolder, dialect: str) -> ForeignProject:
    """Return the Liquibase project in a folder, or of a changelog and what it includes.

    Raises:
        ConfigurationError: `NOTHING_TO_IMPORT`: there is no changelog.
    """
    options = {key: value for key, value, _ in folder.properties(_PROPERTIES)}
    reader = _Reader(folder, dialect, options)
    for path in [folder.start] if folder.start else _first_changelogs(folder, options):
        reader.read(path)
    variables = Variables(folder, reader.properties, _HINT)
    scripts = [script for changeset in reader.changesets if (script := reader.script(*changeset, variables))]
    scripts.sort(key=lambda script: script.version is None)
    return ForeignProject(tuple(scripts), tuple(folder.not_mapped), variables.values)


def _first_changelogs(folder: ForeignFolder, options: Mapping[str, str]) -> list[str]:
    """Return the changelog of `liquibase.properties`, else the master, else all formatted SQL."""
    names = {key.lower().replace("-", ""): value for key, value in options.items()}
    place = names.get("changelogfile", "").removeprefix("classpath:").lstrip("/")
    if place and (named := folder.resolved(place)):
        return [named]
    if place:
        folder.note(_PROPERTIES, 1, f"changelogFile {place}: there is no such file below {folder.shown('')}")
    paths = folder.files()
    if masters := list(filter(_MASTERS.fullmatch, paths)):
        return [min(masters, key=lambda path: (path.count("/"), path))]
    formatted = [path for path in paths if path.lower().endswith(".sql") and _is_formatted(folder.text(path))]
    if not formatted:
        what = f"{folder.shown('')} holds no changelog: none is named in {_PROPERTIES}, and none is formatted SQL"
        hint = f"name the changelog: `{command('import', 'liquibase', 'CHANGELOG')}`"
        raise ConfigurationError("NOTHING_TO_IMPORT", what, hint)
    return formatted


class _Reader:
    """Reads changelogs in the order of their changesets.

    Attributes:
        changesets: each with the path of its changelog, and the path in the history table.
        properties: the first value of each, as a catalog file has it; None for one that must be chosen.
    """

    def __init__(self, folder: ForeignFolder, dialect: str, options: Mapping[str, str]) -> None:
        self._folder = folder
        self._dialect = dialect
        self._read: set[str] = set()
        self.changesets: list[tuple[str, str, _Part]] = []
        self.properties: dict[str, str | None] = {
            key.removeprefix("parameter."): catalog_value(value)
            for key, value in options.items()
            if key.startswith("parameter.")
        }

    def read(self, path: str, depth: int = 1) -> None:
        """Read a changelog and those that it includes; one is read once."""
        if path in self._read:
            return
        self._read.add(path)
        if depth > _DEEPEST:
            what = f"{self._folder.shown(path)}: more than {_DEEPEST} changelogs include each other"
            raise ConfigurationError("UNREADABLE_FILE", what, "import it in parts")
        recorded = path
        for part in self._parts(path):
            if part.name == "databasechangelog":
                recorded = part.attributes.get("logicalfilepath") or path
            elif part.sql is not None:
                self.changesets.append((path, part.attributes.get("logicalfilepath") or recorded, part))
            elif part.name == "property":
                self._define(path, part)
            elif part.name in ("include", "includeall"):
                self._include(path, part, depth)
            else:
                what = _CHANGES if part.name == "changeset" else "it has no counterpart"
                self._folder.note(path, part.line, f"{part.text()}: {what}")

    def _parts(self, path: str) -> Iterable[_Part]:
        """Return the parts of a changelog; what cannot be read of it is noted."""
        text, suffix = self._folder.text(path), path.lower().rpartition(".")[2]
        if suffix == "sql":
            if _is_formatted(text):
                return list(_formatted(text, path, self._folder))
            # Liquibase takes the whole file as one changeset.
            attributes = {"author": "includeAll", "id": "raw"}
            return [_Part("changeset", 1, attributes, file_words(_stem(path)).replace("_", " "), text.split("\n"), 1)]
        try:
            return _xml(text, path) if suffix == "xml" else list(_yaml(text, path))
        except expat.ExpatError as error:
            self._folder.note(path, error.lineno, f"not read: {error}")
        except GlacierbaseError as error:
            self._folder.note(path, int(error.data.get("line", 1)), f"not read: {error.message}")
        return ()

    def _define(self, path: str, part: _Part) -> None:
        """Define a property; the first definition counts."""
        name, value = part.attributes.get("name"), part.attributes.get("value")
        if name is None or value is None:
            what = "a property without name and value here; write its values under variables in the catalog file"
            self._folder.note(path, part.line, what)
        elif not _is_for(part.attributes.get("dbms", ""), self._dialect):
            self._folder.note(path, part.line, f"property {name}: it is for dbms {part.attributes['dbms']} only")
        elif context := part.context():
            what = f"property {name}: its value {value!r} is for context {context}; write it under that environment"
            self._folder.note(path, part.line, what)
            self.properties.setdefault(name, None)
        else:
            self.properties.setdefault(name, catalog_value(value))

    def _include(self, path: str, part: _Part, depth: int) -> None:
        """Read what a changelog includes."""
        folder, base, is_folder = self._folder, path.rpartition("/")[0], part.name == "includeall"
        for key in part.attributes.keys() & _OF_INCLUDE:
            what = f"{part.name}: {key}={part.attributes[key]} has no counterpart; all of it was imported"
            folder.note(path, part.line, what)
        name = part.attributes.get("file") or part.attributes.get("path") or ""
        place = name.removeprefix("classpath:").lstrip("/")
        is_relative = part.is_true("relativetochangelogfile")
        inside = folder.resolved(place, base) if is_relative else folder.on_search_path(place, base)
        if inside is None or folder.is_folder(inside) != is_folder:
            folder.note(path, part.line, f"include {name}: there is no such file below {folder.shown('')}")
            return
        for included in folder.files(inside) if is_folder else [inside]:
            if included.lower().endswith((".sql", ".xml", ".yaml", ".yml")):
                self.read(included, depth + 1)
            else:
                folder.note(included, 1, "included, and neither SQL, YAML nor XML; not imported")

    def script(self, path: str, recorded: str, changeset: _Part, variables: Variables) -> ForeignScript | None:
        """Return a changeset as a script; None where it never runs here, which is noted."""
        attributes, sql = changeset.attributes, "\n".join(changeset.sql or ()).rstrip()
        why = self._why_not(attributes, sql)
        for what in [f"{why}; not imported"] if why else self._without_counterpart(attributes, sql):
            self._folder.note(path, changeset.line, f"{changeset.text()}: {what}")
        if why:
            return None

        def expression(match: re.Match[str], lines: int) -> str:
            if match[1].startswith(":"):  # Liquibase's own escape.
                return f"'{match[0].replace(':', '', 1)}'"
            return variables.expression(match[1], path, changeset.first + lines)

        text = template(_with_semicolons(attributes, sql), _PLACEHOLDER, expression)
        if condition := self._condition(path, changeset, variables):
            text = f"{{% if {condition} %}}\n{text}\n{{% endif %}}"
        is_repeatable = changeset.is_true("runonchange") or changeset.is_true("runalways")
        id, author = attributes["id"], attributes["author"]
        version, key = None if is_repeatable else id, (id, author, recorded)
        shown, description = self._folder.shown(path), _description(path, changeset)
        return ForeignScript(shown, changeset.line, version, description, author, text, key)

    def _why_not(self, attributes: Mapping[str, str], sql: str) -> str:
        """Return why a changeset never runs here; empty if it runs."""
        if not _is_for(attributes.get("dbms", ""), self._dialect):
            return f"it is for dbms {attributes['dbms']} only"
        if attributes.get("ignore", "").lower() == "true":
            return "ignore:true"
        if program := attributes.get("runwith"):
            return f"runWith:{program} runs another program"
        return "" if sql.strip() else "it has no SQL"

    def _without_counterpart(self, attributes: Mapping[str, str], sql: str) -> Iterator[str]:
        """Yield what of a changeset's attributes means another thing here, or nothing."""
        for name, value in attributes.items():
            if name == "labels":
                yield f"labels:{value} select changesets of a run; here it runs in every environment"
            elif (name, value.lower()) == ("runalways", "true"):
                yield "runAlways: here it runs again only when it changes"
            elif name not in ("id", "author", "runalways", *_MAPPED) and (name, value.lower()) != (
                "failonerror",
                "true",
            ):
                yield f"{name}:{value} has no counterpart"
        if (delimiter := _delimiter(attributes)) != ";":
            yield f"endDelimiter:{delimiter}: semicolons replace it"
        elif attributes.get("splitstatements", "").lower() == "false":
            try:
                if (count := len(split_statements(sql, self._dialect))) > 1:
                    yield f"splitStatements:false: it runs as {count} statements here"
            except MigrationFileError as error:
                yield f"splitStatements:false: {error.message}"

    def _condition(self, path: str, changeset: _Part, variables: Variables) -> str:
        """Return the condition of a template for a changeset's contexts; empty where it has none."""
        context = changeset.context()
        parts = [part for part in _CONTEXT.findall(context) if part.strip()]
        if "".join(parts) != re.sub(r"\s", "", context):
            what = f"context {context}: not understood; it runs in every environment here"
            self._folder.note(path, changeset.line, what)
            return ""
        why = "its changesets run where a variable is true, in which environments is not in the project"
        return " ".join(
            _OPERATORS.get(part.lower())
            or variables.expression(f"context_{part.lower()}", path, changeset.line, f"context {part}: {why}")
            for part in parts
        )


def _is_formatted(text: str) -> bool:
    """Return whether a text is a formatted SQL changelog."""
    return _FIRST.fullmatch(next((line for line in text.splitlines() if line.strip()), "")) is not None


def _formatted(text: str, path: str, folder: ForeignFolder) -> Iterator[_Part]:
    """Yield the parts of a formatted SQL changelog; lines that have no counterpart are noted."""
    changeset: _Part | None = None
    lines = iter(enumerate(text.split("\n"), start=1))
    for number, line in lines:
        directive = _DIRECTIVE.fullmatch(line)
        if first := _FIRST.fullmatch(line):
            yield _Part("databasechangelog", number, _attributes(first[1]))
        elif ignored := _IGNORE.fullmatch(line):
            folder.note(path, number, f"left out: {line.strip()}")
            _skip(lines, ignored[1])
        elif match := _CHANGESET.fullmatch(line):
            names = {"author": _bare(match[1]), "id": _bare(match[2])}
            changeset = _Part("changeset", number, {**_attributes(match[3]), **names}, sql=[])
            yield changeset
        elif directive and directive[1].lower() not in ("changeset", "ignorelines"):
            yield _Part(directive[1].lower(), number, _attributes(directive[2]))
        elif changeset is not None and not directive:
            if what := _add(changeset, line, number, lines):
                folder.note(path, number, what)
        elif line.strip():
            folder.note(path, number, f"left out: {line.strip()}")


def _add(changeset: _Part, line: str, number: int, lines: Iterator[tuple[int, str]]) -> str:
    """Add a line to a changeset. Return what is left out of it; empty where nothing is."""
    if comment := _COMMENT.fullmatch(line):
        changeset.comment = f"{changeset.comment} {comment[1].strip()}".strip()
    elif (is_block := bool(_ROLLBACK_OPENS.fullmatch(line))) or _ROLLBACK.fullmatch(line):
        while is_block and "*/" not in next(lines, (0, "*/"))[1]:
            pass
        return f"rollback: `{command('new', '--reverting', 'VERSION', 'why')}` writes one"
    elif condition := _CONDITION.fullmatch(line):
        return f"{condition[1].strip()}: it has no counterpart"
    elif changeset.sql is not None:
        changeset.first = changeset.first or number
        changeset.sql.append(line)
    return ""


def _attributes(text: str) -> dict[str, str]:
    """Return attributes such as `runOnChange:true`, with names in lower case and values without quotes."""
    return {name.lower(): _bare(value) for name, value in _ATTRIBUTE.findall(text)}


def _bare(text: str) -> str:
    return text.strip().strip('"')


def _skip(lines: Iterator[tuple[int, str]], until: str) -> None:
    """Skip lines: a number of them, or up to `--ignoreLines:end`."""
    for passed, (_, line) in enumerate(lines, start=1):
        end = _IGNORE.fullmatch(line)
        if end[1].lower() == "end" if end else str(passed) == until:
            return


def _yaml(text: str, path: str) -> Iterator[_Part]:
    """Yield each item of a changelog in YAML.

    Raises:
        ConfigurationError: it is no YAML.
    """
    items = parse_yaml(text.encode(), path).get("databaseChangeLog")
    for item in items.items if isinstance(items, SequenceNode) else ():
        for name, node in item.values.items() if isinstance(item, MappingNode) else ():
            values = node.values.items() if isinstance(node, MappingNode) else ()
            attributes = {key.lower(): value.text for key, value in values if isinstance(value, ScalarNode)}
            yield _Part(name.lower(), item.place.line, attributes)


def _xml(text: str, path: str) -> list[_Part]:
    """Return the root element of a changelog in XML, and each element in it.

    Raises:
        expat.ExpatError: it is no XML.
        ConfigurationError: it has a document type, which may define entities without end.
    """
    parts: list[_Part] = []
    above: list[str] = []
    parser = expat.ParserCreate(encoding="utf-8")

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(above) < 2:
            lower = {key.lower(): value for key, value in attributes.items()}
            parts.append(_Part(name.rpartition(":")[2].lower(), parser.CurrentLineNumber, lower))
        above.append(name)

    def refuse(*_: object) -> None:
        line = parser.CurrentLineNumber
        raise ConfigurationError("INVALID_VALUE", "it has a document type", "remove it", path=path, line=line)

    parser.StartElementHandler, parser.EndElementHandler = start, lambda _: above.pop()
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(text.encode(), True)
    return parts


def _delimiter(attributes: Mapping[str, str]) -> str:
    return attributes.get("enddelimiter", ";").removeprefix("\\n").strip() or ";"


def _with_semicolons(attributes: Mapping[str, str], sql: str) -> str:
    """Return SQL with semicolons in place of another delimiter at the ends of lines."""
    delimiter = _delimiter(attributes)
    return sql if delimiter == ";" else re.sub(rf"(?mi)(?:^|(?<=[\s;)])){re.escape(delimiter)}[ \t]*$", ";", sql)


def _is_for(databases: str, dialect: str) -> bool:
    """Return whether a list of databases, `snowflake,!h2`, has those of a dialect; an empty one has all."""
    names = {name.strip().lower() for name in databases.split(",") if name.strip()}
    own = _DATABASES.get(dialect, {dialect})
    chosen = {name for name in names if not name.startswith("!")}
    is_refused = "none" in chosen or any(f"!{name}" in names for name in own)
    return not is_refused and (not chosen or "all" in chosen or bool(own & chosen))


def _description(path: str, changeset: _Part) -> str:
    """Return the comment of a changeset, else its id; an id without words follows the name of the file."""
    words = re.sub(r"[_\-]+", " ", changeset.attributes["id"]).strip()
    named = words if re.search("[A-Za-z]", words) else f"{file_words(_stem(path)).replace('_', ' ')} {words}"
    return changeset.comment or named


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0].replace(".", " ")


def _row(id: str, author: str, filename: str, kind: str, executed: datetime | None) -> HistoryRow:
    """Return what a row of DATABASECHANGELOG means."""
    return HistoryRow(
        key=(id, author, filename),
        name=f"{author}:{id} of {filename}",
        author=author,
        at=executed,
        is_failed=kind in ("FAILED", "SKIPPED"),
    )


def same_changeset(key: Key, other: Key) -> bool:
    """Return whether two keys are of the same changeset: the path may be relative to different folders."""
    if key[:2] != other[:2]:
        return False
    paths = [str(key[2]).removeprefix("classpath:").lstrip("./") for key in (key, other)]
    return any(f"/{a}".endswith(f"/{b}") for a, b in (paths, paths[::-1]))


LIQUIBASE = Tool(
    name="Liquibase",
    read=read,
    history=HistoryTable(
        name="DATABASECHANGELOG",
        columns=("ID", "AUTHOR", "FILENAME", "EXECTYPE"),
        row=_row,
        time="DATEEXECUTED",
        order="ORDEREXECUTED",
        is_same=same_changeset,
    ),
)
