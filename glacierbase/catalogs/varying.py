"""The texts that variables have in only some of the environments of a catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from glacierbase.catalogs.folder import CatalogFile
from glacierbase.errors import GlacierbaseError

# Shorter values of variables occur by chance.
_SHORTEST_TEXT = 4


def varying(file: CatalogFile, environments: Sequence[str], root: Path) -> dict[str, str]:
    """Return the texts that a variable has in only some of the environments, with the variable's path."""
    by_path: dict[str, set[str]] = {}
    for environment in environments if len(environments) > 1 else ():
        with suppress(GlacierbaseError):  # `in_environments` reports the error.
            for text, path in texts_of(file.for_environment(environment, root, resolve=False).variables, "variables"):
                by_path.setdefault(path, set()).add(text)
    return {text: path for path, texts in by_path.items() if len(texts) > 1 for text in texts}


def texts_of(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield the texts in a value that are long enough to be recognised, each with its path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts_of(item, f"{path}.{key}")
    elif isinstance(value, str) and len(value) >= _SHORTEST_TEXT:
        yield value, path
