"""The hooks of the page "Notify", run around `migrate` with a web server that receives what they post."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from glacierbase.apply import migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.results import MigrateResult
from tests.docs.pages import DOCS, blocks
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

FILES = {
    block.marker.removeprefix("file "): block.text
    for block in blocks(DOCS / "guides" / "notify.md")
    if block.marker.startswith("file ")
}


class Receiver(HTTPServer):
    """A server that keeps the JSON that is posted to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.posted: list[Any] = []
        self.status = 200

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        assert self.headers["Content-Type"] == "application/json"
        self.server.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A running server, and the variables that name it."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        monkeypatch.setenv("SLACK_WEBHOOK_URL", server.address)
        monkeypatch.setenv("WEBHOOK_URL", server.address)
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """A project in memory with the scripts of the page and one migration."""
    for name, text in FILES.items():
        if name.startswith("hooks/"):
            path = project.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
    world = World(project)
    world.file("0001_a.sql", "CREATE TABLE t (a INT)")
    return world


def migrate(world: World, hooks: str) -> MigrateResult:
    world.variables = hooks
    return migrator.migrate(world.target(), MigrateResult("shop", "default"), selection=Selection())


def failed(world: World) -> None:
    world.file("0002_b.sql", "INSERT INTO nowhere VALUES (1)")


def test_the_page_has_these_files() -> None:
    """Each of them is run by a test below."""
    assert sorted(FILES) == ["catalogs/webhook", "hooks/no-drops.sh", "hooks/notify.py", "hooks/notify.sh"]


def test_the_script_with_curl_names_hook_catalog_and_environment(world: World, receiver: Receiver) -> None:
    """The receiver gets one message; one that refuses it is a warning."""
    assert migrate(world, "hooks: {afterMigrate: [hooks/notify.sh]}").warnings == ()
    assert receiver.posted == [{"text": "afterMigrate: shop (default)"}]
    receiver.status = 404
    world.file("0002_b.sql", "SELECT 1")
    [warning] = migrate(world, "hooks: {afterMigrate: [hooks/notify.sh]}").warnings
    assert warning.startswith("hook afterMigrate exited with 22\ncurl: ")


def test_a_webhook_gets_the_whole_document(world: World, receiver: Receiver) -> None:
    """A webhook gets the document of `migrate`."""
    failed(world)
    result = migrate(world, FILES["catalogs/webhook"])
    assert result.warnings == ()
    [document] = receiver.posted
    assert (document["schema"], document["error"]["code"]) == ("glacierbase/migrate/1", "STATEMENT_FAILED")
    assert document["catalogs"][0]["failed"]["version"] == "0002"


def test_the_script_in_python_says_what_was_applied_or_failed(world: World, receiver: Receiver) -> None:
    """The failure has its code and the next step."""
    hooks = (
        f"hooks: {{afterMigrate: [{sys.executable}, hooks/notify.py], onFailure: [{sys.executable}, hooks/notify.py]}}"
    )
    migrate(world, hooks)
    failed(world)
    assert migrate(world, hooks).warnings == ()
    applied, error = (message["text"] for message in receiver.posted)
    assert applied == "shop (default): applied 0001"
    assert error.startswith("shop (default): STATEMENT_FAILED: migrations/shop/0002_b.sql, line 4")
    assert "glacierbase migrate" in error


def test_the_script_refuses_a_plan_that_drops_a_table(world: World) -> None:
    """Other plans run."""
    hooks = "hooks: {beforeMigrate: [hooks/no-drops.sh]}"
    assert migrate(world, hooks).error is None
    world.file("0002_b.sql", "DROP TABLE t")
    error = migrate(world, hooks).error
    assert error
    assert "this plan drops a table" in error.message
    assert world.values() == []
