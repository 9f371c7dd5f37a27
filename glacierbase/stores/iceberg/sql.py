"""PyIceberg's SQL catalog, with bounded waits and without connections that show what was not committed."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog as _SqlCatalog
from sqlalchemy import event

from glacierbase.stores.iceberg.errors import database_locked
from glacierbase.stores.iceberg.guard import Guarded


class SqlCatalog(Guarded, _SqlCatalog):  # type: ignore[misc]
    """A connection is rolled back and closed after any error, so that what was written is read through a new one.

    SQLAlchemy returns a connection whose COMMIT failed to the pool without a rollback, although SQLite keeps the transaction
    open: every later read through that connection shows the uncommitted rows.
    """

    def _init_catalog(self) -> None:
        """The first use of the engine."""
        event.listen(self.engine, "handle_error", _discard)
        # libpq bounds the network only. Per transaction, because a pooler refuses or shares the settings of a session.
        if timeout := int(self.engine.url.query.get("tcp_user_timeout", 0)):
            limit = f"SET LOCAL statement_timeout = {timeout}"
            event.listen(self.engine, "begin", lambda connection: connection.exec_driver_sql(limit))
        super()._init_catalog()


def _discard(context: Any) -> Exception | None:
    """Roll back, and close the connection as if the database had ended it.

    SQLite closes a connection, and gives its locks back, only when nothing refers to its cursors any more, such as the error.
    """
    if context.connection is not None:
        with suppress(Exception):  # Of a connection that is broken, nothing is left to roll back.
            context.connection.connection.rollback()
    context.is_disconnect = True
    return database_locked(context.engine.url.database, context.original_exception)
