"""Join files and history: one item for each version and each repeatable, with its file, its record and its state. Pure.

The next steps for each state are written here, for `show` and for the hints of errors. What an error knows beyond the item, such as
the command that restores a file, is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glacierbase.errors import HistoryDisagrees
from glacierbase.history.records import History, Record
from glacierbase.history.squashes import resolve_squashes
from glacierbase.model.command import command, git_command, repair_as
from glacierbase.model.migration import Event, Identified, Key, Migration, Squashed, State
from glacierbase.model.text import numbered

# The last words about a statement whose outcome is unknown.
UNTIL_SETTLED = "nothing runs on this catalog until that is settled"


@dataclass(frozen=True, slots=True)
class Item(Identified):
    """One version, or one repeatable.

    Attributes:
        version: None for a repeatable, which has a name.
        file: None where it is gone. Where a squash replaces it, without text, or with the text from before the squash.
        record: None where it was never started.
        state: as `status` shows it.
        replaced_by: the version of the squash that replaces the file, here or in the history; empty where none does.
        error: why nothing can run: the squash of the files and that of the history do not agree on it.
    """

    version: str | None
    name: str | None
    file: Migration | None
    record: Record | None
    state: State
    replaced_by: str = ""
    error: HistoryDisagrees | None = None

    @property
    def source(self) -> Migration | Event:
        """What describes it: its file; without one, the event of its last start."""
        return self.file or self.recorded.started

    @property
    def path(self) -> str | None:
        """The path of its file relative to the project, now or at its last start."""
        return self.file.location if self.file else self.recorded.started.path

    @property
    def recorded(self) -> Record:
        """Its record, where it is known to have one: without a file, it does."""
        assert self.record is not None
        return self.record

    @property
    def is_settled(self) -> bool:
        """Whether it is applied or abandoned, with whatever file."""
        return self.record is not None and self.record.is_settled

    @property
    def is_lost(self) -> bool:
        """Whether its file is gone, no person accepted that, and no run is applying it."""
        return self.file is None and not self.recorded.is_removed and self.state is not State.RUNNING

    @property
    def resumes_at(self) -> int:
        """The statement, from 1, at which a run begins it or continues it."""
        return 1 if self.record is None or self.state is State.PENDING else self.record.statements_done + 1

    @property
    def squashes(self) -> tuple[Squashed, ...]:
        """The files that it replaces, where it is a squash."""
        source = self.record or self.file
        return source.squashes if source else ()


def items(
    files: Sequence[Migration], repeatables: Sequence[tuple[Migration, str | None]], history: History
) -> Mapping[Key, Item]:
    """Return all items by key, in the order in which they run; repeatables without a file come last.

    Args:
        files: those with a version.
        repeatables: in their order, each with the checksum of its rendered text; None where it does not render.
    """
    known: dict[Key, Item] = {item.number: item for item in version_items(files, history)}
    for file, rendered in repeatables:
        record = history.records.get(file.name)
        known[file.name] = _item(file, record, _repeatable_state(record, rendered))
    gone = (record for key, record in history.records.items() if key not in known)
    for record in sorted(gone, key=lambda record: record.name):
        known[record.name] = _item(None, record, _state_without_file(record))
    return known


def version_items(files: Sequence[Migration], history: History) -> tuple[Item, ...]:
    """Return the items of the versions, in their order."""
    here = resolve_squashes(files, history)
    by_number = {file.number: file for file in here.migrations}
    newest = max(by_number, default=-1)
    known = []
    for number in sorted({*by_number, *(record.number for record in history.versions)}):
        file, record = by_number.get(number), history.records.get(number)
        state = _state(file, record, newest, history)
        known.append(_item(file, record, state, here.replaced_by.get(number, ""), here.errors.get(number)))
    return tuple(known)


def _item(
    file: Migration | None,
    record: Record | None,
    state: State,
    replaced_by: str = "",
    error: HistoryDisagrees | None = None,
) -> Item:
    source = file or record
    assert source is not None
    return Item(source.version or None, source.identity.get("name"), file, record, state, replaced_by, error)


def _state(file: Migration | None, record: Record | None, newest: int, history: History) -> State:
    """Return the state of a version.

    Args:
        newest: the highest version of the files.
    """
    if record is None:
        assert file is not None
        is_late = file.number < history.newest and file.number not in history.jumped_over
        return State.OUT_OF_ORDER if is_late else State.PENDING
    if file is None:
        state = _state_without_file(record)
        return State.AHEAD if state is State.MISSING and record.number > newest else state
    return State.CHANGED if record.is_settled and record.last.checksum != file.checksum else record.state


def _repeatable_state(record: Record | None, rendered: str | None) -> State:
    """Return the state of a repeatable, by the checksum of its rendered text: applied or abandoned, it may have to run again."""
    if record is None:
        return State.PENDING
    is_other = rendered is not None and record.last.rendered_checksum != rendered
    # What was made may be gone where its file had been deleted on purpose.
    return State.PENDING if record.is_settled and (is_other or record.is_removed) else record.state


def _state_without_file(record: Record) -> State:
    """Return the state of a version or repeatable whose file is gone."""
    is_open = record.state in (State.UNKNOWN, State.RUNNING)
    return record.state if is_open or record.is_removed else State.MISSING


def next_step(item: Item, obstacle: str = "") -> str:
    """Return the next steps for an item; empty where there is nothing to do. `obstacle` as for `after_failure`."""
    label, pending = item.label, f"`{command('pending')}`"
    is_withdrawn = item.record is not None and item.record.is_withdrawn
    if item.state is State.FAILED:
        return after_failure(item, item.resumes_at, item.recorded.statements_total, obstacle)
    if item.state in (State.MISSING, State.AHEAD):
        shown = git_command("log", "--all", "--", item.path or "")
        return without_file(label, f"restore the file (`{shown}` shows who had it)")
    if is_withdrawn and item.state is State.CHANGED:
        return f"{pending} prints the command that gives the file a newer version"
    steps = {
        State.PENDING: f"`{command('migrate')}` applies it",
        State.RUNNING: "a run is applying it",
        State.ABANDONED: "delete the file if it is still here" if is_withdrawn else "",
        State.INTERRUPTED: after_interrupt(),
        State.WAITING: f"`{command('migrate')}` asks again whether the file may go on",
        State.UNKNOWN: f"{after_lost_answer(label)}; {UNTIL_SETTLED}",
        State.CHANGED: after_edit(label, "restore the file"),
        State.OUT_OF_ORDER: out_of_order(label, f"{pending} prints the command that gives it a newer version"),
    }
    return steps.get(item.state, "")


def after_failure(what: Identified, first: int, total: int, obstacle: str = "") -> str:
    """Return the next steps for a file whose statement failed.

    Args:
        first: the first statement that is not done, of `total`.
        obstacle: why a version cannot continue in another session, as a clause; empty where it can.
    """
    if obstacle:
        return f"{ending(what.label, first, total)}: {obstacle}, so that this file cannot continue"
    again = f"remove the cause and run `{command('migrate')}` again: it continues at statement {first}"
    abandoned = f"`{repair_as(what.label, 'abandoned')}`"
    if what.is_repeatable:
        return f"{again}; or correct the file, which then runs from its beginning; or {abandoned} (it runs again once it changes)"
    withdrawn = (
        f" `{repair_as(what.label, 'withdrawn')}` (if no environment has applied any of it: it ends in all of them); or"
    )
    return (
        f"{again}; or `{repair_as(what.label, 'done')}` (somebody completed it by hand); or{withdrawn if first == 1 else ''}"
        f" {abandoned} (the file ends here, the fix is a new one); or correct {numbered('statement', first, total)}"
        " where no other environment has applied the file"
    )


def ending(label: str, first: int, total: int) -> str:
    """Return the next steps for a version that cannot continue at its statement `first`."""
    return (
        f"`{repair_as(label, 'abandoned')}` ends the file here; put {numbered('statement', first, total)} into a new file,"
        " after the statements that set its session"
    )


def after_lost_answer(label: str, *, may_settle: bool = False) -> str:
    """Return the next steps for a statement whose outcome is unknown.

    Args:
        may_settle: whether `migrate` may settle it, because its table may prove the outcome.
    """
    shown = f"`{command('repair', label)}` shows the statement, the evidence of the engine, and the choices"
    if not may_settle:
        return shown
    again = f"run `{command('migrate', '--yes')}` again: it reads the table, and continues where"
    return f"{again} that proves the outcome; else {shown}"


def after_interrupt() -> str:
    """Return the next step for a run that stopped between two statements."""
    return f"run `{command('migrate')}` again: it continues where this run stopped"


def after_edit(label: str, restoring: str) -> str:
    """Return the next steps for an edited file; the first one restores it."""
    edited = f"an edit that is intended is accepted by `{repair_as(label, 'edited')}`"
    return f"{restoring}; put the change into a new migration; {edited}"


def without_file(label: str, restoring: str) -> str:
    """Return the next steps for a file that is gone; the first one restores it."""
    return f"{restoring}; a file that was deleted on purpose is accepted by `{repair_as(label, 'removed')}`"


def out_of_order(label: str, renaming: str) -> str:
    """Return the next steps for a file below a version that was started; the first one renames it."""
    return f"{renaming}, or run it as it is: `{command('migrate', '--allow-out-of-order', label)}`"
