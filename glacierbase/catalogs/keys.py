"""The keys of a catalog file: one table to check files, to read single values, and to write the reference from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from glacierbase.catalogs.values import (
    BOOLEAN,
    CATALOG_NAME,
    COORDINATE,
    ENVIRONMENT_NAME,
    HEADER_NAME,
    HOOK_TIMEOUT,
    LEASE,
    NAMESPACE,
    RULE_CODE,
    SEVERITY,
    SHA256,
    STORE_CATALOG,
    SWITCH,
    TEXT,
    WORDS,
    ValueType,
    one_of,
)


class Kind(str, Enum):
    """What may be written as the value of a key, in words."""

    VALUE = "a single value"
    VALUES = "keys with single values"
    KEYS = "keys with values"
    GROUP = "the keys below"
    LIST = "a list"
    MAPPINGS = "a list of keys with values"
    ENVIRONMENTS = "names, each with its keys"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a catalog file.

    Attributes:
        meaning: one sentence, for the reference.
        type: of a single value, or of the single values in a list.
        default: as it would be written; None where the key has no fixed default.
        keys: of a group, or of the mappings in a list.
        engine: the only `migrationExecutor.type` that the key is allowed for; None where all are.
        names: what a name is, in a mapping whose names the user chooses; None where it may be any.
        required: whether the mapping that the key belongs to must have it.
        resolved: whether references in the value are resolved.
        secrets: whether they may be references to secrets.
    """

    name: str
    meaning: str
    kind: Kind = Kind.VALUE
    type: ValueType = TEXT
    default: str | None = None
    keys: tuple[Key, ...] = ()
    engine: str | None = None
    names: ValueType | None = None
    required: bool = False
    resolved: bool = True
    secrets: bool = True


ENGINES = ("spark", "snowflake")
_DEPENDENCY = (
    Key("coordinate", "The jar, as group:artifact:version.", type=COORDINATE, required=True),
    Key("sha256", "The digest that the jar must have.", type=SHA256),
)
# These may be written in `conf` or beside it.
DEPENDENCY_KEYS = (
    Key(
        "dependencies",
        "Jars that Spark loads: Maven coordinates, or mappings of `coordinate` and `sha256`.",
        Kind.LIST,
        COORDINATE,
        keys=_DEPENDENCY,
        engine="spark",
    ),
    Key(
        "allowFloating",
        "Whether versions such as `latest.release` and `1.+`, which can resolve to another jar later, are allowed.",
        type=BOOLEAN,
        default="false",
        engine="spark",
    ),
)
CONF_KEYS = (
    Key("sparkConf", "Spark's configuration; values reach Spark as written.", Kind.VALUES, engine="spark"),
    *DEPENDENCY_KEYS,
    Key(
        "connection",
        "Keywords of the Snowflake connector, except `autocommit` and `paramstyle`.",
        Kind.KEYS,
        engine="snowflake",
    ),
)
_EXECUTOR_KEYS = (
    Key("type", "The engine that runs the migrations; required.", type=one_of(*ENGINES)),
    Key("conf", "The engine's configuration.", Kind.GROUP, keys=CONF_KEYS),
    *DEPENDENCY_KEYS,
)
_STORE_KEYS = (
    Key(
        "catalog",
        "The catalog of the history and lock tables; by default `spark.sql.defaultCatalog` or the connection's database, "
        "else the only catalog that `sparkConf` declares.",
        type=STORE_CATALOG,
    ),
    Key(
        "namespace",
        "The namespace of the history and lock tables; for Snowflake the name of a schema.",
        type=NAMESPACE,
        default="glacierbase",
    ),
    Key("lockLease", "How long a run keeps the lock without renewing it.", type=LEASE, default="60s"),
    Key(
        "type",
        "How the tables are accessed: `iceberg` through PyIceberg, `sql` through the engine, `auto` through PyIceberg "
        "where it supports the catalog.",
        type=one_of("auto", "iceberg", "sql"),
        default="auto",
    ),
)
_HOOK_KEYS = (
    Key(
        "beforeMigrate",
        "Runs before a run that has something to apply; if it fails, nothing runs.",
        Kind.LIST,
        secrets=False,
    ),
    Key("afterMigrate", "Runs after a run that had something to apply and succeeded.", Kind.LIST, secrets=False),
    Key("onFailure", "Runs after a run that failed.", Kind.LIST, secrets=False),
    Key("timeout", "How long each of them may run.", type=HOOK_TIMEOUT, default="30s"),
)
_LINT_KEYS = (
    Key(
        "rules",
        "Severities that differ from those of the rules, by the rule's code: `FL109: off`.",
        Kind.VALUES,
        SEVERITY,
        names=RULE_CODE,
        resolved=False,
    ),
    Key(
        "streaming",
        "Patterns of tables that streams read or write, such as `lake.events.*`; some findings about them are errors.",
        Kind.LIST,
        resolved=False,
    ),
)
_IGNORED_KEYS = (
    Key("table", "A pattern of table names, such as `lake.events.*`.", type=WORDS, required=True, resolved=False),
    Key(
        "what",
        "A pattern of what differs, such as `property write.*` or `column legacy`.",
        type=WORDS,
        default="*",
        resolved=False,
    ),
    Key("reason", "Why the difference is in order.", type=WORDS, required=True, resolved=False),
)
_DRIFT_KEYS = (
    Key(
        "ignore",
        "Differences between records and tables that are in order: mappings of `table`, `what` and `reason`.",
        Kind.MAPPINGS,
        keys=_IGNORED_KEYS,
        resolved=False,
    ),
)
_REVIEW_KEYS = (
    Key(
        "fixtures",
        "An SQL file of the project that creates the tables which no migration creates; the path is relative to the project.",
        engine="spark",
        secrets=False,
    ),
)
ENVIRONMENT_KEYS = (
    Key("migrationExecutor", "The engine and its configuration.", Kind.GROUP, keys=_EXECUTOR_KEYS),
    Key("variables", "Values for the templates of the migrations; secrets are refused.", Kind.KEYS, secrets=False),
    Key(
        "protected",
        "Whether commands that change the environment require its name as confirmation.",
        type=BOOLEAN,
        default="false",
    ),
    Key(
        "requirePlan",
        "Whether `migrate` runs only plan files, which `plan --output` writes.",
        type=BOOLEAN,
        default="false",
    ),
    Key(
        "outOfOrder",
        "Whether a version below an applied one runs without `--allow-out-of-order`.",
        type=one_of("refuse", "allow"),
        default="refuse",
    ),
    Key(
        "recover",
        "Whether `migrate` settles a statement of a dead run where its table proves the outcome, or leaves it to `repair`.",
        type=one_of("auto", "ask"),
        default="auto",
    ),
    Key(
        "record",
        "Whether the history records the shape of each table that a file changes, before and after the file.",
        type=SWITCH,
        default="on",
    ),
    Key("store", "Where the history and lock tables are, and how they are accessed.", Kind.GROUP, keys=_STORE_KEYS),
    Key("hooks", "Commands that run around `migrate`, each as a list of words.", Kind.GROUP, keys=_HOOK_KEYS),
    Key("lint", "What `lint` reports, and how severe it is.", Kind.GROUP, keys=_LINT_KEYS),
    Key("review", "What `review` replays on.", Kind.GROUP, keys=_REVIEW_KEYS),
    Key("drift", "What `drift` ignores.", Kind.GROUP, keys=_DRIFT_KEYS),
)
SHARED_KEYS = (
    *ENVIRONMENT_KEYS,
    Key(
        "headers",
        "Further headers that migration files may have: `TICKET: required` or `TICKET: optional` for `-- MIGRATION_TICKET:`. "
        "A required one is required of files that were never started.",
        Kind.VALUES,
        one_of("required", "optional"),
        names=HEADER_NAME,
        resolved=False,
    ),
    Key(
        "environments",
        "The environments; each merges over the keys of the file.",
        Kind.ENVIRONMENTS,
        names=ENVIRONMENT_NAME,
    ),
    Key(
        "defaultEnvironment",
        "The environment that is used where none is chosen.",
        type=ENVIRONMENT_NAME,
        resolved=False,
    ),
)
FILE_KEYS = (
    Key(
        "name",
        "The catalog's name in history and lock; by default the file's name without `.yaml`.",
        type=CATALOG_NAME,
        resolved=False,
    ),
    *SHARED_KEYS,
)


def walk(keys: Iterable[Key], above: str = "") -> Iterator[tuple[str, Key]]:
    """Yield all keys with their dotted paths, each before those below it; `[]` marks the items of a list."""
    for key in keys:
        path = f"{above}{key.name}"
        yield path, key
        yield from walk(key.keys, f"{path}[]." if key.kind in (Kind.LIST, Kind.MAPPINGS) else f"{path}.")


KEYS = dict(walk(FILE_KEYS))
