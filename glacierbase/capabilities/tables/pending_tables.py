"""The shape of a recorded table once the files that are pending have run, which no engine is needed for if they are plain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from glacierbase.errors import ConfigurationError, EngineError
from glacierbase.executors.direct.plain import why_not_plain
from glacierbase.history.items import version_items
from glacierbase.history.records import History
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.command import command
from glacierbase.model.shape import Shape
from glacierbase.model.text import counted
from glacierbase.record.timeline import timelines
from glacierbase.sql.file import FileStatement
from glacierbase.sql.statement import SessionEffect


@dataclass(frozen=True, slots=True)
class _Pending:
    """A statement of a pending file.

    Attributes:
        why: why its effect is not known without an engine, as a clause; None where it is.
    """

    file: Compiled
    named: FileStatement
    why: str | None

    def may_change(self, table: str) -> bool:
        """Return whether it may change a table."""
        wholes = [whole for _, whole in self.named.names]
        is_known = self.named.parsed.understood and None not in wholes
        moves = self.named.parsed.session is not SessionEffect.NONE and self.why is not None
        return not is_known or moves or table.casefold() in {whole.casefold() for whole in wholes if whole}


class PendingTables:
    """The tables of a catalog once its pending files have run on the recorded ones."""

    def __init__(self, target: CatalogRun, history: History) -> None:
        """Raises as `Target.compile` does."""
        self._target, self._history = target, history
        known = version_items(target.migrations, history)
        files = target.compile([file for item in known if (file := item.file) and not item.is_settled])
        self._statements = tuple(_statements(files, history))
        self._shapes: Mapping[str, Shape] | None = None

    def shape(self, recorded: Shape | None, table: str) -> Shape | None:
        """Return the shape of a table; None where it does not exist.

        Args:
            recorded: its shape by its last record.

        Raises:
            ConfigurationError: `NOT_MATCHABLE`: the effect of a pending file on it is not known.
        """
        changing = [statement for statement in self._statements if statement.may_change(table)]
        if not changing:
            return recorded
        for statement in changing:
            if statement.why:
                location = statement.file.migration.location
                raise self._unknown(changing, table, f"{location}:{statement.named.statement.line}: {statement.why}")
        if self._shapes is None:
            try:
                self._shapes = {shape.table.casefold(): shape for shape in self._run()}
            except EngineError as error:
                raise self._unknown(changing, table, error.message) from error
        return self._shapes.get(table.casefold())

    def _run(self) -> Sequence[Shape]:
        """Run the plain statements on the recorded tables that they name, in memory."""
        from glacierbase.executors.copies.memory import shapes_after  # Imports PyIceberg.

        plain = [statement.named for statement in self._statements if statement.why is None]
        names = {whole.casefold() for named in plain for _, whole in named.names if whole}
        known = [timeline.shape for timeline in timelines(self._history) if timeline.shape]
        start = [shape for shape in known if shape.table.casefold() in names]
        return shapes_after(self._target.catalog, [named.statement.text for named in plain], start)

    def _unknown(self, changing: Sequence[_Pending], table: str, why: str) -> ConfigurationError:
        versions = list(dict.fromkeys(statement.file.migration.version for statement in changing))
        what = f"{counted(len(versions), 'pending version')} may change {table}: {', '.join(versions)}; nothing was written"
        hint = f"apply them first: `{command('migrate')}`"
        return ConfigurationError("NOT_MATCHABLE", (what, f"  {why}"), hint, table=table, versions=versions)


def _statements(files: Sequence[Compiled], history: History) -> Iterator[_Pending]:
    for file in files:
        has_begun = file.migration.number in history.records
        for named in file.named:
            why = "the version has begun, and is not applied" if has_begun else why_not_plain(named.parsed)
            yield _Pending(file, named, why)
