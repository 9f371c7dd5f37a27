"""What others may write in the user's cache is not used."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark.jars import record_jars, resolved_jars
from glacierbase.executors.spark.java import find_java_home
from glacierbase.executors.spark.launch import ClassArchive
from glacierbase.run.cache import cache_folder, make_folder
from tests.unit.executors.test_spark_java import java_home


def own_jars(tmp_path: Path) -> Path:
    """A record of jars in the cache, as a first session writes it."""
    (tmp_path / "a.jar").touch()
    record_jars({}, ["g:a:1"], [(tmp_path / "a.jar").as_uri()])
    assert resolved_jars({}, ["g:a:1"]) == [tmp_path / "a.jar"]
    [record] = cache_folder("jars").iterdir()
    return record


def archive(home: Path, *, base: bool) -> ClassArchive:
    """A class archive in the cache, of a Java with or without the built-in archive `base`."""
    java_home(home, "17.0.1")
    made = ClassArchive(home, "jars")
    make_folder(made.path.parent)
    names = [made.path, made._base] if base and made._base else [made.path]
    for path in names:
        path.write_bytes(b"classes")
        path.chmod(0o644)
    return made


def test_the_cache_is_written_for_this_user_alone_under_any_umask(cache: Path, tmp_path: Path) -> None:
    """Only the user may write there, so that its files are used again; the mode of an older folder is corrected."""
    (cache / "glacierbase/jars").mkdir(parents=True)
    (cache / "glacierbase/jars").chmod(0o777)
    (cache / "glacierbase").chmod(0o775)
    before = os.umask(0)
    try:
        record = own_jars(tmp_path)
        make_folder(cache_folder("java", "1", "bin"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(record.stat().st_mode) & 0o022 == 0
    assert [stat.S_IMODE((cache / "glacierbase" / each).stat().st_mode) for each in ("", "jars")] == [0o755, 0o755]
    assert stat.S_IMODE(cache_folder("java", "1", "bin").stat().st_mode) == 0o700
    assert stat.S_IMODE(cache_folder("java").stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o664, 0o646])
@pytest.mark.parametrize("where", ["file", "folder", "cache"])
def test_a_list_of_jars_that_others_may_write_is_not_used(where: str, mode: int, cache: Path, tmp_path: Path) -> None:
    """The list names code that Spark runs: the dependencies are resolved again, and the list is replaced."""
    record = own_jars(tmp_path)
    place = {"file": record, "folder": record.parent, "cache": cache / "glacierbase"}[where]
    place.chmod(mode | 0o100)
    assert resolved_jars({}, ["g:a:1"]) is None
    assert own_jars(tmp_path) == record


def test_what_another_user_left_in_the_cache_is_not_used(
    cache: Path, no_java: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists of jars, class archives and a launcher of another user are not used; that user's folder is reported."""
    own_jars(tmp_path)
    made = archive(tmp_path / "java", base=True)
    launcher = find_java_home()
    assert made.flags
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert resolved_jars({}, ["g:a:1"]) is None
    record_jars({}, ["g:a:1"], [])
    assert made.flags == ""
    with pytest.raises(ConfigurationError) as caught:
        find_java_home()
    assert caught.value.code == "CACHE_NOT_WRITABLE"
    assert "another user" in caught.value.message
    monkeypatch.undo()
    assert launcher.is_dir()


@pytest.mark.parametrize("index", [0, 1])
def test_a_class_archive_that_others_may_write_is_not_used(index: int, cache: Path, tmp_path: Path) -> None:
    """An archive that others may write is not used, neither of Spark's classes nor of Java's."""
    made = archive(tmp_path / "java", base=True)
    files = [made.path, made._base]
    assert all(str(file) in made.flags for file in files)
    file = files[index]
    assert file
    file.chmod(0o664)
    assert made.flags == ""


def test_the_launcher_is_writable_by_its_user_alone(no_java: None) -> None:
    """The mode of a launcher or folder is corrected before Spark is started."""
    launcher = find_java_home() / "bin/java"
    places = (launcher, launcher.parent, launcher.parent.parent, cache_folder())
    for place in places:
        place.chmod(0o777)
        assert find_java_home() / "bin/java" == launcher
        assert [stat.S_IMODE(each.stat().st_mode) & 0o022 for each in places] == [0, 0, 0, 0]
    assert launcher.read_text().startswith("#!/bin/sh\n")
