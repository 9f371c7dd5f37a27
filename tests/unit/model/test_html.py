"""Results and errors in a notebook."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from glacierbase import GlacierbaseError, Project
from glacierbase.apply import results as apply_results
from glacierbase.apply.results import MigrateResult, PendingFile, PendingResult
from glacierbase.capabilities.access import access
from glacierbase.capabilities.authoring import new, rebase
from glacierbase.capabilities.authoring.squash import squash
from glacierbase.errors import ConfigurationError
from glacierbase.inspect import results as inspect_results
from glacierbase.model.html import to_html
from glacierbase.model.result import Result, Results
from glacierbase.output.documents import text_document
from glacierbase.secrets import Secrets
from tests.support.catalog_files import LAKE
from tests.support.hostile import PAYLOAD, check_inert
from tests.support.project_folder import ProjectFolder
from tests.unit.output.planted import planted

KINDS = [
    kind
    for room in (access, apply_results, new, rebase, squash, inspect_results)
    for kind in vars(room).values()
    if isinstance(kind, type) and issubclass(kind, Result) and kind is not Result
]
MARKUP = "<script>alert(1)</script><img src=x onerror='alert(1)'>&\"</td></table>"


class Parsed(HTMLParser):
    """The tags, attributes and cells of a text, and whether its tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(attrs)
        self.open.append(tag)
        if tag in ("th", "td"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [PAYLOAD, MARKUP])
def test_the_html_of_a_result_holds_tables_and_text_only(
    kind: type[Result], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every string of the result is hostile; none of it becomes a tag, an attribute or a control character."""
    monkeypatch.setattr("tests.unit.output.planted.PAYLOAD", text)
    html = planted(kind)._repr_html_()
    parsed = Parsed(html)
    assert {"table", "tr", "td"} <= parsed.tags <= {"table", "tr", "th", "td", "pre"}
    assert parsed.attributes == {("style", "text-align:left")}
    check_inert(html)
    if text is MARKUP:
        assert MARKUP in parsed.cells


def test_a_result_is_a_table_with_a_row_for_each_item() -> None:
    """Columns and rows without a value are left out; line breaks are kept; an empty list is named."""
    file = PendingFile("0001", "Create\n  it", "Ana", "migrations/a.sql", 2, 1)
    cells = Parsed(PendingResult("web", "dev", pending=(file,))._repr_html_()).cells
    assert cells[:6] == ["catalog", "web", "environment", "dev", "warnings", "none"]
    assert cells[6:] == [
        "pending", "", "version", "description", "author", "path", "statements", "resumes_at",
        "0001", "Create\n  it", "Ana", "migrations/a.sql", "2", "1",
    ]  # fmt: skip
    assert Parsed(MigrateResult("web", "dev", not_run=("1", "2"))._repr_html_()).cells[-2:] == ["not_run", "1, 2"]


def test_a_long_list_is_cut_at_its_start() -> None:
    """The last rows are shown, with the number of all."""
    html = to_html([{"sequence": number} for number in range(600)])
    assert html.startswith("the last 500 of 600<table>")
    assert (html.count("<tr>"), ">99<" in html, ">599<" in html) == (501, False, True)


def test_what_a_command_returns_is_shown_as_tables(project: ProjectFolder) -> None:
    """The result is a tuple with a result for each catalog."""
    for name in ("shop", "web"):
        project.catalog(LAKE.replace("WAREHOUSE", "/nowhere"), name)
        project.file("1_a.sql", "SELECT 1", name)
    loaded = Project.load(project.root)
    for results in (loaded.validate(), loaded.render()):
        assert results == tuple(results)
        assert isinstance(results, Results)
        assert results._repr_html_() == "".join(result._repr_html_() for result in results)
        assert results._repr_html_().count(">environment<") == 2


def test_the_repr_of_a_result_is_its_text(project: ProjectFolder) -> None:
    """An interpreter and the log of an orchestrator show what the command line prints, a block for each catalog."""
    file = PendingFile("0001", "Create it", "Ana", "migrations/a.sql", 2, 1)
    result = PendingResult("web", "dev", pending=(file,), warnings=("an older checkout",))
    assert repr(result) == text_document([result])
    assert "warning: an older checkout" in repr(result)
    assert "migrations/a.sql" in repr(result)
    failed = MigrateResult("web", "dev", not_run=("2",), error=ConfigurationError("A_CODE", "no", "try"))
    assert repr(failed).splitlines()[-1] == "error: A_CODE: no"
    for name in ("shop", "web"):
        project.catalog(LAKE.replace("WAREHOUSE", "/nowhere"), name)
        project.file("1_a.sql", "SELECT 1", name)
    validated = Project.load(project.root).validate()
    assert repr(validated) == "shop (default)\n  1 migration in order\n\nweb (default)\n  1 migration in order"
    assert repr(Results([])) == "no catalogs"


def test_html_and_repr_are_masked() -> None:
    """A secret that was registered after the error was made is masked too."""
    secrets = Secrets()
    with secrets.in_use():
        error = ConfigurationError("A_CODE", "canary-1 and canary-2", "remove canary-1")
        result = MigrateResult("web", "dev", warnings=("canary-1",), error=error)
        secrets.register("canary-1")
        secrets.register("canary-2")
    for text in (
        repr(error),
        repr(result),
        repr(Results([result])),
        result._repr_html_(),
        Results([result])._repr_html_(),
    ):
        assert "canary" not in text
        assert "***" in text


def test_the_repr_of_an_error_has_its_code_and_hint() -> None:
    """A traceback in a notebook and a log of an orchestrator show it on one line."""
    error = ConfigurationError("UNKNOWN_KEY", ("line one", "line two"), "did you mean x?")
    assert repr(error) == "ConfigurationError('UNKNOWN_KEY', 'line one\\nline two', 'did you mean x?')"
    assert str(error) == "line one\nline two"
    assert repr(GlacierbaseError("A_CODE", "message")) == "GlacierbaseError('A_CODE', 'message')"
    check_inert(repr(GlacierbaseError("A_CODE", "\x1b[2J\u202e", "\r")))
