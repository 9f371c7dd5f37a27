"""How much work each reader of texts has with hostile ones of growing length: no more than in proportion.

The expressions that readers use are measured apart, by the time that they take: `tests/test_growth.py`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from glacierbase.capabilities.adopt.importing import read_project
from glacierbase.capabilities.load.access_log import AccessLog
from glacierbase.catalogs.folder import file_of
from glacierbase.errors import GlacierbaseError
from glacierbase.executors.direct.ddl.name_mapping import updated_mapping
from glacierbase.executors.pyiceberg import metadata
from glacierbase.migrations import folder, git_files
from glacierbase.migrations.allows import allows_of, without_effect
from glacierbase.migrations.compiled import compile_migration
from glacierbase.migrations.headers import read_after, read_headers, read_squashes
from glacierbase.migrations.render import render
from glacierbase.model.migration import Migration
from glacierbase.sql import read
from glacierbase.sql.cursor import UnsupportedClause
from glacierbase.sql.types import normalised, type_tree, types_of
from tests.support.catalog_files import LAKE
from tests.support.growth import work

# How often a part is repeated in the shorter text, and in the longer one.
FEW, MANY = 100, 400
# Work of n log n grows by 5.2 from the shorter text to the longer one, quadratic work by 16.
MOST = 5.5
REFUSED = (GlacierbaseError, UnsupportedClause, metadata.ValidationError)
# What closes a part that opens something.
CLOSES = {
    "(": ")", "[": "]", "{": "}", "<": ">", "array<": ">", "struct<a:": ">", "BEGIN ": "END; ",
    "CASE WHEN a THEN ": " END", "((a),": ")",
    "SELECT * FROM (": ")", "WITH a AS (": ")", "IF a THEN ": "END IF; ", "EXISTS (": ")", "/*": "*/",
    "{% if 1 %}": "{% endif %}",
    "{% for a in [1] %}": "{% endfor %}", "{{ (": ") }}", "[a,": "]", "{a: ": "}", "<a>": "</a>", '{"a":': "}",
    '{"type":"list","element":': "}",
}  # fmt: skip
ANY = ("a", " ", "\n", "'", '"', "\\", "(", "a,", "a.", "%s\n")


@dataclass(frozen=True)
class Reader:
    """A function that reads a text of a stranger.

    Attributes:
        read: gets the text, and an empty folder.
        heads: the beginnings of a text.
        parts: what is repeated after them; `%s` is its number.
    """

    read: Callable[[str, Path], object]
    heads: tuple[str, ...]
    parts: tuple[str, ...]

    def texts(self, head: str) -> Iterator[Callable[[int], str]]:
        """Yield functions that return a text with a number of parts: as they are, and each with what closes it."""
        for part in dict.fromkeys((*self.parts, *ANY)):
            for end in dict.fromkeys(("", CLOSES.get(part, ""))):
                yield lambda count, part=part, end=end: head + repeated(part, count) + end * count


def repeated(part: str, count: int) -> str:
    """Return a text of so many parts."""
    return "".join(part.replace("%s", str(number)) for number in range(count))


def read_quietly(reader: Reader, text: str, folder: Path) -> None:
    """Read a text that may be refused."""
    with suppress(*REFUSED):
        reader.read(text, folder)


def file(text: str) -> Migration:
    return Migration("1", "a", "d", "a", Path("1_a.sql"), "migrations/shop/1_a.sql", text, "v1:sha256:0")


class Names:
    """The names that a template can use."""

    name, environment, variables = "shop", "dev", MappingProxyType({"a": 1, "b": {"c": [1, 2]}})


def statements(dialect: str) -> Callable[[str, Path], object]:
    """Return the reader of a migration file: its statements, what is misread in them, and its comments that allow findings."""

    def split(text: str, _: Path) -> object:
        compiled = compile_migration(file(text.replace("{", "(")), Names(), dialect)
        return without_effect(text, allows_of(compiled.statements))

    return split


def headers(text: str, _: Path) -> None:
    for listed, is_repeatable in ((None, False), (("NOTE",), False), ((), True)):
        with suppress(GlacierbaseError):
            read_headers(text, "a", listed, is_repeatable=is_repeatable)
    read_after(text)
    read_squashes(text, "1", "a")


def types(text: str, _: Path) -> None:
    for dialect in ("spark", "snowflake"):
        for read_type in (types_of, normalised):
            with suppress(UnsupportedClause):
                read_type(text, dialect)
    with suppress(UnsupportedClause):
        type_tree(text)


def catalog(text: str, root: Path) -> object:
    folder = root / "migrations" / "shop"
    folder.mkdir(parents=True)
    (root / "catalogs").mkdir()
    (root / "catalogs" / "shop.yaml").write_text(text, newline="")
    return file_of(folder, root).for_environment("dev", root)


def requests(text: str, root: Path) -> object:
    (root / "log").write_text(text, newline="")
    return list(AccessLog([root / "log"]))


def table(text: str, _: Path) -> object:
    with suppress(ValueError, RecursionError):
        updated_mapping(text, {}, {})
    with suppress(ValueError, RecursionError):
        return metadata.kept_types(metadata.parsed(text))


def answers_of_git(text: str, root: Path) -> None:
    """Read a text as each answer of git that has the names of files, branches or objects."""
    (root / ".git").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for module in (git_files, folder):
            patch.setattr(module, "git", lambda *_, **__: text.encode())
        for call in (
            lambda: git_files.usual_base(root),
            lambda: git_files.files_at(root, "main", "c"),
            lambda: git_files.tracked(root, [root / "a"]),
            lambda: folder._in_base({root / "a"}, root),
        ):
            with suppress(*REFUSED, ValueError, IndexError):
                call()


def of_tool(tool: str, name: str, others: str = "") -> Callable[[str, Path], object]:
    """Return the reader of a file in another tool's project.

    Args:
        name: of the file.
        others: a script that the project holds beside it.
    """

    def read_text(text: str, root: Path) -> object:
        if others:
            (root / others).write_text("SELECT 1")
        (root / name).write_text(text, newline="")
        given = root / name if tool in ("liquibase", "alembic-offline-sql") else root
        return read_project(tool, str(given), "spark")

    return read_text


SQL = (
    ")", "((a),", "a.b, ", "''", "$$", "$a$", "/*", "*/", "/* */", "--\n", "--a\n", ";", "a;", "BEGIN ", "END;",
    "BEGIN a;",
    "CASE WHEN a THEN ", "IF a THEN ", "DECLARE a INT;", "e: ", "a=1 AND ", "NOT ", "SELECT 1;", "SELECT ",
    "SELECT * FROM (",
    "UNION SELECT 1 ", "array<", "struct<a:", "r'", "${a} ", "${", "-- GLACIERBASE_ALLOW: FL113 x\n", "\\\n",
    "'a' || ", "//a\n",
    "WITH a AS (", "EXISTS (", "WHEN MATCHED THEN DELETE ", "/*+ a */", "://a", "!set a\n", "GO\n", "/\n",
    "DELIMITER //\n", "a := 1;",
    "CREATE TABLE t (a int);", "ALTER TABLE t ADD COLUMN a int;", "BEGIN TRANSACTION;", "COMMIT;", "EXPLAIN ",
    "VALUES (1),",
    "INSERT INTO t SELECT 1 ", "FROM t ", "a%s int, ",
)  # fmt: skip
TEMPLATE = (
    "{{ a }}", "{{ variables.a }}", "{{ .variables.a }}", "{{ variables.b.c }}\n", "{{ variables.x%s }}\n",
    "{{ v%s }}", "{{ 'a' }}",
    "{% if 1 %}", "{% for a in [1] %}", "{%- if 1 -%} {%- endif -%}", "{{", "}}", "{%", "%}", "{#", "{# a #}\n",
    "{{ (", "{{ a.b }}",
    "{{ a|b }}", "{% raw %}", "{% endraw %}", "{% set a%s = 1 %}\n", "{% macro m%s() %}{% endmacro %}",
    "{{ env_var('A%s') }}", "{{ '{",
)  # fmt: skip
YAML = (
    "a: ", "- ", "- - ", "[a,", "{a: ", "|\n ", "> ", "&a ", "*a ", "!!int ", "? ", "k%s: b\n", "  k%s: v\n",
    "  k%s: {}\n", "- a\n",
    "  - a\n", "#a\n", "\\u0041", "''", "--- \n", "<<: ", "${env:", "${variables.a}", "$${", "- &a%s [*a]\n",
)  # fmt: skip
CATALOG = LAKE.replace("DATABASE", "d").replace("WAREHOUSE", "w") + "environments: {dev: {}}\n"
READERS = {
    **{
        f"statements-{dialect}": Reader(statements(dialect), ("SELECT ", "BEGIN ", "CREATE PROCEDURE p() AS ",
        "SELECT 1;\n"), SQL)
        for dialect in ("spark", "snowflake")
    },
    **{
        f"read-{dialect}": Reader(
            lambda text, _, dialect=dialect: read(text, dialect),
            ("SELECT * FROM t WHERE ", "CREATE TABLE t (", "MERGE INTO t USING s ON a ", "BEGIN ", "CALL a.b("),
            SQL,
        )
        for dialect in ("spark", "snowflake")
    },
    "headers": Reader(
        headers, ("-- MIGRATION_AUTHOR: a\n",),
        ("-- MIGRATION_AFTER: a\n", f"-- MIGRATION_SQUASHES: 1%s v1:sha256:{'0' * 64}\n", "-- MIGRATION_X%s: a\n",
        "--\n", "-- MIGRATION_"),
    ),
    "types": Reader(
        types, ("struct<", "struct<a:", "array<", "decimal(", "map<"),
        ("a:int,", "a%s: int, ", "array<", "struct<a:", "map<int,", "1,", ">", "VARYING ", "a int comment 'b',",
        "NOT NULL "),
    ),
    "template": Reader(
        lambda text, _: render(file(text), Names.variables, "dev", "shop", "spark"), ("{% raw %}", "{% set a = ["),
        TEMPLATE
    ),
    "catalog-file": Reader(catalog, (f"{CATALOG}variables:\n", f"{CATALOG}variables:\n  x: ",
    f'{CATALOG}variables:\n  x: "'), YAML),
    "access-log": Reader(
        requests, ("o b [06/Feb/2019:00:00:38 +0000] 1 r i REST.GET.OBJECT ",),
        ('o b [06/Feb/2019:00:00:38 +0000] 1 r i REST.GET.OBJECT k%s "GET /k" 200 - 1 1 1 \n', '" ', "]", "%%25", "- "),
    ),
    "metadata": Reader(
        table,
        ('{"schemas":[{"type":', '{"format-version":2,"schema":{"type":"struct","fields":[', '{"field-id":1,"names":[',
        "[", '{"schemas":['),
        ('{"a":', '{"type":"list","element":', '{"id":%s,"name":"a%s","required":true,"type":"x"},', '"a%s",',
        '"k%s":1,', "1,", "1", "\\u0041"),
    ),
    "git": Reader(
        answers_of_git, ("\1", "c blob 3\n"),
        ("100644 blob %s\tmigrations/shop/%s_a.sql\0", "a%s\0", "refs/heads/a%s a b\n", "\1\na%s\0", "c blob 1\na\n",
        "\t", "\0", "/"),
    ),
    "flyway": Reader(of_tool("flyway", "V1__a.sql"), (), (*SQL, "${a%s} ", "${a:b}", "{{ a }}", "SET TERM ^\n")),
    "flyway.conf": Reader(
        of_tool("flyway", "flyway.conf", "V1__a.sql"), ("flyway.locations=", "flyway.placeholders.a=",
        "flyway.sqlMigrationSuffixes="),
        ("a=b\n", "flyway.placeholders.k%s=v\n", "k%s,", "\\\n", "=", ":", "flyway.locations=a%s\n", "${a}", "a\\\n"),
    ),
    "flyway.toml": Reader(
        of_tool("flyway", "flyway.toml", "V1__a.sql"), ("[flyway]\n", "[flyway]\nlocations = [", '[flyway]\na = "',
        '[flyway]\na = ["'),
        ("a = 1\n", "k%s = 'v'\n", "[a%s]\n", "]", '"a",', '"a",\n', '"\\\n', "= ", "k%s.", "['a'\n"),
    ),
    "liquibase-sql": Reader(
        of_tool("liquibase", "a.sql"),
        tuple(f"--liquibase formatted sql\n{more}" for more in
              ("", "--changeset a:1\n", "--changeset a:1 ", "--changeset a:1 endDelimiter:", "--changeset a:1 context:",
               "--changeset a:1 splitStatements:false\n")),
        ("SELECT 1;\n", "${a%s} ", "${", "{{ a }}", "--changeset a:%s\nSELECT 1;\n",
        "--changeset a:%s k%s:v\nSELECT 1;\n", "--comment a\n",
         "--rollback a\n", "/* liquibase rollback\n", "*/\n", "--ignoreLines:2\n", "--ignoreLines:start\n",
         "--ignoreLines:end\n",
         "--property name:a%s value:b\n", "--include file:a%s\n", "a:b ", "!a,", "and ", "--preconditions a\n", ";\n",
         "BEGIN ", "/*"),
    ),
    "liquibase-xml": Reader(
        of_tool("liquibase", "a.xml"), ("<databaseChangeLog>", "<databaseChangeLog><changeSet ", '<a b="', "<!--",
        "<![CDATA["),
        ("<a>", "<a/>", "<changeSet id='%s' author='a'/>\n", "<property name='a%s' value='b'/>", "&amp;", "<!--a-->",
        "a%s='b' ", "&", "]",
         "<include file='a%s'/>", "<?a b?>"),
    ),
    "liquibase-yaml": Reader(
        of_tool("liquibase", "a.yaml"), ("databaseChangeLog:\n", "databaseChangeLog: [", 'databaseChangeLog: "'),
        ("[a,", "{a: ", "- ", "&a ", "- property: {name: a%s, value: b}\n", "- changeSet:\n    id: %s\n    author: a\n",
        "- include: {file: a%s}\n"),
    ),
    "schemachange": Reader(of_tool("schemachange", "V1__a.sql"), ("{% raw %}",), (*TEMPLATE, *SQL)),
    "schemachange-config.yml": Reader(
        of_tool("schemachange", "schemachange-config.yml", "V1__a.sql"), ("vars:\n", "vars: {a: ", "root-folder: ",
        'vars:\n  a: "'),
        ("[a,", "{a: ", "- ", "&a ", "  k%s: \"{{ env_var('A%s') }}\"\n", "{{ env_var('A') }}", "{{ env_var(", "a/",
        "../"),
    ),
    "alembic": Reader(
        of_tool("alembic-offline-sql", "up.sql"), ("-- Running upgrade  -> a\n", "-- Running upgrade "),
        (*SQL, "-- Running upgrade a%s -> b%s, c\nSELECT 1;\n", "-- Running downgrade a -> b\n",
        "CREATE TABLE alembic_version (",
         "UPDATE alembic_version SET a;\n", "COMMIT;\n", "a -> "),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "head"),
    [
        pytest.param(name, head, id=f"{name}-{number}")
        for name, reader in READERS.items()
        for number, head in enumerate(("", *reader.heads))
    ],
)
def test_no_reader_has_more_work_than_in_proportion_to_its_text(name: str, head: str, tmp_path: Path) -> None:
    """Texts come from strangers: nested parts, separators, unclosed quotes and comments, long lines, many small parts."""
    reader, folder, slow = READERS[name], tmp_path / "read", list[str]()

    def work_with(text: str) -> int:
        folder.mkdir()
        try:
            return work(lambda: read_quietly(reader, text, folder))
        finally:
            shutil.rmtree(folder)

    for text in reader.texts(head):
        # The first reading may also import modules, and fill caches.
        growths = (work_with(text(MANY)) / work_with(text(FEW)) for _ in range(2))
        if all(growth > MOST for growth in growths):
            slow.append(text(2))
    assert slow == []
