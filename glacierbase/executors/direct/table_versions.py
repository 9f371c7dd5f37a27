"""The versions of tables and namespaces through PyIceberg: what a statement without an answer is settled by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from glacierbase.errors import ConfigurationError, TableNotFound
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.shape import ShapeReader, shape_of
from glacierbase.executors.pyiceberg.versions import identifier, namespace_version, version_of
from glacierbase.model.names import name_parts
from glacierbase.model.shape import TableVersion

if TYPE_CHECKING:
    from glacierbase.sql.statement import ParsedStatement


class TableVersions(ShapeReader):
    """Read the versions of tables and namespaces, in whichever catalogs of a catalog file they are."""

    def version(self, name: str, *, is_namespace: bool = False) -> TableVersion | None:
        """Return the version of a table, with its shape, or of a namespace, uncached; None where only the engine can read it.

        Args:
            name: its qualified name.

        Raises:
            EngineError: the catalog does not answer, or refuses.
        """
        first, *levels = name_parts(name) or [""]
        if is_namespace:
            return self._answer(lambda: self._version_of_namespace(name, first, tuple(levels)))
        return self._answer(lambda: self._version(name, first)) if identifier(name, first) else None

    def _version(self, name: str, first: str) -> TableVersion | None:
        try:
            with mapped():
                table = self._open(first).load_table(identifier(name, first))
        except ConfigurationError:
            return None
        except TableNotFound as error:
            return None if error.error_class == "NoSuchIcebergTableError" else TableVersion.absent(name)
        version = version_of(name, table)
        return replace(version, shape=shape_of(name, table)) if version else None

    def _version_of_namespace(self, name: str, first: str, levels: tuple[str, ...]) -> TableVersion | None:
        try:
            with mapped():
                return namespace_version(name, self._open(first).load_namespace_properties(levels))
        except ConfigurationError:
            return None
        except TableNotFound:
            return TableVersion.absent(name, is_namespace=True)

    def commit_seconds(self, name: str) -> float | None:
        """Return how long a commit to a table or a namespace may continue after its process has ended; None without a bound.

        Args:
            name: its qualified name.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """

        def seconds() -> float | None:
            try:
                with mapped():
                    bound: float | None = self._open(name_parts(name)[0]).commit_seconds
                    return bound
            except TableNotFound:  # There is no file of SQLite, whose transactions end with their process.
                return 0.0

        return self._answer(seconds)

    def shows(self, statement: ParsedStatement, before: TableVersion) -> bool:
        """Return whether a table or a namespace shows that a plain statement took effect after a version.

        Raises:
            ConfigurationError, EngineError: as for `read`.
        """
        # Only a lost statement needs them.
        from glacierbase.executors.direct.ddl.namespaces import is_set
        from glacierbase.executors.direct.ddl.shown import is_done

        first, *levels = name_parts(before.table)

        def shown() -> bool:
            with mapped():
                opened = self._open(first)
                if before.is_namespace:
                    return is_set(statement, opened.load_namespace_properties(tuple(levels)))
                return is_done(self._catalog, statement, opened.load_table(tuple(levels)), before.metadata)

        return self._answer(shown)
