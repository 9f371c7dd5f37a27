"""The virtual environments of `packages`: made from a lock file, checked against it, and deleted when nothing uses them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
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
from glacierbase.executors.environments.lockfile import lock_text, read_sections
from glacierbase.executors.worker.client import Worker
from glacierbase.model.keys import REQUIREMENT
from glacierbase.run.installed import pip_install
from glacierbase.run.user_command import ProgramOutcome
from tests.support.program import ask_here, run_here
from tests.support.project_folder import REPOSITORY, Output, ProjectFolder
from tests.support.wheels import wheel

CONF = "conf: {sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}}"
CATALOG = f"migrationExecutor: {{type: spark, packages: ['apple==1.*'], {CONF}}}\n"
DIGEST = "0" * 64
HEADS = f"# packages: apple==1.*\n# resolved for: Python 3.{sys.version_info[1]} and newer\n"


@dataclass
class Orchard:
    """A project whose catalog needs packages, a folder of wheels in place of an index, and a cache."""

    project: ProjectFolder
    wheels: Path
    cache: Path

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables with which uv reads the folder only, which has no page of an index."""
        return {
            "UV_DEFAULT_INDEX": self.wheels.as_uri(),
            "UV_FIND_LINKS": str(self.wheels),
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
    """An environment that uv made. Tests restore the files that they change."""
    grown = orchard(tmp_path_factory.mktemp("grown"))
    wheel(grown.wheels, "apple", "1.0")
    wheel(grown.wheels, "apple", "1.1", ["pear_tree<3", "plum; sys_platform == 'win32'"])
    wheel(grown.wheels, "apple", "2.0")
    wheel(grown.wheels, "pear_tree", "2.5")
    wheel(grown.wheels, "plum", "1")
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


class FakeUv:
    """What `run_command` does in place of uv: resolves and installs the packages of a list, or fails with an output."""

    def __init__(self, packages: Mapping[str, str], failure: str | None = None) -> None:
        self.packages = packages
        self.failure = failure
        self.calls: list[Sequence[str]] = []
        self.variables: Mapping[str, str] = {}
        self.known = ""

    def __call__(
        self, words: Sequence[str], _content: bytes, _folder: Path, variables: Mapping[str, str], *_: object
    ) -> ProgramOutcome:
        self.calls.append(words)
        self.variables = variables
        if self.failure is not None:
            return ProgramOutcome("exited with 1", self.failure)
        if "compile" in words:
            output = Path(words[words.index("-o") + 1])
            self.known = output.read_text()
            output.write_text("".join(map(entry, self.packages, self.packages.values())))
            return ProgramOutcome("", "")
        base = str(Path(words[words.index("--python") + 1]).parents[1])
        place = sysconfig.get_path("purelib", "posix_prefix", {"base": base, "platbase": base})
        for name, version in self.packages.items():
            info = Path(place, f"{name}-{version}.dist-info")
            info.mkdir(parents=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        return ProgramOutcome("", "")


def entry(name: str, version: str, sha256: str = DIGEST) -> str:
    return f"{name}=={version} \\\n    --hash=sha256:{sha256}\n"


def faked(monkeypatch: pytest.MonkeyPatch, packages: Mapping[str, str], failure: str | None = None) -> FakeUv:
    uv = FakeUv(packages, failure)
    monkeypatch.setattr(installing, "run_command", uv)
    monkeypatch.setattr(installing, "_uv", lambda: "uv")
    return uv


def test_the_environment_has_the_newest_packages_that_fit(grown: Orchard) -> None:
    """The Python of an environment imports the packages of the catalog, and nothing that glacierbase has."""
    [folder] = grown.made()
    python = folder / "venv" / "bin" / "python"
    code = "import apple, pear_tree; print(apple.version, pear_tree.version)"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.1", "2.5"]
    assert subprocess.run([python, "-I", "-c", "import glacierbase"], capture_output=True, check=False).returncode == 1


def test_the_lock_file_has_versions_and_hashes_and_what_they_were_resolved_from(grown: Orchard) -> None:
    """Each package of any platform, with the SHA-256 of its file below. The guide shows the first line."""
    lines = grown.lock.read_text().splitlines()
    assert f"{lines[0]}\n" in (REPOSITORY / "docs/guides/several-engines.md").read_text()
    assert "".join(f"{line}\n" for line in lines[1:3]) == HEADS
    assert [line.removesuffix(" \\") for line in lines[3::2]] == [
        "apple==1.1",
        "pear-tree==2.5",
        "plum==1 ; sys_platform == 'win32'",
    ]
    assert [line.partition(":")[0] for line in lines[4::2]] == ["    --hash=sha256"] * 3
    assert b"\r" not in grown.lock.read_bytes()


def test_a_complete_environment_contacts_nothing(kept: Orchard, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second `env` and `--check` do not start uv, and change no file."""
    uv = faked(monkeypatch, {}, "it was started")
    before = kept.lock.stat()
    for arguments in ([], ["--check"]):
        entry = kept.ask(*arguments).entry()
        assert (entry["made"], entry["lock_file"], entry["packages"]) == (False, None, 2)
    assert uv.calls == []
    assert kept.lock.stat() == before


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("apple==1.1", "apple==1.0", "ENVIRONMENT_STALE"),
        ("--hash=sha256:", "--hash=sha256:00", "LOCK_FILE_INVALID"),
        ("# packages: apple==1.*", "# packages: apple==2.*", "ENVIRONMENT_STALE"),
        ("Python 3.", "Python 3.9", "ENVIRONMENT_STALE"),
        ("apple==1.1 \\", "--index-url https://evil.test apple==1.1 \\", "LOCK_FILE_INVALID"),
    ],
)
def test_check_refuses_an_environment_that_the_lock_file_does_not_fit(
    kept: Orchard, old: str, new: str, code: str
) -> None:
    """An edited version, hash, requirement or Python: exit 2, with the command that makes the environment."""
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
    assert (checked.code, "other commands installed or removed pear_tree 2.5" in checked.stderr) == (2, True)
    faked(monkeypatch, {"apple": "1.1", "pear_tree": "2.5"})
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
    wrong = HEADS + entry("apple", "1.1", sha256[::-1])
    made.lock.write_text(wrong)
    done = made.run()
    assert done.code == 2
    assert (
        "error: ENVIRONMENT_HASH: catalog shop: no virtual environment was made for apple==1.*: apple==1.1: "
        in done.stderr
    )
    assert [path.name for path in (made.cache / "glacierbase/environments").iterdir()] == ["shop.log"]
    assert "Hash mismatch" in (made.cache / "glacierbase/environments/shop.log").read_text()
    assert made.lock.read_text() == wrong


def test_a_package_that_does_not_exist_leaves_no_lock_file(tmp_path: Path) -> None:
    """The message names catalog and package."""
    made = orchard(tmp_path)
    done = made.run()
    assert (done.code, made.lock.exists(), made.made()) == (2, False, [])
    assert "catalog shop: no virtual environment was made for apple==1.*: No solution found when " in done.stderr
    assert "dependencies: Because " in done.stderr


@pytest.mark.parametrize(
    ("output", "code", "exit_code"),
    [
        ("error: Failed to fetch: https://index.example/simple\n  cause: dns error", "ENVIRONMENT_NOT_MADE", 5),
        ("error: No solution found when …\n\nhint: … (401 Unauthorized)", "ENVIRONMENT_NOT_MADE", 5),
        ("error: No solution found when …\n\nhint: … returned a 403 Forbidden error", "ENVIRONMENT_NOT_MADE", 5),
        ("× No solution found when …\n   hint: … the network was\n disabled", "ENVIRONMENT_NOT_MADE", 5),
        ("error: failed to write: No space left on device (os error 28)", "ENVIRONMENT_NOT_MADE", 5),
        ("error: No solution found when resolving\n  cause: Because only a<2", "ENVIRONMENT_UNRESOLVED", 2),
        ("error: Hash-checking is required, but no trusted hash was provided for: `b`", "ENVIRONMENT_UNRESOLVED", 2),
        ("error: Hash mismatch for `apple==1.1`", "ENVIRONMENT_HASH", 2),
        ("", "ENVIRONMENT_NOT_MADE", 5),
    ],
)
def test_a_failure_of_uv_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, code: str, exit_code: int
) -> None:
    """The message names catalog, packages and the log, in which logins are masked; nothing is left that counts as made."""
    made = orchard(tmp_path)
    faked(monkeypatch, {}, f"DEBUG https://ana:geheim@index.example\n{output} https://ana:geheim@index.example")
    done = made.ask()
    error = done.document["error"]
    assert (done.code, error["code"]) == (exit_code, code)
    assert error["message"].startswith("catalog shop: no virtual environment was made for apple==1.*: ")
    assert Path(error["log"]).read_text().startswith("DEBUG https://ana:***@index.example\n")
    assert "geheim" not in done.stdout
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


def test_an_older_python_resolves_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock file for newer Pythons only has no versions for this one; uv gets those that it has, and keeps what fits."""
    made = orchard(tmp_path)
    made.lock.write_text(HEADS.replace("3.", "3.9", 1) + entry("apple", "1.1", "a" * 64))
    uv = faked(monkeypatch, {"apple": "1.1"})
    assert made.ask().entry()["lock_file"] == "catalogs/shop.lock"
    [section] = read_sections(made.catalog).values()
    assert section.oldest == sys.version_info[1]
    assert f"3.{section.oldest}" in uv.calls[0]
    assert uv.known == entry("apple", "1.1", "a" * 64)


def test_other_packages_keep_the_versions_that_fit(kept: Orchard) -> None:
    """uv reads the former lock file: `apple` stays below its newest version, and nothing else of the file changes."""
    kept.catalog.write_text(CATALOG.replace("apple==1.*", "apple>=1"))
    former = kept.lock.read_text()
    assert kept.run().code == 0
    assert kept.lock.read_text() == former.replace("apple==1.*", "apple>=1")


def test_a_configuration_of_uv_in_a_checkout_is_not_read(kept: Orchard, tmp_path: Path) -> None:
    """A CI job may have the user's cache in the checkout of a stranger's branch, where `uv.toml` could name any index."""
    evil = wheel(tmp_path, "apple", "1.9")
    (tmp_path / "uv.toml").write_text(f"find-links = ['{tmp_path}']\nreinstall = true\n")
    kept.lock.unlink()
    made = Orchard(kept.project, kept.wheels, tmp_path / "cache")
    assert made.run().code == 0
    assert "apple==1.1" in made.lock.read_text()
    assert evil not in made.lock.read_text()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"PIP_INDEX_URL": "https://mirror.example/simple"}, "https://mirror.example/simple"),
        ({"PIP_CONFIG_FILE": "pip.conf"}, "https://ana:geheim@company.example/simple"),
        ({"PIP_INDEX_URL": "https://mirror.example/simple", "UV_DEFAULT_INDEX": "https://uv.example"}, None),
        ({"PIP_INDEX_URL": "https://mirror.example/simple", "UV_INDEX_URL": "https://uv.example"}, None),
        ({"PIP_CONFIG_FILE": os.devnull}, None),
    ],
)
def test_uv_gets_the_package_index_of_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Mapping[str, str], expected: str | None
) -> None:
    """uv reads no configuration of pip: where no variable names an index for uv, it gets that of pip."""
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://ana:geheim@company.example/simple\n")
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, str(tmp_path / value) if value == "pip.conf" else value)
    assert installing._index() == ({"UV_DEFAULT_INDEX": expected} if expected else {})


def test_uv_runs_with_the_index_of_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both when it resolves and when it installs."""
    made = orchard(tmp_path)
    uv = faked(monkeypatch, {"a": "1"})
    monkeypatch.setattr(installing, "_index", lambda: {"UV_DEFAULT_INDEX": "https://mirror.example/simple"})
    assert made.run().code == 0
    assert [words[2] for words in uv.calls] == ["compile", "install"]
    assert uv.variables["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"


def test_without_uv_the_error_has_the_command_that_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A uv on the PATH is enough."""
    monkeypatch.setitem(sys.modules, "uv", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError) as caught:
        installing._uv()
    assert caught.value.code == "UV_NOT_INSTALLED"
    assert caught.value.hint == pip_install("environments")
    program = tmp_path / "uv"
    program.write_text("")
    program.chmod(0o755)
    assert installing._uv() == str(program)


def test_clean_deletes_what_the_catalog_file_does_not_use_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Environments of other catalog files are kept, and those of all environments of this one; incomplete ones are deleted."""
    made = orchard(tmp_path)
    made.project.catalog(CATALOG.replace("apple==1.*", "plum"), "other")
    uv = faked(monkeypatch, {"a": "1"})
    assert made.run("--catalog", "other").code == 0
    uv.packages = {"b": "1"}
    assert made.run("--catalog", "shop").code == 0
    [old] = [path for path in made.made() if "shop.yaml" in (path / "users").read_text()]
    made.catalog.write_text(CATALOG.replace("apple==1.*", "apple==2.*"))
    uv.packages = {"b": "2"}
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
        (f"apple==1 --hash=sha256:{DIGEST}", 4),
        (f"apple==1 \\\n    --hash=sha256:{DIGEST}\n-e .", 6),
        (f"apple==1 \\\n    --hash=sha256:{DIGEST}\n-r other.txt", 6),
        (f"apple==1 \\\n    --hash=sha256:{DIGEST}\n./apple.whl \\\n    --hash=sha256:{DIGEST}", 6),
        (f"apple==1 \\\n    --hash=sha256:{DIGEST} \\\n    --find-links=/tmp", 4),
        (f"apple==1 ; python_version > '3' --index-url=a \\\n    --hash=sha256:{DIGEST}", 4),
        (f"apple==1 ; sys_platform == '--index-url a' \\\n    --hash=sha256:{DIGEST}", 4),
        (f"apple==1 # \x0b-r /tmp/a \\\n    --hash=sha256:{DIGEST}", 4),
        (f"# via\x0b--index-url=https://evil.test\napple==1 \\\n    --hash=sha256:{DIGEST}", 5),
    ],
)
def test_a_lock_file_with_another_line_is_refused(tmp_path: Path, line: str, number: int) -> None:
    """Only versions with hashes: a lock file of a stranger's branch cannot name another index."""
    made = orchard(tmp_path)
    made.lock.write_text(f"# head\n{HEADS}{line}\n")
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
    """After kill -9 in the middle, `--check` reports it missing, and the next `env` waits for the uv that lives on."""
    made = orchard(tmp_path)
    wheel(made.wheels, "apple", "1.1")
    assert made.run().code == 0
    shutil.rmtree(made.made()[0])
    process = made.project.start("env", environ=made.environ)
    while not list(made.cache.glob("glacierbase/environments/*/venv/pyvenv.cfg")):
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
