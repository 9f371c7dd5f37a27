"""Pairs of environments in which the same files ran, and people changed tables by hand: `compare` is to report that alone.

`python -m tests.histories.pairs [BEGIN] [END]`: compare the pairs with these seeds, 0 to 200.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from pyiceberg.types import IntegerType, StructType

from glacierbase.capabilities.tables.compare.results import Cause, TableDifference
from glacierbase.errors import MigrationFailed
from tests.histories.generated import ALTERS, NAMESPACES, Sketch, Writer
from tests.histories.stage import Stage
from tests.histories.witness import Act, Table, Witness
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder

_MOST_STATEMENTS = 5
# A property that files set to a variable.
_VARIED = "team"
_BY_HAND = "hand"
_FACTS = ("type", "required", "comment")
# Kind and name of a part as `compare` names it.
Subject = tuple[str, str]
# What identifies a part through renames: table, kind, id.
Identity = tuple[str, str, int | str]


class Environment:
    """One environment, whose tables are read after each statement and each change by hand."""

    def __init__(self, name: str, project: ProjectFolder) -> None:
        folder = project.root / name
        folder.mkdir(parents=True)
        self.name = name
        self.stage = Stage(folder, name, project)
        self.stage.watch = lambda *_: self._look("migration")
        self._witness = Witness(self.stage.database)
        self._values: dict[Identity, Any] = {}
        self._last: dict[Identity, str] = {}
        # What people removed, by table.
        self._removed: set[tuple[str, Subject]] = set()
        for namespace in NAMESPACES:
            self.stage.client.create_namespace(namespace)

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by name."""
        return {table.name: table for table in self._witness.tables.values() if table.name}

    def migrate(self) -> None:
        with self.stage.running() as project:
            project.migrate()

    def change(self, act: Callable[[Any], None], table: str) -> None:
        """Change a table by hand."""
        before = dict(_parts(self.tables[table]))
        with suppress(ValueError):  # PyIceberg refuses any change of a schema with a name that a partition field has.
            act(self.stage.client.load_table(table.removeprefix("lake.")))
        self._look(_BY_HAND)
        self._removed |= {(table, subject) for subject in before.keys() - dict(_parts(self.tables[table])).keys()}

    def _look(self, origin: str) -> None:
        self._witness.look(Act(origin, None))
        values = {identity: value for table in self.tables.values() for identity, value in dict(_parts(table)).values()}
        self._last |= {
            identity: origin for identity, value in values.items() if self._values.get(identity, ...) != value
        }
        self._values = values

    def is_by_hand(self, table: str, subject: Subject) -> bool:
        """Return whether a person made a part as it is, or removed it."""
        part = dict(_parts(self.tables[table])).get(subject)
        return self._last[part[0]] == _BY_HAND if part else (table, subject) in self._removed


def _parts(table: Table) -> Iterator[tuple[Subject, tuple[Identity, Any]]]:
    """Yield the parts of a table, each with its identity and its value."""
    for (kind, key), value in table.parts.items():
        if kind == "column":
            path, (_, type_, required, comment) = table.names[kind, key], value
            facts = {"column": True, "type": type_, "required": required, "comment": comment}
            yield from (((what, path), ((table.uuid, what, key), fact)) for what, fact in facts.items())
        elif kind == "property":
            yield (kind, str(key)), ((table.uuid, kind, key), value)


class Pair:
    """Two environments of one project."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.project = ProjectFolder(folder / "project")
        text = LAKE.replace("WAREHOUSE", f"{self.project.root}/${{environment}}")
        variables = "{dev: {variables: {team: one}}, prod: {variables: {team: two}}}"
        direct = text.replace("type: spark\n", "type: spark\n  direct: auto\n", 1)
        self.project.catalog(f"{direct}environments: {variables}\n")
        self.dev, self.prod = (Environment(name, self.project) for name in ("dev", "prod"))
        self.prod.stage.stores = self.dev.stage.stores
        self.sketches: dict[str, Sketch] = {}
        self._version = 0
        self._acts = count(1)

    def compared(self) -> tuple[int, list[str]]:
        """Run the files, and compare. Return how many differences were made by hand, and what is reported otherwise."""
        for _ in range(self.chance.randint(2, 5)):
            self._write(Writer(self.chance, self.sketches))
            for environment in (self.dev, self.prod):
                environment.migrate()
                self._change(environment)
        is_behind = self.chance.random() < 0.4
        if is_behind:
            writer = Writer(self.chance, self.sketches)
            for table in self.sketches.values():
                self.chance.choice(ALTERS)(writer, table)
            self._write(writer)
            self.dev.migrate()
        for environment in (self.dev, self.prod):
            self._change(environment)
        with self.dev.stage.running() as project:
            [result] = project.compare(["dev", "prod"])
        reported: set[tuple[str, str, Subject]] = set()
        wrong: list[str] = []
        for table in result.tables:
            for told in table.differences:
                subject = (told.what, told.name)
                if told.cause is Cause.OUTSIDE:
                    reported.add((told.environment, table.table, subject))
                elif told.cause is Cause.UNEXPLAINED or not self._is_by_files(told, is_behind=is_behind):
                    wrong.append(f"{table.table} {subject}: {told.cause} {told.versions}")
        expected = set(self._expected())
        wrong += [f"not reported: {one}" for one in sorted(expected - reported)]
        for environment in (self.dev, self.prod):
            # Which column comes first follows from when it came.
            others = [
                one for one in reported - expected if one[0] == environment.name and one[2][0] != "order of columns"
            ]
            wrong += [f"reported: {one}" for one in sorted(others) if not environment.is_by_hand(*one[1:])]
        return len(expected), wrong

    def _is_by_files(self, told: TableDifference, *, is_behind: bool) -> bool:
        """Return whether files may make a difference: by a variable, or because one did not run in prod."""
        return (is_behind and told.cause is Cause.VERSIONS) or (told.cause is Cause.VARIABLES and told.name == _VARIED)

    def _write(self, writer: Writer) -> None:
        while not writer.file.statements:
            writer.write(_MOST_STATEMENTS, may_use=False)
        if self.sketches and self.chance.random() < 0.5:
            table = self.chance.choice(list(self.sketches.values()))
            writer.alter(table, f"SET TBLPROPERTIES ('{_VARIED}' = '{{{{ variables.team }}}}')")
        self._version += 1
        self.project.file(f"{self._version:04}_change.sql", writer.file.sql)

    def _change(self, environment: Environment) -> None:
        """Change some tables by hand, each to what nobody else makes of one."""
        for name in sorted(environment.tables):
            if self.chance.random() < 0.4:
                act = self.chance.choice((_add_column, _add_inside, _comment, _set_property))
                environment.change(partial(act, f"hand{next(self._acts)}"), name)

    def _expected(self) -> Iterator[tuple[str, str, Subject]]:
        """Yield the differences that people made, each with the environment and the table."""
        for name in self.dev.tables.keys() & self.prod.tables.keys():
            one, other = (dict(_parts(environment.tables[name])) for environment in (self.dev, self.prod))
            for what, part in one.keys() | other.keys():
                values = [parts[what, part][1] if (what, part) in parts else None for parts in (one, other)]
                is_alone = what in _FACTS and not one.keys() & other.keys() >= {("column", part)}
                if values[0] != values[1] and not is_alone:
                    for environment in (self.dev, self.prod):
                        if environment.is_by_hand(name, (what, part)):
                            yield environment.name, name, (what, part)


def _add_column(name: str, table: Any) -> None:
    with table.update_schema() as update:
        update.add_column(name, IntegerType())


def _add_inside(name: str, table: Any) -> None:
    structs = [field.name for field in table.schema().fields if isinstance(field.field_type, StructType)]
    with table.update_schema() as update:
        update.add_column((*structs[:1], name), IntegerType())


def _comment(text: str, table: Any) -> None:
    with table.update_schema() as update:
        update.update_column(table.schema().fields[-1].name, doc=text)


def _set_property(value: str, table: Any) -> None:
    with table.transaction() as transaction:
        transaction.set_properties({"k1": value})


if __name__ == "__main__":
    begin, end = map(int, sys.argv[1:3] or (0, 200))
    pairs, by_hand, failed, refused = 0, 0, 0, 0
    for seed in range(begin, end):
        with tempfile.TemporaryDirectory() as place:
            try:
                changes, lines = Pair(seed, Path(place)).compared()
            except MigrationFailed:  # A file that its table refuses.
                refused += 1
                continue
        pairs, by_hand, failed = pairs + 1, by_hand + changes, failed + bool(lines)
        sys.stdout.write("".join(f"seed {seed}: {line}\n" for line in lines))
        sys.stdout.flush()
    sys.stdout.write(
        f"{pairs} pairs, {by_hand} differences by hand: {failed} pairs wrong; {refused} ended by a refused file\n"
    )
    sys.exit(bool(failed))
