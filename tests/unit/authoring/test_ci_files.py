"""`init --ci`: which files are written, what they hold for a project, and that none is overwritten."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from glacierbase.authoring.ci_files import SERVICES
from glacierbase.authoring.init import init
from glacierbase.errors import ConfigurationError, GlacierbaseError
from glacierbase.migrations import all_or_none
from tests.support.ci import steps_of, workflow
from tests.support.program import call_program
from tests.support.project_folder import ProjectFolder

OWN = {name: tuple(service.own.values()) for name, service in SERVICES.items()}
SPARK = "migrationExecutor: {type: spark, conf: {sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}}}\n"


def contents(root: Path) -> dict[str, bytes]:
    """Return all files below a folder, those of git aside."""
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def jobs(root: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = workflow(root / ".github/workflows/glacierbase-deploy.yml")["jobs"]
    return found


@pytest.mark.parametrize("service", SERVICES)
def test_a_new_project_and_its_ci_files_are_written_in_one_call(service: str, tmp_path: Path) -> None:
    """The result lists the files of both, and the files that a second call finds unchanged."""
    first = init(str(tmp_path), None, "spark", service)
    written = contents(tmp_path)
    assert {"catalogs/analytics.yaml", *OWN[service]} <= written.keys()
    assert {(tmp_path / name).resolve() for name in written} == {Path(file).resolve() for file in first.files}
    second = init(str(tmp_path), None, "spark", service)
    assert (second.catalog, second.files, second.next) == ("analytics", (), ())
    assert len(second.unchanged) == len(first.files) - 5
    assert contents(tmp_path) == written


@pytest.mark.parametrize(("arguments", "catalogs"), [([], ["shop"]), (["web"], ["shop", "web"])])
def test_a_project_with_catalogs_gets_a_further_one_only_by_name(
    arguments: list[str], catalogs: list[str], project: ProjectFolder
) -> None:
    """The default NAME is for projects without a catalog."""
    project.catalog(SPARK)
    done = project.run("init", "--ci", "gitlab", *arguments)
    assert (done.code, done.stderr) == (0, "")
    assert sorted(path.stem for path in (project.root / "catalogs").glob("[a-z]*.yaml")) == catalogs
    assert (project.root / ".gitlab-ci.yml").exists()


def test_a_folder_inside_a_project_is_no_new_project(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command finds the project above the working directory, as others do."""
    project.catalog(SPARK)
    monkeypatch.chdir(project.root / "migrations")
    assert call_program(["init", "--ci", "gitlab"]).code == 0
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
        init(str(tmp_path), None, "spark", service)
    assert (caught.value.code, caught.value.exit_code) == ("ALREADY_EXISTS", 2)
    assert [Path(path).resolve() for path in caught.value.data["paths"]] == [tmp_path / name for name in OWN[service]]
    assert contents(tmp_path) == before


def test_a_failure_in_the_middle_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`init` is interrupted at the third file of the CI service: it removes the first two, and the new project."""
    create = all_or_none.create_file

    def interrupted(path: Path, root: Path, text: str) -> None:
        if "deploy" in path.name:
            raise KeyboardInterrupt
        create(path, root, text)

    monkeypatch.setattr(all_or_none, "create_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        init(str(tmp_path), None, "spark", "github")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    """A limit of 4 KiB for files stands for the disk."""
    command = f"ulimit -f 4; exec {sys.executable} -m glacierbase init --ci github"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[0].partition(": ")[2].partition(":")[0]) == (2, "UNREADABLE_FILE")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only files of this call are removed when it fails."""
    create = all_or_none.create_file

    def late(path: Path, root: Path, text: str) -> None:
        if "deploy" in path.name:
            path.write_text("mine")
        create(path, root, text)

    monkeypatch.setattr(all_or_none, "create_file", late)
    with pytest.raises(ConfigurationError, match="exists already"):
        init(str(tmp_path), None, "spark", "github")
    assert contents(tmp_path) == {".github/workflows/glacierbase-deploy.yml": b"mine"}


def test_what_was_refused_can_be_run_again(tmp_path: Path) -> None:
    """The folders of the refused call are gone, too, and an empty one that was there before stays."""
    (tmp_path / "catalogs").mkdir()
    (tmp_path / ".github").write_text("mine\n")
    with pytest.raises(ConfigurationError):
        init(str(tmp_path), None, "spark", "github")
    assert {path.name for path in tmp_path.rglob("*")} == {"catalogs", ".github"}
    (tmp_path / ".github").unlink()
    assert len(init(str(tmp_path), None, "spark", "github").files) == 11


def test_line_ends_of_windows_are_no_difference(tmp_path: Path) -> None:
    """A checkout with CRLF is what was written."""
    init(str(tmp_path), None, "spark", "github")
    path = tmp_path / OWN["github"][0]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert init(str(tmp_path), None, "spark", "github").files == ()


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
    result = init(str(tmp_path), None, "spark", service)
    assert (tmp_path / name).read_text() == "mine\n"
    same = [path for path in contents(tmp_path) if Path(path).name.lower() == Path(name).name.lower()]
    assert same == [name]
    assert [asks in line for line in result.incomplete] == ([True] if asks else [])
    if asks:
        (tmp_path / name).write_text(f"mine {asks}\n")
        assert init(str(tmp_path), None, "spark", service).incomplete == ()


def test_the_deployment_follows_the_environments_of_the_catalog_files(project: ProjectFolder) -> None:
    """In their order, each after the one before, one run at a time; names that YAML reads as other values stay names."""
    project.catalog(f"{SPARK}environments: {{dev: {{}}, 'on': {{}}, '1.0': {{protected: true}}}}\n")
    init(str(project.root), None, "spark", "github")
    found = jobs(project.root)
    assert [job["with"] for job in found.values()] == [{"environment": name} for name in ("dev", "on", "1.0")]
    assert [job.get("needs") for job in found.values()] == [None, *list(found)[:-1]]
    assert [job["concurrency"] for job in found.values()] == [
        {"group": f"glacierbase-{name}", "cancel-in-progress": False} for name in ("dev", "on", "1.0")
    ]
    init(str(project.root), None, "spark", "gitlab")
    gitlab = yaml.safe_load((project.root / OWN["gitlab"][0]).read_text())
    manual = {name: job["rules"][0].get("when") for name, job in gitlab.items() if "migrate" in name}
    assert manual == {
        "glacierbase migrate dev": None,
        "glacierbase migrate on": None,
        "glacierbase migrate 1.0": "manual",
    }
    order = [gitlab[f"glacierbase plan {name}"]["needs"] for name in ("dev", "on", "1.0")]
    assert order == [[], ["glacierbase migrate dev"], ["glacierbase migrate on"]]


def test_a_workflow_gets_the_variables_that_the_catalog_files_read(project: ProjectFolder) -> None:
    """Secrets from the secrets of the service, others from its variables; none that a runner sets. Only these steps get them."""
    project.catalog(
        "migrationExecutor: {type: snowflake, conf: {connection: {account: '${env:ACCOUNT}', user: '${env:HOME}', "
        "password: '${secret:PASSWORD}', database: D}}}\n"
    )
    init(str(project.root), None, "spark", "github")
    path = project.root / ".github/workflows/glacierbase-migrate.yml"
    given = {step.get("name"): step.get("env") for step in steps_of(workflow(path)) if step.get("env")}
    expected = {"ACCOUNT": "${{ vars.ACCOUNT }}", "PASSWORD": "${{ secrets.PASSWORD }}"}
    assert given == {"Plan": expected, "Migrate": expected}
    assert workflow(path)["env"]["GLACIERBASE"].startswith("glacierbase[snowflake]==")


def test_the_files_of_a_project_in_a_folder_are_at_the_top_of_the_repository(tmp_path: Path) -> None:
    """There the service looks for them; a variable names the project's folder."""
    root = tmp_path / 'data "lake": (été) -1'
    root.mkdir()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    init(str(root), None, "spark", "github")
    assert sorted(path.name for path in root.iterdir()) == [".gitattributes", ".gitignore", "catalogs", "migrations"]
    for name in ("review", "migrate"):
        env = workflow(tmp_path / f".github/workflows/glacierbase-{name}.yml")["env"]
        assert env["GLACIERBASE_PROJECT"] == root.name
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
        init(str(root), None, "spark", service)
    assert (caught.value.code, caught.value.exit_code) == ("INVALID_NAME", 2)
    assert contents(tmp_path) == {}
    assert list(root.iterdir()) == []


def test_a_folder_above_the_repository_is_in_no_file(tmp_path: Path) -> None:
    """The name of a folder above the repository does not matter."""
    root = tmp_path / "x ${{ github.token }}\n* @attacker"
    root.mkdir()
    subprocess.run(["git", "init", "-q", root], check=True)
    init(str(root), None, "spark", "github")
    assert not any(b"attacker" in content for content in contents(root).values())


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
    with suppress(GlacierbaseError):
        init(str(project.root), None, "spark", service)
    written = [content for path, content in contents(project.root).items() if not path.startswith("catalogs/")]
    assert not any(b"@attacker" in content or b"A $" in content for content in written)


def test_a_link_that_leads_out_of_the_repository_is_refused(tmp_path: Path) -> None:
    """Nothing is written through it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".github").symlink_to(tmp_path / "outside")
    with pytest.raises(ConfigurationError) as caught:
        init(str(tmp_path / "project"), None, "spark", "github")
    assert caught.value.code == "OUTSIDE_PROJECT"
    assert contents(tmp_path) == {}


def test_an_invalid_catalog_file_is_the_error(project: ProjectFolder) -> None:
    """No file is written for a project whose environments are not known."""
    project.catalog("migrationExecutor: {type: spark}\nenvironment: {}\n")
    with pytest.raises(GlacierbaseError) as caught:
        init(str(project.root), None, "spark", "gitlab")
    assert caught.value.code == "UNKNOWN_KEY"
    assert list(contents(project.root)) == ["catalogs/shop.yaml"]
