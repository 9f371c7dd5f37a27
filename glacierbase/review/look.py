"""What `review` needs to know of each statement, read in the worker process of a sandbox, which has limits of time and memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from glacierbase.migrations.allows import allows_of
from glacierbase.migrations.compiled import Compiled, split_file
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.migrations.worker import Examiner
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration
from glacierbase.model.names import name_of
from glacierbase.review.refused import names_local_path, not_replayed
from glacierbase.sql.statement import DropColumn, ParsedStatement, SessionEffect

_FUNCTION = f"{__name__}:look"
Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """What a statement does. Names are the parts as written, without quotes.

    Attributes:
        operations: its own, which is the first, and those of its clauses.
        targets: the tables and views that it changes; of a rename, both names.
        sources: those that it only reads, as far as they are determined.
        dropped: the columns that it drops.
        uses: the namespace that USE names.
        creates_namespace: the namespace that it creates.
        not_replayed: why it is not replayed; None if it is.
        is_skipped: whether that is due to the copy, and the statement is otherwise in order.
        keeps_session: whether the session afterwards is as it was before.
        allowed: the reasons of the comments above it, by the code that they allow.
    """

    operations: tuple[str, ...]
    targets: tuple[Parts, ...]
    sources: tuple[Parts, ...]
    dropped: tuple[Parts, ...]
    uses: Parts | None
    creates_namespace: Parts | None
    not_replayed: str | None
    is_skipped: bool
    names_local_path: bool
    keeps_session: bool
    allowed: Mapping[str, str]

    @property
    def operation(self) -> str:
        return self.operations[0]

    @property
    def tables(self) -> frozenset[str]:
        """The targets as the history records names."""
        return frozenset(map(name_of, self.targets))


@dataclass(frozen=True, slots=True)
class Step:
    """A statement of a file.

    Attributes:
        index: in the file, from 1.
        line, column: of the file, from 1.
    """

    index: int
    line: int
    column: int
    text: str = field(repr=False)
    look: Look


@dataclass(frozen=True, slots=True)
class Looked:
    """A file as an environment renders it.

    Attributes:
        checksum: of the rendered text.
    """

    migration: Migration
    checksum: str
    steps: tuple[Step, ...]


def looked(sandbox: Sandbox, migrations: Iterable[Migration], catalog: Catalog) -> Iterator[Looked]:
    """Yield the files one after the other.

    Raises:
        MigrationFileError, SeveralErrors: as `Sandbox.compile_all`.
    """
    yield from _looked(sandbox, migrations, catalog, {})


def looked_as_is(sandbox: Sandbox, file: Migration, catalog: Catalog) -> Iterator[Looked]:
    """Yield a file that is no template. Raises as `looked` does."""
    yield from _looked(sandbox, [replace(file, text="")], catalog, {"text": file.text})


def _looked(
    sandbox: Sandbox, migrations: Iterable[Migration], catalog: Catalog, facts: Mapping[str, Any]
) -> Iterator[Looked]:
    examiner = Examiner(_FUNCTION, facts)
    for migration, answer in sandbox.examine_all(migrations, catalog, catalog.executor_type, lambda _: examiner):
        steps = (
            Step(index, line, column, text, _from_plain(plain)) for index, line, column, text, plain in answer["steps"]
        )
        yield Looked(migration, answer["checksum"], tuple(steps))


def look(compiled: Compiled, facts: Mapping[str, Any], _kept: dict[str, Any]) -> dict[str, Any]:
    """Return the checksum and the statements of a file, in JSON's types."""
    if "text" in facts:
        compiled = split_file(replace(compiled.migration, text=facts["text"]), compiled.dialect)
    allowed: dict[int, dict[str, str]] = {}
    for allow in allows_of(compiled.statements):
        if allow.reason:
            allowed.setdefault(allow.statement_index, {}).setdefault(allow.code, allow.reason)
    return {
        "checksum": compiled.checksum,
        "steps": [
            [
                each.index,
                each.line,
                each.column,
                each.text,
                asdict(_look(each.text, parsed, allowed.get(each.index, {}))),
            ]
            for each, parsed in ((named.statement, named.parsed) for named in compiled.named)
        ],
    }


def _look(sql: str, does: ParsedStatement, allowed: Mapping[str, str]) -> Look:
    refused = not_replayed(sql, does)
    return Look(
        operations=tuple(dict.fromkeys((does.operation, *(part.operation for part in does.parts)))),
        targets=tuple(each.parts for each in does.targets),
        sources=tuple(each.parts for each in does.sources or ()),
        dropped=tuple(part.path for part in does.parts if isinstance(part, DropColumn)),
        uses=does.selected.parts if does.selected and does.options.kind in ("", "namespace") else None,
        creates_namespace=does.namespace.parts if does.namespace and does.operation == "create_namespace" else None,
        not_replayed=refused.why if refused else None,
        is_skipped=bool(refused and refused.is_skipped),
        names_local_path=names_local_path(does),
        keeps_session=does.session is SessionEffect.NONE,
        allowed=allowed,
    )


def _from_plain(plain: Mapping[str, Any]) -> Look:
    names = {key: tuple(map(tuple, plain[key])) for key in ("targets", "sources", "dropped")}
    one = {key: plain[key] and tuple(plain[key]) for key in ("uses", "creates_namespace")}
    return Look(**{**plain, **names, **one, "operations": tuple(plain["operations"])})
