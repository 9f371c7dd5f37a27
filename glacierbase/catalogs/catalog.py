"""Catalog files: what stands in them, one catalog in one environment, and what is wrong with them.

A file is checked as far as it can be without choosing an environment when it is loaded; its references are resolved, and the
values behind them checked, for the chosen environment alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from collections.abc import Mapping as Values
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import reduce
from pathlib import Path
from typing import Any

from glacierbase.catalogs.catalogfile import SHARED, catalog_name, load_catalog_file
from glacierbase.catalogs.dependencies import Dependencies, DependencyReader
from glacierbase.catalogs.outside import Outside, Placeholders, Reader
from glacierbase.catalogs.references import References, resolved
from glacierbase.catalogs.yamlfile import (
    MOST_ERRORS,
    Mapping,
    Node,
    Place,
    Scalar,
    Sequence,
    is_null,
    merge,
    yaml_files,
)
from glacierbase.errors import GlacierbaseError, collected, raise_all

DEFAULT_ENVIRONMENT = "default"

_NAMESPACE = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STORE_CATALOG = re.compile(rf'{_NAMESPACE.pattern}|"[^"\x00-\x1f\x7f]+"')
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SHORTEST_LEASE, _LONGEST_LEASE = 1.0, 86_400.0
_SPARK_CATALOG = re.compile(r"spark\.sql\.catalog\.([^.]+)")
# Names to choose the nearest one of, in every catalog of a project: each comparison takes milliseconds where they are long.
_MOST_COMPARED = 20
# The keys under migrationExecutor.conf that each engine reads.
_CONF_KEYS = {"spark": ("sparkConf", "dependencies", "allowFloating"), "snowflake": ("connection",)}
# The key under `conf` that names the engine's own default catalog.
_DEFAULT_CATALOG = {"spark": ("sparkConf", "spark.sql.defaultCatalog"), "snowflake": ("connection", "database")}
# Keywords of the connector that are not a matter of taste: what a statement did is recorded when it returns.
_NOT_CHOSEN = ("autocommit", "paramstyle")


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Where history and lock live, and how long a silent run keeps its lock.

    Attributes:
        catalog: as the engine knows it.
        type: `iceberg` past the engine, `sql` through it, `auto` whichever can.
    """

    catalog: str
    namespace: str
    lease_seconds: float
    type: str = "auto"


@dataclass(frozen=True, slots=True)
class Catalog:
    """One catalog in one environment, its references resolved.

    Attributes:
        name: the identity in history and lock.
        stem: of its file, which is also the name of its migrations folder.
        protected: whether a person must name the environment before it is changed.
        executor_type: which engine runs its migrations.
        spark_conf: for Spark, as written.
        dependencies: for Spark, Maven coordinates.
        digests: pairs of one of them and the SHA-256 that its jar must have.
        connection: for Snowflake, keywords of its connector, as written.
        out_of_order_allowed: whether a version below an applied one runs without being asked for.
    """

    name: str
    file: Path
    stem: str
    environment: str
    protected: bool
    executor_type: str
    spark_conf: Values[str, str] = field(repr=False)
    dependencies: tuple[str, ...]
    connection: Values[str, Any] = field(repr=False)
    variables: Values[str, Any] = field(repr=False)
    out_of_order_allowed: bool
    store: StoreOptions
    digests: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """One catalog file. `layers` are what its values come from: the shared file's content, then its own."""

    path: Path
    name: str
    environments: tuple[str, ...]
    default_environment: str | None
    layers: tuple[Mapping, ...] = field(repr=False)

    @property
    def stem(self) -> str:
        return self.path.stem

    def for_environment(self, environment: str, root: Path, *, resolve: bool = True) -> Catalog:
        """The catalog in one of its environments; references to what other environments need are not resolved.

        Args:
            resolve: read environment variables and files; else placeholders stand for them, and no check fails because of one.

        Raises:
            ConfigurationError, SeveralErrors: `UNSET_REFERENCE`, `INVALID_VALUE` and the like, all of them.
        """
        return self._reader(environment, root, Reader(root) if resolve else Placeholders()).catalog(self, environment)

    def is_protected(self, environment: str, root: Path) -> bool:
        """Whether a person must name the environment before it is changed; of a file that is wrong, `for_environment` tells."""
        return self._reader(environment, root, Reader(root)).is_protected()

    def _reader(self, environment: str, root: Path, outside: Outside) -> _Reader:
        inside = (layer.get("environments", environment) for layer in self.layers)
        over = (*self.layers, *(node for node in inside if isinstance(node, Mapping)))
        content = reduce(merge, over, Mapping({}, over[-1].place))
        names = {"environment": environment, "catalog": self.name, "projectRoot": str(root)}
        variables = content.get("variables")
        if not isinstance(variables, Mapping):
            variables = Mapping({}, content.place)
        return _Reader(content, variables, References(names, variables, outside))


def load_catalog_files(folder: Path, root: Path) -> tuple[CatalogFile, ...]:
    """Read all catalog files of a project, by name.

    Raises:
        ConfigurationError, SeveralErrors: all that is wrong in all of them.
    """
    errors: list[GlacierbaseError] = []
    files = yaml_files(root)
    shared = Mapping({}, Place(SHARED, 1))
    found: dict[str, CatalogFile] = {}
    paths = sorted(
        path for path in folder.iterdir() if path.suffix.lower() in (".yaml", ".yml") and path.name[0] != "."
    )
    # The shared one first: the others merge over it.
    for path in sorted(paths, key=lambda path: path.name != SHARED):
        location = path.relative_to(root).as_posix()
        with collected(errors):
            if path.suffix != ".yaml":
                raise Place(location, 1).error(
                    "MISNAMED_FILE",
                    "catalog files end in .yaml",
                    f"git mv {location} {location.removesuffix(path.suffix)}.yaml",
                )
            content = load_catalog_file(path, location, files)
            if path.name == SHARED:
                shared = content
                continue
            file = _catalog_file(path, location, shared, content)
            if file.name in found:
                what = f"its name {file.name} is also that of {found[file.name].path.name}"
                raise content.place.error("DUPLICATE_CATALOG", what, "give one of them another `name`")
            found[file.name] = file
    raise_all(errors)
    return tuple(found[name] for name in sorted(found))


def parse_duration(text: str) -> float:
    """Seconds of a duration such as `500ms`, `30s`, `5m` or `1h`.

    Raises:
        ValueError: it is none.
    """
    found = _DURATION.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is not a duration such as 30s, 5m or 1h")
    return float(found[1]) * _SECONDS[found[2]]


def _catalog_file(path: Path, location: str, shared: Mapping, content: Mapping) -> CatalogFile:
    """The file over the shared one, with what can be said before an environment is chosen."""
    name = catalog_name(content, path.stem, location)
    names = _environments((shared, content)) or (DEFAULT_ENVIRONMENT,)
    default = merge(shared, content).get("defaultEnvironment")
    chosen = default.text if isinstance(default, Scalar) else None
    if default and chosen not in names:
        raise default.place.error(
            "INVALID_VALUE",
            f"defaultEnvironment: there is no environment {chosen}",
            _instead(chosen or "", names),
        )
    return CatalogFile(path, name, names, chosen, (shared, content))


def _instead(chosen: str, names: tuple[str, ...]) -> str:
    if len(names) > _MOST_COMPARED:
        return f"there are: {', '.join(names[:_MOST_COMPARED])} and {len(names) - _MOST_COMPARED} more"
    near = get_close_matches(chosen, names, n=1)
    return f"did you mean {near[0]}?" if near else f"there are: {', '.join(names)}"


def _environments(layers: Iterable[Mapping]) -> tuple[str, ...]:
    """The names that a catalog has; null takes a shared one away, and is otherwise one without keys of its own."""
    found: dict[str, None] = {}
    for layer in layers:
        environments = layer.get("environments")
        for name, node in environments.values.items() if isinstance(environments, Mapping) else ():
            if is_null(node) and name in found:
                del found[name]
            else:
                found[name] = None
    return tuple(found)


class _Reader:
    """Reads one environment's content, with its references resolved; collects what is wrong."""

    def __init__(self, content: Mapping, variables: Mapping, references: References) -> None:
        self._content = content
        self._variables = variables
        self._references = references
        self._errors: list[GlacierbaseError] = []

    def is_protected(self) -> bool:
        return bool(self._option("protected", _boolean, False))

    def catalog(self, file: CatalogFile, environment: str) -> Catalog:
        executor_type = self._executor_type()
        self._check_conf(executor_type)
        spark_conf, connection = self._spark_conf(), self._connection()
        dependencies = self._dependencies(spark_conf)
        made = Catalog(
            name=file.name,
            file=file.path,
            stem=file.stem,
            environment=environment,
            protected=self.is_protected(),
            executor_type=executor_type,
            spark_conf=spark_conf,
            dependencies=dependencies.coordinates,
            connection=connection,
            variables=resolved(self._variables, self._references, self._errors),
            out_of_order_allowed=self._option("outOfOrder", _choice("refuse", "allow"), "refuse") == "allow",
            digests=dependencies.digests,
            store=StoreOptions(
                catalog=self._store_catalog(executor_type, spark_conf, connection),
                namespace=self._option("store.namespace", _NAMESPACES[executor_type], "glacierbase"),
                lease_seconds=self._option("store.lockLease", _lease, 60.0),
                type=self._option("store.type", _choice("auto", "iceberg", "sql"), "auto"),
            ),
        )
        raise_all(self._errors[:MOST_ERRORS])
        return made

    def _option(self, path: str, parse: Callable[[str], Any], default: Any) -> Any:
        """The value behind a dotted path of keys, parsed; `default` where there is none, or a wrong one."""
        node = self._content.get(*path.split("."))
        return self._parsed(node, path, parse, default) if isinstance(node, Scalar) else default

    def _parsed(self, node: Scalar, name: str, parse: Callable[[str], Any], default: Any) -> Any:
        """The value of `name`, parsed; `default` where it is wrong, or not known because a reference was not read."""
        with collected(self._errors):
            return self._references.parsed(node, name, parse, default)
        return default

    def _executor_type(self) -> str:
        path = "migrationExecutor.type"
        if self._content.get(*path.split(".")) is None:
            what = f"{path} is missing"
            self._errors.append(
                self._content.place.error(
                    "MISSING_KEY", what, f"say which engine runs the migrations: {' or '.join(_CONF_KEYS)}"
                )
            )
        # Where the type was not read, the keys beside it tell.
        default = "snowflake" if self._content.get("migrationExecutor", "conf", "connection") else "spark"
        return str(self._option(path, _choice(*_CONF_KEYS), default))

    def _check_conf(self, executor_type: str) -> None:
        """Another engine's keys would be read by nobody."""
        conf = self._content.get("migrationExecutor", "conf")
        if not isinstance(conf, Mapping) or self._errors:
            return
        known = _CONF_KEYS[executor_type]
        self._errors += [
            place.error("UNKNOWN_KEY", f"{key} means nothing to {executor_type}", f"it reads {', '.join(known)}")
            for key, place in conf.keys.items()
            if key not in known
        ]

    def _spark_conf(self) -> dict[str, str]:
        node = self._content.get("migrationExecutor", "conf", "sparkConf")
        found: dict[str, str] = {}
        if isinstance(node, Mapping):
            for key, value in node.values.items():
                with collected(self._errors):
                    assert isinstance(value, Scalar)
                    found[key] = self._references.text(value, key)
        return found

    def _connection(self) -> dict[str, Any]:
        node = self._content.get("migrationExecutor", "conf", "connection")
        if not isinstance(node, Mapping):
            return {}
        for key in _NOT_CHOSEN:
            if key in node.values:
                what = f"connection: {key} is not to be chosen: every statement takes effect when it has run"
                self._errors.append(node.keys[key].error("INVALID_VALUE", what, "remove it"))
        return {key: self._keyword(key, value) for key, value in node.values.items()}

    def _keyword(self, key: str, node: Node) -> Any:
        """A keyword's value with the type it has in YAML, its references resolved."""
        if isinstance(node, Mapping):
            return {inner: self._keyword(f"{key}.{inner}", value) for inner, value in node.values.items()}
        if isinstance(node, Sequence):
            return [self._keyword(key, item) for item in node.items]
        with collected(self._errors):
            text = self._references.text(node, key)
            return text if isinstance(node.value, str) else node.value
        return None

    def _dependencies(self, spark_conf: Values[str, str]) -> Dependencies:
        floating_allowed = self._option("migrationExecutor.conf.allowFloating", _boolean, False)
        reader = DependencyReader(self._references, self._errors, floating_allowed=floating_allowed)
        reader.check(self._content.get("migrationExecutor", "conf", "sparkConf"), spark_conf)
        return reader.read(self._content.get("migrationExecutor", "conf", "dependencies"))

    def _store_catalog(self, executor_type: str, spark_conf: Values[str, str], connection: Values[str, Any]) -> str:
        """The catalog that `store.catalog` names, else the engine's default, else the only one that is declared."""
        parse = _matching(_STORE_CATALOG, "the name of a catalog")
        if self._content.get("store", "catalog"):
            return str(self._option("store.catalog", parse, ""))
        section, key = _DEFAULT_CATALOG[executor_type]
        values = connection if executor_type == "snowflake" else spark_conf
        node = self._content.get("migrationExecutor", "conf", section, key)
        if isinstance(node, Scalar) and isinstance(values.get(key), str):
            return str(self._parsed(node, f"{section}.{key}", parse, ""))
        declared = [found[1] for name in spark_conf if (found := _SPARK_CATALOG.fullmatch(name))]
        if len(declared) == 1 and _STORE_CATALOG.fullmatch(declared[0]):
            return declared[0]
        if not self._errors:
            what = "names no database" if executor_type == "snowflake" else f"declares {', '.join(declared) or 'none'}"
            self._errors.append(
                self._content.place.error(
                    "STORE_CATALOG_UNCLEAR",
                    f"in which catalog history and lock live is not said; {section} {what}",
                    f"write `store: {{catalog: NAME}}`, or set {section}.{key}",
                )
            )
        return ""


def _boolean(text: str) -> bool:
    return _choice("true", "false")(text.lower()) == "true"


def _choice(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(" or ".join(allowed))
        return text

    return parse


def _matching(pattern: re.Pattern[str], what: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(what)
        return text

    return parse


_NAMESPACES = {
    "spark": _matching(_NAMESPACE, "names joined by dots"),
    "snowflake": _matching(_SCHEMA, "the name of a schema"),
}


def _lease(text: str) -> float:
    what = "a duration from 1s to 24h"
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise ValueError(what) from error
    if not _SHORTEST_LEASE <= seconds <= _LONGEST_LEASE:
        raise ValueError(what)
    return seconds
