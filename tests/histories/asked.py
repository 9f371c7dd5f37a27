"""Run a generated history, and compare the answers of the commands with what the witness saw."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glacierbase.capabilities.tables.drift_files import DriftFileResult
from glacierbase.errors import ConfigurationError, GlacierbaseError, StatementRefused
from glacierbase.project.commands import COMMANDS
from glacierbase.project.each import folder_check
from glacierbase.project.project import Project
from tests.histories.generated import NAMESPACES, File, OtherClient, Sketch, Writer
from tests.histories.others import OtherQuestions, Records
from tests.histories.stage import Stage
from tests.histories.witness import Act, Part, Table, Witness
from tests.support.repository import commit_all, set_author

_STEPS = 9
_MOST_STATEMENTS = 5
_NAMED = re.compile(r"(?:\bTABLE(?: IF(?: NOT)? EXISTS)?| RENAME TO)( [\w.]+)")


@dataclass
class Answers:
    """What was asked, and the wrong answers.

    Attributes:
        unknown: how often the answer was that it is not recorded who made a change, by reason.
    """

    asked: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Answers) -> None:
        self.asked += other.asked
        self.unknown += other.unknown
        self.wrong += other.wrong


class Story:
    """One generated history while it is run.

    Attributes:
        catalog: the name of the catalog.
        acts: what a step may be.
        asks_others: whether `drift`, `history` and `show` are asked too.
    """

    catalog = "lake"
    asks_others = True

    def __init__(self, seed: int, folder: Path, stage: Callable[[Path], Stage] = Stage) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.stage = stage(folder)
        self.stage.catalog_file()
        self.witness = self._witness()
        self.other = self._client()
        for namespace in NAMESPACES:
            self.stage.client.create_namespace(namespace)
        self.stage.watch = self._watch
        self.answers = Answers()
        self.records = Records()
        self._others = OtherQuestions(self.witness, self.records, self._asked)
        # Chooses what is asked, so that the history does not depend on it.
        self._choice = random.Random(seed)
        self._runs = ""
        self.log: list[str] = []
        self._number = self._committed = 0
        self._files: dict[str, File] = {}
        self._begun: set[str] = set()
        # The UUIDs of the tables before the file that runs.
        self._existing: set[str] = set()
        # In the middle of which statements another client acts, and which statement is refused.
        self._disturbed: set[tuple[str, int, bool]] = set()
        self._refused: tuple[str, int] | None = None

    def _witness(self) -> Witness:
        return Witness(self.stage.database)

    def _client(self) -> OtherClient:
        return OtherClient(self.chance, self.stage.client)

    def _writer(self) -> Writer:
        tables = (table for table in self.witness.tables.values() if table.name)
        return Writer(
            self.chance, {table.name: Sketch.of(table.name, table.metadata) for table in tables if table.name}
        )

    @property
    def acts(self) -> Sequence[Callable[[Project], None]]:
        return (
            *(self._migrate,) * 8, *(self._disturb,) * 3, self._adopt, self._undo_drift, self._undo_file, self._squash,
        )  # fmt: skip

    def run(self) -> Answers:
        """Run the history, and ask after each step."""
        with self.stage.running() as project:
            if self.chance.random() < 0.2 and self.asks_others:
                self._baseline(project)
                self._ask(project)
            for _ in range(_STEPS):
                begun = set(self._begun)
                self.chance.choice(self.acts)(project)
                self._ask(project)
                if self.asks_others:
                    self._ask_others(project, self._begun - begun)
        return self.answers

    def _ask_others(self, project: Project, new: Collection[str]) -> None:
        self._others.drift(project)
        for version in sorted(new):
            self._others.show(project, version)

    def _baseline(self, project: Project) -> None:
        """Run files by hand, with changes that no file makes, and record them as applied."""
        session = self.stage.executor().open_session()
        for _ in range(self.chance.randint(1, 3)):
            version = self._write(disturbed=False)
            names = set().union(*self._files[version].names)
            self.witness.note()
            self.records.begin(self.witness, version, names)
            for statement in self._files[version].statements:
                session.execute(statement)
                self.witness.look(Act("migration", version))
            self.records.enter(self.witness, version, names)
            tables = [table.name for table in self.witness.tables.values() if table.name]
            if tables and self.chance.random() < 0.5:
                name = self.chance.choice(tables)
                self.chance.choice((self.other.add_column, self.other.set_property))(
                    name.removeprefix(f"{self.catalog}.")
                )
                self.witness.look(Act("baseline", version))
        project.baseline(f"{self._number:04}", reason="they are there", accept=["*"])
        self.witness.note()
        self._begun.update(self._files)
        for version in self._files:
            self.records.enter(self.witness, version, set().union(*self._files[version].names))
        for table in self.witness.tables.values():
            naming = [version for version, file in self._files.items() if table.name in set().union(*file.names)]
            for acts in (table.last, table.made):
                for part, act in acts.items():
                    if naming and act.origin == "baseline":
                        acts[part] = Act("baseline", naming[-1])

    def _adopt(self, project: Project) -> None:
        """Act as another client, and keep the changes by a migration."""
        if result := self._written_for_drift(project, project.drift_adopt):
            self._settled(result.version, result.path, result.tables)

    def _written_for_drift(
        self, project: Project, write: Callable[..., tuple[DriftFileResult, ...]]
    ) -> DriftFileResult | None:
        """Act as another client, and write migrations for the changes; None where none was written."""
        self._disturb(project)
        try:
            [result] = write(reason="on purpose", author="Test Team")
        except GlacierbaseError as error:
            self.log.append(f"  not settled: {error}".splitlines()[0])
            return None
        return result if result.path else None

    def _settled(self, version: str, path: str, tables: Sequence[str]) -> None:
        """A file was written and recorded as applied, with what another client had done to tables."""
        self.witness.note()
        self._number = int(version)
        self._files[version] = File(["adopted"], [{table.name for table in self.witness.tables.values() if table.name}])
        self._begun.add(version)
        self.records.enter(self.witness, version, tables)
        self.log.append(f"{version}: {(self.stage.project.root / path).read_text()}")
        for table in self.witness.tables.values():
            # What no statement does stays another client's.
            for acts in (table.last, table.made) if table.name in tables else ():
                acts |= {part: Act("migration", version) for part, act in acts.items() if act == Act("outside", None)}

    def _undo_drift(self, project: Project) -> None:
        """Act as another client, and undo the changes by a migration, after one that makes them."""
        if result := self._written_for_drift(project, project.drift_revert):
            recorded = Path(result.recorded).name.partition("_")[0]
            self._settled(recorded, result.recorded, result.tables)
            self._take(result.version, result.sql)
            self._run(project)

    def _undo_file(self, project: Project) -> None:
        """Write the inverse of a file, and run it."""
        versions = [version for version in self._begun if not self._files[version].statements[0].startswith("USE")]
        if not versions:
            return
        version = self.chance.choice(sorted(versions))
        folder = project.folder()
        write = COMMANDS["new"].load()
        try:
            result = write(
                project.root, folder, "undo it", catalog=None, author="Test Team", reverting=version,
                check=folder_check(project.root, folder),
            )  # fmt: skip
        except GlacierbaseError as error:
            self.log.append(f"  {version} not undone: {error}".splitlines()[0])
            return
        [path] = map(Path, result.files)
        self._take(f"{self._number + 1:04}", path.read_text())
        self._run(project)

    def _take(self, version: str, text: str) -> None:
        """Take a file that a command has written."""
        lines = [line for line in text.splitlines() if line and not line.startswith("--")]
        statements = [statement.strip() for statement in "\n".join(lines).split(";") if statement.strip()]
        self._number = int(version)
        names = ["".join(_NAMED.findall(statement)).split() for statement in statements]
        self._files[version] = File(statements, [set(map(self._whole, written)) for written in names])
        self.log += [f"{version}: {statement}" for statement in statements]

    def _whole(self, name: str) -> str:
        return name if name.count(".") > 1 else f"{self.catalog}.{name}"

    def _squash(self, project: Project) -> None:
        """Replace all files by one that creates the tables as they are."""
        if self._committed == self._number:
            return
        self._committed = self._number
        commit_all(self.stage.project.root)
        set_author(self.stage.project.root)
        try:
            project.squash(f"{self._number:04}", author="Test Team", commit=True)
            self.log.append(f"  squashed to {self._number:04}")
        except GlacierbaseError as error:
            self.log.append(f"  not squashed: {error}".splitlines()[0])

    def _disturb(self, project: Project) -> None:
        del project
        for _ in range(self.chance.randint(1, 2)):
            self._act(Act("outside", None))

    def _act(self, act: Act, names: set[str] = set()) -> None:  # noqa: B006 (not changed)
        self.other.act()
        changed = self.witness.look(act)
        for uuid, part in changed:
            table = self.witness.tables[uuid]
            self.log.append(f"  {act.origin} {act.version or ''}: {table.name} {table.names.get(part, part[0])}")

    def _migrate(self, project: Project) -> None:
        for _ in range(self.chance.choice((1, 1, 2))):
            self._write()
        self._run(project)

    def _run(self, project: Project) -> None:
        self._migrated(project)
        self._end()
        self.witness.note()

    def _end(self) -> None:
        """The file that runs has ended."""
        if self._runs:
            self.records.enter(self.witness, self._runs, set().union(*self._files[self._runs].names))
            self._runs = ""

    def _migrated(self, project: Project) -> None:
        try:
            project.migrate()
        except GlacierbaseError as error:
            self.log.append(f"  failed: {error}".splitlines()[0])
            refused, self._refused = self._refused, None
            is_refused = refused is not None and "[REFUSED]" in str(error)
            if refused and is_refused and self.chance.random() < 0.5 and self._complete(project, *refused):
                self._migrated(project)
                return
            version = f"{self._number:04}"
            states = {status.version: status.state for status in project.status()[0].migrations}
            failed = [version for version, state in states.items() if state in ("failed", "unknown", "interrupted")]
            for version in failed:
                project.repair([version], as_="abandoned", reason="no longer wanted")
            pending = [version for version, state in states.items() if state == "pending"]
            if pending:
                try:
                    project.migrate()
                except GlacierbaseError as again:
                    self.log.append(f"  failed again: {again}".splitlines()[0])
                    for version in pending:
                        if version in self._begun:
                            project.repair([version], as_="abandoned", reason="no longer wanted")

    def _complete(self, project: Project, version: str, index: int) -> bool:
        """Run a refused statement by hand, and record it as done; return whether it ran."""
        statements = self._files[version].statements
        if statements[0].startswith("USE"):
            return False
        try:
            self.stage.executor().open_session().execute(statements[index - 1])
        except GlacierbaseError:
            return False
        self.witness.look(Act("migration", version))
        project.repair([version], as_="done", reason="completed by hand")
        self.log.append(f"  {version}: statement {index} completed by hand")
        return True

    def _write(self, *, disturbed: bool = True) -> str:
        writer = self._writer()
        file = writer.write(_MOST_STATEMENTS, may_use=disturbed)
        self._number += 1
        version = f"{self._number:04}"
        self._files[version] = file
        self.stage.project.file(f"{version}_change.sql", file.sql)
        self.log += [f"{version}: {statement}" for statement in file.statements]
        if disturbed:
            for _ in range(self.chance.choice((0, 0, 0, 1, 1, 2))):
                index = self.chance.randint(1, len(file.statements))
                self._disturbed.add((version, index, self.chance.random() < 0.5))
            if self.chance.random() < 0.06:
                self._refused = version, self.chance.randint(1, len(file.statements))
        return version

    def _watch(self, version: str, index: int, is_done: bool) -> None:
        if not version:  # A statement by hand.
            return
        file = self._files[version]
        names = set().union(*file.names)
        if version not in self._begun:
            self._end()
            self._begun.add(version)
            self._runs = version
            self.records.begin(self.witness, version, names)
            self._observe(version, names)
            self.witness.note()
            self._existing = set(self.witness.tables)
        if is_done:
            self.witness.look(Act("migration", version))
        if (version, index, is_done) in self._disturbed:
            self._disturbed.discard((version, index, is_done))
            self.records.disturbed.add(version)
            before = {table.uuid for table in self.witness.tables.values() if table.name in names}
            new = [
                table.name for table in self.witness.tables.values() if table.uuid not in self._existing and table.name
            ]
            self.other.act({name.removeprefix(f"{self.catalog}.") for name in new})
            changed = self.witness.look(Act("during", version))
            for uuid, part in changed:
                table = self.witness.tables[uuid]
                is_in_file = uuid in before or table.name in names
                if is_in_file:
                    self.records.during[version].add(uuid)
                    self.records.by_version[version].add(uuid)
                when = f"{'after' if is_done else 'before'} statement {index}"
                self.log.append(f"  during {version}, {when}: {table.name} {table.names.get(part, part[0])}")
                if not is_in_file:
                    outside = Act("outside", None)
                    for acts in (table.last, table.made):
                        if acts.get(part) == Act("during", version):
                            acts[part] = outside
                    if table.gone == Act("during", version):
                        table.gone = outside
        if not is_done and self._refused == (version, index):
            raise StatementRefused("REFUSED", "the test refuses it")

    def _observe(self, version: str, names: set[str]) -> None:
        """A file begins: it observes what others did to its tables before."""
        for table in self.witness.tables.values():
            # A file also observes that a table has another name than before.
            if names.intersection(
                table.names_had[-2:] if table.last["table", ""] == Act("outside", None) else [table.name]
            ):
                for acts in (table.last, table.made):
                    for part, act in acts.items():
                        if act == Act("outside", None):
                            acts[part] = Act("outside", version)

    def _ask(self, project: Project) -> None:
        known = set().union(*(names for version in self._begun for names in self._files[version].names))
        for table in self.witness.tables.values():
            if table.name is not None and self._is_known(table):
                # No file names a table that another client has renamed: the history has its former names.
                names = [
                    name
                    for name in reversed(table.names_had)
                    if name in known and self.witness.named(name) in (None, table)
                ]
                if names or table.name in known:
                    self._blame(project, table, names)

    def _is_free(self, name: str, table: Table) -> bool:
        """Return whether no other table has a name."""
        return self.witness.named(name) in (None, table)

    def _is_known(self, table: Table) -> bool:
        """Return whether a file has named the table, under any name."""
        return any(act.version is not None for act in table.last.values())

    def _blame(self, project: Project, table: Table, names: Sequence[str]) -> None:
        results = []
        for name in names:
            with suppress(ConfigurationError):  # The history has the table under its other names.
                results += [(name, result) for result in project.blame(name)]
        named = [pair for pair in results if pair[1].table == table.name and not pair[1].dropped]
        name, result = named[0] if named else ("", None)
        if result is None:
            self._wrong(f"blame {names} ({table.name}): {[(result.table, result.dropped) for _, result in results]}")
            return
        said = {_key(line, table): line.since for line in result.lines_}
        parts = set(table.parts)
        if said.keys() != parts:
            self._wrong(f"blame {table.name}: parts {sorted(map(str, said.keys() ^ parts))}")
        for part in parts & said.keys():
            since, act = said[part], table.last[part]
            self.answers.asked += 1
            answer = Act(since.origin.value, since.version or since.seen_by)
            if answer.origin == "not recorded":
                self.answers.unknown[since.why] += 1
            elif (
                answer not in (act, table.before_undone.get(part))
                and not _is_of_catalog(part, answer)
                and not (
                    answer.origin == table.made[part].origin == "baseline"
                )  # A file only renames what no file declares.
            ):
                self._wrong(f"blame {table.name} {table.names.get(part, part[0])}: {answer}, not {act}")
        column = self._choice.choice([part for part in table.parts if part[0] == "column"])
        accepted = {table.last[column], table.before_undone.get(column, table.last[column]), table.made[column]}
        if self.asks_others:
            self._others.history(project, table, name, column, accepted)

    def _asked(self, wrong: str) -> None:
        self.answers.asked += 1
        if wrong:
            self._wrong(wrong)

    def _wrong(self, text: str) -> None:
        self.answers.wrong.append(f"seed {self.seed}, after {self._number:04}: {text}")


def _is_of_catalog(part: Part, answer: Act) -> bool:
    """Return whether a property that a catalog sets in new tables was found by `baseline`: no file declares it."""
    return part == ("property", "write.parquet.compression-codec") and answer.origin == "baseline"


def _key(line: Any, table: Table) -> Part:
    if line.kind in ("column", "partition"):
        ids = {name: part for part, name in table.names.items() if part[0] == line.kind}
        return ids.get(line.name, (line.kind, line.name))
    return line.kind, line.name if line.kind == "property" else ""
