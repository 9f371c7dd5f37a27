"""The actions that give the objects of a data set on S3 other keys, while writers write each object twice.

The bucket is the truth: each action lists what has old keys and what has new ones, so that one which stopped goes on with what is
left. The journal says what was done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from itertools import groupby
from operator import itemgetter

from glacierbase.capabilities.rekey.inventory import OBJECTS_PER_CHUNK, Counts, Inventory, recent
from glacierbase.capabilities.rekey.journal import Entry, Journal, instant, journal_of, now
from glacierbase.capabilities.rekey.keys import of_arguments
from glacierbase.errors import StatementRefused
from glacierbase.executors import Row
from glacierbase.executors.actions import ActionRun, GateShut
from glacierbase.model.escape import on_one_line
from glacierbase.model.text import counted

# Listings until nothing is left to copy: writers go on meanwhile.
_ROUNDS = 5


def verify_dual_write(run: ActionRun) -> None:
    """Check that each object that was written with an old key of late has a twin with the new key.

    Raises:
        GateShut: an object has none, or none was written.
        StatementRefused: the bucket cannot be listed.
    """
    objects = of_arguments(run.arguments)
    lag, window = (int(run.arguments[name]) for name in ("lag_seconds", "window_seconds"))
    inventory = Inventory(run, objects)
    inventory.list_both()
    until = inventory.now - lag * 1000
    [[count, missing, first]] = run.query(recent(objects, until - window * 1000, until))
    if missing:
        raise GateShut(
            f"{missing} of {counted(count, 'object')} that were written more than {lag} seconds ago have no object with"
            f" the new key, such as {on_one_line(first)}; a writer does not write twice"
        )
    if not count:
        raise GateShut(
            f"no object was written below {objects.address}{objects.old_keys} in the {window} seconds that are"
            f" more than {lag} seconds ago, so that nothing shows that writers write twice"
        )


def backfill(run: ActionRun) -> None:
    """Copy each object to its new key, until none is missing and none differs. A newer twin is not replaced.

    Raises:
        GateShut: objects change while they are copied, or have newer twins.
        StatementRefused: an object cannot be copied.
    """
    is_by_object = _is_by_object(run)
    with closing(journal_of(run)) as journal, closing(Inventory(run, of_arguments(run.arguments))) as inventory:
        for _ in range(_ROUNDS):
            counts = inventory.read()
            if not counts.due:
                return
            if not counts.copyable:
                break
            for rows in inventory.copy(counts):
                journal.put("copied", dict(_copied(rows, is_by_object=is_by_object)))
                if failed := [row for row in rows if row[-1] not in ("copied", "left")]:
                    _, key, *_, why = failed[0]
                    raise StatementRefused(
                        "S3_REFUSED",
                        f"{counted(len(failed), 'object')} could not be copied, such as {on_one_line(key)}: {why}",
                    )
        raise GateShut(
            f"the twins of {counted(counts.due, 'object')} differ, such as of {inventory.named()}: a writer writes only one of"
            " the two keys, or the old one last"
        )


def validate(run: ActionRun) -> None:
    """Compare all objects with their twins, and write the manifest of those pairs.

    Raises:
        StatementRefused: `KEYS_DIFFER`: an object has no twin, or another one.
    """
    objects = of_arguments(run.arguments)
    with closing(journal_of(run)) as journal, closing(Inventory(run, objects)) as inventory:
        write_manifest(journal, inventory, compared(run, inventory))


def compared(run: ActionRun, inventory: Inventory) -> Counts:
    """Read the inventory; refuse objects without a twin.

    Raises:
        StatementRefused: `KEYS_DIFFER`.
    """
    counts = inventory.read()
    if counts.due:
        raise StatementRefused(
            "KEYS_DIFFER",
            f"{counts.due} of {counted(counts.all, 'object')} below {run.arguments['objects']} have no object with the same"
            f" content and the new key, such as {inventory.named()}; write the `CALL glacierbase.rekey_backfill` above this"
            " statement",
        )
    return counts


def write_manifest(journal: Journal, inventory: Inventory, counts: Counts) -> Entry:
    """Write the manifest of all pairs that are the same, and return its head."""
    chunks = max(1, -(-counts.same // OBJECTS_PER_CHUNK))
    rows = inventory.manifest(chunks)
    digest = digest_of(rows)
    entries = {f"{row[0]:08}": {"objects": row[1], "bytes": row[2], "digest": row[3]} for row in rows}
    journal.put(f"manifest {digest}", entries)
    head = {
        "digest": digest,
        "objects": counts.same,
        "bytes": counts.same_bytes,
        "chunks": chunks,
        "at": instant(inventory.now),
    }
    # One entry makes it the manifest: a run that is stopped before leaves the former one.
    journal.put("state", {"manifest": head})
    return head


def digest_of(rows: Sequence[Row]) -> str:
    """Return the digest of a manifest."""
    return "sha256:" + sha256("\n".join(f"{row[0]} {row[3]}" for row in rows).encode()).hexdigest()


def _copied(rows: Sequence[Row], *, is_by_object: bool) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of what was copied: of each object, or of each chunk."""
    at = now()
    copied = sorted((row for row in rows if row[-1] == "copied"), key=itemgetter(0, 1))
    if is_by_object:
        for _, key, new_key, size, etag, new_etag, _ in copied:
            yield f"{at} {key}", {"new_key": new_key, "bytes": size, "etag": etag, "new_etag": new_etag}
        return
    for number, group in groupby(copied, key=itemgetter(0)):
        members = list(group)
        lines = "\n".join(f"{row[1]}\t{row[4]}\t{row[2]}\t{row[5]}" for row in members)
        yield (
            f"{at} {number:08}",
            {
                "objects": len(members),
                "bytes": sum(row[3] for row in members),
                "first": members[0][1],
                "last": members[-1][1],
                "digest": sha256(lines.encode()).hexdigest(),
            },
        )


def _is_by_object(run: ActionRun) -> bool:
    rows = run.arguments.get("journal_rows", "chunks")
    if rows not in ("chunks", "objects"):
        raise StatementRefused("CANNOT_REKEY", f"journal_rows => '{rows}' is neither 'chunks' nor 'objects'")
    return rows == "objects"
