"""How the refusal of a REST catalog names the right that the principal lacks."""

from __future__ import annotations

import pytest
from requests import HTTPError, Request, Response

from glacierbase.errors import EngineError
from glacierbase.executors.pyiceberg.errors import mapped

ADDRESS = "https://catalog.example/v1/lake"
RIGHTS = [
    ("GET", "/namespaces/a%1Fb/tables/t", "read the table a.b.t"),
    ("POST", "/namespaces/a/tables/t", "change the table a.t"),
    ("DELETE", "/namespaces/a/tables/t", "drop the table a.t"),
    ("GET", "/namespaces/a/tables", "list the tables of a"),
    ("POST", "/namespaces/a/tables", "create a table in a"),
    ("GET", "/namespaces/a", "read the namespace a"),
    ("POST", "/namespaces/a", "change the namespace a"),
    ("DELETE", "/namespaces/a", "drop the namespace a"),
    ("POST", "/namespaces", "create a namespace"),
    ("GET", "/config", "read the configuration of the catalog"),
]


def refused(method: str, path: str) -> Response:
    """Return the answer 403 to a request."""
    response = Response()
    response.status_code = 403
    response.request = Request(method, f"{ADDRESS}{path}").prepare()
    return response


@pytest.mark.parametrize(("method", "path", "right"), RIGHTS)
def test_a_refusal_names_what_the_request_does(method: str, path: str, right: str) -> None:
    """Method and path of the request say whether a table or a namespace is read, changed or dropped."""
    with pytest.raises(EngineError) as error, mapped():
        raise HTTPError(response=refused(method, path))
    assert f"HTTP 403: the principal of the login may not {right}" in error.value.message
