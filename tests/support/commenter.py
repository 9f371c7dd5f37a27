"""The jobs of `init --ci` that comment on a review, run on a server of the test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.ci import Machine, gitlab_jobs, workflow
from tests.support.commentserver import CommentServer

MARKER = "<!-- glacierbase:check -->"
# The document of a review with a new migration.
NEW = {"ok": True, "catalogs": [{"files": [{"version": "0002"}]}]}


class Commenter:
    """The comment's job of GitHub, or the note's job of GitLab, on a server."""

    def __init__(self, service: str, written: Path, server: CommentServer, folder: Path) -> None:
        self.service = service
        self.server = server
        self._machine = Machine(folder, folder / "machine")
        self._written = written
        self._folder = folder

    def write(self, text: str, review: object = NEW, number: str = "7", **more: str) -> tuple[int, str]:
        """Run the job for a review; return its exit code and log."""
        files = {"review.md": text, "review.json": json.dumps(review), "number": f"{number}\n", **more}
        return self.run(files) if self.service == "github" else self._on_gitlab(files)

    def run(self, files: dict[str, Any] | None, sha: str = "abc", *, is_same_run: bool = True) -> tuple[int, str]:
        """Run the job of GitHub for an artifact with these files, of a commit.

        Args:
            is_same_run: whether the job is in the workflow that checks; otherwise in one that runs after it, as for forks.
        """
        self.server.artifact = files
        event: dict[str, Any] = {"pull_request": {"head": {"sha": sha}}}
        if not is_same_run:
            url = "https://github.test/acme/lake/actions/runs/1"
            event = {"workflow_run": {"id": 1, "head_sha": sha, "html_url": url}}
        (self._folder / "event.json").write_text(json.dumps(event))
        steps = workflow(self._written / ".github/workflows/glacierbase.yml")["jobs"]["comment"]["steps"]
        env = {
            "GITHUB_API_URL": self.server.address, "GITHUB_REPOSITORY": "acme/lake",
            "GITHUB_EVENT_PATH": str(self._folder / "event.json"), "GITHUB_RUN_ID": "1", "GITHUB_SERVER_URL": "https://github.test",
        }  # fmt: skip
        done = self._machine.on_github(steps, {"github.token": "canary"}, env)
        return done.code, done.log

    def _on_gitlab(self, files: dict[str, str]) -> tuple[int, str]:
        for name in ("review.md", "review.json"):
            (self._folder / f"glacierbase-{name}").write_text(files[name])
        env = {
            "CI_API_V4_URL": self.server.address, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "7",
            "GLACIERBASE_NOTE_TOKEN": "canary",
        }  # fmt: skip
        done = self._machine.on_gitlab(
            gitlab_jobs(self._written / ".gitlab/ci/glacierbase.yml")["glacierbase note"], env
        )
        return done.code, done.log
