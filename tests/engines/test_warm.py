"""`warm` fills the cache; a run uses it where it fits, and prints nothing about it where it does not."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from glacierbase.executors.spark.jars import resolved_jars
from glacierbase.executors.spark.java import find_java_home
from glacierbase.executors.spark.launch import class_archive, launch_conf, with_flags
from tests.support.catalog_files import LAKE
from tests.support.project_folder import Output, ProjectFolder, only_catalog
from tests.unit.executors.test_spark_java import java_home

FLAGS = "spark.driver.defaultJavaOptions"


@dataclass
class Warmed:
    """A user's cache after `warm`, and the environment of that run."""

    environ: dict[str, str | None]
    folder: Path
    project: ProjectFolder
    said: Output

    @property
    def archive(self) -> Path:
        return Path(self.said.entry()["archive"])

    def loaded(self, name: str, conf: str = "") -> str:
        """Return the class-loading log of a first `migrate` in a new project, which prints nothing about an archive."""
        project = ProjectFolder(self.folder / name)
        log = project.root / "loaded"
        option = f"spark.driver.extraJavaOptions: '-Xlog:class+load:file={log}'"
        project.catalog(with_conf(project, f"      {option}\n{conf}"))
        project.file("1_a.sql", "CREATE NAMESPACE lake.a")
        done = project.run("migrate", environ=self.environ)
        assert done.code == 0, done.stderr
        # On a busy machine the statement may take longer than a second, and then has a line.
        assert re.sub("shop: running .*\n", "", done.stderr) == "shop: starting Spark\n"
        return log.read_text()


def with_conf(project: ProjectFolder, conf: str = "") -> str:
    text = LAKE.replace("WAREHOUSE", str(project.root))
    return text.replace("    dependencies:", f"{conf}    dependencies:")


@pytest.fixture(scope="module", params=["wheel", "machine"])
def warmed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Warmed:
    """The Java of the wheel, or the machine's."""
    folder = tmp_path_factory.mktemp("warm")
    environ: dict[str, str | None] = {"XDG_CACHE_HOME": str(folder / "cache")}
    if request.param == "wheel":
        other = java_home(folder / "java", "11.0.2")
        environ |= {"JAVA_HOME": None, "PATH": f"{other / 'bin'}:{os.environ['PATH']}"}
    project = ProjectFolder(folder / "warm")
    project.catalog(with_conf(project))
    return Warmed(environ, folder, project, project.ask("warm", environ=environ))


def test_warm_resolves_the_dependencies_and_makes_an_archive_once(warmed: Warmed) -> None:
    """`warm` reports both; a second `warm` does nothing more. Neither contacts the catalog."""
    assert warmed.said.code == 0, warmed.said.stderr
    entry = warmed.said.entry()
    assert entry["dependencies"] == 2
    assert 0 < entry["start_ms"] < 60_000
    made = warmed.archive.stat()
    assert warmed.archive.is_relative_to(warmed.folder / "cache")
    again = warmed.project.run("warm", environ=warmed.environ)
    assert again.code == 0, again.stderr
    assert f"class archive {warmed.archive}: Spark starts in" in again.stdout
    assert "making" not in again.stderr
    assert (warmed.archive.stat().st_ino, warmed.archive.stat().st_mtime) == (made.st_ino, made.st_mtime)
    assert sorted(path.name for path in warmed.project.root.iterdir()) == [".glacierbase", "catalogs", "migrations"]


def test_a_run_maps_the_archive_and_resolves_nothing(warmed: Warmed) -> None:
    """The archive is used beside the user's JVM flags."""
    assert warmed.loaded("used").count("shared objects file (top)") > 5000


def test_other_jars_leave_it_alone(warmed: Warmed, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive of another class path in its place is not used either."""
    jar = warmed.folder / "other.jar"
    with zipfile.ZipFile(jar, "w") as file:
        file.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    conf = f"      spark.driver.extraClassPath: {jar}\n"
    assert "(top)" not in warmed.loaded("others", conf)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for key, value in warmed.environ.items():
        if value is not None:
            monkeypatch.setenv(key, value)
    shutil.copy(warmed.archive, place_of(warmed.folder / "others"))
    assert "(top)" not in warmed.loaded("misled", conf)


def place_of(root: Path) -> Path:
    """Return the path of the archive for a project's class path."""
    catalog = only_catalog(root)
    jars = resolved_jars(catalog.spark_conf, catalog.dependencies)
    return class_archive(find_java_home(), launch_conf(catalog, jars)).path


def test_a_damaged_archive_is_replaced_without_a_message(warmed: Warmed) -> None:
    """A run prints nothing about it; `warm` replaces it. (This must be the last test of the file that uses it.)"""
    warmed.archive.unlink()
    warmed.archive.write_bytes(b"not an archive" * 1000)
    assert "(top)" not in warmed.loaded("damaged")
    again = warmed.project.run("warm", environ=warmed.environ)
    assert (again.code, "making the class archive" in again.stderr) == (0, True), again.stderr
    assert warmed.archive.stat().st_size > 10_000_000


def test_a_cache_that_cannot_be_written_is_one_clear_message(project: ProjectFolder, tmp_path: Path) -> None:
    """The command exits with 2."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "glacierbase").write_text("a file in its place")
    project.catalog(with_conf(project).partition("    dependencies:")[0])
    done = project.run("warm", environ={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert done.code == 2, done.stderr
    assert f"error: CACHE_NOT_WRITABLE: the cache folder {tmp_path}/cache/glacierbase/" in done.stderr


def test_warm_has_nothing_to_do_for_an_engine_that_starts_elsewhere(project: ProjectFolder) -> None:
    """`warm` does nothing for a Spark Connect server or Snowflake, which do not start on this machine."""
    project.catalog(
        "migrationExecutor: {type: spark, conf: {sparkConf: {spark.remote: 'sc://nowhere'}}}\nstore: {catalog: a}\n"
    )
    project.catalog(
        "migrationExecutor: {type: snowflake, conf: {connection: {account: a, user: b}}}\nstore: {catalog: a}\n", "snow"
    )
    done = project.run("warm")
    assert (done.code, done.stdout.count("nothing to do: the engine of this catalog does not start here")) == (0, 2), (
        done.stderr
    )


@pytest.mark.parametrize(
    ("conf", "environ", "expected"),
    [
        ({}, {}, "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MetaspaceSize=192m A"),
        ({FLAGS: "-Dx=1"}, {}, "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MetaspaceSize=192m A -Dx=1"),
        ({"spark.driver.extraJavaOptions": "-XX:+UseG1GC"}, {}, "-XX:TieredStopAtLevel=1 -XX:MetaspaceSize=192m A"),
        ({}, {"JAVA_TOOL_OPTIONS": "-XX:+UseParallelGC"}, "-XX:TieredStopAtLevel=1 -XX:MetaspaceSize=192m A"),
    ],
)
def test_the_users_flags_override_the_built_in_ones(
    conf: dict[str, str], environ: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """glacierbase's flags come first, and add no second collector."""
    for key, value in environ.items():
        monkeypatch.setenv(key, value)
    assert with_flags(conf, "A") == {**conf, FLAGS: expected}


@pytest.mark.parametrize(("line", "ours"), [(f"{FLAGS} -Dx=1", False), ("spark.driver.extraJavaOptions -Dx=1", True)])
def test_a_properties_file_overrides_the_built_in_settings(
    line: str, ours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that is set in the session would hide the same key in the file."""
    (tmp_path / "spark-defaults.conf").write_text(f"{line}\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    found: dict[str, Any] = with_flags({}, "A")
    assert (FLAGS in found) is ours
