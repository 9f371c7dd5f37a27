"""`import --baseline`: record the versions that another tool has applied, with who applied them and when."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from operator import eq

from glacierbase.adopt.history_table import AppliedHistory, compared, read_rows, table_name
from glacierbase.adopt.importing import Imported
from glacierbase.adopt.liquibase import LIQUIBASE, same_changeset
from glacierbase.adopt.mapping import MappedFile
from glacierbase.adopt.results import ImportedBaseline, ImportedVersion, ImportResult
from glacierbase.apply.baseline import Baselined, baseline_opened, files_up_to
from glacierbase.apply.locked import recording
from glacierbase.errors import HistoryDisagrees
from glacierbase.history.opening import OpenCatalog, Target
from glacierbase.history.state import read_state
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.migration import OriginalRun


def import_baseline(
    target: Target,
    result: ImportResult,
    *,
    imported: Imported,
    history_table: str | None,
    reason: str,
    accept: Collection[str],
    lock_timeout: float,
) -> ImportResult:
    """Record the imported files that the other tool's history table has as applied; in a dry run, only return them.

    Args:
        history_table: its name; default that of the other project's configuration, or of the tool.

    Raises:
        HistoryDisagrees: `BASELINE_REFUSED`: that table, or the tables of the catalog, are not as the files have them.
    """
    tool, done = imported.tool, Baselined()
    name = table_name(tool.history, history_table or imported.project.history_table, target.dialect)
    with recording() as change, target.opened() as opened:
        with closing(opened.engine.start().open_session()) as session:
            rows = read_rows(session, tool.history, name, target.dialect)
        history = compared(imported.files, rows, tool, same_changeset if tool is LIQUIBASE else eq)
        if history.last is not None and not imported.result.dry_run:
            candidates = files_up_to(target, history.last.number)
            _check_others(candidates, history, opened)
            originals = {number: _original(tool.name, number, history) for number in history.rows}
            done = baseline_opened(opened, change, candidates, reason, lock_timeout, accept=accept, originals=originals)
    files = [file for file in imported.files if file.number in history.rows]
    recorded = {compiled.migration.number for compiled in done.files}
    if not imported.result.dry_run:
        files = [file for file in files if file.number in recorded]
    paths = {file.version: file.path for file in imported.result.files}
    found = ImportedBaseline(
        history_table=name,
        to=history.last.version if history.last else None,
        versions=tuple(_version(file, history, paths[file.version]) for file in files),
        repeatables=history.repeatables,
        unknown=history.unknown,
        differences=done.differences,
        is_recorded=bool(recorded),
    )
    warnings = (*imported.result.warnings, *done.warnings)
    return replace(imported.result, environment=result.environment, warnings=warnings, baseline=found)


def _version(file: MappedFile, history: AppliedHistory, path: str) -> ImportedVersion:
    row = history.rows[file.number]
    return ImportedVersion(file.version or "", path, row.author, row.at)


def _original(tool: str, number: int, history: AppliedHistory) -> OriginalRun:
    row = history.rows[number]
    return OriginalRun(tool, row.name, row.author, row.at)


def _check_others(candidates: Sequence[Compiled], history: AppliedHistory, opened: OpenCatalog) -> None:
    """Refuse files up to the last applied one that the other tool did not apply: nothing shows that they are.

    Raises:
        HistoryDisagrees: `BASELINE_REFUSED`.
    """
    known = {*history.rows, *read_state(opened).history.records}
    others = [file.migration.location for file in candidates if file.migration.number not in known]
    if others:
        what = f"these files are not of the other tool: {', '.join(others)}; nothing was recorded"
        hint = "give them versions above those that were imported, or record them with `baseline` first"
        raise HistoryDisagrees("BASELINE_REFUSED", what, hint, files=others)
