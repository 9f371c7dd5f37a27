"""Virtual environments beside the tests' own, for packages that cannot be installed together with it."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.support.processes import one_at_a_time


def environment(folder: Path, requirements: Sequence[str]) -> Path:
    """Return the programs of the environment in `folder`, which is created if it is absent or has other requirements."""
    made = folder / "requirements.txt"
    with one_at_a_time(folder.parent):
        if not made.exists() or made.read_text().splitlines() != list(requirements):
            venv.create(folder, with_pip=True, clear=True)
            pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile", *requirements]
            subprocess.run(pip, check=True, stdout=sys.stderr)
            made.write_text("\n".join(requirements) + "\n")
    return folder / "bin"
