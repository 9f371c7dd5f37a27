"""The flags that start the JVM of a local Spark fastest; what the user says of a JVM goes over them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from glacierbase.executors.spark.properties import defaults_file

# Started for a moment, not for a day: one simple collector, one quick compiler, no pause to resize what Spark's classes fill.
_COLLECTOR = "-XX:+UseSerialGC"
_FLAGS = "-XX:TieredStopAtLevel=1 -XX:MetaspaceSize=192m"
# In front of `spark.driver.extraJavaOptions`, wherever that is set: of two equal flags a JVM takes the last.
_KEY = "spark.driver.defaultJavaOptions"
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")


def with_flags(conf: Mapping[str, str], archive: str) -> dict[str, str]:
    """`conf` with our flags, and those of a class archive, in front of the user's."""
    said = " ".join([*(os.environ.get(name, "") for name in _VARIABLES), _defaults(), *conf.values()])
    if _KEY in said:  # Ours would stand over it.
        return dict(conf)
    # Two collectors are an error, whichever comes last.
    collector = [] if re.search(r"-XX:[+]Use\w+GC", said) else [_COLLECTOR]
    flags = [*collector, _FLAGS, archive, conf.get(_KEY, "")]
    return {**conf, _KEY: " ".join(filter(None, flags))}


def _defaults() -> str:
    """What an administrator wrote."""
    file = defaults_file()
    return file.read_text(errors="replace") if file.is_file() else ""
