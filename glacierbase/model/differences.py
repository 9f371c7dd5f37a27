"""The differences between two shapes of a table. Columns are compared by field id, so that a rename is a rename."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.model.text import Line, Mark, counted
from glacierbase.model.transforms import IDENTITY, name_and_width

# Properties that Spark sets by itself: the user who creates the table.
OF_ENGINE = {"owner"}


class Change(str, Enum):
    """What happened to a table or a view. Only a view is replaced; the rows of a replaced table are a difference of it."""

    CREATED = "created"
    ALTERED = "altered"
    DROPPED = "dropped"
    RENAMED = "renamed"
    REPLACED = "replaced"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference of a table.

    Attributes:
        what: of what: `table`, `column`, `type`, `required`, `comment`, `default`, `order of columns`, `partitioning`, `sorting`,
            `identifiers`, `property`, `format` or `format version`; on a throw-away copy also `partition field`, `spec id`,
            `location`, `branch`, `tag` or `rows of the copy`.
        name: the name of the column or the property; empty where there is only one.
        before, after: as text; None where there was nothing, or is nothing.
        destructive: whether rows, or the values of a column, are lost.
    """

    what: str
    name: str
    before: str | None
    after: str | None
    destructive: bool = False

    @property
    def subject(self) -> str:
        """Of what it is a difference: `column legacy`."""
        return f"{self.what} {self.name}".rstrip()

    def line(self) -> str:
        """Return the difference as a line of text: `- column legacy: string`."""
        return change_line(self.subject, self.before, self.after)


def change_line(subject: str, before: str | None, after: str | None) -> str:
    """Return a difference as a line of text: `- column legacy: string`; None stands for nothing."""
    sign = "+" if before is None else "-" if after is None else "~"
    return f"{sign} {subject}: {' -> '.join(text for text in (before, after) if text is not None)}"


@dataclass(frozen=True, slots=True)
class TableChange:
    """What happened to a table, with its shapes before and after.

    Attributes:
        table: its name afterwards; that before, if it was dropped.
        before, after: None where it does not exist.
        diff: the differences; of a created table, what it consists of.
        files: what happens to its existing data files: `untouched`, `rewritten`, `removed`, or `left in spec N`, by which they are
            partitioned; None where there were none, or that is not known.
        snapshots: how many snapshots were added.
        breaks: what no longer works: `SELECT`, `INSERT` or `DELETE` on the table, and views: `view lake.shop.open_orders`.
    """

    table: str
    change: Change
    before: Shape | None
    after: Shape | None
    diff: tuple[Difference, ...] = ()
    files: str | None = None
    snapshots: int = 0
    breaks: tuple[str, ...] = ()

    def lines(self) -> Iterator[Line]:
        """Yield the change as text."""
        yield Mark(f"{self.table}: {self.change}")
        yield from (f"  {difference.line()}" for difference in self.diff)
        if text := "; ".join(self._effects()):
            yield f"  {text}"

    def _effects(self) -> Iterator[str]:
        if self.files:
            yield f"existing files {self.files}"
        if self.files or self.snapshots:
            yield f"{counted(self.snapshots, 'snapshot')} added"
        if self.breaks:
            yield f"breaks {', '.join(self.breaks)}"

    @property
    def is_destructive(self) -> bool:
        return any(difference.destructive for difference in self.diff)


def compare(
    before: Mapping[str, Shape], after: Mapping[str, Shape], replaced: Collection[str] = ()
) -> tuple[TableChange, ...]:
    """Return what happened to each table, by name. A table of the same uuid under another name was renamed.

    Args:
        replaced: the tables afterwards that a statement replaced: Iceberg keeps their uuid.
    """
    # Two names may have one uuid: a table of Delta has as many as statements give its location.
    same = {name for name, shape in after.items() if name in before and before[name].uuid == shape.uuid}
    names = {shape.uuid: name for name, shape in before.items() if shape.uuid and name not in same}
    kept = {names[shape.uuid] for shape in after.values() if shape.uuid in names}
    gone = dict(before)
    changes: list[TableChange] = []
    for name, shape in after.items():
        # One that had the name is another table, and is among those kept, if it has another name now.
        was = name if name in same else names.get(shape.uuid or "") or (name if name not in kept else "")
        earlier = gone.pop(was, None)
        if earlier is None:
            changes.append(TableChange(name, Change.CREATED, None, shape, tuple(_differences(None, shape))))
        elif diff := tuple(_differences(earlier, shape, is_replaced=name in replaced)):
            change = Change.ALTERED if was == name else Change.RENAMED
            changes.append(TableChange(name, change, earlier, shape, diff))
    dropped = (TableChange(name, Change.DROPPED, shape, None, _dropped(shape)) for name, shape in gone.items())
    return tuple(sorted([*changes, *dropped], key=lambda change: change.table))


def _dropped(shape: Shape) -> tuple[Difference, ...]:
    return (Difference("table", shape.table, f"{len(_top(shape.columns))} columns", None, destructive=True),)


def _top(columns: Iterable[Column]) -> list[Column]:
    """Return the columns without the fields inside them."""
    top: list[Column] = []
    for column in columns:
        if not top or not column.name.startswith(f"{top[-1].name}."):
            top.append(column)
    return top


def _differences(before: Shape | None, after: Shape, *, is_replaced: bool = False) -> Iterator[Difference]:
    if before is not None and before.table != after.table:
        yield Difference("table", "", before.table, after.table)
    # One of them may have been read without an id.
    if before is not None and (is_replaced or (before.uuid and after.uuid and before.uuid != after.uuid)):
        yield Difference("table", "", "replaced: its rows are gone", f"a new table {after.uuid}", destructive=True)
    if before is not None:
        yield from _difference("format", "", before.format, after.format)
    yield from _columns(before.columns if before else (), after.columns)
    yield from _lists(before, after)
    yield from _properties(before.properties if before else {}, after.properties)
    yield from _difference("format version", "", _version(before), _version(after))


def _columns(before: Sequence[Column], after: Sequence[Column]) -> Iterator[Difference]:
    known, new = _by_key(before, after), _by_key(after, before)
    for key, column in known.items():
        if key not in new:
            yield Difference("column", column.name, column.described, None, destructive=True)
    for key, column in new.items():
        yield from _column(known.get(key), column)
    if [key for key in new if key in known] != [key for key in known if key in new]:
        yield Difference("order of columns", "", _names(before), _names(after))


def _by_key(columns: Sequence[Column], others: Sequence[Column]) -> Mapping[int | str, Column]:
    """Return columns by id; by name where they, or those of that name in the other shape, have none."""
    without = {column.name for column in (*columns, *others) if column.id is None}
    return {column.name if column.id is None or column.name in without else column.id: column for column in columns}


def _names(columns: Sequence[Column]) -> str:
    return ", ".join(column.name for column in _top(columns))


def _column(before: Column | None, after: Column) -> Iterator[Difference]:
    if before is None:
        yield Difference("column", after.name, None, after.described)
        return
    if before.name != after.name and not _moved_with_parent(before, after):
        yield Difference("column", "", before.name, after.name)
    if "<" not in before.type + after.type:  # The fields inside are compared by themselves.
        yield from _difference("type", after.name, before.type, after.type)
    yield from _difference("required", after.name, _yes(before.required), _yes(after.required))
    yield from _difference("comment", after.name, before.comment or None, after.comment or None)
    yield from _difference("default", after.name, before.default, after.default)


def _moved_with_parent(before: Column, after: Column) -> bool:
    """Return whether only the name of the column around a field differs, which is a difference of that column."""
    return "." in after.name and before.name.rpartition(".")[2] == after.name.rpartition(".")[2]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _version(shape: Shape | None) -> str | None:
    return None if shape is None or shape.format_version is None else str(shape.format_version)


def _lists(before: Shape | None, after: Shape) -> Iterator[Difference]:
    earlier = _listed(before) if before else {}
    for what, text in _listed(after).items():
        yield from _difference(what, "", earlier.get(what), text)


def _listed(shape: Shape) -> dict[str, str | None]:
    return {
        "partitioning": _text(map(partition_text, shape.partitioning)),
        "sorting": _text(map(sort_text, shape.sorting)),
        "identifiers": _text(sorted(shape.identifiers)),  # A set: their order is that of field ids.
    }


def _text(fields: Iterable[str]) -> str | None:
    return ", ".join(fields) or None


def partition_text(field: PartitionField) -> str:
    """Return `bucket(16, id)`."""
    return _applied(field.transform, field.source)


def _applied(transform: str, source: str) -> str:
    """Return `bucket(16, id)` for the transform `bucket[16]`, `day(ts)` for `day`, and the source for `identity`."""
    name, width = name_and_width(transform)
    if name == IDENTITY.name:
        return source
    return f"{name}({width}, {source})" if width else f"{name}({source})"


def sort_text(field: SortField) -> str:
    """Return `id asc nulls first`."""
    return f"{_applied(field.transform, field.source)} {field.direction} nulls {field.nulls}"


def _properties(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    for key in sorted({*before, *after} - OF_ENGINE):
        yield from _difference("property", key, before.get(key), after.get(key))


def _difference(what: str, name: str, before: str | None, after: str | None) -> Iterator[Difference]:
    if before != after:
        yield Difference(what, name, before, after)


def tables_in_words(tables: Iterable[tuple[str, bool]]) -> str:
    """Return `2 tables to create, 1 to change, 1 to lose`; empty for no tables.

    Args:
        tables: change, and whether all rows are lost, of each.
    """
    words = Counter(
        "create" if change == Change.CREATED else "lose" if is_lost else "change" for change, is_lost in tables
    )
    counts = [(words[word], word) for word in ("create", "change", "lose") if words[word]]
    return ", ".join(
        f"{count if number else counted(count, 'table')} to {word}" for number, (count, word) in enumerate(counts)
    )


@dataclass(frozen=True, slots=True)
class DeclaredDifference:
    """A part of an existing table that is not as the files declare it. A text is None where there is nothing.

    Attributes:
        column: the name of the column or the property; empty where there is only one such part.
        what: of what it is a difference, as in `Difference`.
    """

    table: str
    column: str
    declared: str | None
    actual: str | None
    what: str

    @property
    def subject(self) -> str:
        """Of what it is a difference: `partitioning`, `column legacy`."""
        return f"{self.what} {self.column}".rstrip()

    def line(self) -> str:
        """Return the difference as a line of text."""
        return f"{self.table}, {self.subject}: declared {self.declared or 'nowhere'}, actual {self.actual or 'absent'}"

    def is_accepted(self, patterns: Iterable[str]) -> bool:
        """Return whether one of the patterns is or fits the subject."""
        return any(self.subject == pattern or fnmatchcase(self.subject, pattern) for pattern in patterns)
