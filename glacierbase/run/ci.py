"""The CI job that a run is part of: its address, and who started it, from the variables that CI services set.

- GitHub Actions, https://docs.github.com/en/actions/reference/workflows-and-actions/variables: `GITHUB_ACTOR`
- GitLab, https://docs.gitlab.com/ci/variables/predefined_variables/: `GITLAB_USER_LOGIN`; of a manual job who started that job
- Jenkins with its build user vars plugin, https://plugins.jenkins.io/build-user-vars-plugin/: `BUILD_USER_ID`
- Azure Pipelines, https://learn.microsoft.com/en-us/azure/devops/pipelines/build/variables: `BUILD_REQUESTEDFOREMAIL`
- Buildkite, https://buildkite.com/docs/pipelines/configure/environment-variables: `BUILDKITE_BUILD_CREATOR`; the author of the
  commit where the build has one
- CircleCI, https://circleci.com/docs/variables/: `CIRCLE_USERNAME`
"""

from __future__ import annotations

import os

_JOB_URL = ("CI_JOB_URL", "BUILD_URL", "CIRCLE_BUILD_URL", "BUILDKITE_BUILD_URL", "TRAVIS_BUILD_WEB_URL")
_ACTOR = (
    "GITHUB_ACTOR",
    "GITLAB_USER_LOGIN",
    "BUILD_USER_ID",
    "BUILD_REQUESTEDFOREMAIL",
    "BUILDKITE_BUILD_CREATOR",
    "CIRCLE_USERNAME",
)


def ci_url() -> str | None:
    """Return the address of the CI job, or None outside of CI."""
    if os.environ.get("GITHUB_RUN_ID"):
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        return f"{server}/{os.environ.get('GITHUB_REPOSITORY')}/actions/runs/{os.environ['GITHUB_RUN_ID']}"
    return _first(_JOB_URL)


def ci_actor() -> str | None:
    """Return who started the CI job, as the CI service names them; None where it does not."""
    return _first(_ACTOR)


def _first(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
