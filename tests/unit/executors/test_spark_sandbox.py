"""What the JVM of a throw-away copy may reach, as it is written for Java."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from socket import create_server

import pytest

from glacierbase.executors.spark import confine
from glacierbase.executors.spark.sandbox import JvmSandbox


@pytest.fixture
def sandbox(tmp_path: Path) -> JvmSandbox:
    """A sandbox in a folder whose name has a quote and a blank."""
    folder = tmp_path / 'a "b'
    folder.mkdir()
    return JvmSandbox(folder)


def test_the_environment_of_the_jvm_is_a_list_of_names(sandbox: JvmSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert "canary-4711" not in sandbox.environment.values()
    assert sandbox.environment.keys() <= {
        "PATH", "LANG", "LC_ALL", "TZ", "SPARK_CONF_DIR", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_IP", "SPARK_LAUNCHER_OPTS",
    }  # fmt: skip
    assert not Path(sandbox.environment["SPARK_CONF_DIR"]).exists()


def grants(sandbox: JvmSandbox, *jars: Path) -> dict[str, str]:
    """Return the permissions of the policy by the name of the jar, where there are several entries together."""
    sandbox.conf(jars)
    found: dict[str, str] = {}
    for entry in (sandbox.folder / "policy").read_text().split("grant codeBase ")[1:]:
        code = entry.split('"')[1].rpartition("/")[2]
        found[code] = found.get(code, "") + entry
    return found


def test_the_policy_grants_no_program_and_no_other_machine(sandbox: JvmSandbox) -> None:
    """The name of the folder cannot end its string in the policy; the machine's own policy is not used besides."""
    options = sandbox.conf([sandbox.folder.parent / "iceberg.jar"])["spark.driver.extraJavaOptions"]
    lines = (sandbox.folder / "policy").read_text().splitlines()
    assert not any("execute" in line or "ALL FILES" in line for line in lines)
    assert {'/a \\"b' in line for line in lines if "FilePermission" in line and "write" in line} == {True}
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
    assert '"-Djava.security.manager=default"' in options
    assert f'"-Djava.security.policy=={sandbox.folder}/policy"' in options


def test_rights_belong_to_the_jars_of_spark_and_files_to_few_of_them(sandbox: JvmSandbox) -> None:
    """No entry is for all code. Hadoop, Derby and the formats open no file; the compiler of Spark's classes neither."""
    jar = sandbox.folder.parent / "iceberg.jar"
    found = grants(sandbox, jar)
    assert "grant {" not in (sandbox.folder / "policy").read_text()
    assert f'FilePermission "{jar}", "read"' in found["*"]
    assert not any(each in found["*"] for each in ("createClassLoader", "loadLibrary.*", "delete", "NetPermission"))
    keepers = {name for name, permissions in found.items() if "delete" in permissions}
    assert {"iceberg.jar"} < keepers
    assert any(name.startswith("spark-core") for name in keepers)
    assert not any(
        name.startswith(("hadoop", "derby", "parquet", "orc", "avro", "janino", "commons-compiler")) for name in keepers
    )


def test_hudi_loads_no_library_and_writes_into_no_folder_that_a_statement_can_name(sandbox: JvmSandbox) -> None:
    """The bundle has rights on Spark's blocks only. Where it is not loaded, no jar creates objects without constructors."""
    bundle = sandbox.folder.parent / "org.apache.hudi_hudi-spark3.5-bundle_2.12-1.2.0.jar"
    found = grants(sandbox, bundle)
    own = found[bundle.name]
    assert "loadLibrary.*" not in own
    assert [line for line in own.splitlines() if "delete" in line] == [
        f'  permission java.io.FilePermission "{_quoted(sandbox.folder)}/tmp/{sandbox.blocks}/-", "read,write,delete";'
    ]
    assert sandbox.environment["SPARK_LOCAL_DIRS"] == str(sandbox.folder / "tmp" / sandbox.blocks)
    serializing = {name for name, permissions in found.items() if "reflectionFactoryAccess" in permissions}
    assert bundle.name in serializing
    assert not any(name.startswith(("hadoop", "derby", "parquet", "avro", "jackson", "*")) for name in serializing)
    folder = sandbox.folder.parent / "other"
    folder.mkdir()
    assert "reflectionFactoryAccess" not in str(grants(JvmSandbox(folder), folder / "iceberg.jar"))


def _quoted(path: Path) -> str:
    return str(path).replace('"', '\\"')


def test_no_defaults_of_an_administrator_are_read(sandbox: JvmSandbox) -> None:
    """spark-submit gets an empty properties file."""
    option, file, _ = sandbox.arguments
    assert option == "--properties-file"
    assert Path(file).read_bytes() == b""


TRIES = """
import json, os, socket, subprocess, sys
key, inside, outside, port = sys.argv[1:]
address = ("127.0.0.1", int(port))
def tcp(): return socket.socket(socket.AF_INET, socket.SOCK_STREAM)
tries = {
    "read": lambda: open(key).read(),
    "list": lambda: os.listdir(os.path.dirname(key)),
    "another process": lambda: open(f"/proc/{os.getppid()}/environ").read(),
    "write": lambda: open(outside, "w"),
    "program": lambda: subprocess.run(["sh", "-c", 'cat "$0"', key], capture_output=True, check=True),
    "connect": lambda: tcp().connect(address),
    "fast open": lambda: tcp().sendto(b"x", socket.MSG_FASTOPEN, address),
    "fast open with a message": lambda: tcp().sendmsg([b"x"], [], socket.MSG_FASTOPEN, address),
    "UDP": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "a socket of the machine": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "write inside": lambda: open(inside, "w"),
    "listen": lambda: socket.create_server(("127.0.0.1", 0)),
}
done = []
for name, call in tries.items():
    try:
        call()
        done.append(name)
    except (OSError, subprocess.CalledProcessError):
        pass
print(json.dumps(done))
"""


def test_the_kernel_keeps_a_program_from_files_and_network(tmp_path: Path) -> None:
    """What it starts too. It still writes to its own folder, and accepts connections."""
    key, inside = tmp_path / "key", tmp_path / "inside"
    key.write_text("canary-4711")
    inside.mkdir()
    with create_server(("127.0.0.1", 0)) as server:
        program = [sys.executable, "-c", TRIES, key, inside / "x", tmp_path / "outside", server.getsockname()[1]]
        readable = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", sys.prefix, sys.base_prefix, "/absent")
        command = [sys.executable, "-I", "-S", confine.__file__, *readable, "--", inside, "--", *program]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["write inside", "listen"]


@pytest.mark.parametrize("scheme", ["file", "s3", "s3a", "gs", "abfss", "hdfs", "dbfs"])
def test_every_address_of_a_table_leads_to_the_memory_of_the_jvm(sandbox: JvmSandbox, scheme: str) -> None:
    """Hadoop's own classes would start programs and connect to servers, which Java's boundary refuses."""
    assert sandbox.conf([])[f"spark.hadoop.fs.{scheme}.impl"] == "org.apache.hadoop.fs.MemoryFileSystem"
