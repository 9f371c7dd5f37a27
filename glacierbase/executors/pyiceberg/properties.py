"""Translate Spark's configuration of an Iceberg catalog for PyIceberg. Contacts nothing, imports no vendor's package.

The translation fails closed: a property that is neither translated nor listed as harmless could decide where the tables are or
who may read them, so PyIceberg does not open a catalog that has one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from glacierbase.errors import ConfigurationError
from glacierbase.model.catalog import Catalog

# By `type`, or by `catalog-impl`. https://iceberg.apache.org/docs/latest/spark-configuration/#catalog-configuration
KINDS = {
    "rest": "rest",
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "glue": "glue",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
    "hive": "hive",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "jdbc": "sql",
    "org.apache.iceberg.jdbc.JdbcCatalog": "sql",
}
_SPARK_CATALOGS = {
    "org.apache.iceberg.spark.SparkCatalog": ("rest", "glue", "hive", "sql"),
    # Its namespaces are in Spark's session metastore, which is a Glue or Hive catalog.
    "org.apache.iceberg.spark.SparkSessionCatalog": ("glue", "hive"),
}
# What PyIceberg needs, by the kind of a catalog: its clients, and the extras of glacierbase that install them.
_PACKAGES = ("pyiceberg", "pyarrow")
_CLIENTS = {"glue": ("boto3",), "hive": ("thrift",), "sql": ("sqlalchemy",)}
_EXTRAS = {"glue": "glue", "hive": "hive"}
# Requests to the REST endpoints of AWS are signed by its client.
_SIGNING_CLIENT, _SIGNING_EXTRA = ("boto3",), "s3"
# The properties that a catalog requires, by its kind.
REQUIRED = {"rest": ["uri"], "glue": ["warehouse"], "hive": ["uri", "warehouse"], "sql": ["uri", "warehouse"]}

_S3_FILES = "org.apache.iceberg.aws.s3.S3FileIO"
_HADOOP_FILES = "org.apache.iceberg.hadoop.HadoopFileIO"
_EITHER_FILES = "org.apache.iceberg.io.ResolvingFileIO"
# The defaults of `io-impl`. A REST catalog's server sends it with every table.
_FILES = {"glue": _S3_FILES, "hive": _HADOOP_FILES, "sql": _HADOOP_FILES}

# Properties with the same name in Spark and PyIceberg. https://py.iceberg.apache.org/configuration/
_SAME = {
    "all": r"warehouse|client\.region|s3\.(endpoint|access-key-id|secret-access-key|session-token)",
    "rest": r"uri|prefix|credential|token|scope|audience|resource|oauth2-server-uri|header\..+"
    r"|rest\.(sigv4-enabled|signing-name|signing-region)|rest\.client\.(connection|socket)-timeout-ms",
    "glue": r"glue\.(id|endpoint|skip-archive)",
    "hive": r"uri",
    "sql": r"uri|jdbc\..+",
}
# Properties that decide neither location nor access: caches, pools, reports, sizes, and defaults that the store's tables override.
_HARMLESS = {
    "all": r"cache-enabled|cache\..+|io\.manifest\.cache.+|metrics-reporter-impl|default-namespace|clients"
    r"|use-nullable-query-schema|http-client\.(?!proxy).+"
    r"|s3\.(multipart\..+|retry\..+|checksum-enabled|preload-client-enabled|staging-dir|delete\.(batch-size|num-threads))"
    r"|table-(default|override)\.(format-version|commit\..+|history\..+|read\..+|write\.(parquet|update|delete|merge)\..+"
    r"|write\.(distribution-mode|target-file-size-bytes)|write\.metadata\.(delete-after-commit|previous-versions|metrics).+)",
    "rest": r"token-(refresh-enabled|exchange-enabled|expires-in-ms)|auth\.session-timeout-ms|rest-page-size"
    r"|rest-metrics-reporting-enabled|view-endpoints-supported|snapshot-loading-mode",
    "glue": r"glue\.skip-name-validation",
    "hive": r"client-pool-cache-keys|client\.pool\..+|list-all-tables",
    "sql": r"",
}
# Properties that are accepted with these values only.
_UNDERSTOOD = {
    "io-impl": (_S3_FILES, _HADOOP_FILES, _EITHER_FILES),
    "rest.auth.type": ("none", "oauth2"),
}
# Settings of Hadoop for Hive's lock, which must be the same for all writers, and for the login to Hive.
_HIVES_OWN = re.compile(r"spark\.hadoop\.(iceberg\.engine\.hive\..+|hive\.metastore\.(?!uris$|warehouse\.dir$).+)")
# Whether a JDBC catalog refuses a table in a namespace that does not exist.
STRICT = "jdbc.strict-mode"
# The properties of a JDBC catalog that are not parameters of the driver.
_JDBC_OWN = ("jdbc.schema-version", STRICT, "jdbc.init-catalog-tables")
# Parameters of the JDBC drivers that do not concern Python.
_SQLITE_ONLY = r"journal_mode|synchronous|transaction_mode|cache_size|user|password"
_ONE_SERVER = re.compile(r"[^,@]+")
_POSTGRESQL_ONLY = r"ApplicationName|tcpKeepAlive|prepareThreshold|reWriteBatchedInserts"
_MYSQL_ONLY = (
    r"cachePrepStmts|characterEncoding|prepStmtCacheS.*|rewriteBatchedStatements|tcpKeepAlive|useServerPrepStmts"
)
# The driver of Python uses TLS where the server has it. It cannot read the key stores of Java, which VERIFY_CA uses.
_MYSQL_TLS = {"PREFERRED": {}, "DISABLED": {}, "REQUIRED": {"ssl_check_hostname": "false"}}
# The property of an embedded store: the folder of all its files.
OWN_FOLDER = "glacierbase.folder"
# 0 waits without limit, as in the JDBC driver.
_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 30


@dataclass(frozen=True, slots=True)
class PyIcebergSettings:
    """The arguments with which PyIceberg opens a catalog.

    Attributes:
        kind: `rest`, `glue`, `hive` or `sql`.
        name: its name in Spark; in a `sql` catalog, part of every table's key.
        properties: the properties for PyIceberg's catalog.
        file: the SQLite file; the catalog is empty until it exists.
    """

    kind: str
    name: str
    properties: Mapping[str, str] = field(repr=False)
    file: Path | None = None


def can_open(catalog: Catalog) -> bool:
    """Return whether PyIceberg can open the catalog of history and lock as it is configured, with what is installed."""
    try:
        return missing_package(opening(catalog)) is None
    except ConfigurationError:
        return False


def missing_package(place: PyIcebergSettings) -> str | None:
    """Return the first package that is not installed and that PyIceberg needs to open a catalog. Imports none."""
    # The driver is part of SQLAlchemy's address: dialect+driver://
    driver = urlsplit(place.properties.get("uri", "")).scheme.partition("+")[2] if place.kind == "sql" else ""
    signing = _SIGNING_CLIENT if is_signed(place.properties) else ()
    packages = (*_PACKAGES, *_CLIENTS.get(place.kind, ()), *signing, *filter(None, [driver]))
    return next((package for package in packages if find_spec(package) is None), None)


def is_signed(properties: Mapping[str, str]) -> bool:
    """Return whether the requests to a REST catalog are signed with AWS credentials."""
    return properties.get("rest.sigv4-enabled", "false").lower() == "true"


def store_opening(catalog: Catalog) -> PyIcebergSettings:
    """Return how PyIceberg opens the store: its catalog, or one on SQLite with its tables beside it in `store.folder`.

    Raises:
        ConfigurationError: as `opening`; SQLAlchemy could not address the file.
    """
    if catalog.store.folder is None:
        return opening(catalog)
    folder = catalog.store.folder.absolute()
    if "?" in str(folder):
        what = f"{folder} holds a ?, which begins the parameters of a SQLite address"
        raise ConfigurationError("STORE_NOT_ICEBERG", what, "rename the folder")
    place = database(f"jdbc:sqlite:{folder / 'store.db'}", {"busy_timeout": "30000"})
    return _of_database("embedded", place, {"warehouse": str(folder), OWN_FOLDER: str(folder)})


def opening(catalog: Catalog) -> PyIcebergSettings:
    """Return how PyIceberg opens the catalog of history and lock.

    Raises:
        ConfigurationError: PyIceberg cannot open the catalog, or would open it with other settings.
    """
    try:
        if catalog.conf.get("properties") and catalog.conf.get("name") == catalog.store.catalog:
            return _own_opening(catalog.store.catalog, catalog.conf["properties"])
        return _opening(catalog.store.catalog, catalog.spark_conf)
    except ValueError as error:
        raise ConfigurationError(
            "STORE_NOT_ICEBERG",
            f"PyIceberg cannot open the catalog {catalog.store.catalog}: {error}",
            "set `store: {type: sql}` to read and write history and lock through the catalog's engine",
        ) from error


def _own_opening(name: str, given: Mapping[str, Any]) -> PyIcebergSettings:
    """Return how PyIceberg opens a catalog that is configured by its own properties, which its catalog file checks."""
    properties = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in given.items()}
    kind = properties.pop("type")
    if kind != "sql":
        return PyIcebergSettings(kind, name, properties)
    scheme, _, path = properties["uri"].partition(":///")
    file = Path(path.partition("?")[0]) if scheme.startswith("sqlite") and path else None
    return _of_database(name, Database(properties["uri"], file), properties)


def _opening(name: str, conf: Mapping[str, str]) -> PyIcebergSettings:
    key = f"spark.sql.catalog.{name}"
    settings = {other.removeprefix(f"{key}."): value for other, value in conf.items() if other.startswith(f"{key}.")}
    kind = _kind(conf.get(key, ""), settings)
    missing = [required for required in REQUIRED[kind] if not settings.get(required)]
    if missing:
        raise ValueError(f"its {missing[0]} is not set")
    if kind != "rest":
        _check_files(settings["warehouse"], settings.get("io-impl", _FILES[kind]), conf)
    if kind == "hive" and (unknown := next(filter(_HIVES_OWN.fullmatch, conf), None)):
        raise ValueError(f"PyIceberg does not support {unknown}")
    properties = _translated(kind, settings)
    return _in_database(name, properties, conf) if kind == "sql" else PyIcebergSettings(kind, name, properties)


def _kind(implementation: str, settings: dict[str, str]) -> str:
    """Return the kind of the catalog, and remove the properties that declare it from `settings`."""
    named = settings.pop("catalog-impl", None) or settings.pop("type", "hive").lower()
    kind = KINDS.get(named, "")
    if kind not in _SPARK_CATALOGS.get(implementation, ()):
        declared = f"{implementation} of {named}" if implementation else "not declared in sparkConf"
        raise ValueError(f"it is {declared}")
    return kind


def _check_files(warehouse: str, files: str, conf: Mapping[str, str]) -> None:
    """Check that the warehouse is reached without Hadoop, and with the same credentials.

    Raises:
        ValueError: it may be reached in another way.
    """
    scheme = urlsplit(warehouse).scheme
    if scheme in ("s3", "s3a", "s3n"):
        if files == _HADOOP_FILES:
            raise ValueError(f"its files are read with Hadoop's configuration; set io-impl to {_S3_FILES}")
    elif scheme not in ("", "file"):
        raise ValueError("its warehouse is neither on S3 nor on this machine")
    elif "spark.remote" in conf or (not scheme and "spark.hadoop.fs.defaultFS" in conf):
        raise ValueError("its warehouse may be on another machine")


def _translated(kind: str, settings: Mapping[str, str]) -> dict[str, str]:
    properties = {}
    for key, value in settings.items():
        if _is_one_of(_SAME, kind, key):
            if key.endswith("-timeout-ms") and not re.fullmatch(r"\d{1,9}", value):
                raise ValueError(f"its {key} is not a number of milliseconds")
            properties[key] = value
        elif key == "s3.path-style-access":
            properties["s3.force-virtual-addressing"] = "false" if value.lower() == "true" else "true"
        elif not _is_one_of(_HARMLESS, kind, key) and value not in _UNDERSTOOD.get(key, ()):
            raise ValueError(f"PyIceberg does not support {key}")
    return properties


def is_harmless(key: str) -> bool:
    """Return whether a property of a catalog of any kind decides neither where its tables are nor who may read them."""
    return re.fullmatch(_HARMLESS["all"], key) is not None


def _is_one_of(patterns: Mapping[str, str], kind: str, key: str) -> bool:
    return any(re.fullmatch(patterns[which], key) for which in ("all", kind))


def _in_database(name: str, properties: dict[str, str], conf: Mapping[str, str]) -> PyIcebergSettings:
    if properties.get("jdbc.schema-version", "").upper() != "V1":
        raise ValueError("its jdbc.schema-version is not V1")
    drivers = {key: properties.pop(key) for key in list(properties) if key.startswith("jdbc.")}
    if drivers.get(STRICT, "").lower() == "true":
        properties[STRICT] = "true"
    drivers = {key.removeprefix("jdbc."): value for key, value in drivers.items() if key not in _JDBC_OWN}
    place = database(properties["uri"], drivers)
    if place.file and "spark.remote" in conf:
        raise ValueError("its database is on the server's machine")
    return _of_database(name, place, properties)


def _of_database(name: str, place: Database, properties: dict[str, str]) -> PyIcebergSettings:
    # A connection that the server closed is opened again. Only `create` creates the catalog's tables, no read-only command.
    more = {"uri": place.uri, "pool_pre_ping": "true", "init_catalog_tables": "false"}
    return PyIcebergSettings("sql", name, properties | more, place.file)


@dataclass(frozen=True, slots=True)
class Database:
    """The database of a SQL catalog.

    Attributes:
        uri: for SQLAlchemy, with user and password.
        file: the file of SQLite; None for a server.
    """

    uri: str = field(repr=False)
    file: Path | None = None


def database(uri: str, properties: Mapping[str, str]) -> Database:
    """Return the database of a JDBC `uri`, whose parameters override the driver's `properties`.

    Raises:
        ValueError: Python cannot open it, or would open it with other settings.
    """
    address, _, query = uri.partition("?")
    parameters = {**properties, **dict(parse_qsl(query, keep_blank_values=True))}
    brand, _, place = address.removeprefix("jdbc:").partition(":")
    if brand not in _READERS:
        raise ValueError(f"PyIceberg opens SQLite, PostgreSQL and MySQL here, not {brand}")
    return _READERS[brand](place, parameters)


def _sqlite(place: str, parameters: dict[str, str]) -> Database:
    path = unquote(urlsplit(place).path) if place.startswith("file:") else place
    if not path or path.startswith(":"):
        raise ValueError("its database is in the memory of one process")
    timeout = float(parameters.pop("busy_timeout", "3000")) / 1000
    _check_rest(parameters, _SQLITE_ONLY)
    return Database(f"sqlite:///{path}?timeout={timeout}", Path(path))


def _postgresql(place: str, parameters: dict[str, str]) -> Database:
    url = urlsplit(place)
    if not _ONE_SERVER.fullmatch(url.netloc) or len(url.path) < 2:
        raise ValueError("its address must name one server and one database")
    user, password = parameters.pop("user", ""), parameters.pop("password", "")
    login = ":".join(quote(part, safe="") for part in (user, password) if part)
    ssl = {str(key): parameters.pop(key) for key in ("sslmode", "sslrootcert") if key in parameters}
    query = urlencode(ssl | _timeouts(parameters))
    _check_rest(parameters, _POSTGRESQL_ONLY)
    # psycopg2 is the driver in PyIceberg's extra; SQLAlchemy's default is another one since 2.1.
    uri = f"postgresql+psycopg2://{login}{'@' if login else ''}{url.netloc}{unquote(url.path)}"
    return Database(f"{uri}?{query}")


def _mysql(place: str, parameters: dict[str, str]) -> Database:
    url = urlsplit(place)
    if not _ONE_SERVER.fullmatch(url.netloc) or len(url.path) < 2:
        raise ValueError("its address must name one server and one database")
    user, password = parameters.pop("user", ""), parameters.pop("password", "")
    login = ":".join(quote(part, safe="") for part in (user, password) if part)
    mode = parameters.pop("sslMode", "PREFERRED").upper()
    if mode not in _MYSQL_TLS:
        raise ValueError(f"its sslMode is {mode}; Python's driver supports {', '.join(_MYSQL_TLS)}")
    connect = -(-_seconds(parameters, "connectTimeout", _CONNECT_SECONDS * 1000) // 1000)
    answer = -(-_seconds(parameters, "socketTimeout", _ANSWER_SECONDS * 1000) // 1000)
    times = {"connect_timeout": connect, "read_timeout": answer, "write_timeout": answer}
    query = urlencode(_MYSQL_TLS[mode] | {key: str(seconds) for key, seconds in times.items() if seconds})
    _check_rest(parameters, _MYSQL_ONLY)
    return Database(f"mysql+pymysql://{login}{'@' if login else ''}{url.netloc}{unquote(url.path)}?{query}")


def _timeouts(parameters: dict[str, str]) -> dict[str, str]:
    """Remove the JDBC driver's time-outs from `parameters`, and return them as libpq's.

    Sources: https://jdbc.postgresql.org/documentation/use/, https://www.postgresql.org/docs/current/libpq-connect.html
    """
    login = _seconds(parameters, "loginTimeout", 0)
    connect = _seconds(parameters, "connectTimeout", _CONNECT_SECONDS)
    answer = _seconds(parameters, "socketTimeout", _ANSWER_SECONDS)
    return {"connect_timeout": str(login or connect), "tcp_user_timeout": str(answer * 1000)}


def _seconds(parameters: dict[str, str], key: str, default: int) -> int:
    value = parameters.pop(key, str(default))
    if not re.fullmatch(r"\d{1,6}", value):
        raise ValueError(f"its {key} is not a number of seconds")
    return int(value)


def _check_rest(parameters: Mapping[str, str], harmless: str) -> None:
    unknown = [key for key in parameters if not re.fullmatch(harmless, key)]
    if unknown:
        raise ValueError(f"its address has {unknown[0]}, which Python's driver does not support")


_READERS = {"sqlite": _sqlite, "postgresql": _postgresql, "mysql": _mysql}


def extra_of(catalog: Catalog) -> str | None:
    """Return the extra of glacierbase with PyIceberg's client for the catalog of history and lock, or None if it needs none."""
    prefix = f"spark.sql.catalog.{catalog.store.catalog}."
    conf = {key.removeprefix(prefix): value for key, value in catalog.spark_conf.items() if key.startswith(prefix)}
    kind = KINDS.get(conf.get("type") or conf.get("catalog-impl") or "")
    # The address may be a reference, which is not read where this is needed.
    if kind == "sql":
        brand = conf.get("uri", "").split(":")[1:2]
        return {"sqlite": None, "mysql": "mysql"}.get("".join(brand), "postgres")
    return _SIGNING_EXTRA if kind == "rest" and is_signed(conf) else _EXTRAS.get(kind or "")
