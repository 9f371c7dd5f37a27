"""What the tests of all rooms share."""

from __future__ import annotations

import pytest

from glacierbase.migrations import sandbox
from tests.support.forked import ForkedWorker


@pytest.fixture(autouse=True)
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the workers of the sandbox. The tests of its walls replace this fixture: they start a worker as the program does."""
    monkeypatch.setattr(sandbox, "_start", ForkedWorker)
