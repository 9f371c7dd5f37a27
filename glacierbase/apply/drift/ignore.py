"""`drift ignore`: rules in the catalog file, one for each difference, with the reason."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from glacierbase.apply.drift.choice import chosen_drifts
from glacierbase.apply.drift.results import DriftIgnoreResult, IgnoredDrift
from glacierbase.catalogs.drift_file import exact_rule, with_rules
from glacierbase.history.opening import Target
from glacierbase.history.state import read_state
from glacierbase.run.files import replace_file, writing
from glacierbase.stores.live import LiveTables


def ignore(target: Target, result: DriftIgnoreResult, tables: Collection[str], reason: str) -> DriftIgnoreResult:
    """Write a rule for each difference of the tables into the catalog file. It holds in all environments.

    Args:
        tables: patterns of names; none for all tables that differ.

    Raises:
        ConfigurationError: the file cannot be written, or has rules in a form that nothing can be added to.
        HistoryDisagrees: a table cannot be read.
    """
    with target.opened() as opened, LiveTables(target.catalog, opened.engine) as now:
        drifts = chosen_drifts(target.catalog, read_state(opened).history, now, tables)
    rules = [exact_rule(drift.table, each.subject, reason) for drift in drifts for each in drift.differences]
    path = target.catalog.file
    location = path.relative_to(Path(target.run.project)).as_posix()
    if rules:
        with writing(path):
            content = with_rules(path.read_bytes(), rules, location, target.catalog)
            replace_file(path, content)
    return replace(
        result, path=location, rules=tuple(IgnoredDrift(each.table, each.what, each.reason) for each in rules)
    )
