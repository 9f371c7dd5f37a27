"""Parts of Spark's start that require no Spark: Java, jars, trusted certificates, cache and properties."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
import time
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from glacierbase.errors import ConfigurationError, EngineUnavailable
from glacierbase.executors.spark import java
from glacierbase.executors.spark.archive import ClassArchive
from glacierbase.executors.spark.cache import cache_folder, make_folder
from glacierbase.executors.spark.gateway import Gateway
from glacierbase.executors.spark.installed import spark_version
from glacierbase.executors.spark.jars import check_jars, record_jars, resolved_jars
from glacierbase.executors.spark.java import find_java_home
from glacierbase.executors.spark.properties import with_properties
from glacierbase.executors.spark.tasks import Tasks
from glacierbase.executors.spark.trust import trust_store
from glacierbase.run.activity import doing, watched
from glacierbase.run.run import Run
from tests.support.beds import LakeBed
from tests.support.catalog_files import RUNTIME
from tests.support.processes import state_of
from tests.support.project_folder import ProjectFolder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty user cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """A machine whose only Java is the wheel's."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")


def java_home(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/java").write_text("#!/bin/sh\n")
    (folder / "bin/java").chmod(0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


@pytest.mark.parametrize("version", ["17.0.15", "21"])
def test_the_machines_java_is_taken_when_spark_works_with_it(
    version: str, no_java: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JAVA_HOME and the PATH are searched."""
    home = java_home(tmp_path / "java", version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java_home() == home
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert find_java_home() == home


@pytest.mark.parametrize("version", ["25.0.1", "11.0.2", "1.8.0_400"])
def test_an_unsupported_java_is_replaced_by_the_wheels(
    version: str, no_java: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the wheel, the message names the Java that was found and the required versions."""
    home = java_home(tmp_path / "java", version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java_home() != home
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=f"Java {version.removeprefix('1.').partition('.')[0]}") as caught:
        find_java_home()
    assert caught.value.code == "JAVA_NOT_FOUND"
    assert "17 or 21" in caught.value.message


def broken_java(folder: Path, kind: str) -> Path:
    """A folder that is no Java home: it is absent, has no program, one that is not executable, or one that is no Java."""
    if kind != "absent":
        (folder / "bin").mkdir(parents=True)
    if kind not in ("absent", "empty"):
        (folder / "bin/java").write_bytes(
            b"\x7fELF nothing" if kind == "garbage" else b"#!/bin/sh\necho 1.0 >&2; exit 1\n"
        )
        (folder / "bin/java").chmod(0o644 if kind == "not executable" else 0o755)
    return folder


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("absent", "which holds no bin/java"),
        ("empty", "which holds no bin/java"),
        ("not executable", "whose bin/java is not executable"),
        ("garbage", "whose bin/java is no Java"),
        ("script", "whose bin/java is no Java"),
    ],
)
def test_a_java_home_that_is_no_java_is_named(
    kind: str,
    why: str,
    no_java: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Another Java is used, which the log says; without one, the error has the path and what is missing."""
    home = broken_java(tmp_path / "java", kind)
    monkeypatch.setenv("JAVA_HOME", str(home))
    with caplog.at_level("WARNING", "glacierbase"):
        assert find_java_home() != home
    [record] = caplog.records
    assert record.getMessage().startswith(f"JAVA_HOME is {home}, {why}; Spark runs on the Java in ")
    assert "unset JAVA_HOME" in record.getMessage()
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError) as caught:
        find_java_home()
    assert caught.value.message == f"Spark needs Java 17 or 21; JAVA_HOME is {home}, {why}"
    assert "set JAVA_HOME to a Java 17 or 21" in caught.value.hint


def test_a_java_on_the_path_that_spark_does_not_support_is_no_news(
    no_java: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Only JAVA_HOME is a choice of the user that is not followed."""
    monkeypatch.setenv("PATH", str(java_home(tmp_path / "java", "25.0.1") / "bin"))
    with caplog.at_level("WARNING", "glacierbase"):
        find_java_home()
    assert caplog.records == []


def test_the_wheels_java_starts_without_the_module_that_it_lacks(no_java: None) -> None:
    """All other arguments are passed unchanged, including blanks and quotes."""
    launcher = find_java_home() / "bin/java"
    command = [
        "/bin/sh",
        str(launcher),
        "-Da=b c'd",
        "--add-modules=jdk.incubator.vector",
        "-XshowSettings:properties",
        "-version",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "a = b c'd" in done.stderr
    assert 'version "17' in done.stderr


def test_the_wheels_java_trusts_what_the_machine_trusts(
    no_java: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """keytool reads all certificates of the bundle and checks the digest."""
    store = find_java_home() / "trust.jks"
    command = ["/bin/sh", str(find_java_home() / "bin/java"), "-m", "java.base/sun.security.tools.keytool.Main"]
    command += ["-list", "-keystore", str(store), "-storepass", "changeit"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert store.read_bytes() == trust_store()
    assert listed.count("trustedCertEntry") > 10
    assert f"contains {listed.count('trustedCertEntry')} entries" in listed
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    assert trust_store() == store.read_bytes()


@pytest.mark.parametrize(
    "jar",
    [
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",
        "io.delta:delta-spark_4.0_2.13:4.0.0",
        "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.1.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.2_2.13:1.12.0",
    ],
)
@pytest.mark.parametrize("key", ["dependencies", "spark.jars.packages", "spark.jars", "spark.driver.extraClassPath"])
def test_a_jar_for_another_spark_is_refused(jar: str, key: str) -> None:
    """The jar is found under every key; it would fail in every statement with an obscure error."""
    with pytest.raises(ConfigurationError) as caught:
        check_jars({} if key == "dependencies" else {key: jar}, [jar] if key == "dependencies" else [], {})
    assert caught.value.code == "SPARK_VERSION_MISMATCH"
    assert spark_version() in caught.value.message
    assert "pip install" in caught.value.hint


def test_it_is_refused_before_anything_starts(lake_project: ProjectFolder) -> None:
    """The exit code is 2, the message names the line of the catalog file, and no log of a JVM is written."""
    path = lake_project.root / "catalogs/shop.yaml"
    path.write_text(path.read_text().replace("runtime-4.1_2.13", "runtime-3.5_2.13"))
    lake_project.file("1_a.sql", "SELECT 1")
    told = lake_project.run("migrate")
    where = "error: SPARK_VERSION_MISMATCH: catalogs/shop.yaml, line 12:"
    assert (told.code, told.stderr.partition(" org.")[0]) == (2, where)
    assert not (lake_project.root / ".glacierbase").exists()


def test_a_spark_home_without_spark_is_one_clear_message(lake_project: ProjectFolder, tmp_path: Path) -> None:
    """The message names SPARK_HOME and the remedy, and the warehouse is not created."""
    lake_project.file("1_a.sql", "SELECT 1")
    told = lake_project.run("migrate", environ={"SPARK_HOME": str(tmp_path)})
    assert told.code == 2
    assert f"error: SPARK_NOT_INSTALLED: SPARK_HOME is {tmp_path}, which holds no Spark" in told.stderr
    assert "unset SPARK_HOME" in told.stderr
    assert not (lake_project.root / "warehouse").exists()


def test_the_jars_that_fit_pass() -> None:
    """The sample's jars, and jars without a Spark version in their name, are accepted."""
    check_jars({}, [RUNTIME, "org.xerial:sqlite-jdbc:3.54.1.0", "org.apache.iceberg:iceberg-aws-bundle:1.12.0"], {})


def test_resolved_jars_are_remembered_until_a_file_or_a_coordinate_changes(cache: Path, tmp_path: Path) -> None:
    """Another repository also invalidates the record."""
    jar = tmp_path / "a b.jar"
    jar.touch()
    assert resolved_jars({}, ["g:a:1"]) is None
    record_jars({}, ["g:a:1"], [jar.as_uri()])
    assert resolved_jars({}, ["g:a:1"]) == [jar]
    assert resolved_jars({"spark.jars.repositories": "http://x"}, ["g:a:1"]) is None
    assert resolved_jars({}, ["g:a:2"]) is None
    jar.unlink()
    assert resolved_jars({}, ["g:a:1"]) is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may have a read-only home."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/self")
    record_jars({}, ["g:a:1"], ["file:/a.jar"])
    assert resolved_jars({}, ["g:a:1"]) is None


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
    """This holds for lists of jars, class archives and the launcher; another user's folder is reported."""
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
    """This holds for the archive of Spark's classes and for the one of Java's classes."""
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


SUBMIT = """\
#!/bin/sh
echo "Error: arguments: $*"
stat -c '%a %n' "$(dirname "$2")" "$2"
cat "$2"
exit 1
"""


@pytest.fixture
def broken_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Spark that prints its arguments and ends."""
    home = tmp_path / "spark"
    (home / "bin").mkdir(parents=True)
    (home / "bin/spark-submit").write_text(SUBMIT)
    (home / "bin/spark-submit").chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    return home


def failed_start(project: ProjectFolder, conf: dict[str, str]) -> Path:
    """The log of a start that `broken_spark` ends."""
    with pytest.raises(EngineUnavailable) as caught:
        Gateway(conf, Run.here(project.root), Path("/no/java"))
    return Path(caught.value.hint.removeprefix("see "))


def test_what_spark_starts_with_is_in_a_file_of_the_user_alone(broken_spark: Path, project: ProjectFolder) -> None:
    """The command line names the file, which is deleted afterwards."""
    log = failed_start(project, {"spark.driver.canary": "canary", "spark.sql.other": "not there"})
    arguments, folder, file, *content = log.read_text().splitlines()
    name = file.removeprefix("600 ")
    assert arguments == f"Error: arguments: --properties-file {name} pyspark-shell"
    assert folder == f"700 {Path(name).parent}"
    assert [line for line in content if line] == ["spark.driver.canary=canary"]
    assert not Path(name).parent.exists()


def test_the_log_of_spark_is_for_the_user_alone(broken_spark: Path, project: ProjectFolder) -> None:
    """Each start writes a new file that only the user can read."""
    logs = [failed_start(project, {}) for _ in range(2)]
    assert {stat.S_IMODE(log.stat().st_mode) for log in logs} == {0o600}
    assert stat.S_IMODE(logs[0].parent.stat().st_mode) == 0o700
    assert sorted(logs) == sorted((project.root / ".glacierbase/logs").iterdir())


def test_the_start_names_the_file_that_spark_downloads(broken_spark: Path, project: ProjectFolder) -> None:
    """Only the name: the address of a repository may hold a password."""
    address, seen, read = "https://me:canary@host/maven/a", [], project.root / "read"
    (broken_spark / "bin/spark-submit").write_text(
        f"#!/bin/sh\necho ':: loading'\necho 'downloading {address}/a-1.0.jar ...'\nuntil [ -e {read} ]; do sleep 0.05; done\n"
    )

    def look() -> None:
        deadline = time.monotonic() + 20
        while not seen and time.monotonic() < deadline:
            seen.extend(filter(None, (each.detail() for each in activities)))
        read.touch()

    with watched() as activities, doing("resolving"):
        looking = Thread(target=look)
        looking.start()
        failed_start(project, {})
    looking.join()
    assert seen == ["downloading a-1.0.jar"]


def test_the_numbers_of_a_statement_never_decrease() -> None:
    """Tasks of a stage that runs again after a lost executor, and stages that Spark forgets, stay counted."""
    tasks = Tasks()
    assert not tasks
    seen = []
    for stage, completed, total in [(4, 0, 8), (4, 5, 8), (4, 3, 8), (7, 0, 200), (7, 199, 200)]:
        tasks.add(stage, completed, total)
        seen.append(str(tasks))
    assert seen[:3] == ["stage 1, 0/8 tasks", "stage 1, 5/8 tasks", "stage 1, 5/8 tasks"]
    assert seen[3:] == ["stage 2, 5/208 tasks", "stage 2, 204/208 tasks"]


def test_an_interrupted_start_leaves_no_process(
    broken_spark: Path, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JVM that is not connected yet is killed, because it would not end when its folder is deleted."""
    begun = project.root / "begun"
    (broken_spark / "bin/spark-submit").write_text(
        f"#!/bin/sh\necho $$ > {begun}.new; mv {begun}.new {begun}\nexec sleep 600"
    )
    monkeypatch.setattr("glacierbase.executors.spark.gateway.time", SimpleNamespace(sleep=lambda _: interrupt(begun)))
    with pytest.raises(KeyboardInterrupt):
        Gateway({}, Run.here(project.root), Path("/no/java"))
    deadline = time.monotonic() + 10
    while state_of(int(begun.read_text())) not in (None, "Z"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def interrupt(begun: Path) -> None:
    if begun.exists():
        raise KeyboardInterrupt


def test_a_log_in_a_shared_folder_follows_no_link(
    broken_spark: Path, project: ProjectFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user may have placed links in the folder for temporary files, which a read-only checkout uses."""
    run, shared, victim = Run.here(project.root), tmp_path / "shared", tmp_path / "victim"
    shared.mkdir()
    (project.root / ".glacierbase").write_text("not a folder")
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    for name in (f"spark-{run.id}.log", f"spark-{run.id}-.log"):
        (shared / name).symlink_to(victim)
    with pytest.raises(EngineUnavailable) as caught:
        Gateway({}, run, Path("/no/java"))
    log = Path(caught.value.hint.removeprefix("see "))
    assert not victim.exists()
    assert (log.parent, log.is_symlink(), stat.S_IMODE(log.stat().st_mode)) == (shared, False, 0o600)


@pytest.mark.parametrize("form", ["--properties-file {}", "--properties-file={}"])
def test_a_properties_file_of_the_user_takes_the_place_of_the_administrators(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Spark, it replaces the administrator's; the catalog file's values override it, and other arguments are kept."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").write_text("spark.from administrator")
    (tmp_path / "mine").write_text("spark.from mine")
    given = [*form.format(tmp_path / "mine").split(), "--verbose", "pyspark-shell"]
    arguments = with_properties({"spark.from": "file"}, given, tmp_path / "new")
    assert arguments == ["--properties-file", str(tmp_path / "new"), "--verbose", "pyspark-shell"]
    assert (tmp_path / "new").read_text().split("\n") == ["spark.from mine", "", "spark.from=file", ""]
    missing = ["--properties-file", "/no/such/file", "pyspark-shell"]
    assert with_properties({}, missing, tmp_path / "newer") == missing


AWKWARD = [
    "",
    " a ",
    "a=b:c#d!e",
    "C:\\x\\",
    "a\nb\r\n\tc\f",
    "ä€😀\x00\x7f",
    "${x} #{y}",
    "\\u0041",
    "\ufeffx",
    "a\\\n b",
]


def test_java_reads_every_key_and_value_as_it_is(
    lake: LakeBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are read correctly after a file that ends in a backslash; of two equal keys the last one counts."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").write_bytes("spark.a ä\nspark.k0 = administrator\nspark.z 1\\".encode())
    values = {f"spark.k{number}": value for number, value in enumerate(AWKWARD)} | {" k=:#\\ä": "key"}
    with_properties(values, ["pyspark-shell"], tmp_path / "new")
    java = lake.spark._jvm.java
    properties = java.util.Properties()
    properties.load(java.io.InputStreamReader(java.io.FileInputStream(str(tmp_path / "new")), "UTF-8"))
    assert dict(properties) == {"spark.a": "ä", "spark.z": "1", **values}
