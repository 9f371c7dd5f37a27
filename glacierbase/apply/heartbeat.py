"""The thread that renews the lease of a lock while a run works."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from glacierbase.run.waiting import start_thread
from glacierbase.secrets import mask
from glacierbase.stores import Store

logger = logging.getLogger("glacierbase")

# Three renewals in a lease: one may fail without harm.
_RENEWALS = 3
# How long the end of a run waits for a renewal in progress.
_JOIN_SECONDS = 2.0


class Heartbeat:
    """Renews a lease until it is stopped, through a separate store that does not wait for the statements."""

    def __init__(
        self, catalog: str, lease_seconds: float, renew: Callable[[Store], bool], on_loss: Callable[[], None]
    ) -> None:
        """Args:
        renew: renews through the given store, and returns False if the lock is lost.
        on_loss: called once after that; the heartbeat then ends.
        """
        self._catalog = catalog
        self._interval = lease_seconds / _RENEWALS
        self._renew = renew
        self._on_loss = on_loss
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def start(self, open_store: Callable[[], Store]) -> None:
        """Start the thread."""
        self._thread = start_thread(lambda: self._beat(open_store), "glacierbase-heartbeat")

    def stop(self) -> None:
        """Let no further renewal begin."""
        self._stopped.set()

    def join(self) -> None:
        """Wait a moment for a renewal in progress."""
        if self._thread:
            self._thread.join(_JOIN_SECONDS)

    def _beat(self, open_store: Callable[[], Store]) -> None:
        store: Store | None = None
        while not self._stopped.wait(self._interval):
            try:
                store = store or open_store()
                if not self._renew(store):
                    self._on_loss()
                    return
            except Exception as error:
                # The next renewal may succeed. `Lock.renew_if_expired` raises when none does.
                logger.warning("%s: the lock could not be renewed: %s", self._catalog, mask(str(error)))
