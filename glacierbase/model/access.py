"""Who besides the migrator may change tables, as far as a catalog shows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Protection(str, Enum):
    """Whether the catalog refuses a change of a table by anybody but the migrator."""

    PREVENTED = "prevented"
    DETECTED = "only detected"
    UNKNOWN = "unknown"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class NamespaceAccess:
    """Whether others than the migrator may change the tables of a namespace.

    Attributes:
        namespace: with its catalog.
        detail: what the verdict comes from: who may, who was refused, or why it is unknown.
    """

    namespace: str
    verdict: Protection
    detail: str
