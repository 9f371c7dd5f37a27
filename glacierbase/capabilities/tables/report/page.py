"""Write the page of `report`: one HTML file with its style, its script and its data, which contacts nothing."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

import glacierbase
from glacierbase.capabilities.tables.compare.results import CompareResult
from glacierbase.capabilities.tables.report.results import PageResult, ReportResult, reported
from glacierbase.errors import GlacierbaseError, SeveralErrors, raise_all
from glacierbase.model.arguments import check_not_empty
from glacierbase.model.escape import escaped, on_one_line
from glacierbase.model.result import Result, Results
from glacierbase.run.files import check_replaceable, replace_file, writing

R = TypeVar("R", bound=Result)

_SCRIPTS = ("data.js", "elements.js", "pages.js", "dictionary.js", "addresses.js", "search.js")
Reference: TypeAlias = int | None


def report(
    output: str | Path,
    name: str,
    pages: Callable[[], Sequence[PageResult]],
    compared: Callable[[], Sequence[CompareResult]],
) -> Results[ReportResult]:
    """Write the page about a project to a file.

    Args:
        name: the name of the project.
        pages: reads the page's content for each catalog.
        compared: compares environments.

    Raises:
        GlacierbaseError: a catalog or an environment cannot be read, or several; `results` says where the page with the others
            is. Without any others there is none.
    """
    check_not_empty("output", output)
    check_output(output)
    errors: list[GlacierbaseError] = []
    catalogs, comparisons = _read(pages, errors), _read(compared, errors)
    is_anything_known = any(result.error is None and result.skipped is None for result in (*catalogs, *comparisons))
    if is_anything_known or not errors:
        write_page(output, name, catalogs, comparisons)
    results = Results(reported(str(output) if is_anything_known else "", catalogs, comparisons))
    # An environment that is both shown and compared fails twice.
    raise_all(list({(error.code, error.message): error for error in errors}.values()), results)
    return results


def _read(read: Callable[[], Sequence[R]], errors: list[GlacierbaseError]) -> Sequence[R]:
    """Return the results of a command, also where it fails for some of them; the errors are appended.

    Raises:
        GlacierbaseError: it has no results.
    """
    try:
        return read()
    except GlacierbaseError as error:
        if not error.results:
            raise
        inside = error.errors if isinstance(error, SeveralErrors) else (error,)
        errors += [result.error for result in error.results if result.error] or inside
        return error.results


def check_output(path: str | Path) -> None:
    """Refuse a file that cannot be written, before anything is read.

    Raises:
        ConfigurationError: `UNREADABLE_FILE`.
    """
    with writing(path):
        check_replaceable(Path(path))


def write_page(path: str | Path, name: str, pages: Sequence[PageResult], compared: Sequence[CompareResult]) -> None:
    """Write the page. An existing one is replaced as a whole.

    Raises:
        ConfigurationError: `UNREADABLE_FILE`.
    """
    with writing(path):
        replace_file(Path(path), page_text(name, pages, compared))


def page_text(name: str, pages: Sequence[PageResult], compared: Sequence[CompareResult]) -> str:
    """Return the page.

    Args:
        name: the name of the project.
    """
    folder = files("glacierbase.capabilities.tables.report") / "templates"
    template, style, *scripts = ((folder / name).read_text("utf-8") for name in ("page.html", "page.css", *_SCRIPTS))
    # The function keeps names out of the window.
    script = f'"use strict";\n(function () {{\n{"".join(scripts)}}})();\n'
    data = packed(
        {
            "name": name,
            "tool_version": glacierbase.__version__,
            "catalogs": [page.to_dict() for page in pages],
            "compared": [result.to_dict() for result in compared],
        }
    )
    # Only this style and this script run, and nothing is loaded.
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(template).render(
        name=on_one_line(name), policy=policy, style=Markup(style), script=Markup(script), data=Markup(data)
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def packed(value: Any) -> str:
    """Return a value of JSON's types, packed, as text for a `script` element: no text can end the element.

    Control characters in texts, and those that change the direction of text, become visible escapes.
    """
    packer = _Packer()
    root = packer.add(value)
    content = {
        "shapes": [list(map(_visible, keys)) for keys in packer.shapes],
        "nodes": [_visible(node) if isinstance(node, str) else node for node in packer.nodes],
        "root": root,
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _visible(text: str) -> str:
    return "\n".join(map(escaped, text.split("\n")))


class _Packer:
    """Numbers nodes and shapes in the order of their first use, each once."""

    def __init__(self) -> None:
        self.nodes: dict[str | tuple[Reference, ...], int] = {}
        self.shapes: dict[tuple[str, ...], int] = {}

    def add(self, value: Any) -> Reference:
        """Return the reference of a value."""
        if value is None:
            return None
        if isinstance(value, int) and value >= 0:
            return -1 - value
        if isinstance(value, Mapping):
            shape = self.shapes.setdefault(tuple(value), len(self.shapes))
            return self._place((shape, *(self.add(item) for item in value.values())))
        if isinstance(value, (list, tuple)):
            return self._place((-1, *(self.add(item) for item in value)))
        return self._place(str(value))

    def _place(self, node: str | tuple[Reference, ...]) -> int:
        return self.nodes.setdefault(node, len(self.nodes))
