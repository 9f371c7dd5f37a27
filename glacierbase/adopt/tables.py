"""`import tables`: list the tables that exist."""

from __future__ import annotations

from dataclasses import replace

from glacierbase.adopt.listing import live_tables
from glacierbase.adopt.table_results import ImportTablesResult
from glacierbase.errors import EngineUnavailable
from glacierbase.history.opening import Target
from glacierbase.history.state import read_state
from glacierbase.history.tables import TableChoice
from glacierbase.model.command import command
from glacierbase.model.text import counted, quoted
from glacierbase.run.activity import doing
from glacierbase.stores.live import Listing, LiveTables


def import_tables(target: Target, result: ImportTablesResult, choice: TableChoice) -> ImportTablesResult:
    """Return the tables that exist and which of them are managed. Writes nothing."""
    name = target.catalog.name
    with target.opened() as opened, LiveTables(target.catalog, opened.engine) as live:
        state = read_state(opened)
        with doing(f"{name}: listing tables"):
            tables, listing = live_tables(opened, state.history, live, choice)
    return replace(
        result,
        tables=tuple(tables),
        warnings=(
            *state.warnings,
            *(
                f"the views of {catalog} are not listed: only the engine lists them"
                for catalog in listing.without_views
            ),
        ),
        error=_not_listed(target, listing),
    )


def _not_listed(target: Target, listing: Listing) -> EngineUnavailable | None:
    """Return the error for what could not be listed."""
    if not listing.unlisted:
        return None
    names = listing.unlisted
    what = f"catalog {target.catalog.name}: the tables of {counted(len(names), 'namespace')} could not be listed"
    lines = quoted("\n".join(f"{name}: {why}" for name, why in names.items()))
    hint = f"remove the cause, and run the command again; `{command('doctor')}` checks the connection"
    return EngineUnavailable("TABLES_NOT_READ", (what, *lines), hint)
