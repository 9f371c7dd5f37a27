"""Who logs in: the client of a credential, the subject of a token."""

from __future__ import annotations

import base64
import json

import pytest

from glacierbase.model.logins import client_of, principal_named, subject_of


def jwt(claims: object) -> str:
    """Return a JSON Web Token without a signature."""
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, claims))
    return ".".join(parts) + "."


@pytest.mark.parametrize(
    ("credential", "client"), [("ann:s", "ann"), ("ann:s:e:c", "ann"), (":s", ""), ("secret", ""), ("", "")]
)
def test_the_client_of_a_credential_holds_no_part_of_its_secret(credential: str, client: str) -> None:
    """A secret may hold colons, and be alone."""
    assert client_of(credential) == client


@pytest.mark.parametrize(
    ("token", "subject"),
    [
        (jwt({"sub": "ann"}), "ann"),
        (jwt({"sub": 7}), "7"),
        (jwt({"sub": None}), ""),
        (jwt({}), ""),
        (jwt(["sub"]), ""),
        (jwt("sub"), ""),
        ("opaque", ""),
        ("a.b.c", ""),
        ("a.ä.c", ""),
        (".." + "[" * 100_000, ""),
        ("", ""),
    ],
)
def test_the_subject_of_a_token_that_names_one(token: str, subject: str) -> None:
    """Tokens of other forms raise nothing."""
    assert subject_of(token) == subject


def test_a_principal_without_a_name_is_that_of_the_login() -> None:
    """A long name is cut."""
    assert principal_named("") == "the principal of the login"
    assert principal_named("a" * 999) == f"the principal {'a' * 300}"
