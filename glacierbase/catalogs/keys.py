"""The keys of a catalog file: one table from which files are checked, values are read, and the reference is generated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from glacierbase.catalogs.safe_store import DYNAMODB, EMBEDDED, IN_CATALOG
from glacierbase.catalogs.yamlfile import MappingNode, Node, ScalarNode, SequenceNode, is_null
from glacierbase.errors import ConfigurationError
from glacierbase.executors import OWN, EngineType, own_types
from glacierbase.model.keys import (
    BOOLEAN,
    CATALOG_NAME,
    DYNAMODB_TABLE,
    ENDPOINT,
    ENVIRONMENT_NAME,
    HEADER_NAME,
    HOOK_TIMEOUT,
    LEASE,
    NAMESPACE,
    RATE,
    REQUIREMENT,
    RULE_CODE,
    SEVERITY,
    STORE_CATALOG,
    SWITCH,
    WORDS,
    Key,
    Kind,
    ValueType,
    one_of,
)
from glacierbase.model.text import did_you_mean
from glacierbase.run.packages import EXECUTORS, STORES, names_in

# These may be written in `conf` or beside it.
BESIDE_CONF = ("dependencies", "allowFloating")
_STORE_TYPES = (*IN_CATALOG, EMBEDDED, DYNAMODB)
# Every migration is rendered in each environment.
_MOST_ENVIRONMENTS = 1_000


def _store_type(text: str) -> str:
    if text not in _STORE_TYPES and text not in names_in(STORES):
        raise ValueError(text)
    return text


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
        "where it can open the catalog; `embedded` keeps them in files of the project, for one machine, and `dynamodb` in the "
        "DynamoDB table that `table` names: both ignore `catalog` and `namespace`. A package may add others.",
        type=ValueType("auto or iceberg or sql or embedded or dynamodb", _store_type, {"enum": list(_STORE_TYPES)}),
        default="auto",
    ),
    Key(
        "table",
        "For `dynamodb`: the table, which the catalogs of an environment may share. The first `migrate` creates it.",
        type=DYNAMODB_TABLE,
    ),
    Key(
        "region",
        "For `dynamodb`: the region of the table; by default that of AWS_DEFAULT_REGION or of the profile.",
        type=WORDS,
    ),
    Key(
        "endpoint",
        "For `dynamodb`: the address of another server than that of AWS, such as DynamoDB Local.",
        type=ENDPOINT,
    ),
    Key("profile", "For `dynamodb`: the profile of AWS with the login; by default that of AWS_PROFILE.", type=WORDS),
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
_PEAK_KEYS = (
    Key(
        "peakPutPerSecond",
        "PUT requests per second to the data files of a table at their peak.",
        type=RATE,
        resolved=False,
    ),
    Key(
        "peakGetPerSecond",
        "GET requests per second to the data files of a table at their peak.",
        type=RATE,
        resolved=False,
    ),
)
_LAYOUT_KEYS = (
    *_PEAK_KEYS,
    Key(
        "tables",
        "The peaks of single tables: the first item that matches and has the rate decides, else the rate above.",
        Kind.MAPPINGS,
        keys=(
            Key(
                "table", "A pattern of table names, such as `lake.events.*`.", type=WORDS, required=True, resolved=False
            ),
            *_PEAK_KEYS,
        ),
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
_UNMANAGED_KEYS = (
    Key("pattern", "A pattern of table names, such as `lake.raw.*`.", type=WORDS, required=True, resolved=False),
    Key("reason", "Who changes these tables, and how.", type=WORDS, required=True, resolved=False),
)
_REVIEW_KEYS = (
    Key(
        "fixtures",
        "An SQL file of the project that creates the tables which no migration creates; the path is relative to the project.",
        engine="spark",
        secrets=False,
    ),
)
_PROBE_KEYS = (
    Key("credential", "The identity's client id and secret, as the catalog's `credential`.", engine="spark"),
    Key("token", "The identity's bearer token, as the catalog's `token`.", engine="spark"),
    Key("scope", "The scope of its login, as the catalog's `scope`; by default that of the catalog.", engine="spark"),
)
_ACCESS_KEYS = (
    Key(
        "probeAs",
        "How another identity logs in to a REST catalog: `doctor` tries whether it may change a table made for that.",
        Kind.GROUP,
        keys=_PROBE_KEYS,
        engine="spark",
    ),
)
_SETTINGS = (
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
    Key(
        "layout",
        "The load on the data files of each table, on which the severities of the rules `KL…` depend.",
        Kind.GROUP,
        keys=_LAYOUT_KEYS,
    ),
    Key("review", "What `review` replays on.", Kind.GROUP, keys=_REVIEW_KEYS),
    Key("drift", "What `drift` ignores.", Kind.GROUP, keys=_DRIFT_KEYS),
    Key(
        "managed",
        "Patterns of the tables that migrations manage, such as `lake.sales.*`; others are left to others. Default: all.",
        Kind.LIST,
        type=WORDS,
        resolved=False,
    ),
    Key(
        "unmanaged",
        "Tables that are left to others, such as ingestion that merges schemas: mappings of `pattern` and `reason`.",
        Kind.MAPPINGS,
        keys=_UNMANAGED_KEYS,
        resolved=False,
    ),
    Key("access", "Who else may change tables.", Kind.GROUP, keys=_ACCESS_KEYS),
)
_NAME = Key(
    "name",
    "The catalog's name in history and lock; by default the file's name without `.yaml`.",
    type=CATALOG_NAME,
    resolved=False,
)
_HEADERS = Key(
    "headers",
    "Further headers that migration files may have: `TICKET: required` or `TICKET: optional` for `-- MIGRATION_TICKET:`. "
    "A required one is required of files that were never started.",
    Kind.VALUES,
    one_of("required", "optional"),
    names=HEADER_NAME,
    resolved=False,
)
_VERSIONS = Key(
    "versions",
    "The versions that commands give to new files: `sequence` for 0001, 0002, …; `timestamp` for the UTC time. By default the "
    "versions continue those of the folder, and begin with 0001.",
    type=one_of("sequence", "timestamp"),
    resolved=False,
)
_DEFAULT_ENVIRONMENT = Key(
    "defaultEnvironment",
    "The environment that is used where none is chosen.",
    type=ENVIRONMENT_NAME,
    resolved=False,
)


def file_keys(engines: Iterable[EngineType]) -> tuple[Key, ...]:
    """Return the keys of a catalog file that may name one of these engines. `_shared.yaml` has all but the first."""
    executor = Key("migrationExecutor", "The engine and its configuration.", Kind.GROUP, keys=_executor_keys(engines))
    inside = (executor, *_SETTINGS)
    environments = Key(
        "environments",
        "The environments; each merges over the keys of the file.",
        Kind.ENVIRONMENTS,
        keys=inside,
        names=ENVIRONMENT_NAME,
    )
    return (_NAME, *inside, _HEADERS, _VERSIONS, environments, _DEFAULT_ENVIRONMENT)


def _executor_keys(engines: Iterable[EngineType]) -> tuple[Key, ...]:
    names: list[str] = []
    conf: dict[str, Key] = {}
    for engine in engines:
        names.append(engine.name)
        for key in engine.keys:
            conf.setdefault(key.name, replace(key, engine=engine.name))
    return (
        Key("type", "The engine that runs the migrations; required.", type=one_of(*names)),
        Key("conf", "The engine's configuration.", Kind.GROUP, keys=tuple(conf.values())),
        *(conf[name] for name in BESIDE_CONF),
        Key(
            "direct",
            "Whether files of plain Iceberg DDL run without Spark.",
            type=one_of("auto", "never"),
            default="never",
            resolved=False,
        ),
        Key(
            "python",
            "The Python that the engine runs with, where it is not that of glacierbase: a path.",
            type=WORDS,  # Empty, as from an empty variable, would mean the Python of glacierbase.
            secrets=False,
        ),
        Key(
            "packages",
            "The packages that the engine runs with, where they are not those of glacierbase: the command `env` installs "
            "them in a virtual environment.",
            Kind.LIST,
            type=REQUIREMENT,
            resolved=False,
        ),
    )


def walk(keys: Iterable[Key], above: str = "") -> Iterator[tuple[str, Key]]:
    """Yield all keys with their dotted paths, each before the keys below it; `[]` marks the items of a list.

    The keys of an environment, which are keys of the file too, are left out.
    """
    for key in keys:
        path = f"{above}{key.name}"
        yield path, key
        if key.kind is not Kind.ENVIRONMENTS:
            yield from walk(key.keys, f"{path}[]." if key.kind in (Kind.LIST, Kind.MAPPINGS) else f"{path}.")


# The keys of a file that names an engine of glacierbase.
FILE_KEYS = file_keys(own_types())
KEYS = dict(walk(FILE_KEYS))


def wrong_keys(node: Node, keys: Sequence[Key], path: str = "") -> Iterator[ConfigurationError]:
    """Yield an error for each unknown key and each value of the wrong kind; null is allowed for every key.

    Args:
        path: the path of the keys that lead to `node`.
    """
    if is_null(node):
        return
    if not isinstance(node, MappingNode):
        yield _wrong_kind(node, path, f"keys are expected here: {', '.join(key.name for key in keys)}")
        return
    known = {key.name: key for key in keys}
    for name, value in node.values.items():
        if name in known:
            yield from _wrong_value(value, known[name], f"{path}.{name}".lstrip("."))
        else:
            yield _unknown_key(name, node, list(known), path)


def unknown_engine(written: ScalarNode) -> ConfigurationError:
    """Return the error for a type of engine that neither glacierbase nor an installed package has."""
    what = f"migrationExecutor.type: {written.text!r} is not {' or '.join((*OWN, *names_in(EXECUTORS)))}"
    hint = f"correct the value, or install the package that adds it by an entry point of the group {EXECUTORS}"
    return written.place.error("INVALID_VALUE", what, hint)


def _wrong_value(node: Node, key: Key, path: str) -> Iterator[ConfigurationError]:
    if key.kind is Kind.GROUP:
        yield from wrong_keys(node, key.keys, path)
    elif key.kind is Kind.ENVIRONMENTS:
        yield from _wrong_environments(node, key.keys)
    elif not is_null(node) and not _is_of_kind(node, key.kind):
        yield _wrong_kind(node, path, f"{key.kind} is expected here{_as_list(node, key.kind)}")
    elif isinstance(node, SequenceNode):
        for item in node.items:
            if key.kind is Kind.MAPPINGS or is_null(item) or not isinstance(item, ScalarNode):
                yield from _wrong_item(item, key, path)


def _wrong_item(item: Node, key: Key, path: str) -> Iterator[ConfigurationError]:
    if key.keys:
        yield from wrong_keys(item, key.keys, path)
    else:
        yield _wrong_kind(item, path, "a list of single values is expected here")


def _as_list(node: Node, kind: Kind) -> str:
    """Return the start of a single value as a list; its other words may hold a secret."""
    if kind is not Kind.LIST or not isinstance(node, ScalarNode):
        return ""
    first, *others = node.text.split() or [""]
    return f": [{first}{', …' if others else ''}]"


def _wrong_environments(node: Node, keys: Sequence[Key]) -> Iterator[ConfigurationError]:
    if is_null(node):
        return
    if not isinstance(node, MappingNode):
        yield _wrong_kind(
            node, "environments", f"{Kind.ENVIRONMENTS} are expected here, as in {{dev: {{}}, prod: {{}}}}"
        )
        return
    if len(node.values) > _MOST_ENVIRONMENTS:
        what = f"environments: there are {len(node.values)}, and at most {_MOST_ENVIRONMENTS} are possible"
        yield node.place.error("INVALID_VALUE", what, "write what differs into `variables`")
    for name, content in node.values.items():
        try:
            ENVIRONMENT_NAME.convert(name)
        except ValueError:
            what = f"{name!r} cannot be an environment's name"
            yield node.keys[name].error("INVALID_NAME", what, "use letters, digits, . _ and -")
        else:
            yield from wrong_keys(content, keys, f"environments.{name}")


def _is_of_kind(node: Node, kind: Kind) -> bool:
    if kind is Kind.VALUE:
        return isinstance(node, ScalarNode)
    if kind in (Kind.LIST, Kind.MAPPINGS):
        return isinstance(node, SequenceNode)
    return isinstance(node, MappingNode) and (
        kind is Kind.KEYS or all(isinstance(value, ScalarNode) for value in node.values.values())
    )


def _unknown_key(name: str, node: MappingNode, known: Sequence[str], path: str) -> ConfigurationError:
    where = f" under {path}" if path else ""
    hint = did_you_mean(name, known, f"allowed: {', '.join(known)}")
    return node.keys[name].error("UNKNOWN_KEY", f"unknown key {name}{where}", hint)


def _wrong_kind(node: Node, path: str, expected: str) -> ConfigurationError:
    return node.place.error("INVALID_VALUE", f"{path or 'the file'}: wrong kind of value", expected)
