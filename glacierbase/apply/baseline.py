"""Adopting tables that are there already: files recorded as applied without running them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from glacierbase.apply.migrator import Migrator
from glacierbase.errors import ConfigurationError, HistoryDisagrees, TableNotFound
from glacierbase.executors import Executor
from glacierbase.executors.engine import Engine
from glacierbase.history.records import SETTLED, History
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.migration import EventType, State, Statement
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
    migrator: Migrator, to: int, reason: str, lock_timeout: float = 0, session: Any = None
) -> tuple[Compiled, ...]:
    """Record every file up to version `to` that was never begun as applied, in one append.

    Returns:
        The files that were recorded.

    Raises:
        ConfigurationError: there is no file of that version.
        HistoryDisagrees: a table or view that the files create is not there, or one of the files was begun and is not settled.
    """
    migrations = [migration for migration in migrator.migrations if migration.number <= to]
    if not migrations or migrations[-1].number != to:
        raise ConfigurationError(
            "UNKNOWN_VERSION", f"there is no migration with version {to}", "`glacierbase status` lists all versions"
        )
    prepared = migrator.prepare(migrations)
    below = [prepared[migration.number] for migration in migrations]
    with migrator.opened(session) as (engine, store):
        view = migrator.look(store)
        files = _not_begun(below, view.history)
        _check_tables(engine, files)
        if not files:
            return ()
        with migrator.locked(engine, store, view, lock_timeout) as (_, view, recorder):
            files = _not_begun(below, view.history)
            recorder.append(
                *(
                    recorder.event(
                        EventType.BASELINED,
                        State.APPLIED,
                        prepared,
                        statement_index=len(prepared.statements),
                        rendered_sql=prepared.text,
                        reason=reason,
                        details=json.dumps({"statement_checksums": prepared.statement_checksums}),
                    )
                    for prepared in files
                )
            )
    return files


def _not_begun(below: Sequence[Compiled], history: History) -> tuple[Compiled, ...]:
    begun = [
        record
        for prepared in below
        if (record := history.records.get(prepared.migration.number)) and record.state not in SETTLED
    ]
    if begun:
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            f"{begun[0].started.path}: version {begun[0].version} was begun here and is {begun[0].state}; nothing was recorded",
            f"`glacierbase repair {begun[0].version}` settles it",
            version=begun[0].version,
        )
    return tuple(prepared for prepared in below if prepared.migration.number not in history.records)


def _check_tables(engine: Engine, files: Sequence[Compiled]) -> None:
    """What the files create, all in all, and do not drop again, must be there."""
    missing = [name for name, uses in _created(files).items() if not _is_there(engine.start(), name, uses)]
    if missing:
        raise HistoryDisagrees(
            "BASELINE_REFUSED",
            f"the files create what is not there: {', '.join(missing)}; nothing was recorded",
            "choose a lower --to, and let migrate run the rest; or create it as the file does",
            missing=missing,
        )


def _created(files: Sequence[Compiled]) -> dict[str, tuple[str, ...]]:
    """The names of tables and views that are left in the end, each with the USE statements before it in its file."""
    left: dict[str, tuple[str, ...]] = {}
    for prepared in files:
        uses: tuple[str, ...] = ()
        for statement in prepared.statements:
            if _USE.match(statement.text):
                uses = (*uses, statement.text)
            _follow(left, statement, uses)
    return left


def _follow(left: dict[str, tuple[str, ...]], statement: Statement, uses: tuple[str, ...]) -> None:
    if found := _CREATE.match(statement.text):
        left[found["name"]] = uses
    elif found := _DROP.match(statement.text):
        left.pop(found["name"], None)
    elif (found := _RENAME.match(statement.text)) and found["name"] in left:
        left[found["new"]] = left.pop(found["name"])


def _is_there(executor: Executor, name: str, uses: Sequence[str]) -> bool:
    with closing(executor.open_session()) as session:
        try:
            for use in uses:
                session.execute(use)
            session.query(f"SELECT 1 FROM {name} LIMIT 0")
        except TableNotFound:
            return False
    return True
