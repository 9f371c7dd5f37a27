"""How `pip` installs glacierbase again, from where this installation came."""

from __future__ import annotations

import shlex

import pytest

import glacierbase
from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark import installed as spark
from glacierbase.run import installed


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
