"""Read the statements of a migration and apply the rules to them, in the worker process of a sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from glacierbase.capabilities.review.catalogue import all_rules, is_built_in
from glacierbase.capabilities.review.rule import (
    READ_BY_OTHERS,
    REPLAY_CODES,
    Facts,
    File,
    Rule,
    RuleFinding,
    Step,
    TablesBefore,
    of,
)
from glacierbase.declared.known import KnownTable, KnownTables
from glacierbase.errors import GlacierbaseError, collected, raise_all
from glacierbase.migrations.allows import WORD, Allow, allows_of, without_effect
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.repeatables import repeatables, versioned
from glacierbase.migrations.worker import Examiner
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.migration import Migration, Statement
from glacierbase.model.text import did_you_mean
from glacierbase.sql.dialects import dialect_of
from glacierbase.sql.object_names import named_object
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import ColumnClause, ParsedStatement, SessionEffect, Subject

if TYPE_CHECKING:
    from glacierbase.migrations.sandbox import Sandbox

NAME, FOLLOW, MAKES = f"{__name__}:examine", f"{__name__}:follow", f"{__name__}:makes"
# The limit for the text of a statement that is not understood.
_LONGEST_TEXT = 500
_LONGEST_CODE = 20
# What a template may render is not known before it is rendered.
_TEMPLATE = ("{{", "{%")
Answer = tuple[Migration, Mapping[str, Any]]


@dataclass(slots=True)
class _Chain:
    """The declarations of a catalog's files in one environment, up to the file of this number.

    Attributes:
        name: the name of the catalog and the environment.
    """

    name: list[str]
    number: int
    tables: KnownTables


def examine(compiled: Compiled, facts: Mapping[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """Return the objections of the rules to a file, in JSON's types; `judge` applies severities and allows.

    Args:
        facts: the attributes of `Facts`, and `place` as for `follow`, without which the files before are not known.
        kept: as for `follow`.
    """
    rest = {key: value for key, value in facts.items() if key != "place"}
    steps = _steps(compiled)
    tables = _followed(steps, facts.get("place"), kept)
    file = File(compiled.migration, steps, Facts(engine=compiled.dialect, **rest), tables)
    rules = all_rules() if dialect_of(compiled.dialect).has_rules else ()
    allows = allows_of(compiled.statements)
    return {
        "found": [_plain(rule, objection, file) for rule in rules for objection in _applied(rule, file)],
        "allows": [{**asdict(allow), "fix": _nearest(allow)} for allow in allows],
        "misplaced": without_effect(compiled.text, allows),
        "lines": {
            str(statement.index): [statement.line, statement.column]
            for statement in compiled.statements
            if WORD in statement.comments
        },
        "tables": [[list(key), is_new] for key, is_new in _tables(steps).items()],
        "added": [
            [list(step.target.key), list(part.key)]
            for step in steps
            for part in of(step, ColumnClause, "add_column")
            if step.target
        ],
        "not_understood": [
            [_place(RuleFinding("", step))[0], step.statement.text[:_LONGEST_TEXT]]
            for step in steps
            if rules and not step.parsed.understood
        ],
        "missing": sorted(tables.missing),
    }


def follow(compiled: Compiled, facts: Mapping[str, Any], kept: dict[str, Any]) -> None:
    """Read a file so that its declarations are known for the files after it.

    Args:
        facts: `place`, the file's chain and its number there. A chain contains every file of a catalog in one environment.
        kept: holds the chain up to the file before. The process examines the files of a catalog in their order.
    """
    _followed(_steps(compiled), facts["place"], kept)


def makes(compiled: Compiled, _facts: Mapping[str, Any], _kept: dict[str, Any]) -> list[list[Any]]:
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
        for _, made in sandbox.examine_all(repeatables(files), catalog, catalog.dialect, lambda _: Examiner(MAKES, {})):
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


def _steps(compiled: Compiled) -> tuple[Step, ...]:
    """Return the statements of a file, with those of a script in place of the script."""
    unnumbered = (step for named in compiled.named for step in _inside(named.statement, named.parsed))
    return tuple(replace(step, number=number) for number, step in enumerate(unnumbered))


def _inside(statement: Statement, parsed: ParsedStatement) -> Iterator[Step]:
    if not parsed.inner:
        yield Step(statement, parsed)
    for inner in parsed.inner:
        # The script is one statement of the file: what it sets before an error is not known.
        session = inner.parsed.session if inner.parsed.session is SessionEffect.NONE else SessionEffect.UNKNOWN
        within = replace(statement, text=inner.text)
        yield Step(
            within, replace(inner.parsed, session=session), 0, inner.place, inner.is_conditional, inner.is_repeated
        )


def _followed(steps: Sequence[Step], place: tuple[list[str], int] | None, kept: dict[str, Any]) -> TablesBefore:
    """Return what is known before each statement: of the table that it changes, of the object and the namespace that it names."""
    chain: _Chain | None = kept.get("chain")
    name, number = place or ([], 0)
    if place is None or chain is None or (chain.name, chain.number) != (name, number - 1):
        # A file of the chain is missing if it did not compile, or ended the process.
        chain = kept["chain"] = _Chain(name, number, KnownTables(is_complete=place is not None and number == 0))
    tables, by_number, objects = chain.tables, dict[int, KnownTable](), dict[int, tuple[Subject, ...]]()
    inside: dict[int, tuple[str, ...]] = {}
    readers: dict[int, Any] = {}
    sources: dict[int, dict[tuple[str, ...], KnownTable]] = {}
    tables.start_file()
    for step in steps:
        if step.target and (known := tables.or_dropped(step.target)):
            by_number[step.number] = known
        objects[step.number] = tables.objects
        if step.target and not READ_BY_OTHERS.isdisjoint(step.operations):
            readers[step.number] = tables.readers(step.target)
        read = ((name.key, tables.before(name)) for name in step.parsed.sources or ())
        sources[step.number] = {key: known for key, known in read if known}
        if step.parsed.operation == "drop_namespace" and step.parsed.namespace:
            inside[step.number] = tables.inside(step.parsed.namespace)
        tables.follow(step.parsed, is_conditional=step.is_conditional)
    chain.number = number
    return TablesBefore(by_number, objects, inside, readers, sources)


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
        MigrationFileError, SeveralErrors: as `Sandbox.examine_all`, for the chosen files only.
    """
    if len(chosen) == len(migrations):
        yield from _walk(sandbox, catalog, migrations, chosen, facts)
        return
    errors: list[GlacierbaseError] = []
    answers: list[Answer] = []
    with collected(errors):
        for answer in sandbox.examine_all(chosen, catalog, catalog.dialect, lambda _: Examiner(NAME, facts)):
            answers.append(answer)
    missing = {name for _, answer in answers for name in answer["missing"]}
    if missing and not sandbox.is_spent:
        files = [migration for migration, _ in answers]
        names = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(missing)))})(?!\w)")
        needed = [migration for migration in migrations if migration in files or _may_name(migration, names)]
        wrong: list[GlacierbaseError] = []
        again: list[Answer] = []
        with collected(wrong):  # Errors of files that are not chosen belong to the base.
            for answer in _walk(sandbox, catalog, needed, files, facts):
                again.append(answer)
        answers = again
        errors += wrong if sandbox.is_spent else []
    yield from answers
    raise_all(errors)


def _walk(
    sandbox: Sandbox,
    catalog: Catalog,
    migrations: Sequence[Migration],
    chosen: Sequence[Migration],
    facts: Mapping[str, Any],
) -> Iterator[Answer]:
    """Yield the answers for the chosen files, after reading the files before them."""
    chain = [catalog.name, catalog.environment]
    places = {migration.location: (chain, number) for number, migration in enumerate(migrations)}
    wanted = {migration.location for migration in chosen}

    def examiner(migration: Migration) -> Examiner:
        place = {"place": places[migration.location]}
        return Examiner(NAME, {**facts, **place}) if migration.location in wanted else Examiner(FOLLOW, place)

    for migration, answer in sandbox.examine_all(migrations, catalog, catalog.dialect, examiner):
        if answer is not None:
            yield migration, answer


def _may_name(migration: Migration, names: re.Pattern[str]) -> bool:
    """Return whether a file may name one of the tables, by its last name."""
    text = migration.text.lower()
    return any(mark in text for mark in _TEMPLATE) or names.search(text) is not None
