"""The flags that start the JVM of a local Spark fastest. The user's flags override them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from glacierbase.executors.spark.properties import defaults_file

# For a JVM that runs some seconds: the serial collector, only the C1 compiler, and a metaspace that holds Spark's classes.
_COLLECTOR = "-XX:+UseSerialGC"
_FLAGS = "-XX:TieredStopAtLevel=1 -XX:MetaspaceSize=192m"
# These flags precede `spark.driver.extraJavaOptions`, wherever it is set; of two equal flags a JVM takes the last.
_KEY = "spark.driver.defaultJavaOptions"
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")


def with_flags(conf: Mapping[str, str], archive: str) -> dict[str, str]:
    """Return `conf` with the flags, and those of a class archive, before the user's."""
    given = " ".join([*(os.environ.get(name, "") for name in _VARIABLES), _defaults(), *conf.values()])
    if _KEY in given:  # A value set here would override it.
        return dict(conf)
    # A JVM does not start with flags of two collectors.
    collector = [] if re.search(r"-XX:[+]Use\w+GC", given) else [_COLLECTOR]
    flags = [*collector, _FLAGS, archive, conf.get(_KEY, "")]
    return {**conf, _KEY: " ".join(filter(None, flags))}


def _defaults() -> str:
    """Return the content of the administrator's defaults."""
    file = defaults_file()
    return file.read_text(errors="replace") if file.is_file() else ""
