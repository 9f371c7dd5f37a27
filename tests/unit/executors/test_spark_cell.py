"""What the JVM of a throw-away copy may reach, as it is written for Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.executors.spark.cell import Cell


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """A cell in a folder whose name has a quote and a blank."""
    folder = tmp_path / 'a "b'
    folder.mkdir()
    return Cell(folder)


def test_the_environment_of_the_jvm_is_a_list_of_names(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials, options for Java and configuration folders of the caller do not reach it."""
    for name in (
        "AWS_SECRET_ACCESS_KEY",
        "JAVA_TOOL_OPTIONS",
        "HADOOP_CONF_DIR",
        "SPARK_CONF_DIR",
        "HOME",
        "LD_PRELOAD",
    ):
        monkeypatch.setenv(name, "canary-4711")
    assert "canary-4711" not in cell.environment.values()
    assert cell.environment.keys() <= {
        "PATH", "LANG", "LC_ALL", "TZ", "SPARK_CONF_DIR", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_IP", "SPARK_LAUNCHER_OPTS",
    }  # fmt: skip
    assert not Path(cell.environment["SPARK_CONF_DIR"]).exists()


def test_the_policy_grants_no_program_and_no_other_machine(cell: Cell) -> None:
    """Files are written in the folder only; the name of the folder cannot end its string in the policy."""
    jar = cell.folder.parent / "iceberg.jar"
    conf = cell.conf([jar])
    lines = (cell.folder / "policy").read_text().splitlines()
    files = [line for line in lines if "FilePermission" in line]
    assert not any("execute" in line or "ALL FILES" in line for line in lines)
    written = [line for line in files if "write" in line]
    assert len(written) == 2
    assert all('/a \\"b' in line for line in written)
    assert f'  permission java.io.FilePermission "{jar}", "read";' in files
    sockets = [line.split('"') for line in lines if "SocketPermission" in line]
    assert {(address, actions) for _, address, _, actions, _ in sockets} == {
        ("localhost", "accept,listen,resolve"),
        ("127.0.0.1", "accept,listen,resolve"),
    }
    granted = {tuple(line.split('"')[:2]) for line in lines}
    assert ("  permission java.lang.RuntimePermission ", "*") not in granted
    assert not any(
        "SecurityManager" in line or "setPolicy" in line or 'SecurityPermission "*"' in line for line in lines
    )
    options = conf["spark.driver.extraJavaOptions"]
    assert '"-Djava.security.manager=default"' in options
    assert f'"-Djava.security.policy=={cell.folder}/policy"' in options


def test_no_defaults_of_an_administrator_are_read(cell: Cell) -> None:
    """spark-submit gets an empty properties file."""
    option, file, _ = cell.arguments
    assert option == "--properties-file"
    assert Path(file).read_bytes() == b""
