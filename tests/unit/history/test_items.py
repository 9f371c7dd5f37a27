"""One item for each version and repeatable: its file, its record, and the state that follows from both."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from glacierbase.history.items import Item, items
from glacierbase.history.records import History, fold
from glacierbase.model.migration import Event, Migration, Squashed
from tests.support.growth import work

CHECKSUM = "v1:sha256:a"
# As for the readers of texts: linear work grows by 4, work of n log n by 5.2, quadratic work by 16.
FEW, MANY, MOST = 100, 400, 5.5


def file(label: str, squashes: Sequence[Squashed] = ()) -> Migration:
    """Return a file with a version, or a repeatable."""
    version, name = (label, "a") if label.isdigit() else ("", label)
    location = f"migrations/shop/{version}_a.sql" if version else f"migrations/shop/repeatable/{name}.sql"
    return Migration(version, name, "why", "who", Path(location), location, "", CHECKSUM, squashes=tuple(squashes))


def squash(to: int, *, checksum: str = CHECKSUM) -> Migration:
    """Return the squash of all files up to a version."""
    return file(str(to), [Squashed(str(number), checksum, False) for number in range(1, to + 1)])


def applied(*files: Migration) -> History:
    """Return a history in which these files are applied."""
    details = ({"squashes": [list(squashed) for squashed in migration.squashes]} for migration in files)
    return fold(
        Event(
            1, number, "run", "shop", "dev", "baselined", "applied", migration.version or None, "why", "who",
            migration.location, CHECKSUM, "rendered", statement_total=1, details=json.dumps(detail),
        )
        for number, (migration, detail) in enumerate(zip(files, details, strict=True), start=1)
    )  # fmt: skip


def states(found: Sequence[Item]) -> list[tuple[str, str]]:
    return [(item.label, str(item.state)) for item in found]


def test_items_are_in_the_order_in_which_they_run() -> None:
    """Versions are in the order of their numbers, repeatables in theirs, and those without a file come last."""
    history = applied(file("9"), file("03"), file("zero"), file("gone"), file("b"))
    found = items([file("9"), file("010")], [(file("b"), "rendered"), (file("a"), None)], history)
    assert list(found) == [3, 9, 10, "b", "a", "gone", "zero"]
    assert states(list(found.values())) == [
        ("03", "missing"), ("9", "applied"), ("010", "pending"),
        ("b", "applied"), ("a", "pending"), ("gone", "missing"), ("zero", "missing"),
    ]  # fmt: skip
    assert [(item.file is not None, item.record is not None) for item in found.values()] == [
        (False, True), (True, True), (True, False), (True, True), (True, False), (False, True), (False, True),
    ]  # fmt: skip


def test_the_files_that_a_squash_replaces_name_it() -> None:
    """The files that ran stand in its place, those from before it have one version left; later files name none."""
    of_files = items([squash(3), file("4")], [], applied(file("1"), file("2"), file("3")))
    assert [(item.version, item.replaced_by) for item in of_files.values()] == [
        ("1", "3"), ("2", "3"), ("3", "3"), ("4", ""),
    ]  # fmt: skip
    of_history = items([file("1"), file("2"), file("3"), file("4")], [], applied(squash(3)))
    assert [(item.version, item.replaced_by) for item in of_history.values()] == [("3", "3"), ("4", "")]
    assert [replaced.version for replaced in of_history[3].squashes] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("files", "history", "version"),
    [
        ([squash(3)], applied(file("1"), file("2")), 3),
        ([replace(file("2"), checksum="v1:sha256:b"), file("3")], applied(squash(3)), 2),
    ],
)
def test_a_squash_that_disagrees_is_an_error_of_one_version(
    files: Sequence[Migration], history: History, version: int
) -> None:
    """The version is that of the squash, or of the file that differs from the one that was replaced."""
    found = items(files, [], history)
    assert [(item.number, item.error.code) for item in found.values() if item.error] == [(version, "SQUASH_DISAGREES")]


def versions_and_repeatables(count: int) -> Callable[[], object]:
    history = applied(*(file(str(number)) for number in range(1, count)), *(file(f"f{n}") for n in range(count)))
    files = [file(str(number)) for number in range(1, count + count // 2)]
    repeatables = [(file(f"f{number}"), "rendered") for number in range(0, count, 2)]
    return lambda: items(files, repeatables, history)


def squashed_files(count: int) -> Callable[[], object]:
    history = applied(*(file(str(number)) for number in range(1, count + 1)))
    return lambda: items([squash(count)], [], history)


def files_from_before(count: int) -> Callable[[], object]:
    history, files = applied(squash(count)), [file(str(number)) for number in range(1, count + 1)]
    return lambda: items(files, [], history)


@pytest.mark.parametrize("join", [versions_and_repeatables, squashed_files, files_from_before])
def test_the_join_grows_in_proportion_to_files_and_records(join: Callable[[int], Callable[[], object]]) -> None:
    """Four times as many files and records are at most 5.5 times the work."""
    join(FEW)()  # The first call may import modules.
    assert work(join(MANY)) / work(join(FEW)) < MOST
