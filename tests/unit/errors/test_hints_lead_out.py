"""Every hint of an error is followed as it is printed: no hints lead in a circle, and some way leads to a catalog that migrates."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import click
import pytest

from glacierbase.cli.group import cli
from glacierbase.errors import StatementRefused
from tests.support.fakes import lost_answer
from tests.support.lakes import ENVIRONMENTS, Lakes, printed_commands
from tests.support.project_folder import Output, ProjectFolder
from tests.support.repository import commit_all, git, set_author

MIGRATE = "migrate --env prod --catalog shop"
THREE = "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2)"
READING = frozenset({"show", "status", "pending", "plan", "history", "doctor", "validate", "explain", "rules"})
MOST_STEPS = 8
# Commands of other programs in hints.
_OF_FILES = re.compile(r"`((?:git -C \S+ )?mv [^`]+)`|(git -C \S+ (?:mv|checkout) [^;`\n]+)")
# Edits: a line of a catalog file, a line of a migration, the name of a header, an option.
_KEY = re.compile(r"write `([^`]+)` into the catalog file of (\w+)")
_HEADER = re.compile(r"(migrations/\S+?\.sql), line \d+: [^\n]*\n *next: write above the SQL: (--[^\n]+)")
_NAME = re.compile(r"(migrations/\S+?\.sql), line \d+: unknown header (\w+)\n *next: did you mean (\w+)\?")
_OPTION = re.compile(r"use (--env \w+)|add (--[\w-]+(?: '[^']*'| NAME)?)|(--force) takes")
# A command that shows what a person needs for an edit.
_INFORMS = re.compile(r"\(`([^`]+)` (?:prints|shows)")
# What only a person can do, alone or before a command.
_BY_HAND = re.compile(
    r"(?:restore statement|restore the history)|(?:remove the cause|restore access)[^`;]* run `([^`]+)`"
)


@dataclass
class Situation:
    """What goes wrong, and the command that says so.

    Attributes:
        arrange: makes the situation in the project.
        command: fails, or warns.
        cure: what a person does where a hint says "remove the cause" or "restore"; None if that is not possible.
        more: of the catalog files.
        environments: those in which nothing is blocked at the end.
    """

    arrange: Callable[[Lakes], None]
    command: str = MIGRATE
    cure: Callable[[Lakes], None] | None = None
    more: str = ENVIRONMENTS
    environments: tuple[str, ...] = ("prod",)


@dataclass(frozen=True)
class Way:
    """Something that a hint says: a command of glacierbase, one of another program, or an edit."""

    label: str
    run: Callable[[], Output]


def applied(lakes: Lakes, name: str = "0002_b.sql", sql: str = "SELECT 1", environments: str = "dev prod") -> None:
    lakes.project.file(name, sql)
    for environment in environments.split():
        done = lakes.run(f"migrate --env {environment} --catalog shop")
        assert done.code == 0, done


def edit(lakes: Lakes) -> None:
    lakes.project.file("0001_a.sql", "CREATE TABLE other (a INT)")


def delete(lakes: Lakes) -> None:
    applied(lakes)
    commit_all(lakes.project.root)
    (lakes.project.root / "migrations/shop/0001_a.sql").unlink()


def delete_uncommitted(lakes: Lakes) -> None:
    applied(lakes)
    (lakes.project.root / "migrations/shop/0002_b.sql").unlink()
    applied(lakes, "0003_c.sql", environments="")


def delete_newest(lakes: Lakes) -> None:
    applied(lakes)
    (lakes.project.root / "migrations/shop/0002_b.sql").unlink()


def come_late(lakes: Lakes) -> None:
    applied(lakes, "0003_c.sql")
    lakes.project.file("0002_b.sql", "CREATE TABLE late (a INT)")


def branches(lakes: Lakes) -> Iterator[str]:
    """Make two branches that add a file of the same version, and yield each when it is to be merged."""
    root = lakes.project.root
    for branch in ("one", "two"):
        git(root, "switch", "-qc", branch, "main")
        lakes.project.file(f"0002_{branch}.sql", f"CREATE TABLE {branch} (a INT)")
        commit_all(root, branch)
    git(root, "switch", "-q", "main")
    for branch in ("one", "two"):
        yield branch
        git(root, "merge", "-q", "--no-ff", "-m", branch, branch)


def merge(lakes: Lakes) -> None:
    assert [*branches(lakes)] == ["one", "two"]


def merge_applied(lakes: Lakes) -> None:
    """The first of the two files is applied before the second is merged."""
    for branch in branches(lakes):
        if branch == "two":
            applied(lakes, "0002_one.sql", "CREATE TABLE one (a INT)")


def merge_applied_in_branch(lakes: Lakes) -> None:
    """One environment has applied the file of the second branch."""
    for branch in branches(lakes):
        if branch == "one":
            git(lakes.project.root, "switch", "-q", "two")
            assert lakes.run("migrate --env dev --catalog shop").code == 0
            git(lakes.project.root, "switch", "-q", "main")


def refuse(lakes: Lakes) -> None:
    lakes.project.file("0002_b.sql", THREE.replace("t VALUES (1)", "nowhere VALUES (1)"))


def make_nowhere(lakes: Lakes) -> None:
    for environment in ("dev", "prod"):
        lakes.place(environment).engine.rows("CREATE TABLE IF NOT EXISTS nowhere (a INT)")


def refuse_first(lakes: Lakes) -> None:
    lakes.project.file("0002_b.sql", "INSERT INTO nowhere VALUES (1)")


def lose(lakes: Lakes) -> None:
    lakes.project.file("0002_b.sql", THREE)
    lakes.place("prod").engine.before = lambda sql: lost_answer() if "VALUES (1)" in sql else None


def lose_history(lakes: Lakes) -> None:
    """The history table does not answer once the first statement has run."""
    prod = lakes.place("prod")
    lakes.project.catalog((lakes.project.root / "catalogs/shop.yaml").read_text() + "store: {lockLease: 1s}\n")
    lakes.project.file("0002_b.sql", THREE)
    begun = len(prod.events()) + 1
    prod.store_before = lambda verb: lost_answer() if verb == "append" and len(prod.events()) >= begun else None


def hold(lakes: Lakes, seconds: int = 3600) -> None:
    """A process on another host held the lock when it died."""
    lakes.project.file("0002_b.sql", "SELECT 1")
    locks = lakes.place("prod").tables.locks
    at = datetime.now(timezone.utc) + timedelta(seconds=seconds)
    locks["shop"] = replace(locks["shop"], owner="other", fence=9, expires_at=at, holder="{}")


def share(lakes: Lakes) -> None:
    """The history that prod reads is the one of dev."""
    lakes.project.file("0002_b.sql", "SELECT 1")
    lakes.places["prod"] = lakes.places["dev"]


def rename(lakes: Lakes) -> None:
    for folder in ("catalogs/{}.yaml", "migrations/{}"):
        (lakes.project.root / folder.format("shop")).rename(lakes.project.root / folder.format("store"))


def withdraw(lakes: Lakes) -> None:
    """The file is applied in dev, and its first statement failed in prod."""
    applied(lakes, environments="dev")

    def refuse(sql: str) -> None:
        if sql == "SELECT 1":
            raise StatementRefused("X", "no")

    lakes.place("prod").engine.before = refuse
    assert lakes.run(MIGRATE).code == 1


def misspell(lakes: Lakes) -> None:
    path = lakes.project.file("0002_b.sql", "SELECT 1")
    path.write_text(path.read_text().replace("MIGRATION_AUTHOR", "MIGRATION_AUTHER"))


def shorten(lakes: Lakes) -> None:
    path = lakes.project.file("0002_b.sql", "SELECT 1")
    path.write_text(path.read_text().replace("MIGRATION_DESCRIPTION", "MIGRATION_DESC"))


def leave_out(lakes: Lakes) -> None:
    lakes.project.file("0002_b.sql", "SELECT 1").write_text("SELECT 1")


def repeat(lakes: Lakes) -> None:
    """A repeatable changes that cannot run twice."""
    applied(lakes, "repeatable/r.sql", "CREATE VIEW v AS SELECT 1")
    lakes.project.file("repeatable/r.sql", "CREATE VIEW v AS SELECT 2")


def drop_view(lakes: Lakes) -> None:
    for environment in ("dev", "prod"):
        lakes.place(environment).engine.rows("DROP VIEW IF EXISTS v")


def repeat_deleted(lakes: Lakes) -> None:
    applied(lakes, "repeatable/r.sql", "CREATE VIEW v AS SELECT 1")
    (lakes.project.root / "migrations/shop/repeatable/r.sql").unlink()


def edit_done(lakes: Lakes) -> None:
    """A statement that is done is edited in a failed file."""
    refuse(lakes)
    assert lakes.run(MIGRATE).code == 1
    lakes.project.file("0002_b.sql", THREE.replace("(a INT)", "(a INT, b INT)"))


def restore_done(lakes: Lakes) -> None:
    refuse(lakes)
    make_nowhere(lakes)


def lose_lock(lakes: Lakes) -> None:
    """The lock knows of events that the history lacks."""
    locks = lakes.place("prod").tables.locks
    locks["shop"] = replace(locks["shop"], head_sequence=52)


def find_history(lakes: Lakes) -> None:
    place = lakes.place("prod")
    place.tables.locks["shop"] = replace(place.tables.locks["shop"], head_sequence=len(place.events()))


def double(lakes: Lakes) -> None:
    tables = lakes.place("prod").tables
    tables.rows["shop"] = (tables.locks["shop"],) * 2


SITUATIONS = {
    "an edited file": Situation(edit),
    "an edited file that is shown": Situation(edit, "show 0001 --env prod --catalog shop"),
    "a missing file": Situation(delete),
    "a missing file that is shown": Situation(delete, "show 0001 --env prod --catalog shop"),
    "a missing file that git does not have": Situation(delete_uncommitted),
    "a newest file that is missing": Situation(delete_newest),
    "a newest file that is missing and shown": Situation(delete_newest, "show 0002 --env prod --catalog shop"),
    "a late file": Situation(come_late),
    "a late file that is shown": Situation(come_late, "show 0002 --env prod --catalog shop"),
    "two merged files of one version": Situation(merge),
    "a merged file beside an applied one": Situation(merge_applied),
    "a merged file that its branch applied": Situation(merge_applied_in_branch, environments=("dev", "prod")),
    "a failed statement": Situation(refuse, cure=make_nowhere),
    "a failed first statement": Situation(refuse_first, cure=make_nowhere),
    "an unknown statement": Situation(lose),
    "a history that does not answer": Situation(lose_history, cure=lambda lakes: None),
    "a lock of a dead process": Situation(hold),
    "an expired lock of a dead process": Situation(lambda lakes: hold(lakes, -1)),
    "a history of another environment": Situation(share, environments=("dev",)),
    "a renamed catalog": Situation(rename, "migrate --env prod"),
    "a version that is applied elsewhere": Situation(
        withdraw, "repair 0002 --as withdrawn --reason why --yes --catalog shop"
    ),
    "a misspelt header": Situation(misspell),
    "a shortened header": Situation(shorten),
    "missing headers": Situation(leave_out),
    "a repeatable that changed": Situation(repeat, cure=drop_view),
    "a repeatable that is missing": Situation(repeat_deleted),
    "a repeatable that is missing and shown": Situation(repeat_deleted, "show r --env prod --catalog shop"),
    "an edited statement that is done": Situation(edit_done, cure=restore_done),
    "a lost history": Situation(lose_lock, cure=find_history),
    "a doubled lock": Situation(double),
    "no environment": Situation(edit, "repair 0001 --as edited", more="environments: {dev: {}, prod: {}}\n"),
    "no catalog": Situation(edit, "repair 0001 --as edited --reason why --env prod"),
    "an unknown version": Situation(lambda lakes: None, "show 0070 --env prod --catalog shop"),
    "no reason": Situation(edit, "repair 0001 --as edited --env prod --catalog shop"),
    "a protected environment": Situation(
        lambda lakes: lakes.project.file("0002_b.sql", "SELECT 1") and None,
        MIGRATE,
        more="environments: {dev: {}, prod: {protected: true}}\ndefaultEnvironment: dev\n",
    ),
}


class World:
    """A project whose files, histories, locks and tables can be brought back to an earlier state."""

    def __init__(self, project: ProjectFolder, patch: pytest.MonkeyPatch, situation: Situation) -> None:
        self.lakes, self._situation = Lakes(project, patch, situation.more), situation
        self._folder, self._copies = project.root.parent / "copies", 0
        self._folder.mkdir()
        git(project.root, "init", "-q", "-b", "main", "--template=")
        set_author(project.root)
        project.file("0001_a.sql", "CREATE TABLE a (a INT)")
        project.file("0001_a.sql", "CREATE TABLE web_a (a INT)", "web")
        for environment in ("dev", "prod"):
            assert self.lakes.run(f"migrate --env {environment} --yes").code == 0
        commit_all(project.root)

    def start(self) -> Output:
        """Make the situation, and return what its command prints; no fault is left afterwards."""
        self._situation.arrange(self.lakes)
        output = self._run(self._situation.command)
        for place in self.lakes.places.values():
            place.store_before = place.engine.before = lambda _: None
        return output

    def end(self) -> Output:
        """Return the first error of a command that ends without one where nothing is blocked."""
        for command in ("validate", *(f"migrate --env {name} --yes" for name in self._situation.environments)):
            output = self._run(command)
            if output.code:
                break
        return output

    def _run(self, command: str) -> Output:
        self._last = command
        return self.lakes.paste(command) if command.startswith("glacierbase ") else self.lakes.run(command)

    def saved(self) -> Callable[[], None]:
        """Return what brings the present state back."""
        root, self._copies = self.lakes.project.root, self._copies + 1
        copy = self._folder / str(self._copies)
        shutil.copytree(root, copy)
        saved = []
        for place in {id(place): place for place in self.lakes.places.values()}.values():
            database = sqlite3.connect(":memory:")
            place.engine.connection.backup(database)
            tables = place.tables
            histories = {name: [*events] for name, events in tables.histories.items()}
            saved.append((place, database, histories, dict(tables.locks), dict(tables.rows)))

        def restore() -> None:
            shutil.rmtree(root)
            shutil.copytree(copy, root)
            for place, database, histories, locks, rows in saved:
                database.backup(place.engine.connection)
                place.tables.histories = {name: [*events] for name, events in histories.items()}
                place.tables.locks, place.tables.rows = dict(locks), dict(rows)

        return restore

    def state(self) -> str:
        """Return a digest of what a command may change: files, events, and who holds the locks."""
        root = self.lakes.project.root
        files = {
            str(path): path.read_bytes() for path in root.rglob("*.*") if path.is_file() and ".git" not in path.parts
        }
        tables = [place.tables for place in self.lakes.places.values()]
        events = [(name, len(events)) for table in tables for name, events in table.histories.items()]
        locks = [(name, row.owner, row.fence) for table in tables for name, row in table.locks.items()]
        return hashlib.sha256(repr((files, events, locks)).encode()).hexdigest()

    def ways(self, output: Output) -> list[Way]:
        """Return what the hints of an output say."""
        text, cure = f"{output.stdout}\n{output.stderr}", self._situation.cure
        by_hand = _BY_HAND.findall(text)
        ways = [Way("restore", partial(self._cured, cure))] if cure and "" in by_hand else []
        for line in printed_commands(text):
            if line in by_hand:
                ways += [Way(line, partial(self._cured, cure, line))] if cure else []
            elif not line.startswith("glacierbase explain"):
                ways.append(Way(line, partial(self._pasted, line)))
        others = [found[0] or found[1] for found in _OF_FILES.findall(text)]
        ways += [Way(line, partial(self._shell, line)) for line in others]
        return [*ways, *self._edits(text)]

    def _cured(self, cure: Callable[[Lakes], None], line: str = "") -> Output:
        cure(self.lakes)
        return self._pasted(line) if line else Output(0, "", "")

    def _pasted(self, line: str) -> Output:
        """Run a command as printed; a person writes the reason in place of `…`."""
        return self._run(line.replace("…", "a reason"))

    def _shell(self, line: str) -> Output:
        done = subprocess.run(shlex.split(line), capture_output=True, text=True, check=False)
        return Output(done.returncode, "", done.stderr)

    def _edits(self, text: str) -> Iterator[Way]:
        root = self.lakes.project.root
        for line, name in _KEY.findall(text):
            yield Way(line, partial(edited, root / f"catalogs/{name}.yaml", r"\Z", f"{line}\n"))
        for path, line in _HEADER.findall(text):
            yield Way(line, partial(edited, root / path, r"\A", f"{line}\n"))
        for path, name, other in _NAME.findall(text):
            yield Way(other, partial(edited, root / path, name, other))
        for found in _OPTION.findall(text):
            option = "".join(found).replace("NAME", "prod" if "--env" in "".join(found) else "shop")
            line = re.sub(r" --env \w+", "", self._last) if option.startswith("--env") else self._last
            yield Way(f"{line} {option}", partial(self._run, f"{line} {option}"))


def edited(path: Path, pattern: str, text: str) -> Output:
    """Write a text in place of another one in a file."""
    path.write_text(re.sub(pattern, text, path.read_text()))
    return Output(0, "", "")


def is_reading(label: str) -> bool:
    """Return whether a command only reads: what it prints is followed, too."""
    words = label.split()
    return words[0] == "glacierbase" and (words[1] in READING or (words[1] == "repair" and "--as" not in words))


def check_parses(line: str) -> None:
    program, name, *arguments = shlex.split(line)
    assert program == "glacierbase"
    with suppress(click.exceptions.Exit):  # `--help`
        cli.commands[name].make_context(name, arguments).close()


class Walk:
    """The ways through the hints of a situation.

    Attributes:
        ends: the ways that lead to a catalog on which nothing is blocked.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._followed: set[tuple[str, str]] = set()
        self.ends: list[tuple[str, ...]] = []

    def on(self, output: Output, path: tuple[tuple[str, str], ...] = ()) -> None:
        """Follow all hints of an output that a path led to."""
        labels = tuple(label for label, _ in path)
        assert len(path) < MOST_STEPS, labels
        ways = self._world.ways(output)
        assert ways or not output.code, (labels, output)
        restore, before = self._world.saved(), self._world.state()
        informing = _INFORMS.findall(output.stderr)
        for way in ways:
            assert (way.label, before) not in path, (*labels, way.label)
            if (way.label, before) in self._followed:
                continue
            self._followed.add((way.label, before))
            if way.label.startswith("glacierbase "):
                check_parses(way.label)
            after = way.run()
            if way.label in informing:
                assert after.code == 0
                continue
            step = (*path, (way.label, before))
            if after.code == 0 and not (is_reading(way.label) and self._world.ways(after)):
                after = self._world.end()
                if after.code == 0:
                    self.ends.append((*labels, way.label))
            if after.code or is_reading(way.label):
                self.on(after, step)
            restore()


def test_an_environment_that_applied_a_renamed_file_runs_the_one_that_kept_its_version(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edited version could be accepted; the other file would never run there. `rebase` says what is right in both."""
    world = World(project, monkeypatch, SITUATIONS["a merged file that its branch applied"])
    world.start()
    rebased = world.lakes.run("rebase --catalog shop")
    [move] = [found[0] for found in _OF_FILES.findall(rebased.stdout) if found[0]]
    subprocess.run(shlex.split(move), check=True)
    done = world.end()
    while done.code:
        line = next(line for line in printed_commands(done.stderr) if " repair " in line and "explain" not in line)
        assert world.lakes.paste(line.replace("…", "why"), "--yes").code == 0
        done = world.end()
    for environment in ("dev", "prod"):
        tables = world.lakes.place(environment).engine.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
        assert {("one",), ("two",)} <= set(tables)


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_hint_leads_out(name: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is run as it is printed, and so are the hints of what it prints; none comes twice in the same state."""
    world = World(project, monkeypatch, SITUATIONS[name])
    walk = Walk(world)
    walk.on(world.start())
    assert walk.ends
