"""The guide to key layouts, run literally, with a server of S3 and an access log in place of the reader's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS
from tests.docs.test_tutorial import run_page
from tests.support.accesslogs import record
from tests.support.s3server import s3_server

_PAGE = DOCS / "guides" / "key-layout.md"
_COLUMNS = ("date-first", "id-first", "hash", "base2", "reversed-id")


def test_the_guide_works_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of the page exits with 0 and prints what the page shows, and the picture is drawn."""
    (tmp_path / "logs").mkdir()
    lines = [record(f"date=2026-11-24/id={number}", 1_549_411_238 + number) for number in range(100)]
    (tmp_path / "logs" / "access.log").write_text("".join(lines))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with s3_server([f"web/events/data/{number:08b}/a" for number in range(256)]) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.address)
        assert run_page(_PAGE, tmp_path) == 7
        assert len(server.requests) > 256
    assert (tmp_path / "lakehouse" / "schemes.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_of_schemes_has_the_numbers_of_the_output() -> None:
    """The shares of 503s of the cold burst, split by character, are those that the page prints."""
    text = _PAGE.read_text()
    [row] = re.findall(r"^\| 503s in the burst, cold: .*", text, re.MULTILINE)
    shown = [cell.strip().partition(";")[0] for cell in row.split("|")[2:-1]]
    printed = dict(re.findall(r"^(\S+) +character +cold .*? ([\d.]+ %|0) +\d+(?: +[\d.]+)?$", text, re.MULTILINE))
    assert shown == [printed[scheme] for scheme in _COLUMNS]
