"""Hostile texts for migration files, catalog files and templates, and what must be true of every refusal."""

from __future__ import annotations

import os
import re
from typing import Any

from hypothesis import strategies as st

from glacierbase.errors import GlacierbaseError
from tests.support.project_folder import migration

DIALECTS = ["spark", "snowflake"]
BOM = "\ufeff"
LINE_END = re.compile(r"\r\n|\r|\n")

# What only a person who debugs Python or Java may see.
INTERNALS = re.compile(r"Traceback|\bFile \"|object at 0x|<(?:class|function|bound|built-in|module)\b|^\s+at \w", re.M)


def check_refusal(error: GlacierbaseError, exit_code: int) -> None:
    """Check that each error has its code, exit code, place and hint, and no text of Python's."""
    for each in getattr(error, "errors", (error,)):
        assert re.fullmatch(r"[A-Z][A-Z0-9_]+", each.code)
        assert each.exit_code == error.exit_code == exit_code
        assert each.message.startswith(each.data["path"])
        assert each.data["line"] >= 1
        assert each.hint
        assert not INTERNALS.search(f"{each.message}\n{each.hint}")


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

VARIABLES: dict[str, Any] = {"table": {"name": "t", "items": 1, "none": None}, "names": ["b", "a"], "on": True}
