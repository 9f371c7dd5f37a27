"""The JSON documents of the program, checked against the schemas that it ships."""

from __future__ import annotations

import re
from functools import cache
from typing import Any


def checked(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document of the program. Fail if it does not fit the schema that it names."""
    found = re.fullmatch(r"glacierbase/([\w-]+)/1", document["schema"])
    assert found, document["schema"]
    _validator(found[1]).validate(document)
    return document


@cache
def _validator(command: str) -> Any:
    # Imported here: most tests read no document.
    from jsonschema import Draft202012Validator

    from glacierbase.output.schemas import json_schema

    return Draft202012Validator(json_schema(command))
