"""Record in the wheel which commit it was built from, and the repository on GitHub where `GLACIERBASE_REPOSITORY` names it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildFacts(BuildHookInterface):  # type: ignore[type-arg]
    """Add `glacierbase/build.json`. A source distribution has the file already, and an editable installation gets none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file where what is built takes it from."""
        facts = _facts(self.root)
        if version != "editable" and facts:
            self._folder = tempfile.mkdtemp()
            path = Path(self._folder) / "build.json"
            path.write_text(facts, "utf-8")
            build_data["force_include"][str(path)] = "glacierbase/build.json"

    def finalize(self, _version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        """Remove that file."""
        shutil.rmtree(getattr(self, "_folder", ""), ignore_errors=True)


def _facts(root: str) -> str:
    """Return the commit of the checkout, with `+dirty` where files differ from it; empty outside of a checkout."""
    if not (Path(root) / ".git").exists():
        return ""
    try:
        commit = _git(root, "rev-parse", "HEAD")
        is_dirty = bool(_git(root, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return ""
    repository = os.environ.get("GLACIERBASE_REPOSITORY")
    return json.dumps({"commit": f"{commit}+dirty" if is_dirty else commit, "repository": repository})


def _git(root: str, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()
