"""Rows that a Python function makes on the tasks of Spark: of the frame of a query, by batches of Arrow."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from pickle import loads
from typing import Any

_BATCH_ROWS = 1000


def with_function(frame: Any, function: str, columns: str) -> Any:
    """Return the frame of the rows that a function makes of those of `frame`, batch by batch, when it is used.

    The module is sent with the function, so that the Python of the tasks needs not have glacierbase.

    Args:
        function: `module:name`. It gets an iterator of rows as tuples, and yields rows. Its module imports at its top nothing but
            the standard library.
        columns: names and types of the rows that it yields, `key STRING, size BIGINT`.

    Raises:
        ImportError: pandas or pyarrow is missing, which pyspark demands here.
    """
    from pyspark import cloudpickle

    name, _, attribute = function.partition(":")
    module = import_module(name)
    cloudpickle.register_pickle_by_value(module)
    try:
        # Here, because Spark Connect pickles only when the view is made.
        pickled = cloudpickle.dumps(getattr(module, attribute))
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    names = [part.split()[0] for part in columns.split(",")]
    return frame.mapInArrow(_on_batches(pickled, names, _BATCH_ROWS), columns)


def use_this_python(context: Any) -> None:
    """Let the tasks of a Spark on this machine run in this Python, unless another one is configured."""
    if context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable


def _on_batches(pickled: bytes, names: list[str], size: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a pickled function on batches of Arrow. What it uses is sent with it: it names nothing of this module."""
    load, take = loads, islice

    def on_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        def rows() -> Iterator[tuple[Any, ...]]:
            for batch in batches:
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

        made = iter(load(pickled)(rows()))
        while part := list(take(made, size)):
            columns = zip(*part, strict=True)
            yield pyarrow.RecordBatch.from_pydict(dict(zip(names, map(list, columns), strict=True)))

    return on_batches
