"""What a peer is: something to install, and a project of so many migrations for it, on SQLite."""

from __future__ import annotations

import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.measure import Command, Failed, last_line, run

DATABASE = "peer.db"
_INSTALL_SECONDS = 1200


class NotInstalled(Exception):
    """The tool cannot be installed on this machine; the message has the reason."""


def cache() -> Path:
    """Where peers are kept between runs; `$XDG_CACHE_HOME/glacierbase-benchmarks`, default below `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "glacierbase-benchmarks")


def sql(number: int) -> str:
    """Return the SQL of migration `number`, which does as little as possible."""
    return "CREATE TABLE marks (number INTEGER);" if number == 1 else f"INSERT INTO marks VALUES ({number});"


class Tool(ABC):
    """A program of another project, in one version."""

    name: str
    version: str

    def __init__(self) -> None:
        self.home = cache() / f"{self.name}-{self.version}"

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @abstractmethod
    def fetch(self) -> None:
        """Install it into the empty folder `home`.

        Raises:
            NotInstalled: that is not possible here.
        """

    def install(self) -> None:
        """Fetch it, unless an earlier run has.

        Raises:
            NotInstalled: that is not possible here.
        """
        whole = self.home / "installed"
        if not whole.exists():
            shutil.rmtree(self.home, ignore_errors=True)
            self.home.mkdir(parents=True)
            self.fetch()
            whole.touch()


class Peer(Tool):
    """A tool that applies migrations to SQLite.

    Attributes:
        where: the options that say where migrations and database are.
        status: what lists the pending ones, or the nearest to it.
        apply: what applies them.
    """

    where: Sequence[str] = ()
    status: str
    apply: str

    @property
    @abstractmethod
    def program(self) -> Sequence[str | Path]:
        """The command line up to its arguments."""

    @abstractmethod
    def write(self, folder: Path, files: int) -> None:
        """A project of so many migrations; its database is to be `DATABASE`, in the same folder."""

    def arguments(self, verb: str) -> Sequence[str]:
        return (*self.where, *verb.split())

    def command(self, verb: str, folder: Path) -> Command:
        return Command(f"{self} `{verb}`", (*self.program, *self.arguments(verb)), folder)

    def applied(self, files: int) -> Path:
        """A project of so many migrations, all applied, unless an earlier run has left one.

        Raises:
            Failed: its own `apply` does, or takes too long.
        """
        folder = self.home / f"applied-{files}"
        whole = folder / "applied"
        if not whole.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            self.write(folder, files)
            run(self.command(self.apply, folder))
            if not (folder / DATABASE).exists():
                raise Failed(f"{self}: it made no database")
            whole.touch()
        return folder


def install_with(*command: str | Path, **environ: str) -> None:
    """Run a package manager.

    Raises:
        NotInstalled: there is none on this machine, or it fails.
    """
    try:
        done = subprocess.run(
            command, env={**os.environ, **environ}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=_INSTALL_SECONDS, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise NotInstalled(f"there is no `{command[0]}` on this machine") from error
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"`{Path(command[0]).name}` was not done in {_INSTALL_SECONDS} s") from error
    if done.returncode:
        raise NotInstalled(f"`{Path(command[0]).name}` failed: {last_line(done.stderr or done.stdout)}")
