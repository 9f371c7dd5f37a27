"""Rows that a Python function makes on the tasks of Spark: of the frame of a query, by batches of Arrow."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib import import_module
from inspect import getsource
from typing import Any

_BATCH_ROWS = 1000


def with_function(frame: Any, function: str, columns: str) -> Any:
    """Return the frame of the rows that a function makes of those of `frame`, batch by batch, when it is used.

    The source of its module is sent, so that the Python of the tasks needs not have glacierbase.

    Args:
        function: `module:name`. It gets an iterator of rows as tuples, and yields rows. Its module imports at its top nothing but
            the standard library.
        columns: names and types of the rows that it yields, `key STRING, size BIGINT`.

    Raises:
        ImportError: pandas or pyarrow is missing, which pyspark demands here.
    """
    module, _, name = function.partition(":")
    source = getsource(import_module(module))
    names = [part.split()[0] for part in columns.split(",")]
    return frame.mapInArrow(_on_batches(source, name, names, _BATCH_ROWS), columns)


def use_this_python(context: Any) -> None:
    """Let the tasks of a Spark on this machine run in this Python, unless another one is configured."""
    if context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable


def _on_batches(source: str, name: str, names: list[str], size: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function of a module on batches of Arrow. It is sent to the tasks, and names nothing of this module."""
    title = f"glacierbase_{sha256(source.encode()).hexdigest()}"

    def on_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import sys
        from itertools import islice
        from types import ModuleType

        import pyarrow

        def rows() -> Iterator[tuple[Any, ...]]:
            for batch in batches:
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

        # Spark gives a process one task after another: the module keeps for the next one what is slow to make.
        if title not in sys.modules:
            module = ModuleType(title)
            exec(source, module.__dict__)
            sys.modules[title] = module
        made = iter(getattr(sys.modules[title], name)(rows()))
        while part := list(islice(made, size)):
            columns = zip(*part, strict=True)
            yield pyarrow.RecordBatch.from_pydict(dict(zip(names, map(list, columns), strict=True)))

    return on_batches
