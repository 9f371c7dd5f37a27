"""The files of `init --ci`, the action and the pre-commit hook: valid for their services, careful, and run step by step.

The steps that need an engine are in `tests/engines/test_ci_jobs.py`.
"""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import glacierbase
from glacierbase.capabilities.authoring.ci_files import SERVICES
from glacierbase.capabilities.authoring.init import init
from tests.support.ci import Done, Machine, gitlab_jobs, steps_of, workflow
from tests.support.commenter import MARKER, Commenter
from tests.support.commentserver import comment_server
from tests.support.project_folder import REPOSITORY, migration
from tests.support.repository import commit_all, git

ACTION, HOOKS = REPOSITORY / "action.yml", REPOSITORY / ".pre-commit-hooks.yaml"
LOCAL = ".github/actions/glacierbase/action.yml"
WORKFLOWS = ("review", "comment", "deploy", "migrate")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone of a new project, on a branch that adds a migration which drops a column.

    It is on Snowflake: `review` renders its migrations, and starts no engine.
    """
    origin = tmp_path / "origin"
    for service in SERVICES:
        init(str(origin), None, "snowflake", service, "index")
    commit_all(origin)
    subprocess.run(["git", "clone", "-q", str(origin), str(tmp_path / "clone")], check=True)
    clone = tmp_path / "clone"
    (clone / "migrations/analytics/0002_drop_kind.sql").write_text(
        migration("ALTER TABLE LAKE.WEB.EVENTS DROP COLUMN kind", "Drop the kind that nobody reads")
    )
    commit_all(clone, "branch")
    return clone


def workflows(root: Path) -> dict[str, dict[Any, Any]]:
    return {name: workflow(root / f".github/workflows/glacierbase-{name}.yml") for name in WORKFLOWS}


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("vendor.github-workflows", ".github/workflows/*.yml"),
        ("vendor.gitlab-ci", ".gitlab-ci.yml"),
        ("vendor.gitlab-ci", ".gitlab/ci/*.yml"),
        ("vendor.github-actions", "action.yml"),
        ("vendor.github-actions", LOCAL),
    ],
)
def test_each_file_fits_the_schema_of_its_service(schema: str, pattern: str, ci_project: Path) -> None:
    """The schemas are those that check-jsonschema ships: nothing is fetched."""
    root = REPOSITORY if pattern == "action.yml" else ci_project
    paths = list(map(str, root.glob(pattern)))
    assert paths
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        schema,
        "--data-transform",
        "gitlab-ci",
        *paths,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def all_steps(ci_project: Path) -> Iterator[dict[str, Any]]:
    for content in (*workflows(ci_project).values(), workflow(ci_project / LOCAL), workflow(ACTION)):
        yield from steps_of(content)


def test_no_expression_is_part_of_a_script(ci_project: Path) -> None:
    """The runner puts values such as a branch's name into a script as text; here they are variables of the environment."""
    scripts = [step["run"] for step in all_steps(ci_project) if "run" in step]
    assert len(scripts) > 10
    assert [script for script in scripts if "${{" in script] == []


def test_each_action_is_pinned_by_a_commit_and_checkouts_keep_no_credential(ci_project: Path) -> None:
    """A tag can be moved; the version is in a comment."""
    uses = uses_in(*(ci_project / ".github").rglob("*.yml"), ACTION)
    foreign = [each for each in uses if not each.startswith("./")]
    assert len(foreign) > 10
    assert [each for each in foreign if not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []
    checkouts = [step for step in all_steps(ci_project) if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) == 4
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_each_action_in_an_example_is_pinned_by_a_commit() -> None:
    """Examples are copied. The action of glacierbase itself has no commit yet, and its place holds a word."""
    pages = [*(REPOSITORY / "docs").rglob("*.md"), REPOSITORY / "README.md", *(REPOSITORY / ".github").rglob("*.yml")]
    uses = [each for each in uses_in(*pages) if not each.startswith("./")]
    assert len(uses) > 20
    assert [each for each in uses if not re.fullmatch(r".*@([0-9a-f]{40}|COMMIT) # v\d+\.\d+\.\d+", each)] == []


def uses_in(*paths: Path) -> list[str]:
    """Return the actions that files use, as they are written."""
    return [each for path in paths for each in re.findall(r"uses: (\S+/.*)", path.read_text())]


def test_files_and_guides_say_that_only_the_default_branch_may_use_an_environment(ci_project: Path) -> None:
    """GitHub lets a workflow on any branch use an environment, with its secrets, unless the setting forbids that."""
    for path in (ci_project / ".github/workflows").glob("glacierbase-[dm]*.yml"):
        assert "nly the default branch" in path.read_text()
    for name in ("review.md", "ci-and-airflow.md"):
        assert "*Deployment branches and" in (REPOSITORY / "docs/guides" / name).read_text()
    assert "environment:prod:ref:refs/heads/main" in (REPOSITORY / "docs/guides/review.md").read_text()


def test_rights_are_the_least_that_each_job_needs(ci_project: Path) -> None:
    """The review runs a stranger's branch with the right to read; the comment's job checks out and runs the default branch only."""
    found = workflows(ci_project)
    rights = {name: content["permissions"] for name, content in found.items()}
    assert rights == {
        "review": {"contents": "read"}, "comment": {}, "deploy": {}, "migrate": {"contents": "read", "id-token": "write"},
    }  # fmt: skip
    assert set(found["review"][True]) == {"pull_request", "merge_group", "push"}
    assert "permissions" not in found["review"]["jobs"]["review"]
    for name in (".github/workflows/glacierbase-review.yml", ".github/workflows/glacierbase-comment.yml", LOCAL):
        assert "secrets." not in (ci_project / name).read_text()
    comment = found["comment"]["jobs"]["comment"]
    assert comment["permissions"] == {"actions": "read", "contents": "read", "pull-requests": "write"}
    checkout, action = comment["steps"]
    assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"
    assert action == {"uses": "./.github/actions/glacierbase", "with": {"command": "comment"}}
    assert [job["permissions"] for job in found["deploy"]["jobs"].values()] == [
        {"contents": "read", "id-token": "write"}
    ] * 2


def test_the_wheel_has_every_template() -> None:
    """The files that the configuration of the build puts into the wheel are those of the source tree."""
    from hatchling.builders.wheel import WheelBuilder

    packed = {file.distribution_path for file in WheelBuilder(str(REPOSITORY)).recurse_included_files()}
    templates = REPOSITORY / "glacierbase/capabilities/authoring/templates"
    names = {path.relative_to(REPOSITORY).as_posix() for path in templates.rglob("*") if path.is_file()}
    assert {
        f"glacierbase/capabilities/authoring/templates/ci/{name}" for name in ("github/action.yml", "gitlab/jobs.yml")
    } <= names
    assert names <= packed


def test_the_action_of_the_repository_is_that_of_a_project(ci_project: Path) -> None:
    """Whoever uses it gets the same steps, with glacierbase in the version of the action."""
    of_project, of_repository = (list(steps_of(workflow(path))) for path in (ci_project / LOCAL, ACTION))
    names = [step["name"] for step in of_repository if "name" in step]
    assert names == ["Install", "Validate", "Review", "Summary", "Plan", "Migrate", "Comment"]
    [number] = [number for number, step in enumerate(of_repository) if step.get("name") == "Install"]
    assert "$GITHUB_ACTION_PATH[$EXTRAS]" in of_repository.pop(number)["run"]
    assert '"$GLACIERBASE"' in of_project.pop(number)["run"]
    assert of_project == of_repository


@pytest.mark.parametrize("service", SERVICES)
def test_the_files_that_a_project_owns_are_short(service: str, ci_project: Path) -> None:
    """What they have in common for all projects is in one action, or in one file of hidden jobs."""
    common = (LOCAL, ".gitlab/ci/glacierbase-jobs.yml")
    paths = [path for path in SERVICES[service].own.values() if path not in common]
    lengths = {path: len((ci_project / path).read_text().splitlines()) for path in paths}
    assert {path: length for path, length in lengths.items() if length > 55} == {}
    assert sum(lengths.values()) / len(lengths) < 45


def test_the_check_of_a_pull_request_finds_what_the_rules_find(checkout: Path, tmp_path: Path) -> None:
    """Steps after one that failed run, and the job fails. The comment's job accepts what is in the folder of the artifact."""
    machine = Machine(checkout, tmp_path / "machine")
    job = workflow(checkout / ".github/workflows/glacierbase-review.yml")["jobs"]["review"]
    values = {"github.event.pull_request.base.sha": "origin/main", "github.event.pull_request.number": "7"}
    done = machine.on_github(job["steps"], values)
    assert (done.code, list(done.ran)) == (3, ["Install", "Validate", "Review", "Summary"]), done.log
    assert re.search(r"^::error file=migrations/analytics/0002_drop_kind.sql,line=4.*DS103", done.log, re.MULTILINE)
    assert machine.installed == [f"install --quiet glacierbase[snowflake]=={glacierbase.__version__}"]
    folder = machine.temp / "glacierbase-review"
    found = json.loads((folder / "review.sarif").read_text())["runs"][0]["results"]
    assert "DS103" in {each["ruleId"] for each in found}
    files = {path.name: path.read_text() for path in folder.iterdir()}
    assert sorted(files) == ["number", "review.json", "review.md", "review.sarif"]
    (tmp_path / "comment").mkdir()
    with comment_server() as server:
        assert Commenter("github", checkout, server, tmp_path / "comment").run(files)[0] == 0
    [(_, text)] = server.comments.values()
    assert text.startswith(MARKER)
    assert "DS103" in text
    assert "DROP COLUMN kind" in machine.output("GITHUB_STEP_SUMMARY")


def test_the_check_of_a_merge_request_leaves_its_reports(checkout: Path, tmp_path: Path) -> None:
    """The job writes every file that it promises, and fails with the code of the command that failed."""
    machine = Machine(checkout, tmp_path / "machine")
    job = gitlab_jobs(checkout / ".gitlab/ci/glacierbase.yml")["glacierbase review"]
    done = machine.on_gitlab(job, {"CI_MERGE_REQUEST_DIFF_BASE_SHA": git(checkout, "rev-parse", "origin/main")})
    assert done.code == 3, done.log
    reports = job["artifacts"]["reports"]
    for name in (*job["artifacts"]["paths"], reports["codequality"], reports["junit"]):
        assert (checkout / name).stat().st_size, name
    assert "DS103" in (checkout / reports["codequality"]).read_text()
    assert (checkout / "glacierbase-review.md").read_text().startswith(MARKER)
    machine.on_gitlab(job, {"CI_MERGE_REQUEST_TARGET_BRANCH_SHA": "HEAD", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "nothing"})
    assert json.loads((checkout / "glacierbase-review.json").read_text())["catalogs"][0]["files"] == []


@pytest.mark.parametrize("service", SERVICES)
def test_a_plan_is_shown_and_nothing_else_is_applied(service: str, tmp_path: Path) -> None:
    """Whoever approves finds the statements. A file that was edited since is refused before an engine starts."""
    init(str(tmp_path / "work"), None, "spark", service, "index")
    machine = Machine(tmp_path / "work", tmp_path / "machine")
    jobs = {
        "github": lambda name: _migrating_on_github(machine, name),
        "gitlab": lambda name: machine.on_gitlab(
            gitlab_jobs(machine.work / ".gitlab/ci/glacierbase.yml")[f"glacierbase {name} prod"],
            {"CI_ENVIRONMENT_NAME": "prod"},
        ),
    }
    planned = jobs[service]("plan")
    assert planned.code == 0, planned.log
    assert "CREATE TABLE" in planned.log
    if service == "github":
        assert machine.output("GITHUB_OUTPUT").splitlines()[-1] == "pending=True"
        assert re.search(r"^    .*CREATE TABLE", machine.output("GITHUB_STEP_SUMMARY"), re.MULTILINE)
    (machine.work / "migrations/analytics/0001_create_events.sql").write_text(migration("DROP TABLE lake.shop.orders"))
    refused = jobs[service]("migrate")
    assert refused.code == 3
    assert "PLAN_OUTDATED" in refused.log
    assert "starting Spark" not in refused.log


def _migrating_on_github(machine: Machine, job: str) -> Done:
    content = workflow(machine.work / ".github/workflows/glacierbase-migrate.yml")
    return machine.on_github(content["jobs"][job]["steps"], {"inputs.environment": "prod"})


def test_the_pre_commit_hook_runs_in_a_clone(checkout: Path, tmp_path: Path) -> None:
    """pre-commit accepts the file. The hook shows what origin's default branch lacks, and runs for changes in its folders."""
    from pre_commit.clientlib import load_manifest

    [found] = load_manifest(HOOKS)
    assert (found["language"], found["pass_filenames"]) == ("python", False)
    changed = git(checkout, "diff", "--name-only", "origin/main").splitlines()
    assert [re.search(found["files"], name) is not None for name in [*changed, "README.md"]] == [True, False]
    machine = Machine(checkout, tmp_path / "machine")
    step = {"name": found["id"], "run": " ".join([found["entry"], *found["args"]])}
    done = machine.on_github([step], {})
    assert done.code == 3, done.log
    assert "DS103" in done.log


def test_the_gitlab_files_need_no_stage_of_their_own(ci_project: Path) -> None:
    """The jobs fit into a pipeline that exists: the stages are those that GitLab defines by default."""
    jobs = gitlab_jobs(ci_project / ".gitlab/ci/glacierbase.yml")
    assert len(jobs) == 6
    assert {job["stage"] for job in jobs.values()} == {"test", "deploy"}
    assert all(job["rules"] for job in jobs.values())
    assert yaml.safe_load((ci_project / ".gitlab-ci.yml").read_text()) == {
        "include": [{"local": ".gitlab/ci/glacierbase.yml"}]
    }


def test_a_key_is_in_a_file_that_only_its_owner_can_read(checkout: Path, tmp_path: Path) -> None:
    """The secret holds the key, the catalog file names the file. The steps after it find its path in the variable."""
    machine = Machine(checkout, tmp_path / "machine")
    job = workflow(checkout / ".github/workflows/glacierbase-migrate.yml")["jobs"]["plan"]
    key = "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----"
    values = {
        "inputs.environment": "prod", "secrets.SNOWFLAKE_PRIVATE_KEY": key, "vars.SNOWFLAKE_USER": "ana",
        "vars.SNOWFLAKE_ACCOUNT": "",
    }  # fmt: skip
    done = machine.on_github(job["steps"], values)
    assert list(done.ran) == ["Install", "Keys", "Plan"]
    assert done.ran["Keys"] == 0
    path = machine.temp / "SNOWFLAKE_PRIVATE_KEY_FILE"
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (f"{key}\n", 0o600)
    assert machine.output("GITHUB_ENV") == f"SNOWFLAKE_PRIVATE_KEY_FILE={path}\n"
    assert "canary" not in done.log
    assert "UNSET_REFERENCE" not in done.log
