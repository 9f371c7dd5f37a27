"""Peers from PyPI, each in a virtual environment of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.peers.peer import DATABASE, Peer, Tool, install_with, sql


class _FromPyPI(Tool):
    package: str
    script: str

    def fetch(self) -> None:
        install_with(sys.executable, "-m", "venv", self.home / "venv")
        install_with(self.home / "venv" / "bin" / "pip", "install", "--quiet", f"{self.package}=={self.version}")

    @property
    def program(self) -> Sequence[str | Path]:
        return (self.home / "venv" / "bin" / self.script,)


class Alembic(_FromPyPI, Peer):
    name = package = script = "alembic"
    version = "1.20.1"
    status = "current --check-heads"
    apply = "upgrade head"

    _SETTINGS = f"[alembic]\nscript_location = .\nsqlalchemy.url = sqlite:///{DATABASE}\n"
    _ENVIRONMENT = """\
from alembic import context
from sqlalchemy import create_engine

with create_engine(context.config.get_main_option("sqlalchemy.url")).connect() as connection:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()
"""
    _REVISION = """\
from alembic import op

revision = "{number:05d}"
down_revision = {before}


def upgrade():
    op.execute("{sql}")
"""

    def write(self, folder: Path, files: int) -> None:
        (folder / "alembic.ini").write_text(self._SETTINGS)
        (folder / "env.py").write_text(self._ENVIRONMENT)
        (folder / "versions").mkdir()
        for number in range(1, files + 1):
            before = f'"{number - 1:05d}"' if number > 1 else None
            text = self._REVISION.format(number=number, before=before, sql=sql(number))
            (folder / "versions" / f"{number:05d}_step.py").write_text(text)


class Yoyo(_FromPyPI, Peer):
    name = script = "yoyo"
    package = "yoyo-migrations"
    version = "9.0.0"
    where = ("--batch", "--no-config-file", "--database", f"sqlite:///{DATABASE}", "migrations")
    status = "list"
    apply = "apply"

    def arguments(self, verb: str) -> Sequence[str]:
        return (verb, *self.where)

    def write(self, folder: Path, files: int) -> None:
        (folder / "migrations").mkdir()
        for number in range(1, files + 1):
            depends = f"-- depends: {number - 1:05d}_step\n" if number > 1 else ""
            (folder / "migrations" / f"{number:05d}_step.sql").write_text(f"{depends}{sql(number)}\n")


class Schemachange(_FromPyPI):
    """Schemachange's `deploy` needs a Snowflake; without one it only renders."""

    name = package = script = "schemachange"
    version = "4.4.0"
