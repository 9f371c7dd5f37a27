"""Compile the migrations of several catalogs in several environments, in a sandbox, and collect all errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from glacierbase.errors import GlacierbaseError, collected
from glacierbase.migrations.folder import load_migrations, migration_files
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration

T = TypeVar("T")
# Compiles migrations of a catalog, and returns what is needed of them.
Use = Callable[[Sandbox, Catalog, Sequence[Migration]], Iterable[T]]


class MigrationSource(Protocol):
    """The attributes of a catalog file that are needed to compile its migrations."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> Path: ...
    @property
    def stem(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, bool]: ...
    def for_environment(self, environment: str, root: Path, *, resolve: bool = True) -> Catalog: ...


@dataclass(frozen=True, slots=True)
class InEnvironment(Generic[T]):
    """One catalog in one environment.

    Attributes:
        migrations: all of them.
        used: what was returned for those that compile.
        errors: the errors of the others.
    """

    catalog: str
    environment: str
    migrations: tuple[Migration, ...]
    used: tuple[T, ...] = ()
    errors: tuple[GlacierbaseError, ...] = ()


def in_environments(
    root: Path, chosen: Sequence[tuple[MigrationSource, Sequence[str]]], resolve: bool, use: Use[T], new: int = 0
) -> tuple[list[InEnvironment[T]], list[GlacierbaseError]]:
    """Compile every file of every chosen catalog and environment in a sandbox; also return all errors.

    Args:
        resolve: read references; else placeholders replace them.
        new: how many files `use` compiles that are not in the folder of their catalog.
    """
    compilation = _Compilation(root, [file for file, _ in chosen], resolve, use)
    with Sandbox(sum((compilation.count(file) + new) * len(environments) for file, environments in chosen)) as sandbox:
        # Not a list: very many catalogs may have a thousand environments each.
        pairs = ((file, environment) for file, environments in chosen for environment in environments)
        outcomes = list(compilation.run(sandbox, pairs))
    return outcomes, list(compilation.errors.values())


class _Compilation(Generic[T]):
    """The migrations of several catalogs, and their errors.

    Attributes:
        errors: by message, because environments share files: an error in all of them is reported once.
    """

    def __init__(self, root: Path, files: Sequence[MigrationSource], resolve: bool, use: Use[T]) -> None:
        self._root = root
        self._resolve = resolve
        self._use = use
        budget = migration_files(root)
        self._read = {
            file.stem: load_migrations(root / "migrations" / file.stem, root, budget, file.headers) for file in files
        }
        self.errors: dict[str, GlacierbaseError] = {}

    def count(self, file: MigrationSource) -> int:
        """Return the number of migrations of a catalog."""
        return len(self._read[file.stem][0])

    def run(self, sandbox: Sandbox, pairs: Iterator[tuple[MigrationSource, str]]) -> Iterator[InEnvironment[T]]:
        """Yield the pairs, until the sandbox's budget is spent."""
        for file, environment in pairs:
            migrations, wrong = self._read[file.stem]
            errors, used = list(wrong), list[T]()
            with collected(errors):
                for outcome in self._compiled(sandbox, file, environment):
                    used.append(outcome)
            # An error with the message of an earlier environment's is reported once, with the hint of the first.
            distinct = tuple(self.errors.setdefault(error.message, error) for error in errors)
            yield InEnvironment(file.name, environment, tuple(migrations), tuple(used), distinct)
            if sandbox.is_spent:
                return

    def _compiled(self, sandbox: Sandbox, file: MigrationSource, environment: str) -> Iterable[T]:
        sandbox.check_time(f"catalogs/{file.path.name}")
        catalog = file.for_environment(environment, self._root, resolve=self._resolve)
        return self._use(sandbox, catalog, self._read[file.stem][0])
