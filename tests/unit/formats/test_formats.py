"""The table formats: one value for each, and an entry in every dictionary that is keyed by format."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from pyiceberg.table import TableProperties

from glacierbase.capabilities.review.catalogue import all_rules
from glacierbase.capabilities.review.table_properties import known
from glacierbase.cli.files import init
from glacierbase.cli.layout import advise
from glacierbase.declared.declared import declared_shape
from glacierbase.declared.known_tables import created
from glacierbase.declared.writer import creation
from glacierbase.executors.direct.plain import why_not_plain
from glacierbase.formats import FORMATS, ICEBERG, OF_SPARK
from glacierbase.model.shape import Column, Shape
from glacierbase.sql import read

ROOT = Path(__file__).parents[3]
# A row of the table in CONTRIBUTING: the dictionary, its purpose, and the formats without an entry.
ROW = re.compile(r"\| `glacierbase\.(?P<module>[\w.]+)\.(?P<name>\w+)` \| .+? \|(?P<without>.*)\|")
PLACES = {f"{row['module']}.{row['name']}": row for row in ROW.finditer((ROOT / "CONTRIBUTING.md").read_text("utf-8"))}


def test_each_file_of_the_room_is_a_format() -> None:
    """The room has no other file but the class of the values."""
    files = {path.stem for path in (ROOT / "glacierbase/formats").glob("*.py")}
    assert files - {"__init__", "table_format"} == set(FORMATS)


@pytest.mark.parametrize("place", PLACES)
def test_each_format_has_an_entry_or_contributing_says_why_not(place: str) -> None:
    """A reason follows the name of a format without an entry; a format with one is not named."""
    row = PLACES[place]
    keys = getattr(import_module(f"glacierbase.{row['module']}"), row["name"])
    without = dict(re.findall(r"`(\w+)`: ([^;`]+)", row["without"]))
    assert len(PLACES) == 5
    assert set(FORMATS) - set(keys) == set(without)
    assert all(reason.strip() for reason in without.values())


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_rules_templates_and_choices(name: str) -> None:
    """Rules, properties, the files of `init` and the choices of the command line know each format."""
    assert any(name in rule.formats for rule in all_rules())
    assert known(name)
    templates = ROOT / "glacierbase/capabilities/authoring/templates"
    assert (templates / "migrations" / f"{name}.sql").exists()
    assert (templates / "catalogs" / f"{name}.yaml").exists() == FORMATS[name].in_place
    choices = {option: set(getattr(command.params[at].type, "choices", ())) for command, option in (
        (init, "catalog_type"), (advise, "table_format"),
    ) for at, given in enumerate(command.params) if given.name == option}  # fmt: skip
    assert name in choices["table_format"]
    assert (name in choices["catalog_type"]) == FORMATS[name].in_place


def test_no_two_formats_share_a_class_a_jar_or_a_prefix() -> None:
    """One format is recognised by each of these facts."""
    for facts in ("catalogs", "words", "prefixes"):
        values = [value for one in FORMATS.values() for value in getattr(one, facts)]
        assert len(values) == len(set(values))
    assert len({(one.group, one.jar, one.extension, one.package) for one in FORMATS.values()}) == len(FORMATS)


@pytest.mark.parametrize("key", sorted(OF_SPARK))
def test_a_key_that_spark_reserves_is_no_property(key: str) -> None:
    """CREATE TABLE with such a key needs the engine, which refuses it; the key is not declared."""
    sql = f"CREATE TABLE lake.a.t (id INT) USING iceberg TBLPROPERTIES ('{key}' = 'x')"
    assert why_not_plain(read(sql, "spark")) == f"the property {key}"
    assert declared({key: "x"}, "delta") == {}


@pytest.mark.parametrize("key", sorted(ICEBERG.not_stored))
def test_a_key_that_iceberg_reserves_is_not_stored(key: str) -> None:
    """Iceberg neither stores nor shows it; Delta stores it like any other, except for the format version."""
    shape = Shape("lake.a.t", None, "iceberg", 2, (Column(None, "id", "int"),), properties={key: "3"})
    assert f"it has the property {key}" in creation(shape).not_exact
    assert declared({key: "3"}, "iceberg") == {}
    assert declared({key: "3"}, "delta") == ({} if key == TableProperties.FORMAT_VERSION else {key: "3"})


def declared(properties: dict[str, str], table_format: str) -> dict[str, str]:
    """Return the properties of a table of a format for which statements set these."""
    actual = Shape("lake.a.t", None, table_format, None, ())
    listed = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
    table, _ = created(read(f"CREATE TABLE lake.a.t (id INT) TBLPROPERTIES ({listed})", "spark"), None)
    return dict(declared_shape(table, actual, "spark").shape.properties)
