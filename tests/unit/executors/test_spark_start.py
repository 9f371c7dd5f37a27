"""The start of Spark: its files, its log, its progress and its properties."""

from __future__ import annotations

import errno
import stat
import tempfile
import time
from io import StringIO
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from glacierbase.errors import EngineUnavailable
from glacierbase.executors.spark import gateway
from glacierbase.executors.spark.gateway import Gateway, with_properties
from glacierbase.executors.spark.session import Tasks
from glacierbase.run.activity import doing, watched
from glacierbase.run.run import Run
from tests.support.beds import LakeBed
from tests.support.processes import state_of
from tests.support.project_folder import ProjectFolder

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


def test_a_log_that_cannot_be_written_does_not_stop_the_engine(
    broken_spark: Path, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark prints more than a pipe holds, to its end, whatever the disk has room for."""

    class Full(StringIO):
        name = str(project.root / "spark.log")

        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    Path(Full.name).touch()
    monkeypatch.setattr(gateway, "_log_file", lambda _: Full())
    ended = project.root / "ended"
    (broken_spark / "bin/spark-submit").write_text(
        f"#!/bin/sh\nhead -c 200000 /dev/zero | tr '\\0' '\\n' && touch {ended}\n"
    )
    failed_start(project, {})
    assert ended.exists()


def test_a_full_temporary_folder_is_one_message(
    broken_spark: Path, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message has the cause; nothing was started."""

    def refuse(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/a")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    with pytest.raises(EngineUnavailable, match="No space left on device: '/tmp/a'") as caught:
        Gateway({}, Run.here(project.root), Path("/no/java"))
    assert "TMPDIR" in str(caught.value.hint)


def test_the_start_names_the_file_that_spark_downloads(broken_spark: Path, project: ProjectFolder) -> None:
    """Only the name: the address of a repository may hold a password."""
    address, seen, read = "https://me:canary@host/maven/a", [], project.root / "read"
    (broken_spark / "bin/spark-submit").write_text(
        f"#!/bin/sh\necho ':: loading'\necho 'downloading {address}/a-1.0.jar ...'\nuntil [ -e {read} ]; do sleep 0.05; done\n"
    )

    def look() -> None:
        deadline = time.monotonic() + 60
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
    deadline = time.monotonic() + 60
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


@pytest.mark.parametrize("link", [".glacierbase", ".glacierbase/logs"])
def test_a_log_is_not_written_through_a_link_of_the_branch(
    link: str, broken_spark: Path, project: ProjectFolder, tmp_path: Path
) -> None:
    """`review` starts Spark in a stranger's branch. The log is in the folder for temporary files then."""
    (tmp_path / "elsewhere").mkdir()
    (project.root / link).parent.mkdir(exist_ok=True)
    (project.root / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EngineUnavailable) as caught:
        Gateway({}, Run.here(project.root), Path("/no/java"))
    assert Path(caught.value.hint.removeprefix("see ")).parent == Path(tempfile.gettempdir())
    assert list((tmp_path / "elsewhere").iterdir()) == []


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
    """Java reads keys and values correctly after a file that ends in a backslash; the last of two equal keys counts."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").write_bytes("spark.a ä\nspark.k0 = administrator\nspark.z 1\\".encode())
    values = {f"spark.k{number}": value for number, value in enumerate(AWKWARD)} | {" k=:#\\ä": "key"}
    with_properties(values, ["pyspark-shell"], tmp_path / "new")
    java = lake.spark._jvm.java
    properties = java.util.Properties()
    properties.load(java.io.InputStreamReader(java.io.FileInputStream(str(tmp_path / "new")), "UTF-8"))
    assert dict(properties) == {"spark.a": "ä", "spark.z": "1", **values}
