"""Apply the rules to the statements of a migration, in the worker process of a sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from glacierbase.capabilities.review.catalogue import all_rules, is_built_in
from glacierbase.capabilities.review.rule import (
    REPLAY_CODES,
    File,
    Rule,
    RuleFinding,
    Step,
    of,
)
from glacierbase.errors import GlacierbaseError, collected, raise_all
from glacierbase.migrations.allows import WORD, Allow, allows_of, without_effect
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.repeatables import repeatables, versioned
from glacierbase.migrations.worker import Chain, Examiner
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.migration import Migration
from glacierbase.model.text import did_you_mean
from glacierbase.sql.dialects import dialect_of
from glacierbase.sql.object_names import named_object
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import ColumnClause

if TYPE_CHECKING:
    from glacierbase.migrations.sandbox import Sandbox

EXAMINE, MAKES = f"{__name__}:examine", f"{__name__}:makes"
DECLARE = f"{__package__}.walk:declare"
# The limit for the text of a statement that is not understood.
_LONGEST_TEXT = 500
_LONGEST_CODE = 20
# Rules that refuse a width, a property's value or a type, and quote it: a placeholder is no value to refuse.
_OF_VALUES = ("PA107", "PR102", "TY110")
# What a template may render is not known before it is rendered.
_TEMPLATE = ("{{", "{%")
Answer = tuple[Migration, Mapping[str, Any]]


def examine(compiled: Compiled, facts: Mapping[str, Any], chain: Chain) -> dict[str, Any]:
    """Return the objections of the rules to a file, in JSON's types; `judge` applies severities and allows.

    Args:
        facts: the attributes of `Facts`.
    """
    from glacierbase.capabilities.review.walk import read_file  # Only the worker applies changes.

    file = read_file(compiled, facts, chain)
    rules = all_rules() if dialect_of(compiled.dialect).has_rules else ()
    allows = allows_of(compiled.statements)
    return {
        "found": [
            _plain(rule, objection, file)
            for rule in rules
            for objection in _applied(rule, file)
            if not (rule.code in _OF_VALUES and any(text in objection.message for text in file.facts.unread))
        ],
        "allows": [{**asdict(allow), "fix": _nearest(allow)} for allow in allows],
        "misplaced": without_effect(compiled.text, allows),
        "lines": {
            str(statement.index): [statement.line, statement.column]
            for statement in compiled.statements
            if WORD in statement.comments
        },
        "tables": [[list(key), is_new] for key, is_new in _tables(file.steps).items()],
        "added": [
            [list(step.target.key), list(part.key)]
            for step in file.steps
            for part in of(step, ColumnClause, "add_column")
            if step.target
        ],
        "not_understood": [
            [_place(RuleFinding("", step))[0], step.statement.text[:_LONGEST_TEXT]]
            for step in file.steps
            if rules and not step.parsed.understood
        ],
        "missing": sorted(file.tables.missing),
    }


def makes(compiled: Compiled, _facts: Mapping[str, Any], _chain: Chain) -> list[list[Any]]:
    """Return what a repeatable makes: kind, parts of the name, and the name of the repeatable."""
    objects = (named_object(statement.text, "CREATE", compiled.dialect) for statement in compiled.statements)
    return [[made.kind, list(made.parts), compiled.migration.name] for made in objects if made]


def made_by_repeatables(
    sandbox: Sandbox, catalog: Catalog, chosen: Sequence[Migration], files: Sequence[Migration]
) -> list[Any]:
    """Return what the repeatables among the files make; nothing where no chosen file drops anything."""
    if not any("drop" in file.text.lower() for file in versioned(chosen)):
        return []
    answers: list[Any] = []
    with collected([]):  # What is wrong in them is reported where they are checked.
        making = [(file, Examiner(MAKES)) for file in repeatables(files)]
        for _, made in sandbox.walk(making, catalog, catalog.dialect, alone=True):
            answers += made
    return answers


def _tables(steps: Sequence[Step]) -> dict[tuple[str, ...], bool]:
    """Return the tables that the statements change, and whether the first one of each creates it, and none swaps its rows."""
    tables: dict[tuple[str, ...], bool] = {}
    for step in steps:
        for name in step.parsed.targets:
            is_new = step.parsed.operation in CREATES_TABLE - {"replace_table"} and not step.is_conditional
            tables[name.key] = tables.get(name.key, is_new) and not step.parsed.swaps
    return tables


def _nearest(allow: Allow) -> str:
    """Return the hint for an unknown code; empty for a known one."""
    codes = [*(rule.code for rule in all_rules()), *REPLAY_CODES]
    if allow.code in codes:
        return ""
    return did_you_mean(allow.code[:_LONGEST_CODE], codes, f"`{command('rules')}` lists the codes")


def _applied(rule: Rule, file: File) -> Iterator[RuleFinding]:
    try:
        yield from rule.check(file)
    except MemoryError:  # The process reached its limit.
        raise
    except Exception as error:
        if is_built_in(rule):
            raise
        yield RuleFinding(
            f"the rule itself fails with {type(error).__name__}: {error}", fix="correct the package that adds it"
        )


def _plain(rule: Rule, objection: RuleFinding, file: File) -> dict[str, Any]:
    name = objection.name or (objection.step.target if objection.step else None)
    line, column = _place(objection)
    is_new = rule.spares_new_tables and objection.step is not None and file.creates(name, objection.step)
    return {
        "code": rule.code,
        "message": objection.message,
        "fix": objection.fix,
        "statement_index": objection.step.statement.index if objection.step else None,
        "line": min(line, file.migration.text.count("\n") + 1),
        "column": column,
        "table": str(name) if name else None,
        "key": list(name.key) if name else None,
        "is_new": is_new,
        "values_of": [list(path) for path in objection.values_of],
        "severity": objection.severity,
    }


def _place(objection: RuleFinding) -> tuple[int, int]:
    """Return line and column in the file; exact where the lines of the statement are lines of the file."""
    if objection.step is None:
        return 1, 1
    statement, place = objection.step.statement, objection.place or objection.step.place
    if place is None:
        return statement.line, statement.column
    column = place.column + (statement.column - 1 if place.line == 1 else 0)
    return statement.line + place.line - 1, column


def examined(
    sandbox: Sandbox,
    catalog: Catalog,
    migrations: Sequence[Migration],
    chosen: Sequence[Migration],
    facts: Mapping[str, Any],
) -> Iterator[Answer]:
    """Yield the answers for the chosen files. Earlier files are read only if a rule needs one of their tables.

    Raises:
        MigrationFileError, SeveralErrors: as `Sandbox.walk`, for the chosen files only.
    """
    examiner = Examiner(EXAMINE, facts, is_read_again=chosen is not migrations)
    if len(chosen) == len(migrations):
        yield from sandbox.walk([(migration, examiner) for migration in migrations], catalog, catalog.dialect)
        return
    errors: list[GlacierbaseError] = []
    answers: list[Answer] = []
    with collected(errors):
        for answer in sandbox.walk([(file, examiner) for file in chosen], catalog, catalog.dialect, alone=True):
            answers.append(answer)
    missing = {name for _, answer in answers for name in answer["missing"]}
    if missing and not sandbox.is_spent:
        files = {migration.location for migration, _ in answers}
        names = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(missing)))})(?!\w)")
        declaring = Examiner(
            DECLARE, {**facts, "naming": names.pattern}
        )  # What a template names is known when it is rendered.
        needed = [
            (migration, examiner if migration.location in files else declaring)
            for migration in migrations
            if migration.location in files or _may_name(migration, names)
        ]
        wrong: list[GlacierbaseError] = []
        answers = []
        with collected(wrong):  # Errors of files that are not chosen belong to the base.
            for answer in sandbox.walk(needed, catalog, catalog.dialect):
                answers.append(answer)
        errors += wrong if sandbox.is_spent else []
    yield from answers
    raise_all(errors)


def _may_name(migration: Migration, names: re.Pattern[str]) -> bool:
    """Return whether a file may name one of the tables, by its last name."""
    text = migration.text.lower()
    return any(mark in text for mark in _TEMPLATE) or names.search(text) is not None
