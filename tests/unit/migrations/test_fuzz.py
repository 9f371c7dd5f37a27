"""Whatever stands in a file, it is accepted or refused by its name, and nothing is written.

Hypothesis looks for what breaks the functions that read files. A seeded fuzz holds the splitter and the parser of headers to
what must always be true of them, and the limits of the sandbox against templates that are written to exceed them: 3,200 inputs
in every run, 220,000 with `-m full`.
"""

from __future__ import annotations

import json
import os
import re
import resource
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.cli import main
from glacierbase.errors import GlacierbaseError, MigrationFileError
from glacierbase.migrations import sandbox
from glacierbase.migrations.compiled import compile_migration
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.render import render
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.migrations.statements import split_statements
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration, Statement
from glacierbase.secrets import Secrets
from tests.support.project_folder import REPOSITORY, migration

DIALECTS = ["spark", "snowflake"]
BOM = "\ufeff"
LINE_END = re.compile(r"\r\n|\r|\n")
# What only a person who debugs Python or Java may see.
INTERNALS = re.compile(r"Traceback|\bFile \"|object at 0x|<(?:class|function|bound|built-in|module)\b|^\s+at \w", re.M)
moderately = settings(max_examples=250, deadline=None)


@contextmanager
def project(files: Mapping[str, str | bytes]) -> Iterator[Path]:
    """Write a project of these files, and check that no file appears, changes or vanishes."""

    def listing() -> list[tuple[str, int, int]]:
        return sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in root.rglob("*"))

    with Secrets().in_use(), TemporaryDirectory() as name:
        root = Path(name)
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        before = listing()
        yield root
        assert listing() == before


def check_refusal(error: GlacierbaseError, exit_code: int) -> None:
    """Check that each error has its code, exit code, place and hint, and no text of Python's."""
    for each in getattr(error, "errors", (error,)):
        assert re.fullmatch(r"[A-Z][A-Z0-9_]+", each.code)
        assert each.exit_code == error.exit_code == exit_code
        assert each.message.startswith(each.data["path"])
        assert each.data["line"] >= 1
        assert each.hint
        assert not INTERNALS.search(f"{each.message}\n{each.hint}")


def answer(exit_code: int, ask: Callable[..., Any], *arguments: Any) -> Any:
    """Return the function's result, or None if it raised a valid error; any other exception fails the test."""
    try:
        return ask(*arguments)
    except GlacierbaseError as error:
        check_refusal(error, exit_code)
        return None


def check_prepared(file: Migration, catalog: Catalog) -> None:
    """Check for both engines that the file compiles or is refused, and that each statement has a line of it."""
    lines = len(line_starts(file.text))
    for dialect in DIALECTS:
        if prepared := answer(3, compile_migration, file, catalog, dialect):
            assert all(1 <= each.line <= lines for each in prepared.statements)


def line_starts(text: str) -> list[int]:
    return [0, *(end.end() for end in LINE_END.finditer(text))]


def words(text: str) -> list[str]:
    return text.split()


def near(text: str, *fragments: list[str]) -> st.SearchStrategy[str]:
    """Generate texts like this one, with words, strings or lines removed, doubled, swapped or replaced."""

    def edited(parts: list[str]) -> st.SearchStrategy[str]:
        added = st.lists(st.one_of(*map(st.sampled_from, [*fragments, parts])), max_size=2)
        edits = st.lists(st.tuples(st.integers(0, len(parts)), st.integers(0, 2), added), max_size=2)
        return edits.map(lambda edits: "".join(apply(parts, edits)))

    def apply(parts: list[str], edits: list[tuple[int, int, list[str]]]) -> list[str]:
        for at, removed, added in edits:
            parts = [*parts[:at], *added, *parts[at + removed :]]
        return parts

    return st.sampled_from([r'"[^"]*"|[\w.]+|\s+|.', r".*\n"]).flatmap(lambda unit: edited(re.findall(unit, text)))


# --- Files of migrations

HEADED = migration("CREATE TABLE {{ variables.b.c }} (a INT);\nBEGIN\n SELECT '{{ catalog }}; -- \"' /* `;` */;\nEND;")
HOSTILE = [
    *words("-- MIGRATION_AUTHOR MIGRATION_DESCRIPTION: : /* */ ' \" ` $$ ; \\ é 😀 {# {{ }} {%if%} {{nope}} {%raw%} BEGIN END"),
    BOM, "\0", "\r", "\r\n", "\n", "\n\n", "\x1a", "\x85", "\u2028", "\\\n", "-- " + "x" * 100_000, "9" * 5_000,
    "\n-- MIGRATION_AUTHOR: Ann\n", "\n-- MIGRATION_NOTE: b\n",
]  # fmt: skip
headed = near(HEADED, HOSTILE)
wrong_bytes = st.binary(max_size=5)
contents = st.one_of(
    headed.map(str.encode),
    headed.map(str.encode),
    st.builds(lambda text, encoding: text.encode(encoding, "replace"), headed, st.sampled_from(["utf-16", "cp037"])),
    st.builds(lambda head, text, tail: head + text.encode() + tail, wrong_bytes, headed, wrong_bytes),
)
NAMES = [
    *words("0001_a.sql 2_b.SQL deep/er/3_c.sql 1__a.sql _a.sql 1_a.sql.sql ٣_a.sql 1_Ä.sql .sql -1_a.sql 1_a.sql~ {{x}}/5_e.sql"),
    "9" * 200 + "_a.sql", "1_a\n.sql", "d\udcff/4_d.sql", "'; DROP.sql",
]  # fmt: skip
names = st.sampled_from(NAMES) | st.binary(min_size=1, max_size=40).map(
    lambda raw: os.fsdecode(raw.replace(b"/", b"_").replace(b"\0", b"_")) + ".sql"
)


@moderately
@given(contents, st.dictionaries(names, contents, max_size=2))
def test_any_migration_file_is_loaded_and_prepared_or_refused(content: bytes, others: dict[str, bytes]) -> None:
    """No file is skipped silently, whatever its name and content."""
    placed = {f"migrations/shop/{name}": each for name, each in {"1_a.sql": content, **others}.items()}
    with project({"catalogs/shop.yaml": CATALOGS["spark"], **placed}) as root:
        [file] = load_catalog_files(root / "catalogs", root)
        catalog = file.for_environment("dev", root)
        migrations, errors = load_migrations(root / "migrations/shop", root)
        for error in errors:
            check_refusal(error, 3)
        for each in migrations:
            check_prepared(each, catalog)
        told = {each.location for each in migrations} | {error.data["path"] for error in errors}
        assert told == {path for path in placed if path.lower().endswith(".sql")}


# --- Catalog files

CATALOGS = {
    "spark": """\
name: shop
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.uri: "${projectRoot}/${environment}/$${x}"
      spark.password: "${secret:PATH}"
      spark.jars.packages: "a:b:1,c/d/2"
      spark.jars.repositories: "https://a/b,http://localhost/${environment}"
    dependencies:
      - "a:b:1"
      - "${catalog}:b:1"
      - {coordinate: "a:b:2", sha256: "0000000000000000000000000000000000000000000000000000000000000000"}
    allowFloating: false
variables:
  a: 1
  b: {c: "${variables.a}", d: ["${env:PATH}", 0x1F, null]}
environments:
  dev: {}
  prod: {protected: true, outOfOrder: allow, variables: {a: "x"}}
defaultEnvironment: dev
store: {catalog: lake, namespace: glacierbase, lockLease: 60s, type: auto}
""",
    "snowflake": """\
migrationExecutor: {type: snowflake, conf: {connection: {database: D, user: "${catalog}", more: {a: [1, true, "${env:PATH}"]}}}}
variables: {b: {c: &c t}, d: *c}
""",
    "shared": """\
variables: {shared: [1, {a: 2}]}
environments: {dev: {protected: false}, test: null}
store: {lockLease: 5m}
""",
}
NAMED = words("""
    env:PATH env: env:NOPE secret:PATH secret:NOPE secret: file:secret.txt file:nope file:. file: environment catalog projectRoot
    variables variables. variables.a variables.b variables.b.c variables.shared variables.nope nope a.b $ { }
""")
REFERENCES = [*(f'"${{{name}}}"' for name in NAMED), '"${}"', '"${env:A\\tB}"', '"$${"', '"${"', '"$$${env:PATH}"']
HOSTILE_YAML = [
    *words("name sparkConf connection dependencies variables environments catalog autocommit a << [ ] { } [] {} [[{a:[b]}]] # |"),
    *words("' \" > ! !x!y *c : @ ` null ~ yes 1e99 -.5 0o8 2026-01-01 12:30:00 é 😀"), "!!int ", "!!map ", "!!binary ", "&c ",
    *words("sha256 coordinate allowFloating [1,) latest.release"),
    "? ", ": ", "- ", ", ", "store: [1]\n", "protected: 1\n", "<<: *c\n", "- a\n", "%YAML 1.1\n", "---\n", "...\n", "\n", "\n  ",
    "\n      ", "\t", "\r", BOM, "\0", "\x85", "", "9" * 40, "x" * 5_000, "[" * 3_000,
]  # fmt: skip


@moderately
@given(
    st.sampled_from(DIALECTS).flatmap(lambda kind: near(CATALOGS[kind], REFERENCES, HOSTILE_YAML)),
    st.just(CATALOGS["shared"]) | near(CATALOGS["shared"], REFERENCES, HOSTILE_YAML),
    st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"]),
)
def test_any_catalog_file_is_read_or_refused(text: str, shared: str, encoding: str) -> None:
    """A catalog file is read without an environment, then in each, and its variables are used in a migration."""
    files = {"catalogs/shop.yaml": text.encode(encoding, "replace"), "catalogs/_shared.yaml": shared}
    with project({**files, "secret.txt": "canary\n", "migrations/shop/1_a.sql": HEADED}) as root:
        [[file], _] = load_migrations(root / "migrations/shop", root)
        for each in answer(2, load_catalog_files, root / "catalogs", root) or ():
            for environment in each.environments:
                answer(2, partial(each.for_environment, resolve=False), environment, root)
                if catalog := answer(2, each.for_environment, environment, root):
                    check_prepared(file, catalog)


# --- Templates

VARIABLES: dict[str, Any] = {"table": {"name": "t", "items": 1, "none": None}, "names": ["b", "a"], "on": True}
PRINTABLE = words(
    "environment variables.table.name .variables.table.items variables.names|join(',') 1+1 variables.names[0]"
)
VALUES = words("""
    variables variables.table .variables.table.name variables.names variables.table.none variables.nope nope x catalog self loop
    caller caller() namespace(a=1) cycler('a') joiner(',') range(3) lipsum dict(a=1) none 1 1.5 true 'a' [] [nope] {} ()
""")
TRICKS = [
    *words(".__class__ ['__class__'] .__init__.__globals__ ._x .0 [0] [-1:] [nope] .name .items .items() .a .format(1) .next()"),
    *words(".index () (1) |upper |length |join |first |list |tojson |sort |string |map('upper') |attr('__class__') |default('d')"),
    *words("+1 ~'b' *3 /0 |map(attribute='__class__') |selectattr('__class__') |groupby('a') **9 ==nope }}{{1"),
    " is defined", " is mapping", " is nope", " in variables", " if nope else 2", " and nope",
]  # fmt: skip
AROUND = [
    "a;\r\n%s%s", "{%% if %s %%}%s{%% else %%}b{%% endif %%}", "{%% for x in %s %%}%s{%% endfor %%}", "{%% set x = %s %%}%s",
    "{%% set x.a = %s %%}%s", "{%% for x, y in %s recursive %%}%s{%% endfor %%}", "{%% with x = %s %%}%s{%% endwith %%}",
    "{%% macro m(x=1) %%}%s%s{%% endmacro %%}{{ m() }}", "{%% filter upper %%}%s%s{%% endfilter %%}", "{%% include %s %%}%s",
    "{%% call %s %%}%s{%% endcall %%}", "{%% raw %%}%s%s{%% endraw %%}", "{%%- if %s -%%}%s", "{# %s %s #}",
    "{%% set x %%}%s%s{%% endset %%}{{ x }}",
]  # fmt: skip
tricky = st.builds("{}{}{}".format, st.sampled_from(VALUES), *[st.just("") | st.sampled_from(TRICKS)] * 2)
expressions = st.one_of(st.sampled_from(PRINTABLE), st.sampled_from(PRINTABLE), tricky)
templates = st.recursive(
    expressions.map("{{{{ {} }}}}".format),
    lambda inner: st.one_of(
        st.builds(lambda around, value, text: around % (value, text), st.sampled_from(AROUND), expressions, inner),
        st.lists(inner, min_size=2, max_size=3).map("\n".join),
    ),
    max_leaves=6,
)


@moderately
@given(templates | st.builds("{}{}{}".format, templates, st.sampled_from(HOSTILE), templates))
def test_any_template_renders_alike_every_time_or_is_refused(text: str) -> None:
    """Rendered text contains no text of Python's objects."""
    file = Migration("1", "a", "d", "a", Path("1_a.sql"), "migrations/shop/1_a.sql", text, "v1:sha256:0")
    if rendered := answer(3, render, file, VARIABLES, "prod", "lake"):
        assert rendered == render(file, VARIABLES, "prod", "lake")
        assert not INTERNALS.search(rendered.text)


# --- The fuzz: what is true of every text that is split

SCRIPTS = ["""\
BEGIN
  DECLARE EXIT HANDLER FOR SQLSTATE '22012', NOT FOUND BEGIN SELECT 1; END;
  l: WHILE a < 2 DO SET a = CASE WHEN b THEN 1 ELSE 2 END; IF c THEN LEAVE l; ELSEIF d THEN SELECT `;`; END IF; END WHILE l;
  FOR r AS SELECT 1 DO REPEAT SET a = 1; UNTIL a END REPEAT; LOOP SELECT 1; END LOOP; END FOR;
END;
SELECT /*+ BROADCAST(t) */ r'\\', 'it''s;', "a\\";" FROM t /* ; /* ; */ */; -- ; '
ADD JAR https://a.b/c--d/*e.jar; CREATE TABLE end (begin INT);
""", """\
CREATE PROCEDURE p() RETURNS INT LANGUAGE SQL AS
DECLARE n INT DEFAULT 0; -- ; '
BEGIN
  FOR r IN c DO IF (n > 1) THEN n := n + 1; ELSE LET x := CASE WHEN a THEN ';' END; END IF; END FOR;
  CASE (n) WHEN 1 THEN RETURN 1; ELSE LOOP BREAK; END LOOP; END CASE; REPEAT n := 2; UNTIL (n > 1) END REPEAT;
EXCEPTION WHEN OTHER THEN BEGIN NULL; END;
END;
BEGIN TRANSACTION; UPDATE t SET a = $$it's; --$$; // ; "
COMMIT; PUT file:///a//*.csv @~; CREATE TASK t AS BEGIN SELECT 1; END; SELECT "a;""b", 'c\\';' /* ; */;
"""]  # fmt: skip
SAMPLES = [*SCRIPTS, *(path.read_text("utf-8") for path in sorted(REPOSITORY.glob("migrations/**/*.sql")))]
WORDS = words("""
    BEGIN END CASE DECLARE IF LOOP FOR WHILE REPEAT UNTIL THEN ELSE DO HANDLER AS NOT SELECT CREATE PROCEDURE TASK WITH TRANSACTION
    NAME COMMIT l: := begin End
""")
TOKENS = [
    *"'\"`;;;;\\/*-+:,().$@rRaé\t\n\r \0", *words("'' \"\" `` \\' $$ $a$ -- // /* */ /*+ /**/ r' :// s3:// {{ }} {% ﬁ ı END;"),
    *(f" {word} " for word in WORDS), "\\\n", "\r\n", "\n\n", "\u00a0", "\u2003", "\u2028", "\u2029", "\x85", "\x1c", "\v",
    BOM, "\ud800", " -- ", "BEGIN\n", ";\nBEGIN ", "; END", "SELECT 1;", "SELECT ';'", "a -- ;\n;", "/* ; */",
]  # fmt: skip
SPACE = " \t\n\f\r\v\u00a0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000\ufeff"
NESTED = r"/\*(?!\+)(?:(?!/\*(?!\+)|\*/).)*\*/"
for _ in range(9):
    NESTED = rf"/\*(?!\+)(?:(?!/\*(?!\+)|\*/).|{NESTED})*\*/"
# What is no code, read by other means than the splitter's.
NO_CODE = {"spark": rf"(?s){NESTED}|--[^\r\n]*|[{SPACE}]+", "snowflake": rf"(?s)/\*.*?\*/|(?:--|//)[^\r\n]*|[{SPACE}]+"}
# Each is refused where it opens, whatever is before it.
OPENERS = {"spark": ["'", '"', "`", "/*", "/*+", "r'", "BEGIN a"], "snowflake": ["'", '"', "$$", "/*", "DECLARE a"]}
UNTERMINATED = {f"UNTERMINATED_{what}" for what in ("STRING", "IDENTIFIER", "COMMENT", "BLOCK")}
REFUSALS = {*UNTERMINATED, "NUL_CHARACTER", "SURROGATE_CHARACTER"}


def in_full(sampled: int, full: int) -> pytest.MarkDecorator:
    """Return a number of inputs: some in every run, all on request."""
    return pytest.mark.parametrize("count", [sampled, pytest.param(full, marks=pytest.mark.full)])


def hostile(random: Random, tokens: list[str], samples: list[str]) -> str:
    """Generate tokens in any order, or a text with some characters removed, doubled, swapped or inserted."""
    if random.random() < 0.6:
        return "".join(random.choices(tokens, k=random.randrange(20)))
    text = list(random.choice(samples))
    for _ in range(random.randrange(4)):
        at, other = random.choices(range(len(text)), k=2)
        token, here = random.choice(tokens), text[at]
        choices = [("", text[other]), (here * 2, text[other]), (text[other], here), (token, here)]
        text[at], text[other] = random.choice(choices)
    return "".join(text)


def split(text: str, dialect: str) -> tuple[tuple[Statement, ...], str, tuple[int, int]]:
    """Return the statements, or the code, line and column of the error."""
    try:
        return split_statements(text, dialect), "split", (0, 0)
    except MigrationFileError as error:
        line, column = error.data["line"], error.data["column"]
        place = f"line {line}, column {column}: "
        check_refusal(MigrationFileError(error.code, error.message, error.hint, path=place, line=line), 3)
        return (), error.code, (line, column)


def check_statements(statements: tuple[Statement, ...], sql: str, dialect: str) -> None:
    """Check that they are parts of the input in order, that no code is left out, and that each splits into itself."""
    starts, end = line_starts(sql), 0
    for index, each in enumerate(statements, start=1):
        start = starts[each.line - 1] + each.column - 1
        assert each.index == index
        assert each.text
        assert sql[start : start + len(each.text)] == each.text
        assert re.fullmatch(";*" if index == 1 else ";+", re.sub(NO_CODE[dialect], "", sql[end:start]))
        assert split_statements(each.text, dialect) == (replace(each, index=1, line=1, column=1),)
        end = start + len(each.text)
    assert re.fullmatch(";*", re.sub(NO_CODE[dialect], "", sql[end:]))


@pytest.mark.parametrize("dialect", DIALECTS)
@in_full(1_000, 40_000)
def test_what_must_be_true_of_the_splitter_is_true_of_hostile_texts(count: int, dialect: str) -> None:
    """Texts split alike alone and joined, and an unclosed construct after them is refused where it opens."""
    random, outcomes = Random(f"splitter of {dialect}"), Counter[str]()
    before, of_before = "", []
    for _ in range(count):
        text = random.choice(["", "", "", BOM]) + hostile(random, TOKENS, SAMPLES)
        statements, outcome, (line, column) = split(text, dialect)
        outcomes[outcome] += 1
        if outcome != "split":
            assert 1 <= column <= len(LINE_END.split(text.removeprefix(BOM))[line - 1])
            continue
        check_statements(statements, text.removeprefix(BOM), dialect)
        # The empty line is for a backslash at the end of a last comment: that would take the semicolon along.
        joined = f"{before}\n\n;\n"
        lines = len(line_starts(joined)) - 1
        of_text = [(each.text, each.checksum, each.line) for each in statements]
        together = [(each.text, each.checksum, each.line) for each in split_statements(joined + text, dialect)]
        assert together == [*of_before, *((code, checksum, line + lines) for code, checksum, line in of_text)]
        _, outcome, place = split(joined + random.choice(OPENERS[dialect]), dialect)
        assert outcome in UNTERMINATED
        assert place == (lines + 1, 1)
        before, of_before = text, of_text
    assert outcomes["split"] > count / 4
    assert {"split", *REFUSALS} <= set(outcomes) <= {"split", *REFUSALS, "MISREAD_COMMENT"}


# --- The fuzz: what is true of every template, whatever it costs

ATOMS = words("""
    s.x s.x s.x s.y s.y n n 3 2 -1 99 10**6 'x' 'ab' '' '%s%s' '%9999d' [1] [] (1,) {} range(9) range(999) range(99999) 1.5 none
    variables variables.names nope true
""")
# @a and @b are expressions, @n is a count, @@ is the content of the block.
FORMS = words("""
    @a~@b @a+@b @a*@b @a**@b @a-@b @a%@b @a//@b @a==@b @a<@b [@a,@b] (@a,@b) @a[@b] @a[@b:] @a·in·@b @a·if·@b·else·@a not·@a
    [@a,@a] (@a,@a) @a~@a @a*@a @a+@a [@a]*99 '%*d'%(@a,@b) {'a':@a,'b':@b} dict(a=@a,b=@b) [{'a':@a},{'a':@b}]|groupby('a')
    @a|join(@b) @a|replace(@b,@a) @a|tojson @a|list @a|sort|list @a|unique|list @a|batch(@b)|list @a|center(@b) @a|indent(@b)
    @a|sum(start=@b) @a|wordwrap(@b) @a|format(@b) @a|map('list')|list @a|slice(@b)|list @a|dictsort @a|length @a|string
    @a|truncate(@b) @a|title @a|wordcount @a|min @a|reverse|list @a|items|list @a|filesizeformat @a|default(@b) @a|int(base=@b)
    @a|select('==',@b)|list @a|map('replace','x',@b)|list @a|round(@b) m(@a) caller() c.next() cycler(@a,@b).next()
    namespace(x=@a).x
""")
BLOCKS = [
    "{% set s.x = @a %}@@", "{% set s.y = @a %}@@", "{% set s.x, s.y = @a, s.x %}@@", "{{ @a }}@@", "{% if @a %}@@{% endif %}",
    "{% for n in range(@n) %}{% set s.x = @a %}@@{% endfor %}", "{% for n in @a %}@@{% endfor %}",
    "{% with n = @a %}@@{% endwith %}", "{% for n in range(@n) recursive %}@@{{ loop(@a) if loop.depth < 9 }}{% endfor %}",
    "{% call m(@a) %}@@{% endcall %}", "{% set t %}{{ @a }}@@{% endset %}{% set s.x = t %}",
    "{% filter replace('x', 'xx') %}{{ @a }}@@{% endfilter %}",
    "{% macro m(n) %}{% if caller is defined or n is number and n > 0 %}{{ m(n - 1) }}{{ m(n - 1) ~ @a }}@@{% endif %}"
    "{% endmacro %}",
]  # fmt: skip


def costly(random: Random) -> str:
    """Generate a template that computes with computed values, in loops, macros and filters."""

    def expression(depth: int) -> str:
        if depth == 0 or random.random() < 0.2:
            return random.choice(ATOMS)
        form = random.choice(FORMS).replace("·", " ")
        return f"({form.replace('@a', expression(depth - 1)).replace('@b', expression(depth - 1))})"

    def block(depth: int) -> str:
        inner = "".join(block(depth - 1) for _ in range(random.randrange(3))) if depth else ""
        count = str(random.choice([2, 5, 30, 99, 99_999]))
        form = random.choice(BLOCKS).replace("@n", count)
        return form.replace("@a", expression(random.randrange(3))).replace("@@", inner)

    start = "{% set s = namespace(x='x', y=[1]) %}{% set n = 3 %}{% set c = cycler(1) %}"
    macro = "{% macro m(n) %}{{ n if caller is undefined else caller() }}{% endmacro %}"
    return start + macro + "".join(block(random.randrange(4)) for _ in range(random.randrange(1, 5)))


@in_full(200, 100_000)
def test_every_template_ends_within_its_limits(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template renders or is an error of its file; its memory is not this process's."""
    monkeypatch.setattr(sandbox, "_SECONDS", 0.1)
    monkeypatch.setattr(sandbox, "_MEMORY", 100 * 2**20)
    monkeypatch.setattr(sandbox, "_LONGEST_ANSWER", 4 * 2**20)
    monkeypatch.setattr(sandbox, "_SECONDS_EACH", 10.0)
    monkeypatch.setattr(sandbox, "_MOST_SECONDS", 1e9)
    monkeypatch.setattr(sandbox, "_MOST_HELD", 1e12)
    random, outcomes = Random("costly"), Counter[str]()
    names, peak = SimpleNamespace(name="shop", environment="dev", variables=VARIABLES), peak_memory()
    with Sandbox(count) as box:
        for number in range(count):
            text = costly(random)
            path = f"migrations/shop/{number}_a.sql"
            file = Migration(str(number), "a", "d", "a", Path(path), path, text, "v1:sha256:0")
            try:
                found = list(box.compile_all([file], names, random.choice(DIALECTS), lambda _: False))
                assert found == []
                outcomes["rendered"] += 1
            except GlacierbaseError as error:
                check_refusal(error, 3)
                outcomes[error.code] += 1
    assert peak_memory() < peak + 100 * 2**20
    assert min(outcomes["rendered"], outcomes["TEMPLATE_TOO_COSTLY"], outcomes["TEMPLATE_FAILED"]) >= count / 100, (
        outcomes
    )


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# --- The fuzz: what is true of every text with headers

HEADER_TOKENS = [
    *words("-- : :: MIGRATION_AUTHOR MIGRATION_DESCRIPTION MIGRATION_NOTE MIGRATION_ migration_author Ann why é 😀 ; /* */"),
    "  --\t", "-- ", " : ", "\n", "\n", "\n", "\n\n", " ", "\t", "\v", "\f", "\x1c", "\x85", "\u00a0", "\u2028", "\u200b", "\0",
    BOM, "SELECT 1", "{{ x }}", "-- MIGRATION_AUTHOR: Ann\n", "-- MIGRATION_DESCRIPTION: why\n", "-- MIGRATION_DESCRIPTION:\n",
    "\udcff", "--MIGRATION_AUTHOR :Bob\n", "\udcc3",
]  # fmt: skip
BELOW = "\n-- note\n -- MIGRATION_AUTHOR : Ann \n\n--MIGRATION_DESCRIPTION: a: b\nSELECT 1;\n-- MIGRATION_AUTHOR: Bob"


def headers(folder: Path, contents: list[bytes]) -> list[list[tuple[str, ...]]]:
    """Return headers and checksum of each content, or its errors."""
    for number, content in enumerate(contents):
        (folder / f"{number}_a.sql").write_bytes(content)
    migrations, errors = load_migrations(folder, folder)
    told: list[list[tuple[str, ...]]] = [[] for _ in contents]
    for each in migrations:
        told[each.number].append(("accepted", each.description, each.author, each.checksum))
    for error in errors:
        check_refusal(error, 3)
        number = int(error.data["path"].split("_")[0])
        assert error.data["line"] <= len(re.split(rb"\r\n|\r|\n", contents[number]))
        told[number].append((error.code, error.message))
    return told


@in_full(1_000, 40_000)
def test_what_must_be_true_of_headers_is_true_of_hostile_texts(count: int, tmp_path: Path) -> None:
    """CRLF and a byte order mark change neither headers nor checksum; every other change changes the checksum."""
    random, outcomes, batch = Random("headers"), Counter[str](), 500
    for _ in range(count // batch):
        texts = [hostile(random, HEADER_TOKENS, [HEADED, BELOW]).lstrip(BOM) for _ in range(batch)]
        plain = [text.encode("utf-8", "surrogateescape") for text in texts]
        told = headers(tmp_path, plain)
        mixed = [re.sub(b"\n", lambda _: random.choice([b"\n", b"\r\n"]), each) for each in plain]
        assert told == headers(tmp_path, mixed)
        assert told == headers(tmp_path, [b"\xef\xbb\xbf" + each.replace(b"\n", b"\r\n") for each in plain])
        with_cr = headers(tmp_path, [each.replace(b"\n", b"\r") for each in plain])
        for text, content, found, of_cr in zip(texts, plain, told, with_cr, strict=True):
            outcomes[found[0][0]] += 1
            assert [each[0] for each in found] == [each[0] for each in of_cr]
            if found[0][0] == "accepted":
                [(_, description, author, checksum)] = found
                assert checksum == f"v1:sha256:{sha256(content).hexdigest()}"
                assert of_cr[0][1:3] == (description, author)
                assert (of_cr[0][3] == checksum) == (b"\n" not in content)
                for name, value in (("DESCRIPTION", description), ("AUTHOR", author)):
                    assert value == value.strip() != ""
                    assert re.search(rf"--\s*MIGRATION_{name}\s*:[^\S\n]*{re.escape(value)}[^\S\n]*(?:\n|\Z)", text)
    assert set(outcomes) == {"accepted", "MISSING_HEADER", "DUPLICATE_HEADER", "UNKNOWN_HEADER", "NOT_UTF8"}
    assert outcomes["accepted"] > count / 10


# --- The program

BROKEN: list[tuple[str, str | bytes]] = [
    ("migrations/shop/1_a.sql", b"\xff\xfe-\0-\0"), ("migrations/shop/1_a.sql", ""), ("migrations/shop/a.sql", "\0"),
    ("migrations/shop/2_b.sql", migration("BEGIN a;")), ("migrations/shop/2_b.sql", migration("{{ nope }}\0{{ x }}")),
    ("migrations/shop/d/2_b.sql", migration("{% if %}")), ("migrations/shop/2_b.sql", migration("{{ '%d' % 'x' }}")),
    ("migrations/other/1_a.sql", HEADED), ("catalogs/shop.yaml", "a: [\0"), ("catalogs/shop.yaml", "&a [*a]"),
    ("catalogs/shop.yaml", b"\xff"), ("catalogs/shop.yaml", "[" * 5_000), ("catalogs/other.yaml", "variables: ${nope}"),
    ("catalogs/_shared.yaml", "<<: {}"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "content"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_project_is_one_document_with_its_error(
    path: str, content: str | bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is 2 or 3, and stderr is empty."""
    monkeypatch.setattr("glacierbase.cli.terminal._log_to_stderr", lambda verbose: None)
    files = {"catalogs/shop.yaml": CATALOGS["spark"], "migrations/shop/1_a.sql": HEADED, path: content}
    with project(files) as root, pytest.raises(SystemExit) as caught:
        main(["validate", "--project", str(root), "--format", "json"])
    output = capsys.readouterr()
    document = json.loads(output.out)
    assert (caught.value.code, document["ok"]) in [(2, False), (3, False)]
    assert document["error"]["exit_code"] == caught.value.code
    assert document["error"]["message"]
    assert not INTERNALS.search(output.out.replace("\\n", "\n"))
    assert output.err == ""
