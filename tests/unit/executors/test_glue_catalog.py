"""The catalog of AWS Glue, whose service answers from this process."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyiceberg.exceptions import NoSuchPropertyException

from glacierbase.executors.pyiceberg.glue import GlueCatalog


def test_the_account_and_the_region_that_answer_are_noted() -> None:
    """The table is loaded as PyIceberg loads it; this one is not of Iceberg."""
    table = {"CatalogId": "123456789012", "DatabaseName": "a", "Name": "t", "Parameters": {}}
    service = SimpleNamespace(get_table=lambda **_: {"Table": table}, meta=SimpleNamespace(region_name="eu-west-1"))
    catalog = GlueCatalog("lake", client=service)
    with pytest.raises(NoSuchPropertyException):
        catalog.load_table("a.t")
    assert catalog.server == "123456789012 eu-west-1"
