"""Key schemes: from ids and how often they are requested to the sorted keys of a table."""

from __future__ import annotations
