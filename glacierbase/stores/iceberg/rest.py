"""PyIceberg's REST catalog, with bounded waits, which loads no code that its server names."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyiceberg.catalog.rest import RestCatalog as _RestCatalog

from glacierbase.stores.iceberg.guard import Guarded, check_implementations

# Milliseconds, by Iceberg's own names of the properties. 0 waits without limit, as in the engine.
_CONNECT = ("rest.client.connection-timeout-ms", "10000")
_ANSWER = ("rest.client.socket-timeout-ms", "30000")


class RestCatalog(Guarded, _RestCatalog):  # type: ignore[misc]
    """Every request has a time-out, those for the configuration and for a token included; PyIceberg's own has none."""

    def __init__(self, name: str, **properties: str) -> None:
        # As configured: what the server answers replaces the catalog's properties.
        self._timeouts = tuple(int(properties.get(*timeout)) / 1000 or None for timeout in (_CONNECT, _ANSWER))
        super().__init__(name, **properties)

    def _create_session(self) -> Any:
        """What PyIceberg does before it asks for the server's configuration, and again with the properties from there."""
        check_implementations(self.properties, f"the server of the catalog {self.name}")
        return super()._create_session()

    def _config_headers(self, session: Any) -> None:
        """What PyIceberg does first with every session, before it asks for a token through it."""
        super()._config_headers(session)
        session.request = partial(session.request, timeout=self._timeouts)
