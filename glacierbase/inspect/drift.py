"""`drift`: the record of the tables against the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import Any

from glacierbase.errors import GlacierbaseError
from glacierbase.history.drift import TableDrift, drift_of, is_kept_by_engine, look
from glacierbase.history.opening import Target
from glacierbase.history.records import History
from glacierbase.history.state import read_state
from glacierbase.history.tables_now import TablesNow
from glacierbase.history.timeline import Timeline, timelines
from glacierbase.inspect.drift_results import Drift, DriftClass, DriftResult, Unread
from glacierbase.model.catalog import Catalog, DriftRule
from glacierbase.model.command import command
from glacierbase.model.differences import Difference
from glacierbase.model.names import name_parts
from glacierbase.sql.targets import table_names
from glacierbase.stores.iceberg.past import Past, Version
from glacierbase.stores.tables import is_own_name

# Properties and comments change neither what is stored nor what may be stored.
_PROPERTIES = ("property", "comment")


def drift(target: Target, result: DriftResult, spark: Any) -> DriftResult:
    """Return how the tables of a catalog differ from their records. Writes nothing."""
    with target.opened(spark) as opened, TablesNow(opened) as tables:
        state = read_state(opened)
        found = drift_in(state.history, timelines(state.history), tables, target.catalog, result)
    return replace(found, warnings=state.warnings)


def drift_in(
    history: History, known: Sequence[Timeline], tables: TablesNow, catalog: Catalog, result: DriftResult,
    *, may_start: bool = True,
) -> DriftResult:  # fmt: skip
    """Return how tables differ from their records in a history that was read.

    Args:
        known: the timelines of the history.
        may_start: whether the engine may be started for tables that nothing else can read; else these are listed as unread.
    """
    far = [each.table for each in known if each.shape and not (may_start or tables.is_near(each.table))]
    found, rules = look((each for each in known if each.table not in far), tables), catalog.drift_rules
    drifts = tuple(each for drifted in found.drifts for each in _drifts(drifted, tables, rules))
    not_recorded = tuple(_not_recorded(history, known, tables))
    unmanaged = tuple(each for each in _beside(catalog, known, tables) if each not in not_recorded)
    return replace(
        result,
        drifts=drifts,
        compared=found.tables,
        unmanaged=unmanaged,
        not_recorded=not_recorded,
        unread=tuple(
            Unread(*each) for each in (*found.unread, *((name, "only its engine can read it") for name in far))
        ),
        next=_ways_out(drifts),
    )


def _drifts(found: TableDrift, tables: TablesNow, rules: Sequence[DriftRule]) -> Iterator[Drift]:
    past = _past(found, tables)
    for each in found.differences:
        rule = next((rule for rule in rules if rule.matches(found.table, each.subject)), None)
        drift = Drift(found.table, _class_of(each, found, rule), each.subject, each.before, each.after)
        yield _dated(replace(drift, reason=rule.reason if rule else None), each, found, past)


def _class_of(difference: Difference, found: TableDrift, rule: DriftRule | None) -> DriftClass:
    if rule is not None:
        return DriftClass.IGNORED
    if not found.is_certain:
        return DriftClass.NOT_RECORDED
    if difference.what not in _PROPERTIES:
        return DriftClass.STRUCTURAL
    return DriftClass.ENGINE if is_kept_by_engine(difference) else DriftClass.PROPERTY


def _past(found: TableDrift, tables: TablesNow) -> Past | None:
    """Return the versions since the record; None where they cannot be read, which leaves the times open."""
    try:
        return tables.past(found.table, found.recorded.metadata_location)
    except GlacierbaseError:
        return None


def _dated(drift: Drift, difference: Difference, found: TableDrift, past: Past | None) -> Drift:
    """Return the drift with the time of the first version since when it is there."""
    if past is None:
        return drift
    with_it = list(takewhile(lambda each: _has(each, difference, found), reversed(past.versions)))
    # Where all that are left have it, the record may be older than the first of them.
    is_bound = not past.is_whole and len(with_it) == len(past.versions)
    return replace(drift, since=with_it[-1].at, by=with_it[-1].by, is_bound=is_bound) if with_it else drift


def _has(version: Version, difference: Difference, found: TableDrift) -> bool:
    then = drift_of(found.recorded, version.shape, is_certain=True)
    return then is not None and difference in then.differences


def _beside(catalog: Catalog, known: Iterable[Timeline], tables: TablesNow) -> Iterator[str]:
    """Yield the tables in the namespaces of recorded tables that are not recorded and not ours."""
    managed = {each.table.casefold(): each.table for each in known if each.shape}
    beside = {tuple(name_parts(name)[:-1]): name for name in managed.values()}
    for name in beside.values():
        try:
            names = tables.names_beside(name)
        except GlacierbaseError:
            continue
        yield from (each for each in sorted(names) if each.casefold() not in managed and not _is_ours(each, catalog))


def _is_ours(name: str, catalog: Catalog) -> bool:
    """Return whether a table is a history or a lock, also of another catalog of the project."""
    parts = name_parts(name)
    return ".".join(parts[1:-1]) == catalog.store.namespace and is_own_name(parts[-1])


def _not_recorded(history: History, known: Iterable[Timeline], tables: TablesNow) -> Iterator[str]:
    """Yield the tables that files touched, that exist, and that have no record; no engine is started for that."""
    recorded = {moment.shape.table for each in known for moment in each.moments if moment.shape}
    touched = {name for event in history.events for name in table_names(event.tables)}
    for name in filter(tables.is_near, sorted(touched - recorded)):
        with suppress(GlacierbaseError):
            if tables.read(name) is not None:
                yield name


def _ways_out(drifts: Iterable[Drift]) -> tuple[str, ...]:
    """Return the commands that end the differences, with the reason that they ask for as a placeholder."""
    if not any(each.class_ in (DriftClass.STRUCTURAL, DriftClass.PROPERTY) for each in drifts):
        return ()
    return (
        f"keep the changes: `{command('drift', 'adopt', reason=True)}`",
        f"undo them: `{command('drift', 'revert', reason=True)}`",
        f"ignore them: `{command('drift', 'ignore', reason=True)}`",
    )
