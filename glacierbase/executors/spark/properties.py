"""The properties file of spark-submit. Values are not put on its command line, which every user of the machine can read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from glacierbase.executors.spark.installed import spark_home

_OPTION = "--properties-file"


def defaults_file() -> Path:
    """Return the administrator's defaults file, which may not exist.

    https://spark.apache.org/docs/latest/configuration.html#dynamically-loading-spark-properties
    """
    return Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf", "spark-defaults.conf")


def with_properties(values: Mapping[str, str], arguments: Sequence[str], file: Path) -> list[str]:
    """Write `values` to the new `file`, and return the arguments of spark-submit with that file as its properties.

    Spark reads one properties file. The new one therefore begins with the content of the one that Spark would read otherwise:
    the file that `arguments` name, else the administrator's. Of two equal keys Java takes the last.
    """
    named, others = _split(arguments)
    source = Path(named) if named else defaults_file()
    if named and not source.is_file():
        return list(arguments)  # Spark reports it.
    content = source.read_bytes() if source.is_file() else b""
    file.touch(0o600, exist_ok=False)
    # An empty line, because the last one of the file may end in a backslash.
    file.write_bytes(content + b"\n\n" + _lines(values).encode("ascii"))
    return [_OPTION, str(file), *others]


def _split(arguments: Iterable[str]) -> tuple[str, list[str]]:
    """Return the properties file that the arguments name, or an empty string, and the other arguments."""
    named, others = "", []
    rest = iter(arguments)
    for argument in rest:
        option, _, value = argument.partition("=")
        if option == _OPTION:
            named = value or next(rest, "")
        else:
            others.append(argument)
    return named, others


def _lines(values: Mapping[str, str]) -> str:
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in values.items())


def _escaped(text: str) -> str:
    r"""Return the text with everything but letters and digits as `\uXXXX`, which is never a separator or a comment.

    https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/util/Properties.html#load(java.io.Reader)
    """
    return "".join(each if each.isascii() and (each.isalnum() or each in ".-") else _units(each) for each in text)


def _units(character: str) -> str:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return "".join(rf"\u{encoded[at : at + 2].hex()}" for at in range(0, len(encoded), 2))
