"""How severe a finding is."""

from __future__ import annotations

from enum import Enum


class Severity(str, Enum):
    """An error fails the command; a warning does not."""

    ERROR = "error"
    WARNING = "warning"

    __str__ = str.__str__
