"""The pages of the documentation and the code blocks in them."""

from __future__ import annotations

import importlib.util
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

REPOSITORY = Path(__file__).resolve().parent.parent.parent

DOCS = REPOSITORY / "docs"
PAGES = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(DOCS.rglob("*.md"))

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<language>[a-z]*)\n(?P<text>.*?)^(?P=indent)(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)


def _load_build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_build", DOCS / "build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


# The module docs/build.py.
build = _load_build()


@dataclass(frozen=True)
class Block:
    """A fenced block. `marker` is the text of the HTML comment on the line before it, if there is one."""

    page: str
    line: int
    language: str
    text: str
    marker: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path, language: str | None = None) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in order; of one language, where one is named."""
    text = page.read_text("utf-8")
    for found in _FENCE.finditer(text):
        if language in (None, found["language"]):
            before = re.search(r"<!-- (.*) -->\n\Z", text[: found.start()])
            yield Block(
                page.relative_to(REPOSITORY).as_posix(),
                text.count("\n", 0, found.start()) + 1,
                found["language"],
                textwrap.dedent(found["text"]),
                before[1] if before else "",
            )


def all_blocks(language: str) -> list[Block]:
    """Return the blocks of one language on every page."""
    return [block for page in PAGES for block in blocks(page, language)]


def table(page: Path, marker: str) -> list[list[str]]:
    """Return the rows of the table after `<!-- marker -->`, as the text of their cells, without the header."""
    text = page.read_text("utf-8").partition(f"<!-- {marker} -->")[2].strip().partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()]
    assert len(rows) > 2, marker
    return rows[2:]
