"""PyIceberg's REST catalog, which sends what is secret to the addresses of the catalog file only, and trusts no answer's size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyiceberg.catalog.rest import RestCatalog as _RestCatalog

from glacierbase.stores.bounded import CALL_SECONDS
from glacierbase.stores.iceberg.answers import Origins, restrict
from glacierbase.stores.iceberg.guard import Guarded, check_implementations

# Iceberg's properties and defaults in milliseconds. 0 waits without limit, as in the engine.
_CONNECT = ("rest.client.connection-timeout-ms", "10000")
_ANSWER = ("rest.client.socket-timeout-ms", "30000")


class RestCatalog(Guarded, _RestCatalog):  # type: ignore[misc]
    """Restricts every request, including those for the configuration and for a token; PyIceberg bounds none."""

    def __init__(self, name: str, **properties: str) -> None:
        # Read from the catalog file, because the server's answer replaces the catalog's properties.
        connect, answer = (int(properties.get(*timeout)) / 1000 or None for timeout in (_CONNECT, _ANSWER))
        self._timeouts = connect, answer
        self._origins = Origins(name, properties["uri"], properties.get("oauth2-server-uri", properties["uri"]))
        # The time-outs of this catalog are the only bound that the catalog file gives for the server's work.
        self.commit_seconds = sum(timeout or CALL_SECONDS for timeout in self._timeouts)
        super().__init__(name, **properties)

    def _create_session(self) -> Any:
        """Check first: PyIceberg calls this before it requests the server's configuration, and with the answer's properties."""
        check_implementations(self.properties, f"the server of the catalog {self.name}")
        session = super()._create_session()
        for (
            adapter
        ) in session.adapters.values():  # That of SigV4 would wait as long as a server says, and read its answer.
            adapter.max_retries.respect_retry_after_header = False
        return session

    def _config_headers(self, session: Any) -> None:
        """Restrict the session: PyIceberg calls this first with every session, before it requests a token."""
        super()._config_headers(session)
        restrict(session, self._origins, self._timeouts)

    def _load_file_io(self, properties: Mapping[str, Any] | None = None, location: str | None = None) -> Any:
        """Check the address that signs requests to S3, if the server chooses to: it gets the token and the headers."""
        every = {**self.properties, **(properties or {})}
        if every.get("s3.signer"):
            self._origins.check(str(every.get("s3.signer.uri") or every["uri"]))
        return super()._load_file_io(properties, location)
