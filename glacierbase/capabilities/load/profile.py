"""`layout profile`: how evenly the first and last characters of ids divide a load, and which key schemes are safe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from glacierbase.capabilities.load.counting import EXACT, Hottest, IdCounts, IdKind
from glacierbase.capabilities.load.extra import required
from glacierbase.capabilities.load.ids import MOST, Batch, ids_in_file
from glacierbase.capabilities.load.plots import Panel, bars, share_plot
from glacierbase.capabilities.load.safety import (
    CHANCE,
    MOST_SHARE,
    ChiSquare,
    SchemeSafety,
    chi_square,
    schemes,
    shown_id,
)
from glacierbase.errors import ConfigurationError
from glacierbase.model.amounts import share_text
from glacierbase.model.escape import on_one_line
from glacierbase.model.result import StandaloneResult
from glacierbase.model.text import Line, Mark, counted, table
from glacierbase.run.files import check_replaceable, replace_file, writing

# The most frequent characters of texts, which may have any; the others are not listed.
_LISTED = 64
_KINDS = {
    IdKind.INTEGER: "integers",
    IdKind.UUID: "UUIDs",
    IdKind.CLOCK_UUID: "UUIDs that begin with a time",
    IdKind.ULID: "ULIDs",
    IdKind.HEX: "hexadecimal numbers",
    IdKind.TEXT: "texts",
}


@dataclass(frozen=True, slots=True)
class CharacterShare:
    """A character and its share of the values."""

    character: str
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class Profile:
    """How evenly the ids of a column are divided.

    Attributes:
        source: the file or the table.
        values: how many were read; nulls and empty texts are not among them.
        is_sample: whether as many were read as requested, so that the source may have more.
        distinct: how many are distinct; None if there are too many to count them.
        kind: what all ids are; text if they are of several kinds.
        first, last: the shares of the characters, in their order: all that the kind may have, and for texts those that occur.
        first_test, last_test: whether the shares are equal.
        hottest: the most frequent id; None if there are too many to know one.
    """

    source: str
    column: str
    values: int
    nulls: int
    is_sample: bool
    distinct: int | None
    kind: IdKind
    first: tuple[CharacterShare, ...]
    first_test: ChiSquare
    last: tuple[CharacterShare, ...]
    last_test: ChiSquare
    hottest: Hottest | None
    schemes: tuple[SchemeSafety, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProfileResult(StandaloneResult):
    """The profile of a column, and the file with its plot if one was requested."""

    profile: Profile
    plot: str | None = None

    def lines(self) -> Sequence[Line]:
        return [*_lines(self.profile), *([f"plot: {self.plot}"] if self.plot else [])]


def profile_file(path: str, column: str, *, sample: int | None = None, plot: str | None = None) -> ProfileResult:
    """Return the profile of the ids of a column of a file, as `Project.layout_profile` does for a table.

    Raises:
        ConfigurationError: as `ids_in_file` and `profile`.
    """
    most = sample or MOST
    return profile(ids_in_file(path, column, most), path, column, most, plot)


def profile(batches: Iterable[Batch], source: str, column: str, most: int, plot: str | None = None) -> ProfileResult:
    """Return the profile of the ids of a column, and write its plot.

    Args:
        source: the file or the table that the ids are from.
        most: how many values `batches` has at most.
        plot: the PNG file to write; an existing one is replaced.

    Raises:
        ConfigurationError: as the iterator of `batches`; `UNREADABLE_FILE`: the plot cannot be written; `LAYOUT_EXTRA_MISSING`;
            `INVALID_VALUE`: the plot is no PNG file.
    """
    if plot is not None:
        required("matplotlib")
        if not plot.lower().endswith(".png"):
            hint = f"use --plot {Path(plot).with_suffix('.png')}"
            raise ConfigurationError("INVALID_VALUE", f"--plot {plot}: the suffix is not .png", hint)
        with writing(plot):
            check_replaceable(Path(plot))
    result = _profile(IdCounts.of(batches), source, column, most)
    if plot is not None:
        picture = share_plot(f"{source}: {column}", list(_panels(result)))
        with writing(plot):
            replace_file(Path(plot), picture)
    return ProfileResult(result, plot)


def _profile(counts: IdCounts, source: str, column: str, most: int) -> Profile:
    first, last = counts.first_characters(), counts.last_characters()
    distinct, is_exact = counts.distinct
    is_sample = counts.values + counts.nulls >= most
    return Profile(
        source=source,
        column=column,
        values=counts.values,
        nulls=counts.nulls,
        is_sample=is_sample,
        distinct=distinct if is_exact else None,
        kind=counts.kind,
        first=_shares(first),
        first_test=chi_square(first),
        last=_shares(last),
        last_test=chi_square(last),
        hottest=counts.hottest,
        schemes=schemes(counts),
        notes=tuple(_notes(counts, is_sample)),
    )


def _shares(counts: Mapping[str, int]) -> tuple[CharacterShare, ...]:
    values = sum(counts.values())
    listed = sorted(sorted(counts, key=lambda character: -counts[character])[:_LISTED])
    return tuple(CharacterShare(character, counts[character], counts[character] / values) for character in listed)


def _notes(counts: IdCounts, is_sample: bool) -> Iterator[str]:
    """Yield what limits the profile."""
    distinct, is_exact = counts.distinct
    if is_sample:
        yield (
            f"sample: the first {counts.values + counts.nulls:,} values; if the source is sorted, the others differ;"
            " --sample reads more"
        )
    if counts.kind is IdKind.TEXT:
        others = counts.values - counts.kinds["integer"]
        yield (
            f"{others:,} of {counts.values:,} values are no integers, such as `{on_one_line(counts.odd_one or '', 60)}`:"
            " the column is profiled by characters, not digits"
        )
    if not is_exact:
        yield f"there are more than {distinct:,} distinct ids, so that the share of the hottest one is an upper limit"
    elif distinct == counts.values:
        yield "each id occurs once, so that the source does not show which ids are requested more often than others"
    yield (
        f"a scheme counts as safe if no first character and no id has more than {share_text(MOST_SHARE)} of the values: a threshold"
        " of glacierbase, because how an object store splits its keys is not documented"
    )


def _panels(result: Profile) -> Iterator[Panel]:
    for name, shares, test in (("first", result.first, result.first_test), ("last", result.last, result.last_test)):
        yield Panel(name, {share.character: share.share for share in shares}, 1 / (test.degrees_of_freedom + 1))


def _lines(result: Profile) -> Iterator[Line]:
    distinct = f"more than {EXACT:,}" if result.distinct is None else f"{result.distinct:,}"
    yield Mark(f"{result.source}: {result.column}")
    yield f"{result.values:,} values ({_KINDS[result.kind]}), {distinct} distinct, {counted(result.nulls, 'null')}"
    for panel, test in zip(_panels(result), (result.first_test, result.last_test), strict=True):
        yield ""
        yield from bars(panel)
        hidden = test.degrees_of_freedom + 1 - len(panel.shares)
        if hidden:
            yield f"{hidden:,} less frequent characters are not listed"
        yield _tested(test)
    yield ""
    if hottest := result.hottest:
        at_most = "" if hottest.share == hottest.share_at_most else "at most "
        yield f"hottest id: {shown_id(hottest)}, {at_most}{share_text(hottest.share_at_most)} of the values"
        yield ""
    rows = ((Mark(scheme.scheme), "yes" if scheme.safe else "no", scheme.why) for scheme in result.schemes)
    yield from table(("scheme", "safe", "why"), rows)
    yield from (f"note: {note}" for note in result.notes)


def _tested(test: ChiSquare) -> str:
    if test.p_value is None:
        return "all values have the same character"
    p_value = "p < 0.001" if test.p_value < 0.001 else f"p = {test.p_value:.3f}"
    verdict = "the shares are not equal" if test.p_value < CHANCE else "the shares may be equal"
    return f"chi-square {test.chi_square:,.1f}, {counted(test.degrees_of_freedom, 'degree')} of freedom, {p_value}: {verdict}"
