"""What `drift`, `history` and `show` answer about a generated history, compared with what the witness saw."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from glacierbase.errors import ConfigurationError
from glacierbase.project.project import Project
from tests.histories.witness import Act, Part, Table, Witness

# A column is its name, and facts that `drift` lists separately.
_FACTS = ("column", "type", "required", "comment")


@dataclass(frozen=True)
class Recorded:
    """A table when a file, a baseline or an adoption recorded it."""

    name: str
    parts: Mapping[Part, Any]
    names: Mapping[Part, str]

    def subjects(self) -> dict[object, tuple[str, object]]:
        """Return the parts by what identifies them, each with the name that `drift` gives it, and its value."""
        parts: dict[object, tuple[str, object]] = {}
        paths = {key: self.names[kind, key] for kind, key in self.names if kind == "column"}
        lists: dict[str, list[str]] = defaultdict(list)
        for (kind, key), value in self.parts.items():
            if kind == "column":
                name, type_, required, comment = value
                parts["column", key] = f"column {paths[key]}", name
                facts = (type_, required, comment)
                parts |= {
                    (what, key): (f"{what} {paths[key]}", fact) for what, fact in zip(_FACTS[1:], facts, strict=True)
                }
            elif kind == "property":
                parts[kind, key] = f"property {key}", value
            elif kind == "partition":
                lists["partitioning"].append(f"{value[1]}({paths[value[0]]})")
            elif kind == "sort order":
                fields = ({**one, "source-id": paths[one["source-id"]]} for one in json.loads(value))
                parts[kind] = "sorting", json.dumps(list(fields))
            elif kind == "identifiers":
                lists[kind] = sorted(paths[one] for one in value)
        return parts | {what: (what, values) for what, values in lists.items()}


def differences(one: Recorded, other: Recorded) -> Iterator[str]:
    """Yield the differences between two states of a table, as `drift` names them."""
    if one.name != other.name:
        yield "table"
    before, after = one.subjects(), other.subjects()
    for key in before.keys() | after.keys():
        kind = key[0] if isinstance(key, tuple) else key
        name, value = before.get(key, ("", None))
        new_name, new_value = after.get(key, ("", None))
        if key in before and key in after:
            if value != new_value:
                yield "column" if kind == "column" else new_name
        elif kind not in _FACTS[1:]:  # They are not listed beside their column.
            yield name or new_name


@dataclass
class Records:
    """What the history recorded, by the witness.

    Attributes:
        tables: by UUID, those that exist by their last records.
        by_version: the UUIDs of the tables that a version named.
        absent: the names of a version that no table had when it began.
        during: the UUIDs of the tables that another client changed while a version ran, which named them.
        disturbed: the versions while which another client acted, even if it undid what it did.
    """

    tables: dict[str, Recorded] = field(default_factory=dict)
    by_version: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    absent: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    during: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    disturbed: set[str] = field(default_factory=set)

    def begin(self, witness: Witness, version: str, names: Collection[str]) -> None:
        """A version begins that names tables."""
        self.absent[version] |= {name for name in names if witness.named(name) is None}
        self.by_version[version] |= {table.uuid for table in witness.tables.values() if table.name in names}
        self.by_version[version] |= {uuid for uuid, recorded in self.tables.items() if recorded.name in names}

    def enter(self, witness: Witness, version: str, names: Collection[str]) -> None:
        """A version has ended, and is recorded."""
        self.by_version[version] |= {table.uuid for table in witness.tables.values() if table.name in names}
        for uuid in self.by_version[version]:
            table = witness.tables[uuid]
            if table.name is None:
                self.tables.pop(uuid, None)
            else:
                self.tables[uuid] = Recorded(table.name, dict(table.parts), dict(table.names))


class OtherQuestions:
    """Asks `drift`, `history` and `show`."""

    def __init__(self, witness: Witness, records: Records, asked: Callable[[str], None]) -> None:
        """Args:
        asked: called for each answer: with what is wrong, or an empty text.
        """
        self._witness = witness
        self._records = records
        self._asked = asked

    def _check(self, what: str, is_right: bool, text: object = "") -> None:
        self._asked("" if is_right else f"{what}: {text}")

    def drift(self, project: Project) -> None:
        """Every difference from the record is listed, and nothing else."""
        if not self._records.by_version:
            return
        [result] = project.drift()
        listed: dict[str, set[str]] = defaultdict(set)
        for drift in result.drifts:
            if drift.class_ not in ("kept by the engine", "not recorded") and drift.what != "order of columns":
                listed[drift.table].add(drift.what)
        for uuid, recorded in self._records.tables.items():
            table = self._witness.tables[uuid]
            if table.name is None:
                whats = listed[recorded.name]
                self._check(
                    f"drift {recorded.name}", any(what.startswith("table") for what in whats), f"not dropped: {whats}"
                )
            else:
                expected = set(differences(recorded, Recorded(table.name, table.parts, table.names)))
                self._check(
                    f"drift {recorded.name}", listed[recorded.name] == expected, (listed[recorded.name], expected)
                )
        names = {recorded.name for recorded in self._records.tables.values()}
        self._check("drift", listed.keys() <= names | {name for name, whats in listed.items() if not whats}, listed)

    def show(self, project: Project, version: str) -> None:
        """What other clients did while a version ran is shown, and of no version in which nobody did."""
        [result] = project.show(version)
        shown = {change.table for change in result.tables if change.origin == "during"}
        act = Act("during", version)
        must = {
            table.name
            for table in self._witness.tables.values()
            if table.name
            and table.uuid in self._records.during[version]
            and act in {table.last[part] for part in table.parts}
        }
        self._check(f"show {version}", bool(shown) >= bool(must), f"lacks the changes of {must}")
        self._check(f"show {version}", not shown or version in self._records.disturbed, f"{shown} by nobody")

    def history(self, project: Project, table: Table, name: str, part: Part, accepted: Collection[Act]) -> None:
        """The events of a table are those of files that named it; the last change of a column is among its changes.

        Args:
            name: of the table in the history.
            part: a column.
            accepted: who may have changed it last.
        """
        [result] = project.history(table=name)
        versions = {event.version for event in result.events}
        made = {act.version for act in (*table.last.values(), *table.made.values()) if act.origin == "migration"}
        self._check(f"history of {name}", made <= versions, f"lacks {made - versions}")
        others = [
            other
            for other in self._witness.tables.values()
            if other is table or {*other.names_had} & {*table.names_had}
        ]
        naming = {
            version
            for version, uuids in self._records.by_version.items()
            if any(other.uuid in uuids for other in others) or name in self._records.absent[version]
        }
        self._check(f"history of {name}", versions <= naming, f"has {versions - naming} of other tables")
        changes = []
        with suppress(ConfigurationError):
            changes = list(project.history(table=name, column=table.names[part])[0].changes or ())
        acts = {Act(change.since.origin.value, change.since.version or change.since.seen_by) for change in changes}
        is_known = not acts.isdisjoint(accepted) or any(act.origin == "not recorded" for act in acts)
        self._check(f"history of {name} {table.names[part]}", is_known, (acts, accepted))
