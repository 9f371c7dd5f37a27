"""A sandbox: a JVM that can reach only the files, addresses and programs that starting Spark and running plain SQL need."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from secrets import token_hex

from glacierbase.executors.spark import confine, memory_files
from glacierbase.executors.spark.installed import spark_home
from glacierbase.executors.spark.java import java_files
from glacierbase.run.cache import cache_folder
from glacierbase.run.pythons import isolated

# Variables that scripts and Java require. None of them holds a secret.
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ")
# The permissions of all jars of Spark inside the JVM. None to execute a program, to connect to any address (glacierbase
# connects to the JVM), to create a class loader, or to replace the security manager or its policy.
_INSIDE = """
  permission java.lang.RuntimePermission "accessClassInPackage.com.sun.*";
  permission java.lang.RuntimePermission "accessClassInPackage.jdk.*";
  permission java.lang.RuntimePermission "accessClassInPackage.sun.*";
  permission java.lang.RuntimePermission "accessDeclaredMembers";
  permission java.lang.RuntimePermission "closeClassLoader";
  permission java.lang.RuntimePermission "enableContextClassLoaderOverride";
  permission java.lang.RuntimePermission "exitVM.*";
  permission java.lang.RuntimePermission "getClassLoader";
  permission java.lang.RuntimePermission "getFileSystemAttributes";
  permission java.lang.RuntimePermission "getProtectionDomain";
  permission java.lang.RuntimePermission "getStackTrace";
  permission java.lang.RuntimePermission "getStackWalkerWithClassReference";
  permission java.lang.RuntimePermission "getenv.*";
  permission java.lang.RuntimePermission "loadLibrary.jaas";
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
  permission jdk.jfr.FlightRecorderPermission "registerEvent";
  permission javax.security.auth.AuthPermission "*";
  permission javax.security.auth.PrivateCredentialPermission "* * \\"*\\"", "read";
  permission javax.management.MBeanServerPermission "*";
  permission javax.management.MBeanPermission "*", "*";
  permission javax.management.MBeanTrustPermission "*";
  permission java.net.SocketPermission "localhost", "accept,listen,resolve";
  permission java.net.SocketPermission "127.0.0.1", "accept,listen,resolve";
"""
# Jars that store the rows of a shuffle in files, or unpack native libraries. They contain all code between a statement and such a
# file. Hadoop, which opens the files that SQL names, is not among them, nor is any format.
_KEEPS_FILES = ("spark-", "scala-library", "py4j-", "lz4-java", "snappy-java", "zstd-jni", "commons-crypto")
_IN_FILES = """
  permission java.lang.RuntimePermission "createClassLoader";
  permission java.lang.RuntimePermission "loadLibrary.*";
"""
# A library whose cache calls Delta's code, which runs jobs. It opens no file whose name it does not get from its caller.
_CALLS_DELTA = "guava-"
# The compiler of the classes that Spark generates. These classes have the rights of the compiler's jar.
_COMPILES = ("janino", "commons-compiler")
_IN_COMPILER = """
  permission java.lang.RuntimePermission "createClassLoader";
"""
# Hudi's bundle. It generates classes when it reads a table, whatever Spark's mode is. It loads no library, and its only files are
# Spark's blocks, in a folder whose name no statement can contain: a procedure of Hudi writes files with names that SQL chooses.
_HUDI = "hudi-"
# With Hudi, rows cross by Kryo, which creates an object without calling a constructor: Java's own deserialization, which Spark uses
# otherwise, does so without any right. The bytes are those that Spark wrote. These jars contain all code around it.
_SERIALIZES = ("spark-", "scala-library", "py4j-", "chill", "kryo-shaded", "objenesis")
_IN_SERIALIZER = """
  permission java.lang.RuntimePermission "reflectionFactoryAccess";
"""
# Packages whose classes are not loaded. Derby, a database that Spark ships for Hive, calls any static method of Java from SQL.
_SECURITY = "package.access=sun.misc.,sun.reflect.,org.apache.derby.\n"
# The system files that programs and Java read, where they exist. The kernel allows them; the security manager grants none.
_SYSTEM = (
    *("/bin", "/lib", "/lib32", "/lib64", "/sbin", "/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec"),
    *("/usr/share/locale", "/usr/share/zoneinfo", "/usr/local/lib", "/nix/store", "/gnu/store"),
    *("/etc/group", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd", "/etc/timezone"),
    *("/dev/null", "/dev/random", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/proc/self", "/proc/stat"),
    *("/proc/sys/net/core", "/proc/sys/vm", "/proc/version", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm"),
)


@dataclass(frozen=True, slots=True)
class JvmSandbox:
    """The files, settings and rights of a sandboxed JVM.

    Attributes:
        folder: it holds nothing else. The JVM writes to its folder `tmp` only.
        blocks: the name of the folder in `tmp` for Spark's blocks and shuffles.
    """

    folder: Path
    blocks: str = field(default_factory=partial(token_hex, 16))

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the JVM."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        settings = {
            # This folder does not exist: the administrator's may hold credentials.
            "SPARK_CONF_DIR": self._path("no-configuration"),
            "SPARK_LOCAL_DIRS": str(self.folder / "tmp" / self.blocks),
            "SPARK_LOCAL_IP": "127.0.0.1",
            # With performance data, a JVM writes a file into the machine's folder for temporary files.
            "SPARK_LAUNCHER_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData",
        }
        return {**kept, **settings}

    @property
    def arguments(self) -> list[str]:
        """The arguments of spark-submit: an empty file in place of the administrator's defaults."""
        empty = self.folder / "no-defaults"
        empty.touch()
        return ["--properties-file", str(empty), "pyspark-shell"]

    def conf(self, jars: Sequence[Path]) -> dict[str, str]:
        """Write the policy, and return the settings that put Spark into the sandbox.

        Args:
            jars: files that Spark may read besides its own jars.
        """
        (self.folder / "tmp" / self.blocks).mkdir(parents=True)
        warehouse = self.folder / "warehouse"
        warehouse.mkdir()
        hosts = self.folder / "hosts"
        hosts.write_text(f"127.0.0.1 localhost {socket.gethostname()}\n")
        policy = self.folder / "policy"
        policy.write_text(self._policy(jars, [hosts, warehouse]))
        security = self.folder / "security"
        security.write_text(_SECURITY)
        properties = {
            "java.io.tmpdir": self._path("tmp"),
            "user.home": self._path("tmp"),
            "derby.system.home": self._path("tmp"),
            "jdk.net.hosts.file": str(
                hosts
            ),  # In place of DNS, which the manager would query before it refuses an address.
            "java.security.manager": "default",
            "java.security.properties": str(security),
            "java.security.policy": f"={policy}",  # `==`: this policy instead of the machine's.
        }
        flags = ["-XX:-UsePerfData", *(f'"-D{key}={value}"' for key, value in properties.items())]
        return {
            "spark.driver.extraJavaOptions": " ".join(flags),
            "spark.sql.warehouse.dir": warehouse.as_uri(),
            "spark.sql.catalogImplementation": "in-memory",
            # Classes that Spark generates for a statement belong to the compiler's jar, which may open no file of a shuffle.
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.codegen.wholeStage": "false",
            **memory_files.settings(),
            # Encrypted, no file holds bytes that SQL chose, so none can be a jar or a library.
            "spark.io.encryption.enabled": "true",
        }

    def command(self, java_home: Path, jars: Iterable[str]) -> list[str]:
        """Return the words to put before a program so that the kernel confines it where it can."""
        if sys.platform != "linux":
            return []
        java = [*java_files(java_home), cache_folder("archives")]
        spark = [spark_home() / "bin", spark_home() / "jars"]
        readable = [*_SYSTEM, *map(str, (*java, *spark, self.folder)), *jars]
        writable = [self._path("tmp"), self._path("warehouse"), "/dev/null"]
        return isolated(sys.executable, "-S", confine.__file__, *readable, "--", *writable, "--")

    def _policy(self, jars: Sequence[Path], others: Sequence[Path]) -> str:
        """Return the policy: https://docs.oracle.com/en/java/javase/17/security/permissions-jdk1.html

        Args:
            others: files that all jars read; for a folder, only the names in it.
        """
        spark_jars = spark_home() / "jars"
        readable = [spark_jars, spark_jars / "*", *jars, *others, self.folder, Path("/")]
        inside = _INSIDE + "".join(_file(path, "read") for path in readable) + _file(self.folder / "warehouse", "write")
        tmp = self.folder / "tmp"
        in_tmp = _file(tmp, "read,write") + _file(tmp / "-", "read,write,delete")
        files = _IN_FILES + in_tmp
        of_hudi = _IN_COMPILER + _IN_SERIALIZER + _file(tmp / self.blocks / "-", "read,write,delete")
        has_hudi = any(_HUDI in jar.name for jar in jars)
        grants = [_grant(f"{spark_jars.as_uri()}/*", inside)]
        grants += [_grant(jar.as_uri(), inside + (of_hudi if _HUDI in jar.name else files)) for jar in jars]
        for path in sorted(spark_jars.glob("*.jar")):
            if path.name.startswith(_KEEPS_FILES):
                grants.append(_grant(path.as_uri(), files))
            elif path.name.startswith(_CALLS_DELTA):
                grants.append(_grant(path.as_uri(), in_tmp))
            elif path.name.startswith(_COMPILES):
                grants.append(_grant(path.as_uri(), _IN_COMPILER))
            if has_hudi and path.name.startswith(_SERIALIZES):
                grants.append(_grant(path.as_uri(), _IN_SERIALIZER))
        return "".join(grants)

    def _path(self, name: str) -> str:
        return str(self.folder / name)


def _grant(code: str, permissions: str) -> str:
    """Return the entry for the code of a jar by its address; with `/*`, of all jars in a folder."""
    return f'grant codeBase "{code}" {{{permissions}}};\n'


def _file(path: Path, actions: str) -> str:
    """Return the permission on a file or a folder; a final `/*` means the files in it, `/-` everything inside."""
    quoted = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'  permission java.io.FilePermission "{quoted}", "{actions}";\n'
