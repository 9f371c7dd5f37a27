"""The names of tables as templates, so that a file which the program writes names the table of each environment."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from glacierbase.catalogs.folder import file_of
from glacierbase.catalogs.varying import varying
from glacierbase.declared.render import table_name
from glacierbase.errors import GlacierbaseError
from glacierbase.history.records import History
from glacierbase.history.target import CatalogRun
from glacierbase.migrations.new_files import as_template
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration
from glacierbase.model.names import NAME, QUOTED, name_of, name_parts, recorded_name
from glacierbase.record.tables import FileTables
from glacierbase.sql.qualified import qualified

_EXPRESSION = r"\{\{[^{}]*\}\}"
_PART = rf"(?:{QUOTED}|{_EXPRESSION}|[\w$])+"
_WRITTEN = re.compile(rf"{_PART}(?:\s*\.\s*{_PART})*")
_IS_NAME = re.compile(NAME)
_SPACES = re.compile(r"\s+")
_LAST = re.compile(rf"\s*\.\s*{_PART}\Z")
_PATH = re.compile(r"variables(?:\.[A-Za-z_]\w*)+")
_COMMENT = r"--[^\n]*|/\*.*?(?:\*/|\Z)"
_LITERAL = r"""'(?:[^'\\]|\\.)*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z)|`[^`]*(?:`|\Z)"""
_OF_TABLES = "(?:ALTER|CREATE|DROP|COMMENT ON) TABLE"
_OF_NAMESPACES = "CREATE NAMESPACE IF NOT EXISTS"


def written_names(target: CatalogRun, history: History, tables: Collection[str]) -> Mapping[str, str]:
    """Return for each table its name with template expressions, if the files that changed it use exactly one such name.

    In each environment, it renders as the name of the table that those files change.
    """
    changed_by = FileTables.of(target.catalog, history).by_version
    by_table: dict[str, dict[str, str]] = {}
    for file in target.migrations:
        for table in set(changed_by.get(file.number, ())).intersection(tables):
            names = {_SPACES.sub("", name): name for name in _names_of(table, file, target.catalog)}
            by_table[table] = {**names, **by_table.get(table, {})}
    return {table: name for table, names in by_table.items() if len(names) == 1 for name in names.values()}


def varying_names(root: Path, stem: str, tables: Iterable[str]) -> Mapping[str, str]:
    """Return for each table that no file names its name with variables: a part that is a value in one environment only is one.

    Args:
        root: the root of the project.
        stem: of the catalog's file.
    """
    file = file_of(root / "migrations" / stem, root)
    texts = varying(file, file.environments, root)
    known = {}
    for table in tables:
        parts = [(part, _expression(part, texts)) for part in name_parts(table)]
        if any(expression for _, expression in parts):
            known[table] = ".".join(
                expression or as_template(table_name(name_of([part]))) for part, expression in parts
            )
    return known


def _expression(part: str, texts: Mapping[str, str]) -> str:
    """Return the expression for a part of a name that varies; empty for another part, which may hold marks of templates."""
    path = texts.get(part, "")
    return f"{{{{ {path} }}}}" if _PATH.fullmatch(path) and table_name(part) == part else ""


def template_of(sql: str, names: Mapping[str, str]) -> str:
    """Return a template of statements, each at the begin of a line, in which tables and their namespaces have these names."""
    template = as_template(sql.rstrip("\n"))
    namespaces = {name_of(name_parts(table)[:-1]): _LAST.sub("", name) for table, name in names.items()}
    for heads, subjects in ((_OF_TABLES, names), (_OF_NAMESPACES, namespaces)):
        for subject, name in subjects.items():
            begin = re.compile(rf"(?m)^({heads} ){re.escape(table_name(subject))}(?=[ ;\n]|\Z)")
            template = begin.sub(lambda match, name=name: match[1] + name, template)  # type: ignore[misc]
    return template


def _names_of(table: str, file: Migration, catalog: Catalog) -> Iterator[str]:
    """Yield each text of a file that has an expression and renders as the name of a table."""
    for text in dict.fromkeys(match[0] for match in _WRITTEN.finditer(file.text) if "{{" in match[0]):
        rendered = _rendered(text, file, catalog)
        if _IS_NAME.fullmatch(rendered) and qualified(catalog, recorded_name(rendered)) == table:
            yield text


def _rendered(text: str, file: Migration, catalog: Catalog) -> str:
    """Render a part of a file alone; return an empty text if it depends on other parts."""
    from glacierbase.migrations.render import render  # Imports Jinja.

    try:
        alone = replace(file, text=text)
        return render(alone, catalog.variables, catalog.environment, catalog.name, catalog.dialect).text
    except GlacierbaseError:
        return ""


def without_names(text: str, names: Mapping[str, str]) -> str:
    """Return the text of a file without comments, these names of tables, and those of their namespaces.

    A name inside a literal stays: there, a squash has the value of one environment.
    """
    written = {*names.values(), *(_LAST.sub("", name) for name in names.values())}
    known = "|".join(map(re.escape, sorted(written, key=len, reverse=True)))
    parts = re.compile(rf"(?:{known or '(?!)'})|{_COMMENT}|({_LITERAL})", re.DOTALL)
    return parts.sub(lambda match: match[1] or "", text)
