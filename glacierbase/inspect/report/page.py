"""The page of `report`: one HTML file with its style, its script and its data. It contacts nothing."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

import glacierbase
from glacierbase.inspect.compare.results import CompareResult
from glacierbase.inspect.report.packed import packed
from glacierbase.inspect.report.results import PageResult
from glacierbase.model.escape import on_one_line
from glacierbase.run.files import check_replaceable, replace_file, writing

_SCRIPTS = ("data.js", "elements.js", "pages.js", "addresses.js", "search.js")


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
        name: of the project.
    """
    folder = files("glacierbase.inspect.report") / "templates"
    template, style, *scripts = ((folder / each).read_text("utf-8") for each in ("page.html", "page.css", *_SCRIPTS))
    # Inside a function, a name is not one of the window.
    script = f'"use strict";\n(function () {{\n{"".join(scripts)}}})();\n'
    data = packed(
        {
            "name": name,
            "tool_version": glacierbase.__version__,
            "catalogs": [each.to_dict() for each in pages],
            "compared": [each.to_dict() for each in compared],
        }
    )
    # Only a style and a script of exactly this text run, and nothing is ever loaded.
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(template).render(
        name=on_one_line(name), policy=policy, style=Markup(style), script=Markup(script), data=Markup(data)
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
