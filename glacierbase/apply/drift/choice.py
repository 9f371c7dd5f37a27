"""The differences between records and tables that a command is to settle."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from glacierbase.errors import HistoryDisagrees
from glacierbase.history.drift import TableDrift, drift_of, is_kept_by_engine, look
from glacierbase.history.file_tables import FileTables
from glacierbase.history.records import History
from glacierbase.history.table_choice import TableChoice
from glacierbase.history.timeline import timelines
from glacierbase.model.catalog import Catalog, DriftRule
from glacierbase.model.command import command
from glacierbase.model.differences import Difference
from glacierbase.model.shape import Shape
from glacierbase.model.text import quoted
from glacierbase.stores.live import LiveTables


def chosen_drifts(
    catalog: Catalog, history: History, tables: LiveTables, patterns: Collection[str]
) -> tuple[TableDrift, ...]:
    """Return the tables that differ from their records, each with the differences that no rule ignores and no engine keeps.

    The ignored properties of both shapes are those of the table.

    Args:
        patterns: of names; none for all tables.

    Raises:
        ConfigurationError: a pattern fits no table of the history.
        HistoryDisagrees: a table cannot be read, or a file may have made its differences.
    """
    choice = TableChoice(patterns)
    found = look(choice.check(choice.of(timelines(history))), tables, FileTables.of(catalog, history))
    chosen = tuple(settled for each in found.drifts if (settled := _without_ignored(each, catalog.drift_rules)))
    wrong = [f"{table}: not compared: {why}" for table, why in found.unread]
    wrong += [
        f"{each.table}: a file that touched it left no record, and may have made the change"
        for each in chosen
        if not each.is_certain
    ]
    if wrong:
        hint = f"choose other tables with --table; `{command('drift')}` shows all"
        raise refused("the differences of these tables cannot be settled", hint, wrong)
    return chosen


def changed_from_outside(catalog: Catalog, history: History, shapes: Iterable[Shape]) -> tuple[TableDrift, ...]:
    """Return the tables that differ from their records, as `chosen_drifts` does, of those that no file may have changed."""
    recorded = {each.table: each.shape for each in timelines(history) if each.is_certain}
    found = (
        drift_of(before, each, is_certain=True) for each in shapes if (before := recorded.get(each.table)) is not None
    )
    return tuple(settled for each in found if each and (settled := _without_ignored(each, catalog.drift_rules)))


def refused(what: str, hint: str, lines: Sequence[str] = ()) -> HistoryDisagrees:
    """Return the error for differences that cannot be settled.

    Args:
        lines: details, below the first line of the message.
    """
    return HistoryDisagrees("DRIFT_REFUSED", (f"{what}; nothing was written", *quoted("\n".join(lines))), hint)


def _without_ignored(found: TableDrift, rules: Sequence[DriftRule]) -> TableDrift | None:
    """Return the drift without what is ignored; None where nothing else differs."""
    ignored = set(_ignored(found, rules))
    left = tuple(each for each in found.differences if each not in ignored)
    if not left:
        return None
    keys = {each.name for each in ignored if each.what == "property"}
    return replace(found, recorded=_with_properties(found, keys), differences=left)


def _ignored(found: TableDrift, rules: Sequence[DriftRule]) -> Iterator[Difference]:
    for each in found.differences:
        if is_kept_by_engine(each) or any(rule.matches(found.table, each.subject) for rule in rules):
            yield each


def _with_properties(found: TableDrift, keys: Collection[str]) -> Shape:
    """Return the recorded shape with these properties as the table has them."""
    actual = found.actual.properties if found.actual else {}
    kept = {key: value for key, value in found.recorded.properties.items() if key not in keys}
    return replace(found.recorded, properties={**kept, **{key: actual[key] for key in keys if key in actual}})
