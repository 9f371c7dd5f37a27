"""Files and history in, a plan out, or the error that explains why there is none. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from glacierbase.apply.plan import Selection, make_plan
from glacierbase.errors import GlacierbaseError, SeveralErrors
from glacierbase.history.items import version_items
from glacierbase.history.records import History, fold
from glacierbase.model.migration import Event, Migration

NOW = datetime(2026, 11, 20, 10, 30, tzinfo=timezone.utc)


def migration(version: str, checksum: str = "v1:sha256:a") -> Migration:
    location = f"migrations/shop/{version}_a.sql"
    return Migration(version, "a", f"why {version}", "who", Path(location), location, "", checksum)


def files(*versions: str) -> list[Migration]:
    return [migration(version) for version in versions]


def applied(*versions: str, state: str = "applied") -> History:
    """Return a history in which each version was started and then came to `state`."""
    events: list[Event] = []
    for version in versions:
        for kind, its_state in (("started", "running"), (state, state)):
            event = Event(
                1, len(events) + 1, "run", "shop", "dev", kind, its_state, version, f"why {version}", "who",
                f"migrations/shop/{version}_a.sql", "v1:sha256:a", statement_total=1, recorded_at=NOW, details="{}",
            )  # fmt: skip
            events.append(event)
    return fold(events)


def pending(migrations: Sequence[Migration], history: History, **selection: object) -> list[str]:
    plan = make_plan(migrations, history, Selection(**selection))  # type: ignore[arg-type]
    return [planned.migration.version for planned in plan.pending]


def errors(migrations: Sequence[Migration], history: History, **selection: object) -> list[GlacierbaseError]:
    with pytest.raises(GlacierbaseError) as caught:
        pending(migrations, history, **selection)
    error = caught.value
    return list(error.errors) if isinstance(error, SeveralErrors) else [error]


def states(migrations: Sequence[Migration], history: History) -> list[tuple[str, str]]:
    return [(item.version or "", str(item.state)) for item in version_items(migrations, history)]


def test_what_is_not_applied_is_pending_in_the_order_of_numbers() -> None:
    """The version is compared as a number."""
    assert pending(files("9", "10", "011"), applied("9")) == ["10", "011"]
    assert states(files("9", "10"), applied("9")) == [("9", "applied"), ("10", "pending")]


def test_a_file_is_identified_by_its_number_in_any_folder_and_padding() -> None:
    """A file that is moved into a folder, or whose version is padded, is the same migration."""
    moved = replace(migration("0001"), location="migrations/shop/old/0001_a.sql")
    assert pending([moved], applied("1")) == []


def test_up_to_a_version_stops_there_and_only_takes_one() -> None:
    """The plan lists the versions that `only` passes by, so that they may run later."""
    assert pending(files("1", "2", "3"), applied("1"), to="2") == ["2"]
    plan = make_plan(files("1", "2", "3"), applied("1"), Selection(only="3", reason="why"))
    assert ([p.migration.version for p in plan.pending], plan.jumped_over) == (["3"], ("2",))
    assert make_plan(files("1"), applied("1"), Selection(only="1", reason="why")).pending == ()


@pytest.mark.parametrize(
    ("selection", "code"),
    [
        ({"to": "7"}, "UNKNOWN_VERSION"),
        ({"to": "x"}, "UNKNOWN_VERSION"),
        ({"to": "²"}, "UNKNOWN_VERSION"),
        ({"to": "9" * 5000}, "UNKNOWN_VERSION"),
        ({"out_of_order": ("7",)}, "UNKNOWN_VERSION"),
        ({"only": "1"}, "REASON_MISSING"),
        ({"only": "1", "reason": " "}, "REASON_MISSING"),
        ({"only": "1", "reason": "why", "to": "1"}, "CONFLICTING_OPTIONS"),
    ],
)
def test_a_selection_that_makes_no_sense_is_refused(selection: dict[str, object], code: str) -> None:
    """The exit code is 2, that of a usage error."""
    [error] = errors(files("1"), applied(), **selection)
    assert (error.code, error.exit_code) == (code, 2)


def test_a_late_version_is_refused_with_both_ways_out() -> None:
    """Another branch was merged first; the file is renamed, or allowed by its version."""
    [error] = errors(files("1", "2", "3"), applied("1", "3"))
    assert (error.code, error.exit_code, error.data["newest"]) == ("OUT_OF_ORDER", 3, "3")
    assert "`git mv migrations/shop/2_a.sql migrations/shop/4_a.sql`" in error.hint
    assert "--allow-out-of-order 2" in error.hint
    assert pending(files("1", "2", "3"), applied("1", "3"), out_of_order=("2",)) == ["2"]
    assert pending(files("1", "2", "3"), applied("1", "3"), out_of_order=None) == ["2"]
    assert states(files("1", "2", "3"), applied("1", "3"))[1] == ("2", "out_of_order")


def test_late_files_get_versions_above_all_others_in_their_order() -> None:
    """Each keeps the width of its version; a file that is pending anyway is not passed."""
    found = errors(files("0001", "0002", "3", "8", "0012"), applied("0001", "8"))
    renamed = [error.hint.split("`")[1].rpartition("/")[2] for error in found]
    assert renamed == ["0013_a.sql", "14_a.sql"]


def test_only_the_version_that_is_named_may_be_late() -> None:
    """An allowed version allows no other."""
    [error] = errors(files("1", "2", "3", "4"), applied("1", "4"), out_of_order=("2",))
    assert error.data["version"] == "3"


def test_an_applied_file_that_is_gone_is_refused() -> None:
    """Without the file, the origin of the table's schema is lost."""
    [error] = errors(files("2"), applied("1", "2"))
    assert (error.code, error.exit_code, error.data["path"]) == ("MIGRATION_MISSING", 3, "migrations/shop/1_a.sql")
    assert error.hint.startswith("restore the file; `glacierbase show 1` prints what ran; ")
    assert states(files("2"), applied("1", "2"))[0] == ("1", "missing")


def test_an_older_checkout_is_a_warning_and_no_error() -> None:
    """A version that is applied above the newest file is ahead of the checkout."""
    plan = make_plan(files("1"), applied("1", "2"), Selection())
    assert plan.pending == ()
    assert "version 2 (why 2) is applied, but newer than every file here: this is an older checkout" in plan.warnings
    assert states(files("1"), applied("1", "2")) == [("1", "applied"), ("2", "ahead")]


def test_an_edited_file_is_refused_with_both_checksums() -> None:
    """The message has the recorded checksum and that of the file."""
    [error] = errors([migration("1", "v1:sha256:b")], applied("1"))
    assert (error.code, error.exit_code) == ("CHECKSUM_MISMATCH", 3)
    assert "v1:sha256:a" in error.message
    assert "v1:sha256:b" in error.message
    assert states([migration("1", "v1:sha256:b")], applied("1")) == [("1", "changed")]


def test_a_failed_file_may_be_edited_and_is_pending_again() -> None:
    """`check_resumes` finds edits of the statements that are done."""
    assert pending([migration("1", "v1:sha256:b")], applied("1", state="failed")) == ["1"]


def test_an_unknown_outcome_comes_before_everything() -> None:
    """The error has exit code 6 and the statement; `status` shows the same state."""
    history = applied("1", state="unknown")
    [error] = errors(files("1", "2"), history)
    assert (error.code, error.exit_code, error.data["statement_index"]) == ("OUTCOME_UNKNOWN", 6, 1)
    assert states(files("1", "2"), history) == [("1", "unknown"), ("2", "pending")]


def test_all_disagreements_are_reported_at_once() -> None:
    """One run reports an edited and a missing file together."""
    found = errors([migration("1", "v1:sha256:b"), *files("3")], applied("1", "2"))
    assert [error.code for error in found] == ["CHECKSUM_MISMATCH", "MIGRATION_MISSING"]
