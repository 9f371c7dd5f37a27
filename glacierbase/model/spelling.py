"""The hint for an unknown name: the nearest name that is known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], otherwise: str, form: str = "{}") -> str:
    """Return `did you mean NEAREST?`, or `otherwise` where no known name is near.

    Args:
        form: how a name is written, with `{}` in its place.
    """
    near = nearest(name, known)
    return otherwise if near is None else suggestion(form.format(near))


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the known name that is most like `name`; None where none is like it.

    Args:
        likeness: the least one, from 0 to 1.
    """
    return next(iter(get_close_matches(name, list(known), 1, likeness)), None)


def suggestion(name: str) -> str:
    """Return the hint that proposes a known name."""
    return f"did you mean {name}?"
