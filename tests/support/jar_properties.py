"""Read the table properties that the jars of Iceberg, Delta and Hudi know from their class files, without Java.

`python -m tests.support.jar_properties JAR...` writes `glacierbase/capabilities/review/table_properties.json` from these
jars. The last jar of a format has its keys; `not_in` lists those of them that an earlier one, of a lower version, does not know.
"""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import glacierbase

FILE = Path(glacierbase.__file__).parent / "review" / "table_properties.json"

# The sizes of the constants of a class file after their tag, but for text: https://docs.oracle.com/javase/specs/jvms/se17/html/jvms-4.html
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_NUMBERS = {3: ">i", 5: ">q", 6: ">d"}
_TYPES = {"I": "int", "J": "long", "D": "double", "Z": "boolean"}
_DELTA_KEY = re.compile(r"(?=.*[A-Z.])[a-z][A-Za-z]+(?:\.[A-Za-z]+)*[0-9]?(?:-preview)?")
_NOT_DELTA_KEYS = re.compile(r"delta|spark|universalformat\.")
# Prefixes of keys that name something, and a key that is put together in the code.
_MORE_DELTA_KEYS = (
    "delta.compatibility.symlinkFormatManifest.enabled",
    "delta.constraints.",
    "delta.feature.",
    "delta.universalformat.config.",
)
_HUDI_KEY = re.compile(r"hoodie(?:\.[a-z0-9_-]+)+")


class Field(NamedTuple):
    """A constant of a class: its name, its type as the class file writes it, its value."""

    name: str
    descriptor: str
    value: Any


class ClassFile:
    """The constants of a compiled class.

    Attributes:
        strings: the texts of its code, in the order of the constants.
        fields: those that have a constant value.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 10
        self._pool: dict[int, Any] = {}
        texts = self._read_pool(self._short(8))
        self.strings = [self._pool[each] for each in texts]
        self._at += 6
        self._at += 2 + 2 * self._short(self._at)
        self.fields = list(self._read_fields())

    def _short(self, at: int) -> int:
        return int.from_bytes(self._data[at : at + 2], "big")

    def _read_pool(self, count: int) -> list[int]:
        texts, index = [], 1
        while index < count:
            tag, at = self._data[self._at], self._at + 1
            size = 2 + self._short(at) if tag == 1 else _SIZES[tag]
            if tag == 1:
                self._pool[index] = self._data[at + 2 : at + size].decode("utf-8", "replace")
            elif tag == 8:
                self._pool[index] = self._short(at)
                texts.append(self._short(at))
            elif tag in _NUMBERS:
                [self._pool[index]] = struct.unpack(_NUMBERS[tag], self._data[at : at + size])
            self._at = at + size
            index += 2 if tag in (5, 6) else 1
        return texts

    def _read_fields(self) -> Iterator[Field]:
        count, self._at = self._short(self._at), self._at + 2
        for _ in range(count):
            _, name, descriptor, attributes = struct.unpack(">HHHH", self._data[self._at : self._at + 8])
            self._at += 8
            for _ in range(attributes):
                kind, length = struct.unpack(">HI", self._data[self._at : self._at + 6])
                if self._pool[kind] == "ConstantValue":
                    value = self._pool[self._short(self._at + 6)]
                    is_text = self._pool[descriptor] == "Ljava/lang/String;"
                    yield Field(self._pool[name], self._pool[descriptor], self._pool[value] if is_text else value)
                self._at += 6 + length


def iceberg(jar: Path) -> dict[str, str]:
    """Return the type of each property of `TableProperties`; a key that ends in a dot is a prefix of keys of columns."""
    fields = ClassFile(ZipFile(jar).read("org/apache/iceberg/TableProperties.class")).fields
    defaults = {each.name.removesuffix("_DEFAULT"): each for each in fields if each.name.endswith("_DEFAULT")}
    keys = {
        each.value: _type(each, defaults)
        for each in fields
        if not re.search(r"_DEFAULT(_SINCE\w+)?$", each.name)
        and isinstance(each.value, str)
        and re.search(r"[.-]", each.value)
    }
    return dict(sorted(keys.items()))


def _type(field: Field, defaults: dict[str, Field]) -> str:
    name = field.name.removesuffix("_PREFIX")
    default = defaults.get(name) or defaults.get(name.removeprefix("DELETE_"))
    if default and default.descriptor in _TYPES:
        return _TYPES[default.descriptor]
    if default and default.value in ("true", "false"):
        return "boolean"
    if re.search(r"ENABLED", name):
        return "boolean"
    return "long" if field.value.endswith(("-bytes", "-ms")) else "string"


def delta(jar: Path) -> dict[str, str]:
    """Return the keys of `DeltaConfigs`, with their prefix; Delta itself checks their values."""
    strings = ClassFile(ZipFile(jar).read("org/apache/spark/sql/delta/DeltaConfigsBase.class")).strings
    keys = {f"delta.{each}" for each in strings if _DELTA_KEY.fullmatch(each) and not _NOT_DELTA_KEYS.match(each)}
    return dict.fromkeys(sorted({*keys, *_MORE_DELTA_KEYS}), "string")


def hudi(jar: Path) -> dict[str, str]:
    """Return all keys that the classes of configuration name."""
    with ZipFile(jar) as content:
        names = [
            name for name in content.namelist() if re.search(r"org/apache/hudi/.*(Config|Options)\w*\$?\.class", name)
        ]
        found = {text for name in names for text in ClassFile(content.read(name)).strings if _HUDI_KEY.fullmatch(text)}
    return dict.fromkeys(sorted(found), "string")


_READERS = {"iceberg-spark-runtime": iceberg, "delta-spark": delta, "hudi-spark": hudi}


def properties_of(jar: Path) -> tuple[str, dict[str, str]]:
    """Return the format of a jar, and its keys with their types."""
    read = next(read for part, read in _READERS.items() if part in jar.name)
    return read.__name__, read(jar)


def main(jars: list[Path]) -> None:
    """Write the file."""
    content: dict[str, Any] = {}
    for jar in jars:
        table_format, keys = properties_of(jar)
        before = content.get(table_format)
        content[table_format] = {"jar": jar.name, "keys": keys, "not_in": {}}
        if before:
            version = re.sub(r".*-([0-9.]+)\.jar", r"\1", before["jar"])
            content[table_format]["not_in"] = {version: sorted(keys.keys() - before["keys"].keys())}
    FILE.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main(list(map(Path, sys.argv[1:])))
