"""A store whose calls end within a time limit, and soon after the run is cancelled, even if the catalog hangs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from glacierbase.errors import EngineUnavailable, OutcomeUnknown
from glacierbase.model.migration import Event
from glacierbase.run.waiting import CALL_SECONDS, CANCELLED_SECONDS, Caller, NoAnswer, result
from glacierbase.stores import LockRow, Store


class BoundedStore:
    """Call the `Store` that `open_store` opens with a time limit; a verb that is not defined here is one of its verbs.

    It is opened again after a call without an answer: the connection may be dead, or hold an open transaction.
    """

    def __init__(self, open_store: Callable[[], Store], cancelled: Callable[[], bool] = lambda: False) -> None:
        self._open_store = open_store
        self._cancelled = cancelled
        self._caller = Caller()
        try:
            self._store: Store = self._within_limit(open_store)
        except BaseException:
            self.close()
            raise
        self._is_sound = True
        self._clock_source: Store = self._store
        self.compacts_every = self._store.compacts_every

    @property
    def proves_by_lease(self) -> bool:
        return self._store.proves_by_lease

    @property
    def has_clock(self) -> bool:
        return self._store.has_clock

    def now(self) -> datetime:
        return self._clock_source.now()

    def read_lock(self) -> LockRow | None:
        row: LockRow | None = self._call("read_lock")
        self._clock_source = self._store  # A store that was opened again has no server time before its first read.
        return row

    def read_lock_and_history(self) -> tuple[LockRow | None, tuple[Event, ...]]:
        both: tuple[LockRow | None, tuple[Event, ...]] = self._call("read_lock_and_history")
        self._clock_source = self._store  # As in `read_lock`.
        return both

    def __getattr__(self, verb: str) -> Any:
        if verb.startswith("_"):
            raise AttributeError(verb)
        return partial(self._call, verb)

    def close(self) -> None:
        """End the thread of the calls. The wrapped stores are closed with the engine."""
        self._caller.end()

    def _call(self, verb: str, *arguments: Any, **options: Any) -> Any:
        if not self._is_sound:
            self._open_again()
        store = self._store
        try:
            return self._within_limit(lambda: getattr(store, verb)(*arguments, **options))
        except OutcomeUnknown:
            self._is_sound = False
            raise

    def _open_again(self) -> None:
        try:
            self._store = self._within_limit(self._open_store)
        except EngineUnavailable as error:  # An outage, after which the caller may retry.
            raise OutcomeUnknown(error.code, error.message, hint=error.hint) from error
        self._is_sound = True

    def _within_limit(self, call: Callable[[], Any]) -> Any:
        try:
            return result(self._caller.submit(call), CALL_SECONDS, self._cancelled, CANCELLED_SECONDS)
        except NoAnswer as error:
            self._caller.end()
            self._caller = Caller()  # The thread of the old one may hang without limit.
            why = "before the run was stopped" if self._cancelled() else f"within {CALL_SECONDS:.0f} s"
            raise OutcomeUnknown("NoAnswer", f"the catalog did not answer {why}") from error
