"""Projects that a test writes from text, and the program run in them as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.model.catalog import Catalog
from tests.support.documents import checked
from tests.support.forked import can_be_forked, run_forked

REPOSITORY = Path(__file__).parents[2]


def migration(sql: str, description: str = "A test's change", author: str = "Test Team") -> str:
    """Return the text of a migration file."""
    return f"-- MIGRATION_DESCRIPTION: {description}\n-- MIGRATION_AUTHOR: {author}\n\n{sql}\n"


@dataclass
class Output:
    """Exit code and output of a finished run of the program."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document on stdout, which fits its schema."""
        return checked(json.loads(self.stdout))

    def entry(self, index: int = 0) -> dict[str, Any]:
        return self.document["catalogs"][index]


class ProjectFolder:
    """A project in a new folder, with no catalog and no migration."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "catalogs").mkdir(parents=True)
        (root / "migrations").mkdir()

    def catalog(self, text: str, name: str = "shop") -> Path:
        path = self.root / "catalogs" / f"{name}.yaml"
        path.write_text(text)
        (self.root / "migrations" / name).mkdir(exist_ok=True)
        return path

    def file(self, name: str, sql: str, catalog: str = "shop", **headers: str) -> Path:
        path = self.root / "migrations" / catalog / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(migration(sql, **headers))
        return path

    def start(self, *arguments: str, environ: Mapping[str, str | None] | None = None) -> subprocess.Popen[str]:
        """Start the program; a variable whose value is None is removed from its environment."""
        return subprocess.Popen(
            [sys.executable, "-m", "glacierbase", *arguments],
            cwd=self.root, env=self._environment(environ), text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    @staticmethod
    def _environment(environ: Mapping[str, str | None] | None) -> dict[str, str]:
        return {key: value for key, value in {**os.environ, **(environ or {})}.items() if value is not None}

    def run(self, *arguments: str, environ: Mapping[str, str | None] | None = None) -> Output:
        """Run the program to its end, where possible in a process that has imported it."""
        environment = self._environment(environ)
        if can_be_forked(environment):
            return Output(*run_forked(arguments, self.root, environment, timeout=300))
        process = self.start(*arguments, environ=environ)
        stdout, stderr = process.communicate(timeout=300)
        return Output(process.returncode, stdout, stderr)

    def ask(self, *arguments: str, environ: Mapping[str, str | None] | None = None) -> Output:
        """Run the program with its result as JSON."""
        return self.run(*arguments, "--format", "json", environ=environ)


def only_catalog(root: Path) -> Catalog:
    """Return the only catalog of a project, in its only environment."""
    [file] = load_catalog_files(root / "catalogs", root)
    return file.for_environment("default", root)
