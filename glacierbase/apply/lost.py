"""Check a catalog whose tables exist without a history: the history was lost, or the tables must be adopted."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator, Sequence

from glacierbase.errors import NeedsRepair
from glacierbase.history.target import OpenCatalog
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.command import command
from glacierbase.record.live import LiveTables
from glacierbase.sql.qualified import qualified
from glacierbase.sql.statement import DroppedNamespace
from glacierbase.stores.iceberg.orphaned import orphaned_history

logger = logging.getLogger("glacierbase")

# Statements that change what later names mean, or which tables exist.
_BEFORE = ("use", "set", "drop_table", "rename_table", "drop_namespace")


def check_not_lost(opened: OpenCatalog, files: Sequence[Compiled]) -> str | None:
    """Check, before a first run creates the history, that there was none. Costs one read of one table.

    A file that creates its table IF NOT EXISTS may run where the table exists.

    Returns:
        A warning about the first table that such a file creates, where it exists.

    Raises:
        NeedsRepair: the files of a former history are on this machine, or the first table that the files create exists already.
    """
    catalog = opened.target.catalog
    folder = orphaned_history(catalog)
    if folder and not _was_created(opened):
        what = f"its files are in {folder}, but the catalog does not know it"
        raise _lost(
            catalog.name,
            what,
            f"delete that folder if the history is to begin anew: `rm -r {shlex.quote(str(folder))}`",
        )
    created = next(_created(files), None)
    if created is None:
        return None
    table, file, is_required = created
    version = file.migration.version
    # The catalogs of direct files hold no table that only the engine reads.
    engine = None if opened.target.file_engines().of(file).is_direct else opened.engine
    if not _exists(LiveTables(catalog, engine), qualified(catalog, table)) or _was_created(opened):
        return None
    what = f"{table}, which version {version} creates, exists already"
    adopt = f"if the tables were made without glacierbase, adopt them: `{command('baseline', '--to', version, reason=True)}`"
    if is_required:
        raise _lost(catalog.name, what, adopt)
    return f"catalog {catalog.name} has no history, and {what}; if the history was lost, the files run a second time"


def _exists(tables: LiveTables, table: str) -> bool:
    """Return whether a table is known to exist. An error means no: the run fails later if its cause remains."""
    try:
        with tables as live:
            [reading] = live.read([table]).values()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # A panic of a native library is no `Exception`.
        logger.debug("%s could not be read: %s", table, error)
        return False
    return reading.shape is not None


def _was_created(opened: OpenCatalog) -> bool:
    """Return whether another run has created the history meanwhile: the tables may be that run's."""
    store = opened.open_another_store()  # An older session may not read it.
    return store.read_lock() is not None or bool(store.read_history())


def _lost(catalog: str, what: str, otherwise: str) -> NeedsRepair:
    return NeedsRepair(
        "HISTORY_LOST",
        f"catalog {catalog} has no history, but {what}: the history was lost, or there was none; nothing ran",
        f"if it was lost, restore the tables of history and lock, or the catalog's database, from a backup; {otherwise}",
    )


def _created(files: Sequence[Compiled]) -> Iterator[tuple[str, Compiled, bool]]:
    """Yield each table that the files create, its file, and whether it must not exist; up to what may change that."""
    for file in files:
        if file.migration.is_repeatable:
            return
        for parsed in (named.parsed for named in file.named):
            drops = any(isinstance(part, DroppedNamespace) for part in parsed.parts)
            if not parsed.understood or parsed.operation in _BEFORE or drops:
                return
            options = parsed.options
            if parsed.operation != "create_table" or options.or_replace or options.or_alter or options.temporary:
                continue
            yield parsed.targets[0].recorded, file, not options.if_not_exists
