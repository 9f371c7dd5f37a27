"""Text on a terminal: it fits the width, colours repeat words, and no value is obeyed."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from rich.cells import cell_len

from glacierbase.inspect.history import HistoryResult
from glacierbase.inspect.results import DoctorResult, RenderedFile, RenderResult
from glacierbase.model.migration import EventType, State
from glacierbase.model.printable import printable
from glacierbase.model.result import Result
from glacierbase.model.text import Cell, Line, Location, Mark, Table, Verbatim, table, time_from
from glacierbase.output.documents import text_document, text_errors
from glacierbase.output.screen import Screen
from glacierbase.secrets import register
from tests.support.hostile import FORGED, PAYLOAD, check_inert, check_safe
from tests.unit.output.planted import planted
from tests.unit.output.screens import GOLDEN, NOW, SCREENS, WIDTHS, screens
from tests.unit.output.test_output import KINDS

PROSE = "Device names are needed by the 2027 firmware report of the hardware team"
HEADER = ("version", "state", "at", "author", "description", "path")
ROWS: list[tuple[Cell, ...]] = [
    (
        f"202611201030{number:02}", Mark(state), NOW - timedelta(minutes=number), "Data Platform Team", PROSE,
        Location(f"migrations/analytics/2026/{number:04}_{state}.sql"),
    )
    for number, state in enumerate(State)
]  # fmt: skip
SGR = re.compile(r"\x1b\[([0-9;]*)m")


def shown(lines: list[Line], width: int = 80, has_colour: bool = False) -> list[str]:
    return Screen(width, has_colour, NOW).show(lines).split("\n")


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_a_table_fits_the_width_and_breaks_no_word(width: int) -> None:
    """Columns of text wrap; every word of every cell is whole, and so are versions, states and clock times."""
    lines = shown([Table(HEADER, tuple(ROWS))], width)
    assert max(map(len, lines)) <= width
    words = set(" ".join(lines).split())
    for row in ROWS:
        assert {row[0], row[1], *PROSE.split(), "UTC,"} <= words
    assert len(lines) > len(ROWS) + 1 or width == 200


def test_a_table_that_cannot_fit_becomes_records_with_a_field_per_line() -> None:
    """The words stay whole, the later lines of a field are deeper, an empty line separates records, and none follows the last."""
    lines = shown([Table(HEADER, tuple(ROWS))], 40)
    assert max(map(len, lines)) <= 40
    records = "\n".join(lines).split("\n\n")
    assert len(records) == len(ROWS)
    for record, row in zip(records, ROWS, strict=True):
        names = [line.split("  ")[0] for line in record.split("\n") if not line.startswith(" ")]
        assert names == list(HEADER)
        assert record.startswith(f"version      {row[0]}\n")
        assert {str(row[1]), *PROSE.split()} <= set(record.split())
    assert shown([Table(HEADER, tuple(ROWS)), "next"], 40)[-2:] == ["", "next"]
    assert shown([Table(HEADER, tuple(ROWS)), "", "next"], 40)[-3:-2] != [""]


def test_a_table_without_names_that_cannot_fit_becomes_a_wrapped_line_per_row() -> None:
    """The words stay whole, and the later lines of a row are deeper."""
    lines = shown([Table((), tuple(row[:-1] for row in ROWS))], 40)
    assert max(map(len, lines)) <= 40
    assert lines[0].split()[:1] == [ROWS[0][0]]
    assert {"firmware", "out_of_order", *PROSE.split()} <= set(" ".join(lines).split())


def test_the_label_of_a_value_is_not_broken() -> None:
    """A label of two words above a short value would otherwise save columns that nothing needs."""
    rows = (("would run", "direct"), ("run", f"{'f' * 32} of root@vm as root, pyiceberg 0.12.0"))
    assert [line[:9] for line in shown([Table((), rows)], 60)] == ["would run", "run      ", "         "]


def test_a_record_has_the_first_field_without_a_name_as_title_and_no_empty_field() -> None:
    """A later field without a name is below the one before it."""
    rows = [(Mark("device.firmware"), "string", None, Mark("differs"), PROSE), (Mark("b"), "bigint", "2", "", "")]
    assert shown(table(("", "type", "size", "", "description"), rows), 34)[:4] == [
        "device.firmware", "  type         string", "               differs", "  description  Device names are",
    ]  # fmt: skip
    assert shown(table(("", "type", "size", "", "description"), rows), 34)[-3:] == [
        "b", "  type         bigint", "  size         2",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_a_path_is_broken_behind_a_slash_only(width: int) -> None:
    """The name of a file is whole, also where it is wider than the terminal."""
    name = "20261120103000_add_the.device-column_to_events.sql"
    files = table(("version", "author", "path"), [("1", "ann", Location(f"migrations/analytics/{name}"))])
    for lines in (shown(files, width), shown([Table((), files[0].rows)], width)):  # type: ignore[union-attr]
        assert sum(line.endswith(name) for line in lines) == 1


def test_a_column_of_many_lines_becomes_a_field_of_a_record() -> None:
    """Text that is a narrow column beside wide ones is read with difficulty."""
    row = ("20261120103000", "x" * 22, "y" * 22, PROSE)
    assert shown(table(("version", "one", "two", "why"), [row]), 80)[3].startswith(
        "why      Device names are needed by"
    )
    assert len(shown(table(("version", "one", "two", "why"), [row]), 110)) == 3


def test_long_names_are_broken_behind_punctuation_where_the_columns_do_not_fit_otherwise() -> None:
    """Names of properties and types are words without blanks; dates stay whole, and so does every column."""
    row = (
        Mark("property write.parquet.compression-codec"),
        "struct<model:string,firmware:string>",
        "2026-11-20",
        PROSE,
    )
    lines = shown(table(("", "type", "since", "why"), [row]), 60)
    assert max(map(len, lines)) <= 60
    assert "".join(line[:14].strip() for line in lines[1:]) == "propertywrite.parquet.compression-codec"
    assert "struct<model:string,firmware:string>" in "".join(line[14:32].strip() for line in lines[1:])
    assert lines[1].count("2026-11-20") == 1


def test_a_number_and_its_unit_that_repeat_the_cell_above_are_not_shortened() -> None:
    """A ditto mark would look like a count."""
    rows = [(Mark(name), "1 statement", PROSE) for name in ("one", "two")]
    lines = shown(table(("version", "statements", "why"), rows), 45)
    assert [line[9:18] for line in lines if line[:3] in ("one", "two")] == ["1        "] * 2
    assert not any('"' in line[9:18] for line in lines)


def test_a_ditto_mark_replaces_prose_that_repeats_the_cell_above_where_that_saves_lines() -> None:
    """Text is whole or a ditto mark, never cut; names, and text of one line, are shown again."""
    rows = [(Mark(name), "0001", PROSE) for name in ("one", "one", "two")]
    lines = shown(table(("", "version", "why"), rows), 60)
    assert [line[:14] for line in lines[1:]] == ["one  0001     ", "              ", "one  0001     ", "two  0001     "]
    assert " ".join(line[14:] for line in lines[1:3]) == PROSE
    assert {line[14:] for line in lines[3:]} == {'"'}
    assert printable(table(("", "version", "why"), rows)).count(PROSE) == 3


def test_a_table_of_versions_and_environments_fits() -> None:
    """States side by side are whole and in their colours."""
    rows = [("0001", Mark(State.APPLIED), Mark(State.OUT_OF_ORDER), Mark(State.PENDING), PROSE)]
    lines = shown(table(("version", "dev", "staging", "prod", "description"), rows), 60, has_colour=True)
    assert "\x1b[32mapplied\x1b[0m  \x1b[35mout_of_order\x1b[0m  pending  Device names are" in lines[1]


def test_the_common_folder_of_paths_is_shown_once() -> None:
    """The header names it, the rows leave it out; plain text has whole paths."""
    files = Table(("version", "path"), tuple((row[0], row[5]) for row in ROWS))
    lines = shown([files])
    assert lines[0] == "version         path in migrations/analytics/2026/"
    assert lines[1] == "20261120103000  0000_pending.sql"
    assert printable([files]).count("migrations/analytics/2026/") == len(ROWS)


def test_times_have_their_zone_and_a_terminal_adds_relative_ones() -> None:
    """Plain text has no relative time, which would differ in each run."""
    row = Table((), ((NOW - timedelta(minutes=3), NOW + timedelta(seconds=40), None),))
    assert printable([row]) == "2026-11-22 16:53:07 UTC  2026-11-22 16:56:47 UTC"
    assert shown([row]) == ["2026-11-22 16:53:07 UTC, 3 min ago  2026-11-22 16:56:47 UTC, in 40 s"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s ago"), (59, "59 s ago"), (3599, "59 min ago"), (7200, "2 h ago"), (86400, "1 day ago")],
)
def test_a_relative_time_has_one_unit(seconds: int, text: str) -> None:
    """The largest unit of which there is a whole one."""
    assert time_from(NOW, NOW + timedelta(seconds=seconds)) == text


def test_wide_and_combining_characters_count_as_what_they_occupy() -> None:
    """The next column begins in the same cell of the terminal; text without blanks wraps between its characters."""
    rows = [("1", "睡眠イベントの表を作る" * 5, "x"), ("2", "e\u0301te\u0301" * 5, "x"), ("3", "ascii", "x")]
    lines = shown(table(("version", "description", "author"), rows), 50)
    assert max(map(cell_len, lines)) <= 50
    assert {cell_len(line.rpartition("  ")[0]) for line in lines if line[:1].isdigit()} == {cell_len(lines[1][:-3])}


def test_commands_and_sql_stay_in_one_piece() -> None:
    """A line break inside of a command would be copied with it."""
    command = "glacierbase repair 20261120103000 --env prod --as done --reason 'seen in the catalog by ann'"
    sql = f"SELECT '{PROSE}' AS why, '{PROSE}' AS again"
    lines = shown(
        [f"next: run `{command}`", f"next: {command}", f"  next      {command}", Verbatim(sql), f"statement 1\n{sql}"]
    )
    assert sum(command in line for line in lines) == 3
    assert shown([f"     {command}", f"file      {'x' * 90}"]) == [f"     {command}", f"file      {'x' * 90}"]
    assert [line for line in lines if sql in line] == [sql, f"    | {sql}"]
    rendered = RenderResult("shop", "dev", files=(RenderedFile("1", "a.sql", sql),))
    assert f"  {sql}" in text_document([rendered], show=Screen(40, False).show).split("\n")


@pytest.mark.parametrize("value", ["[bold]x[/bold] [/]", "[red]", ":smile: [link=http://a]b[/link]", "\\[bold]"])
def test_no_markup_of_rich_is_parsed(value: str) -> None:
    """A value with brackets is shown as it is, in a line, a cell and a title."""
    for line in (value, Mark(value), Table((), ((value, Mark(value), Location(value)),))):
        [text] = shown([line], 200, has_colour=True)
        assert value in SGR.sub("", text)


@pytest.mark.parametrize("width", [20, 80, 120])
@pytest.mark.parametrize("kind", KINDS)
def test_a_result_on_a_terminal_obeys_no_value_in_it(kind: type[Result], width: int) -> None:
    """Apart from the colours of this program there is no control character, and no line begins as one of the program."""
    whole: Result = replace(planted(kind), skipped=None)
    show = Screen(width, has_colour=True).show
    for result in (whole, replace(whole, error=None)):
        text = text_document([result], show=show)
        check_inert(SGR.sub("", text))
        # SQL of a file is printed without a margin, so that its lines look like lines of the program.
        if kind not in (RenderResult, DoctorResult):
            check_unforged(text)
        assert colours(text) <= {"1", "2", "32", "35", "1;31", "0"}
    if isinstance(whole, HistoryResult):
        check_inert(SGR.sub("", text_document([whole], HistoryResult.event_lines, show)))
    assert whole.error
    errors = SGR.sub("", text_errors([whole.error], show))
    check_inert(errors)
    check_unforged(errors)


def test_a_header_is_a_value_too() -> None:
    """A column may be named after an environment."""
    for width in (20, 200):
        for cell in (PAYLOAD, Location(PAYLOAD)):
            check_inert(SGR.sub("", "\n".join(shown(table((PAYLOAD, "b"), [(cell, PAYLOAD)]), width, True))))


def check_unforged(text: str) -> None:
    """Check that no line begins with text of the payload where lines of this program begin."""
    for line in SGR.sub("", text).split("\n"):
        assert not re.match(r" {0,4}(error: FAKE|next: FAKE)", line), line


def colours(text: str) -> set[str]:
    return {found[1] for found in SGR.finditer(text)}


def test_a_wrapped_value_begins_no_command_of_a_ci_service() -> None:
    """A word that comes to be the first of a line is escaped as such."""
    value = f"{'x' * 30} ::error::FAKE {'x' * 30} ##[group] ::debug::a"
    for line in (value, Table((), ((value,),)), Mark(value)):
        for width in range(20, 60):
            check_safe("\n".join(shown([line], width)))
    assert FORGED in PAYLOAD


def test_a_secret_is_masked_in_cells_and_lines() -> None:
    """A secret with blanks is masked before blanks are joined."""
    register("canary  of\ntwo lines")
    lines: list[Line] = ["it is canary  of\ntwo lines", *table((), [("it is canary  of\ntwo lines", "x")])]
    for text in ("\n".join(shown(lines)), printable(lines)):
        assert "canary" not in text
        assert text.count("***") == 2


@pytest.mark.parametrize("word", [*State, *EventType, "error", "warning", "FAILED", "not run", "ok"])
def test_a_colour_stands_at_a_word(word: str) -> None:
    """Without colours the text is the same; the colours are readable on a light and a dark background."""
    [coloured] = shown([Mark(word)], has_colour=True)
    assert SGR.sub("", coloured) == shown([Mark(word)])[0] == word
    assert colours(coloured) <= {"1", "32", "35", "1;31", "0"}
    assert bool(colours(coloured)) == (word not in ("pending", "started", "statement_done"))
    [longer] = shown([Mark(f"{word} at 2/3")], has_colour=True)
    assert colours(longer) == colours(coloured)


@pytest.mark.parametrize("name", SCREENS)
def test_the_screens_are_the_golden_ones(name: str) -> None:
    """After a change, look at the difference and run `python -m tests.unit.output.screens`."""
    found = {file: text for file, text in screens() if file.rpartition("-")[0] == name}
    assert found == {file: (GOLDEN / file).read_text("utf-8") for file in found}
    for width in WIDTHS:
        plain = found[f"{name}-{width}.txt"]
        assert SGR.sub("", found[f"{name}-{width}.ansi"]) == plain
        # SQL, paths and commands are whole; the help is always of the usual width.
        whole = r"^ {4}\||\.sql|(next|or) .*--as|`glacierbase [^`]*`"
        lines = [line for line in plain.split("\n") if not re.search(whole, line)]
        assert max(map(cell_len, lines)) <= (80 if name == "help" else width)
        assert not any(line != line.rstrip() for line in plain.split("\n"))


def test_no_golden_file_is_left_over() -> None:
    """Each belongs to a screen that is compared."""
    assert {path.name for path in GOLDEN.iterdir()} == {name for name, _ in screens()}
