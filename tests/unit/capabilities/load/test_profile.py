"""`layout profile`: shares, the test of chi-square, the most frequent id, and which key schemes are safe."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from uuid import UUID

import pytest

from glacierbase.capabilities.load.counting import IdCounts, IdKind
from glacierbase.capabilities.load.profile import Profile, ProfileResult, profile
from glacierbase.capabilities.load.safety import SchemeSafety, chi_square
from glacierbase.cli import main
from glacierbase.errors import ConfigurationError
from glacierbase.model.printable import printable
from tests.support.documents import checked


def of(ids: Iterable[object]) -> Profile:
    return result_of(ids).profile


def result_of(ids: Iterable[object]) -> ProfileResult:
    values = [None if id_ is None else str(id_) for id_ in ids]
    return profile(iter([values[:7], values[7:]]), "ids.csv", "id", 10**9)


def verdict(ids: Iterable[object], scheme: str) -> SchemeSafety:
    return next(found for found in of(ids).schemes if found.scheme == scheme)


def safe(ids: Iterable[object]) -> dict[str, bool]:
    return {scheme.scheme: scheme.safe for scheme in of(ids).schemes}


def benford(count: int = 20_000) -> list[int]:
    chance = random.Random(7)
    return [int(10 ** chance.uniform(6, 10)) for _ in range(count)]


def uuids(version: int, count: int = 5000) -> list[UUID]:
    """Random UUIDs of a version; those of version 7 begin with the milliseconds since 1970."""
    chance = random.Random(7)
    bits = (chance.getrandbits(128) & ~(0xF000_C << 60) | (version << 16 | 8) << 60 for _ in range(count))
    times = [0x019AB0000000 + number for number in range(count)]
    return [
        UUID(int=time << 80 | value % 2**80 if version == 7 else value) for time, value in zip(times, bits, strict=True)
    ]


@pytest.mark.parametrize(
    ("counts", "value", "degrees", "p_value"),
    [
        # 10 + 20 + 30 against 20 each: (100 + 0 + 100) / 20.
        ({"a": 10, "b": 20, "c": 30}, 10.0, 2, 0.006738),
        ({"a": 60, "b": 40}, 4.0, 1, 0.045500),
        ({str(digit): 5 for digit in range(10)}, 0.0, 9, 1.0),
        ({"a": 5, "b": 0}, 5.0, 1, 0.025347),
        ({"a": 5}, 0.0, 0, None),
    ],
)
def test_chi_square_is_that_of_a_calculation_by_hand(
    counts: dict[str, int], value: float, degrees: int, p_value: float | None
) -> None:
    """With two degrees of freedom the probability is exp(-x/2), with one it is that of a normal distribution."""
    test = chi_square(counts)
    assert (test.chi_square, test.degrees_of_freedom) == (pytest.approx(value), degrees)
    assert test.p_value == (None if p_value is None else pytest.approx(p_value, abs=1e-6))


@pytest.mark.parametrize(
    ("degrees", "critical", "probability"),
    # https://www.itl.nist.gov/div898/handbook/eda/section3/eda3674.htm
    [(1, 3.841, 0.05), (2, 5.991, 0.05), (3, 7.815, 0.05), (8, 20.090, 0.01), (9, 16.919, 0.05), (9, 21.666, 0.01),
     (15, 24.996, 0.05), (31, 44.985, 0.05), (100, 124.342, 0.05)],
)  # fmt: skip
def test_a_critical_value_of_the_tables_has_its_probability(degrees: int, critical: float, probability: float) -> None:
    """The counts are made so that their chi-square is the critical value."""
    mean = 10_000.0
    shift = (critical * mean / 2) ** 0.5
    counts = {str(number): mean for number in range(degrees + 1)} | {"0": mean + shift, "1": mean - shift}
    assert chi_square(counts).p_value == pytest.approx(probability, abs=5e-5)  # type: ignore[arg-type]


def test_a_benford_sample_has_its_first_digits_and_equal_last_ones() -> None:
    """30 % of the ids begin with 1, and 4.6 % with 9; the last digits are equal."""
    result = of(benford())
    shares = {share.character: share.share for share in result.first}
    assert list(shares) == list("123456789")
    assert (shares["1"], shares["9"]) == (pytest.approx(0.301, abs=0.01), pytest.approx(0.046, abs=0.01))
    assert result.first_test.p_value == pytest.approx(0, abs=1e-9)
    assert result.first_test.chi_square > 5000
    assert result.last_test.degrees_of_freedom == 9
    assert result.last_test.p_value > 0.01  # type: ignore[operator]
    assert safe(benford()) == {"id-first": False, "reversed-id": True, "hash": True, "base2": True, "random": True}
    assert "Benford's law" in verdict(benford(), "id-first").why


def test_sequential_ids_are_safe_when_reversed() -> None:
    """First digits are equal up to a power of ten by luck, and new ids share them all the same."""
    ids = range(1, 100_001)
    assert of(ids).first_test.chi_square < 1
    assert safe(ids) == {"id-first": False, "reversed-id": True, "hash": True, "base2": True, "random": True}
    assert "numbered in sequence (1 to 100000)" in verdict(ids, "id-first").why
    assert "10.0 % of the ids end in 0: keep the reversed id as text" in verdict(ids, "reversed-id").why


def test_even_ids_are_not_safe_when_reversed() -> None:
    """Half of the last digits do not occur, so that each other one has a fifth of the load."""
    ids = [id_ // 2 * 2 for id_ in benford()]
    assert [share.count for share in of(ids).last if share.character in "13579"] == [0] * 5
    assert not verdict(ids, "reversed-id").safe
    assert "only 5 of 10 characters occur; 20." in verdict(ids, "reversed-id").why
    assert verdict(ids, "hash").safe


@pytest.mark.parametrize(
    ("ids", "kind", "is_safe"),
    [
        (uuids(4), IdKind.UUID, True),
        (uuids(7), IdKind.CLOCK_UUID, False),
        (uuids(1), IdKind.CLOCK_UUID, False),
        ([uuid.hex for uuid in uuids(7)], IdKind.CLOCK_UUID, False),
        ([uuid.hex for uuid in uuids(4)], IdKind.HEX, True),
        ([uuid.hex.upper() for uuid in uuids(4)], IdKind.HEX, True),
        ([f"01ARZ3NDEKTSV4RRFFQ69G5F{a}{b}" for a in "AZ" for b in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" * 9], IdKind.ULID, False),
    ],
)  # fmt: skip
def test_an_id_that_begins_with_a_time_is_not_safe_first(ids: list[object], kind: IdKind, is_safe: bool) -> None:
    """The versions 1, 6 and 7 of UUIDs and ULIDs begin with a time; a random UUID has 16 equal first characters."""
    result = of(ids)
    assert result.kind is kind
    assert verdict(ids, "id-first").safe is is_safe
    assert ("begin with a time" in verdict(ids, "id-first").why) is not is_safe
    assert verdict(ids, "reversed-id").safe
    if kind is not IdKind.ULID:
        assert result.first_test.degrees_of_freedom == 15
    assert len(result.last) == (32 if kind is IdKind.ULID else 16)


def test_a_hot_id_is_safe_in_no_scheme_of_ids() -> None:
    """Iceberg's base2 hashes the name of the file, and a random prefix is that of an object: these divide it."""
    ids = [4711] * 200 + benford(800)
    result = of(ids)
    assert result.hottest is not None
    assert (result.hottest.id, result.hottest.share, result.hottest.share_at_most) == ("4711", 0.2, 0.2)
    assert safe(ids) == {"id-first": False, "reversed-id": False, "hash": False, "base2": True, "random": True}
    assert "the id 4711 has 20.0 % of the values" in verdict(ids, "hash").why


def test_zeros_that_fill_up_ids_and_negative_ids_are_named() -> None:
    """Both decide the first character of most keys."""
    padded, negative = [f"{id_:012}" for id_ in benford(1000)], [-id_ for id_ in benford(1000)]
    assert "100.0 % of the ids begin with zeros" in verdict(padded, "id-first").why
    assert "100.0 % of the ids are negative" in verdict(negative, "id-first").why
    for ids in (padded, negative):
        assert not verdict(ids, "id-first").safe
        assert verdict(ids, "reversed-id").safe


def test_texts_are_profiled_by_characters() -> None:
    """The profile says so, with an example, and counts only the characters that occur."""
    result = of([*range(10, 30), "n/a", *range(30, 50)])
    assert result.kind is IdKind.TEXT
    assert [share.character for share in result.first] == ["1", "2", "3", "4", "n"]
    assert any("1 of 41 values are no integers, such as `n/a`" in note for note in result.notes)


def test_the_most_frequent_of_many_characters_are_listed() -> None:
    """The others are counted in the test of equal shares, and a line says how many they are."""
    result = result_of(chr(0x4E00 + number) for number in range(1000))
    assert (len(result.profile.first), result.profile.first_test.degrees_of_freedom) == (64, 999)
    assert "936 less frequent characters are not listed" in result.lines()


def test_few_values_prove_nothing() -> None:
    """A scheme is not called safe from three ids."""
    assert "3 values are too few to tell: 100 are needed" in verdict([1, 2, 3], "reversed-id").why
    assert not verdict([1, 2, 3], "reversed-id").safe


def test_differences_that_chance_explains_are_not_uneven() -> None:
    """With 100 ids a digit has 15 % now and then."""
    ids = [tens * 10 + digit for digit in range(10) for tens in range(1000, 1010 + 5 * (digit == 3))]
    assert "3; equal shares are 10.0 %; chance explains the difference" in verdict(ids, "reversed-id").why
    assert verdict(ids, "reversed-id").safe


def test_many_distinct_ids_are_counted_in_bounded_memory() -> None:
    """The most frequent id is known with a lower and an upper limit of its share, and the number of distinct ids is not."""
    chance = random.Random(7)
    ids = [str(id_) for id_ in range(2000)] + ["7"] * 500
    chance.shuffle(ids)
    counts = IdCounts.of((ids[start : start + 10] for start in range(0, 2500, 10)), exact=100)
    assert counts.distinct == (100, False)
    hottest = counts.hottest
    assert hottest is not None
    assert hottest.id == "7"
    assert hottest.share <= 501 / 2500 <= hottest.share_at_most <= hottest.share + 1 / 50
    assert counts.numbered is None
    exact = IdCounts.of([ids])
    assert exact.distinct == (2000, True)
    assert exact.numbered == (0, 1999)


def test_ids_that_differ_show_no_hot_one() -> None:
    """A note says that a list of ids is no list of requests."""
    assert any("each id occurs once" in note for note in of(range(100)).notes)
    assert not any("each id occurs once" in note for note in of([1, 1, 2]).notes)


def test_hostile_values_are_harmless() -> None:
    """Escape sequences, line breaks and commands of a CI service are shown, not executed; a line of text holds each."""
    text = printable(result_of(["\x1b[2Jx", "::error::x", "\u202eabc", "a\nb\n", None] * 20).lines())
    assert not {"\x1b", "\u202e"} & set(text)
    assert not any(line.strip().startswith("::") for line in text.splitlines())
    assert r"\x1b[2Jx" in text
    assert "20 nulls" in text


def test_nothing_is_read_if_the_plot_cannot_be_written(tmp_path: Path) -> None:
    """The path of the plot is checked first."""
    with pytest.raises(ConfigurationError) as caught:
        profile(iter([["1"]]), "a", "id", 9, str(tmp_path / "no" / "a.png"))
    assert caught.value.code == "UNREADABLE_FILE"


def test_a_plot_with_another_suffix_is_refused(tmp_path: Path) -> None:
    """The hint names the file with the suffix of a PNG file."""
    with pytest.raises(ConfigurationError) as caught:
        profile(iter([["1"]]), "a", "id", 9, str(tmp_path / "a.jpg"))
    assert (caught.value.code, caught.value.hint) == ("INVALID_VALUE", f"use --plot {tmp_path / 'a.png'}")
    assert list(tmp_path.iterdir()) == []


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `layout profile` in a folder that is no project."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(["layout", "profile", *arguments])
        streams = capsys.readouterr()
        return int(caught.value.code or 0), streams.out, streams.err

    return run


def test_a_file_needs_no_project(run: Run) -> None:
    """The text ends with the schemes and their reasons; the plot is the same each time."""
    Path("ids.csv").write_text("id\n" + "\n".join(map(str, range(1, 1001))))
    code, out, _ = run("ids.csv", "--column", "id", "--plot", "a.png", "--sample", "500")
    assert code == 0
    assert "ids.csv: id\n500 values (integers), 500 distinct, 0 nulls" in out
    assert "\nreversed-id  yes   10.0 % of the ids end in 0;" in out
    assert "note: sample: the first 500 values" in out
    assert "plot: a.png" in out
    first = Path("a.png").read_bytes()
    run("ids.csv", "--column", "id", "--plot", "a.png", "--sample", "500")
    assert Path("a.png").read_bytes() == first


def test_the_document_has_the_profile(run: Run) -> None:
    """An error has the document without it."""
    Path("ids.csv").write_text("id\n" + "\n".join(map(str, [1, 1, 2, ""])))
    code, out, _ = run("ids.csv", "--column", "id", "--format", "json")
    document = checked(json.loads(out))["profile"]
    assert code == 0
    assert {name: document[name] for name in ("column", "source", "values", "distinct", "nulls")} == {
        "column": "id", "source": "ids.csv", "values": 3, "distinct": 2, "nulls": 0,
    }  # fmt: skip
    assert document["kind"] == "integer"
    assert document["hottest"] == {"id": "1", "share": 2 / 3, "share_at_most": 2 / 3}
    assert document["first"][0] == {"character": "1", "count": 2, "share": 2 / 3}
    assert [scheme["scheme"] for scheme in document["schemes"]] == [
        "id-first",
        "reversed-id",
        "hash",
        "base2",
        "random",
    ]
    code, out, _ = run("ids.csv", "--column", "idd", "--format", "json")
    assert (code, checked(json.loads(out))["error"]["code"]) == (2, "UNKNOWN_COLUMN")


def test_a_table_outside_of_a_project_is_one_clear_error(run: Run) -> None:
    """Only a file needs no project."""
    code, _, error = run("lake.a.t", "--column", "id")
    assert (code, error.partition(":")[0], "Traceback" in error) == (2, "error", False)
