"""Apply breaks to a copy of the checkout, one after the other, and run the test of each."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.project_folder import REPOSITORY

# A break may make its test wait without end, which shows nothing: the machine may be slow.
_SECONDS = 300
_PYTEST = ("-m", "pytest", "-q", "-x", "-n", "0", "-m", "", "-p", "no:cacheprovider", "--tb=no", "--no-header")
_PASSED, _FAILED = 0, 1
# Folders of the checkout that no test reads.
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "site", "spark-warehouse", "metastore_db", "node_modules")


@dataclass(frozen=True, slots=True)
class Break:
    """A change of the code that is wrong, and the test that fails with it.

    Attributes:
        what: what is wrong then.
        file: in the package.
        old: the text that is replaced; it occurs once in the file.
        new: the text in its place.
        test: the node id of the test in `tests/`, without its parameters or with them.
    """

    what: str
    file: str
    old: str
    new: str
    test: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"

    @property
    def node(self) -> str:
        """The node id, from the root of the checkout."""
        return f"tests/{self.test}"

    def stale(self, root: Path) -> str | None:
        """Return why the break does not apply to the checkout any more; None if it does."""
        file = root / "glacierbase" / self.file
        if not file.exists():
            return f"there is no file {self.file}"
        text = file.read_text()
        if (count := text.count(self.old)) != 1:
            return f"its old text occurs {count} times in {self.file}"
        try:
            if file.suffix == ".py":
                compile(text.replace(self.old, self.new), str(file), "exec")
        except SyntaxError as error:
            return f"its new text is no Python: {error}"
        return None if _has_test(root, self.node) else f"there is no test {self.node}"


def _has_test(root: Path, node: str) -> bool:
    path, _, name = node.partition("[")[0].partition("::")
    file = root / path
    if not file.exists():
        return False
    found = ast.parse(file.read_text()).body
    return any(isinstance(each, ast.FunctionDef) and each.name == name for each in found)


def run(breaks: Sequence[Break], folder: Path) -> Iterator[tuple[Break, str | None]]:
    """Yield each break, and why it was not noticed; None if its test failed.

    Args:
        folder: an empty one, for the copy.
    """
    root = folder / "checkout"
    shutil.copytree(REPOSITORY, root, ignore=_LEFT_OUT)
    stale = {each: why for each in breaks if (why := each.stale(root))}
    sound = _sound({each.node for each in breaks if each not in stale}, root)
    for each in breaks:
        why = stale.get(each) or (None if each.node in sound else "its test fails, or does not run, without the break")
        if why is None:
            with _applied(each, root):
                why = _noticed(each, root)
        yield each, why


def _sound(nodes: Collection[str], root: Path) -> set[str]:
    """Return those of the tests that pass."""
    ordered = sorted(nodes)
    if not ordered or _pytest(ordered, root) == _PASSED:
        return set(ordered)
    return {node for node in ordered if _pytest([node], root) == _PASSED}


@contextmanager
def _applied(each: Break, root: Path) -> Iterator[None]:
    file = root / "glacierbase" / each.file
    text = file.read_text()
    file.write_text(text.replace(each.old, each.new))
    try:
        yield
    finally:
        file.write_text(text)


def _noticed(each: Break, root: Path) -> str | None:
    code = _pytest([each.node], root)
    if code == _FAILED:
        return None
    if code is None:
        return f"{each.node} does not end"
    return f"{each.node} passes" if code == _PASSED else f"{each.node} does not run: pytest ended with {code}"


def _pytest(nodes: Sequence[str], root: Path) -> int | None:
    """Run tests of the copy; return pytest's exit code, None if it did not end in time."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, *_PYTEST, *nodes]
    try:
        seconds = _SECONDS * len(nodes)
        return subprocess.run(
            command, cwd=root, env=environment, capture_output=True, timeout=seconds, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return None
