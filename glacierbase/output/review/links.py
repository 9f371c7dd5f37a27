"""Links to files on the page of the service that runs a job: GitHub and GitLab."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

_PAGE = re.compile(r"https?://[A-Za-z0-9._:/-]+")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True, slots=True)
class Links:
    """Links to the files of a commit.

    Attributes:
        address: the address of the files, without a slash at its end; empty if it is not known.
    """

    address: str = ""

    @classmethod
    def of_environment(cls) -> Links:
        """Return the links of the job that runs this process; outside of a job none are known."""
        if os.environ.get("GITHUB_ACTIONS"):
            return cls(_address(f"{_given('GITHUB_SERVER_URL')}/{_given('GITHUB_REPOSITORY')}/blob", _head_on_github()))
        if os.environ.get("GITLAB_CI"):
            page = _given("CI_MERGE_REQUEST_SOURCE_PROJECT_URL") or _given("CI_PROJECT_URL")
            return cls(
                _address(f"{page}/-/blob", _given("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or _given("CI_COMMIT_SHA"))
            )
        return cls()

    def to(self, path: str, shown: str, line: int | None = None) -> str:
        """Return Markdown with a link to a file.

        Args:
            path: relative to the top of the work tree; another path has no link.
            shown: the Markdown of the link's text.
        """
        if not self.address or not path or path.startswith(("/", "../")):
            return shown
        return f"[{shown}]({self.address}/{quote(path)}{f'#L{line}' if line else ''})"


def _given(name: str) -> str:
    return os.environ.get(name, "")


def _address(page: str, commit: str) -> str:
    return f"{page}/{commit}" if _PAGE.fullmatch(page) and _COMMIT.fullmatch(commit) else ""


def _head_on_github() -> str:
    """Return the last commit of the pull request: GITHUB_SHA is a merge that later commits replace."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        event = json.loads(Path(_given("GITHUB_EVENT_PATH")).read_text("utf-8"))
        head: Mapping[str, str] = event["pull_request"]["head"]
        return str(head["sha"])
    return _given("GITHUB_SHA")
