"""The comment of a pull request, as a Markdown renderer shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from glacierbase.errors import EngineUnavailable
from glacierbase.model.differences import Change
from glacierbase.model.finding import Severity
from glacierbase.output.documents import CommandOutcome
from glacierbase.output.markdown import Block, code, prose, render
from glacierbase.review.results import (
    LintResult,
    NotUnderstood,
    ReviewedStatement,
    ReviewedView,
    ReviewResult,
    SkippedStatement,
)
from tests.support.hostile import PAYLOAD, check_inert
from tests.unit.output.planted import planted
from tests.unit.output.reviews import PATH, TABLE, finding, outcome, review

LIMIT = 65_000
MARKER = "<!-- glacierbase:review -->"
HOSTILE = [
    PAYLOAD,
    "```\n`````\n~~~\n</code></pre></details>\n\n# heading\n- item\n> quote\n\n---\n| a | b |\n| --- | --- |",
    f"{MARKER}\n{MARKER} <!-- glacierbase:lint -->",
    "@everyone @org/team #123 GH-1 org/repo#4 !5 user@example.com",
    "https://evil.example www.evil.example [a](javascript:alert) ![i](https://evil.example/x.png) <https://evil.example>",
    "<img src=x onerror=alert(1)><script>alert(1)</script><a href=x>y</a>&lt;b&gt;&#64;everyone $x^2$ :tada: *a* _b_ ~c~",
    "\\| \\` \\<b> | a || b",
    "::set-env name=X::y\n%0A::error::x ]]> \ud800\ufffe\x00",
    "x\n/close\n/merge\n  - [ ] task",
    "x" * 2**20,
    "`" * 50,
]


class Page(HTMLParser):
    """A rendered comment.

    Attributes:
        tags: the elements, in order.
        comments: the hidden texts.
        text: what is not code.
        code: what is code.
    """

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.comments: list[str] = []
        self.text = ""
        self.code = ""
        self._depth = 0
        self.feed(MarkdownIt("commonmark").enable("table").render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._depth += tag == "code"
        assert all(
            name == "class" and value in ("language-sql", "language-diff", "language-sh") for name, value in attrs
        )

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")
        self._depth -= tag == "code"

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.code += data
        else:
            self.text += data


def planted_outcome(kind: type[ReviewResult] | type[LintResult]) -> CommandOutcome:
    """Return results in which every string is the payload, of two groups of environments with other statements."""
    whole = planted(kind)
    results = [whole, replace(whole, environments=("b",))]
    if isinstance(whole, ReviewResult):
        statement = ReviewedStatement(1, 1, f"{whole.files[0].statements[0].sql} again")
        results[1] = replace(results[1], files=(replace(whole.files[0], statements=(statement,)),))
    findings = (*whole.findings, replace(whole.findings[0], allowed=None))
    return CommandOutcome("review", [replace(each, findings=findings) for each in results], whole.error)


def test_the_comment_shows_what_a_reviewer_asks() -> None:
    """The verdict, the files, the findings, the changes of tables, the statements, and the command."""
    allowed = finding("DS101", 6, allowed="no readers since October (#912)")
    text = render(outcome(review(finding(), finding("BC104", severity=Severity.WARNING), allowed)))
    lines = text.splitlines()
    assert lines[0] == MARKER
    assert lines[2].startswith(
        "**glacierbase review**: 1 new migration, 1 table changed, 1 error, 1 warning, 1 allowed; replayed on a throw-away copy"
    )
    page = Page(text)
    assert page.comments == [" glacierbase:review "]
    shown = page.text + page.code
    for part in (
        "0042",
        "Replace the flag",
        "Data Team",
        "destructive",
        PATH,
        "error DS103",
        "no readers since October",
    ):
        assert part in shown
    assert "why: Readers break." in page.text
    assert "```diff\n- column legacy_flag: string\n+ column device: string\n" in text
    assert "- partitioning: day(ts)\n+ partitioning: bucket(16, user_id)\n```" in text
    assert f"```sql\nALTER TABLE {TABLE} DROP COLUMN legacy_flag;\n" in text
    assert text.endswith("```sh\nglacierbase review --base origin/main\n```")
    order = [shown.index(part) for part in ("error DS103", "warning BC104", "allowed DS101")]
    assert order == sorted(order)


def test_what_environments_render_differently_is_a_diff() -> None:
    """Tables and findings name their environments where these differ; what is equal is shown once."""
    text = render(outcome(review(finding(), buckets=4), review(finding(), environments=("prod",))))
    assert "@@ migrations/analytics/0042_replace_legacy_flag.sql, statement 2 @@\n" in text
    assert "-  ADD PARTITION FIELD bucket(4, user_id)\n+  ADD PARTITION FIELD bucket(16, user_id)\n```" in text
    assert Page(text).text.count("error DS103") == 1
    assert text.count("altered (in <code>prod</code>)") == 1
    same = render(outcome(review(finding()), review(finding(), environments=("prod",))))
    assert "Differs" not in same
    assert "(in " not in same.partition("<details>")[0]


def test_a_branch_without_new_migrations_has_a_line() -> None:
    """A comment of an earlier run is replaced by it."""
    text = render(outcome(replace(review(), files=(), tables=(), replay=None)))
    assert text.splitlines()[2] == "**glacierbase review**: no new migrations"


def test_a_review_that_did_not_start_says_why() -> None:
    """The error is a finding, whether it belongs to a catalog or to the command."""
    error = EngineUnavailable("COPY_NOT_STARTED", "no Java", "install it")
    for given in (CommandOutcome("review", (), error), outcome(replace(review(), error=error, replay=None))):
        page = Page(render(given))
        assert "1 error" in page.text
        assert "error COPY_NOT_STARTED" in page.text
        assert "no Java" in page.code


def test_views_are_listed_with_the_environments_that_change_them() -> None:
    """A name stays inside of its code span; where all environments have the change, none is named."""
    name = "lake.v`@all <b>"
    views = (ReviewedView(name, Change.REPLACED),)
    here, there = (
        replace(review(), views=each, environments=(where,)) for each, where in ((views, "dev"), ((), "prod"))
    )
    page = Page(render(outcome(here, there)))
    assert name in page.code
    assert ": replaced (in )" in page.text  # The names of environments are code.
    assert ": replaced\n" in f"{Page(render(outcome(here))).text}\n"


def test_statements_that_nobody_looked_at_are_listed() -> None:
    """Statements that are not replayed, and statements that no rule understands, are listed."""
    skipped = (SkippedStatement(PATH, 9, "VACUUM works on files"),)
    given = review()
    assert given.replay is not None
    given = replace(given, replay=replace(given.replay, skipped=skipped), warnings=("on the throw-away copy: none",))
    page = Page(render(outcome(given)))
    assert "on the throw-away copy, not replayed: " in page.text
    assert "VACUUM works on files" in page.code
    assert "on the throw-away copy: none" in page.code
    lint = LintResult("shop", "dev", environments=("dev",), files=3, not_understood=(NotUnderstood(PATH, 8, "FOO"),))
    text = render(CommandOutcome("lint", [lint], None))
    assert text.startswith("<!-- glacierbase:lint -->\n\n**glacierbase lint**: no findings in 3 migrations")
    assert f"{PATH}:8" in Page(text).code


@pytest.mark.parametrize("kind", [ReviewResult, LintResult])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_value_leaves_its_block(
    text: str, kind: type[ReviewResult] | type[LintResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has the elements that it has for a harmless value, one marker, and outside of code nothing of the value."""
    monkeypatch.setattr("tests.unit.output.planted.PAYLOAD", "harmless")
    harmless = Page(render(planted_outcome(kind)))
    monkeypatch.setattr("tests.unit.output.planted.PAYLOAD", text)
    comment = render(planted_outcome(kind))
    page = Page(comment)
    assert page.tags == harmless.tags
    assert page.comments == [" glacierbase:review "]
    assert comment.count("<!-- glacierbase") == 1
    # An address or the name of a person is a link wherever a service finds it in text.
    assert not re.search(r"@\w|#\d|!\d|://", page.text)
    assert len(comment) <= LIMIT
    check_inert(comment)
    comment.encode()


@pytest.mark.parametrize(("findings", "statements"), [(300, 2), (2, 1000), (300, 1000), (10_000, 10_000)])
def test_a_long_comment_is_cut_at_borders_and_says_what_is_missing(findings: int, statements: int) -> None:
    """Errors stay, every element is closed, and what is shown and what is left out are all there is."""
    given = review(
        *(finding("BC104", 900 + number, severity=Severity.WARNING) for number in range(findings - 1)),
        finding("DS103", 5000),
    )
    sql = tuple(
        ReviewedStatement(n + 1, n + 4, f"ALTER TABLE {TABLE} ADD COLUMN c{n} INT COMMENT '`'")
        for n in range(statements)
    )
    comment = render(outcome(replace(given, files=(replace(given.files[0], statements=sql),))))
    assert len(comment) <= LIMIT
    page = Page(comment)
    assert "error DS103" in page.text
    assert [tag for tag in page.tags if "details" in tag] == ["details", "/details"]
    last = comment.splitlines()[-1]
    shown = (len(re.findall("(?:warning|error) [A-Z]", page.text)), page.code.count("ADD COLUMN"))
    for noun, count, all_ in (("finding", shown[0], findings), ("statement", shown[1], statements)):
        left = all_ - count
        assert (f"{left} {noun}s" in last) == (left > 0)
        assert (f"… {left} more {noun}s" in page.text) == (left > 0)
        assert count
    assert "glacierbase review --base origin/main" in page.code


def test_a_table_of_many_files_is_cut_between_rows() -> None:
    """The cut table stays a table, and the changes of tables keep their place."""
    given = review(finding())
    comment = render(outcome(replace(given, files=given.files * 3000)))
    page = Page(comment)
    assert len(comment) <= LIMIT
    assert page.tags.count("tr") < 3001
    assert page.tags.count("td") == 5 * (page.tags.count("tr") - 1)
    assert "partitioning: bucket(16, user_id)" in page.code


def test_code_and_prose_are_read_as_they_were_written() -> None:
    """All punctuation of ASCII is shown; prose has a space of no width where a reference would start."""
    every = "".join(map(chr, range(0x20, 0x7F))).strip()
    page = Page(f"{code(every)} {prose(every)}")
    assert page.code == every
    assert page.text.replace("\u200b", "").strip() == every
    assert set(page.tags) == {"p", "/p", "code", "/code"}


def test_a_block_that_does_not_fit_is_left_out() -> None:
    """A heading without items says nothing."""
    block = Block("line", ("a" * 100, "b" * 100), "head", "tail")
    assert block.limited(1000) is block
    assert block.limited(190).text == f"head\n{'a' * 100}\ntail\n\n… 1 more line"
    assert block.limited(50).items == ()
