"""The comment on a pull request and the note on a merge request: written, updated, and never from a forged artifact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from glacierbase.capabilities.authoring.ci_files import SERVICES
from tests.support.commenter import MARKER, Commenter
from tests.support.commentserver import comment_server

BOT, SOMEBODY = "github-actions[bot]", "octocat"


@pytest.fixture(params=SERVICES)
def commenter(request: pytest.FixtureRequest, ci_project: Path, tmp_path: Path) -> Iterator[Commenter]:
    """The job that comments, of each service."""
    with comment_server() as server:
        yield Commenter(request.param, ci_project, server, tmp_path)


@pytest.fixture
def on_github(ci_project: Path, tmp_path: Path) -> Iterator[Commenter]:
    """The job that comments, of GitHub."""
    with comment_server() as server:
        yield Commenter("github", ci_project, server, tmp_path)


def test_the_first_review_writes_a_comment_and_later_ones_update_it(commenter: Commenter) -> None:
    """The comment is on the second page of comments. One of somebody else with the same marker is left alone."""
    comments = commenter.server.comments
    comments.update(dict.fromkeys(range(1, 150), (SOMEBODY, "hello")))
    comments[2] = (SOMEBODY, f"{MARKER}\nforged")
    assert commenter.write(f"{MARKER}\none")[0] == 0
    assert (len(comments), comments[150][0]) == (150, BOT)
    assert comments[150][1].startswith(f"{MARKER}\none")
    assert commenter.write(f"{MARKER}\ntwo")[0] == 0
    assert len(comments) == 150
    assert comments[150][1].startswith(f"{MARKER}\ntwo")
    assert comments[2] == (SOMEBODY, f"{MARKER}\nforged")


def test_a_pull_request_without_new_migrations_gets_no_comment_unless_it_has_one(commenter: Commenter) -> None:
    """The comment on an earlier commit is brought up to date."""
    nothing = {"ok": True, "catalogs": [{"files": []}]}
    assert commenter.write(f"{MARKER}\nnothing", nothing)[0] == 0
    assert commenter.server.comments == {}
    commenter.write(f"{MARKER}\none")
    commenter.write(f"{MARKER}\nnothing", nothing)
    [(_, text)] = commenter.server.comments.values()
    assert text.startswith(f"{MARKER}\nnothing")


def test_a_review_that_failed_is_a_comment(commenter: Commenter) -> None:
    """The failed review's document has no files."""
    assert commenter.write(f"{MARKER}\nit failed", {"ok": False, "catalogs": []})[0] == 0
    assert len(commenter.server.comments) == 1


def test_a_comment_has_the_log(on_github: Commenter) -> None:
    """The reader finds the run, and the commit that it is about."""
    on_github.write(f"{MARKER}\none")
    [(_, text)] = on_github.server.comments.values()
    assert "(https://github.test/acme/lake/actions/runs/1) of commit abc" in text


def test_the_storage_of_an_artifact_gets_no_token(on_github: Commenter) -> None:
    """GitHub redirects the download to another host."""
    on_github.write(f"{MARKER}\none")
    assert on_github.server.tokens == {"api": {"Bearer canary"}, "storage": {None}}


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"number": "7"}, "refused"),
        ({"number": "7", "review.md": "no marker"}, "refused"),
        ({"number": "7", "review.md": f"{MARKER}\n".ljust(70_000, "-")}, "refused"),
        ({"number": "7", "review.md": MARKER + "0" * 9_000_000}, "refused"),
        ({"number": "7" * 100, "review.md": MARKER}, "refused"),
        ({"number": "7/../../issues/1", "review.md": MARKER}, "refused"),
        ({"number": "٧", "review.md": MARKER}, "refused"),
        ({"review.md": MARKER}, "number"),
        ({"number": "7", "review.md": b"\xff"}, "decode"),
        ({"number": "7", "review.md": MARKER, "review.json": "[" * 100_000}, "RecursionError"),
        ({"number": "8", "review.md": MARKER}, "404"),
    ],
)
def test_a_forged_artifact_writes_nothing(files: dict[str, str], says: str, on_github: Commenter) -> None:
    """The artifact comes from a job that runs the code of a stranger's branch."""
    code, log = on_github.run(files)
    assert (code, on_github.server.comments) == (1, {})
    assert says in log


def test_an_artifact_that_is_too_large_is_not_downloaded(on_github: Commenter) -> None:
    """The artifact's size is that which the service reports."""
    on_github.server.size = 10_000_001
    assert on_github.write(MARKER)[0] == 1
    assert on_github.server.tokens["storage"] == set()


def test_the_number_counts_only_if_the_pull_request_has_the_commit_of_the_run(on_github: Commenter) -> None:
    """A branch cannot comment on another pull request; a newer commit has a run of its own; a closed one gets no comment."""
    files = {"number": "7", "review.md": MARKER}
    for sha, state in (("another", "open"), ("abc", "closed")):
        on_github.server.pull["state"] = state
        code, log = on_github.run(files, sha)
        assert (code, on_github.server.comments) == (0, {})
        assert "does not have the commit" in log


def test_a_workflow_that_runs_after_the_check_comments_too(on_github: Commenter) -> None:
    """For the pull requests of forks, whose own workflow has no right to write."""
    files = {"number": "7", "review.md": f"{MARKER}\none", "review.json": '{"ok": true, "catalogs": [{"files": [1]}]}'}
    assert on_github.run(files, is_same_run=False)[0] == 0
    assert len(on_github.server.comments) == 1


def test_a_run_without_a_review_says_so(on_github: Commenter) -> None:
    """The install failed, or the run was cancelled: its own log says why."""
    assert on_github.run(None)[0] == 0
    assert on_github.server.comments == {}
