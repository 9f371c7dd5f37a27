"""Peers that are one native program: from the Go module proxy and from npm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.peers.peer import DATABASE, NotInstalled, Peer, install_with, sql


class _FromGo(Peer):
    package: str
    tags: str

    def fetch(self) -> None:
        install_with(
            "go", "install", "-tags", self.tags, f"{self.package}@v{self.version}",
            GOBIN=str(self.home), CGO_ENABLED="0",
        )  # fmt: skip

    @property
    def program(self) -> Sequence[str | Path]:
        return (self.home / self.package.rpartition("/")[2],)


class Goose(_FromGo):
    name = "goose"
    version = "3.29.0"
    package = "github.com/pressly/goose/v3/cmd/goose"
    # SQLite alone: the drivers of the others are most of the build.
    tags = "no_clickhouse no_duckdb no_libsql no_mssql no_mysql no_postgres no_spanner no_starrocks no_turso no_vertica no_ydb"
    where = ("-dir", "migrations", "sqlite3", DATABASE)
    status = "status"
    apply = "up"

    def write(self, folder: Path, files: int) -> None:
        (folder / "migrations").mkdir()
        for number in range(1, files + 1):
            (folder / "migrations" / f"{number:05d}_step.sql").write_text(f"-- +goose Up\n{sql(number)}\n")


class GolangMigrate(_FromGo):
    """golang-migrate has no list of what is pending: `version` prints a number."""

    name = "golang-migrate"
    version = "4.20.1"
    package = "github.com/golang-migrate/migrate/v4/cmd/migrate"
    tags = "sqlite"
    where = ("-path", "migrations", "-database", f"sqlite://{DATABASE}")
    status = "version"
    apply = "up"

    def write(self, folder: Path, files: int) -> None:
        (folder / "migrations").mkdir()
        for number in range(1, files + 1):
            (folder / "migrations" / f"{number:05d}_step.up.sql").write_text(f"{sql(number)}\n")


class Dbmate(Peer):
    name = "dbmate"
    version = "2.36.0"
    where = ("--url", f"sqlite:{DATABASE}", "--migrations-dir", "migrations", "--no-dump-schema")
    status = "status"
    apply = "up"

    def fetch(self) -> None:
        install_with("npm", "install", "--silent", "--prefix", self.home, f"dbmate@{self.version}")
        if not self._programs():
            raise NotInstalled("npm has no dbmate for this machine")

    @property
    def program(self) -> Sequence[str | Path]:
        return (self._programs()[0],)

    def _programs(self) -> list[Path]:
        """Itself; the package's script of the same name starts it through Node."""
        return [*self.home.glob("node_modules/@dbmate/*/bin/dbmate")]

    def write(self, folder: Path, files: int) -> None:
        (folder / "migrations").mkdir()
        for number in range(1, files + 1):
            text = f"-- migrate:up\n{sql(number)}\n\n-- migrate:down\n"
            (folder / "migrations" / f"{number:05d}_step.sql").write_text(text)
