"""The keys of Iceberg's data files.

https://iceberg.apache.org/docs/latest/aws/#object-store-file-layout; the class `LocationProviders` of Iceberg
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from glacierbase.layout.murmur import base2_directories, base64_directory
from glacierbase.layout.partitions import iceberg_partitions, skewed_buckets
from glacierbase.layout.template import KeyTemplate, Segment, SegmentKind, TableFacts, constant, file_segment, is_true
from glacierbase.layout.versions import at_least
from glacierbase.model.names import name_parts

OBJECT_STORAGE = "write.object-storage.enabled"
PARTITIONED_PATHS = "write.object-storage.partitioned-paths"
DATA_PATH = "write.data.path"
# They are read where `write.data.path` is not set, the first one only with object storage. Since 1.9.0 a writer refuses them there.
FORMER_PATHS = ("write.object-storage.path", "write.folder-storage.path")
# What precedes the path in an address: scheme and bucket. An address need not be a valid URL.
_BUCKET = re.compile(r"(?:[A-Za-z][\w+.-]*:)?//[^/]*|[A-Za-z][\w+.-]*:(?=/)")
PROVIDER = "write.location-provider.impl"
_FILE = "00000-7-0b6c1d2e-3f40-4a51-8b62-7c8d9e0f1a2b-0-00001.parquet"
BASE2, NO_FORMER_PATHS = "1.7.0", "1.9.0"


def iceberg(facts: TableFacts) -> KeyTemplate:
    """Return the template of an Iceberg table."""
    base = _Base(facts)
    partitions = tuple(iceberg_partitions(facts))
    is_hashed = is_true(facts.properties, OBJECT_STORAGE)
    rest = _hashed(facts, base, partitions) if is_hashed else (*partitions, _file())
    return KeyTemplate(facts.table, (*base.segments, *rest), (*base.notes, *_notes(facts, is_hashed)))


class _Base:
    """The directory of the data files.

    Attributes:
        segments: of the directory; where it is outside the table's location, after the bucket.
        context: the segments after the hash by which tables in a shared directory differ.
    """

    def __init__(self, facts: TableFacts) -> None:
        self.notes: list[str] = []
        self.context: tuple[Segment, ...] = ()
        key = self._key(facts)
        path, location = facts.properties.get(key, "").rstrip("/"), (facts.location or "").rstrip("/")
        if not path:
            self.segments: tuple[Segment, ...] = (constant("data", "default data directory"),)
        elif location and f"{path}/".startswith(f"{location}/"):
            self.segments = _constants(path[len(location) :], f"property {key}")
        else:
            self.segments = _constants(_path(path), f"property {key}")
            # Iceberg compares texts: a path such as `…/orders2` counts as inside of `…/orders`.
            if not (location and path.startswith(location)):
                self.context = tuple(constant(name, "location of the table") for name in _last_names(facts))
            self.notes.append(f"data files are in {path}, outside the table's location")
            if not location and is_true(facts.properties, OBJECT_STORAGE):
                self.notes.append("the table's location is not known: its last two names are those of the table")

    def _key(self, facts: TableFacts) -> str:
        """Return the property that sets the directory."""
        former = former_paths(facts.properties)
        if former and refuses_former_paths(facts.version):
            self.notes.append(f"Iceberg {NO_FORMER_PATHS} and newer refuse to write with {' and '.join(former)}")
            return DATA_PATH
        return next(iter(former), DATA_PATH)


def former_paths(properties: Mapping[str, str]) -> list[str]:
    """Return the former properties for the directory of the data files that a writer reads; with `write.data.path`, none."""
    read = FORMER_PATHS if is_true(properties, OBJECT_STORAGE) else FORMER_PATHS[1:]
    return [] if DATA_PATH in properties else [key for key in read if key in properties]


def refuses_former_paths(version: str | None) -> bool:
    """Return whether writers of a version of Iceberg refuse `FORMER_PATHS`; of the newest one if it is not known."""
    return version is None or at_least(version, NO_FORMER_PATHS)


def _hashed(facts: TableFacts, base: _Base, partitions: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Return the segments after the base directory, in object storage."""
    is_base2 = facts.version is None or at_least(facts.version, BASE2)
    is_flat = is_base2 and not is_true(facts.properties, PARTITIONED_PATHS, "true")
    kept = () if is_flat else partitions
    rest = (*kept, _file())
    hashed = "/".join(segment.example for segment in rest)
    if not is_base2:
        source = f"property {OBJECT_STORAGE}, Iceberg before {BASE2}"
        return (
            Segment(SegmentKind.HASHED, "{hash:6 characters}", base64_directory(hashed), source),
            *base.context,
            *rest,
        )
    bits = [
        Segment(SegmentKind.HASHED, f"{{hash:{len(text)} bits}}", text, f"property {OBJECT_STORAGE}")
        for text in base2_directories(hashed)
    ]
    if not is_flat or base.context:
        return (*bits, *base.context, *rest)
    last = bits.pop()
    joined = replace(
        last,
        text=f"{last.text}-{rest[0].text}",
        example=f"{last.example}-{_FILE}",
        source=f"property {PARTITIONED_PATHS}",
    )
    return (*bits, joined)


def _notes(facts: TableFacts, is_hashed: bool) -> Iterator[str]:
    if provider := facts.properties.get(PROVIDER):
        yield f"the class {provider} ({PROVIDER}) decides the keys; this is the template without it"
    if is_hashed and facts.version is None:
        yield f"the version of Iceberg is not known: this is the layout since {BASE2}; before, the hash is one directory in base64"
    if is_hashed and facts.version and not at_least(facts.version, BASE2) and PARTITIONED_PATHS in facts.properties:
        yield f"{PARTITIONED_PATHS} has no effect before Iceberg {BASE2}"
    if not is_hashed:
        yield from skewed_buckets(facts)
    if not is_hashed and PARTITIONED_PATHS in facts.properties:
        yield f"{PARTITIONED_PATHS} has no effect without {OBJECT_STORAGE}"


def _file() -> Segment:
    return file_segment(SegmentKind.LOW_ENTROPY, _FILE)


def _constants(path: str, source: str) -> tuple[Segment, ...]:
    return tuple(constant(name, source) for name in path.split("/") if name)


def _last_names(facts: TableFacts) -> list[str]:
    """Return the last two names of the table's location."""
    location = _path(facts.location or "").strip("/")
    return (location.split("/") if location else list(name_parts(facts.table)))[-2:]


def _path(address: str) -> str:
    bucket = _BUCKET.match(address)
    return address[bucket.end() :] if bucket else address
