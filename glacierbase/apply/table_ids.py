"""Ids for tables whose format has none, such as those of Snowflake and Hudi.

By them the record tells a renamed table from a dropped one, and a table made anew from the one that had its name before. What
became of a table follows from the statements that ran; what else has its name, and is of its format, is the same table.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from glacierbase.model.shape import Shape
from glacierbase.sql.file import Named
from glacierbase.sql.statement import ParsedStatement

# It has ids; where it was read without them, no other one takes their place.
_HAS_IDS = "iceberg"


class TableIds:
    """The ids of the tables of one file.

    Attributes:
        origins: returns what the tables were before the statements that ran, as the function `origins` does; called only for tables
            that lack an id.
    """

    def __init__(self, known: Callable[[str], Shape | None]) -> None:
        """Args:
        known: returns the shape of a table by its last record; None where there is none, or was no table.
        """
        self._known = known
        self._ids: dict[tuple[str, str], str | None] = {}
        self.origins: Callable[[], Mapping[str, str | None]] = dict

    def before(self, name: str, shape: Shape | None) -> Shape | None:
        """Return the shape that a table had before the statements, with an id."""
        return replace(shape, uuid=self._id(name, shape.format)) if shape and _lacks_id(shape) else shape

    def after(self, name: str, shape: Shape | None) -> Shape | None:
        """Return the shape that a table has after the statements, with an id."""
        if shape is None or not _lacks_id(shape):
            return shape
        origin = self.origins().get(name, name)
        return replace(shape, uuid=str(uuid.uuid4()) if origin is None else self._id(origin, shape.format))

    def _id(self, name: str, table_format: str) -> str | None:
        """Return the id of the table that had the name before the statements; None where it is recorded without one."""
        if (name, table_format) not in self._ids:
            known = self._known(name)
            new = str(uuid.uuid4())
            self._ids[name, table_format] = known.uuid if known and known.format == table_format else new
        return self._ids[name, table_format]


def origins(statements: Iterable[Named]) -> Mapping[str, str | None]:
    """Return for names the name that their table had before the statements; None where the statements made it.

    Names are as the history records them. A name that no statement gives to another table is left out.
    """
    found: dict[str, str | None] = {}
    for parsed in (each.parsed for each in statements):
        names = [each.recorded for each in parsed.targets]
        if parsed.operation == "rename_table" and len(names) == 2:
            old, new = names
            found[new] = found.pop(old, old)
        elif _ends_or_begins(parsed):
            found |= dict.fromkeys(names)
    return found


def _ends_or_begins(found: ParsedStatement) -> bool:
    """Return whether a table that has the name afterwards was not there before."""
    if found.operation in ("create_table", "create_table_as"):
        return not found.options.if_not_exists and not found.options.or_alter
    return found.operation in ("replace_table", "drop_table")


def _lacks_id(shape: Shape) -> bool:
    return shape.uuid is None and shape.format != _HAS_IDS
