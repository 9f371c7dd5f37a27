"""Read a Liquibase project: formatted SQL changelogs, and the changelogs in YAML or XML that include them.

https://docs.liquibase.com/concepts/changelogs/home.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from glacierbase.adopt.folder import ForeignFolder
from glacierbase.adopt.foreign import ForeignProject, HistoryRow, HistoryTable, NotMapped, Script, Tool, in_order
from glacierbase.adopt.liquibase_master import read_master
from glacierbase.adopt.liquibase_sql import Changelog, Changeset, Include, Property, is_formatted, parse
from glacierbase.adopt.placeholders import Variables, catalog_value, template
from glacierbase.errors import ConfigurationError, MigrationFileError
from glacierbase.migrations.new_files import file_words
from glacierbase.migrations.statements import split_statements
from glacierbase.model.command import command

_PROPERTIES = "liquibase.properties"
_MASTERS = re.compile(
    r"(?:.*/)?(?:db\.)?changelog[-.](?:master|root)\.(?:sql|ya?ml|xml)|(?:.*/)?master\.(?:sql|ya?ml|xml)"
)
_PLACEHOLDER = re.compile(r"\$\{(:?[\w.\-]{1,200})\}", re.ASCII)
_HINT = "no property of this name was read; Liquibase takes it from its command line, or leaves the text as it is"
# The names of the databases that a dialect's catalogs are in Liquibase.
_DATABASES = {"snowflake": {"snowflake"}, "spark": {"databricks", "sparksql", "spark", "hive"}}
_MOST_CHANGELOGS = 10_000
# Attributes that need no counterpart: comments stay, and each statement is its own transaction.
_NEEDLESS = frozenset(
    ("stripcomments", "splitstatements", "enddelimiter", "runonchange", "logicalfilepath", "runintransaction",
     "rollbacksplitstatements", "rollbackenddelimiter")
)  # fmt: skip
_WORD = re.compile(r"[A-Za-z][\w\-]*", re.ASCII)
_CONTEXT = re.compile(r"\s+|,|!|\(|\)|[\w.\-@]+", re.ASCII)


def read(folder: ForeignFolder, dialect: str) -> ForeignProject:
    """Return the Liquibase project in a folder, or of a changelog and what it includes."""
    reader = _Reader(folder, dialect)
    for path in _first_changelogs(folder):
        reader.read(path)
    return reader.project()


def _first_changelogs(folder: ForeignFolder) -> list[str]:
    """Return the changelog that was named, that of `liquibase.properties`, the master, or all formatted SQL.

    Raises:
        ConfigurationError: there is none.
    """
    if folder.start:
        return [folder.start]
    options = dict(_options(folder))
    named = folder.resolved(options.get("changelogfile", "").removeprefix("classpath:").lstrip("/") or "?")
    paths = folder.files()
    masters = [path for path in paths if _MASTERS.fullmatch(path)]
    if named or masters:
        return [named or min(masters, key=lambda path: (path.count("/"), path))]
    found = [path for path in paths if path.lower().endswith(".sql") and is_formatted(folder.text(path))]
    if not found:
        what = f"{folder.shown('')} holds no changelog: none is named in {_PROPERTIES}, and none is formatted SQL"
        raise ConfigurationError(
            "NOTHING_TO_IMPORT", what, f"name the changelog: `{command('import', 'liquibase', 'CHANGELOG')}`"
        )
    return found


def _options(folder: ForeignFolder) -> Iterator[tuple[str, str]]:
    """Yield the options in `liquibase.properties`, in lower case."""
    for line in folder.text(_PROPERTIES).splitlines() if folder.has(_PROPERTIES) else ():
        key, separator, value = (part.strip() for part in re.sub("[=:]", "=", line, count=1).partition("="))
        if separator and not key.startswith(("#", "!")):
            yield key.lower().replace("-", ""), value


class _Reader:
    """Reads changelogs in the order of their changesets."""

    def __init__(self, folder: ForeignFolder, dialect: str) -> None:
        self._folder = folder
        self._dialect = dialect
        self._read: set[str] = set()
        self._changesets: list[tuple[str, str, Changeset]] = []  # Each with its path, and the one in the history table.
        self._not_mapped: list[NotMapped] = []
        self._properties: dict[str, str | None] = {
            key.removeprefix("parameter."): catalog_value(value)
            for key, value in _options(folder)
            if key.startswith("parameter.")
        }

    def project(self) -> ForeignProject:
        """Return what was read."""
        variables = Variables(self._properties, _HINT)
        scripts = [
            script
            for path, recorded, changeset in self._changesets
            if (script := self._script(path, recorded, changeset, variables))
        ]
        return ForeignProject(in_order(scripts), (*self._not_mapped, *variables.not_mapped), dict(variables.values))

    def read(self, path: str) -> None:
        """Read a changelog and those that it includes; one is read once."""
        if path in self._read:
            return
        self._read.add(path)
        if len(self._read) > _MOST_CHANGELOGS:
            what = f"the changelog includes more than {_MOST_CHANGELOGS} others"
            raise ConfigurationError("UNREADABLE_FILE", what, "import it in parts")
        text = self._folder.text(path)
        if not path.lower().endswith(".sql"):
            parts, not_mapped = read_master(text, self._folder.shown(path))
            self._not_mapped += not_mapped
            self._parts(path, Changelog(parts=list(parts)))
        elif is_formatted(text):
            self._parts(path, parse(text))
        else:  # Liquibase takes the whole file as one changeset.
            whole = Changeset(
                1, "includeAll", "raw", {}, file_words(_stem(path)).replace("_", " "), text.split("\n"), 1
            )
            self._parts(path, Changelog(parts=[whole]))

    def _parts(self, path: str, changelog: Changelog) -> None:
        for line, text in changelog.left_out:
            self._skipped(path, line, f"left out: {text}")
        for part in changelog.parts:
            if isinstance(part, Changeset):
                recorded = part.attributes.get("logicalfilepath") or changelog.logical_path or path
                self._changesets.append((path, recorded, part))
            elif isinstance(part, Property):
                self._define(path, part)
            else:
                self._include(path, part)

    def _skipped(self, path: str, line: int, what: str) -> None:
        self._not_mapped.append(NotMapped(self._folder.shown(path), line, what))

    def _define(self, path: str, part: Property) -> None:
        """Define a property; the first definition counts."""
        name, value = part.attributes.get("name"), part.attributes.get("value")
        if name is None or value is None:
            what = "a property without name and value here; write its values under variables in the catalog file"
            self._skipped(path, part.line, what)
        elif not _is_for(part.attributes.get("dbms", ""), self._dialect):
            self._skipped(path, part.line, f"property {name}: it is for dbms {part.attributes['dbms']} only")
        else:
            if context := part.attributes.get("contextfilter") or part.attributes.get("context"):
                what = f"property {name}: its value {value!r} is for context {context}; write it under that environment"
                self._skipped(path, part.line, what)
                value = None
            self._properties.setdefault(name, None if value is None else catalog_value(value))

    def _include(self, path: str, part: Include) -> None:
        """Read what a changelog includes."""
        base = path.rpartition("/")[0]
        name = part.path.removeprefix("classpath:").lstrip("/")
        found = self._folder.resolved(name, base) if part.is_relative else self._folder.on_search_path(name, base)
        if found is None or self._folder.is_folder(found) != part.is_folder:
            self._skipped(path, part.line, f"include {part.path}: there is no such file below {self._folder.shown('')}")
        elif part.is_folder:
            for name in self._folder.files(found):
                self._read_included(name)
        else:
            self._read_included(found)

    def _read_included(self, path: str) -> None:
        if path.lower().endswith((".sql", ".xml", ".yaml", ".yml")):
            self.read(path)
        else:
            self._skipped(path, 1, "included, and neither SQL, YAML nor XML; not imported")

    def _script(self, path: str, recorded: str, changeset: Changeset, variables: Variables) -> Script | None:
        """Return a changeset as a script; None where it never runs here, which is listed."""
        if why := self._why_not(changeset):
            self._skipped(path, changeset.line, f"changeset {changeset.author}:{changeset.id}: {why}; not imported")
            return None
        for line, what in changeset.left_out:
            way = (
                f"`{command('new', '--reverting', 'VERSION', 'why')}` writes one"
                if what == "rollback"
                else "it has no counterpart"
            )
            self._skipped(path, line, f"{what}: {way}")
        for name, value in changeset.attributes.items():
            if what := self._without_counterpart(name, value):
                self._skipped(path, changeset.line, f"changeset {changeset.author}:{changeset.id}: {what}")
        sql = self._sql(path, changeset)
        shown = self._folder.shown(path)

        def expression(found: re.Match[str], lines: int) -> str | None:
            if found[1].startswith(":"):  # Liquibase's own escape.
                return f"'{found[0].replace(':', '', 1)}'"
            return variables.expression(found[1], shown, changeset.first + lines)

        text = template(sql, _PLACEHOLDER, expression)
        if context := changeset.attributes.get("contextfilter") or changeset.attributes.get("context"):
            text = self._in_context(path, changeset, context, text, variables)
        is_repeatable = changeset.is_true("runonchange") or changeset.is_true("runalways")
        return Script(
            shown,
            changeset.line,
            None if is_repeatable else changeset.id,
            _description(path, changeset),
            changeset.author,
            text,
            (changeset.id, changeset.author, recorded),
        )

    def _why_not(self, changeset: Changeset) -> str:
        attributes = changeset.attributes
        if not _is_for(attributes.get("dbms", ""), self._dialect):
            return f"it is for dbms {attributes['dbms']} only"
        if changeset.is_true("ignore"):
            return "ignore:true"
        if attributes.get("runwith"):
            return f"runWith:{attributes['runwith']} runs another program"
        return "" if any(line.strip() for line in changeset.sql) else "it has no SQL"

    def _without_counterpart(self, name: str, value: str) -> str:
        """Return what to say of an attribute; nothing of one that needs no counterpart."""
        if name in _NEEDLESS or name in ("dbms", "context", "contextfilter", "ignore"):
            return ""
        if name == "runalways":
            return "" if value.lower() != "true" else "runAlways: here it runs again only when it changes"
        if name == "labels":
            return f"labels:{value} select changesets of a run; here it runs in every environment"
        if name == "failonerror" and value.lower() != "false":
            return ""
        return f"{name}:{value} has no counterpart"

    def _sql(self, path: str, changeset: Changeset) -> str:
        """Return the SQL, with semicolons in place of another delimiter."""
        text = "\n".join(changeset.sql).rstrip()
        delimiter = changeset.attributes.get("enddelimiter", ";").removeprefix("\\n").strip()
        if delimiter not in (";", ""):
            text = re.sub(rf"(?mi)(?:^|(?<=[\s;)])){re.escape(delimiter)}[ \t]*$", ";", text)
            what = f"endDelimiter:{delimiter}: semicolons replace it"
            self._skipped(path, changeset.line, f"changeset {changeset.author}:{changeset.id}: {what}")
        elif changeset.attributes.get("splitstatements", "").lower() == "false":
            self._check_one(path, changeset, text)
        return text

    def _check_one(self, path: str, changeset: Changeset, text: str) -> None:
        """List a changeset that Liquibase runs as one statement, and that is several here."""
        try:
            count = len(split_statements(text, self._dialect))
        except MigrationFileError as error:
            self._skipped(path, changeset.line, f"splitStatements:false: {error.message}")
            return
        if count > 1:
            what = f"splitStatements:false: it runs as {count} statements here"
            self._skipped(path, changeset.line, f"changeset {changeset.author}:{changeset.id}: {what}")

    def _in_context(self, path: str, changeset: Changeset, context: str, text: str, variables: Variables) -> str:
        """Return a template that runs only where the variables of its contexts are true."""
        parts = [part for part in _CONTEXT.findall(context) if part.strip()]
        if "".join(parts) != re.sub(r"\s", "", context):
            self._skipped(path, changeset.line, f"context {context}: not understood; it runs in every environment here")
            return text
        words = {",": "or", "!": "not", "(": "(", ")": ")", "and": "and", "or": "or", "not": "not"}
        shown = self._folder.shown(path)
        condition = " ".join(
            words.get(part.lower())
            or variables.expression(
                f"context_{part.lower()}",
                shown,
                changeset.line,
                f"context {part}: its changesets run where a variable is true, in which environments is not in the project",
            )
            for part in parts
        )
        return f"{{% if {condition} %}}\n{text}\n{{% endif %}}"


def _is_for(databases: str, dialect: str) -> bool:
    """Return whether a list of databases, `snowflake,!h2`, has those of a dialect; an empty one has all."""
    names = [name.strip().lower() for name in databases.split(",") if name.strip()]
    own = _DATABASES.get(dialect, {dialect})
    refused = {name[1:] for name in names if name.startswith("!")}
    chosen = {name for name in names if not name.startswith("!")}
    return "none" not in chosen and not own & refused and (not chosen or "all" in chosen or bool(own & chosen))


def _description(path: str, changeset: Changeset) -> str:
    """Return the comment of a changeset, else its id; an id without words follows the name of the file."""
    if changeset.comment:
        return changeset.comment
    words = re.sub(r"[_\-]+", " ", changeset.id).strip()
    return words if _WORD.search(words) else f"{file_words(_stem(path)).replace('_', ' ')} {words}"


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


def same_changeset(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether two keys are of one changeset: the path may be relative to different folders."""
    if one[:2] != other[:2]:
        return False
    paths = [str(key[2]).removeprefix("classpath:").lstrip("./") for key in (one, other)]
    return any(f"/{a}".endswith(f"/{b}") for a, b in (paths, paths[::-1]))


LIQUIBASE = Tool(
    name="Liquibase",
    read=read,
    history=HistoryTable(
        name="DATABASECHANGELOG",
        columns=("ID", "AUTHOR", "FILENAME", "EXECTYPE", "DATEEXECUTED"),
        order="ORDEREXECUTED",
        row=_row,
        times=("DATEEXECUTED",),
    ),
)
