"""One environment of a catalog file: its merged content, with references resolved, as a `Catalog`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from glacierbase.catalogs.blocks import drift_rules, layout_options, lint_options, management
from glacierbase.catalogs.declared_catalogs import wrong_catalogs, wrong_properties
from glacierbase.catalogs.dependencies import Dependencies, DependencyReader
from glacierbase.catalogs.keys import KEYS, unknown_engine
from glacierbase.catalogs.references import References, resolved, with_unset_joined
from glacierbase.catalogs.safe_store import CHOICES, DYNAMODB, EMBEDDED, SHARED_STORE, why_unsafe
from glacierbase.catalogs.yamlfile import MOST_ERRORS, MappingNode, Node, ScalarNode, SequenceNode
from glacierbase.errors import GlacierbaseError, collected, raise_all
from glacierbase.executors import OWN, EngineType, engine_type, engine_types, own_types
from glacierbase.model.catalog import (
    EMBEDDED_FOLDER,
    AwsPlace,
    Catalog,
    DriftRule,
    Hooks,
    LayoutOptions,
    LintOptions,
    Management,
    StoreOptions,
)
from glacierbase.model.keys import REQUIREMENT, STORE_CATALOG, Kind, ValueType
from glacierbase.run.packages import EXECUTORS, names_in
from glacierbase.sql.dialects import SUBSTITUTES
from glacierbase.sql.qualified import DECLARED

# Keys that are attributes of `Catalog`.
_OWN_KEYS = ("sparkConf", "dependencies", "allowFloating", "connection")


class EnvironmentReader:
    """Read one environment's content with its references resolved, and collect all errors in it."""

    def __init__(self, content: MappingNode, variables: MappingNode, references: References) -> None:
        self._content = content
        self._variables = variables
        self._references = references
        self._errors: list[GlacierbaseError] = []

    def is_protected(self) -> bool:
        return bool(self._option("protected"))

    def catalog(self, file: Path, name: str, environment: str) -> Catalog:
        """Return the catalog.

        Raises:
            ConfigurationError, SeveralErrors: all errors, at most a hundred.
        """
        engine = self._engine()
        self._check_conf(engine)
        connection, conf = self._connection(), self._conf(engine)
        spark_conf = {**engine.implied_conf(conf), **self._spark_conf()}
        dependencies = self._dependencies(spark_conf)
        catalog = Catalog(
            name=name,
            file=file,
            stem=file.stem,
            environment=environment,
            protected=self.is_protected(),
            executor_type=engine.name,
            dialect=engine.dialect,
            conf=conf,
            spark_conf=spark_conf,
            dependencies=dependencies.coordinates,
            connection=connection,
            variables=resolved(self._variables, self._references, self._errors),
            out_of_order_allowed=self._option("outOfOrder") == "allow",
            digests=dependencies.digests,
            recovers=self._option("recover") == "auto",
            records_tables=bool(self._option("record")),
            plan_required=bool(self._option("requirePlan")),
            dependency_places=dependencies.places,
            store=self._store(file, environment, engine, {**conf, "sparkConf": spark_conf, "connection": connection}),
            hooks=self._hooks(),
            lint=self._lint(),
            layout=self._layout(),
            fixtures=self._option("review.fixtures"),
            drift_rules=self._drift_rules(),
            management=self._management(),
            probe_as=self._probe_as(),
            python=self._option("migrationExecutor.python"),
            packages=self._packages(),
            is_direct=self._option("migrationExecutor.direct") == "auto",
        )
        self._check_embedded(catalog)
        raise_all(with_unset_joined(self._errors)[:MOST_ERRORS])
        return catalog

    def _option(self, path: str, value_type: ValueType | None = None) -> Any:
        """Return the value at a dotted path of keys; the default where it is absent, wrong, or holds an unread reference.

        Args:
            value_type: instead of the one in the table of keys.
        """
        key = KEYS[path]
        default = key.type.convert(key.default) if key.default else None
        return self._value(path, value_type or key.type, default)

    def _value(self, path: str, value_type: ValueType, default: Any) -> Any:
        node = self._content.get(*path.split("."))
        return self._parsed(node, path, value_type, default) if isinstance(node, ScalarNode) else default

    def _parsed(self, node: ScalarNode, name: str, value_type: ValueType, default: Any) -> Any:
        with collected(self._errors):
            return self._references.parsed(node, name, value_type, default)
        return default

    def _engine(self) -> EngineType:
        path = "migrationExecutor.type"
        written = self._content.get(*path.split("."))
        if written is None:
            hint = f"name the engine that runs the migrations: {' or '.join((*OWN, *names_in(EXECUTORS)))}"
            self._errors.append(self._content.place.error("MISSING_KEY", f"{path} is missing", hint))
        elif isinstance(written, ScalarNode):
            with collected(self._errors):
                name = self._references.text(written, path)
                if engine := engine_type(name):
                    return engine
                if not self._references.is_unread(name):
                    self._errors.append(unknown_engine(written))
        return self._likely_engine()

    def _likely_engine(self) -> EngineType:
        """Return the engine that has one of the written keys; for a type in a reference that was not read."""
        conf = self._content.get("migrationExecutor", "conf")
        written = conf.values if isinstance(conf, MappingNode) else {}

        def has_key(engine: EngineType) -> bool:
            return any(key.name in written for key in engine.keys)

        likely = next(filter(has_key, reversed(own_types())), None)
        if likely is None and written and not self._errors:
            likely = next(filter(has_key, engine_types()), None)
        return likely or own_types()[0]

    def _check_conf(self, engine: EngineType) -> None:
        """Refuse keys of other engines, and the absence of required ones."""
        conf = self._content.get("migrationExecutor", "conf")
        written = conf.keys if isinstance(conf, MappingNode) else {}
        if self._errors:
            return
        allowed = [key.name for key in engine.keys]
        self._errors += [
            place.error("UNKNOWN_KEY", f"unknown key {key} for type {engine.name}", f"allowed: {', '.join(allowed)}")
            for key, place in written.items()
            if key not in allowed
        ]
        self._errors += [
            self._content.place.error("MISSING_KEY", f"migrationExecutor.conf.{key.name} is missing", key.meaning)
            for key in engine.keys
            if key.required and key.name not in written
        ]

    def _conf(self, engine: EngineType) -> dict[str, Any]:
        """Return the values of the keys that an engine of another package has."""
        values: dict[str, Any] = {}
        for key in engine.keys:
            node = self._content.get("migrationExecutor", "conf", key.name)
            if key.name in _OWN_KEYS:
                continue
            if isinstance(node, ScalarNode) and key.kind is Kind.VALUE:
                values[key.name] = self._parsed(node, key.name, key.type, None)
            elif node is not None:
                values[key.name] = self._keyword(key.name, node)
            elif key.default is not None:
                values[key.name] = key.type.convert(key.default)
        properties = self._content.get("migrationExecutor", "conf", "properties")
        if engine.is_direct and isinstance(properties, MappingNode):
            unread = [key for key, value in values["properties"].items() if self._references.is_unread(str(value))]
            self._errors += wrong_properties(properties, values["properties"], unread)
        return values

    def _spark_conf(self) -> dict[str, str]:
        node = self._content.get("migrationExecutor", "conf", "sparkConf")
        values: dict[str, str] = {}
        for key, value in node.values.items() if isinstance(node, MappingNode) else ():
            with collected(self._errors):
                assert isinstance(value, ScalarNode)
                values[key] = self._references.text(value, key)
        if isinstance(node, MappingNode):
            known = {key: value for key, value in values.items() if not self._references.is_unread(value)}
            self._errors += wrong_catalogs(node, known)
            if known.get(SUBSTITUTES, "false") != "false":
                what = f"{SUBSTITUTES} is false in every session, because Spark would change the text of the files"
                self._errors.append(node.keys[SUBSTITUTES].error("INVALID_VALUE", what, "remove it"))
        return values

    def _connection(self) -> dict[str, Any]:
        node = self._content.get("migrationExecutor", "conf", "connection")
        if not isinstance(node, MappingNode):
            return {}
        for key in KEYS["migrationExecutor.conf.connection"].fixed:
            if key in node.values:
                what = f"connection: {key} cannot be chosen, because every statement takes effect when it has run"
                self._errors.append(node.keys[key].error("INVALID_VALUE", what, "remove it"))
        return {key: self._keyword(key, value) for key, value in node.values.items()}

    def _keyword(self, key: str, node: Node) -> Any:
        """Return the value of a keyword with the type that it has in YAML."""
        if isinstance(node, MappingNode):
            return {inner: self._keyword(f"{key}.{inner}", value) for inner, value in node.values.items()}
        if isinstance(node, SequenceNode):
            return [self._keyword(key, item) for item in node.items]
        with collected(self._errors):
            text = self._references.text(node, key)
            return text if isinstance(node.value, str) else node.value
        return None

    def _dependencies(self, spark_conf: Mapping[str, str]) -> Dependencies:
        floating_allowed = self._option("migrationExecutor.conf.allowFloating")
        reader = DependencyReader(self._references, self._errors, floating_allowed=floating_allowed)
        reader.check(self._content.get("migrationExecutor", "conf", "sparkConf"), spark_conf)
        return reader.read(self._content.get("migrationExecutor", "conf", "dependencies"))

    def _hooks(self) -> Hooks:
        return Hooks(
            before_migrate=self._words("hooks.beforeMigrate"),
            after_migrate=self._words("hooks.afterMigrate"),
            on_failure=self._words("hooks.onFailure"),
            timeout_seconds=self._option("hooks.timeout"),
        )

    def _probe_as(self) -> dict[str, str]:
        values = {key.name: self._option(f"access.probeAs.{key.name}") for key in KEYS["access.probeAs"].keys}
        return {name: value for name, value in values.items() if value is not None}

    def _drift_rules(self) -> tuple[DriftRule, ...]:
        with collected(self._errors):
            return drift_rules(self._content)
        return ()

    def _management(self) -> Management:
        with collected(self._errors):
            return management(self._content)
        return Management()

    def _lint(self) -> LintOptions:
        with collected(self._errors):
            return lint_options(self._content)
        return LintOptions()

    def _layout(self) -> LayoutOptions:
        with collected(self._errors):
            return layout_options(self._content)
        return LayoutOptions()

    def _words(self, path: str) -> tuple[str, ...]:
        """Return the words of a command, as written, with their references resolved."""
        node = self._content.get(*path.split("."))
        words: list[str] = []
        for item in node.items if isinstance(node, SequenceNode) else ():
            with collected(self._errors):
                assert isinstance(item, ScalarNode)
                words.append(self._references.text(item, path))
        return tuple(words)

    def _packages(self) -> tuple[str, ...]:
        """Return the requirements. No reference in them is resolved, so that the lock file has what everybody installs."""
        node = self._content.get("migrationExecutor", "packages")
        items = [item for item in node.items if isinstance(item, ScalarNode)] if isinstance(node, SequenceNode) else []
        if node and items and self._content.get("migrationExecutor", "python"):
            what = "migrationExecutor: `packages` and `python` are both given, and each names a Python"
            self._errors.append(node.place.error("INVALID_VALUE", what, "remove one of them"))
        for item in items:
            if not REQUIREMENT.accepts(item.text):
                what = f"packages: {item.text!r} is not {REQUIREMENT.expected}"
                hint = "options, addresses and paths belong into the configuration of uv"
                self._errors.append(item.place.error("INVALID_VALUE", what, hint))
        return tuple(item.text for item in items)

    def _store(self, file: Path, environment: str, engine: EngineType, conf: Mapping[str, Any]) -> StoreOptions:
        store_type = self._option("store.type")
        is_embedded = store_type == EMBEDDED
        # Otherwise the name of the store's catalog also completes users' names.
        has_own_name = store_type in (EMBEDDED, DYNAMODB) and engine.default_catalog[:1] == ("sparkConf",)
        catalog = store_type if has_own_name else self._store_catalog(engine, conf)
        aws = self._aws(store_type)
        return StoreOptions(
            catalog=catalog,
            namespace=self._option("store.namespace", engine.namespace)
            if aws is None
            else self._option("store.table") or "",
            aws=aws,
            lease_seconds=self._option("store.lockLease"),
            type=store_type,
            folder=file.parents[1] / EMBEDDED_FOLDER / environment if is_embedded else None,
            is_chosen=self._content.get("store", "catalog") is not None,
        )

    def _aws(self, store_type: str) -> AwsPlace | None:
        """Return where the table of a store in DynamoDB is; None for another store."""
        table = self._content.get("store", "table")
        if store_type == DYNAMODB:
            if table is None:
                what = "store.table is missing, in which history and lock are with `type: dynamodb`"
                self._errors.append(self._content.place.error("MISSING_KEY", what, "add `table: NAME` to `store`"))
            return AwsPlace(*(self._option(f"store.{key}") for key in ("region", "endpoint", "profile")))
        if table is not None and self._content.get("store", "type") is None:
            hint = "add `type: dynamodb` to `store`, or remove `table`"
            self._errors.append(table.place.error("INVALID_VALUE", "store.table requires `type: dynamodb`", hint))
        return None

    def _check_embedded(self, catalog: Catalog) -> None:
        """Refuse files of this machine as the store of a protected environment: other machines would not see its lock."""
        node = self._content.get("store", "type")
        if catalog.protected and catalog.store.folder is not None and node is not None:
            what = f"store.type: the environment {catalog.environment} is protected, and an embedded store locks only one machine"
            hint = f"{SHARED_STORE}, and `type: auto`"
            self._errors.append(node.place.error("EMBEDDED_PROTECTED", what, hint))

    def _store_catalog(self, engine: EngineType, conf: Mapping[str, Any]) -> str:
        """Return the catalog that `store.catalog` names, else the engine's default, else the only one declared."""
        path = engine.default_catalog
        if self._content.get("store", "catalog"):
            return self._option("store.catalog") or ""
        if not path:
            return engine.name
        value: Any = conf
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        node = self._content.get("migrationExecutor", "conf", *path)
        if isinstance(node, ScalarNode) and isinstance(value, str):
            return str(self._parsed(node, ".".join(path), STORE_CATALOG, ""))
        declared = [match[1] for name in conf["sparkConf"] if (match := DECLARED.fullmatch(name))]
        if len(declared) == 1:
            with suppress(ValueError):
                return str(STORE_CATALOG.convert(declared[0]))
        if not self._errors:
            what = f"declares {', '.join(declared) or 'none'}" if path[0] == "sparkConf" else f"names no {path[-1]}"
            is_safe = any(why_unsafe(conf["sparkConf"], name, is_chosen=False) is None for name in declared)
            hint = f"write `store: {{catalog: NAME}}`, or set {'.'.join(path)}"
            self._errors.append(
                self._content.place.error(
                    "STORE_CATALOG_UNCLEAR",
                    f"the catalog of the history and lock tables is not defined: {path[0]} {what}",
                    hint if is_safe or path[0] != "sparkConf" else CHOICES,
                )
            )
        return ""
