"""A cell: a JVM that reaches no file, address or program but those of its folder and of Spark.

The boundary is Java's security manager, which Java 17 and 21 have (JEP 411, https://openjdk.org/jeps/411): Java asks it before each
file, connection and process, whatever library opens them. The environment has listed variables only.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from glacierbase.executors.spark.installed import spark_home

# Variables without which scripts and Java do not work. None of them holds a secret.
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ")
# What Spark does inside of the JVM. No permission to execute a program, to connect to any address (glacierbase connects to the
# JVM), or to replace the security manager or its policy.
_INSIDE = """
  permission java.lang.RuntimePermission "accessClassInPackage.com.sun.*";
  permission java.lang.RuntimePermission "accessClassInPackage.jdk.*";
  permission java.lang.RuntimePermission "accessClassInPackage.sun.*";
  permission java.lang.RuntimePermission "accessDeclaredMembers";
  permission java.lang.RuntimePermission "closeClassLoader";
  permission java.lang.RuntimePermission "createClassLoader";
  permission java.lang.RuntimePermission "enableContextClassLoaderOverride";
  permission java.lang.RuntimePermission "exitVM.*";
  permission java.lang.RuntimePermission "getClassLoader";
  permission java.lang.RuntimePermission "getFileSystemAttributes";
  permission java.lang.RuntimePermission "getProtectionDomain";
  permission java.lang.RuntimePermission "getStackTrace";
  permission java.lang.RuntimePermission "getStackWalkerWithClassReference";
  permission java.lang.RuntimePermission "getenv.*";
  permission java.lang.RuntimePermission "loadLibrary.*";
  permission java.lang.RuntimePermission "manageProcess";
  permission java.lang.RuntimePermission "modifyThread";
  permission java.lang.RuntimePermission "modifyThreadGroup";
  permission java.lang.RuntimePermission "readFileDescriptor";
  permission java.lang.RuntimePermission "setContextClassLoader";
  permission java.lang.RuntimePermission "setDefaultUncaughtExceptionHandler";
  permission java.lang.RuntimePermission "setIO";
  permission java.lang.RuntimePermission "setFactory";
  permission java.lang.RuntimePermission "shutdownHooks";
  permission java.lang.RuntimePermission "writeFileDescriptor";
  permission java.lang.reflect.ReflectPermission "*";
  permission java.lang.management.ManagementPermission "monitor";
  permission java.util.PropertyPermission "*", "read,write";
  permission java.util.logging.LoggingPermission "control";
  permission java.io.SerializablePermission "*";
  permission java.security.SecurityPermission "getProperty.*";
  permission java.security.SecurityPermission "putProviderProperty.*";
  permission java.net.NetPermission "*";
  permission jdk.jfr.FlightRecorderPermission "registerEvent";
  permission javax.security.auth.AuthPermission "*";
  permission javax.security.auth.PrivateCredentialPermission "* * \\"*\\"", "read";
  permission javax.management.MBeanServerPermission "*";
  permission javax.management.MBeanPermission "*", "*";
  permission javax.management.MBeanTrustPermission "*";
  permission java.net.SocketPermission "localhost", "accept,listen,resolve";
  permission java.net.SocketPermission "127.0.0.1", "accept,listen,resolve";
  permission java.io.FilePermission "${java.home}/-", "read";
"""
# Packages whose classes are not loaded. Derby, a database that Spark ships for Hive, calls any static method of Java from SQL.
_SECURITY = "package.access=sun.misc.,sun.reflect.,org.apache.derby.\n"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a JVM may reach.

    Attributes:
        folder: the only folder that it may write to. Nothing else is in it.
    """

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the JVM."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        own = {
            "SPARK_CONF_DIR": self._path(
                "no-configuration"
            ),  # It does not exist: an administrator's may hold credentials.
            "SPARK_LOCAL_DIRS": self._path("local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            # Without it, a JVM writes a file into the machine's folder for temporary files.
            "SPARK_LAUNCHER_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData",
        }
        return {**kept, **own}

    @property
    def arguments(self) -> list[str]:
        """The arguments of spark-submit: an empty file in place of the administrator's defaults."""
        empty = self.folder / "no-defaults"
        empty.touch()
        return ["--properties-file", str(empty), "pyspark-shell"]

    def conf(self, jars: Sequence[Path]) -> dict[str, str]:
        """Write the policy, and return the settings that put Spark into the cell.

        Args:
            jars: files that it may read besides Spark's own.
        """
        policy = self.folder / "policy"
        policy.write_text(_policy(self.folder, [spark_home(), *jars]))
        security = self.folder / "security"
        security.write_text(_SECURITY)
        hosts = self.folder / "hosts"
        hosts.write_text(f"127.0.0.1 localhost {socket.gethostname()}\n")
        properties = {
            "java.io.tmpdir": self._path("tmp"),
            "user.home": self._path("home"),
            "derby.system.home": self._path("home"),
            "jdk.net.hosts.file": str(hosts),  # In place of DNS, which the manager asks before it refuses an address.
            "java.security.manager": "default",
            "java.security.properties": str(security),
            "java.security.policy": f"={policy}",  # `==`: this policy, and not the machine's besides.
        }
        flags = ["-XX:-UsePerfData", *(f'"-D{key}={value}"' for key, value in properties.items())]
        for name in ("tmp", "home", "local", "warehouse"):
            (self.folder / name).mkdir(exist_ok=True)
        return {
            "spark.driver.extraJavaOptions": " ".join(flags),
            "spark.sql.warehouse.dir": (self.folder / "warehouse").as_uri(),
            "spark.sql.catalogImplementation": "in-memory",
        }

    def _path(self, name: str) -> str:
        return str(self.folder / name)


def _policy(folder: Path, readable: Sequence[Path]) -> str:
    """Return the policy: https://docs.oracle.com/en/java/javase/17/security/permissions-jdk1.html"""
    lines = [_INSIDE, *_files(folder, "read,write,delete")]
    for each in readable:
        lines += _files(each, "read")
    return "grant {" + "\n".join(lines) + "\n};\n"


def _files(path: Path, actions: str) -> list[str]:
    """Return the permissions on a file, or a folder and all inside."""
    quoted = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return [f'  permission java.io.FilePermission "{each}", "{actions}";' for each in (quoted, f"{quoted}/-")]
