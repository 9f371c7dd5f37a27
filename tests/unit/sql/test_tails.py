"""A statement with words after its end is not understood as the statement without them."""

from __future__ import annotations

from glacierbase.migrations.statements import split_statements
from glacierbase.sql import read
from tests.corpus.cases import cases as corpus
from tests.oracle.cases import groups
from tests.unit.sql import cases

TAILS = (" foo bar baz 7", " trailing words", " 7 'a'", " ) (")
# Operations whose statements end with a query, an expression, or options that engines add: no grammar of these is read.
_FREE = {
    "spark": {
        "add_constraint", "alter_column_default", "alter_view", "analyze", "cache", "copy", "create_function", "create_table_as",
        "create_view", "delete", "describe", "drop_function", "explain", "grant", "insert", "insert_multi", "insert_overwrite",
        "merge", "optimize", "other", "refresh", "replace_table", "replace_view", "restore", "revoke", "script", "select", "show",
        "update",
        # The rest is any text: a value, or a path.
        "add_resource", "reset", "set",
    },
    "snowflake": {
        "add_column", "add_constraint", "alter_namespace", "alter_view", "copy", "create_function", "create_namespace",
        "create_pipe", "create_procedure", "create_role", "create_stage", "create_stream", "create_table",
        "create_table_as", "create_task",
        "create_view", "delete", "describe", "explain", "grant", "insert", "insert_multi", "insert_overwrite", "merge", "other",
        "refresh", "replace_table", "replace_view", "reset", "revoke", "select", "set", "show", "unset_properties", "update",
    },
}  # fmt: skip
# Clauses that are an expression or an option of one engine, in a statement whose other clauses have a grammar.
_FREE_CLAUSES = (" DEFAULT ", " CLONE ", "UNSET PROPERTIES", " STORED AS ")


def statements() -> list[tuple[str, str]]:
    """Return the statements of all corpora that are understood, with their dialects."""
    known = [(sql, "spark") for group in groups().values() for texts in group.values() for sql in texts]
    known += [(case[0], "spark") for case in cases.SPARK] + [(case[0], "snowflake") for case in cases.SNOWFLAKE]
    for case in corpus():
        dialect = "snowflake" if case.engine == "snowflake" else "spark"
        if case.found_by != "engine":
            known += [
                (each.text, dialect) for text in (case.base, case.branch) for each in split_statements(text, dialect)
            ]
    return [(sql, dialect) for sql, dialect in dict.fromkeys(known) if read(sql, dialect).understood]


def test_no_statement_of_a_table_is_understood_with_more_words_after_it() -> None:
    """Each statement of the corpora gets one of four endings, in turn, if its grammar has an end."""
    ending = [
        (sql, dialect)
        for sql, dialect in statements()
        if read(sql, dialect).operation not in _FREE[dialect] and not any(clause in sql for clause in _FREE_CLAUSES)
    ]
    understood = [
        (sql, tail)
        for number, (sql, dialect) in enumerate(ending)
        for tail in (TAILS[number % len(TAILS)],)
        if read(sql + tail, dialect).understood
    ]
    assert len(ending) > 4000
    assert understood == []
