"""Which files of a catalog run without its engine: with `direct: auto`, those whose statements are all plain Iceberg DDL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from glacierbase.errors import ConfigurationError, MigrationFileError
from glacierbase.executors import Executor, type_of
from glacierbase.executors.pyiceberg.properties import PyIcebergSettings, missing_package, opening
from glacierbase.formats import ICEBERG
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_parts
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.qualified import DECLARED, is_path, qualified_namespace

if TYPE_CHECKING:
    from glacierbase.sql.file import FileStatement

# The engine of a file that runs without one.
DIRECT = "direct"
# The settings of Spark's SQL that change no result of plain DDL. Any other could.
_HARMLESS = re.compile(
    r"spark\.sql\.(extensions|catalog\..+|defaultCatalog|warehouse\.dir|shuffle\..+|adaptive\..+|ui\..+|maxPlan.+)"
)
_SPARK_CATALOG = ICEBERG.catalogs[0]
# Properties of a catalog that history and lock override by their own, and that tables of users follow.
_OF_TABLES = re.compile(r"table-(default|override)\..+")
# A setting of the file's session may give the same name to a table in another place. Text that Spark composes may hold such a one.
_MAY_MOVE_CATALOGS = re.compile(r"(?i)spark\.sql\.catalog|\$\{|\bIMMEDIATE\b")


class _File(Protocol):
    """A file with its statements."""

    @property
    def named(self) -> Sequence[FileStatement]:
        """The statements, in order; read at first use."""


@dataclass(frozen=True, slots=True)
class FileEngine:
    """The engine that runs a file.

    Attributes:
        name: `direct`, or the type of the catalog's engine.
        why: why the file does not run directly, as a clause; None where it does, and where the catalog file does not allow it.
    """

    name: str
    why: str | None = None

    @property
    def is_direct(self) -> bool:
        """Whether the file runs in this process."""
        return self.name == DIRECT

    def text(self) -> str:
        """Return the engine for people, where there is a choice of two."""
        return f"needs {self.name}: {self.why}" if self.why else DIRECT if self.is_direct else ""


class FileEngines:
    """Choose the engine of each file of one catalog. Contacts nothing."""

    def __init__(self, catalog: Catalog, *, in_session: bool = False) -> None:
        """Args:
        in_session: whether the files run in a SparkSession of the caller, and so never directly.
        """
        self._catalog = catalog
        self._engine = type_of(catalog)
        self._may_be_direct = catalog.is_direct and catalog.dialect == SPARK.name and not in_session
        self._reasons: dict[str, str | None] = {}

    def of(self, file: _File) -> FileEngine:
        """Return the engine of a file."""
        if self._engine.is_direct:
            return FileEngine(DIRECT)
        if not self._may_be_direct:
            return FileEngine(self._engine.name)
        why = self._why_engine(file)
        return FileEngine(self._engine.name, why) if why else FileEngine(DIRECT)

    def refusal(self, file: _File, location: str, resumes_at: int = 1, or_else: str = "") -> MigrationFileError | None:
        """Return the error for a file with a statement that needs an engine, where the catalog has none; else None.

        Args:
            location: the location of the file.
            resumes_at: the index of the first statement that is to run.
            or_else: another way out, for the hint.
        """
        if not self._engine.is_direct:
            return None
        for named in file.named:
            why = self._why(named) if named.statement.index >= resumes_at else None
            if why:
                line = named.statement.line
                return MigrationFileError(
                    "STATEMENT_NOT_PLAIN",
                    f"{location}, line {line}: statement {named.statement.index} needs an engine: {why}",
                    f"run the catalog's files with `type: spark`, of which `direct: auto` runs the plain ones directly{or_else}",
                    path=location,
                    line=line,
                    statement_index=named.statement.index,
                )
        return None

    def instead(self, why: str) -> FileEngine | None:
        """Return the engine of a file that turns out not to run directly; None where there is no other.

        Args:
            why: a clause.
        """
        return FileEngine(self._engine.name, why) if self._may_be_direct and not self._engine.is_direct else None

    def opener(self) -> Callable[[], Executor] | None:
        """Return what opens the executor of files that run directly beside the engine; None where there are none."""
        if self.instead("") is None:
            return None

        def open_direct() -> Executor:
            from glacierbase.executors.direct.executor import IcebergExecutor  # Imports PyIceberg.

            return IcebergExecutor(self._catalog)

        return open_direct

    def catalogs(self) -> Iterator[tuple[str, str | None]]:
        """Yield each catalog that the catalog file declares, with why its tables need the engine, or None."""
        for key in self._catalog.spark_conf:
            if declared := DECLARED.fullmatch(key):
                yield declared[1], self._why_not_opened(declared[1])

    def _why_engine(self, file: _File) -> str | None:
        for number, named in enumerate(file.named, start=1):
            if why := self._why(named):
                return f"statement {number}: {why}"
        return None

    def is_plain(self, named: FileStatement) -> bool:
        """Return whether a statement would run directly, so that the tables show what it does, whichever engine runs it."""
        return self._why(named) is None

    def plain_name(self, named: FileStatement, file: str) -> str | None:
        """Return the qualified name of the table, or the namespace, that a plain statement changes; None where it is not certain.

        Args:
            file: all statements of its file, rendered.
        """
        from glacierbase.sql.file import is_whole  # Imports the grammar.

        if may_move_catalogs(file) or not self.is_plain(named):
            return None
        if namespace := named.parsed.namespace:  # Which USE does not complete here.
            is_certain = is_whole(self._catalog, namespace.recorded)
            return qualified_namespace(self._catalog, namespace.recorded) if is_certain else None
        return named.names[0][1]

    def names_metadata(self, file: _File) -> bool:
        """Return whether this process names the metadata files that a direct file commits. Elsewhere a catalog's server does."""
        names = {name_parts(whole)[0] for named in file.named for _, whole in named.names if whole}
        try:
            return all(_opening(self._catalog, name).kind != "rest" for name in names)
        except ConfigurationError:  # The statement that names the catalog is refused.
            return False

    def _why(self, named: FileStatement) -> str | None:
        from glacierbase.executors.direct.plain import why_not_plain  # Imports the grammar.

        return why_not_plain(named.parsed) or self._why_names(named)

    def _why_names(self, named: FileStatement) -> str | None:
        """Return why the tables and the namespace that a statement names cannot be changed directly."""
        for recorded, whole in named.names:
            parts = name_parts(whole) if whole else []
            if is_path(parts) or len(parts) < 3:
                return f"the name {recorded} does not begin with a catalog and a namespace"
            if why := self._why_parts(parts):
                return why
        if named.parsed.namespace:
            return self._why_parts(name_parts(qualified_namespace(self._catalog, named.parsed.namespace.recorded)))
        return None

    def _why_parts(self, parts: Sequence[str]) -> str | None:
        if any("." in part for part in parts):
            return "a part of a name holds a dot"
        return self._why_not_opened(parts[0])

    def _why_not_opened(self, name: str) -> str | None:
        """Return why PyIceberg does not change the tables of a catalog as the engine does."""
        if name not in self._reasons:
            # The properties of the only catalog are checked with the catalog file.
            self._reasons[name] = None if self._engine.is_direct else why_not_opened(self._catalog, name)
        return self._reasons[name]


@lru_cache(maxsize=1)
def may_move_catalogs(file: str) -> bool:
    """Return whether a statement of the file may move a catalog. Cached: it is called with the same file for each statement."""
    return _MAY_MOVE_CATALOGS.search(file) is not None


def why_not_opened(catalog: Catalog, name: str) -> str | None:
    """Return why PyIceberg does not change the tables of a catalog as Spark does; None where it does.

    It fails closed: a setting that is neither translated nor listed as harmless needs Spark.
    """
    conf, prefix = catalog.spark_conf, f"spark.sql.catalog.{name}"
    if conf.get("spark.sql.extensions") != ICEBERG.extension:
        return f"spark.sql.extensions is not {ICEBERG.extension} alone"
    for key in conf:
        if key.startswith("spark.sql.") and not _HARMLESS.fullmatch(key):
            return f"{key} may change what a statement does"
        if key.startswith(f"{prefix}.") and _OF_TABLES.fullmatch(key.removeprefix(f"{prefix}.")):
            return f"PyIceberg does not support {key}"
    if conf.get(prefix) != _SPARK_CATALOG:
        return f"{name} is no catalog of the class {_SPARK_CATALOG}"
    try:
        place = _opening(catalog, name)
    except ConfigurationError as error:
        return error.message
    package = missing_package(place)
    return f"{package} is not installed" if package else None


def _opening(catalog: Catalog, name: str) -> PyIcebergSettings:
    """Return how PyIceberg opens one of the catalogs that the catalog file declares. Raises as `opening` does."""
    return opening(replace(catalog, store=replace(catalog.store, catalog=name)))
