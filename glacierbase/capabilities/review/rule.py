"""The definition of a rule, and its argument: one migration as one environment renders it.

A rule is a small function with its description, which `family` reads from a Markdown file. Packages add rules by the entry point
group `glacierbase.rules`; an entry point names a `Family`, one of its rules, or a list of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from glacierbase.declared.known import VIEW, KnownField, KnownTable
from glacierbase.declared.trees import ColumnTree
from glacierbase.model.finding import Severity
from glacierbase.model.migration import Migration, Statement
from glacierbase.model.partial_shape import Refused
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.object_names import NamedObject, named_object
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import (
    Call,
    Name,
    ParsedStatement,
    Part,
    Place,
    Subject,
)

_Result = TypeVar("_Result")
_Clause = TypeVar("_Clause", bound=Part)
# The operations after which a view of the table may fail.
BREAKS_READERS = frozenset({"drop_table", "drop_view", "rename_table", "rename_view", "drop_column", "rename_column"})
# Of these, `TablesBefore.readers` is known.
READ_BY_OTHERS = BREAKS_READERS | {"vacuum"}
# The codes that a comment `-- GLACIERBASE_ALLOW` may name besides those of rules. A replay that ran out of time says nothing about
# the statements after it, and is not allowed.
REPLAY_CODES = frozenset(
    {
        "REPLAY_REFUSED",
        "REPLAY_NOT_RUN",
        "REPLAY_UNKNOWN_TABLE",
        "REPLAY_LOCAL_PATH",
        "REPLAY_BROKEN_VIEW",
        "REPLAY_BROKEN_TABLE",
    }
)


class Proof(str, Enum):
    """The source of a rule's claim: a run of its examples on the engine, the vendor's page, or a convention."""

    RUN = "run"
    CITED = "cited"
    CONVENTION = "convention"

    __str__ = str.__str__


@dataclass(frozen=True)
class Step:
    """A statement of a migration.

    Attributes:
        statement: its text and its place in the file; of a statement inside a script, its own text and the place of the script.
        parsed: what it does.
        number: its position among the steps of the file, from 0; the statements of a script are steps of their own.
        place: the place of a statement inside a script, in the text of the script.
        is_conditional: whether it runs only if a condition of its script holds.
        is_repeated: whether it is inside a loop of its script.
    """

    statement: Statement
    parsed: ParsedStatement
    number: int = 0
    place: Place | None = None
    is_conditional: bool = False
    is_repeated: bool = False

    @property
    def target(self) -> Name | None:
        """The first table or view that the statement changes."""
        return next(iter(self.parsed.targets), None)

    @property
    def verb(self) -> str:
        """The operation in words: `INSERT OVERWRITE`."""
        return self.parsed.operation.replace("_", " ").upper()

    @property
    def catalog(self) -> str:
        """The first part of the target's name; for a call, the first part of the procedure's name."""
        names = [part.procedure for part in self.parsed.parts if isinstance(part, Call)]
        names += [self.target.parts] if self.target else []
        return names[0][0] if names else ""

    @cached_property
    def operations(self) -> frozenset[str]:
        """The operation of the statement, and those of its clauses."""
        return frozenset({self.parsed.operation, *(part.operation for part in self.parsed.parts)})


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts in a catalog file that rules need.

    Attributes:
        engine: the dialect of its SQL.
        formats: of the tables, by the name of the Spark catalog: `iceberg`, `delta`, `hudi`; empty if its class implies none.
        default_catalog: the default catalog of Spark; empty if none is set.
        kinds: the kind of the catalog, such as `hadoop`, by its name in Spark.
        given_parts: how many parts of a table's name the catalog file supplies.
        versions: the versions of the formats whose jars the catalog file names.
        varying: texts that a variable has in other environments only, with the variable's path.
        unread: values of variables that hold a placeholder, because lint reads no environment variable and no file.
        overwrites_partitions: whether INSERT OVERWRITE replaces only the partitions that it writes.
        defaults: properties that the engine gives to new tables.
        beginning: the first parts of a qualified name, which a shorter name lacks.
        managed: patterns of the tables that migrations manage; empty for all.
        unmanaged: pattern and reason of tables that are left to others.
        repeatables: what repeatables make: kind, parts of the name, and the name of the repeatable.
        peaks: the declared peaks of requests: a pattern of tables, and PUT and GET per second, None where it is not known.
    """

    engine: str = SPARK.name
    formats: Mapping[str, str] = field(default_factory=dict)
    default_catalog: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)
    given_parts: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    varying: Mapping[str, str] = field(default_factory=dict)
    unread: Sequence[str] = ()
    overwrites_partitions: bool = False
    defaults: Mapping[str, str] = field(default_factory=dict)
    beginning: Sequence[str] = ()
    managed: Sequence[str] = ()
    unmanaged: Sequence[tuple[str, str]] = ()
    repeatables: Sequence[tuple[str, Sequence[str], str]] = ()
    peaks: Sequence[tuple[str, float | None, float | None]] = ()


class TablesBefore:
    """The declarations by earlier statements, also of earlier files, of the tables that the statements of a file change.

    Attributes, each by the number of a step:
        by_number: what is declared of the table that the statement changes.
        of_objects: what the statements that created the objects before it name; only on Snowflake.
        of_namespaces: the names of the tables and views in the namespace that it drops.
        of_readers: the views and dynamic tables that read the table that it changes.
        of_sources: what is declared of the tables that it only reads, by their keys.
        refused: the clauses that the engine refuses, with why.
        missing: the last names of the tables that a rule needed and no earlier statement declares.
    """

    def __init__(self) -> None:
        self.by_number: dict[int, KnownTable] = {}
        self.of_objects: dict[int, Sequence[Subject]] = {}
        self.of_namespaces: dict[int, Sequence[str]] = {}
        self.of_readers: dict[int, Sequence[tuple[Sequence[str], KnownTable]]] = {}
        self.of_sources: dict[int, Mapping[tuple[str, ...], KnownTable]] = {}
        self.refused: dict[int, Sequence[tuple[Part, Refused]]] = {}
        self.missing: set[str] = set()

    def made(self, step: Step) -> Subject | None:
        """Return what the last CREATE of the object that a statement of Snowflake names says; None if there is none."""
        subject = step.parsed.subject
        if subject is None or subject.name is None:
            return None
        objects = self.objects(step, subject.name.key[-1])
        return next((made for made in reversed(objects) if made.is_same_object(subject)), None)

    def objects(self, step: Step, word: str) -> Sequence[Subject]:
        """Return what the statements name that created the objects before a statement of Snowflake.

        Args:
            word: a word of the statements that the rule needs.
        """
        self.missing.add(word.lower())
        return self.of_objects.get(step.number, ())

    def readers(self, step: Step) -> Sequence[tuple[Sequence[str], KnownTable]]:
        """Return the declared views and dynamic tables, by name, that read the table that a statement changes."""
        if step.target:
            self.missing.add(step.target.key[-1].lower())
        return self.of_readers.get(step.number, ())

    def before(self, step: Step) -> KnownTable | None:
        """Return what is declared, before a statement, of the table that the statement changes; None if nothing is."""
        table = self.by_number.get(step.number)
        if table is None and step.target:
            self.missing.add(step.target.key[-1].lower())
        return table

    def using(self, step: Step) -> str | None:
        """Return the format that a declaration before a statement names for the table that it changes; None if none does."""
        table = self.by_number.get(step.number)
        return table.using if table and table.using != VIEW else None

    def source(self, step: Step, key: tuple[str, ...]) -> KnownTable | None:
        """Return what is declared, before a statement, of a table that the statement only reads; None if nothing is."""
        table = self.of_sources.get(step.number, {}).get(key)
        if table is None:
            self.missing.add(key[-1].lower())
        return table

    def inside(self, step: Step) -> Sequence[str]:
        """Return the tables and views that are declared, before a statement, in the namespace that the statement drops."""
        if step.parsed.namespace:
            self.missing.add(step.parsed.namespace.key[-1])
        return self.of_namespaces.get(step.number, ())


@dataclass(frozen=True)
class File:
    """One migration as one environment renders it."""

    migration: Migration
    steps: tuple[Step, ...]
    facts: Facts
    tables: TablesBefore
    _results: dict[Callable[[File], Any], Any] = field(default_factory=dict, repr=False, compare=False)
    _formats: dict[int, str] = field(default_factory=dict, repr=False, compare=False)

    def once(self, function: Callable[[File], _Result]) -> _Result:
        """Return the result of a function of the file, which several rules need and only the first one computes."""
        if function not in self._results:
            self._results[function] = function(self)
        result: _Result = self._results[function]
        return result

    def known(self, step: Step) -> KnownTable | None:
        """Return what earlier statements declare of the table that a statement changes; None if nothing is known."""
        table = self.tables.before(step)
        return table if table and table.using in (None, self.format_of(step)) else None

    def column(self, step: Step, key: tuple[str, ...]) -> ColumnTree | None:
        """Return what earlier statements declare of a column of the table that a statement changes; None if nothing is known."""
        known = self.known(step)
        return known.column(key) if known else None

    def refusals(self, step: Step) -> Sequence[tuple[Part, Refused]]:
        """Return the clauses of a statement that the engine refuses for a table as earlier statements declare it, with why."""
        if step.parsed.operation not in CREATES_TABLE:
            self.tables.before(step)
        return self.tables.refused.get(step.number, ())

    def properties(self, step: Step) -> Mapping[str, str]:
        """Return the properties that earlier statements declare of the table that a statement changes."""
        known = self.known(step)
        return (known and known.properties) or {}

    def partitioning(self, step: Step) -> Sequence[KnownField]:
        """Return the partition fields that earlier statements declare of the table that a statement changes."""
        known = self.known(step)
        return (known and known.partitioning) or ()

    def format_of(self, step: Step) -> str:
        """Return the format of the table that a statement changes; Iceberg if it is not known."""
        if step.number not in self._formats:
            self._formats[step.number] = self._format_of(step)
        return self._formats[step.number]

    def _format_of(self, step: Step) -> str:
        if self.facts.engine != SPARK.name:
            return self.facts.engine
        created = self._created.get(step.target.key) if step.target else None
        using = (created and created.parsed.options.using) or self.tables.using(step)
        return using or self.facts.formats.get(self.catalog_of(step), "") or "iceberg"

    def catalog_of(self, step: Step) -> str:
        """Return the catalog that a statement names, or the default one."""
        return step.catalog if step.catalog in self.facts.formats else self.facts.default_catalog

    def creates(self, name: Name | None, before: Step) -> bool:
        """Return whether an earlier statement of this file surely creates the table."""
        created = self._created.get(name.key) if name else None
        if name is None or created is None or created.number >= before.number or created.is_conditional:
            return False
        return not any(
            step.parsed.swaps and name.key in (target.key for target in step.parsed.targets)
            for step in self.before(before)
        )

    def before(self, step: Step) -> tuple[Step, ...]:
        """Return the statements before a statement, on any table."""
        return self.steps[: step.number]

    def after(self, step: Step) -> tuple[Step, ...]:
        """Return the statements after a statement, on any table."""
        return self.steps[step.number + 1 :]

    def repeatables_dropped(self, step: Step) -> Iterator[str]:
        """Yield the names of the repeatables that make what a statement drops."""
        dropped = named_object(step.statement.text, "DROP", self.facts.engine) if self.facts.repeatables else None
        for kind, parts, name in self.facts.repeatables if dropped else ():
            if dropped and dropped.may_be(NamedObject(kind, tuple(parts))):
                yield name

    @cached_property
    def _created(self) -> Mapping[tuple[str, ...], Step]:
        """The first statement that creates each table."""
        creating = (step for step in reversed(self.steps) if step.parsed.operation in CREATES_TABLE and step.target)
        return {step.target.key: step for step in creating if step.target}


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A place that a rule objects to.

    Attributes:
        message: a few words on the place.
        step: the statement; None for the whole file.
        place: in the text of the statement; default its start.
        fix: instead of the rule's fix, if the fix depends on the place.
        name: the name of the table; default the first table that the statement changes.
        values_of: the paths of the columns whose values are lost; columns that the same change adds have none.
        severity: instead of the rule's, if it depends on the place; that of the catalog file has priority.
    """

    message: str
    step: Step | None = None
    place: Place | None = None
    fix: str = ""
    name: Name | None = None
    values_of: tuple[tuple[str, ...], ...] = ()
    severity: Severity | None = None


Check = Callable[[File], Iterable[RuleFinding]]
CheckStatement = Callable[[Step, File], Iterable[RuleFinding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        code: the letters of its family and a number: `DS103`.
        name: words with hyphens.
        severity: unless the catalog file sets another one.
        why: one sentence.
        fix: one sentence, in the imperative.
        bad, good: SQL that the rule objects to, and the same change without the objection.
        source: links, or the statement of a fact.
        proof: the source of its claim.
        check: yields the objections to a file.
        formats: the table formats to which the rule applies; empty for all.
        streaming: the severity for tables that the catalog file lists as `streaming`; None if it is the same.
        streaming_only: whether the rule applies only to such tables, unless the catalog file sets its severity.
        spares_new_tables: whether the rule ignores tables that the same change creates.
        refuses: whether the engine surely refuses what it finds, so that other findings at the place are about an effect that
            does not occur.
        is_of_state: whether it is about the state of a table, so that its last finding about the table replaces the earlier ones;
            one without a message only ends them.
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
    refuses: bool = False
    is_of_state: bool = False

    @property
    def level(self) -> str:
        """The severity in words."""
        if self.streaming_only:
            return f"{self.severity}, for streams only"
        return str(self.severity) + (f", {self.streaming} for streams" if self.streaming else "")

    @property
    def family(self) -> str:
        """The letters of the code."""
        return self.code.rstrip("0123456789")


def of(step: Step, kind: type[_Clause], *operations: str) -> Iterator[_Clause]:
    """Yield the clauses of a statement of a kind; with one of the operations, if any are given."""
    return (
        part
        for part in step.parsed.parts
        if isinstance(part, kind) and (not operations or part.operation in operations)
    )


def is_same_table(step: Step, other: Step) -> bool:
    """Return whether two statements change the same table."""
    return bool(step.target and other.target and step.target.key == other.target.key)
