"""The noun `Catalog`: one catalog in one environment, read from its file and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Where history and lock live, and how long a silent run keeps its lock.

    Attributes:
        catalog: as the engine knows it.
        type: `iceberg` past the engine, `sql` through it, `auto` whichever can.
    """

    catalog: str
    namespace: str
    lease_seconds: float
    type: str = "auto"


@dataclass(frozen=True, slots=True)
class Catalog:
    """One catalog in one environment, its references resolved.

    Attributes:
        name: the identity in history and lock.
        stem: of its file, which is also the name of its migrations folder.
        protected: whether a person must name the environment before it is changed.
        executor_type: which engine runs its migrations.
        spark_conf: for Spark, as written.
        dependencies: for Spark, Maven coordinates.
        digests: pairs of one of them and the SHA-256 that its jar must have.
        connection: for Snowflake, keywords of its connector, as written.
        out_of_order_allowed: whether a version below an applied one runs without being asked for.
    """

    name: str
    file: Path
    stem: str
    environment: str
    protected: bool
    executor_type: str
    spark_conf: Mapping[str, str] = field(repr=False)
    dependencies: tuple[str, ...]
    connection: Mapping[str, Any] = field(repr=False)
    variables: Mapping[str, Any] = field(repr=False)
    out_of_order_allowed: bool
    store: StoreOptions
    digests: tuple[tuple[str, str], ...] = ()
