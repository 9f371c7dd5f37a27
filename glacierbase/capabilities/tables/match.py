"""`new --to-match`: write the migration that leads from the recorded tables to wanted ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from glacierbase.capabilities.tables.compare.compare import EnvironmentState, compare
from glacierbase.capabilities.tables.compare.exporting import export
from glacierbase.capabilities.tables.compare.results import Cause
from glacierbase.capabilities.tables.compare.state import StateResult
from glacierbase.capabilities.tables.wanted import DesignedPart, WantedTable, read_wanted
from glacierbase.declared.render import Written
from glacierbase.declared.writer import alteration, creation
from glacierbase.errors import ConfigurationError, EngineError
from glacierbase.executors.direct.plain import why_not_plain
from glacierbase.formats.iceberg import OF_NEW_TABLES
from glacierbase.history.items import version_items
from glacierbase.history.records import History
from glacierbase.history.state import current_state
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.new_files import git_user, write_migration
from glacierbase.model.command import command
from glacierbase.model.differences import OF_ENGINE
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.result import WrittenResult
from glacierbase.model.shape import Column, Shape
from glacierbase.model.text import counted, quoted
from glacierbase.record.table_search import TableSearch
from glacierbase.record.template_names import template_of, written_names
from glacierbase.record.timeline import timelines
from glacierbase.sql.file import FileStatement
from glacierbase.sql.qualified import qualified
from glacierbase.sql.statement import SessionEffect

_EVERY_PART = frozenset(
    {
        "partitioning",
        "sorting",
        "identifiers",
        "properties",
        "version",
        "comments",
        "nulls",
        "order",
        "absent properties",
    }
)
# Properties that Spark and its catalogs add to a new table.
_ADDED = OF_ENGINE | OF_NEW_TABLES.keys()


@dataclass(frozen=True, slots=True)
class Match:
    """What is to be matched.

    Attributes:
        source: a file, or `env:` and the name of another environment.
        table: the one that is changed; None for all that the source names.
        renames: pairs of an old and a new column.
        other: the catalog in the other environment; None where the source is a file.
    """

    source: str
    table: str | None
    renames: tuple[tuple[str, str], ...]
    other: CatalogRun | None


def rename_pairs(renames: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return renames as pairs of an old and a new column.

    Raises:
        ConfigurationError: `INVALID_VALUE`.
    """
    pairs = [tuple(rename.split(":")) for rename in renames]
    for pair, rename in zip(pairs, renames, strict=True):
        if len(pair) != 2 or not all(pair):
            raise ConfigurationError("INVALID_VALUE", f"--rename {rename!r} is not OLD:NEW", command("new", "--help"))
    return tuple((old, new) for old, new in pairs)


def new_matching(
    target: CatalogRun, result: WrittenResult, *, match: Match, description: str, author: str | None
) -> WrittenResult:
    """Write the next migration file with the statements that lead from the recorded tables to the wanted ones.

    It starts from the recorded tables as the pending files will leave them.

    Raises:
        ConfigurationError: `NOT_MATCHABLE`: a step would lose values or is impossible, or it is not known what a pending file
            does to a table; `NOT_A_SCHEMA`, `UNREADABLE_FILE`.
    """
    history = current_state(target).history
    pending = PendingTables(target, history)
    statements, wrong, left = list[str](), list[str](), list[str]()
    pairs = tuple(_pairs(target, history, match))
    if match.renames and len(pairs) > 1:
        several = f"--rename is about one table, and {match.source} has {len(pairs)}; nothing was written"
        raise ConfigurationError("NO_TABLE", several, "name it: `--table TABLE`")
    for before, wanted in pairs:
        present = pending.shape(before, wanted.shape.table)
        left += [
            f"{wanted.shape.table}: {what} differs by variables, and is left as it is" for what in wanted.by_design
        ]
        made = _written(present, _without_design(present, wanted), match.renames)
        statements += made.statements
        wrong += [f"{wanted.shape.table}: {why}" for why in made.impossible]
        left += [f"{wanted.shape.table}: {why}" for why in made.left]
    if wrong:
        hint = "a column with another name: `--rename OLD:NEW`; write what loses values by hand"
        what = (f"no statement leads to {match.source} without a loss; nothing was written", *quoted("\n".join(wrong)))
        raise ConfigurationError("NOT_MATCHABLE", what, hint)
    result = replace(result, warnings=(*result.warnings, *left))
    if not statements:
        return replace(result, unchanged=match.source)
    root, catalog = Path(target.run.project), target.catalog
    recorded = {timeline.table for timeline in timelines(history)}
    sql = template_of("".join(f"{sql};\n" for sql in statements), written_names(target, history, recorded)) + "\n"
    records = history.versions
    if match.other is not None:  # It has the wanted tables.
        sql = f"{{% if environment != {match.other.catalog.environment!r} %}}\n{sql}{{% endif %}}\n"
        records += current_state(match.other).history.versions
    folder = root / "migrations" / catalog.stem
    path = write_migration(
        folder,
        root,
        description,
        author or git_user(),
        sql=sql,
        headers=catalog.required_headers,
        versions=catalog.versions,
        check=target.check_new,
        recorded=[record.version for record in records],
    )
    return replace(result, files=(str(path),))


def _pairs(target: CatalogRun, history: History, match: Match) -> Iterator[tuple[Shape | None, WantedTable]]:
    """Yield each wanted table with the recorded shape of the table that is to become like it; None where there is none."""
    if match.other is not None:
        yield from _of_environment(target, history, match.other, match.table)
        return
    wanted_tables = read_wanted(match.source, target.catalog)
    if match.table is None and any(not wanted.shape.table for wanted in wanted_tables):
        raise ConfigurationError("NO_TABLE", f"{match.source} names no table", "name it: `--table TABLE`")
    for wanted in wanted_tables:
        before = _recorded(history, match.table or wanted.shape.table)
        name = before.table if before else qualified(target.catalog, match.table or wanted.shape.table)
        if not match.table or not wanted.shape.table or len(wanted_tables) == 1 or wanted.shape.table == name:
            yield before, replace(wanted, shape=replace(wanted.shape, table=name))


def _recorded(history: History, table: str) -> Shape | None:
    """Return the shape of a table as recorded last; None where it does not exist.

    Raises:
        ConfigurationError: `NO_TABLE`: files changed it, and recorded nothing of it.
    """
    chosen = TableSearch(table).find(history)
    if chosen is None:
        return None
    if not chosen.timelines:
        what = f"the history has no record of {chosen.name}, which files have changed"
        raise ConfigurationError("NO_TABLE", what, f"`{command('schema', chosen.name)}` says why")
    return chosen.at().moments[-1].shape


def _of_environment(
    target: CatalogRun, history: History, other: CatalogRun, table: str | None
) -> Iterator[tuple[Shape | None, WantedTable]]:
    """Yield the recorded tables of another environment: those that files name in the same way are the same."""
    there = current_state(other).history
    shapes = {timeline.table: timeline.shape for timeline in timelines(there) if timeline.shape}
    names = {name: _name_here(target, history, other, there, name) for name in shapes}
    chosen = TableSearch(table).find(history) if table is not None else None
    by_design = _by_design(target, other)
    for name, shape in shapes.items():
        if table is None or (chosen and chosen.name == names[name]):
            design = by_design.get(names[name], ())
            yield _recorded(history, names[name]), WantedTable(replace(shape, table=names[name]), _EVERY_PART, design)


def _by_design(target: CatalogRun, other: CatalogRun) -> Mapping[str, Sequence[DesignedPart]]:
    """Return what variables alone explain of the differences between the environments, by the names of tables here."""
    here, there = (
        EnvironmentState(
            side.catalog.environment, export(side, StateResult(side.catalog.name, side.catalog.environment))
        )
        for side in (target, other)
    )
    by_table = dict[str, Sequence[DesignedPart]]()
    for table in compare(target.catalog.name, (here, there)).tables:
        causes: dict[DesignedPart, set[Cause]] = {}
        for difference in table.differences:
            causes.setdefault(DesignedPart(difference.what, difference.name), set()).add(difference.cause)
        name = table.names.get(here.name, table.table)
        by_table[name] = tuple(subject for subject, why in causes.items() if why == {Cause.VARIABLES})
    return by_table


def _without_design(present: Shape | None, wanted: WantedTable) -> WantedTable:
    """Return a wanted table that has the parts which differ by design as the table has them."""
    if present is None or not wanted.by_design:
        return wanted
    design, shape = set(wanted.by_design), wanted.shape
    here = {_key(column.name): column for column in present.columns}
    columns = [
        _with_design(column, here.get(_key(column.name)), design)
        for column in shape.columns
        if not any(DesignedPart("column", name) in design and _key(name) not in here for name in _around(column.name))
    ]
    wanted_names = {_key(column.name) for column in columns}
    columns += [
        column
        for column in present.columns
        if _key(column.name) not in wanted_names
        and any(DesignedPart("column", name) in design for name in _around(column.name))
    ]
    parts = {
        attribute: getattr(present, attribute)
        for attribute in ("partitioning", "sorting", "identifiers", "format_version")
        if DesignedPart(attribute.replace("_", " "), "") in design
    }
    keys = {subject.name for subject in design if subject.what == "property"}
    properties = {key: value for key, value in shape.properties.items() if key not in keys}
    properties |= {key: present.properties[key] for key in keys if key in present.properties}
    states = wanted.states - ({"order"} if DesignedPart("order of columns", "") in design else set())
    shape = replace(shape, columns=tuple(columns), properties=properties, **parts)
    return replace(wanted, shape=shape, states=states)


def _around(name: str) -> Iterator[str]:
    """Yield the name of a column, and those of the columns around it."""
    parts = name_parts(name)
    yield from (name_of(parts[:end]) for end in range(len(parts), 0, -1))


def _with_design(wanted: Column, present: Column | None, design: Collection[DesignedPart]) -> Column:
    if present is None:
        return wanted
    facts = ("type", "required", "comment", "default")
    kept = {fact: getattr(present, fact) for fact in facts if DesignedPart(fact, wanted.name) in design}
    return replace(wanted, **kept)


def _name_here(target: CatalogRun, history: History, other: CatalogRun, there: History, name: str) -> str:
    written = written_names(other, there, [name]).get(name)
    ours = {timeline.table for timeline in timelines(history)}
    names = {text: table for table, text in written_names(target, history, ours).items()}
    return names.get(written or "", name)


def _written(before: Shape | None, wanted: WantedTable, renames: Sequence[tuple[str, str]]) -> Written:
    """Return the statements that lead to a wanted table, and why there are none."""
    if before is None:
        properties = {key: value for key, value in wanted.shape.properties.items() if key not in _ADDED}
        return creation(replace(wanted.shape, properties=properties))
    after, wrong = _after(before, wanted, renames)
    made = alteration(before, after, elsewhere=True)
    kept = {column.id for column in after.columns}
    lost = [f"{column.name} would be dropped, with its values" for column in before.columns if column.id not in kept]
    return replace(made, impossible=(*wrong, *lost, *made.impossible))


def _after(before: Shape, wanted: WantedTable, renames: Sequence[tuple[str, str]]) -> tuple[Shape, list[str]]:
    """Return the recorded shape with what the source states, with the ids of the columns that have the same name."""
    present, wrong = _renamed(before.columns, renames)
    columns = tuple(_column(column, present.get(_key(column.name)), wanted) for column in wanted.shape.columns)
    stated = {_key(column.name) for column in columns}
    wrong += [f"{new} is no column of {wanted.shape.table} as wanted" for _, new in renames if _key(new) not in stated]
    if "order" not in wanted.states:
        places = {column.id: at for at, column in enumerate(before.columns)}
        columns = tuple(sorted(columns, key=lambda column: places.get(column.id, len(places))))
    properties = dict(before.properties)
    if "properties" in wanted.states:
        if "absent properties" in wanted.states:
            properties = {key: value for key, value in properties.items() if key in _ADDED}
        properties.pop("comment", None)
        properties |= {key: value for key, value in wanted.shape.properties.items() if key not in _ADDED}
    shape = wanted.shape
    return replace(
        before,
        table=before.table,
        columns=columns,
        format_version=shape.format_version if "version" in wanted.states else before.format_version,
        partitioning=shape.partitioning if "partitioning" in wanted.states else before.partitioning,
        sorting=shape.sorting if "sorting" in wanted.states else before.sorting,
        identifiers=shape.identifiers if "identifiers" in wanted.states else before.identifiers,
        properties=properties,
    ), wrong


def _key(name: str) -> tuple[str, ...]:
    """Return a column's name as Spark compares it."""
    return tuple(part.casefold() for part in name_parts(name))


def _renamed(
    columns: Sequence[Column], renames: Sequence[tuple[str, str]]
) -> tuple[Mapping[tuple[str, ...], Column], list[str]]:
    """Return the columns by the names that they are to have, and what is wrong with the renames. All renames happen at once."""
    names = {_key(old): new for old, new in renames}
    known = {_key(column.name) for column in columns}
    wrong = [f"{old}, which is to be renamed, is no column" for old, _ in renames if _key(old) not in known]
    stay, renamed = dict[tuple[str, ...], Column](), dict[tuple[str, ...], Column]()
    for column in columns:
        parts, key = name_parts(column.name), _key(column.name)
        ends = [end for end in range(len(key), 0, -1) if key[:end] in names]
        name = name_of((*name_parts(names[key[: ends[0]]]), *parts[ends[0] :])) if ends else column.name
        (renamed if ends else stay)[_key(name)] = replace(column, name=name)
    return {**stay, **renamed}, wrong


def _column(wanted: Column, present: Column | None, source: WantedTable) -> Column:
    if present is None:
        return replace(wanted, id=None)
    return Column(
        present.id,
        present.name,
        present.type if source.accepts(present.type, wanted.type) else wanted.type,
        wanted.required if "nulls" in source.states else present.required or wanted.required,
        wanted.comment if "comments" in source.states or wanted.comment else present.comment,
        wanted.default if "nulls" in source.states else present.default,
    )


@dataclass(frozen=True, slots=True)
class _Pending:
    """A statement of a pending file.

    Attributes:
        why: why its effect is not known without an engine, as a clause; None where it is.
    """

    file: Compiled
    named: FileStatement
    why: str | None

    def may_change(self, table: str) -> bool:
        """Return whether it may change a table."""
        wholes = [whole for _, whole in self.named.names]
        is_known = self.named.parsed.understood and None not in wholes
        moves = self.named.parsed.session is not SessionEffect.NONE and self.why is not None
        return not is_known or moves or table.casefold() in {whole.casefold() for whole in wholes if whole}


class PendingTables:
    """The tables of a catalog once its pending files have run on the recorded ones."""

    def __init__(self, target: CatalogRun, history: History) -> None:
        """Raises as `Target.compile` does."""
        self._target, self._history = target, history
        known = version_items(target.migrations, history)
        files = target.compile([file for item in known if (file := item.file) and not item.is_settled])
        self._statements = tuple(_statements(files, history))
        self._shapes: Mapping[str, Shape] | None = None

    def shape(self, recorded: Shape | None, table: str) -> Shape | None:
        """Return the shape of a table; None where it does not exist.

        Args:
            recorded: its shape by its last record.

        Raises:
            ConfigurationError: `NOT_MATCHABLE`: the effect of a pending file on it is not known.
        """
        changing = [statement for statement in self._statements if statement.may_change(table)]
        if not changing:
            return recorded
        for statement in changing:
            if statement.why:
                location = statement.file.migration.location
                raise self._unknown(changing, table, f"{location}:{statement.named.statement.line}: {statement.why}")
        if self._shapes is None:
            try:
                self._shapes = {shape.table.casefold(): shape for shape in self._run()}
            except EngineError as error:
                raise self._unknown(changing, table, error.message) from error
        return self._shapes.get(table.casefold())

    def _run(self) -> Sequence[Shape]:
        """Run the plain statements on the recorded tables that they name, in memory."""
        from glacierbase.executors.copies.memory import shapes_after  # Imports PyIceberg.

        plain = [statement.named for statement in self._statements if statement.why is None]
        names = {whole.casefold() for named in plain for _, whole in named.names if whole}
        known = [timeline.shape for timeline in timelines(self._history) if timeline.shape]
        start = [shape for shape in known if shape.table.casefold() in names]
        return shapes_after(self._target.catalog, [named.statement.text for named in plain], start)

    def _unknown(self, changing: Sequence[_Pending], table: str, why: str) -> ConfigurationError:
        versions = list(dict.fromkeys(statement.file.migration.version for statement in changing))
        what = f"{counted(len(versions), 'pending version')} may change {table}: {', '.join(versions)}; nothing was written"
        hint = f"apply them first: `{command('migrate')}`"
        return ConfigurationError("NOT_MATCHABLE", (what, f"  {why}"), hint, table=table, versions=versions)


def _statements(files: Sequence[Compiled], history: History) -> Iterator[_Pending]:
    for file in files:
        has_begun = file.migration.number in history.records
        for named in file.named:
            why = "the version has begun, and is not applied" if has_begun else why_not_plain(named.parsed)
            yield _Pending(file, named, why)
