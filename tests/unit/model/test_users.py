"""Who ran, as text."""

from __future__ import annotations

import pytest

from glacierbase.model.result import user_of


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (("ann", "laptop", None), "ann@laptop"),
        (("runner", "ci-7", "octocat"), "octocat (runner@ci-7)"),
        (("ann", None, None), "ann"),
        ((None, "ci-7", "octocat"), "octocat (ci-7)"),
        ((None, None, "octocat"), "octocat"),
        ((None, None, None), "an unknown user"),
    ],
)
def test_a_user_is_named_as_far_as_it_is_known(known: tuple[str | None, str | None, str | None], expected: str) -> None:
    """An event of another client may have no user, or no host."""
    assert user_of(*known) == expected
