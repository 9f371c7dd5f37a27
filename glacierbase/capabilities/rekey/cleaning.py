"""Delete the objects with old keys: those that a manifest names, after a soak time, once a person has approved it.

A manifest is the digest of all pairs in chunks, so that it names each object without a list of them. The lines of a chunk are
written to the journal before its first object is deleted: a run that was stopped inside a chunk knows what it was deleting.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from zlib import compress, decompress

from glacierbase.capabilities.rekey.cutover import check_readers
from glacierbase.capabilities.rekey.inventory import CHUNKS_PER_JOB, Counts, Inventory
from glacierbase.capabilities.rekey.journal import Entry, Journal, instant, journal_of, milliseconds, now, state
from glacierbase.capabilities.rekey.keys import of_arguments
from glacierbase.capabilities.rekey.objects import compared, digest_of, write_manifest
from glacierbase.errors import StatementRefused
from glacierbase.executors import Row
from glacierbase.executors.actions import ActionRun, GateShut
from glacierbase.model.command import command
from glacierbase.model.escape import on_one_line
from glacierbase.model.text import counted


def clean_up(run: ActionRun) -> None:
    """Delete the objects of the manifest.

    Raises:
        GateShut: the soak time is not over, the manifest is not approved, or objects changed since it was written.
        StatementRefused: an object has no twin, or is not the one that the manifest names.
    """
    with closing(journal_of(run)) as journal, closing(Inventory(run, of_arguments(run.arguments))) as inventory:
        manifest = state(journal, "manifest")
        if not manifest:
            raise StatementRefused(
                "MANIFEST_MISSING",
                f"the journal has no manifest of {run.arguments['objects']}; write the `CALL glacierbase.rekey_validate` of the"
                " file before above this statement",
            )
        counts = compared(run, inventory)
        deletion = _Deletion(run, journal, inventory, manifest)
        if not deletion.has_begun:
            _check_gates(run, journal, inventory, manifest, counts)
        deletion.finish()


def _check_gates(run: ActionRun, journal: Journal, inventory: Inventory, manifest: Entry, counts: Counts) -> None:
    check_readers(run, journal, of_arguments(run.arguments))
    rows = inventory.manifest(int(manifest["chunks"]))
    if digest_of(rows) != manifest["digest"] or counts.same < counts.all:
        written = write_manifest(journal, inventory, counts)
        raise GateShut(
            f"objects with old keys were written, replaced or deleted after {manifest['at']}, when the manifest was written;"
            f" a new one, {written['digest']}, was written, and the soak time begins again"
        )
    ends = milliseconds(manifest["at"]) + int(run.arguments["soak_seconds"]) * 1000
    if inventory.now < ends:
        raise GateShut(f"the soak time of the manifest {manifest['digest']} ends at {instant(ends)}")
    if state(journal, "approved").get("digest") != manifest["digest"]:
        raise GateShut(
            f"the manifest {manifest['digest']} of {counted(manifest['objects'], 'object')}, {manifest['bytes']:,} bytes, is not"
            f" approved; `{_approving(run.arguments)}` asks for that"
        )


def _approving(arguments: Entry) -> str:
    """Return the command that approves the manifest of a data set."""
    place = arguments.get("journal")
    return command("rekey", "approve", arguments["objects"], *(("--journal", place) if place else ()))


class _Deletion:
    """The deletion of the objects of one manifest, chunk by chunk."""

    def __init__(self, run: ActionRun, journal: Journal, inventory: Inventory, manifest: Entry) -> None:
        self._run, self._journal, self._inventory = run, journal, inventory
        self._chunks, digest = int(manifest["chunks"]), manifest["digest"]
        self._manifest = {int(name): entry["digest"] for name, entry in journal.rows(f"manifest {digest}")}
        self._kinds = f"deleting {digest}", f"deleted {digest}"
        self._begun = {int(name): entry for name, entry in journal.rows(self._kinds[0])}

    @property
    def has_begun(self) -> bool:
        """Whether an earlier run began to delete."""
        return bool(self._begun)

    def finish(self) -> None:
        """Delete what is left.

        Raises:
            StatementRefused: `MANIFEST_DIFFERS`: an object is not the one that the manifest names. Nothing more is deleted.
        """
        if self.has_begun:
            present = {int(row[0]): row[3] for row in self._inventory.manifest(self._chunks)}
            for number, digest in self._manifest.items():
                if number not in self._begun and present.get(number) != digest:
                    raise _differs(f"the objects of chunk {number} of the manifest changed")
        for first in range(0, self._chunks, CHUNKS_PER_JOB):
            last = min(first + CHUNKS_PER_JOB, self._chunks)
            rows = self._inventory.lines(self._chunks, first, last)
            if rows:
                self._run.progress = f"deleting objects of chunk {first + 1} to {last} of {self._chunks}"
                self._delete(rows, first, last)

    def _delete(self, rows: Sequence[Row], first: int, last: int) -> None:
        entries: dict[str, Entry] = {}
        for number, group in groupby(rows, key=itemgetter(0)):
            lines = [row[1:] for row in group]
            if number not in self._begun:
                entries[f"{number:08}"] = {"lines": b64encode(compress(json.dumps(lines).encode())).decode()}
                continue
            begun = {*map(tuple, json.loads(decompress(b64decode(self._begun[number]["lines"]))))}
            if others := [line for line in lines if line not in begun]:
                raise _differs(f"{on_one_line(others[0][0])} was written since")
        self._journal.put("state", {"deletion": {"at": now()}})
        self._journal.put(self._kinds[0], entries)
        outcomes = self._inventory.delete(self._chunks, first, last)
        if kept := [row for row in outcomes if row[1] != "deleted"]:
            key, why = map(on_one_line, kept[0])
            raise _differs(f"{counted(len(kept), 'object')} stayed, such as {key}: {why}")
        at = now()
        numbers = sorted({row[0] for row in rows})
        self._journal.put(self._kinds[1], {f"{number:08}": {"at": at} for number in numbers})


def _differs(why: str) -> StatementRefused:
    return StatementRefused(
        "MANIFEST_DIFFERS",
        f"{why}; nothing more was deleted. Write the `CALL glacierbase.rekey_validate` of the file before above this statement:"
        " it writes a new manifest of what is left",
    )
