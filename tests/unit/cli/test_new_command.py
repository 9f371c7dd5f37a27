"""How a read-only command is added: in three rooms, as CONTRIBUTING describes it. The test adds one to a copy of the package."""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import glacierbase
from tests.support.project_folder import ProjectFolder
from tests.unit.cli.test_bad_input import READABLE

# A file in inspect/: the function for one catalog, and its result with its text.
FUNCTION = '''\
"""The number of events in the history."""

from __future__ import annotations

from dataclasses import dataclass, replace

from glacierbase.history.target import CatalogRun
from glacierbase.history.state import current_state
from glacierbase.model.result import Result
from glacierbase.model.text import counted


@dataclass(frozen=True, slots=True)
class CountResult(Result):
    """The number of events in the history."""

    events: int = 0

    def lines(self) -> list[str]:
        return [counted(self.events, "event")]


def count(target: CatalogRun, result: CountResult) -> CountResult:
    """Return the number of events."""
    return replace(result, events=len(current_state(target).history.events))
'''
# A row in project/commands.py.
ROW = '    "count": Command(Section.READ, "inspect.count:count", "inspect.count:CountResult"),\n'
# A method in project/project.py, and its type of result.
IMPORT = "    from glacierbase.inspect.count import CountResult\n"
METHOD = '''\
    @_on_named_catalogs
    def count(self, catalogs: Collection[str] = (), *, spark: Any = None) -> tuple[CountResult, ...]:
        """Return the number of events. Writes nothing."""
        return self._catalogs.run(COMMANDS["count"], catalogs, spark)

'''
# A command in cli/inspect.py.
COMMAND = '''

@cli.command()
@with_options()
def count(options: Options) -> None:
    """Count the events in the history. Writes nothing."""
    options.report(lambda project: project.count(options.catalogs))
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, with the command `count` added."""
    copy = tmp_path / "copy" / "glacierbase"
    shutil.copytree(Path(glacierbase.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "inspect" / "count.py").write_text(FUNCTION)
    for name, before, addition in (
        ("commands.py", '    "report": Command(', ROW),
        ("project.py", "    from glacierbase.capabilities.tables.drift import", IMPORT),
        ("project.py", "    @_on_named_catalogs\n    def doctor(", METHOD),
    ):
        file = copy / "project" / name
        text = file.read_text()
        assert text.count(before) == 1
        file.write_text(text.replace(before, addition + before))
    with (copy / "cli" / "inspect.py").open("a") as commands:
        commands.write(COMMAND)
    return copy


def run(package: Path, project: ProjectFolder, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    return subprocess.run(
        [sys.executable, *command], cwd=project.root, env=environment, capture_output=True, text=True, check=False
    )


def test_a_read_only_command_is_added_in_three_rooms(package: Path, project: ProjectFolder) -> None:
    """The command has all common options, both formats, exit codes, help and a JSON Schema."""
    assert differences(Path(glacierbase.__file__).parent, package) == {
        "inspect/count.py", "project/commands.py", "project/project.py", "cli/inspect.py",
    }  # fmt: skip
    project.catalog(READABLE)
    text = run(package, project, "-m", "glacierbase", "count", "--catalog", "shop")
    assert (text.stdout, text.stderr, text.returncode) == ("shop (default)\n  0 events\n", "", 0)
    document = json.loads(run(package, project, "-m", "glacierbase", "count", "--format", "json").stdout)
    assert document == {
        "schema": "glacierbase/count/1", "ok": True, "error": None,
        "catalogs": [
            {"catalog": "shop", "environment": "default", "skipped": None, "warnings": [], "error": None, "events": 0}
        ],
    }  # fmt: skip
    failed = run(package, project, "-m", "glacierbase", "count", "--env", "nope", "--format", "json")
    assert (failed.returncode, json.loads(failed.stdout)["error"]["code"]) == (2, "UNKNOWN_ENVIRONMENT")
    listed = run(package, project, "-m", "glacierbase", "help", "--all").stdout
    assert re.search(r"^  count +Count the events in the history\.$", listed, re.MULTILINE)
    schema = "import json; from glacierbase.output import schemas; print(json.dumps(schemas.json_schema('count')))"
    entry = json.loads(run(package, project, "-c", schema).stdout)["$defs"]["CountResult"]
    assert entry["properties"]["events"] == {"type": "integer"}


def differences(old: Path, new: Path) -> set[str]:
    """Return the files of `new` that `old` lacks or has with other content."""
    paths = [path.relative_to(new) for path in new.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {
        path.as_posix()
        for path in paths
        if not (old / path).is_file() or not filecmp.cmp(old / path, new / path, shallow=False)
    }
