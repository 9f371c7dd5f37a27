"""The virtual environments of `packages`: made from a lock file, checked against it, and deleted when nothing uses them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from glacierbase import Project
from glacierbase.errors import ConfigurationError
from glacierbase.executors.environments import installing
from glacierbase.executors.environments.folders import environment_python
from glacierbase.executors.environments.lockfile import lock_text, platform, read_sections
from glacierbase.executors.worker.client import Worker
from glacierbase.model.keys import REQUIREMENT
from glacierbase.run.user_command import ProgramOutcome
from tests.support.program import ask_here, run_here
from tests.support.project_folder import REPOSITORY, Output, ProjectFolder
from tests.support.wheels import wheel

CONF = "conf: {sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}}"
CATALOG = f"migrationExecutor: {{type: spark, packages: ['apple==1.*'], {CONF}}}\n"
DIGEST = "0" * 64


@dataclass
class Orchard:
    """A project whose catalog needs packages, a folder of wheels in place of an index, and a cache."""

    project: ProjectFolder
    wheels: Path
    cache: Path

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables with which pip reads the folder only."""
        return {
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
            "PIP_CONFIG_FILE": os.devnull,
            "XDG_CACHE_HOME": str(self.cache),
        }

    @property
    def lock(self) -> Path:
        return self.project.root / "catalogs" / "shop.lock"

    @property
    def catalog(self) -> Path:
        return self.project.root / "catalogs" / "shop.yaml"

    def made(self) -> list[Path]:
        """Return the folders of the environments that are complete."""
        return sorted(path.parent for path in self.cache.glob("glacierbase/environments/*/complete"))

    def run(self, *arguments: str) -> Output:
        return run_here(self.project, "env", *arguments, environ=self.environ)

    def ask(self, *arguments: str) -> Output:
        return ask_here(self.project, "env", *arguments, environ=self.environ)


def orchard(folder: Path) -> Orchard:
    made = Orchard(ProjectFolder(folder / "project"), folder / "wheels", folder / "cache")
    made.wheels.mkdir()
    made.project.catalog(CATALOG)
    return made


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Orchard:
    """An environment that pip made. Tests restore the files that they change."""
    grown = orchard(tmp_path_factory.mktemp("grown"))
    wheel(grown.wheels, "apple", "1.0")
    wheel(grown.wheels, "apple", "1.1", ["pear_tree<3"])
    wheel(grown.wheels, "apple", "2.0")
    wheel(grown.wheels, "pear_tree", "2.5")
    made = grown.ask()
    assert made.code == 0, made.stdout
    entry = made.entry()
    assert (entry["packages"], entry["made"], entry["lock_file"]) == (2, True, "catalogs/shop.lock")
    return grown


@pytest.fixture
def kept(grown: Orchard) -> Iterator[Orchard]:
    """The same; its catalog file and its lock file are restored afterwards."""
    texts = {path: path.read_text() for path in (grown.catalog, grown.lock)}
    yield grown
    for path, text in texts.items():
        path.write_text(text)


class FakePip:
    """What `run_command` does in place of pip: reports and installs the packages of a list, or fails with an output."""

    def __init__(self, packages: Mapping[str, str], failure: str | None = None) -> None:
        self.packages = packages
        self.failure = failure
        self.calls: list[Sequence[str]] = []

    def __call__(self, words: Sequence[str], _content: bytes, folder: Path, *_: object) -> ProgramOutcome:
        self.calls.append(words)
        if self.failure is not None:
            return ProgramOutcome("exited with 1", self.failure)
        if "--dry-run" in words:
            report = [
                {
                    "metadata": {"name": name, "version": version},
                    "download_info": {"archive_info": {"hashes": {"sha256": DIGEST}}},
                }
                for name, version in self.packages.items()
            ]
            (folder / "out.json").write_text(json.dumps({"install": report}))
            return ProgramOutcome("", "")
        base = str(folder / "venv")
        for name, version in self.packages.items():
            place = sysconfig.get_path("purelib", "posix_prefix", {"base": base, "platbase": base})
            info = Path(place, f"{name}-{version}.dist-info")
            info.mkdir(parents=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        return ProgramOutcome("", "")


def faked(monkeypatch: pytest.MonkeyPatch, packages: Mapping[str, str], failure: str | None = None) -> FakePip:
    pip = FakePip(packages, failure)
    monkeypatch.setattr(installing, "run_command", pip)
    monkeypatch.setattr(installing, "_uv", lambda: None)
    return pip


def test_the_environment_has_the_newest_packages_that_fit(grown: Orchard) -> None:
    """The Python of an environment imports the packages of the catalog, and nothing that glacierbase has."""
    [folder] = grown.made()
    python = folder / "venv" / "bin" / "python"
    code = "import apple, pear_tree; print(apple.version, pear_tree.version)"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.1", "2.5"]
    assert subprocess.run([python, "-I", "-c", "import glacierbase"], capture_output=True, check=False).returncode == 1


def test_the_lock_file_has_versions_and_hashes_and_what_they_were_resolved_from(grown: Orchard) -> None:
    """One package a line, sorted by normalized name, with the SHA-256 of its file below. The guide shows its first line."""
    lines = grown.lock.read_text().splitlines()
    assert f"{lines[0]}\n" in (REPOSITORY / "docs/guides/several-engines.md").read_text()
    assert lines[1:3] == ["# packages: apple==1.*", f"# resolved for: {platform()}"]
    assert [line.partition(" ")[0] for line in lines[3::2]] == ["apple==1.1", "pear-tree==2.5"]
    assert [line.partition(":")[0] for line in lines[4::2]] == ["    --hash=sha256"] * 2
    assert b"\r" not in grown.lock.read_bytes()


def test_a_complete_environment_contacts_nothing(kept: Orchard, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second `env` and `--check` start neither pip nor uv, and change no file."""
    pip = faked(monkeypatch, {}, "it was started")
    before = kept.lock.stat()
    for arguments in ([], ["--check"]):
        entry = kept.ask(*arguments).entry()
        assert (entry["made"], entry["lock_file"], entry["packages"]) == (False, None, 2)
    assert pip.calls == []
    assert kept.lock.stat() == before


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("apple==1.1", "apple==1.0", "ENVIRONMENT_STALE"),
        ("--hash=sha256:", "--hash=sha256:00", "LOCK_FILE_INVALID"),
        ("# packages: apple==1.*", "# packages: apple==2.*", "ENVIRONMENT_STALE"),
        (platform(), "cpython-99-plan9", "ENVIRONMENT_STALE"),
        ("apple==1.1 \\", "--index-url https://evil.test apple==1.1 \\", "LOCK_FILE_INVALID"),
    ],
)
def test_check_refuses_an_environment_that_the_lock_file_does_not_fit(
    kept: Orchard, old: str, new: str, code: str
) -> None:
    """An edited version, hash, requirement or platform: exit 2, with the command that makes the environment."""
    kept.lock.write_text(kept.lock.read_text().replace(old, new))
    checked = kept.ask("--check")
    assert (checked.code, checked.document["error"]["code"]) == (2, code)
    assert "glacierbase env" in checked.document["error"]["hint"]
    assert len(kept.made()) == 1


def test_check_compares_the_installed_packages(kept: Orchard, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that was removed by hand is named, and `env` makes the environment again; `migrate` compares nothing."""
    [folder] = kept.made()
    [info] = folder.glob("venv/lib/*/site-packages/pear_tree-*.dist-info")
    info.rename(info.with_name("hidden"))
    checked = kept.run("--check")
    assert (checked.code, "pear-tree is missing, where the lock file has 2.5" in checked.stderr) == (2, True)
    faked(monkeypatch, {"apple": "1.1", "pear-tree": "2.5"})
    assert kept.ask().entry()["made"] is True
    assert kept.run("--check").code == 0


def test_a_missing_environment_is_a_configuration_error_with_the_command(
    kept: Orchard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without environment or lock file: missing. The catalog file had one before: out of date."""
    monkeypatch.chdir(kept.project.root)
    catalog = Project.load()._catalogs.only([]).catalog
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept.cache))
    assert environment_python(catalog).is_relative_to(kept.cache)
    kept.lock.write_text(kept.lock.read_text().replace("apple==1.1", "apple==1.0"))
    assert _code(catalog) == "ENVIRONMENT_STALE"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _code(catalog) == "ENVIRONMENT_MISSING"
    kept.lock.unlink()
    assert _code(catalog) == "ENVIRONMENT_MISSING"


def _code(catalog: object) -> str:
    with pytest.raises(ConfigurationError) as caught:
        environment_python(catalog)  # type: ignore[arg-type]
    assert caught.value.hint == "glacierbase env"
    return caught.value.code


def test_an_environment_that_another_user_can_write_is_not_used(kept: Orchard) -> None:
    """Neither one whose folder others may write to, nor one of another user: their packages would run as this user."""
    [folder] = kept.made()
    mode = stat.S_IMODE(folder.stat().st_mode)
    folder.chmod(0o777)
    assert kept.ask("--check").document["error"]["code"] in ("ENVIRONMENT_MISSING", "ENVIRONMENT_STALE")
    folder.chmod(mode)
    assert kept.run("--check").code == 0


def test_an_environment_that_was_not_completed_is_not_used(kept: Orchard) -> None:
    """Whatever packages it holds: the mark is written last."""
    [folder] = kept.made()
    hidden = (folder / "complete").rename(folder / "hidden")
    assert kept.ask("--check").document["error"]["code"] == "ENVIRONMENT_MISSING"
    hidden.rename(folder / "complete")
    assert kept.run("--check").code == 0


def test_a_wrong_hash_installs_nothing(tmp_path: Path) -> None:
    """Exit 2 with the package and the log; the environment is removed, and the lock file is unchanged."""
    made = orchard(tmp_path)
    sha256 = wheel(made.wheels, "apple", "1.1")
    wrong = f"# packages: apple==1.*\n# resolved for: {platform()}\napple==1.1 --hash=sha256:{sha256[::-1]}\n"
    made.lock.write_text(wrong)
    done = made.run()
    assert done.code == 2
    assert (
        "error: ENVIRONMENT_HASH: catalog shop: no virtual environment was made for apple==1.*: apple==1.1: "
        in done.stderr
    )
    assert [path.name for path in (made.cache / "glacierbase/environments").iterdir()] == ["shop.log"]
    assert "DO NOT MATCH THE HASHES" in (made.cache / "glacierbase/environments/shop.log").read_text()
    assert made.lock.read_text() == wrong


def test_a_package_that_does_not_exist_leaves_no_lock_file(tmp_path: Path) -> None:
    """The message names catalog and package."""
    made = orchard(tmp_path)
    done = made.run()
    assert (done.code, made.lock.exists(), made.made()) == (2, False, [])
    assert "catalog shop: no virtual environment was made for apple==1.*: No matching distribution found" in done.stderr


@pytest.mark.parametrize(
    ("output", "code", "exit_code"),
    [
        ("WARNING: Retrying (Retry(total=0, …\nERROR: No matching distribution found for a", "ENVIRONMENT_NOT_MADE", 5),
        ("error: Failed to fetch: https://index.example/simple\n  cause: dns error", "ENVIRONMENT_NOT_MADE", 5),
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "ENVIRONMENT_NOT_MADE", 5),
        ("ERROR: Cannot install a and b because\nERROR: ResolutionImpossible: see", "ENVIRONMENT_UNRESOLVED", 2),
        ("error: No solution found when resolving\n  cause: Because only a<2", "ENVIRONMENT_UNRESOLVED", 2),
        ("error: Hash mismatch for `apple==1.1`", "ENVIRONMENT_HASH", 2),
        ("", "ENVIRONMENT_NOT_MADE", 5),
    ],
)
def test_a_failure_of_pip_or_uv_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, code: str, exit_code: int
) -> None:
    """The message names catalog, packages and the log, in which logins are masked; nothing is left that counts as made."""
    made = orchard(tmp_path)
    faked(monkeypatch, {}, f"Looking in indexes: https://ana:geheim@index.example\n{output}")
    done = made.ask()
    error = done.document["error"]
    assert (done.code, error["code"]) == (exit_code, code)
    assert error["message"].startswith("catalog shop: no virtual environment was made for apple==1.*: ")
    assert Path(error["log"]).read_text().startswith("Looking in indexes: https://ana:***@index.example\n")
    assert (made.made(), made.lock.exists()) == ([], False)


def test_environments_with_other_packages_have_a_section_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A section that no environment of the catalog file uses any more is removed with the next change."""
    made = orchard(tmp_path)
    made.catalog.write_text(
        f"migrationExecutor: {{type: spark, packages: [a>=1], {CONF}}}\n"
        "environments: {dev: {}, prod: {migrationExecutor: {packages: ['c', 'b < 2']}}}\n"
    )
    faked(monkeypatch, {"a": "1"})
    for name in ("dev", "prod"):
        done = made.ask("--env", name)
        assert done.code == 0, done.stdout
        assert done.entry()["lock_file"] == "catalogs/shop.lock"
    assert [*read_sections(made.catalog)] == [("a>=1",), ("b<2", "c")]
    made.catalog.write_text(made.catalog.read_text().replace("a>=1", "a>=2"))
    assert made.run("--env", "prod", "--check").code == 0
    assert made.ask("--env", "dev").code == 0
    assert [*read_sections(made.catalog)] == [("a>=2",), ("b<2", "c")]
    assert lock_text(read_sections(made.catalog).values()) == made.lock.read_text()


def test_another_platform_adds_its_hashes_to_the_same_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip gets the versions of the lock file as constraints."""
    made = orchard(tmp_path)
    made.lock.write_text(f"# packages: apple==1.*\n# resolved for: other\napple==1.1 --hash=sha256:{'a' * 64}\n")
    pip = faked(monkeypatch, {"apple": "1.1"})
    assert made.run().code == 0
    [section] = read_sections(made.catalog).values()
    assert section.platforms == tuple(sorted(["other", platform()]))
    assert section.pins["apple"].hashes == (DIGEST, "a" * 64)
    assert "known.txt" in pip.calls[0]


def test_clean_deletes_what_the_catalog_file_does_not_use_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Environments of other catalog files are kept, and those of all environments of this one; incomplete ones are deleted."""
    made = orchard(tmp_path)
    made.project.catalog(CATALOG.replace("apple==1.*", "plum"), "other")
    faked(monkeypatch, {"a": "1"})
    assert made.run().code == 0
    [old] = [path for path in made.made() if "shop.yaml" in (path / "users").read_text()]
    made.catalog.write_text(CATALOG.replace("apple==1.*", "apple==2.*"))
    assert made.run().code == 0
    (made.cache / "glacierbase/environments/killed").mkdir()
    entries = made.ask("--clean").document["catalogs"]
    assert sum(entry["deleted"] for entry in entries) == 2
    assert sum(entry["freed"] for entry in entries) > 0
    assert old not in made.made()
    assert len(made.made()) == 2
    assert made.run("--check").code == 0
    assert "deleted 0 environments" in made.run("--clean").stdout


def test_an_environment_in_which_a_worker_runs_is_neither_deleted_nor_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`env --clean` keeps it with a warning until the worker has ended. `env`, which would replace it, exits with 5."""
    made = orchard(tmp_path)
    faked(monkeypatch, {"a": "1"})
    python = Path(made.ask().entry()["python"])
    folder = python.parents[2]
    monkeypatch.setenv("XDG_CACHE_HOME", str(made.cache))
    worker = Worker(python, {})
    [info] = folder.glob("venv/lib/*/site-packages/a-1.dist-info")
    hidden = info.rename(info.with_name("hidden"))
    refused = made.run()
    assert (refused.code, "a running command uses the one that is to be replaced" in refused.stderr) == (5, True)
    hidden.rename(info)
    made.catalog.write_text(CATALOG.replace("apple==1.*", "plum"))
    kept = made.run("--clean")
    assert (kept.code, "deleted 0 environments" in kept.stdout, made.made()) == (0, True, [folder])
    assert f"kept {folder}, which a running command uses" in kept.stderr
    worker.close()
    assert "deleted 1 environment" in made.run("--clean").stdout
    assert made.made() == []


def test_a_catalog_without_packages_is_listed(tmp_path: Path) -> None:
    """With the Python that its file names, or as one that runs with this one."""
    made = orchard(tmp_path)
    made.catalog.write_text(f"migrationExecutor: {{type: spark, python: /opt/py/bin/python, {CONF}}}\n")
    made.project.catalog(f"migrationExecutor: {{type: spark, {CONF}}}\n", "plain")
    for arguments in ([], ["--check"]):
        assert made.run(
            *arguments
        ).stdout == "plain\n  runs with this Python\n\nshop\n  runs with /opt/py/bin/python\n".replace(
            "plain\n", "plain (default)\n"
        ).replace("shop\n", "shop (default)\n")
    assert not made.cache.exists()


@pytest.mark.parametrize(
    "text", ["pyspark", "pyspark==3.5.*", "pyspark[sql,connect] >= 3.5, < 4", "a~=1.0", "a===1+local"]
)
def test_a_requirement_is_a_name_with_versions(text: str) -> None:
    """Extras are allowed."""
    assert REQUIREMENT.accepts(text)


@pytest.mark.parametrize(
    "text",
    [
        "-r other.txt",
        "--index-url=https://evil.test",
        "a --index-url https://evil.test",
        "a @ https://evil.test/a.whl",
        "git+https://evil.test/a",
        "./a",
        "/tmp/a.whl",
        "a==1 --hash=sha256:00",
        "a; python_version < '3'",
        "a==1\n-r other.txt",
        "a\\",
        "${env:A}",
        "",
    ],
)
def test_options_addresses_and_paths_are_no_requirements(tmp_path: Path, text: str) -> None:
    """The catalog file of a stranger's branch cannot choose where packages come from. The error names the line."""
    made = orchard(tmp_path)
    made.catalog.write_text(f"migrationExecutor: {{type: spark, packages: [{json.dumps(text)}], {CONF}}}\n")
    done = run_here(made.project, "validate")
    assert done.code == 2
    assert "catalogs/shop.yaml, line 1" in done.stderr
    assert not REQUIREMENT.accepts(text)


def test_python_and_packages_exclude_each_other(tmp_path: Path) -> None:
    """Each of them names the Python of the engine."""
    made = orchard(tmp_path)
    made.catalog.write_text(f"migrationExecutor: {{type: spark, python: /a, packages: [a], {CONF}}}\n")
    done = run_here(made.project, "validate")
    assert (done.code, "`packages` and `python` are both given" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("<<<<<<< HEAD", 4),
        ("apple==1.1", 4),
        ("apple==1.1 --hash=md5:00", 4),
        ("apple>=1 --hash=sha256:" + DIGEST, 4),
        ("apple @ https://evil.test --hash=sha256:" + DIGEST, 4),
        (f"apple==1 --hash=sha256:{DIGEST}\nApple==2 --hash=sha256:{DIGEST}", 5),
        (f"apple==1 \\\n    --hash=sha256:{DIGEST} \\\n    --find-links=/tmp", 4),
    ],
)
def test_a_lock_file_with_another_line_is_refused(tmp_path: Path, line: str, number: int) -> None:
    """Only versions with hashes: a lock file of a stranger's branch cannot name another index."""
    made = orchard(tmp_path)
    made.lock.write_text(f"# head\n# packages: apple==1.*\n# resolved for: {platform()}\n{line}\n")
    done = made.run()
    assert done.code == 2
    assert f"error: LOCK_FILE_INVALID: catalogs/shop.lock, line {number}: " in done.stderr


def test_a_lock_file_that_leads_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    """A link to another file."""
    made = orchard(tmp_path)
    (tmp_path / "elsewhere").write_text("secret")
    made.lock.symlink_to(tmp_path / "elsewhere")
    done = made.run()
    assert (done.code, "LOCK_FILE_INVALID: catalogs/shop.lock: leads to" in done.stderr) == (2, True)
    assert "secret" not in done.stderr


def test_an_environment_of_a_killed_run_does_not_count(tmp_path: Path) -> None:
    """After kill -9 in the middle, `--check` reports it missing, and the next `env` waits for the pip that lives on."""
    made = orchard(tmp_path)
    wheel(made.wheels, "apple", "1.1")
    assert made.run().code == 0
    shutil.rmtree(made.made()[0])
    process = made.project.start("env", environ=made.environ)
    while not list(made.cache.glob("glacierbase/environments/*/requirements.txt")):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert made.made() == []
    checked = made.run("--check")
    assert (checked.code, "ENVIRONMENT_MISSING" in checked.stderr) == (2, True)
    assert made.run().code == 0
    assert made.run("--check").code == 0


def test_two_at_the_same_time_make_one_environment(tmp_path: Path) -> None:
    """The second waits, then uses what the first made."""
    made = orchard(tmp_path)
    wheel(made.wheels, "apple", "1.1")
    processes = [made.project.start("env", "--format", "json", environ=made.environ) for _ in range(2)]
    entries = [json.loads(process.communicate()[0])["catalogs"][0] for process in processes]
    assert sorted(entry["made"] for entry in entries) == [False, True]
    assert len({entry["python"] for entry in entries}) == 1
    assert len(made.made()) == 1
