"""The migration files of a catalog for commands that ask its history, and seldom need them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import overload

from glacierbase.errors import GlacierbaseError, raise_all
from glacierbase.model.migration import Migration


class DeferredMigrations(Sequence[Migration]):
    """Migrations that are read at first use.

    Every use raises MigrationFileError or SeveralErrors where the files are not valid.
    """

    def __init__(self, load: Callable[[], tuple[Sequence[Migration], Sequence[GlacierbaseError]]]) -> None:
        self._load = load

    @cached_property
    def _read(self) -> Sequence[Migration]:
        migrations, errors = self._load()
        raise_all(errors)
        return migrations

    @overload
    def __getitem__(self, index: int) -> Migration: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Migration]: ...
    def __getitem__(self, index: int | slice) -> Migration | Sequence[Migration]:
        return self._read[index]

    def __iter__(self) -> Iterator[Migration]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)
