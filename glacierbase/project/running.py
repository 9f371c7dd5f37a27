"""Run a command on several catalogs, one after the other or several at a time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from dataclasses import replace
from functools import partial

from glacierbase.errors import GlacierbaseError
from glacierbase.executors import type_of
from glacierbase.history.target import CatalogRun
from glacierbase.model.result import Result
from glacierbase.run.activity import on_own_line
from glacierbase.run.waiting import Caller, result
from glacierbase.stores.choice import opens_without_engine

# How many catalogs are read at the same time.
_AT_ONCE = 8


def in_groups(targets: Sequence[CatalogRun]) -> list[CatalogRun]:
    """Return the targets in the same order, but those together that can share the process of an engine."""
    groups: dict[object, list[CatalogRun]] = {}
    for number, target in enumerate(targets):
        catalog = target.catalog
        needs = type_of(catalog).needs(catalog)
        process = repr((catalog.executor_type, catalog.python, catalog.packages, needs))
        groups.setdefault(number if needs is None else process, []).append(target)
    return [target for group in groups.values() for target in group]


def run_all(
    waiting: deque[CatalogRun], run: Callable[[CatalogRun], Result], parallel: int, is_last: Callable[[Result], bool]
) -> list[Result]:
    """Run the waiting targets in order, and return their results in the order in which they ended.

    Args:
        waiting: those that are not started are left in it.
        run: returns the result of a target, also after an error; what it raises is a bug.
        parallel: how many run at the same time, in threads; one runs in this thread.
        is_last: returns whether no other target is started after this result. Those that run go on.

    Raises:
        KeyboardInterrupt: one in this thread, which cancels the targets, after they have ended.
        Exception: a bug of a target, after the others have ended.
    """
    if min(parallel, len(waiting)) > 1:
        return _run_in_threads(waiting, run, min(parallel, len(waiting)), is_last)
    results: list[Result] = []
    while waiting:
        results.append(run(waiting.popleft()))
        if is_last(results[-1]):
            break
    return results


def _run_in_threads(
    waiting: deque[CatalogRun], run: Callable[[CatalogRun], Result], parallel: int, is_last: Callable[[Result], bool]
) -> list[Result]:
    results: list[Result] = []
    stopped, cancelled, starting = threading.Event(), threading.Event(), threading.Lock()

    def next_target() -> CatalogRun | None:
        with starting:
            return waiting.popleft() if waiting and not stopped.is_set() else None

    def run_some() -> None:
        while (target := next_target()) is not None:
            try:
                with on_own_line():
                    done = run(_cancelled_by(cancelled, target))
            except BaseException:
                stopped.set()
                raise
            results.append(done)
            if is_last(done):
                stopped.set()

    callers = [Caller() for _ in range(parallel)]
    answers = [caller.submit(run_some) for caller in callers]
    for caller in callers:
        caller.end()
    try:
        wait(answers)
    except KeyboardInterrupt:
        stopped.set()
        cancelled.set()
        wait(answers)
        raise
    for answer in answers:
        answer.result()
    return results


def _cancelled_by(cancelled: threading.Event, target: CatalogRun) -> CatalogRun:
    return replace(target, cancelled=lambda: cancelled.is_set() or target.cancelled())


def read_all(targets: Sequence[CatalogRun], read: Callable[[CatalogRun], Result]) -> Iterator[Result]:
    """Yield the results. Targets that need no engine are read several at a time; the others one after the other."""
    parallel = [target for target in targets if _opens_without_engine(target)]
    callers = [Caller() for _ in parallel[:_AT_ONCE]]
    answers = [callers[number % _AT_ONCE].submit(partial(read, target)) for number, target in enumerate(parallel)]
    for caller in callers:
        caller.end()
    yield from (read(target) for target in targets if target not in parallel)
    # Each read inside has its own time limit.
    yield from (result(answer, float("inf")) for answer in answers)


def _opens_without_engine(target: CatalogRun) -> bool:
    try:
        return opens_without_engine(target.catalog)
    except GlacierbaseError:  # The command reports it.
        return False
