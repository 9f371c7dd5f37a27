"""What a statement costs, how it is undone, and whom it breaks: from its text and from what earlier statements declare.

Where the answer depends on facts that files do not state, such as the settings of an account, the note says on which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from glacierbase.capabilities.review.rule import File, Step
from glacierbase.capabilities.review.rules.snowflake import LOST_STATE
from glacierbase.declared.known import KnownTable
from glacierbase.declared.render import literal
from glacierbase.formats import UPGRADES
from glacierbase.sql.dialects import SNOWFLAKE
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import Call, ParsedStatement, Property, Reference


class Cost(str, Enum):
    """What a change costs, from the cheapest on.

    `expensive` rewrites or reads the files of a table, `destructive` loses rows, values or snapshots, and `destroys state` loses
    what no copy holds, such as the offset of a stream.
    """

    METADATA = "metadata only"
    EXPENSIVE = "expensive"
    DESTRUCTIVE = "destructive"
    STATE = "destroys state"

    __str__ = str.__str__


class Affected(str, Enum):
    """Who fails, or reads something else, after a change."""

    READERS = "readers"
    WRITERS = "writers"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Undo:
    """How a change is undone.

    Attributes:
        sql: the statements; None if it cannot be undone.
        note: until when they work and what they do not bring back, or why it cannot be undone; empty if there is nothing to note.
    """

    sql: str | None
    note: str = ""

    def text(self) -> str:
        """Return it as a line of text."""
        return f"{self.sql or 'cannot be undone'}{(', ' if self.sql else ': ') if self.note else ''}{self.note}"


@dataclass(frozen=True, slots=True)
class StatementEffect:
    """What a statement costs.

    Attributes:
        undo: None where it is not known, and where nothing is to be undone.
    """

    cost: Cost = Cost.METADATA
    undo: Undo | None = None
    breaks: tuple[Affected, ...] = ()


@dataclass(frozen=True, slots=True)
class _Changed:
    """A statement and its file."""

    step: Step
    file: File

    @property
    def sql(self) -> str:
        return self.step.statement.text

    @property
    def parsed(self) -> ParsedStatement:
        return self.step.parsed

    @property
    def known(self) -> KnownTable | None:
        """What is declared of the table before the statement."""
        table = self.file.tables.before(self.step)
        return None if table is None or table.is_dropped else table

    @property
    def table(self) -> str:
        return ".".join(self.step.target.written) if self.step.target else ""

    @property
    def format(self) -> str:
        return self.file.format_of(self.step)

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.parsed.operation, *(part.operation for part in self.parsed.parts))))

    def property(self, key: str) -> str | None:
        """Return the declared value of a property of the table before the statement."""
        return ((self.known and self.known.properties) or {}).get(key)

    def call(self, procedure: str, *arguments: str) -> str:
        """Return the call of one of Iceberg's procedures on the table."""
        target = self.parsed.targets[0]
        called = [part.procedure[0] for part in self.parsed.parts if isinstance(part, Call) and len(part.procedure) > 2]
        catalog = target.written[0] if target.parts[0] in self.file.facts.formats else ""
        name = ".".join(target.written[1:] if catalog else target.written)
        procedure = ".".join(filter(None, (catalog or "".join(called), "system", procedure)))
        return f"CALL {procedure}({', '.join((literal(name), *arguments))})"


_LOSES_FILES = frozenset({"expire_snapshots", "remove_orphan_files"})
_MOVES_TABLE = frozenset({"rollback_to_snapshot", "rollback_to_timestamp", "set_current_snapshot", "fast_forward"})
_COSTS: Mapping[str, Cost] = {
    **dict.fromkeys(
        ("insert", "insert_multi", "update", "merge", "copy", "create_table_as", "optimize"), Cost.EXPENSIVE
    ),
    **dict.fromkeys(("delete", "truncate", "insert_overwrite", "drop_partition", "restore"), Cost.DESTRUCTIVE),
    **dict.fromkeys(
        ("drop_table", "replace_table", "drop_column", "replace_columns", "drop_namespace", "set_location", "drop_branch",
         "drop_tag", "vacuum"),
        Cost.DESTRUCTIVE,
    ),
}  # fmt: skip
_BOTH = (Affected.READERS, Affected.WRITERS)
_BREAKS: Mapping[str, tuple[Affected, ...]] = {
    **dict.fromkeys(
        ("drop_table", "replace_table", "rename_table", "drop_namespace", "drop_column", "rename_column", "replace_columns",
         "set_location"),
        _BOTH,
    ),
    **dict.fromkeys(("drop_view", "rename_view", "replace_view", "alter_view", "alter_column_type"), (Affected.READERS,)),
    # INSERT without a list of columns fails on Spark; INSERT OVERWRITE replaces the partitions of the new spec.
    **dict.fromkeys(
        ("add_column", "alter_column_position", "add_constraint", "add_partition_field", "drop_partition_field",
         "replace_partition_field"),
        (Affected.WRITERS,),
    ),
}  # fmt: skip
_COPIED_RESULTS = frozenset({"materialized view", "dynamic table"})


def effects_of(file: File) -> Mapping[int, StatementEffect]:
    """Return what each statement of a file costs, by its index."""
    effects: dict[int, list[StatementEffect]] = {}
    for step in file.steps:
        effects.setdefault(step.statement.index, []).append(_effect(_Changed(step, file)))
    return {index: combined(of_statement) for index, of_statement in effects.items()}


def _effect(changed: _Changed) -> StatementEffect:
    if lost := _lost_state(changed):
        return StatementEffect(Cost.STATE, Undo(None, lost))
    return StatementEffect(_cost(changed), _undo(changed), _breaks(changed))


def combined(effects: Iterable[StatementEffect]) -> StatementEffect:
    """Return the effect of several statements: the highest cost; the last undo, because the last statement is undone first."""
    effects = list(effects)
    undos = [effect.undo for effect in effects if effect.undo]
    return StatementEffect(
        max((effect.cost for effect in effects), key=list(Cost).index, default=Cost.METADATA),
        undos[-1] if undos else None,
        tuple(broken for broken in Affected if any(broken in effect.breaks for effect in effects)),
    )


def _lost_state(changed: _Changed) -> str | None:
    """Return what is lost with an object of Snowflake whose state is in no table."""
    subject = changed.parsed.subject
    if subject is None or subject.kind == "FILE FORMAT":  # It has no state; what uses it fails.
        return None
    return LOST_STATE.get(subject.kind) if subject.verb == "DROP" or subject.replaces else None


def _procedures(changed: _Changed) -> set[str]:
    return {part.procedure[-1].lower() for part in changed.parsed.parts if isinstance(part, Call) and part.procedure}


def _cost(changed: _Changed) -> Cost:
    costs = [_COSTS.get(operation, Cost.METADATA) for operation in changed.operations]
    procedures = _procedures(changed)
    if procedures & (_LOSES_FILES | _MOVES_TABLE):
        costs.append(Cost.DESTRUCTIVE)
    elif any(name.startswith("rewrite_") for name in procedures):
        costs.append(Cost.EXPENSIVE)
    if changed.parsed.options.kind in _COPIED_RESULTS:
        return Cost.EXPENSIVE  # It is computed again from its tables.
    if changed.file.facts.engine == SNOWFLAKE.name and "cluster_by" in changed.operations:
        costs.append(Cost.EXPENSIVE)
    return max(costs, key=list(Cost).index)


def _breaks(changed: _Changed) -> tuple[Affected, ...]:
    broken = [name for operation in changed.operations for name in _BREAKS.get(operation, ())]
    if changed.parsed.operation not in CREATES_TABLE and any(
        getattr(part, "nullable", None) is False for part in changed.parsed.parts
    ):
        broken.append(Affected.WRITERS)
    return _BOTH if changed.parsed.swaps else tuple(name for name in Affected if name in broken)


def _undo(changed: _Changed) -> Undo | None:
    operation = changed.parsed.operation
    if not changed.parsed.understood:
        return None
    if changed.parsed.targets and operation in _UNDO:
        return _UNDO[operation](changed)
    if operation == "drop_namespace" and changed.file.facts.engine == SNOWFLAKE.name:
        dropped = " ".join(changed.sql.split()[1:2]).upper()
        return Undo(f"UNDROP {dropped} {_name_of_namespace(changed)}", _TIME_TRAVEL)
    keys = [part.key for part in changed.parsed.parts if isinstance(part, Property)]
    if upgrade := next((key for key in keys if key.lower().startswith(UPGRADES)), None):
        return Undo(None, f"no format lowers {upgrade}")
    from glacierbase.declared.writer import undoing  # Only the worker applies changes.

    known = changed.known
    if undone := undoing(changed.parsed, known, changed.format):
        is_clear = not keys or (known and known.properties is not None)
        return Undo("; ".join(undone), "" if is_clear else "no file before declares the former value")
    return None


_TIME_TRAVEL = "until DATA_RETENTION_TIME_IN_DAYS passes, by default 1 day"


def _name_of_namespace(changed: _Changed) -> str:
    return ".".join(changed.parsed.namespace.written) if changed.parsed.namespace else "…"


def _kept(changed: _Changed) -> tuple[bool, str]:
    """Return whether the table's format keeps earlier data, and until when or why not."""
    if changed.format == "iceberg":
        age = changed.property("history.expire.max-snapshot-age-ms")
        after = (
            f"after {_days(int(age))}, as the table declares" if age and age.isdigit() else "by default after 5 days"
        )
        return True, f"until expire_snapshots removes the snapshot, {after}"
    if changed.format == "delta":
        kept = changed.property("delta.deletedFileRetentionDuration")
        after = f"after {kept}, as the table declares" if kept else "by default after 7 days"
        return True, f"until VACUUM deletes the files, {after}"
    days = changed.property("DATA_RETENTION_TIME_IN_DAYS")
    if days == "0":
        return False, "DATA_RETENTION_TIME_IN_DAYS is 0, so that Time Travel keeps nothing"
    return True, f"for {days} days, as the table declares" if days else _TIME_TRAVEL


def _days(milliseconds: int) -> str:
    for unit, size in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)):
        if milliseconds >= size and milliseconds % size == 0:
            count = milliseconds // size
            return f"{count} {unit}{'s' * (count != 1)}"
    return f"{milliseconds} ms"


def _while_kept(changed: _Changed, statements: Mapping[str, str], without: str = "") -> Undo | None:
    """Return the statement of the table's format, while the format keeps what it reads; None for another format."""
    if changed.format not in statements:
        return None
    is_kept, note = _kept(changed)
    return Undo(statements[changed.format], "; ".join(filter(None, (note, without)))) if is_kept else Undo(None, note)


def _rows(changed: _Changed) -> Undo | None:
    """Return how rows come back: of Iceberg by the snapshot before, of Delta by the version before."""
    return _while_kept(
        changed,
        {
            "iceberg": changed.call("rollback_to_snapshot", "<snapshot before>"),
            "delta": f"RESTORE TABLE {changed.table} TO VERSION AS OF <version before>",
            "snowflake": f"INSERT OVERWRITE INTO {changed.table} SELECT * FROM {changed.table} BEFORE (STATEMENT => '<query id>')",
        },
    )


def _columns(changed: _Changed) -> Undo | None:
    table = changed.table
    if changed.format == "delta":
        return _rows(changed)
    return _while_kept(
        changed,
        {
            "iceberg": f"SELECT * FROM {table} VERSION AS OF <snapshot before>",
            "snowflake": f"SELECT * FROM {table} BEFORE (STATEMENT => '<query id>')",
        },
        "it reads the values: ADD COLUMN adds an empty column",
    )


def _dropped_table(changed: _Changed) -> Undo | None:
    if changed.parsed.options.kind not in ("table", "", "iceberg table"):
        return None
    if changed.parsed.options.purge:
        return Undo(None, "PURGE deletes the files")
    if changed.format == SNOWFLAKE.name:
        return _while_kept(changed, {"snowflake": f"UNDROP TABLE {changed.table}"})
    if changed.format == "iceberg":
        if changed.file.facts.kinds.get(changed.file.catalog_of(changed.step)) == "hadoop":
            return Undo(None, "the Hadoop catalog deletes the files")
        call = changed.call("register_table", "'<last metadata file>'")
        return Undo(call, "while the files exist: note the metadata file first; some REST catalogs delete them")
    return Undo(None, "the files of a managed table are deleted") if changed.format == "delta" else None


def _replaced_table(changed: _Changed) -> Undo | None:
    table = changed.table
    if changed.parsed.options.kind not in ("table", ""):
        return None
    kept = "columns and properties stay those of the new table"
    if changed.format == "iceberg":
        return _while_kept(changed, {"iceberg": changed.call("set_current_snapshot", "<snapshot before>")}, kept)
    if changed.format == SNOWFLAKE.name:
        return _while_kept(changed, {"snowflake": f"ALTER TABLE {table} RENAME TO <new name>; UNDROP TABLE {table}"})
    return _rows(changed)


def _made(changed: _Changed) -> Undo | None:
    options = changed.parsed.options
    if options.if_not_exists or options.or_alter or options.temporary:
        return None
    return Undo(f"DROP {(options.kind or 'table').upper()} {changed.table}")


def _view(changed: _Changed) -> Undo | None:
    return Undo(f"CREATE OR REPLACE VIEW {changed.table} AS <its former query>")


def _called(changed: _Changed) -> Undo | None:
    procedures = _procedures(changed)
    if procedures & _LOSES_FILES:
        return Undo(None, "the files are deleted")
    if changed.format == "iceberg" and procedures & (_MOVES_TABLE | {"rewrite_data_files", "rewrite_manifests"}):
        return _while_kept(changed, {"iceberg": changed.call("set_current_snapshot", "<snapshot before>")})
    return None


def _reference(changed: _Changed) -> Undo | None:
    part = next((part for part in changed.parsed.parts if isinstance(part, Reference)), None)
    if part is None or part.if_not_exists or (part.or_replace and part.operation.startswith("create")):
        return None
    verb, kind = part.operation.split("_")
    if verb == "create":
        return Undo(f"ALTER TABLE {changed.table} DROP {kind.upper()} `{part.name}`")
    create = f"ALTER TABLE {changed.table} CREATE {kind.upper()} `{part.name}` AS OF VERSION <its snapshot>"
    return _while_kept(changed, {"iceberg": create}, "note its snapshot first")


def _nullability(changed: _Changed) -> Undo | None:
    if changed.format != "iceberg":
        return None
    return Undo(None, "Iceberg refuses SET NOT NULL on an existing column")


def _location(changed: _Changed) -> Undo | None:
    return Undo(f"ALTER TABLE {changed.table} SET LOCATION '<its former location>'")


def _other(changed: _Changed) -> Undo | None:
    """Return the undo of a statement that has no operation: SWAP WITH of Snowflake is its own inverse."""
    return Undo(" ".join(changed.sql.split())) if changed.parsed.swaps else None


def _type(changed: _Changed) -> Undo | None:
    return Undo(None, "the engine refuses a narrower type") if changed.format in ("iceberg", "delta") else None


_UNDO: Mapping[str, Callable[[_Changed], Undo | None]] = {
    **dict.fromkeys(
        ("insert", "insert_overwrite", "update", "delete", "merge", "truncate", "copy", "restore", "drop_partition"), _rows
    ),
    "drop_column": _columns, "replace_columns": _columns, "drop_table": _dropped_table, "replace_table": _replaced_table,
    **dict.fromkeys(("create_table", "create_table_as", "create_view"), _made), "replace_view": _view, "drop_view": _view,
    **dict.fromkeys(("create_branch", "create_tag", "drop_branch", "drop_tag"), _reference),
    "call": _called, "vacuum": lambda _: Undo(None, "the files are deleted"),
    "set_location": _location, "other": _other, "alter_column_nullability": _nullability, "alter_column_type": _type,
}  # fmt: skip
