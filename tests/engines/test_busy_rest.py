"""Migrations on a busy REST catalog: Spark and PyIceberg behind a proxy that checks tokens, and refuses requests."""

from __future__ import annotations

import itertools
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.support.beds import WebBed
from tests.support.catalog_files import WEB, WEB_TOKEN
from tests.support.checkingproxy import TOKENS, CheckingProxy, Fault, checking_proxy
from tests.support.project_folder import Output, ProjectFolder

pytestmark = pytest.mark.spark

BUSY = ("GET .*/t$", "GET .*_shop$", "POST .*/t$", "POST .*_shop$")
SLEEP = "IF(java_method('java.lang.Thread', 'sleep', 20000L) = 'slept', 0, 1)"


@pytest.fixture
def proxy(web: WebBed) -> Iterator[CheckingProxy]:
    with checking_proxy(lambda *request: web.server.answer(*request, f"Bearer {WEB_TOKEN}")) as proxy:
        yield proxy


@pytest.fixture
def namespace(proxy: CheckingProxy, project: ProjectFolder) -> str:
    """A new namespace for the tables, the history and the lock of the project's catalog, which logs in by a credential."""
    namespace = f"g{uuid.uuid4().hex[:8]}"
    text = WEB.replace("ADDRESS", proxy.address).replace(
        "token: ${secret:WEB_TOKEN}", "credential: ${secret:MIGRATOR_LOGIN}"
    )
    project.catalog(f"{text}store: {{namespace: {namespace}, lockLease: 60s}}\n")
    return namespace


def test_a_run_outlasts_its_tokens_and_bursts_of_refusals(
    web: WebBed, proxy: CheckingProxy, namespace: str, project: ProjectFolder
) -> None:
    """Tokens expire every 5 s, a statement runs for 20 s, and each kind of request is refused for a while again and again.

    Iceberg's client repeats a refused request with the token that it had. If that expires meanwhile, the statement is refused by
    name, and the next run goes on at it.
    """
    table = f"lake.{namespace}.t"
    project.file(
        "1_a.sql",
        f"CREATE TABLE {table} (a INT) USING iceberg;\nINSERT INTO {table} SELECT {SLEEP} FROM range(1);\n"
        f"ALTER TABLE {table} ADD COLUMN b INT;",
    )
    proxy.token_seconds = 5
    # Not again and again: Iceberg replaces a token half a second before it expires. Without Retry-After, it repeats no POST
    # after a 503, not even that for a token.
    tokens, statuses = Fault(TOKENS, [429, 503, 429], retry_after="1"), itertools.cycle((503, 429))
    refusals = 0
    while (done := run_in_bursts(project, proxy, tokens, statuses)).code:
        error, refusals = done.document["error"], refusals + 1
        assert (done.code, error["code"]) == (1, "STATEMENT_FAILED"), done.stderr
        assert "the login of the principal migrator of the catalog lake was refused" in error["message"]
        assert refusals < 6
    assert {429, 503} <= set(proxy.statuses("GET .*/t$"))
    assert {429, 503} & set(proxy.statuses("POST .*/t$"))
    assert proxy.statuses(TOKENS).count(200) >= 6
    assert web.rows(f"SELECT * FROM {table}") == [(1, None)]
    events = [row[0] for row in web.rows(f"SELECT event FROM lake.{namespace}.history_shop ORDER BY sequence")]
    recorded = {event: events.count(event) for event in dict.fromkeys(events)}
    again = {"failed": refusals} if refusals else {}
    assert recorded == {"started": 1 + refusals, "statement_done": 2, **again, "applied": 1}
    assert "canary" not in done.stdout + done.stderr


def run_in_bursts(project: ProjectFolder, proxy: CheckingProxy, tokens: Fault, statuses: Iterator[int]) -> Output:
    """Run `migrate` while each kind of request is refused once in 8 s."""
    run = project.start("migrate", "--format", "json")
    while run.poll() is None:
        status = next(statuses)
        proxy.faults = [tokens, *(Fault(request, [status], retry_after="1") for request in BUSY)]
        with suppress(subprocess.TimeoutExpired):
            run.wait(8)
    proxy.faults = []
    return Output(run.returncode, *run.communicate())


def test_a_refused_right_on_one_table_fails_its_statement(
    web: WebBed, proxy: CheckingProxy, namespace: str, project: ProjectFolder
) -> None:
    """The lock is released, and with the right the next run goes on at that statement."""
    table = f"lake.{namespace}.t"
    project.file("1_a.sql", f"CREATE TABLE {table} (a INT) USING iceberg;\nALTER TABLE {table} ADD COLUMN b INT;")
    proxy.faults = [Fault("POST .*/tables/t$", [403] * 20)]
    refused = project.ask("migrate")
    error = refused.document["error"]
    assert (refused.code, error["code"], error["statement_index"]) == (1, "STATEMENT_FAILED", 2), refused.stderr
    what = f"the principal migrator of the catalog lake lacks the right to change {table}: Forbidden: not now"
    assert what in error["message"]
    assert "canary" not in refused.stdout + refused.stderr
    status = project.ask("status").entry()
    assert (status["lock"], [found["state"] for found in status["migrations"]]) == (None, ["failed"])
    proxy.faults = []
    done = project.ask("migrate")
    assert done.code == 0, done.stderr
    assert done.entry()["applied"][0]["resumed_at"] == 2
    assert [row[0] for row in web.rows(f"DESCRIBE {table}")][:2] == ["a", "b"]
