"""The statements of a file, and what is declared before each of them: one walk over files, in the worker process of a sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from glacierbase.capabilities.review.rule import READ_BY_OTHERS, Facts, File, Step, TablesBefore
from glacierbase.declared.applied import apply
from glacierbase.declared.clauses import clause_changes
from glacierbase.declared.known import KnownTable
from glacierbase.declared.known_tables import KnownTables
from glacierbase.formats.iceberg import METRICS_OF_COLUMN
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.worker import Chain
from glacierbase.model.migration import Statement
from glacierbase.model.partial_shape import Refused
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import (
    ColumnClause,
    DropColumn,
    ParsedStatement,
    Part,
    PartitionClause,
    Property,
    SessionEffect,
)


def read_file(compiled: Compiled, facts: Mapping[str, Any], chain: Chain) -> File:
    """Return a file with what the files before it declare, and add what it declares.

    Args:
        facts: attributes of `Facts`.
    """
    file = File(compiled.migration, _steps(compiled), Facts(engine=compiled.dialect, **facts), TablesBefore())
    _follow(file, chain.left(lambda is_complete: KnownTables(is_complete=is_complete)))
    return file


def declare(compiled: Compiled, facts: Mapping[str, Any], chain: Chain) -> None:
    """Read a file so that its declarations are known for the files after it.

    Args:
        facts: attributes of `Facts`; `naming`: a pattern of the names of the tables whose declarations are needed; default all.
    """
    of_file = {name: value for name, value in facts.items() if name != "naming"}
    if re.search(facts.get("naming", ""), compiled.text.lower()):
        read_file(compiled, of_file, chain)


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


def _follow(file: File, tables: KnownTables) -> None:
    """Add what is known before each statement: of the table that it changes, of the object and the namespace that it names."""
    before = file.tables
    tables.start_file()
    for step in file.steps:
        if step.target and (known := tables.or_dropped(step.target)):
            before.by_number[step.number] = known
        before.of_objects[step.number] = tables.objects
        if step.target and not READ_BY_OTHERS.isdisjoint(step.operations):
            before.of_readers[step.number] = tables.readers(step.target)
        read = ((name.key, tables.before(name)) for name in step.parsed.sources or ())
        before.of_sources[step.number] = {key: known for key, known in read if known}
        if step.parsed.operation == "drop_namespace" and step.parsed.namespace:
            before.of_namespaces[step.number] = tables.inside(step.parsed.namespace)
        table_format = file.format_of(step)
        if not tables.follow(step.parsed, table_format, is_conditional=step.is_conditional):
            is_new = step.parsed.operation in CREATES_TABLE
            known = before.by_number.get(step.number)
            refused = _refused_new(step.parsed, table_format) if is_new else _refused(step.parsed, known, table_format)
            before.refused[step.number] = tuple(refused)


def _refused(parsed: ParsedStatement, known: KnownTable | None, table_format: str) -> Iterator[tuple[Part, Refused]]:
    """Yield the clauses that the engine refuses, each after the accepted ones before it."""
    is_known = known is not None and known.using in (None, table_format) and not known.is_dropped
    table = known.model if known and is_known else None
    dropped = set[tuple[str, ...]]()  # A statement may drop a column twice.
    for part in parsed.parts if table else ():
        if isinstance(part, DropColumn):
            if part.key in dropped:
                continue
            dropped.add(part.key)
        for change in clause_changes(replace(parsed, operation=part.operation, parts=(part,))):
            made = apply(table, change, table_format)
            if isinstance(made, Refused):
                yield part, made
            elif made:
                table = made


def _refused_new(parsed: ParsedStatement, table_format: str) -> Iterator[tuple[Part, Refused]]:
    """Yield the clauses that a new table cannot have, each beside the columns and the accepted clauses before it."""
    accepted: list[Part] = [part for part in parsed.parts if isinstance(part, ColumnClause)]
    others = [
        part
        for part in parsed.parts
        if isinstance(part, PartitionClause) or (isinstance(part, Property) and part.key.startswith(METRICS_OF_COLUMN))
    ]
    for part in others if accepted and not parsed.sources else ():
        [change] = clause_changes(replace(parsed, operation="create_table", parts=(*accepted, part)))
        made = apply(None, change, table_format)
        if isinstance(made, Refused):
            yield part, made
        else:
            accepted.append(part)
