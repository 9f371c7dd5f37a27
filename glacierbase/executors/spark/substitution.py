"""Spark's substitution of `${…}` in the text of statements: off, so that the engine runs the text of the file.

Spark would put environment variables, system properties and settings into a statement before it parses it:
https://spark.apache.org/docs/latest/configuration.html (spark.sql.variable.substitute). Tested on Spark 3.5, 4.0 and 4.1.
"""

from __future__ import annotations

from typing import Any

from glacierbase.errors import StatementRefused
from glacierbase.sql.dialects import SUBSTITUTES


def fix_off(spark: Any) -> None:
    """Turn the substitution off in a JVM that glacierbase started, so that no statement turns it on again.

    The setting becomes a static one: `SET` and `RESET` of it are refused, also inside a script or EXECUTE IMMEDIATE. It also
    reads as false whatever value is stored, because Spark parses a stored view with the settings of the view, not the session's.
    """
    jvm = spark._jvm
    settings = jvm.org.apache.spark.sql.internal.SQLConf
    entry = settings.VARIABLE_SUBSTITUTE_ENABLED()
    kind = entry.getClass()
    _set(entry, kind, "_defaultValue", False)
    # The function that reads a stored value; an empty set is a function that returns false.
    _set(entry, kind.getSuperclass(), "valueConverter", jvm.scala.collection.mutable.HashSet())
    settings.registerStaticConfigKey(SUBSTITUTES)


def _set(instance: Any, kind: Any, name: str, value: Any) -> None:
    field = kind.getDeclaredField(name)
    field.setAccessible(True)
    field.set(instance, value)


def keep_off(spark: Any) -> None:
    """Turn the substitution off in a session where the statement before it turned it on, as `RESET` does.

    Raises:
        StatementRefused: the session keeps it on; the statement is not sent.
    """
    conf = spark.conf
    if conf.get(SUBSTITUTES) != "false":
        conf.set(SUBSTITUTES, "false")
        if conf.get(SUBSTITUTES) != "false":
            raise StatementRefused(
                "SUBSTITUTION_ON",
                f"the session does not turn {SUBSTITUTES} off, and would replace `${{…}}` in the statement; it was not sent",
            )
