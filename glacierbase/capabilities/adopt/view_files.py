"""The files of views that exist: repeatables, each after those that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from glacierbase.capabilities.adopt.table_file import description_of, file_text
from glacierbase.capabilities.adopt.table_results import LiveTable, NotExact, TableFile
from glacierbase.errors import GlacierbaseError
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.new_files import file_words, write_repeatable
from glacierbase.model.migration import REPEATABLE_FOLDER
from glacierbase.model.names import completed_like, name_parts
from glacierbase.record.live import LiveTables
from glacierbase.sql import read
from glacierbase.sql.qualified import name_key

_USE = "USE "


def view_files(
    target: CatalogRun, views: Sequence[LiveTable], live: LiveTables, author: str, dry_run: bool
) -> Iterator[TableFile | NotExact]:
    """Write the file of each view, and yield it, or why there is none. The engine is started for their texts."""
    root, texts = Path(target.run.project), dict[str, tuple[str, ...]]()
    for view in views:
        try:
            if statements := live.view_statements(view.table):
                texts[view.table] = statements
            else:
                yield NotExact(view.table, "no file was written: the engine does not show its text")
        except GlacierbaseError as error:
            yield NotExact(view.table, f"no file was written: {error.message}")
    names = {name_key(target.catalog, name): _name(name) for name in texts}
    for name, statements in texts.items():
        path = _path(target, name)
        try:
            if not dry_run:
                write_repeatable(
                    root / "migrations" / target.catalog.stem,
                    root,
                    _name(name),
                    description_of(name),
                    author,
                    target.catalog.required_headers,
                    sql=file_text(target, statements, (), {}, "view"),
                    after=sorted(_after(target, name, statements, names)),
                    check=target.check_new,
                )
            yield TableFile(path.as_posix(), name, len(statements))
        except GlacierbaseError as error:
            yield NotExact(name, f"no file was written: {error.message}")


def _name(view: str) -> str:
    """Return the name of a file: the words of namespace and view."""
    return file_words("_".join(name_parts(view)[1:]))


def _path(target: CatalogRun, view: str) -> Path:
    return Path("migrations", target.catalog.stem, REPEATABLE_FOLDER, f"{_name(view)}.sql")


def _after(
    target: CatalogRun, view: str, statements: Sequence[str], names: Mapping[tuple[str, ...], str]
) -> Iterator[str]:
    """Yield the names of the files of other views that a view reads."""
    first, *_, last = ("", *statements)[-2:]
    place = name_parts(first.removeprefix(_USE)) if first.startswith(_USE) else name_parts(view)[:-1]
    for source in read(last, target.dialect).sources or ():
        name = names.get(name_key(target.catalog, completed_like(source.recorded, (*place, ""))))
        if name is not None and name != _name(view):
            yield name
