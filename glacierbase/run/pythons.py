"""The words that start another Python: it imports nothing from the working directory, which may be a stranger's checkout.

Every Python is started by these words, or in a folder of glacierbase's own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

_TAKE_PATH = "import json, sys\nsys.path[:] = json.loads(sys.argv.pop(1))\n"


def isolated(python: Path | str, *arguments: str) -> list[str]:
    """Return the words for a Python that searches only its own packages.

    `-I`: the working directory, the folder of a script, PYTHON* variables and the user's packages are not searched.
    """
    return [str(python), "-I", *arguments]


def with_this_path(code: str, *arguments: str) -> list[str]:
    """Return the words for code that this Python runs in another process, where it finds the modules that this process finds.

    Args:
        arguments: `sys.argv[1:]` of the code.
    """
    # An empty entry is the working directory of each import.
    path = [str(Path(entry).absolute()) for entry in sys.path if entry]
    return isolated(sys.executable, "-c", _TAKE_PATH + code, json.dumps(path), *arguments)
