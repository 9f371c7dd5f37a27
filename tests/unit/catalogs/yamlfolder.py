"""A folder of catalog files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from glacierbase.catalogs.folder import CatalogFile, load_catalog_files
from glacierbase.errors import GlacierbaseError
from glacierbase.model.catalog import Catalog

LAKE = "migrationExecutor: {type: spark, conf: {sparkConf: {spark.sql.catalog.lake: x.SparkCatalog}}}\n"


class Folder:
    """The catalog files of a test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "catalogs").mkdir()

    def write(self, text: str, name: str = "shop.yaml") -> None:
        (self.root / "catalogs" / name).write_text(text)

    def files(self) -> tuple[CatalogFile, ...]:
        return load_catalog_files(self.root / "catalogs", self.root)

    def catalog(self, environment: str = "default") -> Catalog:
        [file] = self.files()
        return file.for_environment(environment, self.root)

    def error(self, environment: str = "default") -> GlacierbaseError:
        with pytest.raises(GlacierbaseError) as caught:
            self.catalog(environment)
        return caught.value


def with_conf(**conf: Any) -> str:
    lines = "".join(f"      {key.replace('_', '.')}: {value}\n" for key, value in conf.items())
    return f"migrationExecutor:\n  type: spark\n  conf:\n    sparkConf:\n      spark.sql.catalog.lake: x\n{lines}"
