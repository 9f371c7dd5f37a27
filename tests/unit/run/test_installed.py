"""How `pip` installs glacierbase again, from where this installation came."""

from __future__ import annotations

import importlib.metadata
import runpy
import shlex
import subprocess
from pathlib import Path

import pytest

import glacierbase
from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark import installed as spark
from glacierbase.run import installed
from tests.support.project_folder import REPOSITORY


@pytest.mark.parametrize(
    ("place", "requirement"),
    [
        ("index", f"glacierbase[spark,glue]=={glacierbase.__version__}"),
        ("git+https://git.test/a@0123", "glacierbase[spark,glue] @ git+https://git.test/a@0123"),
        ("https://files.test/g.whl", "glacierbase[spark,glue] @ https://files.test/g.whl"),
        ("/home/ana/my clone", "/home/ana/my clone[spark,glue]"),
        (None, f"glacierbase[spark,glue]=={glacierbase.__version__}"),
    ],
)
def test_the_command_names_the_same_source(
    place: str | None, requirement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index, a commit, an archive or a folder; an index where the source is not known."""
    monkeypatch.setattr(installed, "source", lambda: place)
    assert shlex.split(installed.pip_install("spark", "glue")) == ["pip", "install", requirement]


def test_a_missing_spark_is_installed_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """`SPARK_NOT_INSTALLED` prints a command that works where the package index has no glacierbase."""
    monkeypatch.setattr(installed, "source", lambda: "git+https://git.test/a@0123")
    monkeypatch.setattr(spark, "version", _missing)
    with pytest.raises(ConfigurationError) as caught:
        spark.spark_version()
    assert caught.value.code == "SPARK_NOT_INSTALLED"
    assert (caught.value.hint or "").startswith("pip install 'glacierbase[spark] @ git+https://git.test/a@0123'")


def _missing(name: str) -> str:
    raise spark.PackageNotFoundError(name)


class Requiring:
    """The metadata of a glacierbase with these requirements."""

    def __init__(self, *requirements: str) -> None:
        self.metadata = self
        self._requirements = requirements

    def get_all(self, _name: str) -> tuple[str, ...]:
        return self._requirements


def test_an_extra_is_installed_if_its_packages_are_in_a_version_that_it_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """An extra may name another one of glacierbase. Those of developers are left out."""
    requirements = (
        "click>=8", "a[x]>=1.2,<2; extra == 'one'", "b==3.1; extra == 'two'", "glacierbase[one]; extra == 'three'",
        "c>=1; extra == 'three'", "glacierbase[two]; extra == 'four'", "a; extra == 'test'", "absent; extra == 'five'",
    )  # fmt: skip
    versions = {"a": "1.10.1", "b": "3.2", "c": "1"}
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: Requiring(*requirements))
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: versions[name] if name in versions else _missing(name)
    )
    assert installed.extras() == ["one", "three"]


def test_a_build_records_its_commit_and_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook of the build writes the file that an installation reads, and removes it where it was written."""
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{REPOSITORY}", tmp_path / "clone"], check=True)
    monkeypatch.setenv("GLACIERBASE_REPOSITORY", "acme/glacierbase")
    hook = runpy.run_path(str(REPOSITORY / "hatch_build.py"))["BuildFacts"]
    build: dict[str, dict[str, str]] = {"force_include": {}}
    made = hook(str(tmp_path / "clone"), {}, None, None, str(tmp_path / "dist"), "wheel")
    made.initialize("standard", build)
    [(path, place)] = build["force_include"].items()
    assert place == "glacierbase/build.json"
    monkeypatch.setattr(installed, "_BUILD", Path(path))
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=REPOSITORY, check=True, capture_output=True, text=True
    ).stdout.strip()
    assert installed.built_from() == (head, "acme/glacierbase")
    made.finalize("standard", build, "")
    assert installed.built_from() == (None, None)
