"""What a statement does, as frozen values: its operation, its tables, and the clauses that rules check.

Texts are as written; names are without quotes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from glacierbase.model.names import recorded_name
from glacierbase.model.transforms import IDENTITY, iceberg_name


class Place(NamedTuple):
    """Line and column in the text of the statement, from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Part:
    """A clause.

    Attributes:
        operation: what it does, a word of `OPERATIONS`.
        place: the place of its first word.
    """

    operation: str
    place: Place

    @property
    def verb(self) -> str:
        """The operation in words: `DROP COLUMN`."""
        return self.operation.replace("_", " ").upper()


@dataclass(frozen=True, slots=True)
class OfColumn(Part):
    """A clause about one column.

    Attributes:
        path: several names for a nested field.
    """

    path: tuple[str, ...]

    @property
    def column(self) -> str:
        """The path with points: `address.city`."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class ColumnClause(OfColumn):
    """A column that is declared: by `add_column`, `replace_columns`, `create_table` and the like.

    Attributes:
        key: the path as the engine compares it, here and in the classes below.
        type: None where the statement declares none, as in a view.
        nullable: False for NOT NULL.
        default: the text of its default expression.
        generated: the text of the expression after GENERATED ALWAYS AS.
        position: `first`, or `after` and a name.
        primary_key: PRIMARY KEY among its options.
    """

    type: str | None
    nullable: bool = True
    default: str | None = None
    generated: str | None = None
    comment: str | None = None
    position: str | None = None
    key: tuple[str, ...] = ()
    primary_key: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn(OfColumn):
    """A column that is dropped."""

    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenameColumn(OfColumn):
    """A column that is renamed."""

    new: str
    key: tuple[str, ...] = ()
    new_key: str = ""


@dataclass(frozen=True, slots=True)
class AlterColumn(OfColumn):
    """One change of a column. The operation determines which attribute holds it; the others are None.

    Attributes:
        type: of `alter_column_type`.
        nullable: of `alter_column_nullability`: False for SET NOT NULL.
        comment: of `alter_column_comment`.
        position: of `alter_column_position`: `first`, or `after` and a name.
        default: of `alter_column_default`; None for DROP DEFAULT.
    """

    type: str | None = None
    nullable: bool | None = None
    comment: str | None = None
    position: str | None = None
    default: str | None = None
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Property(Part):
    """A table property: of `set_properties`, `unset_properties` (no value), `create_table` and the like.

    Attributes:
        place: the place of the key.
        value: without quotes; None of UNSET.
        value_place: the place of the value.
    """

    key: str
    value: str | None = None
    value_place: Place | None = None

    @property
    def word(self) -> str:
        """The value in lower case; empty for UNSET."""
        return (self.value or "").lower()


@dataclass(frozen=True, slots=True)
class Transform:
    """The transform of a partition or sort field: `bucket(16, id)`, or a column.

    Attributes:
        text: as written.
        function: in lower case; empty for a column.
        arguments: each as written without quotes: `("16", "id")`; of a column, its name.
    """

    text: str
    function: str
    arguments: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(argument for argument in self.arguments if not argument.isdigit())

    @property
    def widths(self) -> tuple[str, ...]:
        return tuple(argument.lstrip("0") or "0" for argument in self.arguments if argument.isdigit())

    @property
    def name(self) -> str:
        """The function as Iceberg names it: `day` for `days`, `identity` for a column."""
        return iceberg_name(self.function)

    @property
    def iceberg(self) -> str:
        """The transform as Iceberg's metadata spells it: `bucket[16]`, `day`, `identity`."""
        return f"{self.name}[{','.join(self.widths)}]" if self.widths else self.name

    @property
    def normalised(self) -> str:
        """The function as Iceberg names it, with its arguments: `bucket(16, id)`, `day(at)`; of a column, its name."""
        inside = ", ".join((*self.widths, *self.columns))
        return inside if self.name == IDENTITY.name else f"{self.name}({inside})"


@dataclass(frozen=True, slots=True)
class PartitionClause(Part):
    """A partition field: of `add_partition_field`, `drop_partition_field`, `replace_partition_field`, and of `create_table`.

    Attributes:
        transform: the new field, or the dropped one; a column's name may also be that of a field.
        name: given by AS.
        replaces: the old field of `replace_partition_field`.
    """

    transform: Transform
    name: str | None = None
    replaces: Transform | None = None


@dataclass(frozen=True, slots=True)
class SortClause:
    """A field of a write order.

    Attributes:
        direction: `asc`, `desc`, or empty.
        nulls: `first`, `last`, or empty.
    """

    transform: Transform
    direction: str = ""
    nulls: str = ""


@dataclass(frozen=True, slots=True)
class WriteOrder(Part):
    """The order (`set_write_order`) or the distribution (`set_distribution`) of writes.

    Attributes:
        fields: empty for UNORDERED.
        distribution: `partition`, or empty.
        locally: LOCALLY ORDERED BY.
    """

    fields: tuple[SortClause, ...] = ()
    distribution: str = ""
    locally: bool = False


@dataclass(frozen=True, slots=True)
class Fields(Part):
    """Columns by name: of `set_identifier_fields`, `drop_identifier_fields` and `cluster_by` (empty: NONE or AUTO)."""

    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference(Part):
    """A branch or a tag that is created, replaced or dropped.

    Attributes:
        or_replace: CREATE OR REPLACE, and REPLACE.
        creates: False for REPLACE without CREATE.
        snapshot: the text after AS OF VERSION.
        retain_ms: how long the branch or tag is kept.
        min_snapshots: how many snapshots of the branch are kept.
        max_snapshot_ms: how long the snapshots of the branch are kept.
    """

    name: str
    or_replace: bool = False
    if_exists: bool = False
    if_not_exists: bool = False
    snapshot: str | None = None
    creates: bool = True
    retain_ms: int | None = None
    min_snapshots: int | None = None
    max_snapshot_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Constraint(Part):
    """A constraint that is added or dropped.

    Attributes:
        name: None where it has none.
        text: as written, from its first word: `CHECK (a > 0)`.
    """

    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call.

    Attributes:
        name: in lower case; None for a positional argument.
        text: as written.
        string: its value where it is a string literal.
    """

    name: str | None
    text: str
    string: str | None


@dataclass(frozen=True, slots=True)
class DroppedNamespace(Part):
    """A namespace that is dropped, or replaced by an empty one.

    Attributes:
        name: its parts, as written, without quotes.
    """

    name: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call(Part):
    """A procedure that is called.

    Attributes:
        procedure: the parts of its name, as written, such as `("lake", "system", "expire_snapshots")`.
    """

    procedure: tuple[str, ...]
    arguments: tuple[Argument, ...]

    @property
    def name(self) -> str:
        """The last part of the procedure's name, in lower case."""
        return self.procedure[-1].lower()

    def __str__(self) -> str:
        """Return the procedure's name as written, without quotes."""
        return ".".join(self.procedure)

    def argument(self, name: str) -> Argument | None:
        """Return the argument that is given by this name, or None."""
        return next((argument for argument in self.arguments if argument.name == name), None)


@dataclass(frozen=True, slots=True)
class Feature(Part):
    """A table feature of Delta that is dropped (`other`).

    Attributes:
        truncate_history: DROP FEATURE … TRUNCATE HISTORY.
    """

    name: str
    truncate_history: bool = False


@dataclass(frozen=True, slots=True)
class Subquery:
    """A query of one column of one table: `id IN (SELECT id FROM t WHERE …)`.

    Attributes:
        column: the name of the selected column, as the engine compares it, without the table.
        table: the key of the table.
        is_excluded: NOT IN.
        is_not_null: whether its WHERE requires that the column is not NULL.
    """

    column: str
    table: tuple[str, ...]
    is_excluded: bool
    is_not_null: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of WHERE, ON or WHEN, as far as its text decides it.

    Attributes:
        holds: True for all rows, with the exceptions below, False for none, None if it depends on the rows.
        unless_null: columns that are compared with themselves; it does not hold for a row in which one of them is NULL.
        if_required: columns of `IS NOT NULL`; it holds for all rows if these can not be NULL.
        qualifiers: the first parts of the columns that it names; None if one has none.
        is_uniform: whether it is the same for all rows, though not known: EXISTS of a query that refers to no row.
        queried: the table whose own values `id IN (SELECT id FROM …)` compares; it holds for all rows if they are of that table.
        is_mixed: whether AND and OR follow each other without parentheses.
        named: all parts of the names in it, as the engine compares them; among them may be words that are no columns.
        subqueries: those after IN.
        compared: the columns that it compares with a text or a DATE: column, sign (also BETWEEN), the text, for BETWEEN the second.
    """

    holds: bool | None = None
    unless_null: frozenset[tuple[str, ...]] = frozenset()
    if_required: frozenset[tuple[str, ...]] = frozenset()
    qualifiers: frozenset[str] | None = None
    is_uniform: bool = False
    queried: tuple[str, ...] = ()
    is_mixed: bool = False
    named: frozenset[str] = frozenset()
    subqueries: tuple[Subquery, ...] = ()
    compared: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MergeClause(Part):
    """A WHEN of MERGE.

    Attributes:
        rows: `matched`, `not matched` or `not matched by source`.
        action: `update`, `delete` or `insert`.
        condition: None where it has none.
    """

    rows: str
    action: str
    condition: Condition | None


@dataclass(frozen=True, slots=True)
class Query:
    """The query of INSERT, of CREATE TABLE … AS or of a view.

    Attributes:
        columns: the names of its columns as the engine compares them; None where one is not determined, as with `*`.
        limits: LIMIT without ORDER BY.
        is_whole_table: whether it returns every row of one table.
        reads_target: whether it reads the table that the statement changes.
        names: every word and quoted name in it, as the engine compares names; `*` where it returns all columns.
    """

    columns: tuple[str, ...] | None
    limits: bool
    is_whole_table: bool
    reads_target: bool
    names: frozenset[str] = frozenset()


# What `ParsedStatement.moves` may hold.
EVERY_MOVE = frozenset({"catalog", "namespace"})


class SessionEffect(Enum):
    """What a statement changes for the statements after it in its session."""

    NONE = "nothing"
    SET = "the session, and nothing else: run again in a new session, it sets the same"
    MOVE = "an object, and perhaps which namespace is the current one"
    UNKNOWN = "perhaps the session, in a way that is not known or not repeatable"


@dataclass(frozen=True, slots=True)
class Name:
    """A name of one or more parts, such as that of a table.

    Attributes:
        parts: as written, without quotes.
        key: as the engine compares them: two names with the same key are the same.
        written: the same with their quotes.
        recorded: as the history records it: a part is quoted where it needs quotes.
    """

    parts: tuple[str, ...]
    key: tuple[str, ...]
    written: tuple[str, ...]

    @property
    def recorded(self) -> str:
        return recorded_name(".".join(self.written))

    def owner(self) -> Name:
        """Return the name without its last part: the table of a column."""
        return Name(self.parts[:-1], self.key[:-1], self.written[:-1])

    def __str__(self) -> str:
        """Return the name as written, without quotes."""
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a statement of Snowflake names.

    Attributes:
        verb: its first word, in capitals.
        kind: of the object, in capitals: `STREAM`, `ROW ACCESS POLICY`, `DYNAMIC TABLE`; empty where there is none.
        name: None where it has none, or a computed one.
        modifiers: the words before the kind, such as `REPLACE`, `SECURE`, `TRANSIENT`.
        if_not_exists: CREATE … IF NOT EXISTS.
        words: the words after the name, up to the definition after AS, without what parentheses enclose; strings with quotes.
    """

    verb: str
    kind: str = ""
    name: Name | None = None
    modifiers: frozenset[str] = frozenset()
    if_not_exists: bool = False
    words: tuple[str, ...] = ()

    @property
    def replaces(self) -> bool:
        """Whether it is a CREATE OR REPLACE."""
        return self.verb == "CREATE" and "REPLACE" in self.modifiers

    @property
    def is_temporary(self) -> bool:
        return not self.modifiers.isdisjoint(("TEMPORARY", "TEMP", "VOLATILE"))

    @property
    def grants_future(self) -> bool:
        """Whether it is a GRANT on the objects that will be created in a schema or a database."""
        return self.verb == "GRANT" and self.has("ON", "FUTURE")

    def has(self, *words: str) -> bool:
        """Return whether these words follow each other after the name."""
        return any(self.words[at : at + len(words)] == words for at in range(len(self.words)))

    def setting(self, key: str) -> str | None:
        """Return the value of `KEY = value`, in capitals and without quotes; None where it is not set."""
        for at in range(len(self.words) - 2):
            if self.words[at : at + 2] == (key, "="):
                return self.words[at + 2].strip("'").upper()
        return None

    def is_same_object(self, other: Subject) -> bool:
        """Return whether both may name one object: the first parts of a name may be left out."""
        if self.name is None or other.name is None or self.kind != other.kind:
            return False
        shorter = min(len(self.name.key), len(other.name.key))
        return self.name.key[-shorter:] == other.name.key[-shorter:]


@dataclass(frozen=True, slots=True)
class Options:
    """The words of a statement outside of its clauses; False or None where they are absent.

    Attributes:
        kind: the kind of the object, in lower case: `table`, `view`, `materialized view`, `dynamic table`, `namespace`, …; for USE
            `catalog`, `namespace`, `role`, `warehouse` or `secondary`, and empty if the name may be a catalog or a namespace.
        using: the table format after USING, in lower case.
        location: the text of LOCATION, or of SET LOCATION.
        where: whether UPDATE, DELETE or OPTIMIZE has a WHERE; False means all rows.
        condition: of the WHERE of UPDATE and DELETE, of INSERT … REPLACE WHERE, and of the ON of MERGE.
        alias: the name of the target in a MERGE, as the engine compares it.
        only_replaces: REPLACE TABLE, which requires that the table exists.
        or_alter: CREATE OR ALTER of Snowflake, CREATE OR REFRESH of Databricks.
        by_name: INSERT … BY NAME.
        columns: the columns that an INSERT lists, or an UPDATE sets.
        partition: the text of PARTITION (…) of the statement.
        retain: the text after RETAIN of VACUUM, such as `168 HOURS`.
        dry_run: VACUUM … DRY RUN.
        copy_grants: COPY GRANTS of Snowflake.
        shallow: SHALLOW CLONE, which reads the files of its source.
        evolves: whether INSERT or MERGE may add columns to its table: WITH SCHEMA EVOLUTION, or options of the writer.
    """

    kind: str = ""
    if_exists: bool = False
    if_not_exists: bool = False
    or_replace: bool = False
    only_replaces: bool = False
    or_alter: bool = False
    temporary: bool = False
    external: bool = False
    purge: bool = False
    cascade: bool = False
    using: str | None = None
    location: str | None = None
    comment: str | None = None
    where: bool = False
    condition: Condition | None = None
    alias: str | None = None
    by_name: bool = False
    columns: tuple[str, ...] = ()
    partition: str | None = None
    retain: str | None = None
    dry_run: bool = False
    copy_grants: bool = False
    shallow: bool = False
    evolves: bool = False


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """What one statement does.

    Attributes:
        operation: one of `OPERATIONS`; `other` for a statement that is not in that list, or is not understood.
        targets: the tables and views that it changes; for a rename, both names.
        sources: the tables and views that it only reads; None where they are not determined.
        namespace: the namespace that it creates, changes or drops; None for other statements, and where the name is computed.
        parts: its clauses, in the order of the text. ADD COLUMNS (a, b) has two; where their operations differ, the
            operation of the statement is `several`.
        options: its words outside of the clauses, such as IF EXISTS.
        session: what it changes for the statements after it.
        selected: the name that USE or SET CATALOG selects, of the kind `options.kind`; None where it is computed.
        moves: which of the current `catalog` and `namespace` it changes, or may change.
        query: of INSERT, CREATE TABLE … AS and views.
        inner: the statements of a script that run one by one, including those that are not understood, and the statement in the
            literal of EXECUTE IMMEDIATE; none if the script cannot be divided into statements.
        understood: False where the operation or the tables cannot be determined; then there are neither tables nor parts.
        why: why it is not understood.
        unread: of a statement of Spark that is understood: what no attribute holds, and what the engine may refuse or read in
            another way; each a noun, such as `the clause OPTIONS`.
        subject: what it names, also where it is not understood; only on Snowflake.
    """

    operation: str
    targets: tuple[Name, ...] = ()
    sources: tuple[Name, ...] | None = ()
    parts: tuple[Part, ...] = ()
    options: Options = field(default_factory=Options)
    session: SessionEffect = SessionEffect.NONE
    selected: Name | None = None
    moves: frozenset[str] = frozenset()
    namespace: Name | None = None
    query: Query | None = None
    inner: tuple[InnerStatement, ...] = ()
    understood: bool = True
    why: str = ""
    unread: tuple[str, ...] = ()
    subject: Subject | None = None

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables and views that it changes, as written, without quotes. Empty means none only if it is understood."""
        return tuple(map(str, self.targets))

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The tables and views that it only reads, as written, without quotes; None where they are not determined."""
        return None if self.sources is None else tuple(map(str, self.sources))

    @property
    def swaps(self) -> bool:
        """Whether it exchanges the names of two tables, so that one that is new has the rows of the other."""
        return self.subject is not None and self.subject.verb == "ALTER" and self.subject.has("SWAP", "WITH")


@dataclass(frozen=True, slots=True)
class InnerStatement:
    """A statement of a script, or the literal that EXECUTE IMMEDIATE runs.

    Attributes:
        place: the place of its first word in the text of the whole statement.
        is_conditional: whether it runs only if a condition holds: inside IF, CASE, a loop or a handler, or after a statement that
            may leave the script.
        is_repeated: whether it is inside a loop.
    """

    text: str
    parsed: ParsedStatement
    place: Place
    is_conditional: bool = False
    is_repeated: bool = False


def not_understood(why: str, inner: tuple[InnerStatement, ...] = ()) -> ParsedStatement:
    """Return the result for a statement whose operation or tables cannot be determined."""
    return ParsedStatement(
        "other", sources=None, session=SessionEffect.UNKNOWN, moves=EVERY_MOVE, inner=inner, understood=False, why=why
    )
