"""The session of a file: what announcements record of it, and how a resumed file restores it.

Statements such as USE and SET decide which table the later ones change, and how. A new session has none of these settings.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress

from glacierbase.apply.failures import session_not_restored
from glacierbase.apply.plan import Planned
from glacierbase.errors import EngineError
from glacierbase.executors import Session
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.sessions import session_effects
from glacierbase.model.command import command
from glacierbase.model.session import RecordedSession, SessionContext
from glacierbase.secrets import mask
from glacierbase.sql.statement import SessionEffect

logger = logging.getLogger("glacierbase")


class FileSession:
    """The session in which the statements of one file run."""

    def __init__(self, session: Session, planned: Planned, compiled: Compiled) -> None:
        self._session = session
        self._compiled = compiled
        self._first = planned.resumes_at
        self._before = planned.record.session if planned.record else None
        self._effects = session_effects(compiled)
        self._recorded: RecordedSession | None = None

    def restore(self) -> None:
        """Restore what the completed statements set, and check that the session has their context.

        Raises:
            NeedsRepair: `SESSION_NOT_RESTORED`. No table was changed.
        """
        if self._first == 1 or self._first > len(self._compiled.statements):
            return
        done = self._changed_before(self._first)
        recorded = max(self._before.statements, default=0) if self._before else 0
        for index in done:
            if index > recorded and self._effects[index] is SessionEffect.MOVE:
                why = f"statement {index} may have selected another schema, and the history does not show which"
                raise session_not_restored(self._compiled, self._first, why, self._compiled.statements[index - 1])
        self._repeat(index for index in done if index <= recorded)
        if self._before:
            self._prove(self._before.context, done)
        # No announcement recorded a session after these: their outcome was settled later.
        self._repeat(index for index in done if index > recorded)

    def at(self, index: int) -> RecordedSession | None:
        """Return what the announcement of a statement records of the session; None where the engine does not show it."""
        changed = self._changed_before(index)
        if self._recorded is None or self._recorded.statements != changed:
            try:
                self._recorded = RecordedSession.of(self._session.context(), changed)
            except EngineError as error:  # The statement fails for the same reason, or does not need it.
                logger.debug("the context of the session could not be read: %s", error.message)
                return None
        return self._recorded

    def _changed_before(self, index: int) -> tuple[int, ...]:
        """Return the statements before this one that may have changed the session."""
        return tuple(number for number in self._effects if number < index)

    def _repeat(self, indexes: Iterable[int]) -> None:
        for index in indexes:
            if self._effects[index] is not SessionEffect.SET:
                continue
            statement = self._compiled.statements[index - 1]
            logger.info("%s: statement %d sets the session again", self._compiled.migration.location, index)
            try:
                self._session.execute(statement.text)
            except EngineError as error:
                why = f"statement {index} cannot set the session again: [{error.error_class}] {error.message}"
                raise session_not_restored(self._compiled, self._first, why, statement) from error

    def _prove(self, before: SessionContext, done: Sequence[int]) -> None:
        """Compare the session's context with that in which the file stopped; select it first if a statement had selected it."""
        if self._context() != before and SessionEffect.MOVE in map(self._effects.get, done):
            with suppress(EngineError):
                self._session.select(before)
        now = self._context()
        if now != before:
            statement = self._compiled.statements[self._first - 1]
            why = f"the statements before it ran in {before}; the session is in {now} now"
            way = f"let the catalog file select {before} again, and run `{command('migrate')}`; or "
            raise session_not_restored(self._compiled, self._first, why, statement, way)

    def _context(self) -> SessionContext:
        """Return where the session is, as the history records it: secrets are masked there."""
        context = self._session.context()
        return SessionContext(*(part and mask(part) for part in (context.catalog, context.namespace, context.role)))
