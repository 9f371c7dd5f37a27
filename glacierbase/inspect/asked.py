"""The commands of a project that only ask: what the history, the tables and the engine say."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from glacierbase.inspect import commands as inspect
from glacierbase.inspect.loaded import LoadedProject
from glacierbase.inspect.results import DoctorResult, StatusResult
from glacierbase.model.arguments import version_given
from glacierbase.model.command import with_own_scope

# The others are imported when they are called, so that `pending` does not load what reads schemas.
if TYPE_CHECKING:
    from glacierbase.inspect.drift.results import DriftResult
    from glacierbase.inspect.tables.blame import BlameResult
    from glacierbase.inspect.tables.schema import SchemaResult
    from glacierbase.inspect.versions.history import HistoryResult
    from glacierbase.inspect.versions.shown import ShowResult


class AskedProject(LoadedProject):
    """The methods of a project that write nothing and take no lock."""

    @with_own_scope
    def status(self, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[StatusResult, ...]:
        """Return the state of every version, and the lock holder. Writes nothing."""
        return self._each(catalogs, StatusResult, inspect.status, spark)

    @with_own_scope
    def history(
        self,
        catalogs: Collection[str] = (),
        *, table: str | None = None, column: str | None = None, author: str | None = None, since: str | None = None,
        version: str | None = None, spark: Any = None,
    ) -> tuple[HistoryResult, ...]:  # fmt: skip
        """Return the events, in order, and the outcomes of migrations; those that fit all arguments. Writes nothing.

        Args:
            table: only files that touch this table, also under the names that it had before; as for `schema`.
            column: of that table: only its changes, and those of the fields inside it, also under other names.
            author: part of the author's name; letters of either case.
            since: the oldest time: ISO 8601, a date (its begin in UTC), or before now: `90m`, `12h`, `7d`, `2w`.
            version: only this one.

        Raises:
            ConfigurationError: no catalog has that table, or the table never had that column.
        """
        from glacierbase.inspect.versions.filters import Filters
        from glacierbase.inspect.versions.history import HistoryResult, history

        filters = Filters.given(table, column, author, since, version)
        results = self._each_history(catalogs, HistoryResult, history, filters, spark)
        return results if filters.table is None else filters.table.check(results)

    @with_own_scope
    def show(self, version: str, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[ShowResult, ...]:
        """Return all that is known of one version. Writes nothing.

        Raises:
            ConfigurationError: no catalog has that version, neither in its files nor in its history.
        """
        from glacierbase.inspect.versions.show import found, show
        from glacierbase.inspect.versions.shown import ShowResult

        return found(self._each(catalogs, ShowResult, show, version_given(version), spark), version)

    @with_own_scope
    def schema(
        self,
        table: str,
        catalogs: Collection[str] = (),
        *, at: str | None = None, diff: str | None = None, sql: bool = False, spark: Any = None,
    ) -> tuple[SchemaResult, ...]:  # fmt: skip
        """Return the shape of a table by the record of its migrations. Writes nothing, and does not read the table.

        Args:
            table: its name; the first parts may be left out, and letters may be of the other case, where one table remains.
            at: the shape after this version was run, or at this time: ISO 8601, or a date, which means its end in UTC.
            diff: two of these, `A..B`: the differences between them.
            sql: also return the statements that create the table.

        Raises:
            ConfigurationError: no catalog has that table, the name is ambiguous, or no statements create the table.
        """
        from glacierbase.inspect.tables.choice import TableSearch
        from glacierbase.inspect.tables.schema import SchemaResult, Wanted, schema

        search = TableSearch(table)
        wanted = Wanted.given(at, diff, sql)
        return search.check(self._each_history(catalogs, SchemaResult, schema, search, wanted, spark))

    @with_own_scope
    def blame(self, table: str, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[BlameResult, ...]:
        """Return who changed each column, partition field and property of a table last, when and why. Writes nothing.

        The last change of a column is that of its own name, type, nullability, comment or default, through renames. A change after
        the last record is found where the table is read without an engine.

        Args:
            table: as for `schema`; with a column after it, `TABLE.COLUMN`, only that one and the fields inside it.

        Raises:
            ConfigurationError: no catalog has that table, or the table has no such column.
        """
        from glacierbase.inspect.tables.blame import BlameResult, blame
        from glacierbase.inspect.tables.choice import TableSearch

        search = TableSearch(table)
        return search.check(self._each_history(catalogs, BlameResult, blame, search, spark))

    @with_own_scope
    def drift(
        self, catalogs: Collection[str] = (), *, tables: Collection[str] = (), spark: Any = None
    ) -> tuple[DriftResult, ...]:
        """Return how the tables differ from what the history recorded of them. Writes nothing.

        Args:
            tables: patterns of names; default all tables.

        Raises:
            ConfigurationError: a pattern fits no table of the history.
            EngineUnavailable: a table cannot be read; `results` has the differences of the others.
        """
        from glacierbase.history.table_choice import TableChoice
        from glacierbase.inspect.drift.drift import drift
        from glacierbase.inspect.drift.results import DriftResult

        choice = TableChoice(tables)
        return choice.check(self._each_history(catalogs, DriftResult, drift, choice, spark))

    @with_own_scope
    def doctor(
        self, catalogs: Collection[str] = (), *, print_ddl: bool = False, spark: Any = None
    ) -> tuple[DoctorResult, ...]:
        """Check all that a migration requires: files, connection, history, rights, and that the lock is exclusive.

        Args:
            print_ddl: contact nothing; return the statements that create the tables of glacierbase, and the rights they need.

        Raises:
            GlacierbaseError: the first error; `results` holds all checks.
        """
        return self._each(catalogs, DoctorResult, inspect.doctor, print_ddl, spark)
