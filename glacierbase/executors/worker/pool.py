"""The workers of a command: catalogs with equal needs use the same one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from glacierbase.executors import CopyExecutor, EngineType, Executor, Warmed
from glacierbase.executors.environments.interpreters import interpreter_of
from glacierbase.executors.worker.client import Worker, WorkerCopy, WorkerExecutor, WorkerLost, unavailable
from glacierbase.model.catalog import Catalog
from glacierbase.run.run import Run
from glacierbase.run.shared import Shared


@dataclass(slots=True, eq=False)
class _Lease:
    """How many executors and calls use a worker, and whether an engine was opened in it. Its worker is a value of `Shared`."""

    users: int = 0
    has_opened: bool = False


class Workers:
    """Workers by what is equal for the catalogs that share one. Several threads may request one at the same time."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._mutex = Lock()
        self._leases: dict[str, _Lease] = {}

    def use(self, key: str, start: Callable[[], Worker], *, opens: bool) -> tuple[Worker, Callable[[], None]]:
        """Return the worker of a key, and what ends this use; one that has ended is replaced.

        Args:
            opens: whether an engine will be opened in it. Other engines that nobody uses are closed before, because each holds
                as much memory as a Spark.

        Raises:
            WorkerLost: it did not start.
        """
        with self._mutex:
            lease = self._leases.setdefault(key, _Lease())
            lease.users += 1
            lease.has_opened |= opens
            idle = [self._leases.pop(other) for other in self._idle()] if opens else []
        release = partial(self._release, lease)
        try:
            for other in idle:
                self._shared.discard(other)
            worker = self._shared.get(
                lease, None, start, lambda worker: worker.close(), lambda worker: worker.is_running
            )
            return worker, release
        except BaseException:
            release()
            raise

    def _idle(self) -> list[str]:
        return [key for key, lease in self._leases.items() if lease.has_opened and not lease.users]

    def _release(self, lease: _Lease) -> None:
        """End a use. The worker stays for the next catalog."""
        with self._mutex:
            lease.users -= 1


def open_in_worker(engine: EngineType, catalog: Catalog, run: Run) -> Executor:
    """Open an executor in a worker. Raises as `EngineType.open_executor` does; see also `interpreter_of`."""
    worker, release = _leased(engine, catalog, run, opens=True)
    return WorkerExecutor(worker, catalog, run, release)


def open_copy_in_worker(
    engine: EngineType, catalog: Catalog, run: Run, folder: Path, names: Sequence[str]
) -> CopyExecutor:
    """Start the engine of a throw-away copy in a worker. Raises as `open_in_worker` does."""
    worker, release = _leased(engine, catalog, run, opens=True)
    return WorkerCopy(worker, catalog, run, release, "open_copy", folder, names)


def check_in_worker(engine: EngineType, catalog: Catalog, run: Run) -> None:
    """Check what is installed for the Python of a worker. Raises as `open_in_worker` does."""
    _call(engine, catalog, run, "check_installed")


def warm_in_worker(engine: EngineType, catalog: Catalog, run: Run) -> Warmed:
    """Prepare the engine's start with the Python of a worker. Raises as `open_in_worker` does."""
    warmed: Warmed = _call(engine, catalog, run, "warm")
    return warmed


def _call(engine: EngineType, catalog: Catalog, run: Run, method: str) -> Any:
    worker, release = _leased(engine, catalog, run)
    try:
        return worker.call_engines(method, catalog, run)
    finally:
        release()


def _leased(
    engine: EngineType, catalog: Catalog, run: Run, *, opens: bool = False
) -> tuple[Worker, Callable[[], None]]:
    """Return a worker for a catalog, and what ends its use. Without something shared, the worker ends then."""
    python = interpreter_of(catalog, Path(run.project))
    key = json.dumps([str(python), engine.name, engine.needs(catalog)])
    shared = run.shared or Shared()
    workers = shared.get("workers", None, partial(Workers, shared), lambda _: None)
    try:
        worker, release = workers.use(key, partial(Worker, python, engine.worker_environment(catalog)), opens=opens)
    except WorkerLost as error:
        raise unavailable(catalog, error) from error
    return worker, release if run.shared else shared.close
