"""The routes of an Iceberg REST catalog without a JVM: PyIceberg's catalog on SQLite answers them.

It refuses a staged creation, as AWS documents of its two REST endpoints, Glue's and that of S3 Tables:
https://docs.aws.amazon.com/glue/latest/dg/iceberg-rest-apis.html
https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-tables-integrating-open-source.html
"""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableRequest, Table

_STATUS: dict[type[Exception], int] = {
    NoSuchNamespaceError: 404,
    NoSuchTableError: 404,
    NamespaceAlreadyExistsError: 409,
    TableAlreadyExistsError: 409,
    CommitFailedException: 409,
}
_PATH = re.compile(r"/v1/namespaces(?:/([^/]+)(?:/tables(?:/([^/]+))?)?)?")
_RENAME, _PROPERTIES = "/v1/tables/rename", re.compile(r"/v1/namespaces/([^/]+)/properties")


class PythonCatalog:
    """The catalog in a folder. One request at a time."""

    def __init__(self, folder: Path, warehouse: str = "", **properties: str) -> None:
        """Args:
        warehouse: default a folder beside the database.
        properties: of the catalog's files.
        """
        where = {"uri": f"sqlite:///{folder}/rest.db", "warehouse": warehouse or f"file://{folder}/tables"}
        self.catalog = SqlCatalog("rest", **where, **properties)
        self._lock = threading.Lock()

    def answer(self, method: str, url: str, body: str) -> tuple[int, str]:
        """Return status and JSON for one request."""
        path = urlsplit(url).path
        if path == "/v1/config":
            return 200, json.dumps({"defaults": {}, "overrides": {}})
        found = _PATH.fullmatch(path)
        try:
            with self._lock:
                if method == "GET" and path.endswith("/tables"):
                    answer: Any = self._listed(path.split("/")[3])
                elif method == "GET" and path == "/v1/namespaces":
                    answer = {"namespaces": [] if "parent" in url else self.catalog.list_namespaces()}
                elif path == _RENAME:
                    answer = self._rename(**json.loads(body))
                elif changed := _PROPERTIES.fullmatch(path):
                    answer = self._update(changed[1], **json.loads(body))
                else:
                    answer = self._answer(method, *map(unquote, found.groups("")), body) if found else None
        except tuple(_STATUS) as error:
            return refusal(_STATUS[type(error)], type(error).__name__, str(error))
        except NotImplementedError as error:
            return refusal(400, "BadRequestException", str(error))
        return (204, "") if answer is None else (200, json.dumps(answer))

    def _answer(self, method: str, namespace: str, table: str, body: str) -> Any:
        name = (namespace, table)
        if table and method == "POST":
            identifier = {"namespace": [namespace], "name": table}  # Iceberg's client leaves it out.
            request = CommitTableRequest.model_validate({"identifier": identifier, **json.loads(body)})
            return self._commit(name, request)
        if table and method == "DELETE":
            return self.catalog.drop_table(name)
        if table:
            return _loaded(self.catalog.load_table(name))
        if namespace and method == "POST":
            return self._create(namespace, json.loads(body))
        if namespace and method == "DELETE":
            return self.catalog.drop_namespace(namespace)
        if namespace:
            return {"namespace": [namespace], "properties": self.catalog.load_namespace_properties(namespace)}
        request = json.loads(body)
        return self.catalog.create_namespace(tuple(request["namespace"]), request["properties"]) or request

    def _rename(self, source: Any, destination: Any) -> None:
        old, new = ((*name["namespace"], name["name"]) for name in (source, destination))
        self.catalog.rename_table(old, new)

    def _update(self, namespace: str, removals: Any, updates: Any) -> Any:
        summary = self.catalog.update_namespace_properties(namespace, set(removals), updates)
        return {"updated": summary.updated, "removed": summary.removed, "missing": summary.missing}

    def _listed(self, namespace: str) -> Any:
        names = self.catalog.list_tables(namespace)
        return {"identifiers": [{"namespace": [namespace], "name": name[-1]} for name in names]}

    def _create(self, namespace: str, request: Any) -> Any:
        if request["stage-create"]:
            raise NotImplementedError("Stage create is not supported")
        name, schema = (namespace, request["name"]), Schema.model_validate(request["schema"])
        spec = PartitionSpec.model_validate(request["partition-spec"])
        return _loaded(self.catalog.create_table(name, schema, partition_spec=spec, properties=request["properties"]))

    def _commit(self, name: tuple[str, str], request: CommitTableRequest) -> Any:
        answer = self.catalog.commit_table(self.catalog.load_table(name), request.requirements, request.updates)
        return {
            "metadata-location": answer.metadata_location,
            "metadata": json.loads(answer.metadata.model_dump_json()),
        }


def _loaded(table: Table) -> Any:
    metadata = json.loads(table.metadata.model_dump_json())
    return {"metadata-location": table.metadata_location, "metadata": metadata, "config": {}}


def refusal(status: int, kind: str, message: str) -> tuple[int, str]:
    """Return status and JSON of an error in the form of the specification."""
    return status, json.dumps({"error": {"message": message, "type": kind, "code": status}})
