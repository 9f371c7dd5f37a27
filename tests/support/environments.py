"""Virtual environments beside the tests' own, for what cannot be installed together with it."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path


def environment(folder: Path, requirements: Sequence[str]) -> Path:
    """The programs of the environment in `folder`, which is made where it is not there yet, or has other requirements."""
    made = folder / "requirements.txt"
    if not made.exists() or made.read_text().splitlines() != list(requirements):
        venv.create(folder, with_pip=True, clear=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", *requirements]
        subprocess.run(pip, check=True, stdout=sys.stderr)
        made.write_text("\n".join(requirements) + "\n")
    return folder / "bin"
