"""The SQL file with tables that no migration creates: the copy runs it before the migrations of the base."""

from __future__ import annotations

from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.statements import split_statements
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration, checksum
from glacierbase.run.files import FileReader, FileRefused

_MOST_BYTES = 10 * 2**20


def fixtures_of(catalog: Catalog, root: Path) -> tuple[Compiled, ...]:
    """Return the catalog's fixtures as the first file of the base; none where the catalog file names none.

    Raises:
        ConfigurationError: the file is outside of the project, or cannot be read.
        MigrationFileError: its SQL cannot be split.
    """
    if catalog.fixtures is None:
        return ()
    path = root / catalog.fixtures
    try:
        content = FileReader(root, _MOST_BYTES, _MOST_BYTES).read(path)
    except FileRefused as error:
        what = f"review.fixtures of catalog {catalog.name}: {catalog.fixtures} {error.what}"
        raise ConfigurationError(error.code, what, error.hint, path=catalog.fixtures) from error
    text = content.decode(errors="replace")
    file = Migration("0", "fixtures", "", "", path, catalog.fixtures, text, checksum(content))
    return (Compiled(file, text, file.checksum, tuple((each,) for each in split_statements(text, "spark")), "spark"),)
