"""The hint for an unknown name: the nearest name that is known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], otherwise: str, form: str = "{}") -> str:
    """Return `did you mean NEAREST?`, or `otherwise` where no known name is near.

    Args:
        form: how a name is written, with `{}` in its place.
    """
    for near in get_close_matches(name, list(known), n=1):
        return f"did you mean {form.format(near)}?"
    return otherwise
