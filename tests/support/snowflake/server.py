"""A Snowflake to test against: fakesnow behind HTTP on loopback, with what it lacks for the genuine connector.

Runs in a virtual environment of its own (`tests.support.snowflake.bed` makes it), whose packages the tests never see:
`python server.py PORT FOLDER`. It ends when nobody has the pipe that is its stdin open for writing.

What it adds to fakesnow: accounts, each with a persistent database and a log of its requests, a JSON document a line; the
login's `masterToken` and `sessionId`, which newer connectors ask for; DDL that commits the open transaction; writers that wait
for each other instead of failing; refusals that depend on who logs in; a reply that is lost, and statements that take their
time or wait for a file. Statements that DuckDB has no words for (tasks, procedures, blocks) succeed and do nothing: the log
shows what was sent. Grants give no rights, but SHOW GRANTS lists them (`grants`).
"""

from __future__ import annotations

import asyncio
import fcntl
import gzip
import itertools
import json
import os
import re
import select
import sys
import threading
import uuid
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fakesnow.server
import uvicorn
from fakesnow.cursor import FakeSnowflakeCursor
from fakesnow.instance import FakeSnow
from grants import Grants  # Beside this file, which runs as a script.
from sqlglot import exp

# Statements without a counterpart in DuckDB, and what is run in their place.
NO_OPERATION = re.compile(
    r"""(?ix) \s* (?: ALTER \s+ SESSION \s+ (?!SET\s+AUTOCOMMIT)
      | (?:BEGIN|DECLARE) \s+ (?!TRANSACTION|WORK|NAME|;|$)
      | (?:CREATE|ALTER|DROP) \s+ (?:OR\s+\w+\s+)? (?:TASK|STREAM|PROCEDURE|ROLE) \b
      | (?:GRANT|REVOKE|EXECUTE|CALL|UNDROP) \b )"""
)
NOTHING = "SELECT 'Statement executed successfully.' AS \"status\""

# How the refusals of the real server read: code, SQL state, message.
WRONG_PASSWORD = ("390100", None, "Incorrect username or password was specified.")
NO_ROLE = ("390189", None, "Role '{}' specified in the connect string does not exist or not authorized.")
NO_WAREHOUSE = ("000606", "57P03", "No active warehouse selected in the current session.  Select an active warehouse.")
CANCELLED = ("000604", "57014", "SQL execution canceled")
NO_RIGHT = ("003001", "42501", "SQL access control error:\nInsufficient privileges to operate on database 'DEMO'")

LOST = "/* the answer is lost */"
SLOW = re.compile(r"/\* takes (\d+) s \*/")
HELD = re.compile(r"/\* waits for (\S+) \*/")

writing = threading.Lock()
session_ids = itertools.count(1001)
sessions: dict[str, dict[str, Any]] = {}
queries: dict[str, str] = {}  # Status by tag.
cancelled: set[str] = set()  # By id.


@dataclass
class Account:
    """An account, which begins with its first login."""

    log: Path
    databases: FakeSnow
    grants: Grants = field(default_factory=Grants)


account_of_login: ContextVar[Account] = ContextVar("account_of_login")


class Databases:
    """In place of fakesnow's only instance: that of the account."""

    def connect(self, *args: Any, **options: Any) -> Any:
        return account_of_login.get().databases.connect(*args, **options)


class Bed:
    """The ASGI application around fakesnow's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._accounts: dict[str, Account] = {}

    def _account(self, name: str) -> Account:
        if name not in self._accounts:
            data = self._folder / name
            data.mkdir(exist_ok=True)
            self._accounts[name] = Account(self._folder / f"{name}.jsonl", FakeSnow(db_path=str(data)))
        return self._accounts[name]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await fakesnow.server.app(scope, receive, send)
            return
        body = await _body(receive)
        path, token = scope["path"], _token(scope)
        content = _content(scope, body)
        if token in sessions:
            _write(sessions[token]["account"], path, sessions[token]["id"], content)
        if path.endswith("/login-request"):
            account = self._account(content["data"]["ACCOUNT_NAME"].lower())
            account_of_login.set(account)
            _write(account, path, None, content)
            answer = refused_login(content["data"])
            if answer is None:
                answer = await _ask(scope, body)
                _complete_login(answer, account, scope)
        elif path.endswith("/query-request"):
            answer = await self._query(scope, body, content, sessions.get(token, {}))
            if LOST in content["sqlText"]:
                return  # uvicorn answers with 500, and the connector asks again until its patience ends.
        elif path.startswith("/monitoring/queries/"):
            answer = _monitored(path.rpartition("/")[2])
        else:
            answer = await _ask(scope, body)
        payload = json.dumps(answer["body"]).encode() if isinstance(answer["body"], dict) else answer["body"]
        await send({"type": "http.response.start", "status": answer["status"], "headers": _headers(payload)})
        await send({"type": "http.response.body", "body": payload})

    async def _query(self, scope: Any, body: bytes, content: dict[str, Any], session: dict[str, Any]) -> dict[str, Any]:
        """The answer to a statement, which the query history knows by its tag, while it runs and afterwards."""
        sql, tag = content["sqlText"], (content.get("parameters") or {}).get("QUERY_TAG")
        answer = refused_query(sql, session)
        if answer is None:
            if tag:
                queries[tag] = "RUNNING"
            if slow := SLOW.search(sql):
                await _takes(int(slow[1]), tag)
            if held := HELD.search(sql):
                await _is_there(Path(held[1]))
            if _query_id(tag) in cancelled:
                queries[tag] = "FAILED_WITH_ERROR"
                return _refusal(CANCELLED)
            if "INFORMATION_SCHEMA.QUERY_HISTORY(" in sql:
                scope, body = _instead(scope, content, _query_history(content["bindings"]["1"]["value"]))
            elif "SYSTEM$CANCEL_QUERY" in sql:
                cancelled.add(content["bindings"]["1"]["value"])
                scope, body = _instead(scope, content, NOTHING)
            elif shown := session["account"].grants.shown(sql):
                scope, body = _instead(scope, content, shown)
            elif NO_OPERATION.match(sql):
                session["account"].grants.follow(sql)
                scope, body = _instead(scope, content, NOTHING)
            answer = await _ask(scope, body)
            _follow_use(answer, sql, session)
            if tag:
                succeeded = isinstance(answer["body"], dict) and answer["body"].get("success")
                queries[tag] = "SUCCESS" if succeeded else "FAILED_WITH_ERROR"
        return answer


def _write(account: Account, path: str, session: int | None, content: Any) -> None:
    entry = {"path": path, "session": session}
    if isinstance(content, dict) and "sqlText" in content:
        entry |= {"sql": content["sqlText"], "parameters": content.get("parameters") or {}}
    elif path.endswith("/login-request"):
        entry |= {"parameters": content["data"].get("SESSION_PARAMETERS") or {}}
    with account.log.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def refused_login(data: dict[str, Any]) -> dict[str, Any] | None:
    if data.get("PASSWORD") == "wrong":
        return _refusal(WRONG_PASSWORD)
    return None


def refused_query(sql: str, session: dict[str, Any]) -> dict[str, Any] | None:
    if session.get("warehouse") is None:
        return _refusal(NO_WAREHOUSE)
    if session.get("role") == "READER" and re.match(r"(?i)\s*(create|insert|update|drop)\b", sql):
        return _refusal(NO_RIGHT)
    return None


def _refusal(error: tuple[str, str | None, str]) -> dict[str, Any]:
    code, state, message = error
    data = {"errorCode": code, "sqlState": state}
    return {"status": 200, "body": {"data": data, "code": code, "message": message, "success": False}}


def _complete_login(answer: dict[str, Any], account: Account, scope: Any) -> None:
    """What the real server's answer has and fakesnow's has not."""
    query = dict(pair.split("=", 1) for pair in scope["query_string"].decode().split("&") if "=" in pair)
    role, warehouse = query.get("roleName", "PUBLIC").upper(), query.get("warehouse", "").upper()
    if role == "MISSING":
        answer |= _refusal((NO_ROLE[0], None, NO_ROLE[2].format(role)))
        return
    found = None if warehouse in ("", "MISSING") else warehouse
    inside = answer["body"]["data"]
    session = {"id": next(session_ids), "role": role, "warehouse": found, "account": account}
    sessions[inside["token"]] = session
    inside |= {"masterToken": inside["token"], "sessionId": session["id"]}
    inside["sessionInfo"] |= {"roleName": role, "warehouseName": found}


def _follow_use(answer: dict[str, Any], sql: str, session: dict[str, Any]) -> None:
    """Add the role and the warehouse of the session to the answer, also after a USE."""
    used = re.match(r"(?i)\s*USE\s+(ROLE|WAREHOUSE)\s+(\w+)", sql)
    if used:
        session[used[1].lower()] = used[2].upper()
    if isinstance(answer["body"], dict) and isinstance(answer["body"].get("data"), dict):
        answer["body"]["data"] |= {
            "finalRoleName": session.get("role"),
            "finalWarehouseName": session.get("warehouse"),
        }


def _instead(scope: Any, content: dict[str, Any], sql: str) -> tuple[Any, bytes]:
    """Return the request with another statement."""
    body = json.dumps({**content, "sqlText": sql, "bindings": None}).encode()
    headers = [(name, value) for name, value in scope["headers"] if not name.startswith(b"content-")]
    return {**scope, "headers": [*headers, (b"content-length", str(len(body)).encode())]}, body


def _query_history(tag: str) -> str:
    """Return a query in place of the function of that name: one row if a statement had this tag."""
    row = f"SELECT '{_query_id(tag)}' AS query_id, '{queries.get(tag)}' AS execution_status, NULL AS error_message"
    return row if tag in queries else f"SELECT * FROM ({row}) WHERE FALSE"


def _monitored(query_id: str) -> dict[str, Any]:
    """The state of a query, which needs no warehouse."""
    found = [{"id": query_id, "status": status} for tag, status in queries.items() if _query_id(tag) == query_id]
    return {"status": 200, "body": {"data": {"queries": found}, "code": None, "message": None, "success": True}}


def _query_id(tag: str | None) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(tag)))


async def _takes(seconds: int, tag: str | None) -> None:
    """Wait for the duration of a statement, or until it is cancelled."""
    for _ in range(seconds * 10):
        if _query_id(tag) not in cancelled:
            await asyncio.sleep(0.1)


async def _is_there(path: Path) -> None:
    """Wait until a test has written the file."""
    while not path.exists():
        await asyncio.sleep(0.05)


async def _body(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def _ask(scope: Any, body: bytes) -> dict[str, Any]:
    """fakesnow's own answer."""
    answer: dict[str, Any] = {"body": b""}
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return unread.pop() if unread else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer["status"] = message["status"]
        else:
            answer["body"] += message.get("body", b"")

    await fakesnow.server.app(scope, receive, send)
    with suppress(ValueError):
        answer["body"] = json.loads(answer["body"])
    return answer


def _content(scope: Any, body: bytes) -> Any:
    if dict(scope["headers"]).get(b"content-encoding") == b"gzip":
        body = gzip.decompress(body)
    try:
        return json.loads(body)
    except ValueError:
        return None


def _token(scope: Any) -> str:
    return dict(scope["headers"]).get(b"authorization", b"").decode()[17:-1]


def _headers(payload: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"content-type", b"application/json"), (b"content-length", str(len(payload)).encode())]


def commit_before_ddl(execute: Any) -> Any:
    """Each DDL statement commits the open transaction first; and of two writers, the second waits for the first.

    https://docs.snowflake.com/en/sql-reference/transactions#ddl
    """
    ddl = (exp.Alter, exp.Comment, exp.Create, exp.Drop, exp.TruncateTable)
    writes = (*ddl, exp.Insert, exp.Update, exp.Delete, exp.Merge)

    def wrapped(cursor: FakeSnowflakeCursor, transformed: Any, params: Any = None) -> None:
        if isinstance(transformed, exp.Transaction):
            cursor._conn.in_transaction = True
        elif isinstance(transformed, (exp.Commit, exp.Rollback)):
            cursor._conn.in_transaction = False
        elif isinstance(transformed, ddl) and getattr(cursor._conn, "in_transaction", False):
            execute(cursor, exp.Commit())
            cursor._conn.in_transaction = False
        if isinstance(transformed, writes):
            with writing:
                execute(cursor, transformed, params)
        else:
            execute(cursor, transformed, params)

    return wrapped


def end_with_users(folder: Path) -> None:
    """End this process when no other has its stdin open for writing. Users come and go under a lock on the folder."""
    while True:
        os.read(0, 1)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if select.select([0], [], [], 0)[0]:  # The end of the pipe: nobody came meanwhile.
            (folder / "port").unlink(missing_ok=True)
            os._exit(0)
        os.close(lock)


def main() -> None:
    port, folder = int(sys.argv[1]), Path(sys.argv[2])
    threading.Thread(target=end_with_users, args=(folder,), daemon=True).start()
    fakesnow.server.shared_fs = Databases()
    FakeSnowflakeCursor._execute = commit_before_ddl(FakeSnowflakeCursor._execute)  # type: ignore[method-assign]
    # It looks for `$variables` inside of strings, too.
    FakeSnowflakeCursor._inline_variables = lambda _cursor, command: command  # type: ignore[method-assign]
    uvicorn.run(Bed(folder), host="127.0.0.1", port=port, log_level="critical", access_log=False)


if __name__ == "__main__":
    main()
