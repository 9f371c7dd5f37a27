"""What is done in each cell with the real program, one scenario after the other on one table."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.matrix.cells import Cell
from tests.support.processes import wait_for_line
from tests.support.project_folder import Output, ProjectFolder

# Until an engine has received a statement whose start was logged.
_RECEIVED_SECONDS = 3
# Until a server has finished the statement of a killed client.
_FINISHED_SECONDS = 25


@dataclass(frozen=True)
class Place:
    """A project with the catalog file of a cell, and a table that does not exist yet."""

    project: ProjectFolder
    cell: Cell
    namespace: str

    def file(self, version: str, *statements: str) -> None:
        """Write a migration; the table's name replaces `{table}`."""
        names = {"namespace": f"{self.cell.sql.place}{self.namespace}"}
        names["table"] = f"{names['namespace']}.t"
        texts = [statement.format(**names) for statement in statements]
        self.project.file(f"{version}_scenario.sql", ";\n".join(texts))

    def has_rows(self, count: int) -> str:
        """Return the statement that fails where the table has another number of rows."""
        return self.cell.sql.counted.format(count, "{table}")

    def migrate(self, code: int = 0) -> Output:
        """Run `migrate`, which must end with that code."""
        done = self.project.ask("migrate", "--lock-timeout", "5m")
        assert done.code == code, done.stderr + done.stdout
        return done


def create(place: Place) -> None:
    """Create a table; afterwards nothing is pending."""
    place.file("0001", place.cell.sql.create)
    assert [file["version"] for file in place.migrate().entry()["applied"]] == ["0001"]
    pending = place.project.ask("pending")
    assert (pending.code, pending.entry()["pending"]) == (0, [])


def evolve(place: Place) -> None:
    """Add a column."""
    place.file("0002", place.cell.sql.evolve)
    assert [file["version"] for file in place.migrate().entry()["applied"]] == ["0002"]


def fail_and_resume(place: Place) -> None:
    """Refuse the second statement of a file; the corrected file is resumed there."""
    first, wrong = "INSERT INTO {table} VALUES (1, 'one', 10)", "INSERT INTO {table} VALUES (2, 'two', 20, 'too much')"
    place.file("0003", first, wrong)
    failed = place.migrate(code=1)
    assert failed.document["error"]["code"] == "STATEMENT_FAILED"
    place.file("0003", first, wrong.replace(", 'too much'", ""))
    [file] = place.migrate().entry()["applied"]
    assert (file["version"], file["resumed_at"]) == ("0003", 2)


def edited_file_refused(place: Place) -> None:
    """Refuse to run while an applied file differs from the history."""
    place.file("0002", f"{place.cell.sql.evolve} /* edited */")
    assert place.migrate(code=3).document["error"]["code"] == "CHECKSUM_MISMATCH"
    place.file("0002", place.cell.sql.evolve)


def race_of_four(place: Place) -> None:
    """Start four runs at once: one applies the file, and the others have nothing to do."""
    place.file("0004", "INSERT INTO {table} VALUES (4, 'four', 40)", place.has_rows(3))
    runs = [place.project.start("migrate", "--lock-timeout", "5m", "--format", "json") for _ in range(4)]
    done = [Output(0, *run.communicate(timeout=600)) for run in runs]
    assert [run.returncode for run in runs] == [0] * 4, [output.stderr for output in done]
    assert sorted(len(output.entry()["applied"]) for output in done) == [0, 0, 0, 1]


def kill_and_repair(place: Place) -> None:
    """Kill a run inside a statement; afterwards the statement has taken effect exactly once."""
    place.file("0005", f"INSERT INTO {{table}} {place.cell.sql.slow}", place.has_rows(4))
    run = place.project.start("migrate", "-v")
    wait_for_line(run, "0005_scenario.sql: statement 1 of 2 starts")
    time.sleep(_RECEIVED_SECONDS)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    if place.cell.finishes:
        time.sleep(_FINISHED_SECONDS)
    done = place.project.ask("migrate", "--lock-timeout", "5m")
    if done.code == 6:
        truth = "done" if place.cell.finishes else "not-done"
        settled = ("--reason", "the table was read", "--engine-stopped", "--yes")
        repaired = place.project.ask("repair", "0005", "--as", truth, *settled)
        assert repaired.code == 0, repaired.stderr + repaired.stdout
        done = place.migrate()
    assert done.code == 0, done.stderr + done.stdout
    assert [file["version"] for file in done.entry()["applied"]] == ["0005"]


def doctor(place: Place) -> None:
    """Pass every check of `doctor`."""
    done = place.project.ask("doctor")
    assert done.code == 0, done.stdout
    assert [check["name"] for check in done.entry()["checks"] if check["error"]] == []


SCENARIOS: Mapping[str, Callable[[Place], None]] = {
    "create": create,
    "evolve": evolve,
    "fail and resume": fail_and_resume,
    "edited file refused": edited_file_refused,
    "race of four": race_of_four,
    "kill and repair": kill_and_repair,
    "doctor": doctor,
}
