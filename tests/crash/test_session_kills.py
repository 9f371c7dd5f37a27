"""Runs killed at every step of a file with USE and SET, whose names mean tables of two namespaces: no row goes to the wrong one."""

from __future__ import annotations

import signal
import uuid

import pytest

from tests.crash.shop import Shop, SnowShop, SparkShop
from tests.crash.test_kill_matrix import BEDS, on
from tests.support.project_folder import ProjectFolder

# By the kind of shop: the number of steps of the path.
STEPS = {"snowflake": 38, "sql": 44, "iceberg": 46}


class _TwoTables(Shop):
    """A shop whose file writes into two tables of one name."""

    other: str  # The namespace of the other table.
    use = "USE"

    def add_other(self) -> None:
        self.other = f"{self.table.partition('.')[0]}.O{uuid.uuid4().hex[:8].upper()}"
        session = self._bed.executor.open_session()
        session.execute(f"CREATE SCHEMA {self.other}")
        session.execute(f"CREATE TABLE {self.other}.t (a INT){self.using}")

    def write_files(self, at: str) -> None:
        question = self.slow if at.startswith("inside") else "SELECT {}"
        values = [f"INSERT INTO t {question.format(value)}" for value in (1, 10, 11, 2)]
        home = self.table.removesuffix(".t")
        there, here = f"{self.use} {self.other}", f"{self.use} {home}"
        self.project.file("1_two.sql", ";\n".join([there, values[0], here, values[1], values[2], there, values[3]]))

    def answer(self) -> None:
        """Repair by what the tables hold. Whether a USE took effect is no matter: it counts as done."""
        [case] = self.load().repair(spark=self.session)[0].cases
        value = {2: 1, 4: 10, 5: 11, 7: 2}.get(case.statement_index or 0)
        is_done = value is None or value in (*self.rows, *self.other_rows)
        self.load().repair(
            ["1"], as_="done" if is_done else "not-done", reason="seen", engine_stopped=True, spark=self.session
        )

    @property
    def other_rows(self) -> list[int]:
        return sorted(row[0] for row in self._bed.rows(f"SELECT a FROM {self.other}.t"))


class _SnowTables(_TwoTables, SnowShop):
    use = "USE SCHEMA"


class _SparkTables(_TwoTables, SparkShop):
    pass


KILLS = [(bed, f"inside:{number}") for bed in STEPS for number in (5, 4, 2, 7)]
KILLS += [(bed, str(step)) for bed in STEPS for step in range(1, STEPS[bed] + 1)]


@pytest.mark.parametrize(("bed", "at"), [pytest.param(*kill, marks=on(kill[0])) for kill in KILLS])
def test_killed_anywhere_each_row_goes_to_the_table_that_the_file_means(
    bed: str, at: str, project: ProjectFolder, request: pytest.FixtureRequest
) -> None:
    """The file selects one namespace, the other one, and the first again; the rest of it runs in the namespace where it stopped."""
    made = request.getfixturevalue(BEDS[bed])
    shop = _SnowTables(made, project, "60s") if bed == "snowflake" else _SparkTables(made, project, bed, "60s")
    shop.add_other()
    run = shop.start(at, "SIGKILL")
    stderr = run.communicate(timeout=600)[1]
    assert run.returncode == -signal.SIGKILL, stderr
    shop.end_lease()
    shop.finish()
    assert (shop.other_rows, shop.rows) == ([1, 2], [10, 11])
