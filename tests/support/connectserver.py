"""A Spark Connect server on loopback that keeps settings and records requests; it executes no statement.

The protocol is that of `spark/connect/base.proto`, through pyspark's generated classes: the client is the genuine one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pyarrow as pa
from google.protobuf.any_pb2 import Any as Packed
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status
from pyspark.sql.connect import proto
from pyspark.sql.connect.proto.base_pb2_grpc import (
    SparkConnectServiceServicer,
    add_SparkConnectServiceServicer_to_server,
)

_REFUSED = "org.apache.spark.sql.AnalysisException"


class ConnectServer(SparkConnectServiceServicer):
    """The requests and the settings of each session, in the order of their first requests.

    Attributes:
        defaults: the settings of a new session. Reads of other settings are those of pyspark itself, and not recorded.
        static: settings that a session may not change.
        has_rows: whether the rows of a query are at the server when it answers the query's text.
        address: the value of `spark.remote`.
    """

    def __init__(self, defaults: Mapping[str, str], static: str) -> None:
        self.defaults = dict(defaults)
        self.static = static
        self.has_rows = True
        self.address = ""
        self._requests: defaultdict[str, list[str]] = defaultdict(list)
        self._settings: defaultdict[str, dict[str, str]] = defaultdict(lambda: dict(self.defaults))

    @property
    def requests(self) -> list[list[str]]:
        return list(self._requests.values())

    @property
    def settings(self) -> list[dict[str, str]]:
        return list(self._settings.values())

    def Config(self, request: Any, context: Any) -> Any:  # noqa: N802 (the name in the protocol, here and below)
        settings, operation = self._settings[request.session_id], request.operation
        pairs = []
        if operation.HasField("set"):
            for pair in operation.set.pairs:
                self._record(request, f"set {pair.key}")
                if pair.key == self.static:
                    context.abort_with_status(_refusal(f"the static setting {pair.key} cannot be changed"))
                settings[pair.key] = pair.value
        else:
            name = operation.WhichOneof("op_type")
            asked = getattr(operation, name)
            keys = [pair.key for pair in asked.pairs] if name == "get_with_default" else asked.keys
            if set(keys) <= self.defaults.keys():
                self._record(request, f"read {len(keys)} settings")
            pairs = [proto.KeyValue(key=key, value=settings.get(key)) for key in keys]
        return proto.ConfigResponse(session_id=request.session_id, pairs=pairs)

    def AnalyzePlan(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._record(request, request.WhichOneof("analyze"))
        answer = proto.AnalyzePlanResponse(session_id=request.session_id)
        answer.spark_version.version = "4.1.3"
        if request.HasField("is_local"):
            answer.is_local.is_local = self.has_rows
        return answer

    def ExecutePlan(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        plan, answer = request.plan, proto.ExecutePlanResponse(session_id=request.session_id)
        if plan.HasField("root"):
            self._record(request, f"rows of {plan.root.sql.query}")
            answer.arrow_batch.CopyFrom(_rows())
            yield answer
        elif plan.command.HasField("write_operation"):
            self._record(request, f"write to {plan.command.write_operation.source}")
        else:
            text = plan.command.sql_command.input.sql.query
            self._record(request, text)
            if text.startswith("SELECT"):
                answer.sql_command_result.relation.sql.query = text
            else:
                answer.sql_command_result.relation.local_relation.data = b"rows"
            yield answer

    def ReleaseSession(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._record(request, "release")
        return proto.ReleaseSessionResponse(session_id=request.session_id)

    def _record(self, request: Any, what: str) -> None:
        self._requests[request.session_id].append(what)


def _rows() -> Any:
    """Return one row with the text `ann`."""
    batch, sink = pa.record_batch({"a": ["ann"]}), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return proto.ExecutePlanResponse.ArrowBatch(row_count=1, data=sink.getvalue().to_pybytes())


def _refusal(message: str) -> Any:
    detail = Packed()
    detail.Pack(ErrorInfo(reason=_REFUSED, domain="org.apache.spark", metadata={"classes": json.dumps([_REFUSED])}))
    return rpc_status.to_status(Status(code=grpc.StatusCode.INTERNAL.value[0], message=message, details=[detail]))


@contextmanager
def connect_server(defaults: Mapping[str, str], static: str) -> Iterator[ConnectServer]:
    """Run a server while the block runs."""
    served, server = ConnectServer(defaults, static), grpc.server(ThreadPoolExecutor(4))
    add_SparkConnectServiceServicer_to_server(served, server)
    served.address = f"sc://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield served
    finally:
        server.stop(None).wait()
