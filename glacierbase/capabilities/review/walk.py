"""The statements of a file, and what is declared before each of them: one walk over files, in the worker process of a sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from glacierbase.capabilities.review.rule import READ_BY_OTHERS, Facts, File, Step, TablesBefore
from glacierbase.declared.known import KnownTable, KnownTables
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.worker import Chain
from glacierbase.model.migration import Statement
from glacierbase.sql.statement import ParsedStatement, SessionEffect, Subject

DECLARE = f"{__name__}:declare"


def read_file(compiled: Compiled, facts: Mapping[str, Any], chain: Chain) -> File:
    """Return a file with what the files before it declare, and add what it declares.

    Args:
        facts: attributes of `Facts`.
    """
    steps = _steps(compiled)
    tables = chain.left(lambda is_complete: KnownTables(is_complete=is_complete))
    return File(compiled.migration, steps, Facts(engine=compiled.dialect, **facts), _followed(steps, tables))


def declare(compiled: Compiled, facts: Mapping[str, Any], chain: Chain) -> None:
    """Read a file so that its declarations are known for the files after it.

    Args:
        facts: `naming`: a pattern of the names of the tables whose declarations are needed; default all.
    """
    if "naming" not in facts or re.search(facts["naming"], compiled.text.lower()):
        read_file(compiled, {}, chain)


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


def _followed(steps: Sequence[Step], tables: KnownTables) -> TablesBefore:
    """Return what is known before each statement: of the table that it changes, of the object and the namespace that it names."""
    by_number, objects = dict[int, KnownTable](), dict[int, tuple[Subject, ...]]()
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
    return TablesBefore(by_number, objects, inside, readers, sources)
