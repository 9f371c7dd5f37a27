"""What a rule is, and what it gets to see: one migration as one environment renders it.

A rule is a small function with its description. Packages add rules by the entry point group `glacierbase.rules`, each an object
that `statement_rule` or `file_rule` returns, or a list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from glacierbase.model.finding import Severity
from glacierbase.model.migration import Migration, Statement
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.known import KnownTable
from glacierbase.sql.statement import Call, Name, ParsedStatement, Part, Place

# The operations that bring a table into being.
CREATES = frozenset({"create_table", "create_table_as", "replace_table"})


class Proof(str, Enum):
    """Where the claim of a rule comes from: a run of its examples on the engine, the vendor's page, or a convention."""

    RUN = "run"
    CITED = "cited"
    CONVENTION = "convention"

    __str__ = str.__str__


@dataclass(frozen=True)
class Step:
    """A statement of a migration.

    Attributes:
        statement: its text and its place in the file.
        parsed: what it does.
    """

    statement: Statement
    parsed: ParsedStatement

    @property
    def target(self) -> Name | None:
        """The first table or view that it changes."""
        return next(iter(self.parsed.targets), None)

    @property
    def catalog(self) -> str:
        """The first part of that name; of a call, the first part of the procedure's name."""
        names = [part.procedure for part in self.parsed.parts if isinstance(part, Call)]
        names += [self.target.parts] if self.target else []
        return names[0][0] if names else ""

    @cached_property
    def operations(self) -> frozenset[str]:
        """Its operation, and those of its clauses."""
        return frozenset({self.parsed.operation, *(part.operation for part in self.parsed.parts)})


@dataclass(frozen=True, slots=True)
class Facts:
    """What a catalog file says that rules need.

    Attributes:
        engine: the dialect of its SQL.
        formats: of the tables, by the name of the Spark catalog: `iceberg`, `delta`, `hudi`; empty where its class tells none.
        default_catalog: of Spark; empty where none is set.
        given_parts: how many parts of a table's name the catalog file supplies.
        versions: of the formats whose jars the catalog file names.
        varying: texts that a variable has in one environment and not in another, each with the variable's path.
        defaults: properties that the engine gives to new tables.
        repeatables: what repeatables make: kind, parts of the name, and the name of the repeatable.
    """

    engine: str = SPARK.name
    formats: Mapping[str, str] = field(default_factory=dict)
    default_catalog: str = ""
    given_parts: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    varying: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    repeatables: Sequence[tuple[str, Sequence[str], str]] = ()


class TablesBefore:
    """What earlier statements, also of earlier files, declare of the tables that the statements of a file change.

    Attributes:
        missing: the last names of the tables that a rule needed and no earlier statement declares.
    """

    def __init__(self, by_index: Mapping[int, KnownTable]) -> None:
        """Args:
        by_index: what is declared of the table that each statement changes, by the index of the statement.
        """
        self._by_index = by_index
        self.missing: set[str] = set()

    def before(self, step: Step) -> KnownTable | None:
        """Return what is declared of the table that a statement changes, before that statement; None where nothing is."""
        table = self._by_index.get(step.statement.index)
        if table is None and step.target:
            self.missing.add(step.target.key[-1])
        return table


@dataclass(frozen=True)
class File:
    """One migration as one environment renders it."""

    migration: Migration
    steps: tuple[Step, ...]
    facts: Facts
    tables: TablesBefore

    def known(self, step: Step) -> KnownTable | None:
        """Return what earlier statements declare of the table that a statement changes; None where nothing is known."""
        table = self.tables.before(step)
        return table if table and table.using in (None, self.format_of(step)) else None

    def format_of(self, step: Step) -> str:
        """Return the format of the table that a statement changes; Iceberg where nothing tells it."""
        if self.facts.engine != SPARK.name:
            return self.facts.engine
        catalog = step.catalog if step.catalog in self.facts.formats else self.facts.default_catalog
        declared = self._created.get(step.target.key) if step.target else None
        return (declared and declared.parsed.options.using) or self.facts.formats.get(catalog, "") or "iceberg"

    def creates(self, name: Name | None, before: Step) -> bool:
        """Return whether an earlier statement of this file creates the table."""
        created = self._created.get(name.key) if name else None
        return created is not None and created.statement.index < before.statement.index

    @cached_property
    def _created(self) -> Mapping[tuple[str, ...], Step]:
        """The first statement that creates each table."""
        creating = (step for step in reversed(self.steps) if step.parsed.operation in CREATES and step.target)
        return {step.target.key: step for step in creating if step.target}


@dataclass(frozen=True, slots=True)
class Found:
    """A place that a rule objects to.

    Attributes:
        message: what is there, in a few words.
        step: the statement; None for the whole file.
        place: in the text of the statement; default its start.
        fix: instead of the rule's, where it depends on the place.
        name: of the table; default the first one that the statement changes.
    """

    message: str
    step: Step | None = None
    place: Place | None = None
    fix: str = ""
    name: Name | None = None


Check = Callable[[File], Iterable[Found]]
CheckStatement = Callable[[Step, File], Iterable[Found]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        code: of its family and a number: `DS103`.
        name: in words with hyphens.
        severity: unless the catalog file sets another one.
        why: one sentence.
        fix: one sentence, in the imperative.
        bad, good: SQL that the rule objects to, and the same change without the objection.
        source: links, or the statement of a fact.
        proof: where its claim comes from.
        check: yields what it objects to in a file.
        formats: the table formats that it is about; empty for all.
        streaming: the severity for tables that the catalog file lists as `streaming`; None where it is the same.
        streaming_only: whether it does not matter for other tables, unless the catalog file sets its severity.
        spares_new_tables: whether it does not matter for a table that the same change creates.
    """

    code: str
    name: str
    severity: Severity
    why: str
    fix: str
    bad: str
    good: str
    source: str
    proof: Proof
    check: Check = field(repr=False)
    formats: frozenset[str] = frozenset()
    streaming: Severity | None = None
    streaming_only: bool = False
    spares_new_tables: bool = False

    @property
    def level(self) -> str:
        """Its severity in words."""
        if self.streaming_only:
            return f"{self.severity}, for streams only"
        return str(self.severity) + (f", {self.streaming} for streams" if self.streaming else "")

    @property
    def family(self) -> str:
        """The letters of the code."""
        return self.code.rstrip("0123456789")


def statement_rule(
    *operations: str, formats: Iterable[str] = (), **description: Any
) -> Callable[[CheckStatement], Rule]:
    """Make a rule of a function that looks at single statements.

    Args:
        operations: of the statements, or of one of their clauses.
        formats: of the tables that the statements change; default all.
        description: the other attributes of `Rule`.
    """
    wanted, of_formats = frozenset(operations), frozenset(formats)

    def decorate(function: CheckStatement) -> Rule:
        def check(file: File) -> Iterator[Found]:
            for step in file.steps:
                if not wanted.isdisjoint(step.operations) and (not of_formats or file.format_of(step) in of_formats):
                    yield from function(step, file)

        return Rule(check=check, formats=of_formats, **description)

    return decorate


def file_rule(**description: Any) -> Callable[[Check], Rule]:
    """Make a rule of a function that looks at a whole file.

    Args:
        description: the other attributes of `Rule`.
    """
    return lambda function: Rule(check=function, **description)


def of(step: Step, operation: str) -> Iterator[Part]:
    """Yield the clauses of a statement that do this."""
    return (part for part in step.parsed.parts if part.operation == operation)
