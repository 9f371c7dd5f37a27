"""Hadoop's file system of a throw-away copy: every address leads to the memory of the JVM, and no file is opened.

The JVM's boundary gives Hadoop no right on a file, and Hadoop's local file system starts programs (`chmod`). The class is
defined in the running JVM: it is on no class path, so that Spark's class archive fits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).with_name("MemoryFileSystem.java")
_CLASS = "org.apache.hadoop.fs.MemoryFileSystem"
# The first words of the addresses that tables have. A statement with another one is refused, as Spark does without the jar.
_SCHEMES = (
    *("file", "hdfs", "viewfs", "s3", "s3a", "s3n", "gs", "abfs", "abfss", "wasb", "wasbs", "adl", "dbfs", "oss"),
    *("cos", "cosn", "obs", "ofs", "o3fs", "maprfs", "alluxio", "swift", "tos", "jfs", "memory"),
)


def settings() -> dict[str, str]:
    """Return the settings by which Hadoop uses the class for all addresses."""
    return {f"spark.hadoop.fs.{scheme}.impl": _CLASS for scheme in _SCHEMES}


def define(jvm: Any) -> None:
    """Compile the class, and define it beside Hadoop's classes, with their rights. Spark has no session yet."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_SOURCE.read_text())
    handles = jvm.java.lang.invoke.MethodHandles
    hadoop = jvm.java.lang.ClassLoader.getSystemClassLoader().loadClass("org.apache.hadoop.fs.FileSystem")
    lookup = handles.privateLookupIn(hadoop, handles.lookup())
    classes = dict(compiler.getBytecodes())
    for name in sorted(classes, reverse=True):  # Those inside first.
        lookup.defineClass(classes[name])


def files(jvm: Any) -> Any:
    """Return the map of all files: content by address. The address of a folder ends with a slash."""
    return jvm.java.lang.ClassLoader.getSystemClassLoader().loadClass(_CLASS).getField("FILES").get(None)
