"""An Iceberg REST catalog on loopback: Iceberg's own handlers in a JVM that runs, behind HTTP.

The routes are those of the specification that a catalog of tables needs:
https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml. What they do, `CatalogHandlers` does, as in
Iceberg's servlet; its tables are kept by a JDBC catalog on SQLite.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

_SHADED = "org.apache.iceberg.shaded.com.fasterxml.jackson"
# By the name of the exception's class; any other is a 500.
_STATUS = {
    "NoSuchNamespaceException": 404,
    "NoSuchTableException": 404,
    "AlreadyExistsException": 409,
    "CommitFailedException": 409,
    "NamespaceNotEmptyException": 409,
    "ValidationException": 400,
    "IllegalArgumentException": 400,
}
Route = tuple[str, str, Callable[..., Any]]


class RestCatalog:
    """The routes of the server.

    Attributes:
        token: the bearer token that a request must have.
        requests: the method and path of each request so far.
        loses: requests that are executed but get no answer, each once.
        before: called with each request before it is executed; False drops the request without an answer.
    """

    def __init__(self, jvm: Any, folder: Path, token: str, busy_timeout: int) -> None:
        self._jvm = jvm
        self.token = token
        self._iceberg = jvm.org.apache.iceberg
        self._handlers = self._iceberg.rest.CatalogHandlers
        self.requests: list[str] = []
        self.loses: list[str] = []
        self.before: Callable[[str], bool] = lambda request: True
        properties = jvm.java.util.HashMap()
        properties.put("uri", f"jdbc:sqlite:{folder}/rest.db?busy_timeout={busy_timeout}")
        properties.put("warehouse", f"file://{folder}/tables")
        properties.put("jdbc.schema-version", "V1")
        self._catalog = self._iceberg.jdbc.JdbcCatalog()
        self._catalog.setConf(jvm.org.apache.hadoop.conf.Configuration())
        self._catalog.initialize("rest", properties)
        self._mapper = self._json_mapper()
        self.routes: list[Route] = [
            ("GET", "config", lambda body, query: {"defaults": {}, "overrides": {}}),
            ("GET", "namespaces", self._namespaces),
            ("POST", "namespaces", self._create_namespace),
            ("GET", "namespaces/N", lambda body, query, n: self._handlers.loadNamespace(self._catalog, self._levels(n))),
            ("HEAD", "namespaces/N", lambda body, query, n: self._handlers.namespaceExists(self._catalog, self._levels(n))),
            ("DELETE", "namespaces/N", lambda body, query, n: self._handlers.dropNamespace(self._catalog, self._levels(n))),
            ("GET", "namespaces/N/tables", lambda body, query, n: self._handlers.listTables(self._catalog, self._levels(n))),
            ("POST", "namespaces/N/tables", self._create_table),
            ("GET", "namespaces/N/tables/T", self._load_table),
            ("HEAD", "namespaces/N/tables/T", lambda body, query, *t: self._handlers.tableExists(self._catalog, self._table(*t))),
            ("POST", "namespaces/N/tables/T", self._update_table),
            ("POST", "namespaces/N/tables/T/metrics", lambda *_: None),
            ("DELETE", "namespaces/N/tables/T", self._drop_table),
        ]  # fmt: skip

    def _json_mapper(self) -> Any:
        """Return a mapper that is configured as Iceberg's, which is not public."""
        shaded = self._jvm
        for part in _SHADED.split("."):
            shaded = getattr(shaded, part)
        mapper = shaded.databind.ObjectMapper()
        visibility = getattr(shaded.annotation, "JsonAutoDetect$Visibility")
        mapper.setVisibility(shaded.annotation.PropertyAccessor.FIELD, visibility.ANY)
        mapper.configure(shaded.databind.DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, False)
        mapper.setPropertyNamingStrategy(getattr(shaded.databind, "PropertyNamingStrategies$KebabCaseStrategy")())
        self._iceberg.rest.RESTSerializers.registerAll(mapper)
        return mapper

    def answer(self, method: str, url: str, body: str, token: str | None) -> tuple[int, str]:
        """Return status and JSON for one request."""
        split = urlsplit(url)
        self.requests.append(f"{method} {split.path}")
        if (method, split.path) == ("POST", "/v1/oauth/tokens"):
            return self._log_in(parse_qs(body))
        if token != f"Bearer {self.token}":
            return _told(401, "NotAuthorizedException", "the token is not one of ours")
        for verb, pattern, act in self.routes:
            found = re.fullmatch("/v1/" + re.sub("[NT]", "([^/]+)", pattern), split.path)
            if found and verb == method:
                try:
                    said = act(body, parse_qs(split.query), *map(unquote, found.groups()))
                except Py4JJavaError as error:
                    return self._error(error.java_exception)
                except CapturedException as error:  # What pyspark makes of those that it knows.
                    return self._error(error._origin)
                if said is None:
                    return 204, ""
                return 200, json.dumps(said) if isinstance(said, dict) else str(self._mapper.writeValueAsString(said))
        return _told(404, "NoRoute", f"{method} {split.path}")

    def _log_in(self, form: dict[str, list[str]]) -> tuple[int, str]:
        """Answer a client's credential, whose secret is the token, with the token."""
        if form.get("client_secret") != [self.token]:
            return 401, json.dumps({"error": "invalid_client", "error_description": "the secret is unknown"})
        access = "urn:ietf:params:oauth:token-type:access_token"
        answer = {"access_token": self.token, "token_type": "bearer", "issued_token_type": access, "expires_in": 3600}
        return 200, json.dumps(answer)

    def _error(self, error: Any) -> tuple[int, str]:
        kind = error.getClass().getSimpleName()
        return _told(_STATUS.get(kind, 500), kind, error.getMessage() or kind)

    def _levels(self, name: str) -> Any:
        return self._iceberg.rest.RESTUtil.namespaceFromQueryParam(name)

    def _table(self, namespace: str, name: str) -> Any:
        return self._iceberg.catalog.TableIdentifier.of(self._levels(namespace), name)

    def _request(self, body: str, name: str) -> Any:
        # Not by Class.forName: on a first start the jars are in Spark's own class loader, which it does not search.
        loader = self._catalog.getClass().getClassLoader()
        return self._mapper.readValue(body, loader.loadClass(f"org.apache.iceberg.rest.requests.{name}"))

    def _namespaces(self, body: str, query: dict[str, list[str]]) -> Any:
        parent = query.get("parent", [""])[0]
        within = self._levels(parent) if parent else self._iceberg.catalog.Namespace.empty()
        return self._handlers.listNamespaces(self._catalog, within)

    def _create_namespace(self, body: str, query: dict[str, list[str]]) -> Any:
        return self._handlers.createNamespace(self._catalog, self._request(body, "CreateNamespaceRequest"))

    def _create_table(self, body: str, query: dict[str, list[str]], namespace: str) -> Any:
        request = self._request(body, "CreateTableRequest")
        create = self._handlers.stageTableCreate if request.stageCreate() else self._handlers.createTable
        return create(self._catalog, self._levels(namespace), request)

    def _load_table(self, body: str, query: dict[str, list[str]], *table: str) -> Any:
        mode = getattr(self._iceberg.rest, "RESTCatalogProperties$SnapshotMode").ALL
        return self._handlers.loadTable(self._catalog, self._table(*table), mode)

    def _update_table(self, body: str, query: dict[str, list[str]], *table: str) -> Any:
        return self._handlers.updateTable(self._catalog, self._table(*table), self._request(body, "UpdateTableRequest"))

    def _drop_table(self, body: str, query: dict[str, list[str]], *table: str) -> None:
        purge = query.get("purgeRequested", ["false"])[0].lower() == "true"
        (self._handlers.purgeTable if purge else self._handlers.dropTable)(self._catalog, self._table(*table))


def _told(code: int, kind: str, message: str) -> tuple[int, str]:
    return code, json.dumps({"error": {"message": message, "type": kind, "code": code}})


@contextmanager
def rest_catalog(jvm: Any, folder: Path, token: str, busy_timeout: int = 30000) -> Iterator[tuple[RestCatalog, str]]:
    """Run a server while the block runs; yield it and its address. It waits `busy_timeout` milliseconds for its database."""
    catalog = RestCatalog(jvm, folder, token, busy_timeout)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            request = f"{self.command} {self.path}"
            if not catalog.before(request):
                self.close_connection = True
                return
            status, said = catalog.answer(self.command, self.path, body, self.headers.get("Authorization"))
            if request in catalog.loses:
                catalog.loses.remove(request)
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said.encode())))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(said.encode())

        do_GET = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 (the names that the base class looks up)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield catalog, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
