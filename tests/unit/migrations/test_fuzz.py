"""A file with any content is accepted, or refused by its name, and nothing is written.

Hypothesis looks for what breaks the functions that read files. A seeded fuzz holds the splitter and the parser of headers to
what must always be true of them, and the limits of the sandbox against templates that are written to exceed them: 3,200 inputs
in `.ci/run`, 220,000 in the full form."""

from __future__ import annotations

import re
import resource
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from glacierbase.errors import GlacierbaseError, MigrationFileError
from glacierbase.migrations import sandbox
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.migrations.statements import split_statements
from glacierbase.model.migration import Migration, Statement
from tests.support.project_folder import REPOSITORY
from tests.unit.migrations.hostile_texts import (
    BOM,
    DIALECTS,
    HEADED,
    LINE_END,
    VARIABLES,
    check_refusal,
    line_starts,
    words,
)

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
    return pytest.mark.parametrize("count", [sampled, full])


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
    migrations, errors = load_migrations(folder, folder, headers=())
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
