"""The command `rekey approve`: a person approves that the objects of a manifest are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from glacierbase.capabilities.rekey.journal import now, open_journal, state
from glacierbase.errors import ConfigurationError, StatementRefused
from glacierbase.model.command import command
from glacierbase.model.result import StandaloneResult
from glacierbase.model.text import counted


@dataclass(frozen=True, slots=True)
class RekeyApproveResult(StandaloneResult):
    """The manifest of the objects that `rekey_clean_up` deletes.

    Attributes:
        address: of the objects.
        manifest: its digest.
        objects, bytes: how many it names, and their size.
        written_at: when the objects were compared.
        approved: whether this call approved it.
    """

    address: str
    manifest: str
    objects: int
    bytes: int
    written_at: str
    approved: bool

    def lines(self) -> Sequence[str]:
        done = "approved: the next `migrate` after the soak time deletes" if self.approved else "clean-up would delete"
        return [
            f"{done} {counted(self.objects, 'object')} with old keys below {self.address}, {self.bytes:,} bytes",
            f"manifest {self.manifest}, written at {self.written_at}",
        ]


def approve(project: Path, address: str, *, journal: str, manifest: str | None, by: str) -> RekeyApproveResult:
    """Approve the manifest of the objects below `address`, or only return it.

    Args:
        journal: as in the calls of the actions; empty for the file in the project.
        manifest: the digest of the manifest; without it, nothing is approved.
        by: who approves.

    Raises:
        ConfigurationError: `MANIFEST_MISSING`; `MANIFEST_DIFFERS`: the digest is that of another one; `CANNOT_REKEY`: the
            journal cannot be read or written.
    """
    try:
        with closing(open_journal(address, journal, project, is_made=False)) as opened:
            present = state(opened, "manifest")
            if not present:
                raise ConfigurationError(
                    "MANIFEST_MISSING",
                    f"the journal has no manifest of {address}",
                    f"`{command('status')}` shows which phase it is in; rekey_validate writes the manifest",
                )
            if manifest not in (None, present["digest"]):
                raise ConfigurationError(
                    "MANIFEST_DIFFERS",
                    f"the manifest of {address} is {present['digest']} now, not {manifest}; nothing was approved",
                    command("rekey", "approve", address),
                )
            if manifest:
                entry = {"digest": manifest, "by": by, "at": now()}
                opened.put("state", {"approved": entry})
    except StatementRefused as error:
        raise ConfigurationError("CANNOT_REKEY", error.message, error.hint) from error
    return RekeyApproveResult(
        address, present["digest"], present["objects"], present["bytes"], present["at"], manifest is not None
    )
