"""A project whose plans are in files, for the tests of plan files."""

from __future__ import annotations

from typing import Any

from tests.support.lakes import Lakes
from tests.support.project_folder import Output

MORE = """\
variables: {size: 4}
environments: {dev: {}, prod: {}, guarded: {requirePlan: true}}
defaultEnvironment: prod
"""
PLAN = "plan --catalog shop --output plan.json"
MIGRATE = "migrate --plan plan.json"


def refused(lakes: Lakes, command: str = MIGRATE, code: str = "PLAN_OUTDATED", exit_code: int = 3) -> dict[str, Any]:
    """Run a command that is refused: it runs nothing and records nothing. Return its error."""
    before = lakes.place("prod").content()[0]
    output = lakes.run(command, "--format", "json")
    assert (output.code, output.document["error"]["code"]) == (exit_code, code), output
    assert lakes.place("prod").content()[0] == before
    return dict(output.document["error"])


def applied(output: Output) -> list[str]:
    assert output.code == 0, output
    return [file["version"] for entry in output.document["catalogs"] for file in entry["applied"]]
