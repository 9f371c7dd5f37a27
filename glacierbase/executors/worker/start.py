"""Start the process of a worker: another Python that runs the code of this package."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import glacierbase
from glacierbase.run.pythons import isolated, with_this_path

# Variables by which a Python or a Spark finds code. Those of this process belong to this Python.
_OF_THIS_PYTHON = re.compile(r"PYTHON|PYSPARK_|SPARK_HOME$")
# The other Python finds this package, and no other one, in the folder of this one. An installed glacierbase is not searched: both
# processes run the same code.
_BOOT = """\
import sys
from importlib.machinery import PathFinder
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, sys.argv[1:2]) if name == "glacierbase" else None
sys.meta_path.insert(0, Finder)
from glacierbase.executors.worker.main import main
main(int(sys.argv[2]))
"""
# `-I` hides the user's packages, which a Python outside a virtual environment has.
_USERS_PACKAGES = """\
import site, sys
if sys.prefix == sys.base_prefix:
    site.addsitedir(site.getusersitepackages())
"""


def start_process(
    python: Path, environment: Mapping[str, str], inherited: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start the process, without waiting until it is ready. It ends when its stdin is closed.

    Args:
        environment: variables that the process gets besides those of this process. Another Python gets none by which this one
            finds its packages and its Spark.
        inherited: the descriptors that the process gets, such as one that holds a lock.

    Raises:
        OSError: the program cannot be executed.
    """
    level = logging.getLogger("glacierbase").getEffectiveLevel()
    arguments = str(Path(next(iter(glacierbase.__path__))).absolute().parent), str(level)
    is_this = python == Path(sys.executable)
    words = (
        with_this_path(_BOOT, *arguments) if is_this else isolated(python, "-c", _USERS_PACKAGES + _BOOT, *arguments)
    )
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Signals of the terminal reach this process only, which ends the worker.
        pass_fds=inherited,
        env={**(os.environ if is_this else _other_variables()), **environment},
    )


def _other_variables() -> Mapping[str, str]:
    """Return the variables for another Python."""
    return {name: value for name, value in os.environ.items() if not _OF_THIS_PYTHON.match(name)}
