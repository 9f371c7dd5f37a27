"""Rows that a Python function makes on the tasks of Spark. The contract of the executors runs it on each Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from glacierbase.errors import StatementRefused
from glacierbase.executors.spark.session import SUBSTITUTES, SparkSessionPort


def test_a_package_that_the_driver_lacks_is_named_with_the_command_that_installs_it() -> None:
    """Pyspark requires two packages to run a function on rows, which it does not install."""

    def refuse(*_: Any) -> Any:
        raise ImportError("Pandas >= 2.2.0 must be installed; however, it was not found.")

    spark = SimpleNamespace(
        conf={SUBSTITUTES: "false"},
        sql=lambda _: SimpleNamespace(mapInArrow=refuse),
        sparkContext=SimpleNamespace(master="spark://driver:7077"),
    )
    with pytest.raises(StatementRefused, match="must be installed") as caught:
        SparkSessionPort(spark).make_view("rows", "SELECT 1 AS a", "tests.support.doubling:doubled", "a BIGINT")
    assert caught.value.error_class == "PACKAGE_NOT_INSTALLED"
    assert "[rekey]" in str(caught.value.hint)
