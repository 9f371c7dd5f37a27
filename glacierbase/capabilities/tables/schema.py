"""`schema`: the shape of a table by its records, now or at an earlier point, and the differences between two points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from glacierbase.capabilities.tables.blame import current_name, dropped_by, next_after, state_lines
from glacierbase.declared.render import not_creatable, places
from glacierbase.declared.writer import create_statements, explained
from glacierbase.errors import ConfigurationError
from glacierbase.history.state import current_state
from glacierbase.history.target import CatalogRun
from glacierbase.model.arguments import check_not_empty
from glacierbase.model.differences import OF_ENGINE, Difference, compare, partition_text, sort_text
from glacierbase.model.result import Result
from glacierbase.model.shape import Shape
from glacierbase.model.text import Cell, Line, Mark, Verbatim, table
from glacierbase.record.lineage import LastChange
from glacierbase.record.points import Point, point_given, reached
from glacierbase.record.table_search import ChosenTable, TableAtPoint, TableSearch
from glacierbase.secrets import MASK, mask


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a caller requests about a table.

    Attributes:
        at: the point; None for now.
        diff: the two points to compare; None for no comparison.
        sql: whether statements that create the table are wanted.
    """

    at: Point | None = None
    diff: tuple[Point, Point] | None = None
    sql: bool = False

    @classmethod
    def given(cls, at: str | None, diff: str | None, sql: bool) -> Wanted:
        """Return the request of a caller.

        Raises:
            ConfigurationError: a point cannot be read, or the arguments exclude each other.
        """
        check_not_empty("at", at)
        if diff is not None and (at is not None or sql):
            other = "--at" if at is not None else "--format sql"
            raise ConfigurationError("CONFLICTING_OPTIONS", f"--diff and {other} exclude each other", "use one of them")
        if diff is None:
            return cls(None if at is None else point_given(at), None, sql)
        begin, dots, end = diff.partition("..")
        if not (begin and dots and end):
            raise ConfigurationError("INVALID_TIME", f"{diff} is not A..B", "write two versions or times: 0003..0007")
        return cls(None, (point_given(begin), point_given(end)))


@dataclass(frozen=True, slots=True)
class SchemaResult(Result):
    """The shape of a table, or the differences between two.

    Attributes:
        table: its name then; None where the history has no such table.
        shape: None where it was dropped, or not recorded yet; with `differences`, the later one.
        since: the origin of the change that gave it this shape, or dropped it; None where that is not recorded.
        not_recorded: the versions that changed it after the last record, and recorded nothing.
        next: how to record what those changed; empty where there are none.
        later: the next change, if no migration made it, as it may be older than its record.
        differences: between two points; None where none were requested.
        sql: the statements that create it; None where they were not requested.
    """

    table: str | None = None
    shape: Shape | None = None
    since: LastChange | None = None
    not_recorded: tuple[str, ...] = ()
    later: LastChange | None = None
    differences: tuple[Difference, ...] | None = None
    sql: str | None = None
    next: str = ""

    def lines(self) -> Sequence[Line]:
        if self.table is None:
            return ["no such table"]
        if self.differences is not None:
            shown: list[Line] = [Verbatim(difference.line()) for difference in self.differences] or ["no differences"]
        else:
            shown = list(_described(self.shape)) if self.shape else []
        dropped = self.since if self.shape is None else None
        lines = [*_head(self), *shown, *state_lines(dropped, self.since is not None, self.not_recorded, self.next)]
        if self.later:
            lines.append(f"note: may have changed already: {self.later.line}")
        return lines

    def script(self) -> str | None:
        return self.sql


def _head(result: SchemaResult) -> Iterator[Line]:
    yield Mark(result.table or "")
    if result.shape and result.since:
        yield f"since {result.since.line}"


def _described(shape: Shape) -> Iterator[Line]:
    columns = shape.columns
    texts: dict[str, list[Cell]] = {
        "column": [Mark(column.name) for column in columns],
        "type": [column.described for column in columns],
        "default": [column.default for column in columns],
        "comment": [column.comment for column in columns],
    }
    shown = {name: cells for name, cells in texts.items() if any(cells)}
    yield from table(tuple(shown), zip(*shown.values(), strict=True))
    facts = [
        ("format", f"{shape.format} {shape.format_version or ''}".rstrip()),
        ("partitioned by", ", ".join(map(partition_text, shape.partitioning))),
        ("sorted by", ", ".join(map(sort_text, shape.sorting))),
        ("identified by", ", ".join(shape.identifiers)),
        *((f"property {key}", value) for key, value in sorted(shape.properties.items()) if key not in OF_ENGINE),
    ]
    yield from table((), [(Mark(name), value) for name, value in facts if value])


def schema(target: CatalogRun, result: SchemaResult, search: TableSearch, wanted: Wanted) -> SchemaResult:
    """Return the shape of a table at a point, or the differences between two.

    Raises:
        ConfigurationError: the name is ambiguous, a version never ran, or there are no statements that create the table.
    """
    state = current_state(target)
    result = replace(result, warnings=state.warnings)
    chosen = search.find(state.history)
    if chosen is None:
        return result
    if wanted.diff is not None:
        return _compared(result, chosen, *wanted.diff)
    then = chosen.at(wanted.at)
    result = _at(result, chosen, then)
    return replace(result, sql=_sql(result)) if wanted.sql else result


def _at(result: SchemaResult, chosen: ChosenTable, then: TableAtPoint) -> SchemaResult:
    last = then.moments[-1] if then.moments else None
    since = dropped_by(then) or (LastChange.of(last, is_first=len(then.moments) == 1) if last else None)
    later = LastChange.of(then.later, is_first=not then.moments) if then.later else None
    return replace(
        result,
        table=current_name(then, chosen.name),
        shape=last.shape if last else None,
        since=since,
        not_recorded=then.gaps,
        next=next_after(chosen.history, then.gaps),
        later=later if later and later.at_most else None,
    )


def _compared(result: SchemaResult, chosen: ChosenTable, begin: Point, end: Point) -> SchemaResult:
    before, after = (_at(result, chosen, chosen.at(point)) for point in (begin, end))
    ids = {result.shape and result.shape.uuid for result in (before, after)}
    is_other = len(ids) > 1 and None not in ids
    earlier, later = (
        {result.table or "": _without_ids(result.shape) if is_other else result.shape} if result.shape else {}
        for result in (before, after)
    )
    changes = compare(earlier, later)
    gaps = tuple(dict.fromkeys((*before.not_recorded, *after.not_recorded)))
    differences = tuple(difference for change in changes for difference in change.diff)
    if is_other and before.shape and (name := _name_at(chosen, before.shape, end)):
        differences = tuple(
            replace(difference, before=f"another table, {name} then", destructive=False)
            if difference.what == "table" and difference.destructive
            else difference
            for difference in differences
        )
    return replace(after, not_recorded=gaps, next=next_after(chosen.history, gaps), differences=differences)


def _without_ids(shape: Shape) -> Shape:
    """Return a shape whose columns have no ids: those of another table mean nothing."""
    return replace(shape, columns=tuple(replace(column, id=None) for column in shape.columns))


def _name_at(chosen: ChosenTable, shape: Shape, point: Point) -> str | None:
    """Return the name that the table of a shape has at a point; None where it was dropped."""
    is_reached = reached(point, chosen.history)
    for timeline in chosen.timelines:
        if any(moment.shape and moment.shape.uuid == shape.uuid for moment in timeline.moments):
            last = [moment for moment in timeline.moments if is_reached(moment.event)][-1].shape
            return last.table if last else None
    return None


def _sql(result: SchemaResult) -> str:
    """Return the statements that create the table.

    Raises:
        ConfigurationError: `NO_STATEMENTS`.
    """
    shape = result.shape
    if shape is None or result.not_recorded:
        why = ["its schema is not recorded, or it was dropped"]
    elif shape.format != "iceberg":
        why = [f"it is in the format {shape.format}; statements are written for Iceberg tables"]
    else:
        why = not_creatable(shape) or _masked(shape)
    if why or shape is None:
        more = [f"and {len(why) - 3} more"] if len(why) > 3 else []
        raise ConfigurationError(
            "NO_STATEMENTS", f"{result.table} cannot be written as Spark SQL: {'; '.join([*why[:3], *more])}",
            "leave out `--format sql`: the other formats show what is known", table=result.table, reasons=why,
        )  # fmt: skip
    left_out = [f"-- left out: the property {key}, which says where files are" for key in places(shape)]
    return "\n".join([*left_out, *(f"{explained(statement)};" for statement in create_statements(shape))])


def _masked(shape: Shape) -> list[str]:
    """Return why the statements cannot be complete: a secret in them is masked."""
    hidden = any(MASK in mask(statement) for statement in create_statements(shape))
    return [f"a text of it contains {MASK}, in place of a secret"] if hidden else []
