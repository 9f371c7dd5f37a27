"""`init --ci`: which files are written, what they hold for a project, and that none is overwritten."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from glacierbase.capabilities.authoring.ci_files import SERVICES
from glacierbase.capabilities.authoring.init import init
from glacierbase.errors import ConfigurationError, GlacierbaseError
from glacierbase.migrations import all_or_none
from tests.support.ci import COMMIT, gitlab_jobs, steps_of, workflow
from tests.support.program import call_program
from tests.support.project_folder import REPOSITORY, ProjectFolder

WORKFLOW = ".github/workflows/glacierbase.yml"
OTHER = COMMIT.replace("0", "f")
OWN = {name: tuple(service.own.values()) for name, service in SERVICES.items()}
SPARK = "migrationExecutor: {type: spark, conf: {sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}}}\n"


def contents(root: Path) -> dict[str, bytes]:
    """Return all files below a folder, those of git aside."""
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def used(root: Path) -> list[dict[str, object]]:
    """Return the steps of GitHub's workflow that use the action of glacierbase."""
    return [step for step in steps_of(workflow(root / WORKFLOW)) if "/glacierbase@" in step["uses"]]


@pytest.mark.parametrize("service", SERVICES)
def test_a_new_project_and_its_ci_files_are_written_in_one_call(service: str, tmp_path: Path) -> None:
    """The result lists the files of both, and the files that a second call finds unchanged."""
    first = init(str(tmp_path), None, "spark", service, COMMIT)
    written = contents(tmp_path)
    assert {"catalogs/analytics.yaml", *OWN[service]} <= written.keys()
    assert {(tmp_path / name).resolve() for name in written} == {Path(file).resolve() for file in first.files}
    second = init(str(tmp_path), None, "spark", service, COMMIT)
    assert (second.catalog, second.files, second.next) == ("analytics", (), ())
    assert len(second.unchanged) == len(first.files) - 5
    assert contents(tmp_path) == written


@pytest.mark.parametrize(("arguments", "catalogs"), [([], ["shop"]), (["web"], ["shop", "web"])])
def test_a_project_with_catalogs_gets_a_further_one_only_by_name(
    arguments: list[str], catalogs: list[str], project: ProjectFolder
) -> None:
    """The default NAME is for projects without a catalog."""
    project.catalog(SPARK)
    done = project.run("init", "--ci", "gitlab", "--from", COMMIT, *arguments)
    assert (done.code, done.stderr) == (0, "")
    assert sorted(path.stem for path in (project.root / "catalogs").glob("[a-z]*.yaml")) == catalogs
    assert (project.root / ".gitlab-ci.yml").exists()


def test_a_folder_inside_a_project_is_no_new_project(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command finds the project above the working directory, as others do."""
    project.catalog(SPARK)
    monkeypatch.chdir(project.root / "migrations")
    assert call_program(["init", "--ci", "gitlab", "--from", COMMIT]).code == 0
    assert {".gitlab-ci.yml", "catalogs/shop.yaml"} <= contents(project.root).keys()
    assert list((project.root / "migrations").iterdir()) == [project.root / "migrations/shop"]


@pytest.mark.parametrize("service", SERVICES)
def test_a_file_that_differs_stops_all_of_it(service: str, tmp_path: Path) -> None:
    """One message names every such file; neither the new catalog nor another file is written, and no file is changed."""
    for name in OWN[service]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("mine\n")
    before = contents(tmp_path)
    with pytest.raises(ConfigurationError) as caught:
        init(str(tmp_path), None, "spark", service, COMMIT)
    assert (caught.value.code, caught.value.exit_code) == ("ALREADY_EXISTS", 2)
    assert [Path(path).resolve() for path in caught.value.data["paths"]] == [tmp_path / name for name in OWN[service]]
    assert contents(tmp_path) == before


def test_a_failure_in_the_middle_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`init` is interrupted at the third file of the CI service: it removes the first two, and the new project."""
    create = all_or_none.create_file

    def interrupted(path: Path, root: Path, text: str) -> None:
        if "CODEOWNERS" in path.name:
            raise KeyboardInterrupt
        create(path, root, text)

    monkeypatch.setattr(all_or_none, "create_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        init(str(tmp_path), None, "spark", "github", COMMIT)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    """A limit of 2 KiB for files stands for the disk."""
    # Python would leave bytecode that ends at the limit, and fail to import it later.
    command = (
        f"ulimit -f 2; PYTHONDONTWRITEBYTECODE=1 exec {sys.executable} -m glacierbase init --ci github --from {COMMIT}"
    )
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[0].partition(": ")[2].partition(":")[0]) == (2, "UNREADABLE_FILE")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only files of this call are removed when it fails."""
    create = all_or_none.create_file

    def late(path: Path, root: Path, text: str) -> None:
        if "CODEOWNERS" in path.name:
            path.write_text("mine")
        create(path, root, text)

    monkeypatch.setattr(all_or_none, "create_file", late)
    with pytest.raises(ConfigurationError, match="exists already"):
        init(str(tmp_path), None, "spark", "github", COMMIT)
    assert contents(tmp_path) == {".github/CODEOWNERS": b"mine"}


def test_what_was_refused_can_be_run_again(tmp_path: Path) -> None:
    """The folders of the refused call are gone, too, and an empty one that was there before stays."""
    (tmp_path / "catalogs").mkdir()
    (tmp_path / ".github").write_text("mine\n")
    with pytest.raises(ConfigurationError):
        init(str(tmp_path), None, "spark", "github", COMMIT)
    assert {path.name for path in tmp_path.rglob("*")} == {"catalogs", ".github"}
    (tmp_path / ".github").unlink()
    assert len(init(str(tmp_path), None, "spark", "github", COMMIT).files) == 8


def test_line_ends_of_windows_are_no_difference(tmp_path: Path) -> None:
    """A checkout with CRLF is what was written."""
    init(str(tmp_path), None, "spark", "github", COMMIT)
    path = tmp_path / OWN["github"][0]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert init(str(tmp_path), None, "spark", "github", COMMIT).files == ()


@pytest.mark.parametrize(
    ("service", "name", "asks"),
    [
        ("github", "CODEOWNERS", "migrations/"),
        ("github", "docs/CODEOWNERS", "migrations/"),
        ("github", "PULL_REQUEST_TEMPLATE.md", ""),
        ("gitlab", ".gitlab-ci.yml", "local: .gitlab/ci/glacierbase.yml"),
    ],
)
def test_a_file_of_the_repository_is_kept_wherever_it_is(service: str, name: str, asks: str, tmp_path: Path) -> None:
    """GitHub reads one CODEOWNERS only: a second one would replace the user's. The result asks for the line that it lacks."""
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine\n")
    result = init(str(tmp_path), None, "spark", service, COMMIT)
    assert (tmp_path / name).read_text() == "mine\n"
    same = [path for path in contents(tmp_path) if Path(path).name.lower() == Path(name).name.lower()]
    assert same == [name]
    assert [asks in line for line in result.incomplete] == ([True] if asks else [])
    if asks:
        (tmp_path / name).write_text(f"mine {asks}\n")
        assert init(str(tmp_path), None, "spark", service, COMMIT).incomplete == ()


def test_the_deployment_follows_the_environments_of_the_catalog_files(project: ProjectFolder) -> None:
    """In their order, each after the one before, one run at a time; names that YAML reads as other values stay names."""
    names = ["dev", "on", "1.0"]
    project.catalog(f"{SPARK}environments: {{dev: {{}}, 'on': {{}}, '1.0': {{protected: true}}}}\n")
    init(str(project.root), None, "spark", "github", COMMIT)
    jobs = workflow(project.root / WORKFLOW)["jobs"]
    assert [jobs[name]["strategy"]["matrix"] for name in ("plan", "migrate")] == [{"environment": names}] * 2
    assert (jobs["migrate"]["needs"], jobs["migrate"]["strategy"]["max-parallel"]) == ("plan", 1)
    assert jobs["migrate"]["concurrency"] == {
        "group": "glacierbase-${{ matrix.environment }}", "cancel-in-progress": False
    }  # fmt: skip
    init(str(project.root), None, "spark", "gitlab", COMMIT)
    gitlab = gitlab_jobs(project.root / OWN["gitlab"][0])
    assert [gitlab[f"glacierbase migrate {name}"]["rules"][0]["when"] for name in names] == [
        "on_success", "on_success", "manual"
    ]  # fmt: skip
    order = [gitlab[f"glacierbase plan {name}"]["needs"] for name in names]
    assert order == [[], ["glacierbase migrate dev"], ["glacierbase migrate on"]]


def test_a_workflow_gets_the_variables_that_the_catalog_files_read(project: ProjectFolder) -> None:
    """Secrets from the secrets of the service, others from its variables; none that a runner sets. Only these jobs get them."""
    project.catalog(
        "migrationExecutor: {type: snowflake, conf: {connection: {account: '${env:ACCOUNT}', user: '${env:HOME}', "
        "password: '${secret:PASSWORD}', database: D}}}\n"
    )
    init(str(project.root), None, "spark", "github", COMMIT)
    given = {name: job["env"] for name, job in workflow(project.root / WORKFLOW)["jobs"].items() if "env" in job}
    expected = {"ACCOUNT": "${{ vars.ACCOUNT }}", "PASSWORD": "${{ secrets.PASSWORD }}"}
    assert given == {"plan": expected, "migrate": expected}
    assert {step["with"].get("extras") for step in used(project.root)} == {"snowflake", None}


def test_the_files_of_a_project_in_a_folder_are_at_the_top_of_the_repository(tmp_path: Path) -> None:
    """There the service looks for them; a variable names the project's folder."""
    root = tmp_path / 'data "lake": (été) -1'
    root.mkdir()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    init(str(root), None, "spark", "github", COMMIT)
    assert sorted(path.name for path in root.iterdir()) == [".gitattributes", ".gitignore", "catalogs", "migrations"]
    assert [step["with"].get("project") for step in used(tmp_path)] == [root.name, None, root.name, root.name]
    assert f"/{root.name.replace(' ', chr(92) + ' ')}/migrations/ @" in (tmp_path / ".github/CODEOWNERS").read_text()


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    "name",
    [
        "x ${{ github.token }}\n* @attacker", "x\n* @attacker", "x @attacker", "${{ github.token }}", "$HOME", "a#b", "*", "a?",
        "[a]", "!a", "a\\b", "a\tb", "a\rb", "a\x1bb", "a\x85b", "a\u2028b", "a\u202eb", "a`b`", "a%0Ab", "a;b", "a|b", "{a}",
        "<a>", "a&b", "~", "\U0001f9ca", "\udcff",
    ],
)  # fmt: skip
def test_a_folder_whose_name_a_ci_file_cannot_carry_is_refused(name: str, service: str, tmp_path: Path) -> None:
    """In the file it would be other code, or name other files and owners. Nothing is written, of the project neither."""
    root = tmp_path / name
    root.mkdir()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    with pytest.raises(ConfigurationError) as caught:
        init(str(root), None, "spark", service, COMMIT)
    assert (caught.value.code, caught.value.exit_code) == ("INVALID_NAME", 2)
    assert contents(tmp_path) == {}
    assert list(root.iterdir()) == []


def test_a_folder_above_the_repository_is_in_no_file(tmp_path: Path) -> None:
    """The name of a folder above the repository does not matter."""
    root = tmp_path / "x ${{ github.token }}\n* @attacker"
    root.mkdir()
    subprocess.run(["git", "init", "-q", root], check=True)
    init(str(root), None, "spark", "github", COMMIT)
    written = contents(root)
    assert {*OWN["github"]} <= written.keys()
    assert [name for name, content in written.items() if b"attacker" in content] == []


HOSTILE_NAME = "x ${{ github.token }}\\n* @attacker"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f'{SPARK}environments: {{"{HOSTILE_NAME}": {{}}}}\n', "shop"),
        (f'name: "{HOSTILE_NAME}"\n{SPARK}', "shop"),
        (SPARK, "x ${{ github.token }} @attacker"),
        (f"{SPARK}variables: {{a: '${{env:A ${{{{ github.token }}}}}}'}}\n", "shop"),
    ],
)
@pytest.mark.parametrize("service", SERVICES)
def test_no_other_value_of_a_project_is_code_in_a_ci_file(
    text: str, name: str, service: str, project: ProjectFolder
) -> None:
    """The name of an environment, of a catalog or its file, or of a variable: refused, or in no file."""
    project.catalog(text, name)
    before = contents(project.root)
    try:
        init(str(project.root), None, "spark", service, COMMIT)
    except GlacierbaseError:
        assert contents(project.root) == before
        return
    written = {path: content for path, content in contents(project.root).items() if path not in before}
    assert {*OWN[service]} <= written.keys()
    assert [path for path, content in written.items() if b"@attacker" in content or b"A $" in content] == []


def test_a_link_that_leads_out_of_the_repository_is_refused(tmp_path: Path) -> None:
    """Nothing is written through it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".github").symlink_to(tmp_path / "outside")
    with pytest.raises(ConfigurationError) as caught:
        init(str(tmp_path / "project"), None, "spark", "github", COMMIT)
    assert caught.value.code == "OUTSIDE_PROJECT"
    assert contents(tmp_path) == {}


def test_an_invalid_catalog_file_is_the_error(project: ProjectFolder) -> None:
    """No file is written for a project whose environments are not known."""
    project.catalog("migrationExecutor: {type: spark}\nenvironment: {}\n")
    with pytest.raises(GlacierbaseError) as caught:
        init(str(project.root), None, "spark", "gitlab", COMMIT)
    assert caught.value.code == "UNKNOWN_KEY"
    assert list(contents(project.root)) == ["catalogs/shop.yaml"]


@pytest.mark.parametrize(
    ("source", "repository"),
    [
        (COMMIT, "data/glacierbase"),
        (f"git+ssh://git@git.test:22/a/b/glacierbase.git@{COMMIT[-40:]}", "a/b/glacierbase"),
        (COMMIT.replace("git.test", "github.com"), "data/glacierbase"),
    ],
)
def test_the_ci_service_uses_what_from_says(source: str, repository: str, project: ProjectFolder) -> None:
    """The action, and the templates, of that commit. GitLab reads those of a repository on GitHub by their address."""
    project.catalog(SPARK)
    for service in SERVICES:
        init(str(project.root), None, "spark", service, source)
    assert {step["uses"] for step in used(project.root)} == {f"{repository}@{COMMIT[-40:]}"}
    included = yaml.safe_load((project.root / OWN["gitlab"][0]).read_text())["include"]
    if "github.com" in source:
        assert (
            included[0]["remote"]
            == f"https://raw.githubusercontent.com/{repository}/{COMMIT[-40:]}/templates/check.yml"
        )
    else:
        assert {(part["project"], part["ref"]) for part in included} == {(repository, COMMIT[-40:])}
    assert {part["inputs"]["install"] for part in included} == {f"glacierbase[local] @ {source}"}


@pytest.mark.parametrize(
    "source",
    [
        "", "1.0", "index", "vendor/glacierbase-1.whl", "/etc/hostname", "git+https://git.test/data/glacierbase",
        "git+https://git.test/data/glacierbase@main", COMMIT.replace("https://", "https://token@"), COMMIT.replace("https", "file"),
        COMMIT.replace("/data", "/${{ github.token }}"), COMMIT.replace("/data", "/$(id)"), f"{COMMIT}\n", "https://git.test/a.whl",
    ],
)  # fmt: skip
def test_what_a_ci_service_cannot_install_is_refused(
    source: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch moves, an address may hold a token, and a file outside of the repository is not there."""
    project.catalog(SPARK)
    (project.root.parent / "outside.whl").write_text("")
    monkeypatch.chdir(project.root)
    done = call_program(["init", "--ci", "github", "--from", source])
    assert done.code == 2
    assert "INVALID_VALUE" in done.stderr or not source
    assert list(contents(project.root)) == ["catalogs/shop.yaml"]


@pytest.mark.parametrize(
    "source",
    [
        "git+https://CANARY@git.test/data/glacierbase@" + "0" * 40, "git+https://ana:CANARY@git.test/data/glacierbase@main",
        "https://files.test/glacierbase.whl?signature=CANARY",
    ],
)  # fmt: skip
def test_a_refused_source_is_printed_without_its_token(source: str, project: ProjectFolder) -> None:
    """A token may be the name of the user, the password or a parameter."""
    project.catalog(SPARK)
    done = project.run("init", "--ci", "github", "--from", source)
    assert (done.code, "INVALID_VALUE" in done.stderr) == (2, True)
    assert "CANARY" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("direct", "is_usable"),
    [
        (None, False),
        ({"url": "https://git.test/data/glacierbase", "vcs_info": {"vcs": "git", "commit_id": COMMIT[-40:]}}, True),
        ({"url": "https://files.test/glacierbase-1-py3-none-any.whl", "archive_info": {}}, False),
        ({"url": "file:///home/ana/my%20clone", "dir_info": {"editable": True}}, False),
    ],
)
def test_without_from_it_is_what_this_installation_came_from(
    direct: dict[str, object] | None, is_usable: bool, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The metadata of the installed package says so. What is no commit is one clear message."""
    project.catalog(SPARK)
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Distribution(direct))
    if is_usable:
        init(str(project.root), None, "spark", "github")
        assert {step["uses"] for step in used(project.root)} == {f"data/glacierbase@{COMMIT[-40:]}"}
        return
    with pytest.raises(ConfigurationError, match="whose action or templates the CI service would run") as caught:
        init(str(project.root), None, "spark", "github")
    assert "--from git+https://" in (caught.value.hint or "")
    assert list(contents(project.root)) == ["catalogs/shop.yaml"]


@dataclass
class Distribution:
    """The metadata of an installed package, with what pip recorded of its source."""

    direct: dict[str, object] | None

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.direct is None else json.dumps(self.direct)


@pytest.mark.parametrize(
    ("catalog_type", "extras"),
    [
        ("spark", "local"), ("rest", "local"), ("glue", "local,glue"), ("hive", "local,hive"), ("jdbc", "local,postgres"),
        ("delta", "local,postgres"), ("hudi", "local,postgres,environments"), ("snowflake", "snowflake"),
    ],
)  # fmt: skip
def test_the_extras_are_those_that_the_catalogs_need(catalog_type: str, extras: str, tmp_path: Path) -> None:
    """The engine, and the client with which status and lock need none; each is an extra of the package."""
    init(str(tmp_path), None, catalog_type, "github", COMMIT)
    assert {step["with"].get("extras") for step in used(tmp_path)} == {extras, None}
    declared = (REPOSITORY / "pyproject.toml").read_text().partition("[project.optional-dependencies]")[2]
    assert all(f"\n{extra} = [" in declared for extra in extras.split(","))


@pytest.mark.parametrize("service", SERVICES)
def test_files_that_nobody_edited_are_updated(service: str, project: ProjectFolder) -> None:
    """A new environment and another source change them; a third call changes nothing."""
    project.catalog(f"{SPARK}environments: {{dev: {{}}}}\n")
    init(str(project.root), None, "spark", service, COMMIT)
    before = contents(project.root)
    project.catalog(f"{SPARK}environments: {{dev: {{}}, prod: {{}}}}\n")
    result = init(str(project.root), None, "spark", service, OTHER)
    changed = {name for name, content in contents(project.root).items() if content != before[name]}
    assert {Path(name).resolve() for name in result.updated} == {
        project.root / name for name in changed - {"catalogs/shop.yaml"}
    }
    assert len(changed) == 2
    assert result.files == ()
    assert all(name in result.next[0] for name in result.updated)
    assert not set(result.updated) & set(result.unchanged)
    assert init(str(project.root), None, "spark", service, OTHER).updated == ()


def test_a_file_that_somebody_edited_is_kept_and_the_hint_shows_how_to_compare(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other file is updated. The commands of the hint run as printed, and show the edit."""
    project.catalog(SPARK)
    monkeypatch.chdir(project.root)
    init(None, None, "spark", "github", COMMIT)
    path = project.root / WORKFLOW
    path.write_text(path.read_text().replace("ubuntu-latest", "own-runner"))
    before = contents(project.root)
    with pytest.raises(ConfigurationError) as caught:
        init(None, None, "spark", "github", OTHER)
    assert caught.value.code == "ALREADY_EXISTS"
    # Of the edited file as it would be written, too: it has the edit, and is not replaced by the text without it.
    with pytest.raises(ConfigurationError):
        init(None, None, "spark", "github", COMMIT)
    assert contents(project.root) == before
    move, compare = re.findall("`([^`]*)`", caught.value.hint or "")
    subprocess.run(shlex.split(move), check=True)
    init(None, None, "spark", "github", OTHER)
    done = subprocess.run(shlex.split(compare), capture_output=True, text=True, check=False)
    assert "own-runner" in done.stdout


def test_from_is_about_a_ci_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one it is a usage error, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = call_program(["init", "--from", COMMIT])
    assert (done.code, "--from requires --ci" in done.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []
