"""What a statement does, as frozen values: its operation, its tables, and the clauses that rules look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from glacierbase.model.names import recorded_name
from glacierbase.sql.parts import Part

# The words of `ParsedStatement.operation`, and of `Part.operation`.
OPERATIONS = frozenset(
    {
        "create_namespace", "alter_namespace", "drop_namespace", "create_table", "create_table_as",
        "replace_table", "create_view", "replace_view", "alter_view", "drop_table", "drop_view", "rename_table",
        "rename_view", "add_column", "drop_column", "rename_column", "alter_column_type",
        "alter_column_nullability", "alter_column_comment", "alter_column_position", "alter_column_default",
        "replace_columns", "set_properties", "unset_properties", "set_location", "comment_on",
        "add_partition_field", "drop_partition_field", "replace_partition_field", "set_write_order",
        "set_distribution", "set_identifier_fields", "drop_identifier_fields", "create_branch", "drop_branch",
        "create_tag", "drop_tag", "add_constraint", "drop_constraint", "cluster_by", "add_partition",
        "drop_partition", "insert", "insert_overwrite", "insert_multi", "update", "delete", "merge", "truncate",
        "copy", "call", "optimize", "vacuum", "restore", "analyze", "refresh", "cache", "uncache", "describe",
        "show", "select", "explain", "create_function", "drop_function", "create_procedure", "create_task",
        "create_stream", "create_stage", "create_pipe", "create_role", "grant", "revoke", "use", "set", "reset",
        "add_resource", "script", "transaction", "other", "several",
    }
)  # fmt: skip


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
        """Return the name without its last part: of a column, its table."""
        return Name(self.parts[:-1], self.key[:-1], self.written[:-1])

    def __str__(self) -> str:
        """Return the name as written, without quotes."""
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Options:
    """The words of a statement that stand outside of its clauses; False or None where they are absent.

    Attributes:
        kind: of the object, in lower case: `table`, `view`, `materialized view`, `dynamic table`, `namespace`, …; of USE
            `catalog`, `namespace`, `role`, `warehouse` or `secondary`, and empty where the name may be that of a catalog or
            of a namespace.
        using: the table format after USING, in lower case.
        location: the text of LOCATION, or of SET LOCATION.
        where: whether UPDATE, DELETE or OPTIMIZE has a WHERE; False means all rows.
        or_alter: CREATE OR ALTER of Snowflake, CREATE OR REFRESH of Databricks.
        by_name: INSERT … BY NAME.
        columns: the columns that an INSERT lists.
        partition: the text of PARTITION (…) of the statement.
        retain: the text after RETAIN of VACUUM, such as `168 HOURS`.
        dry_run: VACUUM … DRY RUN.
        copy_grants: COPY GRANTS of Snowflake.
        evolves: whether INSERT or MERGE may add columns to its table: WITH SCHEMA EVOLUTION, or options of the writer.
    """

    kind: str = ""
    if_exists: bool = False
    if_not_exists: bool = False
    or_replace: bool = False
    or_alter: bool = False
    temporary: bool = False
    external: bool = False
    purge: bool = False
    cascade: bool = False
    using: str | None = None
    location: str | None = None
    comment: str | None = None
    where: bool = False
    by_name: bool = False
    columns: tuple[str, ...] = ()
    partition: str | None = None
    retain: str | None = None
    dry_run: bool = False
    copy_grants: bool = False
    evolves: bool = False


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """What one statement does.

    Attributes:
        operation: one of `OPERATIONS`; `other` for a statement that has no word of its own, or is not understood.
        targets: the tables and views that it changes; of a rename, both names.
        sources: those that it only reads; None where they are not determined.
        namespace: the namespace that it creates, changes or drops; None for other statements, and where the name is computed.
        parts: its clauses, in the order of the text. ADD COLUMNS (a, b) has two; where their operations differ, the
            operation of the statement is `several`.
        options: its words outside of the clauses, such as IF EXISTS.
        session: what it changes for the statements after it.
        selected: the name that USE or SET CATALOG selects, of the kind `options.kind`; None where it is computed.
        moves: which of the current `catalog` and `namespace` are, or may be, others after it.
        inner: the statements of a script that run one by one, those that are not understood as well; none where the script cannot
            be divided into statements.
        understood: False where the operation or the tables cannot be determined; then there are neither tables nor parts.
        why: why it is not understood.
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
    inner: tuple[InnerStatement, ...] = ()
    understood: bool = True
    why: str = ""

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables and views that it changes, as written, without quotes. Empty means none only if it is understood."""
        return tuple(map(str, self.targets))

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The tables and views that it only reads, as written, without quotes; None where they are not determined."""
        return None if self.sources is None else tuple(map(str, self.sources))


@dataclass(frozen=True, slots=True)
class InnerStatement:
    """A statement of a script."""

    text: str
    parsed: ParsedStatement


def not_understood(why: str, inner: tuple[InnerStatement, ...] = ()) -> ParsedStatement:
    """Return the answer for a statement whose operation or tables cannot be determined."""
    return ParsedStatement(
        "other", sources=None, session=SessionEffect.UNKNOWN, moves=EVERY_MOVE, inner=inner, understood=False, why=why
    )
