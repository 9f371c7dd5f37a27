"""Dependencies that Spark's resolver did not get: which ones, where the catalog file names them, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glacierbase.errors import EngineUnavailable
from glacierbase.model.catalog import Catalog

# The output of Ivy 2.5, which Spark uses: the exception's message, then the addresses that it tried, then those that failed.
_MISSING = re.compile(r"(?:unresolved dependency|download failed): ([^#\s]+)#([^;\s]+);([^:!\s\]]+)")
_TRIED = re.compile(r"^[ \t]+https?://([^/\s]+)/\S+\.(?:pom|jar)$", re.MULTILINE)
_NO_ANSWER = re.compile(
    r"^[ \t]+(?:Host (?P<unknown>\S+) not found\."
    r"|Server access error at url https?://(?P<silent>[^/\s]+)/\S* \((?P<why>.*)\)"
    r"|(?:SERVER|CLIENT) ERROR: (?P<status>.*) url=https?://(?P<refusing>[^/\s]+)/)",
    re.MULTILINE,
)
# The second of the two repositories in which Spark searches besides those in `spark.jars.repositories`.
_SECOND = "repos.spark-packages.org"


@contextmanager
def explaining(catalog: Catalog) -> Iterator[None]:
    """Name the dependencies, with their lines in the catalog file, where Spark did not start because it lacks them.

    Raises:
        EngineUnavailable: as inside the block; of a JVM that ended, its `data` names the `log`.
    """
    try:
        yield
    except EngineUnavailable as error:
        log = error.data.get("log")
        explained = _explained(catalog, error, Path(log).read_text(errors="replace")) if log else None
        if explained is None:
            raise
        raise explained from error


def _explained(catalog: Catalog, error: EngineUnavailable, log: str) -> EngineUnavailable | None:
    coordinates = list(dict.fromkeys(":".join(found.groups()) for found in _MISSING.finditer(log)))
    if not coordinates:
        return None
    failed = _without_answer(log)
    asked = [host for host in dict.fromkeys(_TRIED.findall(log)) if host not in failed]
    # The second repository holds little; whether it answers decides nothing.
    silent = {host: why for host, why in failed.items() if host != _SECOND}
    if silent:
        why = f"not reachable: {', '.join(f'{host} ({reason})' for host, reason in silent.items())}"
        hint = "check network and proxy, or name another repository in spark.jars.repositories"
    else:
        why = f"not found in {', '.join(asked) or 'any repository'}"
        hint = "correct group, artifact or version"
    lines = [f"{_place(catalog, coordinate)}: {coordinate}: {why}" for coordinate in coordinates]
    path, line = catalog.dependency_places.get(coordinates[0], (f"catalogs/{catalog.file.name}", None))
    return EngineUnavailable(
        error.code, (*lines, "Spark did not start"), f"{hint}; {error.hint}",
        path=path, line=line, coordinates=coordinates, reachable=not silent, log=error.data["log"],
    )  # fmt: skip


def _without_answer(log: str) -> dict[str, str]:
    """Return the repositories that did not answer, each with the reason."""
    return {
        found["unknown"] or found["silent"] or found["refusing"]: found["why"] or found["status"] or "unknown host"
        for found in _NO_ANSWER.finditer(log)
    }


def _place(catalog: Catalog, coordinate: str) -> str:
    if coordinate in catalog.dependency_places:
        path, line = catalog.dependency_places[coordinate]
        return f"{path}, line {line}"
    return f"catalogs/{catalog.file.name}, required by one of its dependencies"
