"""What is known of one table format. Functions that differ by format are in dictionaries by its name, in the rooms above."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

BOOLEAN = "true|false"
# The keys that Spark reserves in the properties of tables of every format, and what Spark's message says of each.
# https://github.com/apache/spark/blob/v4.1.0/sql/core/src/main/scala/org/apache/spark/sql/execution/SparkSqlParser.scala
OF_SPARK: Mapping[str, str] = {
    "provider": "please use the USING clause to specify it",
    "location": "please use the LOCATION clause to specify it",
    "owner": "it will be set to the current user",
    "external": "please use CREATE EXTERNAL TABLE",
    "is_managed_location": "please remove it from the TBLPROPERTIES list",
    "table_type": "please remove it from the TBLPROPERTIES list",
    "collation": "please use the DEFAULT COLLATION clause to specify it",
}


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A table format of Spark.

    Attributes:
        name: after USING, and in shapes.
        title: in messages.
        catalogs: the classes of Spark catalogs whose tables with commits are of this format; the first one is its own class.
        in_place: whether the first class replaces Spark's own catalog.
        words: parts of names of classes by which catalogs of other vendors are recognised, in lower case.
        package: the start of the names of its classes for Spark.
        extension: the class of its SQL extension.
        group: the Maven group of its jars.
        jar: the start of the artifact that Spark needs.
        jar_end: a regular expression of the rest of the artifact.
        jar_shown: group and artifact in messages.
        prefixes: the keys with these prefixes are properties that only the format reads.
        values: regular expressions of the values of properties, by key, where the jar declares or checks none.
        defaults: a regular expression of the settings that give properties to new tables, with the groups `key`, and `catalog` if
            the setting is for one catalog.
        defaults_prefix: the key of such a property is this text and `key`.
        not_stored: keys of TBLPROPERTIES that the format stores in another way or not at all.
        kept: patterns of properties that the format sets itself.
        unshaped: properties outside of a shape, because commits of rows change them.
        upgrades: the beginnings of keys, in lower case, that enable what no UNSET disables.
        column_prefix: the start of the names of columns that the format adds to each table; empty if it adds none.
        has_identifiers: whether its tables have identifier fields.
        keeps_columns: whether columns keep their declared order and NOT NULL.
        copy_settings: the settings of its copy beside class and extension.
        session_settings: prefixes of settings that change the meaning of statements and load no class.
        renames: a noun for its catalog, if it commits by renaming a file.
        unsafe: a clause on its catalog, if it cannot hold a lock.
    """

    name: str
    title: str
    catalogs: tuple[str, ...]
    package: str
    extension: str
    group: str
    jar: str
    jar_end: str
    jar_shown: str
    words: tuple[str, ...]
    prefixes: tuple[str, ...]
    values: Mapping[str, str] = field(hash=False)
    in_place: bool = True
    defaults: str = ""
    defaults_prefix: str = ""
    not_stored: frozenset[str] = frozenset()
    kept: tuple[str, ...] = ()
    unshaped: frozenset[str] = frozenset()
    upgrades: tuple[str, ...] = ()
    column_prefix: str = ""
    has_identifiers: bool = False
    keeps_columns: bool = True
    copy_settings: Mapping[str, str] = field(default_factory=dict, hash=False)
    session_settings: tuple[str, ...] = ()
    renames: str = ""
    unsafe: str = ""
