"""The names of tables as files wrote them, with the expressions of their templates: they follow the environment."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from glacierbase.errors import GlacierbaseError
from glacierbase.history.file_tables import FileTables
from glacierbase.history.opening import Target
from glacierbase.history.records import History
from glacierbase.migrations.new_files import as_template
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration
from glacierbase.model.names import NAME, QUOTED, recorded_name
from glacierbase.sql.qualified import qualified
from glacierbase.sql.render import table_name

_EXPRESSION = r"\{\{[^{}]*\}\}"
_PART = rf"(?:{QUOTED}|{_EXPRESSION}|[\w$])+"
_WRITTEN = re.compile(rf"{_PART}(?:\s*\.\s*{_PART})*")
_IS_NAME = re.compile(NAME)
_SPACES = re.compile(r"\s+")


def written_names(target: Target, history: History, tables: Collection[str]) -> Mapping[str, str]:
    """Return by table the name with expressions that the files which touched it use, where there is exactly one.

    Such a name is the name of the table in this environment, and in each other one the name of the table that those files change.
    """
    touched = FileTables.of(target.catalog, history).by_version
    found: dict[str, dict[str, str]] = {}
    for file in target.migrations:
        for table in set(touched.get(file.number, ())).intersection(tables):
            names = {_SPACES.sub("", each): each for each in _names_of(table, file, target.catalog)}
            found[table] = {**names, **found.get(table, {})}
    return {table: name for table, names in found.items() if len(names) == 1 for name in names.values()}


def template_of(sql: str, names: Mapping[str, str]) -> str:
    """Return a template of statements, each on a line of its own, in which tables have these names."""
    template = as_template(sql.rstrip("\n"))
    for table, name in names.items():
        begin = re.compile(rf"(?m)^((?:ALTER|DROP|COMMENT ON) TABLE ){re.escape(table_name(table))}(?=[ ;])")
        template = begin.sub(lambda found, name=name: found[1] + name, template)  # type: ignore[misc]
    return template


def _names_of(table: str, file: Migration, catalog: Catalog) -> Iterator[str]:
    """Yield each text of a file that has an expression and renders as the name of a table."""
    for text in dict.fromkeys(each[0] for each in _WRITTEN.finditer(file.text) if "{{" in each[0]):
        rendered = _rendered(text, file, catalog)
        if _IS_NAME.fullmatch(rendered) and qualified(catalog, recorded_name(rendered)) == table:
            yield text


def _rendered(text: str, file: Migration, catalog: Catalog) -> str:
    """Return a part of a file as it renders by itself; empty where it depends on other parts."""
    from glacierbase.migrations.render import render  # Imports Jinja.

    try:
        return render(replace(file, text=text), catalog.variables, catalog.environment, catalog.name).text
    except GlacierbaseError:
        return ""
