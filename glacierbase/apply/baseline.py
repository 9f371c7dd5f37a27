"""`baseline`: record files as applied without running them, for tables that already exist."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from glacierbase.apply.holding import locked
from glacierbase.apply.recording import recording
from glacierbase.errors import HistoryDisagrees, TableNotFound
from glacierbase.executors import Executor
from glacierbase.executors.engine import Engine
from glacierbase.history.entries import baselined
from glacierbase.history.opening import Target
from glacierbase.history.records import SETTLED, History
from glacierbase.history.state import read_state
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.arguments import unknown_version
from glacierbase.model.command import command
from glacierbase.model.migration import Statement
from glacierbase.model.names import NAME

_CREATE = re.compile(
    rf"(?is)(?:CREATE|REPLACE)\s+(?:\w+\s+){{0,4}}?(?:TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?(?P<name>{NAME})"
)
_DROP = re.compile(rf"(?is)DROP\s+(?:\w+\s+){{0,2}}?(?:TABLE|VIEW)\s+(?:IF\s+EXISTS\s+)?(?P<name>{NAME})")
_RENAME = re.compile(
    rf"(?is)ALTER\s+(?:\w+\s+)?(?:TABLE|VIEW)\s+(?:IF\s+EXISTS\s+)?(?P<name>{NAME})\s+RENAME\s+TO\s+(?P<new>{NAME})"
)
_USE = re.compile(r"(?i)USE\b")


def baseline(
    target: Target, to: int, reason: str, lock_timeout: float = 0, session: Any = None
) -> tuple[Compiled, ...]:
    """Record every file up to version `to` that was never started as applied, in one append.

    Returns:
        The files that were recorded.

    Raises:
        ConfigurationError: there is no file of that version.
        HistoryDisagrees: a table or view that the files create does not exist, or one of the files was started and is not settled.
        KeyboardInterrupt: it says whether they were recorded.
    """
    candidates = _files_up_to(target, to)
    with recording() as change, target.opened(session) as opened:
        state = read_state(opened)
        files = _not_started(candidates, state.history)
        _check_tables(opened.engine, files)
        if not files:
            return ()
        with locked(opened, state, lock_timeout) as held:
            files = _not_started(candidates, held.state.history)
            entries = [baselined(compiled, reason) for compiled in files]
            done = f"recorded as applied: {', '.join(compiled.migration.version for compiled in files)}"
            change.make(done, lambda: held.recorder.append(*entries))
    return files


def _files_up_to(target: Target, to: int) -> Sequence[Compiled]:
    migrations = [migration for migration in target.migrations if migration.number <= to]
    if not migrations or migrations[-1].number != to:
        raise unknown_version(f"there is no migration with version {to}")
    return target.compile(migrations)


def _not_started(candidates: Sequence[Compiled], history: History) -> tuple[Compiled, ...]:
    records = [history.records.get(compiled.migration.number) for compiled in candidates]
    unsettled = [record for record in records if record and record.state not in SETTLED]
    if unsettled:
        first = unsettled[0]
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            f"{first.started.path}: version {first.version} was started here and is {first.state}; nothing was recorded",
            f"`{command('repair', first.version)}` shows how to settle it",
            version=first.version,
        )
    return tuple(compiled for compiled in candidates if compiled.migration.number not in history.records)


def _check_tables(engine: Engine, files: Sequence[Compiled]) -> None:
    """Check that every table and view exists that the files create and do not drop again."""
    missing = [name for name, uses in _created(files).items() if not _exists(engine.start(), name, uses)]
    if missing:
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            f"these tables or views of the files do not exist: {', '.join(missing)}; nothing was recorded",
            "choose a lower --to, and let migrate run the rest; or create them as the file does",
            missing=missing,
        )


def _created(files: Sequence[Compiled]) -> dict[str, tuple[str, ...]]:
    """Return the tables and views that the files leave behind, each with the USE statements before it in its file."""
    remaining: dict[str, tuple[str, ...]] = {}
    for compiled in files:
        uses: tuple[str, ...] = ()
        for statement in compiled.statements:
            if _USE.match(statement.text):
                uses = (*uses, statement.text)
            _follow(remaining, statement, uses)
    return remaining


def _follow(remaining: dict[str, tuple[str, ...]], statement: Statement, uses: tuple[str, ...]) -> None:
    if found := _CREATE.match(statement.text):
        remaining[found["name"]] = uses
    elif found := _DROP.match(statement.text):
        remaining.pop(found["name"], None)
    elif (found := _RENAME.match(statement.text)) and found["name"] in remaining:
        remaining[found["new"]] = remaining.pop(found["name"])


def _exists(executor: Executor, name: str, uses: Sequence[str]) -> bool:
    with closing(executor.open_session()) as session:
        try:
            for use in uses:
                session.execute(use)
            session.query(f"SELECT 1 FROM {name} LIMIT 0")
        except TableNotFound:
            return False
    return True
