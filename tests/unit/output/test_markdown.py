"""The comment of a pull request, as a Markdown renderer shows it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

import pytest
from markdown_it import MarkdownIt

from glacierbase.capabilities.review.cost import Cost, Undo
from glacierbase.capabilities.review.results import (
    LintResult,
    NotUnderstood,
    Origin,
    ReviewedStatement,
    ReviewedView,
    ReviewResult,
    SkippedStatement,
)
from glacierbase.errors import EngineUnavailable
from glacierbase.model.differences import Change, Difference
from glacierbase.model.finding import Severity
from glacierbase.output.documents import CommandOutcome
from glacierbase.output.review.links import Links
from glacierbase.output.review.markdown import render
from glacierbase.output.review.markdown_blocks import Block, code, prose
from tests.support.hostile import PAYLOAD, check_inert
from tests.unit.output.planted import planted
from tests.unit.output.reviews import PATH, TABLE, finding, outcome, review
from tests.unit.output.screens import COMMENT, GOLDEN, screens


@pytest.fixture(autouse=True)
def outside_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the variables of the job that runs the tests."""
    for name in ("GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)


LIMIT = 30_000
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
        "**glacierbase review**: 1 table to change; 1 error, 1 warning, 1 allowed in 1 new migration; replayed on a throw-away copy"
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


def test_the_comment_is_the_golden_one() -> None:
    """After a change, look at the difference and run `python -m tests.unit.output.screens`."""
    assert dict(screens())[COMMENT] == (GOLDEN / COMMENT).read_text("utf-8")


def test_findings_are_below_their_table_and_their_statement() -> None:
    """The text of a statement is above its findings, and why and fix are listed once a code; a rename is one line."""
    warning = finding("BC104", 6, severity=Severity.WARNING, message="by position")
    text = render(
        outcome(review(finding(), finding(message="again"), warning, replace(finding("FL101", 1), table=None)))
    )
    section, others = text.partition("### <code>lake&#46;silver")[2].split("### Findings\n")
    assert section.count("error DS103") == 2
    assert section.count("DROP COLUMN legacy_flag;\n```\n") == 1
    assert section.index("DROP COLUMN legacy_flag;") < section.index("error DS103") < section.index("warning BC104")
    assert (
        "- **destructive**; breaks readers and writers (views on it: <code>lake&#46;silver&#46;sleepers</code>)"
        in section
    )
    assert "- undo: <code>ALTER TABLE lake&#46;silver&#46;user&#95;sleep DROP COLUMN device</code>\n" in section
    assert "\n! column name → full_name\n" in section
    assert "error FL101" in others
    assert others.count("**DS103**") == 1
    assert "fix: " not in section


def test_notes_are_counted_and_folded_below_the_other_findings() -> None:
    """A note has its fix in the fold, and neither the statement nor a paragraph of the explanations."""
    notes = [finding("KL101", 6, severity=Severity.NOTE, message=f"keys begin with day {number}") for number in (1, 2)]
    text = render(outcome(review(*notes, finding())))
    assert "1 error, 2 notes in 1 new migration" in text
    above, folded = text.split("<details><summary>2 notes</summary>")
    folded = folded.partition("</details>")[0]
    assert "DS103" in above
    assert "KL101" not in above
    assert (folded.count("note KL101"), folded.count("fix: ")) == (2, 2)
    assert "ADD PARTITION FIELD" not in folded


def test_statements_on_one_line_have_their_own_findings() -> None:
    """A finding is below its statement, also where a file has several on a line."""
    whole = review(finding(), replace(finding("DS107"), statement_index=2))
    file = whole.files[0]
    statements = (file.statements[0], replace(file.statements[1], line=4, sql="TRUNCATE TABLE lake.silver.user_sleep"))
    text = render(outcome(replace(whole, files=(replace(file, statements=statements),))))
    order = ["DROP COLUMN legacy_flag;\n```", "error DS103", "TRUNCATE TABLE", "error DS107"]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


def test_a_table_has_the_findings_of_its_views_and_of_its_former_name() -> None:
    """A view that a change breaks, a table before a rename and a name without quotes are not apart from their table."""
    names = ("lake.silver.sleepers", "lake.silver.old", "lake.silver.we ird")
    whole = review(*(replace(finding(f"BC10{number}"), table=name) for number, name in enumerate(names)))
    [table] = whole.tables
    renamed = Difference("table", "", "lake.silver.old", TABLE)
    tables = (
        replace(table, diff=(*table.diff, renamed), breaks=("SELECT", "view lake.silver.sleepers")),
        replace(table, table="lake.silver.`we ird`"),
    )
    sections = render(outcome(replace(whole, tables=tables))).split("\n### ")
    assert ["BC100**" in section for section in sections if "error BC10" in section] == [True, False]
    assert [section.count("error BC10") for section in sections if "error BC10" in section] == [2, 1]


def test_a_fix_that_depends_on_the_place_is_below_its_finding() -> None:
    """The list of codes has the reason only."""
    text = render(outcome(review(finding(), replace(finding("DS103", 6), fix="Rename it."))))
    assert text.count("fix: Stop reads first&#46;") == text.count("fix: Rename it&#46;") == 1
    assert text.index("fix: Rename it&#46;") < text.index("### Why, and what to do")


def test_facts_of_the_copy_are_shown_where_there_are_some() -> None:
    """Files, snapshots and what fails on the copy are listed where the document has them."""
    given = outcome(review())
    document = given.document()
    document["catalogs"][0]["tables"][0].update(files="untouched", snapshots=0, breaks=["view lake.v"])
    with patch.object(CommandOutcome, "document", lambda _: document):
        text = render(given)
    assert "- files: untouched\n- fails on the copy: <code>view lake&#46;v</code>\n" in text
    assert "- snapshots" not in text


def test_state_that_is_lost_is_listed() -> None:
    """A stream is no table, so that no section has it."""
    lost = ReviewedStatement(1, 4, "DROP STREAM s", Cost.STATE, Undo(None, "no copy holds its offset"))
    given = review()
    text = render(outcome(replace(given, tables=(), files=(replace(given.files[0], statements=(lost,)),))))
    assert "### Destroys state\n" in text
    assert "<code>DROP STREAM s</code>: cannot be undone: no copy holds its offset\n" in text


SHA = "4b7e9a1c" * 5
ON_GITHUB = {
    "GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://github.test", "GITHUB_REPOSITORY": "acme/lake", "GITHUB_SHA": SHA,
}  # fmt: skip
ON_GITLAB = {"GITLAB_CI": "true", "CI_PROJECT_URL": "https://gitlab.test/acme/lake", "CI_COMMIT_SHA": SHA}


@pytest.mark.parametrize(
    ("variables", "address"),
    [
        (ON_GITHUB, f"https://github.test/acme/lake/blob/{SHA}"),
        (ON_GITLAB, f"https://gitlab.test/acme/lake/-/blob/{SHA}"),
        (ON_GITHUB | {"GITHUB_REPOSITORY": "a) ![x](b"}, None),
        (ON_GITHUB | {"GITHUB_SHA": "main"}, None),
        ({}, None),
    ],
)
def test_files_are_links_in_a_job(
    variables: dict[str, str], address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is that of the branch; without one, and for a file outside of the work tree, the name is plain."""
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    text = render(outcome(review(finding())))
    links = re.findall(r"\]\((.*?)\)", text)
    assert links == ([f"{address}/{PATH}", f"{address}/{PATH}#L4"] if address else [])
    assert "](" not in render(outcome(replace(review(finding()), origin=Origin("", "../elsewhere"))))


def test_a_link_has_the_last_commit_of_the_pull_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GITHUB_SHA is a merge. A name with characters of Markdown or HTML stays one address."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"head": {"sha": "c" * 40}}}))
    for name, text in (ON_GITHUB | {"GITHUB_EVENT_PATH": str(event)}).items():
        monkeypatch.setenv(name, text)
    address = Links.of_environment()
    assert address.to("a", "b", 3) == f"[b](https://github.test/acme/lake/blob/{'c' * 40}/a#L3)"
    assert address.to("a b)<x>\n[", "b").endswith("/a%20b%29%3Cx%3E%0A%5B)")


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
    shown = (
        len(re.findall("(?:warning|error) [A-Z]", page.text)),
        comment.partition("<details>")[2].count("ADD COLUMN"),
    )
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


def test_a_difference_is_left_out_with_the_head_of_its_table() -> None:
    """A cut comment shows no difference and no finding of a table below the name of another."""
    whole = review(
        *(replace(finding(message=f"{number} {'x' * 200}"), table=f"lake.t{number % 40}") for number in range(400))
    )
    [table] = whole.tables
    tables = tuple(
        replace(table, table=f"lake.t{number}", diff=(Difference("column", f"of_t{number}", None, "int"),))
        for number in range(40)
    )
    text = render(outcome(replace(whole, tables=tables)))
    sections = [section for section in text.split("### ") if section.startswith("<code>lake&#46;t")]
    assert 3 < len(sections) < 40
    shown = 0
    for section in sections:
        number = re.findall(r"t(\d+)<", section)[0]
        assert set(re.findall(r"of_t(\d+)", section)) == {number}
        messages = re.findall(r": <code>(\d+) x", section)
        assert {int(found) % 40 for found in messages} <= {int(number)}
        shown += len(messages)
    assert shown > 3


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
