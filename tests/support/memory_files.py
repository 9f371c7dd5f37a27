"""Calls of Hadoop's interface on the file system of a throw-away copy, with what each must answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

NAMES = ("a b", "a%20b", "a:b", "ä€", "a?b#c", "[x]{y}*", "a\nb", "part=1%2F2", "\uffff")
# https://hadoop.apache.org/docs/stable/hadoop-project-dist/hadoop-common/filesystem/filesystem.html
EXPECTED: dict[str, object] = {
    "a file is renamed onto a file": False,
    "a file is renamed into a folder": [True, "into"],
    "a folder is renamed into itself": False,
    "a folder is renamed into a folder": [True, "d"],
    "a file is renamed under a file": "FileAlreadyExistsException",
    "the root is renamed": False,
    "a folder is made under a file": "FileAlreadyExistsException",
    "nothing is left of it": ["f"],
    "a file is created under a file": "FileAlreadyExistsException",
    "a file is created in place of a folder": "FileAlreadyExistsException",
    "a file is created twice": "FileAlreadyExistsException",
    "a folder is opened": "FileNotFoundException",
    "a missing folder is listed": "FileNotFoundException",
    "a missing file is deleted": False,
    "a folder with content is deleted": "IOException",
    "a file closed twice is renamed between": [False, True],
    "a reader at the end": -1,
    "a reader past the end": "EOFException",
    "a position past the end is read fully": "EOFException",
    "a reader that began before an overwriting": ord("o"),
    "the scheme": "s3",
    "names": [[name] for name in NAMES],
    "buckets that differ in case": [False, True],
    "how many of eight threads create a file": 1,
    "how many of eight threads rename to a file": 1,
}


def answers(jvm: Any, conf: Any) -> dict[str, object]:
    """Return what the file system answers to the calls of `EXPECTED`.

    Args:
        conf: Hadoop's configuration.
    """
    path = jvm.org.apache.hadoop.fs.Path
    fs = path("s3://contract/").getFileSystem(conf)

    def at(name: str) -> Any:
        return path(f"s3://contract/{name}")

    def put(name: str, text: str = "old") -> None:
        stream = fs.create(at(name), True)
        stream.write(bytearray(text.encode()))
        stream.close()

    def names_in(folder: str) -> list[str]:
        return [status.getPath().getName() for status in fs.listStatus(at(folder))]

    def closed_twice() -> list[bool]:
        stream = fs.create(at("draft"), True)
        stream.close()
        fs.rename(at("draft"), at("final"))
        stream.close()
        return [fs.exists(at("draft")), fs.exists(at("final"))]

    def overwritten() -> int:
        reader = fs.open(at("f"))
        put("f", "new")
        return int(reader.read())

    def in_other_case() -> list[bool]:
        other = path("s3://CONTRACT/")
        fs.mkdirs(path(other, "x"))
        return [fs.exists(at("x")), fs.exists(path(other, "x"))]

    def listed(name: str) -> list[str]:
        file = path(at("names"), path(None, None, name))
        fs.create(file, True).close()
        listed = names_in("names")
        fs.delete(file, False)
        return listed

    def winners(attempt: Callable[[int], object]) -> int:
        with ThreadPoolExecutor(8) as threads:
            return [*threads.map(lambda number: answer(lambda: attempt(number)), range(8))].count(True)

    for name in ("f", "g", "into", "d/x", "e/y", "names/x", *(f"source{number}" for number in range(8))):
        put(name)
    fs.delete(at("names/x"), False)
    calls: tuple[Callable[[], object], ...] = (
        lambda: fs.rename(at("f"), at("g")),
        lambda: [fs.rename(at("into"), at("d")), *(name for name in names_in("d") if name == "into")],
        lambda: fs.rename(at("d"), at("d/z")),
        lambda: [fs.rename(at("d"), at("e")), *(name for name in names_in("e") if name == "d")],
        lambda: fs.rename(at("g"), at("f/g")),
        lambda: fs.rename(at(""), at("z")),
        lambda: fs.mkdirs(at("f/a/b")),
        lambda: [status.getPath().getName() for status in fs.globStatus(at("f*"))],
        lambda: put("f/c"),
        lambda: put("e"),
        lambda: fs.create(at("f"), False),
        lambda: fs.open(at("e")),
        lambda: fs.listStatus(at("none")),
        lambda: fs.delete(at("none"), True),
        lambda: fs.delete(at("e"), False),
        closed_twice,
        lambda: fs.open(at("f")).read(3, bytearray(1), 0, 1),
        lambda: fs.open(at("f")).seek(4),
        lambda: fs.open(at("f")).readFully(2, bytearray(2)),
        overwritten,
        fs.getScheme,
        lambda: [listed(name) for name in NAMES],
        in_other_case,
        lambda: winners(lambda _: fs.create(at("once"), False) is not None),
        lambda: winners(lambda number: fs.rename(at(f"source{number}"), at("target"))),
    )
    return {name: answer(call) for name, call in zip(EXPECTED, calls, strict=True)}


def answer(call: Callable[[], object]) -> object:
    """Return the result of a call, or the name of the class of Java's exception."""
    try:
        return call()
    except Exception as error:
        return str(getattr(error, "java_exception", error)).partition(":")[0].rpartition(".")[2]
