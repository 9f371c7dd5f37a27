"""The databases of SQL catalogs: translates JDBC addresses to SQLAlchemy's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

# Parameters of the JDBC drivers that do not concern Python.
_SQLITE_ONLY = r"journal_mode|synchronous|transaction_mode|cache_size|user|password"
_ONE_SERVER = re.compile(r"[^,@]+")
_POSTGRESQL_ONLY = r"ApplicationName|tcpKeepAlive|prepareThreshold|reWriteBatchedInserts"
# 0 waits without limit, as in the JDBC driver.
_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 30


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
        raise ValueError(f"PyIceberg opens SQLite and PostgreSQL here, not {brand}")
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


_READERS = {"sqlite": _sqlite, "postgresql": _postgresql}
