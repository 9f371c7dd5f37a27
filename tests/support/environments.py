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
            venv.create(folder, clear=True)
            # The pip of this environment installs into the other one, which then needs none.
            pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install"]
            subprocess.run([*pip, "--quiet", "--no-compile", *requirements], check=True, stdout=sys.stderr)
            made.write_text("\n".join(requirements) + "\n")
    return folder / "bin"
