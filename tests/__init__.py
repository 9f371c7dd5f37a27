"""The tests of glacierbase."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Where Python writes no bytecode, each of the processes that tests start would compile the package anew, a quarter of all costs.
# In a folder of its own, bytecode changes nothing else on such a machine. Processes inherit the variables.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
