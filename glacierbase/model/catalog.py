"""The noun `Catalog`: one catalog in one environment, read from its file and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from glacierbase.model.names import matches

# The folder of embedded stores in a project.
EMBEDDED_FOLDER = ".glacierbase/store"


@dataclass(frozen=True, slots=True)
class AwsPlace:
    """A service of AWS, and the login to it; None where the environment of the process decides."""

    region: str | None = None
    endpoint: str | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Where the history and lock tables are, and how they are accessed.

    Attributes:
        catalog: its name in the engine.
        namespace: of the two tables; of a store in DynamoDB, the name of its table.
        lease_seconds: how long a run keeps the lock without renewing it.
        type: `iceberg` through PyIceberg, `sql` through the engine, `auto` through PyIceberg where it can open the catalog,
            `embedded` in files of the project, `dynamodb` in a table of DynamoDB.
        folder: of an embedded store, that folder; else None.
        is_chosen: whether the catalog file names the catalog in `store.catalog`.
        aws: of a store in DynamoDB, where that is; else None.
    """

    catalog: str
    namespace: str
    lease_seconds: float
    type: str = "auto"
    folder: Path | None = None
    is_chosen: bool = False
    aws: AwsPlace | None = None

    @property
    def is_in_catalog(self) -> bool:
        """Whether the tables are in a catalog of the engine, which has rights on them."""
        return self.folder is None and self.aws is None

    @property
    def place(self) -> str:
        """Where the tables are, in messages."""
        if self.aws is not None:
            return f"the DynamoDB table {self.namespace}"
        return f"{self.catalog}.{self.namespace}" if self.folder is None else str(self.folder)


@dataclass(frozen=True, slots=True)
class Hooks:
    """The commands that run around `migrate`, each as a list of words; empty without a command.

    Attributes:
        timeout_seconds: the time limit of each command.
    """

    before_migrate: tuple[str, ...] = ()
    after_migrate: tuple[str, ...] = ()
    on_failure: tuple[str, ...] = ()
    timeout_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class LintOptions:
    """What `lint` reports.

    Attributes:
        severities: by the code of a rule: `off`, `note`, `warning` or `error`; only where they differ from those of the rules.
        places: file and line of each severity.
        streaming: patterns of tables that streams read or write.
    """

    severities: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    streaming: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Peak:
    """The declared peak of requests to the data files of a table.

    Attributes:
        put, get: per second; None where it is not known. 0 where there are none.
    """

    put: float | None = None
    get: float | None = None


@dataclass(frozen=True, slots=True)
class LayoutOptions:
    """The declared peaks of the tables of a catalog.

    Attributes:
        peaks: pairs of a pattern of qualified names, in any case of letters, and a peak; that of all tables last.
    """

    peaks: tuple[tuple[str, Peak], ...] = ()

    def peak_of(self, table: str) -> Peak:
        """Return the peak of a table by its qualified name: each rate is that of the first matching pattern which has it."""
        matching = [peak for pattern, peak in self.peaks if matches(table, pattern)]
        puts, gets = (peak.put for peak in matching), (peak.get for peak in matching)
        return Peak(*(next((rate for rate in rates if rate is not None), None) for rates in (puts, gets)))


@dataclass(frozen=True, slots=True)
class DriftRule:
    """Differences that `drift` reports as ignored.

    Attributes:
        table: a pattern of names, which ignores case.
        what: a pattern of subjects, such as `property write.*`.
    """

    table: str
    what: str
    reason: str

    def matches(self, table: str, what: str) -> bool:
        """Return whether the rule is about a difference of a table."""
        return matches(table, self.table) and fnmatchcase(what, self.what)


@dataclass(frozen=True, slots=True)
class UnmanagedTables:
    """Tables that are left to others.

    Attributes:
        pattern: of qualified names; capitals do not matter.
    """

    pattern: str
    reason: str


@dataclass(frozen=True, slots=True)
class Management:
    """Which tables the migrations of a catalog manage.

    Attributes:
        managed: patterns of qualified names; none for all tables.
        unmanaged: the tables that are left to others.
    """

    managed: tuple[str, ...] = ()
    unmanaged: tuple[UnmanagedTables, ...] = ()

    def why_unmanaged(self, table: str) -> str | None:
        """Return why a table, by its qualified name, is left to others; None for one that migrations manage."""
        rule = next((rule for rule in self.unmanaged if matches(table, rule.pattern)), None)
        if rule is not None:
            return rule.reason
        if self.managed and not any(matches(table, pattern) for pattern in self.managed):
            return "no pattern of `managed` fits it"
        return None


@dataclass(frozen=True, slots=True)
class Catalog:
    """One catalog in one environment, its references resolved.

    Attributes:
        name: the identity in history and lock.
        stem: the stem of its file, and the name of its migrations folder.
        protected: whether changing the environment requires its name as confirmation.
        executor_type: the type of the engine that runs its migrations.
        dialect: the dialect of its migrations.
        spark_conf: for Spark, values as written.
        dependencies: for Spark, Maven coordinates.
        digests: pairs of a coordinate and the SHA-256 that its jar must have.
        dependency_places: file and line of each coordinate.
        connection: for Snowflake, keywords of the connector.
        conf: for an engine that a package adds, the values of its keys; absent keys without a default are left out.
        out_of_order_allowed: whether a version below an applied one runs without `--allow-out-of-order`.
        required_headers: names of the further headers that migration files must have.
        versions: how new files are numbered: `sequence`, `timestamp`, or None for as the others in the folder.
        plan_required: whether `migrate` runs only plan files.
        recovers: whether `migrate` settles a statement of a dead run where its table proves the outcome.
        records_tables: whether the shapes of the tables that a file changes are recorded.
        layout: the declared peaks of requests to the files of its tables.
        drift_rules: differences between records and tables that `drift` ignores.
        management: which tables its migrations manage.
        probe_as: for Spark, how another identity logs in to a REST catalog, with which `doctor` tries what it may change.
        fixtures: the path of an SQL file with tables that no migration creates, relative to the project; None without one.
        python: the Python that the engine runs with, as a path; None for this one, or for that of `packages`.
        is_direct: for Spark, whether files of plain Iceberg DDL run without it.
        packages: the requirements, by PEP 508, of the virtual environment that the engine runs with; empty without one.
    """

    name: str
    file: Path
    stem: str
    environment: str
    protected: bool
    executor_type: str
    dialect: str
    spark_conf: Mapping[str, str] = field(repr=False)
    dependencies: tuple[str, ...]
    connection: Mapping[str, Any] = field(repr=False)
    variables: Mapping[str, Any] = field(repr=False)
    out_of_order_allowed: bool
    store: StoreOptions
    digests: tuple[tuple[str, str], ...] = ()
    recovers: bool = True
    records_tables: bool = True
    plan_required: bool = False
    conf: Mapping[str, Any] = field(default_factory=dict, repr=False)
    dependency_places: Mapping[str, tuple[str, int]] = field(default_factory=dict, repr=False)
    hooks: Hooks = field(default_factory=Hooks, repr=False)
    required_headers: tuple[str, ...] = ()
    versions: str | None = None
    lint: LintOptions = field(default_factory=LintOptions, repr=False)
    layout: LayoutOptions = field(default_factory=LayoutOptions, repr=False)
    fixtures: str | None = None
    drift_rules: tuple[DriftRule, ...] = ()
    management: Management = field(default_factory=Management)
    probe_as: Mapping[str, str] = field(default_factory=dict, repr=False)
    python: str | None = None
    packages: tuple[str, ...] = ()
    is_direct: bool = False
