"""The template of the keys of a table, by its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from glacierbase.layout.folders import delta, hive, hudi
from glacierbase.layout.iceberg import iceberg
from glacierbase.layout.template import KeyTemplate, TableFacts

FORMATS: Mapping[str, Callable[[TableFacts], KeyTemplate]] = {
    "iceberg": iceberg, "delta": delta, "hudi": hudi, "hive": hive
}  # fmt: skip


def key_template(facts: TableFacts) -> KeyTemplate:
    """Return the template of the keys of a table's data files, in one of `FORMATS`.

    Where the version is not known and matters, it is the layout of the newest version, and a note says so.
    """
    template = FORMATS[facts.format](facts)
    return replace(template, notes=(*facts.notes, *template.notes))
