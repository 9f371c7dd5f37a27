"""The jars of a catalog file: Maven coordinates and digests; versions and repositories that could change a jar unnoticed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from glacierbase.catalogs.references import References
from glacierbase.catalogs.yamlfile import MappingNode, Node, ScalarNode, SequenceNode
from glacierbase.errors import GlacierbaseError, collected
from glacierbase.model.keys import COORDINATE, COORDINATE_PATTERN, SHA256

# For Ivy: https://ant.apache.org/ivy/history/latest-milestone/ivyfile/dependency.html
# For Maven: its POM reference, "Dependency Version Requirement Specification".
_FLOATING = re.compile(r"(?i)latest(?:\..*)?|release|(?:.*-)?snapshot|.*\+|[^\[\](),]*[\[\](),].*")


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The list `dependencies`.

    Attributes:
        coordinates: `group:artifact:version`.
        digests: pairs of a coordinate and the SHA-256 that its jar must have, in lower-case hexadecimal digits.
        places: file and line of each coordinate, also of those in `sparkConf`.
    """

    coordinates: tuple[str, ...]
    digests: tuple[tuple[str, str], ...]
    places: Mapping[str, tuple[str, int]]


class DependencyReader:
    """Read the jars of one environment; append errors to `errors`."""

    def __init__(self, references: References, errors: list[GlacierbaseError], *, floating_allowed: bool) -> None:
        self._references = references
        self._errors = errors
        self._floating_allowed = floating_allowed
        self._places: dict[str, tuple[str, int]] = {}

    def read(self, node: Node | None) -> Dependencies:
        """Read the list `dependencies`."""
        coordinates: list[str] = []
        digests: list[tuple[str, str]] = []
        for item in node.items if isinstance(node, SequenceNode) else ():
            with collected(self._errors):
                named, digest = _parts(item)
                coordinate = self._references.parsed(named, "dependencies", COORDINATE, "")
                self._check_versions(named, "dependencies", [coordinate])
                coordinates.append(coordinate)
                if digest:
                    sha256 = self._references.parsed(digest, "dependencies.sha256", SHA256, "")
                    digests.append((coordinate, sha256.lower()))
        return Dependencies(tuple(coordinates), tuple(digests), self._places)

    def check(self, node: Node | None, spark_conf: Mapping[str, str]) -> None:
        """Check the packages and repositories in `sparkConf`.

        Args:
            node: `sparkConf` as written.
            spark_conf: `sparkConf` with its references resolved.
        """
        for key, check in {
            "spark.jars.packages": self._check_packages,
            "spark.jars.repositories": self._check_repositories,
        }.items():
            written = node.get(key) if isinstance(node, MappingNode) else None
            if isinstance(written, ScalarNode) and key in spark_conf:
                with collected(self._errors):
                    check(written, key, [value.strip() for value in spark_conf[key].split(",")])

    def _check_packages(self, node: ScalarNode, name: str, packages: Iterable[str]) -> None:
        coordinates = [package.replace("/", ":") for package in packages if package]
        self._check_versions(node, name, coordinates)
        for coordinate in coordinates:
            if not re.fullmatch(COORDINATE_PATTERN, coordinate) and not self._references.is_unread(coordinate):
                what = f"{name}: {coordinate!r} is not {COORDINATE.expected}"
                raise node.place.error("INVALID_VALUE", what, "correct the value")

    def _check_versions(self, node: ScalarNode, name: str, coordinates: Collection[str]) -> None:
        self._places.update(dict.fromkeys(coordinates, (node.place.file, node.place.line)))
        if self._floating_allowed:
            return
        for coordinate in coordinates:
            if _FLOATING.fullmatch(coordinate.rpartition(":")[2]) and not self._references.is_unread(coordinate):
                raise node.place.error(
                    "FLOATING_DEPENDENCY",
                    f"{name}: {node.text!r} names a version that can resolve to another jar later",
                    "name one version, or write allowFloating: true beside dependencies",
                )

    def _check_repositories(self, node: ScalarNode, name: str, repositories: Iterable[str]) -> None:
        if any(is_plain_http(repository) and not self._references.is_unread(repository) for repository in repositories):
            raise node.place.error(
                "INVALID_VALUE",  # Without the address, which may hold a password.
                f"{name}: a repository is read over http://, so that a jar can be replaced in transit",
                "use https://",
            )


def _parts(item: Node) -> tuple[ScalarNode, ScalarNode | None]:
    """Return the coordinate and the digest of an item, which is a coordinate or a mapping."""
    if isinstance(item, ScalarNode):
        return item, None
    assert isinstance(item, MappingNode)
    named, digest = item.get("coordinate"), item.get("sha256")
    if not isinstance(named, ScalarNode):
        raise item.place.error("MISSING_KEY", "dependencies: coordinate is missing", "write group:artifact:version")
    return named, digest if isinstance(digest, ScalarNode) else None


def is_plain_http(address: str) -> bool:
    """Return whether what this address serves comes from another machine without TLS."""
    try:
        url = urlsplit(address)
        return url.scheme == "http" and not _is_loopback(url.hostname or "")
    except ValueError:  # Not an address.
        return True


def _is_loopback(host: str) -> bool:
    from ipaddress import ip_address  # Imported here: few catalog files name such a repository.

    return host == "localhost" or ip_address(host).is_loopback
