"""The SQL file with tables that no migration creates: the copy runs it before the migrations of the base."""

from __future__ import annotations

from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration, checksum
from glacierbase.run.files import FileReader, FileRefused

_MOST_BYTES = 10 * 2**20


def fixtures_of(catalog: Catalog, root: Path) -> Migration | None:
    """Return the catalog's fixtures as a file before all others; None where the catalog file names none.

    Raises:
        ConfigurationError: the file is outside of the project, or cannot be read.
    """
    if catalog.fixtures is None:
        return None
    path = root / catalog.fixtures
    try:
        content = FileReader(root, _MOST_BYTES, _MOST_BYTES).read(path)
    except FileRefused as error:
        what = f"review.fixtures of catalog {catalog.name}: {catalog.fixtures} {error.what}"
        raise ConfigurationError(error.code, what, error.hint, path=catalog.fixtures) from error
    text = content.decode(errors="replace")
    return Migration("0", "fixtures", "", "", path, catalog.fixtures, text, checksum(content))
