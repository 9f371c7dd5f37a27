"""Who logs in to a catalog server, by the values with which a client logs in. No text of this module holds a secret."""

from __future__ import annotations

import base64
import json

_LONGEST = 300


def client_of(credential: str) -> str:
    """Return the client of an OAuth 2 credential `CLIENT:SECRET`; empty for a secret alone.

    A secret may hold colons: Iceberg and PyIceberg divide a credential at the first one.
    """
    client, colon, _ = credential.partition(":")
    return client if colon else ""


def subject_of(token: str) -> str:
    """Return the subject of a JSON Web Token (RFC 7519), which nothing verified; empty for a token of another form."""
    part = [*token.split("."), ""][1]
    try:
        subject = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))["sub"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return ""
    return str(subject or "")


def principal_named(name: str) -> str:
    """Return how a message names a principal."""
    return f"the principal {name[:_LONGEST]}" if name else "the principal of the login"
