"""One environment of a catalog file: its merged content, read and checked with its references resolved."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Mapping as Values
from contextlib import suppress
from pathlib import Path
from typing import Any

from glacierbase.catalogs.dependencies import Dependencies, DependencyReader
from glacierbase.catalogs.references import References, resolved
from glacierbase.catalogs.values import (
    STORE_NAMESPACES,
    boolean,
    lease,
    one_of,
    store_catalog,
)
from glacierbase.catalogs.yamlfile import MOST_ERRORS, Mapping, Node, Scalar, Sequence
from glacierbase.errors import GlacierbaseError, collected, raise_all
from glacierbase.model.catalog import Catalog, StoreOptions

_SPARK_CATALOG = re.compile(r"spark\.sql\.catalog\.([^.]+)")
# The keys under migrationExecutor.conf that each engine reads.
_CONF_KEYS = {"spark": ("sparkConf", "dependencies", "allowFloating"), "snowflake": ("connection",)}
# The key under `conf` that names the engine's own default catalog.
_DEFAULT_CATALOG = {"spark": ("sparkConf", "spark.sql.defaultCatalog"), "snowflake": ("connection", "database")}
# Keywords of the connector that are not a matter of taste: what a statement did is recorded when it returns.
_NOT_CHOSEN = ("autocommit", "paramstyle")


class EnvironmentReader:
    """Reads one environment's content, with its references resolved; collects what is wrong."""

    def __init__(self, content: Mapping, variables: Mapping, references: References) -> None:
        self._content = content
        self._variables = variables
        self._references = references
        self._errors: list[GlacierbaseError] = []

    def is_protected(self) -> bool:
        return bool(self._option("protected", boolean, False))

    def catalog(self, file: Path, name: str, environment: str) -> Catalog:
        executor_type = self._executor_type()
        self._check_conf(executor_type)
        spark_conf, connection = self._spark_conf(), self._connection()
        dependencies = self._dependencies(spark_conf)
        made = Catalog(
            name=name,
            file=file,
            stem=file.stem,
            environment=environment,
            protected=self.is_protected(),
            executor_type=executor_type,
            spark_conf=spark_conf,
            dependencies=dependencies.coordinates,
            connection=connection,
            variables=resolved(self._variables, self._references, self._errors),
            out_of_order_allowed=self._option("outOfOrder", one_of("refuse", "allow"), "refuse") == "allow",
            digests=dependencies.digests,
            store=StoreOptions(
                catalog=self._store_catalog(executor_type, spark_conf, connection),
                namespace=self._option("store.namespace", STORE_NAMESPACES[executor_type], "glacierbase"),
                lease_seconds=self._option("store.lockLease", lease, 60.0),
                type=self._option("store.type", one_of("auto", "iceberg", "sql"), "auto"),
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
        return str(self._option(path, one_of(*_CONF_KEYS), default))

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
        floating_allowed = self._option("migrationExecutor.conf.allowFloating", boolean, False)
        reader = DependencyReader(self._references, self._errors, floating_allowed=floating_allowed)
        reader.check(self._content.get("migrationExecutor", "conf", "sparkConf"), spark_conf)
        return reader.read(self._content.get("migrationExecutor", "conf", "dependencies"))

    def _store_catalog(self, executor_type: str, spark_conf: Values[str, str], connection: Values[str, Any]) -> str:
        """The catalog that `store.catalog` names, else the engine's default, else the only one that is declared."""
        if self._content.get("store", "catalog"):
            return str(self._option("store.catalog", store_catalog, ""))
        section, key = _DEFAULT_CATALOG[executor_type]
        values = connection if executor_type == "snowflake" else spark_conf
        node = self._content.get("migrationExecutor", "conf", section, key)
        if isinstance(node, Scalar) and isinstance(values.get(key), str):
            return str(self._parsed(node, f"{section}.{key}", store_catalog, ""))
        declared = [found[1] for name in spark_conf if (found := _SPARK_CATALOG.fullmatch(name))]
        if len(declared) == 1:
            with suppress(ValueError):
                return store_catalog(declared[0])
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
