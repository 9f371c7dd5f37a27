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

from glacierbase.capabilities.authoring.ci_files import SERVICES
from glacierbase.capabilities.authoring.init import TYPES, init
from tests.support.ci import COMMIT, Done, Machine, gitlab_jobs, included_jobs, steps_of, workflow
from tests.support.commenter import MARKER, Commenter
from tests.support.commentserver import comment_server
from tests.support.project_folder import REPOSITORY, migration
from tests.support.repository import commit_all, git

ACTION, HOOKS = REPOSITORY / "action.yml", REPOSITORY / ".pre-commit-hooks.yaml"
WORKFLOW = ".github/workflows/glacierbase.yml"
TEMPLATES = ("check", "deploy")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone of a new project, on a branch that adds a migration which drops a column.

    It is on Snowflake: `review` renders its migrations, and starts no engine.
    """
    origin = tmp_path / "origin"
    for service in SERVICES:
        init(str(origin), None, "snowflake", service, COMMIT)
    commit_all(origin)
    subprocess.run(["git", "clone", "-q", str(origin), str(tmp_path / "clone")], check=True)
    clone = tmp_path / "clone"
    (clone / "migrations/analytics/0002_drop_kind.sql").write_text(
        migration("ALTER TABLE LAKE.WEB.EVENTS DROP COLUMN kind", "Drop the kind that nobody reads")
    )
    commit_all(clone, "branch")
    return clone


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("vendor.github-workflows", ".github/workflows/*.yml"),
        ("vendor.gitlab-ci", ".gitlab-ci.yml"),
        ("vendor.gitlab-ci", ".gitlab/ci/*.yml"),
        ("vendor.github-actions", "action.yml"),
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


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_template_fits_the_schema_of_gitlab(name: str, tmp_path: Path) -> None:
    """With its inputs; the file of a project includes it once for each environment."""
    given = {"install": "glacierbase", **({"environment": "prod", "after": ["a"]} if name == "deploy" else {})}
    path = tmp_path / f"{name}.yml"
    path.write_text(yaml.safe_dump(included_jobs(REPOSITORY / f"templates/{name}.yml", given)))
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.gitlab-ci", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def all_steps(ci_project: Path) -> Iterator[dict[str, Any]]:
    for path in (ci_project / WORKFLOW, ACTION):
        yield from steps_of(workflow(path))


def test_no_expression_is_part_of_a_script(ci_project: Path) -> None:
    """The runner puts values such as a branch's name into a script as text; here they are variables of the environment."""
    scripts = [step["run"] for step in all_steps(ci_project) if "run" in step]
    assert len(scripts) > 6
    assert [script for script in scripts if "${{" in script] == []


def test_each_action_is_pinned_by_a_commit_and_checkouts_keep_no_credential(ci_project: Path) -> None:
    """A tag can be moved; the version is in a comment."""
    uses = uses_in(*(ci_project / ".github").rglob("*.yml"), ACTION)
    foreign = [each for each in uses if not each.startswith("./")]
    assert len(foreign) > 8
    assert [each for each in foreign if not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []
    checkouts = [step for step in all_steps(ci_project) if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) == 3
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
    assert "Only the default branch may use them" in (ci_project / WORKFLOW).read_text()
    for name in ("review.md", "ci-and-airflow.md"):
        assert "*Deployment branches and" in (REPOSITORY / "docs/guides" / name).read_text()
    assert "environment:prod:ref:refs/heads/main" in (REPOSITORY / "docs/guides/review.md").read_text()


def test_rights_are_the_least_that_each_job_needs(ci_project: Path) -> None:
    """The check runs a stranger's branch with the right to read; the comment's job checks out nothing, and runs only the action."""
    content = workflow(ci_project / WORKFLOW)
    assert content["permissions"] == {"contents": "read"}
    assert set(content[True]) == {"pull_request", "merge_group", "push", "workflow_dispatch"}
    rights = {name: job.get("permissions") for name, job in content["jobs"].items()}
    deploys = {"contents": "read", "id-token": "write"}
    assert rights == {
        "check": None, "comment": {"actions": "read", "pull-requests": "write"}, "plan": deploys, "migrate": deploys
    }  # fmt: skip
    assert "secrets." not in yaml.safe_dump([content["jobs"][name] for name in ("check", "comment")])
    [step] = content["jobs"]["comment"]["steps"]
    assert step["with"] == {"command": "comment"}
    assert "refs/heads" not in content["jobs"]["plan"]["if"]
    assert content["jobs"]["plan"]["if"] == "github.event_name == 'push' || github.event_name == 'workflow_dispatch'"


def test_the_wheel_has_every_template() -> None:
    """The files that the configuration of the build puts into the wheel are those of the source tree."""
    from hatchling.builders.wheel import WheelBuilder

    packed = {file.distribution_path for file in WheelBuilder(str(REPOSITORY)).recurse_included_files()}
    templates = REPOSITORY / "glacierbase/capabilities/authoring/templates"
    names = {path.relative_to(REPOSITORY).as_posix() for path in templates.rglob("*") if path.is_file()}
    assert {
        f"glacierbase/capabilities/authoring/templates/ci/{name}"
        for name in ("github/glacierbase.yml", "gitlab/glacierbase.yml")
    } <= names
    assert names <= packed


def test_the_action_has_a_step_for_each_purpose() -> None:
    """The action installs glacierbase in its own version."""
    steps = list(steps_of(workflow(ACTION)))
    names = [step["name"] for step in steps if "name" in step]
    assert names == ["Install", "Environments", "Check", "Summary", "Keys", "Plan", "Migrate", "Comment"]
    assert '"$GITHUB_ACTION_PATH[$EXTRAS]"' in steps[2]["run"]


@pytest.mark.parametrize("catalog_type", TYPES)
@pytest.mark.parametrize(("service", "longest"), [("github", 60), ("gitlab", 40)])
def test_the_files_that_a_project_owns_are_short(service: str, longest: int, catalog_type: str, tmp_path: Path) -> None:
    """All that CI needs of a project, beside owners and a template of a description. Of a line at most 180 characters."""
    init(str(tmp_path), None, catalog_type, service, COMMIT)
    names = [*SERVICES[service].own.values(), *([".gitlab-ci.yml"] if service == "gitlab" else [])]
    lines = [line for name in names for line in (tmp_path / name).read_text().splitlines()]
    assert len(lines) <= longest
    assert max(map(len, lines)) <= 180


def test_the_check_of_a_pull_request_finds_what_the_rules_find(checkout: Path, tmp_path: Path) -> None:
    """Steps after one that failed run, and the job fails. The comment's job accepts what is in the folder of the artifact."""
    machine = Machine(checkout, tmp_path / "machine")
    job = workflow(checkout / WORKFLOW)["jobs"]["check"]
    values = {"github.event.pull_request.base.sha": "origin/main", "github.event.pull_request.number": "7"}
    done = machine.on_github(job["steps"], values)
    assert (done.code, list(done.ran)) == (3, ["Install", "Check", "Summary"]), done.log
    assert re.search(r"^::error file=migrations/analytics/0002_drop_kind.sql,line=4.*DS103", done.log, re.MULTILINE)
    assert machine.installed == ["install --quiet /action[snowflake]"]
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
    job = gitlab_jobs(checkout / ".gitlab/ci/glacierbase.yml")["glacierbase check"]
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
    init(str(tmp_path / "work"), None, "spark", service, COMMIT)
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
    content = workflow(machine.work / WORKFLOW)
    return machine.on_github(content["jobs"][job]["steps"], {"matrix.environment": "prod"})


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
    job = workflow(checkout / WORKFLOW)["jobs"]["plan"]
    key = "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----"
    values = {
        "matrix.environment": "prod", "secrets.SNOWFLAKE_PRIVATE_KEY": key, "vars.SNOWFLAKE_USER": "ana",
        "vars.SNOWFLAKE_ACCOUNT": "",
    }  # fmt: skip
    done = machine.on_github(job["steps"], values, job["env"])
    assert list(done.ran) == ["Install", "Keys", "Plan"]
    assert done.ran["Keys"] == 0
    path = machine.temp / "SNOWFLAKE_PRIVATE_KEY_FILE"
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (f"{key}\n", 0o600)
    assert machine.output("GITHUB_ENV") == f"SNOWFLAKE_PRIVATE_KEY_FILE={path}\n"
    assert "canary" not in done.log
    assert "UNSET_REFERENCE" not in done.log


def test_a_project_with_packages_of_its_own_gets_its_environments(tmp_path: Path) -> None:
    """Hudi's Spark is not that of glacierbase: the job makes the environment before it checks."""
    work = tmp_path / "work"
    init(str(work), None, "hudi", "github", COMMIT)
    commit_all(work)
    machine = Machine(work, tmp_path / "machine")
    job = workflow(work / WORKFLOW)["jobs"]["check"]
    (tmp_path / "machine/bin/glacierbase").write_text('#!/bin/sh\necho "glacierbase $1"\n')
    done = machine.on_github(
        job["steps"], {"github.event.pull_request.base.sha": "main", "github.event.pull_request.number": "7"}
    )
    assert re.findall("^glacierbase (.*)", done.log, re.MULTILINE) == ["env", "check"]


def test_the_guide_shows_the_whole_workflow_of_a_new_project(tmp_path: Path) -> None:
    """All lines but the checksum above them."""
    init(
        str(tmp_path),
        None,
        "spark",
        "github",
        "git+https://github.com/OWNER/glacierbase@4f1c0a6be2d94d0f8a3b5c7d9e1f2a4b6c8d0e1f",
    )
    _, written = (tmp_path / WORKFLOW).read_text().split("\n", 1)
    guide = (REPOSITORY / "docs/guides/review.md").read_text()
    assert f"<!-- the workflow of GitHub -->\n```yaml\n{written}```\n" in guide
