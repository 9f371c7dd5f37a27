"""The tables that statements declare: the statements of a catalog's files are applied in their order."""

from __future__ import annotations

import re
from dataclasses import replace

from glacierbase.declared.applied import apply
from glacierbase.declared.clauses import clause_changes, is_of_files
from glacierbase.declared.known import NOTHING, REPLACED, VIEW, KnownTable, view_columns
from glacierbase.formats.iceberg import DISTRIBUTION
from glacierbase.model import partial_shape as parts
from glacierbase.model.changes import OrderSet, TableReplaced, parts_of
from glacierbase.model.names import name_of
from glacierbase.model.partial_shape import PartialShape, Path, Refused
from glacierbase.model.shape import Column
from glacierbase.sql.dialects import SNOWFLAKE
from glacierbase.sql.operations import (
    CREATES_TABLE,
    FUNCTIONS,
    NAMESPACES,
    PARTITIONS,
    QUERIES,
    RIGHTS,
    ROWS,
    UPKEEP,
    VIEWS,
)
from glacierbase.sql.statement import (
    Fields,
    MergeClause,
    Name,
    ParsedStatement,
    Subject,
)

_WORD = re.compile(r"\w+")


def created(statement: ParsedStatement, before: KnownTable | None, table_format: str = "") -> tuple[KnownTable, bool]:
    """Return a table after the statement that creates or replaces it, and whether the engine accepts the statement.

    Args:
        before: the table that is replaced; its properties are kept, and its files may be.
        table_format: that of the table; empty where it is not known, and nothing is refused that another one accepts.
    """
    options = statement.options
    location = options.location or (before.location if before and not statement.subject else None)
    is_read = options.kind == "dynamic table" or options.shallow
    table = KnownTable(
        options.using, NOTHING, (), (statement.sources or ()) if is_read else (),
        statement.query if options.kind == "dynamic table" else None, location, statement.subject,
    )  # fmt: skip
    [change] = clause_changes(statement)
    replaced = (before.model if before else NOTHING) if isinstance(change, TableReplaced) else None
    made = apply(replaced, change, table_format or _format(table))
    is_accepted = isinstance(made, PartialShape)
    for present in (replaced, None):  # What is declared does not depend on what is refused.
        made = made if isinstance(made, PartialShape) else apply(present, change, _format(table))
    return _clustered(replace(table, model=made) if isinstance(made, PartialShape) else table, statement), is_accepted


def altered(table: KnownTable, statement: ParsedStatement, table_format: str = "") -> tuple[KnownTable, bool]:
    """Return a table after an ALTER TABLE, a COMMENT ON or a CALL, and whether the engine accepts the statement.

    Args:
        table_format: as of `created`.
    """
    if _may_change_all(table, statement):
        return KnownTable(), False
    present, is_whole = table.model, statement.operation in ("comment_on", "set_location")
    is_accepted = True
    for change in clause_changes(statement) if statement.parts or is_whole else ():
        made = apply(present, change, table_format or _format(table))
        if isinstance(made, Refused):
            is_accepted = False  # What is declared does not depend on it.
            made = apply(present, change, _format(table))
        if isinstance(made, PartialShape):
            present = made
        elif isinstance(made, Refused) and made.kind in ("absent", "no field"):
            present = present.without(*parts_of(change))  # The columns were declared in another way.
        if isinstance(change, OrderSet):  # The effect of LOCALLY on the distribution depends on the version.
            present = present.without(f"property {DISTRIBUTION}")
    if statement.operation == "set_location":
        table = replace(table, location=statement.options.location)
    return _clustered(replace(table, model=present), statement), is_accepted


def _format(table: KnownTable) -> str:
    return SNOWFLAKE.name if table.subject else ""


def _may_change_all(table: KnownTable, statement: ParsedStatement) -> bool:
    """Return whether a statement has a clause of rows, which may add columns, or none that is known."""
    if any(isinstance(part, MergeClause) for part in statement.parts):
        return True
    verb = statement.subject.verb if statement.subject else ""
    evolves = (table.properties or {}).get("ENABLE_SCHEMA_EVOLUTION") == "TRUE"
    is_kept = (verb in ("MERGE", "COPY") and not evolves) or (verb == "ALTER" and len(statement.targets) == 1)
    return not (statement.parts or is_kept or statement.operation in ("comment_on", "set_location"))


def _clustered(table: KnownTable, statement: ParsedStatement) -> KnownTable:
    for part in statement.parts:
        if isinstance(part, Fields) and part.operation == "cluster_by":
            table = replace(table, clustering=tuple(_WORD.findall(" ".join(part.fields).upper())))
    return table


_Key = tuple[str, ...]
# Operations that change nothing that is known of a table.
_HARMLESS = (
    ((ROWS | PARTITIONS | NAMESPACES) - {"merge", "copy", "drop_namespace"})
    | QUERIES | UPKEEP | RIGHTS | FUNCTIONS | {"reset", "transaction"}
)  # fmt: skip
# Kinds of objects of Snowflake that are tables, or contain them.
_WITH_TABLES = ("TABLE", "SCHEMA", "DATABASE", "ACCOUNT", "VIEW", "")
# Catalog, namespace, table: USE does not change what such a name means.
_WHOLE_NAME = 3


class KnownTables:
    """What is known of tables after the statements followed so far.

    Attributes:
        is_complete: whether these are all statements since the catalog's first.
    """

    def __init__(self, *, is_complete: bool = True) -> None:
        self.is_complete = is_complete
        # By the last part of the name, which is the same in all names of one table.
        self._tables: dict[str, dict[_Key, KnownTable]] = {}
        self._objects: tuple[Subject, ...] = ()
        self._is_switched = False
        # The short names since the last USE: what they mean is known up to the next one.
        self._of_session: set[_Key] = set()

    def start_file(self) -> None:
        """Begin a file: the effect of USE in the file before has ended."""
        self._forget_session()
        self._is_switched = False

    def before(self, name: Name) -> KnownTable | None:
        """Return what is known of a table; None if nothing is, or a statement dropped it."""
        table = self.or_dropped(name)
        return None if table and table.is_dropped else table

    def or_dropped(self, name: Name) -> KnownTable | None:
        """Return what is known of a table, also that a statement dropped it."""
        return self._get(name.key)

    def inside(self, namespace: Name) -> tuple[str, ...]:
        """Return the last names of the tables and views that are known in a namespace."""
        known = (item for tables in self._tables.values() for item in tables.items())
        return tuple(sorted(key[-1] for key, table in known if key[:-1] == namespace.key and not table.is_dropped))

    @property
    def objects(self) -> tuple[Subject, ...]:
        """What the statements that created the present objects name, and the GRANTs on future ones; only on Snowflake."""
        return self._objects

    def readers(self, name: Name) -> tuple[tuple[Path, KnownTable], ...]:
        """Return the declared views, dynamic tables and shallow clones that read a table."""
        known = ((key, table) for tables in self._tables.values() for key, table in tables.items())
        return tuple((key, table) for key, table in known if any(_reads(key, source, name) for source in table.sources))

    def follow(self, statement: ParsedStatement, table_format: str = "", *, is_conditional: bool = False) -> bool:
        """Add what a statement declares; nothing is known of the tables of one that may not run.

        Args:
            table_format: of the first table that it changes, as of `created`.

        Returns:
            Whether all of the statement was applied to that table, and the engine accepts it.
        """
        operation, names = statement.operation, statement.targets
        self._follow_object(statement.subject)
        if operation in ("use", "set"):
            if statement.moves:
                self._forget_session()
                self._is_switched = True
        elif forgets_all(statement):
            self._tables.clear()
        elif _is_harmless(statement):
            return False
        elif is_conditional:
            for name in names:
                self._put(name.key, None)
        elif operation in CREATES_TABLE:
            return self._create(names[0].key, statement, table_format)
        elif operation in VIEWS - {"rename_view"}:
            self._define(names[0].key, statement)
        elif operation in ("rename_table", "rename_view"):
            self._rename(names[0].key, names[-1].key)
        else:
            accepted = [self._change(name.key, statement, table_format) for name in names]
            return all(accepted)
        return False

    def _follow_object(self, subject: Subject | None) -> None:
        if subject is None or not (subject.verb in ("CREATE", "DROP") or subject.grants_future):
            return
        others = tuple(made for made in self._objects if not made.is_same_object(subject))
        if not (subject.if_not_exists and len(others) < len(self._objects)):
            self._objects = others if subject.verb == "DROP" else (*others, subject)

    def _create(self, key: _Key, statement: ParsedStatement, table_format: str) -> bool:
        before = self._get(key)
        before = None if before and before.is_dropped else before
        if statement.options.if_not_exists and (before or self._may_exist(key)):
            return False
        table, is_accepted = created(statement, before, table_format)
        if not before and self._may_exist(key) and statement.operation == "replace_table":
            # The replaced table, which is not known, may have had properties.
            table = replace(table, model=table.model.without(REPLACED))
        self._put(key, table)
        return is_accepted

    def _define(self, key: _Key, statement: ParsedStatement) -> None:
        """Add a view, with its columns where the statement lists them."""
        options, is_altered = statement.options, statement.operation == "alter_view" and statement.query is None
        if options.temporary or is_altered or (options.if_not_exists and (self._get(key) or self._may_exist(key))):
            return
        columns = view_columns(statement)
        named = SNOWFLAKE.name if statement.subject else ""
        shape = replace(
            NOTHING.shape, format=named, columns=tuple(Column(None, name_of((name,)), "") for name in columns or ())
        )
        unknown = {
            parts.PARTITIONING,
            parts.SORTING,
            parts.IDENTIFIERS,
            REPLACED,
            *([] if columns else [parts.COLUMNS]),
        }
        known = PartialShape(shape, frozenset(unknown))
        self._put(key, KnownTable(VIEW, known, sources=statement.sources or (), query=statement.query))

    def _rename(self, old: _Key, new: _Key) -> None:
        table = self._get(old)
        self._put(old, None)
        missing = len(old) - len(new)
        self._put((*old[:missing], *new) if missing > 0 else new, table)

    def _change(self, key: _Key, statement: ParsedStatement, table_format: str) -> bool:
        table, is_accepted = self._get(key), False
        if statement.operation == "drop_table":
            self._put(key, KnownTable(is_dropped=True))
        elif table is None or table.is_dropped:
            self._put(key, None)
        else:
            table, is_accepted = altered(table, statement, table_format)
            self._put(key, table)
        return is_accepted

    def _get(self, key: _Key) -> KnownTable | None:
        is_clear = self._is_lasting(key) or key in self._of_session
        return self._tables.get(key[-1], {}).get(key) if is_clear else None

    def _put(self, key: _Key, table: KnownTable | None) -> None:
        """Replace what is known of a table, and forget every other table that the name may mean."""
        others = self._tables.setdefault(key[-1], {})
        for other in [other for other in others if _may_be_same(other, key)]:
            del others[other]
        if table is not None and not table.is_empty:
            others[key] = table
            if not self._is_lasting(key):
                self._of_session.add(key)

    def _may_exist(self, key: _Key) -> bool:
        """Return whether there may be a table of this name of which nothing is known."""
        return not self.is_complete or not self._is_lasting(key)

    def _is_lasting(self, key: _Key) -> bool:
        """Return whether a name means the same table wherever it is written."""
        return len(key) >= _WHOLE_NAME or not self._is_switched

    def _forget_session(self) -> None:
        for key in self._of_session:
            self._tables.get(key[-1], {}).pop(key, None)
        self._of_session.clear()


def forgets_all(statement: ParsedStatement) -> bool:
    """Return whether a statement may have changed any table."""
    if statement.operation in ("use", "set"):
        return False
    changes = not statement.understood or not (statement.targets or _is_harmless(statement))
    return changes or _empties_namespace(statement)


def _is_harmless(statement: ParsedStatement) -> bool:
    """Return whether a statement changes nothing that is known of a table."""
    is_comment = statement.operation == "comment_on" and not statement.targets
    is_harmless = statement.operation in _HARMLESS or is_comment or _is_apart(statement)
    return is_harmless or is_of_files(statement)


def _is_apart(statement: ParsedStatement) -> bool:
    """Return whether a statement of Snowflake is about an object that is no table and contains none."""
    kind = statement.subject.kind if statement.subject else ""
    return kind.split(" ")[-1] not in _WITH_TABLES


def _empties_namespace(statement: ParsedStatement) -> bool:
    subject = statement.subject
    return bool(subject and subject.replaces and subject.kind in ("SCHEMA", "DATABASE"))


def _reads(view: _Key, source: Name, name: Name) -> bool:
    """Return whether the source of a view is a table; a name of one part is in the namespace of the view."""
    whole = source.key if len(source.key) > 1 else (*view[:-1], *source.key)
    return len(whole) > 1 and len(name.key) > 1 and _may_be_same(whole, name.key)


def _may_be_same(key: _Key, other: _Key) -> bool:
    """Return whether two names may mean one table: the first parts of either may be left out."""
    shorter = min(len(key), len(other))
    return key[len(key) - shorter :] == other[len(other) - shorter :]
