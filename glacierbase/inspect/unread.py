"""The catalogs of a project that cannot be read: a result for each of them, so that `validate` lists them all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from glacierbase.catalogs.catalogfile import SHARED
from glacierbase.errors import GlacierbaseError, SeveralErrors, joined
from glacierbase.inspect.folders import find_root
from glacierbase.inspect.results import ValidateResult
from glacierbase.model.result import Results
from glacierbase.run.files import FileRefused, path_inside


@contextmanager
def listing_catalogs(path: str | None) -> Iterator[None]:
    """Add a result per catalog file to an error with which the project at `path` cannot be read, each with its own errors.

    Args:
        path: as for `Project.load`.
    """
    try:
        yield
    except GlacierbaseError as error:
        parts = error.errors if isinstance(error, SeveralErrors) else (error,)
        # The name in a file that cannot be read is not known, nor are its environments.
        error.results = Results(
            ValidateResult(stem, "", error=joined(about(parts, stem)), files=0) for stem in _stems(path)
        )
        raise


def about(errors: Sequence[GlacierbaseError], stem: str) -> tuple[GlacierbaseError, ...]:
    """Return the errors about the file and the migrations of one catalog.

    Args:
        stem: of its file.
    """
    paths = ((error, str(error.data.get("path", ""))) for error in errors)
    file, folder = f"catalogs/{stem}.yaml", f"migrations/{stem}/"
    return tuple(error for error, path in paths if path == file or path.startswith(folder))


def _stems(path: str | None) -> list[str]:
    """Return the stems of the catalog files; none where there is no project, or a link leads out of it."""
    try:
        root = find_root(path)
        folder = path_inside(root / "catalogs", root)
    except (GlacierbaseError, FileRefused):
        return []
    return sorted(file.stem for file in folder.glob("*.yaml") if file.name != SHARED and file.name[0] != ".")
