"""Which Java Spark runs on, and what the wheel's Java needs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from glacierbase.errors import ConfigurationError
from glacierbase.executors.spark import java
from glacierbase.executors.spark.java import find_java_home, trust_store


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
