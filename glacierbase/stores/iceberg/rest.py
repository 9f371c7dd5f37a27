"""PyIceberg's REST catalog with time-outs, which loads no code that its server names."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyiceberg.catalog.rest import RestCatalog as _RestCatalog

from glacierbase.stores.bounded import CALL_SECONDS
from glacierbase.stores.iceberg.guard import Guarded, check_implementations

# Iceberg's properties and defaults in milliseconds. 0 waits without limit, as in the engine.
_CONNECT = ("rest.client.connection-timeout-ms", "10000")
_ANSWER = ("rest.client.socket-timeout-ms", "30000")


class RestCatalog(Guarded, _RestCatalog):  # type: ignore[misc]
    """Sets a time-out for every request, including those for the configuration and for a token; PyIceberg sets none."""

    def __init__(self, name: str, **properties: str) -> None:
        # Read from the catalog file, because the server's answer replaces the catalog's properties.
        self._timeouts = tuple(int(properties.get(*timeout)) / 1000 or None for timeout in (_CONNECT, _ANSWER))
        # The time-outs of this catalog are the only bound that the catalog file gives for the server's work.
        self.commit_seconds = sum(timeout or CALL_SECONDS for timeout in self._timeouts)
        super().__init__(name, **properties)

    def _create_session(self) -> Any:
        """Check first: PyIceberg calls this before it requests the server's configuration, and with the answer's properties."""
        check_implementations(self.properties, f"the server of the catalog {self.name}")
        return super()._create_session()

    def _config_headers(self, session: Any) -> None:
        """Set the time-outs: PyIceberg calls this first with every session, before it requests a token."""
        super()._config_headers(session)
        session.request = partial(session.request, timeout=self._timeouts)
