"""Attribute a difference of a table to a statement in the engine's log, by what the text of the statement is about. Pure."""

from __future__ import annotations

from glacierbase.errors import GlacierbaseError
from glacierbase.model.catalog import Catalog
from glacierbase.model.differences import Difference
from glacierbase.model.names import completed_like, name_parts
from glacierbase.model.shape import LoggedStatement, StatementLog
from glacierbase.record.about import Explanation, StatementChanges
from glacierbase.record.drift import TableDrift
from glacierbase.record.timeline import Timeline
from glacierbase.run.run import run_tag
from glacierbase.sql import read
from glacierbase.sql.qualified import name_key
from glacierbase.sql.statement import ParsedStatement


def statement_that_made(
    difference: Difference, whole: TableDrift, timeline: Timeline, log: StatementLog, catalog: Catalog
) -> LoggedStatement | None:
    """Return the newest statement about the part of the table that differs; None without one.

    Args:
        timeline: of the table; the statements of the run that recorded it last made what is recorded.
    """
    recording = run_tag(timeline.moments[-1].event.run_id)
    for logged in log.statements:
        is_recorded = logged.tag == recording or logged.tag.startswith(f"{recording};")
        if not is_recorded and _is_about(logged, difference, whole, catalog):
            return logged
    return None


def _is_about(logged: LoggedStatement, difference: Difference, whole: TableDrift, catalog: Catalog) -> bool:
    """Return whether the text shows that the statement is about the part; of a script or a call, it does not."""
    try:
        parsed = read(logged.sql, catalog.dialect)
    except GlacierbaseError:  # The log cuts long texts.
        return False
    claims = StatementChanges([parsed], catalog.dialect)
    if claims.may_be_all or not _changes(parsed, logged, whole.table, catalog):
        return False
    if whole.actual is None:  # A rename also leaves nothing under the old name.
        return claims.ends
    return claims.fit(difference, whole.recorded, whole.actual) is not Explanation.NONE


def _changes(parsed: ParsedStatement, logged: LoggedStatement, table: str, catalog: Catalog) -> bool:
    """Return whether a statement names the table as changed, as its session completed the name."""
    like = (logged.catalog or "", logged.namespace or "", "")
    keys = (
        tuple(part.casefold() for part in name_parts(completed_like(target.recorded, like)))
        for target in parsed.targets
    )
    return name_key(catalog, table) in keys
